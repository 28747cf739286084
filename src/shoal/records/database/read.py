"""Tables and queries of databases as tables, read by the same code as Parquet, and the hash of what they hold.

PostgreSQL and DuckDB say the type of every column; what has no counterpart in Arrow (numeric, uuid, time, ...) is asked for as text. SQLite
has types per value: the columns are looked through first, then asked for as text and made numbers again where all of their values are.

The hash is of the content, not of bytes: every row of all columns is hashed by itself, and the hash of the sorted hashes does not
depend on the order in which a server gives its rows. Missing and empty values count as the same, as they do for all readers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, option
from shoal.records.assemble import Table, is_list
from shoal.records.database.address import Address, address_of
from shoal.records.database.session import Session, literal, quote_name
from shoal.records.layout import Layout
from shoal.records.roles import check_repeats
from shoal.records.storage.journal import settle
from shoal.records.tokens import as_text, is_text

_TYPES = {
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("us", "UTC"): "timestamp with time zone",
    pa.string(): "text",
}
AS_TEXT = ("date", "timestamp", "timestamp with time zone")
_ITEMS = (pa.string(), pa.int16(), pa.int32(), pa.int64(), pa.bool_())
_SMALL = (pa.int8(), pa.uint8(), pa.uint16(), pa.uint32())
_SPECIAL = ("money", "oid", "bpchar")  # their Arrow form is a number of another meaning, or padded


@dataclass(frozen=True)
class Identity:
    """Which table, or which query, of which database: what no release may write over."""

    kind: str
    database: tuple[str, ...]
    """PostgreSQL: the server's identifier (empty if it may not be asked for), the database's number and name. SQLite: the file."""
    select: str
    """Everything in it."""
    name: tuple[str, str] = ("", "")
    """Schema and table as the server has them; empty for a query."""
    number: int = 0
    """What the server calls it by, whatever its name."""
    seen_by: tuple[str, str] = ("", "")
    """PostgreSQL: who asked, and where unqualified names were looked for."""


class DatabaseInput:
    """A table or a query of a database, opened to be read."""

    def __init__(self, text: str, session: Session | None = None) -> None:
        self.address = address_of(text)
        if self.address.table is None and self.address.query is None:
            raise InputError(f"{self.address.shown}: it names no table; add ?table=NAME, or ask with {option('query')}")
        self.name = self.address.name
        if session is None:
            settle(text)
        self._session = session or Session(self.address)
        self._owned = session is None
        self._hash: RowHash | None = None
        try:
            self.identity = identity_of(self._session, self.address)
            if self.identity is None:
                raise InputError(f"{self.address.database}: there is no table {self.name!r}; check its name and schema")
            self._columns = _columns(self._session, self.identity.select)
            if not self._columns:
                raise InputError(f"{self.name} has no columns; check that it is the right table")
            check_repeats([column.name for column in self._columns], self.name)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> DatabaseInput:
        return self

    def __exit__(self, *_: object) -> None:
        if self._owned:
            self._session.close()

    @property
    def table(self) -> Table:
        return Table([column.name for column in self._columns], self._batches, self.name)

    def layout(self, items: str, separator: str, id: str | None = None) -> Layout:
        """How its sets stood there."""
        types = tuple((column.name, column.type) for column in self._columns if column.type)
        parted = " " if self.address.kind == "postgresql" else separator
        return Layout(self.address.kind, items, parted, id, types=types)

    def sha256(self) -> str:
        """The hash of all rows. Reads them if they have not been read to their end."""
        if self._hash is None or not self._hash.complete:
            for _ in self._batches([self._columns[0].name]):
                pass
        assert self._hash is not None
        return self._hash.hexdigest()

    def _batches(self, wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        assert self.identity is not None
        self._hash = RowHash([column.name for column in self._columns])
        shown = ", ".join(f"{column.asked} AS {quote_name(column.name)}" for column in self._columns)
        for batch in self._session.batches(f"SELECT {shown} FROM ({self.identity.select}\n) AS q"):
            arrays = [column.values(array) for column, array in zip(self._columns, batch.columns, strict=True)]
            self._hash.add(arrays)
            yield pa.record_batch(arrays, [column.name for column in self._columns]).select(list(wanted))
        self._hash.complete = True


class RowHash:
    """The SHA-256 of rows in any order."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.complete = False
        self._columns = list(columns)
        self._rows = bytearray()

    def add(self, arrays: Sequence[pa.Array]) -> None:
        if not len(arrays[0]):
            return
        cells = [_cells(array) for array in arrays]
        joined = pc.binary_join_element_wise(*cells, pa.scalar("\x1f", pa.large_string()))
        _, ends, data = joined.buffers()
        at = np.frombuffer(ends, np.int64)[joined.offset : joined.offset + len(joined) + 1].tolist()
        text = memoryview(data) if data is not None else memoryview(b"")
        for start, stop in pairwise(at):
            self._rows += hashlib.sha256(text[start:stop]).digest()

    def hexdigest(self) -> str:
        digest = hashlib.sha256(b"shoal table 1\n")
        digest.update(json.dumps(self._columns).encode())
        digest.update(np.sort(np.frombuffer(bytes(self._rows), "S32")).tobytes())
        return digest.hexdigest()


