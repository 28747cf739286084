"""Rows laid out for walking: each row its tokens, ascending and once, ended by -(row + 1).

Row r lies at `offsets[r] + r`, so that recoding it (merging items, dropping some) never moves its neighbours and blocks
of rows go in parallel. A walk over the itemsets that start with some tokens first gathers what stands behind them:
one pass over all rows copies the tails of each token together, and from then on the walk reads straight on. Without that,
every visit of a row would be a miss in the cache, and large data would cost more per row than small data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numba as nb
import numpy as np
import numpy.typing as npt

from shoal.kernels.arrays import sort_range
from shoal.kernels.parallel import even_blocks, over_blocks

LONG = 256
"""Rows of more tokens than this are copied once per block of first tokens, not once per token."""
VOLUME = 32_000_000
"""Tokens to gather at a time, about."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Laid-out rows, and per token the rows that hold it and the length of all that stands behind it in them."""

    offsets: npt.NDArray[np.int64]
    tails: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int32]
    support: npt.NDArray[np.int64]
    volume: npt.NDArray[np.int64]

    def blocks(self, work: npt.NDArray[np.float64] | None = None) -> list[tuple[int, int]]:
        """Ranges of first tokens of about equal work; they depend on the data alone."""
        parts = max(16, int(self.volume.sum() // VOLUME) + 1)
        return even_blocks(self.volume + 1.0 if work is None else work, min(parts, 1024))


def laid_out(
    offsets: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    token: npt.NDArray[np.int32],
    n_tokens: int,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Rows:
    """The rows under a recoding `token[item]` (negative: dropped)."""
    n_rows = len(offsets) - 1
    tails = np.empty(len(items) + n_rows, np.int32)
    lengths = np.empty(n_rows, np.int32)
    # Each block counts all tokens: no more blocks than the data is worth.
    blocks = even_blocks(np.diff(offsets) + 1.0, max(1, min(32, len(items) // (4 * n_tokens + 1))))
    counts = over_blocks(
        lambda a, b: recode_block(offsets, items, token, tails, lengths, n_tokens, a, b), blocks, threads, progress
    )
    support, volume = np.zeros(n_tokens, np.int64), np.zeros(n_tokens, np.int64)
    for more_support, more_volume in counts:
        support += more_support
        volume += more_volume
    volume[support == 1] = 0
    return Rows(offsets, tails, lengths, support, volume)


@nb.njit(cache=True, nogil=True)
def recode_block(offsets, items, token, tails, lengths, n_tokens, first, last):
    """Write rows [first, last); per token, count its rows and what `gather` would copy for it."""
    support = np.zeros(n_tokens, np.int64)
    volume = np.zeros(n_tokens, np.int64)
    for row in range(first, last):
        start = offsets[row] + row
        stop = start
        if offsets[row + 1] - offsets[row] > 48:
            for p in range(offsets[row], offsets[row + 1]):
                if token[items[p]] >= 0:
                    tails[stop] = token[items[p]]
                    stop += 1
            sort_range(tails, start, stop)
            end = stop
            stop = start
            for p in range(start, end):
                if stop == start or tails[p] != tails[stop - 1]:
                    tails[stop] = tails[p]
                    stop += 1
        else:
            for p in range(offsets[row], offsets[row + 1]):
                value = token[items[p]]
                if value < 0:
                    continue
                at = stop
                while at > start and tails[at - 1] > value:
                    at -= 1
                if at > start and tails[at - 1] == value:
                    continue
                for q in range(stop, at, -1):
                    tails[q] = tails[q - 1]
                tails[at] = value
                stop += 1
        tails[stop] = -(row + 1)
        lengths[row] = stop - start
        for p in range(start, stop):
            support[tails[p]] += 1
            if stop - start <= LONG:
                volume[tails[p]] += stop - p
    return support, volume


@nb.njit(cache=True, nogil=True)
def gather(offsets, tails, lengths, support, volume, first, last):
    """What stands behind the tokens [first, last): (gathered, starts, entries).

    Entry e of token t (`starts[t - first] <= e < starts[t - first + 1]`) is the place in `gathered` right before a tail that
    ends with -(row + 1). A token of a single row has nothing copied; its entry is the length of its tail.
    """
    n_tokens = last - first
    starts = np.zeros(n_tokens + 1, np.int64)
    at = np.empty(n_tokens, np.int64)
    copied = np.int64(1)
    for row in range(len(lengths)):
        if lengths[row] > LONG:
            copied += lengths[row] + 1
    for t in range(n_tokens):
        starts[t + 1] = starts[t] + support[first + t]
        at[t] = copied
        copied += volume[first + t]
    gathered = np.empty(copied, np.int32)
    entries = np.empty(starts[n_tokens], np.int64)
    filled = np.empty(n_tokens, np.int64)
    for t in range(n_tokens):
        filled[t] = starts[t]
    long_at = np.int64(1)
    for row in range(len(lengths)):
        start = offsets[row] + row
        stop = start + lengths[row]
        is_long = stop - start > LONG
        p = start
        if is_long:
            for q in range(start, stop + 1):
                gathered[long_at + q - start] = tails[q]
            hi = stop
            while p < hi:
                mid = (p + hi) >> 1
                if tails[mid] < first:
                    p = mid + 1
                else:
                    hi = mid
        else:
            while p < stop and tails[p] < first:
                p += 1
        while p < stop and tails[p] < last:
            t = tails[p] - first
            if support[tails[p]] == 1:
                entries[filled[t]] = stop - p - 1
            elif is_long:
                entries[filled[t]] = long_at + p - start
            else:
                entries[filled[t]] = at[t] - 1
                for q in range(p + 1, stop + 1):
                    gathered[at[t]] = tails[q]
                    at[t] += 1
            filled[t] += 1
            p += 1
        if is_long:
            long_at += stop - start + 1
    return gathered, starts, entries


@nb.njit(cache=True, nogil=True)
def moved_together(offsets, tails, lengths):
    """The laid-out rows without gaps and ends: (offsets, items)."""
    n_rows = len(lengths)
    out_offsets = np.zeros(n_rows + 1, np.int64)
    for row in range(n_rows):
        out_offsets[row + 1] = out_offsets[row] + lengths[row]
    out = np.empty(out_offsets[n_rows], np.int32)
    for row in range(n_rows):
        p = offsets[row] + row
        for q in range(out_offsets[row], out_offsets[row + 1]):
            out[q] = tails[p]
            p += 1
    return out_offsets, out
