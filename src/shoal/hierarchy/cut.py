"""Cuts: an antichain of nodes that covers every leaf; it says which node each item is published as."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError
from shoal.hierarchy.tree import Hierarchy


@dataclass(frozen=True, eq=False)
class Cut:
    """`node[leaf]` is the node that the leaf is published as, or -1 where its whole top-level category is dropped."""

    hierarchy: Hierarchy
    node: npt.NDArray[np.int32]

    def __post_init__(self) -> None:
        self.node.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cut) and self.hierarchy is other.hierarchy and np.array_equal(self.node, other.node)

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def nodes(self) -> npt.NDArray[np.int32]:
        """The nodes of the cut, ascending, without the dropped ones."""
        found = np.unique(self.node)
        return found[found >= 0]

    @property
    def dropped(self) -> tuple[int, ...]:
        """The top-level nodes whose subtrees are dropped."""
        gone = self.node < 0
        h = self.hierarchy
        return tuple(v for v in h.top if gone[h.leaf_order[h.span[v, 0]]])

    @classmethod
    def leaves(cls, hierarchy: Hierarchy) -> Cut:
        """The bottommost cut: nothing is generalized."""
        return cls(hierarchy, np.arange(hierarchy.n_leaves, dtype=np.int32))

    @classmethod
    def at(cls, hierarchy: Hierarchy, nodes: Iterable[int], dropped: Iterable[int] = ()) -> Cut:
        """The cut through `nodes`; raises unless they cover every leaf exactly once."""
        node = np.full(hierarchy.n_leaves, -2, np.int32)
        for target, among in ((None, nodes), (-1, dropped)):
            for v in among:
                lo, hi = hierarchy.span[v]
                below = hierarchy.leaf_order[lo:hi]
                if np.any(node[below] != -2):
                    raise InputError(f"node {hierarchy.names[v]!r} overlaps another node of the cut")
                node[below] = v if target is None else target
        if np.any(node == -2):
            leaf = hierarchy.labels[int(np.argmax(node == -2))]
            raise InputError(f"the cut does not cover leaf {leaf!r}")
        return cls(hierarchy, node)

    def lowest(self) -> Cut:
        """The same recoding with every node replaced by the lowest one that covers the same leaves (no information is lost by it)."""
        h = self.hierarchy
        down = np.arange(h.n_nodes, dtype=np.int32)
        for v in range(h.n_leaves, h.n_nodes):
            if len(h.children[v]) == 1:
                down[v] = down[h.children[v][0]]
        return Cut(h, np.where(self.node >= 0, down[self.node], -1).astype(np.int32))
