"""Ground: baskets laid out under a hierarchy, so that supports of nodes and rare sets under any cut are quick to find.

All algorithms of this room stand on it. It holds the support and the cost of every node, the rows of every leaf in
depth-first order (the rows of a node are then one stretch), and no more memory than the baskets themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import Unreachable
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.ncp import node_cost
from shoal.records.baskets import Baskets

MOST_PER_TOKEN = 256
"""Rare sets kept per first token and round; what is left over is found in the next round."""
MOST_LIFTED = 40_000
"""Rare sets raised per round."""


class Ground:
    """Baskets, hierarchy and the promise to keep, ready for counting."""

    def __init__(
        self,
        baskets: Baskets,
        guarantee: KmAnonymity,
        hierarchy: Hierarchy,
        threads: int | None = None,
        pulse: Callable[[float], None] | None = None,
    ) -> None:
        from shoal.kernels.parallel import even_blocks, over_blocks
        from shoal.kernels.recode import node_supports

        self.baskets, self.hierarchy, self.threads, self.pulse = baskets, hierarchy, threads, pulse
        self.k, self.m = int(guarantee.k), min(int(guarantee.m), max(baskets.longest, 1))
        self.parent = hierarchy.parent
        self.leaf = hierarchy.leaves_of(baskets.vocabulary)
        filled = len(baskets) - baskets.empty
        if 0 < filled < self.k:
            raise Unreachable(
                f"{guarantee} cannot be reached: only {filled:,} transactions hold any item, fewer than k = {self.k:,}; choose a smaller k"
            )
        self.occurrences = np.zeros(hierarchy.n_leaves, np.int64)
        self.occurrences[self.leaf] = baskets.supports()
        self.cost = node_cost(hierarchy, self.occurrences)
        self.rows = even_blocks(baskets.lengths + 1.0, 64)
        parts = over_blocks(
            lambda a, b: node_supports(baskets.offsets, baskets.items, self.leaf, self.parent, a, b),
            even_blocks(baskets.lengths + 1.0, 4),
            threads,
            pulse,
        )
        self.support: npt.NDArray[np.int64] = np.array(parts).sum(axis=0)
        self._out = np.empty(len(baskets.items), np.int32)
        self._stops = np.empty(len(baskets), np.int64)

    @cached_property
    def leaf_rows(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """(offsets, rows): the rows of the leaf at each depth-first position."""
        from shoal.kernels.recode import rows_by_token

        position = self.hierarchy.span[: self.hierarchy.n_leaves, 0][self.leaf]
        offsets, items = self.baskets.offsets, self.baskets.items
        return rows_by_token(offsets[:-1], offsets[1:], items, position, self.hierarchy.n_leaves)  # type: ignore[no-any-return]

    def support_of(self, nodes: Iterable[int]) -> int:
        """Transactions that hold something under each of the nodes."""
        offsets, rows = self.leaf_rows
        span = self.hierarchy.span
        common: npt.NDArray[np.int32] | None = None
        for v in nodes:
            held = np.unique(rows[offsets[span[v, 0]] : offsets[span[v, 1]]])
            common = held if common is None else np.intersect1d(common, held, assume_unique=True)
        return len(self.baskets) if common is None else len(common)

    def rare_sets(self, node: npt.NDArray[np.int32], up_to: int) -> npt.NDArray[np.int32]:
        """Rare sets of up to `up_to` nodes when every leaf is published as `node[leaf]` (-1: dropped), padded with -1."""
        from shoal.kernels.breaches import rare_sets
        from shoal.kernels.parallel import even_blocks, over_blocks
        from shoal.kernels.recode import recode_rows, rows_by_token

        offsets = self.baskets.offsets
        nodes = np.unique(node[self.leaf])
        nodes = nodes[nodes >= 0]
        nodes = nodes[np.argsort(self.support[nodes], kind="stable")]
        token_of = np.full(self.hierarchy.n_nodes + 1, -1, np.int32)
        token_of[nodes] = np.arange(len(nodes), dtype=np.int32)
        token = token_of[node[self.leaf]]
        over_blocks(
            lambda a, b: recode_rows(offsets, self.baskets.items, token, self._out, self._stops, a, b),
            self.rows,
            self.threads,
            self.pulse,
        )
        row_offsets, rows = rows_by_token(
            offsets[:-1], self._stops, self._out, np.arange(len(nodes), dtype=np.int64), len(nodes)
        )
        # The later a token in the order, the shorter its tails; weight by what is left of the order.
        work = self.support[nodes] * np.linspace(1.0, 0.02, len(nodes)) + 1.0
        found = over_blocks(
            lambda a, b: rare_sets(
                offsets[:-1], self._stops, self._out, row_offsets, rows, a, b, self.k, up_to, MOST_PER_TOKEN
            ),
            even_blocks(work, 96),
            self.threads,
            self.pulse,
        )
        ranks = np.concatenate([np.empty(0, np.int32), *found]).reshape(-1, up_to)
        return np.where(ranks >= 0, nodes[ranks], -1).astype(np.int32)

    def lifted(self, sets: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """The rare sets raised towards the root as far as they stay rare, in two orders of their members, without repeats."""
        from shoal.kernels.breaches import lift
        from shoal.kernels.parallel import even_blocks, over_blocks

        sets = _one_per_parents(sets, self.parent)
        if len(sets) > MOST_LIFTED:
            sets = sets[np.linspace(0, len(sets) - 1, MOST_LIFTED).astype(np.int64)]
        leaf_offsets, leaf_rows = self.leaf_rows
        span, n_rows = self.hierarchy.span, len(self.baskets)
        blocks = even_blocks(np.ones(len(sets)), min(64, 1 + len(sets) // 64))

        def raised(backwards: bool) -> list[Any]:
            return over_blocks(
                lambda a, b: lift(sets, a, b, backwards, self.parent, span, leaf_offsets, leaf_rows, n_rows, self.k),
                blocks,
                self.threads,
                self.pulse,
            )

        return _one_per_parents(np.concatenate(raised(False) + raised(True)), self.parent)


def _one_per_parents(sets: npt.NDArray[np.int32], parent: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """One set for each combination of parents: siblings ask for the same thing."""
    above = np.sort(np.where(sets >= 0, parent[sets], -1), axis=1)
    _, first = np.unique(above, axis=0, return_index=True)
    return sets[np.sort(first)]
