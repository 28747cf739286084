"""NCP of relational columns (Xu et al. 2006, as section 5 of the RT paper uses it), and the space in which it is measured.

A value published as itself costs 0, a range of numbers its length over the length of the domain, a node of a tree its leaves over all
leaves. A record costs the weighted sum over its columns; weights are divided by their sum, so that a loss is a share of 1. A
class that mixes numbers with missing ones says nothing (`*`) and costs 1; a missing category is a value like any other. Dates and bands
that are published in ranges are numbers here, by their places in an order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.errors import InputError
from shoal.hierarchy.build import flat_tree
from shoal.hierarchy.kinds.stretches import Stretches, stretches_of
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.tables.boxes import Metric, boxes_around
from shoal.numbers import Codes, Floats, Ints
from shoal.records.records import MISSING, Column, Records

ANYTHING = "*"
"""How a class is published in a column of which it says nothing."""


@dataclass(frozen=True, eq=False)
class Space:
    """The quasi-identifier columns of a table as points and boxes; the arrays are described in `shoal.kernels.tables.boxes`."""

    columns: tuple[Column, ...]
    trees: tuple[Hierarchy | None, ...]
    """Per column its tree; None for ranges of numbers."""
    texts: tuple[tuple[str, ...], ...]
    """Per column the text of each rank or node."""
    kind: Codes
    start: Ints
    number: Floats
    width: Floats
    parent: Codes
    cost: Floats
    weight: Floats
    points: Codes
    """The distinct tuples as boxes of one point each: (tuples, columns, 2)."""
    tuple_of: Ints
    """The distinct tuple of each row."""
    stretches: tuple[Stretches | None, ...]
    """Per column, how ranges of it read that are not numbers."""

    def __len__(self) -> int:
        return len(self.tuple_of)

    @property
    def metric(self) -> Metric:
        """What the kernels ask for to price a box."""
        return Metric(self.kind, self.start, self.number, self.width, self.parent, self.cost, self.weight)

    @cached_property
    def sizes(self) -> Ints:
        """Rows of each distinct tuple."""
        return np.bincount(self.tuple_of, minlength=len(self.points)).astype(np.int64)

    def boxes(self, of_row: Codes, n_classes: int) -> Codes:
        """The smallest box around the rows of each class."""
        pairs = np.unique(of_row.astype(np.int64) * max(1, len(self.points)) + self.tuple_of)
        group, point = np.divmod(pairs, max(1, len(self.points)))
        around: Codes = boxes_around(self.metric, self.points[point], group, n_classes)
        return around

    def legible(self, boxes: Codes) -> Codes:
        """The boxes as they read: numbers with missing ones among them say the same, whatever the numbers are."""
        legible = boxes.copy()
        for j, (kind, start) in enumerate(zip(self.kind.tolist(), self.start.tolist(), strict=True)):
            if not kind and np.isnan(self.number[start]):
                low, high = legible[:, j, 0], legible[:, j, 1]
                says_nothing = (low == 0) & ((high > 0) | (self.texts[j][0] == ANYTHING))
                legible[:, j, 1] = np.where(says_nothing, len(self.texts[j]), high)
        return legible

    def boxes_of_tuples(self, tuples: Ints) -> Codes:
        """The smallest box around distinct tuples."""
        around: Codes = boxes_around(self.metric, self.points[tuples], np.zeros(len(tuples), np.int64), 1)[0]
        return around

    def column_costs(self, boxes: Codes) -> Floats:
        """NCP of each box in each column, before weights: (boxes, columns)."""
        costs = np.zeros(boxes.shape[:2], np.float64)
        for j, (kind, start) in enumerate(zip(self.kind.tolist(), self.start.tolist(), strict=True)):
            low, high = boxes[:, j, 0], boxes[:, j, 1]
            if kind:
                costs[:, j] = self.cost[start + low]
            else:
                length = (self.number[start + high] - self.number[start + low]) / self.width[j]
                costs[:, j] = np.where(low == high, 0.0, np.where(np.isnan(length), 1.0, length))
        return costs

    def costs(self, boxes: Codes) -> Floats:
        """NCP of a record in each box."""
        total = np.zeros(len(boxes), np.float64)
        for j, costs in enumerate(self.column_costs(boxes).T):  # added in the order of the kernels, to the last bit
            total += self.weight[j] * costs
        return total

    def text_of(self, j: int, box: Codes) -> str:
        """What column j of a record in this box reads."""
        texts, low, high = self.texts[j], int(box[j, 0]), int(box[j, 1])
        if low == high:
            return texts[low]
        if np.isnan(self.number[self.start[j] + low]):
            return ANYTHING
        stretches = self.stretches[j]
        if stretches is None:
            return f"[{texts[low]}:{texts[high]}]"
        missing = len(texts) - len(stretches.leaves)
        return stretches.label(low - missing, high - missing)


def space(
    records: Records, hierarchies: Mapping[str, Hierarchy | None], weights: Mapping[str, float] | None = None
) -> Space:
    """The quasi-identifier columns laid out, each with its tree (a flat one for a category without) or its domain of numbers."""
    columns = records.of_role("quasi")
    if not columns:
        return _nothing(len(records))
    laid = [_laid_out(column, hierarchies.get(column.name)) for column in columns]
    width = np.array([len(one.parent) for one in laid], np.int64)
    start = np.concatenate(([0], np.cumsum(width)[:-1]))
    codes = np.column_stack([one.place[column.codes] for one, column in zip(laid, columns, strict=True)])
    distinct, tuple_of = np.unique(codes.astype(np.int32), axis=0, return_inverse=True)
    return Space(
        columns,
        tuple(one.tree for one in laid),
        tuple(one.texts for one in laid),
        np.array([one.tree is not None for one in laid], np.int32),
        start,
        np.concatenate([one.number for one in laid]),
        np.array([one.width for one in laid], np.float64),
        np.concatenate([one.parent for one in laid]),
        np.concatenate([one.cost for one in laid]),
        column_shares([column.name for column in columns], weights or {}),
        np.ascontiguousarray(np.repeat(distinct[:, :, None], 2, axis=2)),
        tuple_of.reshape(-1).astype(np.int64),
        tuple(one.stretches for one in laid),
    )


def _nothing(rows: int) -> Space:
    """The space of no columns: a single point, where all rows are."""
    none, number = np.empty(0, np.int32), np.empty(0, np.float64)
    point = np.zeros((1, 0, 2), np.int32)
    everybody = np.zeros(rows, np.int64)
    return Space(
        (), (), (), none, np.empty(0, np.int64), number, number, none, number, number, point, everybody, stretches=()
    )


def relational_ncp(space: Space, of_row: Codes, n_classes: int) -> dict[str, float]:
    """The loss of a partition of the rows: `ncp`, and that of each column before its weight under the column's name."""
    boxes = space.boxes(of_row, n_classes)
    share = np.bincount(of_row, minlength=n_classes) / max(1, len(of_row))
    by_column = share @ space.column_costs(boxes)
    return {"ncp": float(share @ space.costs(boxes))} | {
        column.name: float(loss) for column, loss in zip(space.columns, by_column, strict=True)
    }


