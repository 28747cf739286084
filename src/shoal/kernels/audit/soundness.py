"""Whether rows are sets at all: every row inside the data, its items ascending, none twice, each with a name."""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from shoal.kernels.audit.threads import blocks_of_rows, in_threads


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
