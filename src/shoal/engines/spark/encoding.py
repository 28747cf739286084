"""Sets of a data frame as rows of item ids: names are listed piece by piece where they lie, then in common.

The texts of a row pass once from Spark to a worker, which numbers the names of some thousand rows by itself. From then on rows are
packed numbers: the driver puts all names into the order of the local vocabulary, and the workers exchange their numbers for those.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.engines.spark.packing import MOST, PACKED, packed
from shoal.engines.spark.ragged import Longs, row_of
from shoal.engines.spark.sets import (
    IN_PARTITION,
    SparkSets,
    check_session,
    counted_lengths,
    items_column,
    named_in_order,
    numbered,
    once_in_a_row,
)
from shoal.engines.spark.workers import collected, on_workers
from shoal.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OWN_FIELDS = (
    pa.field("number", pa.int64()),
    pa.field("lengths", pa.binary()),
    pa.field("items", pa.binary()),
    pa.field("names", pa.list_(pa.string())),
    pa.field("counts", pa.list_(pa.int64())),
    pa.field("length", pa.list_(pa.int64())),
    pa.field("of_length", pa.list_(pa.int64())),
    pa.field("more", pa.int64()),
)
_OWN_NAMES = (
    "number bigint, lengths binary, items binary, names array<string>, counts array<bigint>, length array<bigint>, "
    "of_length array<bigint>, more bigint"
)


def encoded(df: DataFrame, items: str | None = None) -> SparkSets:
    """The sets of a column of arrays (`items` unless there is only one such column)."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as sf

    check_session(df)
    column = items_column(df, items)
    names = sf.col("`" + column.replace("`", "``") + "`").cast("array<string>")
    given = df.select(
        sf.monotonically_increasing_id().alias("row"),
        sf.coalesce(names, sf.array().cast("array<string>")).alias("items"),
    )
    pieces = given.mapInArrow(on_workers(_by_own_names), _OWN_NAMES).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        vocabulary, counts = _common_names(pieces, column)
        starts, lengths, of_length, duplicates = _lengths(pieces)
        rows = pieces.mapInArrow(on_workers(_by_common_names, names=vocabulary, starts=starts), PACKED).persist(
            StorageLevel.MEMORY_AND_DISK
        )
        # Counting fills the store of the encoded rows; from then on the texts are not needed.
        found = (collected(rows.agg(sf.sum(sf.octet_length("rows")).alias("n")))["n"][0].as_py() or 0) // 8
    finally:
        pieces.unpersist()
    if found != of_length.sum():
        rows.unpersist()
        raise InputError(
            f"the data frame gave {of_length.sum():,} rows, then {found:,}: it is not the same every time it is computed; "
            "write it to a table or checkpoint it first"
        )
    return SparkSets(rows, vocabulary, counts, lengths, of_length, duplicates, column)


def _by_own_names(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """On a worker: rows of names as rows of ids in a list of names of their own, each once in its row; and what they count."""
    for batch in batches:
        if not len(batch):
            continue
        sets = batch.column("items")
        offsets = sets.offsets.to_numpy().astype(np.int64)
        texts = sets.values[int(offsets[0]) : int(offsets[-1])].cast(pa.string())
        coded = texts.dictionary_encode(null_encoding="encode")
        ends, ids = once_in_a_row(offsets - offsets[0], coded.indices.to_numpy(zero_copy_only=False))
        length, of_length = np.unique(np.diff(ends), return_counts=True)
        facts = {"number": batch.column("row")[0].as_py(), "more": len(texts) - len(ids)} | {
            "names": coded.dictionary,
            "counts": np.bincount(ids, minlength=len(coded.dictionary)),
            "length": length,
            "of_length": of_length,
        }
        packed_rows = packed(np.zeros(0), ends, ids)
        yield pa.record_batch(
            [
                packed_rows[field.name] if field.name in packed_rows else pa.array([facts[field.name]], field.type)
                for field in _OWN_FIELDS
            ],
            schema=pa.schema(_OWN_FIELDS),
        )


def _common_names(pieces: DataFrame, column: str) -> tuple[tuple[str, ...], Longs]:
    """All names in natural order, and how many rows hold each."""
    from pyspark.sql import functions as sf

    each = pieces.select(sf.inline(sf.arrays_zip("names", "counts")))
    return named_in_order(each.groupBy(sf.col("names").alias("name")).agg(sf.sum("counts").alias("count")), column)


def _lengths(pieces: DataFrame) -> tuple[dict[int, int], Longs, Longs, int]:
    """The number of the first row of each partition; lengths and how many rows have them; repeated items."""
    from pyspark.sql import functions as sf

    part = sf.shiftright("number", IN_PARTITION).alias("part")
    # What a piece repeats is told with the first of its lengths.
    each = pieces.select(part, "more", sf.posexplode(sf.arrays_zip("length", "of_length")).alias("at", "told"))
    more = sf.when(sf.col("at") == 0, sf.col("more")).otherwise(0)
    return counted_lengths(
        each.select("part", more.alias("more"), "told.length", "told.of_length")
        .groupBy("part", "length")
        .agg(sf.sum("of_length").alias("count"), sf.sum("more").alias("more"))
    )


def _by_common_names(
    batches: Iterator[pa.RecordBatch], names: tuple[str, ...], starts: dict[int, int]
) -> Iterator[pa.RecordBatch]:
    """On a worker: rows of ids in the common list of names, numbered through, as many in one row of Spark as a task works on."""
    import pyarrow.compute as pc

    known = pa.array(names, pa.string())
    rows, lengths, items = [], [], []
    for batch in batches:
        columns = [batch.column(name) for name in ("number", "lengths", "items", "names")]
        for number, own_lengths, own_items, own_names in zip(*columns, strict=True):
            offsets = np.zeros(len(own_lengths.as_py()) // 4 + 1, np.int64)
            np.cumsum(np.frombuffer(own_lengths.as_py(), "<i4"), out=offsets[1:])
            common = pc.index_in(own_names.values.cast(pa.string()), known).to_numpy(zero_copy_only=False)
            ids = np.sort((row_of(offsets) << 32) | common[np.frombuffer(own_items.as_py(), "<i4")])
            first = numbered(np.array([number.as_py()]), starts)[0]
            rows.append(first + np.arange(len(offsets) - 1))
            lengths.append(np.diff(offsets))
            items.append((ids & 0xFFFFFFFF).astype(np.int32))
            if sum(map(len, items)) >= MOST:
                yield _one(rows, lengths, items)
                rows, lengths, items = [], [], []
    if rows:
        yield _one(rows, lengths, items)


def _one(rows: list[Longs], lengths: list[Longs], items: list[Any]) -> pa.RecordBatch:
    offsets = np.concatenate([[0], *lengths]).cumsum()
    return pa.record_batch(packed(np.concatenate(rows), offsets, np.concatenate(items)))
