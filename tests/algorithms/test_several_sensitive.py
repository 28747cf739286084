"""Several sensitive columns in buckets: no value twice in any, each audited by itself, refused where nothing exists or is found."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_buckets
import shoal
from shoal.algorithms.buckets.anatomy import anatomy
from shoal.algorithms.buckets.negative_rules import negative_rules
from shoal.algorithms.recoding import Options
from shoal.cli import main
from shoal.errors import InputError, Unreachable
from shoal.guarantees.diversity import BUCKET, MatchingDiversity
from shoal.records.records import Column, Records

ROLES = {"quasi": "age", "sensitive": "disease,drug"}


def records_of(rows, bucket=None):
    """Rows are tuples of sensitive values, None for a missing one."""
    columns = [Column.from_texts("a", "quasi", [str(i) for i in range(len(rows))])]
    for name, values in zip("stu", zip(*rows, strict=True), strict=False):
        columns.append(Column.from_texts(name, "sensitive", [value or "" for value in values]))
    if bucket is not None:
        columns.append(Column.from_texts(BUCKET, "keep", list(map(str, bucket))))
    return Records(tuple(columns))


def buckets_of_rows(rows, of_row):
    return [[rows[i] for i in np.flatnonzero(of_row == b)] for b in range(int(of_row.max()) + 1)]


def tables(max_rows, values="pqrs"):
    value = st.sampled_from([*values, None])
    return st.integers(2, 3).flatmap(lambda width: st.lists(st.tuples(*[value] * width), min_size=1, max_size=max_rows))


@given(tables(7, "pqr"), st.integers(2, 3))
@settings(max_examples=60)
def test_a_refusal_that_says_cannot_is_right_and_what_is_made_is_a_partition(rows, l):  # noqa: E741
    try:
        made, refusal = anatomy(records_of(rows), MatchingDiversity(l), None, Options()), ""
    except Unreachable as error:
        made, refusal = None, str(error)
    if made is None:
        assert "found no buckets" in refusal or naive_buckets.parted(rows, l) is None
        return
    assert all(naive_buckets.keeps_apart(bucket, l) for bucket in buckets_of_rows(rows, made.buckets.of_row))


@given(st.randoms(use_true_random=False), st.integers(2, 4), st.integers(2, 3))
@settings(max_examples=40)
def test_buckets_are_found_where_values_are_not_scarce(random, l, width):  # noqa: E741
    rows = [tuple(str((i + random.randrange(2)) % (4 * l)) for _ in range(width)) for i in range(12 * l)]
    made = anatomy(records_of(rows), MatchingDiversity(l), None, Options(seed=random.randrange(99)))
    assert all(naive_buckets.keeps_apart(bucket, l) for bucket in buckets_of_rows(rows, made.buckets.of_row))
    assert [each.sensitive for each in (made.buckets, *made.others)] == list("stu")[:width]


@given(tables(9), st.integers(2, 3), st.data())
@settings(max_examples=60)
def test_the_audit_counts_each_column_by_itself(rows, l, data):  # noqa: E741
    bucket = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    missing = data.draw(st.sampled_from(["unknown", "value", {"t": "value"}]))
    audit = MatchingDiversity(l, missing=missing).audit(records_of(rows, bucket), witnesses=100)
    fewest = []
    for i in range(len(rows)):
        held = [rows[j] for j in range(len(rows)) if bucket[j] == bucket[i]]
        counts = []
        for name, values in zip("stu", zip(*held, strict=True), strict=False):
            is_value = missing == "value" or (isinstance(missing, dict) and name in missing)
            counts.append(len({value for value in values if value is not None or is_value}))
        fewest.append(min(counts))
    assert audit.checked == len(rows)
    assert audit.violations == sum(n < l for n in fewest)
    assert audit.holds == all(n >= l for n in fewest)
    assert audit.facts["fewest_values"] == min(fewest)
    assert audit.facts["certain_rows"] == sum(n == 1 for n in fewest)
    assert {row for witness in audit.witnesses for row in witness.rows} == {
        i + 1 for i, n in enumerate(fewest) if n < l
    }


def test_the_witness_names_the_column_that_fails():
    rows = [("p", "x"), ("q", "x"), ("r", "y"), ("s", "z")]
    audit = MatchingDiversity(2).audit(records_of(rows, [1, 1, 2, 2]))
    assert [(w.rows, w.reason) for w in audit.witnesses] == [((1, 2), "t, bucket 1: 1 of 2 values are possible")]


def test_columns_that_go_together_are_parted_in_both():
    """Each drug belongs to one disease: whoever parts the diseases parts the drugs."""
    rows = [(f"d{i % 6}", f"g{i % 6 // 2}") for i in range(60)]
    made = anatomy(records_of(rows), MatchingDiversity(3), None, Options())
    assert set(made.buckets.sizes.tolist()) == {3}
    assert all(naive_buckets.keeps_apart(bucket, 3) for bucket in buckets_of_rows(rows, made.buckets.of_row))


def test_refusals_say_which_column_and_whether_that_is_proven():
    two = [("p", "x"), ("q", "x"), ("r", "x"), ("s", "y")]
    with pytest.raises(
        Unreachable, match=r"cannot be reached by anatomy: 3 of 4 rows \(75.00%\) have the same t, .* for this column"
    ):
        anatomy(records_of(two), MatchingDiversity(2), None, Options())
    with pytest.raises(Unreachable, match=r"only 2 different values of t; with anatomy .* for this column"):
        anatomy(records_of([("p", "x"), ("q", "y"), ("r", "x"), ("s", "y")]), MatchingDiversity(3), None, Options())
    # The first row shares a value with every other.
    bound = [("p", "x", "m"), ("p", "y", "n"), ("q", "x", "o"), ("r", "z", "m")]
    assert naive_buckets.parted(bound, 2) is None
    with pytest.raises(Unreachable, match="in each of s, t, u, which does not mean that there are none"):
        anatomy(records_of(bound), MatchingDiversity(2), None, Options())
    with pytest.raises(Unreachable, match="only 0 rows know all their sensitive values"):
        anatomy(records_of([("p", None), ("q", None), (None, "x"), (None, "y")]), MatchingDiversity(2), None, Options())


def test_rules_are_about_one_column():
    records = records_of([("p", "x"), ("q", "y")], [1, 1])
    one = Records(tuple(column for column in records.columns if column.name != "t"))
    rules = negative_rules(one, {}, min_exp=0.9)
    with pytest.raises(InputError, match="rules are about one sensitive column, and 2 are named"):
        replace(MatchingDiversity(2), rules=rules).audit(records)


@pytest.fixture
def patients(tmp_path):
    """300 made-up patients whose drugs follow from their diseases half of the time."""
    random = np.random.default_rng(3)
    path = tmp_path / "patients.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "disease", "drug"])
        for _ in range(300):
            disease = int(random.integers(8))
            drug = disease if random.random() < 0.5 else int(random.integers(8))
            writer.writerow([20 + int(random.integers(50)), f"d{disease}", f"g{drug}"])
    return str(path)


def test_each_column_is_dealt_on_its_own_and_the_file_verifies(patients, tmp_path, capsys):
    out = str(tmp_path / "public.csv")
    release = shoal.anonymize(patients, MatchingDiversity(3), algorithm="anatomy", **ROLES)
    release.write(out)
    with open(patients) as raw, open(out) as public:
        before, after = list(csv.DictReader(raw)), list(csv.DictReader(public))
    for name in ("age", "disease", "drug"):
        assert sorted(row[name] for row in before) == sorted(row[name] for row in after)
    for number in {row["bucket"] for row in after}:
        held = [(row["disease"], row["drug"]) for row in after if row["bucket"] == number]
        assert naive_buckets.keeps_apart(held, 3)
    pairs = [{(row["disease"][1:] == row["drug"][1:]) for row in rows} for rows in (before, after)]
    assert pairs == [{True, False}] * 2
    linked = [np.mean([row["disease"][1:] == row["drug"][1:] for row in rows]) for rows in (before, after)]
    assert linked[0] > 0.5 > linked[1]
    assert release.loss["ambiguity"] == pytest.approx(2 / 3)
    assert 0 < release.loss["info"] < 1
    assert main(["verify", f"{out}.certificate.json", out]) == 0
    certificate = json.loads((tmp_path / "public.csv.certificate.json").read_text())
    assert certificate["output"]["columns"]["drug"] == "sensitive"
    assert "each of these by itself" in certificate["warnings"][0]
    assert "d1" not in json.dumps({name: certificate[name] for name in ("audit", "loss", "risk", "warnings")})
    capsys.readouterr()
    assert (
        main(["audit", out, "--model", "diversity", "--l", "3", "--quasi", "age", "--sensitive", "disease,drug"]) == 0
    )
    assert "holds for all 300 rows" in capsys.readouterr().out


@pytest.mark.parametrize("algorithm", [None, "injector", "balanced"])
def test_algorithms_with_rules_send_the_user_to_anatomy(patients, algorithm):
    with pytest.raises(InputError, match="takes one sensitive column, for its rules are about one; choose anatomy"):
        shoal.anonymize(patients, MatchingDiversity(3), algorithm=algorithm, **ROLES)


def test_evaluate_measures_all_columns_or_one_of_several(patients, tmp_path):
    out = str(tmp_path / "public.csv")
    shoal.anonymize(patients, MatchingDiversity(3), algorithm="anatomy", **ROLES).write(out)
    assert shoal.evaluate(patients, out, **ROLES)
    assert shoal.evaluate(patients, out, quasi="age", sensitive="drug", drop="disease")
