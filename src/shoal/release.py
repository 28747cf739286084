"""The way of the data, top to bottom: read, recode, shuffle, audit, write, read again, compare, publish.

    release = anonymize("baskets.csv", KmAnonymity(k=5, m=2), hierarchy="tree.csv")
    release.write("public.csv")

An algorithm proposes, the audit decides. It is separate code that looks only at the rows that would be published. Their file gets
its final name only if it was read again and holds exactly the rows that passed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.algorithms import check_options, kind_of
from shoal.algorithms.recoding import Options, Progress
from shoal.certificate.document import certificate_file, check_certificate_name
from shoal.certificate.facts import ROWS_HASHED, Making, Published
from shoal.certificate.facts import certificate as certificate_of
from shoal.certificate.owner import has_key, key_path, owner_files, report_bytes
from shoal.certificate.sign import signer
from shoal.certificate.verification import Subject, Verification, verification
from shoal.errors import InputError, Message, ShoalError, Unavailable, option
from shoal.evaluation.raw_risk import Exposed, raw_risk
from shoal.guarantees.audit import Audit
from shoal.hierarchy.tree import Hierarchy
from shoal.limits import limited_inputs, under_input_limit
from shoal.models import Outcome, Proposal, Roles, model_of, with_knowledge
from shoal.models.km import resolve_hierarchy
from shoal.numbers import whole_number
from shoal.records.baskets import Baskets
from shoal.records.database.address import address_of, file_of, is_address, queried, without_password
from shoal.records.formats.text import csv_cell, escape_guard
from shoal.records.layout import CELLED, DATABASES, Layout, layout_for
from shoal.records.reading import load
from shoal.records.records import Records
from shoal.records.set_cells import parting_mark
from shoal.records.source import Source
from shoal.records.storage.digest import row_digest
from shoal.records.storage.publication import (
    Publication,
    StagedFile,
    check_apart,
    check_targets,
    display_name,
    writing_errors,
)
from shoal.records.storage.scratch import Scratch
from shoal.records.writing import Told, flags_to_read, write_to, written_records, written_tokens

__all__ = ["Release", "Targets", "Written", "anonymize", "audit", "resolve_hierarchy", "shuffled", "verify"]

Path = str | os.PathLike[str]

SECRET_SHOWN = (
    "the address holds a password, which the list of processes and the history of the shell may show; "
    "PGPASSWORD or ~/.pgpass keep it out of sight"
)
KEPT_ORDER = "the rows keep the order of the input, which can give people away; the certificate says so"


@under_input_limit
def anonymize(
    data: Any,
    guarantee: Any,
    *,
    hierarchy: Hierarchy | Path | Mapping[str, Hierarchy | Path] | None = None,
    algorithm: str | None = None,
    unknown: str | None = None,
    sensitive: str | Collection[str] | None = None,
    quasi: str | Collection[str] | None = None,
    keep: str | Collection[str] | None = None,
    suppress: float | None = None,
    time_limit: float | None = None,
    seed: int | None = None,
    segments: int | None = None,
    population: int | None = None,
    generations: int | None = None,
    delta: float | None = None,
    formation: str | None = None,
    transaction: str | None = None,
    ordering: str | None = None,
    weights: Mapping[str, float] | None = None,
    item_weights: Mapping[str, float] | None = None,
    min_exp: float | None = None,
    min_conf: float | None = None,
    max_length: int | None = None,
    fuzzy: Mapping[str, float] | None = None,
    knowledge: Path | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    input_limit: int | str | None = None,
    keep_order: bool = False,
    progress: Progress | None = None,
    **reading: Any,
) -> Release:
    """The release of `data` (a path, `-`, an address of a database, Baskets, a data frame, rows) that keeps the guarantee.

    Nothing is written yet.

    `algorithm` is, for KmAnonymity, `exact` (the default), `hybrid`, `lra`, `oa`, `da` or `aa`; for KAnonymity `split` (the
    default), `pta`, `gsc` or `gray-tsp`.

    For KmAnonymity, `hierarchy` is a file, `frequency:N` (N = 5 unless given), `learned:N`, `balanced:N`, `prefix` or a Hierarchy;
    `unknown="root"` hangs items that it lacks under its root. `suppress`, the largest share of item occurrences that may go (0
    unless given, for `hybrid` 0.05), is for `exact` and `hybrid`. For KAnonymity, `sensitive` names the items that travel unchanged: a
    list of them, or a file with one on each line; `segments` is for `pta`, `gray-tsp` and `lra`, `population` and `generations` for
    `gray-tsp`. `time_limit` (seconds) is for `exact`, `hybrid`, `lra` and `split`, `seed` for what draws lots. `memory_limit`
    (bytes, or a text such as 2GB) puts large arrays into scratch files: for `exact` and the audit. `reading` and `input_limit` are as for
    `shoal.read`.
    """
    started = time.monotonic()
    asked: dict[str, Any] = {
        "suppress": suppress,
        "time_limit": time_limit,
        "seed": seed,
        "segments": segments,
        "population": population,
        "generations": generations,
    }
    for_tables: dict[str, Any] = {
        "delta": delta,
        "formation": formation,
        "transaction": transaction,
        "ordering": ordering,
        "weights": weights,
        "item_weights": item_weights,
        "min_exp": min_exp,
        "min_conf": min_conf,
        "max_length": max_length,
        "fuzzy": fuzzy,
        "knowledge": knowledge,
    }
    model = model_of(guarantee)
    check_options(kind_of(guarantee), algorithm, asked | for_tables)
    options = Options(
        **{name: value for name, value in asked.items() if value is not None}, threads=threads, progress=progress
    )

    if memory_limit is not None:
        reading["memory_limit"] = scratch_for(memory_limit, threads, guarantee, algorithm, hierarchy)
    options.tell("reading", 0.0)
    data = queried(data, reading.pop("query", None))
    source, guarantee = model.read(data, guarantee, Roles(sensitive, quasi, keep), reading)
    request = {"hierarchy": hierarchy, "unknown": unknown, "algorithm": algorithm, "suppress": suppress, **for_tables}
    proposal: Proposal = model.proposal(source, guarantee, request, options)

    options.tell("counting what the raw data gives away", 0.0)
    risk = raw_risk(source, guarantee, threads=threads)
    published = proposal.published if keep_order else shuffled(proposal.published)
    try:
        verdict = _audited(published, proposal.guarantee, threads=threads, progress=progress)
    except InputError as error:
        raise _refused(proposal, str(error)) from error
    if not verdict.holds:
        raise _refused(
            proposal,
            f"{guarantee} does not hold ({verdict.violations:,} of {verdict.checked:,} counted break it)",
        )
    if len(published) != len(source):
        raise _refused(proposal, f"of {len(source):,} rows it has {len(published):,}")
    advice = proposal.advice()
    return Release(
        published=published,
        proposal=proposal,
        audit=verdict,
        keep_order=keep_order,
        source=source.name,
        inputs=_paths(
            without_password(data),
            *(hierarchy.values() if isinstance(hierarchy, Mapping) else [hierarchy]),
            sensitive,
            knowledge,
        ),
        input_sha256=source.sha256,
        layout=source.layout,
        seconds=time.monotonic() - started,
        peak_mb=peak_mb(),
        notes=proposal.notes
        + advice
        + ((KEPT_ORDER,) if keep_order else ())
        + ((SECRET_SHOWN,) if is_address(data) and address_of(data).secrets else ()),
        risk=risk,
        origin=source.origin,
    )


def _refused(proposal: Proposal, why: str) -> ShoalError:
    return ShoalError(
        f"the audit refuses what {proposal.algorithm} proposed: {why}; this is a fault of ours, please report it; nothing was written"
    )


@under_input_limit
def audit(
    data: Any,
    guarantee: Any,
    *,
    sensitive: str | Collection[str] | None = None,
    quasi: str | Collection[str] | None = None,
    keep: str | Collection[str] | None = None,
    knowledge: Path | None = None,
    hierarchy: Mapping[str, Hierarchy | Path] | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    input_limit: int | str | None = None,
    witnesses: int = 10,
    yes_or_no: bool = False,
    progress: Progress | None = None,
    **reading: Any,
) -> Audit:
    """Whether `data` keeps the guarantee, from the data alone; with `yes_or_no`, the first breach is enough.

    For MatchingDiversity, `knowledge` is a file of rules that the attacker knows, and `hierarchy` has those that they speak of.
    """
    whole_number("witnesses", witnesses, 0)
    if threads is not None:
        whole_number("threads", threads, 1)
    data = queried(data, reading.pop("query", None))
    if memory_limit is not None:
        reading["memory_limit"] = scratch_for(memory_limit, threads, guarantee)
    source, guarantee = model_of(guarantee).read(data, guarantee, Roles(sensitive, quasi, keep), reading)
    guarantee = with_knowledge(guarantee, source.records, knowledge, hierarchy)
    return audited_source(
        source, guarantee, threads=threads, witnesses=witnesses, yes_or_no=yes_or_no, progress=progress
    )


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
    return _audited(source.rows, guarantee, **how)


def _audited(published: Baskets | Records, guarantee: Any, *, progress: Progress | None = None, **how: Any) -> Audit:
    tell: Callable[[float], None] | None = None
    if progress is not None:
        watching = progress
        tell = lambda share: watching("auditing", share)  # noqa: E731
    verdict: Audit = guarantee.audit(published, progress=tell, **how)
    return verdict


def verify(
    certificate: Path,
    data: Path,
    *,
    key: Path | None = None,
    original: Path | None = None,
    sensitive: str | Collection[str] | None = None,
    knowledge: Path | None = None,
    hierarchy: Mapping[str, Hierarchy | Path] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Whether `data` is the release that a certificate is about, and its promise still holds; with `key`, whether its holder signed it.

    A release that Spark wrote is a folder of Parquet files, known by its rows (see `shoal.spark.verify` for those that are elsewhere).
    `original` is the raw input, of which only the owner's key tells whether the release was made from it. `sensitive` names the
    sensitive items of the release, which its certificate does not; `knowledge` (and `hierarchy`, where its rules speak of categories) what
    an attacker is taken to know of a release in buckets, which is otherwise audited without.
    """

    if threads is not None:
        whole_number("threads", threads, 1)

    def auditor(guarantee: Any, how: Mapping[str, Any], by_rows: bool) -> Published:
        roles = Roles(*(how.get(name) for name in ("sensitive", "quasi", "keep")))
        reading = {name: value for name, value in how.items() if not hasattr(roles, name)}
        source, guarantee = model_of(guarantee).read(data, guarantee, roles, reading)
        sha256 = row_digest(source.rows) if by_rows else source.sha256
        records = source.records
        guarantee = with_knowledge(guarantee, records, knowledge, hierarchy)
        marked = getattr(guarantee, "sensitive", ()) if records.holds_sets_alone else records.sensitive_items
        sets = records.items
        found = audited_source(source, guarantee, threads=threads, progress=progress)
        held = {} if sets is None else {"empty": sets.empty, "tokens": len(sets.vocabulary)}
        return Published(guarantee, found, len(source), sha256, sensitive_items=len(marked), **held)

    subject = Subject(auditor, data, sensitive=sensitive, knows_rules=knowledge is not None)
    return verification(certificate, subject, key=key, original=original)


