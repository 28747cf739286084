"""Rare itemsets under a cut, and the same itemsets raised as far towards the root as they stay rare.

The algorithms live on these two. `rare_sets` walks prefixes like the audit does, but stops at every rare prefix and
keeps it: supersets of a breach add nothing. `lift` then asks for each of them how far its members can rise. Leaves are
laid out depth first, so the rows of any node are one stretch of one array, and the support of a set of nodes is a few
linear scans that mark rows, smallest node first, ended as soon as k is reached.
"""

import numba as nb
import numpy as np
import numpy.typing as npt

from shoal.kernels.arrays import grown
from shoal.kernels.itemsets.rows import gather, gathered_at_home, home_of


def rare_sets(
    offsets: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int32],
    lengths: npt.NDArray[np.int32],
    support_of: npt.NDArray[np.int64],
    volume: npt.NDArray[np.int64],
    first: int,
    last: int,
    k: int,
    m: int,
    most: int,
) -> npt.NDArray[np.int32]:
    """Itemsets of up to m tokens in fewer than k rows, no prefix of which is rare, whose first token is in [first, last),
    over rows laid out as in `shoal.kernels.itemsets.rows`.

    Tokens are numbered rarest first. At most `most` sets per first token, m places each, unused ones -1, one after the other.
    """
    if k < 2:
        return np.empty(0, np.int32)
    home = home_of(rows)
    if home is None:
        return _rare_sets(offsets, rows, lengths, support_of, volume, first, last, k, m, most)
    gathered, starts, entries, stack = gathered_at_home(
        home, offsets, rows, lengths, support_of, volume, first, last, m
    )
    half = len(stack) // 2
    return _rare_gathered(gathered, starts, entries, stack[:half], stack[half:], support_of, first, last, k, m, most)


@nb.njit(cache=True, nogil=True)
def _rare_sets(offsets, rows, lengths, support_of, volume, first, last, k, m, most):
    tails, starts, entries = gather(offsets, rows, lengths, support_of, volume, first, last)
    entry_pos = np.empty(4096, np.int64)
    entry_stop = np.empty(4096, np.int64)
    return _rare_gathered(tails, starts, entries, entry_pos, entry_stop, support_of, first, last, k, m, most)


