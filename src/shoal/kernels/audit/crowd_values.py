"""What the rows that hold a set of items say in sensitive columns: the kernel under t-closeness and 1/l beside items.

Classes are walked one by one, in each every set of at most m items that occurs, the empty one included, at its prefix in the order of
items. A set owns the list of its rows; their values are counted column by column, and taken back again.
"""

import numpy as np

from shoal.kernels import compiler as nb

EQUAL, ORDERED, ORDERED_OR_MISSING = range(3)
SHARE, FAR, SHARE_OF_PEOPLE = range(3)
"""What a breach is about: one value in too many rows, values too far from the table, or one value of too many people."""
_SLACK = 1e-9


@nb.njit(cache=True, nogil=True)
def count_crowds(
    offsets,
    items,
    order,
    starts,
    first,
    last,
    place,
    start,
    table,
    way,
    asks,
    whose,
    l,  # noqa: E741
    t,
    m,
    keep,
    only_one,
):
    """(sets that break the promise per size, sets per size, the surest share, the farthest distance, figures and members of the worst).

    The rows of class c are order[starts[c]:starts[c + 1]]. `place[row, j]` is where the value of a row stands in column j, from start[j] to
    start[j + 1], -1 if it may be any; `table` has the share of each place in the whole table. A column asks for no value in more than 1/l
    of the rows (SHARE), or of the people whose rows these are (SHARE_OF_PEOPLE), or for values within t of those of the table (FAR).
    `whose[row]` is a person; in `order` the rows of one stand together in each class. Figures are (class, column, what it asks, amount,
    rows or people).
    """
    bad, checked = np.zeros(m + 1, np.int64), np.zeros(m + 1, np.int64)
    figures, members = np.zeros((keep, 5)), np.full((keep, max(m, 1)), -1, np.int32)
    kept = 0
    surest, farthest = 0.0, 0.0
    counts = np.zeros(start[-1], np.int64)
    prefix = np.full(max(m, 1), -1, np.int32)
    for c in range(first, last):
        size = starts[c + 1] - starts[c]
        rows = np.empty((m + 1, size), np.int64)
        rows[0] = order[starts[c] : starts[c + 1]]
        length, at = np.zeros(m + 1, np.int64), np.zeros(m + 1, np.int64)
        length[0] = size
        occurring = 0
        for i in range(size):
            occurring += offsets[rows[0, i] + 1] - offsets[rows[0, i]]
        children, n_children = np.empty((m + 1, max(occurring, 1)), np.int32), np.zeros(m + 1, np.int64)
        depth, fresh = 0, True
        while depth >= 0:
            if fresh:
                checked[depth] += 1
                broken = False
                for j in range(place.shape[1]):
                    n = length[depth]
                    if asks[j] == SHARE_OF_PEOPLE:
                        amount, n = _people_with_a_value(rows[depth], n, place, whose, counts, j)
                    else:
                        amount = _amount(rows[depth], n, place, start, table, way, asks, counts, j)
                    if asks[j] != FAR:
                        surest = max(surest, amount / n)
                        breaks = amount * l > n
                    else:
                        farthest = max(farthest, amount)
                        breaks = amount > t + _SLACK
                    if breaks:
                        broken = True
                        kept = _keep(
                            figures,
                            members,
                            kept,
                            keep,
                            (float(c), float(j), float(asks[j]), amount, float(n)),
                            prefix,
                            depth,
                        )
                bad[depth] += broken
                at[depth], fresh = 0, False
                n_children[depth] = 0
                if depth < m:
                    above = prefix[depth - 1] if depth > 0 else -1
                    n = 0
                    for i in range(length[depth]):
                        for q in range(offsets[rows[depth, i]], offsets[rows[depth, i] + 1]):
                            if items[q] > above:
                                children[depth, n] = items[q]
                                n += 1
                    children[depth, :n].sort()
                    for i in range(n):
                        if i == 0 or children[depth, i] != children[depth, n_children[depth] - 1]:
                            children[depth, n_children[depth]] = children[depth, i]
                            n_children[depth] += 1
            if at[depth] == n_children[depth]:
                depth -= 1
                continue
            item = children[depth, at[depth]]
            at[depth] += 1
            prefix[depth] = item
            held = 0
            for i in range(length[depth]):
                row = rows[depth, i]
                for q in range(offsets[row], offsets[row + 1]):
                    if items[q] == item:
                        rows[depth + 1, held] = row
                        held += 1
                        break
            depth += 1
            length[depth], fresh = held, True
        if only_one and bad.sum() > 0:
            break
    return bad, checked, surest, farthest, figures[:kept], members[:kept]


