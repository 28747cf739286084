"""Working: what of the transactions has to be decided, in the form that `split` searches.

Three exact reductions come first. An item that at most k/2 transactions have can never stand in a centre, and one that at
most k/2 lack stands in every centre: either loses the same in all partitions, so it is left out. Of
transactions that occur 3k times or more, all but 2k copies become a class of their own that loses nothing. And where
rows are dense, they are also kept as bitmaps, on which distances are a few machine instructions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.kernels.classes.bitmaps import packed_bitmaps
from shoal.kernels.classes.orders import count_items, count_kept, hash_rows, write_kept
from shoal.kernels.parallel import even_blocks, over_blocks
from shoal.numbers import Bools, Codes, Ints
from shoal.records.baskets import Baskets


@dataclass(frozen=True, eq=False)
class Working:
    """Rows to be divided into classes; row i is the transaction `source[i]`."""

    offsets: Ints
    items: Codes
    n_items: int
    bitmaps: npt.NDArray[np.uint64]
    """One row of words each, without columns where that would take more room than the items."""
    source: Ints
    settled: list[Ints]
    """Classes of equal transactions that are finished."""
    support: Ints
    """Transactions that have each item, those of finished classes included."""
    constant: int
    """What the items left out lose in every partition."""

    def __len__(self) -> int:
        return len(self.source)


def working_rows(baskets: Baskets, k: int, threads: int | None = None) -> Working:
    """The rows of the baskets after the three reductions."""
    n = len(baskets)
    support = item_supports(baskets.items, len(baskets.vocabulary), threads)
    smaller = np.minimum(support, n - support)
    open_items = 2 * smaller > k
    offsets, items, n_items = baskets.offsets, baskets.items, int(open_items.sum())
    if not open_items.all():
        # Read-only like those of the baskets themselves: kernels are then compiled for one kind of array alone.
        offsets, items = with_items(offsets, items, open_items, threads)
        offsets.setflags(write=False)
        items.setflags(write=False)
    settled = often_repeated(offsets, items, 3 * k, 2 * k, threads)
    source = np.arange(n, dtype=np.int64)
    if settled:
        source = np.delete(source, np.concatenate(settled))
        rest = Baskets(offsets, items, ()).take(source)
        offsets, items = rest.offsets, rest.items
    bitmaps = dense_bitmaps(offsets, items, n_items, threads)
    return Working(
        offsets, items, n_items, bitmaps, source, settled, support[open_items], int(smaller[~open_items].sum())
    )


def item_supports(items: Codes, n_items: int, threads: int | None = None) -> Ints:
    """How many rows have each item."""
    step = max(1 << 19, 4 * n_items)
    blocks = [(a, min(a + step, len(items))) for a in range(0, len(items), step)]
    counts = over_blocks(lambda a, b: count_items(items, n_items, a, b), blocks, threads)
    return sum(counts, np.zeros(n_items, np.int64))


def with_items(offsets: Ints, items: Codes, kept: Bools, threads: int | None = None) -> tuple[Ints, Codes]:
    """The rows with the kept items only, these numbered from 0."""
    number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    blocks = row_blocks(offsets)
    lengths = np.empty(len(offsets) - 1, np.int64)
    over_blocks(lambda a, b: count_kept(offsets, items, number, lengths, a, b), blocks, threads)
    out_offsets = np.concatenate(([0], np.cumsum(lengths)))
    out = np.empty(out_offsets[-1], np.int32)
    over_blocks(lambda a, b: write_kept(offsets, items, number, out_offsets, out, a, b), blocks, threads)
    return out_offsets, out


def row_blocks(offsets: Ints) -> list[tuple[int, int]]:
    """Ranges of rows of about equal work, each worth a thread."""
    return even_blocks(np.diff(offsets) + 1.0, max(1, min(16, int(offsets[-1]) // (1 << 17))))


def dense_bitmaps(offsets: Ints, items: Codes, n_items: int, threads: int | None = None) -> npt.NDArray[np.uint64]:
    """The rows as bitmaps, if these take no more words than there are occurrences; else none."""
    n = len(offsets) - 1
    if n_items == 0 or (n_items + 63) // 64 * n > len(items):
        return np.zeros((0, 0), np.uint64)
    return np.concatenate(
        over_blocks(lambda a, b: packed_bitmaps(offsets[a : b + 1], items, n_items), row_blocks(offsets), threads)
    )


def often_repeated(offsets: Ints, items: Codes, often: int, kept: int, threads: int | None = None) -> list[Ints]:
    """For each row that occurs at least `often` times, all its places but the first `kept`."""
    n = len(offsets) - 1
    if n < often:
        return []
    hashes = np.empty(n, np.uint64)
    over_blocks(lambda a, b: hash_rows(offsets, items, hashes, a, b), row_blocks(offsets), threads)
    ordered = np.sort(hashes)
    repeated = np.unique(ordered[: n - often + 1][ordered[: n - often + 1] == ordered[often - 1 :]])
    if len(repeated) == 0:
        return []
    places = np.flatnonzero(np.isin(hashes, repeated))
    by_hash = places[np.argsort(hashes[places], kind="stable")]
    rest = []
    for run in np.split(by_hash, np.searchsorted(hashes[by_hash], repeated)[1:]):
        # Equal hashes are no proof: only what equals the first row counts.
        same = run[equal_rows(offsets, items, run)]
        if len(same) >= often:
            rest.append(same[kept:])
    return rest


def equal_rows(offsets: Ints, items: Codes, rows: Ints) -> Bools:
    """Which of the rows equal the first of them."""
    lengths = offsets[rows + 1] - offsets[rows]
    same = lengths == lengths[0]
    at = offsets[rows[same]][:, None] + np.arange(lengths[0])
    same[same] = np.all(items[at] == items[at[0]], axis=1)
    return np.asarray(same, np.bool_)