@nb.njit(cache=True, nogil=True)
def _rare_gathered(tails, starts, entries, entry_pos, entry_stop, support_of, first, last, k, m, most):
    n_tokens = len(support_of)
    found = np.empty(64 * m, np.int32)
    n_found = 0
    count = np.zeros(n_tokens, np.int32)
    slot = np.zeros(n_tokens, np.int64)
    touched = np.empty(n_tokens, np.int32)
    prefix = np.full(m + 1, -1, np.int32)
    frame_next = np.zeros(m + 1, np.int64)
    frame_stop = np.zeros(m + 1, np.int64)
    frame_entries = np.zeros(m + 1, np.int64)
    child_item = np.empty(1024, np.int32)
    child_from = np.empty(1024, np.int64)
    child_to = np.empty(1024, np.int64)

    for a in range(first, last):
        n_first = support_of[a]
        if n_first == 0:
            continue
        limit = n_found + most
        if n_first > len(entry_pos):
            entry_pos = np.empty(2 * n_first, np.int64)
            entry_stop = np.empty(2 * n_first, np.int64)
        for i in range(n_first):
            entry_pos[i] = entries[starts[a - first] + i]
        child_item[0] = a
        child_from[0] = 0
        child_to[0] = n_first
        frame_next[0] = 0
        frame_stop[0] = 1
        frame_entries[0] = n_first
        depth = 0
        while depth >= 0 and n_found < limit:
            if frame_next[depth] == frame_stop[depth]:
                depth -= 1
                continue
            child = frame_next[depth]
            frame_next[depth] += 1
            begin, end = child_from[child], child_to[child]
            support = end - begin
            prefix[depth] = child_item[child]
            size = depth + 1
            if support < k:
                if (n_found + 1) * m > len(found):
                    found = grown(found, (n_found + 1) * m)
                for i in range(m):
                    found[n_found * m + i] = prefix[i] if i < size else -1
                n_found += 1
                continue
            if size == m:
                continue

            n_touched = 0
            for i in range(begin, end):
                p = entry_pos[i] + 1
                item = tails[p]
                while item >= 0:
                    if count[item] == 0:
                        touched[n_touched] = item
                        n_touched += 1
                    count[item] += 1
                    p += 1
                    item = tails[p]
                entry_stop[i] = p

            # Rare children are breaches; those in all rows of the prefix cannot make anything rarer and are left out.
            n_children = frame_stop[depth]
            if n_children + n_touched > len(child_item):
                child_item = grown(child_item, n_children + n_touched)
                child_from = grown(child_from, n_children + n_touched)
                child_to = grown(child_to, n_children + n_touched)
            at = frame_entries[depth]
            for t in range(n_touched):
                item = touched[t]
                slot[item] = -1
                if count[item] < k:
                    if n_found < limit:
                        if (n_found + 1) * m > len(found):
                            found = grown(found, (n_found + 1) * m)
                        prefix[size] = item
                        for i in range(m):
                            found[n_found * m + i] = prefix[i] if i <= size else -1
                        n_found += 1
                elif size + 1 < m and count[item] < support:
                    child_item[n_children] = item
                    child_from[n_children] = at
                    child_to[n_children] = at
                    slot[item] = n_children
                    at += count[item]
                    n_children += 1
                count[item] = 0
            if n_children == frame_stop[depth]:
                continue
            if at > len(entry_pos):
                entry_pos = grown(entry_pos, at)
                entry_stop = grown(entry_stop, at)
            for i in range(begin, end):
                for p in range(entry_pos[i] + 1, entry_stop[i]):
                    where = slot[tails[p]]
                    if where >= 0:
                        entry_pos[child_to[where]] = p
                        child_to[where] += 1
            depth += 1
            frame_next[depth] = frame_stop[depth - 1]
            frame_stop[depth] = n_children
            frame_entries[depth] = at
    return found[: n_found * m]


@nb.njit(cache=True, nogil=True)
def support_up_to(nodes, n, span, leaf_offsets, leaf_rows, stamp, clock, k):
    """Rows that hold something under each of the first n `nodes` (reordered in place, smallest first), counted up to k.

    `stamp` has an entry per row, `clock[0]` the last value used in it.
    """
    for i in range(1, n):
        j = i
        while j > 0 and _width(nodes[j], span, leaf_offsets) < _width(nodes[j - 1], span, leaf_offsets):
            nodes[j], nodes[j - 1] = nodes[j - 1], nodes[j]
            j -= 1
    if clock[0] > 2_000_000_000:
        for row in range(len(stamp)):
            stamp[row] = 0
        clock[0] = 0
    base = clock[0]
    clock[0] += n
    for i in range(n):
        # A row is stamped base + 1 by the first node, base + 2 by the second if it was base + 1, and so on.
        support = 0
        node = nodes[i]
        for p in range(leaf_offsets[span[node, 0]], leaf_offsets[span[node, 1]]):
            row = leaf_rows[p]
            if (stamp[row] <= base) if i == 0 else (stamp[row] == base + i):
                stamp[row] = base + i + 1
                support += 1
                if i == n - 1 and support >= k:
                    return support
        if support < k:
            return support
    return support


@nb.njit(cache=True, nogil=True)
def _width(node, span, leaf_offsets):
    return leaf_offsets[span[node, 1]] - leaf_offsets[span[node, 0]]


@nb.njit(cache=True, nogil=True)
def lift(sets, first, last, backwards, parent, span, leaf_offsets, leaf_rows, n_rows, k):
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
            if support_up_to(trial, kept, span, leaf_offsets, leaf_rows, stamp, clock, k) < k:
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
                    if j != i and span[up, 0] <= span[nodes[j], 0] and span[nodes[j], 1] <= span[up, 1]:
                        apart = False
                trial[i] = up
                if not apart or support_up_to(trial, n, span, leaf_offsets, leaf_rows, stamp, clock, k) >= k:
                    break
                nodes[i] = up
    return out
