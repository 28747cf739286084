"""Writing a release to a table of a database: in one transaction, typed, and never over what it was made from.

PostgreSQL gets the rows by binary COPY into a temporary table, from which the server makes the real one with the types that the columns
had where they came from; sets are `text[]`. SQLite gets them directly, sets as text with a separator that no item contains, chosen as for
CSV, and columns as INTEGER, REAL or TEXT. A long table has a row per number of a transaction and item. Before the commit the new table is
read again through the same connection; until then nobody else sees it, and a connection that is lost leaves nothing.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, option
from shoal.records.baskets import Baskets
from shoal.records.database.address import Address, address_of
from shoal.records.database.lake import opened_table
from shoal.records.database.read import DatabaseInput, Identity, identity_of
from shoal.records.database.session import Session, literal, quote_name
from shoal.records.formats.delimited import set_separators
from shoal.records.formats.frames import Frame
from shoal.records.layout import Layout
from shoal.records.records import Column, Records
from shoal.records.storage.publication import display_name
from shoal.records.tokens import as_text
from shoal.records.values import MISSING
from shoal.records.writing import settled_layout, written_records

_ARROW = {
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "real": pa.float32(),
    "double precision": pa.float64(),
    "boolean": pa.bool_(),
}
_DATE, _TIME = r"[0-9]{4,6}-[0-9]{2}-[0-9]{2}", r" [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_SPELLED = {
    # As the server spells them; what it would spell otherwise is left as text.
    "numeric": re.compile(r"(?!-[0.]+$)-?(0|[1-9][0-9]*)(\.[0-9]+)?|NaN|-?Infinity"),
    "date": re.compile(rf"{_DATE}( BC)?|-?infinity"),
    "timestamp": re.compile(rf"{_DATE}{_TIME}( BC)?|-?infinity"),
    "timestamp with time zone": re.compile(rf"{_DATE}{_TIME}\+00( BC)?|-?infinity"),
}
_ATTEMPTS, _PAUSE = 20, 0.25
_TIMEOUT = 10  # seconds
_LONGEST = 63  # bytes of a name in PostgreSQL, which cuts what is longer


@dataclass(frozen=True)
class Rows:
    """What a table is made of."""

    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]
    types: Mapping[str, str]
    """PostgreSQL: columns that come as text, and the types that they get."""


class TableTarget:
    """A table that does not exist until `commit`. `id` is that of the publication it belongs to."""

    def __init__(self, target: str, *, force: bool = False, sources: Sequence[Identity] = (), id: str = "") -> None:
        self.address = _named(target)
        self._id = id
        self._again: DatabaseInput | None = None
        self._session = Session(self.address, write=True)
        try:
            _wait_for(self._session, id)
            self._old = _replaceable(self._session, self.address, force, sources)
            self._name = _full_name(self._session, self.address) if self._old is None else self._old.name
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> TableTarget:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, rows: Rows) -> None:
        """Puts the rows into the new table, which takes the place of an old one."""
        _check_names(rows.schema.names, self.address)
        if self._old is not None:
            if self.address.kind == "sqlite":
                # Else the rows of the old table stay in free pages, and the file gives them away with the release.
                self._session.execute("PRAGMA secure_delete = ON")
            self._session.execute(f"DROP TABLE {self._quoted}")
        reader = pa.RecordBatchReader.from_batches(rows.schema, rows.batches)
        if self.address.kind == "sqlite":
            kinds = {pa.int64(): "INTEGER", pa.float64(): "REAL"}
            columns = ", ".join(f"{quote_name(field.name)} {kinds.get(field.type, 'TEXT')}" for field in rows.schema)
            self._session.execute(f"CREATE TABLE {self._quoted} ({columns})")
            self._session.ingest(self._name[1], reader)
            return
        staging = f"shoal_staging_{secrets.token_hex(4)}"
        self._session.ingest(staging, reader, temporary=True)
        columns = ", ".join(
            f"{quote_name(name)}::{rows.types[name]} AS {quote_name(name)}" if name in rows.types else quote_name(name)
            for name in rows.schema.names
        )
        self._session.execute(f"CREATE TABLE {self._quoted} AS SELECT {columns} FROM {quote_name('pg_temp', staging)}")
        self._session.execute(f"DROP TABLE {quote_name('pg_temp', staging)}")

    def read_again(self) -> DatabaseInput:
        """The new table as it stands, before anybody else sees it."""
        shown = quote_name(*self._name) if self.address.kind == "postgresql" else quote_name(self._name[1])
        self._again = DatabaseInput(replace(self.address, table=shown).shown, self._session)
        return self._again

    @property
    def sha256(self) -> str:
        """The hash of the rows that were read again."""
        assert self._again is not None
        return self._again.sha256()

    def commit(self) -> None:
        """Makes the table appear, or raises if it did not; `InDoubt` if nobody can tell."""
        sha256 = self.sha256

        def is_in() -> bool | None:
            for _ in range(_ATTEMPTS):  # a server that was interrupted may be back in a moment
                with contextlib.suppress(InputError):
                    return holds_rows(self.address, sha256, self._id)
                time.sleep(_PAUSE)
            return None

        self._session.commit(is_in)

    def close(self) -> None:
        """Ends the transaction; without a commit nothing is left."""
        self._session.close()

    @property
    def _quoted(self) -> str:
        return quote_name(*self._name) if self.address.kind == "postgresql" else quote_name(self._name[1])


def check_table(target: str, *, force: bool = False, sources: Sequence[str | Identity] = ()) -> None:
    """Raises if the table could not be written: said before the work, not after it. Addresses among the sources are looked up."""
    address = _named(target)
    found = [given if isinstance(given, Identity) else _source(given) for given in sources]
    if address.kind == "sqlite" and not os.path.exists(address.uri):
        if not os.access(os.path.dirname(os.path.abspath(address.uri)), os.W_OK | os.X_OK):
            raise InputError(f"{address.database}: its folder is not there, or may not be written to; choose another")
        return
    with Session(address, write=True) as session:
        if _replaceable(session, address, force, found) is None and address.kind == "postgresql":
            schema, _ = _full_name(session, address)
            if not session.rows(f"SELECT has_schema_privilege({literal(schema)}, 'CREATE')")[0][0]:
                raise InputError(
                    f"{address.database}: you may not make tables in schema {schema!r}; ask for the right, or name another"
                )


def holds_rows(target: str | Address, sha256: str, id: str) -> bool:
    """Whether a table has exactly these rows, once the publication of this id has ended; raises if that cannot be found out."""
    address = address_of(target) if isinstance(target, str) else target
    if address.kind == "sqlite" and not os.path.exists(address.uri):
        return False
    with Session(address, write=True) as session:  # only a writer may take back what SQLite finds half done
        _wait_for(session, id)
        if identity_of(session, address) is None:
            return False
        return DatabaseInput(address.shown, session).sha256() == sha256


def take_back_file(path: str, *, is_new: bool) -> None:
    """Makes a file of SQLite what it was before a transaction that was never committed: without its journal, or not there at all."""
    if not os.path.exists(path):
        return
    with Session(Address("sqlite", path), write=True) as session:
        if session.rows("SELECT 1 FROM sqlite_master LIMIT 1"):  # which also takes back what was written
            is_new = False
        if not is_new and os.path.exists(f"{path}-journal"):
            # SQLite leaves a journal that was begun and not used until somebody writes.
            version = session.rows("PRAGMA user_version")[0][0]
            session.execute(f"PRAGMA user_version = {version}")
            session.commit(lambda: None)
    if is_new:
        for ending in ("", "-journal", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path + ending)


def _wait_for(session: Session, id: str) -> None:
    """Waits until no other transaction of the same publication is open in the server: its process may be gone, and it not yet."""
    if session.kind == "postgresql" and id:
        session.execute(f"SET LOCAL lock_timeout = '{_TIMEOUT}s'")
        session.execute(f"SELECT pg_advisory_xact_lock({int.from_bytes(bytes.fromhex(id), signed=True)})")
        session.execute("SET LOCAL lock_timeout = 0")


def same_file(target: str, sources: Sequence[Identity]) -> bool:
    """Whether a table stands in the same SQLite file as what it was made from."""
    address = address_of(target)
    return address.kind == "sqlite" and any(
        source.kind == "sqlite" and _same_path(source.database[0], address.uri) for source in sources
    )


def _named(target: str) -> Address:
    address = address_of(target)
    if address.query is not None or address.table is None:
        raise InputError(f"{address.database}: a release needs the name of a new table; write ?table=NAME")
    _check_names(address.parts, address)
    return address


def _check_names(names: Sequence[str], address: Address) -> None:
    for name in names:
        if "\0" in name or (address.kind == "postgresql" and len(name.encode()) > _LONGEST):
            raise InputError(
                f"{address.name}: its name is longer than {_LONGEST} bytes or holds a NUL; choose a shorter one"
            )


def _source(address: str) -> Identity:
    with opened_table(address) as opened:
        assert opened.identity is not None
        return opened.identity


def _full_name(session: Session, address: Address) -> tuple[str, str]:
    """Schema and name of a table that is to be made."""
    *schema, name = address.parts
    if session.kind == "sqlite":
        if name.lower().startswith("sqlite_"):
            raise InputError(f"{name}: SQLite keeps names that begin with sqlite_ for itself; choose another")
        return "", name
    if not schema:
        current = session.rows("SELECT current_schema()::text")[0][0]
        if current is None:
            raise InputError(f"{address.database}: there is no schema to put {name!r} into; write ?table=SCHEMA.{name}")
        return current, name
    if not session.rows(f"SELECT 1 FROM pg_namespace WHERE nspname = {literal(schema[0])}"):
        raise InputError(f"{address.database}: there is no schema {schema[0]!r}; create it first, or name another")
    return schema[0], name


def _replaceable(session: Session, address: Address, force: bool, sources: Sequence[Identity]) -> Identity | None:
    """The table that the new one takes the place of, if there is one. Raises if that must not be."""
    old = identity_of(session, address)
    if old is None:
        return None
    for source in sources:
        if (why := _holds_source(session, old, source)) is not None:
            raise InputError(f"{address.name}: {why}; write to another table")
    if session.kind == "postgresql":
        asked = f"SELECT relkind = 'r' AND NOT relispartition FROM pg_class WHERE oid = {old.number}"
        plain = session.rows(asked)[0][0]
    else:
        plain = bool(old.number)  # a view has no page of its own
    if not plain:
        raise InputError(f"{address.name}: it is there already and is not an ordinary table; write to another one")
    if not force:
        raise InputError(
            f"{address.name}: it is there already; pass {option('force')} to replace it, or name another table"
        )
    return old


def _holds_source(session: Session, old: Identity, source: Identity) -> str | None:
    """Why a table must not be replaced, if the source lies in it or may do."""
    if source.kind != old.kind:
        return None
    if old.kind == "sqlite":
        if not _same_path(source.database[0], old.database[0]):
            return None
        read = _read_in_sqlite(session, source.select)
        same = old.name[1].lower() in read if read is not None else None
    else:
        servers = {source.database[0], old.database[0]}
        if source.database[1:] != old.database[1:] or (len(servers) > 1 and "" not in servers):
            return None
        if source.name == old.name or source.number == old.number:
            return "it is the source of this release"
        numbers = _read_in_postgresql(session, source)
        same = old.number in numbers if numbers is not None else None
    if same is None:
        return "nobody can tell that the source of this release is not read from it"
    return "the source of this release is read from it" if same else None


def _same_path(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def _read_in_sqlite(session: Session, select: str) -> set[str] | None:
    """The tables that a query reads, in small letters; none where virtual tables keep that from view.

    SQLite tells the program that it would run: what is opened is named by the page where it begins. (Python's own sqlite3 would be a second
    copy of SQLite in this process, and closing a file there gives up the locks that are held here.)
    """
    names = dict(session.rows("SELECT rootpage, lower(tbl_name) FROM sqlite_master WHERE rootpage > 0"))
    try:
        steps = session.rows(f"EXPLAIN {select}")
    except InputError:
        return None
    if any(step[1].startswith("V") and step[1] != "Variable" for step in steps):
        return None
    pages = {int(step[3]) for step in steps if step[1] in ("OpenRead", "ReopenIdx")}
    return {names[page] for page in pages - {1}} if pages - {1} <= names.keys() else None


_NEEDED = """
WITH RECURSIVE needed(class, number) AS (
    SELECT 'pg_class'::regclass::oid, to_regclass({view})::oid
  UNION
    SELECT found.class, found.number FROM needed CROSS JOIN LATERAL (
        SELECT d.refclassid AS class, d.refobjid AS number FROM pg_rewrite r
        JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
        WHERE needed.class = 'pg_class'::regclass AND r.ev_class = needed.number
      UNION ALL
        SELECT 'pg_class'::regclass::oid, inhrelid FROM pg_inherits
        WHERE needed.class = 'pg_class'::regclass AND inhparent = needed.number
    ) found
)
SELECT needed.number::bigint, coalesce(
    CASE WHEN needed.class = 'pg_class'::regclass THEN c.relkind IN ('r', 'p', 'v', 'm') AND NOT c.relrowsecurity
         ELSE needed.class IN ('pg_type'::regclass, 'pg_collation'::regclass, 'pg_constraint'::regclass) END, false)
