"""Sets on Spark: rows of item ids with a row number each, kept by the executors; names and counts on the driver.

The names of items and how often they occur are counted by Spark and sorted as the local vocabulary is, so an item has the
same id as it would have here. Rows are numbered in the order in which the data frame gives them: whatever a walk meets first, it
meets first locally too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.engines.spark.packing import pieces
from shoal.engines.spark.ragged import Longs, row_of
from shoal.engines.spark.workers import collected, on_workers
from shoal.errors import InputError
from shoal.ordering import natural_order
from shoal.records.storage.digest import groups_for, set_hashes, whole_digest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

IN_PARTITION = 33
"""Bits that `monotonically_increasing_id` uses for the row within its partition."""


@dataclass(frozen=True, eq=False)
class SparkSets:
    """Encoded rows on the executors, and what the driver knows of them."""

    rows: DataFrame
    """Packed: row numbers (from 0, in the order of the data) and items (ids, ascending and unique). Those of a table are not packed."""
    vocabulary: tuple[str, ...]
    counts: npt.NDArray[np.int64]
    """Rows that hold each item."""
    lengths: npt.NDArray[np.int64]
    """Different lengths of rows, ascending."""
    of_length: npt.NDArray[np.int64]
    """How many rows are of each of them."""
    duplicates: int
    column: str
    """The column of the data frame that held the sets."""

    def __len__(self) -> int:
        return int(self.of_length.sum())

    def __repr__(self) -> str:
        return (
            f"SparkSets({len(self):,} transactions, {len(self.vocabulary):,} items, {self.occurrences:,} occurrences)"
        )

    @property
    def session(self) -> SparkSession:
        return self.rows.sparkSession

    @property
    def occurrences(self) -> int:
        return int(self.counts.sum())

    @property
    def empty(self) -> int:
        return int(self.of_length[self.lengths == 0].sum())

    @property
    def longest(self) -> int:
        return int(self.lengths.max(initial=0))

    def supports(self) -> npt.NDArray[np.int64]:
        return self.counts

    def forget(self) -> None:
        """Let the executors drop the rows."""
        self.rows.unpersist()


def check_session(df: DataFrame) -> None:
    """Raises unless the data frame is of a session whose driver is this process."""
    if "connect" in type(df).__module__ or not hasattr(df, "mapInArrow"):
        raise InputError(
            f"the data is {type(df).__module__}.{type(df).__name__}; give a data frame of a Spark session whose driver is this process "
            "(not of Spark Connect)"
        )


def items_column(df: DataFrame, items: str | None, beside: str | None = None) -> str:
    """The column that holds the sets; raises if there is none, or if its elements are neither texts nor whole numbers.

    `beside` is a column of sets that is named for something else.
    """
    from pyspark.sql import types

    arrays = [field.name for field in df.schema.fields if isinstance(field.dataType, types.ArrayType)]
    arrays = [name for name in arrays if name != beside]
    if items is None:
        if len(arrays) != 1:
            found = f"the columns {', '.join(arrays)} hold arrays" if arrays else "no column of it holds arrays"
            raise InputError(f"the data frame: {found}; name the one with the sets (items=COLUMN)")
        items = arrays[0]
    if items not in arrays:
        raise InputError(f"the data frame has no column {items!r} of arrays; it has {', '.join(arrays) or 'none'}")
    element = df.schema[items].dataType.elementType  # type: ignore[attr-defined]
    if not isinstance(element, types.StringType | types.IntegralType):
        raise InputError(
            f"the data frame: column {items!r} holds {element.simpleString()}; items are texts or whole numbers"
        )
    return items


def names_and_counts(given: DataFrame, column: str) -> tuple[tuple[str, ...], npt.NDArray[np.int64]]:
    """All names in natural order, and how many rows hold each."""
    from pyspark.sql import functions as sf

    each = given.select(sf.explode(sf.array_distinct("items")).alias("name"))
    return named_in_order(each.groupBy("name").agg(sf.count("*").alias("count")), column)


def named_in_order(counted: DataFrame, column: str) -> tuple[tuple[str, ...], Longs]:
    """Names and their counts in natural order; raises if an item of the column has no name."""
    found = collected(counted)
    names = found["name"].to_pylist()
    for wrong, told in ((None, "missing"), ("", "empty")):
        if wrong in names:
            rows = found["count"][names.index(wrong)].as_py()
            raise InputError(f"the data frame: {rows:,} rows of column {column!r} hold an item that is {told}; drop it")
    order = natural_order(names)
    return tuple(names[i] for i in order), found["count"].to_numpy()[order].astype(np.int64)


def lengths_of(given: DataFrame) -> tuple[dict[int, int], Longs, Longs, int]:
    """The number of the first row of each partition; lengths and how many rows have them; repeated items."""
    from pyspark.sql import functions as sf

    seen = given.select(
        sf.shiftright("row", IN_PARTITION).alias("part"),
        sf.size(sf.array_distinct("items")).cast("bigint").alias("length"),
        sf.size("items").alias("given"),
    )
    return counted_lengths(
        seen.groupBy("part", "length").agg(
            sf.count("*").alias("count"), sf.sum(sf.col("given") - sf.col("length")).alias("more")
        )
    )


def counted_lengths(counted: DataFrame) -> tuple[dict[int, int], Longs, Longs, int]:
    """From rows (`count`) and repeated items (`more`) by partition and length: what `lengths_of` returns."""
    found = collected(counted)
    part, length, count = (found[name].to_numpy() for name in ("part", "length", "count"))
    parts, place = np.unique(part, return_inverse=True)
    sizes = np.bincount(place.reshape(-1), count, minlength=len(parts)).astype(np.int64)
    starts = dict(zip(parts.tolist(), (np.cumsum(sizes) - sizes).tolist(), strict=True))
    lengths, place = np.unique(length, return_inverse=True)
    of_length = np.bincount(place.reshape(-1), count, minlength=len(lengths)).astype(np.int64)
    return starts, lengths.astype(np.int64), of_length, int(np.sum(found["more"].to_numpy()))


def numbered(number: Longs, starts: dict[int, int]) -> Longs:
    """On a worker: rows numbered through, from `monotonically_increasing_id` and the number of the first row of each partition."""
    part = number >> IN_PARTITION
    parts = np.unique(part)
    start = np.array([starts[p] for p in parts.tolist()], np.int64)
    return start[np.searchsorted(parts, part)] + (number & ((1 << IN_PARTITION) - 1))


def ids_of(sets: pa.ListArray, known: pa.Array) -> tuple[Longs, Any]:
    """On a worker: lists of names as (offsets, ids), ascending and each once in its row, as `Baskets` hold them."""
    import pyarrow.compute as pc

    offsets = sets.offsets.to_numpy().astype(np.int64)
    texts = sets.values[int(offsets[0]) : int(offsets[-1])]
    ids = pc.index_in(texts.cast(pa.string()), known).to_numpy(zero_copy_only=False)
    return once_in_a_row(offsets - offsets[0], ids)


def once_in_a_row(offsets: Longs, ids: Any) -> tuple[Longs, Any]:
    """(offsets, ids), ascending and each once in its row."""
    key = np.sort((row_of(offsets) << 32) | ids.astype(np.int64))
    first = np.ones(len(key), np.bool_)  # np.unique hashes, which takes several times as long
    first[1:] = key[1:] != key[:-1]
    key = key[first]
    ends = np.searchsorted(key >> 32, np.arange(len(offsets)))
    return ends, (key & 0xFFFFFFFF).astype(np.int32)


def digest(sets: SparkSets) -> str:
    """As `shoal.records.storage.digest`, which depends neither on the order of rows nor on how they are spread."""
    return digest_of(sets.rows, len(sets), [*sets.vocabulary], _hashed)


def digest_of(rows: DataFrame, n: int, names: list[Any], hashed: Callable[..., Any]) -> str:
    """The digest of n rows from what `hashed` makes of each, and from the names that their codes stand for."""
    each = rows.mapInArrow(on_workers(hashed, groups=groups_for(n)), "group int, digest binary")
    found = collected(each.groupBy("group").applyInArrow(on_workers(_hashed_together), "group int, digest binary"))
    return whole_digest(n, names, dict(zip(found["group"].to_pylist(), found["digest"].to_pylist(), strict=True)))


def _hashed(batches: Iterator[pa.RecordBatch], groups: int) -> Iterator[pa.RecordBatch]:
    """On a worker: the hash of every row of ids, and the group it is sorted in."""
    for _, baskets in pieces(batches):
        yield in_groups(set_hashes(baskets.offsets, baskets.items), groups)


def in_groups(hashes: Iterable[bytes], groups: int) -> pa.RecordBatch:
    """Hashes of rows, one after the other for each group in which they are sorted."""
    by_group: dict[int, list[bytes]] = {}
    for one in hashes:
        by_group.setdefault(int.from_bytes(one[:4]) % groups, []).append(one)
    together = [b"".join(own) for own in by_group.values()]
    return pa.record_batch({"group": pa.array([*by_group], pa.int32()), "digest": pa.array(together, pa.binary())})


def _hashed_together(table: pa.Table) -> pa.Table:
    """On a worker: the hash of all hashes of a group, in their order."""
    hashes = b"".join(table["digest"].to_pylist())
    each = sorted(hashes[at : at + 32] for at in range(0, len(hashes), 32))
    together = hashlib.sha256(b"".join(each)).digest()
    return pa.table({"group": table["group"][:1], "digest": pa.array([together], pa.binary())})


def rows_holding(
    sets: SparkSets, itemsets: list[list[int]], *, alone: bool = False, beside: npt.NDArray[np.bool_] | None = None
) -> list[Longs]:
    """The rows that hold each of a few itemsets (`alone`: and nothing else but items that `beside` marks), ascending. For witnesses."""
    task = on_workers(_holding, itemsets=itemsets, alone=alone, beside=beside)
    found = collected(sets.rows.mapInArrow(task, "itemset int, row bigint"))
    which, row = found["itemset"].to_numpy(), found["row"].to_numpy()
    return [np.sort(row[which == i]) for i in range(len(itemsets))]


def _holding(
    batches: Iterator[pa.RecordBatch], itemsets: list[list[int]], alone: bool, beside: npt.NDArray[np.bool_] | None
) -> Iterator[pa.RecordBatch]:
    for rows, baskets in pieces(batches):
        of_item = row_of(baskets.offsets)
        lengths = baskets.lengths
        if beside is not None:
            lengths = np.bincount(of_item[~beside[baskets.items]], minlength=len(rows))
        for i, itemset in enumerate(itemsets):
            held = np.bincount(of_item[np.isin(baskets.items, itemset)], minlength=len(rows)) == len(itemset)
            here = rows[held & (lengths == len(itemset)) if alone else held]
            if len(here):
                yield pa.record_batch({"itemset": np.full(len(here), i, np.int32), "row": here})
