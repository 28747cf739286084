"""Set-based generalization inside a cluster (after COAT and PCTA, the transaction function of the RT paper's section 5).

Items of the cluster are put into groups, each published as one generalized item, until every set of at most m groups that
occurs occurs in k rows. Single groups are settled first, then pairs, then larger sets, as in AA: joining two groups never makes
a set rare that was not, so what has been settled stays settled. The rarest group chooses first. Of all partners it takes the one
whose joint group loses least, by UL (kept as a logarithm: sizes go into the hundreds) or by plain size, for each row that is
gained towards k, or for each rare pair that is expected to go.

The supports of all pairs stand in one matrix while the groups are few enough; a joint group needs one pass over its own rows
to bring it up to date. With sensitive items a set is bad also if too many of its rows share one (l^m-diversity). There joining can
spoil what was settled, so passes follow each other until one finds nothing.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb

DENSE = 4096
"""Groups up to which the supports of all pairs are held at once."""
CANDIDATES = 256
"""Partners that are compared in full, the cheapest by size alone."""
BITS = np.array([-np.inf, *(np.log2(2.0**size - 1.0) for size in range(1, 61))])
"""The binary logarithm of 2^size - 1, for sizes where it differs from the size."""
SHEET = 1 << 22
"""Counters for (group, sensitive item) that are held at once, where there are as many."""


class Promise(NamedTuple):
    """At least k rows hold each set of at most m groups, and with l > 1 no sensitive item stands in more than 1/l of them."""

    k: int
    m: int
    l: int  # noqa: E741 (the papers' name)
    sensitive_offsets: npt.NDArray[np.int64]
    """The sensitive items of all rows, not of the cluster's alone."""
    sensitive: npt.NDArray[np.int32]
    n_sensitive: int


class Data(NamedTuple):
    """The rows of a cluster over items 0, 1, ..., and the rows of each item."""

    rows: npt.NDArray[np.int64]
    """In the table."""
    row_start: npt.NDArray[np.int64]
    row_items: npt.NDArray[np.int32]
    item_start: npt.NDArray[np.int64]
    item_rows: npt.NDArray[np.int32]


class Groups(NamedTuple):
    """The groups of items; one is called by its first item."""

    of_item: npt.NDArray[np.int32]
    head: npt.NDArray[np.int32]
    following: npt.NDArray[np.int32]
    """The next member behind each item."""
    size: npt.NDArray[np.int64]
    heavy: npt.NDArray[np.float64]
    """The weights of the members added up."""
    support: npt.NDArray[np.int64]
    alive: npt.NDArray[np.bool_]


class Work(NamedTuple):
    """Scratch: stamps, counters that are 0 between uses, and logarithms of whole numbers."""

    row_seen: npt.NDArray[np.int64]
    seen: npt.NDArray[np.int64]
    """Per group."""
    times: npt.NDArray[np.int64]
    touched: npt.NDArray[np.int64]
    """The groups that were counted."""
    logs: npt.NDArray[np.float64]


class Walk(NamedTuple):
    """Scratch of a walk over sets of groups, by size of the set, by row or by group."""

    held: npt.NDArray[np.bool_]
    lists: npt.NDArray[np.int32]
    """The rows that hold the first 1, 2, ... groups of the set."""
    length: npt.NDArray[np.int64]
    children: npt.NDArray[np.int32]
    n_children: npt.NDArray[np.int64]
    following: npt.NDArray[np.int64]
    times: npt.NDArray[np.int64]
    seen: npt.NDArray[np.int64]
    slot: npt.NDArray[np.int64]
    sheet: npt.NDArray[np.int32]
    """Counters for sensitive items, or for those beside groups."""


@nb.njit(cache=True, nogil=True)
def joined_items(offsets, items, rows, weight, k, m, by_size):
    """(items, group): the distinct items of the given rows, ascending, and the group of each, numbered from 0.

    No group, and for m > 1 no pair of groups, is rarer than k. `weight` is per item; `by_size` says how losses are compared. At
    least k of the rows hold an item, or none does: that is the caller's to make sure.
    """
    local, data = _laid_out(offsets, items, rows, len(weight))
    groups = _groups(data, local, np.arange(len(local)), weight)
    work = _work(len(rows), len(local), k)
    _settle_singles(data, groups, work, k, by_size)
    if m >= 2:
        _settle_pairs(data, groups, work, k, by_size)
    return local, _numbered(groups.of_item)


