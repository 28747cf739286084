"""Records on Spark: rows of codes with a row number each, kept by the executors; values and names with their counts on the driver.

Cells become texts on the workers by the code that reads tables here, and what is a number or a missing value is decided from all
different values of a column, as it is here. So a value has the code that it would have
locally, and a class of equal codes is the local class, in the local order. Kept columns are not coded: they travel as texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.engines.spark.ragged import Longs, flat, frozen, gathered, lists
from shoal.engines.spark.sets import (
    SparkSets,
    check_session,
    digest_of,
    ids_of,
    in_groups,
    items_column,
    lengths_of,
    names_and_counts,
    numbered,
)
from shoal.engines.spark.workers import collected, on_workers
from shoal.errors import VALUES, InputError
from shoal.records.baskets import Baskets
from shoal.records.columns import check_numeric, comma_parts, numeric_columns
from shoal.records.record_tables import number_notes
from shoal.records.records import MISSING, Column, Records
from shoal.records.storage.digest import record_hash
from shoal.records.values import NumberError, ordering

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_VALUES = 1_000_000
"""Different values of all coded columns together that the driver is given."""
SCHEMA = "row bigint, values array<int>, items array<int>, kept array<string>"


@dataclass(frozen=True, eq=False)
class SparkRecords:
    """Coded rows on the executors, and what the driver knows of them."""

    rows: DataFrame
    """`row` (from 0, in the order of the data), `values` (a code per column), `items` (ids), `kept` (texts)."""
    template: Records
    """The table without rows: columns with all their values, and the names of items."""
    kept: tuple[str, ...]
    """The names of the columns that travel as they are."""
    sets: SparkSets
    """The items of the same rows; of no names where the table has none."""
    notes: tuple[str, ...] = ()
    """For the owner: what was taken for something else than one might expect."""

    def __len__(self) -> int:
        return len(self.sets)

    def forget(self) -> None:
        """Let the executors drop the rows."""
        self.rows.unpersist()


def coded(
    df: DataFrame,
    *,
    quasi: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    keep: Sequence[str] = (),
    items: str | None = None,
    sensitive_sets: str | None = None,
    marked: Sequence[str] = (),
    numeric: Sequence[str] | None = None,
) -> SparkRecords:
    """The records of a data frame whose columns have these roles; `marked` are sensitive items. Other columns are not looked at."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as sf

    check_session(df)
    # In the order of the table, as they stand locally.
    single = [name for name in df.columns if name in (*quasi, *sensitive)]
    kept = [name for name in df.columns if name in keep]
    _check_columns(df, (*quasi, *sensitive, *keep))
    said = numeric_columns(numeric, df.columns)
    check_numeric(said, (*single, *kept), "the data frame")
    chosen = [_column(name).alias(f"c{i}") for i, name in enumerate((*single, *kept))]
    given = (
        df.select(
            sf.monotonically_increasing_id().alias("row"),
            _names(df, items).alias("items"),
            _names(df, sensitive_sets, beside=items).alias("hidden"),
            *chosen,
        )
        .mapInArrow(
            on_workers(_texts, n_values=len(single)),
            "row bigint, items array<string>, hidden array<string>, values array<string>, kept array<string>",
        )
        .persist(StorageLevel.MEMORY_AND_DISK)
    )
    try:
        names, hidden = _vocabularies(given, items, sensitive_sets)
        together = given.withColumn("items", sf.concat("items", "hidden")) if sensitive_sets else given
        starts, lengths, of_length, duplicates = lengths_of(together)
        roles = {name: "quasi" if name in quasi else "sensitive" for name in single}
        columns, places, notes = _columns(given, single, roles, said)
        vocabulary, counts = _one_domain(names, hidden)
        rows = together.mapInArrow(on_workers(_coded, names=vocabulary, starts=starts, places=places), SCHEMA).persist(
            StorageLevel.MEMORY_AND_DISK
        )
        found = collected(rows.agg(sf.count("*").alias("n")))["n"][0].as_py()
    finally:
        given.unpersist()
    if found != of_length.sum():
        rows.unpersist()
        raise InputError(
            f"the data frame gave {of_length.sum():,} rows, then {found:,}: it is not the same every time it is computed; "
            "write it to a table or checkpoint it first"
        )
    known = set(vocabulary)
    marked = [name for text in marked for name in ([text] if text in known else comma_parts(text))]
    unknown = [name for name in marked if name not in known]
    if unknown:
        rows.unpersist()
        raise InputError(
            f"{len(unknown):,} of the sensitive items that are named do not occur in the data{VALUES}; check the spelling, or leave out "
            "what is not there",
            values=unknown,
        )
    none = Baskets(np.zeros(1, np.int64), np.zeros(0, np.int32), vocabulary)
    template = Records(
        columns,
        none if items is not None else None,
        items or "items",
        frozenset(marked) | frozenset(hidden),
        sensitive_sets,
    )
    sets = SparkSets(rows, vocabulary, counts, lengths, of_length, duplicates, items or "")
    return SparkRecords(rows, template, tuple(kept), sets, notes)


