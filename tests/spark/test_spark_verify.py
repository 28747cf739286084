"""verify, of releases that Spark wrote: on Spark and here, with the same verdict; and what an attacker may try."""

from __future__ import annotations

import base64
import json
import os
import pickle
import shutil
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import shoal
import shoal.spark
from shoal.certificate.facts import canonical, certificate_bytes
from shoal.certificate.sign import new_key, public_key, signature_holds
from shoal.errors import InputError
from shoal.records.source import load_records, load_sets
from shoal.records.storage.digest import DIGEST, row_digest
from shoal.release import verify as verify_here
from shoal.spark.data import spark_session as session_module
from shoal.spark.data.frame_records import FrameRoles
from shoal.spark.data.frame_roles import read_frame
from shoal.spark.data.storage import frame_of
from shoal.spark.frame_verification import verify_place

pytestmark = pytest.mark.xdist_group("spark")

ROWS = [["milk", "nappies"]] * 6 + [["milk", "wipes"]] * 5 + [["brie", "wipes"]] * 2 + [["milk"]] * 3 + [[]]
NAMES = [
    "",
    " x",
    "x",
    "é",
    "日本",
    "a,b",
    "a|b",
    "0",
    "00",
    "7",
    "7.0",
    "-3",
    "1e+05",
    'quote"d',
    "line\nbreak",
    "\U0001f41f",
]


def failed(found):
    return [check.name for check in found.checks if check.holds is False]


def says(found, name):
    return next(check.says for check in found.checks if check.name == name)


def people(spark, seed=3, n=60):
    rng = np.random.default_rng(seed)
    rows = [
        (
            None if rng.random() < 0.1 else int(rng.integers(20, 60)),
            str(rng.choice(["Bern", "Basel", ""])),
            str(rng.choice(["flu", "gout", "asthma"])),
            str(rng.choice(["2019", "2019.0", "02019", " 7"])),
            sorted({f"c{i}" for i in rng.integers(0, 4, rng.integers(0, 4)).tolist()}),
            [["B20"], ["F32"], [], ["E11"]][int(rng.integers(0, 4))],
        )
        for _ in range(n)
    ]
    schema = "age int, town string, illness string, year string, codes array<string>, secret array<string>"
    return spark.createDataFrame(rows, schema)


