"""What the tests of databases share: a server, tables in it, and a key that is not the tester's."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from database_server import NoServerError, Server, running_server

_NUMBERS = itertools.count(1)

VISITS = """
CREATE TABLE {table} AS SELECT
    i::int AS id, (20 + i % 30)::smallint AS age, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex, (i % 3) + 0.50 AS paid,
    (i % 5) / 10.0::float8 AS share, i % 2 = 0 AS insured, date '2020-01-01' + i % 2 AS seen,
    timestamp '2020-01-01 10:00' + interval '1 hour' * (i % 2) AS at, (array['a', 'b', 'c d', 'é'])[1 : 1 + i % 4] AS codes
FROM generate_series(1, 120) i
"""


@pytest.fixture(autouse=True)
def _own_key(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path / "key" / "owner.key"))
    monkeypatch.chdir(tmp_path)
    for name in ("PGPASSWORD", "PGPASSFILE", "PGUSER", "PGHOST", "PGPORT", "PGDATABASE", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with ExitStack() as stack:
        try:
            found = stack.enter_context(running_server())
        except NoServerError as reason:
            pytest.skip(str(reason))
        yield found


@pytest.fixture
def ask(server) -> Callable[[str], list[tuple]]:
    """Runs a statement in the server."""
    import adbc_driver_postgresql.dbapi as driver

    def asked(statement: str) -> list[tuple]:
        with driver.connect(server.address(), autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []

    return asked


@pytest.fixture
def visits(ask) -> str:
    """The name of a new table with typed columns."""
    name = f"visits_{next(_NUMBERS)}"
    ask(VISITS.format(table=name))
    return name


@pytest.fixture
def clinic(tmp_path) -> Path:
    """A SQLite file with the same visits, its sets as text."""
    path = tmp_path / "clinic.db"
    rows = [
        (
            i,
            20 + i % 30,
            "FM"[i % 2],
            (i % 5) / 10,
            f"2020-01-0{1 + i % 2}",
            ";".join(["a", "b", "c d", "é"][: 1 + i % 4]),
        )
        for i in range(1, 121)
    ]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE visits (id INTEGER, age INTEGER, sex TEXT, share REAL, seen DATE, codes TEXT)")
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?)", rows)
    return path


@pytest.fixture
def tables() -> Callable[[Path], set[str]]:
    """The tables of a SQLite file."""

    def found(path: Path) -> set[str]:
        with closing(sqlite3.connect(path)) as connection:
            return {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}

    return found
