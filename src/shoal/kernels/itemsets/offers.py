"""Rows in which every occurrence has a node of its own: laid out for the kernels of deletion, and read back.

Row r lies at `offsets[r] + r`, as `shoal.kernels.itemsets.deletion` has it: nodes ascending, each once, ended by -(r + 1). What stands
there for each occurrence is either settled or offered; what is offered, and where the caller says so also what is settled, may be
taken away again.
"""

import numpy as np

from shoal.kernels import compiler as nb
from shoal.kernels.arrays import sort_range

FIRM = 1 << 28
"""What it weighs to take away a token that has to stay: more than all others of its row together."""


@nb.njit(cache=True, nogil=True)
def lay_out(rows, settled, offered, worth, is_firm, first, last):
    """Write rows [first, last): the settled node of each occurrence, or the one that is offered (-1: none); all tokens stand.

    A token weighs what the occurrences behind it are worth, a settled one more than anything if it `is_firm`.
    """
    offsets, tok, weight, alive = rows.offsets, rows.tok, rows.weight, rows.alive
    for row in range(first, last):
        start = offsets[row] + row
        stop = start
        for o in range(offsets[row], offsets[row + 1]):
            node = settled[o] if settled[o] >= 0 else offered[o]
            if node >= 0:
                tok[stop] = node
                stop += 1
        sort_range(tok, start, stop)
        end = stop
        stop = start
        for p in range(start, end):
            if stop == start or tok[p] != tok[stop - 1]:
                tok[stop] = tok[p]
                weight[stop] = 0
                alive[stop] = True
                stop += 1
        tok[stop] = -(row + 1)
        for o in range(offsets[row], offsets[row + 1]):
            node = settled[o] if settled[o] >= 0 else offered[o]
            if node >= 0:
                p = place_in(tok, start, stop, node)
                added = FIRM if is_firm and settled[o] >= 0 else worth[o]
                weight[p] = min(FIRM, weight[p] + added)


@nb.njit(cache=True, nogil=True)
def rows_of_tokens(offsets, tok, n_tokens):
    """(starts, rows): the rows that each token stands in, ascending."""
    starts = np.zeros(n_tokens + 1, np.int64)
    for row in range(len(offsets) - 1):
        p = offsets[row] + row
        while tok[p] >= 0:
            starts[tok[p] + 1] += 1
            p += 1
    for t in range(n_tokens):
        starts[t + 1] += starts[t]
    at = np.empty(n_tokens, np.int64)
    for t in range(n_tokens):
        at[t] = starts[t]
    rows = np.empty(starts[n_tokens], np.int32)
    for row in range(len(offsets) - 1):
        p = offsets[row] + row
        while tok[p] >= 0:
            rows[at[tok[p]]] = row
            at[tok[p]] += 1
            p += 1
    return starts, rows


@nb.njit(cache=True, nogil=True)
def mark_standing(rows, settled, offered, stands, first, last):
    """Mark in `stands` the occurrences of rows [first, last) whose token is there."""
    offsets, tok, alive = rows.offsets, rows.tok, rows.alive
    for row in range(first, last):
        start = offsets[row] + row
        stop = start
        while tok[stop] >= 0:
            stop += 1
        for o in range(offsets[row], offsets[row + 1]):
            node = settled[o] if settled[o] >= 0 else offered[o]
            stands[o] = node >= 0 and alive[place_in(tok, start, stop, node)]


@nb.njit(cache=True, nogil=True)
def take_lowest(offsets, ladder, leaf, rung, first, last):
    """Let each occurrence of rows [first, last) that is published higher, or not at all, count as the lowest token of its row above it.

    No token leaves its row by that, or others that stand beside it elsewhere would become rare: the last occurrence behind it stays.
    """
    n_rungs = len(ladder)
    tokens, behind = np.empty(64, np.int32), np.empty(64, np.int64)
    for row in range(first, last):
        begin, end = offsets[row], offsets[row + 1]
        if end - begin > len(tokens):
            tokens, behind = np.empty(2 * (end - begin), np.int32), np.empty(2 * (end - begin), np.int64)
        n_above = 0
        for o in range(begin, end):
            if rung[o] > 0:
                tokens[n_above] = ladder[rung[o], leaf[o]]
                n_above += 1
        if n_above == 0:
            continue
        sort_range(tokens, 0, n_above)
        n_tokens = 0  # each once, and the occurrences behind it
        for t in range(n_above):
            if n_tokens > 0 and tokens[n_tokens - 1] == tokens[t]:
                behind[n_tokens - 1] += 1
            else:
                tokens[n_tokens] = tokens[t]
                behind[n_tokens] = 1
                n_tokens += 1
        for o in range(begin, end):
            if rung[o] == 0:
                continue
            for r in range(1, n_rungs if rung[o] < 0 else rung[o]):
                node = ladder[r, leaf[o]]
                if node < 0:
                    continue
                lower = place_in(tokens, 0, n_tokens, node)
                if lower < n_tokens and tokens[lower] == node and behind[lower] > 0:
                    own = place_in(tokens, 0, n_tokens, ladder[rung[o], leaf[o]]) if rung[o] > 0 else -1
                    if own < 0 or behind[own] > 1:
                        if own >= 0:
                            behind[own] -= 1
                        behind[lower] += 1
                        rung[o] = r
                    break


@nb.step
def place_in(values, start, stop, wanted):
    """The first place of ascending values that is not below the wanted one."""
    while start < stop:
        middle = (start + stop) // 2
        if values[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start
