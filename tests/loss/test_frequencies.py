"""Item frequencies that a release suggests, against a sum over rows."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.hierarchy.meanings import token_meanings
from shoal.loss.frequencies import estimated_supports, frequency_error
from shoal.records.baskets import Baskets
from strategies import baskets_of, worlds

ITEMS = "abcde"
TOKENS = {"a": "a", "b": "b", "(a,b)": "ab", "(c,d)": "cd", "(a,b,c)": "abc", "e": "e", "(d,e)": "de"}
rows = st.lists(st.sets(st.sampled_from(ITEMS)), min_size=1, max_size=8)
tokens = st.lists(st.sets(st.sampled_from(sorted(TOKENS))), min_size=1, max_size=8)


def naive_support(item, published):
    """Every token that may stand for the item counts for one of its items."""
    return sum(Fraction(item in TOKENS[t], len(TOKENS[t])) for row in published for t in row)


@given(rows, tokens)
def test_a_token_is_shared_evenly_by_its_items(original, published):
    before, after = Baskets.from_rows(original), Baskets.from_rows(published)
    wanted = [t for t in after.vocabulary if set(TOKENS[t]) <= set(before.vocabulary)]
    after = Baskets.from_rows([[t for t in row if t in wanted] for row in published])
    kept = [[t for t in row if t in wanted] for row in published]
    meanings = token_meanings(after.vocabulary, before.vocabulary)
    exact = [naive_support(item, kept) for item in before.vocabulary]
    assert estimated_supports(after, meanings).tolist() == pytest.approx([float(n) for n in exact])
    found = frequency_error(before, after, meanings)
    errors = [
        abs(n - s) / s for n, s in zip(exact, (sum(i in r for r in original) for i in before.vocabulary), strict=True)
    ]
    assert found.errors.tolist() == pytest.approx([float(e) for e in errors])
    if errors:
        assert found.to_dict()["mean"] == pytest.approx(float(sum(errors) / len(errors)))
        assert found.to_dict()["exact"] == sum(e == 0 for e in errors) / len(errors)


@settings(max_examples=50)
@given(worlds())
def test_nothing_is_wrong_about_a_file_and_itself(world):
    hierarchy, transactions, _, _ = world
    baskets = baskets_of(transactions, hierarchy)
    found = frequency_error(baskets, baskets, token_meanings(baskets.vocabulary, baskets.vocabulary, hierarchy))
    figures = found.to_dict()
    assert (figures["mean"], figures["weighted"], figures["worst"], figures["exact"]) == (0, 0, 0, 1)


def test_by_hand():
    """10 milks and 2 bries as 11 rows of dairy: 5.5 each, 4.5 too few and 3.5 too many of 12."""
    original = Baskets.from_rows([["milk"]] * 9 + [["milk", "brie"]] + [["brie"]])
    published = Baskets.from_rows([["(brie,milk)"]] * 11)
    found = frequency_error(original, published, token_meanings(published.vocabulary, original.vocabulary))
    assert dict(zip(found.items, found.after.tolist(), strict=True)) == {"brie": 5.5, "milk": 5.5}
    assert found.to_dict()["weighted"] == pytest.approx(8 / 12)
    assert found.to_dict()["worst"] == pytest.approx(3.5 / 2)


def test_sensitive_items_are_left_out():
    original = Baskets.from_rows([["a", "hiv"], ["b"]])
    published = Baskets.from_rows([["(a,b)", "hiv"], ["(a,b)"]])
    meanings = token_meanings(published.vocabulary, original.vocabulary, sensitive={"hiv"})
    assert frequency_error(original, published, meanings, {"hiv"}).items == ("a", "b")


def test_no_items_at_all():
    empty = Baskets.from_rows([[], []])
    figures = frequency_error(empty, empty, token_meanings((), ())).to_dict()
    assert figures == {"items": 0, "mean": 0.0, "median": 0.0, "weighted": 0.0, "worst": 0.0, "exact": 1.0}
