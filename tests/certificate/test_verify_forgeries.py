"""verify against forgers: pages and words made to order, keys for which anyone can sign, facts that say two things at once."""

from __future__ import annotations

import contextlib
import hashlib
import json

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

import shoal
from certificate_cases import provoking_folder, released
from shoal import InputError, KmAnonymity
from shoal.certificate.document import certificate_file, certificate_in
from shoal.certificate.facts import canonical, certificate_bytes
from shoal.certificate.page import page_with
from shoal.certificate.sign import is_weak, new_key, public_key, signature_holds, signer
from shoal.certificate.statements import StatedRules
from shoal.release import verify

ROWS = [["milk", "nappies"]] * 6 + [["milk", "brie"]] * 2 + [["milk"]] * 3
PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, PRIME) % PRIME


@pytest.fixture
def shop(tmp_path):
    """A folder with a release and its certificates."""
    shoal.write(shoal.Baskets.from_rows(ROWS), tmp_path / "raw.jsonl")
    release = shoal.anonymize(tmp_path / "raw.jsonl", KmAnonymity(5, 2), algorithm="exact")
    new_key(tmp_path / "board.key")
    release.write(tmp_path / "public.csv", certificate=tmp_path / "c.json")
    release.write(tmp_path / "signed.csv", certificate=tmp_path / "signed.json", sign=tmp_path / "board.key")
    return tmp_path


def facts(path):
    return json.loads(path.read_text())


def verified(shop, content, form="json", data="public.csv", **how):
    """A certificate with these facts, in a form made for them as a forger would."""
    file = content if isinstance(content, bytes) else certificate_file(content, f"c.{form}")
    return verify(certificate_in(file, f"c.{form}"), shop / data, **how)


def says(found):
    return {check.name: check.holds for check in found.checks}


def named(found):
    return [place for part in found.not_checked for place in part.places]


def test_a_forged_page_is_caught_though_its_hash_was_made_anew(shop):
    text = b"<!DOCTYPE html><html><body><h1>Nobody can learn anything.</h1></body></html>"
    content = facts(shop / "c.json")
    content["page"] = {"sha256": hashlib.sha256(text).hexdigest()}
    found = verified(shop, page_with(text, content), "html")
    assert (says(found)["page"], found.holds) == (False, False)
    content["versions"]["shoal"] = "0.0.9"
    found = verified(shop, page_with(text, content), "html")
    assert (says(found)["page"], found.holds, found.verdict) == (None, False, "not verified in full")
    assert "pip install shoal==0.0.9" in next(check.says for check in found.checks if check.name == "page")


@pytest.mark.parametrize("form", ["json", "html"])
def test_words_of_another_version_are_never_called_checked(shop, form):
    content = facts(shop / "c.json")
    content["versions"]["shoal"] = "0.0.9"
    assert verified(shop, content, form).holds  # the words are those that this version writes: they were compared
    content["promised"], content["not_promised"] = ["Nobody can learn anything."], []
    found = verified(shop, content, form)
    assert (says(found)["statements"], found.verdict, bool(found)) == (None, "not verified in full", False)
    assert {"promised", "not_promised"} <= set(named(found))
    with pytest.raises(shoal.Unreachable, match="not verified in full: statements"):
        found.require()


def test_the_signer_vouches_for_words_of_another_version(shop):
    board = signer(shop / "board.key")
    content = facts(shop / "c.json")
    content["versions"]["shoal"] = "0.0.9"
    content["promised"] = ["As it was worded then."]
    for form in ("json", "html"):
        found = verified(shop, certificate_file(content, f"c.{form}", board), form, key=shop / "board.key.pub")
        assert (says(found)["statements"], found.vouched, found.holds) == (None, True, True)
        without = verified(shop, certificate_file(content, f"c.{form}", board), form)
        assert (without.vouched, without.holds) == (False, False)


@pytest.mark.parametrize("version", [None, 7, "", "0.0.9; rm -rf", "\u202e9.0", "x" * 99_999])
def test_a_version_that_is_none_is_not_repeated(shop, version):
    content = facts(shop / "c.json")
    content["versions"]["shoal"] = version
    content["promised"] = []
    found = verified(shop, content)
    assert not found.holds
    assert "verify it with that one" in next(check.says for check in found.checks if check.name == "statements")
    assert all(len(check.says) < 300 for check in found.checks)


@pytest.mark.parametrize("knowledge", [{"rules": 1}, {}, [], "", 0, True, {"min_exp": 0.9, "min_conf": 1.0}])
def test_knowledge_that_the_promise_is_not_about_switches_nothing_off(shop, knowledge):
    content = facts(shop / "c.json")
    content["guarantee"]["knowledge"] = knowledge
    content["promised"] = ["Nobody can learn anything."]
    content["audit"]["checked"] = 99
    try:
        found = verified(shop, content)
    except InputError:
        return
    assert says(found)["statements"] is False


