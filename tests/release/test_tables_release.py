"""Releases of tables: roles, promises, bounds, files that read back, refusals."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import shoal
from shoal.errors import InputError, Unreachable

MERGES = ("rmerge-r", "rmerge-t", "rmerge-rt", "tmerge-r", "tmerge-t", "tmerge-rt", "rfirst", "tfirst")


@pytest.fixture
def patients(tmp_path):
    """200 made-up patients: id, age, sex, diagnoses, of which HIV and TB are sensitive."""
    rng = np.random.default_rng(4)
    codes = np.array(["A", "B", "C", "D", "E", "F"])
    path = tmp_path / "patients.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "age", "sex", "diagnoses"])
        for i in range(200):
            held = set(rng.choice(codes, rng.integers(1, 4), p=[0.35, 0.25, 0.15, 0.1, 0.1, 0.05]).tolist())
            held |= {("HIV", "TB")[i % 2]} if i % 10 < 2 else set()
            writer.writerow([i, rng.integers(20, 80), "MF"[i % 2], " ".join(sorted(held))])
    return str(path)


ROLES = {"quasi": "age,sex", "items": "diagnoses"}


@pytest.mark.parametrize("algorithm", MERGES)
def test_rt_releases_keep_the_promise_in_the_file(patients, tmp_path, algorithm):
    out = str(tmp_path / "public.csv")
    release = shoal.anonymize(
        patients, shoal.RTAnonymity(5, 2), algorithm=algorithm, transaction="sets", drop="id", **ROLES
    )
    release.write(out, rules=str(tmp_path / "rules.csv"))
    verdict = shoal.audit(out, shoal.RTAnonymity(5, 2), **ROLES)
    assert verdict.holds
    assert release.rows == 200
    with open(out) as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["age", "sex", "diagnoses"]
    assert len(rows) == 200
    if algorithm.startswith("rmerge"):
        assert release.loss["ncp"] <= 0.65
    if algorithm.startswith("tmerge"):
        assert release.loss["ul"] <= 0.65
    certificate = json.loads((tmp_path / "public.csv.certificate.json").read_text())
    assert certificate["holds"]
    assert certificate["columns"] == {"age": "quasi", "sex": "quasi"}
    assert certificate["audit"]["smallest_class"] >= 5
    assert set(certificate["loss"]) == {"ncp", "ul", "items_ncp"}


def test_a_smaller_delta_keeps_more_of_the_columns(patients):
    found = [
        shoal.anonymize(patients, shoal.RTAnonymity(5, 2), algorithm="rmerge-r", delta=delta, drop="id", **ROLES)
        for delta in (0.3, 0.9)
    ]
    assert found[0].loss["ncp"] <= 0.3
    assert found[0].loss["ncp"] < found[1].loss["ncp"]


def test_a_delta_that_cannot_be_met_is_exit_code_3_with_one_that_can(patients):
    with pytest.raises(Unreachable, match=r"delta"):
        shoal.anonymize(patients, shoal.RTAnonymity(5, 2), algorithm="rmerge-r", delta=0.001, drop="id", **ROLES)


@pytest.mark.parametrize("spec", ["balanced:2", "frequency:2", "learned:2", "prefix"])
def test_a_hierarchy_where_all_items_are_sensitive_is_told_so(tmp_path, spec):
    path = tmp_path / "t.csv"
    path.write_text("age,codes\n" + "1,a b\n" * 4)
    asked = {"quasi": "age", "items": "codes", "sensitive": "a,b"}
    with pytest.raises(InputError, match=r"all items of 'codes' are sensitive.* leave out their hierarchy"):
        shoal.anonymize(path, shoal.RTAnonymity(2, 1), hierarchy={"codes": spec}, **asked)
    assert shoal.anonymize(path, shoal.RTAnonymity(2, 1), **asked).audit.holds


def test_hierarchies_per_column(patients, tmp_path):
    release = shoal.anonymize(
        patients,
        shoal.RTAnonymity(5, 2),
        hierarchy={"age": "intervals:10,20", "diagnoses": "balanced:2"},
        algorithm="rmerge-r",
        delta=0.5,
        drop="id",
        **ROLES,
    )
    ages = set(release.published["age"].values)
    assert all(age.startswith("[") or age == "*" or age.isdigit() for age in ages)
    with pytest.raises(InputError, match="for 'zip': there is no such column"):
        shoal.anonymize(patients, shoal.RTAnonymity(5, 2), hierarchy={"zip": "mask"}, drop="id", **ROLES)


@pytest.mark.parametrize("sensitive", ["HIV,TB", ["HIV", "TB"]])
def test_no_sensitive_item_is_likelier_than_one_in_l(patients, tmp_path, sensitive):
    promise = shoal.LmDiversity(5, 3, 1)
    release = shoal.anonymize(patients, promise, sensitive=sensitive, drop="id", **ROLES)
    out = str(tmp_path / "public.parquet")
    release.write(out)
    assert shoal.audit(out, promise, sensitive=sensitive, **ROLES).holds
    before = shoal.read(patients, items="diagnoses", drop=("id", "age", "sex"))
    names = list(release.published.items.vocabulary)
    support = dict(zip(names, release.published.items.supports().tolist(), strict=True))
    raw = dict(zip(before.vocabulary, before.supports().tolist(), strict=True))
    assert {name: support[name] for name in ("HIV", "TB")} == {name: raw[name] for name in ("HIV", "TB")}


@pytest.mark.parametrize("algorithm", [None, "cluster", "mondrian"])
def test_a_table_without_items(patients, tmp_path, algorithm):
    promise = shoal.TableAnonymity(5, 2)
    roles = {"quasi": "age", "sensitive": "sex", "drop": "id,diagnoses"}
    release = shoal.anonymize(patients, promise, algorithm=algorithm, **roles)
    out = str(tmp_path / "public.jsonl")
    release.write(out)
    assert shoal.audit(out, promise, quasi="age", sensitive="sex").holds
    assert list(release.loss) == ["info", "ncp"]
    assert not shoal.audit(patients, promise, **roles).holds


@pytest.mark.parametrize(
    ("promise", "asked", "complaint"),
    [
        (shoal.RTAnonymity(5, 2), {"quasi": "age", "items": "diagnoses", "drop": "id"}, "column 'sex' has no role"),
        (shoal.RTAnonymity(5, 2), {"quasi": "age,sex", "drop": "id,diagnoses"}, "no column holds items"),
        (shoal.LmDiversity(5, 2, 2), {"quasi": "age,sex", "items": "diagnoses", "drop": "id"}, "needs sensitive items"),
        (shoal.TableAnonymity(5), {"quasi": "age,sex", "items": "diagnoses", "drop": "id"}, "has no use for items="),
        (shoal.TableAnonymity(5, 2), {"quasi": "age,sex", "drop": "id,diagnoses"}, "nothing is sensitive"),
        (shoal.TableAnonymity(5), {"quasi": "age", "drop": "id,diagnoses,sex", "delta": 0.5}, "delta=: it has no use"),
        (shoal.RTAnonymity(5, 2), {**ROLES, "drop": "id", "id": "id"}, "column 'id' has two roles"),
    ],
)
def test_refusals(patients, promise, asked, complaint):
    with pytest.raises(InputError, match=complaint):
        shoal.anonymize(patients, promise, **asked)


def test_a_damaged_release_is_caught(patients, tmp_path):
    out = tmp_path / "public.csv"
    shoal.anonymize(patients, shoal.RTAnonymity(5, 2), drop="id", **ROLES).write(str(out))
    lines = out.read_text().splitlines()
    known = ",".join(next(csv.reader(lines[1:2], quoting=csv.QUOTE_MINIMAL))[:-1])
    for damaged in ("99,M,A", f"{known},never seen before"):
        spoiled = tmp_path / "spoiled.csv"
        spoiled.write_text("\n".join([*lines[:-1], damaged]) + "\n")
        verdict = shoal.audit(str(spoiled), shoal.RTAnonymity(5, 2), **ROLES)
        assert not verdict.holds
        assert verdict.witnesses[0].rows
