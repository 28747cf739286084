"""A connection to a database, and what its driver says, put into plain words.

All goes through ADBC: results come as Arrow batches, as they do from Parquet. A session is one transaction. One that reads sees one state
of the data and cannot write; one that writes ends in `commit`, or leaves nothing behind. Passwords that stood in the address are
taken out of every message.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from shoal.errors import InputError, Unavailable, option
from shoal.records.database.address import Address
from shoal.records.storage.journal import InDoubt

_TIMEOUT = 10  # seconds until a server that does not answer counts as unreachable

_SETTINGS = (
    # What is written is read again in the order in which it was written.
    "max_parallel_workers_per_gather = 0",
    "synchronize_seqscans = off",
    # The text of a value does not depend on who asks.
    "datestyle = 'ISO, YMD'",
    "intervalstyle = 'postgres'",
    "timezone = 'UTC'",
    "bytea_output = 'hex'",
)

_CLOSED = {"enable_external_access": "false", "autoinstall_known_extensions": "false"}
"""A view in a file of DuckDB may ask for other files, and for servers: nothing but the file itself is read."""

_FAULTS = (
    (
        r"password authentication failed|no password supplied|no pg_hba.conf entry|role \".*\" does not exist|28P01",
        "the server does not let you in ({reason}); check the user, and give the password in PGPASSWORD or in ~/.pgpass",
    ),
    (r"database \".*\" does not exist", "there is no such database; check its name"),
    (
        r"server closed the connection|terminating connection|connection to server was lost|no connection to the server|"
        r"could not receive data|could not send data|SSL connection has been closed|57P0|08006",
        "the connection was lost{undone}; try again when the server is back",
    ),
    (
        r"connection to server|could not translate host name|could not connect|timeout expired|Connection refused|Failed to connect",
        "the server cannot be reached ({reason}); check host and port, and that the server runs",
    ),
    (
        r"relation .* does not exist|no such table|42P01|Catalog Error: Table with name",
        "there is no such table; check its name and schema",
    ),
    (r"permission denied|42501|readonly database", "you may not do this; ask for the right"),
    (
        r"already exists|42P07",
        f"the name is taken{{undone}}; pass {option('force')} to replace a table, or name another",
    ),
    (r"schema .* does not exist|3F000", "there is no such schema; create it first"),
    (r"other objects depend|2BP01", "the old table cannot be replaced; drop what depends on it first"),
    (
        r"database is locked|database table is locked|55P03|Could not set lock",
        "somebody else writes to it{undone}; try again later",
    ),
    (r"Permission Error", "it asks for more than its own file, which stays closed; make a table of what it reads"),
    (
        r"file is not a database|unable to open|failed to open|not a valid DuckDB|Cannot launch in-memory",
        "it cannot be opened as a database; check the path",
    ),
    (r"disk I/O error|disk is full|No space left|53100", "it cannot be written{undone}; make room on its disk"),
)


_OF_QUERY = r'no such (?:table|column|function): |near ".*": syntax error|incomplete input|ambiguous column name: |only one statement'
"""What SQLite says about a query before it looks at any row."""


class Session:
    """One transaction in a database."""

    def __init__(self, address: Address, *, write: bool = False) -> None:
        self.address = address
        self.kind = address.kind
        self.writes = write
        self._undone = "; nothing was written" if write else ""
        self._streams: list[contextlib.ExitStack] = []
        if address.kind != "postgresql":
            self._check_file()
        with self.faults():
            self._connection = self._connected()
            self._cursor = self._connection.cursor()
        try:
            if self.kind == "postgresql":
                if not write:
                    self.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                for setting in _SETTINGS:
                    self.execute(f"SET LOCAL {setting}")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_file(self) -> None:
        path = self.address.uri
        if os.path.isdir(path):
            raise InputError(f"{self.address.database}: it is a folder; name a file in it")
        if not self.writes and not os.path.isfile(path):
            raise InputError(f"{self.address.database}: there is no such file; check the path")
        folder = os.path.dirname(os.path.abspath(path))
        if self.writes and not os.path.isdir(folder):
            raise InputError(f"{self.address.database}: its folder is not there; make the folder first")

    def _connected(self) -> Any:
        try:
            driver = import_module(f"adbc_driver_{self.kind}{'.dbapi' * (self.kind != 'duckdb')}")
            manager = import_module("adbc_driver_manager.dbapi")
        except ImportError:
            raise InputError(
                f"{self.address.database}: databases need a driver; pip install 'shoal[{'duckdb' if self.kind == 'duckdb' else 'sql'}]', "
                "and try again"
            ) from None
        if self.kind == "duckdb":
            settings = {"path": self.address.uri, "access_mode": "READ_ONLY", **_CLOSED}
            return manager.connect(
                driver=driver.driver_path(), entrypoint="duckdb_adbc_init", db_kwargs=settings, autocommit=False
            )
        if self.kind == "postgresql":
            return driver.connect(_with_defaults(self.address.uri), autocommit=False)
        mode = "rwc" if self.writes else "ro"
        return driver.connect(f"file:{quote(self.address.uri)}?mode={mode}", autocommit=False)

    def execute(self, statement: str) -> None:
        """Runs a statement that gives no rows."""
        with self.faults():
            self._cursor.execute(statement)
            self._cursor.fetchall() if self._cursor.description else None

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """All rows of a small result."""
        with self.faults():
            self._cursor.execute(query)
            found: list[tuple[Any, ...]] = self._cursor.fetchall()
            return found

    def schema(self, query: str) -> pa.Schema:
        """The columns of a result."""
        with self.faults():
            whole = f"SELECT * FROM ({query}\n) AS q"  # which only what reads can stand in
            if self.kind == "postgresql":
                return self._cursor.adbc_execute_schema(whole)
            self._cursor.execute(f"{whole} LIMIT 0")
            return self._cursor.fetch_record_batch().schema

    def batches(self, query: str) -> Iterator[pa.RecordBatch]:
        """The rows of a result as they come, a batch at a time."""
        with self.faults(), contextlib.ExitStack() as stack:
            cursor = stack.enter_context(contextlib.closing(self._connection.cursor()))
            self._streams.append(stack)  # who stops in the middle need not come back
            cursor.execute(query)
            yield from stack.enter_context(cursor.fetch_record_batch())

    def ingest(self, name: str, rows: pa.RecordBatchReader, *, temporary: bool = False) -> None:
        """Writes Arrow batches to a new table."""
        with self.faults(), contextlib.closing(self._connection.cursor()) as cursor:
            if temporary:
                cursor.adbc_ingest(name, rows, mode="create", temporary=True)
            else:
                cursor.adbc_ingest(name, rows, mode="append")

    def commit(self, is_in: Callable[[], bool | None]) -> None:
        """Commits; where the database does not say that it did, `is_in` finds out (None if it cannot)."""
        try:
            self._connection.commit()
        except Exception as error:
            if not _is_of_driver(error):
                raise
            self.close()
            found = is_in()
            if found is None:
                self._undone = "; whether the commit took place is not known: the next command that names the certificate finds out"
                raise InDoubt(self._sentence(error)) from None
            if not found:
                raise Unavailable(self._sentence(error)) from None

    def close(self) -> None:
        """Ends the session; what was not committed is gone."""
        import adbc_driver_manager

        streams = [stream.close for stream in self._streams]
        for done in (*streams, self._cursor.close, self._connection.rollback, self._connection.close):
            with contextlib.suppress(adbc_driver_manager.Error, OSError):
                done()

    @contextlib.contextmanager
    def faults(self) -> Iterator[None]:
        """Turns what the driver says into a sentence with a remedy, without passwords."""
        try:
            yield
        except InputError:
            raise
        except Exception as error:
            if not _is_of_driver(error):
                raise
            raise Unavailable(self._sentence(error)) from None

    def _sentence(self, error: Exception) -> str:
        text = f"{error} {getattr(error, 'sqlstate', None) or ''}"
        for secret in self.address.secrets:
            text = text.replace(secret, "***")
        reason = _reason(text)
        for pattern, says in _FAULTS:
            if re.search(pattern, text):
                return f"{self.address.database}: {says.format(reason=reason, undone=self._undone)}"
        # What a database says may quote the rows that it looked at, unless it stopped at the words of the query.
        state = getattr(error, "sqlstate", None) or ""
        reported = (
            reason
            if state.startswith("42") or re.match(_OF_QUERY, reason)
            else f"its code is {state}"
            if state
            else "it says no more"
        )
        return (
            f"{self.address.database}: the database refuses ({reported}){self._undone}; check the address and the query"
        )


def quote_name(*parts: str) -> str:
    """A name as SQL takes it literally."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def literal(text: str) -> str:
    """A text as SQL takes it literally; names with backslashes mean themselves in both databases."""
    return "'" + text.replace("'", "''") + "'"


def _is_of_driver(error: Exception) -> bool:
    import adbc_driver_manager

    return isinstance(error, adbc_driver_manager.Error | pa.ArrowException | OSError)


def _reason(text: str) -> str:
    """The first line of what the driver says, without its own prefixes."""
    line = next((line for line in text.splitlines() if line.strip()), "no reason given")
    line = re.sub(r"^.*?\b(ERROR|FATAL|PANIC):\s+", "", line)
    line = re.sub(r"^([A-Z_]+: )?(\[\w+\] )?(Failed to [\w ]+: )?", "", line)
    return re.sub(r"\s*(SQLSTATE: \w+|Query was:.*)?\s*\.?\s*$", "", line)[:200]


def _with_defaults(uri: str) -> str:
    """The address with a limit to waiting and with a name for the server's list of who is connected."""
    given = uri.partition("?")[2]
    added = ["fallback_application_name=shoal"]
    if "connect_timeout=" not in given and "PGCONNECT_TIMEOUT" not in os.environ:
        added.append(f"connect_timeout={_TIMEOUT}")
    return f"{uri}{'&' if given else '?' if '?' not in uri else ''}{'&'.join(added)}"
