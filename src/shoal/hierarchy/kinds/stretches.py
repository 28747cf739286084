"""Stretches: dates and bands that are published from the first to the last of a class, as `2024-03-01..2024-04-15` or `[50-70)`.

A tree of dates or bands that is asked for with `ranges` has its values in an order. What a class holds is then a stretch of that order: a
node of the tree where the two are the same, and else a range, which says more than the next node above. Whoever reads the release finds the
values in between by the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np

from shoal.errors import InputError
from shoal.hierarchy.kinds.bands import band_in, band_order
from shoal.hierarchy.kinds.dates import read_dates, way_of
from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import Ints

WORD = "ranges"
MARK = ".."
_MOST_BANDS = 300
"""Bands beyond which a range of them is called by its first and last: each stretch of them has a name to be known by."""
_MISSING = ""


@dataclass(frozen=True, eq=False)
class Stretches:
    """The values of a tree in their order."""

    tree: Hierarchy
    leaves: Ints
    """By place, the leaf that stands there; a missing value has no place."""
    joins: bool
    """Whether a range of values has a name of its own, as that of bands does."""

    @cached_property
    def place(self) -> Ints:
        """Per leaf its place, -1 for a missing value."""
        place = np.full(self.tree.n_leaves, -1, np.int64)
        place[self.leaves] = np.arange(len(self.leaves))
        return place

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The values by place."""
        return tuple(self.tree.names[v] for v in self.leaves.tolist())

    @cached_property
    def _nodes(self) -> dict[tuple[int, int], str]:
        """Nodes but the root, by the first and last place of what is under them."""
        tree, named = self.tree, dict[tuple[int, int], str]()
        for v in range(tree.n_leaves, tree.n_nodes):
            places = self.place[tree.leaf_order[slice(*tree.span[v].tolist())]]
            low, high = int(places.min()), int(places.max())
            if v != tree.root and low >= 0 and high - low + 1 == len(places):
                named.setdefault((low, high), tree.names[v])
        return named

    @cached_property
    def _joined(self) -> dict[str, tuple[int, int]]:
        """Ranges by their names, where they have names."""
        n = len(self.leaves) if self.joins else 0
        return {self.label(low, high): (low, high) for low in range(n) for high in range(low + 1, n)}

    def label(self, low: int, high: int) -> str:
        """What is published for the values from one place to another."""
        if low == high:
            return self.texts[low]
        if (low, high) in self._nodes:
            return self._nodes[low, high]
        first, last = self.texts[low], self.texts[high]
        if self.joins and (one := band_in(first)) is not None and (other := band_in(last)) is not None:
            return one.up_to(other)
        return f"{first}{MARK}{last}"

    def members(self, text: str) -> list[int]:
        """The leaves that a published range stands for; none where it is none."""
        if self.joins:
            found = self._joined.get(text)
        else:
            ends = [self._at.get(end, -1) for end in text.split(MARK)]
            found = (ends[0], ends[1]) if len(ends) == 2 and 0 <= ends[0] <= ends[1] else None
        return [] if found is None else self.leaves[found[0] : found[1] + 1].tolist()

    @cached_property
    def _at(self) -> dict[str, int]:
        return {text: place for place, text in enumerate(self.texts)}


def stretches_of(tree: Hierarchy | None) -> Stretches | None:
    """The values of a tree in their order, where it was asked for with ranges."""
    if tree is None or not asks_ranges(tree.source):
        return None
    form, _, parameter = tree.source.partition(":")
    there = [i for i, name in enumerate(tree.names[: tree.n_leaves]) if name.strip() != _MISSING]
    names = [tree.names[i] for i in there]
    order = _order(form, parameter, names)
    return Stretches(tree, np.array([there[i] for i in order], np.int64), form == "bands" and len(names) <= _MOST_BANDS)


def asks_ranges(source: str) -> bool:
    """Whether a spec of dates or bands asks for ranges."""
    form, _, parameter = source.partition(":")
    return form in ("dates", "bands") and WORD in parameter.split(",")


def _order(form: str, parameter: str, names: Sequence[str]) -> list[int]:
    """The places of values from the first to the last; raises where one has none."""
    if form == "bands":
        order = band_order(names)
    else:
        days = read_dates(names, way_of(parameter)).days
        order = None if None in days else sorted(range(len(days)), key=lambda i: days[i] or datetime.min)
    if order is None:
        raise InputError(f"ranges need values that all stand in an order, and some are no {form}; leave out {WORD}")
    return order
