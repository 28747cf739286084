"""Batches of a series on Spark: those of the local engine, with the ledger on this machine, however a run ends."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter

import pytest

import shoal
import shoal.spark
from killing import killed_at, lines_that_change
from shoal.errors import InputError
from shoal.records.storage import journal, publication
from shoal.series import ledger as ledgers
from shoal.series.ledger import read_ledger
from shoal.spark.data.one_task import SETTING
from shoal.spark.data.storage import Files

pytestmark = pytest.mark.xdist_group("spark")

PROMISE = shoal.KmAnonymity(2, 2)
TREE = "brie,cheese,food\nfeta,cheese,food\nrye,bread,food\nspelt,bread,food\n"
WEEKS = [
    [["brie"]],
    [["brie", "rye"]] * 4 + [["feta", "rye"]] * 3 + [["spelt"]] * 2,
    [["brie", "rye"]] * 3 + [["feta", "spelt"]],
    [["brie", "rye"]] * 2 + [["feta", "spelt"]] * 2,
]
HOW = {"hierarchy": "tree.csv", "suppress": 0.0}


@pytest.fixture(autouse=True)
def _own_place(tmp_path, monkeypatch):
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "tree.csv").write_text(TREE)


@pytest.fixture
def batch(spark):
    def made(week, ledger="ledger.json", **more):
        df = spark.createDataFrame([(row,) for row in WEEKS[week]], "items array<string>")
        return shoal.spark.anonymize(df, PROMISE, series=ledger, **HOW, **more)

    return made


def rows_at(path):
    return Counter(tuple(sorted(row)) for row in shoal.read(path).rows())


def test_a_series_is_that_of_the_local_engine(batch):
    for week in (1, 2, 3):
        there = batch(week)
        here = shoal.anonymize(WEEKS[week], PROMISE, series="local.json", **HOW)
        there.write(os.path.abspath(f"p{week}"))
        here.write(f"p{week}.dat")
        assert rows_at(f"p{week}") == rows_at(f"p{week}.dat")
        assert (there.turn.facts, there.rows) == (here.series, here.rows)
        assert (dict(there.loss), dict(there.kept)) == (dict(here.loss), dict(here.kept))
        states = [read_ledger(name).state for name in ("ledger.json", "local.json")]
        assert states[0] == states[1]
        assert os.stat("ledger.json").st_mode & 0o777 == 0o600
        there.forget()
    # The same rows in another order are the same input.
    before = read_ledger("ledger.json").on_disk
    again = batch(2)
    assert (again.turn.facts["repeated"], again.turn.facts["batch"]) == (True, 2)
    assert again.write(os.path.abspath("p2")) == {}
    assert read_ledger("ledger.json").on_disk == before
    with open("p3.certificate.json") as file:
        certificate = json.load(file)
    assert (certificate["series"]["kind"], certificate["series"]["release"]) == ("batches", 3)
    assert shoal.verify("p3.certificate.json", "p3").verdict == "verified"
    stacked = shoal.stack("ledger.json", ["p1", "p2", "p3"])
    assert (stacked.rows, stacked.audit.holds) == (17, True)


def test_a_ledger_from_a_backup_is_found_out_by_the_certificates_of_later_batches(batch):
    batch(1).write(os.path.abspath("p1"))
    shutil.copy("ledger.json", "backup.json")
    batch(2).write(os.path.abspath("p2"))
    shutil.copy("backup.json", "ledger.json")
    stale = batch(3)
    with pytest.raises(InputError, match="put back the newest ledger"):
        stale.write(os.path.abspath("p3"))
    assert not os.path.exists("p3")


def test_commands_and_plans_in_a_series(spark, run):
    for week in (0, 1, 2):
        shoal.write(shoal.read(WEEKS[week]), f"w{week}.parquet")
    flags = ("--engine", "spark", "--k", "2", "--m", "2", "--hierarchy", "tree.csv", "--series", "ledger.json")
    code, out, err = run("anonymize", "w0.parquet", "-o", "p0", *flags, "--json")
    assert (code, json.loads(out)["series"]["published"], os.path.exists("p0")) == (0, False, False), err
    plan = (
        "version: 1\ninput: {path: w1.parquet}\nhierarchies: tree.csv\nguarantee: {model: km, k: 2, m: 2}\nengine: spark\n"
        "series: {ledger: ledger.json}\noutputs: {data: p1}\n"
    )
    with open("plan.yaml", "w") as file:
        file.write(plan)
    code, out, err = run("run", "plan.yaml", "--json")
    assert (code, json.loads(out)["series"]["batch"], json.loads(out)["rows"]) == (0, 1, 10), err
    code, out, _ = run("run", "plan.yaml")
    assert (code, "is batch 1 of the series already, in p1" in out) == (0, True)
    code, _, err = run("anonymize", "w2.parquet", "-o", "p1", *flags)
    assert (code, "it is there already" in err) == (2, True)
    code, out, _ = run("anonymize", "w2.parquet", "-o", "p2", *flags)
    assert (code, "batch 2" in out) == (0, True)


def test_what_is_refused_in_one_sentence(spark, batch, run):
    shoal.write(shoal.read(WEEKS[1]), "w1.parquet")
    flags = ("anonymize", "w1.parquet", "--k", "2", "--m", "2", "--series", "ledger.json")
    code, _, err = run(*flags, "--engine", "spark", "--series-kind", "snapshots")
    assert (code, "snapshots are not for Spark: each is searched and audited together" in err) == (2, True)
    batch(1).write(os.path.abspath("p1"))
    code, _, err = run(*flags)
    assert (code, "go on with --engine spark" in err) == (2, True)
    shoal.anonymize(WEEKS[1], PROMISE, series="local.json", **HOW).write("p1.dat")
    with pytest.raises(InputError, match=r"published by the local engine, .* go on with it, or begin another series"):
        batch(2, "local.json")
    spark.conf.set(SETTING, "300m")
    try:
        with pytest.raises(InputError, match=r"about 315 MB, and a task may take 315 MB .* publish in smaller batches"):
            batch(2)
    finally:
        spark.conf.unset(SETTING)
    release = batch(2)
    batch(3).write(os.path.abspath("p3"))
    with pytest.raises(InputError, match="the series went on since this release was made"):
        release.write(os.path.abspath("p2"))


def test_folder_certificate_and_ledger_become_current_together(batch, monkeypatch, tmp_path):
    """However a run ends: afterwards either the batch is out and the ledger knows it, or neither."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    batch(1).write(os.path.abspath("p1"))
    release = batch(2)
    modules = (journal, publication, ledgers)
    with open("ledger.json", "rb") as file:
        first = file.read()

    def fresh():
        for name in os.listdir("."):
            if name.startswith(("p2", ".")):
                os.system(f"rm -rf ./{name}")
        with open("ledger.json", "wb") as file:
            file.write(first)

    ends, lines = lines_that_change([tmp_path / "work"], modules, lambda: release.write(os.path.abspath("p2")))
    states = set()
    for line in [*ends[::4], ends[-1], lines]:
        fresh()
        killed_at(line, modules, lambda: release.write(os.path.abspath("p2")))
        ledger = read_ledger("ledger.json")
        is_out = os.path.isdir("p2")
        assert os.path.exists("p2.certificate.json") == is_out == (ledger.releases == 2), line
        states.add(is_out)
    assert states == {False, True}


