"""Series from and to tables: however a run ends, the table, its certificate and the ledger agree after the next start."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest

import shoal
from database_server import PASSWORD
from killing import KILLED, killed_at
from shoal.errors import InputError
from shoal.records.database.write import TableTarget
from shoal.records.storage import journal, publication
from shoal.series.ledger import read_ledger

PROMISE = shoal.KmAnonymity(2, 2)
TREE = "brie,cheese,food\nfeta,cheese,food\nrye,bread,food\nspelt,bread,food\n"
WEEKS = (["brie,rye"] * 4 + ["feta,rye"] * 3, ["brie,rye"] * 3 + ["feta"], ["brie,rye"] * 2 + ["feta,spelt"] * 2)
BATCHES = {"items": "goods", "drop": "member", "suppress": 0.0, "hierarchy": "tree.csv", "series": "ledger.json"}
SNAPSHOTS = {
    "items": "goods",
    "person": "member",
    "hierarchy": "tree.csv",
    "series": "club.json",
    "series_kind": "snapshots",
}


class Shop:
    """Three weeks in tables, and a name for each table of a database."""

    def __init__(self, run, address):
        self.run, self.address = run, address
        for week, rows in enumerate(WEEKS):
            for name in (f"week{week}", f"public{week}", f"club{week}"):
                run(f"DROP TABLE IF EXISTS {name}")
            run(f"CREATE TABLE week{week} (member INTEGER, goods TEXT)")
            run(f"INSERT INTO week{week} VALUES " + ", ".join(f"({i}, '{goods}')" for i, goods in enumerate(rows)))

    def release(self, week, how=BATCHES):
        return shoal.anonymize(self.address(f"week{week}"), PROMISE, **how)

    def publish(self, week, how=BATCHES, name="public"):
        made = self.release(week, how)
        made.write(self.address(f"{name}{week}"), f"{name}{week}.json")
        return made


@pytest.fixture(params=["sqlite", "postgresql"])
def shop(request, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)
    (tmp_path / "tree.csv").write_text(TREE)
    if request.param == "postgresql":
        server = request.getfixturevalue("server")
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        return Shop(request.getfixturevalue("ask"), server.address)

    def run(statement):
        with closing(sqlite3.connect("shop.db")) as connection, connection:
            connection.execute(statement)

    return Shop(run, lambda table: f"sqlite:shop.db?table={table}")


def test_batches_and_snapshots_from_and_to_tables(shop):
    made = [shop.publish(week) for week in range(3)]
    assert [(release.rows, release.series["waiting"]) for release in made] == [(7, 0), (3, 1), (5, 0)]
    again = shop.publish(1)
    assert (again.is_published, again.series["repeated"], again.series["batch"]) == (False, True, 2)
    assert shoal.stack("ledger.json", [shop.address(f"public{week}") for week in range(3)]).rows == 15
    with pytest.raises(InputError, match="it is there already"):
        shop.release(2, {**BATCHES, "series": "other.json"}).write(shop.address("public0"), "other.certificate.json")
    people = [shop.publish(week, SNAPSHOTS, "club") for week in range(3)]
    assert [release.series["release"] for release in people] == [1, 2, 3]
    for name in ("public", "club"):
        for week in range(3):
            assert shoal.verify(f"{name}{week}.json", shop.address(f"{name}{week}")).verdict == "verified"
    assert shop.publish(1, SNAPSHOTS, "club").series["repeated"]


@pytest.mark.parametrize("how", [BATCHES, SNAPSHOTS])
@pytest.mark.parametrize("after", [False, True])
def test_a_run_that_is_killed_around_the_commit_of_its_table(shop, how, after, monkeypatch):
    """The table is asked what became of it: the input is known again, or was never published."""
    shop.publish(0, how)
    release, once = shop.release(1, how), TableTarget.commit

    def commit(self):
        if after:
            once(self)
        os._exit(KILLED)

    with monkeypatch.context() as ending:
        ending.setattr(TableTarget, "commit", commit)
        killed_at(-1, (journal, publication), lambda: release.write(shop.address("public1"), "public1.json"))
    again = shop.release(1, how)
    assert (again.series["repeated"], os.path.exists("public1.json")) == (after, after)
    assert read_ledger(how["series"]).releases == (2 if after else 1)
    if after:
        assert shoal.verify("public1.json", shop.address("public1")).verdict == "verified"
    else:
        again.write(shop.address("public1"), "public1.json")
        assert read_ledger(how["series"]).releases == 2
    assert not [name for name in os.listdir(".") if name.startswith(".") and not name.endswith(".turn")]


def test_a_server_that_cannot_be_asked_leaves_the_series_where_it_is(server, ask, tmp_path, monkeypatch):
    (tmp_path / "tree.csv").write_text(TREE)
    shop = Shop(ask, server.address)
    release, once = shop.release(0), TableTarget.commit

    def commit(self):
        once(self)
        os._exit(KILLED)

    with monkeypatch.context() as ending:
        ending.setattr(TableTarget, "commit", commit)
        killed_at(-1, (journal, publication), lambda: release.write(server.address("public0"), "public0.json"))
    with pytest.raises(
        InputError, match=r"ledger\.json.* whether the table was committed cannot be found out"
    ) as raised:
        shop.release(0)  # which knows no password but that of its input
    assert "s3cret" not in str(raised.value)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert shop.release(0).series["repeated"]
