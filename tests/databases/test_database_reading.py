import sqlite3
from contextlib import closing

import pytest

import shoal
from shoal.errors import InputError
from shoal.plan.draft import draft, draft_yaml
from shoal.records.database.address import with_query
from shoal.records.formats.peek import column_names
from shoal.records.source import fingerprint, load_records, load_sets

OTHERS = "id,age,sex,paid,share,insured,seen,at"


def test_arrays_are_sets_and_single_columns_have_their_values(server, visits):
    found = load_records(
        server.address(visits), quasi="age,sex", items="codes", keep="paid,insured,seen,at,share", drop="id"
    )
    records = found.records
    assert records.items is not None
    assert list(records.items.rows())[:4] == [["a", "b"], ["a", "b", "c d"], ["a", "b", "c d", "é"], ["a"]]
    by_name = {column.name: [column.values[code] for code in column.codes[:3]] for column in records.columns}
    assert by_name["age"] == ["21", "22", "23"]
    assert by_name["paid"] == ["1.50", "2.50", "0.50"]
    assert by_name["insured"] == ["false", "true", "false"]
    assert by_name["seen"] == ["2020-01-02", "2020-01-01", "2020-01-02"]
    assert by_name["at"][0].startswith("2020-01-01 11:00:00")
    assert by_name["share"] == ["0.1", "0.2", "0.3"]
    assert dict(found.layout.types)["paid"] == "numeric"
    assert found.name == visits


@pytest.mark.parametrize(
    "type",
    [
        "uuid",
        "inet",
        "jsonb",
        "time",
        "interval",
        "bytea",
        "money",
        "char(9)",
        "varchar(40)",
        "numeric[]",
        "date[]",
        "xml",
    ],
)
def test_types_without_a_counterpart_come_as_text(server, ask, type):
    values = {
        "uuid": "'00000000-0000-0000-0000-00000000000a'", "inet": "'10.0.0.1'", "jsonb": "'{\"a\": 1}'", "time": "'10:00'",
        "interval": "'1 day'", "bytea": "'\\x0a'", "money": "'10'", "char(9)": "'ab'", "varchar(40)": "'ab'",
        "numeric[]": "'{1.50,2}'", "date[]": "'{2020-01-01}'", "xml": "'<a/>'",
    }  # fmt: skip
    query = f"SELECT {values[type]}::{type} AS a, 'x' AS b"
    if type.endswith("[]"):
        baskets = shoal.read(server.address(), query=query, items="a", drop="b")
        assert set(baskets.vocabulary) == ({"1.50", "2"} if type == "numeric[]" else {"2020-01-01"})
        return
    records = load_records(server.address(), query=query, keep="a", quasi="b").records
    shown = next(column for column in records.columns if column.name == "a").values
    assert shown == ("$10.00" if type == "money" else ask(f"SELECT ({values[type]}::{type})::text")[0][0],)


def test_a_query_is_read_as_a_table_is(server, visits):
    asked = f'WITH young AS (SELECT * FROM {visits} WHERE age < 30) SELECT codes AS "Codes of, one" FROM young; -- all'
    with pytest.raises(InputError, match="names no table"):
        shoal.read(server.address())
    # A comment at the end does not swallow what is put around the query.
    baskets = shoal.read(server.address(), query=asked.replace(";", ""))
    assert len(baskets) == 40
    assert column_names(with_query(server.address(), asked.replace(";", ""))) == ["Codes of, one"]


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM {0}", "SELECT 1; DROP TABLE {0}", "WITH gone AS (DELETE FROM {0} RETURNING *) SELECT * FROM gone"],
)
def test_a_query_cannot_change_anything(server, visits, ask, statement):
    with pytest.raises(InputError, match="refuses"):
        shoal.read(server.address(), query=statement.format(visits))
    assert ask(f"SELECT count(*) FROM {visits}") == [(120,)]


def test_a_reader_that_stops_in_the_middle_says_why(server):
    with pytest.raises(InputError, match="holds no sets"):
        shoal.read(server.address(), query="SELECT 1 AS a FROM generate_series(1, 100000)")
    assert draft(server.address(), query="SELECT array['a'] AS a FROM generate_series(1, 150000)").rows == 100_000


def test_two_columns_of_one_name_are_refused(server):
    with pytest.raises(InputError, match="columns 1 and 2 have the same name"):
        shoal.read(server.address(), query="SELECT 1 AS a, 2 AS a")


