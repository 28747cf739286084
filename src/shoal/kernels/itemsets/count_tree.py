"""The walk over the count-tree of the 2008 paper (Algorithms 1, 3 and 4), without the tree.

A count-tree holds every combination of items and their ancestors in a fixed order, most frequent first. Its preorder
traversal is a walk over prefixes, and a node's children with their counts are what one dense counter over the rows of the
prefix says; so nothing but the current path is ever in memory. The cut changes under way, as in the paper, and what is
generalized is skipped from then on; the walk is therefore one thread's work.
"""

import numba as nb
import numpy as np

from shoal.kernels.arrays import grown, sort_range
from shoal.kernels.itemsets.breaches import support_up_to


@nb.njit(cache=True, nogil=True)
def expanded_rows(offsets, items, leaf, parent, rank, gone):
    """Rows with all ancestors (the root, rank -1, and what is generalized left out) in tree order: (offsets, ranks)."""
    n_rows = len(offsets) - 1
    seen = np.full(len(parent), -1, np.int32)
    out_offsets = np.zeros(n_rows + 1, np.int64)
    out = np.empty(0, np.int32)
    for fill in range(2):
        at = 0
        for row in range(n_rows):
            start = at
            for p in range(offsets[row], offsets[row + 1]):
                node = leaf[items[p]]
                while rank[node] >= 0 and seen[node] != 2 * row + fill:
                    seen[node] = 2 * row + fill
                    if not gone[node]:
                        if fill == 1:
                            out[at] = rank[node]
                        at += 1
                    node = parent[node]
            out_offsets[row + 1] = at
            if fill == 1:
                sort_range(out, start, at)
        if fill == 0:
            out = np.empty(at, np.int32)
    return out_offsets, out


@nb.njit(cache=True, nogil=True)
def generalize_breaches(
    offsets,
    tails,
    row_offsets,
    rows,
    node_of,
    k,
    size,
    any_depth,
    parent,
    span,
    cost,
    leaf_offsets,
    leaf_rows,
    gone,
    under,
):
    """Walk the count-tree in preorder and generalize away every rare leaf that is met (Algorithm 3).

    Leaves are paths of `size` nodes; with `any_depth` also shorter ones that nothing extends. `gone[v]`: v lies below the
    cut; `under[v]`: the cost of the cut's nodes below v. Both are updated. Returns the number of rare leaves repaired.
    """
    n_ranks = len(node_of)
    n_rows = len(offsets) - 1
    stamp = np.zeros(n_rows, np.int32)
    clock = np.zeros(1, np.int64)
    count = np.zeros(n_ranks, np.int32)
    slot = np.zeros(n_ranks, np.int64)
    touched = np.empty(n_ranks, np.int32)
    path = np.empty(size + 1, np.int32)
    frame_next = np.zeros(size + 1, np.int64)
    frame_stop = np.zeros(size + 1, np.int64)
    frame_entries = np.zeros(size + 1, np.int64)
    child_rank = np.empty(1024, np.int32)
    child_from = np.empty(1024, np.int64)
    child_to = np.empty(1024, np.int64)
    entry_pos = np.empty(4096, np.int64)
    entry_row = np.empty(4096, np.int32)
    repaired = 0

    for a in range(n_ranks):
        n_first = row_offsets[a + 1] - row_offsets[a]
        if n_first == 0 or gone[node_of[a]]:
            continue
        path[0] = node_of[a]
        length = 1
        if size == 1:
            if n_first < k:
                _repair(path, length, k, parent, span, cost, leaf_offsets, leaf_rows, stamp, clock, gone, under)
                repaired += 1
            continue
        if n_first > len(entry_pos):
            entry_pos = np.empty(2 * n_first, np.int64)
            entry_row = np.empty(2 * n_first, np.int32)
        for i in range(n_first):
            row = rows[row_offsets[a] + i]
            lo, hi = offsets[row], offsets[row + 1]
            while lo < hi:
                mid = (lo + hi) >> 1
                if tails[mid] < a:
                    lo = mid + 1
                else:
                    hi = mid
            entry_pos[i] = lo
            entry_row[i] = row
        child_rank[0] = a
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
            node = node_of[child_rank[child]]
            if gone[node]:
                continue
            path[depth] = node
            length = depth + 1
            begin, end = child_from[child], child_to[child]
            n_touched = 0
            for i in range(begin, end):
                for p in range(entry_pos[i] + 1, offsets[entry_row[i] + 1]):
                    rank = tails[p]
                    if count[rank] == 0:
                        touched[n_touched] = rank
                        n_touched += 1
                    count[rank] += 1
            # A path never holds a node and its ancestor; ancestors come first in the order.
            n_children = 0
            for t in range(n_touched):
                rank = touched[t]
                apart = True
                for d in range(length):
                    if _covers(span, path[d], node_of[rank]):
                        apart = False
                if not apart or (length + 1 == size and count[rank] >= k):
                    n_children += apart
                    count[rank] = 0
                    slot[rank] = -1
                    touched[t] = n_ranks
                else:
                    n_children += 1
            sort_range(touched, 0, n_touched)
            while n_touched > 0 and touched[n_touched - 1] == n_ranks:
                n_touched -= 1

            if n_children == 0:
                if any_depth and end - begin < k:
                    _repair(path, length, k, parent, span, cost, leaf_offsets, leaf_rows, stamp, clock, gone, under)
                    repaired += 1
            elif length + 1 == size:
                # What is left in `touched` are the rare leaves.
                for t in range(n_touched):
                    rank = touched[t]
                    count[rank] = 0
                    alive = not gone[node_of[rank]]
                    for d in range(length):
                        alive = alive and not gone[path[d]]
                    if alive:
                        path[length] = node_of[rank]
                        _repair(
                            path, length + 1, k, parent, span, cost, leaf_offsets, leaf_rows, stamp, clock, gone, under
                        )
                        repaired += 1
            else:
                base = frame_stop[depth]
                if base + n_touched > len(child_rank):
                    child_rank = grown(child_rank, base + n_touched)
                    child_from = grown(child_from, base + n_touched)
                    child_to = grown(child_to, base + n_touched)
                at = frame_entries[depth]
                for t in range(n_touched):
                    rank = touched[t]
                    child_rank[base + t] = rank
                    child_from[base + t] = at
                    child_to[base + t] = at
                    slot[rank] = base + t
                    at += count[rank]
                    count[rank] = 0
                if at > len(entry_pos):
                    entry_pos = grown(entry_pos, at)
                    entry_row = grown(entry_row, at)
                for i in range(begin, end):
                    row = entry_row[i]
                    for p in range(entry_pos[i] + 1, offsets[row + 1]):
                        where = slot[tails[p]]
                        if where >= 0:
                            entry_pos[child_to[where]] = p
                            entry_row[child_to[where]] = row
                            child_to[where] += 1
                depth += 1
                frame_next[depth] = base
                frame_stop[depth] = base + n_touched
                frame_entries[depth] = at
            # Line 10: back to the longest prefix in which nothing has been generalized.
            for d in range(min(length, depth + 1)):
                if gone[path[d]]:
                    depth = d
                    break
    return repaired