@nb.njit(cache=True, nogil=True)
def settled_groups(offsets, items, rows, weight, given, promise, by_size):
    """The groups that are left of the given ones when no set of at most m is rare or tells too much about a sensitive item.

    `given` is the group of each item of the rows, as `joined_items` returns it. All items in one group must keep the promise, or
    nothing does: the caller makes sure.
    """
    local, data = _laid_out(offsets, items, rows, len(weight))
    groups = _groups(data, local, given, weight)
    _settle_sets(data, groups, _work(len(rows), len(local), promise.k), promise, by_size)
    return _numbered(groups.of_item)


def first_bad_set(
    offsets: npt.NDArray[np.int64], items: npt.NDArray[np.int32], n_items: int, promise: Promise
) -> npt.NDArray[np.int64]:
    """The items of a bad set where each is a group by itself; empty if there is none. A row has each of its items once."""
    rows = np.arange(len(offsets) - 1, dtype=np.int64)
    item_start = np.concatenate(([0], np.cumsum(np.bincount(items, minlength=n_items)))).astype(np.int64)
    item_rows = np.repeat(rows.astype(np.int32), np.diff(offsets))[np.argsort(items, kind="stable")]
    own, nothing = np.arange(n_items, dtype=np.int32), np.full(n_items, -1, np.int32)
    data = Data(rows, offsets, items, item_start, item_rows)
    members = np.empty(max(promise.m, 1), np.int64)
    walk = _walk.py_func(len(rows), n_items, len(members), promise.n_sensitive)  # nothing to compile for a few arrays
    return members[: _bad_set(data, own, own, nothing, promise, walk, 0, n_items, members)]


@nb.njit(cache=True, nogil=True)
def _groups(data, local, given, weight):
    """The given groups, with the rows that hold each of them counted."""
    row_start, row_items = data.row_start, data.row_items
    n = len(local)
    group = np.empty(n, np.int32)
    head = np.full(n, -1, np.int32)
    following = np.full(n, -1, np.int32)
    size = np.zeros(n, np.int64)
    heavy = np.zeros(n, np.float64)
    support = np.zeros(n, np.int64)
    alive = np.zeros(n, np.bool_)
    first = np.full(n, -1, np.int64)
    for item in range(n):
        if first[given[item]] < 0:
            first[given[item]] = item
        g = first[given[item]]
        group[item] = g
        following[item] = head[g]
        head[g] = item
        size[g] += 1
        heavy[g] += weight[local[item]]
        alive[g] = True
    seen = np.full(n, -1, np.int64)
    for row in range(len(row_start) - 1):
        for q in range(row_start[row], row_start[row + 1]):
            g = group[row_items[q]]
            if seen[g] != row:
                seen[g] = row
                support[g] += 1
    return Groups(group, head, following, size, heavy, support, alive)


@nb.njit(cache=True, nogil=True)
def _work(n_rows, n, k):
    logs = np.empty(max(n_rows, 2 * k) + 2, np.float64)
    logs[0] = -np.inf
    for i in range(1, len(logs)):
        logs[i] = np.log2(np.float64(i))
    stamps = np.full(n_rows, -1, np.int64), np.full(n, -1, np.int64)
    return Work(stamps[0], stamps[1], np.zeros(n, np.int64), np.empty(n, np.int64), logs)


@nb.njit(cache=True, nogil=True)
def _walk(n_rows, n, m, n_sensitive):
    return Walk(
        np.zeros(n_rows, np.bool_),
        np.empty((m, n_rows), np.int32),
        np.zeros(m, np.int64),
        np.empty((m, n), np.int32),
        np.zeros(m, np.int64),
        np.zeros(m, np.int64),
        np.zeros(n, np.int64),
        np.full(n, -1, np.int64),
        np.empty(n, np.int64),
        np.zeros(max(n, n_sensitive, min(SHEET, n * n_sensitive)), np.int32),
    )


@nb.step
def _clear(work, n_touched):
    for t in range(n_touched):
        work.times[work.touched[t]] = 0