def test_schemas_and_quoted_names_are_found(server, ask):
    ask('CREATE SCHEMA IF NOT EXISTS "Odd clinic"')
    ask('CREATE TABLE IF NOT EXISTS "Odd clinic"."Vi.sits" AS SELECT array[\'a\'] AS codes')
    assert list(shoal.read(server.address('"Odd clinic"."Vi.sits"')).rows()) == [["a"]]
    with pytest.raises(InputError, match="there is no table"):
        shoal.read(server.address("Vi_sits"))


def test_long_tables_are_grouped(server, ask, visits):
    ask(f"CREATE TABLE {visits}_long AS SELECT id, unnest(codes) AS code FROM {visits}")
    long = load_sets(server.address(f"{visits}_long"), id="id")
    assert sorted(long.baskets.rows()) == sorted(shoal.read(server.address(visits), items="codes", drop=OTHERS).rows())
    assert long.layout.id == "id"


def test_the_hash_is_of_all_rows_and_columns_whatever_is_used(server, ask, visits):
    address = server.address(visits)
    first = load_sets(address, items="codes", drop=OTHERS).sha256
    assert (
        load_records(address, quasi="age", items="codes", drop=OTHERS.replace("age,", "")).sha256
        == fingerprint(address)
        == first
    )
    ask(f"CREATE TABLE {visits}_b AS SELECT * FROM {visits} ORDER BY sex, id DESC")
    assert fingerprint(server.address(f"{visits}_b")) == first
    ask(f"UPDATE {visits}_b SET id = 0 WHERE id = 7")
    assert fingerprint(server.address(f"{visits}_b")) != first


def test_sqlite_is_read_with_its_types_by_value(clinic):
    found = load_records("sqlite:clinic.db?table=Visits", quasi="age,sex", items="codes", keep="share,seen", drop="id")
    assert found.layout.separator == ";"
    assert list(found.records.items.rows())[:2] == [["a", "b"], ["a", "b", "c d"]]
    share = next(column for column in found.records.columns if column.name == "share")
    assert share.numbers is not None
    assert share.values[share.codes[1]] == "0.2"


def test_sqlite_columns_may_change_their_type_after_many_rows(tmp_path):
    with closing(sqlite3.connect("mixed.db")) as connection, connection:
        connection.execute("CREATE TABLE t (a, b, c, items)")
        rows = [(None, i, None, "x;y") for i in range(3000)] + [("text", 0.1 + 0.2, b"\xff", "z")]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    found = load_records("sqlite:mixed.db?table=t", keep="a,b,c", items="items", numeric=()).records
    last = {column.name: column.values[column.codes[-1]] for column in found.columns}
    assert last == {"a": "text", "b": "0.30000000000000004", "c": "FF"}
    assert len(found) == 3001


def test_sqlite_answers_queries(clinic):
    baskets = shoal.read("sqlite:clinic.db", query="SELECT codes FROM visits WHERE age < 25 -- young")
    assert len(baskets) == 20
    with pytest.raises(InputError, match="refuses"):
        shoal.read("sqlite:clinic.db", query="DELETE FROM visits")


def test_a_draft_has_no_password(server, visits):
    found = draft(server.address(visits), bind=True)
    text = draft_yaml(found)
    assert "s3cret" not in text
    assert "s3cret" not in str(found.to_dict())
    assert f"table={visits}_public" in text
    assert {guess.name: guess.role for guess in found.guesses}["codes"] == "items"
    assert found.sha256 == fingerprint(server.address(visits))


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("sqlite:none.db?table=t", "there is no such file"),
        ("sqlite:clinic.db?table=none", "there is no table 'none'"),
        ("sqlite:text.db?table=t", "cannot be opened as a database"),
        ("sqlite:.?table=t", "it is a folder"),
        ("sqlite:clinic.db", "names no table"),
    ],
)
def test_what_sqlite_cannot_read_is_said_in_a_sentence(clinic, tmp_path, address, says):
    (tmp_path / "text.db").write_text("no database" * 1000)
    with pytest.raises(InputError, match=says):
        shoal.read(address)
    assert not (tmp_path / "none.db").exists()


def test_an_empty_table_is_refused(server, ask):
    ask("CREATE TABLE IF NOT EXISTS nobody (codes text[])")
    with pytest.raises(InputError, match="no transactions"):
        shoal.read(server.address("nobody"))


def test_without_the_drivers_the_extra_is_named(clinic, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "adbc_driver_sqlite", None)
    monkeypatch.setitem(sys.modules, "adbc_driver_sqlite.dbapi", None)
    with pytest.raises(InputError, match=r"pip install 'shoal\[sql\]'"):
        shoal.read("sqlite:clinic.db?table=visits")
