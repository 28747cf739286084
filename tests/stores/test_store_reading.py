"""Reading from an object store, by whatever command: one state of an object, or one sentence."""

import json
import os

import polars
import pytest

import shoal
from object_server import HungUp, Refused
from shoal.errors import InputError, Unavailable
from shoal.records.source import load_records, load_sets

BASKETS = b"items\n" + b"milk|bread\nmilk\nbread|milk\n" * 10


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "arrow", "jsonl"])
def test_an_object_is_read_like_the_file_that_it_is_a_copy_of(store, tmp_path, ending):
    file = tmp_path / f"b.{ending}"
    shoal.write(shoal.read([["milk", "bread"], ["milk"], ["gin"]]), file)
    store.buckets["lake"][f"in/b.{ending}"] = file.read_bytes()
    here, there = load_sets(file), load_sets(f"s3://lake/in/b.{ending}")
    assert there.sha256 == here.sha256
    assert there.layout == here.layout
    assert there.name == here.name
    assert list(there.baskets) == list(here.baskets)


def test_a_table_in_a_store_has_roles(store, tmp_path):
    polars.DataFrame({"age": [30, 40], "codes": ["a|b", "a"]}).write_parquet(tmp_path / "t.parquet")
    store.buckets["lake"]["t.parquet"] = (tmp_path / "t.parquet").read_bytes()
    assert [c.name for c in load_records("s3://lake/t.parquet", quasi="age", items="codes").records.columns] == ["age"]


def test_commands_read_an_object_once_and_name_it_as_it_is_addressed(store, run):
    store.buckets["lake"]["in/b.csv"] = BASKETS
    for command in (
        ("audit", "s3://lake/in/b.csv", "--k", "3", "--m", "2", "--json"),
        ("profile", "s3://lake/in/b.csv", "--json"),
        ("init", "s3://lake/in/b.csv", "--bind"),
    ):
        store.asked.clear()
        code, out, _ = run(*command)
        assert code == 0
        assert "b.csv" in out
        assert sum(asked == ("GET", "lake", "in/b.csv") for asked in store.asked) == 1


def test_a_plan_reads_an_object_and_holds_it_to_its_hash(store, run, tmp_path):
    store.buckets["lake"]["in/b.csv"] = BASKETS
    code, out, _ = run("init", "s3://lake/in/b.csv", "--bind")
    assert code == 0
    (tmp_path / "plan.yaml").write_text(out)
    assert run("run", "plan.yaml")[0] == 0
    store.buckets["lake"]["in/b.csv"] = BASKETS * 2
    code, _, err = run("run", "plan.yaml", "--force")
    assert code == 2
    assert "sha256" in err


def test_copies_leave_nothing_behind(store, tmp_path, monkeypatch):
    store.buckets["lake"]["b.csv"] = BASKETS
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    shoal.read("s3://lake/b.csv")
    assert os.listdir(tmp_path) == []
    shoal.read("s3://lake/b.csv")
    assert not before or len(os.listdir("/proc/self/fd")) <= before + 8  # Arrow keeps connections


@pytest.mark.parametrize(
    ("address", "word"), [("s3://lake/nix.csv", "no such object in lake"), ("s3://nix/b.csv", "no bucket 'nix'")]
)
def test_what_is_missing_is_named(store, address, word):
    with pytest.raises(Unavailable, match=word):
        shoal.read(address)


def test_without_credentials_the_environment_is_named(store, monkeypatch):
    store.buckets["lake"]["b.csv"] = BASKETS
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(Unavailable, match="AWS_ACCESS_KEY_ID"):
        shoal.read("s3://lake/b.csv")


def test_an_object_that_changes_while_it_is_read_is_refused(store):
    store.buckets["lake"]["b.csv"] = BASKETS

    def change(method, bucket, key):
        if method == "GET" and key == "b.csv":
            store.before = lambda *_: store.buckets["lake"].update({"b.csv": BASKETS[:-1] + b" "})

    store.before = change
    with pytest.raises(InputError, match="changed while it was read"):
        shoal.read("s3://lake/b.csv")


def test_a_store_that_fails_is_answered_in_one_sentence(store):
    store.buckets["lake"]["b.csv"] = BASKETS
    for fault, word in (
        (HungUp(), "hung up"),
        (Refused(403, "AccessDenied"), "credentials"),
        (Refused(500, "InternalError"), "refuses|busy"),
        (Refused(301, "PermanentRedirect"), "AWS_REGION"),
    ):

        def fail(*_, fault=fault):
            raise fault

        store.before = fail
        with pytest.raises(Unavailable, match=word) as refusal:
            shoal.read("s3://lake/b.csv")
        assert "s3cret" not in str(refusal.value)


def test_no_network_is_touched_for_a_file(store, tmp_path):
    (tmp_path / "b.csv").write_bytes(BASKETS)
    shoal.anonymize("b.csv", shoal.KmAnonymity(2, 1)).write("r.csv")
    assert store.asked == []


def test_a_certificate_and_its_data_are_verified_where_they_lie(store, run):
    store.buckets["lake"]["in/b.csv"] = BASKETS
    code, out, _ = run("anonymize", "s3://lake/in/b.csv", "--k", "3", "--m", "2", "-o", "s3://lake/out/r.csv", "--json")
    assert code == 0
    facts = json.loads(out)
    assert (facts["input"], facts["output"]) == ("s3://lake/in/b.csv", "s3://lake/out/r.csv")
    store.asked.clear()
    assert run("verify", "s3://lake/out/r.csv.certificate.json", "s3://lake/out/r.csv")[0] == 0
    assert sum(asked == ("GET", "lake", "out/r.csv") for asked in store.asked) == 1
    assert json.loads(store.buckets["lake"]["out/r.csv.certificate.json"])["output"]["file"] == "r.csv"
