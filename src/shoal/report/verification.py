"""Verification: is a file the release that a certificate is about, does its promise still hold, and who signed it?

A certificate is believed in nothing that can be found out: the file is hashed, read as the certificate says, and audited again. What
remains a matter of trust (that the owner wrote these words) is what a signature is for. A page or a PDF must also show what
the facts within it say.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hmac import compare_digest
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from shoal import __version__
from shoal.errors import InputError
from shoal.guarantees.audit import Audit
from shoal.records.peeking import column_names
from shoal.records.streams import Input, display_name, reading_errors
from shoal.report.certificate import FORMAT, canonical
from shoal.report.owner_key import has_key, key_id, keyed, owner_key

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    holds: bool | None
    """None where it was not checked, and `says` tells why."""
    says: str

    def to_dict(self) -> dict[str, Any]:
        return {"check": self.name, "holds": self.holds, "says": self.says}


@dataclass(frozen=True)
class Verification:
    """What came of all checks."""

    certificate: Mapping[str, Any]
    checks: tuple[Check, ...]
    audit: Audit | None = None
    """The new audit, where the file could be read."""

    @property
    def holds(self) -> bool:
        """Whether no check failed."""
        return all(check.holds is not False for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        return {
            "holds": self.holds,
            "guarantee": self.certificate["guarantee"],
            "checks": [check.to_dict() for check in self.checks],
            "signed_by": self.certificate.get("signer", {}).get("public_key"),
            "audit": None if self.audit is None else self.audit.to_dict(),
        }


@dataclass(frozen=True)
class CertificateFile:
    """A certificate as it was found: its facts, and whether what people see of it agrees with them."""

    content: Mapping[str, Any]
    page: Check | None
    """None for JSON, which shows nothing but its facts."""


@dataclass(frozen=True)
class Recheck:
    """A file, read and audited anew."""

    guarantee: Any
    audit: Audit
    rows: int
    sha256: str
    sensitive_items: int = 0


Auditor = Callable[[Any, Mapping[str, Any]], Recheck]
"""Reads and audits the data: takes the guarantee, and how to read (roles of columns, format, separator)."""


def verification(
    certificate: Path,
    data: Path,
    auditor: Auditor,
    *,
    key: Path | None = None,
    original: Path | None = None,
    sensitive: Any = None,
    knows_rules: bool = False,
) -> Verification:
    """All checks of a certificate and the file it is said to be about. `sensitive` names what the certificate must not."""
    file = read_certificate(certificate)
    content = file.content
    if "digest" in content["output"]:
        raise InputError(
            f"{display_name(certificate)}: the release was made on Spark, where rows have no order and files are Spark's choice; audit it "
            "again with shoal audit --engine spark"
        )
    if os.fspath(data) == "-":
        raise InputError("verify reads the data more than once; name a file")
    with Input(data) as opened:
        sha256 = opened.sha256()
    guarantee, reading = promised(content), reading_of(content)
    needed = sensitive_items_of(content)
    if needed and sensitive is None:
        raise InputError(
            f"the certificate is about {needed:,} sensitive items, which it does not name; name them with --sensitive, as for the release"
        )
    if sensitive is not None:
        if not needed:
            raise InputError("the certificate needs no --sensitive to be verified; leave it out")
        reading = {**reading, "sensitive": sensitive}
    same = sha256 == content["output"]["sha256"]
    checks = [] if file.page is None else [file.page]
    checks += [_signature(content, key)] + ([] if original is None else [_original(content, original)])
    checks.append(
        Check("file", True, f"it is {_what(content)} that was certified")
        if same
        else Check("file", False, f"it is not {_what(content)} that was certified: its hash is another")
    )
    try:
        _check_columns(data, reading)
        found = auditor(guarantee, reading)
    except InputError as error:
        if sensitive is not None or knows_rules:  # then the caller's own words may be at fault
            raise
        checks.append(Check("promise", False, f"the file cannot be read as the certificate says: {error}"))
        return Verification(content, tuple(checks))
    if needed and found.sensitive_items != needed:
        raise InputError(
            f"the certificate is about {needed:,} sensitive items, and --sensitive names "
            f"{found.sensitive_items:,}; name those of the release"
        )
    checks += [_promise(content, found, knows_rules), _statements(content, found, same, sha256)]
    return Verification(content, tuple(checks), found.audit)


def read_certificate(path: Path) -> CertificateFile:
    """The certificate in a JSON file, a page or a PDF."""
    name = display_name(path)
    with reading_errors(path), open(path, "rb") as file:
        data = file.read()
    if data.startswith(b"%PDF-"):
        from shoal.report.typeset import attached_facts

        content = _facts(attached_facts(data, name), name)
        return CertificateFile(content, _same_pdf(content, data))
    if data.lstrip()[:9].lower().startswith((b"<!doctype", b"<html")):
        from shoal.report.pages import parted_page

        page, facts = parted_page(data, name)
        content = _facts(facts, name)
        stated = content.get("page")
        same = isinstance(stated, dict) and stated.get("sha256") == hashlib.sha256(page).hexdigest()
        return CertificateFile(content, _shown(same))
    return CertificateFile(_facts(data, name), None)


def promised(content: Mapping[str, Any]) -> Any:
    """The guarantee that a certificate is about."""
    from shoal.guarantees.diversity import MatchingDiversity
    from shoal.guarantees.k import KAnonymity
    from shoal.guarantees.km import KmAnonymity
    from shoal.guarantees.km_local import LocalKmAnonymity
    from shoal.guarantees.lm import LmDiversity
    from shoal.guarantees.rt import RTAnonymity
    from shoal.guarantees.table import TableAnonymity

    facts = content["guarantee"]
    known: dict[Any, tuple[Callable[..., Any], tuple[str, ...]]] = {
        "km": (LocalKmAnonymity if facts.get("local") else KmAnonymity, ("k", "m")),
        "k": (TableAnonymity if "quasi" in _roles(content).values() else KAnonymity, ("k", "l")),
        "rt": (RTAnonymity, ("k", "m")),
        "lm": (LmDiversity, ("k", "l", "m")),
        "diversity": (MatchingDiversity, ("l",)),
    }
    if facts.get("model") not in known:
        raise InputError(
            f"the certificate promises {facts.get('name')!r}, which this version does not know; update shoal"
        )
    make, names = known[facts["model"]]
    return make(*(facts.get(name) for name in names))


def _what(content: Mapping[str, Any]) -> str:
    """A file is known by its bytes, a table of a database by its rows, which have no order."""
    return "the table" if "sha256_of" in content["output"] else "the file"


def reading_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """How the file is to be read: a column or more per role, the format, what parts the items."""
    by_role: dict[str, list[str]] = {}
    for column, role in _roles(content).items():
        by_role.setdefault(role, []).append(column)
    found: dict[str, Any] = {role: tuple(by_role[role]) for role in ("quasi", "keep") if role in by_role}
    # One column is named by itself: models that take items by name tell a column from them by that.
    for role, name in (("sensitive", "sensitive"), ("sensitive items", "sensitive"), ("items", "items")):
        if role in by_role:
            found[name] = by_role[role][0] if len(by_role[role]) == 1 else tuple(by_role[role])
    output = content["output"]
    return found | {name: output[name] for name in ("format", "separator", "id", "items") if name in output}


def sensitive_items_of(content: Mapping[str, Any]) -> int:
    """Sensitive items that stand among the others: how many, for which is not said."""
    if "sensitive items" in _roles(content).values():
        return 0
    told = content["output"].get("sensitive_items", content["guarantee"].get("sensitive_items", 0))
    if not isinstance(told, int):
        raise InputError(f"the certificate counts {told!r} sensitive items; give the file that shoal wrote")
    return told


def _roles(content: Mapping[str, Any]) -> dict[str, str]:
    columns = content["output"].get("columns", content.get("columns", {}))
    if not isinstance(columns, dict) or not all(isinstance(role, str) for role in columns.values()):
        raise InputError("the certificate does not say which column has which role; give the file that shoal wrote")
    return columns


def _check_columns(data: Path, reading: Mapping[str, Any]) -> None:
    """Raises if the certificate speaks of columns that are not there: a name in it must never be taken for a file's."""
    wanted = [name for role in ("quasi", "keep", "items") for name in _listed(reading.get(role))]
    if not wanted:
        return
    there = column_names(data, reading.get("format"))
    missing = [name for name in wanted if name not in there]
    if missing:
        raise InputError(f"there is no column {missing[0]!r}")


