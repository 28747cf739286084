"""lra: local recoding, which the authors of the 2008 paper announced: rows in parts, each part anonymized by itself.

The first step is theirs (partition, anonymize the parts); how rows are parted is ours, and so is the second step, which makes the
release finer token by token and row by row (`refinement`). Both start from the exact optimum among cuts and take only steps that
lose less, so lra never loses more than `exact`. What it proposes has every set of up to m tokens in at least k rows, tokens
counted as they stand; that is more than the promise asks for (see `guarantees.km_local`), and needs no hierarchy to be checked.

A few rows with rare combinations force the cut of all others up. So a part is split in two, the rows that keep the promise
among themselves under some finer cut, and the rest; each gets the exact optimum for itself, and the split stays if the two lose
less than the part did. The largest set of rows that keeps the promise under a cut is unique and quick to find: rows with a rare set
leave until there are none. The cuts that are tried: every level of the hierarchy, the children of the part's own cut, and the
optimum for a weaker promise. Starting from all rows in one part, the sum can only fall.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.exact import exact, exact_on
from shoal.algorithms.km.problem import Problem
from shoal.algorithms.km.refinement import Refinement
from shoal.algorithms.recoding import LocalRecoding, Options
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.itemsets.prefixes import laid_out
from shoal.kernels.itemsets.rare_sets import mark_exposed
from shoal.kernels.parallel import over_blocks
from shoal.price.levels import Price
from shoal.price.ncp import leaf_occurrences
from shoal.records.baskets import Baskets

MOST_PARTS = 64
SPLITTING_WORK = 4_000_000
"""Occurrences that may go into the search for parts. Work is capped, not time, so that the answer is the same everywhere."""
LEAST_TRIES = 10
"""Data that is too large to be looked at so often within that is not parted."""
REFINING_WORK = 4_000_000_000
"""The same for the moves that follow."""


def lra(baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> LocalRecoding:
    """A local recoding that keeps the promise and loses no more than the optimal cut. `options.segments` is the most parts to make."""
    clock = _Clock(options)
    whole = exact(baskets, guarantee, hierarchy, replace(options, suppress=0.0))
    problem = Problem(baskets, guarantee, hierarchy, options.threads, price=options.price)
    splitting = Splitting(baskets, guarantee, hierarchy, problem.price, options)
    start = splitting.part(np.arange(len(baskets)), whole.cut.lowest().node)
    best, used = _refined(problem, [start], clock), 1
    budget = SPLITTING_WORK // max(1, problem.m - 1)
    partitions: Iterable[list[Part]] = ()
    if baskets.occurrences * LEAST_TRIES <= budget:
        partitions = splitting.partitions(
            start, options.segments or MOST_PARTS, budget, lambda share: clock("splitting into parts", share)
        )
    # More parts lose less before the second step, but leave it less to share: two parts are often the better start.
    for parts in _first_and_last(partitions):
        other = _refined(problem, parts, clock)
        if other.cost < best.cost:
            best, used = other, len(parts)
    of_cut = problem.price.share(start.cost, baskets.occurrences)
    return LocalRecoding(
        hierarchy,
        best.node,
        baskets.vocabulary,
        algorithm="lra",
        facts={"parts": used, "moves": best.moves, "loss_of_cut": of_cut, "cut_optimal": whole.optimal},
        notes=("stopped by the time limit: a longer run may lose less",) if clock.expired else (),
        hurried=clock.expired,
    )


def _first_and_last(partitions: Iterable[list[Part]]) -> list[list[Part]]:
    every = list(partitions)
    return every if len(every) < 3 else [every[0], every[-1]]


def _refined(problem: Problem, parts: list[Part], clock: _Clock) -> Refinement:
    """The release in these parts, made finer."""
    doing = "making single rows finer" + (f", from {len(parts)} parts" if len(parts) > 1 else "")
    node = np.empty(len(problem.baskets.items), np.int32)
    for part in parts:
        places, leaf = _occurrences(problem, part.rows)
        node[places] = part.node[leaf]
    refinement = Refinement(problem, node)
    refinement.refine(REFINING_WORK, lambda share: clock(doing, share))
    return refinement


def _occurrences(problem: Problem, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """The places of the rows' occurrences, and their leaves."""
    inside = np.zeros(len(problem.baskets), np.bool_)
    inside[rows] = True
    places = np.flatnonzero(np.repeat(inside, problem.baskets.lengths))
    return places, problem.leaf[problem.baskets.items[places]]


class _Clock:
    """Tells how far a run is, and whether the time limit leaves room for more."""

    def __init__(self, options: Options) -> None:
        self.options, self.started, self.expired = options, time.monotonic(), False

    def __call__(self, doing: str, share: float) -> bool:
        self.options.tell(doing, min(share, 1.0))
        limit = self.options.time_limit
        self.expired = self.expired or (limit is not None and time.monotonic() - self.started > limit)
        return not self.expired


@dataclass(frozen=True, eq=False)
class Part:
    """Rows, the node that each leaf is published as in them, and what that costs."""

    rows: npt.NDArray[np.int64]
    node: npt.NDArray[np.int32]
    cost: int


