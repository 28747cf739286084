"""Writing baskets to files and handing them to data frames.

Text is put together without touching single items: every name is prepared once with what follows it inside and at the end of a
row, and gathering those pieces in row order yields the bytes of a whole block. Names are always written as text, so that 007
stays 007 in Parquet and JSON too. What a spreadsheet would run as a formula is written with an apostrophe in front, as any reader sees it.
What parts the items of cells is chosen so that a reader who is not told finds it out: if the first rows hold one item each and
would not show it, the first of them ends in it.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from shoal.errors import VALUES, InputError
from shoal.records.baskets import Baskets
from shoal.records.layout import CELLED, SEPARATORS, Layout, layout_for
from shoal.records.storage.publication import Publication, StagedFile, Target, display_name, writing_errors
from shoal.records.storage.streams import BLANKS, BLOCK

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

_Lengths = npt.NDArray[np.int64]
_Items = npt.NDArray[np.int32]
_EdgeCodes = Callable[[_Lengths, _Items], tuple[Any, Any]]

_BLOCK = 1 << 20  # rows and occurrences that are put together at a time
_GZIP_LEVEL = 6  # the program's own default; 9, Python's, takes five times as long for one byte in ten
_BLANK = re.compile(r"[ \t\n\v\f\r]")
_FORMULA = re.compile(r"[=+\-@\t\r]")
GUARDED = ("csv", "tsv", "long")
"""What spreadsheets open."""
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


def write(baskets: Baskets, target: Target, *, layout: Layout | None = None, force: bool = False) -> Layout:
    """Writes baskets to a file, all or nothing, or to standard output (`-`); returns the layout that was used.

    The target's name tells the format; `layout` gives the rest, such as the layout that the input had.
    """
    wanted = layout_for(target, layout)
    if os.fspath(target) == "-":
        with writing_errors(target):
            used = write_to(sys.stdout.buffer, baskets, wanted, target)
            sys.stdout.buffer.flush()
        return used
    with Publication([target], force=force) as publication, publication.file(target) as file:
        return write_to(file, baskets, wanted, target)


def write_to(file: BinaryIO | StagedFile, baskets: Baskets, layout: Layout, target: Target = "the output") -> Layout:
    """Writes baskets to an open file; returns the layout that was used, which has another separator if names need one.

    `target` is what messages call the file.
    """
    layout = settled_layout(baskets.vocabulary, layout, target)
    tokens = written_tokens(baskets.vocabulary, layout, target)
    if layout.format in ("parquet", "arrow"):
        _write_columns(file, baskets, layout)
        return layout
    with packed_output(file, layout.compression) as packed:
        for text in _text(baskets, tokens, layout):
            packed.write(text)
    return layout


def settled_layout(vocabulary: Sequence[str], layout: Layout, target: Target = "the output") -> Layout:
    """The layout with a separator that no name contains: the given one, or the first that will do.

    One that a reader would find out by itself goes first, lest a release be read with its items cut at the wrong places.
    """
    if layout.format in GUARDED:
        layout = replace(layout, items=guarded(layout.items), id=layout.id and guarded(layout.id))
    if layout.format not in CELLED:
        return layout
    tokens = written_tokens(vocabulary, layout, target)
    possible = [mark for mark in (layout.separator, *SEPARATORS) if not any(map(_clashes(mark), tokens))]
    if not possible:
        raise InputError(
            f"{display_name(target)}: items can be parted neither by {layout.separator!r} nor by | ; , or tab, "
            "for all occur in names; write .jsonl or .parquet"
        )
    present = [mark for mark in SEPARATORS if any(mark in token for token in tokens)]
    return replace(layout, separator=next((mark for mark in possible if _found_first(mark, present)), possible[0]))


def written_tokens(vocabulary: Sequence[str], layout: Layout, target: Target = "the output") -> tuple[str, ...]:
    """What each name looks like in a file of this layout.

    FIMI text has no place for blanks, which become `_`; cells have none for blanks around a name, and an apostrophe keeps spreadsheets from
    running them. Each item has one name wherever it stands in its cell. Everything else stays.
    """
    if layout.format == "dat":
        tokens = tuple(_BLANK.sub("_", name) for name in vocabulary)
        refused = {"", "-1", "-2"}
    elif layout.format in (*CELLED, "long"):
        tokens = tuple(name.strip(BLANKS) for name in vocabulary)
        refused = {""}
    else:
        return tuple(vocabulary)
    for name, token in zip(vocabulary, tokens, strict=True):
        if token in refused or "\0" in token:
            raise InputError(
                f"{display_name(target)}: an item{VALUES} cannot stand in {layout.format} text as a name; "
                "rename it, or write .jsonl or .parquet",
                values=[repr(name)],
            )
    if layout.format in GUARDED:
        alone = layout.format == "long"  # a number that stands by itself is none that anything is run for
        tokens = tuple(guarded(token) if alone else _guarded_in_set(token) for token in tokens)
    if len(set(tokens)) < len(tokens):
        first: dict[str, str] = {}
        for name, token in zip(vocabulary, tokens, strict=True):
            if token in first:
                others = ".csv, .jsonl or .parquet" if layout.format == "dat" else ".jsonl or .parquet"
                raise InputError(
                    f"{display_name(target)}: two items{VALUES} would both be written as the same text; write {others}",
                    values=[repr(first[token]), repr(name)],
                )
            first[token] = name
    return tokens


def to_arrow(baskets: Baskets, column: str = "items") -> pa.Table:
    """The baskets as an Arrow table with one column of lists of strings."""
    import pyarrow as pa

    lists = pa.chunked_array(list(list_blocks(baskets)), pa.list_(pa.string()))
    return pa.table({column: lists})


def to_polars(baskets: Baskets, column: str = "items") -> polars.DataFrame:
    """The baskets as a polars frame with one column of lists of strings."""
    import polars

    return polars.DataFrame(to_arrow(baskets, column))


def to_pandas(baskets: Baskets, column: str = "items") -> pandas.DataFrame:
    """The baskets as a pandas frame with one column of arrays of strings."""
    return to_arrow(baskets, column).to_pandas()


@dataclass(frozen=True)
class _Pieces:
    """The pieces of text that rows are made of: each name as it stands inside a row and at its end, then what opens and closes rows."""

    inside: Sequence[str]
    last: Sequence[str]
    edges: Sequence[str]

    def rows(self, baskets: Baskets, edge_codes: _EdgeCodes) -> Iterator[memoryview]:
        """The text of all rows, block by block; `edge_codes(lengths, items)` says which edges open and close each row."""
        import pyarrow as pa

        pieces = pa.array([*self.inside, *self.last, *self.edges], pa.large_string())
        n = len(self.inside)
        for lengths, items in _row_blocks(baskets):
            row = np.arange(len(lengths))
            close = np.cumsum(lengths + 2) - 1
            codes = np.empty(len(items) + 2 * len(lengths), np.int32)
            codes[np.arange(1, len(items) + 1) + 2 * np.repeat(row, lengths)] = items
            codes[close[lengths > 0] - 1] += n
            opening, closing = edge_codes(lengths, items)
            codes[close - lengths - 1] = 2 * n + opening
            codes[close] = 2 * n + closing
            yield bytes_of(pieces.take(pa.array(codes)))


def _text(baskets: Baskets, tokens: Sequence[str], layout: Layout) -> Iterator[bytes | memoryview]:
    if layout.format == "dat":
        yield from _dat_text(baskets, tokens)
    elif layout.format == "jsonl":
        yield from _jsonl_text(baskets, tokens, layout.items)
    elif layout.format == "long":
        yield from _long_text(baskets, tokens, layout)
    else:
        yield from _cell_text(baskets, tokens, layout)


def _dat_text(baskets: Baskets, tokens: Sequence[str]) -> Iterator[memoryview]:
    # A line that begins like a comment, a head line or a byte order mark is told from one by a blank before it.
    safe = [f" {token}" if token in "#%" or token[0] in "@\ufeff" else token for token in tokens]
    pieces = _Pieces([f"{token} " for token in safe], safe, ["", "\n"])
    return pieces.rows(baskets, lambda lengths, items: (0, 1))


def _jsonl_text(baskets: Baskets, tokens: Sequence[str], field: str) -> Iterator[memoryview]:
    quoted = [json.dumps(token, ensure_ascii=False) for token in tokens]
    edges = ["{" + json.dumps(field, ensure_ascii=False) + ": [", "]}\n"] if field else ["[", "]\n"]
    return _Pieces([f"{token}, " for token in quoted], quoted, edges).rows(baskets, lambda lengths, items: (0, 1))


def _cell_text(baskets: Baskets, tokens: Sequence[str], layout: Layout) -> Iterator[bytes | memoryview]:
    """A header and a cell per row, quoted where it must be."""
    delimiter, separator = layout.delimiter, layout.separator
    special = re.compile(rf'["\r\n{re.escape(delimiter)}]')
    quotes = np.array([special.search(token) is not None for token in tokens], bool)
    separator_quotes = special.search(separator) is not None
    shown_by = row_that_must_show(separator, baskets, tokens)
    row = 0

    def edge_codes(lengths: _Lengths, items: _Items) -> tuple[Any, Any]:
        nonlocal row
        ends = np.cumsum(lengths)
        before = np.concatenate(([0], np.cumsum(quotes[items])))
        shows = lengths > 1
        dangling = np.arange(row, row + len(lengths)) == shown_by
        quoted = (before[ends] > before[ends - lengths]) | (lengths == 0) | (separator_quotes & (shows | dangling))
        row += len(lengths)
        return quoted.astype(np.int64), 2 + quoted + 2 * dangling

    doubled = [token.replace('"', '""') for token in tokens]
    follow = separator.replace('"', '""')
    edges = ["", '"', "\n", '"\n', f"{follow}\n", f'{follow}"\n']
    yield f"{header_cell(layout.items)}\n".encode()
    yield from _Pieces([token + follow for token in doubled], doubled, edges).rows(baskets, edge_codes)


def row_that_must_show(separator: str, baskets: Baskets, tokens: Sequence[str]) -> int:
    """The row that must end in the separator, lest a reader who is not told cut names elsewhere; -1 if none must, or it would not help."""
    present = [mark for mark in SEPARATORS if any(mark in token for token in tokens)]
    if separator not in SEPARATORS or not _found_first(separator, present):
        return -1
    several = _first_row(baskets, 2)
    if several >= 0:
        size = np.array([len(token.encode()) for token in tokens])
        before = baskets.items[: min(int(baskets.offsets[several + 1]), BLOCK)]  # a name has at least one byte
        if size[before].sum() + 8 * several < BLOCK / 2:  # a reader decides by the first block
            return -1
    elif not any(map(_clashes((*present, " ")[0]), tokens)):
        return -1
    return _first_row(baskets, 1)


def _first_row(baskets: Baskets, least: int) -> int:
    """The first row with at least so many items, -1 if there is none."""
    for first, last in baskets.row_blocks():
        long = np.diff(baskets.offsets[first : last + 1]) >= least
        if long.any():
            return first + int(np.argmax(long))
    return -1


def _long_text(baskets: Baskets, tokens: Sequence[str], layout: Layout) -> Iterator[bytes | memoryview]:
    """A header and a row per id and item. Ids count the rows; an empty set is an id without an item."""
    import pyarrow as pa
    import pyarrow.compute as pc

    delimiter = layout.delimiter
    header = delimiter.join(map(header_cell, (layout.id or "id", layout.items)))
    yield f"{header}\n".encode()
    ends = pa.array([*(f"{csv_cell(token, delimiter)}\n" for token in tokens), "\n"], pa.large_string())
    row = 1
    for lengths, items in _row_blocks(baskets):
        empty = lengths == 0
        codes = np.insert(items, (np.cumsum(lengths) - lengths)[empty], len(tokens))
        ids = np.repeat(np.arange(row, row + len(lengths)), lengths + empty)
        starts = pa.array(ids).cast(pa.large_string())
        lines = pc.binary_join_element_wise(starts, ends.take(pa.array(codes)), pa.scalar(delimiter, pa.large_string()))
        yield bytes_of(lines)
        row += len(lengths)


def _write_columns(file: BinaryIO | StagedFile, baskets: Baskets, layout: Layout) -> None:
    import pyarrow as pa

    schema = pa.schema([(layout.items or "items", pa.list_(pa.string()))])
    write_batches(file, schema, (pa.record_batch([lists], schema) for lists in list_blocks(baskets)), layout.format)


def write_batches(file: BinaryIO | StagedFile, schema: pa.Schema, batches: Iterable[pa.RecordBatch], form: str) -> None:
    """Writes Arrow batches as `parquet` or `arrow`."""
    import pyarrow as pa

    sink = _sink(file)
    if form == "parquet":
        from pyarrow import parquet

        writer = parquet.ParquetWriter(sink, schema, compression="zstd")
    else:
        writer = pa.ipc.new_file(sink, schema)
    with writer:
        for batch in batches:
            writer.write_batch(batch)


def list_blocks(baskets: Baskets) -> Iterator[pa.Array]:
    """The rows as Arrow lists of strings, block by block."""
    import pyarrow as pa

    names = pa.array(baskets.vocabulary, pa.string())
    for lengths, items in _row_blocks(baskets):
        ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        yield pa.ListArray.from_arrays(pa.array(ends), names.take(pa.array(items)))


def _row_blocks(baskets: Baskets) -> Iterator[tuple[_Lengths, _Items]]:
    """The lengths and items of one block of rows after another. A row that is longer than a block makes a block of its own."""
    offsets = baskets.offsets
    start = 0
    while start < len(baskets):
        full = int(np.searchsorted(offsets, offsets[start] + _BLOCK, side="right")) - 1
        stop = min(max(full, start + 1), start + _BLOCK)
        yield np.diff(offsets[start : stop + 1]), baskets.items[offsets[start] : offsets[stop]]
        start = stop


def _found_first(separator: str, present: Sequence[str]) -> bool:
    """Whether a reader that is not told the separator looks for it before those that are present in names."""
    ranks = {mark: rank for rank, mark in enumerate((*SEPARATORS, " "))}
    return all(ranks.get(separator, -1) < ranks[mark] for mark in present)


def _clashes(separator: str) -> Callable[[str], object]:
    """A test whether a token would not come back whole from a cell with this separator."""
    if separator == " ":
        return _BLANK.search
    return lambda token: f"{separator}{token}{separator}".split(separator) != ["", token, ""]


def guarded(text: str) -> str:
    """A text as it stands in a cell of its own: what a spreadsheet would run as a formula has an apostrophe in front."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def _guarded_in_set(name: str) -> str:
    """A name as it stands in a cell with others: there, -5 may be the beginning of a formula, too."""
    return f"'{name}" if _FORMULA.match(name) else name


