"""Rows that hold a set of tokens rarer than k, marked: what a search looks at before it recodes some rows differently from others.

The walk is that of `shoal.kernels.itemsets.breaches`, over rows laid out as in `shoal.kernels.itemsets.rows`, but what is
rare is marked in its rows and not listed.
"""

import numba as nb
import numpy as np

from shoal.kernels.arrays import grown
from shoal.kernels.itemsets.rows import gather


@nb.njit(cache=True, nogil=True)
def mark_exposed(offsets, rows, lengths, support_of, volume, first, last, k, m, exposed):
    """Mark the rows of sets of exactly m >= 2 tokens that begin in [first, last) and have fewer than k rows.

    Call with m = 2, 3, ...: a set with a smaller one in it that is rare, or of the same rows, is left out, as that was marked before.
    """
    tails, starts, entries = gather(offsets, rows, lengths, support_of, volume, first, last)
    n_tokens = len(support_of)
    entry_pos = np.empty(4096, np.int64)
    entry_stop = np.empty(4096, np.int64)
    count = np.zeros(n_tokens, np.int32)
    slot = np.zeros(n_tokens, np.int64)
    touched = np.empty(n_tokens, np.int32)
    frame_next = np.zeros(m + 1, np.int64)
    frame_stop = np.zeros(m + 1, np.int64)
    frame_entries = np.zeros(m + 1, np.int64)
    child_from = np.empty(1024, np.int64)
    child_to = np.empty(1024, np.int64)

    for a in range(first, last):
        n_first = support_of[a]
        if n_first < max(k, 2):
            continue
        if n_first > len(entry_pos):
            entry_pos = np.empty(2 * n_first, np.int64)
            entry_stop = np.empty(2 * n_first, np.int64)
        for i in range(n_first):
            entry_pos[i] = entries[starts[a - first] + i]
        child_from[0] = 0
        child_to[0] = n_first
        frame_next[0] = 0
        frame_stop[0] = 1
        frame_entries[0] = n_first
        depth = 0
        while depth >= 0:
            if frame_next[depth] == frame_stop[depth]:
                depth -= 1
                continue
            child = frame_next[depth]
            frame_next[depth] += 1
            begin, end = child_from[child], child_to[child]
            support = end - begin
            n_touched = 0
            for i in range(begin, end):
                p = entry_pos[i] + 1
                token = tails[p]
                while token >= 0:
                    if count[token] == 0:
                        touched[n_touched] = token
                        n_touched += 1
                    count[token] += 1
                    p += 1
                    token = tails[p]
                entry_stop[i] = p

            if depth + 2 == m:
                any_rare = False
                for t in range(n_touched):
                    any_rare |= count[touched[t]] < k
                if any_rare:
                    for i in range(begin, end):
                        row = -tails[entry_stop[i]] - 1
                        if exposed[row]:
                            continue
                        for p in range(entry_pos[i] + 1, entry_stop[i]):
                            if count[tails[p]] < k:
                                exposed[row] = 1
                                break
                for t in range(n_touched):
                    count[touched[t]] = 0
                continue

            n_children = frame_stop[depth]
            if n_children + n_touched > len(child_from):
                child_from = grown(child_from, n_children + n_touched)
                child_to = grown(child_to, n_children + n_touched)
            at = frame_entries[depth]
            for t in range(n_touched):
                token = touched[t]
                slot[token] = -1
                if k <= count[token] < support:
                    child_from[n_children] = at
                    child_to[n_children] = at
                    slot[token] = n_children
                    at += count[token]
                    n_children += 1
                count[token] = 0
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
