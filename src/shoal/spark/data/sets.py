"""Sets on Spark: rows of item ids with a row number each, kept by the executors; names and counts on the driver.

The texts of a row pass once from Spark to a worker, which numbers the names of some thousand rows by itself. From then on rows are
packed numbers: the driver puts all names into the order of the local vocabulary, so an item has the same id as it would have here, and
the workers exchange their numbers for those. Rows are numbered in the order in which the data frame gives them: whatever a walk meets
first, it meets first locally too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import VALUES, InputError
from shoal.ordering import natural_order
from shoal.records.roles import comma_parts
from shoal.records.storage.digest import groups_for, row_digest, set_hashes, whole_digest
from shoal.spark.data.executors import fetch, map_groups, map_rows, store
from shoal.spark.data.one_task import ask_all, fits
from shoal.spark.data.packing import MOST, PACKED, Ints, Longs, Marks, offsets_of, pack, pieces, row_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

IN_PARTITION = 33
"""Bits that `monotonically_increasing_id` uses for the row within its partition."""

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

    def supports(self) -> npt.NDArray[np.int64]:
        return self.counts

    def marks(self, names: Iterable[str]) -> Marks:
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


def encode_sets(df: DataFrame, items: str | None = None) -> SparkSets:
    """The sets of a column of arrays (`items` unless there is only one such column)."""
    from pyspark.sql import functions as sf

    check_session(df)
    column = items_column(df, items)
    given = df.select(sf.monotonically_increasing_id().alias("row"), name_lists(column).alias("items"))
    own = store(map_rows(given, _by_own_names, _OWN_NAMES))
    try:
        each = own.select(sf.inline(sf.arrays_zip("names", "counts")))
        counts = each.groupBy(sf.col("names").alias("name")).agg(sf.sum("counts").alias("count"))
        vocabulary, supports = names_in_order(counts, column)
        starts, lengths, of_length, duplicates = _lengths_of_pieces(own)
        rows = store(map_rows(own, _by_common_names, PACKED, names=vocabulary, starts=starts))
        # Counting fills the store of the encoded rows; from then on the texts are not needed.
        size = fetch(rows.agg(sf.sum(sf.octet_length("rows")).alias("n")))["n"][0].as_py() or 0
    finally:
        own.unpersist()
    check_same_rows(rows, int(of_length.sum()), size // 8)
    return SparkSets(rows, vocabulary, supports, lengths, of_length, duplicates, column)


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
        facts = {
            "number": batch.column("row")[0].as_py(),
            "names": coded.dictionary,
            "counts": np.bincount(ids, minlength=len(coded.dictionary)),
            "length": length,
            "of_length": of_length,
            "more": len(texts) - len(ids),
        }
        columns = {
            field.name: pa.array([facts[field.name]], field.type) for field in _OWN_FIELDS if field.name in facts
        }
        columns |= pack(np.zeros(0), ends, ids)
        yield pa.record_batch([columns[field.name] for field in _OWN_FIELDS], schema=pa.schema(_OWN_FIELDS))


def _lengths_of_pieces(own: DataFrame) -> tuple[dict[int, int], Longs, Longs, int]:
    """As `lengths_of`, from what the pieces of rows have counted."""
    from pyspark.sql import functions as sf

    part = sf.shiftright("number", IN_PARTITION).alias("part")
    # What a piece repeats is told with the first of its lengths.
    each = own.select(part, "more", sf.posexplode(sf.arrays_zip("length", "of_length")).alias("at", "told"))
    more = sf.when(sf.col("at") == 0, sf.col("more")).otherwise(0)
    return _lengths_from_counts(
        each.select("part", more.alias("more"), "told.length", "told.of_length")
        .groupBy("part", "length")
        .agg(sf.sum("of_length").alias("count"), sf.sum("more").alias("more"))
    )


def _by_common_names(
    batches: Iterator[pa.RecordBatch], names: tuple[str, ...], starts: dict[int, int]
) -> Iterator[pa.RecordBatch]:
    """On a worker: rows of ids in the common list of names, numbered through, as many in one row of Spark as a task works on."""
    known = pa.array(names, pa.string())
    rows: list[Longs] = []
    lengths: list[Longs] = []
    items: list[Ints] = []

    def pack_all() -> pa.RecordBatch:
        return pa.record_batch(pack(np.concatenate(rows), offsets_of(np.concatenate(lengths)), np.concatenate(items)))

    for batch in batches:
        columns = [batch.column(name) for name in ("number", "lengths", "items", "names")]
        for number, own_lengths, own_items, own_names in zip(*columns, strict=True):
            offsets = offsets_of(np.frombuffer(own_lengths.as_py(), "<i4"))
            common = pc.index_in(own_names.values.cast(pa.string()), known).to_numpy(zero_copy_only=False)
            ids = np.sort((row_of(offsets) << 32) | common[np.frombuffer(own_items.as_py(), "<i4")])
            first = number_rows(np.array([number.as_py()]), starts)[0]
            rows.append(first + np.arange(len(offsets) - 1))
            lengths.append(np.diff(offsets))
            items.append((ids & 0xFFFFFFFF).astype(np.int32))
            if sum(map(len, items)) >= MOST:
                yield pack_all()
                rows, lengths, items = [], [], []
    if rows:
        yield pack_all()


def names_and_counts(given: DataFrame, column: str) -> tuple[tuple[str, ...], Longs]:
    """All names in natural order, and how many rows hold each."""
    from pyspark.sql import functions as sf

    each = given.select(sf.explode(sf.array_distinct("items")).alias("name"))
    return names_in_order(each.groupBy("name").agg(sf.count("*").alias("count")), column)


def names_in_order(counts: DataFrame, column: str) -> tuple[tuple[str, ...], Longs]:
    """Names and their counts in natural order; raises if an item of the column has no name."""
    table = fetch(counts)
    names = table["name"].to_pylist()
    for wrong, word in ((None, "missing"), ("", "empty")):
        if wrong in names:
            rows = table["count"][names.index(wrong)].as_py()
            raise InputError(f"the data frame: {rows:,} rows of column {column!r} hold an item that is {word}; drop it")
    order = natural_order(names)
    return tuple(names[i] for i in order), table["count"].to_numpy()[order].astype(np.int64)


def lengths_of(given: DataFrame) -> tuple[dict[int, int], Longs, Longs, int]:
    """The number of the first row of each partition; lengths and how many rows have them; repeated items."""
    from pyspark.sql import functions as sf

    seen = given.select(
        sf.shiftright("row", IN_PARTITION).alias("part"),
        sf.size(sf.array_distinct("items")).cast("bigint").alias("length"),
        sf.size("items").alias("given"),
    )
    return _lengths_from_counts(
        seen.groupBy("part", "length").agg(
            sf.count("*").alias("count"), sf.sum(sf.col("given") - sf.col("length")).alias("more")
        )
    )


def _lengths_from_counts(counts: DataFrame) -> tuple[dict[int, int], Longs, Longs, int]:
    """From rows (`count`) and repeated items (`more`) by partition and length: what `lengths_of` returns."""
    table = fetch(counts)
    part, length, count = (table[name].to_numpy() for name in ("part", "length", "count"))
    starts = first_rows(part, count)
    lengths, place = np.unique(length, return_inverse=True)
    of_length = np.bincount(place.reshape(-1), count, minlength=len(lengths)).astype(np.int64)
    return starts, lengths.astype(np.int64), of_length, int(np.sum(table["more"].to_numpy()))


def first_rows(part: Longs, count: Longs) -> dict[int, int]:
    """The number of the first row of each partition, from counts of rows by partition."""
    parts, place = np.unique(part, return_inverse=True)
    sizes = np.bincount(place.reshape(-1), count, minlength=len(parts)).astype(np.int64)
    return dict(zip(parts.tolist(), (np.cumsum(sizes) - sizes).tolist(), strict=True))


def number_rows(number: Longs, starts: dict[int, int]) -> Longs:
    """On a worker: rows numbered through, from `monotonically_increasing_id` and the number of the first row of each partition."""
    part = number >> IN_PARTITION
    parts = np.unique(part)
    start = np.array([starts[p] for p in parts.tolist()], np.int64)
    return start[np.searchsorted(parts, part)] + (number & ((1 << IN_PARTITION) - 1))


def ids_of(sets: pa.ListArray, known: pa.Array) -> tuple[Longs, Any]:
    """On a worker: lists of names as (offsets, ids), ascending and each once in its row, as `Baskets` hold them."""
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
    sets: SparkSets, itemsets: list[list[int]], *, alone: bool = False, beside: Marks | None = None
) -> list[Longs]:
    """The rows that hold each of a few itemsets (`alone`: and nothing else but items that `beside` marks), ascending. For witnesses."""
    how = {"itemsets": itemsets, "alone": alone, "beside": beside}
    table = fetch(map_rows(sets.rows, _holding, "itemset int, row bigint", **how))
    which, row = table["itemset"].to_numpy(), table["row"].to_numpy()
    return [np.sort(row[which == i]) for i in range(len(itemsets))]


def _holding(
    batches: Iterator[pa.RecordBatch], itemsets: list[list[int]], alone: bool, beside: Marks | None
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
