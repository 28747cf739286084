"""A series from the command line, in plans, in databases, interrupted at any line, and repeated."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

import shoal
from killing import killed_at, lines_that_change
from shoal.errors import InputError
from shoal.plan.parse import plan_of
from shoal.records.storage import journal, publication
from shoal.series import ledger as ledgers
from shoal.series.ledger import read_ledger

K2M2 = ("--k", "2", "--m", "2", "--hierarchy", "tree.csv", "--series", "ledger.json")
TREE = "brie,cheese,food\nfeta,cheese,food\nrye,bread,food\nspelt,bread,food\n"


@pytest.fixture(autouse=True)
def _own_place(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path / "keys" / "owner.key"))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "tree.csv").write_text(TREE)
    (folder / "w0.dat").write_text("brie\n")
    (folder / "w1.dat").write_text("brie rye\n" * 4 + "feta rye\n" * 3 + "spelt\n" * 2)
    (folder / "w2.dat").write_text("brie rye\n" * 3 + "feta spelt\n")
    (folder / "w3.dat").write_text("brie rye\n" * 2 + "feta spelt\n" * 2)


def anonymize(run, week, *more, code=0):
    status, out, err = run("anonymize", f"w{week}.dat", "-o", f"p{week}.dat", *K2M2, "--json", *more)
    assert status == code, err
    return json.loads(out) if code == 0 else err


def test_a_series_from_flags(run):
    facts = anonymize(run, 0)
    assert (facts["series"]["published"], facts["series"]["waiting"], facts["rows"]) == (False, 1, 0)
    assert "nothing can be published yet" in facts["notes"][0]
    assert sorted(os.listdir(".")) == ["ledger.json", "tree.csv", "w0.dat", "w1.dat", "w2.dat", "w3.dat"]
    facts = anonymize(run, 1)
    assert (facts["series"]["batch"], facts["series"]["waiting"], facts["rows"]) == (1, 0, 10)
    facts = anonymize(run, 2, "--suppress", "0")
    assert (facts["series"]["batch"], facts["series"]["waiting"], facts["series"]["ages"]) == (2, 1, {"1": 1})
    again = anonymize(run, 2, "--suppress", "0")
    assert (again["series"]["repeated"], again["series"]["batch"], again["series"]["rows"]) == (True, 2, 3)
    assert again["series"]["output_sha256"] == facts["output_sha256"]
    facts = anonymize(run, 3, "--suppress", "0")
    assert (facts["rows"], facts["series"]["waiting"]) == (5, 0)
    with open("p3.dat.certificate.json") as file:
        certificate = json.load(file)
    assert (certificate["series"]["kind"], certificate["series"]["release"]) == ("batches", 3)
    assert any("one batch of a series" in warning for warning in certificate["warnings"])
    assert run("verify", "p3.dat.certificate.json", "p3.dat")[0] == 0
    code, out, _ = run("stack", "ledger.json", "p1.dat", "p2.dat", "p3.dat", "-o", "all.csv", "--json")
    facts = json.loads(out)
    assert (code, facts["rows"], facts["series"]) == (0, 18, {"kind": "batches", "batches": [1, 2, 3], "of": 3})
    assert run("verify", "all.csv.certificate.json", "all.csv")[0] == 0
    assert run("stack", "ledger.json", "p1.dat", "-o", "one.csv")[0] == 0
    for files, told in ((("p1.dat", "p1.dat"), "named twice"), (("p1.dat", "w1.dat"), "no release of this series")):
        code, _, err = run("stack", "ledger.json", *files)
        assert (code, told in err) == (2, True)


def visits(run, week, *rows, code=0, ledger="ledger.json", person=("--person", "who")):
    """A batch of visits, each somebody's, as (who, items)."""
    with open(f"v{week}.csv", "w") as file:
        file.write("who,goods\n" + "".join(f"{CANARY}{who},{goods}\n" for who, goods in rows))
    asked = ("--items", "goods", *person, "--k", "3", "--hierarchy", "tree.csv", "--suppress", "0", "--series", ledger)
    status, out, err = run("anonymize", f"v{week}.csv", "-o", f"o{week}.csv", *asked, "--json")
    assert status == code, err
    return json.loads(out) if code == 0 else err


CANARY = "canary-patient-"
CROWD = [(who, "brie rye") for who in ("ann", "bob", "cyn") for _ in range(2)]


