"""The way of the data on Spark: read, propose, shuffle, audit, write, read again, audit again."""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Unpack, cast

from shoal.algorithms import OF_SERIES
from shoal.algorithms.recoding import Options, Progress
from shoal.certificate.document import certificate_file, check_certificate_name, read_certificate
from shoal.certificate.facts import Making, Published, certificate
from shoal.certificate.owner import owner_files
from shoal.certificate.sign import Signer, signer
from shoal.certificate.terms import known_by_rows
from shoal.errors import InputError, ShoalError, option, short_list
from shoal.guarantees.audit import Audit
from shoal.guarantees.diversity import MatchingDiversity
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.registry import Guarantee
from shoal.models import Outcome, basket_details, buckets, with_knowledge
from shoal.options import KEYWORDS, Keywords, check_keywords
from shoal.passwords import without_passwords
from shoal.plan.ask import plan_from
from shoal.plan.model import Outputs, Plan
from shoal.publish import check_hash
from shoal.records.baskets import Baskets
from shoal.records.formats.folders import beside, data_files, entries_of
from shoal.records.knowledge import Rules
from shoal.records.roles import named_columns, texts_of
from shoal.records.storage.digest import DIGEST
from shoal.records.storage.journal import remove, settle
from shoal.records.storage.publication import Publication, check_apart, writing_errors
from shoal.release import peak_mb
from shoal.series.ledger import Ledger, announce, turn_at, write_ledger
from shoal.series.turns import Turn
from shoal.spark.audits import audit_rows, check_auditable, verdict_and_digest
from shoal.spark.batch_turns import batch_turn
from shoal.spark.data.executors import store
from shoal.spark.data.frame_records import FrameRoles, SparkRecords, code_records
from shoal.spark.data.frame_roles import check_bucket_roles, read_frame, roles_as_read
from shoal.spark.data.sets import SparkSets, check_session, name_lists
from shoal.spark.data.spark_session import master_of, start_session
from shoal.spark.data.storage import TABLE, Files, Folder, Table, frame_of, place_of
from shoal.spark.search import propose
from shoal.spark.search.buckets import known_rules
from shoal.spark.search.proposals import SparkProposal, check_filled, check_specs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Path = str | os.PathLike[str]
Names = str | Sequence[str]

_PART = re.compile(r"part-.*\.parquet")
ON_SPARK = frozenset(KEYWORDS) - {
    *("format", "separator", "id", "one_hot", "query", "input_limit", "threads", "memory_limit", "keep_order"),
    *("segments", "population", "generations", "cluster_size"),
}
"""The keywords of `shoal.anonymize` that Spark has a use for."""
_FILES = {".csv", ".tsv", ".dat", ".json", ".jsonl", ".arrow", ".gz", ".zst"}


def run(plan: Plan, *, force: bool = False, progress: Progress | None = None) -> SparkRelease:
    """The release of a plan with `engine: spark`, written to its outputs, if it has any.

    Data are Parquet (a file, a folder, hdfs://, s3a://) or `table:NAME`, and so is what is written. What only makes sense on one
    machine is refused by name, before Spark starts.
    """
    master = cast(str, master_of(plan.engine or "spark"))
    with plan.speaking():
        check_given(plan.keywords() | {"query": plan.input.query}, ON_SPARK)
        if plan.data == "-" or (plan.outputs is not None and plan.outputs.data == "-"):
            raise InputError(
                "Spark reads and writes Parquet folders and tables; standard input and output are for the local engine"
            )
        check_auditable(plan.promise)
        targets = None if plan.outputs is None else _targets(plan, plan.outputs, master, force)
        with turn_at(plan.ledger):
            release = release_of(plan, frame_at(plan.data, master), progress)
            check_hash(plan, release.input_sha256)
            if targets is not None:
                release._publish(**targets, force=force)
    return release


