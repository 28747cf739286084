"""Centres by majority, and what they lose: an item stands in a class's centre if strictly more than half of its members
have it (PTA, Algorithm 2, lines 17 to 26). Each item is then added or removed in the smaller part of the class, so no
other centre loses less.

Rows stay sparse: a class counts only the items its members hold, so all classes together cost one pass over the data.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.arrays import sort_range
from shoal.kernels.parallel import even_blocks, over_blocks


class Centres(NamedTuple):
    """Class c is published as items[offsets[c]:offsets[c + 1]], which adds and removes so many occurrences."""

    offsets: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    added: npt.NDArray[np.int64]
    removed: npt.NDArray[np.int64]


def members(
    of_row: npt.NDArray[np.integer[Any]], n_classes: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The rows class after class, ascending in each, and where each class begins: (order, bounds)."""
    bounds = np.zeros(n_classes + 1, np.int64)
    np.cumsum(np.bincount(of_row, minlength=n_classes), out=bounds[1:])
    return np.argsort(of_row, kind="stable").astype(np.int64, copy=False), bounds


def class_centres(
    offsets: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    n_items: int,
    order: npt.NDArray[np.int64],
    bounds: npt.NDArray[np.int64],
    threads: int | None = None,
) -> Centres:
    """The majority centre of each class, and its loss; class c has the rows order[bounds[c]:bounds[c + 1]]."""
    n_classes = len(bounds) - 1
    occurrences = np.zeros(len(order) + 1, np.int64)
    np.cumsum(np.diff(offsets)[order], out=occurrences[1:])
    work = np.diff(occurrences[bounds]) + np.diff(bounds) + 1.0
    # Each block counts over all items: no more blocks than the data is worth.
    blocks = even_blocks(work, max(1, min(64, int(occurrences[-1]) // (n_items + 1))))
    parts = over_blocks(
        lambda a, b: centres_of_block(offsets, items, n_items, order, bounds, occurrences, a, b), blocks, threads
    )
    out = np.zeros(n_classes + 1, np.int64)
    if not parts:
        return Centres(out, np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64))
    lengths, added, removed = (np.concatenate([part[i] for part in parts]) for i in (0, 2, 3))
    np.cumsum(lengths, out=out[1:])
    centres = np.concatenate([part[1][: part[0].sum()] for part in parts])
    return Centres(out, centres, added, removed)


@nb.njit(cache=True, nogil=True)
def centres_of_block(offsets, items, n_items, order, bounds, occurrences, first, last):
    """Lengths and items (room may be left behind them) of the centres of classes [first, last), occurrences added, removed."""
    lengths = np.zeros(last - first, np.int64)
    added = np.zeros(last - first, np.int64)
    removed = np.zeros(last - first, np.int64)
    count = np.zeros(n_items, np.int32)
    # A centre holds no more items than its members have occurrences: they can lie one behind the other in this room.
    centre = np.empty(occurrences[bounds[last]] - occurrences[bounds[first]], np.int32)
    end = np.int64(0)
    for c in range(first, last):
        size = bounds[c + 1] - bounds[c]
        start = end
        for i in range(bounds[c], bounds[c + 1]):
            row = order[i]
            for p in range(offsets[row], offsets[row + 1]):
                count[items[p]] += 1
                if 2 * count[items[p]] > size and 2 * (count[items[p]] - 1) <= size:
                    centre[end] = items[p]
                    end += 1
        for q in range(start, end):
            added[c - first] += size - count[centre[q]]
            count[centre[q]] = 0
        for i in range(bounds[c], bounds[c + 1]):
            row = order[i]
            for p in range(offsets[row], offsets[row + 1]):
                removed[c - first] += count[items[p]]
                count[items[p]] = 0
        sort_range(centre, start, end)
        lengths[c - first] = end - start
    return lengths, centre, added, removed