@nb.njit(cache=True, nogil=True)
def _laid_out(offsets, items, rows, n_items):
    """(items, data): the distinct items of the rows, ascending, and the rows over their places."""
    place = np.full(n_items, -1, np.int32)
    total = 0
    for r in rows:
        total += offsets[r + 1] - offsets[r]
        for p in range(offsets[r], offsets[r + 1]):
            place[items[p]] = 0
    n_local = 0
    for item in range(n_items):
        if place[item] == 0:
            place[item] = n_local
            n_local += 1
    local = np.empty(n_local, np.int32)
    for item in range(n_items):
        if place[item] >= 0:
            local[place[item]] = item
    row_start = np.zeros(len(rows) + 1, np.int64)
    row_items = np.empty(total, np.int32)
    item_start = np.zeros(n_local + 1, np.int64)
    at = 0
    for i in range(len(rows)):
        r = rows[i]
        for p in range(offsets[r], offsets[r + 1]):
            row_items[at] = place[items[p]]
            item_start[row_items[at] + 1] += 1
            at += 1
        row_start[i + 1] = at
    for item in range(n_local):
        item_start[item + 1] += item_start[item]
    item_rows = np.empty(total, np.int32)
    filled = item_start.copy()
    for i in range(len(rows)):
        for p in range(row_start[i], row_start[i + 1]):
            item_rows[filled[row_items[p]]] = i
            filled[row_items[p]] += 1
    return local, Data(rows, row_start, row_items, item_start, item_rows)


@nb.step
def _beside(data, groups, work, g):
    """How many groups share rows with group g: they are in `touched`, the rows they share in `times`, for the caller to clear."""
    row_start, row_items, item_start, item_rows = data.row_start, data.row_items, data.item_start, data.item_rows
    group, head, following = groups.of_item, groups.head, groups.following
    scratch, seen, count, touched = work.row_seen, work.seen, work.times, work.touched
    n_touched = 0
    item = head[g]
    while item >= 0:
        for p in range(item_start[item], item_start[item + 1]):
            row = item_rows[p]
            if scratch[row] == g:
                continue
            scratch[row] = g
            for q in range(row_start[row], row_start[row + 1]):
                h = group[row_items[q]]
                if seen[h] == row:
                    continue
                seen[h] = row
                if count[h] == 0:
                    touched[n_touched] = h
                    n_touched += 1
                count[h] += 1
        item = following[item]
    # No stamp of this call may be met by the next one.
    item = head[g]
    while item >= 0:
        for p in range(item_start[item], item_start[item + 1]):
            scratch[item_rows[p]] = -1
        item = following[item]
    for t in range(n_touched):
        seen[touched[t]] = -1
    return n_touched


@nb.step
def _join(groups, g, h, both):
    """Group h becomes part of g; `both` rows hold either."""
    group, head, following, size, heavy, support, alive = groups
    item = head[h]
    while True:
        group[item] = g
        if following[item] < 0:
            break
        item = following[item]
    following[item] = head[g]
    head[g] = head[h]
    size[g] += size[h]
    heavy[g] += heavy[h]
    support[g] = both
    alive[h] = False


@nb.step
def _joint_loss(groups, logs, g, h, both, by_size):
    """The binary logarithm of what g and h lose as one generalized item that stands in `both` rows.

    By UL it is what the joint item costs, (2^size - 1) per row; by size it is what joining adds, size per row.
    """
    size, heavy, support = groups.size, groups.heavy, groups.support
    together = size[g] + size[h]
    weight = 0.0
    if heavy[g] + heavy[h] != together:
        weight = np.log2(max(heavy[g] + heavy[h], 1e-300) / together)
    if by_size:
        before = (size[g] * support[g] if size[g] > 1 else 0) + (size[h] * support[h] if size[h] > 1 else 0)
        return weight + np.log2(max(np.float64(together * both - before), 1e-9))
    loss = np.float64(together) if together > 60 else BITS[together]
    return weight + loss + logs[both]


