"""Longer histories: a made-up clinic month by month, held against brute force, and households of a real shop week by week."""

from __future__ import annotations

import csv
import gzip
import os
import random
from dataclasses import replace

import numpy as np
import pytest

import naive_histories as naive
import shoal
from shoal.attacks.found_people import found_people
from shoal.guarantees.series.histories import SnapshotAnonymity
from shoal.records.baskets import Baskets
from shoal.series.ledger import read_ledger
from shoal.series.snapshots import _Past

COMMON = ("E11.9", "E11.2", "I10.0", "I10.9", "J45.0", "J45.9", "M54.5", "F32.0", "F32.9", "N39.0")


@pytest.fixture(autouse=True)
def _own_place(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path / "owner.key"))
    monkeypatch.chdir(tmp_path)


def history():
    return _Past.of(read_ledger("ledger.json").state).releases


def test_a_clinic_over_half_a_year():
    """Patients come, are diagnosed with more, recover and leave; a few have what nobody else has."""
    chance = random.Random(11)
    codes = [*COMMON, *(f"Q{n}.1" for n in range(5))]
    weights = [9, 7, 9, 6, 5, 4, 4, 3, 3, 2, *([0.1] * 5)]
    patients = {f"p{n}": set(chance.choices(codes, weights, k=2)) for n in range(150)}
    released = []
    for month in range(6):
        with open("month.csv", "w", newline="") as file:
            csv.writer(file).writerows(
                [("patient", "codes"), *((who, "|".join(sorted(has))) for who, has in patients.items())]
            )
        release = shoal.anonymize(
            "month.csv",
            shoal.KmAnonymity(3, 2),
            items="codes",
            person="patient",
            hierarchy="prefix",
            series="ledger.json",
            series_kind="snapshots",
        )
        release.write(f"public{month}.csv")
        released.append(shoal.read(f"public{month}.csv", items="codes"))
        series = release.series
        assert series["people"] == len(patients)
        assert len(released[-1]) == len(patients) - series["waiting"] + series["staying"]
        for who in chance.sample(sorted(patients), 12):
            patients[who] ^= set(chance.choices(codes, weights))
        for who in chance.sample(sorted(patients), 6):
            del patients[who]
        patients |= {f"m{month}-{n}": set(chance.choices(codes, weights, k=2)) for n in range(12)}
    out = naive.releases(history())
    assert not naive.breaches(out, 3, 2)
    for told, file in zip(out, released, strict=True):
        assert sorted(map(sorted, told.values())) == sorted(map(sorted, file.rows()))
    assert sum(map(len, out[-1].values())) > 0.5 * sum(map(len, patients.values()))


@pytest.mark.skipif("SHOAL_DATA" not in os.environ, reason="public data are not here")
def test_households_of_a_shop_week_by_week():
    """What 801 households bought, some of it each week: nobody is found in all weeks together, and in releases apart many are."""
    folder = os.path.join(os.environ["SHOAL_DATA"], "completejourney")
    with gzip.open(os.path.join(folder, "completejourney_rt.csv.gz"), "rt") as file:
        households = {row["household_id"]: row["items"].split()[:12] for row in csv.DictReader(file)}
    with open(os.path.join(folder, "completejourney_rt_items.csv")) as file:
        departments = sorted((row["item"], row["department"]) for row in csv.DictReader(file))
    with open("tree.csv", "w", newline="") as file:
        csv.writer(file).writerows((item, f"in {department}", "all") for item, department in departments)
    chance, promise = random.Random(3), shoal.KmAnonymity(5, 2)
    since = {name: [chance.randint(-6, 3) for _ in items] for name, items in households.items()}
    sources, alone = [], []
    for week in range(3):
        rows = {
            name: [item for item, first in zip(items, since[name], strict=True) if first <= week]
            for name, items in households.items()
            if chance.random() < 0.97
        }
        with open("week.csv", "w", newline="") as file:
            csv.writer(file).writerows(
                [("household", "items"), *((name, "|".join(items)) for name, items in rows.items())]
            )
        shared = {"items": "items", "hierarchy": "tree.csv"}
        shoal.anonymize(
            "week.csv", promise, **shared, person="household", series="ledger.json", series_kind="snapshots"
        ).write(f"public{week}.csv")
        apart = shoal.anonymize("week.csv", promise, **shared, drop="household", keep_order=True)
        numbers = np.array([int(name) for name in rows], np.int32)
        sources.append(replace(Baskets.from_rows(list(rows.values())), people=numbers))
        alone.append(apart.published)
    out = history()
    assert SnapshotAnonymity(5, 2).audit(out).holds
    assert sum(release.occurrences for release in out) > 0
    in_order = [{int(person): row for row, person in enumerate(source.people)} for source in sources]
    tree = shoal.read_hierarchy("tree.csv")
    found = len(found_people(alone, sources, in_order, tree, 5, 2))
    assert found > 100, found
