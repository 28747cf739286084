"""Published rows as the audits count them: each row as the numbers of its items, ascending, ended by -(row + 1); and for each number the
places where it stands.

Row r begins at `offsets[r] + r`. Nothing is merged or left out: a row has as many numbers as it has items. A walk to
itemsets of three and more first copies what stands behind a number in its rows together, and reads straight on there: every further
visit of a row would else be a miss in the cache.

Where several rows may be one person's (`people` is then the person of each row, ascending), supports are numbers of people: along the
places of a number, the rows of a person stand together, so that a change of person is a person more. `people` is None where every row is
a person, and the branches for it are not compiled.

Where memory is limited, the rows come from a mapped file that knows the limit. Everything as long as the data then lies in a file too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.audit.lists import ascend
from shoal.kernels.audit.threads import blocks_of_rows, blocks_of_work, in_threads

LARGE = 1 << 22
"""Numbers from which on the work is cut into more blocks."""
AHEAD = 16
"""Rows that are fetched into the cache before they are read: those of a number lie far apart."""


class NumberedRows(NamedTuple):
    """The rows, and per number its places and the length of all that stands behind them, ends included."""

    offsets: npt.NDArray[np.int64]
    tails: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    places: npt.NDArray[Any]
    """Number t stands at `places[starts[t]:starts[t + 1]]`, ascending, in `tails`."""
    volume: npt.NDArray[np.int64]
    longest: int
    """Items of the longest row."""

    def blocks(self, work: npt.NDArray[np.float64]) -> list[tuple[int, int]]:
        """Ranges of first numbers of about equal work, as many as the data is worth."""
        return blocks_of_work(work, 64 if len(self.tails) > LARGE else 16)

    def room(self, first: int, last: int, m: int) -> Room:
        """Room for walks from the numbers [first, last) to size m; where memory is not limited, they make more when they need more."""
        home = home_of(self.tails)
        copies = places = 4096
        if home is not None:
            # The rows of the first number, and for every size in between at most a place for each number behind it.
            volume = self.volume[first:last]
            deepest = np.diff(self.starts[first : last + 1]) + max(0, m - 2) * volume
            copies, places = 1 + int(volume.max(initial=0)), max(places, int(deepest.max(initial=0)))
        empty = np.empty if home is None else home.empty
        return Room(empty(copies, np.int32), empty(places, np.int64), empty(places, np.int64))


class Room(NamedTuple):
    """Where a walk copies tails, and the places before and the ends behind those of a prefix's rows among them."""

    copies: npt.NDArray[np.int32]
    places: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]


def home_of(array: npt.NDArray[Any]) -> Any:
    """Where arrays go that are as long as this one (`shoal.records.storage.scratch`); None if it lies in memory."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return getattr(base, "home", None)


def numbered_rows(
    offsets: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    number: npt.NDArray[np.int32],
    threads: int | None = None,
) -> NumberedRows:
    """The rows with each item as its number; every item has one of its own."""
    n_rows, n_numbers = len(offsets) - 1, len(number)
    home = home_of(items)
    empty = np.empty if home is None else home.map_array
    tails = empty(len(items) + n_rows, np.int32)
    places = empty(len(items), np.uint32 if len(tails) < 1 << 32 else np.int64)
    # Each block counts all numbers: no more blocks than the data is worth.
    blocks = blocks_of_rows(offsets, max(1, min(32, len(items) // (4 * n_numbers + 1))))
    counted = in_threads(lambda a, b: lay_out(offsets, items, number, tails, a, b), blocks, threads)
    starts, volume, longest = np.zeros(n_numbers + 1, np.int64), np.zeros(n_numbers, np.int64), 0
    for support, more, long in counted:
        starts[1:] += support
        volume += more
        longest = max(longest, int(long))
    np.cumsum(starts, out=starts)
    # Where each block has its places of each number: behind those of the blocks before it.
    before = np.cumsum([starts[:-1], *(support for support, _, _ in counted)], axis=0)
    filled = {first: at for (first, _), at in zip(blocks, before, strict=False)}
    in_threads(lambda a, b: list_places(tails, offsets[a] + a, offsets[b] + b, filled[a], places), blocks, threads)
    return NumberedRows(offsets, tails, starts, places, volume, longest)


@nb.njit(cache=True, nogil=True)
def lay_out(offsets, items, number, tails, first, last):
    """Write rows [first, last). Returns per number its rows and what stands behind it, and the longest row."""
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
            volume[tails[p]] += stop - p
    return support, volume, longest


@nb.njit(cache=True, nogil=True)
def list_places(tails, first, last, filled, places):
    """List the places [first, last) of each number from `filled` on."""
    for p in range(first, last):
        if tails[p] >= 0:
            places[filled[tails[p]]] = p
            filled[tails[p]] += 1


@nb.njit(cache=True, nogil=True)
def copy_behind(rows, number, copies, places):
    """Copy what stands behind a number in its rows, ends included; `places` become those right before each copy."""
    tails = rows.tails
    at = 1
    last = rows.starts[number + 1]
    for i in range(rows.starts[number], last):
        if i + AHEAD < last:
            nb.fetch(tails, rows.places[i + AHEAD])
        places[i - rows.starts[number]] = at - 1
        p = np.int64(rows.places[i]) + 1
        while tails[p] >= 0:
            copies[at] = tails[p]
            at += 1
            p += 1
        copies[at] = tails[p]
        at += 1


@nb.njit(cache=True, nogil=True)
def count_behind(copies, places, ends, begin, end, count, touched, people, crowd, latest):
    """Count the numbers behind the places [begin, end), and note where each copy ends: how many were touched.

    `count` has their rows. Where rows are not people, `crowd` has their people, of whom `latest` are those seen last.
    """
    n_touched = 0
    for i in range(begin, end):
        if i + AHEAD < end:
            nb.fetch(copies, places[i + AHEAD])
        p = places[i] + 1
        if people is not None:
            person = people[row_behind(copies, p)]
        number = copies[p]
        while number >= 0:
            if count[number] == 0:
                touched[n_touched] = number
                n_touched += 1
            if people is not None:
                if count[number] == 0:
                    crowd[number] = 0
                if crowd[number] == 0 or latest[number] != person:
                    crowd[number] += 1
                    latest[number] = person
            count[number] += 1
            p += 1
            number = copies[p]
        ends[i] = p
    return n_touched


@nb.njit(cache=True, nogil=True)
def row_behind(copies, p):
    """The row that place p is in."""
    while copies[p] >= 0:
        p += 1
    return -copies[p] - 1


@nb.njit(cache=True, nogil=True)
def people_at(copies, places, begin, end, people):
    """How many people the rows behind the places [begin, end) are of. A single place is not looked at."""
    if people is None or end - begin == 1:
        return end - begin
    n_people = 0
    latest = np.int64(-1)
    for i in range(begin, end):
        person = np.int64(people[row_behind(copies, places[i] + 1)])
        n_people += person != latest
        latest = person
    return n_people


@nb.njit(cache=True, nogil=True)
def rows_holding(rows, numbers):
    """The rows that hold all these numbers (ascending)."""
    first = numbers[0]
    held = np.empty(rows.starts[first + 1] - rows.starts[first], np.int64)
    n_held = 0
    for i in range(rows.starts[first], rows.starts[first + 1]):
        p = np.int64(rows.places[i])
        there = 0
        while rows.tails[p] >= 0:
            there += there < len(numbers) and rows.tails[p] == numbers[there]
            p += 1
        if there == len(numbers):
            held[n_held] = -rows.tails[p] - 1
            n_held += 1
    return held[:n_held]
