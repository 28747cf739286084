"""Classes of rows under a recoding that is the same for all of them, rolled up from finer classes, and what a step up or down does to them.

A recoding says per column and lowest node what is published: `target[at[j] + node]`. A class is known by one of its tuples, for all of
them are published alike; under a coarser recoding it goes into another class as a whole. So classes are counted from classes, and the
rows are never looked at again.
"""

import numpy as np

from shoal.kernels import compiler as nb
from shoal.kernels.tables.demands import count_row, shortfall


@nb.njit(cache=True, nogil=True)
def roll_up(points, member, size, own, target, at):
    """(class of each finer class, a tuple of each class, its rows, the sum of `own` over it), classes in the order of their first.

    Finer class i has tuple `member[i]` of `points` in it and `size[i]` rows.
    """
    n, d = len(member), len(at)
    room = 16
    while room < 2 * n:
        room *= 2
    slots = np.full(room, -1, np.int64)
    group = np.empty(n, np.int64)
    members, sizes, owns = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.float64)
    count = 0
    for i in range(n):
        t = member[i]
        mixed = np.int64(1469598103934665603)
        for j in range(d):
            mixed = (mixed ^ np.int64(target[at[j] + points[t, j]])) * np.int64(1099511628211)
        slot = (mixed ^ (mixed >> 29)) & (room - 1)
        while True:
            c = slots[slot]
            if c < 0:
                c = count
                slots[slot] = c
                members[c], sizes[c], owns[c] = t, 0, 0.0
                count += 1
                break
            alike = True
            for j in range(d):
                if target[at[j] + points[members[c], j]] != target[at[j] + points[t, j]]:
                    alike = False
                    break
            if alike:
                break
            slot = (slot + 1) & (room - 1)
        group[i] = c
        sizes[c] += size[i]
        owns[c] += own[i]
    return group, members[:count].copy(), sizes[:count].copy(), owns[:count].copy()


@nb.njit(cache=True, nogil=True)
def lacking_classes(demands, of_row, poor):
    """Marks the classes that hold too little of what is demanded; those that are marked already are not looked at."""
    n = len(poor)
    first = np.zeros(n + 1, np.int64)
    for c in of_row:
        first[c + 1] += 1
    for c in range(n):
        first[c + 1] += first[c]
    rows, place = np.empty(len(of_row), np.int64), first[:-1].copy()
    for r in range(len(of_row)):
        rows[place[of_row[r]]] = r
        place[of_row[r]] += 1
    counts = np.zeros(demands.start[-1], np.int64)
    for c in range(n):
        if poor[c]:
            continue
        for i in range(first[c], first[c + 1]):
            count_row(demands, counts, rows[i], 1)
        poor[c] = shortfall(demands, counts, first[c + 1] - first[c]) > 0
        for i in range(first[c], first[c + 1]):
            count_row(demands, counts, rows[i], -1)


@nb.njit(cache=True, nogil=True)
def parted_classes(order, first, safe, size, node, child, n_nodes, k):
    """(rows, least): per node of a column, how many rows it would leave in classes of fewer than k to publish its children instead, and
    the rows of the smallest class of k or more that it would make.

    The tuples of class c are `order[first[c]:first[c + 1]]`; classes that are not safe are past help. Per tuple its rows, its node, and
    the child of that node that it is under.
    """
    lost = np.zeros(n_nodes, np.int64)
    least = np.full(n_nodes, np.iinfo(np.int64).max, np.int64)
    rows = np.zeros(n_nodes, np.int64)
    for c in range(len(safe)):
        if not safe[c]:
            continue
        v = node[order[first[c]]]
        for i in range(first[c], first[c + 1]):
            rows[child[order[i]]] += size[order[i]]
        for i in range(first[c], first[c + 1]):
            own = child[order[i]]
            if rows[own] == 0:
                continue
            if rows[own] < k:
                lost[v] += rows[own]
            else:
                least[v] = min(least[v], rows[own])
            rows[own] = 0
    return lost, least


@nb.njit(cache=True, nogil=True)
def hidden_rows(points, member, size, target, at, j, above, n_nodes, k):
    """Per node of column j, the rows of too small classes that would be among k if it were published in place of its children.

    `above` has, per lowest node, the node that may take its place, -1 for none.
    """
    n, d = len(member), len(at)
    room = 16
    while room < 2 * n:
        room *= 2
    slots = np.full(room, -1, np.int64)
    total = np.zeros(n, np.int64)
    group = np.full(n, -1, np.int64)
    for i in range(n):
        t = member[i]
        v = above[points[t, j]]
        if v < 0:
            continue
        mixed = (np.int64(1469598103934665603) ^ np.int64(v)) * np.int64(1099511628211)
        for c in range(d):
            if c != j:
                mixed = (mixed ^ np.int64(target[at[c] + points[t, c]])) * np.int64(1099511628211)
        slot = (mixed ^ (mixed >> 29)) & (room - 1)
        while True:
            other = slots[slot]
            if other < 0:
                other = i
                slots[slot] = i
                break
            o = member[other]
            alike = above[points[o, j]] == v
            for c in range(d):
                if not alike:
                    break
                if c != j:
                    alike = target[at[c] + points[o, c]] == target[at[c] + points[t, c]]
            if alike:
                break
            slot = (slot + 1) & (room - 1)
        group[i] = other
        total[other] += size[i]
    hidden = np.zeros(n_nodes, np.int64)
    for i in range(n):
        if group[i] >= 0 and size[i] < k and total[group[i]] >= k:
            hidden[above[points[member[i], j]]] += size[i]
    return hidden