def shuffled(rows: Baskets | Records) -> Baskets | Records:
    """The rows in an order drawn from the system's randomness, of which nothing is kept: the order of the input gives people away."""
    if isinstance(rows, Baskets):
        return rows.shuffled()
    keys = np.frombuffer(os.urandom(8 * len(rows)), np.uint64)
    return rows.take(np.argsort(keys))


@dataclass(frozen=True)
class Targets:
    """The files, or the table and the files, that a release is written to. They appear together or not at all."""

    data: str = field(repr=False)  # an address may hold a password
    certificate: str | None
    rules: str | None
    sign: str | None = None
    """The private key that the certificate is signed with."""
    report: str | None = None

    @classmethod
    def of(
        cls,
        data: Path,
        certificate: Path | None = None,
        rules: Path | None = None,
        sign: Path | None = None,
        report: Path | None = None,
    ) -> Targets:
        """The certificate lies beside the data unless named; data on standard output (`-`) has none then, and a table needs one."""
        out = os.fspath(data)
        if certificate is None and out != "-" and not is_address(out):
            certificate = f"{out}.certificate.json"
        return cls(out, *(None if path is None else os.fspath(path) for path in (certificate, rules, sign, report)))

    @property
    def files(self) -> tuple[str, ...]:
        """In the order in which they are put in place: whoever finds the data finds its certificate."""
        named = (self.certificate, self.rules, self.report, None if is_address(self.data) else self.data)
        return tuple(name for name in named if name not in (None, "-"))

    @property
    def private(self) -> tuple[str, ...]:
        """Those that are for the owner alone."""
        return tuple(name for name in (self.rules, self.report) if name is not None)

    def check(self, *, force: bool = False, inputs: tuple[str, ...] = ()) -> None:
        """Raises if they could not be written: better before a long run than after it."""
        self.check_files(force=force, inputs=inputs)
        if is_address(self.data):
            from shoal.records.database.write import check_table

            check_table(self.data, force=force, sources=[given for given in inputs if is_address(given)])

    def check_files(self, *, force: bool = False, inputs: tuple[str, ...] = ()) -> None:
        """As `check`, without a look into a database."""
        if self.data != "-":
            layout_for(self.data)
        if is_address(self.data) and self.certificate is None:
            raise InputError(
                f"{display_name(self.data)}: a table has no place for its certificate; name a file for it with {option('certificate')}"
            )
        if self.certificate is not None:
            check_certificate_name(self.certificate)
        if self.sign is not None:
            if self.certificate is None:
                raise InputError(f"there is no certificate to sign; name one with {option('certificate')}")
            signer(self.sign)
            inputs = (*inputs, self.sign)
        if self.rules == "-":
            raise InputError("rules go to a file of their own, not to standard output")
        if self.report == "-":
            raise InputError("the report goes to a file of its own, not to standard output; name one")
        kept = [("an input of this release", file_of(given)) for given in inputs if os.path.exists(file_of(given))]
        if is_address(self.data):
            kept.append(("the database of this release", file_of(self.data)))
        check_apart(self.files, [*kept, *owner_files()])
        check_targets(self.files, force=force, database=self.data if is_address(self.data) else None)


