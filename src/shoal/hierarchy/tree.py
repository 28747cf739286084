"""Hierarchy: a tree over item names in array form, and cuts through it.

Leaves come first, then inner nodes so that `parent[v] > v` for every node but the root, which is last: one pass over the
nodes sees children before parents, one backward pass parents before children. `labels` may repeat (a category called
like one of its items); `names` never do: they are the tokens that a release publishes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A rooted tree whose leaves are the items."""

    parent: npt.NDArray[np.int32]
    labels: tuple[str, ...]
    n_leaves: int
    source: str = "given"
    """Where it came from: `balanced:5`, `frequency:5`, `prefix`, or a file's name."""

    def __post_init__(self) -> None:
        n = len(self.parent)
        if not 0 < self.n_leaves <= n or len(self.labels) != n:
            raise InputError(f"hierarchy {self.source}: it has no leaves, or labels and nodes differ in number")
        if (
            self.parent[-1] != -1
            or not np.all(self.parent[:-1] > np.arange(n - 1))
            or self.parent[:-1].max(initial=0) >= n
        ):
            raise InputError(f"hierarchy {self.source}: nodes must stand before their parents, with the root last")
        if np.bincount(self.parent[:-1], minlength=n)[self.n_leaves :].min(initial=1) == 0:
            raise InputError(f"hierarchy {self.source}: an inner node has no children")
        if n > 1 and self.parent[:-1].min() < self.n_leaves:
            raise InputError(f"hierarchy {self.source}: a leaf has children")
        if len(set(self.labels[: self.n_leaves])) < self.n_leaves:
            repeated = [name for name, times in Counter(self.labels[: self.n_leaves]).items() if times > 1]
            raise InputError(
                f"hierarchy {self.source}: leaf {repeated[0]!r} stands in two places; give every item one parent"
            )
        self.parent.setflags(write=False)

    def __repr__(self) -> str:
        return f"Hierarchy({self.source}: {self.n_leaves:,} leaves, {len(self.parent):,} nodes, height {self.height})"

    @property
    def n_nodes(self) -> int:
        return len(self.parent)

    @property
    def root(self) -> int:
        return len(self.parent) - 1

    @cached_property
    def leaf_count(self) -> npt.NDArray[np.int64]:
        """Leaves under each node."""
        return self.sums(np.ones(self.n_leaves, np.int64))

    @cached_property
    def depth(self) -> npt.NDArray[np.int32]:
        """Edges from the root to each node."""
        depth = np.zeros(self.n_nodes, np.int32)
        parent = self.parent.tolist()
        for v in range(self.n_nodes - 2, -1, -1):
            depth[v] = depth[parent[v]] + 1
        depth.setflags(write=False)
        return depth

    @property
    def height(self) -> int:
        return int(self.depth.max())

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Children of each node, ascending."""
        found: list[list[int]] = [[] for _ in range(self.n_nodes)]
        for v, p in enumerate(self.parent[:-1].tolist()):
            found[p].append(v)
        return tuple(map(tuple, found))

    @cached_property
    def top(self) -> tuple[int, ...]:
        """The children of the root: the categories that suppression may drop."""
        return self.children[self.root]

    @cached_property
    def span(self) -> npt.NDArray[np.int64]:
        """(n_nodes, 2): the leaves under node v are `leaf_order[span[v, 0]:span[v, 1]]`."""
        width = self.leaf_count
        span = np.zeros((self.n_nodes, 2), np.int64)
        span[self.root] = 0, width[self.root]
        for v in range(self.n_nodes - 1, self.n_leaves - 1, -1):
            at = span[v, 0]
            for child in self.children[v]:
                span[child] = at, at + width[child]
                at += width[child]
        span.setflags(write=False)
        return span

    @cached_property
    def leaf_order(self) -> npt.NDArray[np.int32]:
        """Leaves in depth-first order, so that every node covers a contiguous range of them."""
        order = np.argsort(self.span[: self.n_leaves, 0], kind="stable").astype(np.int32)
        order.setflags(write=False)
        return order

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The published token of each node: its label where that is unique, else the label with as much of its path as it takes.

        Leaves always keep their own name. Two nodes never share a token, or a reader of the release could not tell them apart.
        """
        names = list(self.labels)
        taken = Counter(names)
        leaves = set(names[: self.n_leaves])
        parent = self.parent
        unclear = [v for v in range(self.n_leaves, self.n_nodes) if taken[names[v]] > 1]
        above = {v: int(parent[v]) for v in unclear}
        while unclear:
            for v in unclear:
                p = above[v]
                names[v] = f"{self.labels[p]}/{names[v]}" if p >= 0 else f"{names[v]}#{v}"
                above[v] = int(parent[p]) if p >= 0 else -1
            taken = Counter(names)
            unclear = [v for v in unclear if taken[names[v]] > 1 or names[v] in leaves]
        return tuple(names)

    def sums(self, per_leaf: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Per node, the sum of a figure given per leaf over the leaves below it."""
        total = np.zeros(self.n_nodes, np.int64)
        total[: self.n_leaves] = per_leaf
        parent, values = self.parent.tolist(), total.tolist()
        for v in range(self.n_nodes - 1):
            values[parent[v]] += values[v]
        return np.array(values, np.int64)

    def leaves_of(self, vocabulary: Sequence[str]) -> npt.NDArray[np.int32]:
        """The leaf of each item name; raises with the list of items that the hierarchy does not know."""
        position = {name: v for v, name in enumerate(self.labels[: self.n_leaves])}
        missing = [name for name in vocabulary if name not in position]
        if missing:
            shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
            are = "items are" if len(missing) > 1 else "item is"
            raise InputError(
                f"hierarchy {self.source}: {len(missing):,} {are} not among its leaves ({shown}); "
                "add them, or pass --unknown root to hang them under the root"
            )
        return np.array([position[name] for name in vocabulary], np.int32)

    def with_unknown(self, vocabulary: Sequence[str]) -> Hierarchy:
        """The same tree with the items it does not know hung under its root."""
        known = set(self.labels[: self.n_leaves])
        new = [name for name in vocabulary if name not in known]
        if not new:
            return self
        shift, n = len(new), self.n_leaves
        parent = np.where(self.parent >= 0, self.parent + shift, -1)
        root = len(parent) - 1 + shift
        if n == len(parent):  # a single node: the root was the only leaf
            raise InputError(f"hierarchy {self.source}: it has one node only; unknown items cannot hang under it")
        joined = np.concatenate((parent[:n], np.full(shift, root), parent[n:])).astype(np.int32)
        return Hierarchy(joined, self.labels[:n] + tuple(new) + self.labels[n:], n + shift, self.source)
