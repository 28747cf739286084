"""What kernels need of arrays, in plain loops: Numba compiles these in a fraction of the time that its own slice
assignment and np.sort take, and the first run after an install waits for the compiler."""

import numpy as np

from shoal.kernels import compiler as nb


@nb.step
def larger(array, needed):
    """The array with room for at least `needed` entries, and as many again."""
    copy = np.empty(2 * needed, array.dtype)
    for i in range(len(array)):
        copy[i] = array[i]
    return copy


@nb.step
def with_place(array, n):
    """The array, larger if it has no place for entry n."""
    return array if n < len(array) else larger(array, n + 1)


@nb.step
def sort_range(array, start, stop):
    """Sort array[start:stop] in place: by insertion when it is short, else as a heap."""
    n = stop - start
    if n <= 32:
        for p in range(start + 1, stop):
            value = array[p]
            q = p - 1
            while q >= start and array[q] > value:
                array[q + 1] = array[q]
                q -= 1
            array[q + 1] = value
        return
    root = n // 2
    end = n
    while end > 1:
        if root > 0:
            root -= 1
        else:
            end -= 1
            array[start + end], array[start] = array[start], array[start + end]
        at = root
        value = array[start + at]
        child = 2 * at + 1
        while child < end:
            if child + 1 < end and array[start + child + 1] > array[start + child]:
                child += 1
            if array[start + child] <= value:
                break
            array[start + at] = array[start + child]
            at = child
            child = 2 * at + 1
        array[start + at] = value
