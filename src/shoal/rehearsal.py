"""What `shoal run --check` finds: everything up to the proposal, read and checked, and what a release would take. Nothing is written.

The estimate is an order of magnitude. What takes time is known and can be counted beforehand: the sets of up to m items in the rows,
for an audit counts them all, and, where rows are clustered, pairs of different combinations of values. The rates below were
measured on two cores with public data (BMS-WebView, retail, T10I4D100K, Diabetes-130, Adult) and were right within a factor of four,
starting up aside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.algorithms import entry
from shoal.algorithms.rt.clusters import MOST_TUPLES
from shoal.errors import Unreachable
from shoal.models import tables
from shoal.models.buckets import edits_of, hierarchies
from shoal.models.km import HIERARCHY, resolve_hierarchy
from shoal.plan.model import Plan
from shoal.plan.places import sentence
from shoal.publish import check_files, check_hash
from shoal.release import Read, read_for
from shoal.showing import fields_of

if TYPE_CHECKING:
    from shoal.algorithms.recoding import Progress
    from shoal.hierarchy.tree import Hierarchy
    from shoal.records.baskets import Baskets
    from shoal.records.source import Source

ROWS_A_SECOND = 100_000
SETS_A_SECOND = 5_000_000
PAIRS_A_SECOND = 40_000_000
MOST = 10**15
"""Beyond this a count says nothing more: no machine gets there."""


@dataclass(frozen=True)
class Estimate:
    """What a release would take, as an order of magnitude."""

    seconds: float
    itemsets: int | None
    """Sets of up to m items that the rows hold, each row counted for itself."""
    pairs: int | None
    """Pairs of different combinations of quasi-identifiers that clustering looks at."""

    def to_dict(self) -> dict[str, Any]:
        return {"seconds": round(self.seconds, 1), "itemsets": self.itemsets, "pairs": self.pairs}


@dataclass(frozen=True)
class Checked:
    """A plan whose data were read and fit it."""

    plan: Plan
    guarantee: str
    algorithm: str
    rows: int
    items: int | None
    """Different items; none in tables without sets."""
    occurrences: int | None
    columns: Mapping[str, str]
    hierarchies: Mapping[str, str]
    """Per column that has one (`items` for the items of a file of sets), where its hierarchy comes from."""
    estimate: Estimate
    input_sha256: str
    notes: tuple[str, ...]
    read: Read = field(repr=False)
    """What was read, for the run that follows."""

    def to_dict(self) -> dict[str, Any]:
        """For --json."""
        outputs = self.plan.outputs
        return {
            "plan": self.plan.origin.name,
            "plan_sha256": self.plan.origin.sha256,
            "input": self.plan.input.path,
            **fields_of(self, "input_sha256", "guarantee", "algorithm", "rows", "items", "occurrences"),
            "columns": dict(self.columns),
            "hierarchies": dict(self.hierarchies),
            "estimate": self.estimate.to_dict(),
            "outputs": None if outputs is None else outputs.model_dump(exclude_none=True),
            "notes": list(self.notes),
        }


def checked_plan(plan: Plan, *, force: bool = False, progress: Progress | None = None) -> Checked:
    """What a plan would do. Raises what a run would raise before the search begins; writes nothing."""
    if plan.on_spark:
        raise plan.refusal(("engine",), "this plan is for Spark: run it with shoal run, or take engine: local")
    check_files(plan, force=force)
    if progress:
        progress("reading", 0.0)
    with plan.speaking():
        source, guarantee = read_for(plan)
    check_hash(plan, source.sha256)
    k = getattr(guarantee, "k", 1)
    if k > len(source):
        raise Unreachable(
            sentence(
                plan.origin,
                ("guarantee", "k"),
                f"it is {k:,}, and {source.name} has only {len(source):,} rows; choose a smaller k",
            )
        )
    if progress:
        progress("looking at hierarchies", 0.5)
    with plan.speaking():
        trees = _hierarchies(plan, source)
    baskets = _baskets(source)
    return Checked(
        plan,
        str(guarantee),
        entry(plan.kind, plan.algorithm)[0],
        len(source),
        None if baskets is None else len(baskets.vocabulary),
        None if baskets is None else int(baskets.occurrences),
        dict(_columns(source)),
        {name: tree.source for name, tree in trees.items() if tree is not None},
        _estimate(plan, source, baskets),
        source.sha256,
        source.notes,
        (source, guarantee),
    )


def _hierarchies(plan: Plan, source: Source) -> dict[str, Hierarchy | None]:
    """The hierarchies, with a leaf for every value and item that occurs; a file of rules is read against them, too."""
    given, unknown = plan.hierarchy, plan.options.unknown
    if plan.kind in ("k", "chunks"):
        return {}
    if plan.kind == "km":
        name = next(iter(_columns(source)), "items")
        spec = HIERARCHY if given is None else given
        return {name: resolve_hierarchy(spec, source.baskets, unknown=unknown, promise=plan.promise)}
    if plan.kind == "diversity":
        trees = hierarchies(source.records, given, unknown)
        if plan.options.knowledge is not None:
            edits_of(source.records, trees, plan.path_of(plan.options.knowledge))
        return dict(trees)

    return tables.hierarchies(source.records, given, unknown, plan.promise)


def _baskets(source: Source) -> Baskets | None:
    return source.records.items


def _columns(source: Source) -> Mapping[str, str]:
    if source.records.holds_sets_alone:
        # FIMI text and bare lists have no columns.
        name = source.layout.items
        return {} if source.layout.format == "dat" or not name else {name: "items"}
    records = source.records
    found = {column.name: column.role for column in records.columns}
    if records.items is not None:
        found[records.items_name] = "items"
    if records.sensitive_name is not None:
        found[records.sensitive_name] = "sensitive"
    return found


def _estimate(plan: Plan, source: Source, baskets: Baskets | None) -> Estimate:
    itemsets = pairs = None
    m = getattr(plan.guarantee, "m", None)
    if m is not None and baskets is not None:
        itemsets = _itemsets(baskets, m)
    compares = plan.kind in ("table", "rt", "lm") and not entry(plan.kind, plan.algorithm)[1].uniform
    if compares and "mondrian" not in (plan.algorithm, plan.options.formation):
        combinations = _combinations(source)
        # What takes the better of several ways leaves out this one in large tables.
        if combinations <= MOST_TUPLES or entry(plan.kind, plan.algorithm)[0] not in ("better-of-two", "joint"):
            pairs = combinations**2
    seconds = len(source) / ROWS_A_SECOND + (itemsets or 0) / SETS_A_SECOND + (pairs or 0) / PAIRS_A_SECOND
    if plan.options.time_limit is not None:
        # The limit is for the search; reading, the audit and writing come on top.
        seconds = min(seconds, plan.options.time_limit + len(source) / ROWS_A_SECOND)
    return Estimate(seconds, itemsets, pairs)


def _itemsets(baskets: Baskets, m: int) -> int:
    """Sets of 1 to m items, summed over the rows: as many as there are ways to choose them from each, at most `MOST`."""
    found = 0
    for length, rows in zip(*(part.tolist() for part in np.unique(baskets.lengths, return_counts=True)), strict=True):
        for size in range(1, min(m, length) + 1):
            found += rows * comb(length, size)
            if found >= MOST:
                return MOST
    return found


def _combinations(source: Any) -> int:
    """Different combinations of quasi-identifier values."""
    codes = np.zeros(len(source), np.int64)
    for column in source.records.of_role("quasi"):
        codes = np.unique(codes * max(1, len(column.values)) + column.codes, return_inverse=True)[1].astype(np.int64)
    return int(codes.max()) + 1
