"""verify: it confirms what is so, and names what is not, of tampered data, tampered, swapped and damaged certificates."""

from __future__ import annotations

import base64
import json
import stat
import subprocess
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from certificate_cases import CASES, provoking_folder, released, verifying
from shoal import InputError, KmAnonymity
from shoal.certificate import sign as signing
from shoal.certificate.document import read_certificate
from shoal.certificate.facts import canonical, certificate_bytes
from shoal.certificate.page import page_with, split_page
from shoal.certificate.pdf import typeset
from shoal.certificate.sign import new_key, public_key, signature_holds, signer
from shoal.release import Targets, verify

FORMS = ("json", "html", "pdf")
ROWS = [["milk", "nappies"]] * 6 + [["milk", "brie"]] * 2 + [["milk"]] * 3


def failed(found):
    return [check.name for check in found.checks if check.holds is False]


def verdicts(found):
    return {check.name: check.holds for check in found.checks}


@pytest.fixture
def shop(tmp_path):
    """A folder with a signed release in every form, and the keys."""
    new_key(tmp_path / "board.key")
    shoal.write(shoal.Baskets.from_rows(ROWS), tmp_path / "raw.jsonl")
    release = shoal.anonymize(tmp_path / "raw.jsonl", KmAnonymity(5, 2))
    for form in FORMS:
        release.write(tmp_path / f"{form}.csv", certificate=tmp_path / f"signed.{form}", sign=tmp_path / "board.key")
    release.write(tmp_path / "plain.csv", certificate=tmp_path / "plain.json")
    return tmp_path


def changed(path: Path, change) -> Path:
    """A JSON certificate with something else in it."""
    content = json.loads(path.read_text())
    change(content)
    other = path.with_name("changed.json")
    other.write_bytes(certificate_bytes(content))
    return other


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CASES)
def test_release_of_every_model_is_verified_from_its_certificate(tmp_path, name, form):
    folder = provoking_folder(tmp_path)
    public, certificate = released(folder, name, f"certificate.{form}")
    found = verify(certificate, public, **verifying(folder, name))
    assert found.holds, found.checks
    assert found.audit.holds
    assert verdicts(found) == ({} if form == "json" else {"page": True}) | {
        "signature": None,
        "file": True,
        "promise": True,
        "statements": True,
    }


