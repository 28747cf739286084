"""Writing records to files and handing them to data frames.

Every distinct value is made ready once (quoted, guarded, as JSON) and gathered by its code; the sets of a block of rows are joined
in one go. A row is its single values, then the items, then the sensitive items if they stood in a column of their own. A numeric
column whose values are all spelled as its type would spell them is written as numbers where the format has some, all others as text,
so that 00501 stays 00501; what came as text is text again. Missing values are empty cells, or null where there is one.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError, ShoalError, Unavailable
from shoal.records.baskets import Baskets
from shoal.records.layout import CELLED, DATABASES, Layout, layout_for
from shoal.records.record_reading import FORMATS_WITH_COLUMNS, load_records, mark_sensitive
from shoal.records.records import Column, Records, same_records
from shoal.records.roles import SENSITIVE_MARKS
from shoal.records.storage.publication import Publication, StagedFile, Target, display_name, writing_errors
from shoal.records.storage.streams import BLANKS
from shoal.records.tables import NUMBER
from shoal.records.values import MISSING
from shoal.records.writing import (
    GUARDED,
    bytes_of,
    csv_cell,
    guarded,
    header_cell,
    packed_output,
    row_that_must_show,
    settled_layout,
    write_batches,
    written_tokens,
)

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from shoal.records.database.read import DatabaseInput

Told = tuple[tuple[str, str], ...]
"""What a reader of a file must be told: options by name, each with its text."""

_Texts = Callable[[int, int], Any]  # the text of a column from one row to another, as an Arrow array

_BLOCK = 1 << 17  # rows that are put together at a time
_OCCURRENCES = 1 << 20  # and items in them
_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)


def write_records(records: Records, target: Target, *, layout: Layout | None = None, force: bool = False) -> Layout:
    """Writes records to a file, all or nothing, or to standard output (`-`); returns the layout that was used.

    The target's name tells the format; `layout` gives the rest, such as the layout that the input had.
    """
    wanted = layout_for(target, layout or Layout("csv"))
    if os.fspath(target) == "-":
        with writing_errors(target):
            used = write_records_to(sys.stdout.buffer, records, wanted, target)
            sys.stdout.buffer.flush()
        return used
    with Publication([target], force=force) as publication, publication.file(target) as file:
        return write_records_to(file, records, wanted, target)


def write_records_to(
    file: BinaryIO | StagedFile, records: Records, layout: Layout, target: Target = "the output"
) -> Layout:
    """Writes records to an open file; returns the layout that was used, which has another separator if names need one.

    `target` is what messages call the file.
    """
    layout = settled_record_layout(records, layout, target)
    written = written_records(records, layout, target)
    if layout.format in ("parquet", "arrow"):
        table = Frame(written, layout.types)
        write_batches(file, table.schema, table.batches(), layout.format)
        return layout
    text = _json_lines(written, dict(layout.types)) if layout.format == "jsonl" else _delimited(written, layout)
    with packed_output(file, layout.compression) as packed:
        for block in text:
            packed.write(block)
    return layout


def settled_record_layout(records: Records, layout: Layout, target: Target = "the output") -> Layout:
    """The layout with the name of the set column, and with a separator that no item contains: the given one, or the first that will do."""
    if layout.format not in (*FORMATS_WITH_COLUMNS, *DATABASES):
        raise InputError(
            f"{display_name(target)}: {layout.format} has no columns; write one of {', '.join(FORMATS_WITH_COLUMNS)}"
        )
    layout = replace(layout, items=records.items_name, id=None)
    if layout.format not in CELLED:
        return layout
    if layout.format == "csv" and len(records.names) == 1:
        layout = replace(layout, delimiter=",")  # a header of one column shows none, and readers then assume this one
    if records.items is None:
        return layout
    items, sensitive = _split(records)
    settled = settled_layout(items.vocabulary, layout, target)
    if sensitive is None or (settled.separator == " " and _own_separator(sensitive) is not None):
        return settled
    # A reader that is told one separator, other than a blank, takes it for both columns.
    marked = replace(layout, separator=SENSITIVE_MARKS[0]) if layout.separator == " " else layout
    return settled_layout((*items.vocabulary, *sensitive.vocabulary), marked, target)


def _own_separator(sensitive: Baskets) -> str | None:
    """What parts sensitive items beside items that are parted by blanks; none if a reader would not find it out."""
    mark = SENSITIVE_MARKS[0]  # it is looked for before all others
    return mark if not any(mark in name for name in sensitive.vocabulary) else None


def written_records(records: Records, layout: Layout, target: Target = "the output") -> Records:
    """What the records look like in a file of this layout.

    Text has no place for blanks around the names of columns and items, and what a spreadsheet would run has an apostrophe in front.
    """
    if layout.format not in CELLED:
        return records
    guard = guarded if layout.format in GUARDED else str
    names = {name: guard(name.strip(BLANKS)) for name in records.names}
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
    columns = tuple(_written_column(column, names[column.name], guard, target) for column in records.columns)
    if records.items is None:
        return replace(records, columns=columns)
    tokens = written_tokens(records.items.vocabulary, layout, target)
    as_written = dict(zip(records.items.vocabulary, tokens, strict=True))
    return replace(
        records,
        columns=columns,
        items=records.items
        if tokens == records.items.vocabulary
        else Baskets.from_codes(records.items.lengths, records.items.items, tokens),
        items_name=names[records.items_name],
        sensitive_items=frozenset(as_written.get(name, name) for name in records.sensitive_items),
        sensitive_name=None if records.sensitive_name is None else names[records.sensitive_name],
    )


def _written_column(column: Column, name: str, guard: Callable[[str], str], target: Target) -> Column:
    values = tuple(map(guard, column.values))
    if values == column.values:
        return replace(column, name=name)
    if len(set(values)) < len(values):
        raise InputError(
            f"{display_name(target)}: two values of column {column.name!r} differ in an apostrophe before a sign that spreadsheets run, "
            "and would be written as one; write .jsonl or .parquet"
        )
    return Column.from_codes(name, column.role, column.codes, values, numeric=False)


def flags_to_read(written: str | os.PathLike[str] | DatabaseInput, records: Records, layout: Layout) -> Told:
    """What a reader of a written file or table must be told. Raises unless it then holds exactly these records.

    Which items among others are sensitive is not in the file, and not in the flags.
    """
    expected = written_records(records, layout)
    reading = ""
    for flags, options in _ways_to_read(expected, layout):
        try:
            # Values are compared as texts: no spelling of a number is taken for another.
            found = load_records(written, format=layout.format, numeric=(), **options).records
            if expected.sensitive_name is None and found.items is not None:
                found = mark_sensitive(
                    found, [name for name in found.items.vocabulary if name in expected.sensitive_items]
                )
        except Unavailable:
            raise
        except InputError as error:
            reading = f"cannot be read again ({error})"
            continue
        if same_records(found, expected):
            return flags
        reading = f"reads as other {found!r} than the {expected!r} that passed the audit"
    raise ShoalError(f"what was written {reading}; this is a fault of ours, please report it; nothing was published")


def to_arrow(records: Records) -> pa.Table:
    """The records as an Arrow table: text or numbers, and lists of strings for the sets."""
    import pyarrow as pa

    frame = Frame(records)
    return pa.Table.from_batches(frame.batches(), frame.schema)


def to_polars(records: Records) -> polars.DataFrame:
    """The records as a polars frame."""
    import polars

    return polars.DataFrame(to_arrow(records))


def to_pandas(records: Records) -> pandas.DataFrame:
    """The records as a pandas frame, the sets as arrays of strings."""
    return to_arrow(records).to_pandas()


def _ways_to_read(records: Records, layout: Layout) -> list[tuple[Told, dict[str, Any]]]:
    """Options that may read what was written, with what a reader must be told, the fewest first."""
    roles: dict[str, list[str]] = {}
    for column in records.columns:
        roles.setdefault(column.role, []).append(column.name)
    if records.items is not None:
        roles["items"] = [records.items_name]
        if records.sensitive_name is not None:
            roles["sensitive_sets"] = [records.sensitive_name]
    options: dict[str, Any] = {role: names for role, names in roles.items() if role != "sensitive_sets"}
    if "sensitive_sets" in roles:
        options["sensitive_sets"] = roles["sensitive_sets"][0]
    flags = tuple(
        ("sensitive" if role == "sensitive_sets" else role, text)
        for role, names in roles.items()
        for text in _flag_texts(names, records.names)
    )
    ways: list[tuple[Told, dict[str, Any]]] = [(flags, options)]
    if layout.format in CELLED and records.items is not None:
        ways.append(((*flags, ("separator", layout.separator)), options | {"separator": layout.separator}))
    return ways


def _flag_texts(names: Sequence[str], columns: Sequence[str]) -> Sequence[str]:
    """The names as one text with commas where it will be read as them, else one by one."""
    joined = ",".join(names)
    plain = all("," not in name and name == name.strip() for name in names)
    return [joined] if plain and joined not in columns else names


def _split(records: Records) -> tuple[Baskets, Baskets | None]:
    """The items of the set column, and those of the sensitive column if there is one."""
    assert records.items is not None
    if records.sensitive_name is None:
        return records.items, None
    sensitive = np.array([name in records.sensitive_items for name in records.items.vocabulary], bool)
    return _restricted(records.items, ~sensitive), _restricted(records.items, sensitive)


def _restricted(baskets: Baskets, chosen: npt.NDArray[np.bool_]) -> Baskets:
    """The same rows with the chosen items alone."""
    held = chosen[baskets.items]
    before = np.concatenate(([0], np.cumsum(held)))
    place = (np.cumsum(chosen) - 1).astype(np.int32)
    vocabulary = tuple(name for name, kept in zip(baskets.vocabulary, chosen.tolist(), strict=True) if kept)
    return Baskets(before[baskets.offsets], place[baskets.items[held]], vocabulary)


def _set_columns(records: Records) -> list[tuple[str, Baskets]]:
    """The set columns by name."""
    if records.items is None:
        return []
    items, sensitive = _split(records)
    named = [(records.items_name, items)]
    return named if sensitive is None else [*named, (str(records.sensitive_name), sensitive)]


def _blocks(records: Records) -> Iterator[tuple[int, int]]:
    """Ranges of rows of a handy size, all rows together."""
    start = 0
    while start < len(records):
        stop = min(start + _BLOCK, len(records))
        if records.items is not None:
            offsets = records.items.offsets
            full = int(np.searchsorted(offsets, offsets[start] + _OCCURRENCES, side="right")) - 1
            stop = min(stop, max(full, start + 1))
        yield start, stop
        start = stop


def _lists(baskets: Baskets, tokens: pa.Array, start: int, stop: int) -> pa.Array:
    """The sets of some rows as lists of their tokens."""
    import pyarrow as pa

    ends = baskets.offsets[start : stop + 1]
    held = tokens.take(pa.array(baskets.items[ends[0] : ends[-1]]))
    return pa.ListArray.from_arrays(pa.array((ends - ends[0]).astype(np.int32)), held)


class Frame:
    """The records as Arrow batches, columns in the types that they came in where these are given."""

    def __init__(self, records: Records, types: Sequence[tuple[str, str]] = ()) -> None:
        import pyarrow as pa

        self._records = records
        came_in = dict(types)
        self._values = [_typed(column, came_in.get(column.name)) for column in records.columns]
        self._sets = _set_columns(records)
        self._tokens = [pa.array(baskets.vocabulary, pa.string()) for _, baskets in self._sets]
        types = [values.type for values in self._values] + [pa.list_(pa.string())] * len(self._sets)
        self.schema = pa.schema(list(zip(records.names, types, strict=True)))

    def batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for start, stop in _blocks(self._records):
            arrays = [
                values.take(pa.array(column.codes[start:stop]))
                for column, values in zip(self._records.columns, self._values, strict=True)
            ]
            arrays += [
                _lists(baskets, tokens, start, stop)
                for (_, baskets), tokens in zip(self._sets, self._tokens, strict=True)
            ]
            yield pa.record_batch(arrays, self.schema)


def _typed(column: Column, came_in: str | None) -> pa.Array:
    """The values of a column in the type that they are written in: whole numbers or numbers if that spells each as it is, else text.

    What came as text stays text, whatever it looks like.
    """
    import pyarrow as pa

    texts = _texts(column)
    if came_in == "text":
        return texts
    if came_in == "boolean" and {"true", "false", MISSING}.issuperset(column.values):
        return texts.cast(pa.bool_())
    # From 2^53 on, what turns whole numbers into floats (pandas, where values are missing) would change them: text then.
    if column.numbers is not None and np.nanmax(np.abs(column.numbers), initial=0.0) <= 2.0**53 - 1:
        for kind in (pa.int64(), pa.float64()):
            try:
                numbers = texts.cast(kind)
            except pa.ArrowInvalid:
                continue
            if numbers.cast(pa.string()).equals(texts):
                return numbers
    return texts


def _texts(column: Column) -> pa.Array:
    import pyarrow as pa

    return pa.array([value if value != MISSING else None for value in column.values], pa.string())


def _value_texts(column: Column, form: Callable[[str], str]) -> _Texts:
    """Single values, each in the form that it is given."""
    import pyarrow as pa

    forms = pa.array([form(value) for value in column.values], pa.large_string())
    return lambda start, stop: forms.take(pa.array(column.codes[start:stop]))


def _set_texts(baskets: Baskets, tokens: Sequence[str], separator: str, form: Callable[[Any, int], Any]) -> _Texts:
    """Sets; `form` makes the text of some rows from their joined tokens and the number of the first of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pa.array(tokens, pa.large_string())
    mark = pa.scalar(separator, pa.large_string())
    return lambda start, stop: form(pc.binary_join(_lists(baskets, names, start, stop), mark), start)