@nb.njit(cache=True, nogil=True)
def _amount(rows, size, place, start, table, way, asks, counts, j):
    """The most rows that one value of column j may have, or how far its values are from those of the table."""
    unknown, most = 0, 0
    for i in range(size):
        v = place[rows[i], j]
        if v < 0:
            unknown += 1
        else:
            counts[v] += 1
    for i in range(size):
        v = place[rows[i], j]
        if v >= 0:
            most = max(most, counts[v])
    far = 0.0
    if asks[j] == FAR and way[j] == EQUAL:
        stays = 0.0
        for v in range(start[j], start[j + 1]):
            stays += min(counts[v] / size, table[v])
        far = 1 - stays
    elif asks[j] == FAR:
        here, there = (size - unknown) / size, table[start[j] : start[j + 1]].sum()
        work, behind = 0.0, 0.0
        if here > 0 and there > 0 and start[j + 1] - start[j] > 1:
            for v in range(start[j], start[j + 1] - 1):
                behind += counts[v] / (size - unknown) - table[v] / there
                work += abs(behind)
            work /= start[j + 1] - start[j] - 1
        rest = max(1 - here, 1 - there) if way[j] == ORDERED else abs(here - there)
        far = min(here, there) * work + rest
    for i in range(size):
        v = place[rows[i], j]
        if v >= 0:
            counts[v] = 0
    return float(most + unknown) if asks[j] == SHARE else far


@nb.njit(cache=True, nogil=True)
def _people_with_a_value(rows, size, place, whose, counts, j):
    """(the most people who have one value of column j in some row, or may have it; all people). Rows of a person stand together."""
    people, unknown, most = 0, 0, 0
    i = 0
    while i < size:
        end, may_be_any = i, False
        while end < size and whose[rows[end]] == whose[rows[i]]:
            may_be_any = may_be_any or place[rows[end], j] < 0
            end += 1
        people += 1
        unknown += may_be_any
        for a in range(i, end):
            v = place[rows[a], j]
            is_new = not may_be_any
            for b in range(i, a):
                is_new = is_new and place[rows[b], j] != v
            if is_new:
                counts[v] += 1
                most = max(most, counts[v])
        i = end
    for i in range(size):
        if place[rows[i], j] >= 0:
            counts[place[rows[i], j]] = 0
    return float(most + unknown), people


@nb.njit(cache=True, nogil=True)
def _keep(figures, members, kept, keep, figure, prefix, size):
    """Insert a breach among the kept ones if it is worse than the last: shares and distances both count up to 1. Earlier ones win ties."""
    if keep == 0:
        return kept
    grade = _grade(figure[2], figure[3], figure[4])
    if kept == keep:
        if grade <= _grade(figures[keep - 1, 2], figures[keep - 1, 3], figures[keep - 1, 4]):
            return kept
    else:
        kept += 1
    at = kept - 1
    while at > 0 and grade > _grade(figures[at - 1, 2], figures[at - 1, 3], figures[at - 1, 4]):
        figures[at], members[at] = figures[at - 1], members[at - 1]
        at -= 1
    for i in range(5):
        figures[at, i] = figure[i]
    for i in range(members.shape[1]):
        members[at, i] = prefix[i] if i < size else -1
    return kept


@nb.njit(cache=True, nogil=True)
def _grade(what, amount, rows):
    return amount if what == FAR else amount / rows
