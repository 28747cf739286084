"""Publication on Spark: a cut is applied and rows are shuffled by the executors.

The order of rows gives people away, so published rows stand where a keyed hash (BLAKE2) of their number puts them: in a partition by the
hash, and within it by the hash. The key is 32 bytes of the system's randomness that live in the driver's memory and in the code
that goes to the workers, in no plan, log or file. It has to be a function of the row: if a task that failed gave its
rows new random places, some would be published twice and others not at all.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.algorithms.recoding import Recoding
from shoal.engines.spark.packing import PACKED, packed_by, pieces, together
from shoal.engines.spark.projection import by_items, parallelism
from shoal.engines.spark.ragged import Ints, Longs
from shoal.engines.spark.sets import SparkSets
from shoal.engines.spark.workers import on_workers
from shoal.ordering import natural_order

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TOGETHER = 1 << 21
"""Occurrences whose rows are put into their order together, about."""


def published(sets: SparkSets, recoding: Recoding) -> DataFrame:
    """The sets as they would be published, in one column of the name they came in."""
    names = recoding.cut.hierarchy.names
    used = [v for v in np.unique(recoding.node).tolist() if v >= 0]
    used = [used[i] for i in natural_order([names[v] for v in used])]
    token_of = np.full(recoding.cut.hierarchy.n_nodes + 1, -1, np.int32)  # the last entry serves node -1
    token_of[used] = np.arange(len(used), dtype=np.int32)
    groups = max(2 * parallelism(sets), 1 + sets.occurrences // TOGETHER)
    placed = sets.rows.mapInArrow(
        on_workers(_recoded, token=token_of[recoding.node], n_tokens=len(used), secret=os.urandom(32), groups=groups),
        f"key int, {PACKED}",
    )
    texts = on_workers(_texts, names=tuple(names[v] for v in used))
    return placed.groupBy("key").applyInArrow(texts, "items array<string>").withColumnRenamed("items", sets.column)


def named(
    rows: DataFrame, names: tuple[str, ...], column: str, apart: tuple[str, frozenset[str]] | None = None
) -> DataFrame:
    """Rows of ids by their names, in an order that says nothing: one column, and one for items that stand `apart` (its name, they)."""
    hidden = np.array([apart is not None and name in apart[1] for name in names], np.bool_)
    texts = rows.mapInArrow(
        on_workers(_named, names=names, hidden=hidden), "row bigint, items array<string>, hidden array<string>"
    )
    columns = {"items": column} | ({} if apart is None else {"hidden": apart[0]})
    return shuffled(texts, dict.fromkeys(columns, "array<string>")).withColumnsRenamed(columns)


def shuffled(rows: DataFrame, columns: dict[str, str]) -> DataFrame:
    """These columns (with their types) of rows that are numbered in `row`, in an order that says nothing about the numbers."""
    task = on_workers(_placed, columns=tuple(columns), secret=os.urandom(32))
    schema = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    placed = rows.mapInArrow(task, f"place binary, {schema}")
    return placed.repartition("place").sortWithinPartitions("place").select(*columns)


def _placed(batches: Iterator[pa.RecordBatch], columns: tuple[str, ...], secret: bytes) -> Iterator[pa.RecordBatch]:
    """On a worker: rows with the place that the secret gives them, without their number."""
    for batch in batches:
        place = pa.array(_places(batch.column("row").to_numpy(), secret, 16), pa.binary())
        yield pa.record_batch({"place": place} | {name: batch.column(name) for name in columns})


def _places(rows: Longs, secret: bytes, size: int) -> list[bytes]:
    return [hashlib.blake2b(row.to_bytes(8), key=secret, digest_size=size).digest() for row in rows.tolist()]


def _named(
    batches: Iterator[pa.RecordBatch], names: tuple[str, ...], hidden: npt.NDArray[np.bool_]
) -> Iterator[pa.RecordBatch]:
    """On a worker: ids as names, those that stand apart in a list of their own."""
    texts = pa.array(names, pa.string())
    for rows, baskets in pieces(batches):
        lists_of = {}
        for name, chosen in (("items", ~hidden[baskets.items]), ("hidden", hidden[baskets.items])):
            ends = np.concatenate(([0], np.cumsum(chosen)))[baskets.offsets]
            found = texts.take(pa.array(baskets.items[chosen]))
            lists_of[name] = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), found)
        yield pa.record_batch({"row": rows} | lists_of)


def _recoded(
    batches: Iterator[pa.RecordBatch], token: Ints, n_tokens: int, secret: bytes, groups: int
) -> Iterator[pa.RecordBatch]:
    """On a worker: rows of published tokens, numbered by the place that the secret gives them."""
    for rows, baskets in pieces(batches):
        offsets, tokens = by_items(baskets, token, n_tokens)
        place = np.frombuffer(b"".join(_places(rows, secret, 8)), "<u8")
        yield from packed_by(place % groups, place.view("<i8"), offsets[:-1], np.diff(offsets), tokens)


def _texts(table: pa.Table, names: tuple[str, ...]) -> pa.Table:
    """On a worker: the rows of a group by their names, in the order of their places."""
    _, offsets, tokens = together(table)
    texts = pa.array(names, pa.string()).take(pa.array(tokens))
    return pa.table({"items": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), texts)})
