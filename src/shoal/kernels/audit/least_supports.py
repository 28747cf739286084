"""Per row, the support of the rarest itemset of up to m of its items: what whoever knows m items of a person can make of them.

Items are numbered rarest first, and an itemset is met once, at its prefix in that order, as in `shoal.kernels.audit.itemset_counts`. A
prefix owns the list of its rows; one dense counter over what stands behind it in them gives the support of all extensions.
A row's least support can only fall and stops at 1: a prefix all of whose rows are at 1 already is left at once.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from shoal.kernels.audit.lists import longer
from shoal.kernels.audit.numbered_rows import numbered_rows
from shoal.kernels.audit.threads import blocks_of_work, in_threads


def least_supports(
    offsets: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    rank: npt.NDArray[np.int32],
    least: npt.NDArray[np.int64],
    m: int,
    threads: int | None = None,
) -> None:
    """Lower `least[row]` to the support of the rarest itemset of at most m items of the row. `rank` numbers items, rarest first."""
    n_items = len(rank)
    if not n_items:
        return
    laid = numbered_rows(offsets, items, rank, threads)
    starts, rows, places = occurrences(laid.offsets, laid.tails, n_items)

    def run(first: int, last: int) -> npt.NDArray[np.int64]:
        own = least.copy()
        walk(laid.tails, starts, rows, places, own, first, last, min(m, laid.longest), n_items)
        return own

    for own in in_threads(run, blocks_of_work(laid.volume + 1.0, 4), threads):
        np.minimum(least, own, out=least)


@nb.njit(cache=True, nogil=True)
def occurrences(offsets, tails, n_items):
    """(starts, rows, places): item i stands in `rows[starts[i]:starts[i + 1]]`, at these places of `tails`."""
    starts = np.zeros(n_items + 1, np.int64)
    for row in range(len(offsets) - 1):
        for p in range(offsets[row] + row, offsets[row + 1] + row):
            starts[tails[p] + 1] += 1
    for i in range(n_items):
        starts[i + 1] += starts[i]
    filled = np.empty(n_items, np.int64)
    for i in range(n_items):
        filled[i] = starts[i]
    rows = np.empty(starts[n_items], np.int64)
    places = np.empty(starts[n_items], np.int64)
    for row in range(len(offsets) - 1):
        for p in range(offsets[row] + row, offsets[row + 1] + row):
            at = filled[tails[p]]
            rows[at] = row
            places[at] = p
            filled[tails[p]] = at + 1
    return starts, rows, places


@nb.njit(cache=True, nogil=True)
def walk(tails, starts, rows, places, least, first, last, m, n_items):
    """Visit all itemsets of at most m items whose rarest item is in [first, last), and lower `least` for their rows.

    A prefix has its rows in a stretch of one stack. When it is opened, the extensions that have to be opened in turn get theirs behind
    it, bucketed by item.
    """
    count = np.zeros(n_items, np.int64)
    slot = np.zeros(n_items, np.int64)
    touched = np.empty(n_items, np.int32)
    entry_row = np.empty(4096, np.int64)
    entry_place = np.empty(4096, np.int64)
    child_from = np.empty(1024, np.int64)
    child_to = np.empty(1024, np.int64)
    frame_next = np.zeros(m + 1, np.int64)
    frame_stop = np.zeros(m + 1, np.int64)
    frame_entries = np.zeros(m + 1, np.int64)
    for a in range(first, last):
        support = starts[a + 1] - starts[a]
        if support > len(entry_row):
            entry_row = longer(entry_row, support)
            entry_place = longer(entry_place, support)
        for i in range(support):
            entry_row[i] = rows[starts[a] + i]
            entry_place[i] = places[starts[a] + i]
            least[entry_row[i]] = min(least[entry_row[i]], support)
        # The virtual frame 0 has one child: the item itself.
        child_from[0], child_to[0] = 0, support
        frame_next[0], frame_stop[0], frame_entries[0] = 0, 1, support
        depth = 0
        while depth >= 0:
            if frame_next[depth] == frame_stop[depth]:
                depth -= 1
                continue
            begin, end = child_from[frame_next[depth]], child_to[frame_next[depth]]
            frame_next[depth] += 1
            size = depth + 1
            is_open = False
            for i in range(begin, end):
                is_open |= least[entry_row[i]] > 1
            if size == m or not is_open:
                continue
            n_touched = 0
            for i in range(begin, end):
                p = entry_place[i] + 1
                while tails[p] >= 0:
                    if count[tails[p]] == 0:
                        touched[n_touched] = tails[p]
                        n_touched += 1
                    count[tails[p]] += 1
                    p += 1
            for i in range(begin, end):
                p = entry_place[i] + 1
                row = entry_row[i]
                while tails[p] >= 0:
                    least[row] = min(least[row], count[tails[p]])
                    p += 1
            n_children, at = frame_stop[depth], frame_entries[depth]
            if size + 1 < m:
                if n_children + n_touched > len(child_from):
                    child_from = longer(child_from, n_children + n_touched)
                    child_to = longer(child_to, n_children + n_touched)
                for t in range(n_touched):
                    item = touched[t]
                    slot[item] = -1
                    if count[item] > 1:  # the row of a single one is at 1 now
                        slot[item] = n_children
                        child_from[n_children] = child_to[n_children] = at
                        at += count[item]
                        n_children += 1
                if at > len(entry_row):
                    entry_row = longer(entry_row, at)
                    entry_place = longer(entry_place, at)
                for i in range(begin, end):
                    p = entry_place[i] + 1
                    while tails[p] >= 0:
                        s = slot[tails[p]]
                        if s >= 0:
                            entry_row[child_to[s]] = entry_row[i]
                            entry_place[child_to[s]] = p
                            child_to[s] += 1
                        p += 1
            for t in range(n_touched):
                count[touched[t]] = 0
            if size + 1 < m:
                depth += 1
                frame_next[depth] = frame_stop[depth - 1]
                frame_stop[depth] = n_children
                frame_entries[depth] = at
