"""CSV and TSV as a table of text: nothing is guessed about types, so 007 stays 007 and NaN stays the text NaN.

Arrow's streaming parser reads blocks of whole lines as they come; a quoted cell may hold line breaks. A cell is read as it stands:
an apostrophe before a formula, which a release has lest spreadsheets run it, is part of its text.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from shoal.errors import InputError, option
from shoal.numbers import Codes, Ints
from shoal.records.assemble import Table
from shoal.records.baskets import Baskets
from shoal.records.formats.text import SetText, ValueText, bytes_of, csv_cell, text_blocks
from shoal.records.layout import SEPARATORS, Layout
from shoal.records.records import Records
from shoal.records.roles import SENSITIVE_MARKS, FirstLine
from shoal.records.storage.streams import BLANKS, BLOCK, Input, TextBlock

_QUOTED = re.compile(r'"[^"]*"')
_OPEN_QUOTE = re.compile(r'(?:^|[,;\t])"[^"]*$')
_QUOTE, _LINE_FEED = ord('"'), b"\n"
_REST_OF_CELL = re.compile(rb'[^"]*+(?:""[^"]*+)*+" *+')
"""From inside a quoted cell to its closing quote, with the blanks that some programs put after it."""
_BLANK = re.compile(r"[ \t\n\v\f\r]")
_HEADER_LINES = 50  # how far the end of a quoted name is looked for
_LIMIT = 1 << 30  # Arrow asks for blocks of this size and takes the smaller ones it is given


def delimited_table(source: Input, delimiter: str | None) -> Table:
    """The table in CSV text. What separates its columns is looked for in the header line unless given."""
    blocks = source.text_blocks()
    first = next((block for block in blocks if block.data), None)  # a byte order mark alone leaves an empty one
    if first is None:
        raise InputError(f"{source.name} has no transactions; it is empty, without even a header line")
    if delimiter is None:
        delimiter = _guessed_delimiter(first)
    header = _header(first, delimiter, source.name)
    columns = [name.strip(BLANKS) for name in header]
    feed = _Feed(first, blocks, _Quotes(delimiter, source.name))
    separator = delimiter
    place = {name: at for at, name in reversed(list(enumerate(columns)))}

    def batches(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        names = [header[place[column]] for column in wanted]
        for batch in _parsed(feed, source.name, separator, header, names):
            yield batch.rename_columns(list(wanted))

    return Table(FirstLine(columns), batches, source.name, None, room=source.room, delimiter=delimiter)


def refuse_missing_header(column: str, separator: str, vocabulary: Collection[str], source: str) -> None:
    """Raises if the single column's name reads like a transaction: it would be lost, and published as a header as it is."""
    names = column.split() if separator == " " else [name.strip() for name in column.split(separator)]
    if column != "items" and (
        (separator != " " and len(names) > 1) or any(name.isdecimal() or name in vocabulary for name in names)
    ):
        raise InputError(
            f"{source}: line 1 reads like a transaction, not like a header; put a line such as items above it, "
            f"or name it with {option('items')} if it is the header"
        )


class _Feed:
    """The blocks as a file object that gives one whole block per read, after a look at its quotes."""

    closed = False

    def __init__(self, first: TextBlock, rest: Iterator[TextBlock], quotes: _Quotes) -> None:
        self._first: TextBlock | None = first
        self._rest = rest
        self.quotes = quotes

    def read(self, _: int) -> bytes:
        block, self._first = self._first or next(self._rest, None), None
        if block is None:
            self.quotes.end()
            return b""
        data = block.data if block.data.endswith(b"\n") else block.data + b"\n"
        self.quotes.look(data, block.line)
        return data

    def close(self) -> None:
        self.closed = True


