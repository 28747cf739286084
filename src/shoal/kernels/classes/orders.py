"""An order of rows in which similar ones stand close together: the leaves of a tree that halves where rows differ most.

Each node takes the item that is nearest to being held by half of its rows (in sparse data: the most frequent one) and
divides its rows by it. Unlike a sort with one fixed order of items, every branch chooses for itself. Children are laid out
as in a Gray code, the second one mirrored, so that neighbours across a border still share most items.

The counts of the larger child are those of the parent less those of the smaller one: each row is counted again at
most log n times. Where an item is rare, the rows that have it come from its list of rows, not from a look at all.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.parallel import even_blocks, over_blocks

BLOCK = 4096
"""Rows worth a thread, at least."""
SUBTREE = 1 << 14
"""Nodes of at most so many rows are divided in parallel."""


def tree_order(
    offsets: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    n_items: int,
    favour: npt.NDArray[np.float32] | None = None,
    sizes: npt.NDArray[np.int64] | None = None,
    leaf: int = 2,
    threads: int | None = None,
) -> npt.NDArray[np.int32]:
    """All rows, in the order of the tree's leaves; or consecutive parts of the given sizes, each as a tree of its own.

    Items are chosen by evenness times `favour`, so that other weights give other trees. `leaf` rows are not divided.
    """
    n = len(offsets) - 1
    bounds = np.array([0, n]) if sizes is None else np.concatenate(([0], np.cumsum(sizes)))
    order = np.arange(n, dtype=np.int32)
    place = order.copy()
    starts = np.zeros(n_items + 1, np.int64)
    np.cumsum(np.bincount(items, minlength=n_items), out=starts[1:])
    having = rows_of_items(offsets, items, starts)
    if favour is None:
        favour = np.ones(n_items, np.float32)
    nodes = np.stack((bounds[:-1], bounds[1:], np.arange(len(bounds) - 1) % 2), axis=1)
    # The top of the tree by one thread, down to nodes of a size that depends on the data alone, then all of those.
    for until in (max(leaf, min(n // 32, SUBTREE)), leaf):
        parts = 1 if until > leaf else max(1, min(64, n // BLOCK))
        found = over_blocks(
            lambda a, b, nodes=nodes, until=until: divide(  # type: ignore[misc]
                offsets, items, n_items, starts, having, order, place, favour, nodes[a:b], until
            ),
            even_blocks((nodes[:, 1] - nodes[:, 0]).astype(np.float64), parts),
            threads,
        )
        nodes = np.concatenate(found) if found else nodes[:0]
    return order


def dense_gray_order(
    offsets: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    n_items: int,
    rank: npt.NDArray[np.int32],
    threads: int | None = None,
) -> npt.NDArray[np.int32]:
    """The rows in ascending Gray order (kernels/classes/gray.py), by way of bitmaps: faster where rows have many of the items."""
    n = len(offsets) - 1
    words = np.empty((max(1, (n_items + 63) // 64), n), np.uint64)
    blocks = even_blocks(np.diff(offsets) + 1.0, max(1, min(32, n // BLOCK)))
    over_blocks(lambda a, b: gray_numbers(offsets, items, rank, words, a, b), blocks, threads)
    order = np.argsort(words[0], kind="stable").astype(np.int32)
    if len(words) > 1:
        ordered = words[0][order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        tied = np.diff(np.append(starts, n)) > 1
        starts, stops = starts[tied], np.append(starts[1:], n)[tied]
        over_blocks(
            lambda a, b: sort_ties(words, order, starts, stops, a, b),
            even_blocks((stops - starts).astype(np.float64), max(1, min(32, n // BLOCK))),
            threads,
        )
    return order


@nb.njit(cache=True, nogil=True)
def gray_numbers(offsets, items, rank, words, first, last):
    """words[:, row] becomes the number that the row stands for as a Gray code word, the first word most significant."""
    for row in range(first, last):
        for w in range(len(words)):
            words[w, row] = 0
        for p in range(offsets[row], offsets[row + 1]):
            place = rank[items[p]]
            words[place >> 6, row] |= np.uint64(1) << np.uint64(63 - (place & 63))
        odd = np.uint64(0)
        for w in range(len(words)):
            # Each bit becomes the parity of the ones up to it.
            word = words[w, row]
            word ^= word >> np.uint64(1)
            word ^= word >> np.uint64(2)
            word ^= word >> np.uint64(4)
            word ^= word >> np.uint64(8)
            word ^= word >> np.uint64(16)
            word ^= word >> np.uint64(32)
            if odd:
                word = ~word
            words[w, row] = word
            odd = word & np.uint64(1)


@nb.step
def comes_after(words, row, other):
    """Whether the row stands behind the other one, by the words after the first, then by number."""
    for w in range(1, len(words)):
        if words[w, row] != words[w, other]:
            return words[w, row] > words[w, other]
    return row > other


@nb.njit(cache=True, nogil=True)
def sort_ties(words, order, starts, stops, first, last):
    """Sort each range order[starts[g]:stops[g]] by the words after the first, as a heap."""
    for g in range(first, last):
        start, n = starts[g], stops[g] - starts[g]
        root, end = n // 2, n
        while end > 1:
            if root > 0:
                root -= 1
            else:
                end -= 1
                order[start + end], order[start] = order[start], order[start + end]
            at = root
            row = order[start + at]
            child = 2 * at + 1
            while child < end:
                if child + 1 < end and comes_after(words, order[start + child + 1], order[start + child]):
                    child += 1
                if not comes_after(words, order[start + child], row):
                    break
                order[start + at] = order[start + child]
                at = child
                child = 2 * at + 1
            order[start + at] = row


@nb.njit(cache=True, nogil=True)
def count_items(items, n_items, first, last):
    """How often each item stands in items[first:last]."""
    count = np.zeros(n_items, np.int64)
    for p in range(first, last):
        count[items[p]] += 1
    return count


@nb.njit(cache=True, nogil=True)
def count_kept(offsets, items, number, lengths, first, last):
    """lengths[row] becomes the number of items of the row that are kept: number[item] >= 0."""
    for row in range(first, last):
        kept = 0
        for p in range(offsets[row], offsets[row + 1]):
            kept += number[items[p]] >= 0
        lengths[row] = kept


@nb.njit(cache=True, nogil=True)
def write_kept(offsets, items, number, out_offsets, out, first, last):
    """Write the kept items of rows [first, last) under their new numbers."""
    for row in range(first, last):
        at = out_offsets[row]
        for p in range(offsets[row], offsets[row + 1]):
            if number[items[p]] >= 0:
                out[at] = number[items[p]]
                at += 1


@nb.njit(cache=True, nogil=True)
def hash_rows(offsets, items, hashes, first, last):
    """A number per row; equal rows have equal ones, and others hardly ever."""
    for row in range(first, last):
        mixed = np.uint64(offsets[row + 1] - offsets[row] + 1) * np.uint64(0x9E3779B97F4A7C15)
        for p in range(offsets[row], offsets[row + 1]):
            mixed = (mixed ^ np.uint64(items[p])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        hashes[row] = mixed


@nb.njit(cache=True, nogil=True)
def rows_of_items(offsets, items, starts):
    """The rows that have item x, ascending: rows[starts[x]:starts[x + 1]]."""
    at = starts.copy()
    rows = np.empty(len(items), np.int32)
    for row in range(len(offsets) - 1):
        for p in range(offsets[row], offsets[row + 1]):
            x = items[p]
            rows[at[x]] = row
            at[x] += 1
    return rows


@nb.njit(cache=True, nogil=True)
def divide(offsets, items, n_items, starts, having, order, place, favour, nodes, until):
    """Rearrange `order` (and `place`, its inverse) within the nodes, down to nodes of at most `until` rows: these are returned.

    A node is (first place, end, whether it is mirrored).
    """
    count = np.zeros(n_items, np.int32)
    touched = np.empty(n_items, np.int32)  # items with a count
    active = np.empty(n_items, np.int32)  # those that may divide the node: two or more rows have them
    n_touched = 0
    stack = np.empty((64, 3), np.int64)
    done = np.empty((64, 3), np.int64)
    n_done = 0
    for node in range(len(nodes)):
        depth = 1
        stack[0, 0], stack[0, 1], stack[0, 2] = nodes[node, 0], nodes[node, 1], nodes[node, 2]
        while depth > 0:
            depth -= 1
            low, high, mirrored = stack[depth, 0], stack[depth, 1], stack[depth, 2] == 1
            for a in range(n_touched):
                count[touched[a]] = 0
            n_touched = 0
            if high - low > until:
                for i in range(low, high):
                    for p in range(offsets[order[i]], offsets[order[i] + 1]):
                        x = items[p]
                        if count[x] == 0:
                            touched[n_touched] = x
                            n_touched += 1
                        count[x] += 1
            n_active = n_touched
            for a in range(n_touched):
                active[a] = touched[a]
            while high - low > until:
                size = high - low
                chosen = -1
                evenness = np.float32(0)
                kept = 0
                for a in range(n_active):
                    x = active[a]
                    c = count[x]
                    if c > 1:
                        active[kept] = x
                        kept += 1
                        e = min(c, size - c) * favour[x]
                        if e > evenness or (e == evenness and chosen >= 0 and x < chosen):
                            evenness = e
                            chosen = x
                n_active = kept
                if evenness == 0:
                    break  # no item tells two rows from the others
                holders = count[chosen]
                part(offsets, items, starts, having, order, place, low, high, chosen, mirrored)
                middle = low + holders if mirrored else high - holders
                # The first child is laid out as it is, the second mirrored; the smaller one waits and is counted anew.
                if middle - low <= high - middle:
                    first, last, turned = low, middle, 0
                    low, mirrored = middle, True
                else:
                    first, last, turned = middle, high, 1
                    high, mirrored = middle, False
                for i in range(first, last):
                    for p in range(offsets[order[i]], offsets[order[i] + 1]):
                        count[items[p]] -= 1
                if depth == len(stack):
                    stack = longer(stack)
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = first, last, turned
                depth += 1
            if n_done == len(done):
                done = longer(done)
            done[n_done, 0], done[n_done, 1], done[n_done, 2] = low, high, mirrored
            n_done += 1
    return done[:n_done]


@nb.njit(cache=True, nogil=True)
def longer(table):
    """The table with room for twice as many rows."""
    bigger = np.empty((2 * len(table), table.shape[1]), table.dtype)
    for i in range(len(table)):
        for j in range(table.shape[1]):
            bigger[i, j] = table[i, j]
    return bigger


@nb.njit(cache=True, nogil=True)
def part(offsets, items, starts, having, order, place, low, high, chosen, front):
    """Bring the rows order[low:high] that have the chosen item to the front, or to the back."""
    if starts[chosen + 1] - starts[chosen] < 4 * (high - low):
        moved = 0
        for p in range(starts[chosen], starts[chosen + 1]):
            at = place[having[p]]
            if low <= at < high:
                to = low + moved if front else high - 1 - moved
                moved += 1
                order[at], order[to] = order[to], order[at]
                place[order[to]], place[order[at]] = to, at
        return
    left, right = low, high - 1
    while left <= right:
        row = order[left]
        p, end = offsets[row], offsets[row + 1]
        while p < end:
            middle = (p + end) >> 1
            if items[middle] < chosen:
                p = middle + 1
            else:
                end = middle
        if (p < offsets[row + 1] and items[p] == chosen) == front:
            left += 1
        else:
            order[left], order[right] = order[right], row
            right -= 1
    for i in range(low, high):
        place[order[i]] = i
