"""One-hot tables: a column for each item, which says row by row whether it is there. They become one column of sets."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, option
from shoal.records.assemble import Table
from shoal.records.formats.frames import object_table
from shoal.records.formats.peek import source_name, table_in
from shoal.records.layout import format_of
from shoal.records.roles import named_columns, no_column, texts_of
from shoal.records.storage.streams import Input, is_stream
from shoal.records.tokens import as_text

ITEMS = "items"
"""What the column of sets is called."""
_YES, _NO = ("1", "true"), ("0", "false", "")


def gather_items(data: Any, asked: Mapping[str, Any]) -> tuple[pa.Table, dict[str, Any]]:
    """The table with its one-hot columns as one column of sets, and what was asked of it in the words of the new table.

    The one-hot columns are those of `items`, or all that have no other role.
    """
    if isinstance(data, str | os.PathLike) or is_stream(data):
        named = getattr(data, "name", "") if is_stream(data) else os.fspath(data)
        with Input(data) as opened:
            table = table_in(opened, asked.get("format") or format_of(str(named))[0] or "csv")
            return _gather(table, asked)
    found = object_table(data, source_name(data))
    if found is None:
        raise InputError(f"{source_name(data)} has no columns; {option('one_hot')} is for data frames and tables")
    return _gather(found, asked)


def _gather(table: Table, asked: Mapping[str, Any]) -> tuple[pa.Table, dict[str, Any]]:
    roles = ("quasi", "sensitive", "keep", "drop", "id")
    apart = {name for role in roles for name in named_columns(texts_of(asked.get(role)), table.columns)}
    chosen = named_columns(texts_of(asked.get("items")), table.columns)
    for name in chosen:
        if name not in table.columns:
            raise no_column(name, "items", table.columns, chosen, table.source)
    chosen = chosen or [name for name in table.columns if name not in apart]
    others = [name for name in table.columns if name not in chosen]
    if not chosen:
        raise InputError(f"{table.source}: no column is left for the items; name fewer in other roles")
    if ITEMS in others:
        raise InputError(
            f"{table.source}: its items are put into a column {ITEMS!r}, and there is one already; rename it"
        )
    batches = list(_batches(table, others, chosen))
    if not batches:
        raise InputError(f"{table.source} has no rows; check that it is the right one")
    said = {name: value for name, value in asked.items() if name != "format"} | {"items": ITEMS}
    return pa.Table.from_batches(batches), said


def _batches(table: Table, others: Sequence[str], chosen: Sequence[str]) -> Iterator[pa.RecordBatch]:
    names = pa.array(chosen, pa.string())
    for batch in table.batches([*others, *chosen]):
        marked = np.stack([_marked(batch[name], name, table.source) for name in chosen], axis=1)
        rows, items = np.nonzero(marked)
        ends = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(batch))))).astype(np.int32)
        sets = pa.ListArray.from_arrays(pa.array(ends), names.take(pa.array(items)))
        yield pa.record_batch([*(batch[name] for name in others), sets], names=[*others, ITEMS])


def _marked(cells: pa.Array, name: str, source: str) -> npt.NDArray[np.bool_]:
    """Which rows hold the item: those with true, 1 or a higher count. A missing value says no."""
    kind = cells.type
    if pa.types.is_boolean(kind):
        return _flags(cells)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = cells.fill_null(0).to_numpy(zero_copy_only=False)
        there = np.nan_to_num(numbers.astype(np.float64), nan=0.0)
        if (there >= 0).all():
            return np.asarray(there > 0)
    elif not pa.types.is_nested(kind):
        texts = pc.utf8_lower(pc.utf8_trim_whitespace(as_text(cells).fill_null("")))
        yes, no = (pc.is_in(texts, pa.array(words, texts.type)) for words in (_YES, _NO))
        if pc.all(pc.or_(yes, no)).as_py() is not False:
            return _flags(yes)
    raise InputError(
        f"{source}: column {name!r} does not say yes or no in every row (true, 1 or a count, false, 0 or nothing); "
        f"name its role, or the columns of items with {option('items')}"
    )


def _flags(cells: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(cells.fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