def _cells(array: pa.Array) -> pa.Array:
    """Every cell as a text that holds no mark between cells, lists with a mark after every item."""
    if not is_list(array.type):
        texts = pc.fill_null(as_text(array), "")
        return _escaped(texts) if is_text(array.type) else texts
    lists = array.cast(pa.large_list(array.type.value_type))
    flat = _escaped(pc.fill_null(as_text(lists.flatten()), ""))
    ended = pc.binary_join_element_wise(flat, pa.scalar("\x1e", pa.large_string()), pa.scalar("", pa.large_string()))
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))).astype(np.int64))
    parts = pa.LargeListArray.from_arrays(offsets, ended)
    return pc.binary_join(parts, pa.scalar("", pa.large_string()))


def _escaped(texts: pa.Array) -> pa.Array:
    for mark, meant in (("\\", "\\\\"), ("\x1f", "\\_"), ("\x1e", "\\^")):
        texts = pc.replace_substring(texts, mark, meant)
    return texts


def identity_of(session: Session, address: Address) -> Identity | None:
    """What an address stands for as the server sees it; none if there is no such table."""
    if session.kind != "postgresql":
        file = (os.path.realpath(address.uri),)
        if address.query is not None:
            return Identity(session.kind, file, address.query)
    if session.kind == "duckdb":
        *schema, name = address.parts
        within = f"lower(table_schema) = lower({literal(schema[0])})" if schema else "table_schema = current_schema()"
        found = session.rows(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = current_database() "
            f"AND {within} AND lower(table_name) = lower({literal(name)})"
        )
        return None if not found else Identity("duckdb", file, f"SELECT * FROM {quote_name(*found[0])}", found[0])
    if session.kind == "sqlite":
        (wanted,) = address.parts
        found = session.rows(
            "SELECT name, rootpage FROM sqlite_master WHERE type IN ('table', 'view') "
            f"AND name = {literal(wanted)} COLLATE NOCASE"
        )
        if not found:
            return None
        return Identity("sqlite", file, f"SELECT * FROM {quote_name(found[0][0])}", ("", found[0][0]), found[0][1])
    asked = session.rows(
        "SELECT d.oid::text, d.datname::text, current_user::text, current_setting('search_path'), "
        "has_function_privilege('pg_control_system()', 'EXECUTE') FROM pg_database d WHERE d.datname = current_database()"
    )[0]
    server = str(session.rows("SELECT system_identifier FROM pg_control_system()")[0][0]) if asked[4] else ""
    database, seen_by = (server, asked[0], asked[1]), (asked[2], asked[3])
    if address.query is not None:
        return Identity("postgresql", database, address.query, seen_by=seen_by)
    found = session.rows(
        "SELECT c.oid::bigint, n.nspname::text, c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        f"WHERE c.oid = to_regclass({literal(quote_name(*address.parts))}) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
    )
    if not found:
        return None
    number, schema, name = found[0]
    return Identity(
        "postgresql", database, f"SELECT * FROM {quote_name(schema, name)}", (schema, name), number, seen_by
    )


