"""Rare itemsets under a cut: listed, raised as far towards the root as they stay rare, or marked in their rows.

The searches live on these. `rare_sets` stops at every rare prefix and keeps it: supersets of a breach add nothing. `lift` then asks
for each of them how far its members can rise. `mark_exposed` is what a search looks at before it recodes some rows differently from
others. All walk over prefixes as `shoal.kernels.itemsets.prefixes` describes.
"""

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.arrays import larger
from shoal.kernels.itemsets.nodes import covers, support_up_to
from shoal.kernels.itemsets.prefixes import (
    Rows,
    clear_counts,
    count_tails,
    gathered_tails,
    new_walk,
    open_frame,
    spread_places,
    start_walk,
    with_children,
)


def rare_sets(rows: Rows, first: int, last: int, k: int, m: int, most: int) -> npt.NDArray[np.int32]:
    """Itemsets of up to m tokens that fewer than k people have in a row, no prefix of which is rare, whose first token is in [first, last).

    Tokens are numbered rarest first. At most `most` sets per first token, m places each, unused ones -1, one after the other.
    """
    if k < 2:
        return np.empty(0, np.int32)
    gathered, nothing = gathered_tails(rows, first, last, m), np.empty(0, np.uint8)
    sets: npt.NDArray[np.int32] = find_rare_sets(
        gathered, rows.support, rows.crowd, rows.people, first, last, k, m, most, nothing
    )
    return sets


def mark_exposed(rows: Rows, first: int, last: int, k: int, m: int, exposed: npt.NDArray[np.uint8]) -> None:
    """Mark the rows of sets of exactly m >= 2 tokens that begin in [first, last) and are in rows of fewer than k people.

    Call with m = 2, 3, ...: a set with a smaller one in it that is rare, or of the same rows, is left out, as that was marked before.
    """
    gathered = gathered_tails(rows, first, last, m)
    find_rare_sets(gathered, rows.support, rows.crowd, rows.people, first, last, k, m, 1, exposed)


@nb.njit(cache=True, nogil=True)
def find_rare_sets(gathered, support_of, crowd_of, people, first, last, k, m, most, exposed):
    """List the rare sets of up to m tokens, or mark the rows of those of m tokens if there is an entry of `exposed` for each row."""
    tails, starts, entries, places, ends = gathered
    marking = len(exposed) > 0
    walk = new_walk(len(support_of), m, people)
    sets = np.empty(64 * m, np.int32)
    n_sets = 0
    prefix = np.full(m + 1, -1, np.int32)
    for a in range(first, last):
        n_first = support_of[a]
        limit = n_sets + most
        if crowd_of[a] < max(k, 2) or m == 1:
            if 0 < crowd_of[a] < k and not marking:
                prefix[0] = a
                sets = put_set(sets, n_sets, m, prefix, 1)
                n_sets += 1
            continue
        if n_first > len(places):
            places, ends = np.empty(2 * n_first, np.int64), np.empty(2 * n_first, np.int64)
        for i in range(n_first):
            places[i] = entries[starts[a - first] + i]
        start_walk(walk, a, n_first)
        depth = 0
        while depth >= 0 and n_sets < limit:
            if walk.following[depth] == walk.last[depth]:
                depth -= 1
                continue
            child = walk.following[depth]
            walk.following[depth] += 1
            begin, end = walk.begin[child], walk.end[child]
            prefix[depth] = walk.token[child]
            size = depth + 1
            n_touched = count_tails(tails, places, ends, begin, end, walk, people)
            if not marking or size + 1 == m:
                any_rare = False
                for t in range(n_touched):
                    if walk.crowd[walk.touched[t]] < k:
                        any_rare = True
                        if not marking and n_sets < limit:
                            prefix[size] = walk.touched[t]
                            sets = put_set(sets, n_sets, m, prefix, size + 1)
                            n_sets += 1
                if marking and any_rare:
                    mark_holders(tails, places, ends, begin, end, walk.crowd, k, exposed)
            if size + 1 == m:
                clear_counts(walk, n_touched)
                continue
            if walk.last[depth] + n_touched > len(walk.token):
                walk = with_children(walk, walk.last[depth] + n_touched)
            if open_frame(walk, depth, n_touched, k, end - begin):
                if walk.top[depth + 1] > len(places):
                    places, ends = larger(places, walk.top[depth + 1]), larger(ends, walk.top[depth + 1])
                spread_places(tails, places, ends, begin, end, walk.slot, walk.end)
                depth += 1
    return sets[: n_sets * m]


@nb.step
def put_set(sets, n_sets, m, prefix, size):
    """Write the first `size` tokens of the prefix as set number `n_sets`; the sets, with more room if need be."""
    if (n_sets + 1) * m > len(sets):
        sets = larger(sets, (n_sets + 1) * m)
    for i in range(m):
        sets[n_sets * m + i] = prefix[i] if i < size else -1
    return sets


@nb.part
def mark_holders(tails, places, ends, begin, end, crowd, k, exposed):
    """Mark the rows that have one of the rare tokens behind their place."""
    for i in range(begin, end):
        row = -tails[ends[i]] - 1
        if exposed[row]:
            continue
        for p in range(places[i] + 1, ends[i]):
            if crowd[tails[p]] < k:
                exposed[row] = 1
                break


@nb.njit(cache=True, nogil=True)
def lift(sets, first, last, backwards, parent, under, n_rows, k):
    """Sets [first, last), each with the members it does not need dropped and the others raised while it stays rare.

    Members are tried in their order, or `backwards`: the two orders give different strong breaches.
    """
    m = sets.shape[1]
    root = len(parent) - 1
    out = np.empty((last - first, m), np.int32)
    stamp = np.zeros(n_rows, np.int32)
    clock = np.zeros(1, np.int64)
    trial = np.empty(m, np.int32)
    for s in range(len(out)):
        nodes = out[s]
        n = 0
        for i in range(m):
            nodes[i] = sets[first + s, i]
            n += nodes[i] >= 0
        i = 0
        while n > 1 and i < n:
            kept = 0
            for j in range(n):
                if j != i:
                    trial[kept] = nodes[j]
                    kept += 1
            if support_up_to(trial, kept, under, stamp, clock, k) < k:
                for j in range(i, n - 1):
                    nodes[j] = nodes[j + 1]
                n -= 1
                nodes[n] = -1
            else:
                i += 1
        for step in range(n):
            i = n - 1 - step if backwards else step
            while parent[nodes[i]] != root:
                up = parent[nodes[i]]
                apart = True
                for j in range(n):
                    trial[j] = nodes[j]
                    if j != i and covers(under.span, up, nodes[j]):
                        apart = False
                trial[i] = up
                if not apart or support_up_to(trial, n, under, stamp, clock, k) >= k:
                    break
                nodes[i] = up
    return out