class _Quotes:
    """Whether quotes open and close cells as they should. Arrow would take what follows a closed cell for a part of it, and the end of
    the file for the end of a cell.

    Where they do, each quote that opens stands at the edge of a cell, and each that closes, too, or two of them stand together for one.
    Only text that is not so (a quote inside a cell that is not quoted is taken as it stands) is gone through cell by cell.
    """

    def __init__(self, delimiter: str, source: str) -> None:
        self._source = source
        self._edges = frozenset(f"{delimiter}\r\n".encode())
        self._cell_end = re.compile(f"[{re.escape(delimiter)}\r\n]".encode())
        self._opened = 0
        """The line of a quoted cell that has not ended yet, 0 if there is none."""

    def look(self, data: bytes, line: int) -> None:
        """Takes the next whole lines; raises with the line of a cell that goes on after its closing quote."""
        octets = np.frombuffer(data, np.uint8)
        at = np.flatnonzero(octets == _QUOTE)
        if len(at) == 0:
            return
        edge = np.zeros(256, bool)
        edge[[*self._edges, _QUOTE]] = True
        opening = (np.arange(len(at)) + bool(self._opened)) % 2 == 0
        before, after = (
            octets[at - 1],
            octets[at + 1],
        )  # the last byte is a line feed, and so is what is before the first
        if np.all(np.where(opening, edge[before], edge[after])):
            if opening[-1]:
                self._opened = line + data.count(b"\n", 0, int(at[-1]))
            else:
                self._opened = 0
            return
        self._go_through(data, line)

    def end(self) -> None:
        """Raises if a cell is still open."""
        if self._opened:
            raise InputError(
                f"{self._source}: the quote that opens in line {self._opened:,} does not close, so that rows run into each other or "
                "the file is cut short; close the quote, or copy the file again"
            )

    def _go_through(self, data: bytes, line: int) -> None:
        place = 0
        while True:
            if not self._opened:
                quote = data.find(b'"', place)
                if quote < 0:
                    return
                if quote and data[quote - 1] not in self._edges:  # a character like others
                    found = self._cell_end.search(data, quote)
                    place = found.start() if found else len(data)
                    continue
                self._opened, place = line + data.count(b"\n", 0, quote), quote + 1
            closing = _REST_OF_CELL.match(data, place)
            if closing is None:
                return
            self._opened, place = 0, closing.end()
            if data[place] not in self._edges:
                raise InputError(
                    f"{self._source}: line {line + data.count(_LINE_FEED, 0, place):,} has a cell that goes on after its closing quote; "
                    'double a quote that is part of a quoted cell ("")'
                )


def _parsed(feed: _Feed, source: str, delimiter: str, header: list[str], wanted: list[str]) -> Iterator[pa.RecordBatch]:
    misfits: list[arrow_csv.InvalidRow] = []

    def refuse(row: arrow_csv.InvalidRow) -> str:
        misfits.append(row)
        return "error"

    try:
        reader = arrow_csv.open_csv(
            pa.PythonFile(feed, mode="r"),
            arrow_csv.ReadOptions(block_size=_LIMIT, use_threads=False),
            arrow_csv.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=True,
                ignore_empty_lines=len(header) > 1,  # a blank line of a single column is an empty set
                invalid_row_handler=refuse,
            ),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.large_string()), include_columns=wanted, strings_can_be_null=False
            ),
        )
        yield from reader
    except pa.ArrowInvalid as error:
        if misfits:
            row = misfits[0]
            cells = "1 cell" if row.actual_columns == 1 else f"{row.actual_columns:,} cells"
            many = row.actual_columns > row.expected_columns
            raise InputError(
                f"{source}: row {row.number - 1:,} has {cells}, but the header has {row.expected_columns:,}; "
                + (f"quote cells that hold {delimiter!r}" if many else f"write {delimiter!r} for each empty cell, too")
            ) from None
        if "Empty CSV" in str(error):
            feed.quotes.end()
        if "straddling" in str(error):
            raise InputError(
                f"{source}: a quoted cell does not end for millions of characters; close its quote"
            ) from None
        raise InputError(f"{source}: it is not readable as CSV; check its quotes and columns") from None


def _guessed_delimiter(first: TextBlock) -> str:
    """The most frequent of comma, semicolon and tab in the header line, outside of quotes."""
    lines = first.data.split(b"\n", _HEADER_LINES)
    header = lines[0]
    for more in lines[1:_HEADER_LINES]:
        if not _OPEN_QUOTE.search(_QUOTED.sub("", header.decode())):
            break
        header += b"\n" + more  # a name with a line break inside
    else:
        header = lines[0]
    text = _QUOTED.sub("", header.decode())
    return max((",", ";", "\t"), key=text.count)


def _header(first: TextBlock, delimiter: str, source: str) -> list[str]:
    text = io.TextIOWrapper(io.BytesIO(first.data), "utf-8", newline="")
    try:
        header = next(csv.reader(text, delimiter=delimiter))
    except csv.Error as error:
        raise InputError(f"{source}: its header line is not readable as CSV ({error}); correct line 1") from None
    if not any(header):
        raise InputError(f"{source}: line 1 is blank; begin with a header line that names the columns")
    return header


def delimited_text(records: Records, layout: Layout) -> Iterator[bytes | memoryview]:
    """A header and a line per row, cells quoted where they must be."""
    delimiter = layout.delimiter
    ends = [delimiter] * (len(records.names) - 1) + ["\n"]
    alone = len(ends) == 1  # then a line must not be blank: not all readers see a cell in it
    columns: list[ValueText | SetText] = []
    for column in records.columns:
        end = ends[len(columns)]
        cells = (csv_cell(value, delimiter) or ('""' if alone else "") for value in column.values)
        columns.append(ValueText(column.codes, [cell + end for cell in cells]))
    for (_, baskets), separator in zip(records.set_columns(), set_separators(records, layout), strict=True):
        columns.append(_set_cells(baskets, separator, delimiter, ends[len(columns)], alone))
    yield _header_line(records.names, delimiter)
    yield from text_blocks(records, columns)


