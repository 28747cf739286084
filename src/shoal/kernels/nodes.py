"""Supports of hierarchy nodes, and the rows of each leaf in depth-first order."""

import numba as nb
import numpy as np


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


@nb.njit(cache=True, nogil=True)
def rows_by_position(offsets, items, position, n_positions):
    """The rows that hold each item, ascending, grouped by `position[item]`: (starts, rows). A row may repeat in a group."""
    starts = np.zeros(n_positions + 1, np.int64)
    for p in range(len(items)):
        starts[position[items[p]] + 1] += 1
    for i in range(n_positions):
        starts[i + 1] += starts[i]
    at = np.empty(n_positions, np.int64)
    for i in range(n_positions):
        at[i] = starts[i]
    rows = np.empty(len(items), np.int32)
    for row in range(len(offsets) - 1):
        for p in range(offsets[row], offsets[row + 1]):
            where = position[items[p]]
            rows[at[where]] = row
            at[where] += 1
    return starts, rows