def anonymize(
    df: DataFrame, guarantee: Guarantee, *, progress: Progress | None = None, **keywords: Unpack[Keywords]
) -> SparkRelease:
    """The release of a data frame, its sets in column `items` (the only column of arrays unless given). Nothing is written yet.

    KmAnonymity: by any algorithm (`local` unless given) as the local engine would have it, where all rows fit one task; beyond that by
    `local` (the default) or `lra` in blocks of rows, `exact` or `aa`. KAnonymity of transactions: by `split` (the default)
    or `gsc`; `sensitive` names items, or a column of them. TableAnonymity, RTAnonymity and LmDiversity: by all algorithms but `tfirst`, in
    parts of near rows; every column needs a role (`quasi`, `sensitive`, `keep`, `drop`). MatchingDiversity: by all algorithms, in parts
    that are alike; `knowledge` is a file of the driver. Options are as for `shoal.anonymize`. The data frame must give the same rows
    whenever it is computed: write it to a table or checkpoint it if it does not.
    """
    check_keywords(keywords, KEYWORDS, "anonymize")
    check_given(keywords, ON_SPARK)
    plan = plan_from(df, guarantee, to_save=False, engine="spark", **keywords)
    with plan.speaking():
        return release_of(plan, df, progress)


def release_of(plan: Plan, df: DataFrame, progress: Progress | None = None) -> SparkRelease:
    """The release of a data frame that a plan asks for; nothing is written."""
    started = time.monotonic()
    asked, guarantee = plan.request, plan.promise
    given = {name: asked[name] for name in ("price", "suppress", "time_limit", "seed") if asked[name] is not None}
    options = Options(**given, progress=progress)
    items, numeric = plan.of_role("items"), plan.input.numeric
    if len(items) > 1:
        raise InputError(
            f"the items stand in several columns ({short_list(items)}), and Spark takes one; name one of them"
        )
    roles = FrameRoles(
        items[0] if items else None,
        plan.of_role("quasi"),
        texts_of(plan.sensitive),
        plan.of_role("keep"),
        plan.of_role("drop"),
        None if numeric is None else tuple(numeric),
    )
    check_auditable(guarantee)
    turn = None
    if plan.series is None:
        proposal = propose(df, guarantee, roles, asked, options)
    else:
        options.tell("reading", 0.0)
        rows, _ = read_frame(df, guarantee, roles)
        assert isinstance(rows, SparkSets)
        try:
            check_filled(rows)
            turn, sha256 = batch_turn(plan, rows, guarantee, asked, options)
        except BaseException:
            rows.forget()
            raise
        if turn.proposal is None:
            rows.forget()
            return _unpublished(df, turn, guarantee, rows, sha256, plan, started)
        proposal = cast(SparkProposal, turn.proposal)
    packed = proposal.packed
    stored = store(proposal.published) if packed is None else packed.stored
    try:
        sha256 = proposal.raw_sha256 or proposal.raw.digest()
        # Reading the published rows fills their store; the raw ones are not needed after that.
        if packed is None:
            seen, _ = read_frame(proposal.published, proposal.guarantee, roles_as_read(proposal.raw))
        else:
            seen = packed.as_sets()
    except BaseException:
        stored.unpersist()
        raise
    finally:
        proposal.forget()
    options.tell("auditing", 0.0)
    try:
        verdict, digest = verdict_and_digest(seen, proposal.guarantee)
        if not verdict.holds or len(seen) != proposal.rows:
            raise ShoalError(
                f"the audit refuses what {proposal.algorithm} proposed: {guarantee} does not hold ({verdict.violations:,} of "
                f"{verdict.checked:,} counted break it) or rows are missing ({len(seen):,} of {proposal.rows:,}); this is a bug in "
                "Shoal, please report it"
            )
    except BaseException:
        stored.unpersist()
        raise
    finally:
        if packed is None:
            seen.forget()
    seconds = time.monotonic() - started
    return SparkRelease(
        proposal.published, proposal, verdict, seen, sha256, digest, seconds, plan.engine or "spark", stored, turn=turn
    )


