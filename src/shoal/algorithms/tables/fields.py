"""Field: a column of a table as nodes of a tree, for recodings that are the same for all rows.

Such a recoding publishes each value as one node, wherever it stands; ranges that fit themselves to a class are not of its kind. So a
column of numbers without a tree gets one of intervals, of ten to a hundred at first and then twice as wide each time, and dates and bands
in ranges are published as the nodes of their tree.

A level is a cut, the same number of steps from the root for all values: the highest level is the root, the next one its children, and a
leaf that hangs higher than a level stands as itself in it. (Counted from the leaves, one value of a ragged tree would be published as a
category below which another stands.) A level that joins no values of the data says nothing new and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.hierarchy.build import flat_tree
from shoal.hierarchy.kinds.ceilings import blocks_of_values
from shoal.hierarchy.meanings import cell_meanings
from shoal.hierarchy.spec import column_hierarchy
from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import Floats, Ints
from shoal.records.records import MISSING, Column, Records

Hierarchies = Mapping[str, Hierarchy | None]


@dataclass(frozen=True, eq=False)
class Field:
    """A quasi-identifier column."""

    column: Column
    tree: Hierarchy
    lowest: Ints
    """Per value of the column, the node that it is published as if nothing is generalized."""
    rows: Ints
    """Per node, the rows whose lowest node it is."""
    texts: tuple[str, ...]
    """Per node, how it is published."""
    cost: Floats
    """Per node, its NCP as a reader of the release counts it."""
    block: Ints
    """Per node that is lowest of a value, the block beyond which a limit lets nothing be joined with it; -1 for other nodes."""

    @property
    def name(self) -> str:
        return self.column.name

    @cached_property
    def places(self) -> Ints:
        """The lowest nodes of the data, ascending."""
        return np.flatnonzero(self.rows).astype(np.int64)

    @cached_property
    def levels(self) -> tuple[Ints, ...]:
        """Per level, from what is not generalized upwards, the node of each lowest node (of another one: itself)."""
        tree, depth = self.tree, self.tree.depth.astype(np.int64)
        node = np.arange(tree.n_nodes)
        found = [node]
        for low in range(tree.height - 1, -1, -1):
            up = depth[node] > low
            node = np.where(up, np.maximum(tree.parent[node], 0), node)
            shown = self._lowest_alike[node]
            if _parts(shown[self.places]) == _parts(found[-1][self.places]):
                continue
            if not self._within_limit(shown[self.places]):
                break
            found.append(shown)
        return tuple(found)

    @cached_property
    def above(self) -> Ints:
        """Per node, the next one above it that more values of the data are under and the limit allows, -1 for none.

        Of nodes with the same values of the data below them the lowest stands for all.
        """
        tree = self.tree
        held = np.bincount(self.places, minlength=tree.n_nodes)
        for v, p in enumerate(tree.parent[:-1].tolist()):
            held[p] += held[v]
        low, high = np.full(tree.n_nodes, np.iinfo(np.int64).max), np.full(tree.n_nodes, -1)
        low[self.places] = high[self.places] = self.block[self.places]
        above = np.full(tree.n_nodes, -1, np.int64)
        for v, p in enumerate(tree.parent[:-1].tolist()):
            low[p], high[p] = min(low[p], low[v]), max(high[p], high[v])
        for v in np.flatnonzero(held).tolist():
            p = int(tree.parent[v])
            while p >= 0 and held[p] == held[v]:
                p = int(tree.parent[p])
            if p >= 0 and low[p] == high[p]:
                above[v] = p
        return above

    @cached_property
    def top(self) -> Ints:
        """Per lowest node, the highest one that it may be published as."""
        node = np.arange(self.tree.n_nodes)
        for v in self.places.tolist():
            while self.above[node[v]] >= 0:
                node[v] = self.above[node[v]]
        return node

    @cached_property
    def _lowest_alike(self) -> Ints:
        """Per node, the one that is published for it: not one above a single child, which says the same."""
        tree, shown = self.tree, np.arange(self.tree.n_nodes)
        floors = set() if tree.floor is None else set(tree.floor.tolist())
        for v, child in enumerate(tree.only_child.tolist()):
            if child >= 0 and v not in floors:
                shown[v] = shown[child]
        return shown

    def _within_limit(self, node: Ints) -> bool:
        """Whether what is published alike is all in one block."""
        block = self.block[self.places]
        return len(np.unique(node)) == len(np.unique(np.column_stack((node, block)), axis=0))


def fields_of(records: Records, hierarchies: Hierarchies, limits: Mapping[str, str | float]) -> tuple[Field, ...]:
    """The quasi-identifier columns."""
    return tuple(
        _field(column, hierarchies.get(column.name), limits.get(column.name)) for column in records.of_role("quasi")
    )


def made_levels(column: Column) -> str:
    """The spec of the tree that a column of numbers gets where it has none."""
    assert column.numbers is not None
    known = column.numbers[~np.isnan(column.numbers)]
    length = float(known.max() - known.min()) if len(known) else 0.0
    first, exponent = 5, math.floor(math.log10(length / 50)) if length else 0
    if exponent < 0 and np.all(known == np.rint(known)):
        first, exponent = 2, 0
    widths = [first]
    while widths[-1] * 2 * 10.0**exponent < length:
        widths.append(widths[-1] * 2)
    return "intervals:" + ",".join(_decimal(width, exponent) for width in widths)


def _decimal(width: int, exponent: int) -> str:
    return str(width * 10**exponent) if exponent >= 0 else f"{width / 10**-exponent:.{-exponent}f}"


def _field(column: Column, given: Hierarchy | None, limit: str | float | None) -> Field:
    """The column with the tree that is given, else with one that is made."""
    tree = given
    if tree is None and column.numbers is not None:
        tree = column_hierarchy(column, made_levels(column))
    if tree is None:
        tree = flat_tree(column.values)
    if MISSING in column.values and MISSING not in tree.leaf_called and tree.n_nodes > 1:
        tree = tree.with_unknown([MISSING])
    lowest = tree.lowest_of(column.values).astype(np.int64)
    if column.numbers is not None:  # values that spell one number are one
        _, first, same = np.unique(column.numbers, return_index=True, return_inverse=True)
        lowest = np.where(np.isnan(column.numbers), lowest, lowest[first[same.reshape(-1)]])
    rows = np.bincount(lowest, np.bincount(column.codes, minlength=len(column.values)), tree.n_nodes).astype(np.int64)
    texts = [name.strip() for name in tree.names] if given is None and column.numbers is not None else list(tree.names)
    cost = _costs(column, tree, given, texts)
    if column.gap != MISSING:
        for v in {int(v) for v, value in zip(lowest, column.values, strict=True) if not value.strip()}:
            texts[v], cost[v] = (texts[tree.root], 1.0) if given is not None else (column.gap, 1.0)
    block = np.full(tree.n_nodes, -1, np.int64)
    block[lowest] = 0 if limit is None else blocks_of_values(column, given, str(limit))
    return Field(column, tree, lowest, rows, tuple(texts), cost, block)


def _costs(column: Column, tree: Hierarchy, given: Hierarchy | None, texts: Sequence[str]) -> Floats:
    """NCP of each node as `shoal.hierarchy.meanings` has it for what is published."""
    shown = tuple(dict.fromkeys(texts))
    meanings = cell_meanings(
        Column(column.name, column.role, np.zeros(0, np.int32), shown),
        column,
        tree if given is not None or column.numbers is None else None,
    )
    cost = dict(zip(shown, meanings.cost.tolist(), strict=True))
    return np.array([cost[text] for text in texts], np.float64)


def _parts(node: Ints) -> list[int]:
    """A partition of the values, told by the first value of each part."""
    _, first, part = np.unique(node, return_index=True, return_inverse=True)
    return list(first[part.reshape(-1)].tolist())
