"""NCP of a published file, by counts and row by row, against a look at every occurrence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal.loss.published
from shoal.algorithms.recoding import Deletions, Recoding
from shoal.errors import InputError
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.meanings import cell_meanings, token_meanings
from shoal.loss.published import columns_loss, items_loss
from shoal.price.ncp import leaf_occurrences, ncp
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records
from strategies import baskets_of, naive_tree, worlds


@st.composite
def releases(draw):
    """(original, recoding of it, published) by a random cut with random deletions of (row, token)."""
    hierarchy, rows, _, _ = draw(worlds(min_leaves=2))
    baskets = baskets_of(rows, hierarchy)
    nodes = draw(st.sampled_from(naive_tree(hierarchy).cuts()))
    cut = Cut.at(hierarchy, sorted(nodes))
    recoding = Recoding(cut, baskets.vocabulary, algorithm="drawn")
    names = {name: v for v, name in enumerate(hierarchy.names)}
    places = [(r, names[t]) for r, row in enumerate(recoding.apply(baskets).rows()) for t in row]
    gone = sorted(draw(st.sets(st.sampled_from(places)))) if places else []
    deletions = Deletions(np.array([r for r, _ in gone], np.int64), np.array([v for _, v in gone], np.int32))
    recoding = Recoding(cut, baskets.vocabulary, algorithm="drawn", deletions=deletions if gone else None)
    return baskets, recoding, recoding.apply(baskets)


@settings(max_examples=200)
@given(releases(), st.integers(1, 5))
def test_row_by_row_it_is_what_the_recoding_lost(release, block):
    baskets, recoding, published = release
    tree = recoding.cut.hierarchy
    exact = ncp(recoding.cut.lowest(), leaf_occurrences(tree, baskets), recoding.deletions_by_leaf(baskets))
    meanings = token_meanings(published.vocabulary, baskets.vocabulary, tree)
    size, shoal.loss.published._BLOCK = shoal.loss.published._BLOCK, block
    try:
        found = items_loss(baskets, published, meanings, same_order=True)
    finally:
        shoal.loss.published._BLOCK = size
    assert found.to_dict() == pytest.approx({**exact, "estimated": False})
    assert found.added == 0


@settings(max_examples=200)
@given(releases(), st.randoms(use_true_random=False))
def test_by_counts_it_is_the_same_in_any_order_unless_it_says_that_it_estimates(release, random):
    baskets, recoding, published = release
    tree = recoding.cut.hierarchy
    rows = list(range(len(published)))
    random.shuffle(rows)
    shuffled = published.take(np.array(rows, np.int64))
    meanings = token_meanings(published.vocabulary, baskets.vocabulary, tree)
    found = items_loss(baskets, shuffled, meanings)
    exact = ncp(recoding.cut.lowest(), leaf_occurrences(tree, baskets), recoding.deletions_by_leaf(baskets))
    assert found.added == 0
    if not found.estimated:
        assert found.ncp == pytest.approx(exact["ncp"])
    assert (found.deleted > 0) == (exact["deleted"] > 0)
    assert 0 <= found.ncp <= 1 + 1e-12


def test_deletions_from_a_wide_token_are_estimated_by_its_average():
    """(a,b) should stand in 2 rows for 3 items and stands in 1: 1.5 items are taken to be gone, 1.5 cost half the domain."""
    original = Baskets.from_rows([["a", "b"], ["b"]])
    published = Baskets.from_rows([["(a,b)"], []])
    found = items_loss(original, published, token_meanings(published.vocabulary, original.vocabulary))
    assert found.estimated
    assert (found.deleted, found.generalized) == (pytest.approx(1.5 / 3), pytest.approx(1.5 * 2 / (2 * 3)))


def test_items_published_in_several_ways_are_estimated_together():
    """a alone in two rows, a or b in two others: of 3 + 1 items, 2 are in (a,b) and cost the whole domain of two."""
    original = Baskets.from_rows([["a"], ["a"], ["a"], ["b"]])
    published = Baskets.from_rows([["a"], ["a"], ["(a,b)"], ["(a,b)"]])
    meanings = token_meanings(published.vocabulary, original.vocabulary)
    by_shares = items_loss(original, published, meanings)
    assert (by_shares.ncp, by_shares.estimated) == (pytest.approx(0.5), True)
    assert items_loss(original, published, meanings, same_order=True).ncp == pytest.approx(0.5)


def test_what_is_added_is_noticed():
    original, published = Baskets.from_rows([["a"], ["b"]]), Baskets.from_rows([["a", "b"], ["b"]])
    meanings = token_meanings(published.vocabulary, original.vocabulary)
    assert items_loss(original, published, meanings).added == 1
    assert items_loss(original, published, meanings, same_order=True).added == 1
    with pytest.raises(InputError, match="rows must correspond"):
        items_loss(original, Baskets.from_rows([["a"]]), token_meanings(("a",), original.vocabulary), same_order=True)


def test_sensitive_items_cost_nothing():
    original = Baskets.from_rows([["a", "hiv"], ["b", "hiv"]])
    published = Baskets.from_rows([["(a,b)", "hiv"], ["(a,b)", "hiv"]])
    meanings = token_meanings(published.vocabulary, original.vocabulary, sensitive={"hiv"})
    for same_order in (True, False):
        found = items_loss(original, published, meanings, sensitive={"hiv"}, same_order=same_order)
        assert found.ncp == pytest.approx(1.0)


def test_columns_by_hand():
    """Ages from 20 to 40: [20:30] costs half. Sexes without a tree: * costs all. One of five rows is gone and costs all."""
    age = Column.from_texts("age", "quasi", ["20", "25", "30", "40", "40"])
    sex = Column.from_texts("sex", "quasi", ["F", "M", "F", "F", "M"])
    shown_age = Column.from_texts("age", "quasi", ["[20:30]", "[20:30]", "40", "*"])
    shown_sex = Column.from_texts("sex", "quasi", ["*", "*", "F", "F"])
    cells = {"age": cell_meanings(shown_age, age), "sex": cell_meanings(shown_sex, sex)}
    found = columns_loss(Records((age, sex)), Records((shown_age, shown_sex)), cells)
    assert found["by_column"] == {"age": pytest.approx((0.5 + 0.5 + 0 + 1 + 1) / 5), "sex": pytest.approx(3 / 5)}
    assert found["ncp"] == pytest.approx(0.6)
    assert found["suppressed_rows"] == 1