@dataclass(frozen=True)
class Written:
    """What a release was written to."""

    targets: Targets
    layout: Layout
    sha256: str
    seconds: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Release(Outcome):
    """Published rows, how they came about, what they cost, and the audit that they passed."""

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
        path: Path,
        certificate: Path | None = None,
        rules: Path | None = None,
        force: bool = False,
        *,
        sign: Path | None = None,
        report: Path | None = None,
        progress: Progress | None = None,
    ) -> Written:
        """Publish: all files appear together, after what is on disk was read again and compared, or not at all.

        The certificate is JSON, a web page or a PDF, as its name tells; `sign` is the file of an ed25519 private key to sign it with.
        `rules` (what became of what) and `report` (all figures, exact, as JSON) are for the owner, who alone may read them.
        """
        started = time.monotonic()
        targets = Targets.of(path, certificate, rules, sign, report)
        targets.check_files(force=force, inputs=self.inputs)
        key_is_new = targets.certificate is not None and not has_key()
        written = self._write_table if is_address(targets.data) else self._write_file
        layout, sha256, notes = written(targets, force, progress or (lambda doing, share, **facts: None))
        notes = _writing_notes(targets, notes, self.proposal.rules_note, key_is_new and has_key())
        notes += () if sign is None else signer(sign).notes
        done = Written(targets, layout, sha256, time.monotonic() - started, notes)
        self.written.append(done)
        return done

    def _write_file(self, targets: Targets, force: bool, progress: Progress) -> tuple[Layout, str, tuple[str, ...]]:
        with Publication(targets.files, force=force) as publication, contextlib.ExitStack() as stack:
            staged = {target: publication.file(target, private=target in targets.private) for target in targets.files}
            file = staged.get(targets.data) or stack.enter_context(_passing_through())
            progress("writing", 0.0)
            layout = write_to(file, self.published, layout_for(targets.data, self.layout), targets.data)
            file.close()
            progress("reading it again", 0.0)
            as_written, flags = self._read_again(file.path, layout)
            self._write_papers(staged, targets, layout, file.sha256, as_written, flags)
            if targets.data == "-":
                with open(file.path, "rb") as done, writing_errors("-"):
                    shutil.copyfileobj(done, sys.stdout.buffer)
                    sys.stdout.buffer.flush()
        return layout, file.sha256, _reading_notes(targets, flags)

    def _write_table(self, targets: Targets, force: bool, progress: Progress) -> tuple[Layout, str, tuple[str, ...]]:
        """One transaction, committed when the table was read again and the files have their names."""
        from shoal.records.database.rows import table_rows
        from shoal.records.database.write import TableTarget, same_file

        origins = () if self.origin is None else (self.origin,)
        shares_file = same_file(targets.data, origins)
        with Publication(targets.files, force=force, database=targets.data) as publication:
            table = publication.table(TableTarget(targets.data, force=force, sources=origins, id=publication.id))
            staged = {target: publication.file(target, private=target in targets.private) for target in targets.files}
            progress("writing", 0.0)
            wanted = layout_for(targets.data, self.layout)
            rows, layout = table_rows(self.published, wanted, targets.data)
            table.write(rows)
            progress("reading it again", 0.0)
            as_written, flags = self._read_again(table.read_again(), layout)
            sha256 = table.sha256
            self._write_papers(staged, targets, layout, sha256, as_written, flags)
            progress("committing", 0.0)
        return layout, sha256, _reading_notes(targets, flags) + ((SAME_FILE,) if shares_file else ())

    def _write_papers(
        self,
        staged: Mapping[str, StagedFile],
        targets: Targets,
        layout: Layout,
        sha256: str,
        as_written: Mapping[str, str],
        flags: Told,
    ) -> None:
        """Rules, report and certificate, where they are asked for."""
        if targets.rules is not None:
            staged[targets.rules].write(_csv(self.proposal.rules(lambda token: as_written.get(token, ""))))
        if targets.report is not None:
            notes = _writing_notes(targets, _reading_notes(targets, flags), self.proposal.rules_note, False)
            facts = self._facts(Written(targets, layout, sha256, 0.0, notes))
            staged[targets.report].write(report_bytes(facts))
        if targets.certificate is not None:
            content = self._certificate(targets.data, sha256, self._reading(layout, flags))
            vouching = None if targets.sign is None else signer(targets.sign)
            staged[targets.certificate].write(certificate_file(content, targets.certificate, vouching))

    def rules(self) -> Iterator[tuple[str, ...]]:
        """What the rules file would hold, without its header: (original item, published token), or a row per class."""
        rows = self.proposal.rules(lambda token: token)
        next(rows, None)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Everything but the rows, for `--json`: the owner's. File names are as they were given; None until it is written."""
        return self._facts(self.written[-1] if self.written else None)

    def _facts(self, last: Written | None) -> dict[str, Any]:
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
        }

    def _read_again(self, path: Any, layout: Layout) -> tuple[dict[str, str], Told]:
        """What each published token is called in the written file or table, and what a reader of it must be told, if anything.

        Raises unless the file holds exactly the rows that passed the audit. A token of which every occurrence was deleted is not
        among them. What was written here is no stranger's: it may be as large as it is.
        """
        with limited_inputs(sys.maxsize):
            return self._found_again(path, layout)

    def _found_again(self, path: Any, layout: Layout) -> tuple[dict[str, str], Told]:
        sets = Records.of(self.published).items
        names = () if sets is None else sets.vocabulary
        tokens = written_tokens(names, layout)
        as_written = dict(zip(names, tokens, strict=True))
        if isinstance(self.published, Records):
            return as_written, flags_to_read(path, self.published, layout)
        return as_written, self._flags_to_read(path, layout, self.published, tokens)

    def _flags_to_read(self, path: Any, layout: Layout, expected: Baskets, tokens: tuple[str, ...]) -> Told:
        if tokens != expected.vocabulary or not expected.supports().all():
            expected = Baskets.from_codes(expected.lengths, expected.items, tokens)
        if layout.format in DATABASES:
            from shoal.records.database.rows import basket_flags

            return basket_flags(path, expected, _ways_to_read(layout))
        reading = ""
        for flags, options in _ways_to_read(layout):
            try:
                found = load(path, format=layout.format, memory_limit=expected.scratch, **options).baskets
            except Unavailable:
                raise
            except InputError as error:
                reading = f"cannot be read again ({error})"
                continue
            if found == expected:
                return flags
            reading = f"reads as other {found!r} than the {expected!r} that passed the audit"
        raise ShoalError(
            f"what was written {reading}; this is a fault of ours, please report it; nothing was published"
        )

    def _reading(self, layout: Layout, flags: Told) -> dict[str, Any]:
        """How the written file is read, for the certificate: roles of its columns, format, separator; sensitive items only as a number."""
        given = dict(flags)
        stands = {"format": layout.format}
        if layout.format in DATABASES:
            stands["sha256_of"] = ROWS_HASHED
        if not isinstance(self.published, Records):
            return {**stands, **given}
        records = written_records(self.published, layout)
        roles = {column.name: column.role for column in records.columns}
        apart = records.sensitive_name
        if records.items is not None:
            roles |= {records.items_name: "items"} | ({apart: "sensitive items"} if apart is not None else {})
        return (
            {**stands, "columns": roles}
            | ({"separator": given["separator"]} if "separator" in given else self._told_separator(records))
            | ({"sensitive_items": len(records.sensitive_items)} if records.sensitive_items else {})
        )

    def _told_separator(self, records: Records) -> dict[str, str]:
        """What the owner said parts items, where sensitive values would otherwise be taken for sets."""
        taken = any(parting_mark(column.values) is not None for column in records.of_role("sensitive"))
        return {"separator": self.layout.separator} if taken and records.items is None else {}

    def _certificate(self, output: str, output_sha256: str, reading: Mapping[str, Any]) -> dict[str, Any]:
        made = Making(
            algorithm=self.algorithm,
            optimal=self.optimal,
            parameters=self.proposal.parameters,
            disclosed=self.proposal.certified(),
            warnings=self.proposal.warnings,
            input_sha256=self.input_sha256,
            keep_order=self.keep_order,
            risk=self.risk,
        )
        file = Published(self.guarantee, self.audit, self.rows, output_sha256, self.details.get("empty", 0))
        return certificate_of(file, made, {"file": display_name(output), **reading})


