"""Groups of k neighbours on a loop, and the classes chosen among them (PTA, Algorithms 2 and 3).

The groups are windows of k consecutive nodes. From one window to the next a node leaves and another enters, so counts and
loss are kept up to date instead of voting anew: all windows together cost two passes over the segment's items. Two windows
of one length overlap exactly if one holds the first or the last node of the other, so an overlap is seen in two looks.
"""

import numpy as np

from shoal.kernels import compiler as nb
from shoal.kernels.classes.bitmaps import hamming


@nb.njit(cache=True, nogil=True)
def group_starts(loop, distance, k):
    """Where on the loop the group of each of its nodes begins (Algorithm 2, lines 2 to 15).

    The node stands in the middle. For even k there is one place too many at the ends: the last node goes to the group only
    if it is not farther from the middle than the first one is.
    """
    n = len(loop)
    reach = k // 2
    starts = np.empty(n, np.int32)
    for i in range(n):
        first, last = (i - reach + n) % n, (i + reach) % n
        left_out = k % 2 == 0 and distance[loop[first], loop[i]] >= distance[loop[last], loop[i]]
        starts[i] = (first + 1) % n if left_out else first
    return starts


@nb.njit(cache=True, nogil=True)
def window_losses(offsets, columns, n_columns, loop, k):
    """Per place on the loop, what the k nodes from there on lose by their majority centre (Algorithm 2, lines 17 to 26)."""
    n = len(loop)
    losses = np.empty(n, np.int64)
    count = np.zeros(n_columns, np.int32)
    loss = np.int64(0)  # of each column the smaller part: those that have it, or those that have not
    for i in range(n + k - 1):
        if i >= k:
            node = loop[i - k]
            for p in range(offsets[node], offsets[node + 1]):
                having = count[columns[p]]
                loss += min(having - 1, k - having + 1) - min(having, k - having)
                count[columns[p]] = having - 1
        node = loop[i % n]
        for p in range(offsets[node], offsets[node + 1]):
            having = count[columns[p]]
            loss += min(having + 1, k - having - 1) - min(having, k - having)
            count[columns[p]] = having + 1
        if i >= k - 1:
            losses[i - k + 1] = loss
    return losses


@nb.njit(cache=True, nogil=True)
def disjoint_groups(starts, by_loss, k):
    """Where the chosen groups begin: each in turn unless it overlaps one chosen before (Algorithm 3, lines 6 to 12).

    Places that are left over are -1.
    """
    n = len(starts)
    taken = np.zeros(n, np.bool_)
    chosen = np.full(n // k, -1, np.int32)
    n_chosen = 0
    for i in by_loss:
        start = starts[i]
        if not (taken[start] or taken[(start + k - 1) % n]):
            for place in range(start, start + k):
                taken[place % n] = True
            chosen[n_chosen] = start
            n_chosen += 1
    return chosen


@nb.njit(cache=True, nogil=True)
def classes_of_nodes(offsets, columns, bitmaps, loop, chosen, k):
    """The class of each node: its group's, or for one that no group holds, that of the nearest centre (lines 13 to 15).

    Among equally near centres the class chosen first is taken. Centres stay as the k members of their group voted.
    """
    n = len(loop)
    of_node = np.full(n, -1, np.int32)
    centres = np.zeros((len(chosen), bitmaps.shape[1]), np.uint64)
    count = np.zeros(64 * bitmaps.shape[1], np.int32)
    for c in range(len(chosen)):
        for place in range(chosen[c], chosen[c] + k):
            node = loop[place % n]
            of_node[node] = c
            for p in range(offsets[node], offsets[node + 1]):
                count[columns[p]] += 1
        for place in range(chosen[c], chosen[c] + k):
            node = loop[place % n]
            for p in range(offsets[node], offsets[node + 1]):
                if 2 * count[columns[p]] > k:
                    centres[c, columns[p] >> 6] |= np.uint64(1) << np.uint64(columns[p] & 63)
                count[columns[p]] = 0
    for node in range(n):
        if of_node[node] < 0:
            nearest = np.iinfo(np.int32).max
            for c in range(len(chosen)):
                distance = hamming(bitmaps, node, centres, c)
                if distance < nearest:
                    nearest = distance
                    of_node[node] = c
    return of_node