def _unpublished(
    df: DataFrame, turn: Turn, guarantee: KmAnonymity, rows: SparkSets, sha256: str, plan: Plan, started: float
) -> SparkRelease:
    """The release of a turn in which nothing is published."""
    nothing = df.select(name_lists(rows.column).alias(rows.column)).limit(0)
    proposal = SparkProposal(
        published=nothing,
        raw=rows,
        guarantee=guarantee,
        algorithm=plan.algorithm or OF_SERIES[0],
        recoding=None,
        loss={},
        parameters={},
        certified=lambda _: {},
        left_out=len(rows),
    )
    verdict, seconds = guarantee.audit(Baskets.from_rows([])), time.monotonic() - started
    return SparkRelease(nothing, proposal, verdict, rows, sha256, "", seconds, plan.engine or "spark", turn=turn)


def audit(
    df: DataFrame,
    guarantee: Any,
    *,
    items: str | None = None,
    quasi: Names | None = None,
    sensitive: Names | None = None,
    numeric: Names | None = None,
    hierarchy: Any = None,
    knowledge: Path | None = None,
    witnesses: int = 10,
    yes_or_no: bool = False,
) -> Audit:
    """Whether what a data frame publishes keeps the guarantee; with `yes_or_no`, the first breach is enough.

    Sets are in column `items` (the only column of arrays unless given), what an attacker may know besides in the columns `quasi`.
    `sensitive` names columns, or a column of sensitive items, or items; a bucketized release has its buckets in column `bucket`. Columns
    that are not named are not looked at. `hierarchy` is the tree of tokens under local recoding, or holds those of `knowledge`, a file
    of rules that the attacker of buckets knows (see `shoal.audit`). Rows of witnesses are counted from 1, in the order in which
    the data frame gives them.
    """
    check_auditable(guarantee)
    seen, guarantee = read_frame(df, guarantee, _known_roles(items, quasi, sensitive, numeric))
    try:
        guarantee = with_knowledge(guarantee, seen.template, knowledge, hierarchy)
        return audit_rows(seen, guarantee, witnesses=witnesses, yes_or_no=yes_or_no)
    finally:
        seen.forget()


def rules(
    df: DataFrame,
    *,
    quasi: Names,
    sensitive: str,
    hierarchy: Mapping[str, Any] | None = None,
    unknown: str | None = None,
    numeric: Names | None = None,
    min_exp: float | None = None,
    min_conf: float | None = None,
    max_length: int | None = None,
    fuzzy: Mapping[str, float] | None = None,
    knowledge: Path | None = None,
    redundant: bool = False,
    progress: Progress | None = None,
) -> Rules:
    """What an attacker could know from the data itself, as `shoal rules` has it. Columns that are not named are not looked at."""
    roles = _known_roles(None, quasi, sensitive, numeric)
    check_bucket_roles(MatchingDiversity(2), roles)
    check_specs(hierarchy)
    check_session(df)
    roles = replace(roles, quasi=tuple(named_columns(roles.quasi, df.columns)))
    records = code_records(df, roles)
    try:
        check_filled(records)
        trees = buckets.hierarchies(records.template, hierarchy, unknown)
        asked: dict[str, Any] = {"min_exp": min_exp, "min_conf": min_conf, "max_length": max_length, "fuzzy": fuzzy}
        asked["knowledge"] = knowledge
        return known_rules(records, trees, asked, Options(progress=progress), redundant=redundant)
    finally:
        records.forget()


def _known_roles(items: str | None, quasi: Names | None, sensitive: Names | None, numeric: Names | None) -> FrameRoles:
    numbers = None if numeric is None else texts_of(numeric)
    return FrameRoles(items, texts_of(quasi), texts_of(sensitive), numeric=numbers)