def _paths(*given: Any) -> tuple[str, ...]:
    return tuple(os.fspath(path) for path in given if isinstance(path, str | os.PathLike))


_TOLD_ELSEWHERE = ("guarantee", "holds", "witnesses", "notes")


SAME_FILE = "the table stands in the same file as what it was made from: give away the table, not the file"


def _reading_notes(targets: Targets, flags: Told) -> tuple[str, ...]:
    given = " ".join(option(name, text) for name, text in flags)
    return (Message(f"to read {display_name(targets.data)} back, pass {given}"),) if flags else ()


def _writing_notes(targets: Targets, notes: tuple[str, ...], rules_note: str, key_was_made: bool) -> tuple[str, ...]:
    found = list(notes)
    if targets.rules is not None:
        found.append(f"{targets.rules} {rules_note}: keep it, do not publish it")
    if targets.report is not None:
        found.append(f"{targets.report} has exact figures, also of what is rare: keep it, do not publish it")
    if key_was_made:
        found.append(f"your key for the hashes in certificates was made in {key_path()}; keep it, and keep it secret")
    return tuple(found)


def _ways_to_read(layout: Layout) -> list[tuple[Told, dict[str, Any]]]:
    """Options that may read what was written in this layout, with what a reader must be told, the fewest first."""
    if layout.format == "long" or layout.id is not None:
        id = layout.id or "id"
        return [((("id", id),), {"id": id})]
    ways: list[tuple[Told, dict[str, Any]]] = [((), {})]
    if layout.format in CELLED:
        ways.append(((("separator", layout.separator),), {"separator": layout.separator}))
        ways.append(((*ways[-1][0], ("items", layout.items)), {**ways[-1][1], "items": layout.items}))
    return ways