def test_rules_that_a_release_in_buckets_never_had_are_not_confirmed(tmp_path):
    folder = provoking_folder(tmp_path)
    public, certificate = released(folder, "anatomy", "c.json")
    content = facts(certificate)
    rules = {"min_exp": 0.9, "min_conf": 1.0}
    content["guarantee"] |= {"knowledge": rules, "name": "matching 3-diversity"}
    found = verify(certificate_in(certificate_bytes(content), "c.json"), public)
    assert not found.holds
    words = shoal.MatchingDiversity(3, StatedRules(rules))
    content |= {"promised": list(words.promise()), "not_promised": list(words.limits())}
    found = verify(certificate_in(certificate_bytes(content), "c.json"), public)
    assert (says(found)["promise"], found.verdict) == (None, "not verified in full")
    assert "guarantee.knowledge" in named(found)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"checked": ', '"checked": 1e999, "checked2": '),
        lambda text: text.replace('"ncp": ', '"ncp": NaN, "ncp2": '),
        lambda text: text.replace('"ncp": ', '"ncp": -Infinity, "ncp2": '),
        lambda text: text.replace('"k": 5', '"k": 5, "k": 5'),
        lambda text: text.replace('"k": 5', f'"k": {"9" * 5000}'),
        lambda text: text + "{}",
        lambda text: text + "\x00",
    ],
)
def test_facts_that_are_no_plain_json_are_refused(shop, change):
    text = (shop / "c.json").read_text()
    assert change(text) != text
    with pytest.raises(InputError, match="not a certificate"):
        verified(shop, change(text).encode())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("guarantee", "k"), 5.0),
        (("guarantee", "k"), "5"),
        (("guarantee", "k"), True),
        (("guarantee", "k"), 10**30),
        (("guarantee", "m"), 10**30),
        (("output", "rows"), 11.0),
        (("output", "rows"), "11"),
        (("output", "empty"), False),
        (("holds",), 1),
        (("audit", "violations"), False),
        (("audit", "complete"), 1),
        (("guarantee", "name"), "5^2-\u0430nonymity"),
        (("created",), "2026-13-45"),
        (("created",), "20261116"),
        (("algorithm",), "exact, approved by the board"),
    ],
)
def test_what_only_looks_the_same_is_not(shop, path, value):
    content = facts(shop / "c.json")
    part = content
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    with contextlib.suppress(InputError):
        assert not verified(shop, content).holds


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"</body>", b'<SCRIPT type="application/json" id="shoal-certificate">{}</SCRIPT></body>'),
        (b"<h1>", b"<!-- <h1>"),
        (b"</head>", b"<script>document.body.innerText = 'safe'</script></head>"),
        (b"</head>", b"<style>.verdict { display: none }</style></head>"),
        (b"</html>\n", b"</html>\n<p>All is well."),
        (b'"certificate": "shoal', b'"certificate":  "shoal'),
    ],
)
def test_a_page_with_anything_else_in_it_is_caught(shop, old, new):
    data = certificate_file(facts(shop / "c.json"), "c.html")
    assert data.count(old) >= 1
    assert says(verified(shop, data.replace(old, new, 1), "html"))["page"] is False


def test_two_certificates_in_one_page_are_refused(shop):
    data = certificate_file(facts(shop / "c.json"), "c.html")
    with pytest.raises(InputError, match="more than one"):
        verified(
            shop, data.replace(b"</body>", data[data.index(b"<script") : data.index(b"</script>") + 9] + b"</body>")
        )


def test_a_weaker_promise_holds_and_is_said_to_be_nobodys_word(shop):
    """It is true of the file, and need not be what the owner promised."""
    content = facts(shop / "c.json")
    weak = KmAnonymity(2, 1)
    content |= {"guarantee": weak.to_dict(), "promised": list(weak.promise()), "not_promised": list(weak.limits())}
    audit = shoal.audit(shop / "public.csv", weak)
    content["audit"] |= {name: told for name, told in audit.to_dict().items() if name in content["audit"]}
    found = verified(shop, content)
    assert found.holds
    assert {"guarantee.k", "guarantee.m", "guarantee.model"} <= set(named(found))
    assert any("whether the owner promised this, or more" in part.why for part in found.not_checked)


def test_roles_that_hide_a_column_from_the_audit_are_said_to_be_nobodys_word(tmp_path):
    folder = provoking_folder(tmp_path)
    public, certificate = released(folder, "table", "c.json")
    content = facts(certificate)
    content["output"]["columns"]["town"] = "keep"
    found = verify(certificate_in(certificate_bytes(content), "c.json"), public)
    assert says(found)["statements"] is False  # columns and its counts say otherwise
    assert "output.columns" in named(found)
    content["output"]["columns"].pop("town")
    assert not verify(certificate_in(certificate_bytes(content), "c.json"), public).holds


def test_a_file_of_another_name_is_named_as_not_checked(shop):
    (shop / "other.csv").write_bytes((shop / "public.csv").read_bytes())
    assert "output.file" in named(verified(shop, facts(shop / "c.json"), data="other.csv"))
    assert "output.file" not in named(verified(shop, facts(shop / "c.json")))


