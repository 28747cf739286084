"""Sets on Spark: rows of item ids with a row number each, kept by the executors; names and counts on the driver.

The driver puts all names into the order of the local vocabulary, so an item has the same id as it would have here. Rows are numbered in the
order in which the data frame gives them: whatever a walk meets first, it meets first locally too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import VALUES, InputError, number_of
from shoal.numbers import Bools, Ints
from shoal.ordering import natural_order
from shoal.records.roles import comma_parts
from shoal.records.storage.digest import groups_for, row_digest, set_hashes, whole_digest
from shoal.spark.data.encoding import (
    IN_PARTITION,
    OWN_NAMES,
    by_common_names,
    by_own_names,
    first_rows,
    once_in_a_row,
)
from shoal.spark.data.executors import count_keys, fetch, map_groups, map_rows, store, total_batch
from shoal.spark.data.one_task import ask_all, fits
from shoal.spark.data.packing import PACKED, pieces, row_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


@dataclass(frozen=True, eq=False)
class SparkSets:
    """Encoded rows on the executors, and what the driver knows of them."""

    rows: DataFrame
    """Packed: row numbers (from 0, in the order of the data) and items (ids, ascending and unique). Those of a table are not packed."""
    vocabulary: tuple[str, ...]
    counts: Ints
    """Rows that hold each item."""
    lengths: Ints
    """Different lengths of rows, ascending."""
    of_length: Ints
    """How many rows are of each of them."""
    duplicates: int
    column: str
    """The column of the data frame that held the sets."""
    own: tuple[DataFrame, dict[int, int]] | None = None
    """Where nobody has asked for all rows more than once: rows by the names of their partition, and the first row of each partition."""

    template = None
    """There is no table around the sets; `SparkRecords` have one."""
    has_sets = True
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.of_length.sum())

    def __repr__(self) -> str:
        return (
            f"SparkSets({len(self):,} transactions, {len(self.vocabulary):,} items, {self.occurrences:,} occurrences)"
        )

    @property
    def sets(self) -> SparkSets:
        return self

    @property
    def session(self) -> SparkSession:
        return self.rows.sparkSession

    @property
    def parallel(self) -> int:
        """Tasks that the cluster runs at a time."""
        return max(1, int(self.session.sparkContext.defaultParallelism))

    @property
    def occurrences(self) -> int:
        return int(self.counts.sum())

    @property
    def empty(self) -> int:
        return int(self.of_length[self.lengths == 0].sum())

    @property
    def longest(self) -> int:
        return int(self.lengths.max(initial=0))

    @property
    def columns(self) -> set[str]:
        """The columns of the data frame that were looked at."""
        return {self.column}

    def supports(self) -> Ints:
        return self.counts

    def marks(self, names: Iterable[str]) -> Bools:
        """Which items are called by one of the names."""
        wanted = frozenset(names)
        return np.array([name in wanted for name in self.vocabulary], np.bool_)

    def reading_facts(self) -> dict[str, Any]:
        """How the rows are read, for a certificate."""
        return {"items": self.column}

    def digest(self) -> str:
        """As `shoal.records.storage.digest`, which depends neither on the order of rows nor on how they are spread."""
        if fits(self):
            return str(ask_all(self, row_digest))
        return digest_of(self.rows, len(self), [*self.vocabulary], _hash_sets)

    def forget(self) -> None:
        """Let the executors drop the rows."""
        (self.rows if self.own is None else self.own[0]).unpersist()


def packed_sets(rows: DataFrame, names: tuple[str, ...], column: str) -> SparkSets:
    """Packed rows of ids into `names`, which are in natural order, with what they count themselves."""
    n = len(names)
    counts = count_keys(rows, _count_ids, 2 * n + 1, n_names=n)
    counts, of_length = counts[:n], counts[n:]
    lengths = np.flatnonzero(of_length)
    return SparkSets(rows, names, counts, lengths, of_length[lengths], 0, column)


def _count_ids(batches: Iterator[pa.RecordBatch], n_names: int) -> Iterator[pa.RecordBatch]:
    """On a worker: its rows that hold each id, and behind them how many have each length."""
    total = np.zeros(2 * n_names + 1, np.int64)
    for _, baskets in pieces(batches):
        total[:n_names] += np.bincount(baskets.items, minlength=n_names)
        total[n_names:] += np.bincount(baskets.lengths, minlength=n_names + 1)
    yield total_batch(total)


def check_session(df: DataFrame) -> None:
    """Raises unless the data frame is of a session whose driver is this process."""
    if "connect" in type(df).__module__:
        raise InputError(
            "the data frame is of Spark Connect (as with Databricks Connect, and on serverless and shared clusters), whose driver is "
            "another process; run Shoal in the driver itself: a notebook on a dedicated cluster, or a job by spark-submit"
        )
    if not hasattr(df, "mapInArrow"):
        raise InputError(f"the data is {type(df).__module__}.{type(df).__name__}; give a data frame of a Spark session")


def items_column(df: DataFrame, items: str | None, beside: str | None = None) -> str:
    """The column that holds the sets; raises if there is none, or if its elements are neither texts nor whole numbers.

    `beside` is a column of sets that is named for something else.
    """
    from pyspark.sql import types

    arrays = [field.name for field in df.schema.fields if isinstance(field.dataType, types.ArrayType)]
    arrays = [name for name in arrays if name != beside]
    if items is None:
        if len(arrays) != 1:
            there = f"the columns {', '.join(arrays)} hold arrays" if arrays else "no column of it holds arrays"
            raise InputError(f"the data frame: {there}; name the one with the sets (items=COLUMN)")
        items = arrays[0]
    if items not in arrays:
        raise InputError(f"the data frame has no column {items!r} of arrays; it has {', '.join(arrays) or 'none'}")
    element = df.schema[items].dataType.elementType  # type: ignore[attr-defined]
    if not isinstance(element, types.StringType | types.IntegralType):
        raise InputError(
            f"the data frame: column {items!r} holds {element.simpleString()}; items are texts or whole numbers"
        )
    return items


def column_called(name: str) -> Column:
    """The column of a data frame, whatever its name looks like."""
    from pyspark.sql import functions as sf

    return sf.col("`" + name.replace("`", "``") + "`")


def name_lists(column: str | None) -> Column:
    """The sets of a column as lists of texts; empty lists for missing ones, and where there is no column."""
    from pyspark.sql import functions as sf

    nothing = sf.array().cast("array<string>")
    return nothing if column is None else sf.coalesce(column_called(column).cast("array<string>"), nothing)


def encode_sets(df: DataFrame, items: str | None = None, *, for_one_task: bool = False) -> SparkSets:
    """The sets of a column of arrays (`items` unless there is only one such column).

    The executors keep the encoded rows; `for_one_task`, where they fit one, what that task encodes them from.
    """
    from pyspark.sql import functions as sf

    check_session(df)
    column = items_column(df, items)
    given = df.select(sf.monotonically_increasing_id().alias("row"), name_lists(column).alias("items"))
    own = store(map_rows(given, by_own_names, OWN_NAMES))
    try:
        told = own.select(sf.inline("told")).groupBy("name", "part", "length")
        table = fetch(told.agg(sf.sum("count").alias("count"), sf.sum("more").alias("more")))
        of_name = table.filter(pc.is_null(table["part"])).select(["name", "count"])
        vocabulary, supports = names_in_order(of_name, column)
        starts, lengths, of_length, duplicates = _lengths_from_counts(table.filter(pc.is_valid(table["part"])))
        rows = map_rows(own, by_common_names, PACKED, names=vocabulary, starts=starts)
        sets = SparkSets(rows, vocabulary, supports, lengths, of_length, duplicates, column, (own, starts))
        if for_one_task and fits(sets):
            return sets
        # Counting fills the store of the encoded rows; from then on the texts are not needed.
        size = fetch(store(rows).agg(sf.sum(sf.octet_length("rows")).alias("n")))["n"][0].as_py() or 0
    except BaseException:
        own.unpersist()
        raise
    own.unpersist()
    check_same_rows(rows, int(of_length.sum()), size // 8)
    return replace(sets, own=None)


def check_same_rows(rows: DataFrame, first: int, then: int) -> None:
    """Raises if the data frame gave one number of rows and then another."""
    if first != then:
        rows.unpersist()
        raise InputError(
            f"the data frame gave {first:,} rows, then {then:,}: it is not the same every time it is computed; "
            "write it to a table or checkpoint it first"
        )


def item_names(texts: Iterable[str], vocabulary: Sequence[str]) -> list[str]:
    """The items that texts name: one each, or several with commas between them."""
    known = set(vocabulary)
    return [name for text in texts for name in ([text] if text in known else comma_parts(text))]


def check_known(names: Iterable[str], vocabulary: Sequence[str]) -> None:
    """Raises if a sensitive item that is named does not occur."""
    known = set(vocabulary)
    if unknown := [name for name in names if name not in known]:
        raise InputError(
            f"{len(unknown):,} of the sensitive items that are named do not occur in the data{VALUES}; correct the names, or leave out "
            "what is not there",
            values=unknown,
        )


def names_and_counts(given: DataFrame, column: str) -> tuple[tuple[str, ...], Ints]:
    """All names in natural order, and how many rows hold each."""
    from pyspark.sql import functions as sf

    each = given.select(sf.explode(sf.array_distinct("items")).alias("name"))
    return names_in_order(fetch(each.groupBy("name").agg(sf.count("*").alias("count"))), column)


def names_in_order(table: pa.Table, column: str) -> tuple[tuple[str, ...], Ints]:
    """Names and their counts in natural order; raises if an item of the column has no name."""
    names = table["name"].to_pylist()
    for wrong, word in ((None, "missing"), ("", "empty")):
        if wrong in names:
            rows = table["count"][names.index(wrong)].as_py()
            raise InputError(
                f"the data frame: {number_of(rows, 'row')} of column {column!r} {'holds' if rows == 1 else 'hold'} an "
                f"item that is {word}; drop it"
            )
    order = natural_order(names)
    return tuple(names[i] for i in order), table["count"].to_numpy()[order].astype(np.int64)


def lengths_of(given: DataFrame) -> tuple[dict[int, int], Ints, Ints, int]:
    """The number of the first row of each partition; lengths and how many rows have them; repeated items."""
    from pyspark.sql import functions as sf

    seen = given.select(
        sf.shiftright("row", IN_PARTITION).alias("part"),
        sf.size(sf.array_distinct("items")).cast("bigint").alias("length"),
        sf.size("items").alias("given"),
    )
    counts = seen.groupBy("part", "length")
    more = sf.sum(sf.col("given") - sf.col("length")).alias("more")
    return _lengths_from_counts(fetch(counts.agg(sf.count("*").alias("count"), more)))


def _lengths_from_counts(table: pa.Table) -> tuple[dict[int, int], Ints, Ints, int]:
    """From rows (`count`) and repeated items (`more`) by partition and length: what `lengths_of` returns."""
    part, length, count = (table[name].to_numpy() for name in ("part", "length", "count"))
    starts = first_rows(part, count)
    lengths, place = np.unique(length, return_inverse=True)
    of_length = np.bincount(place.reshape(-1), count, minlength=len(lengths)).astype(np.int64)
    return starts, lengths.astype(np.int64), of_length, int(np.sum(table["more"].to_numpy()))


def ids_of(sets: pa.ListArray, known: pa.Array) -> tuple[Ints, Any]:
    """On a worker: lists of names as (offsets, ids), ascending and each once in its row, as `Baskets` hold them."""
    offsets = sets.offsets.to_numpy().astype(np.int64)
    texts = sets.values[int(offsets[0]) : int(offsets[-1])]
    ids = pc.index_in(texts.cast(pa.string()), known).to_numpy(zero_copy_only=False)
    return once_in_a_row(offsets - offsets[0], ids)


def digest_of(rows: DataFrame, n: int, names: list[Any], hash_rows: Callable[..., Any]) -> str:
    """The digest of n rows from the hashes that `hash_rows` gives each, and from the names that their codes stand for."""
    each = map_rows(rows, hash_rows, "group int, digest binary", groups=groups_for(n))
    table = fetch(map_groups(each, "group", _hash_of_hashes, "group int, digest binary"))
    return whole_digest(n, names, dict(zip(table["group"].to_pylist(), table["digest"].to_pylist(), strict=True)))


def _hash_sets(batches: Iterator[pa.RecordBatch], groups: int) -> Iterator[pa.RecordBatch]:
    """On a worker: the hash of every row of ids, and the group it is sorted in."""
    for _, baskets in pieces(batches):
        yield hashes_by_group(set_hashes(baskets.offsets, baskets.items), groups)


def hashes_by_group(hashes: Iterable[bytes], groups: int) -> pa.RecordBatch:
    """Hashes of rows, one after the other for each group in which they are sorted."""
    by_group: dict[int, list[bytes]] = {}
    for one in hashes:
        by_group.setdefault(int.from_bytes(one[:4]) % groups, []).append(one)
    joined = [b"".join(own) for own in by_group.values()]
    return pa.record_batch({"group": pa.array([*by_group], pa.int32()), "digest": pa.array(joined, pa.binary())})


def _hash_of_hashes(table: pa.Table) -> pa.Table:
    """On a worker: the hash of all hashes of a group, in their order."""
    hashes = b"".join(table["digest"].to_pylist())
    each = sorted(hashes[at : at + 32] for at in range(0, len(hashes), 32))
    whole = hashlib.sha256(b"".join(each)).digest()
    return pa.table({"group": table["group"][:1], "digest": pa.array([whole], pa.binary())})


def rows_holding(
    sets: SparkSets, itemsets: list[list[int]], *, alone: bool = False, beside: Bools | None = None
) -> list[Ints]:
    """The rows that hold each of a few itemsets (`alone`: and nothing else but items that `beside` marks), ascending. For witnesses."""
    how = {"itemsets": itemsets, "alone": alone, "beside": beside}
    table = fetch(map_rows(sets.rows, _holding, "itemset int, row bigint", **how))
    which, row = table["itemset"].to_numpy(), table["row"].to_numpy()
    return [np.sort(row[which == i]) for i in range(len(itemsets))]


def _holding(
    batches: Iterator[pa.RecordBatch], itemsets: list[list[int]], alone: bool, beside: Bools | None
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