def _listed(given: Any) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def _facts(data: bytes, name: str) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a name stands twice")
        return found

    try:
        content = json.loads(data.decode("utf-8"), object_pairs_hook=once)
    except (ValueError, RecursionError):  # also for what is no UTF-8
        raise InputError(
            f"{name}: it is not a certificate (no JSON, page or PDF that shoal wrote); check the file"
        ) from None
    if not isinstance(content, dict) or not isinstance(content.get("certificate"), str):
        raise InputError(f"{name}: it is not a certificate; give the file that shoal wrote beside the data")
    if content["certificate"] != FORMAT:
        raise InputError(f"{name}: it is a {content['certificate']!r}, and this version reads {FORMAT!r}; update shoal")
    parts = {"output": dict, "guarantee": dict, "audit": dict, "versions": dict, "promised": list, "not_promised": list}
    wrong = [part for part, kind in parts.items() if not isinstance(content.get(part), kind)]
    if wrong or not isinstance(content["output"].get("sha256"), str):
        raise InputError(
            f"{name}: {(wrong or ['the hash of the data'])[0]} is missing in it; give the file that shoal wrote"
        )
    output, guarantee = content["output"], content["guarantee"]
    texts = [output.get(part, "") for part in ("format", "separator", "id", "items")] + [guarantee.get("model")]
    objects = [content.get("signer", {}), guarantee.get("knowledge") or {}]
    if not all(isinstance(text, str) for text in texts) or not all(isinstance(part, dict) for part in objects):
        raise InputError(f"{name}: it was changed, and cannot be understood any more; give the file that shoal wrote")
    return content


