"""The way of the data on Spark: read, propose, shuffle, audit, write, read again, audit again."""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from shoal.algorithms.recoding import Options, Progress
from shoal.certificate.document import certificate_file, check_certificate_name, read_certificate
from shoal.certificate.facts import Making, Published, certificate
from shoal.certificate.owner import owner_files
from shoal.certificate.sign import Signer, signer
from shoal.certificate.terms import known_by_rows
from shoal.errors import InputError, ShoalError, option
from shoal.guarantees.audit import Audit
from shoal.guarantees.diversity import MatchingDiversity
from shoal.models import Outcome, basket_details, buckets, with_knowledge
from shoal.passwords import without_passwords
from shoal.plan.model import Plan
from shoal.records.formats.folders import beside, data_files, entries_of
from shoal.records.knowledge import Rules
from shoal.records.roles import texts_of
from shoal.records.storage.digest import DIGEST
from shoal.records.storage.journal import remove, settle
from shoal.records.storage.publication import Publication, check_apart, writing_errors
from shoal.release import check_hash, peak_mb
from shoal.spark.audits import audit_rows, check_auditable
from shoal.spark.data.executors import store
from shoal.spark.data.frame_records import FrameRoles, SparkRecords
from shoal.spark.data.frame_roles import check_bucket_roles, read_frame, roles_as_read
from shoal.spark.data.sets import SparkSets
from shoal.spark.data.spark_session import master_of, start_session
from shoal.spark.data.storage import TABLE, Files, Folder, Table, frame_of, place_of
from shoal.spark.search import propose
from shoal.spark.search.buckets import code_bucket_rows, known_rules
from shoal.spark.search.proposals import SparkProposal, check_filled, check_specs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Path = str | os.PathLike[str]
Names = str | Sequence[str]

_PART = re.compile(r"part-.*\.parquet")
_FILES = {".csv", ".tsv", ".dat", ".json", ".jsonl", ".arrow", ".gz", ".zst"}


