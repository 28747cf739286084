"""In how many rows each two ways stand together, when every row has one way of a first item and one of a second."""

import numpy as np

from shoal.kernels import compiler as nb


@nb.njit(cache=True, nogil=True)
def ways_together(first, second, n_first, n_second):
    """`times[a, b]`: the rows whose first way is a and whose second is b; ways 0 are none, and not counted."""
    times = np.zeros((n_first, n_second), np.int64)
    for row in range(len(first)):
        if first[row] and second[row]:
            times[first[row], second[row]] += 1
    return times
