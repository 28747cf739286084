"""The window of an icicle that a page shows: where it opens, and what is known of each of its cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from shoal.app.panels.hierarchies.loaded_tree import Loaded
from shoal.app.panels.hierarchies.tree_page import short
from shoal.drawing.icicle import LEVELS, Cell, Widths, icicle
from shoal.hierarchy.tree import Hierarchy

UNKNOWN, ABOVE, PUBLISHED, BELOW, DROPPED = range(-1, 4)
"""What becomes of a node: nobody knows yet; parts of it are published, it is, a node above it is, or nothing of it is."""
WIDTH, NARROWEST, WIDEST = 900, 200, 4000
"""Pixels, until the page has said how wide it is, and what it may say."""
LONGEST = 60


@dataclass(frozen=True, eq=False)
class Fate:
    """What becomes of the nodes of a tree under a cut: `closed` are the inner nodes that are published in place of what is below them."""

    tree: Hierarchy
    closed: Collection[int]
    dropped: Collection[int] = ()

    @cached_property
    def _stands(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Per leaf, what it is published as; -1 for nothing."""
        tree = self.tree
        stands = np.arange(tree.n_leaves, dtype=np.int32)
        for v, shown in [*((v, v) for v in self.closed), *((v, -1) for v in self.dropped)]:
            lo, hi = tree.span[v]
            stands[tree.leaf_order[lo:hi]] = shown
        return stands

    def of(self, node: int) -> tuple[int, int]:
        """What becomes of a node, and how many levels further up it is published."""
        tree = self.tree
        shown = int(self._stands[tree.leaf_order[tree.span[node, 0]]])
        if shown < 0:
            whole = bool((self._stands[tree.leaf_order[slice(*tree.span[node])]] < 0).all())
            return (DROPPED if whole else ABOVE), 0
        # A node with a single child is published as that one.
        if shown == node or tree.leaf_count[shown] == tree.leaf_count[node]:
            return PUBLISHED, 0
        up = int(tree.depth[node]) - int(tree.depth[shown])
        return (BELOW, up) if up > 0 else (ABOVE, 0)


@dataclass(eq=False)
class IcicleWindow:
    """Where a window opens: at a node, perhaps at one of its children further to the right."""

    loaded: Loaded
    top: int
    first: int = 0
    width: float = WIDTH
    marked: tuple[int, ...] = ()
    """Nodes that are to be moved."""
    fate: Fate | None = None
    blamed: Mapping[int, int] = field(default_factory=dict)
    """Per node that is blamed, in how many rows it stands."""

    @cached_property
    def widths(self) -> Widths:
        return Widths.of(self.loaded.tree, self.loaded.counts)

    def open_at(self, node: int, first: int = 0) -> bool:
        """Opens the window elsewhere; items have nothing below them."""
        tree = self.loaded.tree
        if not tree.n_leaves <= node < tree.n_nodes:
            return False
        self.top, self.first = node, min(max(0, first), max(0, self.loaded.fanout(node) - 1))
        return True

    def go_up(self) -> int:
        """Opens it a level further up, and returns the node that it opened at before."""
        before = self.top
        if self.first:
            self.first = 0
        elif (above := int(self.loaded.tree.parent[self.top])) >= 0:
            self.open_at(above)
        return before

    def resize(self, width: float) -> bool:
        """Takes the width that the page has. Says whether that changes anything."""
        width = min(max(float(width), NARROWEST), WIDEST)
        changed, self.width = abs(width - self.width) > 1, width
        return changed

    def show(self, node: int) -> None:
        """Opens it so that a node can be seen."""
        if any(cell.node == node and cell.more is None for cell in self.cells()):
            return
        above = int(self.loaded.tree.parent[node])
        if above < 0:
            self.open_at(node)
            return
        self.open_at(above)
        if not any(cell.node == node and cell.more is None for cell in self.cells()):
            self.first = self.widths.place(node)

    def cells(self) -> list[Cell]:
        return icicle(self.widths, self.top, self.first, width=self.width)

    def to_draw(self, chosen: Collection[int], focus: int | None, unit: str) -> dict[str, Any]:
        """What the page draws."""
        tree, names = self.loaded.tree, self.loaded.tree.names
        cells = self.cells()
        holders = self._holders(cells)
        lines = []
        for cell in cells:
            v = cell.node
            left, right = round(cell.left * self.width, 1), round(cell.right * self.width, 1)
            if cell.more is not None:
                first, count = cell.more
                lines.append([v, cell.level, left, right, f"{count:,} more", 0, 0, UNKNOWN, 0, 0, first])
                continue
            above = int(tree.parent[v])
            state, up = (UNKNOWN, 0) if self.fate is None else self.fate.of(v)
            flags = (
                (v in chosen)
                + 2 * (v in self.blamed)
                + 4 * (v in self.marked)
                + 8 * (v >= tree.n_leaves)
                + 16 * (v >= tree.n_leaves and cell.level == LEVELS - 1)
                + 32 * (v in holders)
            )
            name = own_name(names[v], names[above] if above >= 0 else "")
            lines.append(
                [
                    v,
                    cell.level,
                    left,
                    right,
                    name,
                    int(self.loaded.counts[v]),
                    int(tree.leaf_count[v]),
                    state,
                    up,
                    flags,
                    -1,
                ]
            )
        return {
            "width": self.width,
            "levels": max(cell.level for cell in cells) + 1,
            "cells": lines,
            "focus": self.top if focus is None else focus,
            "unit": unit,
            "blamed": {str(v): rows for v, rows in self.blamed.items()},
        }

    def _holders(self, cells: Sequence[Cell]) -> set[int]:
        """The lowest nodes that are drawn above those that are blamed and too narrow."""
        drawn = {cell.node for cell in cells if cell.more is None}
        holders = set()
        for v in self.blamed:
            holder = v
            while holder >= 0 and holder not in drawn:
                holder = int(self.loaded.tree.parent[holder])
            if holder >= 0 and holder != v:
                holders.add(holder)
        return holders


def own_name(name: str, above: str) -> str:
    """A name without what it repeats of the node above it: of “soups|canned”, below “soups”, “canned”."""
    rest = name.removeprefix(above)
    if above and rest != name and len(rest) > 1 and rest[0] in "|/›:>\\":
        name = rest[1:].strip() or name
    return short(name, LONGEST)