TABLE = {"quasi": ["age", "town"], "keep": "year"}
RELEASES = {
    "km suppressed": (lambda df: df.select("codes"), shoal.KmAnonymity(9, 3), {"suppress": 0.9}, None),
    "k with a column": (
        lambda df: df.select("codes", "secret"), shoal.KAnonymity(4), {"items": "codes", "sensitive": "secret"}, None
    ),
    "k with items": (lambda df: df.select("codes"), shoal.KAnonymity(4), {"sensitive": ["c1", "c2"]}, "c1,c2"),
    "table": (
        lambda df: df, shoal.TableAnonymity(4, 2), TABLE | {"sensitive": "illness", "drop": ["codes", "secret"]}, None
    ),
    "rt": (lambda df: df, shoal.RTAnonymity(4, 2), TABLE | {"items": "codes", "drop": ["illness", "secret"]}, None),
    "buckets": (
        lambda df: df, shoal.MatchingDiversity(2),
        TABLE | {"sensitive": "illness", "drop": ["codes", "secret"], "algorithm": "anatomy", "numeric": []}, None,
    ),
    "lm with items": (
        lambda df: df, shoal.LmDiversity(4, 2, 1),
        TABLE | {"items": "codes", "sensitive": ["c3"], "drop": ["illness", "secret"]}, "c3",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RELEASES)
def test_every_release_is_verified_there_and_here_with_the_same_words(spark, tmp_path, name):
    columns, guarantee, how, sensitive = RELEASES[name]
    release = shoal.spark.anonymize(columns(people(spark)), guarantee, **how)
    public, certificate = tmp_path / "public", tmp_path / "public.certificate.json"
    release.write(public)
    release.forget()
    there = verify_place("spark", str(certificate), str(public), sensitive=sensitive)
    here = verify_here(certificate, public, sensitive=sensitive)
    assert there.checks == here.checks
    assert [(check.name, check.holds) for check in there.checks] == [
        ("signature", None), ("folder", True), ("file", True), ("promise", True), ("statements", True)
    ]  # fmt: skip
    assert there.audit.to_dict() == here.audit.to_dict()
    # One row doubled: in what order ever, and wherever it lies.
    part = next(public.glob("*.parquet"))
    parquet.write_table(parquet.read_table(part).slice(0, 1), public / "part-more.parquet")
    there = shoal.spark.verify(frame_of(spark, public), certificate, sensitive=sensitive)
    here = verify_here(certificate, public, sensitive=sensitive)
    assert {"file", "statements"} <= set(failed(there))
    assert [check for check in here.checks if check.name != "folder"] == list(there.checks)


@pytest.mark.parametrize("seed", range(2))
def test_rows_hash_alike_there_and_here(spark, tmp_path, seed):
    """Nulls, unicode, empty sets, repeats, numbers in several spellings and types; rows of any files in any order."""
    rng = np.random.default_rng(seed)
    pick = lambda: str(rng.choice(NAMES))  # noqa: E731
    rows = [
        (
            None if rng.random() < 0.2 else pick(),
            None if rng.random() < 0.2 else int(rng.integers(-9, 9)),
            None if rng.random() < 0.2 else float(rng.choice([0.0, -0.0, 1.5, 2.0, 1e20, float("nan")])),
            None if rng.random() < 0.2 else pick(),
            None
            if rng.random() < 0.2
            else [NAMES[i] for i in rng.integers(1, len(NAMES), rng.integers(0, 5)).tolist()],
        )
        for _ in range(300)
    ]
    df = spark.createDataFrame(rows, "a string, b int, c double, d string, items array<string>")
    df.repartition(3).write.parquet(f"{tmp_path}/sets")
    df = frame_of(spark, f"{tmp_path}/sets")
    sets, _ = read_frame(df.select("items"), shoal.KmAnonymity(2, 2), FrameRoles())
    assert row_digest(load_sets(tmp_path / "sets", items="items", drop="a,b,c,d").baskets) == sets.digest()
    sets.forget()
    for with_items, guarantee in ((False, shoal.TableAnonymity(2)), (True, shoal.RTAnonymity(2, 2))):
        own = df if with_items else df.drop("items")
        items = "items" if with_items else None
        seen, _ = read_frame(own, guarantee, FrameRoles(items, ("a", "b"), () if with_items else ("c",), ("d",)))
        roles = {"quasi": ("a", "b"), "keep": "d"} | (
            {"items": "items", "drop": "c"} if with_items else {"sensitive": "c", "drop": "items"}
        )
        here = load_records(tmp_path / "sets", **roles).records
        assert row_digest(here) == seen.digest()
        seen.forget()


@pytest.fixture(scope="module")
def signed(spark, tmp_path_factory):
    """A folder with a signed release of sets."""
    home = tmp_path_factory.mktemp("signed")
    new_key(home / "board.key")
    df = spark.createDataFrame([(row,) for row in ROWS], "items array<string>")
    release = shoal.spark.anonymize(df, shoal.KmAnonymity(5, 2), hierarchy="balanced:2")
    release.write(home / "public", sign=home / "board.key")
    yield home, release
    release.forget()


@pytest.fixture
def shop(signed, tmp_path, monkeypatch):
    """The working folder, with a copy of it."""
    shutil.copytree(signed[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(shop, **how):
    return verify_place("spark", "public.certificate.json", "public", **how)


def rewritten(shop, change):
    """The folder with other rows in it."""
    parts = sorted((shop / "public").glob("*.parquet"))
    rows = change([row for part in parts for row in parquet.read_table(part)["items"].to_pylist()])
    for path in (shop / "public").iterdir():
        path.unlink()
    parquet.write_table(pa.table({"items": pa.array(rows, pa.list_(pa.string()))}), shop / "public" / "part-0.parquet")


def test_a_signed_certificate_is_signed_as_one_made_here(shop):
    content = json.loads((shop / "public.certificate.json").read_text())
    signature = content["signature"]
    assert content["signer"]["public_key"] == public_key("board.key.pub")
    assert signature_holds(canonical(content), signature, content["signer"]["public_key"])
    found = checked(shop, key="board.key.pub")
    assert found.holds
    assert says(found, "signature") == "it was signed by the holder of this key"
    content["created"] = "2001-01-01"
    (shop / "public.certificate.json").write_bytes(certificate_bytes(content))
    assert failed(checked(shop)) == ["signature"]


@pytest.mark.parametrize("form", ["html", "pdf"])
def test_pages_are_signed_too(signed, shop, form):
    signed[1].write(shop / "again", certificate=shop / f"again.{form}", sign="board.key")
    found = verify_here(shop / f"again.{form}", shop / "again", key="board.key.pub")
    assert found.holds, found.checks
    assert says(found, "signature") == "it was signed by the holder of this key"


def test_the_command_signs(shop, run):
    flags = ("anonymize", "public", "--k", "5", "--m", "2", "--hierarchy", "balanced:2", "--engine", "spark")
    (shop / "board.key").chmod(0o644)
    code, out, _ = run(*flags, "-o", "again", "--sign", "board.key", "--json")
    assert code == 0
    assert any("chmod 600" in note for note in json.loads(out)["notes"])
    assert run("verify", "again.certificate.json", "again", "--key", "board.key.pub")[0] == 0
    for given, words in (
        (("-o", "table:x", "--sign", "board.key"), "name a file for it with"),
        (("-o", "other", "--sign", "board.key.pub"), "public key"),
        (("--sign", "board.key"), "need -o"),
    ):
        code, _, err = run(*flags, *given)
        assert (code, words in err) == (2, True)


def test_a_key_that_cannot_sign_stops_before_anything_is_written(spark, signed, shop):
    release = signed[1]
    with pytest.raises(InputError, match="public key"):
        release.write(shop / "again", sign="board.key.pub")
    with pytest.raises(InputError, match="no certificate to sign"):
        release.write(table="again", sign="board.key")
    assert not (shop / "again").exists()
    assert not spark.catalog.tableExists("again")


def test_tampered_rows_are_caught(shop):
    rewritten(shop, lambda rows: [["milk", "wipes", "rifle"], *sorted(rows, reverse=True)[1:]])
    found = checked(shop)
    assert failed(found) == ["file", "promise"]
    assert "5^2-anonymity does not hold" in says(found, "promise")
    assert found.checks == verify_here("public.certificate.json", "public").checks
    rewritten(shop, lambda rows: [row for row in rows if "rifle" not in row])
    found = checked(shop)
    assert {"file", "statements"} <= set(failed(found))
    assert "output.rows (it says 17, there are 16)" in says(found, "statements")


def test_the_certificate_of_another_release_is_caught(shop):
    table = pa.table({"age": ["1"] * 5, "items": [["milk"]] * 5})
    release = shoal.anonymize(table, shoal.RTAnonymity(5, 2), quasi="age", items="items")
    (shop / "other").mkdir()
    release.write(shop / "other" / "part-0.parquet", certificate="other.json")
    content = json.loads((shop / "other.json").read_text())
    content["output"]["digest"] = DIGEST
    (shop / "other.json").write_bytes(certificate_bytes(content))
    found = verify_place("spark", "other.json", "public")
    assert failed(found) == ["file", "promise"]
    assert "there is no column 'age'" in says(found, "promise")
    found = verify_place("spark", "public.certificate.json", "other")
    assert failed(found) == ["file", "promise"]
    assert "column 'age' has no role" in says(found, "promise")


def test_other_data_in_the_folder_is_caught(shop):
    (shop / "public" / "_raw.parquet").write_bytes(b"Maria Schmidt")
    assert failed(checked(shop)) == ["folder"]
    (shop / "public" / "_raw.parquet").unlink()
    (shop / "public" / ".Maria.crc").write_bytes(b"Maria Schmidt")  # which Hadoop does not list
    assert failed(checked(shop)) == ["folder"]
    (shop / "public" / ".Maria.crc").unlink()
    part = next((shop / "public").glob("*.parquet"))
    os.symlink(part, shop / "public" / "part-more.parquet")
    with pytest.raises(InputError, match="is a link"):
        checked(shop)


def test_a_column_that_spark_is_told_to_pass_over_is_caught(spark, shop):
    """Spark believes a note in the footer of a file; who copies the file gets all columns."""
    note = frame_of(spark, shop / "public").schema.json()
    for part in (shop / "public").glob("*.parquet"):
        table = parquet.read_table(part)
        table = table.append_column("name", pa.array(["Maria"] * len(table)))
        named = {b"org.apache.spark.sql.parquet.row.metadata": note.encode()}
        (shop / "public" / f".{part.name}.crc").unlink()
        parquet.write_table(table.replace_schema_metadata(named), part)
    assert frame_of(spark, shop / "public").columns == ["items"]
    assert shoal.spark.verify(frame_of(spark, shop / "public"), "public.certificate.json").holds
    found = checked(shop)
    assert failed(found) == ["file", "promise"]
    assert "its files hold the columns 'items', 'name', and Spark shows 'items'" in says(found, "promise")
    assert "'name'" in says(verify_here("public.certificate.json", "public"), "promise")


def test_parts_of_a_column_that_spark_is_told_to_pass_over_are_caught(spark, shop):
    note = frame_of(spark, shop / "public").schema.json()
    for part in (shop / "public").glob("*.parquet"):
        rows = parquet.read_table(part)["items"].to_pylist()
        kind = pa.list_(pa.struct({"element": pa.string(), "name": pa.string()}))
        items = pa.array([[{"element": item, "name": "Maria"} for item in row] for row in rows], kind)
        (shop / "public" / f".{part.name}.crc").unlink()
        named = {b"org.apache.spark.sql.parquet.row.metadata": note.encode()}
        parquet.write_table(pa.table({"items": items}).replace_schema_metadata(named), part)
    for found in (checked(shop), verify_here("public.certificate.json", "public")):
        assert failed(found) == ["file", "promise"]


def test_columns_without_a_role_are_caught(spark, shop):
    from pyspark.sql import functions as sf

    df = frame_of(spark, shop / "public").withColumn("name", sf.lit("Maria"))
    found = shoal.spark.verify(df, "public.certificate.json")
    assert failed(found) == ["file", "promise"]
    assert "column 'name' has no role in the certificate" in says(found, "promise")


class Trap:
    """What it runs when it is unpickled."""

    def __reduce__(self):
        return open, ("sprung", "w")


def test_no_code_in_a_file_is_run(shop):
    kind = {
        "type": "udt",
        "pyClass": "spark.pretend.Nothing",
        "sqlType": {"type": "array", "elementType": "string", "containsNull": True},
        "serializedClass": base64.b64encode(pickle.dumps(Trap())).decode(),
    }
    schema = {"type": "struct", "fields": [{"name": "items", "type": kind, "nullable": True, "metadata": {}}]}
    for part in (shop / "public").glob("*.parquet"):
        (shop / "public" / f".{part.name}.crc").unlink()
        named = {b"org.apache.spark.sql.parquet.row.metadata": json.dumps(schema).encode()}
        parquet.write_table(parquet.read_table(part).replace_schema_metadata(named), part)
    found = checked(shop)
    assert failed(found) == ["file", "promise"]
    assert "code of its own" in says(found, "promise")
    assert not (shop / "sprung").exists()


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:-7], lambda data: b"items\nmilk\n"])
def test_a_broken_file_is_named(shop, damage):
    part = max((shop / "public").glob("*.parquet"))
    part.write_bytes(damage(part.read_bytes()))
    (shop / "public" / f".{part.name}.crc").unlink()
    found = checked(shop)
    assert failed(found) == ["file", "promise"]
    assert f"{part.name}: it is not readable as Parquet" in says(found, "promise")


