"""Sets in the columns of a table, whatever the table came in: CSV, Parquet, Arrow or a data frame.

A table is its column names and a stream of record batches; only the columns that are needed are asked for. Sets stand as
lists, or as text with a separator inside the cell, or, in a long table, as one row per id and item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.records.baskets import Baskets
from shoal.records.columns import Choice, set_column
from shoal.records.layout import SEPARATORS
from shoal.records.tokens import (
    Tokens,
    as_text,
    baskets_of,
    cell_tokens,
    grouped_baskets,
    guessed_separator,
    is_text,
    item_names,
    list_tokens,
)

_LOOKED_FOR = (*SEPARATORS, " ")


@dataclass(frozen=True)
class Table:
    """A table that has not been read yet."""

    columns: Sequence[str]
    batches: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
    """The rows, batch by batch, with the given columns alone."""
    source: str


@dataclass(frozen=True)
class TableSets:
    """The sets of a table, and how they stood in it."""

    baskets: Baskets
    items: str
    separator: str


def table_sets(table: Table, choice: Choice) -> TableSets:
    """The sets of a table: one per row, or one per value of the chosen id column."""
    column = set_column(table.columns, choice, table.source)
    if choice.id is not None:
        if choice.separator is not None:
            raise InputError(f"{table.source}: a long table has one item per row; leave out --separator or --id")
        return TableSets(grouped_baskets(_long_tokens(table, column, choice.id), table.source), column, " ")
    separator = [choice.separator] if choice.separator is not None else []
    baskets = baskets_of(_set_tokens(table, column, separator), table.source)
    return TableSets(baskets, column, separator[0] if separator else " ")


def _set_tokens(table: Table, column: str, separator: list[str]) -> Iterator[Tokens]:
    """The sets batch by batch. An empty `separator` receives the one that the first cells show; later ones must not contradict."""
    rows = 0
    guessed = not separator
    for batch in table.batches([column]):
        values = batch.column(0)
        if _is_list(values.type):
            if not guessed:
                raise InputError(f"{table.source}: column {column!r} holds lists; leave out --separator")
            yield list_tokens(values, table.source, rows)
        elif is_text(values.type) or pa.types.is_null(values.type):
            cells = as_text(values)
            mark = guessed_separator(cells) if guessed else None
            if mark and not separator:
                separator.append(mark)
            elif mark and _LOOKED_FOR.index(mark) < _LOOKED_FOR.index(separator[0]):
                row = rows + pc.match_substring(cells, mark).index(True).as_py() + 1
                raise InputError(
                    f"{table.source}: row {row:,} holds {mark!r}, but items were parted by {separator[0]!r} before; "
                    "say with --separator what parts them"
                )
            yield cell_tokens(cells, separator[0] if separator else " ")
        else:
            raise InputError(
                f"{table.source}: column {column!r} is of type {values.type}, which holds no sets; "
                "give lists or text, or pass --id if every row is one item"
            )
        rows += len(values)


def _long_tokens(table: Table, column: str, id: str) -> Iterator[tuple[pa.DictionaryArray, Tokens]]:
    """Ids and items batch by batch; a row without an item has length 0."""
    rows = 0
    for batch in table.batches([id, column]):
        ids, items = batch.columns
        if _is_list(items.type):
            raise InputError(
                f"{table.source}: column {column!r} holds lists, not single items; leave out --id and drop {id!r}"
            )
        try:
            ids = _trimmed(as_text(ids))
        except pa.ArrowException:
            raise InputError(
                f"{table.source}: column {id!r} is of type {ids.type}, which holds no ids; give text or whole numbers"
            ) from None
        missing = pc.fill_null(pc.equal(ids, ""), True).index(True).as_py()
        if missing >= 0:
            raise InputError(f"{table.source}: row {rows + missing + 1:,} has no {id!r}; give it one or remove it")
        if is_text(items.type):
            items = _trimmed(as_text(items))
            held = pc.fill_null(pc.not_equal(items, ""), False)
        else:
            held = items.is_valid()
        lengths = held.to_numpy(zero_copy_only=False).astype(np.int64)
        yield ids.dictionary_encode(), Tokens(lengths, item_names(items.filter(held), table.source))
        rows += len(ids)


def _trimmed(texts: pa.Array) -> pa.Array:
    return pc.ascii_trim_whitespace(texts)


def _is_list(kind: Any) -> bool:
    types = pa.types
    return bool(
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
        or types.is_list_view(kind)
        or types.is_large_list_view(kind)
    )
