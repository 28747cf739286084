"""Tables of Delta Lake and Iceberg: one state of them, named and hashed, its needed columns alone, and nothing outside its folder."""

import json
import shutil

import pyarrow as pa
import pytest

import shoal
from shoal.errors import InputError
from shoal.records.source import fingerprint, load_records

deltalake = pytest.importorskip("deltalake", reason="tables of Delta Lake need deltalake: pip install 'shoal[delta]'")
sql = pytest.importorskip("pyiceberg.catalog.sql", reason="tables of Iceberg need pyiceberg and sqlalchemy")

ROWS = pa.table(
    {
        "age": pa.array([20, 30] * 4, pa.int32()),
        "codes": [["E11"], ["E11", "I10"]] * 4,
        "cost": pa.array([1.5, 2.5] * 4).cast(pa.decimal128(6, 1)),
        "seen": pa.array([0, 1] * 4, pa.date32()),
        "zip": ["01", "02"] * 4,
    }
)
READ = {"quasi": ("age", "cost", "zip"), "items": "codes", "drop": ("seen",)}


def delta(folder):
    """A table with two versions, in folders by zip."""
    for _ in range(2):
        deltalake.write_deltalake(str(folder / "visits"), ROWS, mode="append", partition_by=["zip"])
    return "delta:visits", "version=0"


