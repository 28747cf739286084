"""Many rows in one row of Spark: numbers as bytes, which Spark moves without looking at them.

Row by row, Spark spends more time on taking lists apart and putting them together than the kernels spend on counting. Packed, some
hundred thousand rows travel as three byte strings: their numbers, their lengths, and all their items one after the other. What a task holds
at a time is bounded by occurrences, not by rows, so that a few huge rows do not burst it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.engines.spark.ragged import Ints, Longs, flat, gathered
from shoal.records.baskets import Baskets

Packed = dict[str, pa.Array]

PACKED = "rows binary, lengths binary, items binary"
"""The schema of packed rows."""
MOST = 1 << 20
"""Occurrences that a task works on at a time (a longer row stands alone)."""


def packed(rows: Any, offsets: Any, items: Any) -> Packed:
    """Rows by their numbers, as the columns of one row of Spark."""
    return {
        "rows": _bytes(rows, "<i8"),
        "lengths": _bytes(np.diff(offsets), "<i4"),
        "items": _bytes(items, "<i4"),
    }


def packed_by(key: Any, rows: Any, starts: Any, lengths: Any, values: Any) -> Iterator[pa.RecordBatch]:
    """Stretches `values[starts[i] : starts[i] + lengths[i]]` of rows: packed, a row of Spark for every different `key`."""
    order = np.argsort(key, kind="stable")
    keys, first = np.unique(key[order], return_index=True)
    for own, group in zip(np.split(order, first[1:]), keys.tolist(), strict=True) if len(keys) else ():
        offsets, items = gathered(starts[own], lengths[own], values)
        yield pa.record_batch({"key": pa.array([group], pa.int32())} | packed(rows[own], offsets, items))


def pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Longs, Baskets]]:
    """(row numbers, their sets) of encoded rows, packed or not, piece by piece."""
    for batch in batches:
        for rows, offsets, items in _rows_of(batch):
            first = 0
            while first < len(rows):
                last = int(np.searchsorted(offsets, offsets[first] + MOST, side="right")) - 1
                last = max(first + 1, min(last, len(rows)))
                low, high = offsets[first], offsets[last]
                yield rows[first:last], Baskets(offsets[first : last + 1] - low, items[low:high], ())
                first = last


def _rows_of(batch: pa.RecordBatch) -> Iterator[tuple[Longs, Longs, Ints]]:
    if "rows" in batch.schema.names:
        yield from unpacked(batch)
    else:
        yield batch.column("row").to_numpy(), *flat(batch.column("items"))


def unpacked(table: pa.RecordBatch | pa.Table) -> Iterator[tuple[Any, Any, Any]]:
    """(row numbers, offsets, items) of every row of Spark."""
    columns = [table.column(name).to_pylist() for name in ("rows", "lengths", "items")]
    for rows, lengths, items in zip(*columns, strict=True):
        offsets = np.zeros(len(lengths) // 4 + 1, np.int64)
        np.cumsum(np.frombuffer(lengths, "<i4"), out=offsets[1:])
        yield np.frombuffer(rows, "<i8"), offsets, np.frombuffer(items, "<i4")


def together(table: pa.Table) -> tuple[Any, Any, Any]:
    """All rows of a table of packed rows, in the order of their numbers: (row numbers, offsets, items)."""
    parts = [*unpacked(table)]
    rows, items = (np.concatenate([part[i] for part in parts]) for i in (0, 2))
    lengths = np.concatenate([np.diff(part[1]) for part in parts])
    order = np.argsort(rows, kind="stable")
    starts = np.cumsum(lengths) - lengths
    return rows[order], *gathered(starts[order], lengths[order], items)


def _bytes(numbers: Any, kind: str) -> pa.Array:
    return pa.array([np.ascontiguousarray(numbers, kind).tobytes()], pa.binary())