@nb.step
def _join_cheapest(data, groups, work, g, k, live, n_live, by_size):
    """Join g with the partner that costs least for the rows that both come nearer to k; -1 if it is the only group.

    `live` lists the groups, ascending, the first `n_live` of it. Returns the partner.
    """
    support, count, logs = groups.support, work.times, work.logs
    n_touched = _beside(data, groups, work, g)
    best, best_score, best_loss = np.int64(-1), np.inf, np.inf
    for e in range(n_live):
        h = live[e]
        if h != g:
            both = support[g] + support[h] - count[h]
            loss = _joint_loss(groups, logs, g, h, both, by_size)
            gain = 2 * min(both, k) - min(support[g], k) - min(support[h], k)
            score = loss - logs[gain] if gain > 0 else np.inf
            if best < 0 or score < best_score or (score == best_score and loss < best_loss):
                best, best_score, best_loss = h, score, loss
    if best >= 0:
        _join(groups, g, best, support[g] + support[best] - count[best])
    _clear(work, n_touched)
    return best


@nb.step
def _living(alive):
    """The groups that are left, ascending."""
    live = np.empty(len(alive), np.int64)
    n_live = 0
    for g in range(len(alive)):
        if alive[g]:
            live[n_live] = g
            n_live += 1
    return live[:n_live]


@nb.part
def _settle_singles(data, groups, work, k, by_size):
    """The rarest group below k joins the partner that costs least, until there is none."""
    support = groups.support
    live = _living(groups.alive)
    n_live = len(live)
    while True:
        g = np.int64(-1)
        for e in range(n_live):
            if support[live[e]] < k and (g < 0 or support[live[e]] < support[g]):
                g = live[e]
        if g < 0:
            return
        gone = _join_cheapest(data, groups, work, g, k, live, n_live, by_size)
        if gone < 0:
            return
        kept = 0
        for e in range(n_live):
            if live[e] != gone:
                live[kept] = live[e]
                kept += 1
        n_live = kept


@nb.njit(cache=True, nogil=True)
def _settle_pairs(data, groups, work, k, by_size):
    """Join groups until no pair that occurs is rarer than k."""
    support, alive, logs = groups.support, groups.alive, work.logs
    count, touched = work.times, work.touched
    n = len(alive)
    n_alive = len(_living(alive))
    done = np.zeros(n, np.bool_)
    # Too many groups for a matrix: the rarest one with a rare pair joins the cheapest of its rare partners.
    while n_alive > DENSE:
        g = np.int64(-1)
        for h in range(n):
            if alive[h] and not done[h] and (g < 0 or support[h] < support[g]):
                g = np.int64(h)
        if g < 0:
            return
        n_touched = _beside(data, groups, work, g)
        best, best_loss, both = np.int64(-1), np.inf, np.int64(0)
        for t in range(n_touched):
            h = touched[t]
            if h != g and count[h] < k:
                loss = _joint_loss(groups, logs, g, h, support[g] + support[h] - count[h], by_size)
                if loss < best_loss or (loss == best_loss and h < best):
                    best, best_loss, both = h, loss, support[g] + support[h] - count[h]
        _clear(work, n_touched)
        if best < 0:
            done[g] = True
        else:
            _join(groups, g, best, both)
            n_alive -= 1

    # A matrix over the groups that are left; `name[p]` is the group at place i.
    name = _living(alive)
    place = np.full(n, -1, np.int64)
    for p in range(n_alive):
        place[name[p]] = p
    pair = np.zeros((n_alive, n_alive), np.int32)
    rare = np.zeros(n_alive, np.int64)
    for p in range(n_alive):
        n_touched = _beside(data, groups, work, name[p])
        for t in range(n_touched):
            h = touched[t]
            if h != name[p]:
                pair[p, place[h]] = count[h]
                rare[p] += count[h] < k
            count[h] = 0
    live = np.arange(n_alive)
    n_live = n_alive
    losses = np.empty(n_alive, np.float64)
    chosen = np.empty(CANDIDATES, np.int64)
    while True:
        i = np.int64(-1)
        for e in range(n_live):
            o = live[e]
            if rare[o] > 0 and (i < 0 or support[name[o]] < support[name[i]]):
                i = o
        if i < 0:
            return
        g = name[i]
        for e in range(n_live):
            o = live[e]
            if o != i:
                h = name[o]
                losses[o] = _joint_loss(groups, logs, g, h, support[g] + support[h] - pair[i, o], by_size)
        n_chosen = 0
        if n_live - 1 <= CANDIDATES:
            for e in range(n_live):
                if live[e] != i:
                    chosen[n_chosen] = live[e]
                    n_chosen += 1
        else:
            for e in range(n_live):
                o = live[e]
                if o == i:
                    continue
                if n_chosen == CANDIDATES and losses[o] >= losses[chosen[n_chosen - 1]]:
                    continue
                q = n_chosen if n_chosen < CANDIDATES else CANDIDATES - 1
                while q > 0 and losses[chosen[q - 1]] > losses[o]:
                    chosen[q] = chosen[q - 1]
                    q -= 1
                chosen[q] = o
                n_chosen = min(n_chosen + 1, CANDIDATES)
        best, best_score = np.int64(-1), np.inf
        for c in range(n_chosen):
            o = chosen[c]
            before = rare[i] + rare[o] - (0 < pair[i, o] < k)
            after = 0
            for e in range(n_live):
                x = live[e]
                if x != i and x != o:
                    both = pair[i, x] + pair[o, x]
                    after += 0 < both < k
            score = losses[o] - np.log2(np.float64(before - after)) if before > after else np.inf
            if score < best_score:
                best, best_score = o, score
        if best < 0:
            # No partner is expected to help: one of the rare pairs itself certainly does.
            for e in range(n_live):
                o = live[e]
                if 0 < pair[i, o] < k and o != i and (best < 0 or losses[o] < losses[best]):
                    best = o
        h = name[best]
        _join(groups, g, h, support[g] + support[h] - pair[i, best])
        kept = 0
        for e in range(n_live):
            o = live[e]
            if o != best:
                live[kept] = o
                kept += 1
                if o != i:
                    rare[o] -= (0 < pair[i, o] < k) + (0 < pair[best, o] < k)
                pair[i, o] = 0
        n_live = kept
        rare[i] = 0
        n_touched = _beside(data, groups, work, g)
        for t in range(n_touched):
            o = place[touched[t]]
            if o != i:
                pair[i, o] = count[touched[t]]
                if pair[i, o] < k:
                    rare[i] += 1
                    rare[o] += 1
            count[touched[t]] = 0
        for e in range(n_live):
            pair[live[e], i] = pair[i, live[e]]


