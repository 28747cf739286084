"""Reading tables about people: every column with a role, from files, standard input and data frames.

Whatever has columns is read: the format comes from the file's name unless it is given. What is read comes with how it stood there,
so that a release can be written the same way, and the hash of its bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.errors import VALUES, InputError, option
from shoal.limits import under_input_limit
from shoal.records.baskets import Baskets
from shoal.records.columns import comma_parts
from shoal.records.database.address import is_address, queried, refuse_format
from shoal.records.layout import FORMATS, FORMATS_WITH_COLUMNS, Layout, format_of
from shoal.records.records import Records
from shoal.records.roles import Roles, texts_of
from shoal.records.source import Source
from shoal.records.storage.streams import BLANKS, Input, fingerprint, list_lines

if TYPE_CHECKING:
    from shoal.records.database.read import DatabaseInput
    from shoal.records.record_tables import TableRecords
    from shoal.records.tables import Table


@under_input_limit
def load_records(
    source: Any,
    *,
    items: str | Sequence[str] = (),
    quasi: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    sensitive_sets: str | None = None,
    keep: str | Sequence[str] = (),
    drop: str | Sequence[str] = (),
    numeric: str | Collection[str] | None = None,
    format: str | None = None,
    separator: str | None = None,
    query: str | None = None,
    input_limit: int | str | None = None,
) -> Source:
    """The records in a file, in standard input (`-`), in a database or in a data frame, with how they stood there and their hash.

    Every column has one role. `items` are sets: several such columns make one domain, of items called `column.item`. `sensitive`
    columns hold one value per row; what is named there and is no column marks items, as `mark_sensitive` does. `sensitive_sets` is a
    column of sets of sensitive items, which join the items and are marked.
    `drop` is for identifiers: never read, never kept. `numeric` names the numeric columns; None finds them out by their values.
    `separator` parts the items of cells, `query` is asked of a database, `input_limit` is as for `read`.
    Names are given one by one or with commas between them.
    """
    if separator == "":
        raise InputError("the separator between items is empty; give at least one character")
    source = queried(source, query)
    asked = Roles(*map(texts_of, (quasi, items, sensitive, sensitive_sets, keep, drop)))
    numeric = None if numeric is None else texts_of(numeric)
    if isinstance(source, Records):
        if asked != Roles() or numeric is not None or separator is not None:
            raise InputError("Records have their roles already; give them alone")
        return Source("the Records", source, records_fingerprint(source), Layout("arrow", source.items_name))
    if is_address(source):
        from shoal.records.database.read import DatabaseInput

        refuse_format(source, format)
        with DatabaseInput(source) as rows:
            return _database_records(rows, asked, numeric, separator)
    if isinstance(source, str | os.PathLike):
        with Input(source) as opened:
            form = _format(opened, format)
            table, delimiter = file_table(opened, form, asked)
            found = _table_records(table, asked, numeric, separator)
            items = found.records.items_name
            layout = Layout(form, items, found.separator, None, opened.compression, delimiter, found.types)
            return Source(opened.name, found.records, opened.sha256(), layout, notes=found.notes)
    from shoal.records.database.read import DatabaseInput
    from shoal.records.formats.frames import object_table, pandas_values

    if isinstance(source, DatabaseInput):  # it was opened already
        return _database_records(source, asked, numeric, separator)
    name = f"the {type(source).__name__}"
    made = object_table(source, name, pandas_values)
    if made is None:
        raise InputError(f"{name} has no columns; give a path, a data frame or an Arrow table")
    found = _table_records(made, asked, numeric, separator)
    layout = Layout("arrow", found.records.items_name, found.separator, types=found.types)
    return Source(name, found.records, records_fingerprint(found.records), layout, notes=found.notes)


def _database_records(
    opened: DatabaseInput, asked: Roles, numeric: tuple[str, ...] | None, separator: str | None
) -> Source:
    found = _table_records(opened.table, asked, numeric, separator)
    layout = opened.layout(found.records.items_name, found.separator)
    return Source(opened.name, found.records, opened.sha256(), layout, opened.identity, found.notes)


def mark_sensitive(data: Records | Baskets, names: str | os.PathLike[str] | Iterable[str]) -> Records:
    """The same sets with some of their items sensitive: given one by one, with commas between them, or as a file with one name per line."""
    records = Records.of(data)
    if records.items is None:
        raise InputError(
            f"there are no items among which some could be sensitive; name the set column with {option('items')}"
        )
    if records.sensitive_name is not None:
        raise InputError(
            f"the sensitive items stand in column {records.sensitive_name!r}; move others there, too, or leave out {option('sensitive')}"
        )
    known = set(records.items.vocabulary)
    given = [names] if isinstance(names, str | os.PathLike) else list(names)
    marked = [name for text in given for name in item_names(text, known)]
    unknown = [name for name in dict.fromkeys(marked) if name not in known]
    if unknown:
        raise InputError(
            f"{len(unknown):,} of the sensitive items that are named do not occur in the data{VALUES}; check the spelling, or leave out "
            "what is not there",
            values=unknown,
        )
    return replace(records, sensitive_items=records.sensitive_items | set(marked))


def item_names(text: str | os.PathLike[str], known: Collection[str]) -> list[str]:
    """The names in a text or, where it is no item but a file, in its lines."""
    if text in known:
        return [str(text)]
    if isinstance(text, os.PathLike) or os.path.isfile(text):
        names = [line.strip(BLANKS) for line in list_lines(text, "a list of items")]
        return [name for name in names if name]
    return comma_parts(text)


def records_fingerprint(records: Records) -> str:
    """The SHA-256 of a canonical form of records that did not come from a file."""
    digest = hashlib.sha256(b"shoal records 1\n")
    for column in records.columns:
        digest.update(json.dumps([column.name, column.role, *column.values]).encode())
        digest.update(column.codes.astype("<i4", copy=False).data)
    if records.items is not None:
        marks = [records.items_name, records.sensitive_name, *sorted(records.sensitive_items)]
        digest.update(json.dumps(marks).encode())
        digest.update(fingerprint(records.items).encode())
    return digest.hexdigest()


def _table_records(table: Table, asked: Roles, numeric: tuple[str, ...] | None, separator: str | None) -> TableRecords:
    """The records of a table. What is said to be sensitive and is no column is a name of items, or a file with such names."""
    from shoal.records.record_tables import table_records

    asked, marked = asked.sensitive_apart(table.columns)
    found = table_records(table, asked, numeric, separator)
    if not marked:
        return found
    try:
        return replace(found, records=mark_sensitive(found.records, marked))
    except InputError as error:
        raise error.within(f"{table.source}: ") from None


def _format(opened: Input, asked: str | None) -> str:
    """The format that is asked for, or that the name or the first bytes tell."""
    if asked is not None and asked not in FORMATS:
        raise InputError(f"format {asked!r} is not known; take one of {', '.join(FORMATS_WITH_COLUMNS)}")
    told = asked or format_of(opened.name)[0]
    if told is None and opened.magic in ("parquet", "arrow"):
        told = opened.magic
    if told is None:
        raise InputError(
            f"{opened.name}: its name does not tell a format; pass {option('format')} with one of {', '.join(FORMATS_WITH_COLUMNS)}"
        )
    if told not in FORMATS_WITH_COLUMNS:
        reason = "FIMI text has no columns" if told == "dat" else "a long table has several rows about one person"
        raise InputError(
            f"{opened.name}: {reason}, so that they cannot have roles; give one of {', '.join(FORMATS_WITH_COLUMNS)}"
        )
    return told


def file_table(opened: Input, form: str, asked: Roles) -> tuple[Table, str]:
    """The table in a file, and what parts its columns."""
    if form == "jsonl":
        from shoal.records.formats.jsonl import objects_table

        return objects_table(opened, asked.read), ","
    if form in ("parquet", "arrow"):
        if opened.compression:
            raise InputError(f"{opened.name}: {form} packs its own columns; unpack the .{opened.compression} first")
        from shoal.records.formats.columnar import columnar_table

        return columnar_table(opened, form), ","
    from shoal.records.formats.delimited import delimited_table

    return delimited_table(opened, "\t" if form == "tsv" else None)
