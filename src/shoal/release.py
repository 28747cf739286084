"""The way of the data, top to bottom: read, recode, shuffle, audit, write, read again, audit again, publish.

    release = anonymize("baskets.csv", KmAnonymity(k=5, m=2), hierarchy="tree.csv")
    release.write("public.csv")

An algorithm proposes, the audit decides. It is separate code that looks only at what would be published, first at the rows in
memory, then at the bytes on disk, which get their final name only if the promise holds for them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.algorithms import algorithm as algorithm_named
from shoal.algorithms.recoding import Options, Progress, Recoding
from shoal.errors import InputError, ShoalError
from shoal.guarantees.audit import Audit
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.spec import resolve
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.ncp import leaf_occurrences, ncp
from shoal.records.baskets import Baskets
from shoal.records.layout import Layout, layout_for
from shoal.records.publication import Publication, StagedFile, check_targets
from shoal.records.reading import load
from shoal.records.writing import csv_cell, write_to, written_tokens
from shoal.report.advice import ends_at_root, root_advice
from shoal.report.certificate import certificate as certificate_of
from shoal.report.certificate import certificate_bytes
from shoal.report.owner_key import key_path

Path = str | os.PathLike[str]


def anonymize(
    data: Any,
    guarantee: KmAnonymity,
    *,
    hierarchy: Hierarchy | Path = "frequency:5",
    algorithm: str | None = None,
    unknown: str | None = None,
    suppress: float = 0.0,
    time_limit: float | None = None,
    threads: int | None = None,
    keep_order: bool = False,
    progress: Progress | None = None,
    **reading: Any,
) -> Release:
    """The release of `data` (a path, `-`, Baskets, a data frame, rows) that keeps the guarantee. Nothing is written yet.

    `hierarchy` is a file, `frequency:N`, `balanced:N`, `prefix` or a Hierarchy; `unknown="root"` hangs items that it lacks under
    its root. `algorithm` is `exact` (the default), `oa`, `da` or `aa`; `suppress` and `time_limit` are for `exact`. `reading` is as
    for `shoal.read`.
    """
    started = time.monotonic()
    options = Options(suppress, time_limit, threads, progress)
    _check(guarantee, algorithm, options)
    recode = algorithm_named(guarantee.model, algorithm)

    options.tell("reading", 0.0)
    source = load(data, **reading)
    baskets = source.baskets
    if not len(baskets):
        raise InputError(f"{source.name} has no transactions; there is nothing to publish")
    tree = resolve_hierarchy(hierarchy, baskets, unknown=unknown)

    recoding = recode(baskets, guarantee, tree, options)

    options.tell("recoding", 0.0)
    published = recoding.apply(baskets, threads)
    if not keep_order:
        published = shuffled(published)
    verdict = audit(published, guarantee, threads=threads, progress=progress)
    if not verdict.holds:
        raise ShoalError(
            f"the audit refuses what {recoding.algorithm} proposed: {guarantee} does not hold ({verdict.violations:,} itemsets "
            "are too rare); this is a fault of ours, please report it; nothing was written"
        )

    occurrences = leaf_occurrences(tree, baskets)
    notes = _notes(baskets, keep_order) + recoding.notes
    if ends_at_root(recoding):
        notes += root_advice(baskets, guarantee, tree, options)
    return Release(
        published=published,
        recoding=recoding,
        audit=verdict,
        loss=ncp(recoding.cut, occurrences),
        guarantee=guarantee,
        levels=_levels(recoding, baskets),
        parameters={"suppress": suppress, "time_limit": time_limit, "unknown": unknown, "keep_order": keep_order},
        source=source.name,
        inputs=tuple(os.fspath(given) for given in (data, hierarchy) if isinstance(given, str | os.PathLike)),
        input_sha256=source.sha256,
        layout=source.layout,
        duplicates=baskets.duplicates,
        seconds=time.monotonic() - started,
        peak_mb=_peak_mb(),
        threads=threads,
        notes=notes,
    )


def audit(
    data: Any,
    guarantee: KmAnonymity,
    *,
    threads: int | None = None,
    witnesses: int = 10,
    yes_or_no: bool = False,
    progress: Progress | None = None,
    **reading: Any,
) -> Audit:
    """Whether `data` keeps the guarantee, from the data alone; with `yes_or_no`, the first breach is enough."""
    published = load(data, **reading).baskets if not isinstance(data, Baskets) else data
    tell: Callable[[float], None] | None = None
    if progress is not None:
        watching = progress
        tell = lambda share: watching("auditing", share)  # noqa: E731
    verdict = guarantee.audit(published, witnesses=witnesses, yes_or_no=yes_or_no, threads=threads, progress=tell)
    return replace(
        verdict, holds=bool(verdict.holds)
    )  # a counting array answers with its own kind of bool, which JSON refuses


def resolve_hierarchy(spec: Hierarchy | Path, baskets: Baskets, *, unknown: str | None = None) -> Hierarchy:
    """The hierarchy that `spec` stands for, with a leaf for every item of the baskets."""
    vocabulary, supports = baskets.vocabulary, baskets.supports()
    if not vocabulary and not isinstance(spec, Hierarchy) and not os.path.exists(spec):
        # Empty transactions only: a tree over one name that never occurs serves them all.
        vocabulary, supports = ("*",), np.zeros(1, np.int64)
    return resolve(spec, vocabulary, supports, unknown=unknown)


def shuffled(baskets: Baskets) -> Baskets:
    """The rows in an order drawn from the system's randomness, of which nothing is kept: the order of the input gives people away."""
    keys = np.frombuffer(os.urandom(8 * len(baskets)), np.uint64)
    return baskets.take(np.argsort(keys))


