"""Tables and queries of DuckDB: read as what they are, from their own file alone, and never written to."""

import duckdb
import pytest

import shoal
from shoal.errors import InputError
from shoal.records.database.address import address_of
from shoal.records.source import load_records


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as made:
        made.execute("CREATE SCHEMA ward; CREATE TABLE ward.visits (n TINYINT)")
        made.execute(
            "CREATE TABLE Visits AS SELECT (20 + 10 * (n % 2))::UTINYINT AS age, ['E11', 'I10'][:1 + n % 2] AS codes, 'E11|I10' texts, "
            "(n / 2)::DECIMAL(6, 1) AS cost, DATE '2020-01-02' seen, n::HUGEINT AS big, NULL::VARCHAR AS gone FROM range(12) t(n)"
        )
        made.execute("CREATE TABLE other AS SELECT 1 one; CREATE VIEW strange AS SELECT * FROM other")
        (tmp_path / "secret.csv").write_text("a\n1\n")
        made.execute("CREATE VIEW leak AS SELECT * FROM read_csv('secret.csv')")
    return tmp_path / "clinic.duckdb"


def test_a_table_is_read_by_its_types(clinic):
    rest = ("texts", "seen", "gone")
    source = load_records("duckdb:clinic.duckdb?table=visits", quasi=("age", "cost", "big"), items="codes", drop=rest)
    assert sorted(map(sorted, source.records.items)) == [["E11"]] * 6 + [["E11", "I10"]] * 6
    assert {column.name: sorted(column.values, key=float) for column in source.records.columns}["age"] == ["20", "30"]
    assert source.name == "visits"


def test_a_query_stands_for_a_table(clinic):
    baskets = shoal.read("duckdb:clinic.duckdb", query="SELECT codes FROM visits WHERE age = 30")
    assert len(baskets) == 6
    assert len(shoal.read("duckdb:clinic.duckdb?query=SELECT%20codes%20FROM%20visits")) == 12


def test_a_command_a_plan_and_a_release_go_from_there_to_a_file(clinic, run, tmp_path):
    code, out, _ = run("init", "duckdb:clinic.duckdb?table=visits", "--bind")
    assert code == 0
    assert "path: duckdb:clinic.duckdb?table=visits" in out
    assert "visits_public.parquet" in out
    code, _, err = run(
        "anonymize",
        "duckdb:clinic.duckdb",
        "--query",
        "SELECT codes FROM visits",
        "--k",
        "3",
        "--m",
        "2",
        "-o",
        "r.csv",
    )
    assert code == 0, err
    assert run("verify", "r.csv.certificate.json", "r.csv")[0] == 0


@pytest.mark.parametrize(
    ("address", "word"),
    [
        ("duckdb:nix.duckdb?table=visits", "no such file"),
        ("duckdb:clinic.duckdb?table=nix", "no table 'nix'"),
        ("duckdb:clinic.duckdb", "names no table"),
        ("duckdb:secret.csv?table=a", "as a database"),
        ("duckdb:clinic.duckdb?table=visits&mode=rw", "takes table or query"),
        ("duckdb://host/clinic.duckdb?table=visits", "no host"),
        ("duckdb:clinic.duckdb?table=leak", "more than its own file"),
        ("duckdb:clinic.duckdb?query=SELECT * FROM read_csv('secret.csv')", "more than its own file"),
    ],
)
def test_what_cannot_be_read_is_named(clinic, address, word):
    with pytest.raises(InputError, match=word):
        shoal.read(address)


def test_nothing_is_written_to_it(clinic):
    before = clinic.read_bytes()
    release = shoal.anonymize([["a"], ["a"]], shoal.KmAnonymity(2, 1))
    with pytest.raises(InputError, match="for reading"):
        release.write("duckdb:clinic.duckdb?table=new", certificate="c.json")
    with pytest.raises(InputError):
        shoal.read("duckdb:clinic.duckdb?query=DELETE FROM visits")
    assert clinic.read_bytes() == before


def test_its_address_reads_as_those_of_sqlite_do():
    assert address_of("duckdb:////data/c.duckdb?table=ward.visits").uri == "/data/c.duckdb"
    assert address_of("duckdb:c.duckdb?table=ward.visits").parts == ("ward", "visits")
    assert address_of("duckdb:c.duckdb?table=ward.visits").shown == "duckdb:c.duckdb?table=ward.visits"