class Killed(BaseException):
    """The process ends here: nothing is cleaned up."""


@pytest.mark.parametrize("place", ["folder", "table"])
def test_a_place_that_no_step_shares_with_the_ledger(spark, batch, monkeypatch, place):
    """A table, or a folder elsewhere. A run that ends before its rows have their name published nothing, one that ends after it did."""
    batch(1).write(os.path.abspath("p1"))
    certificate, is_table = os.path.abspath("c2.json"), place == "table"
    where = {"table": "p2"} if is_table else {"path": os.path.abspath("p2")}
    monkeypatch.setattr(Files, "local", lambda *_: None)  # as on another file system
    before = read_ledger("ledger.json")
    home = "shoal.spark.release"

    def killed(*_):
        raise Killed

    def end_at(what):
        """A run that is killed when it comes to this."""
        with monkeypatch.context() as ending:
            ending.setattr(Files, "remove", lambda *_: None)
            ending.setattr(spark.__class__, "sql", lambda *_: None)
            ending.setattr(what, killed)
            release = batch(2)
            with pytest.raises(Killed):
                release.write(**where, certificate=certificate)

    end_at(f"{home}.certificate_file")  # rows are written, but a folder has its name only later
    assert read_ledger("ledger.json").pending is not None
    with pytest.raises(InputError, match="the series is published by Spark"):
        shoal.anonymize(WEEKS[3], PROMISE, series="ledger.json", **HOW)
    if not is_table:
        assert batch(2).turn.facts["repeated"] is False
        assert (read_ledger("ledger.json").pending, read_ledger("ledger.json").state) == (None, before.state)
        end_at(f"{home}.Folder.put_in_place")  # the certificate is there
        assert os.path.exists(certificate)
        assert batch(2).turn.facts["repeated"] is False
        assert not os.path.exists(certificate)
    else:
        with pytest.raises(InputError, match="was interrupted while it wrote this, and it is not complete; remove it"):
            batch(2)
        spark.sql("DROP TABLE p2")
    end_at(f"{home}.write_ledger")  # all is there, and the ledger does not say so
    assert read_ledger("ledger.json").releases == 1
    again = batch(2)
    assert (again.turn.facts["repeated"], again.turn.facts["batch"]) == (True, 2)
    assert (read_ledger("ledger.json").releases, read_ledger("ledger.json").pending) == (2, None)
    assert batch(3).turn.ledger.releases == 3
    if is_table:
        spark.sql("DROP TABLE p2")