def of_rows(table: pa.Table | pa.RecordBatch, template: Records) -> tuple[Longs, Records]:
    """On a worker: (row numbers, local records) of coded rows, in the order of row numbers."""
    row = table["row"].to_numpy()
    order = np.argsort(row, kind="stable")
    codes = flat(table["values"])[1].reshape(len(row), -1)[order] if template.columns else None
    columns = tuple(
        replace(column, codes=frozen(np.ascontiguousarray(codes[:, i])))
        for i, column in enumerate(template.columns)
        if codes is not None
    )
    items = None
    if template.items is not None or not columns:
        offsets, ids = flat(table["items"])
        vocabulary = () if template.items is None else template.items.vocabulary
        items = Baskets(*gathered(offsets[:-1][order], np.diff(offsets)[order], ids), vocabulary)
    return row[order], replace(template, columns=columns, items=items)


def records_digest(records: SparkRecords) -> str:
    """As `shoal.engines.spark.sets.digest`, of all columns."""
    table = records.template
    columns = [[column.name, column.role, *column.values] for column in table.columns]
    names = [*records.kept, table.items_name, table.sensitive_name, *sorted(table.sensitive_items)]
    return digest_of(records.rows, len(records), [columns, names, *records.sets.vocabulary], _hashed)


def _hashed(batches: Iterator[pa.RecordBatch], groups: int) -> Iterator[pa.RecordBatch]:
    """On a worker: the hash of every row: its codes, its items, what is kept beside them."""
    for batch in batches:
        ends, codes = flat(batch.column("values"))
        offsets, ids = flat(batch.column("items"))
        hashes = []
        for i, kept in enumerate(batch.column("kept").to_pylist()):
            own = codes[ends[i] : ends[i + 1]].astype("<i4", copy=False).tobytes()
            held = ids[offsets[i] : offsets[i + 1]].astype("<i4", copy=False).tobytes()
            hashes.append(record_hash(own, held, kept))
        yield in_groups(hashes, groups)


def _column(name: str) -> Any:
    from pyspark.sql import functions as sf

    return sf.col("`" + name.replace("`", "``") + "`")


def _check_columns(df: DataFrame, names: Sequence[str]) -> None:
    from pyspark.sql import types

    for name in names:
        if name not in df.columns:
            raise InputError(f"the data frame has no column {name!r}; its columns are {', '.join(df.columns)}")
        if isinstance(df.schema[name].dataType, types.ArrayType | types.MapType | types.StructType):
            raise InputError(f"the data frame: column {name!r} holds no single values; name another")


def _names(df: DataFrame, column: str | None, beside: str | None = None) -> Any:
    """The sets of a column as lists of texts; empty lists where there is none."""
    from pyspark.sql import functions as sf

    nothing = sf.array().cast("array<string>")
    if column is None:
        return nothing
    return sf.coalesce(_column(items_column(df, column, beside)).cast("array<string>"), nothing)


def _texts(batches: Iterator[pa.RecordBatch], n_values: int) -> Iterator[pa.RecordBatch]:
    """On a worker: cells as the texts that a table read here would have; null and NaN are missing."""
    for batch in batches:
        texts = [_text(batch.column(i)) for i in range(3, batch.num_columns)]
        yield pa.record_batch(
            {
                **{name: batch.column(name) for name in ("row", "items", "hidden")},
                "values": side_by_side(texts[:n_values], len(batch)),
                "kept": side_by_side(texts[n_values:], len(batch)),
            }
        )


