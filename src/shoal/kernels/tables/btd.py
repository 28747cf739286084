"""Bit-vector transaction distances between clusters (RT paper, section 5), without comparing all pairs of records.

BTD(r, s) = (ones(r xor s) + 1) / (ones(r and s) + 1), and of a cluster the largest over its pairs. Two records of together L items that
share nothing are L + 1 apart, and no two of L items are farther. So records are kept by falling length, long ones
meet first, and the search ends as soon as L + 1 is no more than what has been found: usually after a few pairs.

The records of a cluster are lists (`next_row`) inside buckets of one length, and the buckets of a cluster a list by falling
length (`next_bucket`): two clusters become one by relinking buckets, without touching a record.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb


class Itemsets(NamedTuple):
    """The items of each record."""

    offsets: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    signature: npt.NDArray[np.uint64]
    """Per record a word with a one for each of its items, several items to a bit."""
    n_items: int


class LengthLists(NamedTuple):
    """The records of each group by falling length."""

    first: npt.NDArray[np.int64]
    """The first bucket of each group."""
    length: npt.NDArray[np.int64]
    """Of the records of each bucket."""
    head: npt.NDArray[np.int64]
    tail: npt.NDArray[np.int64]
    next_bucket: npt.NDArray[np.int64]
    next_row: npt.NDArray[np.int64]


@nb.njit(cache=True, nogil=True)
def length_lists(lengths, group, n_groups):
    """The lists of the records of each group."""
    n = len(lengths)
    longest = np.int64(0)
    for r in range(n):
        longest = max(longest, lengths[r])
    # By length first, then by group: two counting passes, both keeping the order of rows.
    at = np.zeros(longest + 2, np.int64)
    for r in range(n):
        at[longest - lengths[r] + 1] += 1
    for i in range(longest + 1):
        at[i + 1] += at[i]
    by_length = np.empty(n, np.int64)
    for r in range(n):
        by_length[at[longest - lengths[r]]] = r
        at[longest - lengths[r]] += 1
    first = np.full(n_groups, -1, np.int64)
    last = np.full(n_groups, -1, np.int64)
    length = np.empty(n, np.int64)
    head = np.empty(n, np.int64)
    tail = np.empty(n, np.int64)
    next_bucket = np.full(n, -1, np.int64)
    next_row = np.full(n, -1, np.int64)
    n_buckets = 0
    for place in range(n):
        r = by_length[place]
        g = group[r]
        b = last[g]
        if b >= 0 and length[b] == lengths[r]:
            next_row[tail[b]] = r
            tail[b] = r
            continue
        length[n_buckets] = lengths[r]
        head[n_buckets] = r
        tail[n_buckets] = r
        if b >= 0:
            next_bucket[b] = n_buckets
        else:
            first[g] = n_buckets
        last[g] = n_buckets
        n_buckets += 1
    return LengthLists(first, length[:n_buckets], head[:n_buckets], tail[:n_buckets], next_bucket[:n_buckets], next_row)


@nb.njit(cache=True, nogil=True)
def link_lists(lists, g, h):
    """The records of group h go over to group g."""
    first, length, head, tail, next_bucket, next_row = lists
    a, b = first[g], first[h]
    start = -1
    end = -1
    while a >= 0 or b >= 0:
        if b < 0 or (a >= 0 and length[a] > length[b]):
            chosen = a
            a = next_bucket[a]
        elif a < 0 or length[b] > length[a]:
            chosen = b
            b = next_bucket[b]
        else:
            next_row[tail[a]] = head[b]
            tail[a] = tail[b]
            chosen = a
            a = next_bucket[a]
            b = next_bucket[b]
        if end < 0:
            start = chosen
        else:
            next_bucket[end] = chosen
        end = chosen
    if end >= 0:
        next_bucket[end] = -1
    first[g] = start
    first[h] = -1


@nb.njit(cache=True, nogil=True)
def signatures(offsets, items):
    """Per record a word with a one for each of its items, several items to a bit: records whose words share no bit share no item."""
    out = np.zeros(len(offsets) - 1, np.uint64)
    for r in range(len(out)):
        for p in range(offsets[r], offsets[r + 1]):
            out[r] |= np.uint64(1) << np.uint64(items[p] & 63)
    return out


@nb.step
def _largest(sets, lists, g, h, known, enough, mark):
    """The largest BTD between a record of group g and one of group h, or `known` if that is larger.

    The search ends early once it has found more than `enough`.
    """
    offsets, items, signature = sets.offsets, sets.items, sets.signature
    first, length, head = lists.first, lists.length, lists.head
    next_bucket, next_row = lists.next_bucket, lists.next_row
    best = known
    a = first[g]
    while a >= 0 and first[h] >= 0:
        if length[a] + length[first[h]] + 1 <= best:
            break
        r = head[a]
        while r >= 0 and best <= enough:
            for p in range(offsets[r], offsets[r + 1]):
                mark[items[p]] = r
            b = first[h]
            while b >= 0 and length[a] + length[b] + 1 > best:
                together = length[a] + length[b]
                s = head[b]
                while s >= 0:
                    distance = np.float64(together + 1)
                    if signature[r] & signature[s] != 0:
                        common = 0
                        for p in range(offsets[s], offsets[s + 1]):
                            if mark[items[p]] == r:
                                common += 1
                                distance = (together - 2 * common + 1) / (common + 1)
                                if distance <= best:
                                    break  # more in common only brings them nearer
                    if distance > best:
                        best = distance
                        if together + 1 <= best:
                            break
                    s = next_row[s]
                b = next_bucket[b]
            r = next_row[r]
        a = next_bucket[a]
        if best > enough:
            break
    return best


@nb.njit(cache=True, nogil=True)
def group_distances(sets, lists):
    """BTD of each group."""
    mark = np.full(sets.n_items, -1, np.int64)
    out = np.zeros(len(lists.first), np.float64)
    for g in range(len(lists.first)):
        out[g] = _largest(sets, lists, g, g, 0.0, np.inf, mark)
    return out


@nb.njit(cache=True, nogil=True)
def distances_beside(sets, lists, own, alive, g):
    """BTD of each group together with group g, given their `own`; infinite for dead ones and for g itself."""
    mark = np.full(sets.n_items, -1, np.int64)
    out = np.empty(len(lists.first), np.float64)
    for h in range(len(lists.first)):
        if h == g or not alive[h]:
            out[h] = np.inf
        else:
            known = max(own[g], own[h])
            out[h] = _largest(sets, lists, g, h, known, np.inf, mark)
    return out


@nb.njit(cache=True, nogil=True)
def nearest_group(sets, lists, own, allowed, joint, g):
    """(group, BTD): the allowed group with the least BTD together with g, equal ones told apart by `joint`, then by place.

    A group is given up as soon as one of its pairs is farther apart than the best group's farthest.
    """
    mark = np.full(sets.n_items, -1, np.int64)
    best, best_apart = -1, np.inf
    for h in range(len(lists.first)):
        if h == g or not allowed[h]:
            continue
        known = max(own[g], own[h])
        if known > best_apart:
            continue
        apart = _largest(sets, lists, g, h, known, best_apart, mark)
        if best < 0 or apart < best_apart or (apart == best_apart and joint[h] < joint[best]):
            best, best_apart = h, apart
    return best, best_apart