@dataclass(frozen=True)
class _Asked:
    """A column, and how it is asked for."""

    name: str
    asked: str
    type: str
    """In PostgreSQL's words; in SQLite `bigint`, `double precision`, `text` or none of them after its values."""
    from_text: bool = False

    @cached_property
    def _kind(self) -> pa.DataType:
        return {"bigint": pa.int64(), "double precision": pa.float64()}.get(self.type, pa.string())

    def values(self, array: pa.Array) -> pa.Array:
        if not self.from_text or self.type == "text":
            return array
        return pc.if_else(pc.equal(array, ""), pa.scalar(None, pa.string()), array).cast(self._kind)


def _columns(session: Session, select: str) -> list[_Asked]:
    schema = session.schema(select)
    if session.kind == "postgresql":
        return [_postgresql_column(field) for field in schema]
    if session.kind == "duckdb":
        return [_duckdb_column(field) for field in schema]
    if not schema.names:
        return []
    check_repeats(schema.names, "the query")
    tests = ", ".join(
        f"max(typeof({quote_name(name)}) = '{kind}')"
        for name in schema.names
        for kind in ("integer", "real", "text", "blob")
    )
    held = [bool(found) for found in session.rows(f"SELECT {tests} FROM ({select}\n) AS q")[0]]
    return [_sqlite_column(name, *held[4 * i : 4 * i + 4]) for i, name in enumerate(schema.names)]


def _sqlite_column(name: str, whole: bool, real: bool, text: bool, blob: bool) -> _Asked:
    column = quote_name(name)
    kind = "text" if text or blob or not (whole or real) else "double precision" if real else "bigint"
    spelled = f"CAST({column} AS TEXT)"
    if real:  # a cast spells fifteen digits, which are not always enough
        exact = f"CASE WHEN CAST({spelled} AS REAL) = {column} THEN {spelled} ELSE printf('%!.17g', {column}) END"
        spelled = f"CASE typeof({column}) WHEN 'real' THEN {exact} ELSE {spelled} END"
    if blob:
        spelled = f"CASE typeof({column}) WHEN 'blob' THEN hex({column}) ELSE {spelled} END"
    if (
        kind == "double precision" and whole
    ):  # 34 and 34.0 are not spelled alike, and floats do not hold all whole numbers
        kind = ""
    # The driver settles on a type by the first rows, and takes no value for a whole number.
    return _Asked(name, f"coalesce({spelled}, '')", kind, from_text=True)


def _duckdb_column(field: pa.Field) -> _Asked:
    column = quote_name(field.name)
    if is_list(field.type):
        return _Asked(field.name, column if field.type.value_type in _ITEMS else f"CAST({column} AS VARCHAR[])", "")
    kind = _TYPES.get(field.type)
    if kind is not None and kind not in AS_TEXT:
        return _Asked(field.name, column, kind)
    if field.type in _SMALL:
        return _Asked(field.name, f"CAST({column} AS BIGINT)", "bigint")
    is_exact = pa.types.is_decimal(field.type) or field.type == pa.uint64()
    return _Asked(field.name, f"CAST({column} AS VARCHAR)", "numeric" if is_exact else kind or "")


def _postgresql_column(field: pa.Field) -> _Asked:
    metadata = field.metadata or {}
    type_name = (metadata.get(b"POSTGRESQL:type") or metadata.get(b"ADBC:postgresql:typname") or b"").decode()
    column = quote_name(field.name)
    if is_list(field.type):
        return _Asked(field.name, column if field.type.value_type in _ITEMS else f"{column}::text[]", "")
    kind = _TYPES.get(field.type)
    if type_name == "numeric":
        return _Asked(field.name, f"{column}::text", "numeric")
    if kind in AS_TEXT:  # Arrow has neither infinite dates nor all years that PostgreSQL has
        return _Asked(field.name, f"{column}::text", kind)
    if kind is None or type_name in _SPECIAL:
        return _Asked(field.name, f"{column}::text", "")
    return _Asked(field.name, column, kind)