class Splitting:
    """The search for parts. `work` counts the occurrences that went into a solution or a look for clean rows."""

    def __init__(
        self, baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, price: Price, options: Options
    ) -> None:
        self.baskets, self.guarantee, self.hierarchy, self.price = baskets, guarantee, hierarchy, price
        self.options = replace(options, suppress=0.0, time_limit=None, progress=None)
        self.filled = baskets.lengths > 0
        self.work = 0

    def part(self, rows: npt.NDArray[np.int64], node: npt.NDArray[np.int32] | None = None) -> Part:
        """These rows under their optimal cut, or under the one that is given."""
        baskets = self.baskets.take(rows)
        self.work += baskets.occurrences
        if node is None:
            node = self._optimum(baskets, self.guarantee)
        used, level = leaf_occurrences(self.hierarchy, baskets), self.price.level
        return Part(rows, node, int(((level[node] - level[: len(node)]) * used).sum()))

    def _optimum(self, baskets: Baskets, guarantee: KmAnonymity) -> npt.NDArray[np.int32]:
        """The cut that costs these rows least, by the price of all rows."""
        problem = Problem(baskets, guarantee, self.hierarchy, self.options.threads, price=self.price)
        return exact_on(problem, self.options, time.monotonic()).cut.lowest().node

    def partitions(
        self, whole: Part, most: int, most_work: int, goes_on: Callable[[float], bool]
    ) -> Iterator[list[Part]]:
        """One partition after each split, the last with at most `most` parts; every one loses less than the one before."""
        done: list[Part] = []
        waiting = [whole]
        while waiting and len(done) + len(waiting) < most:
            waiting.sort(key=lambda part: part.cost)
            part = waiting.pop()  # the costliest has most to gain
            halves = self._best_split(part, most_work, goes_on) if part.cost else None
            if halves is None:
                done.append(part)
            else:
                waiting.extend(halves)
                yield done + waiting

    def _best_split(self, part: Part, most_work: int, goes_on: Callable[[float], bool]) -> tuple[Part, Part] | None:
        best, least, seen = None, part.cost, set[bytes]()
        baskets = self.baskets.take(part.rows)
        for node in self._finer_cuts(part, baskets):
            if self.work + 3 * baskets.occurrences > most_work or not goes_on(self.work / most_work):
                break
            clean = self._clean(baskets, node)
            kept, rest = part.rows[clean], part.rows[~clean]
            # Fewer than k rows with items in them cannot keep any promise.
            if min(np.count_nonzero(self.filled[kept]), np.count_nonzero(self.filled[rest])) < self.guarantee.k:
                continue
            fingerprint = np.packbits(clean).tobytes()
            if fingerprint in seen:
                continue
            seen.add(fingerprint)
            halves = self.part(kept), self.part(rest)
            if halves[0].cost + halves[1].cost < least:
                best, least = halves, halves[0].cost + halves[1].cost
        return best

    def _finer_cuts(self, part: Part, baskets: Baskets) -> Iterator[npt.NDArray[np.int32]]:
        """Cuts under which some rows may keep the promise; none twice."""
        h = self.hierarchy
        path = [np.arange(h.n_leaves, dtype=np.int32)]
        for depth in range(h.height - 1, 0, -1):
            path.append(np.where(h.depth[path[-1]] > depth, h.parent[path[-1]], path[-1]).astype(np.int32))
        yield self._children(part.node)
        yield from path
        weaker = [(self.guarantee.k, self.guarantee.m - 1), (self.guarantee.k // 2, self.guarantee.m)]
        for k, m in weaker:
            if k > 1 and m > 0:
                self.work += baskets.occurrences
                yield self._optimum(baskets, KmAnonymity(k, m))

    def _children(self, node: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """The cut one level below: each leaf as the child of its node that it lies under."""
        parent = self.hierarchy.parent
        at = np.arange(self.hierarchy.n_leaves, dtype=np.int32)
        while np.any(climbs := (at != node) & (parent[at] != node)):
            at = np.where(climbs, parent[at], at)
        return at

    def _clean(self, baskets: Baskets, node: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """The rows of the largest set that keeps the promise by itself when leaves are published as `node` says."""
        tokens, token = np.unique(node[self.hierarchy.leaves_of(baskets.vocabulary)], return_inverse=True)
        names = tuple(map(str, range(len(tokens))))
        left = Baskets.from_codes(baskets.lengths, token[baskets.items], names)
        rows = np.arange(len(baskets))
        while True:
            self.work += left.occurrences
            exposed = exposed_rows(left, int(self.guarantee.k), int(self.guarantee.m), self.options.threads)
            if not exposed.any():
                break
            rows, left = rows[~exposed], left.take(np.flatnonzero(~exposed))
        clean = np.zeros(len(baskets), np.bool_)
        clean[rows] = True
        return clean


def exposed_rows(baskets: Baskets, k: int, m: int, threads: int | None = None) -> npt.NDArray[np.bool_]:
    """Rows that up to m of their items narrow down to fewer than k."""
    support = baskets.supports()
    by_support = np.argsort(support, kind="stable")
    rank = np.empty(len(support), np.int32)
    rank[by_support] = np.arange(len(support), dtype=np.int32)
    rows = laid_out(baskets.offsets, baskets.items, rank, len(rank), threads)
    exposed = np.zeros(len(baskets), np.uint8)
    if np.any(rare := support < k):
        exposed[baskets.rows_with(rare)] = 1
    for size in range(2, min(m, baskets.longest) + 1):

        def mark(a: int, b: int, size: int = size) -> None:
            mark_exposed(rows, a, b, k, size, exposed)

        over_blocks(mark, rows.blocks(), threads)
    return exposed > 0
