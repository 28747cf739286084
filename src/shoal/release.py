"""The way of the data, top to bottom: a plan in, a release out. Read, propose, shuffle, audit; then publish (`shoal.publish`).

    release = run(read_plan("plan.yaml"))

    release = anonymize("baskets.csv", KmAnonymity(k=5, m=2), hierarchy="tree.csv")
    release.write("public.csv")

An algorithm proposes, the audit decides. It is separate code that looks only at the rows that would be published.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import IO, TYPE_CHECKING, Any, Unpack

import numpy as np

from shoal.algorithms import OF_SERIES, entry
from shoal.algorithms.recoding import Options, Progress, listener
from shoal.certificate.facts import Published
from shoal.errors import InputError, ShoalError, option
from shoal.evaluation.raw_risk import Exposed, raw_risk
from shoal.guarantees.audit import Audit
from shoal.guarantees.constraints.policy import Policy
from shoal.guarantees.registry import OF_SETS, Guarantee, check_counts_people, promised_in_people
from shoal.hierarchy.tree import Hierarchy
from shoal.limits import limited_inputs
from shoal.models import Outcome, Proposal, Roles, model_of, with_knowledge
from shoal.models.km import resolve_hierarchy
from shoal.numbers import whole_number
from shoal.options import KEYWORDS, Auditing, Keywords, Reading, check_keywords, signature_of
from shoal.options import File as Path
from shoal.plan.ask import plan_from
from shoal.plan.model import Plan
from shoal.plan.parse import read_plan
from shoal.plan.policy_file import read_policy
from shoal.publish import Targets, Written, check_files, check_hash, row_certificate, write, write_stream
from shoal.records.baskets import Baskets
from shoal.records.database.address import address_of, is_address, with_query, without_password
from shoal.records.formats.one_hot import ITEMS, OneHot
from shoal.records.formats.tabular import Tabular
from shoal.records.layout import CELLED, Layout
from shoal.records.records import Records
from shoal.records.source import SetReading, Source
from shoal.records.spelling.local_forms import respell
from shoal.records.storage.digest import row_digest
from shoal.records.storage.memory import peak_bytes
from shoal.records.storage.scratch import Scratch
from shoal.records.storage.streams import is_stream
from shoal.records.stores.once import one_copy
from shoal.series.ledger import turn_at, was_read
from shoal.showing import Plotted, log, watching

if TYPE_CHECKING:
    from shoal.certificate.document import CertificateFile
    from shoal.certificate.verification import Verification
    from shoal.series.turns import Turn

__all__ = [
    "Release", "Targets", "Written", "anonymize", "audit", "resolve_hierarchy", "run", "shuffle", "stack", "verify",
]  # fmt: skip


SECRET_SHOWN = (
    "the address holds a password, which the list of processes and the history of the shell may show; "
    "PGPASSWORD or ~/.pgpass keep it out of sight"
)
KEPT_ORDER = "the rows keep the order of the input, which can give people away; the certificate says so"
_READING = ("format", "items", "id", "person", "separator", "drop", "numeric", "spelling")
_WAY = (
    *("quasi", "items", "one_hot", "sensitive", "keep", "drop", "id", "person"),
    *("separator", "numeric", "spelling", "hierarchy", "unknown"),
)

Read = tuple[Source, Any]
"""What was read for a plan, and its guarantee, which then knows what in the data is sensitive."""


def run(
    plan: Plan | Path, *, force: bool = False, progress: Progress | bool | None = None, read: Read | None = None
) -> Release:
    """The release of a plan, written to its outputs, if it has any.

    Args:
        plan: What is read, promised and written, or the path of a file that says so.
        read: What `shoal.release.read_for` gave, where the data were read before.

    Raises:
        InputError: The plan, its data or its outputs are not usable.
        Unreachable: No release keeps the promise.

    >>> import shoal
    >>> used = shoal.write(shoal.read([["milk", "bread"], ["milk", "bread"]]), "baskets.csv")
    >>> plan = shoal.Plan(version=1, input={"path": "baskets.csv"}, guarantee={"model": "km", "k": 2, "m": 2})
    >>> shoal.run(plan).audit.holds
    True
    """
    plan = read_plan(plan) if isinstance(plan, str | os.PathLike) else plan
    if plan.on_spark:
        raise plan.refusal(("engine",), "this plan is for Spark: run it with shoal run, or take engine: local")
    with one_copy(), watching(progress) as watch, turn_at(plan.ledger):
        targets = check_files(plan, force=force or plan.ledger is not None)
        with plan.speaking():
            if plan.ledger is not None:  # what is there may be the answer to the same input
                read = read or read_for(plan)
                if not was_read(plan.ledger, read[0].sha256):
                    check_files(plan, force=force)
            release = release_of(plan, watch, read)
        check_hash(plan, release.input_sha256)
        if targets is not None:
            with plan.speaking():
                release.written.append(write(release, targets, force=force, progress=watch))
    return release


def anonymize(
    data: Any, guarantee: Guarantee, *, progress: Progress | bool | None = None, **keywords: Unpack[Keywords]
) -> Release:
    """The release of `data` (a path, `-`, an address of a database, Baskets, Records, a data frame, rows) that keeps the guarantee.

    Nothing is written yet: `Release.write` does that. The keywords are the options of `shoal anonymize`, by name:
    `help(shoal.options.Keywords)` lists them, and the reference explains each.

    For KmAnonymity, `hierarchy` is a file, `frequency:N` (N = 5 unless given), `learned:N`, `balanced:N`, `prefix` or a Hierarchy. For
    tables it is a mapping with one of these, or `bands:...`, `dates`, `mask` and so on, per column. `sensitive` is a column, a list of
    items or a file with one on each line. `progress` is told what is going on and which share of it is done; True shows it here.

    Args:
        data: A path, `-`, an address of a database, a data frame, an Arrow table, Baskets, Records, or rows of names.
        guarantee: The promise that the release has to keep, such as `KmAnonymity(k=5, m=2)`.

    Raises:
        InputError: The data, a file or an option is not usable.
        Unreachable: The input is fine, and no release keeps the promise.

    >>> import shoal
    >>> rows = [["milk", "bread"], ["milk", "bread"], ["milk", "gin"], ["milk", "rum"]]
    >>> release = shoal.anonymize(rows, shoal.KmAnonymity(k=2, m=2), hierarchy="frequency:2")
    >>> release.audit.holds, release.rows
    (True, 4)
    """
    check_keywords(keywords, KEYWORDS, "anonymize")
    with one_copy():
        plan = plan_from(data, guarantee, to_save=False, **keywords)
        with plan.speaking(), watching(progress) as watch:
            return release_of(plan, watch)


anonymize.__signature__ = signature_of(anonymize, KEYWORDS)  # type: ignore[attr-defined]


def release_of(plan: Plan, progress: Progress | None = None, read: Read | None = None) -> Release:
    """The release that a plan asks for; nothing is written."""
    started = time.monotonic()
    asked = plan.request
    given = {row.name: asked[row.name] for row in fields(Options) if asked.get(row.name) is not None}
    options = Options(**given, progress=listener(progress))
    options.tell("reading", 0.0)
    source, guarantee = read or read_for(plan)
    turn: Turn | None = None
    if plan.series is not None:
        from shoal.series.turns import turn_of

        turn = turn_of(plan, source, guarantee, asked, options)
        if turn.proposal is None:
            return _unpublished(plan, turn, source, guarantee, started)
        assert turn.source is not None
        source, proposal = turn.source, turn.proposal
    else:
        if source.records.people is not None:
            check_counts_people(plan.kind, entry(plan.kind, plan.algorithm)[0])
            guarantee = promised_in_people(guarantee)
        proposal = model_of(guarantee).proposal(source, guarantee, asked, options)

    if proposal.stay is not None:
        gone = len(source) - len(np.unique(proposal.stay))
        if gone > (asked["suppress_rows"] or 0.0) * len(source):
            raise _refused(proposal, f"it leaves out {gone:,} of {len(source):,} rows")
        source = replace(source, records=source.records.take(proposal.stay))
    if source.forms:
        assert isinstance(proposal.published, Records)
        proposal = replace(proposal, published=respell(proposal.published, dict(source.forms)))
    options.tell("counting what the raw data gives away", 0.0)
    risk = raw_risk(source, guarantee, threads=options.threads)
    published = proposal.published
    if source.records.people is not None:  # rows are in the order of the input, and are whose they were
        published = replace(published, people=source.records.people)
    published = published if plan.keep_order else shuffle(published, proposal.together)
    try:
        verdict = _audit(published, proposal.guarantee, threads=options.threads, progress=progress)
    except InputError as error:
        raise _refused(proposal, str(error)) from error
    if not verdict.holds:
        why = f"{guarantee} does not hold ({verdict.violations:,} of {verdict.checked:,} counted break it)"
        raise _refused(proposal, why)
    records = verdict.facts.get(
        "records", len(published)
    )  # where the rows are pieces of records, the audit says of how many
    rows = len(source) if turn is None else turn.rows
    if records != rows:
        raise _refused(proposal, f"of {rows:,} rows it has {records:,}")
    advice = proposal.advice()
    proposal = replace(proposal, advice=tuple)  # it holds the raw data, and has said its word
    data, trees = plan.data, plan.hierarchy
    specs = trees.values() if isinstance(trees, Mapping) else [trees]
    log.info(
        "%s by %s: %s rows in %.1f s",
        proposal.guarantee,
        proposal.algorithm,
        f"{len(published):,}",
        time.monotonic() - started,
    )
    inputs = (
        source.state or without_password(data),
        *specs,
        plan.sensitive,
        asked["knowledge"],
        _policy_path(guarantee),
        None if turn is None else turn.path,
    )
    return Release(
        published=published,
        proposal=proposal,
        audit=verdict,
        keep_order=plan.keep_order,
        source=source.name,
        inputs=tuple(os.fspath(path) for path in inputs if isinstance(path, str | os.PathLike)),
        input_sha256=source.sha256,
        layout=source.layout,
        seconds=time.monotonic() - started,
        peak_mb=peak_mb(),
        notes=(() if turn is None else turn.notes)
        + (source.notes if plan.kind in OF_SETS else ())  # models of tables tell them
        + proposal.notes
        + advice
        + ((KEPT_ORDER,) if plan.keep_order else ())
        + ((SECRET_SHOWN,) if is_address(data) and address_of(data).secrets else ()),
        risk=risk,
        origin=source.origin,
        request=_way_of(plan, proposal),
        series=None if turn is None else turn.facts,
        turn=turn,
    )


def _unpublished(plan: Plan, turn: Turn, source: Source, guarantee: Any, started: float) -> Release:
    """The release of a turn in which nothing is published."""
    data = without_password(plan.data)
    guarantee = promised_in_people(guarantee) if "counted" in turn.ledger.promise else guarantee
    nothing = source.baskets.take(np.zeros(0, np.int64))
    return Release(
        published=nothing,
        proposal=Proposal(guarantee, nothing, None, plan.algorithm or OF_SERIES[0], {}, {}),
        audit=guarantee.audit(nothing),
        keep_order=plan.keep_order,
        source=source.name,
        inputs=(*((os.fspath(data),) if isinstance(data, str | os.PathLike) else ()), turn.path),
        input_sha256=source.sha256,
        layout=source.layout,
        seconds=time.monotonic() - started,
        peak_mb=peak_mb(),
        notes=turn.notes,
        series=turn.facts,
        turn=turn,
    )


def _policy_path(guarantee: Any) -> str | None:
    policy = getattr(guarantee, "policy", None)
    return None if policy is None else policy.path


def _way_of(plan: Plan, proposal: Proposal) -> dict[str, Any]:
    """How a release came about, for those who compare it with its input: roles, reading, trees, k, l and m."""
    asked = plan.keywords()
    way = {name: asked[name] for name in _WAY if name in asked}
    if proposal.guarantee.model == "km":
        recoding = proposal.recoding
        way["hierarchy"] = getattr(recoding, "hierarchy", None) or recoding.cut.hierarchy
    numbers = ("k", "m", "l")
    return way | {name: getattr(proposal.guarantee, name) for name in numbers if hasattr(proposal.guarantee, name)}


def read_for(plan: Plan) -> Read:
    """What a plan reads, and the guarantee that it asks for."""
    asked, guarantee = plan.request, plan.promise
    reading: dict[str, Any] = plan.reading()
    if asked["memory_limit"] is not None:
        how = (asked["algorithm"], plan.hierarchy)
        reading["memory_limit"] = scratch_for(asked["memory_limit"], asked["threads"], guarantee, *how)
    quasi, keep = (plan.of_role(role) or None for role in ("quasi", "keep"))
    roles = Roles(plan.sensitive, quasi, keep, plan.options.missing_quasi, plan.options.shift)
    read: Read = model_of(guarantee).read(plan.content, guarantee, roles, reading)
    return read


def _refused(proposal: Proposal, why: str) -> ShoalError:
    return ShoalError(
        f"the audit refuses what {proposal.algorithm} proposed: {why}; this is a bug in Shoal, please report it; nothing was written"
    )


def stack(
    ledger: Path,
    files: Sequence[Path],
    *,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    **reading: Unpack[SetReading],
) -> Release:
    """Published batches of a series put together, those that are older expressed under the cut that the series has now.

    Nothing is written yet: `Release.write` does that, with a certificate as for any release. Its losses are those that a reader can see.

    Args:
        ledger: The ledger of the series.
        files: The batches, as they were published.
        **reading: How they are read, as for `shoal.read`.

    Raises:
        InputError: The ledger, or a file, is not usable, or a file is not a batch of the series.

    >>> import shoal
    >>> rows = [["milk", "bread"], ["milk", "bread"], ["milk", "gin"], ["milk", "gin"]]
    >>> for name, batch in (("monday.csv", rows), ("tuesday.csv", rows[:2])):
    ...     release = shoal.anonymize(batch, shoal.KmAnonymity(k=2, m=2), hierarchy="balanced:2", series="ledger.json")
    ...     written = release.write(name)
    >>> shoal.stack("ledger.json", ["monday.csv", "tuesday.csv"]).rows
    6
    """
    from shoal.series.stacking import stacked_batches

    check_keywords(reading, SetReading.__annotations__, "stack")
    started = time.monotonic()
    with one_copy(), watching(progress) as watch, limited_inputs(reading.get("input_limit")):
        said = {name: value for name, value in reading.items() if name != "input_limit"}
        source, proposal, facts = stacked_batches(ledger, files, said)
        published = shuffle(proposal.published)
        verdict = _audit(published, proposal.guarantee, threads=threads, progress=watch)
    if not verdict.holds:
        raise _refused(proposal, f"{proposal.guarantee} does not hold")
    return Release(
        published=published,
        proposal=proposal,
        audit=verdict,
        keep_order=False,
        source=source.name,
        inputs=tuple(os.fspath(path) for path in (*files, ledger)),
        input_sha256=source.sha256,
        layout=source.layout,
        seconds=time.monotonic() - started,
        peak_mb=peak_mb(),
        notes=proposal.notes,
        series=facts,
    )


def audit(
    data: Any,
    guarantee: Guarantee,
    *,
    witnesses: int = 10,
    yes_or_no: bool = False,
    progress: Progress | bool | None = None,
    **keywords: Unpack[Auditing],
) -> Audit:
    """Whether `data` keeps the guarantee, from the data alone; with `yes_or_no`, the first breach is enough.

    For MatchingDiversity, `knowledge` is a file of rules that the attacker knows, and `hierarchy` has those that they speak of.

    Args:
        data: What was published, as for `anonymize`; it does not matter by which tool.
        guarantee: The promise to look for.
        witnesses: How many of those who break the promise are named, the rarest first.
        yes_or_no: Stop at the first breach, which is all that a pipeline needs.

    Raises:
        InputError: The data or an option is not usable. That a promise does not hold is not an error: see `Audit.require`.

    >>> import shoal
    >>> verdict = shoal.audit([["milk"], ["milk"], ["gin"]], shoal.KmAnonymity(k=2, m=1))
    >>> verdict.holds, verdict.witnesses[0].items, verdict.witnesses[0].rows
    (False, ('gin',), (3,))
    """
    check_keywords(keywords, Auditing.__annotations__, "audit")
    whole_number("witnesses", witnesses, 0)
    if keywords.get("threads") is not None:
        whole_number("threads", keywords["threads"], 1)
    with limited_inputs(keywords.get("input_limit")):
        source, guarantee = read_to_audit(data, guarantee, keywords)
        how = {"threads": keywords.get("threads"), "witnesses": witnesses, "yes_or_no": yes_or_no}
        with watching(progress) as watch:
            verdict = audited_source(source, guarantee, progress=watch, **how)
        log.info("audited %s rows: %s %s", f"{len(source):,}", guarantee, "holds" if verdict else "does not hold")
        return verdict


def read_to_audit(data: Any, guarantee: Any, keywords: Mapping[str, Any]) -> tuple[Source, Any]:
    """What an audit looks at, and the guarantee against an attacker with the knowledge that is given."""
    asked: dict[str, Any] = dict(keywords)
    if isinstance(data, Release) and not any(asked.get(name) for name in Reading.__annotations__):
        data = data.published  # whose columns have their roles
    data = with_query(data, asked.get("query"))
    if asked.get("one_hot"):
        data, asked["items"] = OneHot.of(data, asked), ITEMS
    reading = {name: asked[name] for name in _READING if asked.get(name) is not None}
    if asked.get("memory_limit") is not None:
        reading["memory_limit"] = scratch_for(asked["memory_limit"], asked.get("threads"), guarantee)
    roles = Roles(*(asked.get(name) for name in ("sensitive", "quasi", "keep")))
    source, guarantee = model_of(guarantee).read(data, guarantee, roles, reading)
    knowledge = (asked.get("knowledge"), asked.get("hierarchy"))
    return source, with_knowledge(guarantee, None if source.records.holds_sets_alone else source.records, *knowledge)


def scratch_for(
    memory_limit: int | str, threads: int | None, guarantee: Any, algorithm: str | None = None, hierarchy: Any = None
) -> Scratch:
    """Where arrays go that a limit on memory leaves no room for; raises for what holds all rows in memory whatever the limit."""
    why = "what it knows about each row is in memory; leave the limit out"
    if guarantee.model != "km":
        raise InputError(f"a memory limit is for k^m-anonymity, and this is {guarantee}: {why}")
    if algorithm not in (None, "exact"):
        raise InputError(f"a memory limit is for algorithm exact, and this is {algorithm}: {why}")
    if isinstance(hierarchy, str) and hierarchy.startswith("learned:"):
        raise InputError(
            f"a memory limit is not for {hierarchy}, which is learned from all rows; take frequency:5 or a file"
        )
    return Scratch.of(memory_limit, threads)


def audited_source(source: Source, guarantee: Any, **how: Any) -> Audit:
    """As `audit`, of what has been read already."""
    if source.records.people is not None:
        guarantee = promised_in_people(guarantee)
    # Promises about tables see one even where it has sets alone: it knows which of their items are sensitive.
    rows = source.records if guarantee.model in ("rt", "lm") else source.rows
    return _audit(rows, guarantee, **how)


def _audit(published: Baskets | Records, guarantee: Any, *, progress: Progress | None = None, **how: Any) -> Audit:
    tell: Callable[[float], None] | None = None
    if progress is not None:
        watching = progress
        tell = lambda share: watching("auditing", share)  # noqa: E731
    verdict: Audit = guarantee.audit(published, progress=tell, **how)
    return verdict


def verify(
    certificate: Path | bytes | Mapping[str, Any] | CertificateFile,
    data: Any,
    *,
    key: Path | None = None,
    original: Path | None = None,
    sensitive: str | Collection[str] | None = None,
    knowledge: Path | None = None,
    hierarchy: Mapping[str, Hierarchy | Path] | None = None,
    policy: Path | Policy | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Verification:
    """Whether `data` is the release that a certificate is about, and its promise still holds; with `key`, whether its holder signed it.

    The certificate is a file, the bytes of one, or its facts. A release that Spark wrote is a folder of Parquet files, known by its rows
    (see `shoal.spark.verify` for those that are elsewhere); so is one in a data frame, by the certificate of `Release.certificate`.
    `original` is the raw input, of which only the owner's key tells whether the release was made from it. `sensitive` names the
    sensitive items of the release, which its certificate does not; `knowledge` (and `hierarchy`, where its rules speak of categories) what
    an attacker is taken to know of a release in buckets, which is otherwise audited without. `policy` is what a promise under constraints
    protects, which its certificate does not hold.

    Args:
        certificate: The certificate: the path of its file (JSON, page or PDF), the bytes of one, or its facts.
        data: What it should be about: a path, an open file or, for a certificate of rows, a data frame.
        key: The public key of whoever is said to have signed it.
        original: The raw input, which the owner alone has.

    Raises:
        InputError: A file is not there, or is not a certificate. That something is not as stated is not an error: the result says so.

    >>> import shoal
    >>> rows = [["milk", "bread"], ["milk", "bread"], ["milk"], ["milk"]]
    >>> written = shoal.anonymize(rows, shoal.KmAnonymity(k=2, m=2)).write("public.csv")
    >>> shoal.verify("public.csv.certificate.json", "public.csv").verdict
    'verified'
    """
    from shoal.certificate.document import given_certificate
    from shoal.certificate.verification import Subject, verification

    if threads is not None:
        whole_number("threads", threads, 1)
    is_file = isinstance(data, str | os.PathLike) or is_stream(data)

    def auditor(guarantee: Any, how: Mapping[str, Any], by_rows: bool) -> Published:
        roles = Roles(*(how.get(name) for name in ("sensitive", "quasi", "keep")))
        reading = {name: value for name, value in how.items() if not hasattr(roles, name)}
        if not is_file:
            reading.pop("format", None)
        source, guarantee = model_of(guarantee).read(data, guarantee, roles, reading)
        sha256 = row_digest(source.rows) if by_rows else source.sha256
        records = source.records
        guarantee = with_knowledge(guarantee, records, knowledge, hierarchy)
        told = records.sensitive_items
        marked = getattr(guarantee, "sensitive", told) if records.holds_sets_alone else told
        sets = records.items
        with watching(progress) as watch:
            found = audited_source(source, guarantee, threads=threads, progress=watch)
        held = {} if sets is None else {"empty": sets.empty, "tokens": len(sets.vocabulary)}
        return Published(guarantee, found, len(source), sha256, sensitive_items=len(marked), **held)

    found = certificate if isinstance(certificate, str | os.PathLike) else given_certificate(certificate)
    if isinstance(policy, str | os.PathLike):
        policy = read_policy(policy)
    path, knows = (data if is_file else None), knowledge is not None
    subject = Subject(auditor, path, sensitive=sensitive, policy=policy, knows_rules=knows)
    with one_copy():
        return verification(found, subject, key=key, original=original)


def shuffle(rows: Baskets | Records, together: tuple[str, ...] = ()) -> Baskets | Records:
    """The rows in an order drawn from the system's randomness, of which nothing is kept: the order of the input gives people away.

    Rows that are equal in the columns `together` stay side by side.
    """
    if isinstance(rows, Baskets):
        return rows.shuffle()
    keys = np.frombuffer(os.urandom(8 * len(rows)), np.uint64)
    return rows.take(np.lexsort([keys, *(rows[name].codes.astype(np.uint64) for name in reversed(together))]))


@dataclass(frozen=True, eq=False, repr=False)
class Release(Outcome, Tabular, Plotted):
    """Published rows, how they came about, what they cost, and the audit that they passed.

    Attributes:
        published: The rows, shuffled.
        proposal: What the algorithm proposed, before the audit.
        audit: The verdict of the audit on these rows.
        keep_order: Whether the rows keep the order of the input.
        source: What the input is called in messages.
        layout: How the input was laid out, which the output follows.
        seconds: How long it took.
        peak_mb: The most memory that the process has held, in MB, where the system tells.

    >>> import shoal
    >>> rows = [["milk", "bread"], ["milk", "bread"], ["milk", "gin"], ["milk", "gin"]]
    >>> release = shoal.anonymize(rows, shoal.KmAnonymity(k=2, m=2))
    >>> release
    Release(2^2-anonymity, local, 4 rows, 100.0% of the information kept)
    >>> release.loss["ncp"], release.kept["exact"]
    (0.0, 1.0)
    >>> written = release.write("public.parquet")
    """

    published: Baskets | Records
    proposal: Proposal
    audit: Audit
    keep_order: bool
    source: str
    inputs: tuple[str, ...]
    """Paths of the input, the hierarchies and the lists, as they were given: no release may overwrite them."""
    input_sha256: str
    """The plain hash: for its owner, never for a certificate."""
    layout: Layout
    seconds: float
    peak_mb: float | None
    notes: tuple[str, ...] = ()
    """For the owner. They may name rare items."""
    written: list[Written] = field(default_factory=list)
    """What it was written to so far."""
    risk: tuple[Exposed, ...] = ()
    """What the attacker of the promise would learn from the raw data."""
    origin: Any = None
    """Which table of which database it was made from, if it was: no release may write over it."""
    series: Mapping[str, Any] | None = None
    """What there is to say of the series that it belongs to."""
    turn: Turn | None = None
    """Its place in a series, if it belongs to one, and the ledger that becomes current with it."""
    request: Mapping[str, Any] = field(default_factory=dict)
    """How the input was read and which trees values went along, as keywords: `evaluate` and `attack` need not be told again."""

    @property
    def is_published(self) -> bool:
        """Whether there is anything to publish: in a series all rows may have to wait, or may have been published before."""
        return self.turn is None or self.turn.proposal is not None

    def arrow_parts(self) -> tuple[Any, tuple[tuple[str, str], ...], str]:
        """The published rows, in the types that columns came in, for frames."""
        return self.published, self.layout.types, self.layout.items or "items"

    @property
    def details(self) -> Mapping[str, Any]:
        """What there is to say besides: levels and deletions, or classes and edits. For the owner."""
        return self.proposal.details

    @property
    def deleted_shares(self) -> Mapping[str, float]:
        """Per published token, the share of its occurrences that was deleted one by one (`hybrid`)."""
        shares: Mapping[str, float] = self.details.get("deleted_shares", {})
        return shares

    def write(
        self,
        path: Path | IO[Any],
        certificate: Path | IO[Any] | None = None,
        rules: Path | None = None,
        force: bool = False,
        *,
        format: str | None = None,
        sign: Path | None = None,
        report: Path | None = None,
        progress: Progress | bool | None = None,
    ) -> Written:
        """Publish: all files appear together, after what is on disk was read again and compared, or not at all.

        The certificate is JSON, a web page or a PDF, as its name tells; `sign` is the file of an ed25519 private key to sign it with.
        `rules` (what became of what) and `report` (all figures, exact, as JSON) are for the owner, who alone may read them.

        `path` may also be an open file, such as `io.BytesIO()`: then `format` says how it is written unless its name does (as the input
        was, if neither), and `certificate` is an open file too, if one is wanted.
        """
        if not isinstance(path, str | os.PathLike):
            return self._write_stream(path, certificate, format, sign, {"rules": rules, "report": report})
        if format is not None or not isinstance(certificate, str | os.PathLike | None):
            what = "the format" if format is not None else "an open file for the certificate"
            raise InputError(f"{what} is for data that go to an open file; a path tells both by its name")
        targets = Targets.of(path, certificate, rules, sign, report)
        with watching(progress) as watch, turn_at(None if self.turn is None else self.turn.path):
            self.written.append(write(self, targets, force=force, progress=watch))
        return self.written[-1]

    def _write_stream(
        self, file: IO[Any], certificate: Any, form: str | None, sign: Path | None, others: Mapping[str, Any]
    ) -> Written:
        if not hasattr(file, "write"):
            raise InputError(f"a {type(file).__name__} cannot be written to; give a path or an open file")
        if self.turn is not None:
            raise InputError("a release of a series becomes current together with its ledger; give a path")
        if given := [name for name, value in others.items() if value is not None]:
            raise InputError(f"{option(given[0])} is for releases that are written to a path; write it there")
        if not (certificate is None or hasattr(certificate, "write")):
            raise InputError(
                "beside an open file, the certificate goes to an open file as well; or write both to paths"
            )
        if sign is not None and certificate is None:
            raise InputError(f"there is no certificate to sign; name one with {option('certificate')}")
        self.written.append(write_stream(self, file, form, certificate, sign))
        return self.written[-1]

    def certificate(self, *, sign: Path | None = None) -> dict[str, Any]:
        """The facts of a certificate about the rows, in whatever frame or Parquet file they are handed on, in any order.

        `shoal.verify` takes it as it is. The certificate that `write` leaves beside a file is about the bytes of that file. A release
        of a series is written first, so that its ledger knows what is out.
        """
        if self.turn is not None and not (self.is_published and self.written):
            raise InputError("a release of a series becomes current together with its ledger; write it to a path first")
        return row_certificate(self, sign)

    def rules(self) -> Iterator[tuple[str, ...]]:
        """What the rules file would hold, without its header: (original item, published token[, rows]), or a row per class."""
        rows = self.proposal.rules(lambda token: token)
        next(rows, None)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Everything but the rows, for `--json`: the owner's. File names are as they were given; None until it is written."""
        return self.facts(self.written[-1] if self.written else None)

    def facts(self, last: Written | None) -> dict[str, Any]:
        """What the owner may know of it, as it was last written."""
        last = last if self.is_published else None
        layout = last.layout if last else self.layout
        return {
            **self.first_facts(),
            "rows": self.rows,
            "seconds": round(self.seconds + sum(written.seconds for written in self.written), 3),
            "peak_mb": self.peak_mb if last is None else peak_mb(),
            "input": self.inputs[0] if self.inputs else self.source,
            "input_sha256": self.input_sha256,
            "output_sha256": last.sha256 if last else None,
            **self.details,
            "audit": {key: value for key, value in self.audit.to_dict().items() if key not in _TOLD_ELSEWHERE},
            "row_order": "kept" if self.keep_order else "shuffled",
            "parameters": {**self.proposal.parameters, "keep_order": self.keep_order},
            "format": layout.format,
            "separator": layout.separator if layout.format in CELLED else None,
            "output": without_password(last.targets.data) if last else None,
            "certificate": last.targets.certificate if last else None,
            "rules": last.targets.rules if last else None,
            "report": last.targets.report if last else None,
            "risk": [exposed.to_dict() for exposed in self.risk],
            "notes": [*self.notes, *(last.notes if last else ())],
            **({} if self.series is None else {"series": dict(self.series)}),
        }


_TOLD_ELSEWHERE = ("guarantee", "holds", "witnesses", "notes")


def peak_mb() -> float | None:
    """The most memory that this process has held so far, where the system tells."""
    peak = peak_bytes()
    return None if peak is None else round(peak / (1 << 20), 1)
