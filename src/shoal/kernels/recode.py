"""Rows under a recoding: every item replaced by its token, each token once, and the rows of each token.

A recoded row is never longer than its original, so it is written into the original's place in a buffer of the same
shape; blocks of rows go in parallel and nothing has to be moved together afterwards.
"""

import numba as nb
import numpy as np

from shoal.kernels.arrays import sort_range


@nb.njit(cache=True, nogil=True)
def recode_rows(offsets, items, token, out, stops, first, last):
    """Rows [first, last) as ascending sets of tokens in `out[offsets[r]:stops[r]]`; items with a negative token are dropped."""
    for row in range(first, last):
        start = offsets[row]
        stop = start
        if offsets[row + 1] - start > 48:
            for p in range(start, offsets[row + 1]):
                if token[items[p]] >= 0:
                    out[stop] = token[items[p]]
                    stop += 1
            sort_range(out, start, stop)
            end = stop
            stop = start
            for p in range(start, end):
                if stop == start or out[p] != out[stop - 1]:
                    out[stop] = out[p]
                    stop += 1
        else:
            for p in range(start, offsets[row + 1]):
                value = token[items[p]]
                if value < 0:
                    continue
                at = stop
                while at > start and out[at - 1] > value:
                    at -= 1
                if at > start and out[at - 1] == value:
                    continue
                for q in range(stop, at, -1):
                    out[q] = out[q - 1]
                out[at] = value
                stop += 1
        stops[row] = stop


@nb.njit(cache=True, nogil=True)
def rows_by_token(starts, stops, tokens, position, n_positions):
    """The rows that hold each token, ascending, grouped by `position[token]`: (offsets, rows). A row may repeat in a group."""
    offsets = np.zeros(n_positions + 1, np.int64)
    for row in range(len(stops)):
        for p in range(starts[row], stops[row]):
            offsets[position[tokens[p]] + 1] += 1
    for i in range(n_positions):
        offsets[i + 1] += offsets[i]
    at = np.empty(n_positions, np.int64)
    for i in range(n_positions):
        at[i] = offsets[i]
    rows = np.empty(offsets[-1], np.int32)
    for row in range(len(stops)):
        for p in range(starts[row], stops[row]):
            where = position[tokens[p]]
            rows[at[where]] = row
            at[where] += 1
    return offsets, rows


@nb.njit(cache=True, nogil=True)
def node_supports(offsets, items, leaf, parent, first, last):
    """Rows among [first, last) that hold anything under each node."""
    support = np.zeros(len(parent), np.int64)
    seen = np.full(len(parent), -1, np.int32)
    for row in range(first, last):
        for p in range(offsets[row], offsets[row + 1]):
            node = leaf[items[p]]
            while node >= 0 and seen[node] != row:
                seen[node] = row
                support[node] += 1
                node = parent[node]
    return support
