"""Supports of hierarchy nodes, and the rows of each leaf in depth-first order."""

import numba as nb
import numpy as np
import numpy.typing as npt

from shoal.kernels.itemsets.rows import home_of


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


def rows_by_position(
    offsets: npt.NDArray[np.int64], items: npt.NDArray[np.int32], position: npt.NDArray[np.integer], n_positions: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """The rows that hold each item, ascending, grouped by `position[item]`: (starts, rows). A row may repeat in a group."""
    home = home_of(items)
    rows = np.empty(len(items), np.int32) if home is None else home.mapped(len(items), np.int32)
    return _group_rows(offsets, items, position, n_positions, rows), rows


@nb.njit(cache=True, nogil=True)
def joint_support(nodes, span, starts, rows, n_rows):
    """Rows that hold something under each of the nodes, over `rows_by_position`; an entry of four bytes a row is all it takes."""
    reached = np.zeros(n_rows, np.int32)
    found = n_rows
    for i in range(len(nodes)):
        # A row has reached i when it holds something under the first i nodes.
        found = 0
        for p in range(starts[span[nodes[i], 0]], starts[span[nodes[i], 1]]):
            if reached[rows[p]] == i:
                reached[rows[p]] = i + 1
                found += 1
    return found


@nb.njit(cache=True, nogil=True)
def _group_rows(offsets, items, position, n_positions, rows):
    starts = np.zeros(n_positions + 1, np.int64)
    for p in range(len(items)):
        starts[position[items[p]] + 1] += 1
    for i in range(n_positions):
        starts[i + 1] += starts[i]
    at = np.empty(n_positions, np.int64)
    for i in range(n_positions):
        at[i] = starts[i]
    for row in range(len(offsets) - 1):
        for p in range(offsets[row], offsets[row + 1]):
            where = position[items[p]]
            rows[at[where]] = row
            at[where] += 1
    return starts
