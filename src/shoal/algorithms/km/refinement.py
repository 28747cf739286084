"""Refinement: a release that keeps the promise, made finer token by token and row by row.

A move takes one node u of the hierarchy a level down in as many rows as the promise allows. All rows that hold u start with its
children in place of it. A row in which a set with one of these children is too rare gets u back; where a set with u has become too
rare because too few rows kept it, more rows of that set get it back as well. A row that got u back never loses it again in
this move, so the search ends, at worst where it began. Every set that stands in the data at the end stands in k rows.

Only sets with u or one of its children can change, and their rows are the rows that hold u or a child. Pairs and triples are settled
with a counter for each (`shoal.kernels.itemsets.descents`). For larger sets the tokens in question are numbered first, so one walk
(`shoal.kernels.itemsets.rare_sets`) over these rows alone, from these tokens alone, counts just those.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.problem import Problem
from shoal.kernels.itemsets.descents import (
    WrittenRows,
    finer_nodes,
    rare_beside,
    rows_around,
    rows_to_fill,
    settle_pairs,
    settle_triples,
    take_down,
    write_tokens,
)
from shoal.kernels.itemsets.prefixes import laid_out
from shoal.kernels.itemsets.rare_sets import mark_exposed
from shoal.kernels.parallel import even_blocks, over_blocks

_Number = TypeVar("_Number", bound=np.integer)

MOST_SETS = 256
"""Rare sets with u that are looked for at a time."""
MOST_COUNTERS = 20_000_000
"""Beyond so many pairs the walk of the audit counts them instead."""
SMALL = 100_000
"""Occurrences below which a walk is not worth a second thread."""


@dataclass(frozen=True, eq=False)
class _Around:
    """The rows that a move is about: first those that hold u, then those that hold one of its children already.

    Tokens are numbered anew: 0 is u, then its children, then all others, rarest first.
    """

    u: int
    rows: npt.NDArray[np.int64]
    n_movers: int
    fine: npt.NDArray[np.int32]
    """The node of each occurrence if its row goes down."""
    children: npt.NDArray[np.int32]
    """Those of u, by their numbers from 1 on."""
    n_tokens: int
    written: WrittenRows
    """The rows in numbers, as if all went down."""

    @property
    def n_children(self) -> int:
        return len(self.children)

    def some(self, chosen: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """(offsets, tokens) of some of the rows."""
        lengths = np.diff(self.written.starts)
        offsets = np.zeros(int(np.count_nonzero(chosen)) + 1, np.int64)
        np.cumsum(lengths[chosen], out=offsets[1:])
        return _frozen(offsets), _frozen(self.written.tokens[: self.written.starts[-1]][np.repeat(chosen, lengths)])


def _frozen(array: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """Read-only, as the arrays of baskets are: the kernels are compiled once for both."""
    array.setflags(write=False)
    return array


class Refinement:
    """What every occurrence is published as, and the moves that make it finer."""

    def __init__(self, problem: Problem, node: npt.NDArray[np.int32]) -> None:
        h, baskets = problem.hierarchy, problem.baskets
        self.problem, self.hierarchy, self.baskets = problem, h, baskets
        self.node = node.copy()
        self.level = problem.price.level
        self.own = self.level[problem.leaf][baskets.items]
        self.row = np.repeat(np.arange(len(baskets), dtype=np.int32), baskets.lengths)
        # Occurrences by their leaf's place in depth-first order: those below any node are one stretch.
        self.position = h.span[: h.n_leaves, 0][problem.leaf].astype(np.int32)[baskets.items]
        self.by_position = np.argsort(self.position, kind="stable")
        self.starts = np.concatenate(([0], np.cumsum(np.bincount(self.position, minlength=h.n_leaves))))
        self.lowest = np.arange(h.n_nodes)
        for v in range(h.n_leaves, h.n_nodes):
            if h.only_child[v] >= 0:
                self.lowest[v] = self.lowest[h.only_child[v]]
        self.changed = np.zeros(len(baskets), np.int64)
        self.tried = np.full(h.n_nodes, -1, np.int64)
        self.moves = 0
        self.work = 0
        self.clock = 0
        # Room for kernels, with an entry for each row or node.
        self.seen = np.zeros(len(baskets), np.int32)
        self.is_child = np.zeros(h.n_nodes, np.bool_)
        self.times, self.number, self.used = (np.zeros(h.n_nodes, np.int32) for _ in range(3))

    @property
    def cost(self) -> int:
        """What all occurrences cost together."""
        return int((self.level[self.node] - self.own).sum())

    def refine(self, most_work: int, goes_on: Callable[[float], bool]) -> None:
        """Moves, the most promising token first, until none helps, or `most_work` occurrences were looked at, or `goes_on` says no."""
        while True:
            before = self.cost
            costs = np.bincount(self.node, self.level[self.node] - self.own, minlength=self.hierarchy.n_nodes)
            waiting = [(-int(costs[v]), v) for v in np.flatnonzero(costs).tolist()]
            heapq.heapify(waiting)
            while waiting:
                if self.work > most_work or not goes_on(self.work / most_work):
                    return
                for v, cost in self.descend(heapq.heappop(waiting)[1]):
                    if cost:
                        heapq.heappush(waiting, (-cost, v))
            if self.cost == before:
                return

    def descend(self, u: int) -> list[tuple[int, int]]:
        """Move u down where possible; the nodes that took its place, and what the occurrences cost there."""
        around = self._around(u)
        if around is None:
            return []
        down = self._rows_that_go_down(around)
        self.tried[u] = self.moves
        if down is None:
            return []
        self.moves += 1
        down = down[: around.n_movers]
        self.changed[around.rows[: around.n_movers][down]] = self.moves
        costs = np.zeros(around.n_children + 1, np.int64)
        take_down(
            around.rows, self.baskets.offsets, down, u, around.fine, self.number, self.level, self.own, self.node, costs
        )
        return list(zip(around.children.tolist(), costs[1:].tolist(), strict=True))

    def _around(self, u: int) -> _Around | None:
        """The rows that a move of u is about; None if there are none, or none has changed since the last try."""
        h, offsets = self.hierarchy, self.baskets.offsets
        below = self.by_position[self.starts[h.span[u, 0]] : self.starts[h.span[u, 1]]]
        children = self.lowest[list(h.children[u])]
        children = children[np.argsort(h.span[children, 0])]
        self.clock += 1
        rows, n_movers = rows_around(below, self.node, self.row, u, children, self.is_child, self.seen, self.clock)
        if n_movers == 0 or (self.tried[u] >= 0 and self.changed[rows].max() <= self.tried[u]):
            return None
        rows[:n_movers].sort()
        rows[n_movers:].sort()
        size = int((offsets[rows + 1] - offsets[rows]).sum())
        fine = np.empty(size, np.int32)
        starts = h.span[children, 0].astype(np.int64)
        n_used = finer_nodes(rows, offsets, self.node, self.position, u, children, starts, fine, self.times, self.used)
        used = self.used[:n_used]
        is_child = np.isin(used, children)
        used = used[np.lexsort((used, self.times[used], ~is_child))]
        self.times[used] = 0
        self.number[used] = np.arange(1, n_used + 1, dtype=np.int32)
        n_children, n_tokens = int(np.count_nonzero(is_child)), n_used + 1
        written = WrittenRows(
            np.empty(len(rows) + 1, np.int64), np.empty(len(rows), np.int64), np.empty(size, np.int32)
        )
        # Pairs do not ask for an order.
        ascending = self.problem.m > 2 or (1 + n_children) * n_tokens > MOST_COUNTERS
        last = np.full(n_tokens, -1, np.int64)
        write_tokens(rows, offsets, fine, self.number, n_children, ascending, last, written)
        return _Around(u, rows, n_movers, fine, used[:n_children], n_tokens, written)

    def _rows_that_go_down(self, around: _Around) -> npt.NDArray[np.bool_] | None:
        """Which of the rows end with children of u, those that had some before included; None if no mover does."""
        k, m, n_movers = self.problem.k, self.problem.m, around.n_movers
        written, numbers = around.written, (n_movers, around.n_children, around.n_tokens, k)
        down = np.ones(len(around.rows), np.bool_)
        if (1 + around.n_children) * around.n_tokens <= MOST_COUNTERS:
            self.work += settle_pairs(written, *numbers, m > 1, down)
            if m <= 2:
                return down if down[:n_movers].any() else None
        asked = np.ones(around.n_children + 1, np.bool_)
        while down[:n_movers].any():
            looked = settle_triples(written, *numbers, MOST_COUNTERS, down, asked) if m > 2 else -1
            self.work += max(0, looked)
            if m > 3 or looked < 0:
                exposed = self._exposed(*around.some(down), around)
                if exposed.any():
                    down[np.flatnonzero(down)[exposed]] = False
                    asked[:] = True
                    continue
            if down.all():
                return down
            stay = ~down[:n_movers]
            sets = rare_beside(written, stay, around.n_tokens, k, m, MOST_SETS)
            joined = rows_to_fill(written, sets, stay, k)
            if not joined.any():
                return down
            self.work += int(written.starts[n_movers])
            down[:n_movers] &= ~joined
            asked[:] = True
        return None

    def _exposed(
        self, offsets: npt.NDArray[np.int64], tokens: npt.NDArray[np.int32], around: _Around
    ) -> npt.NDArray[np.bool_]:
        """Rows in which a set with a child of u is too rare."""
        self.work += len(tokens)
        threads = 1 if len(tokens) < SMALL else self.problem.threads
        k, last = self.problem.k, 1 + around.n_children
        rows = laid_out(offsets, tokens, np.arange(around.n_tokens, dtype=np.int32), around.n_tokens, threads)
        rare = rows.support < k
        rare[last:] = False
        exposed = np.zeros(len(offsets) - 1, np.uint8)
        if rare.any():
            exposed[np.searchsorted(offsets, np.flatnonzero(rare[tokens]), side="right") - 1] = 1
        blocks = [(1, last)]
        if threads != 1:
            blocks = [(a + 1, b + 1) for a, b in even_blocks(rows.volume[1:last] + 1.0, 8)]
        for size in range(2, self.problem.m + 1):
            if exposed.any():
                break

            def count(a: int, b: int, size: int = size) -> None:
                mark_exposed(rows, a, b, k, size, exposed)

            over_blocks(count, blocks, threads)
        return exposed > 0
