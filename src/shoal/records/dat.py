"""FIMI and SPMF text: a transaction per line, its items parted by blanks.

Where tokens begin and end falls out of one comparison of each byte with its neighbour; squeezing the blanks out leaves exactly
the text buffer of an Arrow array, which finds the distinct names. Digits take the same way as text, so that 7 and 007 stay two.
SPMF adds end marks (-1 after an item, -2 after a line) and a head of `@ITEM=3=milk` lines that gives ids their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from shoal.errors import InputError
from shoal.records.baskets import Baskets
from shoal.records.streams import Input, TextBlock
from shoal.records.tokens import Tokens, baskets_of, row_of

_COMMENT = re.compile(rb"^[#%] [^\n]*(?:\n|\Z)", re.MULTILINE)
_HEAD = re.compile(rb"(?:@CONVERTED_FROM|@ITEM=|[#%] )[^\n]*(?:\n|\Z)")
_MARKS = ("-1", "-2")
_LONE_RETURN = re.compile(rb"\r(?=[^\n])")
_FIRST_LINE = re.compile(rb"\S[^\n]*")


def read_dat(source: Input) -> Baskets:
    """The baskets in FIMI or SPMF text."""
    names: dict[str, str] = {}
    return baskets_of(_stretches(source, names), source.name, names)


def _stretches(source: Input, names: dict[str, str]) -> Iterator[Tokens]:
    """The tokens block by block. Fills `names` from the head, which is read before the first stretch comes out."""
    in_head = True
    marked: bool | None = None  # not known before the first line that is not blank
    for block in source.text_blocks():
        if b"\r" in block.data and b"\n" not in block.data.rstrip(b"\n") and _LONE_RETURN.search(block.data):
            raise InputError(f"{source.name}: its lines end in a carriage return alone; save it with line feeds")
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
            marked = first[0].split()[-1].decode() in _MARKS
        yield _without_marks(tokens, block, source.name) if marked else tokens


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
            if number not in _MARKS:
                names[number] = name
        at = found.end()
        line += 1
    return TextBlock(block.data[at:], line)


def _without_marks(tokens: Tokens, block: TextBlock, source: str) -> Tokens:
    """The tokens without SPMF's -1 and -2; a -2 must end its line."""
    dictionary, codes = tokens.names.dictionary, tokens.codes
    end_of_item, end_of_line = (
        codes == dictionary.index(pa.scalar(mark, pa.large_string())).as_py() for mark in _MARKS
    )
    ends = np.concatenate(([0], np.cumsum(tokens.lengths)))
    early = end_of_line.copy()
    early[ends[1:][tokens.lengths > 0] - 1] = False
    if np.any(early):
        row = row_of(int(np.argmax(early)), tokens.lengths)
        raise InputError(
            f"{source}: line {_line_number(block, row)} goes on after -2, the end of a transaction; "
            "put what follows on a line of its own"
        )
    kept = ~(end_of_item | end_of_line)
    before = np.concatenate(([0], np.cumsum(kept)))
    names = pa.DictionaryArray.from_arrays(pa.array(codes[kept]), dictionary)
    return Tokens(np.diff(before[ends]), names)


def _line_number(block: TextBlock, row: int) -> int:
    """The line of the file that holds a row of the block: its rows are the lines that are not comments."""
    lines = enumerate(block.data.split(b"\n"), block.line)
    return [number for number, line in lines if not _COMMENT.match(line)][row]
