"""CSV and TSV as a table of text: nothing is guessed about types, so 007 stays 007 and NaN stays the text NaN.

Arrow's streaming parser reads blocks of whole lines as they come; a quoted cell may hold line breaks. A cell is read as it stands:
an apostrophe before a formula, which a release has lest spreadsheets run it, is part of its text.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from shoal.errors import InputError, option
from shoal.records.columns import FirstLine
from shoal.records.storage.streams import BLANKS, Input, TextBlock
from shoal.records.tables import Table

_QUOTED = re.compile(r'"[^"]*"')
_OPEN_QUOTE = re.compile(r'(?:^|[,;\t])"[^"]*$')
_QUOTE, _LINE_FEED = ord('"'), b"\n"
_REST_OF_CELL = re.compile(rb'[^"]*+(?:""[^"]*+)*+" *+')
"""From inside a quoted cell to its closing quote, with the blanks that some programs put after it."""
_HEADER_LINES = 50  # how far the end of a quoted name is looked for
_LIMIT = 1 << 30  # Arrow asks for blocks of this size and takes the smaller ones it is given


def delimited_table(source: Input, delimiter: str | None) -> tuple[Table, str]:
    """The table in CSV text, and what parts its columns (looked for in the header line unless given)."""
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

    return Table(FirstLine(columns), batches, source.name, None, room=source.room), delimiter


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
                column_types=dict.fromkeys(header, pa.large_string()),
                include_columns=wanted,
                strings_can_be_null=False,
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
