"""How often pairs of items occur together, for items of some ranks only: a dense table, and one look at each row."""

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb


def count_pairs(
    offsets: npt.NDArray[np.int64], items: npt.NDArray[np.int32], rank: npt.NDArray[np.integer], low: int, high: int
) -> npt.NDArray[np.int32]:
    """`counts[r - low, s]`: the rows with an item of rank r and one of rank s < r, for r from `low` up to `high`."""
    counts = np.zeros((high - low, high), np.int32)
    _count_pairs(offsets, items, rank, low, high, np.empty(np.diff(offsets).max(initial=0), np.int64), counts)
    return counts


@nb.njit(cache=True, nogil=True)
def _count_pairs(offsets, items, rank, low, high, held, counts):
    for row in range(len(offsets) - 1):
        n, any_high = 0, False
        for p in range(offsets[row], offsets[row + 1]):
            r = rank[items[p]]
            if r < high:
                held[n] = r
                n += 1
                any_high |= r >= low
        if not any_high:
            continue
        for i in range(n):
            r = held[i]
            if r >= low:
                for j in range(n):
                    if held[j] < r:
                        counts[r - low, held[j]] += 1
