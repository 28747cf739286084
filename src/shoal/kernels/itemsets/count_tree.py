"""The walk over the count-tree of the 2008 paper (Algorithms 1, 3 and 4), without the tree.

A count-tree holds every combination of items and their ancestors in a fixed order, most frequent first. Its preorder
traversal is a walk over prefixes, and a node's children with their counts are what one dense counter over the rows of the
prefix says; so nothing but the current path is ever in memory. The cut changes under way, as in the paper, and what is
generalized is skipped from then on; the walk is therefore one thread's work.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.arrays import larger, sort_range, with_place
from shoal.kernels.itemsets.nodes import LeafRows, covers, support_up_to
from shoal.kernels.itemsets.prefixes import add_child, close_frame, new_walk, spread_places, start_walk, with_children


class Tree(NamedTuple):
    """The hierarchy, and the cut that a walk raises through it."""

    parent: npt.NDArray[np.int32]
    cost: npt.NDArray[np.int64]
    leaf_rows: LeafRows
    gone: npt.NDArray[np.bool_]
    """Per node, whether it lies below the cut."""
    under: npt.NDArray[np.int64]
    """Per node, what the cut's nodes below it cost."""


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
def generalize_breaches(offsets, tails, row_offsets, rows, node_of, k, size, any_depth, tree):
    """Walk the count-tree in preorder and generalize away every rare leaf that is met (Algorithm 3).

    Leaves are paths of `size` nodes; with `any_depth` also shorter ones that nothing extends. The cut of the tree is raised. Returns the
    number of rare leaves repaired.
    """
    n_ranks = len(node_of)
    gone = tree.gone
    stamp = np.zeros(len(offsets) - 1, np.int32)
    clock = np.zeros(1, np.int64)
    walk = new_walk(n_ranks, size, None)
    count, slot, touched = walk.counter, walk.slot, walk.touched
    path = np.empty(size + 1, np.int32)
    places, ends = np.empty(4096, np.int64), np.empty(4096, np.int64)
    repaired = 0
    for a in range(n_ranks):
        n_first = row_offsets[a + 1] - row_offsets[a]
        if n_first == 0 or gone[node_of[a]]:
            continue
        if size == 1:
            if n_first < k:
                path[0] = node_of[a]
                _repair(path, 1, k, tree, stamp, clock)
                repaired += 1
            continue
        if n_first > len(places):
            places, ends = np.empty(2 * n_first, np.int64), np.empty(2 * n_first, np.int64)
        for i in range(n_first):
            row = rows[row_offsets[a] + i]
            low, high = offsets[row], offsets[row + 1]
            ends[i] = high
            while low < high:
                middle = (low + high) >> 1
                if tails[middle] < a:
                    low = middle + 1
                else:
                    high = middle
            places[i] = low
        start_walk(walk, a, n_first)
        depth = 0
        while depth >= 0:
            if walk.following[depth] == walk.last[depth]:
                depth -= 1
                continue
            child = walk.following[depth]
            walk.following[depth] += 1
            node = node_of[walk.token[child]]
            if gone[node]:
                continue
            path[depth] = node
            length = depth + 1
            begin, end = walk.begin[child], walk.end[child]
            n_touched = _count_ranks(tails, places, ends, begin, end, count, touched)
            # A path never holds a node and its ancestor; ancestors come first in the order.
            n_children = 0
            for t in range(n_touched):
                rank = touched[t]
                apart = True
                for d in range(length):
                    if covers(tree.leaf_rows.span, path[d], node_of[rank]):
                        apart = False
                n_children += apart
                if not apart or (length + 1 == size and count[rank] >= k):
                    count[rank] = 0
                    slot[rank] = -1
                    touched[t] = n_ranks
            sort_range(touched, 0, n_touched)
            while n_touched > 0 and touched[n_touched - 1] == n_ranks:
                n_touched -= 1

            if n_children == 0:
                if any_depth and end - begin < k:
                    _repair(path, length, k, tree, stamp, clock)
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
                        _repair(path, length + 1, k, tree, stamp, clock)
                        repaired += 1
            else:
                next_child, top = walk.last[depth], walk.top[depth]
                if next_child + n_touched > len(walk.token):
                    walk = with_children(walk, next_child + n_touched)
                for t in range(n_touched):
                    add_child(walk, next_child + t, touched[t], top)
                    top += count[touched[t]]
                    count[touched[t]] = 0
                if top > len(places):
                    places, ends = larger(places, top), larger(ends, top)
                close_frame(walk, depth, next_child + n_touched, top)
                spread_places(tails, places, ends, begin, end, slot, walk.end)
                depth += 1
            # Line 10: back to the longest prefix in which nothing has been generalized.
            for d in range(min(length, depth + 1)):
                if gone[path[d]]:
                    depth = d
                    break
    return repaired