@nb.part
def _settle_sets(data, groups, work, promise, by_size):
    """Join groups until no set of at most m of them is rare or, with l > 1, says too much about a sensitive item."""
    support, alive, logs, count = groups.support, groups.alive, work.logs, work.times
    members = np.empty(promise.m, np.int64)
    walk = _walk(len(data.rows), len(alive), promise.m, promise.n_sensitive)
    again = True
    while again:
        again = False
        for g in range(len(alive)):
            while alive[g]:
                size = _bad_set(data, groups.of_item, groups.head, groups.following, promise, walk, g, g + 1, members)
                if size == 0:
                    break
                again = promise.l > 1
                if size == 1:
                    live = _living(alive)
                    if _join_cheapest(data, groups, work, g, promise.k, live, len(live), by_size) < 0:
                        return
                    continue
                # Joining two of its members removes a set for certain.
                one, other, best_loss, both = np.int64(-1), np.int64(-1), np.inf, np.int64(0)
                for i in range(size):
                    a = members[i]
                    n_touched = _beside(data, groups, work, a)
                    for j in range(i + 1, size):
                        b = members[j]
                        loss = _joint_loss(groups, logs, a, b, support[a] + support[b] - count[b], by_size)
                        if loss < best_loss:
                            one, other, best_loss, both = a, b, loss, support[a] + support[b] - count[b]
                    _clear(work, n_touched)
                _join(groups, one, other, both)


