"""Trees, policies, plans and lists in a store, and what never leaves this machine."""

import json
import os

import pytest

import shoal
from object_server import HungUp, Refused
from shoal.certificate.owner import owner_key
from shoal.errors import InputError, Unavailable
from shoal.plan.parse import plan_of
from shoal.processes import Answer, Crash
from shoal.records.stores import store as stores
from shoal.records.stores.remote import folder_of

TREE = b"brie,cheese,food\nfeta,cheese,food\nrye,bread,food\n"
ROWS = b"items\n" + b"brie;rye\n" * 4 + b"feta;rye\n"
PLAN = """version: 1
input: {path: b.csv}
hierarchies: tree.csv
guarantee: {model: km, k: 2, m: 2}
outputs: {data: public.csv}
"""
PROMISE = shoal.KmAnonymity(k=2, m=2)


@pytest.fixture(autouse=True)
def _papers(store, tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path / "keys" / "owner.key"))
    lake = store.buckets["lake"]
    lake |= {"d/tree.csv": TREE, "d/b.csv": ROWS, "d/plan.yaml": PLAN.encode()}
    (tmp_path / "b.csv").write_bytes(ROWS)


def test_a_tree_is_fetched_once_and_called_by_its_name(store):
    release = shoal.anonymize("b.csv", PROMISE, hierarchy="s3://lake/d/tree.csv", algorithm="exact")
    assert release.details["hierarchy"]["source"] == "tree.csv"
    assert release.loss["ncp"] > 0
    assert [key for method, _, key in store.asked if method == "GET"] == ["d/tree.csv"]
    assert shoal.read_hierarchy("s3://lake/d/tree.csv").n_leaves == 3
    with pytest.raises(Unavailable, match=r"none\.csv: there is no such object in lake"):
        shoal.anonymize("b.csv", PROMISE, hierarchy="s3://lake/d/none.csv")


def test_commands_take_a_tree_by_its_address(run):
    address = "s3://lake/d/tree.csv"
    assert run("hierarchy", "show", address)[0] == 0
    assert run("hierarchy", "check", address, "b.csv")[0] == 0
    assert run("audit", "b.csv", "--k", "2", "--m", "1", "--hierarchy", address)[0] == 3
    code, _, err = run("anonymize", "b.csv", "--k", "2", "--m", "2", "--hierarchy", "ftp://host/tree.csv")
    assert (code, "s3://, gs://, az:// (abfs://, abfss://), https:// (to read)" in err) == (2, True)


def test_a_plan_finds_what_it_names_beside_itself(store, run, tmp_path):
    code, out, err = run("run", "s3://lake/d/plan.yaml", "--json")
    assert code == 0, err
    assert json.loads(out)["output"] == "s3://lake/d/public.csv"
    assert {"d/public.csv", "d/public.csv.certificate.json"} <= set(store.names())
    assert run("verify", "s3://lake/d/public.csv.certificate.json", "s3://lake/d/public.csv")[0] == 0
    assert sorted(os.listdir(tmp_path)) == ["b.csv", "keys"]
    store.buckets["lake"]["d/plan.yaml"] = (PLAN + "series: {ledger: ledger.json}\n").encode()
    code, _, err = run("run", "s3://lake/d/plan.yaml")
    assert (code, "ledger is for its owner alone" in err) == (2, True)
    assert folder_of("https://host/plans/plan.yaml?token=a/b") == "https://host/plans"


