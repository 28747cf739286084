"""Reading sets from files, standard input and Python objects.

The format comes from the file's name unless it is given; each format has a module of its own that is imported when it is
needed. What is read comes with how it stood there (so that a release can be written the same way) and the hash of its bytes.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, option
from shoal.limits import under_input_limit
from shoal.records.baskets import Baskets
from shoal.records.columns import Choice
from shoal.records.database.address import is_address, queried, refuse_format
from shoal.records.layout import FORMATS, Layout, format_of
from shoal.records.records import Records
from shoal.records.source import Source
from shoal.records.storage.scratch import Scratch, reading_into
from shoal.records.storage.streams import Input, fingerprint

if TYPE_CHECKING:
    from shoal.records.database.read import DatabaseInput


def read(
    source: Any,
    *,
    format: str | None = None,
    items: str | None = None,
    id: str | None = None,
    separator: str | None = None,
    drop: str | Collection[str] = (),
    query: str | None = None,
    memory_limit: int | str | None = None,
    input_limit: int | str | None = None,
) -> Baskets:
    """The baskets in a file, in standard input (`-`), in a table of a database, in a data frame or in any iterable of rows of names.

    `items` names the column with the sets, `id` the column that holds a long table together, `separator` what parts the items
    inside a cell, `drop` the columns to leave out, `query` what to ask of a database whose address names no table. All are found out
    where the data leave no doubt. With a `memory_limit` such as `2GB`, what is read from a file and what is made from it lie in scratch
    files. `input_limit` is the most memory that what is read may take: 2 GB, or 64 times the size of the file, unless it is given.
    """
    return load(
        source,
        format=format,
        items=items,
        id=id,
        separator=separator,
        drop=drop,
        query=query,
        memory_limit=memory_limit,
        input_limit=input_limit,
    ).baskets


@under_input_limit
def load(
    source: Any,
    *,
    format: str | None = None,
    items: str | None = None,
    id: str | None = None,
    separator: str | None = None,
    drop: str | Collection[str] = (),
    query: str | None = None,
    memory_limit: int | str | Scratch | None = None,
    input_limit: int | str | None = None,
) -> Source:
    """As `read`, with how the sets stood there and the hash of the input."""
    source = queried(source, query)
    if memory_limit is not None:
        scratch = memory_limit if isinstance(memory_limit, Scratch) else Scratch.of(memory_limit)
        _refuse_limit(source)
        with reading_into(scratch):
            return load(source, format=format, items=items, id=id, separator=separator, drop=drop)
    if format is not None and format not in FORMATS and not is_address(source):
        raise InputError(f"format {format!r} is not known; take one of {', '.join(FORMATS)}")
    if separator == "":
        raise InputError("the separator between items is empty; give at least one character")
    choice = Choice(items, id, separator, (drop,) if isinstance(drop, str) else tuple(drop))
    if isinstance(source, Baskets):
        return Source("the Baskets", Records((), source), fingerprint(source), Layout("arrow"))
    if is_address(source):
        from shoal.records.database.read import DatabaseInput

        refuse_format(source, format)
        with DatabaseInput(source) as table:
            return database_sets(table, choice)
    if isinstance(source, str | os.PathLike):
        with Input(source) as opened:
            baskets, layout = _sets(opened, format or _format(opened), choice)
            layout = replace(layout, compression=opened.compression)
            return Source(opened.name, Records((), baskets, layout.items), opened.sha256(), layout)
    from shoal.records.formats.frames import object_sets

    baskets, column = object_sets(source, choice)
    records = Records((), baskets, column)
    return Source(f"the {type(source).__name__}", records, fingerprint(baskets), Layout("arrow", column))


def _refuse_limit(source: Any) -> None:
    """Raises for what is not read piece by piece."""
    if is_address(source):
        raise InputError(
            "a memory limit is for files, for what the driver of a database holds is not ours to limit; "
            "write the table to a Parquet file, or leave out the limit"
        )
    if not isinstance(source, str | os.PathLike):
        raise InputError("a memory limit is for files, and these rows are in memory already; leave it out")


def database_sets(opened: DatabaseInput, choice: Choice) -> Source:
    """The sets in an open table of a database."""
    from shoal.records.tables import table_sets

    found = table_sets(opened.table, choice)
    layout = opened.layout(found.items, found.separator, choice.id)
    records = Records((), found.baskets, found.items)
    return Source(opened.name, records, opened.sha256(), layout, opened.identity)


def _sets(opened: Input, form: str, choice: Choice) -> tuple[Baskets, Layout]:
    if form == "dat":
        _refuse(opened.name, "FIMI text has no columns", choice, "items", "id", "separator", "drop")
        from shoal.records.formats.dat import read_dat

        return read_dat(opened), Layout("dat")
    if form == "jsonl":
        _refuse(opened.name, "JSON lines hold lists", choice, "id", "separator")
        from shoal.records.formats.jsonl import read_jsonl

        baskets, field = read_jsonl(opened, choice)
        return baskets, Layout("jsonl", field)

    from shoal.records.tables import table_sets

    if form in ("parquet", "arrow"):
        if opened.compression:
            raise InputError(f"{opened.name}: {form} packs its own columns; unpack the .{opened.compression} first")
        from shoal.records.formats.columnar import columnar_table

        found = table_sets(columnar_table(opened, form), choice)
        return found.baskets, Layout(form, found.items)

    from shoal.records.formats.delimited import delimited_table, refuse_missing_header

    if form == "long" and choice.id is None:
        raise InputError(
            f"{opened.name}: a long table needs the column that holds a transaction together; pass {option('id')}"
        )
    table, delimiter = delimited_table(opened, "\t" if form == "tsv" else None)
    found = table_sets(table, choice)
    if choice.items is None and len(table.columns) == 1:
        refuse_missing_header(found.items, found.separator, found.baskets.vocabulary, opened.name)
    form = form if choice.id is None else "long"
    return found.baskets, Layout(form, found.items, found.separator, choice.id, delimiter=delimiter)


def _format(opened: Input) -> str:
    """The format that an input's name tells, or else its first bytes; standard input is FIMI text unless they say otherwise."""
    told = format_of(opened.name)[0]
    if told:
        return told
    if opened.magic in ("parquet", "arrow"):
        return opened.magic
    if opened.name == "standard input":
        return "dat"
    raise InputError(
        f"{opened.name}: its name does not tell a format; pass {option('format')} with one of {', '.join(FORMATS)}"
    )


def _refuse(source: str, reason: str, choice: Choice, *options: str) -> None:
    """Raises if the caller chose what this format does not have."""
    given = [option(name) for name in options if getattr(choice, name)]
    if given:
        raise InputError(f"{source}: {reason}; leave out {' and '.join(given)}")
