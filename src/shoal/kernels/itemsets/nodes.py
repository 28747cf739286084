"""Supports of hierarchy nodes. Leaves are laid out depth first, so the rows of any node are one stretch of one array, and the support
of a set of nodes is a few linear scans that mark rows."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.itemsets.prefixes import home_of


class LeafRows(NamedTuple):
    """The rows under node v are `rows[starts[span[v, 0]]:starts[span[v, 1]]]`; one may stand there several times."""

    span: npt.NDArray[Any]
    starts: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int32]


@nb.njit(cache=True, nogil=True)
def covers(span, above, below):
    """Whether all leaves of one node lie under the other."""
    return span[above, 0] <= span[below, 0] and span[below, 1] <= span[above, 1]


@nb.njit(cache=True, nogil=True)
def width(under, node):
    """How many entries the rows under a node take."""
    return under.starts[under.span[node, 1]] - under.starts[under.span[node, 0]]


def node_supports(
    offsets: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    leaf: npt.NDArray[np.int32],
    parent: npt.NDArray[np.int32],
    first: int,
    last: int,
) -> npt.NDArray[np.int64]:
    """Rows among [first, last) that hold anything under each node."""
    support, seen = np.zeros(len(parent), np.int64), np.full(len(parent), -1, np.int32)
    _count_rows(offsets, items, leaf, parent, first, last, support, seen)
    return support


@nb.njit(cache=True, nogil=True)
def _count_rows(offsets, items, leaf, parent, first, last, support, seen):
    for row in range(first, last):
        for p in range(offsets[row], offsets[row + 1]):
            node = leaf[items[p]]
            while node >= 0 and seen[node] != row:
                seen[node] = row
                support[node] += 1
                node = parent[node]


def rows_by_position(
    offsets: npt.NDArray[np.int64], items: npt.NDArray[np.int32], position: npt.NDArray[np.integer], n_positions: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """The rows that hold each item, ascending, grouped by `position[item]`: (starts, rows). A row may repeat in a group."""
    home = home_of(items)
    rows = np.empty(len(items), np.int32) if home is None else home.map_array(len(items), np.int32)
    starts = np.zeros(n_positions + 1, np.int64)
    _group_rows(offsets, items, position, rows, starts, np.empty(n_positions, np.int64))
    return starts, rows


def joint_rows(nodes: npt.NDArray[np.int64], under: LeafRows, n_rows: int) -> npt.NDArray[np.bool_]:
    """Which rows hold something under each of the nodes; an entry of four bytes a row is all it takes."""
    reached = np.zeros(n_rows, np.int32)
    _reach(nodes, under, reached)
    return reached == len(nodes)


@nb.njit(cache=True, nogil=True)
def _reach(nodes, under, reached):
    span, starts, rows = under.span, under.starts, under.rows
    for i in range(len(nodes)):
        # A row has reached i when it holds something under the first i nodes.
        for p in range(starts[span[nodes[i], 0]], starts[span[nodes[i], 1]]):
            if reached[rows[p]] == i:
                reached[rows[p]] = i + 1


@nb.step
def support_up_to(nodes, n, under, stamp, clock, k):
    """Rows that hold something under each of the first n `nodes` (reordered in place, smallest first), counted up to k.

    `stamp` has an entry per row, `clock[0]` the last value used in it.
    """
    for i in range(1, n):
        j = i
        while j > 0 and width(under, nodes[j]) < width(under, nodes[j - 1]):
            nodes[j], nodes[j - 1] = nodes[j - 1], nodes[j]
            j -= 1
    if clock[0] > 2_000_000_000:
        for row in range(len(stamp)):
            stamp[row] = 0
        clock[0] = 0
    span, starts, rows = under
    base = clock[0]
    clock[0] += n
    for i in range(n):
        # A row is stamped base + 1 by the first node, base + 2 by the second if it was base + 1, and so on.
        support = 0
        node = nodes[i]
        for p in range(starts[span[node, 0]], starts[span[node, 1]]):
            row = rows[p]
            if (stamp[row] <= base) if i == 0 else (stamp[row] == base + i):
                stamp[row] = base + i + 1
                support += 1
                if i == n - 1 and support >= k:
                    return support
        if support < k:
            return support
    return support


@nb.njit(cache=True, nogil=True)
def _group_rows(offsets, items, position, rows, starts, at):
    for p in range(len(items)):
        starts[position[items[p]] + 1] += 1
    for i in range(len(at)):
        at[i] = starts[i]
        starts[i + 1] += starts[i]
    for row in range(len(offsets) - 1):
        for p in range(offsets[row], offsets[row + 1]):
            where = position[items[p]]
            rows[at[where]] = row
            at[where] += 1