def test_broken_pages_are_named(shop):
    part = max((shop / "public").glob("*.parquet"), key=lambda path: path.stat().st_size)
    data = bytearray(part.read_bytes())
    data[4:40] = bytes(byte ^ 0xFF for byte in data[4:40])
    part.write_bytes(data)
    (shop / "public" / f".{part.name}.crc").unlink()
    found = checked(shop)
    assert failed(found) == ["file", "promise"]
    assert f"{part.name}: it is not readable as Parquet" in says(found, "promise")


def test_the_command_has_the_exit_codes_of_the_local_one(spark, shop, run):
    command = ("verify", "public.certificate.json")
    code, out, _ = run(*command, "public", "--engine", "spark", "--key", "board.key.pub", "--json")
    told = json.loads(out)
    assert (code, told["holds"], told["data"]) == (0, True, "public")
    assert told == json.loads(run(*command, "public", "--key", "board.key.pub", "--json")[1])
    spark.sql("DROP TABLE IF EXISTS published")
    frame_of(spark, shop / "public").write.saveAsTable("published")
    code, out, _ = run(*command, "table:published", "--engine", "spark")
    assert (code, "yes file" in out) == (0, True)
    frame_of(spark, shop / "public").limit(16).write.mode("append").saveAsTable("published")
    assert run(*command, "table:published", "--engine", "spark")[0] == 3
    spark.sql("DROP TABLE published")
    place = f"file://{shop}/public"
    assert run("verify", f"{place}.certificate.json", place, "--engine", "spark")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("public.certificate.json", "table:x"), "only Spark can read it; verify it with --engine spark"),
        (("public.certificate.json", "nowhere", "--engine", "spark"), "there is no such file or folder"),
        (("public.certificate.json", "table:x", "--engine", "spark"), "Spark cannot read it"),
        (("nowhere.json", "public", "--engine", "spark"), "there is no such file"),
        (("file:///nowhere.json", "public", "--engine", "spark"), "there is no such file"),
        (("public.certificate.json", "pub*", "--engine", "spark"), "for patterns"),
        (("public.certificate.json", "empty", "--engine", "spark"), "a folder without Parquet files"),
        (("public.certificate.json", "public", "--engine", "spark", "--original", "x"), "--original has no use"),
        (("public.certificate.json", "public", "--engine", "spark", "--threads", "1"), "--threads has no use"),
        (("public.certificate.json", "public", "--engine", "spark", "--key", "board.key"), "private key"),
        (("public.certificate.json", "public", "--engine", "spark", "--sensitive", "x"), "leave it out"),
        (("local.csv.certificate.json", "local.csv", "--engine", "spark"), "verify it without --engine spark"),
    ],
)
def test_unusable_input_is_exit_code_2(shop, run, arguments, words):
    (shop / "empty").mkdir()
    if arguments[0].startswith("local"):
        shoal.anonymize(ROWS, shoal.KmAnonymity(5, 2)).write("local.csv")
    code, out, err = run("verify", *arguments)
    assert (code, out) == (2, "")
    assert words in err


