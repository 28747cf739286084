"""A tree, held against the data, with what a page asks of it: counted once, when the tree is loaded.

An edit makes another tree, and a page waits for it: what is counted anew after one goes over leaves in arrays, and over the far fewer
inner nodes one by one. What only a search asks for is made when one is begun.
"""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np

from shoal.app.project.wording import as_sentence
from shoal.hierarchy.survey import Fit
from shoal.numbers import Ints

Counts = Ints


class Loaded(Fit):
    """A tree, held against the data."""

    @cached_property
    def first(self) -> Counts:
        """Per node, the first leaf below it: an order of siblings that no edit and no file changes."""
        n, parent = self.tree.n_leaves, self.tree.parent
        first = np.arange(self.tree.n_nodes)
        first[n:] = n
        if n < len(first):
            np.minimum.at(first, parent[:n], np.arange(n))
        inner = first[n:].tolist()
        for v, p in enumerate((parent[n:-1] - n).tolist()):
            if inner[v] < inner[p]:
                inner[p] = inner[v]
        first[n:] = inner
        return first

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

    @cached_property
    def _notes(self) -> dict[int | None, list[tuple[str, str]]]:
        return {}

    def warm(self) -> Self:
        """Counts all that a page asks for: in the thread that loads the tree, not in the one that serves pages."""
        assert len(self._siblings[1]) == self.tree.n_nodes + 1
        assert len(self._inner) == self.tree.n_nodes - self.tree.n_leaves
        return self

    def notes(self, k: int | None) -> list[tuple[str, str]]:
        """(grade, sentence) of what else `shoal hierarchy check` would say; `k` is the crowd of a promise about items."""
        if k not in self._notes:
            findings = [finding for finding in self.findings(k) if finding.kind != "missing"]
            self._notes[k] = [(finding.grade, as_sentence(finding.text)) for finding in findings]
        return self._notes[k]

    def node(self, name: str) -> int | None:
        """The node of a name."""
        return self._inner.get(name, self.tree.leaf_called.get(name))

    def fanout(self, node: int) -> int:
        """How many children a node has."""
        starts = self._siblings[1]
        return int(starts[node + 1] - starts[node])

    def children(self, node: int) -> list[int]:
        order, starts = self._siblings
        children: list[int] = order[starts[node] : starts[node + 1]].tolist()
        return children

    def path(self, node: int) -> list[int]:
        """From the root down to a node."""
        path = [node]
        while (above := int(self.tree.parent[path[-1]])) >= 0:
            path.append(above)
        return path[::-1]
