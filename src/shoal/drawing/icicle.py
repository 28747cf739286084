"""An icicle: a tree as rows of cells, each as wide as what is below it, of which only what can be seen is laid out.

Siblings stand from the heaviest to the lightest. So those that are too narrow to be seen are the last ones, and a single cell stands
for them ("412 more"). A window opens at a node, and may begin at one of its children further to the right, which is how one gets at the
narrow ones. What a layout costs depends on the width of the window, not on the size of the tree: among the children of a node those
that can be seen are found by bisection, and nothing is looked at below what cannot be seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import Floats, Ints

LEVELS = 6
"""Rows of a window, the node at which it opens included."""
LEAST = 1.0
"""Pixels below which a cell is not drawn."""
MORE = 0.25
"""The most of the width that goes to children of the window's node that are not shown, however many they are."""
HANDLE = 28.0
"""Pixels that a cell for these has at least, so that it can be clicked."""


class Cell(NamedTuple):
    """A cell of a window. Its bounds are shares of the width."""

    node: int
    """What it shows; with `more`, the node whose children it stands for."""
    level: int
    left: float
    right: float
    more: tuple[int, int] | None = None
    """(first, count): it stands for this many children, from this place among them on."""


@dataclass(frozen=True, eq=False)
class Widths:
    """A tree whose siblings are in order of their weight, and these weights, added up."""

    tree: Hierarchy
    weight: Floats
    """Per node; that of a node is the sum of its children's."""
    order: Ints
    """All nodes but the root, siblings side by side."""
    starts: Ints
    """Where the children of each node begin in `order`."""
    reached: Floats
    """The weights in this order, added up from the beginning."""

    @classmethod
    def of(cls, tree: Hierarchy, counts: Ints) -> Widths:
        """By how often each node occurs. What never occurs is narrow, but there: all its leaves together count as less than one."""
        weight = counts + tree.leaf_count / (tree.n_leaves + 1)
        parent = tree.parent[:-1]
        order = np.lexsort((np.arange(len(parent)), -weight[:-1], parent))
        starts = np.zeros(tree.n_nodes + 1, np.int64)
        np.cumsum(np.bincount(parent, minlength=tree.n_nodes), out=starts[1:])
        reached = np.concatenate(([0.0], np.cumsum(weight[order])))
        return cls(tree, weight, order, starts, reached)

    def fanout(self, node: int) -> int:
        return int(self.starts[node + 1] - self.starts[node])

    def children(self, node: int, first: int = 0, count: int | None = None) -> list[int]:
        """So many children of a node, from a place on, the heaviest first."""
        start, stop = int(self.starts[node]) + first, int(self.starts[node + 1])
        children: list[int] = self.order[start : stop if count is None else min(stop, start + count)].tolist()
        return children

    def place(self, node: int) -> int:
        """The place of a node among its siblings."""
        above = int(self.tree.parent[node])
        siblings = self.order[self.starts[above] : self.starts[above + 1]]
        return int(np.flatnonzero(siblings == node)[0])

    def total(self, node: int, first: int, count: int) -> float:
        """What so many children weigh together."""
        start = int(self.starts[node]) + first
        return float(self.reached[start + count] - self.reached[start])

    def visible(self, node: int, pixels_per_weight: float, least: float) -> int:
        """How many children of a node are wide enough: the first ones."""
        siblings = self.order[self.starts[node] : self.starts[node + 1]]
        return int(np.searchsorted(-self.weight[siblings], -least / pixels_per_weight, side="right"))

    def fitting(self, node: int, first: int, pixels: float, least: float) -> int:
        """How many children of a node, from a place on, are wide enough when these alone share the pixels; at least one."""
        start, stop = int(self.starts[node]) + first, int(self.starts[node + 1])
        weight = self.weight[self.order[start:stop]]
        together = self.reached[start + 1 : stop + 1] - self.reached[start]
        return max(1, int(np.searchsorted(-weight * pixels / together, -least, side="right")))


def icicle(
    widths: Widths, top: int, first: int = 0, *, width: float = 1000.0, levels: int = LEVELS, least: float = LEAST
) -> list[Cell]:
    """The cells of a window of so many pixels, row by row from the top and from left to right.

    Siblings are to scale among themselves. Further down, a cell for those that cannot be seen is as wide as they are together. In the
    first row below the node it may be narrower than that, so that those that are shown have room.
    """
    cells = [Cell(top, 0, 0.0, 1.0)]
    row = cells
    for level in range(1, levels):
        row = [
            cell
            for above in row
            if above.more is None and widths.fanout(above.node)
            for cell in (
                _first_row(widths, top, first, width, least)
                if level == 1
                else _below(widths, above, level, width, least)
            )
        ]
        if not row:
            break
        cells = cells + row
    return cells


def _first_row(widths: Widths, node: int, first: int, width: float, least: float) -> Iterator[Cell]:
    rest = widths.fanout(node) - first
    shown, part = rest, 1.0
    total = widths.total(node, first, rest)
    if widths.fitting(node, first, width, least) < rest:
        # As many as can be seen if what remains is drawn to scale, unless it takes too much room, ...
        shown = max(1, widths.visible(node, width / total, least) - first)
        part = widths.total(node, first, shown) / total
        # ... or too little to be clicked.
        if not HANDLE / width <= 1 - part <= MORE:
            part = 1 - min(max(1 - part, HANDLE / width), max(MORE, HANDLE / width))
            shown = min(widths.fitting(node, first, width * part, least), rest - 1)
    yield from _children(widths, node, (first, shown), 1, 0.0, part / widths.total(node, first, shown))
    if shown < rest:
        yield Cell(node, 1, part, 1.0, (first + shown, rest - shown))


def _below(widths: Widths, above: Cell, level: int, width: float, least: float) -> Iterator[Cell]:
    node, fanout = above.node, widths.fanout(above.node)
    per_weight = (above.right - above.left) / widths.weight[node]
    shown = min(fanout, widths.visible(node, per_weight * width, least))
    yield from _children(widths, node, (0, shown), level, above.left, per_weight)
    left = above.left + per_weight * widths.total(node, 0, shown)
    if shown < fanout and (above.right - left) * width >= least:
        yield Cell(node, level, left, above.right, (shown, fanout - shown))


def _children(
    widths: Widths, node: int, which: tuple[int, int], level: int, left: float, per_weight: float
) -> Iterator[Cell]:
    for child in widths.children(node, *which):
        right = left + per_weight * float(widths.weight[child])
        yield Cell(child, level, left, right)
        left = right
