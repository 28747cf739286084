"""The count-tree's order and its walk, shared by DA and AA."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.ground import Ground, Standing
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.tree import Hierarchy


class Walked(Protocol):
    """A count-tree as AA sees it, whichever engine walks it."""

    @property
    def ground(self) -> Standing: ...

    def generalize(self, size: int, *, any_depth: bool) -> int: ...

    def cut(self) -> Cut: ...


class RisingCut:
    """The cut that a walk over the count-tree raises: `gone[v]` says that v lies below it, `under[v]` what its nodes below v cost."""

    def __init__(self, ground: Standing) -> None:
        h = ground.hierarchy
        self.hierarchy = h
        self.gone = np.zeros(h.n_nodes, np.bool_)
        self.under = np.zeros(h.n_nodes, np.int64)
        self.order = tree_order(h, ground.support)
        self.rank = np.full(h.n_nodes, -1, np.int32)
        self.rank[self.order] = np.arange(len(self.order), dtype=np.int32)

    def cut(self) -> Cut:
        """The lowest node above each leaf that has not been generalized."""
        h = self.hierarchy
        node = np.arange(h.n_nodes, dtype=np.int32)
        for v in range(h.n_nodes - 2, -1, -1):
            if self.gone[v]:
                node[v] = node[h.parent[v]]
        return Cut(h, node[: h.n_leaves].copy())


class CountTree(RisingCut):
    """The walk of Algorithm 3 over all paths of a given size, on a cut that it raises."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.ground = ground

    def generalize(self, size: int, *, any_depth: bool) -> int:
        """Raise the cut until no path of `size` nodes (with `any_depth`: none that is a leaf of the tree) is rare."""
        from shoal.kernels.itemsets.count_tree import expanded_rows, generalize_breaches
        from shoal.kernels.itemsets.nodes import rows_by_position

        g, h = self.ground, self.ground.hierarchy
        offsets, tails = expanded_rows(g.baskets.offsets, g.baskets.items, g.leaf, g.parent, self.rank, self.gone)
        places = np.arange(len(self.order), dtype=np.int64)
        row_offsets, rows = rows_by_position(offsets, tails, places, len(self.order))
        leaf_offsets, leaf_rows = g.leaf_rows
        repaired: int = generalize_breaches(
            offsets,
            tails,
            row_offsets,
            rows,
            self.order,
            g.k,
            size,
            any_depth,
            g.parent,
            h.span,
            g.cost,
            leaf_offsets,
            leaf_rows,
            self.gone,
            self.under,
        )
        return repaired


def tree_order(hierarchy: Hierarchy, support: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """All nodes but the root by descending support, then root side first, then by the first leaf below them."""
    first = np.full(hierarchy.n_nodes, hierarchy.n_nodes, np.int64)
    first[: hierarchy.n_leaves] = np.arange(hierarchy.n_leaves)
    np.minimum.at(first, hierarchy.parent[: hierarchy.n_leaves], first[: hierarchy.n_leaves])
    for v in range(hierarchy.n_leaves, hierarchy.n_nodes - 1):
        first[hierarchy.parent[v]] = min(first[hierarchy.parent[v]], first[v])
    order = np.lexsort((first, hierarchy.depth, -support))
    below_root: npt.NDArray[np.int32] = order[order != hierarchy.root].astype(np.int32)
    return below_root
