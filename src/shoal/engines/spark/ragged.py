"""Rows of different lengths between Arrow and the kernels, on the executors.

A list column is a row of offsets and one array of values, and so are `Baskets`: nothing is copied but what a kernel needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


def flat(column: pa.Array | pa.ChunkedArray, dtype: Any = np.int32) -> tuple[Longs, Any]:
    """(offsets, values) of a column of lists without nulls."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    offsets, values, size = [np.zeros(1, np.int64)], [np.zeros(0, dtype)], 0
    for chunk in chunks:
        ends = chunk.offsets.to_numpy().astype(np.int64)
        offsets.append(ends[1:] - ends[0] + size)
        size += int(ends[-1] - ends[0])
        values.append(chunk.values[int(ends[0]) : int(ends[-1])].to_numpy(zero_copy_only=False).astype(dtype))
    return np.concatenate(offsets), np.concatenate(values)


def lists(offsets: Longs, values: Any) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values))


def gathered(start: Longs, lengths: Longs, values: Any) -> tuple[Longs, Any]:
    """The stretches `values[start[i] : start[i] + lengths[i]]`, one after the other: (offsets, values)."""
    offsets = np.zeros(len(start) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets, values[np.repeat(start - offsets[:-1], lengths) + np.arange(offsets[-1])]


def row_of(offsets: Longs) -> Longs:
    """The row that each value stands in."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))


def frozen(array: Any) -> Any:
    """The array read-only, as it is on the driver: kernels are compiled once per kind of array."""
    array.setflags(write=False)
    return array