@dataclass(frozen=True)
class SparkWritten:
    """What a release was written to: a folder or `table:NAME`, and the file of its certificate."""

    output: str
    certificate: str | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class SparkRelease(Outcome):
    """A published data frame, how it came about, what it costs, and the audit that it passed."""

    published: DataFrame
    """In an order that says nothing about that of the input. The executors keep its rows: `forget` lets them drop them."""
    proposal: SparkProposal
    audit: Audit
    seen: SparkSets | SparkRecords
    """What was published, as the audit saw it: names and counts, without rows."""
    input_sha256: str
    """Of the raw rows: for their owner, never for a certificate."""
    output_sha256: str
    seconds: float
    engine: str = "spark"
    """With its master, if one was named."""
    stored: DataFrame | None = None
    """What the executors keep of the published rows."""
    turn: Turn | None = None
    """Its place in a series, if it belongs to one, and the ledger that becomes current with it."""
    written: list[SparkWritten] = field(default_factory=list)
    """What it was written to so far."""

    @property
    def is_published(self) -> bool:
        """Whether there is anything to publish: in a series all rows may have to wait, or may have been published before."""
        return self.turn is None or self.turn.proposal is not None

    @property
    def rows(self) -> int:
        return self.proposal.rows

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.proposal.parameters

    @property
    def notes(self) -> tuple[str, ...]:
        """For the owner. They may name rare items."""
        before = () if self.turn is None else self.turn.notes
        return before + self.proposal.notes + (self.written[-1].notes if self.written else ())

    @property
    def details(self) -> Mapping[str, Any]:
        """For the owner."""
        if not self.is_published:
            return {}
        sets = cast(tuple[Any, Any], (self.proposal.raw.sets, self.seen.sets))
        return (basket_details(*sets) if self.seen.has_sets else {}) | dict(self.proposal.details)

    def to_dict(self) -> dict[str, Any]:
        """As `Release.to_dict`, as far as Spark knows it. Memory is that of the driver."""
        last = self.written[-1] if self.written else SparkWritten("", None)
        return {
            **self.first_facts(),
            "checked": self.audit.checked,
            "rows": self.rows,
            "seconds": round(self.seconds, 3),
            "peak_mb": peak_mb(),
            "input_sha256": self.input_sha256,
            "output_sha256": self.output_sha256 or None,
            "engine": self.engine,
            "output": last.output or None,
            "certificate": last.certificate,
            **self.details,
            "notes": list(self.notes),
            **({} if self.turn is None else {"series": dict(self.turn.facts)}),
        }

    def write(
        self,
        path: Path | None = None,
        *,
        table: str | None = None,
        certificate: Path | None = None,
        sign: Path | None = None,
        force: bool = False,
    ) -> dict[str, Any]:
        """Write a new folder of Parquet files, or a new table, and its certificate, whose facts are returned. All of it, or nothing.

        The certificate lies beside a folder (`PATH.certificate.json`) unless it is named; that of a table only where it is named. Paths are
        Spark's. What was written is read again and audited before it gets its name. Of a series whose rows all wait, or were
        published before, nothing but the ledger is written, and no facts come back. `sign` is the file, on the driver, of an ed25519
        private key to sign the certificate with. `force` replaces a release that Spark wrote before to a folder of this machine.
        """
        with turn_at(None if self.turn is None else self.turn.path):
            return self._publish(path, table, certificate, sign, force)

    def _publish(
        self,
        path: Path | None = None,
        table: str | None = None,
        certificate: Path | None = None,
        sign: Path | None = None,
        force: bool = False,
    ) -> dict[str, Any]:
        """As `write`, for whoever has the turn of its series already."""
        if (path is None) == (table is None):
            raise InputError("a release is written to a path or to a table; give one of them")
        session = self.published.sparkSession
        place = Table(session, table) if table is not None else Folder(session, cast(str, path))
        files, proof = Files(session), None if certificate is None else os.fspath(certificate)
        if proof is None and isinstance(place, Folder):
            proof = f"{place.path}.certificate.json"
        if sign is not None and proof is None:
            raise InputError("there is no certificate to sign; name one (certificate=...)")
        vouching = None if sign is None else signer(sign)
        if proof is not None:
            check_certificate_name(proof)
        home = files.local(place.path) if isinstance(place, Folder) else None
        paper = None if proof is None else files.local(proof)
        if self.turn is not None:
            if self.turn.repeats:
                return {}
            self.turn.check_place(paper)
            if not self.is_published:
                write_ledger(self.turn.path, self.turn.ledger)
                return {}
        if force and not (home and paper):
            raise InputError(
                f"{place.name}: only a folder of this machine is replaced, for nothing replaces a table, or a folder elsewhere, and its "
                "certificate together; write to another place, or remove both first"
            )
        if not force:
            place.check_free()
            if proof is not None:
                files.check_free(proof)
        if isinstance(place, Folder) and home and paper:
            kept = [("the key to sign with", sign), ("the ledger", None if self.turn is None else self.turn.path)]
            check_apart([paper, home], [*((what, at) for what, at in kept if at is not None), *owner_files()])
            content = self._write_here(place, home, paper, vouching, force)
        else:
            content = self._write_there(place, files, proof, vouching)
        output = place.path if isinstance(place, Folder) else TABLE + place.name
        self.written.append(SparkWritten(output, proof, () if vouching is None else vouching.notes))
        return content

    def _write_there(
        self, place: Folder | Table, files: Files, proof: str | None, vouching: Signer | None
    ) -> dict[str, Any]:
        """As `write`, to a table, or to a folder elsewhere: the certificate is there before the rows get their name.

        A ledger says beforehand what is about to get its name, and afterwards that it has.
        """
        ledger = None if self.turn is None else self._next_ledger(place)
        if self.turn is not None and ledger is not None:
            announce(self.turn.path, ledger, proof)
        with place.staging(self.published) as frame:
            content = self._certify(frame, place)
            if proof is not None:
                files.save(proof, certificate_file(content, proof, vouching))
            try:
                place.put_in_place()
            except BaseException:
                if proof is not None:
                    files.remove(proof)
                raise
        if self.turn is not None and ledger is not None:
            write_ledger(self.turn.path, ledger)
        return content

    def _write_here(self, place: Folder, home: str, proof: str, vouching: Signer | None, force: bool) -> dict[str, Any]:
        """As `write`, to a folder of this machine: it and its certificate appear together, as files do."""
        for path in (home, proof):
            with writing_errors(path):
                os.makedirs(os.path.dirname(path), exist_ok=True)  # as Spark does
        settle(home, proof)
        if force:
            _check_replaceable(home, proof)
        ledger = () if self.turn is None else (self.turn.path,)
        with Publication([proof, *ledger], force=force, folder=home, revised=ledger) as publication:
            with place.staging(self.published, publication.staged_folder) as frame:
                content = self._certify(frame, place)
            with publication.file(proof) as file:
                file.write(certificate_file(content, proof, vouching))
            for path in ledger:
                with publication.file(path, private=True) as file:
                    file.write(self._next_ledger(place).to_bytes())
        folder, name = os.path.split(proof)
        remove(os.path.join(folder, f".{name}.crc"))  # of a certificate that was there, by Hadoop
        return content

    def _next_ledger(self, place: Folder | Table) -> Ledger:
        """The ledger that knows where the rows went."""
        assert self.turn is not None
        at = (place.files.local(place.path) or place.path) if isinstance(place, Folder) else TABLE + place.name
        return self.turn.ledger.written_to(at, self.output_sha256, {})

    def forget(self) -> None:
        """Let the executors drop the published rows."""
        if self.stored is not None:
            self.stored.unpersist()

    def _certify(self, frame: DataFrame, place: Folder | Table) -> dict[str, Any]:
        """The certificate of what was written; raises unless its audit holds, and the rows are exactly those that passed before."""
        seen, _ = read_frame(frame, self.guarantee, roles_as_read(self.proposal.raw))
        try:
            verdict, digest = verdict_and_digest(seen, self.guarantee)
        finally:
            seen.forget()
        if not verdict.holds or digest != self.output_sha256:
            raise ShoalError(
                "what was written reads as other rows than those that passed the audit; this is a bug in Shoal, please report it; "
                "nothing was published"
            )
        made = Making(
            algorithm=self.algorithm,
            optimal=self.optimal,
            parameters={**self.parameters, "engine": "spark"},
            disclosed=self.proposal.certified(self.seen),
            warnings=self.proposal.warnings,
            input_sha256=self.input_sha256,
        )
        file = Published(self.guarantee, verdict, self.rows, self.output_sha256, self.details.get("empty", 0))
        reading = {"format": place.form, "digest": DIGEST, **seen.reading_facts()}
        return certificate(file, made, {"file": place.name, **reading})


