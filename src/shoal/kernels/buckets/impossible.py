"""Which sensitive values the rules exclude for each row (IVS in Injector, section V-C).

Rules are sorted by their nodes, so that those with a common beginning stand together; a walk over the beginnings takes along
the rows that satisfy them, and each row is compared with few rules. The excluded values of a row are bits; rows with the
same bits are of one kind, and everything later deals with kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.arrays import larger
from shoal.kernels.parallel import even_blocks, over_blocks

if TYPE_CHECKING:
    from shoal.records.knowledge import Covers

BLOCKS = 8


def impossible_kinds(
    above: Covers,
    rule_nodes: npt.NDArray[np.int32],
    rule_value: npt.NDArray[np.int32],
    n_values: int,
    threads: int | None = None,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """(kind, table): the kind of each row, and per kind which of the values the rules exclude. `rule_value` may be -1: no value."""
    n_rows = above.codes.shape[1]
    known = rule_value >= 0
    rule_nodes, rule_value = rule_nodes[known], rule_value[known]
    if not len(rule_value) or not n_rows:
        return np.zeros(n_rows, np.int32), np.zeros((min(n_rows, 1), n_values), np.bool_)
    used, bit = np.unique(rule_value, return_inverse=True)
    order = np.lexsort(rule_nodes.T[::-1])
    words = (len(used) + 63) // 64
    bits = np.zeros((n_rows, words), np.uint64)
    nodes, bit = np.ascontiguousarray(rule_nodes[order]), bit.reshape(-1)[order].astype(np.int64)

    def mark(first: int, last: int) -> None:
        mark_excluded(above.codes, above.base, above.start, above.node, above.most_nodes, nodes, bit, first, last, bits)

    over_blocks(mark, even_blocks(np.ones(n_rows), BLOCKS), threads)
    if words == 1:
        kinds, kind = np.unique(bits[:, 0], return_inverse=True)
        kinds = kinds[:, None]
    else:
        packed = np.ascontiguousarray(bits).view(np.dtype((np.void, 8 * words))).reshape(-1)
        _, first_row, kind = np.unique(packed, return_index=True, return_inverse=True)
        kinds = bits[first_row]
    table = np.zeros((len(kinds), n_values), np.bool_)
    places = np.arange(len(used))
    table[:, used] = (kinds[:, places // 64] >> (places % 64).astype(np.uint64)) & np.uint64(1) > 0
    return kind.reshape(-1).astype(np.int32), table


@nb.njit(cache=True, nogil=True)
def mark_excluded(codes, base, start, node, most_nodes, rule_nodes, rule_bit, first, last, bits):
    """Set the bits of all rules that rows[first:last] satisfy. Rules are sorted by their nodes, attribute by attribute."""
    n_rules, n_attributes = rule_nodes.shape
    rows = np.empty(2 * (last - first) + 16, np.int32)
    frame = np.empty(
        (n_attributes * (most_nodes + 1) + 1, 5), np.int64
    )  # attribute, first and last rule, first and last row
    many = np.zeros(most_nodes, np.int64)
    place = np.full(most_nodes, -1, np.int64)
    for r in range(first, last):
        rows[r - first] = r
    frame[0, 0], frame[0, 1], frame[0, 2], frame[0, 3], frame[0, 4] = 0, 0, n_rules, 0, last - first
    depth = 1
    while depth > 0:
        depth -= 1
        a, low, high = frame[depth, 0], frame[depth, 1], frame[depth, 2]
        row, stop = frame[depth, 3], frame[depth, 4]
        if a == n_attributes:
            for i in range(low, high):
                word, mask = rule_bit[i] >> 6, np.uint64(1) << np.uint64(rule_bit[i] & 63)
                for p in range(row, stop):
                    bits[rows[p], word] |= mask
            continue
        # Which nodes the rules ask for, and how many rows each gets.
        for i in range(low, high):
            if rule_nodes[i, a] >= 0:
                place[rule_nodes[i, a]] = 0
        if rule_nodes[high - 1, a] >= 0:
            for p in range(row, stop):
                value = base[a] + codes[a, rows[p]]
                for q in range(start[value], start[value + 1]):
                    many[node[q]] += 1
        top = stop
        i = low
        while i < high:
            v = rule_nodes[i, a]
            end = i + 1
            while end < high and rule_nodes[end, a] == v:
                end += 1
            if v < 0:  # rules that say nothing about this attribute: the same rows go on
                frame[depth, 0], frame[depth, 1], frame[depth, 2], frame[depth, 3], frame[depth, 4] = (
                    a + 1,
                    i,
                    end,
                    row,
                    stop,
                )
                depth += 1
            elif many[v] > 0:
                place[v] = top
                frame[depth, 0], frame[depth, 1], frame[depth, 2] = a + 1, i, end
                frame[depth, 3], frame[depth, 4] = top, top + many[v]
                top += many[v]
                depth += 1
            else:
                place[v] = -1
            i = end
        if top > len(rows):
            rows = larger(rows, top)
        if rule_nodes[high - 1, a] >= 0:
            for p in range(row, stop):
                value = base[a] + codes[a, rows[p]]
                for q in range(start[value], start[value + 1]):
                    v = node[q]
                    many[v] = 0
                    if place[v] >= 0:
                        rows[place[v]] = rows[p]
                        place[v] += 1
        for i in range(low, high):
            if rule_nodes[i, a] >= 0:
                place[rule_nodes[i, a]] = -1
