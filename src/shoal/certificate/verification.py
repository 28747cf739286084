"""Verification: is a file the release that a certificate is about, does its promise still hold, and who signed it?

A certificate is believed in nothing that can be found out: the file is hashed, read as the certificate says, and audited again. What
remains a matter of trust (that the owner wrote these words) is what a signature is for. A page or a PDF must also show what
the facts within it say. What Spark wrote has no bytes of its own: its rows are hashed, and a folder must hold nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from shoal.certificate.checks import Check, NotChecked, limits_check, original_check, policy_check, signature_check
from shoal.certificate.document import CertificateFile, read_certificate
from shoal.certificate.facts import Published
from shoal.certificate.statements import Comparison, stated_rules
from shoal.certificate.terms import (
    guarantee_of,
    is_of_snapshots,
    known_by_rows,
    needs_policy,
    reading_of,
    sensitive_items_of,
)
from shoal.errors import InputError, Message, Unreachable, number_of, option
from shoal.guarantees.audit import Audit
from shoal.options import File as Path
from shoal.records.database.address import is_address
from shoal.records.formats.folders import Entry, beside, entries_of
from shoal.records.formats.peek import column_names, source_name
from shoal.records.roles import texts_of
from shoal.records.source import fingerprint
from shoal.records.storage.journal import settle
from shoal.records.storage.streams import Input, display_name
from shoal.showing import Shown

_SHOWN = 3
"""Names of files that a sentence has room for."""
_MAY_BE_LEFT_OUT = ("signature", "folder")
"""Not every release is signed, and what Spark leaves beside one (_SUCCESS) is not read."""

Auditor = Callable[[Any, Mapping[str, Any], bool], Published]
"""Reads and audits the data: takes the guarantee, how to read (roles of columns, format, separator), and whether rows are hashed."""


@dataclass(frozen=True)
class Subject:
    """The data that a certificate is said to be about, and what only the caller can say of them."""

    audit: Auditor
    path: Path | IO[Any] | None = None
    """A file or folder here, or an open file; None for what the auditor has on Spark, and for rows in memory."""
    name: str | None = None
    """What they are called on Spark."""
    folder: Check | None = None
    """What was found beside them on Spark."""
    sensitive: Any = None
    """The sensitive items, which a certificate must not name."""
    policy: Any = None
    """The policy, for a promise under constraints: a certificate must not hold it."""
    knows_rules: bool = False
    """Whether they are audited with rules that an attacker knows."""


@dataclass(frozen=True)
class Verification(Shown):
    """What came of all checks. It is true where they hold, so that it can be asserted.

    Attributes:
        certificate: Its facts.
        checks: Each with its name, whether it holds (None: it could not be made), and what it says.

    >>> import shoal
    >>> release = shoal.anonymize([["milk", "bread"]] * 9, shoal.KmAnonymity(k=5, m=2))
    >>> shoal.verify(release.certificate(), release.to_arrow())
    Verification(verified: all checks hold)
    """

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

    def __repr__(self) -> str:
        return f"Verification({self.verdict}: {', '.join(self._failed or self._left_out) or 'all checks hold'})"

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


def verification(
    certificate: Path | CertificateFile, subject: Subject, *, key: Path | None = None, original: Path | None = None
) -> Verification:
    """All checks of a certificate and of what it is said to be about."""
    data = subject.path
    path = data if isinstance(data, str | os.PathLike) else None
    settle(None if isinstance(certificate, CertificateFile) else certificate, path)  # with the address at hand
    file = certificate if isinstance(certificate, CertificateFile) else read_certificate(certificate)
    content = file.content
    by_rows = known_by_rows(content)
    if by_rows and original is not None:
        raise InputError(
            f"which input a release was made from that is known by its rows cannot be told from a file; leave out {option('original')}"
        )
    if data is None and not by_rows:
        raise InputError(
            "the certificate is about a file, which is known by its bytes; verify that file, where it lies, or opened"
        )
    sha256 = None if data is None else _file_sha256(data, by_rows)
    folder = folder_check(entries_of(path)) if path is not None and by_rows and os.path.isdir(path) else subject.folder
    guarantee, reading = (
        guarantee_of(content, subject.policy),
        reading_of(content) | ({"format": "parquet"} if by_rows else {}),
    )
    needed = sensitive_items_of(content)
    if needed and subject.sensitive is None:
        raise InputError(
            f"the certificate is about {number_of(needed, 'sensitive item')}, which it does not name; "
            f"name {'it' if needed == 1 else 'them'} with "
            f"{option('sensitive')}, as for the release"
        )
    if subject.sensitive is not None and not needed:
        raise InputError(f"the certificate needs no {option('sensitive')} to be verified; leave it out")
    if subject.policy is not None and not needs_policy(content):
        raise InputError(f"the certificate needs no {option('policy')} to be verified; leave it out")
    signature = signature_check(content, key)
    checks = [
        *([] if file.page is None else [file.page]),
        signature,
        *([] if (limits := limits_check(content)) is None else [limits]),
        *([] if original is None else [original_check(content, original)]),
        *([] if folder is None else [folder]),
        *([] if (asked := policy_check(content, subject.policy)) is None else [asked]),
    ]
    try:
        if data is not None:
            _check_columns(data, reading)
        published = subject.audit(guarantee, reading | ({"sensitive": subject.sensitive} if needed else {}), by_rows)
    except InputError as error:
        if subject.sensitive is not None or subject.knows_rules:  # then the caller's own words may be at fault
            raise
        unread = Check("promise", False, f"the file cannot be read as the certificate says: {error}")
        return Verification(content, (*checks, _identity(content, sha256), unread))
    if needed and published.sensitive_items != needed:
        raise InputError(
            f"the certificate is about {number_of(needed, 'sensitive item')}, and {option('sensitive')} names "
            f"{published.sensitive_items:,}; name those of the release"
        )
    sha256 = sha256 or published.sha256
    same = _identity(content, sha256)
    # Whether the promise is about rules, and the file was audited with some: which they were is the owner's word.
    rules_known = (
        subject.knows_rules
        and stated_rules(content) is not None
        and getattr(published.guarantee, "rules", None) is not None
    )
    name = subject.name if data is None else source_name(data)
    statements, left = Comparison(content, published, bool(same), rules_known).check(sha256, name)
    checks += [same, _promise(content, published, rules_known), statements]
    vouched = key is not None and bool(signature) and (file.page_hashed or bool(file.page))
    return Verification(content, tuple(checks), published.audit, left, vouched)


def folder_check(entries: Iterable[Entry]) -> Check:
    """Whether a folder holds the release alone: whoever passes it on passes on all that lies in it."""
    found = beside(entries)
    if found.strange:
        return Check(
            "folder", False, f"it also holds what is not part of the release: {_some(found.strange)}; remove it"
        )
    if found.marks:
        return Check("folder", None, f"what Spark left beside the data was not read: {_some(found.marks)}")
    return Check("folder", True, "it holds the release and nothing else")


def _file_sha256(data: Path | IO[Any], by_rows: bool) -> str | None:
    """The hash of a file; None for what is known by its rows. Raises unless it lies here."""
    where = os.fspath(data) if isinstance(data, str | os.PathLike) else ""
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
    if is_address(where):
        return fingerprint(where)
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


def _check_columns(data: Path | IO[Any], reading: Mapping[str, Any]) -> None:
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


def _promise(content: Mapping[str, Any], published: Published, rules_known: bool) -> Check:
    name, audit = str(published.guarantee), published.audit
    if not audit.holds:
        says = f"{name} does not hold: {audit.violations:,} of {audit.checked:,} counted break it"
        return Check("promise", False, says)
    if is_of_snapshots(content):
        says = f"{name} holds; {audit.checked:,} counted. What is said of the series is the owner's word"
        return Check("promise", True, says)
    if content["guarantee"].get("counted") == "people":
        says = f"{name} holds in rows; {audit.checked:,} counted. That they are the rows of as many people is the owner's word"
        return Check("promise", True, says)
    if not content["guarantee"].get("knowledge"):
        return Check("promise", True, f"{name} holds; {audit.checked:,} counted")
    if not rules_known:
        why = f"for those who know the rules it was not checked: give them with {option('knowledge')}"
        return Check("promise", None, Message(f"{name} holds; {why}"))
    given = len(published.guarantee.rules.without_redundant())
    return Check(
        "promise", True, f"{name} holds for who knows the {given:,} rules given; which were meant, the owner knows"
    )
