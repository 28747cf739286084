"""Releases as rows for tables of databases.

PostgreSQL has lists and gets sets as `text[]`, and columns that still hold values of the type that they came in get that type again.
SQLite has neither: sets are text with a separator that no item contains, chosen as for CSV, and columns are INTEGER, REAL or TEXT.
A long table has a row per number of a transaction and item.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.records.baskets import Baskets
from shoal.records.database.write import Rows
from shoal.records.formats.delimited import set_separators
from shoal.records.formats.frames import Frame
from shoal.records.layout import Layout
from shoal.records.records import Column, Records
from shoal.records.tokens import as_text
from shoal.records.values import MISSING
from shoal.records.writing import settled_layout, written_records

_ARROW = {
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "real": pa.float32(),
    "double precision": pa.float64(),
    "boolean": pa.bool_(),
}
_DATE, _TIME = r"[0-9]{4,6}-[0-9]{2}-[0-9]{2}", r" [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_SPELLED = {
    # As the server spells them; what it would spell otherwise is left as text.
    "numeric": re.compile(r"(?!-[0.]+$)-?(0|[1-9][0-9]*)(\.[0-9]+)?|NaN|-?Infinity"),
    "date": re.compile(rf"{_DATE}( BC)?|-?infinity"),
    "timestamp": re.compile(rf"{_DATE}{_TIME}( BC)?|-?infinity"),
    "timestamp with time zone": re.compile(rf"{_DATE}{_TIME}\+00( BC)?|-?infinity"),
}


def table_rows(rows: Baskets | Records, layout: Layout, target: str) -> tuple[Rows, Layout]:
    """The rows of a table of baskets or records, and the layout that they stand in."""
    layout = settled_layout(rows, layout, target)
    written = written_records(rows, layout, target)
    texts = [text for column in written.columns for text in column.values]
    _refuse_nul([*texts, *(() if written.items is None else written.items.vocabulary)], target)
    types = dict(_kept_types(written, layout)) if layout.format == "postgresql" else {}
    frame = Frame(written, [(name, "text") for name, type in layout.types if name in types or type == "text"])
    if layout.id is not None:
        schema = pa.schema([(layout.id, pa.int64()), (layout.items, pa.string())])
        return Rows(schema, _long_batches(frame, schema), {}), layout
    if layout.format == "postgresql" or written.items is None:
        return Rows(frame.schema, frame.batches(), types), layout
    return _joined(frame, set_separators(written, layout)), layout


def _joined(frame: Frame, separators: Sequence[str]) -> Rows:
    """The sets as text; they are the last columns."""
    first = len(frame.schema) - len(separators)
    fields = [field if at < first else pa.field(field.name, pa.string()) for at, field in enumerate(frame.schema)]
    schema = pa.schema(fields)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in frame.batches():
            sets = [pc.binary_join(lists, mark) for lists, mark in zip(batch.columns[first:], separators, strict=True)]
            yield pa.record_batch([*batch.columns[:first], *sets], schema)

    return Rows(schema, batches(), {})


def _long_batches(frame: Frame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Numbers of transactions and items; an empty transaction is a number without an item."""
    row = 1
    for batch in frame.batches():
        lists = batch.column(0)
        lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
        empty = lengths == 0
        ids = np.repeat(np.arange(row, row + len(lists)), lengths + empty)
        items = lists.flatten()
        at = np.insert(np.arange(len(items)), (np.cumsum(lengths) - lengths)[empty], -1)
        yield pa.record_batch([pa.array(ids), items.take(pa.array(at, mask=at < 0))], schema)
        row += len(lists)


def _kept_types(records: Records, layout: Layout) -> Iterator[tuple[str, str]]:
    """The columns that still hold nothing but values of the type that they came in, spelled as it spells them."""
    came_in = dict(layout.types)
    for column in records.columns:
        type = came_in.get(column.name, "")
        if (type in _SPELLED or type in _ARROW) and _is_spelled(column, type):
            yield column.name, type


def _is_spelled(column: Column, type: str) -> bool:
    values = [value for value in column.values if value != MISSING]
    if (spelled := _SPELLED.get(type)) is not None:
        # Digits that are no day of the calendar come from a hierarchy, not from the server.
        return all(spelled.fullmatch(value) and (type == "numeric" or _is_day(value)) for value in values)
    texts = pa.array(values, pa.large_string())
    try:
        return bool(as_text(texts.cast(_ARROW[type])).equals(texts))
    except pa.ArrowException:
        return False


def _is_day(text: str) -> bool:
    """Whether a date or time is one of the calendar; years that Python does not have are believed."""
    if text.endswith(("infinity", "BC")) or len(text.partition("-")[0]) > 4:
        return True
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _refuse_nul(texts: Sequence[str], target: str) -> None:
    from shoal.records.storage.publication import display_name

    if any("\0" in text for text in texts):
        raise InputError(f"{display_name(target)}: a value holds a NUL, which databases do not take; write .parquet")