@dataclass(frozen=True)
class Level:
    """Items that went up the same number of levels, or were dropped (None)."""

    up: int | None
    items: int
    occurrences: int


@dataclass(frozen=True)
class Targets:
    """The files that a release is written to. They appear together or not at all."""

    data: str
    certificate: str | None
    rules: str | None

    @classmethod
    def of(cls, data: Path, certificate: Path | None = None, rules: Path | None = None) -> Targets:
        """The certificate lies beside the data unless named; data on standard output (`-`) has none then."""
        out = os.fspath(data)
        if certificate is None and out != "-":
            certificate = f"{out}.certificate.json"
        return cls(
            out, None if certificate is None else os.fspath(certificate), None if rules is None else os.fspath(rules)
        )

    @property
    def files(self) -> tuple[str, ...]:
        """In the order in which they are put in place: whoever finds the data finds its certificate."""
        return tuple(name for name in (self.certificate, self.rules, self.data) if name not in (None, "-"))

    def check(self, *, force: bool = False, inputs: tuple[str, ...] = ()) -> None:
        """Raises if they could not be written: better before a long run than after it."""
        if self.certificate is not None and not self.certificate.endswith(".json"):
            raise InputError(f"{self.certificate}: certificates are JSON; let the name end in .json")
        if self.rules == "-":
            raise InputError("rules go to a file of their own, not to standard output")
        for target in self.files:
            for given in inputs:
                if os.path.exists(target) and os.path.exists(given) and os.path.samefile(target, given):
                    raise InputError(f"{target}: it is an input of this release; write to another file")
        check_targets(self.files, force=force)


