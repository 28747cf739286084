"""Columns of real tables, from raw values to a release that keeps its promise, reads back, and is told honestly."""

from __future__ import annotations

import datetime
import random

import pytest

import shoal
from shoal.hierarchy.meanings import cell_meanings
from shoal.hierarchy.spec import column_hierarchy
from shoal.records.source import load_records

TREES = {
    "age": "round:5,top:90",
    "admitted": "dates",
    "band": "bands",
    "zip": "prefix:3,2",
    "stay": "durations:1d,7d",
}


@pytest.fixture(scope="module")
def patients():
    """Rows about 300 people, with every kind of column, in some of which values are missing."""
    draw = random.Random(7)
    day = datetime.date(2001, 1, 1)
    return [
        {
            "age": str(max(0, min(99, int(draw.gauss(55, 20))))) if draw.random() > 0.05 else "",
            "admitted": f"{day + datetime.timedelta(draw.randrange(900)):%d.%m.%Y}" if draw.random() > 0.05 else "",
            "band": draw.choice(["<18", "18-39", "40-64", "65+"]),
            "zip": draw.choice(["80331", "80335", "80999", "81000", "21000"]),
            "stay": f"{draw.randrange(1, 30)} days",
            "ward": draw.choice("ABC"),
        }
        for _ in range(300)
    ]


@pytest.fixture(scope="module")
def table(tmp_path_factory, patients):
    path = tmp_path_factory.mktemp("kinds") / "patients.csv"
    lines = [",".join(patients[0]), *(",".join(row.values()) for row in patients)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("algorithm", ["cluster", "mondrian"])
@pytest.mark.parametrize("age", ["round:5,top:90", "bands:10", "top:90", "bands:0,18,65"])
def test_every_kind_of_column_is_published_so_that_its_values_are_covered(table, patients, algorithm, age):
    trees = {**TREES, "age": age}
    release = shoal.anonymize(
        table,
        shoal.TableAnonymity(k=5),
        quasi=list(TREES),
        sensitive="ward",
        hierarchy=trees,
        algorithm=algorithm,
        keep_order=True,
    )
    assert release.audit.holds
    original = load_records(str(table), quasi=list(TREES), sensitive="ward").records
    for name, spec in trees.items():
        column, published = original[name], release.published[name]
        meanings = cell_meanings(published, column, column_hierarchy(column, spec))
        for was, code in zip(column.texts(), published.codes.tolist(), strict=True):
            assert meanings.fitting(was)[code], (name, was, published.values[code])
        if name == "age" and age != "top:90":
            assert not [text for text in published.values if text.isdigit() and age.startswith("bands")]


def test_a_rounded_number_does_not_count_as_published_as_it_is(table):
    how = {"quasi": "age", "drop": "admitted,band,zip,stay", "sensitive": "ward"}
    release = shoal.anonymize(table, shoal.TableAnonymity(k=2), hierarchy={"age": "round:1"}, **how)
    missing = sum(not text for text in release.published["age"].texts())
    assert release.kept["cells"] == pytest.approx(missing / 300)


@pytest.mark.parametrize("spec", [None, "bands:10"])
def test_missing_values_are_a_value_or_unknown_or_take_their_row_with_them(table, patients, spec):
    how = {"quasi": "age", "drop": "admitted,band,zip,stay", "sensitive": "ward", "keep_order": True}
    how |= {"hierarchy": {"age": spec}} if spec else {}
    lacking = {i for i, row in enumerate(patients) if not row["age"]}
    published = {}
    for reading in ("value", "unknown", "drop"):
        release = shoal.anonymize(table, shoal.TableAnonymity(k=2), missing_quasi={"age": reading}, **how)
        assert release.audit.holds
        published[reading] = release.published["age"].texts()
    assert {published["value"][i] for i in lacking} <= {"", "*"}
    assert {published["unknown"][i] for i in lacking} == {"*"}
    assert len(published["drop"]) == len(patients) - len(lacking)
    assert release.proposal.warnings[0] == "Rows without a value of column 'age', if there were any, were left out."
    assert f"{len(lacking)} of 300 rows lack a value of age and were left out" in release.notes


@pytest.mark.parametrize(
    ("missing", "why"), [({"ward": "drop"}, "there is no such quasi column"), ({"age": "zero"}, "missing_quasi")]
)
def test_a_reading_of_missing_values_that_makes_no_sense_is_refused(table, missing, why):
    how = {"quasi": "age", "drop": "admitted,band,zip,stay", "sensitive": "ward"}
    with pytest.raises(shoal.InputError, match=why):
        shoal.anonymize(table, shoal.TableAnonymity(k=2), missing_quasi=missing, **how)
