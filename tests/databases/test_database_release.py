"""A release into a table: typed, read again before the commit, and never over what it was made from."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import shoal
from shoal.errors import InputError, ShoalError
from shoal.records.source import load_records
from shoal.release import anonymize

ROLES = {"quasi": "age,sex", "items": "codes", "drop": "id"}
KEPT = "paid,share,insured,seen,at"


def released(address, **more):
    return anonymize(address, shoal.RTAnonymity(5, 2), **{**ROLES, "keep": KEPT, **more})


def types_of(ask, table):
    return dict(ask(f"SELECT column_name, data_type FROM information_schema.columns WHERE table_name = '{table}'"))


def test_columns_that_did_not_change_keep_their_type(server, visits, ask):
    release = released(server.address(visits))
    written = release.write(server.address(f"{visits}_public"), "public.json")
    assert types_of(ask, f"{visits}_public") == {
        "age": "text",
        "sex": "text",
        "paid": "numeric",
        "share": "double precision",
        "insured": "boolean",
        "seen": "date",
        "at": "timestamp without time zone",
        "codes": "ARRAY",
    }
    same = f"SELECT paid, share, insured, seen, at FROM {visits}"
    assert ask(f"SELECT count(*) FROM (({same}) EXCEPT ALL ({same}_public)) q") == [(0,)]
    assert release.audit.holds
    assert json.loads(Path("public.json").read_text())["output"]["sha256"] == written.sha256
    assert shoal.verify("public.json", server.address(f"{visits}_public")).holds
    assert not ask("SELECT 1 FROM pg_class WHERE relname LIKE 'shoal_staging%'")


def test_a_changed_row_is_found_by_verify(server, visits, ask):
    released(server.address(visits)).write(server.address(f"{visits}_public"), "public.json")
    ask(f"UPDATE {visits}_public SET paid = 9.99 WHERE ctid = (SELECT min(ctid) FROM {visits}_public)")
    found = shoal.verify("public.json", server.address(f"{visits}_public"))
    assert [check.name for check in found.checks if check.holds is False] == ["file"]


def test_the_original_of_a_release_is_known_again(server, visits):
    released(server.address(visits)).write(server.address(f"{visits}_public"), "public.json")
    found = shoal.verify("public.json", server.address(f"{visits}_public"), original=server.address(visits))
    assert found.holds


def test_rows_are_shuffled(server, ask):
    ask(
        "CREATE TABLE IF NOT EXISTS ordered AS SELECT i AS n, 1 AS age, array['a'] AS codes FROM generate_series(1, 200) i"
    )
    release = anonymize(server.address("ordered"), shoal.RTAnonymity(5, 2), quasi="age", items="codes", keep="n")
    release.write(server.address("ordered_public"), "public.json", force=True)
    order = [n for (n,) in ask("SELECT n FROM ordered_public")]
    assert sorted(order) == list(range(1, 201))
    assert order != sorted(order)


def test_from_a_file_into_both_databases_and_back(server, tmp_path):
    lines = "".join(f"{20 + i % 10},{'FM'[i % 2]},{'a;b' if i % 2 else 'a'}\n" for i in range(60))
    (tmp_path / "people.csv").write_text(f"age,sex,codes\n{lines}")
    release = anonymize("people.csv", shoal.RTAnonymity(5, 2), quasi="age,sex", items="codes")
    release.write(server.address("people"), "p.json", force=True)
    release.write("sqlite:people.db?table=people", "s.json")
    release.write("people-public.csv")
    found = [
        load_records(address, quasi="age,sex", items="codes", numeric=()).records
        for address in (server.address("people"), "sqlite:people.db?table=people", "people-public.csv")
    ]
    rows = [
        sorted(
            zip(
                *(map(column.values.__getitem__, column.codes) for column in r.columns),
                map(tuple, r.items.rows()),
                strict=True,
            )
        )
        for r in found
    ]
    assert rows[0] == rows[1] == rows[2]
    assert shoal.verify("s.json", "sqlite:people.db?table=people").holds


def test_sets_alone_and_long_tables(server, ask, visits):
    ask(f"CREATE TABLE {visits}_sets AS SELECT codes FROM {visits}")
    sets = anonymize(server.address(f"{visits}_sets"), shoal.KmAnonymity(5, 2))
    sets.write(server.address(f"{visits}_km"), "km.json")
    assert types_of(ask, f"{visits}_km") == {"codes": "ARRAY"}
    ask(f"CREATE TABLE {visits}_long AS SELECT id, unnest(codes) AS code FROM {visits}")
    long = anonymize(server.address(f"{visits}_long"), shoal.KmAnonymity(5, 2), id="id")
    for address in (server.address(f"{visits}_km_long"), "sqlite:long.db?table=long"):
        long.write(address, f"{address[:6]}.json".replace(":", ""))
        assert shoal.read(address, id="id") == long.published
    assert shoal.verify("sqlite.json", "sqlite:long.db?table=long").holds
    assert types_of(ask, f"{visits}_km_long") == {"id": "bigint", "code": "text"}


def test_sensitive_sets_and_items_with_blanks_go_to_sqlite_and_back(tmp_path):
    import pyarrow as pa

    frame = pa.table({"items": [["a b", "c"], ["c"]] * 10, "found": [["x y"], ["z"]] * 10})
    release = anonymize(frame, shoal.KAnonymity(5, 1), sensitive="found")
    release.write("sqlite:sets.db?table=sets", "sets.json")
    assert shoal.verify("sets.json", "sqlite:sets.db?table=sets").holds


def test_empty_sets_and_missing_values_stay(server, ask):
    ask(
        "CREATE TABLE IF NOT EXISTS gaps AS SELECT NULLIF(i % 2, 0) AS n, 1 AS q, "
        "CASE WHEN i % 2 = 0 THEN '{}'::text[] ELSE '{a}' END AS s FROM generate_series(1, 40) i"
    )
    release = anonymize(server.address("gaps"), shoal.RTAnonymity(5, 2), quasi="q", items="s", keep="n")
    release.write(server.address("gaps_public"), "gaps.json", force=True)
    assert ask("SELECT count(*) FROM gaps_public WHERE n IS NULL AND s = '{}'") == [(20,)]
    assert types_of(ask, "gaps_public")["n"] == "integer"


def test_an_old_table_is_replaced_only_when_asked_to(server, visits, ask, clinic, tables):
    release = released(server.address(visits))
    for address in (server.address(f"{visits}_public"), "sqlite:clinic.db?table=public"):
        release.write(address, "first.json", force=True)
        with pytest.raises(InputError, match="there already; pass force=True"):
            release.write(address, "second.json")
        assert not (clinic.parent / "second.json").exists()
        release.write(address, "first.json", force=True)
    assert ask(f"SELECT count(*) FROM {visits}_public") == [(120,)]


@pytest.mark.parametrize("name", ["{0}", "{1}", "public.{0}", '"{0}"', "PUBLIC.{0}"])
def test_the_source_is_never_written_to(server, visits, ask, name):
    release = released(server.address(f"public.{visits}"))
    with pytest.raises(InputError, match="it is the source of this release"):
        release.write(server.address(name.format(visits, visits.upper())), "public.json", force=True)
    assert ask(f"SELECT count(*) FROM {visits}") == [(120,)]


def test_the_source_is_known_under_another_address_of_the_server(server, visits):
    release = released(server.address(visits))
    other = server.address(visits).replace("127.0.0.1", "localhost")
    with pytest.raises(InputError, match="it is the source of this release"):
        release.write(other, "public.json", force=True)


@pytest.mark.parametrize("how", ["query", "view", "view of a view", "partition", "function", "row security"])
def test_what_a_query_or_view_reads_is_never_replaced(server, visits, ask, how):
    target, address, query = visits, server.address(), f"SELECT * FROM {visits} WHERE id > 0"
    if "view" in how:
        ask(f"CREATE VIEW {visits}_v AS SELECT * FROM {visits}")
        ask(f"CREATE VIEW {visits}_w AS SELECT * FROM {visits}_v WHERE id > 0")
        address, query = server.address(f"{visits}_{'w' if how == 'view of a view' else 'v'}"), None
    elif how == "partition":
        ask(f"CREATE TABLE {visits}_p (LIKE {visits}) PARTITION BY RANGE (id)")
        ask(f"ALTER TABLE {visits}_p ATTACH PARTITION {visits} FOR VALUES FROM (0) TO (1000)")
        address, query = server.address(f"{visits}_p"), None
    elif how == "function":
        ask(f"CREATE FUNCTION f_{visits}() RETURNS SETOF {visits} LANGUAGE sql AS 'SELECT * FROM {visits}'")
        query = f"SELECT * FROM f_{visits}()"
    elif how == "row security":
        ask(f"CREATE TABLE {visits}_old AS SELECT 1 AS a")
        ask(f"ALTER TABLE {visits} ENABLE ROW LEVEL SECURITY")
        target = f"{visits}_old"
    release = released(address, query=query)
    with pytest.raises(InputError, match=r"is read from it|nobody can tell"):
        release.write(server.address(target), "public.json", force=True)
    assert ask(f"SELECT count(*) FROM {visits}") == [(120,)]


def test_a_table_that_a_query_does_not_read_may_be_replaced(server, visits, ask):
    ask(f"CREATE TABLE {visits}_old AS SELECT 1 AS a")
    release = released(server.address(), query=f"SELECT v.* FROM {visits} v WHERE id IN (SELECT id FROM {visits})")
    release.write(server.address(f"{visits}_old"), "public.json", force=True)
    assert ask(f"SELECT count(*) FROM {visits}_old") == [(120,)]


def test_sqlite_sources_are_never_written_to(clinic, tables):
    with closing(sqlite3.connect(clinic)) as connection, connection:
        connection.execute("CREATE VIEW seen AS SELECT * FROM visits")
        connection.execute("CREATE TABLE old (a)")
    (clinic.parent / "link.db").symlink_to(clinic)
    for source, query in (("?table=visits", None), ("?table=seen", None), ("", "SELECT v.* FROM seen AS v")):
        release = released(f"sqlite:clinic.db{source}", query=query, keep="share,seen")
        for name in ("clinic.db?table=Visits", "link.db?table=visits"):
            with pytest.raises(InputError, match="is read from it"):
                release.write(f"sqlite:{name}", "public.json", force=True)
        written = release.write("sqlite:clinic.db?table=old", "old.json", force=True)
        assert any("not the file" in note for note in written.notes)
    assert {"visits", "seen", "old"} <= tables(clinic)


def test_a_table_needs_a_certificate_with_a_name(server, visits):
    with pytest.raises(InputError, match="name a file for it with certificate="):
        released(server.address(visits)).write(server.address(f"{visits}_public"))


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("nowhere.public", "there is no schema 'nowhere'"),
        ("v" * 64, "longer than 63 bytes"),
        ("{0}_view", "not an ordinary table"),
    ],
)
def test_targets_that_cannot_be_are_refused_before_the_work(server, visits, ask, table, says):
    ask(f"CREATE OR REPLACE VIEW {visits}_view AS SELECT 1 AS a")
    targets = shoal.release.Targets.of(server.address(table.format(visits)), "public.json")
    with pytest.raises(InputError, match=says):
        targets.check(force=True)


def test_rows_that_are_not_those_that_passed_are_not_published(server, visits, ask, monkeypatch, tmp_path):
    from shoal.records.database.write import TableTarget

    release = released(server.address(visits))
    honest = TableTarget.write

    def careless(self, rows):
        honest(self, rows)
        self._session.execute(f"UPDATE {visits}_public SET paid = 9.99")

    monkeypatch.setattr(TableTarget, "write", careless)
    with pytest.raises(ShoalError, match="nothing was published"):
        release.write(server.address(f"{visits}_public"), "public.json")
    assert not types_of(ask, f"{visits}_public")
    assert not (tmp_path / "public.json").exists()


def test_no_file_of_a_release_takes_the_place_of_a_database(clinic):
    release = released("sqlite:clinic.db?table=visits", keep="share,seen")
    with pytest.raises(InputError, match="it is an input of this release"):
        release.write("public.csv", rules="clinic.db", force=True)
    release.write("sqlite:open.db?table=public", "public.json")
    with pytest.raises(InputError, match="it is the database of this release"):
        release.write("sqlite:open.db?table=other", "public.json", "open.db", force=True)


def test_the_rows_of_a_replaced_table_are_not_left_in_the_file(clinic):
    """SQLite keeps the pages of a dropped table: whoever gets the file could read them."""
    with closing(sqlite3.connect("open.db")) as connection, connection:
        connection.execute("CREATE TABLE public (name TEXT)")
        connection.executemany("INSERT INTO public VALUES (?)", [(f"zqsecret{i}",) for i in range(20_000)])
    release = anonymize("sqlite:clinic.db?table=visits", shoal.RTAnonymity(5, 2), **ROLES, keep="share,seen")
    release.write("sqlite:open.db?table=public", "open.json", force=True)
    assert b"zqsecret" not in Path("open.db").read_bytes()
    assert shoal.verify("open.json", "sqlite:open.db?table=public").holds


def test_text_columns_stay_text_and_codes_as_they_are_spelled(server, visits, ask):
    codes = "('34'), ('35'), ('250.0'), ('250.00'), ('007'), ('-0'), ('9007199254740993'), ('1e400')"
    ask(f"CREATE TABLE {visits}_codes AS SELECT c AS code, '5'::text AS whole, 'x' AS sex FROM (VALUES {codes}) v(c)")
    release = anonymize(server.address(f"{visits}_codes"), shoal.TableAnonymity(8), quasi="sex", keep="code,whole")
    release.write(server.address(f"{visits}_out"), "out.json")
    release.write("sqlite:out.db?table=t", "sqlite.json")
    assert types_of(ask, f"{visits}_out") == {"sex": "text", "code": "text", "whole": "text"}
    original = sorted(ask(f"SELECT code, whole FROM {visits}_codes"))
    assert sorted(ask(f"SELECT code, whole FROM {visits}_out")) == original
    with closing(sqlite3.connect("out.db")) as connection:
        assert sorted(connection.execute("SELECT code, whole FROM t")) == original


def test_sqlite_tells_whole_numbers_from_others_in_one_column(tmp_path):
    with closing(sqlite3.connect("mixed.db")) as connection, connection:
        connection.execute("CREATE TABLE t (n, m)")
        rows = [(34, 1), (34.0, 2.5), (9007199254740993, 3), (9007199254740992.0, 0.1)]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    records = load_records("sqlite:mixed.db?table=t", quasi="n", keep="m").records
    assert len(records["n"].values) == 4
    assert records["n"].numbers is None
    assert records["m"].texts() == ["1", "2.5", "3", "0.1"]
    verdict = shoal.audit("sqlite:mixed.db?table=t", shoal.TableAnonymity(2), quasi="n", keep="m")
    assert verdict.violations == 4
