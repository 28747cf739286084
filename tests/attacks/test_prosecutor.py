"""Prosecutor risk, against comparing every record with every other."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_tables import FIGURE_1A, records, tables
from rt_tables import as_records as table_of
from shoal.attacks.prosecutor import crowds, prosecutor, risks
from shoal.errors import InputError
from shoal.guarantees.km import exposures
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records

rows_of_items = st.lists(st.sets(st.sampled_from("abcdef")), min_size=1, max_size=14)


def naive_crowd(row, others):
    return sum(other == row for other in others)


def naive_crowd_of_m(row, others, m):
    """The fewest records that hold what somebody knows of this one: its values, and up to m of its items."""
    values, items = row
    known = [set(c) for size in range(m + 1) for c in combinations(sorted(items), size)]
    return min(sum(values == v and some <= i for v, i in others) for some in known)


@given(rows_of_items)
def test_the_crowd_is_all_equal_rows(rows):
    found = risks(Baskets.from_rows(rows))
    assert found.tolist() == pytest.approx([1 / naive_crowd(row, rows) for row in rows])


@settings(max_examples=200)
@given(rows_of_items, st.integers(0, 6))
def test_whoever_knows_m_items_takes_the_rarest(rows, m):
    everything = [((), row) for row in rows]
    found = risks(Baskets.from_rows(rows), m)
    assert found.tolist() == pytest.approx([1 / naive_crowd_of_m(row, everything, m) for row in everything])


@settings(max_examples=150)
@given(tables(), st.integers(0, 4), st.booleans())
def test_in_tables_the_columns_are_known_and_sensitive_items_are_not(rows, m, hidden):
    sensitive = "AB" if hidden else ""
    table, _ = table_of(rows, sensitive=[name for name in sensitive if any(name in items for _, items in rows)])
    seen = [(values, set(items) - set(sensitive)) for values, items in rows]
    assert risks(table).tolist() == pytest.approx([1 / naive_crowd(row, seen) for row in seen])
    assert risks(table, m).tolist() == pytest.approx([1 / naive_crowd_of_m(row, seen, m) for row in seen])


@settings(max_examples=100)
@given(rows_of_items, st.integers(1, 4), st.integers(1, 5))
def test_it_agrees_with_the_curve_of_uniqueness(rows, m, k):
    baskets = Baskets.from_rows(rows)
    curve = exposures(baskets, k, m)
    found = prosecutor(baskets, k, m)
    if curve and k <= len(rows):
        assert found.over == curve[-1].exposed
        if k > 1:
            assert found.unique == curve[-1].unique


def test_by_hand():
    """Three equal rows, two equal rows, and one alone."""
    baskets = Baskets.from_rows([["a"]] * 3 + [["a", "b"]] * 2 + [["a", "b", "c"]])
    found = prosecutor(baskets, 3)
    assert (found.rows, found.over, found.unique, found.highest) == (6, 3, 1, 1.0)
    assert found.average == pytest.approx((3 / 3 + 2 / 2 + 1) / 6)
    assert found.share_over == 0.5
    # Who knows one item: c is in one row, b in three, a in all.
    assert sorted(risks(baskets, 1).tolist()) == pytest.approx([1 / 6] * 3 + [1 / 3] * 2 + [1])


def test_the_papers_table_hides_nobody():
    found = prosecutor(records(FIGURE_1A), 2)
    assert (found.unique, found.highest, found.average) == (6, 1.0, 1.0)


def test_columns_without_items_and_items_without_columns():
    age = Column.from_texts("age", "quasi", ["1", "1", "2"])
    assert risks(Records((age,))).tolist() == pytest.approx([0.5, 0.5, 1.0])
    assert risks(Records((age,)), 2).tolist() == pytest.approx([0.5, 0.5, 1.0])
    of_row, sizes = crowds(Records((age,), Baskets.from_rows([["a"], ["b"], ["a"]])), items=False)
    assert (of_row.tolist(), sizes.tolist()) == ([0, 0, 1], [2, 1])


def test_no_rows_and_empty_rows():
    assert prosecutor(Baskets.from_rows([]), 5).to_dict()["average"] == 0.0
    assert prosecutor(Baskets.from_rows([]), 5, 2).to_dict()["highest"] == 0.0
    assert prosecutor(Baskets.from_rows([[], []]), 2, 2).to_dict()["highest"] == 0.5


def test_long_rows_and_many_threads_give_the_same():
    rng = np.random.default_rng(1)
    rows = [set(map(str, rng.integers(0, 300, rng.integers(0, 280)).tolist())) for _ in range(60)]
    baskets = Baskets.from_rows(rows)
    found = [risks(baskets, 2, threads=threads).tolist() for threads in (1, 4)]
    assert found[0] == found[1]
    everything = [((), row) for row in rows[:3]]
    support = {
        pair: sum(set(pair) <= row for row in rows) for _, row in everything for pair in combinations(sorted(row), 2)
    }
    for (_, row), risk in zip(everything, found[0], strict=False):
        if len(row) > 1:
            assert risk == pytest.approx(1 / min(support[pair] for pair in combinations(sorted(row), 2)))


@pytest.mark.parametrize(("k", "m", "complaint"), [(0, None, "k must be"), (2, -1, "m must be")])
def test_refusals(k, m, complaint):
    with pytest.raises(InputError, match=complaint):
        prosecutor(Baskets.from_rows([["a"]]), k, m)