@pytest.mark.parametrize("name", CASES)
def test_rows_that_are_gone_are_caught_in_every_model(tmp_path, name):
    folder = provoking_folder(tmp_path)
    public, certificate = released(folder, name, "certificate.json")
    if public.suffix in (".parquet", ".gz"):  # damaged: it cannot even be read
        public.write_bytes(public.read_bytes()[:-7])
    else:
        lines = public.read_text().splitlines(keepends=True)
        public.write_text("".join(lines[: 1 + len(lines) // 2]))
    found = verify(certificate, public, **verifying(folder, name))
    assert "file" in failed(found)
    assert {"promise", "statements"} & set(failed(found))


def test_one_changed_cell_is_caught_by_hash_and_by_promise(shop):
    public = shop / "plain.csv"
    public.write_text(public.read_text() + "milk|rifle\n")
    found = verify(shop / "plain.json", public)
    assert failed(found) == ["file", "promise", "statements"]
    assert "5^2-anonymity does not hold" in {c.name: c.says for c in found.checks}["promise"]


def test_a_verification_is_as_true_as_it_holds_and_raises_with_witnesses(shop):
    found = verify(shop / "plain.json", shop / "plain.csv")
    assert found
    assert found.require() is found
    (shop / "plain.csv").write_text((shop / "plain.csv").read_text() + "milk|rifle\n")
    found = verify(shop / "plain.json", shop / "plain.csv")
    assert not found
    assert [bool(check) for check in found.checks] == [check.holds is True for check in found.checks]
    with pytest.raises(shoal.Unreachable, match="not verified: file, promise, statements") as raised:
        found.require()
    assert raised.value.witnesses == found.audit.witnesses != ()
    assert "rifle" not in str(raised.value)


def test_reordered_rows_are_another_file_with_the_same_promise(shop):
    public = shop / "plain.csv"
    head, *rows = public.read_text().splitlines()
    public.write_text("\n".join([head, *sorted(rows, reverse=True), ""]))
    found = verify(shop / "plain.json", public)
    assert set(failed(found)) <= {"file"}
    assert verdicts(found)["promise"] is True


@pytest.mark.parametrize("form", FORMS)
def test_signature_is_confirmed_with_the_public_key(shop, form):
    found = verify(shop / f"signed.{form}", shop / f"{form}.csv", key=shop / "board.key.pub")
    assert found.holds
    assert found.to_dict()["signed_by"] == public_key(shop / "board.key.pub")
    without = verify(shop / f"signed.{form}", shop / f"{form}.csv")
    assert without.holds
    assert "key=PUBLIC" in next(check.says for check in without.checks if check.name == "signature")


def test_another_key_or_no_signature_is_caught(shop):
    new_key(shop / "other.key")
    other = verify(shop / "signed.json", shop / "json.csv", key=shop / "other.key.pub")
    assert failed(other) == ["signature"]
    unsigned = verify(shop / "plain.json", shop / "plain.csv", key=shop / "board.key.pub")
    assert failed(unsigned) == ["signature"]


@pytest.mark.parametrize("missing", ["signature", "signer"])
def test_half_a_signature_is_none(shop, missing):
    certificate = changed(shop / "signed.json", lambda content: content.pop(missing))
    assert failed(verify(certificate, shop / "json.csv")) == ["signature"]


def test_a_certificate_signed_again_by_somebody_else_is_caught_by_the_key(shop):
    new_key(shop / "mallory.key")
    mallory = signer(shop / "mallory.key")

    def forge(content):
        content["warnings"] = []
        content["signer"]["public_key"] = mallory.public_key
        content["signature"] = mallory.sign(canonical(content))

    certificate = changed(shop / "signed.json", forge)
    assert verify(certificate, shop / "json.csv").holds  # a signature says nothing without the key it should be of
    assert failed(verify(certificate, shop / "json.csv", key=shop / "board.key.pub")) == ["signature"]


def paths_in(content, path=()):
    """All places in a certificate that hold a plain value."""
    if isinstance(content, dict):
        return [place for name, value in content.items() for place in paths_in(value, (*path, name))]
    if isinstance(content, list):
        return [place for i, value in enumerate(content) for place in paths_in(value, (*path, i))]
    return [path]


def test_any_change_of_a_signed_certificate_is_caught(shop):
    original = json.loads((shop / "signed.json").read_text())
    for path in paths_in(original):

        def change(content, path=path):
            for step in path[:-1]:
                content = content[step]
            value = content[path[-1]]
            content[path[-1]] = (not value) if isinstance(value, bool) else value + 1 if isinstance(value, int) else "x"

        certificate = changed(shop / "signed.json", change)
        try:
            found = verify(certificate, shop / "json.csv", key=shop / "board.key.pub")
        except InputError:
            continue
        assert "signature" in failed(found), path


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("guarantee", "k"), 4),
        (("guarantee", "m"), 1),
        (("guarantee", "k"), 50),
        (("guarantee", "name"), "50^9-anonymity"),
        (("output", "sha256"), "0" * 64),
        (("output", "rows"), 12),
        (("output", "format"), "dat"),
        (("audit", "checked"), 99),
        (("audit", "by_size"), {}),
        (("audit", "violations"), 1),
        (("holds",), False),
        (("promised",), ["Nobody can learn anything."]),
        (("not_promised",), []),
    ],
)
def test_what_can_be_found_out_is_checked_without_a_signature(shop, path, value):
    def change(content):
        for step in path[:-1]:
            content = content[step]
        content[path[-1]] = value

    assert not verify(changed(shop / "plain.json", change), shop / "plain.csv").holds


def test_a_swapped_certificate_is_caught(tmp_path):
    folder = provoking_folder(tmp_path)
    public, _ = released(folder, "km exact", "one.json")
    _, other = released(folder, "table diverse", "two.json")
    found = verify(other, public)
    assert {"file", "promise"} <= set(failed(found))
    sets, other = released(folder, "km hybrid", "three.json")
    released(folder, "km exact", "one.json", force=True)
    assert "file" in failed(verify(other, public))
    assert "file" in failed(verify(folder / "one.json", sets))