FROM needed LEFT JOIN pg_class c ON needed.class = 'pg_class'::regclass AND c.oid = needed.number
"""


def _read_in_postgresql(session: Session, source: Identity) -> set[int] | None:
    """The tables that a query may read, by number; none where functions, foreign tables or row security keep that from view.

    The server knows on what a view depends: the query is made one for a moment.
    """
    view = f"shoal_look_{secrets.token_hex(4)}"
    if session.rows("SELECT current_user::text")[0][0] != source.seen_by[0]:  # names may mean something else
        return None
    path = session.rows("SELECT current_setting('search_path')")[0][0]
    session.execute("SAVEPOINT shoal_look")
    try:
        session.execute(f"SELECT set_config('search_path', {literal(source.seen_by[1])}, true)")
        session.execute(f"CREATE TEMPORARY VIEW {quote_name(view)} AS {source.select}")
        found = session.rows(_NEEDED.format(view=literal(quote_name("pg_temp", view))))
    except InputError:
        return None
    finally:
        session.execute("ROLLBACK TO SAVEPOINT shoal_look")
        session.execute(f"SELECT set_config('search_path', {literal(path)}, true)")
    return {number for number, _ in found} if all(plain for _, plain in found) else None


def table_rows(rows: Baskets | Records, layout: Layout, target: str) -> tuple[Rows, Layout]:
    """The rows of a table of baskets or records, and the layout that they stand in."""
    layout = settled_layout(rows, layout, target)
    written = written_records(rows, layout, target)
    texts = [text for column in written.columns for text in column.values]
    _refuse_nul([*texts, *(() if written.items is None else written.items.vocabulary)], target)
    types = dict(_kept_types(written, layout)) if layout.format == "postgresql" else {}
    frame = Frame(written, [(name, "text") for name, type in layout.types if name in types or type == "text"])
    if layout.id is not None:
        schema = pa.schema([(layout.id, pa.int64()), (layout.items, pa.string())])
        return Rows(schema, _long_batches(frame, schema), {}), layout
    if layout.format == "postgresql" or written.items is None:
        return Rows(frame.schema, frame.batches(), types), layout
    return _joined(frame, set_separators(written, layout)), layout


def _joined(frame: Frame, separators: Sequence[str]) -> Rows:
    """The sets as text; they are the last columns."""
    first = len(frame.schema) - len(separators)
    fields = [field if at < first else pa.field(field.name, pa.string()) for at, field in enumerate(frame.schema)]
    schema = pa.schema(fields)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in frame.batches():
            sets = [pc.binary_join(lists, mark) for lists, mark in zip(batch.columns[first:], separators, strict=True)]
            yield pa.record_batch([*batch.columns[:first], *sets], schema)

    return Rows(schema, batches(), {})


def _long_batches(frame: Frame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Numbers of transactions and items; an empty transaction is a number without an item."""
    row = 1
    for batch in frame.batches():
        lists = batch.column(0)
        lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
        empty = lengths == 0
        ids = np.repeat(np.arange(row, row + len(lists)), lengths + empty)
        items = lists.flatten()
        at = np.insert(np.arange(len(items)), (np.cumsum(lengths) - lengths)[empty], -1)
        yield pa.record_batch([pa.array(ids), items.take(pa.array(at, mask=at < 0))], schema)
        row += len(lists)


