"""Rows in which every occurrence has a node of its own: laid out for the kernels of deletion, and read back.

Row r lies at `offsets[r] + r`, as `shoal.kernels.itemsets.deletion` has it: nodes ascending, each once, ended by -(r + 1). What stands
there for each occurrence is either settled or offered; what is offered, and where the caller says so also what is settled, may be
taken away again.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.arrays import sort_range

FIRM = 1 << 28
"""What it weighs to take away a token that has to stay: more than all others of its row together."""


class Offers(NamedTuple):
    """What stands, and what is to stand beside it if it can."""

    token: npt.NDArray[np.int32]
    """Of each rung and place."""
    place: npt.NDArray[np.int32]
    """Of each occurrence, as the rest."""
    rung: npt.NDArray[np.int8]
    """Where it stands, -1 for nowhere, ..."""
    offer: npt.NDArray[np.int8]
    """... where it is offered then, -1 for nowhere, ..."""
    worth: npt.NDArray[np.int32]
    """... and what it weighs to take it away."""
    is_firm: bool
    """Whether what stands has to stay."""


@nb.njit(cache=True, nogil=True)
def lay_out(rows, offers, first, last):
    """Write rows [first, last): what stands, and what is offered; all tokens stand.

    A token weighs what the occurrences behind it are worth, a settled one more than anything if it is firm.
    """
    offsets, tok, weight, alive = rows.offsets, rows.tok, rows.weight, rows.alive
    token, place, settled, offered, worth, is_firm = offers
    for row in range(first, last):
        start = offsets[row] + row
        stop = start
        for o in range(offsets[row], offsets[row + 1]):
            rung = settled[o] if settled[o] >= 0 else offered[o]
            if rung >= 0:
                tok[stop] = token[rung, place[o]]
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
            rung = settled[o] if settled[o] >= 0 else offered[o]
            if rung >= 0:
                p = place_in(tok, start, stop, token[rung, place[o]])
                added = FIRM if is_firm and settled[o] >= 0 else worth[o]
                weight[p] = min(FIRM, weight[p] + added)


@nb.njit(cache=True, nogil=True)
def rows_of_tokens(offsets, tok, n_tokens):
    """(starts, rows, places): the rows that each token stands in, ascending, and where in them."""
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
    rows, places = np.empty(starts[n_tokens], np.int32), np.empty(starts[n_tokens], np.int64)
    for row in range(len(offsets) - 1):
        p = offsets[row] + row
        while tok[p] >= 0:
            rows[at[tok[p]]] = row
            places[at[tok[p]]] = p
            at[tok[p]] += 1
            p += 1
    return starts, rows, places


@nb.njit(cache=True, nogil=True)
def note_standing(rows, offers, stands, first, last):
    """Write in `stands` on which rung the occurrences of rows [first, last) stand now, -1 for nowhere."""
    offsets, tok, alive = rows.offsets, rows.tok, rows.alive
    token, place, settled, offered = offers.token, offers.place, offers.rung, offers.offer
    for row in range(first, last):
        start = offsets[row] + row
        stop = start
        all_stand = True
        while tok[stop] >= 0:
            all_stand &= alive[stop]
            stop += 1
        for o in range(offsets[row], offsets[row + 1]):
            rung = settled[o] if settled[o] >= 0 else offered[o]
            is_there = rung >= 0 and (all_stand or alive[place_in(tok, start, stop, token[rung, place[o]])])
            stands[o] = rung if is_there else -1


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