def anonymize(
    df: DataFrame,
    guarantee: Any,
    *,
    hierarchy: Any = None,
    algorithm: str | None = None,
    unknown: str | None = None,
    items: str | None = None,
    quasi: Names | None = None,
    sensitive: Names | None = None,
    keep: Names | None = None,
    drop: Names | None = None,
    numeric: Names | None = None,
    suppress: float | None = None,
    time_limit: float | None = None,
    seed: int | None = None,
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
    progress: Progress | None = None,
) -> SparkRelease:
    """The release of a data frame, its sets in column `items` (the only column of arrays unless given). Nothing is written yet.

    KmAnonymity: by `exact` (the default) or `aa`, as the local engine would have it. KAnonymity of transactions: by `split` (the default)
    or `gsc`; `sensitive` names items, or a column of them. TableAnonymity, RTAnonymity and LmDiversity: by all algorithms but `tfirst`, in
    parts of near rows; every column needs a role (`quasi`, `sensitive`, `keep`, `drop`). MatchingDiversity: by all algorithms, in parts
    that are alike; `knowledge` is a file of the driver. Options are as for `shoal.anonymize`. The data frame must give the same rows
    whenever it is computed: write it to a table or checkpoint it if it does not.
    """
    started = time.monotonic()
    asked: dict[str, Any] = {
        "hierarchy": hierarchy,
        "algorithm": algorithm,
        "unknown": unknown,
        "suppress": suppress,
        "time_limit": time_limit,
        "seed": seed,
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
    roles = _roles(items, quasi, sensitive, numeric, keep, drop)
    options = Options(suppress=suppress or 0.0, time_limit=time_limit, progress=progress, seed=seed or 0)
    proposal = propose(df, guarantee, roles, asked, options)
    published = store(proposal.published)
    try:
        sha256 = proposal.raw.digest()
        # Reading the published rows fills their store; the raw ones are not needed after that.
        seen, _ = read_frame(published, proposal.guarantee, roles_as_read(proposal.raw))
    except BaseException:
        published.unpersist()
        raise
    finally:
        proposal.forget()
    options.tell("auditing", 0.0)
    try:
        verdict = audit_rows(seen, proposal.guarantee)
        if not verdict.holds or len(seen) != proposal.rows:
            raise ShoalError(
                f"the audit refuses what {proposal.algorithm} proposed: {guarantee} does not hold ({verdict.violations:,} of "
                f"{verdict.checked:,} counted break it) or rows are missing ({len(seen):,} of {proposal.rows:,}); this is a bug in "
                "Shoal, please report it"
            )
        digest = seen.digest()
    except BaseException:
        published.unpersist()
        raise
    finally:
        seen.forget()
    return SparkRelease(published, proposal, verdict, seen, sha256, digest, time.monotonic() - started)


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
    seen, guarantee = read_frame(df, guarantee, _roles(items, quasi, sensitive, numeric))
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
    roles = _roles(None, quasi, sensitive, numeric)
    check_bucket_roles(MatchingDiversity(2), roles)
    check_specs(hierarchy)
    records = code_bucket_rows(df, roles)
    try:
        check_filled(records)
        trees = buckets.hierarchies(records.template, hierarchy, unknown)
        how = {"min_exp": min_exp, "min_conf": min_conf, "max_length": max_length, "fuzzy": fuzzy}
        return known_rules(records, trees, Options(progress=progress), knowledge=knowledge, redundant=redundant, **how)
    finally:
        records.forget()


def _roles(
    items: str | None,
    quasi: Names | None,
    sensitive: Names | None,
    numeric: Names | None,
    keep: Names | None = None,
    drop: Names | None = None,
) -> FrameRoles:
    numbers = None if numeric is None else texts_of(numeric)
    return FrameRoles(items, texts_of(quasi), texts_of(sensitive), texts_of(keep), texts_of(drop), numbers)


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
    """In an order that says nothing about that of the input. The executors keep it: `forget` lets them drop it."""
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
    written: list[SparkWritten] = field(default_factory=list)
    """What it was written to so far."""

    @property
    def rows(self) -> int:
        return self.proposal.rows

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.proposal.parameters

    @property
    def notes(self) -> tuple[str, ...]:
        """For the owner. They may name rare items."""
        return self.proposal.notes + (self.written[-1].notes if self.written else ())

    @property
    def details(self) -> Mapping[str, Any]:
        """For the owner."""
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
            "output_sha256": self.output_sha256,
            "engine": self.engine,
            "output": last.output or None,
            "certificate": last.certificate,
            **self.details,
            "notes": list(self.notes),
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
        Spark's. What was written is read again and audited before it gets its name. `sign` is the file, on the driver, of an ed25519
        private key to sign the certificate with. `force` replaces a release that Spark wrote before to a folder of this machine.
        """
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
            check_apart([paper, home], [*([] if sign is None else [("the key to sign with", sign)]), *owner_files()])
            content = self._write_here(place, home, paper, vouching, force)
        else:
            content = self._write_there(place, files, proof, vouching)
        output = place.path if isinstance(place, Folder) else TABLE + place.name
        self.written.append(SparkWritten(output, proof, () if vouching is None else vouching.notes))
        return content

    def _write_there(
        self, place: Folder | Table, files: Files, proof: str | None, vouching: Signer | None
    ) -> dict[str, Any]:
        """As `write`, to a table, or to a folder elsewhere: the certificate is there before the rows get their name."""
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
        return content

    def _write_here(self, place: Folder, home: str, proof: str, vouching: Signer | None, force: bool) -> dict[str, Any]:
        """As `write`, to a folder of this machine: it and its certificate appear together, as files do."""
        for path in (home, proof):
            with writing_errors(path):
                os.makedirs(os.path.dirname(path), exist_ok=True)  # as Spark does
        settle(home, proof)
        if force:
            _check_replaceable(home, proof)
        with Publication([proof], force=force, folder=home) as publication:
            with place.staging(self.published, publication.staged_folder) as frame:
                content = self._certify(frame, place)
            with publication.file(proof) as file:
                file.write(certificate_file(content, proof, vouching))
        folder, name = os.path.split(proof)
        remove(os.path.join(folder, f".{name}.crc"))  # of a certificate that was there, by Hadoop
        return content

    def forget(self) -> None:
        """Let the executors drop the published rows."""
        self.published.unpersist()

    def _certify(self, frame: DataFrame, place: Folder | Table) -> dict[str, Any]:
        """The certificate of what was written; raises unless its audit holds, and the rows are exactly those that passed before."""
        seen, _ = read_frame(frame, self.guarantee, roles_as_read(self.proposal.raw))
        try:
            verdict, digest = audit_rows(seen, self.guarantee), seen.digest()
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


def run(plan: Plan, *, force: bool = False, progress: Progress | None = None) -> SparkRelease:
    """The release of a plan with `engine: spark`, written to its outputs, if it has any."""
    outputs = plan.outputs
    arguments = plan.keywords() | {"force": force}
    if outputs is not None:
        arguments |= {
            "rules": outputs.rules,
            "report": outputs.report,
            "sign": None if outputs.sign is None else plan.path_of(outputs.sign),
        }
    written = None if outputs is None else plan.path_of(outputs.data)
    certificate = None if outputs is None or outputs.certificate is None else plan.path_of(outputs.certificate)
    with plan.speaking():
        release = release_place(
            plan.engine or "spark",
            plan.data,
            plan.promise,
            arguments,
            output=written,
            certificate=certificate,
            progress=progress,
        )
    check_hash(plan, release.input_sha256)
    return release


def release_place(
    engine: str,
    data: str,
    guarantee: Any,
    arguments: Mapping[str, Any],
    *,
    output: str | None = None,
    certificate: str | None = None,
    progress: Progress | None = None,
) -> SparkRelease:
    """The release of Parquet or `table:NAME`, written to `output` (a folder that is not there yet, or `table:NAME`) if it is given.

    Among the arguments, which are those of `anonymize`, `sign` is the file of the private key that the certificate is signed with, and
    `force` replaces a release. What only makes sense on one machine is refused by name, before Spark starts.
    """
    if arguments.get("report") is not None:
        raise InputError(
            f"{option('report')} is for the local engine: a file where Spark writes cannot be kept to its owner; leave it out"
        )
    sign, force = arguments.get("sign"), bool(arguments.get("force"))
    given = _given(anonymize, {name: arguments[name] for name in arguments if name not in ("sign", "force")})
    _check_places(data, output, certificate)
    master = cast(str, master_of(engine))
    output, certificate = (None if path is None else place_of(path, master) for path in (output, certificate))
    _check_free(output, force)
    _check_signing(sign, output, certificate)
    release = anonymize(frame_at(data, master), guarantee, progress=progress, **given)
    if output is not None:
        named = {"table": output.removeprefix(TABLE)} if output.startswith(TABLE) else {"path": output}
        release.write(**named, certificate=certificate, sign=sign, force=force)
    return replace(release, engine=engine)


def audit_place(engine: str, data: str, guarantee: Any, arguments: Mapping[str, Any]) -> Audit:
    """Whether Parquet or `table:NAME` keeps the guarantee. The arguments are those of `audit`."""
    given = _given(audit, arguments)
    return audit(frame_at(data, cast(str, master_of(engine))), guarantee, **given)


def frame_at(data: str, master: str) -> DataFrame:
    """The data frame at a path of this machine or of Spark's, or of `table:NAME`."""
    return frame_of(start_session(master), place_of(data, master))


def _given(call: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that Spark has a use for; raises for others that were given."""
    known = inspect.signature(call).parameters
    given = {
        name: value for name, value in arguments.items() if value is not None and value != () and value is not False
    }
    for name in given:
        if name not in known:
            raise InputError(
                f"{option(name)} has no use with {option('engine', 'spark')}; leave it out, or use the local engine"
            )
    return given


def _check_places(data: str, output: str | None, certificate: str | None) -> None:
    if data == "-" or output == "-":
        raise InputError(
            "Spark reads and writes Parquet folders and tables; standard input and output are for the local engine"
        )
    if output is None and certificate is not None:
        raise InputError(f"{option('certificate')} needs {option('output')}; without it nothing is written")
    ending = "" if output is None or output.startswith(TABLE) else os.path.splitext(output)[1].lower()
    if ending in _FILES:
        raise InputError(
            f"{os.path.basename(without_passwords(str(output)))}: Spark writes a folder of Parquet files, or table:NAME; give a name "
            f"without {ending}"
        )


def _check_free(output: str | None, force: bool) -> None:
    """Raises for what would be refused when all is done."""
    if output is None:
        return
    here = os.path.isabs(output)
    if force and not here:
        raise InputError(
            f"{os.path.basename(output)}: {option('force')} replaces a folder of this machine, and nothing else on Spark; write elsewhere"
        )
    if here and not force and os.path.lexists(output):
        raise InputError(
            f"{os.path.basename(output)}: it is there already; pass {option('force')} to replace it, or write to another place"
        )


def _check_signing(sign: str | None, output: str | None, certificate: str | None) -> None:
    """Raises if the key cannot sign, or if there is nothing to sign."""
    if sign is None:
        return
    if output is None:
        raise InputError(f"{option('sign')} needs {option('output')}; without it nothing is written")
    if certificate is None and output.startswith(TABLE):
        raise InputError(
            f"a table has no place for its certificate, and so there is none to sign; name a file for it with {option('certificate')}"
        )
    signer(sign)
