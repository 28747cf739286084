"""Bitmaps of a segment's transactions as packed 64-bit words, and Hamming distances between them by counting bits (PTA,
Equation 1). Columns are the items that occur in the segment, so the words are as few as the segment allows."""

import numpy as np
from numba import types
from numba.extending import intrinsic

from shoal.kernels import compiler as nb


@intrinsic
def _population_count(typing_context, word):
    def codegen(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), codegen


@nb.njit(cache=True, nogil=True)
def ones(word):
    """The ones in a 64-bit word, by the processor's own instruction."""
    return _population_count(word)  # type: ignore[call-arg]


@nb.njit(cache=True, nogil=True)
def segment_columns(items, first, last, column_of):
    """items[first:last] as columns, numbered as they first appear, and how many there are: (columns, n_columns).

    `column_of` has an entry of -1 per item, and has it again afterwards.
    """
    columns = np.empty(last - first, np.int32)
    n_columns = 0
    for p in range(first, last):
        if column_of[items[p]] < 0:
            column_of[items[p]] = n_columns
            n_columns += 1
        columns[p - first] = column_of[items[p]]
    for p in range(first, last):
        column_of[items[p]] = -1
    return columns, n_columns


@nb.njit(cache=True, nogil=True)
def packed_bitmaps(offsets, columns, n_columns):
    """One row of words per transaction; bit c % 64 of word c // 64 stands for column c."""
    n_rows = len(offsets) - 1
    bitmaps = np.zeros((n_rows, (n_columns + 63) // 64), np.uint64)
    for row in range(n_rows):
        for p in range(offsets[row], offsets[row + 1]):
            bitmaps[row, columns[p] >> 6] |= np.uint64(1) << np.uint64(columns[p] & 63)
    return bitmaps


@nb.njit(cache=True, nogil=True)
def hamming(a, i, b, j):
    """In how many columns row i of bitmaps a differs from row j of bitmaps b."""
    distance = np.uint64(0)
    for word in range(a.shape[1]):
        distance += ones(a[i, word] ^ b[j, word])
    return np.int32(distance)


@nb.njit(cache=True, nogil=True)
def hamming_matrix(bitmaps):
    """The distance of every two rows (the paper's Figure 4, with 0 on the diagonal)."""
    n_rows = len(bitmaps)
    distance = np.zeros((n_rows, n_rows), np.int32)
    for i in range(n_rows):
        for j in range(i):
            distance[i, j] = distance[j, i] = hamming(bitmaps, i, bitmaps, j)
    return distance
