"""Refinement: a release that keeps the promise, made finer token by token and row by row.

A move takes one node u of the hierarchy a level down in as many rows as the promise allows. All rows that hold u start with its
children in place of it. A row in which a set with one of these children is too rare gets u back; where a set with u has become too
rare because too few rows kept it, more rows of that set get it back as well. A row that got u back never loses it again in
this move, so the search ends, at worst where it began. Every set that stands in the data at the end stands in k rows.

Only sets with u or one of its children can change, and their rows are the rows that hold u or a child. Pairs are settled first, with a
counter for each (`shoal.kernels.itemsets.descents`). For larger sets the tokens in question are numbered first, so one walk
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
from shoal.kernels.itemsets.descents import rows_to_fill, settle_pairs
from shoal.kernels.itemsets.prefixes import laid_out
from shoal.kernels.itemsets.rare_sets import mark_exposed, rare_sets
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

    n_movers: int
    offsets: npt.NDArray[np.int64]
    place: npt.NDArray[np.int64]
    """Where each occurrence stands among all."""
    row: npt.NDArray[np.int32]
    at_u: npt.NDArray[np.bool_]
    fine: npt.NDArray[np.int32]
    """The token of each occurrence if its row goes down."""
    child: npt.NDArray[np.int32]
    """The node below u of each occurrence at u."""
    n_children: int
    n_tokens: int

    def some(
        self, rows: npt.NDArray[np.bool_], tokens: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """(offsets, tokens) of some of the rows."""
        offsets = np.zeros(int(np.count_nonzero(rows)) + 1, np.int64)
        np.cumsum(np.diff(self.offsets)[rows], out=offsets[1:])
        return _frozen(offsets), _frozen(tokens[rows[self.row]])


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
        moved = down[around.row[around.at_u]]
        places = around.place[around.at_u][moved]
        self.node[places] = around.child[moved]
        self.changed[self.row[places]] = self.moves
        nodes, place = np.unique(around.child[moved], return_inverse=True)
        costs = np.bincount(place.reshape(-1), self.level[self.node[places]] - self.own[places])
        return list(zip(nodes.tolist(), costs.astype(np.int64).tolist(), strict=True))

    def _around(self, u: int) -> _Around | None:
        """The rows that a move of u is about; None if there are none, or none has changed since the last try."""
        h = self.hierarchy
        below = self.by_position[self.starts[h.span[u, 0]] : self.starts[h.span[u, 1]]]
        children = self.lowest[list(h.children[u])]
        children = children[np.argsort(h.span[children, 0])]
        held = self.node[below]
        movers = np.unique(self.row[below[held == u]])
        if len(movers) == 0:
            return None
        settled = np.unique(self.row[below[np.isin(held, children)]])  # never a mover: a row is cut
        rows = np.concatenate((movers, settled))
        if self.tried[u] >= 0 and self.changed[rows].max() <= self.tried[u]:
            return None
        lengths = self.baskets.lengths[rows]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        place = np.repeat(self.baskets.offsets[:-1][rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        node = self.node[place]
        at_u = node == u
        starts = h.span[children, 0]
        child = children[np.searchsorted(starts, self.position[place[at_u]], side="right") - 1].astype(np.int32)
        node[at_u] = child
        used, token, times = np.unique(node, return_inverse=True, return_counts=True)
        is_child = np.isin(used, children)
        number = np.empty(len(used), np.int32)
        number[np.lexsort((times, ~is_child))] = np.arange(1, len(used) + 1, dtype=np.int32)
        return _Around(
            len(movers),
            _frozen(offsets),
            place,
            np.repeat(np.arange(len(rows), dtype=np.int32), lengths),
            at_u,
            _frozen(number[token]),
            child,
            int(np.count_nonzero(is_child)),
            len(used) + 1,
        )

    def _rows_that_go_down(self, around: _Around) -> npt.NDArray[np.bool_] | None:
        """Which of the rows end with children of u, those that had some before included; None if no mover does."""
        down = np.ones(len(around.offsets) - 1, np.bool_)
        if (1 + around.n_children) * around.n_tokens <= MOST_COUNTERS:
            self._settle_pairs(around, down)
            if self.problem.m <= 2:
                return down if down[: around.n_movers].any() else None
        coarse = _frozen(np.where(around.at_u, 0, around.fine).astype(np.int32))
        while down[: around.n_movers].any():
            exposed = self._exposed(*around.some(down, around.fine), around)
            if exposed.any():
                down[np.flatnonzero(down)[exposed]] = False
                continue
            if down.all():
                return down
            missing = self._rows_missing_from(around, ~down, coarse)
            if missing is None:
                return down
            down &= ~missing
        return None

    def _settle_pairs(self, around: _Around, down: npt.NDArray[np.bool_]) -> None:
        n = around.n_tokens
        rows = laid_out(around.offsets, around.fine, np.arange(n, dtype=np.int32), n, 1)
        k, pairs = self.problem.k, self.problem.m > 1
        self.work += settle_pairs(rows, around.n_movers, around.n_children, k, pairs, down)

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

    def _rows_missing_from(
        self, around: _Around, stay: npt.NDArray[np.bool_], coarse: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.bool_] | None:
        """Rows that must keep u as well, so that no set with u is too rare among those that do; None if none is."""
        same = np.arange(around.n_tokens, dtype=np.int32)
        offsets, tokens = around.some(stay, coarse)
        self.work += len(tokens)
        rows = laid_out(offsets, tokens, same, around.n_tokens, 1)
        for size in range(1, self.problem.m + 1):
            sets = rare_sets(rows, 0, 1, self.problem.k, size, MOST_SETS).reshape(-1, size)
            if len(sets):
                everywhere = laid_out(around.offsets, coarse, same, around.n_tokens, 1)
                missing: npt.NDArray[np.bool_] = rows_to_fill(everywhere, sets, stay, self.problem.k)
                return missing
        return None