def test_a_page_that_shows_something_else_is_caught(shop):
    page = (shop / "signed.html").read_bytes()
    assert page.count(b"5^2-anonymity holds") == 1
    (shop / "signed.html").write_bytes(page.replace(b"5^2-anonymity holds", b"500^9-anonymity holds"))
    assert failed(verify(shop / "signed.html", shop / "html.csv", key=shop / "board.key.pub")) == ["page"]
    # The facts of another certificate under this page's words:
    text, _ = split_page(page, "page")
    (shop / "signed.html").write_bytes(page_with(text, json.loads((shop / "plain.json").read_text())))
    assert "page" in failed(verify(shop / "signed.html", shop / "plain.csv"))


def test_a_pdf_that_shows_something_else_is_caught(shop):
    data = (shop / "signed.pdf").read_bytes()
    other = data.replace(b"Creator(Typst", b"Creator(Mypst")
    assert other != data
    (shop / "signed.pdf").write_bytes(other)
    assert failed(verify(shop / "signed.pdf", shop / "pdf.csv")) == ["page"]


@pytest.mark.parametrize("form", ["json", "html"])
def test_signed_facts_in_a_forged_pdf_are_caught(shop, form):
    content = dict(read_certificate(shop / f"signed.{form}").content)
    (shop / "forged.pdf").write_bytes(typeset(content))
    assert "page" in failed(verify(shop / "forged.pdf", shop / f"{form}.csv", key=shop / "board.key.pub"))


@pytest.mark.parametrize("form", ["json", "pdf"])
def test_signed_facts_in_a_forged_page_are_caught(shop, form):
    content = dict(read_certificate(shop / f"signed.{form}").content)
    (shop / "forged.html").write_bytes(page_with(b"<!DOCTYPE html><body>All is well.</body>", content))
    assert failed(verify(shop / "forged.html", shop / f"{form}.csv", key=shop / "board.key.pub")) == ["page"]


def test_a_pdf_of_another_version_is_said_not_to_be_compared(shop, monkeypatch):
    monkeypatch.setattr("shoal.certificate.document.__version__", "99")
    found = verify(shop / "signed.pdf", shop / "pdf.csv")
    assert found.holds  # set again, it is the same
    monkeypatch.setattr("shoal.certificate.pdf.typeset", lambda content: b"%PDF of another look")
    for key in (None, shop / "board.key.pub"):  # a signature covers the facts, not what the PDF shows
        found = verify(shop / "signed.pdf", shop / "pdf.csv", key=key)
        assert verdicts(found)["page"] is None
        assert "pip install shoal==" in next(check.says for check in found.checks if check.name == "page")
        assert (found.verdict, found.holds) == ("not verified in full", False)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"certificate": "shoal certificate 1"}',
        b'{"certificate": "shoal certificate 7"}',
        b'{"certificate": "shoal certificate 1", "certificate": "shoal certificate 1"}',
        b"[" * 100_000,
        b"<!DOCTYPE html><p>hello",
        b"%PDF-1.7 nothing",
        b"%PDF-1.7 <</Length 5/Type/EmbeddedFile/Filter/FlateDecode>>\nstream\nabcde",
        b"%PDF-1.7 <</Length 5/Type/EmbeddedFile>>\nstream\nabcde",
    ],
)
def test_what_is_no_certificate_is_refused(shop, data):
    (shop / "odd.json").write_bytes(data)
    with pytest.raises(InputError, match=r"odd\.json"):
        verify(shop / "odd.json", shop / "plain.csv")


