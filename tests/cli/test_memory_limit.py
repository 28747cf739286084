"""`--memory-limit`: the same release, in less memory, and refused where it would be a promise that is not kept."""

from __future__ import annotations

import gzip
import json

import pytest

import shoal
from shoal import Baskets

ROWS = [["milk", "nappies"]] * 6 + [["milk", "wipes"]] * 5 + [["brie", "wipes"]] * 2 + [["milk"]] * 3


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shoal.write(Baskets.from_rows(ROWS), "raw.csv")
    (tmp_path / "tree.csv").write_text("milk;dairy;shop\nbrie;dairy;shop\nnappies;baby;shop\nwipes;baby;shop\n")
    return tmp_path


def test_a_limit_changes_nothing_but_memory(shop, run):
    flags = ("anonymize", "raw.csv", "--hierarchy", "tree.csv", "--algorithm", "exact", "--json")
    limited = json.loads(run(*flags, "-o", "a.csv", "--memory-limit", "1GB")[1])
    free = json.loads(run(*flags, "-o", "b.csv")[1])
    assert limited["loss"] == free["loss"]
    assert sorted((shop / "a.csv").read_text().splitlines()) == sorted((shop / "b.csv").read_text().splitlines())
    assert run("audit", "a.csv", "--memory-limit", "1GB")[0] == 0
    assert run("audit", "raw.csv", "--memory-limit", "1GB")[0] == 3


def test_a_plan_can_have_it(shop, run):
    _, plan, _ = run(
        "anonymize", "raw.csv", "--hierarchy", "tree.csv", "-o", "a.csv", "--memory-limit", "1GB", "--print-plan"
    )
    (shop / "plan.yaml").write_text(plan)
    assert "memory_limit: 1GB" in plan
    assert run("run", "plan.yaml")[0] == 0


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--memory-limit", "10MB"), "give at least 800 MB"),
        (("--memory-limit", "much"), "much"),
        (("--memory-limit", "1GB", "--algorithm", "hybrid"), "for algorithm exact"),
        (("--memory-limit", "1GB", "--model", "k"), "for k^m-anonymity"),
        (("--memory-limit", "1GB", "--hierarchy", "learned:3"), "learned from all rows"),
    ],
)
def test_what_cannot_be_limited_is_refused(shop, run, flags, words):
    code, out, err = run("anonymize", "raw.csv", "-o", "a.csv", *flags)
    assert (code, out) == (2, "")
    assert words in err
    assert not (shop / "a.csv").exists()


def test_an_input_limit_refuses_what_unfolds_beyond_it_and_travels_in_a_plan(shop, run):
    (shop / "small.dat.gz").write_bytes(gzip.compress(b"milk wipes\n" * 200_000))
    code, _, err = run("profile", "small.dat.gz", "--input-limit", "2MB")
    assert code == 2
    assert "takes more than 2 MB of memory, which is the input limit" in err
    assert "raise --input-limit" in err
    assert run("audit", "small.dat.gz", "--k", "2")[0] == 0  # the limit was that of the command before
    flags = ("anonymize", "small.dat.gz", "-o", "a.dat", "--input-limit", "2MB")
    _, plan, _ = run(*flags, "--print-plan")
    (shop / "plan.yaml").write_text(plan)
    assert "limit: 2MB" in plan
    code, _, err = run("run", "plan.yaml")
    assert code == 2
    assert "raise input.limit" in err
    assert not (shop / "a.dat").exists()


@pytest.mark.parametrize(("size", "words"), [("much", "is not a size"), ("10KB", "give at least 1MB")])
def test_an_input_limit_is_a_size(shop, run, size, words):
    code, _, err = run("audit", "raw.csv", "--input-limit", size)
    assert code == 2
    assert words in err
