"""t-closeness and l by frequency: the paper's salaries, a transport problem solved as such, and every way to fill in what is missing."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_audits import moved_earth
from rt_tables import column
from shoal.errors import InputError
from shoal.guarantees.table import TableAnonymity
from shoal.records.records import Records

SALARIES = [3, 4, 5, 6, 11, 8, 7, 9, 10]
DISEASES = [
    "ulcer",
    "gastritis",
    "stomach-cancer",
    "gastritis",
    "flu",
    "bronchitis",
    "bronchitis",
    "pneumonia",
    "stomach-cancer",
]
"""Table 3 of the paper, in thousands; three rows a class."""
CLOSER = [0, 1, 2, 1, 1, 1, 2, 0, 2]
"""Table 5 of the paper keeps these rows together (the tuples of 3, 5, 9; 6, 11, 8; 4, 7, 10 thousand)."""


def table(classes, **sensitive):
    told = (column(name, values, "sensitive") for name, values in sensitive.items())
    return Records((column("class", [f"c{c}" for c in classes]), *told))


def distance(records, **how):
    return TableAnonymity(2, t=1, **how).audit(records).facts["farthest_class"]


def test_the_salaries_of_the_paper():
    # Section 5.1: {3k, 4k, 5k} is 0.375 from all nine, {6k, 8k, 11k} 0.167.
    one_class = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert distance(table(one_class, salary=SALARIES)) == pytest.approx(0.375)
    second = table([1, 1, 1, 0, 0, 0, 1, 1, 1], salary=SALARIES)
    far = TableAnonymity(3, t=0).audit(second)
    assert {w.reason.split()[0] for w in far.witnesses} >= {"0.1667"}
    # Table 5 has 0.167-closeness with respect to salary; Table 3 has not.
    close = TableAnonymity(3, t=0.1667)
    assert close.audit(table([0, 2, 0, 1, 1, 1, 2, 0, 2], salary=SALARIES)).holds
    assert not close.audit(table(one_class, salary=SALARIES)).holds


def test_the_equal_distance_is_half_of_all_differences():
    records = table([0, 0, 0, 1, 1, 1, 2, 2, 2], ill=DISEASES)
    # {ulcer, gastritis, cancer}: 1/3 each here, 1/9, 2/9 and 2/9 in the table.
    assert distance(records) == pytest.approx(1 - (1 / 9 + 2 / 9 + 2 / 9))
    assert distance(records, distance={"ill": "equal"}) == distance(records)


def test_numbers_are_ordered_unless_asked_otherwise():
    numbers = table([0, 0, 1, 1], n=[1, 2, 3, 4])
    assert distance(numbers) == distance(numbers, distance="ordered") == pytest.approx((0.25 + 0.5 + 0.25) / 3)
    assert distance(numbers, distance="equal") == pytest.approx(0.5)
    names = table([0, 0, 1, 1], n=["a", "b", "c", "d"])
    assert distance(names) == pytest.approx(0.5)
    assert distance(names, distance={"n": "ordered"}) == distance(numbers)


cells = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=12)


@settings(max_examples=40)
@given(cells, st.sampled_from(["equal", "ordered"]), st.sampled_from([0.1, 0.25, 0.5]))
def test_classes_are_as_far_as_it_takes_work_to_move_them(rows, way, t):
    records = table([c for c, _ in rows], n=[v for _, v in rows])
    values = sorted({v for _, v in rows})
    far = {}
    for c in {c for c, _ in rows}:
        own = Counter(v for held, v in rows if held == c)
        far[c] = moved_earth(own, Counter(v for _, v in rows), values, way)
    verdict = TableAnonymity(2, t=t, distance=way).audit(records)
    assert verdict.facts["farthest_class"] == pytest.approx(max(far.values()), abs=1e-6)
    sizes = Counter(c for c, _ in rows)
    assert verdict.violations == sum(sizes[c] < 2 or far[c] > t + 1e-7 for c in far)


gaps = st.lists(st.tuples(st.integers(0, 1), st.sampled_from([None, 1, 2, 3])), min_size=2, max_size=6)


@settings(max_examples=40)
@given(gaps, st.sampled_from(["equal", "ordered"]))
def test_no_way_to_fill_in_what_is_unknown_is_farther(rows, way):
    values = sorted({v for _, v in rows if v is not None})
    records = Records(
        (column("class", [f"c{c}" for c, _ in rows]), column("n", [v for _, v in rows], "sensitive", numeric=True))
    )
    stated = distance(records, distance=way)
    empty = [i for i, (_, v) in enumerate(rows) if v is None]
    for filling in product(values, repeat=len(empty)):
        filled = [v for _, v in rows]
        for i, value in zip(empty, filling, strict=True):
            filled[i] = value
        for c in {c for c, _ in rows}:
            own = Counter(v for (held, _), v in zip(rows, filled, strict=True) if held == c)
            assert moved_earth(own, Counter(filled), values, way) <= stated + 1e-6
    if not empty:
        assert distance(records, distance=way, missing="value") == stated


@settings(max_examples=60)
@given(gaps, st.integers(2, 4))
def test_frequency_holds_if_it_does_however_missing_values_are_filled_in(rows, l):  # noqa: E741
    known = sorted({v for _, v in rows if v is not None}) or [1]
    records = Records(
        (column("class", [f"c{c}" for c, _ in rows]), column("n", [v for _, v in rows], "sensitive", numeric=True))
    )
    bad = 0
    for c in {c for c, _ in rows}:
        own = [v for held, v in rows if held == c]
        fillings = product(*([v] if v is not None else known for v in own))
        bad += len(own) < 2 or any(max(Counter(filled).values()) * l > len(own) for filled in fillings)
    assert TableAnonymity(2, l, l_kind="frequency").audit(records).violations == bad


def test_a_missing_value_that_is_a_value_is_far_from_every_number():
    records = table([0, 0, 1, 1], n=[None, 1, 1, 2])
    # Shares of missing: 1/2 here, 1/4 in the table; what is known: 1 and 1 against 1, 1, 2.
    assert distance(records, missing="value") == pytest.approx(max(0.25 + 0.5 * (1 / 3), 0.25 + 0.75 * (1 / 2 - 1 / 3)))
    assert distance(records) > distance(records, missing="value")


def test_values_that_occur_in_no_row_change_nothing():
    records = table([0, 0, 1, 1, 1], n=[1, 2, 1, 2, 9])
    left = records.take(np.arange(4))
    assert distance(left) == 0
    verdict = TableAnonymity(2, 2, l_kind="frequency").audit(left)
    assert verdict.holds
    assert verdict.facts["likeliest_sensitive"] == 0.5


def test_the_promise_in_words():
    promise = TableAnonymity(5, 3, l_kind="frequency", t=0.2, distance={"pay": "ordered", "ill": "equal"})
    assert str(promise) == "5-anonymity with 3-diversity by frequency and 0.2-closeness"
    said = " ".join(promise.promise())
    assert "more than 1 of 3 records" in said
    assert "at most 0.2 apart" in said
    assert "ranks in 'pay'" in said
    assert len(promise.limits()) == 6
    assert promise.to_dict()["distance"] == {"pay": "ordered", "ill": "equal"}
    assert str(TableAnonymity(5, t=0.2)) == "5-anonymity with 0.2-closeness"


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"t": 1.5}, "t is 1.5; give a share from 0 to 1"),
        ({"t": 0.1, "distance": "far"}, "distance is far, which is not known; choose equal or ordered"),
        ({"t": 0.1, "distance": {"ill": "far"}}, "distance is ill=far"),
        ({"distance": "equal"}, "a distance has no use without t"),
        ({"l": 2, "l_kind": "odd"}, "choose distinct or frequency"),
        ({"l_kind": "frequency"}, "a kind of l has no use without l"),
        ({"missing": "value"}, "no use without l or t"),
    ],
)
def test_what_has_no_meaning_is_refused(facts, said):
    with pytest.raises(InputError, match=said):
        TableAnonymity(2, **facts)


def test_columns_that_are_not_there_are_refused():
    with pytest.raises(InputError, match=r"t = 0\.1, but no column is sensitive"):
        TableAnonymity(2, t=0.1).audit(table([0, 0]))
    with pytest.raises(InputError, match="'pay' is not a sensitive column"):
        TableAnonymity(2, t=0.1, distance={"pay": "equal"}).audit(table([0, 0], ill=["a", "b"]))
