"""Baskets: a collection of sets in compressed row form, the noun that every algorithm for set-valued data works on.

Row i holds the item ids `items[offsets[i]:offsets[i + 1]]`, ascending and unique; `vocabulary[id]` is the item's name.
The vocabulary is kept in natural order (numeric when every name is an integer, else by code point), so the same data gives
the same ids, and with them the same results, whatever file format or row order it came in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError
from shoal.ordering import natural_order

_BLOCK = (
    1 << 22
)  # occurrences coded and sorted at a time, so that large data takes little more memory than its own size


@dataclass(frozen=True, eq=False)
class Baskets:
    """Immutable set-valued data. Build it with `Baskets.from_rows`, `Baskets.from_codes` or `shoal.read`."""

    offsets: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    vocabulary: tuple[str, ...]
    duplicates: int = field(default=0, kw_only=True)
    """Repeated items that were folded into one while reading."""

    def __post_init__(self) -> None:
        self.offsets.setflags(write=False)
        self.items.setflags(write=False)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[frozenset[str]]:
        return (frozenset(row) for row in self.rows())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Baskets)
            and self.vocabulary == other.vocabulary
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.items, other.items)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Baskets({len(self):,} transactions, {len(self.vocabulary):,} items, {self.occurrences:,} occurrences)"

    @property
    def occurrences(self) -> int:
        """Item occurrences in all rows together."""
        return len(self.items)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return np.diff(self.offsets)

    @property
    def empty(self) -> int:
        """Number of transactions without any item."""
        return int(np.count_nonzero(self.lengths == 0))

    @property
    def longest(self) -> int:
        return int(self.lengths.max(initial=0))

    def supports(self) -> npt.NDArray[np.int64]:
        """Number of transactions that hold each item, by item id."""
        return np.bincount(self.items, minlength=len(self.vocabulary)).astype(np.int64)

    def rows(self) -> Iterator[list[str]]:
        """The transactions as lists of item names, in vocabulary order. For small data and for reading aloud."""
        names = self.vocabulary
        for start, stop in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True):
            yield [names[i] for i in self.items[start:stop].tolist()]

    def take(self, rows: npt.NDArray[np.int64]) -> Baskets:
        """The given rows, in the given order, over the same vocabulary."""
        lengths = self.lengths[rows]
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        items = np.empty(offsets[-1], np.int32)
        for first, last in _row_blocks(offsets):
            low, high = offsets[first], offsets[last]
            shift = np.repeat(self.offsets[:-1][rows[first:last]] - offsets[first:last], lengths[first:last])
            items[low:high] = self.items[shift + np.arange(low, high)]
        return Baskets(offsets, items, self.vocabulary)

    @classmethod
    def from_rows(cls, rows: Iterable[Iterable[str]]) -> Baskets:
        """From any iterable of sets of names. Convenient, not fast: readers use `from_codes`."""
        codes: dict[str, int] = {}
        flat: list[int] = []
        lengths: list[int] = []
        for row in rows:
            before = len(flat)
            flat.extend(codes.setdefault(str(name), len(codes)) for name in row)
            lengths.append(len(flat) - before)
        return cls.from_codes(np.array(lengths, np.int64), np.array(flat, np.int64), list(codes))

    @classmethod
    def from_codes(
        cls, lengths: npt.NDArray[np.int64], codes: npt.NDArray[np.integer], names: Sequence[str]
    ) -> Baskets:
        """From row lengths, item codes row after row, and the name of each code. Folds duplicates, sorts, drops unused names."""
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        if offsets[-1] != len(codes):
            raise InputError(f"row lengths add up to {offsets[-1]:,}, but there are {len(codes):,} item codes")
        rows = _row_blocks(offsets)
        return cls.from_blocks([(lengths[a:b], codes[offsets[a] : offsets[b]]) for a, b in rows], names)

    @classmethod
    def from_blocks(
        cls, blocks: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.integer]]], names: Sequence[str]
    ) -> Baskets:
        """As `from_codes`, from the lengths and codes of one block of rows after another. Empties the list, to hold nothing twice."""
        seen = np.zeros(len(names), bool)
        for _, codes in blocks:
            seen[codes] = True
        used = np.flatnonzero(seen)
        order = natural_order([names[i] for i in used.tolist()])
        vocabulary = tuple(names[i] for i in used[order].tolist())
        rank = np.zeros(len(names), np.int32)
        rank[used[order]] = np.arange(len(used), dtype=np.int32)
        offsets = np.zeros(sum(len(lengths) for lengths, _ in blocks) + 1, np.int64)
        items = np.empty(sum(len(codes) for _, codes in blocks), np.int32)
        row = size = folded = 0
        blocks.reverse()
        while blocks:
            lengths, codes = blocks.pop()
            ends, block = _sorted_rows(np.concatenate(([0], np.cumsum(lengths))), rank[codes])
            offsets[row + 1 : row + 1 + len(lengths)] = ends[1:] + size
            items[size : size + len(block)] = block
            row += len(lengths)
            size += len(block)
            folded += len(codes) - len(block)
        items.resize(size, refcheck=False)
        return cls(offsets, items, vocabulary, duplicates=folded)


def _row_blocks(offsets: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Ranges of rows that hold about `_BLOCK` occurrences each (a longer row stands alone), all rows together."""
    cuts = np.searchsorted(offsets, np.arange(_BLOCK, int(offsets[-1]), _BLOCK))
    bounds = np.unique(np.concatenate(([0], cuts, [len(offsets) - 1]))).tolist()
    return list(pairwise(bounds))


def _sorted_rows(
    offsets: npt.NDArray[np.int64], items: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Each row ascending and without repeats. Rows that already are (the common case) cost one look."""
    if len(items) == 0:
        return offsets, items
    starts = np.zeros(len(items), bool)
    starts[offsets[:-1][offsets[:-1] < len(items)]] = True
    if np.all((items[1:] > items[:-1]) | starts[1:]):
        return offsets, items
    row = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
    key = (row << 32) | items
    key.sort(kind="stable")
    key = key[np.concatenate(([True], key[1:] != key[:-1]))]
    counts = np.bincount(key >> 32, minlength=len(offsets) - 1)
    folded = np.zeros_like(offsets)
    np.cumsum(counts, out=folded[1:])
    return folded, (key & 0xFFFFFFFF).astype(np.int32)