def _text(cells: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    from shoal.records.tokens import as_text

    if pa.types.is_floating(cells.type):
        cells = pc.if_else(pc.is_nan(cells), pa.scalar(None, cells.type), cells)
    return pc.fill_null(as_text(cells), MISSING).cast(pa.string())


def side_by_side(columns: list[pa.Array], n: int) -> pa.ListArray:
    """A list per row with its cell of each column."""
    width = len(columns)
    cells = pa.concat_arrays(columns) if columns else pa.array([], pa.string())
    by_row = (np.arange(width * n) % width) * n + np.arange(width * n) // width if width else np.zeros(0, np.int64)
    return pa.ListArray.from_arrays(pa.array(np.arange(n + 1) * width, pa.int32()), cells.take(pa.array(by_row)))


def _vocabularies(given: DataFrame, items: str | None, hidden: str | None) -> tuple[dict[str, int], dict[str, int]]:
    """Names of items and of sensitive items that stand apart, with their counts."""
    from pyspark.sql import functions as sf

    found: list[dict[str, int]] = []
    for column, home in ((items, "items"), (hidden, "hidden")):
        if column is None:
            found.append({})
            continue
        names, counts = names_and_counts(given.select(sf.col(home).alias("items")), column)
        found.append(dict(zip(names, counts.tolist(), strict=True)))
    common = next((name for name in found[1] if name in found[0]), None)
    if common is not None:
        raise InputError(
            f"the data frame: an item stands both in {items!r} and in the sensitive {hidden!r}; rename it in one of them"
        )
    return found[0], found[1]


def _one_domain(names: dict[str, int], hidden: dict[str, int]) -> tuple[tuple[str, ...], Longs]:
    from shoal.ordering import natural_order

    counts = names | hidden
    listed = list(counts)
    vocabulary = tuple(listed[i] for i in natural_order(listed))
    return vocabulary, np.array([counts[name] for name in vocabulary], np.int64)


def _columns(
    given: DataFrame, single: list[str], roles: dict[str, str], numeric: Sequence[str] | None
) -> tuple[tuple[Column, ...], list[dict[str, int]], tuple[str, ...]]:
    """The columns with all their values, per column the code of each text, and notes."""
    from pyspark.sql import functions as sf

    texts: list[list[str]] = [[] for _ in single]
    rows: list[list[int]] = [[] for _ in single]
    if single:
        each = given.select(sf.posexplode("values").alias("column", "text")).groupBy("column", "text").count()
        found = collected(each.limit(MOST_VALUES + 1))
        if found.num_rows > MOST_VALUES:
            raise InputError(
                f"the columns {', '.join(single)} have more than {MOST_VALUES:,} different values, which the driver does not take; "
                "round the numbers, or use the local engine"
            )
        for column, text, count in zip(*(found[name].to_pylist() for name in ("column", "text", "count")), strict=True):
            texts[column].append(text)
            rows[column].append(count)
    columns, places = [], []
    notes: list[str] = []
    for name, names, counts in zip(single, texts, rows, strict=True):
        try:
            known = ordering(names, None if numeric is None else name in numeric)
        except NumberError as error:
            raise InputError(
                f"the data frame, column {name!r}: {error}; correct it, or leave {name!r} out of the numeric columns"
            ) from None
        columns.append(Column(name, roles[name], np.zeros(0, np.int32), known.values, known.numbers))
        places.append(dict(zip(names, known.place.tolist(), strict=True)))
        ordered = np.zeros(len(names), np.int64)
        ordered[known.place] = counts
        notes += number_notes(columns[-1], ordered, numeric is not None)
    return tuple(columns), places, tuple(notes)


def _coded(
    batches: Iterator[pa.RecordBatch], names: tuple[str, ...], starts: dict[int, int], places: list[dict[str, int]]
) -> Iterator[pa.RecordBatch]:
    """On a worker: rows of texts as rows of codes, numbered through."""
    import pyarrow.compute as pc

    known = pa.array(names, pa.string())
    tables = [(pa.array(list(place), pa.string()), np.array(list(place.values()), np.int32)) for place in places]
    width = len(places)
    for batch in batches:
        cells = batch.column("values").flatten()
        codes = np.empty((len(batch), width), np.int32)
        for i, (texts, code) in enumerate(tables):
            own = cells.take(pa.array(np.arange(len(batch)) * width + i)).cast(pa.string())
            codes[:, i] = code[pc.index_in(own, texts).to_numpy(zero_copy_only=False).astype(np.int64)]
        yield pa.record_batch(
            {
                "row": numbered(batch.column("row").to_numpy(), starts),
                "values": lists(np.arange(len(batch) + 1) * width, codes.reshape(-1)),
                "items": lists(*ids_of(batch.column("items"), known)),
                "kept": batch.column("kept"),
            }
        )
