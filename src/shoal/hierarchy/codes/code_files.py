"""Publishers' files as text or as tables: packed or not, in UTF-8 or, as older ones are, in Latin-1."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.csv as pacsv

from shoal.errors import InputError
from shoal.hierarchy.files import read_unpacked

BLOCK = 1 << 24
"""Bytes of a table that are read at a time."""


def text_of(path: str) -> str:
    """The text of a list of codes. Titles in Latin-1 are no fault: only codes are read, which are ASCII."""
    data = read_unpacked(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def name_of(path: str | os.PathLike[str]) -> str:
    """A file as messages and sources of trees call it."""
    return os.path.basename(path)


def only_file(paths: Sequence[str], title: str) -> str:
    if len(paths) != 1:
        raise InputError(f"{title} is built from one file; give one, not {len(paths):,}")
    return paths[0]


def columns_of(path: str, wanted: Sequence[str]) -> Iterator[list[list[str]]]:
    """Columns of a table with tabs between its cells and a line of names, block by block: the file may be larger than memory."""
    name = name_of(path)
    try:
        reader = pacsv.open_csv(
            os.fspath(path),
            read_options=pacsv.ReadOptions(block_size=BLOCK),
            parse_options=pacsv.ParseOptions(delimiter="\t", quote_char=False),
            convert_options=pacsv.ConvertOptions(
                include_columns=list(wanted), column_types=dict.fromkeys(wanted, pa.string()), strings_can_be_null=False
            ),
        )
        with reader:
            for batch in reader:
                yield [column.to_pylist() for column in batch.columns]
    except FileNotFoundError:
        raise InputError(f"{name}: there is no such file; check the path {os.fspath(path)!r}") from None
    except KeyError:
        raise InputError(f"{name}: it lacks one of the columns {', '.join(wanted)}; is it another file?") from None
    except (pa.ArrowException, OSError) as error:
        place = str(error).split("\n", 1)[0] if isinstance(error, OSError) else "a line has another number of cells"
        raise InputError(f"{name}: it cannot be read as a table with tabs ({place}); fetch it again") from None


def header_of(path: str) -> list[str]:
    """The names in the first line of such a table."""
    try:
        with open(path, "rb") as file:
            first = file.readline(1 << 16)
    except OSError as error:
        raise InputError(f"{name_of(path)}: it cannot be read ({error.strerror}); check the path") from None
    return first.decode("utf-8-sig", "replace").rstrip("\r\n").split("\t")