@nb.njit(cache=True, nogil=True)
def _bad_set(data, group, head, following, promise, walk, first, last, members):
    """The size of a bad set of at most m groups, of which one in [first, last) is the first, written to `members`; 0 if there is none."""
    rows, row_start, row_items = data.rows, data.row_start, data.row_items
    item_start, item_rows, n_sensitive = data.item_start, data.item_rows, promise.n_sensitive
    k, m, l = promise.k, promise.m, promise.l  # noqa: E741
    sensitive_offsets, sensitive, sheet = promise.sensitive_offsets, promise.sensitive, walk.sheet
    held, lists, length = walk.held, walk.lists, walk.length
    children, n_children, following_child = walk.children, walk.n_children, walk.following
    count, seen, slot = walk.times, walk.seen, walk.slot
    for g in range(first, last):
        n = 0
        item = head[g]
        while item >= 0:
            for p in range(item_start[item], item_start[item + 1]):
                held[item_rows[p]] = True
            item = following[item]
        for row in range(len(rows)):
            if held[row]:
                held[row] = False
                lists[0, n] = row
                n += 1
                if l > 1:
                    for p in range(sensitive_offsets[rows[row]], sensitive_offsets[rows[row] + 1]):
                        sheet[sensitive[p]] += 1
        members[0], length[0] = g, n
        is_bad = n < k
        for s in range(n_sensitive):
            is_bad |= sheet[s] * l > n
            sheet[s] = 0
        if is_bad:
            return 1
        depth = 0 if m > 1 else -1
        fresh = True
        while depth >= 0:
            if fresh:
                # Count what joins the set at this depth.
                above, n, n_touched, bad = members[depth], length[depth], 0, -1
                for i in range(n):
                    row = lists[depth, i]
                    for q in range(row_start[row], row_start[row + 1]):
                        h = group[row_items[q]]
                        if h > above and seen[h] != row:
                            seen[h] = row
                            if count[h] == 0:
                                children[depth, n_touched] = h
                                slot[h] = n_touched
                                n_touched += 1
                            count[h] += 1
                for t in range(n_touched):
                    h = children[depth, t]
                    seen[h] = -1
                    bad = h if count[h] < k else bad
                # As many sensitive items at a time as a sheet of counters has room for.
                low, width = 0, len(sheet) // n_touched if l > 1 and n_touched > 0 else 0
                width = n_sensitive if width > n_sensitive else width
                while width > 0 and bad < 0 and low < n_sensitive:
                    for i in range(n):
                        row = lists[depth, i]
                        start, stop = sensitive_offsets[rows[row]], sensitive_offsets[rows[row] + 1]
                        if start == stop:
                            continue
                        for q in range(row_start[row], row_start[row + 1]):
                            h = group[row_items[q]]
                            if h > above and seen[h] != row:
                                seen[h] = row
                                for p in range(start, stop):
                                    s = sensitive[p] - low
                                    if 0 <= s < width:
                                        sheet[slot[h] * width + s] += 1
                    for t in range(n_touched):
                        h = children[depth, t]
                        seen[h] = -1
                        for s in range(t * width, (t + 1) * width):
                            bad = h if sheet[s] * l > count[h] else bad
                            sheet[s] = 0
                    low += width
                for t in range(n_touched):
                    count[children[depth, t]] = 0
                if bad >= 0:
                    members[depth + 1] = bad
                    return depth + 2
                n_children[depth] = n_touched if depth + 2 < m else 0
                following_child[depth] = 0
                fresh = False
            if following_child[depth] == n_children[depth]:
                depth -= 1
                continue
            h = children[depth, following_child[depth]]
            following_child[depth] += 1
            n = 0
            for i in range(length[depth]):
                row = lists[depth, i]
                for q in range(row_start[row], row_start[row + 1]):
                    if group[row_items[q]] == h:
                        lists[depth + 1, n] = row
                        n += 1
                        break
            depth += 1
            members[depth], length[depth] = h, n
            fresh = True
    return 0


@nb.njit(cache=True, nogil=True)
def utility_loss(offsets, items, rows, local, group, size, weight, n_items):
    """The sum of UL over the given rows when the items `local` are published as their groups (`size`, `weight` per group)."""
    token = np.full(n_items, -1, np.int32)
    for i in range(len(local)):
        token[local[i]] = group[i]
    seen = np.full(len(size), -1, np.int64)
    total = 0.0
    for r in rows:
        sigma = 0.0
        for p in range(offsets[r], offsets[r + 1]):
            t = token[items[p]]
            if seen[t] != r:
                seen[t] = r
                sigma += size[t]
        for p in range(offsets[r], offsets[r + 1]):
            t = token[items[p]]
            if seen[t] == r:
                seen[t] = -1
                total += weight[t] * 2.0 ** (size[t] - sigma) * (1.0 - 2.0 ** -size[t]) / (1.0 - 2.0**-sigma)
    return total


@nb.step
def _numbered(group):
    """Groups numbered from 0 in the order of their first items."""
    number = np.full(len(group), -1, np.int32)
    out = np.empty(len(group), np.int32)
    n = 0
    for item in range(len(group)):
        if number[group[item]] < 0:
            number[group[item]] = n
            n += 1
        out[item] = number[group[item]]
    return out
