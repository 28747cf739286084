"""Counts of itemsets and of the rare ones among them: the kernel under the k^m audit.

Items are numbered rarest first, and every itemset is met once, at its prefix in that order. A prefix owns the list of
rows that hold it; one dense counter over the tails of those rows gives the support of all its extensions at once, so no
itemset is ever looked up in a dictionary. Rare items first means that most prefixes die young:

- an extension that stands in all rows of its prefix (a perfect extension) changes no support, so it is not walked but
  counted by a binomial coefficient; a prefix with a single row is all perfect extensions and costs one step;
- what remains below a prefix is small, because its rows are those of the rarest pair it contains.

Work splits by first item; each call owns its counters, so results do not depend on the number of threads.

Pairs of few items need no walk: each pair has a counter, and the rows are read once, from the first to the last, however many they are.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.audit.lists import longer
from shoal.kernels.audit.numbered_rows import NumberedRows, copy_behind, count_behind, people_at


def count_items(items: npt.NDArray[np.int32], n_items: int, first: int, last: int) -> npt.NDArray[np.int64]:
    """How often each item stands at the places [first, last)."""
    return np.bincount(items[first:last], minlength=n_items)


def count_pairs(
    offsets: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    number: npt.NDArray[np.integer],
    longest: int,
    first: int,
    last: int,
    people: npt.NDArray[np.int32] | None,
) -> npt.NDArray[np.int32]:
    """Per pair of numbers a <= b, at a * n + b, the rows among [first, last) that hold both; a number is a pair with itself.

    Where rows are not people, it is the people who have such rows; the rows of a person stand together.
    """
    count = np.zeros(len(number) ** 2, np.int32)
    latest = None if people is None else np.full_like(count, -1)
    _add_pairs(offsets, items, number, np.empty(longest, np.int64), first, last, people, latest, count)
    return count


@nb.njit(cache=True, nogil=True)
def _add_pairs(offsets, items, number, row, first, last, people, latest, count):
    n = len(number)
    for r in range(first, last):
        start = offsets[r]
        size = offsets[r + 1] - start
        for i in range(size):
            a = np.int64(number[items[start + i]])
            row[i] = a
            if people is None:
                count[a * n + a] += 1
            elif latest[a * n + a] != people[r]:
                count[a * n + a] += 1
                latest[a * n + a] = people[r]
            for j in range(i):
                pair = a * n + row[j] if a < row[j] else row[j] * n + a
                if people is None:
                    count[pair] += 1
                elif latest[pair] != people[r]:
                    count[pair] += 1
                    latest[pair] = people[r]


@nb.njit(cache=True, nogil=True)
def mark_pairs(offsets, items, number, longest, count, k, first, last, exposed, unique):
    """As `count_itemsets` marks for m = 2: the rows among [first, last) that hold a rare pair, or one that stands nowhere else."""
    n = len(number)
    row = np.empty(longest, np.int64)
    for r in range(first, last):
        if exposed[r] > 0 and unique[r] > 0:
            continue
        start = offsets[r]
        for i in range(offsets[r + 1] - start):
            a = np.int64(number[items[start + i]])
            row[i] = a
            for j in range(i):
                support = count[a * n + row[j] if a < row[j] else row[j] * n + a]
                if support < k:
                    if exposed[r] == 0:
                        exposed[r] = 2
                    if support == 1 and unique[r] == 0:
                        unique[r] = 2


@nb.njit(cache=True, nogil=True)
def work_by_first_item(offsets, tails, n_items, first, last):
    """A rough price of each first item: the extensions of up to two more items that its rows among [first, last) hold."""
    work = np.ones(n_items, np.float64)
    for row in range(first, last):
        start = offsets[row] + row
        stop = offsets[row + 1] + row
        for p in range(start, stop):
            left = stop - p - 1
            work[tails[p]] += 0.5 * left * left + left
    return work


def counted_itemsets(
    rows: NumberedRows,
    first: int,
    last: int,
    k: int,
    m: int,
    keep: int,
    only_one: bool,
    stop: npt.NDArray[np.bool_],
    exposed: npt.NDArray[np.uint8],
    unique: npt.NDArray[np.uint8],
    people: npt.NDArray[np.int32] | None = None,
) -> Any:
    """Itemsets of size 1 to m whose rarest item is in [first, last).

    Returns (checked, rare, support, size, members): per size, how many itemsets occur and how many of them in fewer than
    k rows; and up to `keep` of the rare ones, rarest first, then smallest, then in walking order. With `only_one` the walk
    ends at the first rare itemset, here or (through `stop`) in another call. Where `exposed` and `unique` are given (one
    entry per row, 0 = not yet), the rows of rare and of unique itemsets of size exactly m are marked with m; call with
    m = 2, 3, ... so that each row gets the smallest size (m = 1 needs no walk). `people` has the person of each row, ascending, where
    rows are not people: an itemset is then in as many people as have a row that holds it.
    """
    room = rows.room(first, last, m)
    return count_itemsets(rows, room, first, last, k, m, keep, only_one, stop, exposed, unique, people)


@nb.njit(cache=True, nogil=True)
def count_itemsets(rows, room, first, last, k, m, keep, only_one, stop, exposed, unique, people):
    copies, entry_pos, entry_stop = room
    tails = rows.tails if m < 3 else copies
    n_items = len(rows.volume)
    checked = np.zeros(m + 1, np.int64)
    rare = np.zeros(m + 1, np.int64)
    kept = 0
    kept_support = np.zeros(keep, np.int64)
    kept_size = np.zeros(keep, np.int64)
    kept_items = np.full((keep, m), -1, np.int32)
    marking = len(exposed) > 0

    count = np.zeros(n_items, np.int32)
    crowd, latest = (
        count,
        count,
    )  # people who have such rows, and the last of them; where rows are people, they are their number
    if people is not None:
        crowd, latest = np.zeros(n_items, np.int32), np.zeros(n_items, np.int32)
    slot = np.zeros(n_items, np.int64)
    perfect = np.zeros(n_items, np.bool_)
    touched = np.empty(n_items, np.int32)

    # One frame per item of the prefix. Children of a frame and their rows lie on two stacks.
    prefix = np.empty(m + 1, np.int32)
    frame_next = np.zeros(m + 1, np.int64)
    frame_stop = np.zeros(m + 1, np.int64)
    frame_children = np.zeros(m + 1, np.int64)
    frame_entries = np.zeros(m + 1, np.int64)
    frame_perfect = np.zeros(m + 1, np.int64)
    frame_mark = np.zeros(m + 1, np.int64)
    child_item = np.empty(1024, np.int32)
    child_from = np.empty(1024, np.int64)
    child_to = np.empty(1024, np.int64)
    perfect_items = np.empty(1024, np.int32)

    for a in range(first, last):
        if only_one and stop[0]:
            break
        n_first = rows.starts[a + 1] - rows.starts[a]
        if n_first == 0:
            continue
        if n_first > len(entry_pos):
            entry_pos = np.empty(2 * n_first, np.int64)
            entry_stop = np.empty(2 * n_first, np.int64)
        if m < 3 or n_first == 1:
            for i in range(n_first):
                entry_pos[i] = rows.places[rows.starts[a] + i]
        else:
            if rows.volume[a] >= len(tails):
                tails = np.empty(2 * rows.volume[a], np.int32)
            copy_behind(rows, a, tails, entry_pos)
        # The virtual frame 0 has one child: the first item itself.
        child_item[0] = a
        child_from[0] = 0
        child_to[0] = n_first
        frame_next[0] = 0
        frame_stop[0] = 1
        frame_children[0] = 1
        frame_entries[0] = n_first
        frame_perfect[0] = 0
        frame_mark[0] = 0
        depth = 0
        while depth >= 0:
            if frame_next[depth] == frame_stop[depth]:
                for i in range(frame_mark[depth], frame_perfect[depth]):
                    perfect[perfect_items[i]] = False
                depth -= 1
                continue
            child = frame_next[depth]
            frame_next[depth] += 1
            begin, end = child_from[child], child_to[child]
            n_rows = end - begin
            support = people_at(tails, entry_pos, begin, end, people)
            prefix[depth] = child_item[child]
            size = depth + 1
            n_perfect = frame_perfect[depth]

            # The prefix itself is an itemset.
            checked[size] += 1
            if support < k:
                rare[size] += 1
                kept = _keep(kept_support, kept_size, kept_items, kept, keep, support, prefix, size)
                if only_one:
                    stop[0] = True
                    return checked, rare, kept_support[:kept], kept_size[:kept], kept_items[:kept]

            if size == m:
                continue

            if n_rows == 1:
                # Everything behind it may join or not: all have support 1. (Deeper down, children of one row were settled by their
                # parent.)
                _add_binomials(checked, rare, size, m, rows.volume[a] - 1, k > 1)
                continue

            n_touched = count_behind(tails, entry_pos, entry_stop, begin, end, count, touched, people, crowd, latest)

            if size + 1 == m:
                # Last level: the counters are the answer.
                old_perfect = 0
                if n_perfect > 0:
                    for t in range(n_touched):
                        old_perfect += perfect[touched[t]]
                rare_here = n_touched - old_perfect
                if support >= k:
                    rare_here = 0
                    for t in range(n_touched):
                        rare_here += crowd[touched[t]] < k
                if rare_here > 0 and (kept < keep or (keep > 0 and kept_support[keep - 1] > 1)):
                    for t in range(n_touched):
                        item = touched[t]
                        if crowd[item] < k and not perfect[item]:
                            prefix[size] = item
                            kept = _keep(
                                kept_support, kept_size, kept_items, kept, keep, np.int64(crowd[item]), prefix, m
                            )
                if marking and rare_here > 0:
                    for i in range(begin, end):
                        row = -tails[entry_stop[i]] - 1
                        if exposed[row] == 0 or unique[row] == 0:
                            for p in range(entry_pos[i] + 1, entry_stop[i]):
                                if crowd[tails[p]] < k:
                                    _mark(exposed, unique, row, np.int64(crowd[tails[p]]), m)
                for t in range(n_touched):
                    count[touched[t]] = 0
                checked[m] += n_touched - old_perfect + n_perfect
                rare[m] += rare_here
                if support < k:
                    rare[m] += n_perfect
                if only_one and rare_here > 0:
                    stop[0] = True
                    return checked, rare, kept_support[:kept], kept_size[:kept], kept_items[:kept]
                continue

            # Perfect extensions go aside; the others become children, their rows bucketed by item.
            mark = n_perfect
            n_children = frame_children[depth]
            if n_children + n_touched > len(child_item):
                child_item = longer(child_item, n_children + n_touched)
                child_from = longer(child_from, n_children + n_touched)
                child_to = longer(child_to, n_children + n_touched)
            if n_perfect + n_touched > len(perfect_items):
                perfect_items = longer(perfect_items, n_perfect + n_touched)
            at = frame_entries[depth]
            new_children = n_children
            for t in range(n_touched):
                item = touched[t]
                if perfect[item]:
                    slot[item] = -1
                elif count[item] == n_rows:
                    perfect_items[n_perfect] = item
                    n_perfect += 1
                    slot[item] = -1
                elif count[item] == 1:
                    slot[item] = -2
                else:
                    child_item[new_children] = item
                    child_from[new_children] = at
                    child_to[new_children] = at
                    slot[item] = new_children
                    at += count[item]
                    new_children += 1
                count[item] = 0
            for i in range(mark, n_perfect):
                perfect[perfect_items[i]] = True
            if at > len(entry_pos):
                entry_pos = longer(entry_pos, at)
                entry_stop = longer(entry_stop, at)
            for i in range(begin, end):
                row_stop = entry_stop[i]
                for p in range(entry_pos[i] + 1, row_stop):
                    where = slot[tails[p]]
                    if where >= 0:
                        to = child_to[where]
                        entry_pos[to] = p
                        child_to[where] = to + 1
                    elif where == -2:
                        # A child with a single row, by far the most frequent kind in raw data, is settled on the spot:
                        # whatever stands behind it may join or not, and so may every perfect extension.
                        checked[size + 1] += 1
                        free = row_stop - p - 1 + n_perfect
                        if n_perfect > 0:
                            for q in range(p + 1, row_stop):
                                free -= perfect[tails[q]]
                        if k > 1:
                            rare[size + 1] += 1
                            if kept < keep or (
                                keep > 0 and (kept_support[keep - 1] > 1 or kept_size[keep - 1] > size + 1)
                            ):
                                prefix[size] = tails[p]
                                kept = _keep(
                                    kept_support, kept_size, kept_items, kept, keep, np.int64(1), prefix, size + 1
                                )
                            if only_one:
                                stop[0] = True
                                return checked, rare, kept_support[:kept], kept_size[:kept], kept_items[:kept]
                        if size + 2 == m:
                            checked[m] += free
                            rare[m] += free if k > 1 else 0
                        else:
                            _add_binomials(checked, rare, size + 1, m, free, k > 1)
            _add_binomials(checked, rare, size, m, n_perfect, support < k)
            depth += 1
            frame_next[depth] = n_children
            frame_stop[depth] = new_children
            frame_children[depth] = new_children
            frame_entries[depth] = at
            frame_perfect[depth] = n_perfect
            frame_mark[depth] = mark
    return checked, rare, kept_support[:kept], kept_size[:kept], kept_items[:kept]


@nb.step
def _add_binomials(checked, rare, size, m, free, is_rare):
    """Sets of `size` plus 1, 2, ... of `free` items that may join or not."""
    ways = 1.0
    for j in range(1, min(free, m - size) + 1):
        ways = ways * (free - j + 1) / j
        checked[size + j] += np.int64(np.rint(ways))
        if is_rare:
            rare[size + j] += np.int64(np.rint(ways))


@nb.njit(cache=True, nogil=True)
def _mark(exposed, unique, row, support, m):
    if exposed[row] == 0:
        exposed[row] = m
    if support == 1 and unique[row] == 0:
        unique[row] = m


@nb.njit(cache=True, nogil=True)
def _keep(support, size, items, kept, keep, new_support, prefix, new_size):
    """Insert a rare itemset among the kept ones if it is rarer, or as rare and smaller, than the last; earlier ones win ties."""
    if kept == keep:
        if keep == 0:
            return kept
        worst = keep - 1
        if support[worst] < new_support or (support[worst] == new_support and size[worst] <= new_size):
            return kept
    else:
        kept += 1
    at = kept - 1
    while at > 0 and (support[at - 1] > new_support or (support[at - 1] == new_support and size[at - 1] > new_size)):
        support[at] = support[at - 1]
        size[at] = size[at - 1]
        for i in range(items.shape[1]):
            items[at, i] = items[at - 1, i]
        at -= 1
    support[at] = new_support
    size[at] = new_size
    for i in range(items.shape[1]):
        items[at, i] = prefix[i] if i < new_size else -1
    return kept
