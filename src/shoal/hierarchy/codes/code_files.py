"""Publishers' files as text or as tables: packed or not, in UTF-8 or, as older ones are, in Latin-1."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.csv as pacsv

from shoal.errors import InputError
from shoal.hierarchy.files import read_unpacked

BLOCK = 1 << 24
"""Bytes of a table that are read at a time."""
_LONGEST = 1 << 16
"""Bytes of a line of names."""


def text_of(path: str) -> str:
    """The text of a list of codes. Titles in Latin-1 are no fault: only codes are read, which are ASCII."""
    data = read_unpacked(path)
    _check_unpacked(data, path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _check_unpacked(start: bytes, path: str) -> None:
    """Publishers pack several files into one; which of them is meant only its reader knows."""
    if start.startswith(b"PK\x03\x04"):
        raise InputError(f"{name_of(path)}: it is a zip archive; unpack it, and name the file in it")


def lines_of(text: str) -> list[str]:
    """The lines of a text, which end where lines of files do: what other signs Unicode parts lines by may stand in a title."""
    return re.split(r"\r\n?|\n", text)


def name_of(path: str | os.PathLike[str]) -> str:
    """A file as messages and sources of trees call it."""
    return os.path.basename(path)


def only_file(paths: Sequence[str], title: str) -> str:
    if len(paths) != 1:
        raise InputError(f"{title} is built from one file; give one, not {len(paths):,}")
    return paths[0]


def columns_of(path: str, wanted: Sequence[str]) -> Iterator[list[list[str]]]:
    """Columns of a table with a line of names, block by block: the file may be larger than memory, and packed."""
    name = name_of(path)
    names, mark = header_of(path)
    at = {own.lower(): own for own in reversed(names)}
    asked = [at[one.lower()] for one in wanted]
    try:
        reader = pacsv.open_csv(
            os.fspath(path),
            read_options=pacsv.ReadOptions(block_size=BLOCK),
            parse_options=pacsv.ParseOptions(delimiter=mark, quote_char=False if mark == "\t" else '"'),
            convert_options=pacsv.ConvertOptions(
                include_columns=asked, column_types=dict.fromkeys(asked, pa.string()), strings_can_be_null=False
            ),
        )
        with reader:
            for batch in reader:
                yield [column.to_pylist() for column in batch.columns]
    except (pa.ArrowException, OSError) as error:
        place = str(error).split("\n", 1)[0] if isinstance(error, OSError) else "a line has another number of cells"
        raise InputError(f"{name}: it cannot be read as a table ({place}); fetch it again") from None


def header_of(path: str) -> tuple[list[str], str]:
    """(the names in the first line of such a table, what separates its cells): tabs, as publishers write it, or commas, as databases do."""
    try:
        with pa.input_stream(os.fspath(path), buffer_size=_LONGEST) as file:
            start = file.read(_LONGEST)
    except FileNotFoundError:
        raise InputError(f"{name_of(path)}: there is no such file; check the path {os.fspath(path)!r}") from None
    except OSError as error:
        why = "it is a folder" if os.path.isdir(path) else error.strerror or "its packed data are damaged"
        raise InputError(f"{name_of(path)}: it cannot be read ({why}); check the file") from None
    _check_unpacked(start, path)
    text = start.split(b"\n", 1)[0].decode("utf-8-sig", "replace").rstrip("\r")
    mark = "\t" if "\t" in text else ","
    return [name if mark == "\t" else name.strip('"') for name in text.split(mark)], mark
