"""Rows of sets that share their common items, in blocks: in Gray order by Spark's range partitioning, cut by place.

Spark sorts the rows by their place in the Gray order (`gray_places`), ties by row number. From what its partitions hold every row knows how
many rows, or items, stand before it, and blocks are cut by that, not by the borders of partitions: what is in a block depends neither on
the number of partitions nor on where Spark drew their borders.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from shoal.numbers import Bools, Codes, Ints
from shoal.spark.data.encoding import IN_PARTITION, first_rows, number_rows
from shoal.spark.data.executors import fetch, map_rows
from shoal.spark.data.packing import flat, gather, lists, offsets_of, pieces, row_of, take_marked
from shoal.spark.data.sets import SparkSets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BLOCKED = "block int, place bigint, row bigint, items array<int>"
"""The schema of rows with their block, and their place among all rows."""
_ROWS = 50_000
"""Rows of a partition that is sorted, about."""
_END = np.iinfo(np.int32).max


def common_first(sets: SparkSets) -> Codes:
    """The place of each item among the bits by frequency, so that neighbours share frequent items."""
    rank = np.empty(len(sets.vocabulary), np.int32)
    rank[np.argsort(-sets.supports(), kind="stable")] = np.arange(len(rank), dtype=np.int32)
    return rank


def gray_order(sets: SparkSets, rank: Codes, hidden: Bools) -> DataFrame:
    """The rows in Gray order: over all partitions, and numbered within each."""
    from pyspark.sql import functions as sf

    schema = "place array<int>, row bigint, items array<int>"
    return (
        map_rows(sets.rows, _place_rows, schema, rank=rank, hidden=hidden)
        .repartitionByRange(max(2 * sets.parallel, len(sets) // _ROWS), "place", "row")
        .sortWithinPartitions("place", "row")
        .select(sf.monotonically_increasing_id().alias("number"), "row", "items")
    )


def cut_into_blocks(ordered: DataFrame, bounds: Ints, *, by_items: bool = False) -> DataFrame:
    """The rows of `gray_order`, which the executors keep, in blocks; `bounds` count the rows, or the items, before each block, and all."""
    from pyspark.sql import functions as sf

    parts = ordered.groupBy(sf.shiftright("number", IN_PARTITION).alias("part"))
    sizes = fetch(parts.agg(sf.count("*").alias("rows"), sf.sum(sf.size("items")).alias("items")))
    of_part = sizes["part"].to_numpy()
    starts, before = (first_rows(of_part, sizes[name].to_numpy()) for name in ("rows", "items"))
    how = {"starts": starts, "before": before if by_items else None, "bounds": bounds}
    return map_rows(ordered, _with_blocks, BLOCKED, **how)


def _place_rows(batches: Iterator[pa.RecordBatch], rank: Codes, hidden: Bools) -> Iterator[pa.RecordBatch]:
    """On a worker: rows with their place in the Gray order of the given ranks, sensitive items left out of it."""
    for rows, baskets in pieces(batches):
        known = take_marked(baskets, ~hidden[baskets.items])
        ranks, row = rank[known.items], row_of(known.offsets)
        ranks = ranks[np.lexsort((ranks, row))]
        yield pa.record_batch(
            {
                "place": gray_places(known.offsets, ranks),
                "row": rows,
                "items": lists(baskets.offsets, baskets.items),
            }
        )


def gray_places(offsets: Ints, ids: Codes) -> pa.ListArray:
    """The place of each row in the Gray order (`shoal.kernels.classes.gray`), as a list that Spark compares as it compares any list.

    It has ids, falling at even places and rising at odd ones, with a number above all others where a row ends before an odd
    place. Ids count from 1 there, so that each has a sign.
    """
    lengths = np.diff(offsets)
    within = np.arange(len(ids)) - np.repeat(offsets[:-1], lengths)
    signed = np.where(within % 2 == 0, -1, 1) * (ids + 1)
    ends = offsets_of(lengths + lengths % 2)
    place = np.full(ends[-1], _END, np.int32)
    place[ends[:-1][row_of(offsets)] + within] = signed
    return lists(ends, place)


def _with_blocks(
    batches: Iterator[pa.RecordBatch], starts: dict[int, int], before: dict[int, int] | None, bounds: Ints
) -> Iterator[pa.RecordBatch]:
    """On a worker, which has all rows of a partition in their order: rows with their place among all rows, and their block."""
    passed: int | None = None
    for batch in batches:
        if not len(batch):
            continue
        number, items = batch.column("number").to_numpy(), batch.column("items")
        place = number_rows(number, starts)
        at = place
        if before is not None:
            if passed is None:
                passed = before[int(number[0]) >> IN_PARTITION]
            offsets = items.offsets.to_numpy().astype(np.int64) - items.offsets[0].as_py() + passed
            at, passed = offsets[:-1], int(offsets[-1])
        # Rows at the very end may hold nothing.
        block = np.minimum(np.searchsorted(bounds, at, side="right") - 1, len(bounds) - 2).astype(np.int32)
        yield pa.record_batch({"block": block, "place": place, "row": batch.column("row"), "items": items})


def rows_of_block(table: pa.Table) -> tuple[Ints, Ints, Codes]:
    """On a worker: the rows of one block in their order, as (row numbers, offsets, items)."""
    order = np.argsort(table["place"].to_numpy(), kind="stable")
    offsets, ids = flat(table["items"])
    return table["row"].to_numpy()[order], *gather(offsets[:-1][order], np.diff(offsets)[order], ids)