def _kept_types(records: Records, layout: Layout) -> Iterator[tuple[str, str]]:
    """The columns that still hold nothing but values of the type that they came in, spelled as it spells them."""
    came_in = dict(layout.types)
    for column in records.columns:
        type = came_in.get(column.name, "")
        if (type in _SPELLED or type in _ARROW) and _is_spelled(column, type):
            yield column.name, type


def _is_spelled(column: Column, type: str) -> bool:
    values = [value for value in column.values if value != MISSING]
    if (spelled := _SPELLED.get(type)) is not None:
        # Digits that are no day of the calendar come from a hierarchy, not from the server.
        return all(spelled.fullmatch(value) and (type == "numeric" or _is_day(value)) for value in values)
    texts = pa.array(values, pa.large_string())
    try:
        return bool(as_text(texts.cast(_ARROW[type])).equals(texts))
    except pa.ArrowException:
        return False


def _is_day(text: str) -> bool:
    """Whether a date or time is one of the calendar; years that Python does not have are believed."""
    if text.endswith(("infinity", "BC")) or len(text.partition("-")[0]) > 4:
        return True
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _refuse_nul(texts: Sequence[str], target: str) -> None:
    if any("\0" in text for text in texts):
        raise InputError(f"{display_name(target)}: a value holds a NUL, which databases do not take; write .parquet")