def iceberg(folder):
    """A table with two snapshots, as tools without a catalog lay it down."""
    catalog = sql.SqlCatalog("c", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/lake")
    catalog.create_namespace("n")
    table = catalog.create_table("n.visits", schema=ROWS.schema)
    for _ in range(2):
        table.append(ROWS)
    place = folder / "lake" / "n" / "visits"
    hint = table.metadata_location.rpartition("/")[2].removesuffix(".metadata.json")
    (place / "metadata" / "version-hint.text").write_text(hint)
    return "iceberg:lake/n/visits", f"snapshot={table.snapshots()[0].snapshot_id}"


@pytest.fixture(params=[delta, iceberg], ids=["delta", "iceberg"])
def lake(request, tmp_path, monkeypatch):
    """The address of a table, and what names its first state."""
    monkeypatch.chdir(tmp_path)
    return request.param(tmp_path)


def test_a_table_is_read_by_its_types(lake):
    source = load_records(lake[0], **READ)
    assert (source.name, len(source)) == ("visits", 16)
    held = {column.name: set(column.values) for column in source.records.columns}
    assert held == {"age": {"20", "30"}, "cost": {"1.5", "2.5"}, "zip": {"01", "02"}}
    assert sorted(map(sorted, source.records.items)) == [["E11"]] * 8 + [["E11", "I10"]] * 8
    assert dict(source.layout.types)["zip"] == "text"


def test_a_state_is_named_and_stays_what_it_is(lake):
    address, first = lake
    old, new = load_records(f"{address}?{first}", **READ), load_records(address, **READ)
    assert (len(old), len(new)) == (8, 16)
    assert old.state == f"{address}?{first}"
    assert new.state not in (address, old.state)
    assert load_records(new.state, **READ).sha256 == new.sha256 == fingerprint(address)
    assert old.sha256 == fingerprint(f"{address}?{first}") != new.sha256


def test_only_needed_columns_are_asked_for(lake, monkeypatch):
    from shoal.records.database import lake as room

    asked = []
    for kind in (room._Delta, room._Iceberg):
        read = kind.batches
        monkeypatch.setattr(kind, "batches", lambda self, wanted, read=read: asked.append(wanted) or read(self, wanted))
    assert len(shoal.read(lake[0], items="codes", drop=["age", "cost", "seen", "zip"])) == 16
    assert asked == [["codes"]]


def test_a_plan_and_a_release_go_from_there_to_a_file(lake, run, tmp_path):
    address, first = lake
    code, out, err = run("init", address, "--bind")
    assert code == 0, err
    assert f"path: {address}\n" in out
    assert "visits_public.parquet" in out
    drop = ["--items", "codes", "--drop", "age,cost,seen,zip", "--k", "2", "--m", "2"]
    code, out, err = run("anonymize", address, *drop, "-o", "r.parquet", "--json")
    assert code == 0, err
    stated = json.loads(out)["input"]
    assert stated.startswith(f"{address}?")
    assert "version" in stated or "snapshot" in stated
    certificate = (tmp_path / "r.parquet.certificate.json").read_text()
    assert stated not in certificate
    verified = ("verify", "r.parquet.certificate.json", "r.parquet", "--original")
    assert run(*verified, stated)[0] == 0
    assert run(*verified, f"{address}?{first}")[0] == 3


def test_an_input_limit_bounds_it(lake):
    many = pa.table({"codes": [[str(n)] for n in range(60_000)]})
    if lake[0].startswith("iceberg"):
        pytest.skip("the limit is that of all tables")
    deltalake.write_deltalake("many", many)
    with pytest.raises(InputError, match="input limit"):
        shoal.read("delta:many", input_limit="1MB")


@pytest.mark.parametrize(
    ("rest", "word"),
    [
        ("nix", "there is no such table"),
        ("", "names no table"),
        ("https://host/visits", "https does not list"),
        ("s3://user:geheim@bucket/visits", "a user or a port"),
        ("visits?version=1&version=2", "and nothing else"),
        ("visits?token=geheim", "and nothing else"),
    ],
)
def test_what_cannot_be_read_is_named_and_no_secret_is(rest, word, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for kind in ("delta", "iceberg"):
        with pytest.raises(InputError, match=word) as caught:
            shoal.read(f"{kind}:{rest}")
        assert "geheim" not in str(caught.value)


def test_a_state_that_is_not_there_is_named(lake):
    address, first = lake
    with pytest.raises(InputError, match=r"no such state|no snapshot"):
        shoal.read(f"{address}?{first.partition('=')[0]}=77")


def test_nothing_is_written_there_and_no_query_is_asked(lake):
    baskets = shoal.read(lake[0], items="codes", drop=["age", "cost", "seen", "zip"])
    release = shoal.anonymize(baskets, shoal.KmAnonymity(k=2, m=2))
    with pytest.raises(InputError, match="is for reading"):
        release.write("delta:new", certificate="c.json")
    with pytest.raises(InputError, match="takes no query"):
        shoal.read(lake[0], query="SELECT 1")


def test_a_damaged_table_is_refused_in_a_sentence(lake, tmp_path):
    for path in tmp_path.rglob("*.parquet"):
        path.write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(InputError, match="visits: ") as caught:
        load_records(lake[0], **READ)
    assert "\n" not in str(caught.value)


def test_files_that_are_gone_are_said_to_be(lake, tmp_path):
    for path in tmp_path.rglob("*.parquet"):
        path.unlink()
    with pytest.raises(InputError, match="files of this state are gone"):
        load_records(lake[0], **READ)


def test_the_columns_of_an_iceberg_table_have_the_names_of_now(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, first = iceberg(tmp_path)
    catalog = sql.SqlCatalog("c", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/lake")
    table = catalog.load_table("n.visits")
    with table.update_schema() as change:
        change.rename_column("zip", "place")
        change.delete_column("seen")
    now = "iceberg:" + catalog.load_table("n.visits").metadata_location.removeprefix("file://")
    source = load_records(now, quasi=("age", "cost", "place"), items="codes")
    assert set(source.records["place"].values) == {"01", "02"}
    assert len(load_records(f"{now}?{first}", **READ)) == 8  # as it was then


def test_files_outside_the_tables_folder_are_not_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    iceberg(tmp_path)
    shutil.copytree("lake/n/visits", "copy")
    with pytest.raises(InputError, match="outside its own folder"):
        load_records("iceberg:copy", **READ)


@pytest.mark.parametrize(
    "path", ["file://{}/secret.parquet", "{}/secret.parquet", "../secret.parquet", "..%2Fsecret.parquet"]
)
def test_nor_are_those_that_a_log_of_delta_names_elsewhere(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    delta(tmp_path)
    log = tmp_path / "visits/_delta_log/00000000000000000001.json"
    lines = log.read_text().splitlines()
    shutil.copy(next(tmp_path.rglob("*.parquet")), "secret.parquet")
    moved = [json.loads(line) for line in lines]
    for line in moved:
        if "add" in line:
            line["add"]["path"] = path.format(tmp_path)
    log.write_text("\n".join(json.dumps(line) for line in moved))
    with pytest.raises(InputError, match="outside its own folder"):
        load_records("delta:visits", **READ)


def test_rows_that_a_table_has_deleted_are_not_read(lake):
    if lake[0].startswith("delta"):
        deltalake.DeltaTable("visits").delete("age = 20")
        assert len(load_records("delta:visits", **READ)) == 8
    assert len(load_records("?".join(lake), **READ)) == 8


def test_without_the_library_one_sentence_says_what_to_install(lake, monkeypatch):
    kind = lake[0].partition(":")[0]
    monkeypatch.setitem(
        __import__("sys").modules, {"delta": "deltalake", "iceberg": "pyiceberg.io.pyarrow"}[kind], None
    )
    with pytest.raises(InputError, match=rf"pip install 'shoal\[{kind}\]'"):
        shoal.read(lake[0])
