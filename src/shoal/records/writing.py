"""Writing baskets and records to files.

A row is its single values, then the items, then the sensitive items if they stood in a column of their own; missing values are empty
cells, or null where there is one. Names stay as they are but for what a format has no place for, and for a guard where a spreadsheet would
run them. What separates the items of cells is chosen so that a reader can find it out.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import BinaryIO

from shoal.errors import VALUES, InputError, ShoalError, Unavailable
from shoal.records.baskets import Baskets
from shoal.records.bucketed.two_tables import dealt_again, write_two_tables
from shoal.records.database.address import DATABASES
from shoal.records.database.read import DatabaseInput
from shoal.records.formats.columnar import write_columnar
from shoal.records.formats.dat import dat_text
from shoal.records.formats.delimited import cutting_test, delimited_text, is_looked_for_first, long_text
from shoal.records.formats.jsonl import jsonl_text
from shoal.records.formats.text import guard, guard_in_set, packed_output
from shoal.records.layout import CELLED, FORMATS_WITH_COLUMNS, GUARDED, SEPARATORS, TWO_TABLES, Layout, layout_for
from shoal.records.records import Column, Records, same_records, same_sets
from shoal.records.roles import SENSITIVE_MARKS, Roles, SetRoles, flag_of
from shoal.records.source import Reading, load, mark_sensitive
from shoal.records.storage.publication import Publication, StagedFile, Target, display_name, writing_errors
from shoal.records.storage.streams import BLANKS

Told = tuple[tuple[str, str], ...]
"""What a reader of a file must be told: options by name, each with its text."""

_TEXT = {"dat": dat_text, "csv": delimited_text, "tsv": delimited_text, "long": long_text, "jsonl": jsonl_text}
_BLANK = re.compile(r"[ \t\n\v\f\r]")


def write(rows: Baskets | Records, target: Target, *, layout: Layout | None = None, force: bool = False) -> Layout:
    """Writes baskets or records to a file, all or nothing, or to standard output (`-`); returns the layout that was used.

    The target's name tells the format; `layout` gives the rest, such as the layout that the input had.

    Nothing is audited here: `Release.write` publishes.

    Args:
        rows: What is written.
        target: A path, or `-`.
        layout: Separator, names of columns and the like; None for those of the format.

    Raises:
        InputError: The name tells no format, the file is there, or the format has no place for a name.

    >>> import shoal
    >>> shoal.write(shoal.read([["milk", "bread"], ["milk"]]), "sets.csv").separator
    ' '
    """
    if layout is None and isinstance(rows, Records):
        layout = Layout("csv")
    wanted = layout_for(target, layout)
    if os.fspath(target) == "-":
        with writing_errors(target):
            used = write_to(sys.stdout.buffer, rows, wanted, target)
            sys.stdout.buffer.flush()
        return used
    with Publication([target], force=force) as publication, publication.file(target) as file:
        return write_to(file, rows, wanted, target)


def write_to(
    file: BinaryIO | StagedFile, rows: Baskets | Records, layout: Layout, target: Target = "the output"
) -> Layout:
    """Writes baskets or records to an open file; returns the layout that was used, which has another separator if names need one.

    `target` is what messages call the file.
    """
    layout = settled_layout(rows, layout, target)
    written = written_records(rows, layout, target)
    if layout.format in ("parquet", "arrow"):
        write_columnar(file, written, layout)
        return layout
    if layout.format == TWO_TABLES:
        file.write(write_two_tables(written, target))
        return layout
    with packed_output(file, layout.compression) as packed:
        for block in _TEXT[layout.format](written, layout):
            packed.write(block)
    return layout


def settled_layout(rows: Baskets | Records, layout: Layout, target: Target = "the output") -> Layout:
    """The layout with the name of the set column, and with a separator that no item contains: the given one, or the first that will do."""
    records = _named(rows, layout)
    if not records.holds_sets_alone:
        layout = replace(layout, id=None)
        if layout.format not in (*FORMATS_WITH_COLUMNS, TWO_TABLES, *DATABASES):
            raise InputError(
                f"{display_name(target)}: {layout.format} has no columns; write one of {', '.join(FORMATS_WITH_COLUMNS)}"
            )
    layout = replace(layout, items=records.items_name)
    if layout.format in GUARDED:
        layout = replace(layout, items=guard(layout.items), id=layout.id and guard(layout.id))
    if layout.format not in CELLED or layout.id is not None:
        return layout
    if layout.format == "csv" and len(records.names) == 1:
        layout = replace(layout, delimiter=",")  # a header of one column shows none, and readers then assume this one
    if records.items is None:
        return layout
    names = [sets.vocabulary for _, sets in records.set_columns()]
    settled = with_separator(names[0], layout, target)
    if len(names) == 1 or (settled.separator == " " and not any(SENSITIVE_MARKS[0] in name for name in names[1])):
        return settled
    # A reader that is told one separator, other than a blank, takes it for both columns.
    marked = replace(layout, separator=SENSITIVE_MARKS[0]) if layout.separator == " " else layout
    return with_separator((*names[0], *names[1]), marked, target)


def with_separator(vocabulary: Sequence[str], layout: Layout, target: Target = "the output") -> Layout:
    """The layout with a separator that no name contains.

    One that a reader would find out by itself goes first, lest a release be read with its items cut at the wrong places.
    """
    tokens = written_tokens(vocabulary, layout, target)
    possible = [mark for mark in (layout.separator, *SEPARATORS) if not any(map(cutting_test(mark), tokens))]
    if not possible:
        raise InputError(
            f"{display_name(target)}: items can be separated neither by {layout.separator!r} nor by | ; , or tab, "
            "for all occur in names; write .jsonl or .parquet"
        )
    present = [mark for mark in SEPARATORS if any(mark in token for token in tokens)]
    return replace(
        layout, separator=next((mark for mark in possible if is_looked_for_first(mark, present)), possible[0])
    )


def without_blanks(name: str) -> str:
    """A name as FIMI text has it."""
    return _BLANK.sub("_", name)


def written_as(layout: Layout) -> Callable[[str], str]:
    """How the name of an item stands in a file of this layout."""
    if layout.format == "dat":
        return without_blanks
    if layout.format not in (*CELLED, "long"):
        return str
    mark = str if layout.format not in GUARDED else guard if layout.format == "long" else guard_in_set
    # A number that stands by itself is none that anything is run for.
    return lambda name: mark(name.strip(BLANKS))


def written_tokens(vocabulary: Sequence[str], layout: Layout, target: Target = "the output") -> tuple[str, ...]:
    """What each name looks like in a file of this layout.

    FIMI text has no place for blanks, which become `_`; cells have none for blanks around a name, and an apostrophe keeps spreadsheets from
    running them. Each item has one name wherever it stands in its cell. Everything else stays.
    """
    if layout.format not in ("dat", "long", *CELLED):
        return tuple(vocabulary)
    tokens = tuple(map(written_as(layout), vocabulary))
    refused = {"", "-1", "-2"} if layout.format == "dat" else {""}
    for name, token in zip(vocabulary, tokens, strict=True):
        if token in refused or "\0" in token:
            raise InputError(
                f"{display_name(target)}: an item{VALUES} cannot stand in {layout.format} text as a name; "
                "rename it, or write .jsonl or .parquet",
                values=[repr(name)],
            )
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


def written_records(rows: Baskets | Records, layout: Layout, target: Target = "the output") -> Records:
    """What baskets or records look like in a file of this layout.

    Text has no place for blanks around the names of columns and items, and what a spreadsheet would run has an apostrophe in front.
    """
    records = _named(rows, layout)
    if layout.format not in ("dat", "long", TWO_TABLES, *CELLED):
        return records
    form = guard if layout.format in GUARDED else str
    names = {name: form(name.strip(BLANKS)) for name in records.names}
    if "" in names.values() or len(set(names.values())) < len(names):
        raise InputError(
            f"{display_name(target)}: column names are empty or the same without the blanks around them; "
            "rename them, or write .jsonl or .parquet"
        )
    for text in (*names, *(value for column in records.columns for value in column.values)):
        if "\0" in text:
            raise InputError(
                f"{display_name(target)}: a name or a value holds a NUL, which {layout.format} text cannot; write .jsonl or .parquet"
            )
    columns = tuple(_written_column(column, names[column.name], form, target) for column in records.columns)
    if layout.format == TWO_TABLES:
        return dealt_again(replace(records, columns=columns), target)
    if records.items is None:
        return replace(records, columns=columns)
    items = records.items
    tokens = written_tokens(items.vocabulary, layout, target)
    as_written = dict(zip(items.vocabulary, tokens, strict=True))
    if tokens != items.vocabulary:
        in_order = not records.holds_sets_alone
        items = (
            Baskets.from_codes(items.lengths, items.items, tokens) if in_order else replace(items, vocabulary=tokens)
        )
    return replace(
        records,
        columns=columns,
        items=items,
        items_name=names[records.items_name],
        sensitive_items=frozenset(as_written.get(name, name) for name in records.sensitive_items),
        sensitive_name=None if records.sensitive_name is None else names[records.sensitive_name],
    )


def _named(rows: Baskets | Records, layout: Layout) -> Records:
    """Records with a name for their sets: that of the layout where they have none of their own."""
    records = Records((), rows, layout.items) if isinstance(rows, Baskets) else rows
    if records.items_name or layout.format == "jsonl":
        return records
    return replace(records, items_name=layout.items or "items")


def _written_column(column: Column, name: str, form: Callable[[str], str], target: Target) -> Column:
    values = tuple(map(form, column.values))
    if values == column.values:
        return replace(column, name=name)
    if len(set(values)) < len(values):
        raise InputError(
            f"{display_name(target)}: two values of column {column.name!r} differ in an apostrophe before a sign that spreadsheets run, "
            "and would be written as one; write .jsonl or .parquet"
        )
    return Column.from_codes(name, column.role, column.codes, values, numeric=False)


def flags_to_read(written: str | os.PathLike[str] | DatabaseInput, rows: Baskets | Records, layout: Layout) -> Told:
    """What a reader of a written file or table must be told. Raises unless it then holds exactly these rows.

    Which items among others are sensitive is not in the file, and not in the flags.
    """
    expected = written_records(rows, layout)
    fault = ""
    for flags, reading in _ways_to_read(expected, layout):
        try:
            found = load(written, reading).records
            if expected.sensitive_name is None and found.items is not None:
                marked = [name for name in found.items.vocabulary if name in expected.sensitive_items]
                found = mark_sensitive(found, marked)
        except Unavailable:
            raise
        except InputError as error:
            fault = f"cannot be read again ({error})"
            continue
        if (same_sets if reading.is_of_sets else same_records)(found, expected):
            return flags
        seen, passed = (found.items, expected.items) if reading.is_of_sets else (found, expected)
        fault = f"reads as other {seen!r} than the {passed!r} that passed the audit"
    raise ShoalError(f"what was written {fault}; this is a bug in Shoal, please report it; nothing was published")


def _ways_to_read(records: Records, layout: Layout) -> list[tuple[Told, Reading]]:
    """Ways that may read what was written, with what a reader must be told, the fewest first."""
    form = None if layout.format in DATABASES else layout.format
    parted = (("separator", layout.separator),)
    if records.holds_sets_alone:
        limit = None if records.items is None else records.items.scratch
        if layout.format == "long" or layout.id is not None:
            id = layout.id or "id"
            return [((("id", id),), Reading(SetRoles(id=id), form, memory_limit=limit))]
        reading = Reading(format=form, memory_limit=limit)
        ways: list[tuple[Told, Reading]] = [((), reading)]
        if layout.format in CELLED:
            told = replace(reading, separator=layout.separator)
            named = replace(told, roles=SetRoles(layout.items))
            ways += [(parted, told), ((*parted, ("items", layout.items)), named)]
        return ways
    roles: dict[str, list[str]] = {}
    for column in records.columns:
        roles.setdefault(column.role, []).append(column.name)
    if records.items is not None:
        roles["items"] = [records.items_name]
        if records.sensitive_name is not None:
            roles["sensitive_sets"] = [records.sensitive_name]
    flags = tuple((flag_of(role), text) for role, names in roles.items() for text in _flag_texts(names, records.names))
    # Values are compared as texts: no spelling of a number is taken for another.
    reading = Reading(Roles(**{role: tuple(names) for role, names in roles.items()}), form, numeric=())
    ways = [(flags, reading)]
    if layout.format in CELLED and records.items is not None:
        ways.append(((*flags, *parted), replace(reading, separator=layout.separator)))
    return ways


def _flag_texts(names: Sequence[str], columns: Sequence[str]) -> Sequence[str]:
    """The names as one text with commas where it will be read as them, else one by one."""
    joined = ",".join(names)
    plain = all("," not in name and name == name.strip() for name in names)
    return [joined] if plain and joined not in columns else names
