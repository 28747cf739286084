"""Whether rows are sets at all (every row inside the data, its items ascending, none twice, each with a name), and which of them are
equal, told apart by looking at every item of them.

Each row looks for its class in a table of the first rows of classes, where its hash says to begin. It joins a class only if it has the
very items of the class's first row, so a bad hash costs time and nothing else. The hash is keyed anew in every run: nobody can
write a file of rows that all begin at the same place.
"""

from __future__ import annotations

import secrets

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.audit.threads import blocks_of_rows, in_threads


def equal_rows(
    offsets: npt.NDArray[np.int64], items: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(order, bounds): class c of equal rows is `order[bounds[c]:bounds[c + 1]]`, ascending; classes come as their first rows do."""
    of_row, n_classes = classes_of_rows(offsets, items, np.uint64(secrets.randbits(64)))
    order = np.argsort(of_row, kind="stable").astype(np.int64)
    sizes = np.bincount(of_row, minlength=n_classes)
    return order, np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


@nb.njit(cache=True, nogil=True)
def classes_of_rows(offsets, items, key):
    """(class of each row, number of classes), numbered as they first appear."""
    n_rows = len(offsets) - 1
    of_row = np.empty(n_rows, np.int64)
    first_row = np.empty(n_rows, np.int64)  # of each class
    n_classes = 0
    size = 16
    while size < 2 * n_rows:
        size *= 2
    table = np.full(size, -1, np.int64)  # classes
    for row in range(n_rows):
        at = np.int64(_hash(offsets, items, row, key) & np.uint64(size - 1))
        while table[at] >= 0 and not _are_equal(offsets, items, row, first_row[table[at]]):
            at = (at + 1) & (size - 1)
        if table[at] < 0:
            table[at] = n_classes
            first_row[n_classes] = row
            n_classes += 1
        of_row[row] = table[at]
    return of_row, n_classes


@nb.njit(cache=True, nogil=True)
def _hash(offsets, items, row, key):
    value = key
    for p in range(offsets[row], offsets[row + 1]):
        value = (value ^ np.uint64(items[p])) * np.uint64(0x9E3779B97F4A7C15)
        value ^= (value >> np.uint64(29)) ^ key
    return value ^ (value >> np.uint64(32))


@nb.part
def _are_equal(offsets, items, one, other):
    length = offsets[one + 1] - offsets[one]
    if offsets[other + 1] - offsets[other] != length:
        return False
    same = True
    for p in range(length):
        same = same and items[offsets[one] + p] == items[offsets[other] + p]
    return same


@nb.njit(cache=True, nogil=True)
def sensitive_per_run(offsets, items, order, bounds, n_items):
    """Per run of rows: how many different items its rows hold, and in how many of its rows the most frequent of them stands."""
    distinct = np.zeros(len(bounds) - 1, np.int64)
    most = np.zeros(len(bounds) - 1, np.int64)
    count = np.zeros(n_items, np.int64)
    for c in range(len(bounds) - 1):
        for i in range(bounds[c], bounds[c + 1]):
            for p in range(offsets[order[i]], offsets[order[i] + 1]):
                count[items[p]] += 1
                distinct[c] += count[items[p]] == 1
                most[c] = max(most[c], count[items[p]])
        for i in range(bounds[c], bounds[c + 1]):
            for p in range(offsets[order[i]], offsets[order[i] + 1]):
                count[items[p]] = 0
    return distinct, most


def first_unsound_row(
    offsets: npt.NDArray[np.int64], items: npt.NDArray[np.int32], n_items: int, threads: int | None = None
) -> int:
    """The first row that is not a set of items numbered from 0 to `n_items` - 1, or -1."""
    blocks = blocks_of_rows(offsets, 8 if len(items) > 1 << 20 else 1)
    unsound = in_threads(lambda a, b: int(look_at_rows(offsets, items, n_items, a, b)), blocks, threads)
    return next((row for row in unsound if row >= 0), -1)


@nb.njit(cache=True, nogil=True)
def look_at_rows(offsets, items, n_items, first, last):
    for row in range(first, last):
        start, stop = offsets[row], offsets[row + 1]
        if start < 0 or stop < start or stop > len(items):
            return row
        before = -1
        for p in range(start, stop):
            if items[p] <= before or items[p] >= n_items:
                return row
            before = items[p]
    return -1
