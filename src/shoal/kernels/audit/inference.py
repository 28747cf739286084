"""How sure an attacker can be of a sensitive item: the kernel under the (k,l^m) audit.

Classes are walked one by one, in each every set of at most m items that occurs, the empty one included, at its prefix in the order
of items. A prefix owns the rows that hold it; one pass over them counts all its extensions, and beside each extension
the sensitive items of the same rows. A prefix none of whose rows holds a sensitive item gives nothing away, nor does
anything below it. People are counted in place of rows where these say whose they are: the rows of a person stand together in a class,
and whoever was counted last is not counted again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb

SHEET = 1 << 22
"""Counters for (item, sensitive item) that are held at once."""

_FIGURES = 5
"""What is kept of a pair before the members of its set: class, sensitive item, rows with both, rows with the set, size."""


class _Room(NamedTuple):
    """Arrays for the walk, made where nothing has to be compiled for it."""

    bad: npt.NDArray[np.int64]
    """Per size of the set, the pairs that tell too much."""
    kept: npt.NDArray[np.int64]
    """The surest pairs, a line each."""
    times: npt.NDArray[np.int64]
    slot: npt.NDArray[np.int64]
    holder: npt.NDArray[np.int64]
    """Per item, the rows or people that hold it, its place among the children, and who was counted last."""
    told: npt.NDArray[np.int64]
    told_by: npt.NDArray[np.int64]
    """Per sensitive item, the rows or people of the class that have it, and who was counted last."""
    prefix: npt.NDArray[np.int64]
    n_children: npt.NDArray[np.int64]
    following: npt.NDArray[np.int64]
    length: npt.NDArray[np.int64]
    """Per depth, its item, its children, the next of these, and the rows that hold the prefix."""
    lists: npt.NDArray[np.int64]
    children: npt.NDArray[np.int32]
    sheet: npt.NDArray[np.int32]


def count_inferences(
    offsets: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    n_items: int,
    sensitive_offsets: npt.NDArray[np.int64],
    sensitive: npt.NDArray[np.int32],
    n_sensitive: int,
    order: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    whose: npt.NDArray[np.int64] | None,
    first: int,
    last: int,
    l: int,  # noqa: E741 (the papers' name)
    m: int,
    keep: int,
    only_one: bool,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Sets and sensitive items with more than 1/l of the set's rows, in classes [first, last).

    The rows of class c are order[starts[c]:starts[c + 1]]; with `whose` their people are counted. Returns (per size of the
    set, how many such pairs; and of up to `keep`, the surest first: class, sensitive item, rows with both, rows with the set, size,
    members).
    """
    bounds = starts[first : last + 1]
    here = order[bounds[0] : bounds[-1]]
    occurring = np.concatenate(([0], np.cumsum(offsets[here + 1] - offsets[here])))[bounds - bounds[0]]
    widest = min(n_items, int(np.diff(occurring).max(initial=0)))
    times, slot = np.zeros((2, n_items), np.int64)
    prefix, n_children, following, length = np.zeros((4, m + 1), np.int64)
    room = _Room(
        bad=np.zeros(m + 1, np.int64),
        kept=np.full((keep, _FIGURES + max(m, 1)), -1, np.int64),
        times=times,
        slot=slot,
        holder=np.full(n_items, -1, np.int64),
        told=np.zeros(n_sensitive, np.int64),
        told_by=np.full(n_sensitive, -1, np.int64),
        prefix=prefix,
        n_children=n_children,
        following=following,
        length=length,
        lists=np.empty((m, int(np.diff(bounds).max(initial=0))), np.int64),
        children=np.empty((m, widest), np.int32),
        sheet=np.zeros(max(widest, min(SHEET, widest * n_sensitive)), np.int32),
    )
    n_kept = _walk_classes(
        offsets, items, sensitive_offsets, sensitive, order, starts, whose, first, last, l, m, only_one, room
    )
    kept = room.kept[:n_kept]
    return room.bad, kept[:, :_FIGURES], kept[:, _FIGURES:]


