"""Many rows in one row of Spark: numbers as bytes, which Spark moves without looking at them.

Row by row, Spark spends more time on taking lists apart and putting them together than the kernels spend on counting. Packed, some
hundred thousand rows travel as three byte strings: their numbers, their lengths, and all their items one after the other. What a task holds
at a time is bounded by occurrences, not by rows, so that a few huge rows do not burst it.

Where rows are lists after all, a list column is a row of offsets and one array of values, and so are `Baskets`: nothing is copied but what
a kernel needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.numbers import Bools, Codes, Ints
from shoal.records.baskets import Baskets

PACKED = "rows binary, lengths binary, items binary"
"""The schema of packed rows."""
MOST = 1 << 20
"""Occurrences that a task works on at a time (a longer row stands alone)."""
_SENT = 1 << 22
"""Numbers that a task packs by their keys at a time."""


def pack(rows: Any, offsets: Any, items: Any) -> dict[str, pa.Array]:
    """Rows by their numbers, as the columns of one row of Spark."""
    return {
        "rows": _bytes(rows, "<i8"),
        "lengths": _bytes(np.diff(offsets), "<i4"),
        "items": _bytes(items, "<i4"),
    }


def pack_by_key(key: Any, rows: Any, starts: Any, lengths: Any, values: Any) -> Iterator[pa.RecordBatch]:
    """Stretches `values[starts[i] : starts[i] + lengths[i]]` of rows: packed, a row of Spark for every different `key`.

    A long row may stand under many keys, so they are packed some millions of numbers at a time.
    """
    for some in np.array_split(np.arange(len(starts)), 1 + int(lengths.sum()) // _SENT):
        some = some[np.argsort(key[some], kind="stable")]
        keys, first = np.unique(key[some], return_index=True)
        for own, group in zip(np.split(some, first[1:]), keys.tolist(), strict=True) if len(keys) else ():
            offsets, items = gather(starts[own], lengths[own], values)
            yield pa.record_batch({"key": pa.array([group], pa.int32())} | pack(rows[own], offsets, items))


def pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Ints, Baskets]]:
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


def _rows_of(batch: pa.RecordBatch) -> Iterator[tuple[Ints, Ints, Codes]]:
    if "rows" in batch.schema.names:
        yield from unpack(batch)
    else:
        yield batch.column("row").to_numpy(), *flat(batch.column("items"))


def unpack(table: pa.RecordBatch | pa.Table) -> Iterator[tuple[Any, Any, Any]]:
    """(row numbers, offsets, items) of every row of Spark."""
    columns = [table.column(name).to_pylist() for name in ("rows", "lengths", "items")]
    for rows, lengths, items in zip(*columns, strict=True):
        yield np.frombuffer(rows, "<i8"), offsets_of(np.frombuffer(lengths, "<i4")), np.frombuffer(items, "<i4")


def together(table: pa.Table) -> tuple[Any, Any, Any]:
    """All rows of a table of packed rows, in the order of their numbers: (row numbers, offsets, items)."""
    parts = [*unpack(table)]
    rows, items = (np.concatenate([part[i] for part in parts]) for i in (0, 2))
    lengths = np.concatenate([np.diff(part[1]) for part in parts])
    order = np.argsort(rows, kind="stable")
    starts = np.cumsum(lengths) - lengths
    return rows[order], *gather(starts[order], lengths[order], items)


def _bytes(numbers: Any, kind: str) -> pa.Array:
    return pa.array([np.ascontiguousarray(numbers, kind).tobytes()], pa.binary())


def flat(column: pa.Array | pa.ChunkedArray, dtype: Any = np.int32) -> tuple[Ints, Any]:
    """(offsets, values) of a column of lists without nulls."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    offsets, values, size = [np.zeros(1, np.int64)], [np.zeros(0, dtype)], 0
    for chunk in chunks:
        ends = chunk.offsets.to_numpy().astype(np.int64)
        offsets.append(ends[1:] - ends[0] + size)
        size += int(ends[-1] - ends[0])
        values.append(chunk.values[int(ends[0]) : int(ends[-1])].to_numpy(zero_copy_only=False).astype(dtype))
    return np.concatenate(offsets), np.concatenate(values)


def lists(offsets: Ints, values: Any) -> pa.ListArray:
    """A list column of numbers, or of what is an array of Arrow already."""
    values = values if isinstance(values, pa.Array) else pa.array(values)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def equal_lists(values: npt.NDArray[Any]) -> pa.ListArray:
    """The rows of a matrix, as lists of the same length."""
    return lists(np.arange(len(values) + 1, dtype=np.int64) * values.shape[1], values.reshape(-1))


def names_of(sets: Baskets, names: Any = None) -> pa.ListArray:
    """Sets as lists of names: those of their vocabulary, unless others are given."""
    texts = pa.array(sets.vocabulary if names is None else names, pa.string())
    return lists(sets.offsets, texts.take(pa.array(sets.items)))


def gather(start: Ints, lengths: Ints, values: Any) -> tuple[Ints, Any]:
    """The stretches `values[start[i] : start[i] + lengths[i]]`, one after the other: (offsets, values)."""
    offsets = offsets_of(lengths)
    return offsets, values[np.repeat(start - offsets[:-1], lengths) + np.arange(offsets[-1])]


def take_marked(baskets: Baskets, marks: Bools) -> Baskets:
    """The same rows with the items alone that `marks` has by occurrence."""
    return Baskets(offsets_of(marks)[baskets.offsets], baskets.items[marks], baskets.vocabulary)


def offsets_of(lengths: Any) -> Ints:
    """Where stretches of these lengths begin, and where the last one ends."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def row_of(offsets: Ints) -> Ints:
    """The row that each value stands in."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))


def frozen(array: Any) -> Any:
    """The array read-only, as it is on the driver: kernels are compiled once per kind of array."""
    array.setflags(write=False)
    return array
