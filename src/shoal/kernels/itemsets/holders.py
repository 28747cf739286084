"""Rows that must join others, so that sets which stand in too few of them stand in enough, over rows laid out as in `rows`."""

import numba as nb
import numpy as np


@nb.njit(cache=True, nogil=True)
def rows_to_fill(offsets, tails, lengths, sets, inside, k):
    """Row by row, those outside that hold a set (ascending, unused places -1, one a line) of which fewer than k rows are inside yet."""
    n_rows = len(lengths)
    n_sets = sets.shape[0]
    count = np.zeros(n_sets, np.int64)
    joined = np.zeros(n_rows, np.bool_)
    for wanted in (True, False):
        for row in range(n_rows):
            if inside[row] != wanted:
                continue
            needed = wanted
            for s in range(n_sets):
                if not needed and count[s] < k and holds(offsets, tails, lengths, row, sets, s):
                    needed = True
            if needed:
                joined[row] = not wanted
                for s in range(n_sets):
                    if holds(offsets, tails, lengths, row, sets, s):
                        count[s] += 1
    return joined


@nb.njit(cache=True, nogil=True)
def holds(offsets, tails, lengths, row, sets, s):
    """Whether the row has all tokens of set s."""
    p = offsets[row] + row
    stop = p + lengths[row]
    for place in range(sets.shape[1]):
        token = sets[s, place]
        if token < 0:
            continue
        while p < stop and tails[p] < token:
            p += 1
        if p == stop or tails[p] != token:
            return False
    return True
