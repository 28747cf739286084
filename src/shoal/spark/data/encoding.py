"""How rows of names become packed numbers: first in the names of their partition, then in those of all.

The texts of a row pass once from Spark to a worker, which numbers the names of its partition as it meets them. When the driver knows all
names, in the order of the local vocabulary, the workers exchange their numbers for those. Rows are numbered in the order in which the data
frame gives them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.numbers import Codes, Ints
from shoal.spark.data.packing import MOST, offsets_of, pack, row_of

IN_PARTITION = 33
"""Bits that `monotonically_increasing_id` uses for the row within its partition."""

_TOLD = pa.struct([("name", pa.string()), *((name, pa.int64()) for name in ("part", "length", "count", "more"))])
_OWN_FIELDS = pa.schema(
    [
        pa.field("number", pa.int64()),
        pa.field("lengths", pa.binary()),
        pa.field("items", pa.binary()),
        pa.field("names", pa.list_(pa.string())),
        pa.field("told", pa.list_(_TOLD)),
    ]
)
OWN_NAMES = (
    "number bigint, lengths binary, items binary, names array<string>, "
    "told array<struct<name: string, part: bigint, length: bigint, count: bigint, more: bigint>>"
)
"""The schema of rows by the names of their partition."""


def by_own_names(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """On a worker: rows of names as rows of ids, each once in its row, in a list of names that grows with the partition.

    A row of Spark has the names that are new in it. The last one tells what all rows count: names, and lengths of rows.
    """
    known: dict[str | None, int] = {}
    counts, of_length, more, first = np.zeros(0, np.int64), np.zeros(0, np.int64), 0, -1
    lengths: list[Ints] = []
    items: list[Codes] = []
    number = told = size = 0

    def pack_all(facts: list[dict[str, Any]]) -> pa.RecordBatch:
        nonlocal told, size
        ends, ids = offsets_of(np.concatenate([*lengths, np.zeros(0, np.int64)])), np.concatenate([*items, np.zeros(0)])
        columns = {"number": [number], "names": [[*islice(known, told, None)]], "told": [facts]} | pack((), ends, ids)
        lengths.clear()
        items.clear()
        told, size = len(known), 0
        return pa.record_batch([pa.array(columns[each.name], each.type) for each in _OWN_FIELDS], schema=_OWN_FIELDS)

    for batch in batches:
        if not len(batch):
            continue
        if not lengths:
            number = batch.column("row")[0].as_py()
        first = number if first < 0 else first
        sets = batch.column("items")
        offsets = sets.offsets.to_numpy().astype(np.int64)
        texts = sets.values[int(offsets[0]) : int(offsets[-1])].cast(pa.string())
        coded = texts.dictionary_encode(null_encoding="encode")
        id_of = np.array([known.setdefault(name, len(known)) for name in coded.dictionary.to_pylist()], np.int32)
        ends, ids = once_in_a_row(offsets - offsets[0], id_of[coded.indices.to_numpy(zero_copy_only=False)])
        lengths.append(np.diff(ends))
        items.append(ids)
        counts, of_length = _add(counts, np.bincount(ids)), _add(of_length, np.bincount(lengths[-1]))
        more += len(texts) - len(ids)
        size += len(ids)
        if size >= MOST:
            yield pack_all([])
    if first < 0:
        return
    found = np.flatnonzero(of_length)
    facts = [{"name": name, "count": count} for name, count in zip(known, counts.tolist(), strict=True)]
    by_length = zip(found.tolist(), of_length[found].tolist(), strict=True)
    facts += [{"part": first >> IN_PARTITION, "length": n, "count": count, "more": 0} for n, count in by_length]
    facts[-1]["more"] = more
    yield pack_all(facts)


def _add(one: Ints, other: Ints) -> Ints:
    """The sum of counts of which either may have more places."""
    total = np.zeros(max(len(one), len(other)), np.int64)
    total[: len(one)] += one
    total[: len(other)] += other
    return total


def by_common_names(
    batches: Iterator[pa.RecordBatch], names: tuple[str, ...], starts: dict[int, int]
) -> Iterator[pa.RecordBatch]:
    """On a worker: rows of ids in the common list of names, numbered through."""
    common = pa.array(names, pa.string())
    part, known = -1, np.zeros(0, np.int64)
    for batch in batches:
        columns = [batch.column(name) for name in ("number", "lengths", "items", "names")]
        for number, own_lengths, own_items, own_names in zip(*columns, strict=True):
            if number.as_py() >> IN_PARTITION != part:
                part, known = number.as_py() >> IN_PARTITION, np.zeros(0, np.int64)
            new = pc.index_in(own_names.values.cast(pa.string()), common).to_numpy(zero_copy_only=False)
            known = np.concatenate((known, new.astype(np.int64)))
            offsets = offsets_of(np.frombuffer(own_lengths.as_buffer(), "<i4"))
            if len(offsets) == 1:
                continue
            key = (row_of(offsets) << 32) | known[np.frombuffer(own_items.as_buffer(), "<i4")]
            ids = np.sort(key, kind="stable")
            first = number_rows(np.array([number.as_py()]), starts)[0]
            yield pa.record_batch(pack(first + np.arange(len(offsets) - 1), offsets, ids & 0xFFFFFFFF))


def first_rows(part: Ints, count: Ints) -> dict[int, int]:
    """The number of the first row of each partition, from counts of rows by partition."""
    parts, place = np.unique(part, return_inverse=True)
    sizes = np.bincount(place.reshape(-1), count, minlength=len(parts)).astype(np.int64)
    return dict(zip(parts.tolist(), (np.cumsum(sizes) - sizes).tolist(), strict=True))


def number_rows(number: Ints, starts: dict[int, int]) -> Ints:
    """On a worker: rows numbered through, from `monotonically_increasing_id` and the number of the first row of each partition."""
    part = number >> IN_PARTITION
    parts = np.unique(part)
    start = np.array([starts[p] for p in parts.tolist()], np.int64)
    return start[np.searchsorted(parts, part)] + (number & ((1 << IN_PARTITION) - 1))


def once_in_a_row(offsets: Ints, ids: Any) -> tuple[Ints, Any]:
    """(offsets, ids), ascending and each once in its row."""
    # Rows stand in their order already, which a stable sort (by runs) makes use of: a quarter of the time.
    key = np.sort((row_of(offsets) << 32) | ids.astype(np.int64), kind="stable")
    first = np.ones(len(key), np.bool_)  # np.unique hashes, which takes several times as long
    first[1:] = key[1:] != key[:-1]
    key = key[first]
    ends = np.searchsorted(key >> 32, np.arange(len(offsets)))
    return ends, (key & 0xFFFFFFFF).astype(np.int32)
