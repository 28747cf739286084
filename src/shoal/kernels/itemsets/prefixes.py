"""Rows laid out for walks over prefixes, each row its tokens, ascending and once, ended by -(row + 1); and the steps of such a walk.

Row r lies at `offsets[r] + r`, so that recoding it (merging items, dropping some) never moves its neighbours and blocks
of rows go in parallel. A walk over the itemsets that start with some tokens first gathers what stands behind them:
one pass over all rows copies the tails of each token together, and from then on the walk reads straight on. Without that,
every visit of a row would be a miss in the cache, and large data would cost more per row than small data.

A walk visits every set of tokens at its prefix. A prefix owns the places of its last token in the rows that hold it; one dense counter
over what stands behind them gives the support of all extensions at once. Extensions worth a visit become children: their places are
bucketed by token on a stack. What a walk does at a prefix is its own; counting, choosing children and bucketing are here.

Where several rows are one person's, what has to reach k are people. Rows then stand by person, so that in any list of rows those of a
person follow each other, and a change of person is a person more. `people` is None where every row is a person: the steps that ask it
are compiled to nothing.

Where memory is limited, rows come from a mapped file that knows the limit (`home_of`). The laid-out rows then lie in a file too, blocks of
first tokens are cut so that what all threads gather fits, and the tails of a single token that do not fit go to a file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.arrays import larger, sort_range
from shoal.kernels.parallel import even_blocks, even_row_blocks, over_blocks

LONG = 256
"""Rows of more tokens than this are copied once per block of first tokens, not once per token."""
VOLUME = 32_000_000
"""Tokens to gather at a time, about, ..."""
SMALL = 1 << 17
"""... and at least, while that makes fewer than sixteen blocks."""


class Home(Protocol):
    """Where arrays go while memory is limited (`shoal.records.storage.scratch`)."""

    @property
    def share(self) -> int:
        """Bytes that one thread may hold."""

    def empty(self, size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Room for an array, in a file unless it is small."""

    def map_array(self, size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Room for an array in a file."""


def home_of(array: npt.NDArray[Any]) -> Home | None:
    """The home of an array in a mapped file, or of a view of one; None for an array in memory."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return getattr(base, "home", None)


class Rows(NamedTuple):
    """Laid-out rows, and per token the rows that hold it and the length of all that stands behind it in them."""

    offsets: npt.NDArray[np.int64]
    tails: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int32]
    support: npt.NDArray[np.int64]
    volume: npt.NDArray[np.int64]
    crowd: npt.NDArray[np.int64]
    """Per token, what has to reach k: the people who have it, or its rows."""
    people: npt.NDArray[np.int32] | None = None
    """Per row its person, ascending; None where every row is a person."""

    def of_people(self, people: npt.NDArray[np.int32] | None) -> Rows:
        """The same rows, of these people."""
        return self if people is None else self._replace(people=people, crowd=people_of_tokens(self, people))

    def blocks(self, work: npt.NDArray[np.float64] | None = None, n_first: int | None = None) -> list[tuple[int, int]]:
        """Ranges of first tokens, or of the first `n_first` alone, of about equal work; they depend on the data alone."""
        volume = self.volume[:n_first]
        # Each block reads all rows once: no more blocks than what they gather is worth.
        parts = max(min(16, int(volume.sum() // SMALL) + 1), int(volume.sum() // VOLUME) + 1)
        blocks = even_blocks(volume + 1.0 if work is None else work[:n_first], min(parts, 1024))
        home = home_of(self.tails)
        return blocks if home is None else _small_enough(blocks, _gathered_bytes(self.support, self.volume), home.share)


def _gathered_bytes(support: npt.NDArray[np.int64], volume: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """What gathering each token and walking it takes: its tails, an entry a row, and a stack of places in them."""
    return 4 * volume + 24 * support


def _small_enough(blocks: list[tuple[int, int]], size: npt.NDArray[np.int64], most: int) -> list[tuple[int, int]]:
    """The blocks, cut into smaller ones of at most that size; a token that is larger stands alone."""
    total = np.concatenate(([0], np.cumsum(size)))
    smaller = []
    for first, last in blocks:
        while first < last:
            stop = int(np.searchsorted(total, total[first] + most, side="right")) - 1
            stop = min(max(stop, first + 1), last)
            smaller.append((first, stop))
            first = stop
    return smaller


def laid_out(
    offsets: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    token: npt.NDArray[np.int32],
    n_tokens: int,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
    people: npt.NDArray[np.int32] | None = None,
) -> Rows:
    """The rows under a recoding `token[item]` (negative: dropped)."""
    n_rows = len(offsets) - 1
    home = home_of(items)
    if home is None:
        tails, lengths = np.empty(len(items) + n_rows, np.int32), np.empty(n_rows, np.int32)
    else:
        tails, lengths = home.map_array(len(items) + n_rows, np.int32), home.empty(n_rows, np.int32)
    # Each block counts all tokens: no more blocks than the data is worth.
    blocks = even_row_blocks(offsets, max(1, min(32, len(items) // (4 * n_tokens + 10_000))))

    def recode(a: int, b: int) -> npt.NDArray[np.int64]:
        counts = np.zeros((2, n_tokens), np.int64)
        recode_block(offsets, items, token, tails, lengths, a, b, *counts)
        return counts

    counts = over_blocks(recode, blocks, threads, progress)
    support, volume = np.zeros(n_tokens, np.int64), np.zeros(n_tokens, np.int64)
    for more_support, more_volume in counts:
        support += more_support
        volume += more_volume
    volume[support == 1] = 0
    return Rows(offsets, tails, lengths, support, volume, support).of_people(people)


@nb.njit(cache=True, nogil=True)
def people_of_tokens(rows, people):
    """Per token, how many people have a row with it."""
    n = len(rows.support)
    crowd, latest = np.zeros(n, np.int64), np.full(n, -1, np.int64)
    for row in range(len(rows.lengths)):
        start = rows.offsets[row] + row
        for p in range(start, start + rows.lengths[row]):
            token = rows.tails[p]
            crowd[token] += latest[token] != people[row]
            latest[token] = people[row]
    return crowd


@nb.njit(cache=True, nogil=True)
def recode_block(offsets, items, token, tails, lengths, first, last, support, volume):
    """Write rows [first, last); per token, count its rows and what `gather` would copy for it."""
    for row in range(first, last):
        start = offsets[row] + row
        end = start
        for p in range(offsets[row], offsets[row + 1]):
            if token[items[p]] >= 0:
                tails[end] = token[items[p]]
                end += 1
        sort_range(tails, start, end)
        stop = start
        for p in range(start, end):
            if stop == start or tails[p] != tails[stop - 1]:
                tails[stop] = tails[p]
                stop += 1
        tails[stop] = -(row + 1)
        lengths[row] = stop - start
        for p in range(start, stop):
            support[tails[p]] += 1
            if stop - start <= LONG:
                volume[tails[p]] += stop - p


def gathered_tails(rows: Rows, first: int, last: int, m: int) -> Gathered:
    """What stands behind the tokens [first, last), with room for the places that a walk to size m keeps."""
    home = home_of(rows.tails)
    room = np.empty if home is None else home.empty
    long = rows.lengths[rows.lengths > LONG] + np.int64(1)
    starts = np.concatenate(([0], np.cumsum(rows.support[first:last])))
    # Long rows come first, then the tails of each token.
    copied = np.cumsum(rows.volume[first:last][::-1])[::-1]
    size = 1 + int(long.sum()) + int(rows.volume[first:last].sum())
    tails, entries = room(size, np.int32), room(int(starts[-1]), np.int64)
    gather(rows, first, last, tails, entries, size - copied, starts[:-1].copy())
    # The rows of the first token, and for every size in between at most a place for each token behind it; a walk makes more room for
    # itself when it needs more.
    most = 4096
    if home is not None:
        deepest = rows.support[first:last] + max(0, m - 2) * rows.volume[first:last]
        most = max(most, int(deepest.max(initial=0)))
    return Gathered(tails, starts, entries, room(most, np.int64), room(most, np.int64))


class Gathered(NamedTuple):
    """Entry e of token t (`starts[t - first] <= e < starts[t - first + 1]`) is the place in `tails` right before a tail that ends with
    -(row + 1). A token of a single row has nothing copied; its entry is the length of its tail."""

    tails: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    entries: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]


@nb.njit(cache=True, nogil=True)
def gather(rows, first, last, gathered, entries, at, filled):
    """Fill the tails, from `at` on, and the entries, from `filled` on, of the tokens [first, last)."""
    offsets, tails, lengths = rows.offsets, rows.tails, rows.lengths
    support = rows.support
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


class Walk(NamedTuple):
    """Counters and stacks of a walk. Frame d holds the children of a prefix of d tokens; frame 0 the first token alone."""

    counter: npt.NDArray[np.int32]
    """Per token the rows, 0 between two prefixes."""
    crowd: npt.NDArray[np.int32]
    """Per token that was counted its people, which are the same counters where every row is a person, ..."""
    latest: npt.NDArray[np.int32]
    """... and the last of them."""
    slot: npt.NDArray[np.int64]
    """Per token that was counted, the child it became, or a negative number."""
    touched: npt.NDArray[np.int32]
    """The tokens that were counted."""
    token: npt.NDArray[np.int32]
    """Of each child."""
    begin: npt.NDArray[np.int64]
    """Its places are those from here ..."""
    end: npt.NDArray[np.int64]
    """... up to here."""
    following: npt.NDArray[np.int64]
    """Per frame, the next child to visit, ..."""
    last: npt.NDArray[np.int64]
    """... the end of its children, ..."""
    top: npt.NDArray[np.int64]
    """... and the places in use."""


@nb.njit(cache=True, nogil=True)
def new_walk(n_tokens, m, people):
    """The counters and stacks of walks over sets of up to m tokens."""
    counter = np.zeros(n_tokens, np.int32)
    return Walk(
        counter,
        counter if people is None else np.zeros(n_tokens, np.int32),
        np.zeros(0 if people is None else n_tokens, np.int32),
        np.zeros(n_tokens, np.int64),
        np.empty(n_tokens + 1, np.int32),
        np.empty(1024, np.int32),
        np.empty(1024, np.int64),
        np.empty(1024, np.int64),
        np.zeros(m + 1, np.int64),
        np.zeros(m + 1, np.int64),
        np.zeros(m + 1, np.int64),
    )


@nb.step
def with_children(walk, needed):
    """The same walk with room for at least so many children."""
    token, begin, end = larger(walk.token, needed), larger(walk.begin, needed), larger(walk.end, needed)
    counter, crowd, latest = walk.counter, walk.crowd, walk.latest
    return Walk(counter, crowd, latest, walk.slot, walk.touched, token, begin, end, walk.following, walk.last, walk.top)


@nb.step
def start_walk(walk, token, n_places):
    """Set out from a token that has the first `n_places` places."""
    walk.token[0] = token
    walk.begin[0], walk.end[0] = 0, n_places
    walk.following[0], walk.last[0], walk.top[0] = 0, 1, n_places


@nb.step
def note_person(people, walk, token, row, count, is_there):
    """Count the person of the row among those of the token, which was met `count` times before."""
    if people is not None:
        if count == 0:
            walk.crowd[token] = 0
        if is_there and (walk.crowd[token] == 0 or walk.latest[token] != people[row]):
            walk.crowd[token] += 1
            walk.latest[token] = people[row]


@nb.step
def row_behind(tails, p, people):
    """The row that a tail is of, if anybody asks whose that is."""
    if people is not None:
        while tails[p] >= 0:
            p += 1
        return -tails[p] - 1
    return np.int64(0)


@nb.step
def count_tails(tails, places, ends, begin, end, walk, people):
    """Count the tokens behind the places [begin, end), and fill in where their tails end: how many tokens were touched."""
    count, touched = walk.counter, walk.touched
    n_touched = 0
    for i in range(begin, end):
        p = places[i] + 1
        row = row_behind(tails, p, people)
        token = tails[p]
        while token >= 0:
            if count[token] == 0:
                touched[n_touched] = token
                n_touched += 1
            note_person(people, walk, token, row, count[token], True)
            count[token] += 1
            p += 1
            token = tails[p]
        ends[i] = p
    return n_touched


@nb.step
def clear_counts(walk, n_touched):
    for t in range(n_touched):
        walk.counter[walk.touched[t]] = 0


@nb.step
def add_child(walk, child, token, top):
    """The next child of a frame, with places from `top` on."""
    walk.token[child] = token
    walk.begin[child] = top
    walk.end[child] = top
    walk.slot[token] = child


@nb.step
def open_frame(walk, depth, n_touched, k, support):
    """Make children of the tokens that at least k people and not all rows of the prefix hold, clear the counts: whether there are any.

    (A token in all rows of the prefix adds nothing to what the prefix and its other children tell.)
    """
    child, top = walk.last[depth], walk.top[depth]
    for t in range(n_touched):
        token = walk.touched[t]
        walk.slot[token] = -1
        if k <= walk.crowd[token] and walk.counter[token] < support:
            add_child(walk, child, token, top)
            top += walk.counter[token]
            child += 1
        walk.counter[token] = 0
    return close_frame(walk, depth, child, top)


@nb.step
def close_frame(walk, depth, child, top):
    """The frame one deeper ends before this child and this place: whether it has any children."""
    walk.following[depth + 1] = walk.last[depth]
    walk.last[depth + 1] = child
    walk.top[depth + 1] = top
    return child > walk.last[depth]


@nb.step
def spread_places(tails, places, ends, begin, end, slot, child_end):
    """Give every child its places among the tails of its prefix."""
    for i in range(begin, end):
        stop = ends[i]
        for p in range(places[i] + 1, stop):
            child = slot[tails[p]]
            if child >= 0:
                at = child_end[child]
                places[at] = p
                ends[at] = stop
                child_end[child] = at + 1


def moved_together(rows: Rows) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """The laid-out rows without gaps and ends: (offsets, items)."""
    home = home_of(rows.tails)
    room = np.empty if home is None else home.map_array
    offsets = room(len(rows.lengths) + 1, np.int64)
    offsets[0] = 0
    np.cumsum(rows.lengths, out=offsets[1:])
    items = room(int(offsets[-1]), np.int32)
    _move_together(rows.offsets, rows.tails, offsets, items)
    return offsets, items


@nb.njit(cache=True, nogil=True)
def _move_together(offsets, tails, out_offsets, out):
    n_rows = len(out_offsets) - 1
    for row in range(n_rows):
        p = offsets[row] + row
        for q in range(out_offsets[row], out_offsets[row + 1]):
            out[q] = tails[p]
            p += 1
