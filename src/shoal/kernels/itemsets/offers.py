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
    offsets, tok, weight = rows.offsets, rows.tok, rows.weight
    token, place, settled = offers.token, offers.place, offers.rung
    offered, worth, is_firm = offers.offer, offers.worth, offers.is_firm
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
                rows.alive[stop] = True
                stop += 1
        tok[stop] = -(row + 1)
        for o in range(offsets[row], offsets[row + 1]):
            rung = settled[o] if settled[o] >= 0 else offered[o]
            if rung >= 0:
                p = place_in(tok, start, stop, token[rung, place[o]])
                added = weight[p] + (FIRM if is_firm and settled[o] >= 0 else worth[o])
                weight[p] = added if added < FIRM else FIRM


def rows_of_tokens(
    offsets: npt.NDArray[np.int64], tok: npt.NDArray[np.int32], n_tokens: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """(starts, rows, places): the rows that each token stands in, ascending, and where in them."""
    starts, at = np.zeros(n_tokens + 1, np.int64), np.empty(n_tokens, np.int64)
    rows, places = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int64)
    _note_rows(offsets, tok, starts, at, rows, places)
    return starts, rows[: starts[-1]], places[: starts[-1]]


@nb.njit(cache=True, nogil=True)
def _note_rows(offsets, tok, starts, at, rows, places):
    for row in range(len(offsets) - 1):
        p = offsets[row] + row
        while tok[p] >= 0:
            starts[tok[p] + 1] += 1
            p += 1
    for t in range(len(at)):
        at[t] = starts[t]
        starts[t + 1] += starts[t]
    for row in range(len(offsets) - 1):
        p = offsets[row] + row
        while tok[p] >= 0:
            rows[at[tok[p]]] = row
            places[at[tok[p]]] = p
            at[tok[p]] += 1
            p += 1


@nb.njit(cache=True, nogil=True)
def note_standing(rows, offers, stands, first, last):
    """Write in `stands` on which rung the occurrences of rows [first, last) stand now, -1 for nowhere."""
    offsets, tok, alive = rows.offsets, rows.tok, rows.alive
    token, place = offers.token, offers.place
    settled, offered = offers.rung, offers.offer
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


def take_lowest(
    offsets: npt.NDArray[np.int64],
    ladder: npt.NDArray[np.int32],
    leaf: npt.NDArray[np.int32],
    rung: npt.NDArray[np.int8],
    first: int,
    last: int,
) -> None:
    """Let each occurrence of rows [first, last) that is published higher, or not at all, count as the lowest token of its row above it.

    No token leaves its row by that, or others that stand beside it elsewhere would become rare: the last occurrence behind it stays.
    """
    longest = np.diff(offsets[first : last + 1]).max(initial=0)
    _take_lowest(offsets, ladder, leaf, rung, first, last, np.empty(longest, np.int32), np.empty(longest, np.int64))


@nb.njit(cache=True, nogil=True)
def _take_lowest(offsets, ladder, leaf, rung, first, last, tokens, behind):
    for row in range(first, last):
        begin, end = offsets[row], offsets[row + 1]
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
            for r in range(1, len(ladder) if rung[o] < 0 else rung[o]):
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