def _check_replaceable(folder: str, proof: str) -> None:
    """Raises unless a folder, if there is one, holds a release that Spark wrote and nothing else, as its certificate says."""
    name = os.path.basename(folder)
    if not os.path.lexists(folder):
        return
    if os.path.islink(folder) or not os.path.isdir(folder):
        raise InputError(f"{name}: it is there already, and is no folder; write to another place")
    entries = entries_of(folder)
    foreign = [file for file in data_files(entries, name) if not _PART.fullmatch(file)]
    if strange := (*foreign, *beside(entries).strange):
        raise InputError(f"{name}: it also holds what is no part of a release ({strange[0]!r}); remove it first")
    for path in (proof, f"{folder}.certificate.json"):
        with contextlib.suppress(InputError):
            content = read_certificate(path).content
            if known_by_rows(content) and content["output"].get("file") == name:
                return
    raise InputError(
        f"{name}: no certificate beside it says that it is a release, and only a release is replaced; remove it first"
    )


def audit_place(engine: str, data: str, guarantee: Any, keywords: Mapping[str, Any]) -> Audit:
    """Whether Parquet or `table:NAME` keeps the guarantee. The keywords are those of `audit`."""
    check_given(keywords, tuple(inspect.signature(audit).parameters))
    check_auditable(guarantee)
    return audit(frame_at(data, cast(str, master_of(engine))), guarantee, **keywords)


