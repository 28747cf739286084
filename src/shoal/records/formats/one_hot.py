"""One-hot tables: a column for each item, which says row by row whether it is there. They are read as one column of sets, `items`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, option
from shoal.numbers import Bools
from shoal.records.assemble import Table
from shoal.records.roles import named_columns, no_column, texts_of
from shoal.records.tokens import as_text

ITEMS = "items"
"""What the column of sets is called."""
ROLES = ("quasi", "sensitive", "keep", "drop", "id", "person")
"""What a column may be instead of an item."""
_YES, _NO = ("1", "true"), ("0", "false", "")


@dataclass(frozen=True, eq=False)
class OneHot:
    """Data whose items have a column each, for whoever reads them as one column of sets."""

    data: Any
    apart: tuple[str, ...] = ()
    """What has another role: columns, in texts that may hold several names with commas between them."""
    chosen: tuple[str, ...] = ()
    """The columns of the items; all that have no other role unless given."""

    @classmethod
    def of(cls, data: Any, asked: Mapping[str, Any]) -> OneHot:
        """The data as they were asked for: with the roles that their other columns have."""
        given = [asked[role] for role in ROLES if not isinstance(asked.get(role), os.PathLike | None)]
        apart = tuple(text for names in given for text in texts_of(names))
        return cls(data, apart, texts_of(asked.get("items")))

    def split(self, columns: Sequence[str], source: str) -> tuple[list[str], list[str]]:
        """The columns with another role, and those of the items."""
        apart = named_columns(self.apart, columns)
        chosen = named_columns(self.chosen, columns)
        for name in chosen:
            if name not in columns:
                raise no_column(name, "items", columns, chosen, source)
        chosen = chosen or [name for name in columns if name not in apart]
        others = [name for name in columns if name not in chosen]
        if not chosen:
            raise InputError(f"{source}: no column is left for the items; name fewer in other roles")
        if ITEMS in others:
            raise InputError(
                f"{source}: its items are put into a column {ITEMS!r}, and there is one already; rename it"
            )
        return others, chosen

    def table(self, table: Table) -> Table:
        """The table with one column of sets in place of those of the items."""
        others, chosen = self.split(table.columns, table.source)
        is_told = bool(self.chosen)

        def batches(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
            beside = [name for name in wanted if name != ITEMS]
            for batch in _batches(table, beside, chosen, is_told):
                yield batch.select(list(wanted))

        return replace(table, columns=[*others, ITEMS], batches=batches)


def _batches(table: Table, others: Sequence[str], chosen: Sequence[str], is_told: bool) -> Iterator[pa.RecordBatch]:
    names = pa.array(chosen, pa.string())
    for batch in table.batches([*others, *chosen]):
        marked = np.stack([_marked(batch[name], name, table.source, is_told) for name in chosen], axis=1)
        rows, items = np.nonzero(marked)
        ends = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(batch))))).astype(np.int32)
        sets = pa.ListArray.from_arrays(pa.array(ends), names.take(pa.array(items)))
        yield pa.record_batch([*(batch[name] for name in others), sets], names=[*others, ITEMS])


def _marked(cells: pa.Array, name: str, source: str, is_told: bool) -> Bools:
    """Which rows hold the item: those with true or 1. A missing value says no.

    Higher counts are for columns that were named: an age that nobody spoke of must not become an item of everybody.
    """
    kind = cells.type
    if pa.types.is_boolean(kind):
        return _flags(cells)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = cells.fill_null(0).to_numpy(zero_copy_only=False)
        there = np.nan_to_num(numbers.astype(np.float64), nan=0.0)
        if (there >= 0).all() and (is_told or (there <= 1).all()):
            return np.asarray(there > 0)
    elif not pa.types.is_nested(kind):
        texts = pc.utf8_lower(pc.utf8_trim_whitespace(as_text(cells).fill_null("")))
        yes, no = (pc.is_in(texts, pa.array(words, texts.type)) for words in (_YES, _NO))
        if pc.all(pc.or_(yes, no)).as_py() is not False:
            return _flags(yes)
    raise InputError(
        f"{source}: column {name!r} does not say yes or no in every row (1 or true, 0, false or nothing); name its role, or the "
        f"columns of items, which may also hold counts, with {option('items')}"
    )


def _flags(cells: pa.Array) -> Bools:
    return np.asarray(cells.fill_null(False).to_numpy(zero_copy_only=False), np.bool_)
