"""The commonest pairs of items, and whether a release still tells how common they are.

A pair is never more frequent than its rarer item: items are counted in blocks, the most frequent first, until no pair of the next block
can be among the commonest. Two looks at the rows are usually enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.kernels.measures.pair_counts import count_pairs
from shoal.numbers import Floats, Ints
from shoal.records.baskets import Baskets

TOP = 100
NEAR = 0.1
"""A pair is kept if its published count is off by this share at most."""
LEAST = 2
"""A pair that occurs in a single row is nobody's pattern."""
_FIRST, _MOST = 1 << 18, 1 << 24
"""Counters of the first block of items, and of any."""


@dataclass(frozen=True, eq=False)
class CommonPairs:
    """Pairs of items with the rows that hold both, the commonest first, then by their numbers, `one` before `other`."""

    one: Ints
    other: Ints
    rows: Ints

    def __len__(self) -> int:
        return len(self.one)


def common_pairs(baskets: Baskets, n: int = TOP) -> CommonPairs:
    """The n commonest pairs, or all that occur in two rows if these are fewer."""

    def count(rank: Ints, low: int, high: int) -> npt.NDArray[np.integer]:
        return np.asarray(count_pairs(baskets.offsets, baskets.items, rank, low, high))

    return pairs_by_counts(baskets.supports(), baskets.occurrences, count, n)


def pairs_by_counts(
    support: Ints,
    occurrences: int,
    count: Callable[[Ints, int, int], npt.NDArray[np.integer]],
    n: int = TOP,
    *,
    most: int = _MOST,
) -> CommonPairs:
    """The same from what `count` counts, wherever the rows are, as `count_pairs` does; of a block it may leave out what is not among the n
    commonest there. `most` are the counters of a block."""
    order = np.argsort(-support, kind="stable")
    falling = support[order]
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    one, other, rows = (np.zeros(0, np.int64) for _ in range(3))
    least, low, room = LEAST, 0, _FIRST
    while low < len(order) and falling[low] >= least:
        worth = int(np.searchsorted(-falling, -least, side="right"))
        high = max(low + 1, min(worth, int(low / 2 + np.sqrt(low * low / 4 + room))))
        counts = count(rank, low, high)
        r, s = np.nonzero(counts >= least)
        a, b = order[r + low], order[s]
        one, other = np.concatenate((one, np.minimum(a, b))), np.concatenate((other, np.maximum(a, b)))
        rows = np.concatenate((rows, counts[r, s].astype(np.int64)))
        if len(rows) > n:
            least = max(least, int(np.partition(rows, len(rows) - n)[len(rows) - n]))
            still = rows >= least
            one, other, rows = one[still], other[still], rows[still]
        low, room = high, min(16 * room, max(_FIRST, min(most, occurrences)))
    first = np.lexsort((other, one, -rows))[:n]
    return CommonPairs(one[first], other[first], rows[first])


def published_rows(pairs: CommonPairs, published: Baskets, token: Ints) -> Ints:
    """Per pair, the published rows that hold both as they are; `token[i]` is the token that is item i itself, -1 if there is none."""
    one, other = token[pairs.one], token[pairs.other]
    there = (one >= 0) & (other >= 0)
    used = np.unique(np.concatenate((one[there], other[there])))
    rank = np.full(len(published.vocabulary), len(published.vocabulary), np.int64)
    rank[used] = np.arange(len(used))
    rows = np.zeros(len(pairs), np.int64)
    if len(used):
        counts = count_pairs(published.offsets, published.items, rank, 0, len(used))
        a, b = rank[one[there]], rank[other[there]]
        rows[there] = counts[np.maximum(a, b), np.minimum(a, b)]
    return rows


def own_tokens(items: Sequence[str], tokens: Sequence[str]) -> Ints:
    """Per item, the token of its name, -1 if there is none."""
    place = {name: i for i, name in enumerate(tokens)}
    return np.array([place.get(name, -1) for name in items], np.int64)


def pairs_kept(original: Baskets, published: Baskets, token: Ints | None = None) -> float | None:
    """The share of the commonest pairs that are published as they are in about as many rows; None where no pair occurs in two rows."""
    pairs = common_pairs(original)
    if token is None:
        token = own_tokens(original.vocabulary, published.vocabulary)
    return share_kept(pairs, published_rows(pairs, published, token))


def share_kept(pairs: CommonPairs, rows: Ints | Floats) -> float | None:
    """The share of pairs that are published in about as many rows, `rows` being those of each; None where there is no pair."""
    off = np.abs(rows - pairs.rows)
    return int(np.count_nonzero(off <= NEAR * pairs.rows)) / len(pairs) if len(pairs) else None
