"""Records on Spark: rows of codes with a row number each, kept by the executors; values and names with their counts on the driver.

Cells become texts on the workers by the code that reads tables here, and what is a number or a missing value is decided from all
different values of a column, as it is here. So a value has the code that it would have locally, and a class of equal codes is the local
class, in the local order. Kept columns are not coded: they travel as texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.numbers import Codes, Ints
from shoal.ordering import natural_order
from shoal.records.assemble import number_notes
from shoal.records.baskets import Baskets
from shoal.records.records import MISSING, Column, Records
from shoal.records.roles import check_named, numeric_columns
from shoal.records.storage.digest import record_hash
from shoal.records.tokens import as_text
from shoal.records.values import NumberError, ordering
from shoal.spark.data.encoding import number_rows
from shoal.spark.data.executors import fetch, map_rows, store
from shoal.spark.data.packing import equal_lists, flat, frozen, gather, lists
from shoal.spark.data.sets import (
    SparkSets,
    check_known,
    check_same_rows,
    check_session,
    column_called,
    digest_of,
    hashes_by_group,
    ids_of,
    item_names,
    items_column,
    lengths_of,
    name_lists,
    names_and_counts,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_VALUES = 1_000_000
"""Different values of all coded columns together that the driver is given."""
CODED = "row bigint, values array<int>, items array<int>, kept array<string>"
"""The schema of coded rows."""


@dataclass(frozen=True)
class FrameRoles:
    """What the caller says about the columns of a data frame."""

    items: str | None = None
    """The column of sets."""
    quasi: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    """Columns, or a column of sensitive items, or sensitive items by name."""
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    numeric: tuple[str, ...] | None = None


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
    order: tuple[str, ...] = ()
    """All columns of single values, in the order of the data frame."""

    def __len__(self) -> int:
        return len(self.sets)

    @property
    def has_sets(self) -> bool:
        return self.template.items is not None

    @property
    def roles(self) -> dict[str, str]:
        """The role of every column of single values."""
        return {column.name: column.role for column in self.template.columns} | dict.fromkeys(self.kept, "keep")

    @property
    def columns(self) -> set[str]:
        """The columns of the data frame that were looked at."""
        table = self.template
        of_items = {table.items_name} if self.has_sets else set()
        return {*self.roles, *of_items} | ({table.sensitive_name} if table.sensitive_name is not None else set())

    def place(self, name: str) -> int:
        """Where a coded column stands among all of them."""
        return self.template.columns.index(self.template[name])

    def reading_facts(self) -> dict[str, Any]:
        """How the rows are read, for a certificate: the roles of columns; sensitive items only as a number."""
        table, roles = self.template, self.roles
        if self.has_sets:
            roles[table.items_name] = "items"
        if table.sensitive_name is not None:
            roles[table.sensitive_name] = "sensitive items"
        facts: dict[str, Any] = {"columns": roles}
        if table.sensitive_items:
            facts["sensitive_items"] = len(table.sensitive_items)
        # Only what a reader would not find out: values are hashed as numbers or as texts.
        if any((column.numbers is None) != (ordering(column.values).numbers is None) for column in table.columns):
            facts["numeric"] = [column.name for column in table.columns if column.numbers is not None]
        return facts

    def digest(self) -> str:
        """As `SparkSets.digest`, of all columns."""
        table = self.template
        columns = [[column.name, column.role, *column.values] for column in table.columns]
        names = [*self.kept, table.items_name, table.sensitive_name, *sorted(table.sensitive_items)]
        return digest_of(self.rows, len(self), [columns, names, *self.sets.vocabulary], _hash_records)

    def forget(self) -> None:
        """Let the executors drop the rows."""
        self.rows.unpersist()


def code_records(
    df: DataFrame, roles: FrameRoles, hidden: str | None = None, named: Sequence[str] = ()
) -> SparkRecords:
    """The records of a data frame. Columns without a role are not looked at.

    Sensitive are columns of single values here; sensitive items stand in a column of their own (`hidden`), or are `named`.
    """
    from pyspark.sql import functions as sf

    check_session(df)
    # In the order of the table, as they stand locally.
    single = [name for name in df.columns if name in (*roles.quasi, *roles.sensitive)]
    kept = [name for name in df.columns if name in roles.keep]
    _check_columns(df, (*roles.quasi, *roles.sensitive, *roles.keep))
    said = numeric_columns(roles.numeric, df.columns)
    check_named(said or (), (*single, *kept), "the data frame", "numeric")
    items = None if roles.items is None else items_column(df, roles.items)
    hidden = None if hidden is None else items_column(df, hidden, items)
    given = store(
        map_rows(
            df.select(
                sf.monotonically_increasing_id().alias("row"),
                name_lists(items).alias("items"),
                name_lists(hidden).alias("hidden"),
                *(column_called(name).alias(f"c{i}") for i, name in enumerate((*single, *kept))),
            ),
            _texts,
            "row bigint, items array<string>, hidden array<string>, values array<string>, kept array<string>",
            n_values=len(single),
        )
    )
    try:
        vocabulary, counts, apart = _one_domain(given, items, hidden)
        together = given.withColumn("items", sf.concat("items", "hidden")) if hidden else given
        starts, lengths, of_length, duplicates = lengths_of(together)
        by_role = {name: "quasi" if name in roles.quasi else "sensitive" for name in single}
        columns, places, notes = _columns(given, by_role, said)
        rows = store(map_rows(together, _code_rows, CODED, names=vocabulary, starts=starts, places=places))
        n = fetch(rows.agg(sf.count("*").alias("n")))["n"][0].as_py()
    finally:
        given.unpersist()
    check_same_rows(rows, int(of_length.sum()), n)
    names = item_names(named, vocabulary)
    try:
        check_known(names, vocabulary)
    except InputError:
        rows.unpersist()
        raise
    none = Baskets(np.zeros(1, np.int64), np.zeros(0, np.int32), vocabulary)
    template = Records(
        columns, none if items is not None else None, items or "items", frozenset((*names, *apart)), hidden
    )
    sets = SparkSets(rows, vocabulary, counts, lengths, of_length, duplicates, items or "")
    order = tuple(name for name in df.columns if name in (*single, *kept))
    return SparkRecords(rows, template, tuple(kept), sets, notes, order)


def local_records(table: pa.Table | pa.RecordBatch, template: Records) -> tuple[Ints, Records]:
    """On a worker: (row numbers, local records) of coded rows, in the order of row numbers."""
    row = table["row"].to_numpy()
    order = np.argsort(row, kind="stable")
    codes = codes_of(table)[order] if template.columns else None
    columns = tuple(
        replace(column, codes=frozen(np.ascontiguousarray(codes[:, i])))
        for i, column in enumerate(template.columns)
        if codes is not None
    )
    items = None
    if template.items is not None or not columns:
        offsets, ids = flat(table["items"])
        vocabulary = () if template.items is None else template.items.vocabulary
        items = Baskets(*gather(offsets[:-1][order], np.diff(offsets)[order], ids), vocabulary)
    return row[order], replace(template, columns=columns, items=items)


def kept_texts(table: pa.Table) -> pa.Array:
    """On a worker: what travels as it is, in the order of row numbers."""
    order = np.argsort(table["row"].to_numpy(), kind="stable")
    return table["kept"].combine_chunks().take(pa.array(order))


def codes_of(table: pa.Table | pa.RecordBatch) -> Codes:
    """On a worker: the codes of rows, a column for each coded column."""
    codes: Codes = flat(table["values"])[1].reshape(len(table["row"]), -1)
    return codes


def beside_rows(name: str, numbers: npt.NDArray[np.integer], batch: pa.RecordBatch) -> pa.RecordBatch:
    """On a worker: coded rows with a number before each."""
    columns = {column: batch.column(column) for column in ("row", "values", "items", "kept")}
    return pa.record_batch({name: numbers.astype(np.int32)} | columns)


def column_texts(columns: Sequence[Column], n: int) -> pa.ListArray:
    """A list per row with the text of its value in each column."""
    return _side_by_side([pa.array(c.values, pa.string()).take(pa.array(c.codes)) for c in columns], n)


def _hash_records(batches: Iterator[pa.RecordBatch], groups: int) -> Iterator[pa.RecordBatch]:
    """On a worker: the hash of every row: its codes, its items, what is kept beside them."""
    for batch in batches:
        ends, codes = flat(batch.column("values"))
        offsets, ids = flat(batch.column("items"))
        hashes = []
        for i, kept in enumerate(batch.column("kept").to_pylist()):
            own = codes[ends[i] : ends[i + 1]].astype("<i4", copy=False).tobytes()
            held = ids[offsets[i] : offsets[i + 1]].astype("<i4", copy=False).tobytes()
            hashes.append(record_hash(own, held, kept))
        yield hashes_by_group(hashes, groups)


def _check_columns(df: DataFrame, names: Sequence[str]) -> None:
    from pyspark.sql import types

    for name in names:
        if name not in df.columns:
            raise InputError(f"the data frame has no column {name!r}; its columns are {', '.join(df.columns)}")
        if isinstance(df.schema[name].dataType, types.ArrayType | types.MapType | types.StructType):
            raise InputError(f"the data frame: column {name!r} holds no single values; name another")


def _texts(batches: Iterator[pa.RecordBatch], n_values: int) -> Iterator[pa.RecordBatch]:
    """On a worker: cells as the texts that a table read here would have; null and NaN are missing."""
    for batch in batches:
        texts = [_text(batch.column(i)) for i in range(3, batch.num_columns)]
        yield pa.record_batch(
            {
                **{name: batch.column(name) for name in ("row", "items", "hidden")},
                "values": _side_by_side(texts[:n_values], len(batch)),
                "kept": _side_by_side(texts[n_values:], len(batch)),
            }
        )


def _text(cells: pa.Array) -> pa.Array:
    if pa.types.is_floating(cells.type):
        cells = pc.if_else(pc.is_nan(cells), pa.scalar(None, cells.type), cells)
    return pc.fill_null(as_text(cells), MISSING).cast(pa.string())


def _side_by_side(columns: list[pa.Array], n: int) -> pa.ListArray:
    """A list per row with its cell of each column."""
    width = len(columns)
    cells = pa.concat_arrays(columns) if columns else pa.array([], pa.string())
    by_row = (np.arange(width * n) % width) * n + np.arange(width * n) // width if width else np.zeros(0, np.int64)
    return lists(np.arange(n + 1) * width, cells.take(pa.array(by_row)))


def _one_domain(
    given: DataFrame, items: str | None, hidden: str | None
) -> tuple[tuple[str, ...], Ints, tuple[str, ...]]:
    """All names of items in natural order, their counts, and the names of those that stand apart."""
    from pyspark.sql import functions as sf

    counts: list[dict[str, int]] = []
    for column, home in ((items, "items"), (hidden, "hidden")):
        names, many = (
            ((), np.zeros(0, np.int64))
            if column is None
            else names_and_counts(given.select(sf.col(home).alias("items")), column)
        )
        counts.append(dict(zip(names, many.tolist(), strict=True)))
    if counts[0].keys() & counts[1].keys():
        raise InputError(
            f"the data frame: an item stands both in {items!r} and in the sensitive {hidden!r}; rename it in one of them"
        )
    every = counts[0] | counts[1]
    listed = list(every)
    vocabulary = tuple(listed[i] for i in natural_order(listed))
    return vocabulary, np.array([every[name] for name in vocabulary], np.int64), tuple(counts[1])


def _columns(
    given: DataFrame, roles: dict[str, str], numeric: Sequence[str] | None
) -> tuple[tuple[Column, ...], list[dict[str, int]], tuple[str, ...]]:
    """The columns with all their values, per column the code of each text, and notes."""
    from pyspark.sql import functions as sf

    texts: list[list[str]] = [[] for _ in roles]
    rows: list[list[int]] = [[] for _ in roles]
    if roles:
        each = given.select(sf.posexplode("values").alias("column", "text")).groupBy("column", "text").count()
        table = fetch(each.limit(MOST_VALUES + 1))
        if table.num_rows > MOST_VALUES:
            raise InputError(
                f"the columns {', '.join(roles)} have more than {MOST_VALUES:,} different values, which the driver does not take; "
                "round the numbers, or use the local engine"
            )
        for column, text, count in zip(*(table[name].to_pylist() for name in ("column", "text", "count")), strict=True):
            texts[column].append(text)
            rows[column].append(count)
    columns, places = [], []
    notes: list[str] = []
    for (name, role), names, counts in zip(roles.items(), texts, rows, strict=True):
        try:
            known = ordering(names, None if numeric is None else name in numeric)
        except NumberError as error:
            raise InputError(
                f"the data frame, column {name!r}: {error}; correct it, or leave {name!r} out of the numeric columns"
            ) from None
        columns.append(Column(name, role, np.zeros(0, np.int32), known.values, known.numbers))
        places.append(dict(zip(names, known.place.tolist(), strict=True)))
        ordered = np.zeros(len(names), np.int64)
        ordered[known.place] = counts
        notes += number_notes(columns[-1], ordered, numeric is not None)
    return tuple(columns), places, tuple(notes)


def _code_rows(
    batches: Iterator[pa.RecordBatch], names: tuple[str, ...], starts: dict[int, int], places: list[dict[str, int]]
) -> Iterator[pa.RecordBatch]:
    """On a worker: rows of texts as rows of codes, numbered through."""
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
                "row": number_rows(batch.column("row").to_numpy(), starts),
                "values": equal_lists(codes),
                "items": lists(*ids_of(batch.column("items"), known)),
                "kept": batch.column("kept"),
            }
        )
