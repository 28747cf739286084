"""A loss that no k-anonymous partition goes below, from the distances of rows to their nearest others.

Take a class of s >= k rows with any centre z. Two rows r, t differ in at most d(r, z) + d(t, z) items; added up over
all pairs, (s - 1) * loss >= sum of d(r, t) over the pairs = half the sum, over the rows r, of r's distances to the s - 1
others. The mean of a row's distances to s - 1 others is at least the mean of its k - 1 smallest distances to any rows. So

    loss of the class >= 1/2 * sum over its rows of (mean distance to the k - 1 nearest other rows of the data),

and the sum over all rows bounds every partition, whatever its classes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.classes.bitmaps import hamming
from shoal.kernels.parallel import over_blocks

BLOCK = 256
"""Rows whose distances to all others are counted together."""


def nearest_sum(
    bitmaps: npt.NDArray[np.uint64], weights: npt.NDArray[np.int64], k: int, threads: int | None = None
) -> int:
    """The sum, over all rows, of a row's distances to its k - 1 nearest others; row i of the bitmaps stands weights[i] times."""
    n = len(weights)
    blocks = [(a, min(a + BLOCK, n)) for a in range(0, n, BLOCK)]
    return sum(map(int, over_blocks(lambda a, b: nearest_sum_of_block(bitmaps, weights, k, a, b), blocks, threads)))


@nb.njit(cache=True, nogil=True)
def nearest_sum_of_block(bitmaps, weights, k, first, last):
    total = np.int64(0)
    at_distance = np.zeros(64 * bitmaps.shape[1] + 1, np.int64)
    for i in range(first, last):
        for d in range(len(at_distance)):
            at_distance[d] = 0
        for j in range(len(weights)):
            at_distance[hamming(bitmaps, i, bitmaps, j)] += weights[j]
        at_distance[0] -= 1  # the row itself
        missing = k - 1
        d = 0
        nearest = 0
        while missing > 0:
            taken = min(missing, at_distance[d])
            nearest += taken * d
            missing -= taken
            d += 1
        total += weights[i] * nearest
    return total
