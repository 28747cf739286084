"""Rows that are equal, told apart by looking at every item of them.

Rows are first brought into an order in which equal ones stand together, then each is compared with the one before it.
Whatever the order, two rows of a run are equal: a wrong order could only part equal rows, never join different ones.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from shoal.kernels.gray import gray_order


def equal_rows(
    offsets: npt.NDArray[np.int64], items: npt.NDArray[np.int32], n_items: int, threads: int | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(order, bounds): run c of equal rows is `order[bounds[c]:bounds[c + 1]]`, ascending within it."""
    order = gray_order(offsets, items, n_items, None, threads)
    first = np.ones(len(order), np.bool_)
    mark_first(offsets, items, order, first)
    return order, np.append(np.flatnonzero(first), len(order)).astype(np.int64)


@nb.njit(cache=True, nogil=True)
def mark_first(offsets, items, order, first):
    """Mark which rows differ from the row before them in the order."""
    for i in range(1, len(order)):
        a, b = order[i - 1], order[i]
        length = offsets[a + 1] - offsets[a]
        if offsets[b + 1] - offsets[b] != length:
            continue
        same = True
        for p in range(length):
            if items[offsets[a] + p] != items[offsets[b] + p]:
                same = False
                break
        first[i] = not same


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
