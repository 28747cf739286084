"""Snapshots from the command line, in plans and in Python: repeated, interrupted, refused, restored, and attacked."""

from __future__ import annotations

import csv
import json
import os
import random
import shutil

import pytest

import naive_histories as naive
import shoal
from killing import killed_at, lines_that_change
from shoal.errors import InputError, Unreachable
from shoal.records.storage import journal, publication
from shoal.series import ledger as ledgers
from shoal.series.ledger import read_ledger

TREE = "brie,cheese,food\nfeta,cheese,food\nrye,bread,food\nspelt,bread,food\nale,drinks,food\n"
ITEMS, WEIGHTS = ("brie", "feta", "rye", "spelt", "ale"), (9, 5, 8, 4, 2)
CANARY = "canary-member-"
PROMISE = shoal.KmAnonymity(3, 2)
ASKED = ("--items", "items", "--person", "member", "--k", "3", "--m", "2", "--hierarchy", "tree.csv")
SERIES = ("--series", "ledger.json", "--series-kind", "snapshots")


@pytest.fixture(autouse=True)
def _own_place(tmp_path, monkeypatch):
    """A club whose members come, go and buy more, in four months."""
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path / "keys" / "owner.key"))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "tree.csv").write_text(TREE)
    chance = random.Random(7)
    members = {f"{CANARY}{i}": set(chance.choices(ITEMS, WEIGHTS, k=2)) for i in range(60)}
    for month in range(1, 5):
        write_month(month, members)
        for name in list(members):
            if chance.random() < 0.1:
                members[name] = members[name] | set(chance.choices(ITEMS, WEIGHTS))
            if chance.random() < 0.04:
                del members[name]
        members |= {f"{CANARY}{month}-{i}": set(chance.choices(ITEMS, WEIGHTS, k=2)) for i in range(5)}


def write_month(month, members):
    with open(f"m{month}.csv", "w", newline="") as file:
        csv.writer(file).writerows([("member", "items"), *((name, " ".join(s)) for name, s in sorted(members.items()))])


def members_of(month):
    with open(f"m{month}.csv", newline="") as file:
        return {name: set(items.split()) for name, items in list(csv.reader(file))[1:]}


def anonymize(run, month, *more, code=0):
    status, out, err = run("anonymize", f"m{month}.csv", "-o", f"p{month}.csv", *ASKED, *SERIES, "--json", *more)
    assert status == code, err
    return json.loads(out) if code == 0 else err


def keywords(**more):
    return {
        "items": "items",
        "person": "member",
        "hierarchy": "tree.csv",
        "series": "ledger.json",
        "series_kind": "snapshots",
    } | more


def history():
    """What the ledger holds to be out, release by release: person -> tokens."""
    from shoal.series.snapshots import _Past

    return naive.releases(_Past.of(read_ledger("ledger.json").state).releases)


def test_a_series_keeps_its_promise_over_all_months(run):
    for month in range(1, 5):
        facts = anonymize(run, month)
        series = facts["series"]
        assert (series["release"], series["published"], series["people"]) == (month, True, len(members_of(month)))
        assert facts["rows"] == series["people"] - series["waiting"] + series["staying"]
        assert not naive.breaches(history(), 3, 2)
        with open(f"p{month}.csv", newline="") as file:
            told = sorted(sorted(row[0].split()) for row in list(csv.reader(file))[1:])
        assert told == sorted(sorted(tokens) for tokens in history()[-1].values())
        assert run("verify", f"p{month}.csv.certificate.json", f"p{month}.csv")[0] == 0
    with open("p4.csv.certificate.json") as file:
        certificate = json.load(file)
    assert (certificate["series"]["kind"], certificate["series"]["release"]) == ("snapshots", 4)
    assert any("all releases taken together" in said for said in certificate["promised"])
    assert not any("about this release alone" in said for said in certificate["not_promised"])