def test_batches_of_people(run):
    facts = visits(run, 1, *CROWD, *[(who, "feta") for who in ("ann", "bob", "cyn")])
    assert (facts["rows"], facts["series"]["waiting"], facts["guarantee"]["counted"]) == (9, 0, "people")
    assert (facts["audit"]["counted"], facts["audit"]["people"]) == ("people", 3)
    assert "begin one of snapshots instead (--series-kind snapshots)" in " ".join(facts["notes"])
    facts = visits(run, 2, *CROWD, *[("dan", "feta")] * 4, ("eve", "feta"))
    assert (facts["rows"], facts["series"]["waiting"]) == (6, 5)
    assert "snapshots" not in " ".join(facts["notes"])
    facts = visits(run, 3, *CROWD, ("dan", "feta"))  # who is nobody new: six rows of feta, of two people
    assert (facts["rows"], facts["series"]["waiting"]) == (6, 6)
    facts = visits(run, 4, ("fay", "feta"))
    assert (facts["rows"], facts["series"]["waiting"], facts["audit"]["people"]) == (7, 0, 3)
    assert run("verify", "o4.csv.certificate.json", "o4.csv")[0] == 0
    names = [f"o{week}.csv" for week in (1, 2, 3, 4)]
    code, out, _ = run("stack", "ledger.json", *names, "-o", "all.csv", "--json")
    assert (code, json.loads(out)["rows"], json.loads(out)["guarantee"]["counted"]) == (0, 28, "people")
    with open("all.csv.certificate.json") as file:
        certificate = json.load(file)
    assert any("People were counted in each batch" in warning for warning in certificate["warnings"])
    code, out, _ = run("verify", "all.csv.certificate.json", "all.csv")
    assert (code, "as many people is the owner's word" in " ".join(out.split())) == (0, True)
    assert visits(run, 4, ("fay", "feta"))["series"]["repeated"]
    for name in os.listdir("."):
        with open(name, "rb") as file:
            assert (CANARY.encode() in file.read()) == name.startswith("v")


def test_a_series_counts_people_in_all_batches_or_in_none(run):
    visits(run, 1, *CROWD)
    assert "counts people in all of its releases (--person); name the column" in visits(
        run, 2, *CROWD, ("x", "rye"), code=2, person=("--drop", "who")
    )
    visits(run, 5, *CROWD, ledger="other.json", person=("--drop", "who"))
    assert "counts rows in all of its releases (--person); leave it out" in visits(
        run, 3, *CROWD, ("x", "rye"), code=2, ledger="other.json"
    )
    nobody = visits(run, 4, ("ann", "brie"), ledger="third.json")
    assert (nobody["series"]["published"], nobody["guarantee"]["counted"]) == (False, "people")
    records = shoal.records.records.Records.of(replace(shoal.read([["rye"]] * 3), people=np.arange(3, dtype=np.int32)))
    with pytest.raises(InputError, match="whose are the rows"):
        shoal.anonymize(records, shoal.KmAnonymity(3, 1), hierarchy="balanced:2", series="fourth.json")


def test_what_is_shown_at_a_terminal(run):
    _, out, err = run("anonymize", "w0.dat", "-o", "p0.dat", *K2M2)
    assert "nothing can be published yet" in out + err
    _, out, _ = run("anonymize", "w1.dat", "-o", "p1.dat", *K2M2)
    assert "batch 1" in out
    _, out, _ = run("anonymize", "w1.dat", "-o", "p1.dat", *K2M2)
    assert "is batch 1 of the series already, in p1.dat; nothing was written" in out


def test_an_output_that_is_there_is_not_replaced_by_another_batch(run):
    anonymize(run, 1)
    os.rename("p1.dat", "p2.dat")
    os.rename("p1.dat.certificate.json", "p2.dat.certificate.json")
    before = read_ledger("ledger.json").on_disk
    assert "it is there already" in anonymize(run, 2, code=2)
    assert read_ledger("ledger.json").on_disk == before


def test_a_plan_in_a_series(run):
    with open("plan.yaml", "w") as file:
        file.write(
            "version: 1\ninput: {path: w1.dat}\nhierarchies: tree.csv\nguarantee: {model: km, k: 2, m: 2}\n"
            "series: {ledger: ledger.json, kind: batches, wait: 2}\noutputs: {data: p1.dat}\n"
        )
    assert shoal.run("plan.yaml").series["batch"] == 1
    release = shoal.run("plan.yaml")
    assert (release.is_published, release.series["repeated"], release.written[-1].sha256) == (False, True, "")
    assert read_ledger("ledger.json").wait == 2
    code, _, err = run("run", "plan.yaml", "--json")
    assert code == 0, err


def test_an_unknown_item_needs_its_place(run):
    anonymize(run, 1)
    with open("w2.dat", "a") as file:
        file.write("kefir\n" * 3)
    assert "not among its leaves" in anonymize(run, 2, code=2)
    assert (
        anonymize(run, 2, "--unknown", "root")["rows"]
        == 7 - anonymize(run, 2, "--unknown", "root")["series"]["waiting"]
    )
    with open("tree.csv", "a") as file:
        file.write("kefir,cheese,food\n")
    assert "moves, renames or lacks" in anonymize(run, 3, code=2)


def test_batches_in_a_database():
    with closing(sqlite3.connect("shop.db")) as connection, connection:
        for week, rows in ((1, ["brie,rye"] * 4 + ["feta,rye"] * 3), (2, ["brie,rye"] * 3 + ["feta"])):
            connection.execute(f"CREATE TABLE week{week} (goods TEXT)")
            connection.executemany(f"INSERT INTO week{week} VALUES (?)", [(row,) for row in rows])
    for week, published in ((1, 7), (2, 3)):
        release = shoal.anonymize(
            f"sqlite:shop.db?table=week{week}",
            shoal.KmAnonymity(2, 2),
            items="goods",
            hierarchy="tree.csv",
            suppress=0,
            series="ledger.json",
        )
        release.write(f"sqlite:shop.db?table=public{week}", f"c{week}.json")
        assert release.rows == published
        assert shoal.verify(f"c{week}.json", f"sqlite:shop.db?table=public{week}").verdict == "verified"
    stacked = shoal.stack("ledger.json", [f"sqlite:shop.db?table=public{week}" for week in (1, 2)])
    assert stacked.rows == 10


