"""ColumnPrice: what the columns of a class lose of their information, for searches that add such losses up class by class.

The loss of a table is measured by what is published: with n(v,t) rows whose value v is published as t, and n(t) their sum, a cell loses
log2( n(t) / n(v,t) ) bits. That depends on all classes at once. So a price takes n from some partition, and for a class that would be
published as something new, from the table: as if all rows under a node, or in a range, were published as it.
"""

from __future__ import annotations

import numpy as np

from shoal.loss.relational import Space
from shoal.numbers import Codes, Floats, Ints
from shoal.price.information import entropy_bits

Boxes = Codes
Classes = Codes


class ColumnPrice:
    """Bits that the columns lose, as shares of what they say together."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.value = space.points[:, :, 0].astype(np.int64)
        """Per distinct tuple and column."""
        rows = [np.bincount(self.value[:, j], space.sizes, len(texts)) for j, texts in enumerate(space.texts)]
        self._rows = rows
        self._below = [np.concatenate(([0.0], np.cumsum(each))) for each in rows]
        self._under = [
            None if tree is None else tree.sums(each[: tree.n_leaves])
            for tree, each in zip(space.trees, rows, strict=True)
        ]
        said = sum(share * entropy_bits(each) for share, each in zip(space.weight.tolist(), rows, strict=True))
        self.scale = 1.0 / said if said else 0.0
        """What a bit of a column with weight 1 counts."""
        self._known: list[tuple[Ints, Floats, Ints, Floats]] | None = None

    def learn(self, boxes: Boxes, of_pair: Ints, tuple_of_pair: Ints, rows: Ints) -> float:
        """Take prices from a partition, given as pairs of class and tuple with so many rows; returns what it loses."""
        self._known, lost = [], 0.0
        for j, share in enumerate(self.space.weight.tolist()):
            token = self._token(j, boxes)[of_pair]
            width = len(self.space.texts[j]) + 1
            tokens, behind = _sums(token, rows)
            cells, times = _sums(token * width + self.value[tuple_of_pair, j], rows)
            self._known.append((tokens, np.log2(behind), cells, np.log2(times)))
            lost += share * max(0.0, entropy_bits(times) - entropy_bits(behind))
        return lost * self.scale

    def of_classes(self, of_row: Classes, n: int) -> float:
        """What a partition of the rows into n classes loses; prices are taken from it."""
        return self.learn(self.space.boxes(of_row, n), *self.pairs(of_row))

    def pairs(self, of_row: Classes) -> tuple[Ints, Ints, Ints]:
        """(class, tuple, rows), each pair of class and tuple once, classes ascending."""
        width = np.int64(len(self.space.points))
        keys, rows = np.unique(of_row * width + self.space.tuple_of, return_counts=True)
        return keys // width, keys % width, rows

    def of_pairs(self, boxes: Boxes, of_pair: Ints, tuple_of_pair: Ints, rows: Ints) -> Floats:
        """Per pair of class and tuple, what its rows lose."""
        bits = np.zeros(len(of_pair))
        for j, share in enumerate(self.space.weight.tolist()):
            value = self.value[tuple_of_pair, j]
            level = np.log2(np.maximum(self._table_rows(j, boxes)[of_pair] / np.maximum(self._rows[j][value], 1), 1.0))
            if self._known is not None:
                tokens, behind, cells, times = self._known[j]
                token = self._token(j, boxes)[of_pair]
                cell = token * (len(self.space.texts[j]) + 1) + value
                at, inside = (
                    np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
                    for keys, wanted in ((tokens, token), (cells, cell))
                )
                met = (tokens[at] == token) & (cells[inside] == cell)
                level = np.where(met, behind[at] - times[inside], level)
            bits += share * level
        return bits * rows * self.scale

    def _token(self, j: int, boxes: Boxes) -> Ints:
        """A number for what column j of each box reads."""
        legible = self.space.legible(boxes)
        token: Ints = legible[:, j, 0].astype(np.int64) * (len(self.space.texts[j]) + 2) + legible[:, j, 1]
        return token

    def _table_rows(self, j: int, boxes: Boxes) -> Floats:
        """Rows of the table that a box covers in column j."""
        under = self._under[j]
        if under is not None:
            covered: Floats = under[boxes[:, j, 0]].astype(np.float64)
            return covered
        low, high = boxes[:, j, 0], boxes[:, j, 1]
        anything = np.isnan(self.space.number[self.space.start[j] + low]) & (high > low)
        inside: Floats = self._below[j][high + 1] - self._below[j][low]
        return np.where(anything, self._below[j][-1], inside)


def _sums(keys: Ints, rows: Ints) -> tuple[Ints, Floats]:
    """(keys, rows of each), ascending."""
    found, place = np.unique(keys, return_inverse=True)
    return found, np.bincount(place.reshape(-1), rows, minlength=len(found)).astype(np.float64)
