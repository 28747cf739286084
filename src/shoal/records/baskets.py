"""Baskets: a collection of sets in compressed row form, the noun that every algorithm for set-valued data works on.

Row i holds the item ids `items[offsets[i]:offsets[i + 1]]`, ascending and unique; `vocabulary[id]` is the item's name.
The vocabulary is kept in natural order (numeric when every name is an integer, else by code point), so the same data gives
the same ids, and with them the same results, whatever file format or row order it came in.

Where memory is limited the arrays lie in scratch files, and so does what is made from them (see `shoal.records.storage.scratch`).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError
from shoal.numbers import Bools, Codes, Ints
from shoal.ordering import natural_order
from shoal.records.formats.tabular import Tabular
from shoal.records.storage.scratch import Scratch, scratch_of
from shoal.records.storage.shuffle import shuffle_rows

_BLOCK = (
    1 << 22
)  # occurrences coded and sorted at a time, so that large data takes little more memory than its own size


@dataclass(frozen=True, eq=False)
class Baskets(Tabular):
    """Immutable set-valued data. Build it with `Baskets.from_rows`, `Baskets.from_codes` or `shoal.read`.

    Attributes:
        offsets: Where each row begins in `items`, and where the last one ends.
        items: Row after row, the places of its items in the vocabulary, ascending.
        vocabulary: The items, by name, in natural order.

    >>> import shoal
    >>> baskets = shoal.Baskets.from_rows([["milk", "bread"], ["milk"]])
    >>> list(baskets.rows()), baskets.vocabulary, baskets.supports().tolist()
    ([['bread', 'milk'], ['milk']], ('bread', 'milk'), [1, 2])
    """

    offsets: Ints
    items: Codes
    vocabulary: tuple[str, ...]
    duplicates: int = field(default=0, kw_only=True)
    """Repeated items that were folded into one while reading."""
    people: Codes | None = field(default=None, kw_only=True)
    """Per row, whose it is, by a number from 0 on, where several rows may be one person's; None where every row is a person."""

    def __post_init__(self) -> None:
        self.offsets.setflags(write=False)
        self.items.setflags(write=False)
        if self.people is not None:
            check_people(self.people, len(self))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[frozenset[str]]:
        return (frozenset(row) for row in self.rows())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Baskets)
            and self.vocabulary == other.vocabulary
            and _equal(self.offsets, other.offsets)
            and _equal(self.items, other.items)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Baskets({len(self):,} transactions, {len(self.vocabulary):,} items, {self.occurrences:,} occurrences)"

    @property
    def occurrences(self) -> int:
        """Item occurrences in all rows together."""
        return len(self.items)

    @property
    def scratch(self) -> Scratch | None:
        """Where the arrays lie if memory is limited."""
        return scratch_of(self.items)

    @property
    def lengths(self) -> Ints:
        lengths: Ints = _room(self.scratch, len(self), np.int64)
        np.subtract(self.offsets[1:], self.offsets[:-1], out=lengths)
        return lengths

    @property
    def empty(self) -> int:
        """Number of transactions without any item."""
        return sum(int(np.count_nonzero(np.diff(stretch) == 0)) for stretch in _stretches(self.offsets, 1))

    @property
    def longest(self) -> int:
        return max((int(np.diff(stretch).max(initial=0)) for stretch in _stretches(self.offsets, 1)), default=0)

    def supports(self) -> Ints:
        """Number of transactions that hold each item, by item id."""
        support = np.zeros(len(self.vocabulary), np.int64)
        for stretch in _stretches(self.items):  # counting takes a copy of eight bytes an occurrence
            support += np.bincount(stretch, minlength=len(support))
        return support

    def rows_with(self, wanted: Bools) -> Ints:
        """The rows, ascending, that hold any of the wanted items (a mark for each item id)."""
        found, at = [np.empty(0, np.int64)], 0
        for stretch in _stretches(self.items):
            places = at + np.flatnonzero(wanted[stretch])
            found.append(np.unique(np.searchsorted(self.offsets, places, side="right") - 1))
            at += len(stretch)
        return np.unique(np.concatenate(found))

    def rows(self) -> Iterator[list[str]]:
        """The transactions as lists of item names, in vocabulary order. For small data and for reading aloud."""
        names = self.vocabulary
        for start, stop in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True):
            yield [names[i] for i in self.items[start:stop].tolist()]

    def row_blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows to work on at a time, as many as fit into memory with what is made of them on the way."""
        return row_blocks(self.offsets, _block(self.scratch))

    def take(self, rows: Ints) -> Baskets:
        """The given rows, in the given order, over the same vocabulary."""
        scratch = self.scratch
        offsets = _ends(self.lengths[rows], scratch)
        items = _kept(scratch, int(offsets[-1]), np.int32)
        for first, last in row_blocks(offsets, _block(scratch)):
            low, high = offsets[first], offsets[last]
            shift = np.repeat(
                self.offsets[:-1][rows[first:last]] - offsets[first:last], np.diff(offsets[first : last + 1])
            )
            items[low:high] = self.items[shift + np.arange(low, high)]
        return Baskets(offsets, items, self.vocabulary, people=None if self.people is None else self.people[rows])

    def split_off(self, names: Collection[str]) -> tuple[Baskets, Baskets]:
        """The same rows twice: without the items of these names, and with them alone."""
        apart = np.array([name in names for name in self.vocabulary], np.bool_)
        return self._with(~apart), self._with(apart)

    def _with(self, wanted: Bools) -> Baskets:
        kept = wanted[self.items]
        offsets = np.concatenate(([0], np.cumsum(kept)))[self.offsets]
        rank = np.cumsum(wanted, dtype=np.int32) - np.int32(1)
        names = tuple(name for name, stays in zip(self.vocabulary, wanted.tolist(), strict=True) if stays)
        return Baskets(offsets, rank[self.items[kept]].astype(np.int32, copy=False), names, people=self.people)

    def shuffle(self) -> Baskets:
        """The rows in an order drawn from the system's randomness, of which nothing is kept."""
        if self.scratch is not None:
            rows = shuffle_rows((self.offsets, self.items), self.row_blocks(), self.scratch)
            return Baskets(*rows, self.vocabulary)
        return self.take(np.argsort(np.frombuffer(os.urandom(8 * len(self)), np.uint64)))

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
    def from_codes(cls, lengths: Ints, codes: npt.NDArray[np.integer], names: Sequence[str]) -> Baskets:
        """From row lengths, item codes row after row, and the name of each code. Folds duplicates, sorts, drops unused names."""
        scratch = scratch_of(codes)
        offsets = _ends(lengths, scratch)
        if offsets[-1] != len(codes):
            raise InputError(f"row lengths add up to {offsets[-1]:,}, but there are {len(codes):,} item codes")
        rows = row_blocks(offsets, _block(scratch))
        return cls.from_blocks([(lengths[a:b], codes[offsets[a] : offsets[b]]) for a, b in rows], names, scratch)

    @classmethod
    def from_blocks(
        cls, blocks: list[tuple[Ints, npt.NDArray[np.integer]]], names: Sequence[str], scratch: Scratch | None = None
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
        offsets = _kept(scratch, sum(len(lengths) for lengths, _ in blocks) + 1, np.int64)
        offsets[0] = 0
        items = _kept(scratch, sum(len(codes) for _, codes in blocks), np.int32)
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
        if scratch is None:
            items.resize(size, refcheck=False)
        return cls(offsets, items[:size], vocabulary, duplicates=folded)


def check_people(people: Codes, rows: int) -> None:
    """Raises unless there is a person for every row; nobody may change whose it is afterwards."""
    if len(people) != rows:
        raise InputError(f"there are people for {len(people):,} rows, not for {rows:,}; give every row its person")
    people.setflags(write=False)


def row_blocks(offsets: Ints, size: int, rows: int | None = None) -> list[tuple[int, int]]:
    """Ranges of up to `rows` rows, or `size`, that hold up to `size` occurrences (a longer row stands alone), all rows together."""
    blocks, start, n_rows = [], 0, len(offsets) - 1
    while start < n_rows:
        full = int(np.searchsorted(offsets, offsets[start] + size, side="right")) - 1
        stop = min(max(full, start + 1), start + (rows or size))
        blocks.append((start, stop))
        start = stop
    return blocks


def _block(scratch: Scratch | None) -> int:
    return _BLOCK if scratch is None else min(_BLOCK, scratch.block)


def _stretches(array: npt.NDArray[Any], overlap: int = 0) -> Iterator[npt.NDArray[Any]]:
    """The array piece by piece; with an overlap, each piece begins with so many entries of the one before."""
    step = _block(scratch_of(array))
    for start in range(0, len(array) - overlap, step):
        yield array[start : start + step + overlap]


def _equal(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    if len(one) != len(other):
        return False
    step = _block(scratch_of(one))
    return all(np.array_equal(one[at : at + step], other[at : at + step]) for at in range(0, len(one), step))


def _ends(lengths: npt.NDArray[np.integer], scratch: Scratch | None) -> Ints:
    """The offsets of rows of these lengths."""
    offsets = _kept(scratch, len(lengths) + 1, np.int64)
    offsets[0] = 0
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _kept(scratch: Scratch | None, size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Room for an array of Baskets: in a file if memory is limited, be it small, so that whatever comes of it knows the limit."""
    return np.empty(size, dtype) if scratch is None else scratch.map_array(size, dtype)


def _room(scratch: Scratch | None, size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Room for an array in passing."""
    return np.empty(size, dtype) if scratch is None else scratch.empty(size, dtype)


def _sorted_rows(offsets: Ints, items: Codes) -> tuple[Ints, Codes]:
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
