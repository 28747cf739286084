"""Layout: how sets stand in a file, so that a release can be written the way its input came.

A file's name tells its format and compression (`clicks.csv.gz`); the rest (which column holds the sets, what separates the items
inside a cell) is found while reading and carried along. Lists in Parquet, Arrow and JSON need no separator.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from shoal.errors import InputError
from shoal.passwords import without_passwords
from shoal.records.database.address import DATABASES, address_of, is_address
from shoal.records.stores.remote import display_remote, is_remote

TEXT_FORMATS = ("dat", "csv", "tsv", "long", "jsonl")
FORMATS = (*TEXT_FORMATS, "parquet", "arrow")
FORMATS_WITH_COLUMNS = ("csv", "tsv", "jsonl", "parquet", "arrow")
TWO_TABLES = "zip"
"""What a release in buckets may be written as (`shoal.records.bucketed`)."""
FHIR = "fhir"
"""What a folder of NDJSON files is read as (`shoal.records.fhir`)."""
TOLD = ("parquet", "arrow", FHIR)
"""What the first bytes of a file, or the names in a folder, tell by themselves."""
CELLED = ("csv", "tsv", "sqlite")
"""Where a set is a text in a cell."""
GUARDED = ("csv", "tsv", "long", TWO_TABLES)
"""What spreadsheets open."""
SEPARATORS = ("|", ";", ",", "\t")
"""What may separate the items of a cell besides blanks, in the order in which it is looked for."""

_SUFFIXES = {
    ".dat": "dat",
    ".txt": "dat",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".zip": TWO_TABLES,
}
_COMPRESSIONS = {".gz": "gz", ".zst": "zst"}


@dataclass(frozen=True)
class Layout:
    """How sets stand in a file."""

    format: str
    """`dat` (FIMI and SPMF), `csv` and `tsv` (a set in a cell), `long` (a row per id and item), `jsonl`, `parquet` or `arrow`; `zip` for
    the two tables of a release in buckets; for a table of a database `postgresql` or `sqlite`."""
    items: str = "items"
    """The column or field that holds the sets; empty for JSON lines that are bare lists."""
    separator: str = " "
    """What separates the items inside a cell of `csv` and `tsv`; a blank stands for any white space."""
    id: str | None = None
    """The column of `long`, and of a long table in a database, that says which rows belong together."""
    compression: str | None = None
    """`gz`, `zst` or none."""
    delimiter: str = ","
    """What separates the columns of `csv` and `long`; in `tsv` it is always a tab."""
    types: tuple[tuple[str, str], ...] = ()
    """Of columns that came in a format with types: their names, and what they held there, to be written back in."""

    def __post_init__(self) -> None:
        if self.format not in (*FORMATS, TWO_TABLES, *DATABASES):
            raise InputError(f"format {self.format!r} is not known; take one of {', '.join(FORMATS)}")
        if self.compression not in (None, "gz", "zst"):
            raise InputError(f"compression {self.compression!r} is not known; take gz or zst")
        if self.compression and self.format not in TEXT_FORMATS:
            raise InputError(f"{self.format} packs its own columns; leave the .{self.compression} away")
        if not self.separator:
            raise InputError("the separator between items is empty; give at least one character")
        if self.format == "tsv":
            object.__setattr__(self, "delimiter", "\t")


def format_of(name: str) -> tuple[str | None, str | None]:
    """The format and the compression that a file's name tells, none where it does not tell; an address tells none."""
    if is_address(name):
        return None, None
    name = display_remote(name) if is_remote(name) else name
    stem, suffix = os.path.splitext(name.lower())
    compression = _COMPRESSIONS.get(suffix)
    if compression:
        suffix = os.path.splitext(stem)[1]
    return _SUFFIXES.get(suffix), compression


def layout_for(target: str | os.PathLike[str], like: Layout | None = None) -> Layout:
    """The layout to write `target` in: format and compression as its name tells, all else like the given one.

    Standard output (`-`) takes the given format (CSV for what came from a database), or FIMI's when none is given.
    """
    if is_address(target):
        kind = address_of(os.fspath(target)).kind
        like = like or Layout(kind)
        separator = like.separator if kind == "sqlite" else " "
        return Layout(kind, like.items or "items", separator, like.id, types=like.types)
    name = os.path.basename(without_passwords(os.fspath(target)))
    form_of_name, compression = (None, None) if name == "-" else format_of(name)
    if form_of_name is None and name != "-":
        raise InputError(
            f"{name}: its name does not tell a format; let it end in one of {', '.join(_SUFFIXES)} (text also in .gz or .zst)"
        )
    is_table = like is not None and like.format in DATABASES
    form = form_of_name or ("csv" if is_table else like.format if like else "dat")
    if compression and form not in TEXT_FORMATS:
        raise InputError(f"{name}: {form} packs its own columns; leave the .{compression} away")
    if like is None:
        return Layout(form, compression=compression)
    delimiter = like.delimiter
    if form in ("csv", "tsv"):
        if like.format == "long" or (is_table and like.id is not None):
            form = "long"
        if (form_of_name == "tsv") != (delimiter == "\t"):
            delimiter = "\t" if form_of_name == "tsv" else ","
    return replace(
        like,
        format=form,
        items=like.items if like.items or form == "jsonl" else "items",
        separator=like.separator if form in ("csv", "tsv") else " ",
        id=like.id if form == "long" else None,
        compression=compression,
        delimiter=delimiter if form in ("csv", "tsv", "long") else ",",
    )
