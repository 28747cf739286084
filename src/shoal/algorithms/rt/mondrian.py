"""Mondrian (LeFevre, DeWitt, Ramakrishnan 2006): clusters by cutting the table again and again, the fast way to form them.

A part is cut in the column that its box is widest in, if all pieces keep k rows: a column of numbers between two values
at the median, or as near to it as k allows; a column with a tree into the children of its node, those with fewer than k rows
together as one piece. If that column cannot be cut, the next one is tried. Tuples that are equal stay together.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.loss.relational import Space


def mondrian_parts(space: Space, k: int) -> tuple[npt.NDArray[np.int32], int]:
    """(part of each row, how many)."""
    group = np.empty(len(space.points), np.int32)
    waiting = [np.arange(len(space.points), dtype=np.int64)]
    n = 0
    while waiting:
        tuples = waiting.pop()
        pieces = _cut(space, tuples, k)
        if len(pieces) > 1:
            waiting += reversed(pieces)
        else:
            group[tuples] = n
            n += 1
    return group[space.tuple_of], n


def _cut(space: Space, tuples: npt.NDArray[np.int64], k: int) -> list[npt.NDArray[np.int64]]:
    """The pieces of a part, itself alone if it cannot be cut."""
    if int(space.sizes[tuples].sum()) < 2 * k:
        return [tuples]
    box = space.boxes_of_tuples(tuples)
    wide = space.weight * space.column_costs(box[None])[0]
    for j in np.argsort(-wide, kind="stable").tolist():
        if box[j, 0] == box[j, 1] and (space.kind[j] == 0 or space.trees[j].leaf_count[box[j, 0]] == 1):
            continue
        label = _sides(space, tuples, j, k) if space.kind[j] == 0 else _children(space, tuples, j, int(box[j, 0]), k)
        if label is not None:
            order = np.argsort(label, kind="stable")
            return np.split(tuples[order], np.flatnonzero(np.diff(label[order])) + 1)
    return [tuples]


def _sides(space: Space, tuples: npt.NDArray[np.int64], j: int, k: int) -> npt.NDArray[np.int64] | None:
    """0 below the cut, 1 above it, where the two sides are as even as k allows; None if there is no such cut."""
    rank = space.points[tuples, j, 0]
    values, place = np.unique(rank, return_inverse=True)
    below = np.cumsum(np.bincount(place.reshape(-1), space.sizes[tuples]))[:-1]
    total = float(space.sizes[tuples].sum())
    possible = np.flatnonzero((below >= k) & (total - below >= k))
    if not len(possible):
        return None
    at = possible[np.argmin(np.abs(below[possible] - total / 2))]
    side: npt.NDArray[np.int64] = (rank > values[at]).astype(np.int64)
    return side


def _children(space: Space, tuples: npt.NDArray[np.int64], j: int, node: int, k: int) -> npt.NDArray[np.int64] | None:
    """The child of `node` that each tuple is under, -1 for children that are too small; None if all would stay in one piece."""
    tree = space.trees[j]
    assert tree is not None
    children = np.array(tree.children[node], np.int64)
    children = children[np.argsort(tree.span[children, 0])]
    position = tree.span[space.points[tuples, j, 0], 0]
    child = np.searchsorted(tree.span[children, 0], position, side="right") - 1
    size = np.bincount(child, space.sizes[tuples], minlength=len(children))
    small = (size > 0) & (size < k)
    rest = float(size[small].sum())
    # The pooled piece needs k rows too: small children call in the next larger.
    for c in np.argsort(size, kind="stable").tolist():
        if 0 < rest < k and size[c] >= k:
            small[c] = True
            rest += float(size[c])
    label: npt.NDArray[np.int64] = np.where(small[child], -1, child)
    return label if len(np.unique(label)) > 1 else None