def frame_at(data: str, master: str) -> DataFrame:
    """The data frame at a path of this machine or of Spark's, or of `table:NAME`."""
    return frame_of(start_session(master), place_of(data, master))


def check_given(given: Mapping[str, Any], known: Collection[str]) -> None:
    """Raises for what is given although Spark has no use for it."""
    for name, value in given.items():
        if name not in known and value is not None and value != () and value is not False:
            raise InputError(
                f"{option(name)} has no use with {option('engine', 'spark')}; leave it out, or use the local engine"
            )


def _targets(plan: Plan, outputs: Outputs, master: str, force: bool) -> dict[str, Any]:
    """Where `SparkRelease.write` is to write; raises for what would be refused when all is done."""
    if outputs.report is not None:
        raise InputError(
            f"{option('report')} is for the local engine: a file where Spark writes cannot be kept to its owner; leave it out"
        )
    check_given({"rules": outputs.rules}, ())
    output = place_of(plan.path_of(outputs.data), master)
    certificate = None if outputs.certificate is None else place_of(plan.path_of(outputs.certificate), master)
    sign = None if outputs.sign is None else plan.path_of(outputs.sign)
    name, is_table, here = os.path.basename(without_passwords(output)), output.startswith(TABLE), os.path.isabs(output)
    ending = "" if is_table else os.path.splitext(output)[1].lower()
    if ending in _FILES:
        raise InputError(f"{name}: Spark writes a folder of Parquet files, or table:NAME; give a name without {ending}")
    if force and not here:
        raise InputError(
            f"{name}: {option('force')} replaces a folder of this machine, and nothing else on Spark; write elsewhere"
        )
    # Of a series it may be the answer to the same input, which is no fault.
    if here and not force and plan.series is None and os.path.lexists(output):
        raise InputError(
            f"{name}: it is there already; pass {option('force')} to replace it, or write to another place"
        )
    if sign is not None and certificate is None and is_table:
        raise InputError(
            f"a table has no place for its certificate, and so there is none to sign; name a file for it with {option('certificate')}"
        )
    if sign is not None:
        signer(sign)
    place = {"table": output.removeprefix(TABLE)} if is_table else {"path": output}
    return place | {"certificate": certificate, "sign": sign}