def test_a_packed_bomb_in_a_pdf_is_refused(shop, monkeypatch):
    monkeypatch.setattr("shoal.certificate.pdf._LARGEST", 1 << 16)
    bomb = zlib.compress(b"0" * (1 << 20))
    (shop / "bomb.pdf").write_bytes(
        b"%%PDF-1.7 <</Length %d/Type/EmbeddedFile/Filter/FlateDecode>>\nstream\n" % len(bomb) + bomb
    )
    with pytest.raises(InputError, match="far too large"):
        verify(shop / "bomb.pdf", shop / "plain.csv")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_certificate_makes_verify_fail_otherwise_than_by_a_sentence(shop, data):
    content = json.loads((shop / "signed.json").read_text())
    path = data.draw(st.sampled_from(paths_in(content) + [(name,) for name in content]))
    value = data.draw(
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(),
            st.floats(),
            st.text(max_size=9),
            st.just([]),
            st.just({}),
            st.just([{}]),
        )
    )
    inner = content
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    (shop / "fuzzed.json").write_bytes(certificate_bytes(content))
    try:
        found = verify(shop / "fuzzed.json", shop / "json.csv")
    except InputError:
        return
    assert not found.holds or content == json.loads((shop / "signed.json").read_text())


def test_missing_files_are_named(shop):
    with pytest.raises(InputError, match=r"nowhere\.json"):
        verify(shop / "nowhere.json", shop / "plain.csv")
    with pytest.raises(InputError, match=r"nowhere\.csv"):
        verify(shop / "plain.json", shop / "nowhere.csv")
    with pytest.raises(InputError, match="name a file"):
        verify(shop / "plain.json", "-")


def test_sensitive_items_must_be_named_and_be_those_of_the_release(tmp_path):
    folder = provoking_folder(tmp_path)
    public, certificate = released(folder, "k with items", "certificate.json")
    with pytest.raises(InputError, match="3 sensitive items, which it does not name"):
        verify(certificate, public)
    with pytest.raises(InputError, match="sensitive= names 4"):
        verify(certificate, public, sensitive=[*(folder / "sensitive.txt").read_text().split(), "milk"])
    other, plain = released(folder, "k", "plain.json")
    with pytest.raises(InputError, match="leave it out"):
        verify(plain, other, sensitive="milk")


def test_buckets_are_verified_against_rules_when_they_are_given(tmp_path):
    folder = provoking_folder(tmp_path)
    public, certificate = released(folder, "injector", "certificate.json")
    plain = verify(certificate, public)
    assert "knowledge=" in next(check.says for check in plain.checks if check.name == "promise")
    assert (plain.verdict, plain.holds, failed(plain)) == ("not verified in full", False, [])
    with_rules = verify(certificate, public, knowledge=folder / "rules.jsonl")
    assert with_rules.holds
    assert "who knows the 1 rules given" in next(check.says for check in with_rules.checks if check.name == "promise")
    bucket = next(line for line in public.read_text().splitlines()[1:]).split(",")[-1]
    rows = [line.split(",") for line in public.read_text().splitlines()[1:]]
    town = next(row for row in rows if row[-1] == bucket)
    contrary = [
        {"if": {"job": town[2], "town": town[1], "age": town[0]}, "never": value}
        for value in sorted({row[3] for row in rows if row[-1] == bucket})[1:]
    ]
    (folder / "all.jsonl").write_text("".join(f"{json.dumps(rule)}\n" for rule in contrary))
    assert failed(verify(certificate, public, knowledge=folder / "all.jsonl"))[0] == "promise"
    sets, other = released(folder, "km exact", "other.json", force=True)
    with pytest.raises(InputError, match="no use"):
        verify(other, sets, knowledge=folder / "rules.jsonl")


def test_the_owner_can_tell_which_input_it_was_and_nobody_else(shop, own_key):
    assert verify(shop / "plain.json", shop / "plain.csv", original=shop / "raw.jsonl").holds
    other = verify(shop / "plain.json", shop / "plain.csv", original=shop / "plain.csv")
    assert failed(other) == ["original"]
    own_key.rename(own_key.with_name("moved.key"))
    with pytest.raises(InputError, match="SHOAL_KEY"):
        verify(shop / "plain.json", shop / "plain.csv", original=shop / "raw.jsonl")
    assert not own_key.exists()  # verifying makes no key

    certificate = changed(shop / "plain.json", lambda content: content["input"].pop("hmac_sha256"))
    with pytest.raises(InputError, match="no hash of its input"):
        verify(certificate, shop / "plain.csv", original=shop / "raw.jsonl")