@dataclass(frozen=True, eq=False)
class _Laid:
    """One column: the rank or leaf of each of its values, and the arrays of ranks or nodes."""

    tree: Hierarchy | None
    place: Codes
    texts: tuple[str, ...]
    number: Floats
    width: float
    parent: Codes
    cost: Floats
    stretches: Stretches | None = None


def _laid_out(column: Column, tree: Hierarchy | None) -> _Laid:
    if tree is None and column.numbers is not None:
        return _numbers(column)
    if (stretches := stretches_of(tree)) is not None:
        return _stretched(column, stretches)
    if tree is None:
        tree = flat_tree(column.values)
    elif MISSING in column.values and MISSING not in tree.labels[: tree.n_leaves]:
        tree = tree.with_unknown([MISSING])
    share = np.where(tree.leaf_count > 1, tree.leaf_count / tree.n_leaves, 0.0)
    unused = np.zeros(tree.n_nodes, np.float64)
    place = tree.lowest_of(column.values)
    if column.gap != MISSING:
        place = np.where([not value.strip() for value in column.values], np.int32(tree.root), place)
    return _Laid(tree, place, tree.names, unused, 1.0, tree.parent, share)


def _stretched(column: Column, stretches: Stretches) -> _Laid:
    """Dates or bands by their places in an order, as if they were numbers."""
    missing = np.array([not value.strip() for value in column.values], np.bool_)
    first = int(missing.any())
    place = np.zeros(len(column.values), np.int32)
    known = stretches.tree.leaves_of([value for value in column.values if value.strip()])
    place[~missing] = stretches.place[known] + first
    texts = (*((column.gap,) * first), *stretches.texts)
    ranks = np.concatenate((np.full(first, np.nan), np.arange(len(stretches.leaves), dtype=np.float64)))
    unused = np.full(len(texts), -1, np.int32)
    width = max(1.0, len(stretches.leaves) - 1.0)
    return _Laid(None, place, texts, ranks, width, unused, np.zeros(len(texts)), stretches)


def _numbers(column: Column) -> _Laid:
    """Ranks of the distinct numbers; values that stand for the same number share a rank and the first one's text, without blanks."""
    assert column.numbers is not None
    numbers = np.asarray(column.numbers, np.float64)
    missing = np.isnan(numbers)
    known, rank = np.unique(numbers[~missing], return_inverse=True)
    first = int(missing.any())
    place = np.zeros(len(numbers), np.int32)
    place[~missing] = rank + first
    texts = [""] * (len(known) + first)
    for value, at in zip(reversed(column.values), place[::-1].tolist(), strict=True):
        texts[at] = value.strip() or column.gap
    width = float(known[-1] - known[0]) if len(known) else 0.0
    unused = np.full(len(texts), -1, np.int32)
    ranks = np.concatenate((np.full(first, np.nan), known))
    return _Laid(None, place, tuple(texts), ranks, width or 1.0, unused, np.zeros(len(texts)))


def column_shares(names: list[str], weights: Mapping[str, float]) -> Floats:
    unknown = [name for name in weights if name not in names]
    if unknown:
        raise InputError(f"weight of {unknown[0]!r}: there is no such quasi-identifier; there are {', '.join(names)}")
    given = np.array([weights.get(name, 1.0) for name in names], np.float64)
    if not np.all(np.isfinite(given)) or given.min() < 0 or given.sum() == 0:
        raise InputError("weights of columns are numbers of 0 or more, and one at least is more than 0")
    shares: Floats = given / given.sum()
    return shares
