"""Which sensitive values an attacker's rules exclude for each row (IVS in Injector, section V-C).

A rule excludes its value for a row if each of its conditions names the row's value or a category above it. Every rule waits at one
of its conditions, the one that the fewest rows meet; a row asks the rules that wait at its own values and at the categories above
them, and no others. Rows for which the same values are excluded are of one kind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.audit.threads import blocks_of_work, in_threads

BLOCKS = 8


def excluded_kinds(
    codes: Sequence[npt.NDArray[np.int32]],
    leaves: Sequence[npt.NDArray[np.int32]],
    parents: Sequence[npt.NDArray[np.int32]],
    conditions: npt.NDArray[np.int32],
    value: npt.NDArray[np.int32],
    n_values: int,
    n_rows: int,
    threads: int | None = None,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """(kind of each row, per kind which values are excluded).

    Per attribute: the code of each row, the leaf of each code, and the tree (the parent of each node; the root comes last). Per rule:
    the node of each attribute that it names (-1: none), and the place of the value that it excludes.
    """
    # The nodes of all trees in one list, each tree behind the one before.
    shift = np.concatenate(([0], np.cumsum([len(parent) for parent in parents]))).astype(np.int64)
    above = np.full(shift[-1], -1, np.int64)
    met = np.zeros(shift[-1], np.int64)
    leaf = np.empty((len(codes), n_rows), np.int64)
    for a, parent in enumerate(parents):
        above[shift[a] : shift[a + 1] - 1] = parent[:-1] + shift[a]
        leaf[a] = leaves[a][codes[a]] + shift[a]
        count_met(leaf[a], above, met)
    nodes = np.where(conditions >= 0, conditions + shift[:-1], -1)
    excluded, bit = np.unique(value, return_inverse=True)
    bit = bit.reshape(-1).astype(np.int64)
    bits = np.zeros((n_rows, (len(excluded) + 63) // 64), np.uint64)
    free = (nodes < 0).all(axis=1)
    for b in bit[free].tolist():  # no condition: it excludes its value for everybody
        bits[:, b // 64] |= np.uint64(1) << np.uint64(b % 64)
    nodes, bit = nodes[~free], bit[~free]
    if len(nodes):
        rows_meeting = np.where(nodes >= 0, met[nodes], n_rows + 1)
        waits_at = nodes[np.arange(len(nodes)), rows_meeting.argmin(axis=1)]
        order = np.argsort(waits_at, kind="stable")
        nodes, bit = np.ascontiguousarray(nodes[order]), bit[order]
        first_rule = np.searchsorted(waits_at[order], np.arange(shift[-1] + 1))
        in_threads(
            lambda a, b: exclude(leaf, above, first_rule, nodes, bit, a, b, bits),
            blocks_of_work(np.ones(n_rows), BLOCKS),
            threads,
        )
    kinds, kind = _different(bits)
    table = np.zeros((len(kinds), n_values), np.bool_)
    place = np.arange(len(excluded))
    table[:, excluded] = (kinds[:, place // 64] >> (place % 64).astype(np.uint64)) & np.uint64(1) > 0
    return kind, table


def _different(bits: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
    """(the different rows of bits, which of them each row is)."""
    if bits.shape[1] == 1:
        words, which = np.unique(bits[:, 0], return_inverse=True)
        return words[:, None], which.reshape(-1).astype(np.int32)
    whole = np.ascontiguousarray(bits).view(np.dtype((np.void, 8 * bits.shape[1]))).reshape(-1)
    _, first, which = np.unique(whole, return_index=True, return_inverse=True)
    return bits[first], which.reshape(-1).astype(np.int32)


@nb.njit(cache=True, nogil=True)
def count_met(leaf, above, met):
    """Count at each node the rows whose value lies under it."""
    for row in range(len(leaf)):
        v = leaf[row]
        while v >= 0:
            met[v] += 1
            v = above[v]


@nb.njit(cache=True, nogil=True)
def exclude(leaf, above, first_rule, nodes, bit, first, last, bits):
    """Set the bits of all rules that rows [first, last) meet; rules [first_rule[v], first_rule[v + 1]) wait at node v."""
    n_attributes = len(leaf)
    met_by = np.full(len(above), -1, np.int64)  # the last row that met each node
    for row in range(first, last):
        for a in range(n_attributes):
            v = leaf[a, row]
            while v >= 0:
                met_by[v] = row
                v = above[v]
        for a in range(n_attributes):
            v = leaf[a, row]
            while v >= 0:
                for rule in range(first_rule[v], first_rule[v + 1]):
                    meets = True
                    for other in range(n_attributes):
                        if nodes[rule, other] >= 0 and met_by[nodes[rule, other]] != row:
                            meets = False
                            break
                    if meets:
                        bits[row, bit[rule] >> 6] |= np.uint64(1) << np.uint64(bit[rule] & 63)
                v = above[v]