def escaped(text: str) -> str:
    """As `guarded`, and what has an apostrophe of its own gets another: for files of ours, whose reader takes one off."""
    return f"'{text}" if _FORMULA.match(text.lstrip("'")) and not _NUMBER.fullmatch(text) else text


def unguarded(text: str, known: Container[str]) -> str:
    """What a text of a release stood for: without its apostrophe, unless a text is known that has one."""
    return text[1:] if text[:1] == "'" and _FORMULA.match(text, 1) and text not in known else text


def csv_cell(text: str, delimiter: str) -> str:
    """One cell of CSV, quoted if it must be."""
    if any(mark in text for mark in ('"', "\r", "\n", delimiter)):
        return '"' + text.replace('"', '""') + '"'
    return text


def header_cell(name: str) -> str:
    """A column's name, quoted if it holds anything that a reader might take for what parts columns, or for a byte order mark."""
    mark = next((mark for mark in (",", ";", "\t", "\ufeff") if mark in name), ",")
    return csv_cell(name, mark)


def bytes_of(texts: pa.LargeStringArray) -> memoryview:
    """The text of an array that was just made, end to end: its buffer as it is."""
    _, ends, data = texts.buffers()
    size = int(np.frombuffer(ends, np.int64)[len(texts)])
    return memoryview(data)[:size] if data is not None else memoryview(b"")


@contextlib.contextmanager
def packed_output(file: BinaryIO | StagedFile, compression: str | None) -> Iterator[Any]:
    """The file to write plain text to, which it packs if it must."""
    if compression is None:
        yield file
    elif compression == "gz":  # neither name nor time: the same data gives the same bytes
        with gzip.GzipFile(filename="", mode="wb", compresslevel=_GZIP_LEVEL, fileobj=file, mtime=0) as packed:
            yield packed
    else:
        import pyarrow as pa

        with pa.CompressedOutputStream(_sink(file), "zstd") as packed:
            yield packed


def _sink(file: BinaryIO | StagedFile) -> Any:
    """The file for Arrow to write to, but not to close."""
    import pyarrow as pa

    return pa.PythonFile(
        SimpleNamespace(write=file.write, flush=file.flush, close=lambda: None, closed=False), mode="w"
    )
