"""Rows as text, whatever the format, put together without touching single cells.

Every distinct name and value is prepared once with all that surrounds it (quotes, separators, line ends), and gathering those pieces in
row order yields the bytes of a whole block. What a spreadsheet would run as a formula gets an apostrophe in front.
"""

from __future__ import annotations

import contextlib
import gzip
import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from shoal.numbers import Codes, Ints
from shoal.records.baskets import Baskets
from shoal.records.records import Records
from shoal.records.storage.publication import StagedFile

_Lengths = Ints
_Items = Codes
EdgeCodes = Callable[[int, _Lengths, _Items], tuple[Any, Any]]
"""Which edges open and close the sets of a block, from the number of its first row, the lengths of its sets and their items."""

_GZIP_LEVEL = 6  # the program's own default; 9, Python's, takes five times as long for one byte in ten
_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-][0-9]+([., '\u2019\u00a0\u202f][0-9]+)*", re.ASCII
)
"""Also with a decimal comma, and with marks between thousands."""


@dataclass(frozen=True)
class ValueText:
    """A column of single values, each distinct one with what stands before and after it."""

    codes: Codes
    pieces: Sequence[str]

    def put(self, text: Codes, at: _Lengths, rows: slice, first: int) -> _Lengths:
        """Puts the piece of each row at its place; returns the places behind them. The pieces are numbered from `first`."""
        text[at] = self.codes[rows] + first
        return at + 1

    def counts(self, rows: slice) -> Any:
        """How many pieces each row has."""
        return 1


class SetText:
    """A column of sets: each name as it stands before another and as the last of its set, then what opens and closes sets."""

    def __init__(
        self,
        baskets: Baskets,
        inside: Sequence[str],
        last: Sequence[str],
        edges: Sequence[str],
        edge_codes: EdgeCodes = lambda row, lengths, items: (0, 1),
    ) -> None:
        self._baskets = baskets
        self._names = len(last)
        self._edge_codes = edge_codes
        self.pieces = [*inside, *last, *edges]

    def put(self, text: Codes, at: _Lengths, rows: slice, first: int) -> _Lengths:
        """As for single values."""
        offsets = self._baskets.offsets[rows.start : rows.stop + 1]
        items, lengths = self._baskets.items[offsets[0] : offsets[-1]], np.diff(offsets)
        close = at + lengths + 1
        text[np.arange(len(items)) + np.repeat(at + 1 - (offsets[:-1] - offsets[0]), lengths)] = items + first
        text[close[lengths > 0] - 1] += self._names
        opening, closing = self._edge_codes(rows.start, lengths, items)
        text[at] = first + 2 * self._names + opening
        text[close] = first + 2 * self._names + closing
        return close + 1

    def counts(self, rows: slice) -> Any:
        """As for single values."""
        return np.diff(self._baskets.offsets[rows.start : rows.stop + 1]) + 2


def text_blocks(records: Records, columns: Sequence[ValueText | SetText]) -> Iterator[memoryview]:
    """The text of all rows, block by block."""
    pieces = pa.array([piece for column in columns for piece in column.pieces], pa.large_string())
    for start, stop in records.row_blocks():
        rows = slice(start, stop)
        counts = np.zeros(stop - start, np.int64)
        for column in columns:
            counts += column.counts(rows)
        ends = np.cumsum(counts)
        text = np.empty(int(ends[-1]), np.int32)
        at, first = ends - counts, 0
        for column in columns:
            at = column.put(text, at, rows, first)
            first += len(column.pieces)
        yield bytes_of(pieces.take(pa.array(text)))


def bytes_of(texts: pa.LargeStringArray) -> memoryview:
    """The text of an array that was just made, end to end: its buffer as it is."""
    _, ends, data = texts.buffers()
    size = int(np.frombuffer(ends, np.int64)[len(texts)])
    return memoryview(data)[:size] if data is not None else memoryview(b"")


def guard(text: str) -> str:
    """A text as it stands in a cell of its own: what a spreadsheet would run as a formula has an apostrophe in front."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def guard_in_set(name: str) -> str:
    """A name as it stands in a cell with others: there, -5 may be the beginning of a formula, too."""
    return f"'{name}" if _FORMULA.match(name) else name


def escape_guard(text: str) -> str:
    """As `guard`, and what has an apostrophe of its own gets another: for files whose reader takes one off."""
    return f"'{text}" if _FORMULA.match(text.lstrip("'")) and not _NUMBER.fullmatch(text) else text


def without_guard(text: str, known: Container[str]) -> str:
    """What a text of a release stood for: without its apostrophe, unless a text is known that has one."""
    return text[1:] if text[:1] == "'" and _FORMULA.match(text, 1) and text not in known else text


def csv_cell(text: str, delimiter: str) -> str:
    """One cell of CSV, quoted if it must be."""
    if any(mark in text for mark in ('"', "\r", "\n", delimiter)):
        return '"' + text.replace('"', '""') + '"'
    return text


@contextlib.contextmanager
def packed_output(file: BinaryIO | StagedFile, compression: str | None) -> Iterator[Any]:
    """The file to write plain text to, which it packs if it must."""
    if compression is None:
        yield file
    elif compression == "gz":  # neither name nor time: the same data gives the same bytes
        with gzip.GzipFile(filename="", mode="wb", compresslevel=_GZIP_LEVEL, fileobj=file, mtime=0) as packed:
            yield packed
    else:
        with pa.CompressedOutputStream(arrow_sink(file), "zstd") as packed:
            yield packed


def arrow_sink(file: BinaryIO | StagedFile) -> pa.PythonFile:
    """The file for Arrow to write to, but not to close."""
    return pa.PythonFile(
        SimpleNamespace(write=file.write, flush=file.flush, close=lambda: None, closed=False), mode="w"
    )
