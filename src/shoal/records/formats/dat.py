"""FIMI and SPMF text: a transaction per line, its items separated by blanks.

Where tokens begin and end falls out of one comparison of each byte with its neighbour; squeezing the blanks out leaves exactly
the text buffer of an Arrow array, which finds the distinct names. Digits take the same way as text, so that 7 and 007 stay two.
SPMF adds end marks (-1 after an item, -2 after a line) and a head of `@ITEM=3=milk` lines that gives ids their names. Its marks are marks
only where they stand as SPMF has them, from the first line on: elsewhere -1 and -2 are items like others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from shoal.errors import InputError
from shoal.records.assemble import SetRows
from shoal.records.formats.text import SetText, text_blocks
from shoal.records.layout import Layout
from shoal.records.records import Records
from shoal.records.storage.streams import Input, TextBlock
from shoal.records.tokens import Tokens, row_of

_COMMENT = re.compile(rb"^[#%] [^\n]*(?:\n|\Z)", re.MULTILINE)
_HEAD = re.compile(rb"(?:@CONVERTED_FROM|@ITEM=|[#%] )[^\n]*(?:\n|\Z)")
_MARKS = ("-1", "-2")
_LONE_RETURN = re.compile(rb"\r(?=[^\r\n])")
_FIRST_LINE = re.compile(rb"\S[^\n]*")


def dat_rows(source: Input) -> SetRows:
    """The sets in FIMI or SPMF text."""
    names: dict[str, str] = {}
    return SetRows(_stretches(source, names), source.name, renamed=names, room=source.room)


def dat_text(records: Records, layout: Layout) -> Iterator[memoryview]:
    """The sets of records without columns, a line each."""
    assert records.items is not None
    # A line that begins like a comment, a head line or a byte order mark is told from one by a blank before it.
    tokens = [f" {name}" if name in "#%" or name[0] in "@\ufeff" else name for name in records.items.vocabulary]
    return text_blocks(records, [SetText(records.items, [f"{token} " for token in tokens], tokens, ["", "\n"])])


def _stretches(source: Input, names: dict[str, str]) -> Iterator[Tokens]:
    """The tokens block by block. Fills `names` from the head, which is read before the first stretch comes out."""
    in_head = True
    marked: bool | None = None  # not known before the first line that is not blank
    for block in source.text_blocks():
        if b"\r" in block.data and (alone := _LONE_RETURN.search(block.data)):
            line = block.line + block.data.count(b"\n", 0, alone.start())
            raise InputError(
                f"{source.name}: line {line:,} holds a carriage return without a line feed, so that two rows would be one; "
                "save it with line feeds"
            )
        if in_head:
            block = _without_head(block, names, source.name)
            in_head = not block.data
        text = block.data
        if b"#" in text or b"%" in text:
            text = _COMMENT.sub(b"", text)
        if not text:
            continue
        tokens = line_tokens(text)
        if marked is None and (first := _FIRST_LINE.search(text)):
            marked = _is_marked(first[0].split())
        yield _without_marks(tokens, block, source.name) if marked else tokens


def _is_marked(line: list[bytes]) -> bool:
    """Whether a line has SPMF's marks where they belong: -1 after one or several items, -2 at the end and nowhere else."""
    *parts, end = line
    return (
        end == b"-2"
        and re.fullmatch(r"(i+m)*", "".join({b"-1": "m", b"-2": "e"}.get(part, "i") for part in parts)) is not None
    )


def line_tokens(text: bytes) -> Tokens:
    """The blank-separated tokens of each line."""
    if not text.endswith(b"\n"):
        text += b"\n"
    octets = np.frombuffer(text, np.uint8)
    solid = (octets != 32) & (octets - np.uint8(9) > 4)  # neither a blank nor one of \t \n \v \f \r
    edges = np.flatnonzero(solid[1:] != solid[:-1]) + 1
    if solid[0]:
        edges = np.concatenate(([0], edges))
    starts = edges[::2]
    ends = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(edges[1::2] - starts, out=ends[1:])
    names = pa.LargeStringArray.from_buffers(len(starts), pa.py_buffer(ends), pa.py_buffer(octets[solid]))
    upto = np.searchsorted(starts, np.flatnonzero(octets == 10))
    return Tokens(np.diff(upto, prepend=0), names.dictionary_encode())


def _without_head(block: TextBlock, names: dict[str, str], source: str) -> TextBlock:
    """The block without SPMF's head and the comments in it. Adds the names found there to `names`."""
    at, line = 0, block.line
    while found := _HEAD.match(block.data, at):
        entry = found[0].decode().strip()
        if entry.startswith("@ITEM="):
            number, _, name = entry.removeprefix("@ITEM=").partition("=")
            if not number or not name:
                raise InputError(f"{source}: line {line} is not of the form @ITEM=id=name; correct or remove it")
            if names.get(number, name) != name:
                raise InputError(f"{source}: line {line} gives an id a second name; leave one of them out")
            if number not in _MARKS:
                names[number] = name
        at = found.end()
        line += 1
    return TextBlock(block.data[at:], line)


def _without_marks(tokens: Tokens, block: TextBlock, source: str) -> Tokens:
    """The tokens without SPMF's -1 and -2, which must stand where they belong in every line that has some."""
    dictionary, codes = tokens.names.dictionary, tokens.codes
    end_of_item, end_of_line = (
        codes == dictionary.index(pa.scalar(mark, pa.large_string())).as_py() for mark in _MARKS
    )
    ends = np.concatenate(([0], np.cumsum(tokens.lengths)))
    filled = tokens.lengths > 0
    first, last = ends[:-1][filled], ends[1:][filled] - 1
    early = end_of_line.copy()
    early[last] = False
    if np.any(early):
        row = row_of(int(np.argmax(early)), tokens.lengths)
        raise InputError(
            f"{source}: line {_line_number(block, row)} goes on after -2, the end of a transaction; "
            "put what follows on a line of its own"
        )
    after_item = np.ones(len(codes), bool)  # whether an item stands before each token, in its line
    after_item[1:] = ~end_of_item[:-1]
    after_item[first] = False
    misplaced = end_of_item & ~after_item  # a -1 that ends nothing
    misplaced[last] |= ~end_of_line[last] & (np.add.reduceat(end_of_item, first, dtype=np.int64) > 0)
    misplaced[last] |= end_of_line[last] & after_item[last]
    if np.any(misplaced):
        row = row_of(int(np.argmax(misplaced)), tokens.lengths)
        raise InputError(
            f"{source}: line {_line_number(block, row)} has -1 or -2 elsewhere than SPMF has them, as the first line does; "
            "put -1 after each item and -2 at its end, or begin with a line that has no marks if they are items"
        )
    kept = ~(end_of_item | end_of_line)
    before = np.concatenate(([0], np.cumsum(kept)))
    names = pa.DictionaryArray.from_arrays(pa.array(codes[kept]), dictionary)
    return Tokens(np.diff(before[ends]), names)


def _line_number(block: TextBlock, row: int) -> int:
    """The line of the file that holds a row of the block: its rows are the lines that are not comments."""
    lines = enumerate(block.data.split(b"\n"), block.line)
    return [number for number, line in lines if not _COMMENT.match(line)][row]
