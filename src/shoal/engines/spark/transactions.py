"""k-anonymous transactions on Spark: rows in Gray order by Spark's range partitioning, then grouped block by block.

Spark sorts the rows by their place in the Gray order (`gray_places`), ties by row number. From the sizes of its
partitions every row knows its place among all rows, and blocks are cut by that place, not by the borders of partitions: every block has at
least k rows, so no class is ever too small for want of a neighbour, and what is published depends neither on the number of
partitions nor on where Spark drew their borders.

`gsc` is then the local algorithm, row for row: blocks are whole numbers of classes. `split` runs inside blocks of about `ROWS`
rows, with items ranked by frequency; rows of different blocks never share a class, which is what it loses against the local one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.algorithms import check_options, entry
from shoal.algorithms.recoding import Options
from shoal.algorithms.transactions.classes import Classes
from shoal.engines.spark.packing import pieces
from shoal.engines.spark.ragged import Ints, Longs, flat, gathered, lists, row_of
from shoal.engines.spark.sets import IN_PARTITION, SparkSets, numbered
from shoal.engines.spark.workers import collected, on_workers
from shoal.errors import InputError, Unreachable
from shoal.guarantees.k import KAnonymity
from shoal.price.edits import edits
from shoal.records.baskets import Baskets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = 50_000
"""Rows of a block, about."""
END = np.iinfo(np.int32).max
ON_SPARK = ("split", "gsc")
_WHY_NOT = {
    "pta": "its segments are walked as tours of the whole of each, which blocks would cut",
    "gray-tsp": "its genetic search keeps loops through all rows in one place",
}


def check_algorithm(name: str | None, guarantee: KAnonymity, given: dict[str, object]) -> str:
    """The name of an algorithm that runs on Spark; raises with the reason for others, and for options it has no use for."""
    name, _ = entry("k", name)
    if name not in ON_SPARK:
        raise InputError(
            f"algorithm {name} does not run on Spark: {_WHY_NOT[name]}; use split or gsc, or the local engine"
        )
    if guarantee.l > 1:
        raise InputError(
            f"{guarantee} cannot be reached on Spark: classes with few sensitive items are merged with their neighbours, which may stand "
            "in another block; leave out l, or use the local engine"
        )
    if given.get("time_limit") is not None:
        raise InputError(
            "a time limit has no use for transactions on Spark, where every block takes its own time; leave it out"
        )
    check_options("k", name, given)
    return name


@dataclass(frozen=True, eq=False)
class Grouped:
    """Published rows on the executors, and what the driver knows of their classes."""

    rows: DataFrame
    """`row` and `items`: the ids of the centre of its class, and its own sensitive ones."""
    added: int
    removed: int
    classes: dict[str, Any]
    """`count`, `smallest`, `largest`, `average`."""
    blocks: int


def grouped(sets: SparkSets, guarantee: KAnonymity, name: str, options: Options) -> Grouped:
    """Classes of at least k rows, each published as its centre. The executors keep the rows until they are forgotten."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as sf

    n, k = len(sets), int(guarantee.k)
    if k > n:
        raise Unreachable(
            f"{guarantee} cannot be reached: there are only {n:,} transactions, fewer than k = {k:,}; choose a smaller k"
        )
    hidden = np.array([item in guarantee.sensitive for item in sets.vocabulary], np.bool_)
    ordered = _ordered(sets, _ranks(sets, name), hidden).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        found = collected(ordered.groupBy(sf.shiftright("number", IN_PARTITION).alias("part")).count())
        sizes = dict(sorted(zip(found["part"].to_pylist(), found["count"].to_pylist(), strict=True)))
        ends = np.cumsum(list(sizes.values()))
        starts = dict(zip(sizes, (ends - list(sizes.values())).tolist(), strict=True))
        bounds = block_bounds(n, k, name)
        rows = (
            ordered.mapInArrow(
                on_workers(_blocked, starts=starts, bounds=bounds),
                "block int, place bigint, row bigint, items array<int>",
            )
            .groupBy("block")
            .applyInArrow(
                on_workers(_published, guarantee=guarantee, hidden=hidden, name=name, seed=options.seed),
                "row bigint, items array<int>, added int, removed int, leads int",
            )
            .persist(StorageLevel.MEMORY_AND_DISK)
        )
        leads = sf.when(sf.col("leads") > 0, sf.col("leads"))
        told = collected(
            rows.agg(
                sf.count("*").alias("rows"),
                sf.sum("added").alias("added"),
                sf.sum("removed").alias("removed"),
                sf.count(leads).alias("count"),
                sf.min(leads).alias("smallest"),
                sf.max(leads).alias("largest"),
            )
        ).to_pylist()[0]
    finally:
        ordered.unpersist()
    classes = {name: told[name] for name in ("count", "smallest", "largest")} | {"average": n / max(1, told["count"])}
    return Grouped(rows, told["added"], told["removed"], classes, len(bounds) - 1)


