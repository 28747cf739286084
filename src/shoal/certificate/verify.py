"""Verification: is a file the release that a certificate is about, does its promise still hold, and who signed it?

A certificate is believed in nothing that can be found out: the file is hashed, read as the certificate says, and audited again. What
remains a matter of trust (that the owner wrote these words) is what a signature is for. A page or a PDF must also show what
the facts within it say. What Spark wrote has no bytes of its own: its rows are hashed, and a folder must hold nothing else.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from shoal.certificate.compare import NotChecked
from shoal.certificate.facts import FORMATS
from shoal.certificate.promised import known_by_rows, promised, reading_of, sensitive_items_of
from shoal.certificate.sections import shown
from shoal.certificate.statements import Recheck, made_by, made_by_this_version, stated_rules, statements_check
from shoal.certificate.vouching import Check, original_check, signature_check
from shoal.errors import InputError, Message, Unreachable, option
from shoal.guarantees.audit import Audit
from shoal.limits import read_fixed, unique_keys
from shoal.records.database.address import is_address
from shoal.records.formats.folders import Entry, beside, entries_of
from shoal.records.formats.peek import column_names
from shoal.records.roles import texts_of
from shoal.records.storage.journal import settle
from shoal.records.storage.streams import Input, display_name, reading_errors

__all__ = [
    "CertificateFile",
    "Check",
    "NotChecked",
    "Recheck",
    "Verification",
    "certificate_in",
    "folder_check",
    "promised",
    "read_certificate",
    "reading_of",
    "sensitive_items_of",
    "verification",
]

Path = str | os.PathLike[str]

_LARGEST = 16 * 10**6
"""Bytes of a certificate: a page with its charts has a fraction of a megabyte."""
_SHOWN = 3
"""Names of files that a sentence has room for."""
_MAY_BE_LEFT_OUT = ("signature", "folder")
"""Not every release is signed, and what Spark leaves beside one (_SUCCESS) is not read."""


@dataclass(frozen=True)
class Verification:
    """What came of all checks. It is true where they hold, so that it can be asserted."""

    certificate: Mapping[str, Any]
    checks: tuple[Check, ...]
    audit: Audit | None = None
    """The new audit, where the file could be read."""
    not_checked: tuple[NotChecked, ...] = ()
    """Places of the certificate that nobody but its owner, its version or who knows its rules can check."""
    vouched: bool = False
    """Whether the holder of the given key signed all that it says and shows."""

    @property
    def holds(self) -> bool:
        """Whether no check failed, and none that can be made on any certificate was left out, unless the signer vouches for it."""
        return not self._failed and (self.vouched or not self._left_out)

    @property
    def verdict(self) -> str:
        if self.holds:
            return "verified"
        return "not verified" if self._failed else "not verified in full"

    @property
    def _failed(self) -> list[str]:
        return [check.name for check in self.checks if check.holds is False]

    @property
    def _left_out(self) -> list[str]:
        return [check.name for check in self.checks if check.holds is None and check.name not in _MAY_BE_LEFT_OUT]

    def __bool__(self) -> bool:
        return self.holds

    def require(self) -> Verification:
        """The verification itself where it holds; raises Unreachable, which carries the witnesses of the audit, where it does not."""
        if self.holds:
            return self
        names = ", ".join(self._failed or self._left_out)
        raise Unreachable(
            f"{self.verdict}: {names}; its checks say why", () if self.audit is None else self.audit.witnesses
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "holds": self.holds,
            "verdict": self.verdict,
            "guarantee": self.certificate["guarantee"],
            "checks": [check.to_dict() for check in self.checks],
            "not_checked": [part.to_dict() for part in self.not_checked],
            "vouched": self.vouched,
            "signed_by": self.certificate.get("signer", {}).get("public_key"),
            "audit": None if self.audit is None else self.audit.to_dict(),
        }


@dataclass(frozen=True)
class CertificateFile:
    """A certificate as it was found: its facts, and whether what people see of it agrees with them."""

    content: Mapping[str, Any]
    page: Check | None
    """None for JSON, which shows nothing but its facts."""
    page_hashed: bool = True
    """Whether the facts hold a hash of all that is shown, so that a signature covers it."""


Auditor = Callable[[Any, Mapping[str, Any], bool], Recheck]
"""Reads and audits the data: takes the guarantee, how to read (roles of columns, format, separator), and whether rows are hashed."""


def verification(
    certificate: Path | CertificateFile,
    data: Path | None,
    auditor: Auditor,
    *,
    key: Path | None = None,
    original: Path | None = None,
    sensitive: Any = None,
    knows_rules: bool = False,
    folder: Check | None = None,
    name: str | None = None,
) -> Verification:
    """All checks of a certificate and what it is said to be about: a file or folder here, or (None) what the auditor has on Spark.

    `sensitive` names what the certificate must not; `folder` is what was found beside the data, and `name` what they are called on Spark.
    """
    settle(None if isinstance(certificate, CertificateFile) else certificate, data)  # with the address at hand
    file = certificate if isinstance(certificate, CertificateFile) else read_certificate(certificate)
    content = file.content
    by_rows = known_by_rows(content)
    if by_rows and original is not None:
        raise InputError(
            f"which input a release on Spark was made from cannot be told from a file; leave out {option('original')}"
        )
    if data is None:
        if not by_rows:
            raise InputError(
                f"the certificate is about a file, which is known by its bytes; verify it without {option('engine', 'spark')}"
            )
        sha256 = None
    else:
        sha256 = _file_sha256(data, by_rows)
        folder = folder_check(entries_of(data)) if by_rows and os.path.isdir(data) else folder
    guarantee, reading = promised(content), reading_of(content) | ({"format": "parquet"} if by_rows else {})
    named, needed = reading, sensitive_items_of(content)
    if needed and sensitive is None:
        raise InputError(
            f"the certificate is about {needed:,} sensitive items, which it does not name; name them with "
            f"{option('sensitive')}, as for the release"
        )
    if sensitive is not None:
        if not needed:
            raise InputError(f"the certificate needs no {option('sensitive')} to be verified; leave it out")
        reading = {**reading, "sensitive": sensitive}
    checks = [] if file.page is None else [file.page]
    signature = signature_check(content, key)
    vouched = key is not None and bool(signature) and (file.page_hashed or bool(file.page))
    checks += [signature] + ([] if original is None else [original_check(content, original)])
    checks += [] if folder is None else [folder]
    try:
        if data is not None:
            _check_columns(data, named)
        found = auditor(guarantee, reading, by_rows)
    except InputError as error:
        if sensitive is not None or knows_rules:  # then the caller's own words may be at fault
            raise
        unread = Check("promise", False, f"the file cannot be read as the certificate says: {error}")
        checks += [_identity(content, sha256), unread]
        return Verification(content, tuple(checks))
    if needed and found.sensitive_items != needed:
        raise InputError(
            f"the certificate is about {needed:,} sensitive items, and {option('sensitive')} names "
            f"{found.sensitive_items:,}; name those of the release"
        )
    sha256 = sha256 or found.sha256
    same = _identity(content, sha256)
    rules_known = _rules_known(content, found, knows_rules)
    name = name if data is None else display_name(data)
    statements, left = statements_check(
        content, found, same=bool(same), sha256=sha256, name=name, rules_known=rules_known
    )
    checks += [same, _promise(content, found, rules_known), statements]
    return Verification(content, tuple(checks), found.audit, left, vouched)


def folder_check(entries: Iterable[Entry]) -> Check:
    """Whether a folder holds the release alone: whoever passes it on passes on all that lies in it."""
    found = beside(entries)
    if found.strange:
        return Check(
            "folder", False, f"it also holds what is no part of the release: {_some(found.strange)}; remove it"
        )
    if found.marks:
        return Check("folder", None, f"what Spark left beside the data was not read: {_some(found.marks)}")
    return Check("folder", True, "it holds the release and nothing else")


def read_certificate(path: Path) -> CertificateFile:
    """The certificate in a JSON file, a page or a PDF."""
    settle(path)
    with reading_errors(path), open(path, "rb") as file:
        data = read_fixed(file, display_name(path), _LARGEST, "a certificate")
    return certificate_in(data, display_name(path))


def certificate_in(data: bytes, name: str) -> CertificateFile:
    """The certificate in the bytes of such a file."""
    if data.startswith(b"%PDF-"):
        from shoal.certificate.pdf import attached_facts

        content = _facts(attached_facts(data, name), name)
        return CertificateFile(content, _same_pdf(content, data), page_hashed=False)
    if data.lstrip()[:9].lower().startswith((b"<!doctype", b"<html")):
        from shoal.certificate.page import parted_page

        page, facts = parted_page(data, name)
        content = _facts(facts, name)
        return CertificateFile(content, _same_page(content, data, page))
    content = _facts(data, name)
    return CertificateFile(content, _shown(False) if "page" in content else None)


def _file_sha256(data: Path, by_rows: bool) -> str | None:
    """The hash of a file; None for what is known by its rows. Raises unless it lies here."""
    where = os.fspath(data)
    if where == "-":
        raise InputError("verify reads the data more than once; name a file")
    if by_rows:
        if where.startswith("table:") or "://" in where or is_address(where):
            raise InputError(
                f"{display_name(where)}: only Spark can read it; verify it with {option('engine', 'spark')}, "
                "or a copy of it as a Parquet folder here"
            )
        with Input(data) as opened:
            if opened.is_folder:
                _ = opened.files  # raises if there are none
        return None
    with Input(data) as opened:
        if opened.is_folder:
            raise InputError(f"{opened.name}: it is a folder, and the certificate is about a file; name the file")
        return opened.sha256()


def _identity(content: Mapping[str, Any], sha256: str | None) -> Check:
    """A file is known by its bytes, a table of a database and a release on Spark by their rows, which have no order."""
    same = sha256 == content["output"]["sha256"]
    if known_by_rows(content):
        if same:
            return Check("file", True, "it holds the rows that were certified, and no others")
        return Check(
            "file", False, "its rows are not those that were certified" + (": their hash is another" * bool(sha256))
        )
    what = "the table" if "sha256_of" in content["output"] else "the file"
    if same:
        return Check("file", True, f"it is {what} that was certified")
    return Check("file", False, f"it is not {what} that was certified: its hash is another")


def _check_columns(data: Path, reading: Mapping[str, Any]) -> None:
    """Raises if the certificate speaks of columns that are not there: a name in it must never be taken for a file's."""
    wanted = [name for role in ("quasi", "keep", "items", "sensitive") for name in texts_of(reading.get(role))]
    if not wanted:
        return
    there = column_names(data, reading.get("format"))
    missing = [name for name in wanted if name not in there]
    if missing:
        raise InputError(f"there is no column {missing[0]!r}")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(map(repr, names[:_SHOWN])) + more