@nb.njit(cache=True, nogil=True)
def _covers(span, above, below):
    return span[above, 0] <= span[below, 0] and span[below, 1] <= span[above, 1]


@nb.njit(cache=True, nogil=True)
def _image(path, n, steps, up, span, raised, image):
    """Nodes that the path is raised to (outermost only), and what the path then reads as: (n_raised, n_image)."""
    n_raised = 0
    for i in range(n):
        if steps[i] > 0:
            outermost = True
            for j in range(n):
                if j != i and steps[j] > 0:
                    other = up[j, steps[j]]
                    mine = up[i, steps[i]]
                    if _covers(span, other, mine) and (other > mine or (other == mine and j < i)):
                        outermost = False
            if outermost:
                raised[n_raised] = up[i, steps[i]]
                n_raised += 1
    n_image = 0
    for r in range(n_raised):
        image[n_image] = raised[r]
        n_image += 1
    for i in range(n):
        covered = steps[i] > 0
        for r in range(n_raised):
            covered = covered or _covers(span, raised[r], path[i])
        if not covered:
            image[n_image] = path[i]
            n_image += 1
    return n_raised, n_image


@nb.njit(cache=True, nogil=True)
def _repair(path, n, k, parent, span, cost, leaf_offsets, leaf_rows, stamp, clock, gone, under):
    """Raise the nodes of a rare path so that it is not rare any more, at the least loss, and commit that to the cut.

    Choices are looked at cheapest first; ties go to fewer levels in all, then to raising later members of the path. Each
    choice is made once: it comes from the one with its last raised member one level lower.
    """
    height = 0
    for i in range(n):
        node, levels = path[i], 0
        while parent[node] >= 0:
            node = parent[node]
            levels += 1
        height = max(height, levels)
    up = np.full((n, height + 1), -1, np.int32)
    for i in range(n):
        node, levels = path[i], 0
        while node >= 0:
            up[i, levels] = node
            node = parent[node]
            levels += 1
    raised = np.empty(n, np.int32)
    image = np.empty(n, np.int32)
    steps = np.zeros(64 * n, np.int32)
    current = np.zeros(n, np.int32)
    trial = np.zeros(n, np.int32)
    price = np.zeros(64, np.int64)
    levels_of = np.zeros(64, np.int64)
    n_open = 1
    while True:
        best = 0
        for c in range(1, n_open):
            if price[c] != price[best]:
                better = price[c] < price[best]
            elif levels_of[c] != levels_of[best]:
                better = levels_of[c] < levels_of[best]
            else:
                better = False
                for i in range(n):
                    if steps[c * n + i] != steps[best * n + i]:
                        better = steps[c * n + i] < steps[best * n + i]
                        break
            if better:
                best = c
        levels = levels_of[best]
        n_open -= 1
        for i in range(n):
            current[i] = steps[best * n + i]
            steps[best * n + i] = steps[n_open * n + i]
        price[best] = price[n_open]
        levels_of[best] = levels_of[n_open]
        if levels > 0:
            n_raised, n_image = _image(path, n, current, up, span, raised, image)
            if support_up_to(image, n_image, span, leaf_offsets, leaf_rows, stamp, clock, k) >= k:
                break
        last = 0
        for i in range(n):
            if current[i] > 0:
                last = i
        for i in range(last, n):
            if current[i] + 1 <= height and up[i, current[i] + 1] >= 0:
                if n_open == len(price):
                    price = grown(price, n_open)
                    levels_of = grown(levels_of, n_open)
                    steps = grown(steps, n_open * n)
                for j in range(n):
                    trial[j] = current[j] + (j == i)
                    steps[n_open * n + j] = trial[j]
                n_raised, n_image = _image(path, n, trial, up, span, raised, image)
                price[n_open] = 0
                for r in range(n_raised):
                    price[n_open] += cost[raised[r]] - under[raised[r]]
                levels_of[n_open] = levels + 1
                n_open += 1
    n_raised, n_image = _image(path, n, current, up, span, raised, image)
    for r in range(n_raised):
        top = raised[r]
        gain = cost[top] - under[top]
        node = top
        while node >= 0:
            under[node] += gain
            node = parent[node]
        for v in range(top - 1, -1, -1):
            if not gone[v] and _covers(span, top, v):
                gone[v] = True