def _rows(records: Records, columns: Sequence[_Texts], begin: str, between: str, end: str) -> Iterator[memoryview]:
    """The text of all rows, block by block."""
    import pyarrow as pa
    import pyarrow.compute as pc

    nothing, opening, parting, closing = (pa.scalar(text, pa.large_string()) for text in ("", begin, between, end))
    for start, stop in _blocks(records):
        parts = [part for texts in columns for part in (parting, texts(start, stop))][1:]
        yield bytes_of(pc.binary_join_element_wise(opening, *parts, closing, nothing))


def _json_lines(records: Records, types: Mapping[str, str]) -> Iterator[memoryview]:
    """One object a line."""
    fields = [_value_texts(column, _json_form(column, types.get(column.name))) for column in records.columns]
    for name, baskets in _set_columns(records):
        quoted = [_json(token) for token in baskets.vocabulary]
        fields.append(_set_texts(baskets, quoted, ", ", _json_lists(name)))
    return _rows(records, fields, "{", ", ", "}\n")


def _json_form(column: Column, came_in: str | None) -> Callable[[str], str]:
    """What a value looks like in an object, with the name of its field."""
    import pyarrow as pa

    kind = _typed(column, came_in).type
    is_number = came_in == NUMBER or not pa.types.is_string(kind)
    spelled = all(_JSON_NUMBER.fullmatch(value) for value in column.values if value != MISSING)
    bare = pa.types.is_boolean(kind) or (is_number and spelled)

    def form(value: str) -> str:
        return f"{_json(column.name)}: {'null' if value == MISSING else value if bare else _json(value)}"

    return form


