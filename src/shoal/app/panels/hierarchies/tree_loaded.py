"""A tree, held against the data: what a page asks of it, counted once when it is loaded.

An edit makes another tree, and a page waits for it: what is counted anew after one goes over leaves in arrays, and over the far fewer
inner nodes one by one. What only a search asks for is made when one is begun.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.app.project.wording import in_app
from shoal.errors import told
from shoal.hierarchy.spec import Values

if TYPE_CHECKING:
    from shoal.hierarchy.tree import Hierarchy

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Loaded:
    """A tree, held against the data."""

    tree: Hierarchy
    counts: Counts
    """Per node, how often the data hold what is below it."""
    below: Counts
    """Per node, the leaves below it."""
    first: Counts
    """Per node, the first leaf below it: an order of siblings that no edit and no file changes."""
    leaf: Mapping[str, int]
    """The leaf of each value."""
    missing: tuple[str, ...] = ()
    """Values of the data that are no leaf, the most frequent first."""
    missing_counts: tuple[int, ...] = ()
    known: int = 0
    """Values of the data that are leaves."""
    findings: dict[int | None, list[tuple[str, str]]] = field(default_factory=dict, init=False)
    """What `findings` has found, by k."""

    @cached_property
    def folded(self) -> list[str]:
        """Names without case, to search in."""
        return [name.casefold() for name in self.tree.names]

    @cached_property
    def _inner(self) -> dict[str, int]:
        """The inner node of each name."""
        n = self.tree.n_leaves
        return dict(zip(self.tree.names[n:], range(n, self.tree.n_nodes), strict=True))

    @cached_property
    def _siblings(self) -> tuple[Counts, Counts]:
        """All nodes but the root, those of one parent together and in order, and where those of each parent begin."""
        parent = self.tree.parent[:-1]
        order = np.lexsort((self.first[:-1], parent))
        starts = np.zeros(self.tree.n_nodes + 1, np.int64)
        np.cumsum(np.bincount(parent, minlength=self.tree.n_nodes), out=starts[1:])
        return order, starts

    def warmed(self) -> Loaded:
        """The same, once all is counted that a page asks for: in the thread that loads it, not in the one that serves pages."""
        assert len(self._siblings[1]) == self.tree.n_nodes + 1
        assert len(self._inner) == self.tree.n_nodes - self.tree.n_leaves
        return self

    def node(self, name: str) -> int | None:
        """The node of a name."""
        return self._inner.get(name, self.leaf.get(name))

    def fanout(self, node: int) -> int:
        """How many children a node has."""
        starts = self._siblings[1]
        return int(starts[node + 1] - starts[node])

    def children(self, node: int) -> list[int]:
        order, starts = self._siblings
        found: list[int] = order[starts[node] : starts[node + 1]].tolist()
        return found

    def path(self, node: int) -> list[int]:
        """From the root down to a node."""
        found = [node]
        while (above := int(self.tree.parent[found[-1]])) >= 0:
            found.append(above)
        return found[::-1]


def against(tree: Hierarchy, values: Values) -> Loaded:
    """A tree, held against the values of its column."""
    leaves = dict(zip(tree.labels[: tree.n_leaves], range(tree.n_leaves), strict=True))
    per_leaf = np.zeros(tree.n_leaves, np.int64)
    missing: list[tuple[int, str]] = []
    for name, count in zip(values.names, values.counts.tolist(), strict=True):
        if (leaf := leaves.get(name)) is None:
            missing.append((count, name))
        else:
            per_leaf[leaf] = count
    missing.sort(key=lambda pair: -pair[0])
    found = Loaded(
        tree,
        *_counted(tree, per_leaf),
        leaves,
        tuple(name for _, name in missing),
        tuple(count for count, _ in missing),
        len(values.names) - len(missing),
    )
    return found.warmed()


def recounted(before: Loaded, tree: Hierarchy, values: Values) -> Loaded:
    """A tree that was edited, held against the values: while its leaves are the same, only the nodes above them are counted anew."""
    n = tree.n_leaves
    if tree.labels[:n] != before.tree.labels[: before.tree.n_leaves]:
        return against(tree, values)
    counts, below, first = _counted(tree, before.counts[:n])
    return replace(before, tree=tree, counts=counts, below=below, first=first).warmed()


def findings(loaded: Loaded, values: Values, k: int | None) -> list[tuple[str, str]]:
    """(grade, sentence) of what else `shoal hierarchy check` would say; `k` is the crowd of a promise about items."""
    if k not in loaded.findings:
        from shoal.hierarchy.survey import problems

        loaded.findings[k] = [
            (finding.grade, told(finding.text, in_app, show_values=True))
            for finding in problems(loaded.tree, values.names, values.counts, k)
            if finding.kind != "missing"
        ]
    return loaded.findings[k]


def _counted(tree: Hierarchy, per_leaf: Counts) -> tuple[Counts, Counts, Counts]:
    """Per node: the sum of a figure over the leaves below it, their number, and the first of them.

    Leaves stand before inner nodes, and nodes before their parents: one step takes all leaves to their parents, then each inner node goes
    to its own.
    """
    n, size = tree.n_leaves, tree.n_nodes
    if n == size:  # the root is the only leaf
        return per_leaf.astype(np.int64), np.ones(1, np.int64), np.zeros(1, np.int64)
    above = tree.parent[:n]
    sums = np.zeros(size, np.int64)
    np.add.at(sums, above, per_leaf)
    below = np.bincount(above, minlength=size)
    first = np.full(size, n, np.int64)
    np.minimum.at(first, above, np.arange(n))
    sum_of, number_of, first_of = sums[n:].tolist(), below[n:].tolist(), first[n:].tolist()
    for v, p in enumerate((tree.parent[n:-1] - n).tolist()):
        sum_of[p] += sum_of[v]
        number_of[p] += number_of[v]
        if first_of[v] < first_of[p]:
            first_of[p] = first_of[v]
    return (
        np.concatenate((per_leaf, np.array(sum_of, np.int64))),
        np.concatenate((np.ones(n, np.int64), np.array(number_of, np.int64))),
        np.concatenate((np.arange(n), np.array(first_of, np.int64))),
    )
