"""Mondrian (LeFevre, DeWitt, Ramakrishnan 2006): clusters by cutting the table again and again, the fast way to form them.

A part is cut in the column that its box is widest in, if all pieces keep k rows: a column of numbers between two values
at the median, or as near to it as k allows; a column with a tree into the children of its node, those with fewer than k rows
together as one piece. If that column cannot be cut, the next one is tried. Tuples that are equal stay together. Where pieces must hold
more than k rows, cuts are tried from the middle outwards, and children that lack something go together as well.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoal.loss.relational import Space
from shoal.numbers import Codes, Ints

_CUTS = 32
"""Cuts of a column of numbers that are tried."""

Holds = Callable[[Ints], bool]


def mondrian_parts(space: Space, k: int, holds: Holds | None = None) -> tuple[Codes, int]:
    """(part of each row, how many). `holds` says of rows whether they may be a part: if all of them may, every part may."""
    piece = Pieces(space, k, holds)
    group = np.empty(len(space.points), np.int32)
    waiting = [np.arange(len(space.points), dtype=np.int64)]
    n = 0
    while waiting:
        tuples = waiting.pop()
        pieces = _cut(space, tuples, piece)
        if len(pieces) > 1:
            waiting += reversed(pieces)
        else:
            group[tuples] = n
            n += 1
    return group[space.tuple_of], n


class Pieces:
    """What a piece must be: of at least k rows, and such as `holds` says."""

    def __init__(self, space: Space, k: int, holds: Holds | None) -> None:
        self.sizes, self.k, self._holds = space.sizes, k, holds
        if holds is not None:
            self._rows = np.argsort(space.tuple_of, kind="stable").astype(np.int64)
            self._first = np.concatenate(([0], np.cumsum(space.sizes)))

    def may_be(self, tuples: Ints) -> bool:
        """Whether these tuples, of k rows or more, may be a piece."""
        if self._holds is None:
            return True
        sizes = self.sizes[tuples]
        inside = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self._holds(self._rows[np.repeat(self._first[tuples], sizes) + inside])


def _cut(space: Space, tuples: Ints, piece: Pieces) -> list[Ints]:
    """The pieces of a part, itself alone if it cannot be cut."""
    if int(space.sizes[tuples].sum()) < 2 * piece.k:
        return [tuples]
    box = space.boxes_of_tuples(tuples)
    wide = space.weight * space.column_costs(box[None])[0]
    for j in np.argsort(-wide, kind="stable").tolist():
        if box[j, 0] == box[j, 1] and (space.kind[j] == 0 or space.trees[j].leaf_count[box[j, 0]] == 1):
            continue
        label = (
            _sides(space, tuples, j, piece)
            if space.kind[j] == 0
            else _children(space, tuples, j, int(box[j, 0]), piece)
        )
        if label is not None:
            order = np.argsort(label, kind="stable")
            return np.split(tuples[order], np.flatnonzero(np.diff(label[order])) + 1)
    return [tuples]


def _sides(space: Space, tuples: Ints, j: int, piece: Pieces) -> Ints | None:
    """0 below the cut, 1 above it, where the two sides are as even as can be; None if there is no such cut."""
    rank = space.points[tuples, j, 0]
    values, place = np.unique(rank, return_inverse=True)
    below = np.cumsum(np.bincount(place.reshape(-1), space.sizes[tuples]))[:-1]
    total = float(space.sizes[tuples].sum())
    possible = np.flatnonzero((below >= piece.k) & (total - below >= piece.k))
    for at in possible[np.argsort(np.abs(below[possible] - total / 2), kind="stable")][:_CUTS].tolist():
        side: Ints = (rank > values[at]).astype(np.int64)
        if piece.may_be(tuples[side == 0]) and piece.may_be(tuples[side == 1]):
            return side
    return None


def _children(space: Space, tuples: Ints, j: int, node: int, piece: Pieces) -> Ints | None:
    """The child of `node` that each tuple is under, -1 for children that cannot stand alone; None if all would stay in one piece."""
    tree = space.trees[j]
    assert tree is not None
    children = np.array(tree.children[node], np.int64)
    children = children[np.argsort(tree.span[children, 0])]
    position = tree.span[space.points[tuples, j, 0], 0]
    child = np.searchsorted(tree.span[children, 0], position, side="right") - 1
    size = np.bincount(child, space.sizes[tuples], minlength=len(children))
    small = (size > 0) & (size < piece.k)
    for c in np.flatnonzero(size >= piece.k).tolist():
        small[c] = not piece.may_be(tuples[child == c])
    # The pooled piece must be able to stand too: small children call in the next larger.
    for c in np.argsort(size, kind="stable").tolist():
        rest = float(size[small].sum())
        if not rest or (rest >= piece.k and piece.may_be(tuples[small[child]])):
            break
        small[c] |= size[c] >= piece.k
    label: Ints = np.where(small[child], -1, child)
    return label if len(np.unique(label)) > 1 else None
