"""Lists in plain loops, which Numba compiles in a fraction of the time that its own np.sort and slices take."""

import numpy as np

from shoal.kernels import compiler as nb


@nb.njit(cache=True, nogil=True)
def longer(array, needed):
    """The array with room for at least `needed` entries, and as many again."""
    copy = np.empty(2 * needed, array.dtype)
    for i in range(len(array)):
        copy[i] = array[i]
    return copy


@nb.njit(cache=True, nogil=True)
def ascend(array, start, stop):
    """Sort array[start:stop] in place (Shell). The last pass has gap 1 and sorts by insertion, whatever the passes before it did."""
    gap = 1
    while 3 * gap + 1 < stop - start:
        gap = 3 * gap + 1
    while gap > 0:
        if gap == 1 or stop - start > 32:  # short rows need no more than the last pass
            for p in range(start + gap, stop):
                value = array[p]
                q = p
                while q >= start + gap and array[q - gap] > value:
                    array[q] = array[q - gap]
                    q -= gap
                array[q] = value
        gap //= 3