def test_facts_of_a_page_are_no_certificate_of_their_own(shop):
    content = facts(shop / "c.json") | {"page": {"sha256": "0" * 64}}
    assert says(verified(shop, certificate_bytes(content)))["page"] is False


# Keys for which anyone can sign.


def added(one, other):
    """The sum of two points of edwards25519."""
    (x1, y1), (x2, y2) = one, other
    both = D * x1 * x2 * y1 * y2 % PRIME
    x = (x1 * y2 + x2 * y1) * pow(1 + both, -1, PRIME)
    y = (y1 * y2 + x1 * x2) * pow(1 - both, -1, PRIME)
    return x % PRIME, y % PRIME


def times(n, point):
    total = (0, 1)
    while n:
        if n & 1:
            total = added(total, point)
        point, n = added(point, point), n >> 1
    return total


def on_curve(y):
    """A point with this y, if there is one."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if (x * x - square) % PRIME:
        x = x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
    return (x, y) if (x * x - square) % PRIME == 0 else None


def weak_points():
    """The eight points of small order, as multiples of one of order eight."""
    for y in range(2, 99):
        point = on_curve(y)
        if point is None:
            continue
        torsion = times(ORDER, point)
        found = {times(n, torsion) for n in range(8)}
        if len(found) == 8:
            return found
    raise AssertionError


def weak_keys():
    """Every way to write such a point: also with a y beyond the prime, and with the sign of a zero."""
    for _, y in weak_points():
        for spelled in (y, y + PRIME):
            if spelled < 2**255:
                for sign in (0, 1):
                    yield (spelled | sign << 255).to_bytes(32, "little")


def test_every_spelling_of_a_weak_key_is_refused(shop):
    keys = sorted(set(weak_keys()))
    assert len(keys) == 14
    for key in keys:
        assert is_weak(key.hex())
        pem = ed25519.Ed25519PublicKey.from_public_bytes(key).public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        (shop / "weak.pub").write_bytes(pem)
        with pytest.raises(InputError, match="anyone can sign"):
            public_key(shop / "weak.pub")
        with pytest.raises(InputError, match="anyone can sign"):
            verify(shop / "signed.json", shop / "signed.csv", key=shop / "weak.pub")


def test_a_certificate_that_nobody_signed_under_a_weak_key_is_caught(shop):
    content = facts(shop / "c.json")
    for key in sorted(set(weak_keys())):
        content["signer"] = {"algorithm": "ed25519", "public_key": key.hex()}
        for first in sorted(set(weak_keys())):
            content["signature"] = (first + bytes(32)).hex()
            assert not signature_holds(canonical(content), content["signature"], key.hex())
        assert says(verified(shop, certificate_bytes(content)))["signature"] is False


def test_a_signature_has_one_spelling(shop):
    content = facts(shop / "signed.json")
    signature = bytes.fromhex(content["signature"])
    key = content["signer"]["public_key"]
    assert signature_holds(canonical(content), signature.hex(), key)
    second = signature[:32] + (int.from_bytes(signature[32:], "little") + ORDER).to_bytes(32, "little")
    for other in (second.hex(), signature.hex().upper(), " " + signature.hex(), signature.hex() + "\n"):
        assert not signature_holds(canonical(content), other, key)
    for other in (key.upper(), f"{key} ", key[:-1], ""):
        assert not signature_holds(canonical(content), signature.hex(), other)


@pytest.mark.parametrize(
    "signer_facts",
    [{"algorithm": "none"}, {"algorithm": "ed25519", "name": "The board"}, {}, {"public_key": None}, {"public_key": 7}],
)
def test_a_signer_is_named_in_one_way(shop, signer_facts):
    content = facts(shop / "signed.json")
    board = signer(shop / "board.key")
    content["signer"] = {"public_key": board.public_key} | signer_facts
    content["signature"] = board.sign(canonical(content))
    assert says(verified(shop, certificate_bytes(content), data="signed.csv"))["signature"] is False


def test_a_certificate_that_states_too_much_is_refused_with_what_to_do(shop):
    content = facts(shop / "c.json") | {"certificate": "shoal certificate 1", "bound": 0.0}
    with pytest.raises(InputError, match=r"earlier format.*release the data again.*do not pass this one on"):
        certificate_in(certificate_bytes(content), "c.json")


@pytest.mark.parametrize(
    "more",
    [
        {"bound": 0.0},
        {"suppressed": {"share": 0.1, "occurrences": 1, "categories": 1}},
        {"deleted_shares": {"milk": 0.1}},
        {"classes": {"count": 1, "smallest": 9, "largest": 9, "average": 9.0}},
        {"local": {"parts": 2}},
    ],
    ids=str,
)
def test_parts_that_state_too_much_are_no_parts_of_a_certificate(shop, more):
    found = verified(shop, facts(shop / "c.json") | more)
    assert says(found)["statements"] is False
