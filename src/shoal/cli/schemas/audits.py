"""`audit`, `gate`, `verify`, `sign` and `bundle`: does a promise hold, is this what was certified, and what is handed over?"""

from __future__ import annotations

from typing import Any, Literal

from shoal.cli.schemas import parts
from shoal.cli.schemas.parts import Count, Counts, Document, Sha256, join


class Audit(Counts):
    """Whether published data keep a promise."""

    holds: bool
    witnesses: list[parts.Shown]
    notes: list[str]


class KmAudit(Audit):
    guarantee: parts.Km


class KAudit(Audit, parts.SetFacts):
    guarantee: parts.K


class TableAudit(Audit, parts.TableFacts):
    guarantee: parts.Table


class RtAudit(Audit, parts.CrowdFacts):
    guarantee: parts.Rt


class LmAudit(Audit, parts.InferenceFacts):
    guarantee: parts.Lm


class DiversityAudit(Audit, parts.BucketFacts):
    guarantee: parts.Diversity


class ConstraintsAudit(Audit):
    guarantee: parts.Constraints


class ChunkAudit(Audit, parts.ChunkFacts):
    guarantee: parts.Chunks


class PlainDiversityAudit(Audit):
    guarantee: parts.PlainDiversity


Verdict = (
    KmAudit
    | KAudit
    | TableAudit
    | RtAudit
    | LmAudit
    | DiversityAudit
    | ConstraintsAudit
    | ChunkAudit
    | PlainDiversityAudit
)
KINDS = Verdict.__args__


class Here(Document):
    """What was audited on this machine."""

    input: str
    input_sha256: Sha256
    rows: Count


class OnSpark(Document):
    """What was audited on Spark."""

    input: str
    engine: str


class Check(Document):
    check: str
    holds: bool | None
    """None where it could not be told."""
    says: str


class NotChecked(Document):
    places: list[str]
    """Keys of the certificate."""
    why: str


class Verification(Document):
    """Whether data are what a certificate is about, and it is true."""

    holds: bool
    verdict: str
    guarantee: (
        parts.Km
        | parts.K
        | parts.Table
        | parts.Rt
        | parts.Lm
        | parts.CertifiedDiversity
        | parts.Constraints
        | parts.Chunks
        | parts.PlainDiversity
    )
    checks: list[Check]
    not_checked: list[NotChecked]
    vouched: bool
    signed_by: str | None
    """The public key."""
    audit: Verdict | None
    certificate: str
    data: str


class NewKey(Document):
    """With --new-key: the two files."""

    private: str
    public: str


class Signed(Document):
    """A certificate that was signed; where its data failed, what `verify` says."""

    certificate: str
    signed_by: str
    acknowledged: list[str]


class Problem(Document):
    """Something that is wrong with a file, without values of the data."""

    kind: Literal["promise", "certificate", "usefulness", "unreadable", "missing", "uncovered"]
    says: str


class GateFile(Document):
    """A check of a file; null where it could not be made, or was not asked for."""

    file: str
    """From the policy's folder; where no file fits, the patterns."""
    check: str | None
    passes: bool
    guarantee: str | None
    checked: Count | None
    violations: Count | None
    certificate: str | None
    """The verdict on it."""
    problems: list[Problem]


class Gate(Document):
    """Whether files may pass a policy."""

    holds: bool
    policy: str
    policy_sha256: Sha256
    ignored: Count
    """Files that were given and that no check is about."""
    files: list[GateFile]
    exit_code: Literal[0, 2, 3]


class Bundle(Document):
    """What was packed, by the names in it."""

    bundle: str
    files: list[str]
    sha256: Sha256


OUTPUTS: dict[str, tuple[Any, ...]] = {
    "audit": tuple(join(kind, place) for place in (Here, OnSpark) for kind in KINDS),
    "gate": (Gate,),
    "verify": (Verification, NewKey),
    "sign": (Signed, Verification),
    "bundle": (Bundle, Verification),
}
