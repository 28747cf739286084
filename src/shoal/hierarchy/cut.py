"""Cuts: an antichain of nodes that covers every leaf; it says which node each item is published as.

Every node covers a contiguous range of the tree's leaf order, so nodes form a cut exactly when their ranges, sorted, lie end
to end: checking and building one is a sort, whatever the number of nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.errors import VALUES, InputError, short_list
from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import Codes


@dataclass(frozen=True, eq=False)
class Cut:
    """`node[leaf]` is the node that the leaf is published as, or -1 where its whole top-level category is dropped."""

    hierarchy: Hierarchy
    node: Codes

    def __post_init__(self) -> None:
        self.node.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cut) and self.hierarchy is other.hierarchy and np.array_equal(self.node, other.node)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        h = self.hierarchy
        dropped = f", dropped {short_list([h.names[v] for v in self.dropped])}" if self.dropped else ""
        return f"Cut({short_list([h.names[v] for v in self.nodes])}{dropped})"

    @cached_property
    def nodes(self) -> Codes:
        """The nodes of the cut, ascending, without the dropped ones."""
        nodes = np.unique(self.node)
        return nodes[nodes >= 0]

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
        """The cut through `nodes`; raises unless they and the dropped top-level nodes cover every leaf exactly once."""
        h = hierarchy
        kept, gone = (np.fromiter(among, np.int64) for among in (nodes, dropped))
        members = np.concatenate((kept, gone))
        strange = members[(members < 0) | (members >= h.n_nodes)]
        if len(strange):
            raise InputError(f"node {strange[0]} of the cut does not exist; the hierarchy has {h.n_nodes:,} nodes")
        deep = gone[h.parent[gone] != h.root]
        if len(deep):
            raise InputError(
                f"{len(deep):,} of the nodes{VALUES} cannot be dropped; only the root's children can",
                values=[h.names[v] for v in deep],
            )
        published = np.concatenate((kept, np.full(len(gone), -1)))
        order = np.argsort(h.span[members, 0], kind="stable")
        start, stop = h.span[members[order], 0], h.span[members[order], 1]
        reached = np.concatenate(([0], stop))
        due = np.concatenate((start, [h.n_leaves]))
        if np.any(due < reached):
            v = members[order[np.argmax(due < reached)]]
            raise InputError(f"a node{VALUES} overlaps another node of the cut", values=[h.names[v]])
        if np.any(due > reached):
            leaf = h.leaf_order[reached[np.argmax(due > reached)]]
            raise InputError(f"the cut does not cover every leaf{VALUES}", values=[h.labels[leaf]])
        node = np.empty(h.n_leaves, np.int32)
        node[h.leaf_order] = np.repeat(published[order], stop - start)
        return cls(h, node)

    def lowest(self) -> Cut:
        """The same recoding with every node replaced by the lowest one that covers the same leaves (no information is lost by it)."""
        node, only = self.node, self.hierarchy.only_child
        while np.any(climbs := (node >= 0) & (only[node] >= 0)):
            node = np.where(climbs, only[node], node)
        return Cut(self.hierarchy, node.astype(np.int32))
