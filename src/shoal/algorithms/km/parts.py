"""Parts: rows that are anonymized apart from the others, each part by its own optimal cut.

A few rows with rare combinations force the cut of all others up. So a part is split in two, the rows that keep the promise
among themselves under some finer cut, and the rest; each gets the exact optimum for itself, and the split stays if the two lose
less than the part did. The largest set of rows that keeps the promise under a cut is unique and quick to find: rows with a rare set
leave until there are none. The cuts that are tried: every level of the hierarchy, the children of the part's own cut, and the
optimum for a weaker promise. Starting from all rows in one part, the sum can only fall.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.exact import exact
from shoal.algorithms.recoding import Options
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.price.ncp import leaf_occurrences
from shoal.records.baskets import Baskets


@dataclass(frozen=True, eq=False)
class Part:
    """Rows, the node that each leaf is published as in them, and what that costs (NCP times |I| times occurrences)."""

    rows: npt.NDArray[np.int64]
    node: npt.NDArray[np.int32]
    cost: int


class Splitting:
    """The search for parts. `work` counts the occurrences that went into a solution or a look for clean rows."""

    def __init__(self, baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> None:
        self.baskets, self.guarantee, self.hierarchy = baskets, guarantee, hierarchy
        self.options = replace(options, suppress=0.0, time_limit=None, progress=None)
        self.filled = baskets.lengths > 0
        self.work = 0

    def part(self, rows: npt.NDArray[np.int64], node: npt.NDArray[np.int32] | None = None) -> Part:
        """These rows under their optimal cut, or under the one that is given."""
        baskets = self.baskets.take(rows)
        self.work += baskets.occurrences
        if node is None:
            node = exact(baskets, self.guarantee, self.hierarchy, self.options).cut.lowest().node
        below = self.hierarchy.leaf_count[node]
        used = leaf_occurrences(self.hierarchy, baskets)
        return Part(rows, node, int(np.where(below > 1, below * used, 0).sum()))

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
            print_of_it = np.packbits(clean).tobytes()
            if print_of_it in seen:
                continue
            seen.add(print_of_it)
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
                yield exact(baskets, KmAnonymity(k, m), h, self.options).cut.lowest().node

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
    from shoal.kernels.itemsets.exposure import mark_exposed
    from shoal.kernels.itemsets.rows import laid_out
    from shoal.kernels.parallel import over_blocks

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
            mark_exposed(rows.offsets, rows.tails, rows.lengths, rows.support, rows.volume, a, b, k, size, exposed)

        over_blocks(mark, rows.blocks(), threads)
    return exposed > 0