def _set_cells(baskets: Baskets, separator: str, delimiter: str, end: str, alone: bool) -> SetText:
    """Sets as cells. If the first rows would not show what separates their items, one of them ends in it."""
    tokens = baskets.vocabulary
    special = re.compile(rf'["\r\n{re.escape(delimiter)}]')
    quotes = np.array([special.search(token) is not None for token in tokens], bool)
    separator_quotes = special.search(separator) is not None
    shown_by = row_that_must_show(separator, baskets, tokens)

    def edge_codes(row: int, lengths: Ints, items: Codes) -> tuple[Any, Any]:
        ends = np.cumsum(lengths)
        before = np.concatenate(([0], np.cumsum(quotes[items])))
        dangling = np.arange(row, row + len(lengths)) == shown_by
        quoted = (before[ends] > before[ends - lengths]) | (separator_quotes & ((lengths > 1) | dangling))
        if alone:
            quoted |= lengths == 0
        return quoted.astype(np.int64), 2 + quoted + 2 * dangling

    doubled = [token.replace('"', '""') for token in tokens]
    follow = separator.replace('"', '""')
    edges = ["", '"', end, f'"{end}', f"{follow}{end}", f'{follow}"{end}']
    return SetText(baskets, [token + follow for token in doubled], doubled, edges, edge_codes)


def long_text(records: Records, layout: Layout) -> Iterator[bytes | memoryview]:
    """A header and a row per id and item. Ids count the rows; an empty set is an id without an item."""
    assert records.items is not None
    delimiter, baskets = layout.delimiter, records.items
    yield _header_line((layout.id or "id", layout.items), delimiter)
    tokens = [csv_cell(token, delimiter) for token in baskets.vocabulary]
    ends = pa.array([*(f"{token}\n" for token in tokens), "\n"], pa.large_string())
    for start, stop in records.row_blocks():
        offsets = baskets.offsets[start : stop + 1]
        lengths = np.diff(offsets)
        empty = lengths == 0
        codes = np.insert(baskets.items[offsets[0] : offsets[-1]], (np.cumsum(lengths) - lengths)[empty], len(tokens))
        starts = pa.array(np.repeat(np.arange(start + 1, stop + 1), lengths + empty)).cast(pa.large_string())
        lines = pc.binary_join_element_wise(starts, ends.take(pa.array(codes)), pa.scalar(delimiter, pa.large_string()))
        yield bytes_of(lines)


def _header_line(names: Sequence[str], delimiter: str) -> bytes:
    """The names of columns, quoted if they hold what a reader might take for a delimiter or for a byte order mark."""
    cells = (csv_cell(name, next((mark for mark in (",", ";", "\t", "\ufeff") if mark in name), ",")) for name in names)
    return f"{delimiter.join(cells)}\n".encode()


def set_separators(records: Records, layout: Layout) -> list[str]:
    """What separates the items in the cells of each column of sets."""
    separators = [layout.separator for _ in records.set_columns()]
    if layout.separator == " " and len(separators) > 1:
        separators[1] = SENSITIVE_MARKS[
            0
        ]  # beside items that are separated by blanks, a reader looks for this one first
    return separators


def row_that_must_show(separator: str, baskets: Baskets, tokens: Sequence[str]) -> int:
    """The row that must end in the separator, lest a reader who is not told cut names elsewhere; -1 if none must, or it would not help."""
    present = [mark for mark in SEPARATORS if any(mark in token for token in tokens)]
    if separator not in SEPARATORS or not is_looked_for_first(separator, present):
        return -1
    several = _first_row(baskets, 2)
    if several >= 0:
        size = np.array([len(token.encode()) for token in tokens])
        before = baskets.items[: min(int(baskets.offsets[several + 1]), BLOCK)]  # a name has at least one byte
        if size[before].sum() + 8 * several < BLOCK / 2:  # a reader decides by the first block
            return -1
    elif not any(map(cutting_test((*present, " ")[0]), tokens)):
        return -1
    return _first_row(baskets, 1)


def _first_row(baskets: Baskets, least: int) -> int:
    """The first row with at least so many items, -1 if there is none."""
    for first, last in baskets.row_blocks():
        long = np.diff(baskets.offsets[first : last + 1]) >= least
        if long.any():
            return first + int(np.argmax(long))
    return -1


def is_looked_for_first(separator: str, present: Sequence[str]) -> bool:
    """Whether a reader that is not told the separator looks for it before those that are present in names."""
    ranks = {mark: rank for rank, mark in enumerate((*SEPARATORS, " "))}
    return all(ranks.get(separator, -1) < ranks[mark] for mark in present)


def cutting_test(separator: str) -> Callable[[str], object]:
    """A test whether a token would not come back whole from a cell with this separator."""
    if separator == " ":
        return _BLANK.search
    return lambda token: f"{separator}{token}{separator}".split(separator) != ["", token, ""]