@nb.njit(cache=True, nogil=True)
def _walk_classes(
    offsets,
    items,
    sensitive_offsets,
    sensitive,
    order,
    starts,
    whose,
    first,
    last,
    l,  # noqa: E741
    m,
    only_one,
    room,
):
    """Fill `bad` and `kept`: how many are kept. What is said of people is compiled where `whose` is not None."""
    bad, kept, prefix = room.bad, room.kept, room.prefix
    count, slot, holder = room.times, room.slot, room.holder
    told, told_by, sheet = room.told, room.told_by, room.sheet
    n_children, following, length = room.n_children, room.following, room.length
    lists, children = room.lists, room.children
    n_sensitive = len(told)
    n_kept = 0
    who = np.int64(-1)
    for c in range(first, last):
        size = starts[c + 1] - starts[c]
        members = size
        if whose is not None:
            members = 0
            for s in range(n_sensitive):
                told_by[s] = -1
        occurring = 0
        sensitive_here = 0
        for i in range(starts[c], starts[c + 1]):
            row = order[i]
            occurring += offsets[row + 1] - offsets[row]
            if whose is not None:
                members += i == starts[c] or whose[row] != who
                who = whose[row]
            for p in range(sensitive_offsets[row], sensitive_offsets[row + 1]):
                sensitive_here += 1
                if whose is not None:
                    if told_by[sensitive[p]] == who:
                        continue
                    told_by[sensitive[p]] = who
                told[sensitive[p]] += 1
        for s in range(n_sensitive):
            if told[s] * l > members:
                bad[0] += 1
                n_kept = _keep(kept, n_kept, c, s, told[s], members, prefix, 0)
            told[s] = 0
        if sensitive_here == 0 or occurring == 0 or m == 0:
            continue
        if only_one:
            for s in range(m + 1):
                if bad[s] > 0:
                    return n_kept
        for i in range(size):
            lists[0, i] = order[starts[c] + i]
        length[0] = size
        depth = 0
        fresh = True
        while depth >= 0:
            if fresh:
                n_touched = 0
                telling = 0
                above = prefix[depth - 1] if depth > 0 else -1
                for i in range(length[depth]):
                    row = lists[depth, i]
                    telling += sensitive_offsets[row + 1] - sensitive_offsets[row]
                    for q in range(offsets[row], offsets[row + 1]):
                        item = items[q]
                        if item > above:
                            if count[item] == 0:
                                children[depth, n_touched] = item
                                slot[item] = n_touched
                                n_touched += 1
                                holder[item] = -1
                            if whose is not None:
                                if holder[item] == whose[row]:
                                    continue
                                holder[item] = whose[row]
                            count[item] += 1
                if telling > 0 and n_touched > 0:
                    width = len(sheet) // n_touched
                    width = n_sensitive if width > n_sensitive else width
                    if whose is not None:
                        counted = np.zeros(n_touched * width, np.int64)
                    low = 0
                    while low < n_sensitive:
                        if whose is not None:
                            for at in range(n_touched * width):
                                counted[at] = -1
                        for i in range(length[depth]):
                            row = lists[depth, i]
                            for p in range(sensitive_offsets[row], sensitive_offsets[row + 1]):
                                s = sensitive[p] - low
                                if 0 <= s < width:
                                    for q in range(offsets[row], offsets[row + 1]):
                                        if items[q] > above:
                                            at = slot[items[q]] * width + s
                                            if whose is not None:
                                                if counted[at] == whose[row]:
                                                    continue
                                                counted[at] = whose[row]
                                            sheet[at] += 1
                        for t in range(n_touched):
                            item = children[depth, t]
                            for s in range(width):
                                both = sheet[t * width + s]
                                if both * l > count[item]:
                                    bad[depth + 1] += 1
                                    prefix[depth] = item
                                    n_kept = _keep(kept, n_kept, c, low + s, both, count[item], prefix, depth + 1)
                                sheet[t * width + s] = 0
                        low += width
                for t in range(n_touched):
                    count[children[depth, t]] = 0
                n_children[depth] = n_touched if depth + 1 < m and telling > 0 else 0
                following[depth] = 0
                fresh = False
            if following[depth] == n_children[depth]:
                depth -= 1
                continue
            item = children[depth, following[depth]]
            following[depth] += 1
            prefix[depth] = item
            held = 0
            for i in range(length[depth]):
                row = lists[depth, i]
                low, high = offsets[row], offsets[row + 1]
                while low < high:
                    middle = (low + high) >> 1
                    if items[middle] < item:
                        low = middle + 1
                    else:
                        high = middle
                if low < offsets[row + 1] and items[low] == item:
                    lists[depth + 1, held] = row
                    held += 1
            depth += 1
            length[depth] = held
            fresh = True
    return n_kept


@nb.step
def _keep(kept, n_kept, c, s, both, support, prefix, size):
    """Insert a pair among the kept ones if it is surer than the last; earlier ones win ties."""
    keep, length = kept.shape
    if n_kept == keep:
        if keep == 0 or both * kept[keep - 1, 3] <= kept[keep - 1, 2] * support:
            return n_kept
    else:
        n_kept += 1
    at = n_kept - 1
    while at > 0 and both * kept[at - 1, 3] > kept[at - 1, 2] * support:
        for i in range(length):
            kept[at, i] = kept[at - 1, i]
        at -= 1
    kept[at, 0], kept[at, 1], kept[at, 2], kept[at, 3], kept[at, 4] = c, s, both, support, size
    for i in range(_FIGURES, length):
        kept[at, i] = prefix[i - _FIGURES] if i - _FIGURES < size else -1
    return n_kept
