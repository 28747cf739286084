"""Rows that change places between the classes of a group, as long as that lowers the loss.

A class is a count per item; what a row costs or saves when it joins or leaves is exact (kernels/classes/majority.py). For each
row the nearest centres are found: among all of the group by counting bits where rows are bitmaps, else among those
that share an item with it, through lists of the classes whose centres have an item. A row moves to a nearer centre if its
class can spare it; if not, it changes places with a row of the other class; and a class whose rows all cost less
elsewhere is dissolved. Every step is weighed on the counts and undone unless the loss falls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.classes.bitmaps import ones
from shoal.kernels.classes.majority import join_row, leave_row

CLASSES = np.int64(1 << 13)
"""No group has more classes than this."""
FAR = np.int64(1 << 30)
"""A cost beyond all others."""


class Group(NamedTuple):
    """Classes side by side. Row i of the group is rows[i] of the data; bitmaps have no columns where they would not pay."""

    offsets: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    bitmaps: npt.NDArray[np.uint64]
    rows: npt.NDArray[np.int32]
    of: npt.NDArray[np.int32]
    """The class of each row."""
    slot: npt.NDArray[np.int32]
    """Its place among the members."""
    member: npt.NDArray[np.int32]
    size: npt.NDArray[np.int64]
    loss: npt.NDArray[np.int64]
    major: npt.NDArray[np.int64]
    """Items that more than half of the class has."""
    counts: npt.NDArray[np.int32]
    """Per class and item, the members that have it."""
    having: npt.NDArray[np.int32]
    """Per class and number of members, the items that so many of them have."""
    maj: npt.NDArray[np.uint64]
    """The majority items as bits."""
    sure: npt.NDArray[np.uint64]
    """All items but those that exactly half of the class has, as bits."""


class Lists(NamedTuple):
    """Per item, the classes whose centres have it (weight 2) or half have it (weight 1), as they once were."""

    starts: npt.NDArray[np.int64]
    near: npt.NDArray[np.int32]
    weight: npt.NDArray[np.int32]
    score: npt.NDArray[np.int32]
    met: npt.NDArray[np.int32]


@nb.njit(cache=True, nogil=True)
def improve(offsets, items, bitmaps, n_items, k, order, bounds, first, last, tried, swaps):
    """Better classes for the rows of classes [first, last); class c has the rows order[bounds[c]:bounds[c + 1]].

    Rewrites their part of `order`, class after class. Returns the sizes and the losses of the classes. `tried` is the
    number of classes to try for a row; rows that are near enough to their centre are passed over if it is below 4.
    """
    n_classes = last - first
    low = bounds[first]
    n_rows = bounds[last] - low
    rows = np.empty(n_rows, np.int32)
    for i in range(n_rows):
        rows[i] = order[low + i]
    words = bitmaps.shape[1]
    widest = np.int64(4 * k)
    for c in range(first, last):
        widest = max(widest, bounds[c + 1] - bounds[c])
    g = Group(
        offsets,
        items,
        bitmaps,
        rows,
        np.empty(n_rows, np.int32),
        np.empty(n_rows, np.int32),
        np.empty((n_classes, widest + 1), np.int32),
        np.zeros(n_classes, np.int64),
        np.zeros(n_classes, np.int64),
        np.zeros(n_classes, np.int64),
        np.zeros((n_classes, n_items), np.int32),
        np.zeros((n_classes, widest + 2), np.int32),
        np.zeros((words, n_classes), np.uint64),
        np.zeros((words, n_classes), np.uint64),
    )
    lost = 0
    for c in range(n_classes):
        for i in range(bounds[first + c] - low, bounds[first + c + 1] - low):
            enter(g, i, c)
        draw(g, c)
        lost += g.loss[c]
    found = np.empty(tried, np.int64)
    cost = np.empty(tried, np.int64)
    moving = np.empty(widest + 1, np.int64)
    target = np.empty(widest + 1, np.int64)
    lists = centre_lists(g)
    plain = np.int64(0)
    for c in range(n_classes):
        if g.size[c] > 0 and (g.size[plain] == 0 or g.major[c] < g.major[plain]):
            plain = np.int64(c)
    for a in range(n_classes):
        n_moving = g.size[a]
        for j in range(n_moving):
            moving[j] = g.member[a, j]
        elsewhere = 0
        settled = n_moving > 0
        for j in range(n_moving):
            i = moving[j]
            if g.of[i] != a:
                continue
            saved = joining(g, g.rows[i], a) + halves(g, a)
            if tried < 4 and 2 * saved * n_rows < lost:
                settled = False  # near enough to its centre
                continue
            n_found = nearest(g, lists, plain, i, a, widest, saved, found, cost)
            if n_found == 0:
                settled = False
                break
            target[j] = found[0]
            elsewhere += cost[0]
            if cost[0] < saved and settle(g, k, swaps, i, a, saved, n_found, found, cost):
                settled = False
        if settled and elsewhere < g.loss[a]:
            dissolve(g, a, n_moving, moving, target, widest)
    at = low
    sizes = np.empty(n_classes, np.int64)
    losses = np.empty(n_classes, np.int64)
    kept = 0
    for c in range(n_classes):
        for j in range(g.size[c]):
            order[at] = rows[g.member[c, j]]
            at += 1
        if g.size[c] > 0:
            sizes[kept] = g.size[c]
            losses[kept] = g.loss[c]
            kept += 1
    return sizes[:kept], losses[:kept]


@nb.step
def enter(g, i, c):
    """Row i joins class c."""
    g.loss[c], g.major[c] = join_row(
        g.offsets, g.items, g.rows[i], g.counts, g.having, c, g.size[c], g.loss[c], g.major[c]
    )
    g.of[i] = c
    g.slot[i] = g.size[c]
    g.member[c, g.size[c]] = i
    g.size[c] += 1


@nb.step
def leave(g, i):
    """Row i leaves its class."""
    c = g.of[i]
    g.loss[c], g.major[c] = leave_row(
        g.offsets, g.items, g.rows[i], g.counts, g.having, c, g.size[c], g.loss[c], g.major[c]
    )
    g.size[c] -= 1
    last = g.member[c, g.size[c]]
    g.member[c, g.slot[i]] = last
    g.slot[last] = g.slot[i]


@nb.njit(cache=True, nogil=True)
def draw(g, c):
    """Bring the bits of class c up to date."""
    for w in range(len(g.maj)):
        maj = np.uint64(0)
        half = np.uint64(0)
        for b in range(min(64, g.counts.shape[1] - 64 * w)):
            twice = 2 * g.counts[c, 64 * w + b]
            maj |= np.uint64(twice > g.size[c]) << np.uint64(b)
            half |= np.uint64(twice == g.size[c]) << np.uint64(b)
        g.maj[w, c] = maj
        g.sure[w, c] = ~half


@nb.njit(cache=True, nogil=True)
def distance(bitmaps, row, maj, sure, c):
    """What the row would cost in class c: its distance to the centre, items of exactly half of the class being free."""
    differing = np.uint64(0)
    for w in range(len(maj)):
        differing += ones((bitmaps[row, w] ^ maj[w, c]) & sure[w, c])
    return np.int64(differing)


@nb.njit(cache=True, nogil=True)
def distances(bitmaps, row, maj, sure, out):
    """The same for all classes. Word by word and without a branch, so that the compiler counts several classes at once."""
    for w in range(len(maj)):
        word = bitmaps[row, w]
        if w == 0:
            for c in range(len(out)):
                out[c] = np.int32(ones((word ^ maj[w, c]) & sure[w, c]))
        else:
            for c in range(len(out)):
                out[c] += np.int32(ones((word ^ maj[w, c]) & sure[w, c]))


@nb.njit(cache=True, nogil=True)
def price(offsets, items, row, count, size, major, c):
    """The same from the counts."""
    cost = offsets[row + 1] - offsets[row] + major[c]
    for p in range(offsets[row], offsets[row + 1]):
        twice = 2 * count[c, items[p]]
        if twice > size[c]:
            cost -= 2
        elif twice == size[c]:
            cost -= 1
    return cost


@nb.step
def joining(g, row, c):
    """What the row would cost in class c, by whichever way is at hand."""
    if len(g.maj) > 0:
        return distance(g.bitmaps, row, g.maj, g.sure, c)
    return price(g.offsets, g.items, row, g.counts, g.size, g.major, c)


@nb.njit(cache=True, nogil=True)
def halves(g, c):
    """Items that exactly half of the class has."""
    return np.int64(g.having[c, g.size[c] // 2]) if g.size[c] % 2 == 0 else np.int64(0)


@nb.part
def centre_lists(g):
    """The lists of a group without bitmaps; empty ones for the others."""
    n_items = g.counts.shape[1]
    n_classes = len(g.size)
    starts = np.zeros(n_items + 2, np.int64)
    if len(g.maj) == 0:
        noted = np.full(n_items, -1, np.int32)
        for fill in range(2):
            if fill:
                for x in range(n_items):
                    starts[x + 2] += starts[x + 1]
                near = np.empty(starts[n_items + 1], np.int32)
                weight = np.empty(starts[n_items + 1], np.int32)
            for c in range(n_classes):
                for j in range(g.size[c]):
                    row = g.rows[g.member[c, j]]
                    for p in range(g.offsets[row], g.offsets[row + 1]):
                        x = g.items[p]
                        if 2 * g.counts[c, x] >= g.size[c] and noted[x] != 2 * c + fill:
                            noted[x] = 2 * c + fill
                            if fill:
                                near[starts[x + 1]] = c
                                weight[starts[x + 1]] = 2 if 2 * g.counts[c, x] > g.size[c] else 1
                                starts[x + 1] += 1
                            else:
                                starts[x + 2] += 1
    else:
        near = np.empty(0, np.int32)
        weight = np.empty(0, np.int32)
    return Lists(starts, near, weight, np.zeros(n_classes, np.int32), np.empty(n_classes, np.int32))


@nb.step
def rank_class(found, cost, n_found, c, price):
    """One more class among the nearest, ascending by cost; returns how many there are."""
    if n_found < len(found):
        n_found += 1
    elif cost[n_found - 1] <= price:
        return n_found
    at = n_found - 1
    while at > 0 and cost[at - 1] > price:
        cost[at] = cost[at - 1]
        found[at] = found[at - 1]
        at -= 1
    cost[at] = price
    found[at] = c
    return n_found


@nb.njit(cache=True, nogil=True)
def nearest(g, lists, plain, i, a, widest, saved, found, cost):
    """Fill in the nearest class other than a with room for row i, and others that cost less than `saved`; returns how many."""
    row = g.rows[i]
    n_found = np.int64(0)
    worst = FAR
    if len(g.maj) > 0:
        score, size = lists.score, g.size
        distances(g.bitmaps, row, g.maj, g.sure, score)
        score[a] = FAR
        while True:
            # Cost and class in one number: the least is found without a branch.
            least = FAR * CLASSES
            for c in range(len(score)):
                least = min(least, score[c] * CLASSES + c)
            best = least % CLASSES
            if least >= FAR * CLASSES:
                return 0
            if 0 < size[best] < widest:
                break
            score[best] = FAR
        found[0] = best
        cost[0] = score[best]
        if cost[0] >= saved:
            return 1
        score[best] = FAR
        n_found = np.int64(1)
        worst = saved
        for c in range(len(score)):
            if score[c] < worst and 0 < size[c] < widest:
                n_found = rank_class(found, cost, n_found, np.int64(c), np.int64(score[c]))
                if n_found == len(found):
                    worst = cost[len(found) - 1]
        return n_found
    length = g.offsets[row + 1] - g.offsets[row]
    n_met = 0
    for p in range(g.offsets[row], g.offsets[row + 1]):
        x = g.items[p]
        for q in range(lists.starts[x], lists.starts[x + 1]):
            c = lists.near[q]
            if lists.score[c] == 0:
                lists.met[n_met] = c
                n_met += 1
            lists.score[c] += lists.weight[q]
    for m in range(n_met):
        c = lists.met[m]
        d = length + g.major[c] - lists.score[c]
        lists.score[c] = 0
        if d < worst and c != a and 0 < g.size[c] < widest:
            n_found = rank_class(found, cost, n_found, np.int64(c), np.int64(d))
            if n_found == len(found):
                worst = cost[len(found) - 1]
    if plain != a and 0 < g.size[plain] < widest:
        # The best for a row that shares nothing with any centre.
        n_found = rank_class(found, cost, n_found, np.int64(plain), np.int64(length + g.major[plain]))
    return n_found


@nb.step
def partner(g, a, b, least):
    """The row of class b that is nearest to a compared with b, if it gains more than `least` that way; else -1."""
    other = np.int64(-1)
    member, rows, size = g.member, g.rows, g.size
    if len(g.maj) > 0:
        bitmaps, maj, sure = g.bitmaps, g.maj, g.sure
        for m in range(size[b]):
            row = rows[member[b, m]]
            gain = distance(bitmaps, row, maj, sure, b) - distance(bitmaps, row, maj, sure, a)
            if gain > least:
                least = gain
                other = np.int64(member[b, m])
        return other
    offsets, items, count, major = g.offsets, g.items, g.counts, g.major
    for m in range(size[b]):
        row = rows[member[b, m]]
        gain = price(offsets, items, row, count, size, major, b) - price(offsets, items, row, count, size, major, a)
        if gain > least:
            least = gain
            other = np.int64(member[b, m])
    return other


@nb.njit(cache=True, nogil=True)
def settle(g, k, swaps, i, a, saved, n_found, found, cost):
    """Move row i out of class a, or let it change places, if that lowers the loss; returns whether it does."""
    for f in range(n_found):
        if cost[f] >= saved:
            break
        b = found[f]
        here = g.loss[a] + g.loss[b]
        other = np.int64(-1)
        if g.size[a] <= k:
            if not swaps:
                break
            other = partner(g, a, b, cost[f] - saved - halves(g, b))
            if other < 0:
                continue
        change_places(g, i, a, b, other)
        if g.loss[a] + g.loss[b] < here:
            draw(g, a)
            draw(g, b)
            return True
        change_places(g, i, b, a, other)
    return False


@nb.step
def change_places(g, i, a, b, other):
    """Row i goes from class a to b, and the other one, if there is one (else -1), from b to a."""
    leave(g, i)
    if other >= 0:
        leave(g, other)
        enter(g, other, a)
    enter(g, i, b)


@nb.step
def dissolve(g, a, n_moving, moving, target, widest):
    """Give all rows of class a to others, if that lowers the loss."""
    gain = g.loss[a]
    done = 0
    while done < n_moving and g.size[target[done]] < widest:
        b = target[done]
        gain += g.loss[b]
        leave(g, moving[done])
        enter(g, moving[done], b)
        gain -= g.loss[b]
        done += 1
    if done == n_moving and gain > 0:
        for j in range(n_moving):
            draw(g, target[j])
        return
    for j in range(done):
        leave(g, moving[j])
        enter(g, moving[j], a)
