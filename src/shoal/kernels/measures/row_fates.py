"""What becomes of each item occurrence in a published row: the narrowest token there that covers it, or nothing.

Tokens are numbered from the narrowest to the widest, so that the first token of an item that stands in its row is the answer. Few tokens
cover an item of a tree, and they are tried one by one; an item of a thousand sets is looked for the other way round, from the row's tokens.
"""

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb

_LONG = 4
"""An item that more tokens cover than this times the row has tokens is looked for from the row."""


def count_fates(
    offsets: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    published_offsets: npt.NDArray[np.int64],
    tokens: npt.NDArray[np.int32],
    starts: npt.NDArray[np.int64],
    covers: npt.NDArray[np.int32],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(occurrences per entry of `covers`, deleted occurrences per item).

    `covers[starts[i]:starts[i + 1]]` are the tokens that cover item i, ascending. Rows correspond.
    """
    times, deleted = np.zeros(len(covers), np.int64), np.zeros(len(starts) - 1, np.int64)
    widest = max(covers.max(initial=-1), tokens.max(initial=-1))
    stands_in = np.full(widest + 1, -1, np.int64)
    _count_fates(offsets, items, published_offsets, tokens, starts, covers, times, deleted, stands_in)
    return times, deleted


@nb.njit(cache=True, nogil=True)
def _count_fates(offsets, items, published_offsets, tokens, starts, covers, times, deleted, stands_in):
    for row in range(len(offsets) - 1):
        first, last = published_offsets[row], published_offsets[row + 1]
        for p in range(first, last):
            stands_in[tokens[p]] = row
        for q in range(offsets[row], offsets[row + 1]):
            item = items[q]
            begin, end = starts[item], starts[item + 1]
            at = end
            if end - begin <= _LONG * (last - first):
                for e in range(begin, end):
                    if stands_in[covers[e]] == row:
                        at = e
                        break
            else:
                for p in range(first, last):
                    low, high = begin, at
                    while low < high:
                        middle = (low + high) // 2
                        if covers[middle] < tokens[p]:
                            low = middle + 1
                        else:
                            high = middle
                    if low < at and covers[low] == tokens[p]:
                        at = low
            if at < end:
                times[at] += 1
            else:
                deleted[item] += 1


@nb.njit(cache=True, nogil=True)
def rows_covered(offsets, items, starts, covers, n_tokens):
    """Per token, the rows that hold an item that it covers; `covers[starts[i]:starts[i + 1]]` are the tokens that cover item i."""
    rows = np.zeros(n_tokens, np.int64)
    seen_in = np.full(n_tokens, -1, np.int64)
    for row in range(len(offsets) - 1):
        for q in range(offsets[row], offsets[row + 1]):
            for e in range(starts[items[q]], starts[items[q] + 1]):
                if seen_in[covers[e]] != row:
                    seen_in[covers[e]] = row
                    rows[covers[e]] += 1
    return rows