def _shown(same: bool) -> Check:
    if same:
        return Check("page", True, "what it shows is what its facts say")
    return Check("page", False, "what it shows was changed: it does not belong to the facts within it")


def _same_pdf(content: Mapping[str, Any], data: bytes) -> Check:
    """Sets the PDF once more, where that gives the same bytes."""
    from shoal.report.typeset import typeset

    made_with = {name: content["versions"].get(name) for name in ("shoal", "typst")}
    if made_with["typst"] is None:  # the facts of a certificate in another form
        return _shown(False)
    if find_spec("typst") is None:
        return Check("page", None, "what it shows was not compared with its facts: pip install 'shoal[report]'")
    if made_with != {"shoal": __version__, "typst": metadata.version("typst")}:
        versions = " and ".join(f"{name} {version}" for name, version in made_with.items())
        return Check("page", None, f"what it shows was not compared with its facts: it was set by {versions}")
    try:
        return _shown(typeset(content) == data)
    except (KeyError, TypeError, ValueError, AttributeError):  # facts that no certificate has
        return _shown(False)


def _signature(content: Mapping[str, Any], key: Path | None) -> Check:
    from shoal.report.signing import public_key, signature_holds

    wanted = None if key is None else public_key(key)
    signed_with, signature = content.get("signer", {}).get("public_key"), content.get("signature")
    if signature is None or signed_with is None:
        if wanted is None and signature is None and signed_with is None:
            return Check("signature", None, "it is not signed")
        return Check(
            "signature", False, "it is not signed" if wanted else "it names a key or a signature, but not both"
        )
    if wanted is None and find_spec("cryptography") is None:
        return Check("signature", None, "it was not checked: pip install 'shoal[sign]'")
    if not signature_holds(canonical(content), str(signature), str(signed_with)):
        return Check("signature", False, "it was changed after it was signed")
    if wanted is None:
        return Check(
            "signature", True, f"it is as it was signed with key {signed_with}; whose key that is, --key PUBLIC tells"
        )
    if wanted != signed_with:
        return Check("signature", False, f"it was signed with another key, {signed_with}")
    return Check("signature", True, "it was signed by the holder of this key")