def test_sensitive_items_come_from_a_file_and_must_be_those_of_the_release(spark, tmp_path):
    columns, guarantee, how, _ = RELEASES["k with items"]
    release = shoal.spark.anonymize(columns(people(spark)), guarantee, **how)
    release.write(tmp_path / "public")
    release.forget()
    (tmp_path / "sensitive.txt").write_text("c1\nc2\n")
    df, certificate = frame_of(spark, tmp_path / "public"), tmp_path / "public.certificate.json"
    assert shoal.spark.verify(df, certificate, sensitive=str(tmp_path / "sensitive.txt")).holds
    with pytest.raises(InputError, match="2 sensitive items, which it does not name"):
        shoal.spark.verify(df, certificate)
    with pytest.raises(InputError, match="sensitive= names 1"):
        shoal.spark.verify(df, certificate, sensitive="c1")


def test_no_row_of_data_comes_to_the_driver(spark, shop, brought):
    df = frame_of(spark, shop / "public")
    with brought() as tables:
        assert shoal.spark.verify(df, "public.certificate.json").holds
    assert max(table.num_rows for table in tables) < len(ROWS)


@pytest.mark.parametrize(
    ("master", "named", "running", "partitions"),
    [
        ("local[2]", False, False, "8"),
        (session_module.HERE, False, False, "8"),
        ("local[2]", True, False, None),
        ("local[2]", False, True, None),
        ("spark://127.0.0.1:7077", False, False, None),
    ],
)
def test_a_session_of_ours_on_this_machine_shuffles_into_few_partitions(
    monkeypatch, master, named, running, partitions
):
    """Unless the user names a number, or has a session already."""
    chosen = {}
    context = SimpleNamespace(
        setLogLevel=lambda level: None,
        getConf=lambda: SimpleNamespace(contains=lambda name: named),
        defaultParallelism=2,
    )
    session = SimpleNamespace(sparkContext=context, conf=SimpleNamespace(set=chosen.__setitem__))

    class Builder:
        def getOrCreate(self):  # noqa: N802
            return session

        def __getattr__(self, name):
            return lambda *_: self

    monkeypatch.setattr(session_module, "missing", lambda: None)
    monkeypatch.setattr("pyspark.sql.SparkSession", SimpleNamespace(Builder=Builder))
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", object() if running else None)
    assert session_module.start_session(master) is session
    assert chosen.get("spark.sql.shuffle.partitions") == partitions