@dataclass(frozen=True)
class Written:
    """What a release was written to."""

    targets: Targets
    layout: Layout
    sha256: str
    audit: Audit
    """Of the rows that were read back from the written file."""
    seconds: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Release:
    """Published rows, how they came about, what they cost, and the audit that they passed."""

    published: Baskets
    recoding: Recoding
    audit: Audit
    loss: Mapping[str, float]
    """As fractions: `ncp`, and its parts `generalized` and `deleted`."""
    guarantee: KmAnonymity
    levels: tuple[Level, ...]
    parameters: Mapping[str, Any]
    source: str
    inputs: tuple[str, ...]
    """Paths of the input and the hierarchy, as they were given."""
    input_sha256: str
    """The plain hash: for its owner, never for a certificate."""
    layout: Layout
    duplicates: int
    seconds: float
    peak_mb: float | None
    threads: int | None = None
    notes: tuple[str, ...] = ()
    """For the owner. They may name rare items."""
    written: list[Written] = field(default_factory=list)
    """What it was written to so far."""

    def __repr__(self) -> str:
        return f"Release({self.guarantee}, {self.algorithm}, {self.rows:,} rows, NCP {self.loss['ncp']:.4f})"

    @property
    def rows(self) -> int:
        return len(self.published)

    @property
    def algorithm(self) -> str:
        return self.recoding.algorithm

    @property
    def optimal(self) -> bool | None:
        """True when no cut loses less; None when the algorithm does not know."""
        return self.recoding.optimal

    @property
    def bound(self) -> float | None:
        """No cut that keeps the promise has an NCP below this."""
        return self.recoding.bound

    @property
    def suppressed(self) -> dict[str, Any]:
        """How much was dropped: the share of occurrences, their number, and the number of top-level categories."""
        dropped = sum(level.occurrences for level in self.levels if level.up is None)
        return {"share": self.loss["deleted"], "occurrences": dropped, "categories": len(self.recoding.cut.dropped)}

    def write(
        self,
        path: Path,
        certificate: Path | None = None,
        rules: Path | None = None,
        force: bool = False,
        *,
        progress: Progress | None = None,
    ) -> Written:
        """Publish: data, certificate and rules appear together, after what is on disk was read again and audited, or not at all."""
        started = time.monotonic()
        targets = Targets.of(path, certificate, rules)
        targets.check(force=force, inputs=self.inputs)
        key_is_new = targets.certificate is not None and not key_path().exists()
        with Publication(targets.files, force=force) as publication, contextlib.ExitStack() as stack:
            staged = {target: publication.file(target) for target in targets.files}
            file = staged.get(targets.data) or stack.enter_context(_passing_through())
            if progress:
                progress("writing", 0.0)
            layout = write_to(file, self.published, self._layout_for(targets.data))
            file.close()
            verdict = self._audit_of_file(file.path, layout, progress)
            if targets.rules is not None:
                staged[targets.rules].write(_rules_csv(self._rules_in(layout)))
            if targets.certificate is not None:
                staged[targets.certificate].write(self._certificate(verdict, targets.data, file.sha256))
            if targets.data == "-":
                with open(file.path, "rb") as done:
                    shutil.copyfileobj(done, sys.stdout.buffer)
                sys.stdout.buffer.flush()
        written = Written(
            targets, layout, file.sha256, verdict, time.monotonic() - started, _writing_notes(targets, key_is_new)
        )
        self.written.append(written)
        return written

    def rules(self) -> Iterator[tuple[str, str]]:
        """(original item, published token) for every item, the token empty for a dropped one."""
        return self.recoding.rules()

    def to_dict(self) -> dict[str, Any]:
        """Everything but the rows, for `--json`. File names are as they were given; None until it is written."""
        last = self.written[-1] if self.written else None
        tree, layout = self.recoding.cut.hierarchy, self.layout
        total = sum(level.occurrences for level in self.levels)
        return {
            "algorithm": self.algorithm,
            "guarantee": self.guarantee.to_dict(),
            "holds": self.audit.holds,
            "loss": dict(self.loss),
            "optimal": self.optimal,
            "bound": self.bound,
            "rows": self.rows,
            "seconds": round(self.seconds + sum(written.seconds for written in self.written), 3),
            "peak_mb": self.peak_mb if last is None else _peak_mb(),
            "input": self.inputs[0] if self.inputs else self.source,
            "input_sha256": self.input_sha256,
            "output_sha256": last.sha256 if last else None,
            "suppressed": self.suppressed,
            "levels": [
                {"levels_up": level.up, "items": level.items, "occurrences": level.occurrences}
                | {"share": level.occurrences / max(1, total)}
                for level in self.levels
            ],
            "hierarchy": {"source": tree.source, "leaves": tree.n_leaves, "height": tree.height},
            "items": len(self.recoding.vocabulary),
            "tokens": len(self.published.vocabulary),
            "empty": self.published.empty,
            "duplicates": self.duplicates,
            "audit": {key: self.audit.to_dict()[key] for key in ("checked", "violations", "by_size", "complete")},
            "row_order": "kept" if self.parameters["keep_order"] else "shuffled",
            "parameters": dict(self.parameters),
            "format": layout.format,
            "separator": layout.separator if layout.format in ("csv", "tsv") else None,
            "output": last.targets.data if last else None,
            "certificate": last.targets.certificate if last else None,
            "rules": last.targets.rules if last else None,
            "notes": [*self.notes, *(last.notes if last else ())],
        }

    def _layout_for(self, target: str) -> Layout:
        """How the input stood, in the format that the target's name tells.

        A release in cells has one column, whose header shows no delimiter: it must be the one that readers then assume.
        """
        layout = layout_for(target, self.layout)
        return replace(layout, delimiter=",") if layout.format == "csv" else layout

    def _audit_of_file(self, path: str, layout: Layout, progress: Progress | None) -> Audit:
        """The verdict on the bytes that are about to be published. A writer's slip must not break the promise."""
        try:
            reread = load(path, **_reading_of(layout)).baskets
        except InputError as error:
            raise ShoalError(f"what was written cannot be read again ({error}); {_OUR_FAULT}") from error
        if len(reread) != self.rows or reread.occurrences != self.published.occurrences:
            raise ShoalError(f"what was written reads as {reread!r}, not as {self.published!r}; {_OUR_FAULT}")
        verdict = audit(reread, self.guarantee, threads=self.threads, progress=progress)
        if not verdict.holds:
            raise ShoalError(f"the audit refuses what was written: {self.guarantee} does not hold; {_OUR_FAULT}")
        return verdict

    def _rules_in(self, layout: Layout) -> Iterator[tuple[str, str]]:
        """The rules with tokens as a file of this layout has them."""
        tokens = self.published.vocabulary
        as_written = dict(zip(tokens, written_tokens(tokens, layout), strict=True)) | {"": ""}
        return ((item, as_written[token]) for item, token in self.rules())

    def _certificate(self, verdict: Audit, output: str, output_sha256: str) -> bytes:
        return certificate_bytes(
            certificate_of(
                guarantee=self.guarantee,
                audit=verdict,
                recoding=self.recoding,
                loss=self.loss,
                suppressed=self.suppressed,
                parameters=self.parameters,
                rows=self.rows,
                empty=self.published.empty,
                input_sha256=self.input_sha256,
                output="standard output" if output == "-" else os.path.basename(output),
                output_sha256=output_sha256,
            )
        )