def _facts(data: bytes, name: str) -> dict[str, Any]:
    def finite(text: str) -> float:
        number = float(text)
        if not math.isfinite(number):
            raise ValueError("not a number")
        return number

    try:
        content = json.loads(
            data.decode("utf-8"), object_pairs_hook=unique_keys, parse_float=finite, parse_constant=finite
        )
    except (ValueError, RecursionError):  # also for what is no UTF-8
        raise InputError(
            f"{name}: it is not a certificate (no JSON, page or PDF that shoal wrote); check the file"
        ) from None
    if not isinstance(content, dict) or not isinstance(content.get("certificate"), str):
        raise InputError(f"{name}: it is not a certificate; give the file that shoal wrote beside the data")
    if content["certificate"] == "shoal certificate 1":
        raise InputError(
            f"{name}: it is of an earlier format, which stated exact counts of the original that can tell how few people have something; "
            "release the data again, hand out the new certificate in its place, and do not pass this one on"
        )
    if content["certificate"] not in FORMATS:
        raise InputError(f"{name}: it is a certificate of a kind that this version does not know; update shoal")
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


def _same_page(content: Mapping[str, Any], data: bytes, page: bytes) -> Check:
    """Sets the page once more. Its hash alone says little: whoever forges the page forges that as well."""
    from shoal.certificate import page as pages

    if content.get("page") != {"sha256": hashlib.sha256(page).hexdigest()}:
        return _shown(False)
    again = _set_again(lambda: pages.page_with(pages.page(content), content))
    if again != data and not made_by_this_version(content):
        return Check("page", None, f"what it shows was not compared with its facts: {made_by(content)}")
    return _shown(again == data)


