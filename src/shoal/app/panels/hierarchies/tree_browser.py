"""Looking at a tree of any size: which of its nodes a page shows.

A node that is open shows a window of its children, so that what is in the page depends on what was opened, never on the tree. When the
page would grow beyond `MOST_ROWS`, what was opened longest ago and does not lead to the last opened node is closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from shoal.app.panels.hierarchies.loaded_tree import Loaded

PAGE = 30
"""Children of a node that are shown at a time."""
LEAST = 5
MOST_ROWS = 150
DEEPEST = 12
"""Levels that are shown below each other; what is above is in the trail."""
MOST_FOUND = 50


class Row(NamedTuple):
    """A line of the page: a node, or, with `more`, what there is besides the shown children of one."""

    node: int
    level: int
    """1 for the uppermost that is shown."""
    is_open: bool | None
    """None for an item, which cannot be opened."""
    place: int
    of: int
    """Its place among its siblings."""
    more: tuple[int, int, int] | None = None
    """(first, last, all) of the children that are shown."""


class Hit(NamedTuple):
    """A node that a search has found."""

    node: int
    name: str
    path: str


class Browser:
    """What of a tree is open, and what is chosen."""

    def __init__(self, loaded: Loaded, opened: Iterable[str] = ()) -> None:
        self.loaded = loaded
        self.top = loaded.tree.root
        self.opened: dict[int, int] = {}
        """Per open node, the first of its children that is shown; the last opened stands last."""
        self.chosen: dict[int, None] = {}
        self.page = PAGE
        known = {loaded.node(name) for name in opened}
        self.opened |= dict.fromkeys(sorted(v for v in known if v is not None and v >= loaded.tree.n_leaves), 0)
        self.opened.setdefault(self.top, 0)
        self._trim(self.top)

    def names_open(self) -> list[str]:
        """What to remember: the open nodes by name."""
        return [self.loaded.tree.names[v] for v in self.opened]

    def toggle(self, node: int) -> None:
        """Opens a node, or closes it."""
        if not self.loaded.tree.n_leaves <= node < self.loaded.tree.n_nodes:
            return
        if self.opened.pop(node, None) is None:
            self.opened[node] = 0
            self._trim(node)
        self.page = self._page()

    def turn(self, node: int, forth: bool) -> None:
        """Shows the next children of an open node, or those before."""
        if node in self.opened:
            start = self.opened.pop(node) + (self.page if forth else -self.page)
            last = max(0, self.loaded.fanout(node) - 1)
            self.opened[node] = min(max(0, start), last - last % self.page)
            self._trim(node)

    def choose(self, node: int, also: bool = False) -> None:
        """Chooses a node, alone or in addition; once more takes it away."""
        if not 0 <= node < self.loaded.tree.n_nodes:
            return
        if also and node in self.chosen:
            del self.chosen[node]
        else:
            self.chosen = {**(self.chosen if also else {}), node: None}

    def show(self, node: int) -> None:
        """Opens the way to a node and chooses it."""
        path = self.loaded.path(node)
        self.top = path[max(0, len(path) - DEEPEST)]
        for above in path[:-1]:
            self.opened.pop(above, None)
            self.opened[above] = 0
        if len(path) > 1:
            self._trim(path[-2])
            for above, below in pairwise(path):
                if above in self.opened:
                    place = self.loaded.children(above).index(below)
                    self.opened[above] = place - place % self.page
        self.chosen = {node: None}

    def start_at(self, node: int) -> None:
        """Shows the tree from this node down."""
        if self.loaded.tree.n_leaves <= node < self.loaded.tree.n_nodes:
            self.top = node
            self.opened.setdefault(node, 0)
            self._trim(node)

    def rows(self) -> Iterator[Row]:
        """What the page shows, from top to bottom."""
        stack = [Row(self.top, 1, self.top in self.opened, 1, 1)]
        leaves = self.loaded.tree.n_leaves
        while stack:
            row = stack.pop()
            yield row
            if row.more is not None or not row.is_open:
                continue
            children = self.loaded.children(row.node)
            start = min(self.opened[row.node], max(0, len(children) - 1))
            shown = children[start : start + self.page]
            if len(shown) < len(children):
                bounds = start + 1, start + len(shown), len(children)
                stack.append(Row(row.node, row.level + 1, None, 0, 0, bounds))
            stack += [
                Row(v, row.level + 1, None if v < leaves else v in self.opened, start + i + 1, len(children))
                for i, v in reversed(list(enumerate(shown)))
            ]

    def trail(self) -> list[int]:
        """The nodes above the uppermost that is shown, from the root down."""
        return self.loaded.path(self.top)[:-1]

    def search(self, text: str, *, inner: bool = False, most: int = MOST_FOUND) -> tuple[list[Hit], int]:
        """Nodes whose name holds a text, whole names first, then beginnings, then the most frequent; and how many there are."""
        wanted = text.strip().casefold()
        if not wanted:
            return [], 0
        folded = self.loaded.folded
        first = self.loaded.tree.n_leaves if inner else 0
        hits = [v for v in range(first, len(folded)) if wanted in folded[v]]
        counts = self.loaded.counts
        hits.sort(key=lambda v: (folded[v] != wanted, not folded[v].startswith(wanted), -int(counts[v]), v))
        return [Hit(v, self.loaded.tree.names[v], self.way_to(v)) for v in hits[:most]], len(hits)

    def way_to(self, node: int) -> str:
        """The names above a node; the middle of a long way is left out."""
        names = [self.loaded.tree.names[v] for v in self.loaded.path(node)[:-1]]
        return " › ".join(names if len(names) <= 6 else [*names[:2], "…", *names[-3:]])

    def _page(self) -> int:
        return int(np.clip(MOST_ROWS // max(1, len(self.opened)), LEAST, PAGE))

    def _trim(self, last: int) -> None:
        """Closes what was opened longest ago, until the page is short enough."""
        path = self.loaded.path(last)
        if last not in path or self.top not in path:
            self.top = self.loaded.tree.root
        below = path[path.index(self.top) :]
        if len(below) > DEEPEST:
            self.top = below[-DEEPEST]
            below = below[-DEEPEST:]
        needed = set(below)
        while True:
            self.page = self._page()
            spare = [v for v in self.opened if v not in needed]
            if not spare or (len(self.opened) <= MOST_ROWS // LEAST and self._length() <= MOST_ROWS):
                return
            del self.opened[spare[0]]

    def _length(self) -> int:
        length = 0
        for _ in self.rows():
            length += 1
            if length > MOST_ROWS:
                break
        return length