def test_a_certificate_without_reading_facts_is_still_read(shop):
    """As an early version wrote them."""

    def strip(content):
        content["versions"]["shoal"] = "0.0.1"
        content["output"] = {name: content["output"][name] for name in ("file", "sha256", "rows", "empty")}
        for name in ("risk", "changes"):
            del content[name]

    found = verify(changed(shop / "plain.json", strip), shop / "plain.csv")
    assert found.holds


def test_names_in_a_certificate_are_never_taken_for_files(tmp_path, monkeypatch):
    """A forged role must not make verify open what it names."""
    folder = provoking_folder(tmp_path)
    public, certificate = released(folder, "k with a column", "certificate.json")
    secret = folder / "passwords"
    secret.write_text("zqhunter2\n")

    def forge(content):
        columns = content["output"]["columns"]
        columns[str(secret)] = columns.pop("illness")

    found = verify(changed(certificate, forge), public)
    assert not found.holds
    assert "hunter2" not in str(found.to_dict())


def test_new_key_is_for_its_owner_alone_and_replaces_nothing(tmp_path):
    private, public = new_key(tmp_path / "my.key")
    assert stat.S_IMODE(Path(private).stat().st_mode) == 0o600
    before = Path(private).read_bytes()
    with pytest.raises(InputError, match="never replaced"):
        new_key(tmp_path / "my.key")
    Path(private).unlink()
    with pytest.raises(InputError, match=r"my\.key\.pub"):
        new_key(tmp_path / "my.key")
    assert b"PRIVATE" in before
    assert b"PUBLIC" in Path(public).read_bytes()
    with pytest.raises(InputError, match="folder"):
        new_key(tmp_path / "no" / "my.key")


def test_keys_of_openssl_sign_and_are_verified_by_it(tmp_path):
    try:
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", tmp_path / "o.key"], check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("openssl is not here, or too old for ed25519")
    subprocess.run(["openssl", "pkey", "-in", tmp_path / "o.key", "-pubout", "-out", tmp_path / "o.pub"], check=True)
    ours = signer(tmp_path / "o.key")
    assert ours.public_key == public_key(tmp_path / "o.pub")
    assert signature_holds(b"content", ours.sign(b"content"), ours.public_key)
    assert not signature_holds(b"contents", ours.sign(b"content"), ours.public_key)


@pytest.mark.parametrize("signature", ["", "zz", "00" * 64, "00" * 63])
def test_no_signature_holds_that_is_none(tmp_path, signature):
    new_key(tmp_path / "my.key")
    assert not signature_holds(b"content", signature, public_key(tmp_path / "my.key.pub"))


def test_unusable_keys_are_refused_with_what_is_wrong(tmp_path):
    new_key(tmp_path / "my.key")
    with pytest.raises(InputError, match="public key"):
        signer(tmp_path / "my.key.pub")
    with pytest.raises(InputError, match="private key"):
        public_key(tmp_path / "my.key")
    (tmp_path / "odd.key").write_bytes(base64.b64encode(b"nothing"))
    for read in (signer, public_key):
        with pytest.raises(InputError, match="no ed25519 key"):
            read(tmp_path / "odd.key")
        with pytest.raises(InputError, match="no such file"):
            read(tmp_path / "absent.key")


def test_locked_and_other_keys_are_refused(tmp_path):
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    def write(name, key, lock):
        (tmp_path / name).write_bytes(key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, lock))

    write("locked.key", ed25519.Ed25519PrivateKey.generate(), s.BestAvailableEncryption(b"word"))
    write("ec.key", ec.generate_private_key(ec.SECP256R1()), s.NoEncryption())
    with pytest.raises(InputError, match="passphrase"):
        signer(tmp_path / "locked.key")
    with pytest.raises(InputError, match="another kind"):
        signer(tmp_path / "ec.key")