def test_policies_of_constraints_and_gates(store, run):
    store.buckets["lake"] |= {
        "d/policy.yaml": b"protect: [[brie, rye]]\ngeneralize: {hierarchy: tree.csv, level: 1}\n",
        "d/gate.yaml": b"version: 1\nchecks:\n  - files: 'o*.csv'\n    guarantee: {model: km, k: 2, m: 2}\n    hierarchies: tree.csv\n",
    }
    assert repr(shoal.read_policy("s3://lake/d/policy.yaml")) == "Policy(protects 1 set; 2 groups)"
    shoal.anonymize("b.csv", PROMISE, hierarchy="s3://lake/d/tree.csv", algorithm="exact").write("o.csv")
    for given in ((), ("o.csv",)):
        code, out, err = run("gate", "s3://lake/d/gate.yaml", *given, "--json")
        assert (code, [file["file"] for file in json.loads(out)["files"]]) == (0, ["o.csv"]), err
    os.rename("o.csv", "bread.csv")
    for given, place in (((), "s3://lake/d/gate.yaml"), (("o.csv",), "o.csv")):
        assert run("gate", "s3://lake/d/gate.yaml", *given, "--sarif", "found.sarif")[0] == 2
        with open("found.sarif") as file:
            (result,) = json.load(file)["runs"][0]["results"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == place
    code, _, err = run("gate", "s3://lake/d/gate.yaml", "s3://lake/d/b.csv")
    assert (code, "a gate looks at files of this machine" in err) == (2, True)


def test_keys_and_ledgers_stay_on_this_machine(run, tmp_path, monkeypatch):
    flags = ("anonymize", "b.csv", "-o", "o.csv", "--k", "2", "--m", "2")
    code, _, err = run(*flags, "--sign", "s3://lake/key.pem")
    assert (code, "a key is read from a file of this machine alone" in err) == (2, True)
    code, _, err = run(*flags, "--series", "s3://lake/ledger.json")
    assert (code, "a ledger is for its owner alone" in err) == (2, True)
    monkeypatch.setenv("SHOAL_KEY", "s3://lake/key")
    with pytest.raises(InputError, match="your key stays on this machine"):
        owner_key()
    code, _, err = run(*flags)
    assert (code, "your key stays on this machine" in err) == (2, True)
    assert os.listdir(tmp_path) == ["b.csv"]


def test_a_plan_is_no_place_for_the_token_of_a_tree():
    document = {
        "version": 1,
        "input": {"path": "b.csv"},
        "hierarchies": "https://host/tree.csv?token=s3cret",
        "guarantee": {"model": "km", "k": 2, "m": 2},
    }
    with pytest.raises(InputError, match="may be a token, and a plan is no place for it") as raised:
        plan_of(document)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("status", [403, 404, 500, 503, None])
def test_a_store_that_refuses_a_tree_says_so_in_one_sentence(store, status):
    def refuse(method, bucket, key):
        raise HungUp if status is None else Refused(status, "AccessDenied" if status == 403 else "InternalError")

    store.before = refuse
    with pytest.raises(InputError, match=r"^tree\.csv: .*; ") as raised:
        shoal.read_hierarchy("s3://lake/d/tree.csv")
    assert "s3cret" not in str(raised.value)


def test_a_tree_that_changes_while_it_is_read_is_refused(store):
    def change(method, bucket, key):
        if method == "GET":
            store.buckets["lake"]["d/tree.csv"] = TREE + b"spelt,bread,food\n"

    store.before = change
    with pytest.raises(InputError, match=r"tree\.csv: it was changed while it was read"):
        shoal.read_hierarchy("s3://lake/d/tree.csv")


def test_names_with_signs_of_their_own(store):
    for key in ("d/a b#c.csv", "d/ürün+ağaç.csv", "d/100%25.csv"):
        store.buckets["lake"][key] = TREE
        assert shoal.read_hierarchy(f"s3://lake/{key}").source == key.partition("/")[2]
    with pytest.raises(InputError, match="takes no options after a"):
        shoal.read_hierarchy("s3://lake/d/a?b.csv")


def test_a_machine_without_an_identity_at_azure_is_told_so(monkeypatch):
    """Azure's library ends a process that asks it without one: that happens to a child."""

    class Dying:
        def __init__(self, *_, **__):
            pass

        def ask(self, request):
            assert request == {"account": "acc", "container": "c"}

        def answer(self, seconds):
            return Answer(error=Crash(code=-6))

        def end(self):
            pass

    for name in ("AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(stores, "Child", Dying)
    with pytest.raises(Unavailable, match=r"x\.csv: the store does not let you in; give credentials"):
        shoal.read("abfss://c@acc.dfs.core.windows.net/x.csv")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("s3a://lake/b.csv", "Hadoop's names for s3://"),
        ("hdfs://host/b.csv", "for Spark alone"),
        ("dbfs://b.csv", "for Spark alone"),
        ("file:///tmp/b.csv", "the path of a file"),
        ("http://host/b.csv", "in the clear"),
        ("wasbs://c@a.blob.core.windows.net/x.csv", "abfss://"),
        ("ftp://host/b.csv", "scheme that is not known"),
        ("sftp://who:s3cret@host/b.csv", "scheme that is not known"),
        ("smb://host/b.csv", "scheme that is not known"),
        ("s3://lake/d/", "a folder, whose objects would be read one by one"),
    ],
)
def test_other_ways_get_one_sentence_with_what_is_supported(address, words, run):
    for flags in (("profile", address), ("anonymize", "b.csv", "--k", "2", "--m", "2", "-o", address)):
        code, _, err = run(*flags)
        assert (code, words in err, "s3cret" in err, err.count("\n")) == (2, True, False, 1), err
        assert "s3://" in err