def _original(content: Mapping[str, Any], original: Path) -> Check:
    """Whether the release was made from this file: only who has the owner's key can tell."""
    key, used = (owner_key() if has_key() else None), content.get("key_id")
    stated = content["input"].get("hmac_sha256") if isinstance(content.get("input"), dict) else None
    if stated is None or used is None:
        raise InputError("the certificate holds no hash of its input; leave out the original")
    if key is None or key_id(key) != used:
        raise InputError(f"only the owner's key {used} tells which input it was; name its file in SHOAL_KEY")
    with Input(original) as opened:
        same = compare_digest(keyed(opened.sha256(), key).encode(), str(stated).encode("utf-8", "replace"))
    if same:
        return Check("original", True, "the release was made from this very input")
    return Check("original", False, "the release was made from another input, or from one that was no file")


def _promise(content: Mapping[str, Any], found: Recheck, knows_rules: bool) -> Check:
    name, audit = str(found.guarantee), found.audit
    if not audit.holds:
        says = f"{name} does not hold: {audit.violations:,} of {audit.checked:,} counted break it"
        return Check("promise", False, says)
    rules = content["guarantee"].get("knowledge")
    if not rules:
        return Check("promise", True, f"{name} holds; {audit.checked:,} counted")
    if not knows_rules:
        return Check(
            "promise",
            True,
            f"{name} holds; for those who know the rules it was not checked: give them with --knowledge",
        )
    given = len(found.guarantee.rules.applied())
    told = f"{rules.get('rules')} rules, {rules.get('redundant')} of them redundant"
    return Check(
        "promise", True, f"{name} holds for who knows the {given:,} rules given; the certificate counts {told}"
    )


def _statements(content: Mapping[str, Any], found: Recheck, same: bool, sha256: str) -> Check:
    """Whether the certificate says of this file what is so."""
    guarantee, rules = content["guarantee"], content["guarantee"].get("knowledge")
    stated, counted = content["audit"], found.audit.to_dict()
    wrong = []
    if not rules and guarantee.get("name") != str(found.guarantee):
        wrong.append(f"it calls {found.guarantee} {guarantee.get('name')!r}")
    if content.get("holds") is not True or stated.get("violations") != 0:
        wrong.append("it does not say that the promise holds")
    if not rules and content["versions"].get("shoal") == __version__:
        words = (list(found.guarantee.promise()), list(found.guarantee.limits()))
        if (content["promised"], content["not_promised"]) != words:
            wrong.append("its words are not those of its promise")
    if found.sha256 != sha256:
        wrong.append("the file changed while it was read")
    if content["output"].get("rows") != found.rows:
        wrong.append(f"it counts {content['output'].get('rows')!r} rows, there are {found.rows:,}")
    names = ["checked", "by_size", *(name for name, value in found.audit.facts.items() if isinstance(value, int))]
    if same and not rules and found.audit.complete and stated.get("complete"):
        off = [name for name in names if stated.get(name, counted[name]) != counted[name]]
        if off:
            wrong.append(f"its audit has another {off[0]!r} than the one made now")
    if wrong:
        return Check("statements", False, f"what the certificate says is not so: {'; '.join(wrong)}")
    return Check("statements", True, "its counts and words are those of this file and promise")