def test_owner_is_told_of_a_private_key_that_others_can_read(shop):
    (shop / "board.key").chmod(0o644)
    release = shoal.anonymize(shop / "raw.jsonl", KmAnonymity(5, 2))
    written = release.write(shop / "again.csv", sign=shop / "board.key")
    assert any("chmod 600" in note for note in written.notes)


def test_a_key_that_cannot_sign_is_found_before_anything_is_written(shop):
    release = shoal.anonymize(shop / "raw.jsonl", KmAnonymity(5, 2))
    with pytest.raises(InputError, match="public key"):
        release.write(shop / "new.csv", sign=shop / "board.key.pub")
    assert not (shop / "new.csv").exists()
    with pytest.raises(InputError, match="no certificate to sign"):
        Targets.of("-", sign=shop / "board.key").check()
    with pytest.raises(InputError, match="input of this release"):
        release.write(
            shop / "new.csv",
            certificate=shop / "board.key.json",
            rules=shop / "board.key",
            sign=shop / "board.key",
            force=True,
        )


def test_without_the_library_one_sentence_says_what_to_install(shop, monkeypatch):
    def missing():
        raise InputError("signatures need the cryptography library; pip install 'shoal[sign]'")

    monkeypatch.setattr(signing, "_cryptography", missing)
    release = shoal.anonymize(shop / "raw.jsonl", KmAnonymity(5, 2))
    with pytest.raises(InputError, match=r"shoal\[sign\]"):
        release.write(shop / "new.csv", sign=shop / "board.key")


def test_signing_gives_the_same_bytes_again(shop):
    release = shoal.anonymize(shop / "raw.jsonl", KmAnonymity(5, 2))
    for form in FORMS:
        texts = []
        for _ in range(2):
            release.write(shop / "same.csv", certificate=shop / f"same.{form}", sign=shop / "board.key", force=True)
            texts.append((shop / f"same.{form}").read_bytes())
        assert texts[0] == texts[1]


CHECKED = (
    "audit",
    "classes.count",
    "classes.average",
    "input.rows",
    "risk.rows",
    "risk.after",
    "row_order",
    "output.rows",
    "output.empty",
)
"""What anyone can find out from the file, or from the rest of the certificate."""


@pytest.mark.parametrize("name", CASES)
def test_what_the_file_disproves_is_caught_in_every_model(tmp_path, name):
    folder = provoking_folder(tmp_path)
    public, certificate = released(folder, name, "certificate.json")
    content = json.loads(certificate.read_text())
    rules = bool(content["guarantee"].get("knowledge"))  # what counts depends on is then not in the certificate
    for place in leaves(content):
        dotted = ".".join(place)
        if not dotted.startswith(CHECKED) or (rules and dotted.startswith(("audit", "risk.after"))):
            continue
        for change in (otherwise, None):
            other = changed(certificate, lambda facts, place=place, change=change: at(facts, place, change))
            assert "statements" in failed(verify(other, public, **verifying(folder, name))), (dotted, change)


def test_other_counts_of_items_and_a_warning_that_is_gone_are_caught(shop):
    release = shoal.anonymize(shop / "raw.jsonl", KmAnonymity(5, 2), keep_order=True)
    release.write(shop / "kept.csv", certificate=shop / "kept.json")
    assert verify(shop / "kept.json", shop / "kept.csv").holds
    for change in (
        lambda facts: facts["changes"].update(tokens=99),
        lambda facts: facts["warnings"].clear(),
        lambda facts: facts["parameters"].update(keep_order=False),
    ):
        found = verify(changed(shop / "kept.json", change), shop / "kept.csv")
        assert failed(found) == ["statements"]


def leaves(facts, above=()):
    """The places of all values that hold no others."""
    for name, value in facts.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*above, name))
        else:
            yield (*above, name)


def otherwise(value):
    """Another value of the same kind."""
    if isinstance(value, bool) or value is None:
        return not value
    return value + 1 if isinstance(value, int | float) else f"{value} "


def at(facts, place, change):
    """Changes what stands there, or takes it away."""
    for name in place[:-1]:
        facts = facts[name]
    if change is None:
        facts.pop(place[-1])
    else:
        facts[place[-1]] = change(facts[place[-1]])