def published_as(names, form, number, **more):
    """A batch of rows with these items, written in a format."""
    tree = shoal.Hierarchy.from_parents([*[len(NAMED)] * len(NAMED), -1], [*NAMED, "all"])
    rows = [[name] for name in names for _ in range(2 + number)]
    given = {"hierarchy": tree, "series": "ledger.json"} | more
    shoal.anonymize(rows, shoal.KmAnonymity(2, 2), **given).write(f"p{number}.{form}")
    return f"p{number}.{form}"


NAMED = ("=sum", "-5", "a b", "a_b", "plain")


def test_items_are_known_again_however_a_format_writes_them():
    files = [
        published_as(("=sum", "-5", "plain"), form, number) for number, form in enumerate(("csv", "dat", "parquet"))
    ]
    files.append(published_as(("a b", "plain"), "csv", 3))
    stacked = shoal.stack("ledger.json", files)
    stacked.write("all.jsonl")
    assert dict(zip(stacked.published.vocabulary, stacked.published.supports().tolist(), strict=True)) == {
        "=sum": 9,
        "-5": 9,
        "plain": 14,
        "a b": 5,
    }
    files.append(published_as(("a b", "plain"), "dat", 4))  # which says a_b, as it would of the other
    with pytest.raises(InputError, match="two items of the series are written as the same text in dat"):
        shoal.stack("ledger.json", files)


def test_snapshots_are_not_for_spark():
    with pytest.raises(InputError, match="snapshots are not for Spark: each is searched and audited together"):
        plan_of(
            {
                "version": 1,
                "input": {"path": "w1.parquet"},
                "guarantee": {"model": "km", "k": 2, "m": 2},
                "engine": "spark",
                "series": {"ledger": "ledger.json", "kind": "snapshots"},
            }
        )


def test_data_certificate_and_ledger_become_current_together(monkeypatch, tmp_path):
    """However a run ends: afterwards either the batch is out and the ledger knows it, or neither."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    keywords = {"hierarchy": "tree.csv", "suppress": 0.0, "series": "ledger.json", "threads": 1}
    promise = shoal.KmAnonymity(2, 2)
    shoal.anonymize("w1.dat", promise, **keywords).write("p1.dat")
    with open("ledger.json", "rb") as file:
        first = file.read()
    second = shoal.anonymize("w2.dat", promise, **keywords)

    def fresh():
        for name in os.listdir("."):
            if name.startswith(("p2", ".")):
                os.unlink(name)
        with open("ledger.json", "wb") as file:
            file.write(first)

    modules = (journal, publication, ledgers)
    fresh()
    ends, lines = lines_that_change([tmp_path / "work"], modules, lambda: second.write("p2.dat"))
    states = set()
    for line in [*ends, lines]:
        fresh()
        killed_at(line, modules, lambda: second.write("p2.dat"))
        ledger = read_ledger("ledger.json")
        is_out = os.path.exists("p2.dat")
        assert os.path.exists("p2.dat.certificate.json") == is_out == (ledger.releases == 2), line
        states.add(is_out)
        if not is_out:
            shoal.anonymize("w2.dat", promise, **keywords).write("p2.dat")
        assert not [name for name in os.listdir(".") if name.startswith(".") and not name.endswith(".turn")]
    assert states == {False, True}


@pytest.mark.skipif("SHOAL_DATA" not in os.environ, reason="public data are not here")
def test_complete_journey_in_batches():
    folder = os.path.join(os.environ["SHOAL_DATA"], "completejourney")
    with gzip.open(os.path.join(folder, "completejourney_baskets.dat.gz"), "rt") as file:
        lines = [next(file) for _ in range(1_200)]
    with gzip.open(os.path.join(folder, "completejourney_hierarchy.csv.gz"), "rt") as file:
        names = {name for line in lines for name in line.split()}
        header = next(file)
        seen = [header, *(line for line in file if line.split(",", 1)[0] in names)]
    with open("products.csv", "w") as file:
        file.writelines(seen)
    promise, came, out = shoal.KmAnonymity(5, 2), 0, 0
    for week in range(4):
        rows = [line.split() for line in lines[300 * week : 300 * (week + 1)]]
        release = shoal.anonymize(
            rows,
            promise,
            hierarchy="products.csv",
            series="ledger.json",
        )
        release.write(f"week{week}.csv")
        came, out = came + len(rows), out + release.rows
        assert release.series["waiting"] == came - out
        assert np.all(release.audit.violations == 0)
    stacked = shoal.stack("ledger.json", [f"week{week}.csv" for week in range(4)])
    assert (stacked.rows, stacked.audit.holds) == (out, True)