def _json_lists(name: str) -> Callable[[Any, int], Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    nothing, opening, closing = (pa.scalar(text, pa.large_string()) for text in ("", f"{_json(name)}: [", "]"))
    return lambda joined, _: pc.binary_join_element_wise(opening, joined, closing, nothing)


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _delimited(records: Records, layout: Layout) -> Iterator[bytes | memoryview]:
    """A header and a line per row, cells quoted where they must be."""
    delimiter = layout.delimiter
    alone = len(records.names) == 1  # then a line must not be blank: not all readers see a cell in it

    def form(value: str) -> str:
        return csv_cell(value, delimiter) or ('""' if alone else "")

    columns = [_value_texts(column, form) for column in records.columns]
    for (_, baskets), separator in zip(_set_columns(records), set_separators(records, layout), strict=True):
        columns.append(
            _set_texts(baskets, baskets.vocabulary, separator, _set_cells(baskets, separator, delimiter, alone))
        )
    yield f"{delimiter.join(map(header_cell, records.names))}\n".encode()
    yield from _rows(records, columns, "", delimiter, "\n")


def set_separators(records: Records, layout: Layout) -> list[str]:
    """What parts the items in the cells of each set column."""
    found = []
    for place, (_, baskets) in enumerate(_set_columns(records)):
        apart = place and layout.separator == " "
        found.append((_own_separator(baskets) or SENSITIVE_MARKS[0]) if apart else layout.separator)
    return found


def _set_cells(baskets: Baskets, separator: str, delimiter: str, alone: bool) -> Callable[[Any, int], Any]:
    """The sets as cells. If the first rows would not show what parts them, one of them ends in it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    shown_by = row_that_must_show(separator, baskets, baskets.vocabulary)

    def cells(joined: Any, start: int) -> Any:
        if start <= shown_by < start + len(joined):
            ends = np.full(len(joined), "", object)
            ends[shown_by - start] = separator
            nothing = pa.scalar("", pa.large_string())
            joined = pc.binary_join_element_wise(joined, pa.array(ends, pa.large_string()), nothing)
        found = _csv_cells(joined, delimiter)
        return pc.if_else(pc.equal(found, ""), pa.scalar('""', pa.large_string()), found) if alone else found

    return cells


def _csv_cells(texts: Any, delimiter: str) -> Any:
    """As `csv_cell`, for a whole array."""
    import pyarrow as pa
    import pyarrow.compute as pc

    nothing, quote = (pa.scalar(text, pa.large_string()) for text in ("", '"'))
    special = pc.match_substring_regex(texts, rf'["\r\n{delimiter}]')
    doubled = pc.replace_substring(texts, '"', '""')
    return pc.if_else(special, pc.binary_join_element_wise(quote, doubled, quote, nothing), texts)