def test_nobody_is_found_in_a_series_and_somebody_without_it(run):
    for month in (1, 2, 3):
        anonymize(run, month)
        code, _, err = run("anonymize", f"m{month}.csv", "-o", f"alone{month}.csv", *ASKED, "--suppress", "0.1")
        assert code == 0, err
    attack = ("--k", "3", "--m", "2", "--hierarchy", "tree.csv", "--items", "items", "--person", "member", "--json")
    originals = [word for month in (1, 2, 3) for word in ("--originals", f"m{month}.csv")]
    code, out, _ = run("attack", "--series", *(f"alone{month}.csv" for month in (1, 2, 3)), *originals, *attack)
    told = json.loads(out)
    assert (code, told["found"]) == (3, True)
    assert told["people"]["together"] > 0
    assert not naive.breaches(history(), 3, 2)


def test_what_people_lose_is_told_of_all_whose_turn_it_is(run):
    anonymize(run, 1)
    facts = anonymize(run, 2)
    series, published = facts["series"], history()[-1]
    assert facts["loss"]["deleted"] == pytest.approx(1 - series["kept"], abs=1e-6)
    assert series["staying"] == len(members_of(1).keys() - members_of(2).keys()) > 0
    assert 0 < series["outdated"] < 0.2
    assert len(published) == facts["rows"]
    assert any("as it was in an earlier release" in note for note in facts["notes"])
    with open("p2.csv.certificate.json") as file:
        certificate = json.load(file)
    assert any("was not there now or in an earlier release" in said for said in certificate["warnings"])
    assert any("stays until enough others" in said for said in certificate["not_promised"])
    _, out, _ = run("anonymize", "m3.csv", "-o", "p3.csv", *ASKED, *SERIES)
    assert "all releases together keep the promise" in " ".join(out.split())


def test_the_same_month_is_recognised(run):
    facts = anonymize(run, 1)
    before = read_ledger("ledger.json").on_disk
    again = anonymize(run, 1)
    assert (again["series"]["repeated"], again["series"]["release"], again["rows"]) == (True, 1, 0)
    assert again["series"]["output_sha256"] == facts["output_sha256"]
    assert read_ledger("ledger.json").on_disk == before


def test_too_few_for_a_crowd_wait_and_come_later(run):
    everybody = members_of(1)
    few = dict(list(everybody.items())[:2])
    write_month(1, few)
    facts = anonymize(run, 1)
    assert (facts["series"]["published"], facts["series"]["waiting"], facts["rows"]) == (False, 2, 0)
    assert "nobody can be published" in facts["notes"][0]
    assert not os.path.exists("p1.csv")
    write_month(2, everybody)
    facts = anonymize(run, 2)
    assert (facts["series"]["release"], facts["series"]["published"]) == (1, True)


def test_rows_of_one_person_are_joined(run):
    with open("m1.csv", "a") as file:
        file.write(f"{CANARY}0,ale\n{CANARY}1,ale\n{CANARY}2,ale\n")
    facts = anonymize(run, 1)
    assert facts["series"]["people"] == 60
    assert "3 rows were joined" in facts["notes"][0]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--wait", "0"), "would have to wait at least"),
        (("--suppress", "0.001"), "of what there is to publish would have to be left out at least"),
    ],
)
def test_limits_that_cannot_be_kept_say_the_least_that_was_found(run, more, words):
    anonymize(run, 1)
    before = read_ledger("ledger.json").on_disk
    names = set(os.listdir("."))
    write_month(2, members_of(1) | {f"{CANARY}new": {"brie"}})
    told = anonymize(run, 2, *more, code=3)
    assert words in " ".join(told.split())
    assert read_ledger("ledger.json").on_disk == before
    assert set(os.listdir(".")) == names


def test_what_a_series_of_snapshots_refuses(run):
    without = [word for word in ASKED if word not in ("--person", "member")]
    code, _, err = run("anonymize", "m1.csv", *without, "--drop", "member", "-o", "p1.csv", *SERIES)
    assert (code, "name the column that says so with --person" in " ".join(err.split())) == (2, True)
    anonymize(run, 1)
    for more, words in (
        (("--series-kind", "batches"), "the series is one of snapshots"),
        (("--k", "4"), "the series promises 3^2-anonymity"),
        (("--m", "9"), "the series promises 3^2-anonymity"),
    ):
        assert words in " ".join(anonymize(run, 2, *more, code=2).split())
    code, _, err = run("stack", "ledger.json", "p1.csv", "-o", "all.csv")
    assert (code, "are not put together" in err) == (2, True)
    write_month(2, members_of(2) | {f"{CANARY}new": {"kefir"}})
    assert "not among its leaves" in anonymize(run, 2, code=2)


