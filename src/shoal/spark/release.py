"""The way of the data on Spark: propose, shuffle, audit, write."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from shoal.algorithms.recoding import Options, Progress
from shoal.errors import InputError, ShoalError
from shoal.guarantees.audit import Audit
from shoal.models import Outcome, with_knowledge
from shoal.records.formats.folders import beside, data_files, entries_of
from shoal.records.roles import texts_of
from shoal.records.storage.digest import DIGEST
from shoal.records.storage.journal import remove, settle
from shoal.records.storage.publication import writing_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from shoal.certificate.sign import Signer
    from shoal.engines.spark.records import SparkRecords
    from shoal.engines.spark.sets import SparkSets
    from shoal.engines.spark.storage import Folder
    from shoal.spark.proposing import SparkProposal


_PART = re.compile(r"part-.*\.parquet")


def anonymize(
    df: DataFrame,
    guarantee: Any,
    *,
    hierarchy: Any = None,
    algorithm: str | None = None,
    unknown: str | None = None,
    items: str | None = None,
    quasi: str | Sequence[str] | None = None,
    sensitive: str | Sequence[str] | None = None,
    keep: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    numeric: str | Sequence[str] | None = None,
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
    knowledge: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> SparkRelease:
    """The release of a data frame, its sets in column `items` (the only column of arrays unless given). Nothing is written yet.

    KmAnonymity: by `exact` (the default) or `aa`, as the local engine would have it. KAnonymity of transactions: by `split` (the default)
    or `gsc`; `sensitive` names items, or a column of them. TableAnonymity, RTAnonymity and LmDiversity: by all algorithms but `tfirst`, in
    parts of near rows; every column needs a role (`quasi`, `sensitive`, `keep`, `drop`). MatchingDiversity: by all algorithms, in parts
    that are alike; `knowledge` is a file of the driver. Options are as for `shoal.anonymize`. The data frame must give the same rows
    whenever it is computed: write it to a table or checkpoint it if it does not.
    """
    from pyspark import StorageLevel

    from shoal.algorithms import entry, kind_of
    from shoal.engines.spark import SparkEngine
    from shoal.spark.proposals import check_reachable, proposal

    started = time.monotonic()
    asked: dict[str, Any] = {
        "hierarchy": hierarchy,
        "algorithm": algorithm,
        "unknown": unknown,
        "items": items,
        "quasi": texts_of(quasi),
        "sensitive": texts_of(sensitive),
        "keep": texts_of(keep),
        "drop": texts_of(drop),
        "numeric": None if numeric is None else texts_of(numeric),
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
    check_reachable(guarantee, asked)
    asked["algorithm"] = entry(kind_of(guarantee), algorithm)[0]
    options = Options(suppress=suppress or 0.0, time_limit=time_limit, progress=progress, seed=seed or 0)
    options.tell("reading", 0.0)
    proposed = proposal(df, guarantee, asked, options)
    published = proposed.published.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        # Reading the published rows fills their store; the raw ones are not needed after that.
        seen = proposed.read(published)
    except BaseException:
        published.unpersist()
        raise
    finally:
        proposed.forget()
    options.tell("auditing", 0.0)
    try:
        verdict = SparkEngine().audit(seen, proposed.guarantee)
        if not verdict.holds or len(seen) != proposed.rows:
            raise ShoalError(
                f"the audit refuses what {proposed.algorithm} proposed: {guarantee} does not hold ({verdict.violations:,} of "
                f"{verdict.checked:,} counted break it) or rows are missing ({len(seen):,} of {proposed.rows:,}); this is a fault of "
                "ours, please report it"
            )
        digest = digest_of(seen)
    except BaseException:
        published.unpersist()
        raise
    finally:
        seen.forget()
    return SparkRelease(
        published=published,
        proposal=proposed,
        audit=verdict,
        seen=seen,
        details={**proposed.details, **_counts(seen)},
        output_sha256=digest,
        seconds=time.monotonic() - started,
    )


def audit(
    df: DataFrame,
    guarantee: Any,
    *,
    items: str | None = None,
    quasi: str | Sequence[str] | None = None,
    sensitive: str | Sequence[str] | None = None,
    numeric: str | Sequence[str] | None = None,
    hierarchy: Any = None,
    knowledge: str | os.PathLike[str] | None = None,
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
    from shoal.engines.spark import SparkEngine
    from shoal.engines.spark.audits import check_auditable
    from shoal.engines.spark.roles import published_as

    check_auditable(guarantee)
    numbers = None if numeric is None else texts_of(numeric)
    seen, guarantee = published_as(df, guarantee, items, texts_of(quasi), texts_of(sensitive), numbers)
    try:
        guarantee = with_knowledge(guarantee, getattr(seen, "template", None), knowledge, hierarchy)
        return SparkEngine().audit(seen, guarantee, witnesses=witnesses, yes_or_no=yes_or_no)
    finally:
        seen.forget()


@dataclass(frozen=True, eq=False, repr=False)
class SparkRelease(Outcome):
    """A published data frame, how it came about, what it costs, and the audit that it passed."""

    published: DataFrame
    """In an order that says nothing about that of the input. The executors keep it: `forget` lets them drop it."""
    proposal: SparkProposal
    audit: Audit
    seen: SparkSets | SparkRecords = field(repr=False)
    """What was published, as the audit saw it: names and counts, without rows."""
    details: Mapping[str, Any]
    """For the owner."""
    output_sha256: str
    seconds: float
    written: list[str] = field(default_factory=list)
    """What it was written to so far."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.proposal.parameters

    @property
    def notes(self) -> tuple[str, ...]:
        """For the owner. They may name rare items."""
        return self.proposal.notes

    @property
    def rows(self) -> int:
        return int(self.proposal.rows)

    @property
    def input_sha256(self) -> str:
        """Of the raw rows: for their owner, never for a certificate."""
        return self.proposal.input_sha256

    def write(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        table: str | None = None,
        certificate: str | os.PathLike[str] | None = None,
        sign: str | os.PathLike[str] | None = None,
        force: bool = False,
    ) -> dict[str, Any]:
        """Write a new folder of Parquet files, or a new table, and its certificate, whose facts are returned. All of it, or nothing.

        The certificate lies beside a folder (`PATH.certificate.json`) unless it is named; that of a table only where it is named. Paths are
        Spark's. What was written is read again and audited before it gets its name. `sign` is the file, on the driver, of an ed25519
        private key to sign the certificate with. `force` replaces a release that Spark wrote before to a folder of this machine.
        """
        from shoal.certificate.document import certificate_file, check_certificate_name
        from shoal.certificate.sign import signer
        from shoal.engines.spark.storage import Files, Folder, Table

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
            content = self._write_here(place, home, paper, vouching, sign, force)
            self.written.append(place.name)
            return content
        with place.staging(self.published) as frame:
            content = self._certificate(place.name, place.form, *self._checked(frame))
            if proof is not None:
                files.save(proof, certificate_file(content, proof, vouching))
            try:
                place.put_in_place()
            except BaseException:
                if proof is not None:
                    files.remove(proof)
                raise
        self.written.append(place.name)
        return content

    def _write_here(
        self, place: Folder, home: str, proof: str, vouching: Signer | None, sign: Any, force: bool
    ) -> dict[str, Any]:
        """As `write`, to a folder of this machine: it and its certificate appear together, as files do."""
        from shoal.certificate.document import certificate_file
        from shoal.certificate.owner import owner_files
        from shoal.records.storage.publication import Publication, check_apart

        check_apart([proof, home], [*([] if sign is None else [("the key to sign with", sign)]), *owner_files()])
        for path in (home, proof):
            with writing_errors(path):
                os.makedirs(os.path.dirname(path), exist_ok=True)  # as Spark does
        settle(home, proof)
        if force:
            _check_replaceable(home, proof)
        with Publication([proof], force=force, folder=home) as publication:
            with place.staging(self.published, publication.staged_folder) as frame:
                content = self._certificate(place.name, place.form, *self._checked(frame))
            with publication.file(proof) as file:
                file.write(certificate_file(content, proof, vouching))
        folder, name = os.path.split(proof)
        remove(os.path.join(folder, f".{name}.crc"))  # of a certificate that was there, by Hadoop
        return content

    def forget(self) -> None:
        """Let the executors drop the published rows."""
        self.published.unpersist()

    def _checked(self, frame: DataFrame) -> tuple[Audit, dict[str, Any]]:
        """The audit of what was written, and how it is read; raises unless it holds, and the rows are exactly those that passed before."""
        from shoal.engines.spark import SparkEngine

        seen = self.proposal.read(frame)
        try:
            verdict, digest = SparkEngine().audit(seen, self.guarantee), digest_of(seen)
        finally:
            seen.forget()
        if not verdict.holds or digest != self.output_sha256:
            raise ShoalError(
                "what was written reads as other rows than those that passed the audit; this is a bug in Shoal, please report it; "
                "nothing was published"
            )
        return verdict, _reading(seen)

    def _certificate(self, name: str, form: str, verdict: Audit, reading: Mapping[str, Any]) -> dict[str, Any]:
        from shoal.certificate.facts import Making, Published, certificate

        made = Making(
            algorithm=self.algorithm,
            optimal=self.optimal,
            parameters={**self.parameters, "engine": "spark"},
            disclosed=self.proposal.certified(self.seen),
            warnings=self.proposal.warnings,
            input_sha256=self.input_sha256,
        )
        file = Published(self.guarantee, verdict, self.rows, self.output_sha256, self.details.get("empty", 0))
        return certificate(file, made, {"file": name, "format": form, "digest": DIGEST, **reading})


