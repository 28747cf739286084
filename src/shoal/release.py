"""The way of the data, top to bottom: read, recode, shuffle, audit, write, read again, compare, publish.

    release = anonymize("baskets.csv", KmAnonymity(k=5, m=2), hierarchy="tree.csv")
    release.write("public.csv")

An algorithm proposes, the audit decides. It is separate code that looks only at the rows that would be published. Their file gets
its final name only if it was read again and holds exactly the rows that passed.
"""

from __future__ import annotations

import contextlib
import os
import shlex
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
from shoal.records.publication import Publication, StagedFile, check_targets, display_name, writing_errors
from shoal.records.reading import load
from shoal.records.writing import csv_cell, write_to, written_tokens
from shoal.report.advice import ends_at_root, hybrid_advice, root_advice
from shoal.report.certificate import certificate as certificate_of
from shoal.report.certificate import certificate_bytes
from shoal.report.owner_key import has_key, key_path

Path = str | os.PathLike[str]

SUPPRESS: dict[str | None, float] = {"hybrid": 0.05}
"""The share of occurrences that an algorithm may take away when nobody says otherwise; 0 for the others."""


def anonymize(
    data: Any,
    guarantee: KmAnonymity,
    *,
    hierarchy: Hierarchy | Path = "frequency:5",
    algorithm: str | None = None,
    unknown: str | None = None,
    suppress: float | None = None,
    time_limit: float | None = None,
    threads: int | None = None,
    keep_order: bool = False,
    progress: Progress | None = None,
    **reading: Any,
) -> Release:
    """The release of `data` (a path, `-`, Baskets, a data frame, rows) that keeps the guarantee. Nothing is written yet.

    `hierarchy` is a file, `frequency:N`, `balanced:N`, `prefix` or a Hierarchy; `unknown="root"` hangs items that it lacks under
    its root. `algorithm` is `exact` (the default), `hybrid`, `oa`, `da` or `aa`. `suppress`, the largest share of item
    occurrences that may go (0 unless given, for `hybrid` 0.05), and `time_limit` are for `exact` and `hybrid`. `reading` is as for
    `shoal.read`.
    """
    started = time.monotonic()
    if suppress is None:
        suppress = SUPPRESS.get(algorithm, 0.0)
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
    loss = ncp(recoding.cut, occurrences, recoding.deleted(baskets))
    if ends_at_root(recoding):
        notes += root_advice(baskets, guarantee, tree, options)
    if recoding.algorithm == "exact":
        notes += hybrid_advice(baskets, guarantee, tree, options, loss["ncp"])
    return Release(
        published=published,
        recoding=recoding,
        audit=verdict,
        loss=loss,
        deleted_shares=recoding.deleted_shares(baskets),
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
    return guarantee.audit(published, witnesses=witnesses, yes_or_no=yes_or_no, threads=threads, progress=tell)


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
        if self.data != "-":
            layout_for(self.data)
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
    deleted_shares: Mapping[str, float] = field(default_factory=dict)
    """Per published token, the share of its occurrences that was deleted one by one."""
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
        """How much is gone: the share of occurrences, their number, and the number of whole top-level categories among them."""
        gone = round(self.loss["deleted"] * sum(level.occurrences for level in self.levels))
        return {"share": self.loss["deleted"], "occurrences": gone, "categories": len(self.recoding.cut.dropped)}

    def write(
        self,
        path: Path,
        certificate: Path | None = None,
        rules: Path | None = None,
        force: bool = False,
        *,
        progress: Progress | None = None,
    ) -> Written:
        """Publish: data, certificate and rules appear together, after what is on disk was read again and compared, or not at all."""
        started = time.monotonic()
        targets = Targets.of(path, certificate, rules)
        targets.check(force=force, inputs=self.inputs)
        key_is_new = targets.certificate is not None and not has_key()
        with Publication(targets.files, force=force) as publication, contextlib.ExitStack() as stack:
            staged = {target: publication.file(target) for target in targets.files}
            file = staged.get(targets.data) or stack.enter_context(_passing_through())
            if progress:
                progress("writing", 0.0)
            layout = write_to(file, self.published, self._layout_for(targets.data), targets.data)
            file.close()
            if progress:
                progress("reading it again", 0.0)
            tokens = written_tokens(self.published.vocabulary, layout)
            flags = self._flags_to_read(file.path, layout, tokens)
            if targets.rules is not None:
                staged[targets.rules].write(_rules_csv(self._rules_with(tokens)))
            if targets.certificate is not None:
                staged[targets.certificate].write(self._certificate(targets.data, file.sha256))
            if targets.data == "-":
                with open(file.path, "rb") as done, writing_errors("-"):
                    shutil.copyfileobj(done, sys.stdout.buffer)
                    sys.stdout.buffer.flush()
        notes = _writing_notes(targets, flags, key_is_new and has_key())
        written = Written(targets, layout, file.sha256, time.monotonic() - started, notes)
        self.written.append(written)
        return written

    def rules(self) -> Iterator[tuple[str, str]]:
        """(original item, published token) for every item, the token empty for a dropped one."""
        return self.recoding.rules()

    def to_dict(self) -> dict[str, Any]:
        """Everything but the rows, for `--json`. File names are as they were given; None until it is written."""
        last = self.written[-1] if self.written else None
        tree, layout = self.recoding.cut.hierarchy, last.layout if last else self.layout
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
            "deleted_shares": dict(self.deleted_shares),
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

    def _flags_to_read(self, path: str, layout: Layout, tokens: tuple[str, ...]) -> str:
        """What a reader of the written file must be told, if anything. Raises unless it holds exactly the rows that passed the audit."""
        expected = self.published
        if tokens != expected.vocabulary or not expected.supports().all():
            expected = Baskets.from_codes(expected.lengths, expected.items, tokens)
        reading = ""
        for flags, options in _ways_to_read(layout):
            try:
                found = load(path, format=layout.format, **options).baskets
            except InputError as error:
                reading = f"cannot be read again ({error})"
                continue
            if found == expected:
                return flags
            reading = f"reads as other {found!r} than the {expected!r} that passed the audit"
        raise ShoalError(
            f"what was written {reading}; this is a fault of ours, please report it; nothing was published"
        )

    def _rules_with(self, tokens: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """The rules with tokens as the written file has them."""
        as_written = dict(zip(self.published.vocabulary, tokens, strict=True)) | {"": ""}
        # A token of which every occurrence was deleted is not published.
        return ((item, as_written.get(token, "")) for item, token in self.rules())

    def _written_shares(self, output: str) -> dict[str, float]:
        """The deleted share of each published token, by its name in the written file."""
        tokens = (
            written_tokens(self.published.vocabulary, self._layout_for(output))
            if output != "-"
            else self.published.vocabulary
        )
        as_written = dict(zip(self.published.vocabulary, tokens, strict=True))
        return {as_written[token]: share for token, share in self.deleted_shares.items()}

    def _certificate(self, output: str, output_sha256: str) -> bytes:
        return certificate_bytes(
            certificate_of(
                guarantee=self.guarantee,
                audit=self.audit,
                recoding=self.recoding,
                loss=self.loss,
                suppressed=self.suppressed,
                deleted_shares=self._written_shares(output),
                parameters=self.parameters,
                rows=self.rows,
                empty=self.published.empty,
                input_sha256=self.input_sha256,
                output="standard output" if output == "-" else os.path.basename(output),
                output_sha256=output_sha256,
            )
        )


def _check(guarantee: KmAnonymity, algorithm: str | None, options: Options) -> None:
    if not isinstance(guarantee, KmAnonymity):
        raise InputError(f"the guarantee is {guarantee!r}; give for example shoal.KmAnonymity(k=5, m=2)")
    if not 0 <= options.suppress <= 1:
        raise InputError(f"suppress is {options.suppress}; give a share from 0 to 1, such as 0.02")
    if options.time_limit is not None and not options.time_limit > 0:
        raise InputError(f"the time limit is {options.time_limit}; give seconds, more than 0")
    if options.threads is not None and options.threads < 1:
        raise InputError(f"threads is {options.threads}; give 1 or more")
    if algorithm not in (None, "exact", "hybrid"):
        for name, given in (("suppress", options.suppress), ("time-limit", options.time_limit)):
            if given:
                raise InputError(f"--{name} is for --algorithm exact and hybrid; {algorithm} has no use for it")


def _notes(baskets: Baskets, keep_order: bool) -> tuple[str, ...]:
    notes = []
    if baskets.duplicates:
        notes.append(f"{baskets.duplicates:,} repeated items were folded into one")
    if baskets.empty:
        notes.append(f"{baskets.empty:,} transactions are empty and stay so")
    if keep_order:
        notes.append("the rows keep the order of the input, which can give people away; the certificate says so")
    return tuple(notes)


def _writing_notes(targets: Targets, flags: str, key_was_made: bool) -> tuple[str, ...]:
    notes = []
    if flags:
        notes.append(f"to read {display_name(targets.data)} back, pass {flags}")
    if targets.rules is not None:
        notes.append(f"{targets.rules} names every original item, rare ones too: keep it, do not publish it")
    if key_was_made:
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


def _ways_to_read(layout: Layout) -> list[tuple[str, dict[str, Any]]]:
    """Options that may read what was written in this layout, with their flags, the fewest first."""
    if layout.format == "long":
        id = layout.id or "id"
        return [(f"--id {shlex.quote(id)}", {"id": id})]
    ways: list[tuple[str, dict[str, Any]]] = [("", {})]
    if layout.format in ("csv", "tsv"):
        ways.append((f"--separator {shlex.quote(layout.separator)}", {"separator": layout.separator}))
        ways.append((f"{ways[-1][0]} --items {shlex.quote(layout.items)}", {**ways[-1][1], "items": layout.items}))
    return ways


@contextlib.contextmanager
def _passing_through() -> Iterator[StagedFile]:
    """A file for data on its way to standard output: it is checked on disk before the first byte leaves."""
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
