"""Quest-like baskets: made-up purchases at any size, after the synthetic data of Agrawal and Srikant (VLDB 1994, section 2.4.3).

People buy things that go together: there is a pool of patterns with exponentially distributed weights, each pattern shares
items with the one before it, and a basket is filled with patterns that were drawn by weight and lost some of their items
on the way. Two departures keep row lengths at what was asked for: sizes are 1 + Poisson(length - 1), so that no row is empty,
and the pattern that does not fit any more is cut (in the paper it overflows, or moves to the next row).

Rows come in blocks with a random stream each. A block is one sort of machine words (row, item, order of arrival): it finds
repeats, fills the rows and leaves them sorted. The first n rows of a larger data set are the data set of n rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shoal.errors import InputError
from shoal.numbers import Bools, Codes, Floats, Ints, is_finite, whole_number
from shoal.records.baskets import Baskets

_BLOCK = 1 << 18
"""Item occurrences in a block, about: small enough for the cache, large enough for numpy."""

_ROUNDS = 32
"""How often a row that is still short is offered more patterns: only rows longer than the patterns have items run out of them."""


def quest(
    transactions: int,
    length: float = 10,
    items: int = 1_000,
    patterns: int | None = None,
    pattern_length: float = 4,
    correlation: float = 0.5,
    corruption: float = 0.5,
    seed: int = 0,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Baskets:
    """`transactions` rows of `length` items on average, out of `items` named 1, 2, 3, ...

    `patterns` (2 an item unless given) of `pattern_length` items on average say what is bought together; `correlation` is the mean
    share of its items that a pattern takes from the one before, `corruption` the mean chance that it loses one more item.
    `progress` is told rows done and rows in all.
    """
    patterns = 2 * items if patterns is None else patterns
    _check_numbers(transactions, length, items, patterns, pattern_length, correlation, corruption, seed)
    pool = _patterns(np.random.default_rng((seed, 0)), items, patterns, pattern_length, correlation, corruption)
    rows_per_block = max(1, int(_BLOCK / length))
    offsets = np.zeros(transactions + 1, np.int64)
    seen = np.zeros(items, bool)
    blocks: list[Codes] = []
    for number, first in enumerate(range(0, transactions, rows_per_block), start=1):
        rng = np.random.default_rng((seed, number))
        sizes = np.minimum(1 + rng.poisson(length - 1, rows_per_block), items)
        row, item = np.divmod(_filled_rows(rng, pool, sizes), items)
        here = min(rows_per_block, transactions - first)
        counts = np.bincount(row, minlength=rows_per_block)[:here]
        np.cumsum(counts, out=offsets[first + 1 : first + here + 1])
        offsets[first + 1 : first + here + 1] += offsets[first]
        blocks.append(item[: counts.sum()].astype(np.int32))
        seen[blocks[-1]] = True
        if progress is not None:
            progress(first + here, transactions)
    rank = (np.cumsum(seen) - 1).astype(np.int32)
    joined = np.empty(offsets[-1], np.int32)
    at = len(joined)
    while blocks:  # from the back, giving memory free on the way: the peak is the output and little more
        block = blocks.pop()
        joined[at - len(block) : at] = rank[block]
        at -= len(block)
    return Baskets(offsets, joined, tuple(str(i + 1) for i in np.flatnonzero(seen).tolist()))


@dataclass(frozen=True)
class _Patterns:
    """Pattern p holds `items[start[p]:start[p] + size[p]]`, in random order."""

    start: Ints
    size: Ints
    items: Ints
    corruption: Floats
    """The chance of losing one more item, by pattern."""
    upto: Floats
    """Cumulated weights, ending in 1."""
    mean_kept: float
    """Items that a drawn pattern brings on average, after corruption."""
    domain: int
    """Number of items that there are, in patterns or not."""

    def draw(self, rng: np.random.Generator, room: Ints) -> tuple[Ints, Ints]:
        """Corrupted patterns that fill `room[r]` places of each row r, likely: the row of every item, ascending, and the items."""
        times = np.ceil(room / self.mean_kept).astype(np.int64) + 1
        draws = int(times.sum())
        pattern = np.minimum(np.searchsorted(self.upto, rng.random(draws), side="right"), len(self.size) - 1)
        size = self.size[pattern]
        with np.errstate(divide="ignore"):  # log 0 is right: nothing is lost
            lost = np.log(1 - rng.random(draws)) / np.log(self.corruption[pattern])
        kept = size - np.minimum(lost, size - 1).astype(np.int64)
        kept = np.minimum(kept, np.repeat(room, times))
        turn = (rng.random(draws) * size).astype(np.int64)  # keep a random stretch of the pattern, seen as a ring
        place = np.arange(kept.sum()) - np.repeat(np.cumsum(kept) - kept - turn, kept)
        around = np.repeat(size, kept)
        place -= np.where(place >= around, around, 0)
        row = np.repeat(np.repeat(np.arange(len(room)), times), kept)
        return row, self.items[np.repeat(self.start[pattern], kept) + place]


def _patterns(
    rng: np.random.Generator, items: int, patterns: int, length: float, correlation: float, corruption: float
) -> _Patterns:
    size = np.minimum(1 + rng.poisson(length - 1, patterns), items)
    start = np.cumsum(size) - size
    owner = np.repeat(np.arange(patterns), size)
    place = np.arange(len(owner)) - start[owner]
    # The first places of a pattern are taken over from the one before, as a stretch of its ring; where those were taken over
    # themselves, following the pointers (doubling each time) leads to the pattern that drew the item.
    before = np.concatenate(([0], size[:-1]))
    share = np.minimum(rng.exponential(1, patterns) * correlation, 1)
    taken = np.minimum(np.rint(share * size).astype(np.int64), before)
    turn = (rng.random(patterns) * before).astype(np.int64)
    ring = (place + turn[owner]) % np.maximum(before[owner], 1)
    origin = np.where(place < taken[owner], (start - before)[owner] + ring, np.arange(len(owner)))
    while not np.array_equal(origin, further := origin[origin]):
        origin = further
    item = rng.integers(items, size=len(owner))[origin]
    first = np.sort(np.unique(owner * items + item, return_index=True)[1])  # a pattern is a set
    item, size = item[first], np.bincount(owner[first], minlength=patterns)
    weight = rng.exponential(1, patterns)
    # The paper's spread (variance 0.1) at its mean of 0.5, and none at 0 and 1, where there is no room for it.
    spread = math.sqrt(0.1) * 2 * min(corruption, 1 - corruption)
    loss = np.clip(rng.normal(corruption, spread, patterns), 0, 1 - 1e-9)
    mean_lost = loss * (1 - loss ** (size - 1)) / (1 - loss)  # of a geometric number that stops before the last item
    upto = np.cumsum(weight) / weight.sum()
    mean_kept = float(np.average(size - mean_lost, weights=weight))
    return _Patterns(np.cumsum(size) - size, size, item, loss, upto, mean_kept, items)


def _filled_rows(rng: np.random.Generator, pool: _Patterns, sizes: Ints) -> Ints:
    """Rows with the given numbers of distinct items, as ascending keys `row * domain + item`."""
    held = np.empty(0, np.int64)
    complete: list[Ints] = []
    missing = sizes.copy()
    for _ in range(_ROUNDS):
        short = np.flatnonzero(missing)
        if len(short) == 0:
            break
        row, item = pool.draw(rng, missing[short])
        row = short[row]
        key = row * pool.domain + item
        key, row = key[new := _first_seen(held, key)], row[new]
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        key = key[rank < missing[row]]
        missing -= np.bincount(key // pool.domain, minlength=len(sizes))
        held = np.concatenate((held, key))
        still = missing[held // pool.domain] > 0
        complete.append(held[~still])
        held = held[still]
    keys = np.concatenate((*complete, held))
    keys.sort()
    return keys


def _first_seen(held: Ints, keys: Ints) -> Bools:
    """Which of `keys` are neither held nor came up before (key and place fit a word: 18 + 20 and 21 bits at most)."""
    bits = int(len(held) + len(keys)).bit_length()
    word = (np.concatenate((held, keys)) << bits) | np.arange(len(held) + len(keys))
    word.sort()  # the place is part of the word: any sort keeps the order of arrival, the fastest too
    first = np.ones(len(word), bool)
    first[1:] = (word[1:] >> bits) != (word[:-1] >> bits)
    place = word[first] & ((1 << bits) - 1)
    new = np.zeros(len(keys), bool)
    new[place[place >= len(held)] - len(held)] = True
    return new


def _check_numbers(
    transactions: int,
    length: float,
    items: int,
    patterns: int,
    pattern_length: float,
    correlation: float,
    corruption: float,
    seed: int,
) -> None:
    at_least_one = {"transactions": transactions, "length": length, "items": items}
    at_least_one |= {"patterns": patterns, "pattern_length": pattern_length}
    for name, count in (("transactions", transactions), ("items", items), ("patterns", patterns)):
        whole_number(name, count, 1)
    for name, value in at_least_one.items():
        if not (is_finite(value) and value >= 1):
            raise InputError(f"{name} is {value}; give 1 or more")
    if patterns * pattern_length > 20_000_000:  # they are held in memory, all of them
        raise InputError(f"{patterns:,} patterns of {pattern_length} items are too many; give fewer or shorter ones")
    if length > items:
        raise InputError(f"length is {length}, but there are only {items:,} items; give a smaller length or more items")
    for name, value in {"correlation": correlation, "corruption": corruption}.items():
        if not 0 <= value <= 1:
            raise InputError(f"{name} is {value}; give a share from 0 to 1")
    whole_number("seed", seed, 0)