def _same_pdf(content: Mapping[str, Any], data: bytes) -> Check:
    """Sets the PDF once more, where that gives the same bytes."""
    from shoal.certificate import pdf as typeset

    if content["versions"].get("typst") is None or "page" in content:  # the facts of a certificate in another form
        return _shown(False)
    if find_spec("typst") is None:
        return Check("page", None, "what it shows was not compared with its facts: pip install 'shoal[report]'")
    again = _set_again(lambda: typeset.typeset(content))
    if again == data:
        return _shown(True)
    made_with, here = content["versions"]["typst"], metadata.version("typst")
    if not made_by_this_version(content):
        return Check("page", None, f"what it shows was not compared with its facts: {made_by(content)}")
    if made_with != here:
        return Check(
            "page",
            None,
            f"what it shows was not compared with its facts: it was set by typst {shown(made_with)}, not {here}",
        )
    if again is not None and typeset.needs_system_fonts(content):
        return Check(
            "page",
            None,
            "what it shows was not compared with its facts: a name needs fonts that differ between machines",
        )
    return _shown(False)


def _set_again(setting: Callable[[], bytes]) -> bytes | None:
    try:
        return setting()
    except Exception:  # facts that no certificate has, which may be anything
        return None


def _rules_known(content: Mapping[str, Any], found: Recheck, knows_rules: bool) -> bool:
    """Whether the promise is about rules, and the file was audited with some: which they were is the owner's word."""
    return knows_rules and stated_rules(content) is not None and getattr(found.guarantee, "rules", None) is not None


def _promise(content: Mapping[str, Any], found: Recheck, rules_known: bool) -> Check:
    name, audit = str(found.guarantee), found.audit
    if not audit.holds:
        says = f"{name} does not hold: {audit.violations:,} of {audit.checked:,} counted break it"
        return Check("promise", False, says)
    if not content["guarantee"].get("knowledge"):
        return Check("promise", True, f"{name} holds; {audit.checked:,} counted")
    if not rules_known:
        why = f"for those who know the rules it was not checked: give them with {option('knowledge')}"
        return Check("promise", None, Message(f"{name} holds; {why}"))
    given = len(found.guarantee.rules.applied())
    return Check(
        "promise", True, f"{name} holds for who knows the {given:,} rules given; which were meant, the owner knows"
    )
