"""How sure an attacker can be of a sensitive item: the kernel under the (k,l^m) audit.

Classes are walked one by one, in each every set of at most m items that occurs, the empty one included, at its prefix in the order
of items. A prefix owns the rows that hold it; one pass over them counts all its extensions, and beside each extension
the sensitive items of the same rows. A prefix none of whose rows holds a sensitive item gives nothing away, nor does
anything below it. People are counted in place of rows where these say whose they are: the rows of a person stand together in a class,
and whoever was counted last is not counted again.
"""

import numpy as np

from shoal.kernels import compiler as nb

SHEET = 1 << 22
"""Counters for (item, sensitive item) that are held at once."""


@nb.njit(cache=True, nogil=True)
def count_inferences(
    offsets,
    items,
    n_items,
    sensitive_offsets,
    sensitive,
    n_sensitive,
    order,
    starts,
    whose,
    first,
    last,
    l,  # noqa: E741 (the papers' name)
    m,
    keep,
    only_one,
):
    """Sets and sensitive items with more than 1/l of the set's rows, in classes [first, last).

    The rows of class c are order[starts[c]:starts[c + 1]]; with `whose`, not empty, their people are counted. Returns (per size of the
    set, how many such pairs; and of up to `keep`, the surest first: class, sensitive item, rows with both, rows with the set, size,
    members).
    """
    bad = np.zeros(m + 1, np.int64)
    kept_figures = np.zeros((keep, 5), np.int64)
    kept_items = np.full((keep, max(m, 1)), -1, np.int32)
    kept = 0
    count = np.zeros(n_items, np.int64)
    slot = np.zeros(n_items, np.int64)
    told = np.zeros(n_sensitive, np.int64)
    by_people = len(whose) > 0
    told_by, holder = np.full(n_sensitive, -1, np.int64), np.full(n_items, -1, np.int64)  # who was counted last
    who = np.int64(-1)
    prefix = np.full(m + 1, -1, np.int32)
    n_children = np.zeros(m + 1, np.int64)
    following = np.zeros(m + 1, np.int64)
    length = np.zeros(m + 1, np.int64)
    for c in range(first, last):
        size = starts[c + 1] - starts[c]
        members = size
        if by_people:
            members = 0
            told_by[:] = -1
        occurring = 0
        sensitive_here = 0
        for i in range(starts[c], starts[c + 1]):
            occurring += offsets[order[i] + 1] - offsets[order[i]]
            if by_people:
                members += i == starts[c] or whose[order[i]] != who
                who = whose[order[i]]
            for p in range(sensitive_offsets[order[i]], sensitive_offsets[order[i] + 1]):
                sensitive_here += 1
                if by_people:
                    if told_by[sensitive[p]] == who:
                        continue
                    told_by[sensitive[p]] = who
                told[sensitive[p]] += 1
        for s in range(n_sensitive):
            if told[s] * l > members:
                bad[0] += 1
                kept = _keep(kept_figures, kept_items, kept, keep, c, s, told[s], members, prefix, 0)
            told[s] = 0
        if sensitive_here == 0 or occurring == 0 or m == 0:
            continue
        if only_one and bad.sum() > 0:
            break
        lists = np.empty((m, size), np.int64)
        children = np.empty((m, min(occurring, n_items)), np.int32)
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
                    if by_people:
                        who = whose[row]
                    for q in range(offsets[row], offsets[row + 1]):
                        item = items[q]
                        if item > above:
                            if count[item] == 0:
                                children[depth, n_touched] = item
                                slot[item] = n_touched
                                n_touched += 1
                                holder[item] = -1
                            if by_people:
                                if holder[item] == who:
                                    continue
                                holder[item] = who
                            count[item] += 1
                if telling > 0 and n_touched > 0:
                    width = max(1, min(n_sensitive, SHEET // n_touched))
                    sheet = np.zeros(n_touched * width, np.int32)
                    counted = np.full(n_touched * width if by_people else 0, -1, np.int64)
                    for low in range(0, n_sensitive, width):
                        counted[:] = -1
                        for i in range(length[depth]):
                            row = lists[depth, i]
                            for p in range(sensitive_offsets[row], sensitive_offsets[row + 1]):
                                s = sensitive[p] - low
                                if 0 <= s < width:
                                    for q in range(offsets[row], offsets[row + 1]):
                                        if items[q] > above:
                                            at = slot[items[q]] * width + s
                                            if by_people:
                                                if counted[at] == whose[row]:
                                                    continue
                                                counted[at] = whose[row]
                                            sheet[at] += 1
                        for t in range(n_touched):
                            item = children[depth, t]
                            for s in range(width):
                                if sheet[t * width + s] * l > count[item]:
                                    bad[depth + 1] += 1
                                    prefix[depth] = item
                                    kept = _keep(
                                        kept_figures,
                                        kept_items,
                                        kept,
                                        keep,
                                        c,
                                        low + s,
                                        np.int64(sheet[t * width + s]),
                                        count[item],
                                        prefix,
                                        depth + 1,
                                    )
                                sheet[t * width + s] = 0
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
    return bad, kept_figures[:kept], kept_items[:kept]


@nb.njit(cache=True, nogil=True)
def _keep(figures, items, kept, keep, c, s, both, support, prefix, size):
    """Insert a pair among the kept ones if it is surer than the last; earlier ones win ties."""
    if keep == 0:
        return kept
    if kept == keep:
        if both * figures[keep - 1, 3] <= figures[keep - 1, 2] * support:
            return kept
    else:
        kept += 1
    at = kept - 1
    while at > 0 and both * figures[at - 1, 3] > figures[at - 1, 2] * support:
        for i in range(5):
            figures[at, i] = figures[at - 1, i]
        for i in range(items.shape[1]):
            items[at, i] = items[at - 1, i]
        at -= 1
    figures[at, 0] = c
    figures[at, 1] = s
    figures[at, 2] = both
    figures[at, 3] = support
    figures[at, 4] = size
    for i in range(items.shape[1]):
        items[at, i] = prefix[i] if i < size else -1
    return kept