@nb.step
def _count_ranks(tails, places, ends, begin, end, count, touched):
    """Count what stands behind the places [begin, end) up to their ends: how many ranks were touched."""
    n_touched = 0
    for i in range(begin, end):
        for p in range(places[i] + 1, ends[i]):
            rank = tails[p]
            if count[rank] == 0:
                touched[n_touched] = rank
                n_touched += 1
            count[rank] += 1
    return n_touched


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
                    if covers(span, other, mine) and (other > mine or (other == mine and j < i)):
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
            covered = covered or covers(span, raised[r], path[i])
        if not covered:
            image[n_image] = path[i]
            n_image += 1
    return n_raised, n_image


@nb.njit(cache=True, nogil=True)
def _repair(path, n, k, tree, stamp, clock):
    """Raise the nodes of a rare path so that it is not rare any more, at the least loss, and commit that to the cut.

    Choices are looked at cheapest first; ties go to fewer levels in all, then to raising later members of the path. Each
    choice is made once: it comes from the one with its last raised member one level lower.
    """
    parent, cost, gone, under, span = tree.parent, tree.cost, tree.gone, tree.under, tree.leaf_rows.span
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
            if support_up_to(image, n_image, tree.leaf_rows, stamp, clock, k) >= k:
                break
        last = 0
        for i in range(n):
            if current[i] > 0:
                last = i
        for i in range(last, n):
            if current[i] + 1 <= height and up[i, current[i] + 1] >= 0:
                price, levels_of = with_place(price, n_open), with_place(levels_of, n_open)
                steps = with_place(steps, (n_open + 1) * n - 1)
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
            if not gone[v] and covers(span, top, v):
                gone[v] = True


@nb.njit(cache=True, nogil=True)
def count_nodes(offsets, tails, node_of, span, size, any_depth):
    """How many nodes the count-tree has over these rows, were it built: one for each path on the way to `size` nodes that occurs, none with
    a node and its ancestor; with `any_depth` also for paths that nothing extends to that size."""
    n_ranks = len(node_of)
    count, slot = np.zeros(n_ranks, np.int64), np.full(n_ranks, -1, np.int64)
    path = np.empty(size, np.int32)
    return _nodes_below(
        tails, offsets[:-1] - 1, offsets[1:].copy(), path, 0, size, any_depth, node_of, span, count, slot
    )


@nb.njit(cache=True, nogil=True)
def _nodes_below(tails, places, ends, path, length, size, any_depth, node_of, span, count, slot):
    """Nodes below a path, whose last node stands at these places."""
    touched = np.empty(len(count), np.int32)
    n_touched = _count_ranks(tails, places, ends, 0, len(places), count, touched)
    ranks, total = np.empty(n_touched, np.int32), 0
    n = 0
    for t in range(n_touched):
        rank = touched[t]
        apart = True
        for d in range(length):
            if covers(span, path[d], node_of[rank]):
                apart = False
        if apart:
            slot[rank] = n
            ranks[n] = rank
            total += count[rank]
            n += 1
    starts = np.zeros(n + 1, np.int64)
    for i in range(n):
        starts[i + 1] = starts[i] + count[ranks[i]]
    for t in range(n_touched):
        count[touched[t]] = 0
    if length + 1 == size:
        for i in range(n):
            slot[ranks[i]] = -1
        return n
    at, to = np.empty(total, np.int64), np.empty(total, np.int64)
    free = starts[:n].copy()
    for row in range(len(places)):
        for p in range(places[row] + 1, ends[row]):
            i = slot[tails[p]]
            if i >= 0:
                at[free[i]], to[free[i]] = p, ends[row]
                free[i] += 1
    for i in range(n):
        slot[ranks[i]] = -1
    nodes = 0
    for i in range(n):
        path[length] = node_of[ranks[i]]
        below = _nodes_below(
            tails,
            at[starts[i] : starts[i + 1]],
            to[starts[i] : starts[i + 1]],
            path,
            length + 1,
            size,
            any_depth,
            node_of,
            span,
            count,
            slot,
        )
        if below > 0 or any_depth:
            nodes += 1 + below
    return nodes