_OUR_FAULT = "this is a fault of ours, please report it; nothing was published"


def _check(guarantee: KmAnonymity, algorithm: str | None, options: Options) -> None:
    if not isinstance(guarantee, KmAnonymity):
        raise InputError(f"the guarantee is {guarantee!r}; give for example shoal.KmAnonymity(k=5, m=2)")
    if not 0 <= options.suppress <= 1:
        raise InputError(f"suppress is {options.suppress}; give a share from 0 to 1, such as 0.02")
    if options.time_limit is not None and not options.time_limit > 0:
        raise InputError(f"the time limit is {options.time_limit}; give seconds, more than 0")
    if options.threads is not None and options.threads < 1:
        raise InputError(f"threads is {options.threads}; give 1 or more")
    if algorithm not in (None, "exact"):
        for name, given in (("suppress", options.suppress), ("time-limit", options.time_limit)):
            if given:
                raise InputError(f"--{name} is for --algorithm exact; {algorithm} has no use for it")


def _notes(baskets: Baskets, keep_order: bool) -> tuple[str, ...]:
    notes = []
    if baskets.duplicates:
        notes.append(f"{baskets.duplicates:,} repeated items were folded into one")
    if baskets.empty:
        notes.append(f"{baskets.empty:,} transactions are empty and stay so")
    if keep_order:
        notes.append("the rows keep the order of the input, which can give people away; the certificate says so")
    return tuple(notes)


def _writing_notes(targets: Targets, key_is_new: bool) -> tuple[str, ...]:
    notes = []
    if targets.rules is not None:
        notes.append(f"{targets.rules} names every original item, rare ones too: keep it, do not publish it")
    if key_is_new and key_path().exists():
        notes.append(f"your key for the hashes in certificates was made in {key_path()}; keep it, and keep it secret")
    return tuple(notes)


def _levels(recoding: Recoding, baskets: Baskets) -> tuple[Level, ...]:
    """How far the items of the data went, the least first, dropped ones last."""
    tree, supports = recoding.cut.hierarchy, baskets.supports()
    kept = recoding.node >= 0
    up = tree.depth[tree.leaves_of(recoding.vocabulary)] - tree.depth[recoding.node]
    found = [
        Level(n, int(np.count_nonzero(at := kept & (up == n))), int(supports[at].sum()))
        for n in np.unique(up[kept]).tolist()
    ]
    if not kept.all():
        found.append(Level(None, int(np.count_nonzero(~kept)), int(supports[~kept].sum())))
    return tuple(found)


def _reading_of(layout: Layout) -> dict[str, Any]:
    """The options that read back what was written in this layout."""
    reading: dict[str, Any] = {"format": layout.format}
    if layout.format != "dat":
        reading["items"] = layout.items or None
    if layout.format in ("csv", "tsv"):
        reading["separator"] = layout.separator
    if layout.format == "long":
        reading["id"] = layout.id or "id"
    return reading


@contextlib.contextmanager
def _passing_through() -> Iterator[StagedFile]:
    """A file for data on its way to standard output: it is audited on disk before the first byte leaves."""
    with tempfile.TemporaryDirectory() as folder:
        file = StagedFile(os.path.join(folder, "data"))
        file.create()
        try:
            yield file
        finally:
            file.close()


def _rules_csv(rules: Iterator[tuple[str, str]]) -> bytes:
    rows = (f"{csv_cell(item, ',')},{csv_cell(token, ',')}\n" for item, token in rules)
    return ("item,published\n" + "".join(rows)).encode()


def _peak_mb() -> float | None:
    """The most memory that this process has held so far, where the system tells."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)
