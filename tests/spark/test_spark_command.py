"""`--engine spark`, in commands, plans and refusals: the same release as the local engine's."""

from __future__ import annotations

import json

import pytest

import shoal
from shoal import Baskets

pytestmark = pytest.mark.xdist_group("spark")

ROWS = [["milk", "nappies"]] * 6 + [["milk", "wipes"]] * 5 + [["brie", "wipes"]] * 2 + [["milk"]] * 3
TREE = "milk;dairy;shop\nbrie;dairy;shop\nnappies;baby;shop\nwipes;baby;shop\n"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shoal.write(Baskets.from_rows(ROWS), "raw.parquet")
    (tmp_path / "tree.csv").write_text(TREE)
    return tmp_path


def test_command_and_plan_make_the_release_of_the_local_engine(spark, shop, run):
    flags = ("anonymize", "raw.parquet", "--hierarchy", "tree.csv", "--k", "5", "--m", "2", "--algorithm", "exact")
    code, out, _ = run(*flags, "--engine", "spark", "-o", "public", "--json")
    on_spark = json.loads(out)
    local = json.loads(run(*flags, "-o", "public.parquet", "--json")[1])
    assert (code, on_spark["engine"], on_spark["holds"]) == (0, "spark", True)
    for key in ("algorithm", "guarantee", "loss", "optimal", "bound", "rows", "checked"):
        assert on_spark[key] == local.get(key, on_spark[key])
    assert (shop / "public.certificate.json").is_file()
    published = {tuple(sorted(row)) for row in shoal.read("public.parquet").rows()}
    assert {
        tuple(sorted(row)) for path in (shop / "public").glob("*.parquet") for row in shoal.read(path).rows()
    } == published

    code, out, _ = run("audit", "public", "--engine", "spark", "--k", "5", "--m", "2", "--json")
    assert (code, json.loads(out)["holds"]) == (0, True)
    assert run("audit", "raw.parquet", "--engine", "spark", "--k", "5", "--m", "2")[0] == 3
    # The rows are those of the local release, and it is by them that a release on Spark is known.
    for data in ("public", "public.parquet"):
        assert run("verify", "public.certificate.json", data)[0] == 0
    assert run("verify", "public.certificate.json", "raw.parquet")[0] == 3

    code, out, _ = run(*flags, "--engine", "spark", "-o", "public", "--force", "--json")
    assert (code, json.loads(out)["output_sha256"]) == (0, on_spark["output_sha256"])
    assert run("verify", "public.certificate.json", "public")[0] == 0

    # As a plan, with the default: whatever keys it prints are in the schema.
    _, plan, _ = run(*flags[:-2], "--engine", "spark", "-o", "other", "--print-plan")
    (shop / "plan.yaml").write_text(plan)
    assert "engine: spark" in plan
    code, out, _ = run("run", "plan.yaml", "--json")
    by_default = json.loads(run(*flags[:-2], "-o", "local.parquet", "--json")[1])
    assert (code, json.loads(out)["algorithm"], json.loads(out)["loss"]) == (0, "local", by_default["loss"])
    assert (shop / "other").is_dir()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--engine", "hadoop"), "engine 'hadoop' is not known"),
        (("--engine", "spark="), "is not complete"),
        (("--engine", "spark", "--keep-order"), "--keep-order has no use with --engine spark"),
        (("--engine", "spark", "--rules", "r.csv", "-o", "x"), "--rules has no use"),
        (("--engine", "spark", "-o", "x.csv"), "give a name without .csv"),
        (("--engine", "spark", "-o", "table:x", "--force"), "--force replaces a folder of this machine"),
        (("--engine", "spark", "-o", "hdfs://x/y", "--force"), "--force replaces a folder of this machine"),
        (("--engine", "spark", "-o", "raw.parquet"), "raw.parquet: it is there already; pass --force"),
        (("--engine", "spark", "-o", "-"), "standard input and output are for the local engine"),
    ],
)
def test_what_has_no_use_on_spark_is_refused_before_spark_starts(shop, run, flags, words):
    code, out, err = run("anonymize", "raw.parquet", *flags)
    assert (code, out) == (2, "")
    assert words in err


def test_a_plan_for_spark_is_not_checked_here(shop, run):
    (shop / "plan.yaml").write_text(
        "version: 1\ninput: {path: raw.parquet}\nengine: spark\nguarantee: {model: km, k: 5, m: 2}\n"
    )
    code, _, err = run("run", "plan.yaml", "--check")
    assert code == 2
    assert "plan.yaml: engine (line 3): this plan is for Spark" in err