@contextlib.contextmanager
def _passing_through() -> Iterator[StagedFile]:
    """A file for data on its way to standard output: it is checked on disk before the first byte leaves.

    Where the system lets an open file be read without a name, it has none, and goes away with the process, however that ends.
    """
    try:
        folder = tempfile.mkdtemp(prefix="shoal-")
    except OSError as error:
        raise InputError(
            f"there is no temporary folder to check the data in ({error.strerror}); name one in TMPDIR"
        ) from None
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        file = StagedFile(os.path.join(folder, "data"), os.path.join(folder, "data"))
        file.create()
        stack.callback(file.close)
        if os.path.isdir("/proc/self/fd"):
            number = os.open(file.path, os.O_RDONLY)
            stack.callback(os.close, number)
            shutil.rmtree(folder, ignore_errors=True)
            file.path = f"/proc/{os.getpid()}/fd/{number}"
        yield file


def _csv(rows: Iterator[tuple[str, ...]]) -> bytes:
    return "".join(",".join(csv_cell(escape_guard(cell), ",") for cell in row) + "\n" for row in rows).encode()


def peak_mb() -> float | None:
    """The most memory that this process has held so far, where the system tells."""
    from shoal.records.storage.memory import peak_bytes

    peak = peak_bytes()
    return None if peak is None else round(peak / (1 << 20), 1)
