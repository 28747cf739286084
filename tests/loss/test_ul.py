"""UL and the NCP of items, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_rt as naive
from rt_tables import FIGURE_1B
from shoal.kernels.tables.item_groups import utility_loss
from shoal.price.ul import items_ncp, record_costs, ul
from shoal.records.baskets import Baskets

SIZES = st.lists(st.integers(1, 2000), min_size=1, max_size=6)


def size_of(token):
    return token.count(",") + 1


def test_a_record_of_figure_1b_by_hand():
    """E F (A,B,C,D) G: (1 + 1 + 15 + 1) / (2^7 - 1)."""
    rows = [items for _, items in FIGURE_1B]
    published = Baskets.from_rows(rows)
    size = np.array([size_of(t) for t in published.vocabulary], np.int64)
    assert record_costs(published, size)[0] == pytest.approx(18 / 127)
    assert ul(published, size)["ul"] == pytest.approx(float(naive.ul(rows, size_of)))


@settings(max_examples=200)
@given(SIZES, st.data())
def test_any_size_neither_overflows_nor_rounds_to_nonsense(sizes, data):
    tokens = [f"t{i}" for i in range(len(sizes))]
    weights = [data.draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])) for _ in sizes]
    rows = data.draw(st.lists(st.sets(st.sampled_from(tokens)).map(sorted), min_size=1, max_size=6))
    published = Baskets.from_rows(rows)
    at = [tokens.index(t) for t in published.vocabulary]
    size, weight = np.array(sizes, np.int64)[at], np.array(weights)[at]
    exact = naive.ul(rows, lambda t: sizes[tokens.index(t)], lambda t: weights[tokens.index(t)])
    assert ul(published, size, weight)["ul"] == pytest.approx(float(exact), rel=1e-12, abs=1e-300)
    assert 0 <= exact <= len(tokens)
    n = len(published.vocabulary)
    kernel = utility_loss(
        published.offsets,
        published.items,
        np.arange(len(published)),
        np.arange(n, dtype=np.int32),
        np.arange(n, dtype=np.int32),
        size.astype(np.float64),
        weight,
        n,
    )
    assert kernel / len(rows) == pytest.approx(float(exact), rel=1e-12, abs=1e-300)


def test_empty_records_and_no_records_cost_nothing():
    assert ul(Baskets.from_rows([[], []]), np.zeros(0, np.int64)) == {"ul": 0.0}
    assert ul(Baskets.from_rows([]), np.zeros(0, np.int64)) == {"ul": 0.0}


def test_a_single_published_item_costs_its_weight_whatever_it_stands_for():
    published = Baskets.from_rows([["x"]])
    for size in (1, 2, 900):
        assert ul(published, np.array([size]))["ul"] == pytest.approx(1.0)


def test_items_ncp_is_a_mean_over_occurrences():
    assert items_ncp(np.array([1, 2, 4, 1]), 8)["items_ncp"] == float(Fraction(6, 32))
    assert items_ncp(np.zeros(0, np.int64), 8)["items_ncp"] == 0.0