def _check_replaceable(folder: str, proof: str) -> None:
    """Raises unless a folder, if there is one, holds a release that Spark wrote and nothing else, as its certificate says."""
    from shoal.certificate.document import read_certificate
    from shoal.certificate.terms import known_by_rows

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


def digest_of(seen: SparkSets | SparkRecords) -> str:
    from shoal.engines.spark.records import SparkRecords, records_digest
    from shoal.engines.spark.sets import digest

    return records_digest(seen) if isinstance(seen, SparkRecords) else digest(seen)


def _counts(seen: SparkSets | SparkRecords) -> dict[str, int]:
    """How many different names are published, and how many rows without any."""
    from shoal.engines.spark.records import SparkRecords

    if isinstance(seen, SparkRecords) and seen.template.items is None:
        return {}
    sets = seen.sets if isinstance(seen, SparkRecords) else seen
    return {"tokens": len(sets.vocabulary), "empty": sets.empty}


def _reading(seen: SparkSets | SparkRecords) -> dict[str, Any]:
    """How what was written is read, for the certificate: the roles of its columns; sensitive items only as a number."""
    from shoal.engines.spark.records import SparkRecords
    from shoal.records.values import ordering

    if not isinstance(seen, SparkRecords):
        return {"items": seen.column}
    table = seen.template
    roles = {column.name: column.role for column in table.columns} | dict.fromkeys(seen.kept, "keep")
    if table.items is not None:
        roles[table.items_name] = "items"
    if table.sensitive_name is not None:
        roles[table.sensitive_name] = "sensitive items"
    told: dict[str, Any] = {"columns": roles}
    if table.sensitive_items:
        told["sensitive_items"] = len(table.sensitive_items)
    # Only what a reader would not find out: values are hashed as numbers or as texts.
    if any((column.numbers is None) != (ordering(column.values).numbers is None) for column in table.columns):
        told["numeric"] = [column.name for column in table.columns if column.numbers is not None]
    return told
