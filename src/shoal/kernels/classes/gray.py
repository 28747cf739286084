"""The Gray order of sparse rows: bitmaps read as Gray code words, sorted by the numbers they stand for (PTA, section 4.1).

Two words are told apart by the first bit in which they differ: the word with a one there is the larger number if an even
number of ones stands before it, and the smaller one if an odd number does. For the ranks of a row's items, ascending, this
is a plain lexicographic order in which even places (counted from 0) fall and odd places rise, and a row that ends counts as
a rank behind all others. So several ranks packed into a 63-bit word are compared at once, only rows that agree in a word look
at the next one, and no bitmap of all rows times all items is ever made.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.arrays import sort_range
from shoal.kernels.parallel import even_blocks, over_blocks


def gray_order(
    offsets: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    n_items: int,
    rank: npt.NDArray[np.int32] | None = None,
    threads: int | None = None,
) -> npt.NDArray[np.int64]:
    """The rows in ascending Gray order; equal rows keep their order.

    `rank[item]` is the item's place among the bits, 0 for the most significant; without it, items stand in order of their
    ids. Time is that of sorting the rows by one number each, plus the places that rows have in common.
    """
    n_rows = len(offsets) - 1
    if n_rows == 0 or n_items == 0:
        return np.arange(n_rows, dtype=np.int64)
    blocks = even_blocks(np.diff(offsets) + 1.0, 32)
    ranks = items
    if rank is not None:
        ranks = np.empty(len(items), np.int32)
        over_blocks(lambda a, b: rank_rows(offsets, items, rank, ranks, a, b), blocks, threads)
        ranks.setflags(write=False)  # as the items of baskets are: the kernels are compiled once for both
    width = n_items.bit_length()
    places = 63 // width
    keys = np.empty(n_rows, np.int64)
    over_blocks(lambda a, b: first_words(offsets, ranks, n_items, width, places, keys, a, b), blocks, threads)
    order = np.argsort(keys, kind="stable").astype(np.int64, copy=False)
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))  # no word is negative
    stops = np.append(starts[1:], n_rows)
    tied = stops - starts > 1
    starts, stops = starts[tied], stops[tied]
    over_blocks(
        lambda a, b: sort_ties(offsets, ranks, n_items, width, places, order, starts, stops, a, b),
        even_blocks((stops - starts).astype(np.float64), 32),
        threads,
    )
    return order


@nb.njit(cache=True, nogil=True)
def rank_rows(offsets, items, rank, ranks, first, last):
    """Write the ranks of rows [first, last), ascending within each row."""
    for row in range(first, last):
        for p in range(offsets[row], offsets[row + 1]):
            ranks[p] = rank[items[p]]
        sort_range(ranks, offsets[row], offsets[row + 1])


@nb.step
def gray_word(offsets, ranks, n_items, width, places, row, depth):
    """Places [depth, depth + places) of a row as one number, the first of them most significant."""
    word = np.int64(0)
    start = offsets[row]
    length = offsets[row + 1] - start
    for place in range(depth, depth + places):
        word <<= width
        if place < length:
            word |= ranks[start + place] if place & 1 else n_items - ranks[start + place]
        elif place == length and place & 1:
            word |= n_items
    return word


@nb.njit(cache=True, nogil=True)
def first_words(offsets, ranks, n_items, width, places, keys, first, last):
    for row in range(first, last):
        keys[row] = gray_word(offsets, ranks, n_items, width, places, row, 0)


@nb.njit(cache=True, nogil=True)
def sort_ties(offsets, ranks, n_items, width, places, order, starts, stops, first, last):
    """Sort the rows of each range order[starts[g]:stops[g]], which agree in their first word, by the words behind it."""
    largest = np.int64(0)
    for g in range(first, last):
        largest = max(largest, stops[g] - starts[g])
    keys, rows = np.empty(largest, np.int64), np.empty(largest, np.int64)
    more_keys, more_rows = np.empty(largest, np.int64), np.empty(largest, np.int64)
    # Ranges under way are disjoint and of two rows or more.
    todo = np.empty((largest // 2 + 1, 3), np.int64)
    for g in range(first, last):
        todo[0, 0], todo[0, 1], todo[0, 2] = starts[g], stops[g], places
        waiting = 1
        while waiting:
            waiting -= 1
            low, high, depth = todo[waiting, 0], todo[waiting, 1], todo[waiting, 2]
            row = order[low]
            if offsets[row + 1] - offsets[row] < depth:
                continue  # they agreed up to their end: equal rows
            n = high - low
            for i in range(n):
                rows[i] = order[low + i]
                keys[i] = gray_word(offsets, ranks, n_items, width, places, rows[i], depth)
            sort_keyed(keys, rows, more_keys, more_rows, n)
            run = 0
            for i in range(n):
                order[low + i] = rows[i]
                if i + 1 == n or keys[i + 1] != keys[i]:
                    if i > run:
                        todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = low + run, low + i + 1, depth + places
                        waiting += 1
                    run = i + 1


@nb.njit(cache=True, nogil=True)
def sort_keyed(keys, rows, more_keys, more_rows, n):
    """Sort the first n rows by their keys, stable: short runs by insertion, merged back and forth between two arrays."""
    run = 16
    for start in range(0, n, run):
        for p in range(start + 1, min(start + run, n)):
            key, row = keys[p], rows[p]
            q = p - 1
            while q >= start and keys[q] > key:
                keys[q + 1], rows[q + 1] = keys[q], rows[q]
                q -= 1
            keys[q + 1], rows[q + 1] = key, row
    while run < n:
        for low in range(0, n, 2 * run):
            middle, high = min(low + run, n), min(low + 2 * run, n)
            left, right = low, middle
            for p in range(low, high):
                if right == high or (left < middle and keys[left] <= keys[right]):
                    more_keys[p], more_rows[p] = keys[left], rows[left]
                    left += 1
                else:
                    more_keys[p], more_rows[p] = keys[right], rows[right]
                    right += 1
        for p in range(n):
            keys[p], rows[p] = more_keys[p], more_rows[p]
        run *= 2
