"""Per row, the support of the rarest itemset of up to m of its items: what whoever knows m items of a person can make of them.

Items are numbered rarest first, and an itemset is met once, at its prefix in that order, as in `shoal.kernels.audit.itemset_counts`. A
prefix owns the list of its rows; one dense counter over what stands behind it in them gives the support of all extensions.
A row's least support can only fall and stops at 1: a prefix all of whose rows are at 1 already is left at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.audit.lists import longer
from shoal.kernels.audit.numbered_rows import copy_behind, count_behind, numbered_rows, people_at
from shoal.kernels.audit.threads import blocks_of_work, in_threads


def least_supports(
    offsets: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    rank: npt.NDArray[np.int32],
    least: npt.NDArray[np.int64],
    m: int,
    threads: int | None = None,
    people: npt.NDArray[np.int32] | None = None,
) -> None:
    """Lower `least[row]` to the support of the rarest itemset of at most m items of the row. `rank` numbers items, rarest first.

    `people` has the person of each row, ascending, where rows are not people: supports are then numbers of people.
    """
    if not len(rank):
        return
    rows = numbered_rows(offsets, items, rank, threads)
    size = min(m, rows.longest)

    def run(first: int, last: int) -> npt.NDArray[np.int64]:
        own = least.copy()
        lower_least(rows, rows.room(first, last, size), own, first, last, size, people)
        return own

    for own in in_threads(run, blocks_of_work(rows.volume + 1.0, 4), threads):
        np.minimum(least, own, out=least)


@nb.njit(cache=True, nogil=True)
def lower_least(rows, room, least, first, last, m, people):
    """Visit all itemsets of at most m items whose rarest item is in [first, last), and lower `least` for their rows.

    A prefix has its rows in a stretch of one stack. When it is opened, the extensions that have to be opened in turn get theirs behind
    it, bucketed by item.
    """
    copies, places, ends = room
    tails = rows.tails if m < 3 else copies
    n_items = len(rows.volume)
    count = np.zeros(n_items, np.int64)
    crowd, latest = count, count
    if people is not None:
        crowd, latest = np.zeros(n_items, np.int64), np.zeros(n_items, np.int64)
    slot = np.zeros(n_items, np.int64)
    touched = np.empty(n_items, np.int32)
    child_from = np.empty(1024, np.int64)
    child_to = np.empty(1024, np.int64)
    frame_next = np.zeros(m + 1, np.int64)
    frame_stop = np.zeros(m + 1, np.int64)
    frame_top = np.zeros(m + 1, np.int64)
    for a in range(first, last):
        support = rows.starts[a + 1] - rows.starts[a]
        if support > len(places):
            places, ends = longer(places, support), longer(ends, support)
        if m < 3:
            for i in range(support):
                places[i] = rows.places[rows.starts[a] + i]
        else:
            if rows.volume[a] >= len(tails):
                tails = np.empty(2 * rows.volume[a], np.int32)
            copy_behind(rows, a, tails, places)
        # The virtual frame 0 has one child: the item itself.
        child_from[0], child_to[0] = 0, support
        frame_next[0], frame_stop[0], frame_top[0] = 0, 1, support
        depth = 0
        while depth >= 0:
            if frame_next[depth] == frame_stop[depth]:
                depth -= 1
                continue
            begin, end = child_from[frame_next[depth]], child_to[frame_next[depth]]
            frame_next[depth] += 1
            n_touched = count_behind(tails, places, ends, begin, end, count, touched, people, crowd, latest)
            support = people_at(tails, places, begin, end, people)
            is_open = False
            for i in range(begin, end):
                row = -tails[ends[i]] - 1
                lowest = min(least[row], support)
                for p in range(places[i] + 1, ends[i] if m > 1 else 0):
                    lowest = min(lowest, crowd[tails[p]])
                least[row] = lowest
                is_open |= lowest > 1
            goes_on = is_open and depth + 2 < m
            n_children, top = frame_stop[depth], frame_top[depth]
            if n_children + n_touched > len(child_from):
                child_from = longer(child_from, n_children + n_touched)
                child_to = longer(child_to, n_children + n_touched)
            for t in range(n_touched):
                item = touched[t]
                slot[item] = -1
                if goes_on and count[item] > 1:  # the row of a single one is at 1 now
                    slot[item] = n_children
                    child_from[n_children] = child_to[n_children] = top
                    top += count[item]
                    n_children += 1
                count[item] = 0
            if n_children == frame_stop[depth]:
                continue
            if top > len(places):
                places, ends = longer(places, top), longer(ends, top)
            for i in range(begin, end):
                for p in range(places[i] + 1, ends[i]):
                    child = slot[tails[p]]
                    if child >= 0:
                        places[child_to[child]] = p
                        child_to[child] += 1
            depth += 1
            frame_next[depth] = frame_stop[depth - 1]
            frame_stop[depth] = n_children
            frame_top[depth] = top
