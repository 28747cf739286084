"""Published rows laid out for counting: each row as the numbers of its items, ascending, ended by -(row + 1).

Row r begins at `offsets[r] + r`. Nothing is merged or left out: a row has as many numbers as it has items. A walk over the
itemsets that begin with some numbers first gathers what stands behind these: one pass over all rows copies the tails of each number
together, and from then on the walk reads straight on. Without that every visit of a row would be a miss in the cache.

Where memory is limited, the rows come from a mapped file that knows the limit (`home_of`). The laid-out rows then lie in a file too,
blocks are cut so that what all threads gather fits, and the tails of a single number that do not fit go to a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numba as nb
import numpy as np
import numpy.typing as npt

from shoal.kernels.audit.lists import ascend
from shoal.kernels.audit.threads import blocks_of_rows, blocks_of_work, in_threads

LONG = 256
"""Rows of more items than this are copied once for a block of first numbers, not once for each of them."""
VOLUME = 32_000_000
"""Numbers to gather at a time, about."""


class Home(Protocol):
    """Where arrays go while memory is limited (`shoal.records.storage.scratch`)."""

    @property
    def share(self) -> int:
        """Bytes that one thread may hold."""

    def empty(self, size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Room for an array, in a file unless it is small."""

    def mapped(self, size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Room for an array in a file."""


def home_of(array: npt.NDArray[Any]) -> Home | None:
    """The home of an array in a mapped file, or of a view of one; None for an array in memory."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return getattr(base, "home", None)


@dataclass(frozen=True, eq=False)
class NumberedRows:
    """Laid-out rows, and per number the rows that hold it and the length of all that stands behind it in them."""

    offsets: npt.NDArray[np.int64]
    tails: npt.NDArray[np.int32]
    support: npt.NDArray[np.int64]
    volume: npt.NDArray[np.int64]
    longest: int
    """Items of the longest row."""

    def blocks(self, work: npt.NDArray[np.float64]) -> list[tuple[int, int]]:
        """Ranges of first numbers of about equal work, as many as the data is worth; small enough if memory is limited."""
        parts = max(16, int(self.volume.sum() // VOLUME) + 1)
        blocks = blocks_of_work(work, min(parts, 1024))
        home = home_of(self.tails)
        if home is None:
            return blocks
        # Gathering takes the tails, an entry for each row, and a stack of places in the tails.
        return _cut(blocks, 4 * self.volume + 24 * self.support, home.share)


def _cut(blocks: list[tuple[int, int]], size: npt.NDArray[np.int64], most: int) -> list[tuple[int, int]]:
    """The blocks cut into smaller ones of at most that size; a number that is larger stands alone."""
    total = np.concatenate(([0], np.cumsum(size)))
    smaller = []
    for first, last in blocks:
        while first < last:
            stop = int(np.searchsorted(total, total[first] + most, side="right")) - 1
            stop = min(max(stop, first + 1), last)
            smaller.append((first, stop))
            first = stop
    return smaller


def numbered_rows(
    offsets: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    number: npt.NDArray[np.int32],
    threads: int | None = None,
) -> NumberedRows:
    """The rows with each item as its number; every item has one of its own."""
    n_rows, n_numbers = len(offsets) - 1, len(number)
    home = home_of(items)
    room = np.empty if home is None else home.mapped
    tails = room(len(items) + n_rows, np.int32)
    # Each block counts all numbers: no more blocks than the data is worth.
    blocks = blocks_of_rows(offsets, max(1, min(32, len(items) // (4 * n_numbers + 1))))
    counted = in_threads(lambda a, b: lay_out(offsets, items, number, tails, a, b), blocks, threads)
    support, volume, longest = np.zeros(n_numbers, np.int64), np.zeros(n_numbers, np.int64), 0
    for more_support, more_volume, long in counted:
        support += more_support
        volume += more_volume
        longest = max(longest, long)
    volume[support == 1] = 0
    return NumberedRows(offsets, tails, support, volume, int(longest))


@nb.njit(cache=True, nogil=True)
def lay_out(offsets, items, number, tails, first, last):
    """Write rows [first, last). Returns per number its rows and what `gather` would copy for it, and the longest row."""
    support = np.zeros(len(number), np.int64)
    volume = np.zeros(len(number), np.int64)
    longest = np.int64(0)
    for row in range(first, last):
        start = offsets[row] + row
        stop = offsets[row + 1] + row
        for p in range(offsets[row], offsets[row + 1]):
            tails[p + row] = number[items[p]]
        ascend(tails, start, stop)
        tails[stop] = -(row + 1)
        longest = max(longest, stop - start)
        for p in range(start, stop):
            support[tails[p]] += 1
            if stop - start <= LONG:
                volume[tails[p]] += stop - p
    return support, volume, longest


def gathered(
    rows: NumberedRows, first: int, last: int, m: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """What stands behind the numbers [first, last): (copies, starts, entries, stack).

    Entry e of number t (`starts[t - first] <= e < starts[t - first + 1]`) is the place in `copies` right before a tail, which ends
    with -(row + 1). A number of a single row has nothing copied: its entry is the length of its tail. `stack` is room for the places
    that a walk to size m keeps; where memory is not limited, the walk makes more when it needs more.
    """
    home = home_of(rows.tails)
    room = np.empty if home is None else home.empty
    long_rows = lengths_of_long_rows(rows.offsets) if rows.longest > LONG else 0
    copies = room(1 + long_rows + int(rows.volume[first:last].sum()), np.int32)
    entries = room(int(rows.support[first:last].sum()), np.int64)
    starts = copy_tails(rows.offsets, rows.tails, rows.support, rows.volume, first, last, copies, entries)
    # The rows of the first number, and for every size in between at most a place for each number behind it.
    deepest = rows.support[first:last] + max(0, m - 2) * rows.volume[first:last] if home else np.zeros(0, np.int64)
    return copies, starts, entries, room(2 * max(4096, int(deepest.max(initial=0))), np.int64)


@nb.njit(cache=True, nogil=True)
def lengths_of_long_rows(offsets):
    """Items of all long rows together, with an end for each."""
    total = np.int64(0)
    for row in range(len(offsets) - 1):
        length = offsets[row + 1] - offsets[row]
        if length > LONG:
            total += length + 1
    return total


@nb.njit(cache=True, nogil=True)
def copy_tails(offsets, tails, support, volume, first, last, copies, entries):
    """Fill `copies` (place 0 is free, then long rows as they are, then the tails of each number) and `entries`; returns `starts`."""
    n = last - first
    starts = np.zeros(n + 1, np.int64)
    for t in range(n):
        starts[t + 1] = starts[t] + support[first + t]
    entry = np.empty(n, np.int64)  # where the next entry of a number goes
    copy = np.empty(n, np.int64)  # and where its next tail is copied to
    room = np.int64(len(copies))
    for t in range(n - 1, -1, -1):
        entry[t] = starts[t]
        room -= volume[first + t]
        copy[t] = room
    long_copy = np.int64(1)
    for row in range(len(offsets) - 1):
        start = offsets[row] + row
        stop = offsets[row + 1] + row
        is_long = stop - start > LONG
        p = start
        if is_long:
            for q in range(start, stop + 1):
                copies[long_copy + q - start] = tails[q]
            high = stop
            while p < high:  # the first place with a number of the block, by halving
                middle = (p + high) >> 1
                if tails[middle] < first:
                    p = middle + 1
                else:
                    high = middle
        else:
            while p < stop and tails[p] < first:
                p += 1
        while p < stop and tails[p] < last:
            t = tails[p] - first
            if support[tails[p]] == 1:
                entries[entry[t]] = stop - p - 1
            elif is_long:
                entries[entry[t]] = long_copy + p - start
            else:
                entries[entry[t]] = copy[t] - 1
                for q in range(p + 1, stop + 1):
                    copies[copy[t]] = tails[q]
                    copy[t] += 1
            entry[t] += 1
            p += 1
        if is_long:
            long_copy += stop - start + 1
    return starts