def test_a_series_knows_eight_items_at_most(run):
    code, _, err = run("anonymize", "m1.csv", *ASKED, "--m", "9", "-o", "p1.csv", *SERIES)
    assert (code, "up to 8 known items" in err) == (2, True)


def test_a_plan_says_all_of_it():
    with open("plan.yaml", "w") as file:
        file.write(
            "version: 1\ninput: {path: m1.csv}\ncolumns: {member: person, items: items}\nhierarchies: tree.csv\n"
            "guarantee: {model: km, k: 3, m: 2}\nseries: {ledger: ledger.json, kind: snapshots, wait: 3}\n"
            "outputs: {data: p1.csv}\n"
        )
    release = shoal.run("plan.yaml")
    assert (release.series["release"], release.is_published) == (1, True)
    assert shoal.run("plan.yaml").series["repeated"]
    assert read_ledger("ledger.json").wait == 3


def test_nobody_is_named_in_any_file_or_word(run):
    shown = []
    for month in (1, 2):
        shown += run("anonymize", f"m{month}.csv", "-o", f"p{month}.csv", *ASKED, *SERIES, "--show-values")
    shown += run("verify", "p2.csv.certificate.json", "p2.csv")
    assert CANARY not in "".join(map(str, shown))
    for name in os.listdir("."):
        with open(name, "rb") as file:
            assert name.startswith("m") or CANARY.encode() not in file.read(), name
    with open("ledger.json", "rb") as file:
        assert not any(item.encode() in file.read() for item in ITEMS)
    assert os.stat("ledger.json").st_mode & 0o777 == 0o600


def test_a_ledger_from_a_backup_is_found_out(run):
    anonymize(run, 1)
    shutil.copy("ledger.json", "backup.json")
    anonymize(run, 2)
    shutil.copy("backup.json", "ledger.json")
    assert "put back the newest ledger" in anonymize(run, 3, code=2)
    assert not os.path.exists("p3.csv")


def test_two_runs_from_one_ledger_do_not_both_get_out():
    shoal.anonymize("m1.csv", PROMISE, **keywords()).write("p1.csv")
    one = shoal.anonymize("m2.csv", PROMISE, **keywords())
    other = shoal.anonymize("m3.csv", PROMISE, **keywords())
    one.write("p2.csv")
    with pytest.raises(InputError, match="went on"):
        other.write("p3.csv")
    assert not os.path.exists("p3.csv")


def test_a_snapshot_and_its_ledger_become_current_together(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "fsync", lambda _: None)
    shoal.anonymize("m1.csv", PROMISE, **keywords()).write("p1.csv")
    with open("ledger.json", "rb") as file:
        first = file.read()
    second = shoal.anonymize("m2.csv", PROMISE, **keywords(threads=1))

    def fresh():
        for name in os.listdir("."):
            if name.startswith(("p2", ".")):
                os.unlink(name)
        with open("ledger.json", "wb") as file:
            file.write(first)

    modules = (journal, publication, ledgers)
    fresh()
    ends, lines = lines_that_change([tmp_path / "work"], modules, lambda: second.write("p2.csv"))
    for line in [*ends, lines]:
        fresh()
        killed_at(line, modules, lambda: second.write("p2.csv"))
        ledger, is_out = read_ledger("ledger.json"), os.path.exists("p2.csv")
        assert os.path.exists("p2.csv.certificate.json") == is_out == (ledger.releases == 2), line
        assert not naive.breaches(history(), 3, 2)


def test_a_release_that_would_break_the_series_is_not_made(monkeypatch):
    """The audit of the history decides, whatever the search proposes."""
    from shoal.algorithms.snapshots.snapshot import Snapshot
    from shoal.series import snapshots

    def careless(history, present, k, m, **_):
        nobody = present.people[:0].astype("int64")
        return Snapshot(present, nobody, present.occurrences, 0, nobody, 0, 0)

    shoal.anonymize("m1.csv", PROMISE, **keywords()).write("p1.csv")
    monkeypatch.setattr(snapshots, "snapshot", careless)
    with pytest.raises(Unreachable, match="anonymity of snapshots does not hold"):
        shoal.anonymize("m2.csv", PROMISE, **keywords())
