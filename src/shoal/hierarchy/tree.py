"""Hierarchy: a tree over item names in array form.

Leaves come first, then inner nodes so that `parent[v] > v` for every node but the root, which is last: one pass over the
nodes sees children before parents, one backward pass parents before children. Every node covers a contiguous range of
`leaf_order`, so a sum over its leaves is the difference of two running totals. `labels` may repeat (a category called
like one of its items); `names` never do: they are the tokens that a release publishes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from shoal.errors import VALUES, InputError, option
from shoal.numbers import Codes, Ints
from shoal.showing import Plotted

_Number = TypeVar("_Number", bound=np.integer)

_STEPS = 8
"""How far up a path is spelled out to tell nodes apart: a token must stay readable, and a chain of one label affordable."""


@dataclass(frozen=True, eq=False)
class Hierarchy(Plotted):
    """A rooted tree whose leaves are the items.

    Attributes:
        parent: The place of each node's parent; -1 for the root, which is last.
        labels: What each node is called; the leaves first.
        n_leaves: How many leaves there are.

    >>> import shoal
    >>> tree = shoal.Hierarchy.from_parents([3, 3, 4, 4, -1], ["brie", "feta", "rye", "cheese", "food"])
    >>> tree
    Hierarchy(given: 3 leaves, 5 nodes, height 2)
    >>> [tree.labels[node] for node in tree.children[tree.root]]
    ['rye', 'cheese']
    """

    parent: Codes
    labels: tuple[str, ...]
    n_leaves: int
    source: str = "given"
    """Where it came from: `balanced:5`, `frequency:5`, `prefix`, or a file's name."""
    floor: Codes | None = None
    """Per leaf, the lowest node that it may be published as, such as that of a rounded number; None where each may be itself."""

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
                f"hierarchy {self.source}: {count_of(repeated, 'leaf stands', 'leaves stand')} in two places{VALUES}; give every item "
                "one parent",
                values=repeated,
            )
        self.parent.setflags(write=False)
        if self.floor is not None:
            self.floor.setflags(write=False)

    @classmethod
    def from_parents(
        cls, parent: Sequence[int], labels: Sequence[str], source: str = "given", floor: Sequence[int] | None = None
    ) -> Hierarchy:
        """From nodes in any order, `parent[v]` being -1 for the root. Leaves keep their order; inner nodes follow, deepest first."""
        above = np.asarray(parent, np.int64)
        n = len(above)
        if np.count_nonzero(above == -1) != 1 or above.min() < -1 or above.max() >= n or len(labels) != n:
            raise InputError(f"hierarchy {source}: a tree has one root, and a parent and a label for every other node")
        depth = _path_sums(above, np.where(above >= 0, 1, 0))
        inner = np.bincount(above[above >= 0], minlength=n) > 0
        order = np.lexsort((np.where(inner, -depth, 0), inner))
        place = np.empty(n + 1, np.int32)
        place[order] = np.arange(n)
        place[-1] = -1  # so that the root's parent stays -1
        n_leaves = int(np.count_nonzero(~inner))
        lowest = None if floor is None else place[np.asarray(floor, np.int64)[order[:n_leaves]]]
        return cls(place[above[order]], tuple(labels[v] for v in order.tolist()), n_leaves, source, lowest)

    def __repr__(self) -> str:
        return f"Hierarchy({self.source}: {self.n_leaves:,} leaves, {len(self.parent):,} nodes, height {self.height})"

    @property
    def n_nodes(self) -> int:
        return len(self.parent)

    @property
    def root(self) -> int:
        return len(self.parent) - 1

    @cached_property
    def leaf_count(self) -> Ints:
        """Leaves under each node: all leaves are taken to their parents at once, then each inner node to its own."""
        n = self.n_leaves
        count = np.ones(self.n_nodes, np.int64)
        inner = np.bincount(self.parent[:n], minlength=self.n_nodes)[n:].tolist() if n < self.n_nodes else []
        for v, p in enumerate((self.parent[n:-1] - n).tolist()):
            inner[p] += inner[v]
        count[n:] = inner
        return _frozen(count)

    @cached_property
    def depth(self) -> Codes:
        """Edges from the root to each node."""
        return _frozen(_path_sums(self.parent, np.where(self.parent >= 0, 1, 0)).astype(np.int32))

    @property
    def height(self) -> int:
        return int(self.depth.max())

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Children of each node, ascending."""
        children: list[list[int]] = [[] for _ in range(self.n_nodes)]
        for v, p in enumerate(self.parent[:-1].tolist()):
            children[p].append(v)
        return tuple(map(tuple, children))

    @cached_property
    def only_child(self) -> Codes:
        """The child of each node that has just one, else -1: such a node covers the same leaves as its child."""
        only = np.full(self.n_nodes, -1, np.int32)
        only[self.parent[:-1]] = np.arange(self.n_nodes - 1)
        only[np.bincount(self.parent[:-1], minlength=self.n_nodes) != 1] = -1
        return _frozen(only)

    @cached_property
    def top(self) -> tuple[int, ...]:
        """The children of the root: the categories that suppression may drop."""
        return tuple(np.flatnonzero(self.parent == self.root).tolist())

    @cached_property
    def span(self) -> Ints:
        """(n_nodes, 2): the leaves under node v are `leaf_order[span[v, 0]:span[v, 1]]`."""
        siblings = np.argsort(self.parent[:-1], kind="stable")
        width = self.leaf_count[siblings]
        before = np.cumsum(width) - width
        parent = self.parent[siblings]
        eldest = np.ones(len(parent), bool)
        eldest[1:] = parent[1:] != parent[:-1]
        offset = np.zeros(self.n_nodes, np.int64)  # leaves of a node's elder siblings
        offset[siblings] = before - before[eldest][np.cumsum(eldest) - 1]
        start = _path_sums(self.parent, offset)
        return _frozen(np.column_stack((start, start + self.leaf_count)))

    @cached_property
    def leaf_order(self) -> Codes:
        """Leaves in depth-first order, so that every node covers a contiguous range of them."""
        order = np.empty(self.n_leaves, np.int32)
        order[self.span[: self.n_leaves, 0]] = np.arange(self.n_leaves)
        return _frozen(order)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The published token of each node: its label where that is unique, else the label with as much of its path as it takes.

        A node above a single leaf or a single child is never published (what is below it says the same), so it gives way to others of
        its label. So does a leaf below its floor (43, 44 and 45 are published as 45, which is then no leaf); other leaves keep their own
        name. Two nodes never share a token, or a reader could not tell them apart.
        """
        names = list(self.labels)
        floors = frozenset[int]() if self.floor is None else frozenset(self.floor.tolist())
        if self.floor is not None:
            inner = set(names[self.n_leaves :])
            for leaf in np.flatnonzero(self.floor != np.arange(self.n_leaves)).tolist():
                if names[leaf] in inner:
                    names[leaf] = f"={names[leaf]}"
        taken = Counter(names)
        leaves = set(names[: self.n_leaves])
        repeated = [v for v in range(self.n_leaves, self.n_nodes) if taken[names[v]] > 1]
        silent = {v for v in repeated if self.only_child[v] >= 0 and v not in floors}
        rivals = Counter(names[v] for v in repeated if v not in silent)
        unclear = [v for v in repeated if names[v] in leaves or v in silent or rivals[names[v]] > 1]
        above = {v: int(self.parent[v]) for v in unclear}
        for _ in range(_STEPS if unclear else 0):
            for v in unclear:
                if (p := above[v]) >= 0:
                    names[v] = f"{self.labels[p]}/{names[v]}"
                    above[v] = int(self.parent[p])
            taken = Counter(names)
            unclear = [v for v in unclear if taken[names[v]] > 1]
        known = set(names)
        for v in unclear:  # the path does not tell them apart within reason: their numbers do
            name = f"{self.labels[v]}#{v}"
            while name in known:
                name += "#"
            names[v] = name
            known.add(name)
        return tuple(names)

    def sums(self, per_leaf: Ints) -> Ints:
        """Per node, the sum of a figure given per leaf over the leaves below it."""
        running = np.zeros(self.n_leaves + 1, np.int64)
        np.cumsum(np.asarray(per_leaf, np.int64)[self.leaf_order], out=running[1:])
        return running[self.span[:, 1]] - running[self.span[:, 0]]

    @cached_property
    def leaf_called(self) -> dict[str, int]:
        return {name: v for v, name in enumerate(self.labels[: self.n_leaves])}

    def leaves_of(self, vocabulary: Sequence[str]) -> Codes:
        """The leaf of each item name; raises with the list of items that the hierarchy does not know."""
        position = self.leaf_called
        missing = [name for name in vocabulary if name not in position]
        if missing:
            categories = set(self.labels[self.n_leaves :])
            inner = [name for name in missing if name in categories]
            hint = (
                f" ({len(inner):,} of them a category there, which needs a leaf of that name below it)" if inner else ""
            )
            bare = {name.strip() for name in position if name != name.strip()}
            if blank := [name for name in missing if name.strip() in bare]:
                hint += f" ({len(blank):,} of them a leaf there, but with blanks around its name)"
            composed = {normalize("NFC", name) for name in position if not name.isascii()}
            if twins := [name for name in missing if normalize("NFC", name) in composed]:
                hint += f" ({len(twins):,} of them a leaf there, but composed otherwise in Unicode, NFC or NFD)"
            raise InputError(
                f"hierarchy {self.source}: {count_of(missing, 'item is', 'items are')} not among its leaves{VALUES}{hint}; "
                f"add {them(missing)}, or hang {them(missing)} under the root ({option('unknown', 'root')})",
                values=missing,
            )
        return np.array([position[name] for name in vocabulary], np.int32)

    def lowest_of(self, vocabulary: Sequence[str]) -> Codes:
        """The lowest node that each item may be published as; raises as `leaves_of` does."""
        leaves = self.leaves_of(vocabulary)
        return leaves if self.floor is None else self.floor[leaves]

    @property
    def coarsened(self) -> frozenset[str]:
        """The leaves that are never published as themselves."""
        if self.floor is None:
            return frozenset()
        return frozenset(self.labels[v] for v in np.flatnonzero(self.floor != np.arange(self.n_leaves)).tolist())

    def with_unknown(self, vocabulary: Sequence[str]) -> Hierarchy:
        """The same tree with the items it does not know hung under its root."""
        known = set(self.labels[: self.n_leaves])
        new = [name for name in dict.fromkeys(vocabulary) if name not in known]
        if not new:
            return self
        shift, n = len(new), self.n_leaves
        parent = np.where(self.parent >= 0, self.parent + shift, -1)
        root = len(parent) - 1 + shift
        if n == len(parent):  # a single node: the root was the only leaf
            raise InputError(f"hierarchy {self.source}: it has one node only; unknown items cannot hang under it")
        joined = np.concatenate((parent[:n], np.full(shift, root), parent[n:])).astype(np.int32)
        floor = self.floor
        if floor is not None:
            floor = np.append(np.where(floor < n, floor, floor + shift), np.arange(n, n + shift)).astype(np.int32)
        return Hierarchy(joined, self.labels[:n] + tuple(new) + self.labels[n:], n + shift, self.source, floor)


def count_of(names: Sequence[str], one: str, many: str) -> str:
    """How many they are, for a message: `1 item is`, `2,345 items are`."""
    return f"1 {one}" if len(names) == 1 else f"{len(names):,} {many}"


def them(names: Sequence[str]) -> str:
    """How a message speaks of them again: `it`, `them`."""
    return "it" if len(names) == 1 else "them"


def _path_sums(parent: npt.NDArray[np.integer], values: npt.NDArray[np.integer]) -> Ints:
    """Per node, the sum of `values` from it up to its root. Each round doubles the stretch of path that is summed."""
    n = len(parent)
    above = np.append(np.where(parent >= 0, parent, n), n)  # one more node stands above every root
    total = np.append(values.astype(np.int64), 0)
    for _ in range(n.bit_length() + 1):
        if np.all(above == n):
            return total[:-1]
        total += total[above]
        above = above[above]
    raise InputError("the nodes of a hierarchy must not form a cycle")


def _frozen(array: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """The same array, read-only: a cached figure is shared by all who ask for it."""
    array.setflags(write=False)
    return array