def block_bounds(n: int, k: int, name: str) -> Longs:
    """Places at which blocks begin, and n: every block has at least k rows, and for `gsc` all but the last a multiple of k."""
    if name == "gsc":
        per_block = max(1, ROWS // k) * k
        return np.append(np.arange(max(1, n // per_block), dtype=np.int64) * per_block, n)
    blocks = max(1, n // max(ROWS, 2 * k))
    return np.arange(blocks + 1, dtype=np.int64) * n // blocks


def _ranks(sets: SparkSets, name: str) -> Ints:
    """The place of each item among the bits: by id as the paper has it, or by frequency, so that neighbours share frequent items."""
    rank = np.arange(len(sets.vocabulary), dtype=np.int32)
    if name != "gsc":
        rank[np.argsort(-sets.supports(), kind="stable")] = np.arange(len(rank), dtype=np.int32)
    return rank


def _ordered(sets: SparkSets, rank: Ints, hidden: npt.NDArray[np.bool_]) -> DataFrame:
    """The rows in Gray order: over all partitions, and numbered within each."""
    from pyspark.sql import functions as sf

    placed = sets.rows.mapInArrow(
        on_workers(_placed, rank=rank, hidden=hidden), "place array<int>, row bigint, items array<int>"
    )
    parallel = max(1, int(sets.session.sparkContext.defaultParallelism))
    parts = max(2 * parallel, len(sets) // ROWS)
    return (
        placed.repartitionByRange(parts, "place", "row")
        .sortWithinPartitions("place", "row")
        .select(sf.monotonically_increasing_id().alias("number"), "row", "items")
    )


def _placed(batches: Iterator[pa.RecordBatch], rank: Ints, hidden: npt.NDArray[np.bool_]) -> Iterator[pa.RecordBatch]:
    """On a worker: rows with their place in the Gray order of the given ranks, sensitive items left out of it."""
    for rows, baskets in pieces(batches):
        known = ~hidden[baskets.items]
        offsets = np.concatenate(([0], np.cumsum(known)))[baskets.offsets]
        ranks, row = rank[baskets.items[known]], row_of(offsets)
        ranks = ranks[np.lexsort((ranks, row))]
        yield pa.record_batch(
            {"place": gray_places(offsets, ranks), "row": rows, "items": lists(baskets.offsets, baskets.items)}
        )


def _blocked(batches: Iterator[pa.RecordBatch], starts: dict[int, int], bounds: Longs) -> Iterator[pa.RecordBatch]:
    """On a worker: rows with their place among all rows, and the block that it falls in."""
    for batch in batches:
        place = numbered(batch.column("number").to_numpy(), starts)
        block = np.searchsorted(bounds, place, side="right") - 1
        yield pa.record_batch(
            {
                "block": block.astype(np.int32),
                "place": place,
                "row": batch.column("row"),
                "items": batch.column("items"),
            }
        )


def _published(table: pa.Table, guarantee: KAnonymity, hidden: npt.NDArray[np.bool_], name: str, seed: int) -> pa.Table:
    """On a worker: the rows of one block as their classes are published."""
    order = np.argsort(table["place"].to_numpy(), kind="stable")
    offsets, ids = flat(table["items"])
    offsets, ids = gathered(offsets[:-1][order], np.diff(offsets)[order], ids)
    row = row_of(offsets)
    known = ~hidden[ids]
    used, code = np.unique(ids[known], return_inverse=True)
    quasi = Baskets(
        np.concatenate(([0], np.cumsum(known)))[offsets],
        code.reshape(-1).astype(np.int32),
        tuple(map(str, range(len(used)))),
    )
    classes = _CLASSES[name](quasi, guarantee, seed)
    centres = classes.apply()
    changed = edits(quasi, centres)
    # Centre and sensitive items of a row together, ascending.
    width = len(hidden) + 1
    key = np.concatenate(
        (row_of(centres.offsets) * width + used[centres.items].astype(np.int64), row[~known] * width + ids[~known])
    )
    key.sort()
    ends = np.searchsorted(key // width, np.arange(len(order) + 1))
    leads = np.zeros(len(order), np.int32)
    leads[np.unique(classes.of_row, return_index=True)[1]] = classes.sizes
    return pa.table(
        {
            "row": table["row"].to_numpy()[order],
            "items": lists(ends, (key % width).astype(np.int32)),
            "added": changed.added_in_row.astype(np.int32),
            "removed": changed.removed_in_row.astype(np.int32),
            "leads": leads,
        }
    )


def _consecutive(rows: Baskets, guarantee: KAnonymity, seed: int) -> Classes:
    """Every k rows a class, as `gsc` has it; they are in Gray order already."""
    from shoal.kernels.classes.centres import class_centres

    n, k = len(rows), int(guarantee.k)
    bounds = np.append(np.arange(0, n // k * k, k, dtype=np.int64), n)
    found = class_centres(rows.offsets, rows.items, len(rows.vocabulary), np.arange(n, dtype=np.int64), bounds, 1)
    of_row = np.repeat(np.arange(n // k, dtype=np.int32), np.diff(bounds))
    return Classes(of_row, Baskets(found.offsets, found.items, rows.vocabulary), algorithm="gsc")


def _split(rows: Baskets, guarantee: KAnonymity, seed: int) -> Classes:
    from shoal.algorithms.transactions.split import split

    return split(rows, guarantee, None, Options(seed=seed, threads=1))


_CLASSES: dict[str, Callable[[Baskets, KAnonymity, int], Classes]] = {"gsc": _consecutive, "split": _split}


def gray_places(offsets: Longs, ids: Ints) -> pa.ListArray:
    """The place of each row in the Gray order (`shoal.kernels.classes.gray`), as a list that Spark compares as it compares any list.

    It has ids, falling at even places and rising at odd ones, with a number above all others where a row ends before an odd
    place. Ids count from 1 there, so that each has a sign.
    """
    lengths = np.diff(offsets)
    within = np.arange(len(ids)) - np.repeat(offsets[:-1], lengths)
    signed = np.where(within % 2 == 0, -1, 1) * (ids + 1)
    ends = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths + lengths % 2, out=ends[1:])
    place = np.full(ends[-1], END, np.int32)
    place[ends[:-1][row_of(offsets)] + within] = signed
    return lists(ends, place)
