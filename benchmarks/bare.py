"""The yardstick: all pairs or all 3-subsets of all rows, each adding to one of 1,024 slots, and nothing else."""

import numba as nb
import numpy as np


@nb.njit
def two_subsets(offsets, items):
    slots = np.zeros(1024, np.int64)
    for row in range(len(offsets) - 1):
        stop = offsets[row + 1]
        for i in range(offsets[row], stop):
            for j in range(i + 1, stop):
                slots[(items[i] * 31 + items[j]) & 1023] += 1
    return slots


@nb.njit
def three_subsets(offsets, items):
    slots = np.zeros(1024, np.int64)
    for row in range(len(offsets) - 1):
        stop = offsets[row + 1]
        for i in range(offsets[row], stop):
            for j in range(i + 1, stop):
                for h in range(j + 1, stop):
                    slots[(items[i] * 31 + items[j] * 7 + items[h]) & 1023] += 1
    return slots
