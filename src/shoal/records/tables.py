"""Sets in the columns of a table, whatever the table came in: CSV, Parquet, Arrow or a data frame.

A table is its column names and a stream of record batches; only the columns that are needed are asked for. Sets stand as
lists, or as text with a separator inside the cell, or, in a long table, as one row per id and item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, option
from shoal.limits import Room
from shoal.records.baskets import Baskets
from shoal.records.columns import Choice, set_column
from shoal.records.tokens import (
    MARKS,
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

NUMBER = "number"
"""The type of a column of numbers that are texts without quotes, as in JSON: of any size, and spelled in any way."""
MIXED = "mixed"
"""The type of a column that holds texts as well as numbers or truth values."""


@dataclass(frozen=True)
class Table:
    """A table that has not been read yet."""

    columns: Sequence[str]
    batches: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
    """The rows, batch by batch, with the given columns alone."""
    source: str
    types: Mapping[str, str] | None = field(default_factory=dict)
    """What columns hold (`text`, `boolean`, `NUMBER`, `MIXED`) where their arrays do not tell; None for a format without types."""
    rows: int | None = None
    """How many rows there are, where the file says so."""
    room: Room | None = None
    """The memory that what is read may take."""


@dataclass(frozen=True)
class TableSets:
    """The sets of a table, and how they stood in it."""

    baskets: Baskets
    items: str
    separator: str


class SetColumn:
    """The sets of one column, batch by batch.

    What parts the items of cells is, unless given, what the first cells show; later ones must not contradict.
    """

    def __init__(
        self,
        name: str,
        source: str,
        separator: str | None = None,
        *,
        marks: Sequence[str] = MARKS,
        remedy: str = f"give lists or text, or pass {option('id')} if every row is one item",
    ) -> None:
        self.name = name
        self.separator = separator
        self.holds_lists = False
        self._source = source
        self._marks = marks
        self._remedy = remedy
        self._guessed = separator is None
        self._rows = 0

    def tokens(self, values: pa.Array) -> Tokens:
        """The sets in the next rows."""
        if is_list(values.type):
            self.holds_lists = True
            tokens = list_tokens(values, self._source, self._rows)
        elif is_text(values.type) or pa.types.is_null(values.type):
            cells = as_text(values)
            if self._guessed:
                self._look(cells)
            fallback = " " if " " in self._marks else None
            tokens = cell_tokens(cells, self.separator or fallback)
        else:
            raise InputError(
                f"{self._source}: column {self.name!r} is of type {values.type}, which holds no sets; {self._remedy}"
            )
        self._rows += len(values)
        return tokens

    def _look(self, cells: pa.Array) -> None:
        mark = guessed_separator(cells, self._marks)
        if mark and self.separator is None:
            self.separator = mark
        elif mark and self._marks.index(mark) < self._marks.index(self.separator or mark):
            row = self._rows + pc.match_substring(cells, mark).index(True).as_py() + 1
            raise InputError(
                f"{self._source}: row {row:,} holds {mark!r}, but items were parted by {self.separator!r} before; "
                f"say with {option('separator')} what parts them"
            )


def table_sets(table: Table, choice: Choice) -> TableSets:
    """The sets of a table: one per row, or one per value of the chosen id column."""
    column = set_column(table.columns, choice, table.source)
    if choice.id is not None:
        if choice.separator is not None:
            raise InputError(
                f"{table.source}: a long table has one item per row; leave out {option('separator')} or {option('id')}"
            )
        return TableSets(grouped_baskets(_long_tokens(table, column, choice.id), table.source, table.room), column, " ")
    sets = SetColumn(column, table.source, choice.separator)
    baskets = baskets_of(_set_tokens(table, sets), table.source, room=table.room)
    if sets.holds_lists and choice.separator is not None:
        raise InputError(f"{table.source}: column {column!r} holds lists; leave out {option('separator')}")
    return TableSets(baskets, column, sets.separator or " ")


def _set_tokens(table: Table, sets: SetColumn) -> Iterator[Tokens]:
    return (sets.tokens(batch.column(0)) for batch in table.batches([sets.name]))


def _long_tokens(table: Table, column: str, id: str) -> Iterator[tuple[pa.DictionaryArray, Tokens]]:
    """Ids and items batch by batch; a row without an item has length 0."""
    rows = 0
    for batch in table.batches([id, column]):
        ids, items = batch.columns
        if is_list(items.type):
            raise InputError(
                f"{table.source}: column {column!r} holds lists, not single items; leave out {option('id')} and drop {id!r}"
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


def is_list(kind: Any) -> bool:
    """Whether a column of this type holds lists."""
    types = pa.types
    return bool(
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
        or types.is_list_view(kind)
        or types.is_large_list_view(kind)
    )
