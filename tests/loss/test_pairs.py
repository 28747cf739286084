"""Frequent pairs and rules before and after, against sums over all pairs of all rows."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.hierarchy.meanings import token_meanings
from shoal.loss.pairs import LEAST, pair_survival, rule_errors
from shoal.records.baskets import Baskets

ITEMS = "abcdef"
TOKENS = {i: i for i in ITEMS} | {"(a,b)": "ab", "(c,d)": "cd", "(a,b,c)": "abc", "(d,e)": "de", "(e,f)": "ef"}
rows = st.lists(st.sets(st.sampled_from(ITEMS)), min_size=1, max_size=14)
published_rows = st.lists(st.sets(st.sampled_from(sorted(TOKENS))), min_size=1, max_size=14)


def supports(original):
    """Of all pairs of items, in the order of their names."""
    named = sorted(set().union(*original))
    return {pair: sum(set(pair) <= row for row in original) for pair in combinations(named, 2)}


def estimate(one, other, published):
    """Over all two different tokens of a row, the chance that the one is this item and the other that one."""
    return sum(
        Fraction(one in TOKENS[t] and other in TOKENS[u], len(TOKENS[t]) * len(TOKENS[u]))
        for row in published
        for t, u in permutations(sorted(row), 2)
    )


def item_estimate(item, published):
    return sum(Fraction(item in TOKENS[t], len(TOKENS[t])) for row in published for t in row)


def naive_top(original, n):
    """The n most frequent pairs of two rows or more, with those that tie with the last."""
    counts = {pair: count for pair, count in supports(original).items() if count >= LEAST}
    ordered = sorted(counts.values(), reverse=True)
    least = ordered[min(n, len(ordered)) - 1] if ordered and n else None
    return {pair: count for pair, count in counts.items() if least is not None and count >= least}


def naive_survivors(top, original, published):
    named = sorted(set().union(*original))
    estimates = {pair: estimate(*pair, published) for pair in combinations(named, 2)}
    ordered = sorted((e for e in estimates.values() if e), reverse=True)
    bar = ordered[len(top) - 1] if len(ordered) >= len(top) else 0
    return {pair for pair in top if estimates[pair] and estimates[pair] >= bar}


def naive_rules(estimates, support, least, confidence):
    found = set()
    for (one, other), both in estimates.items():
        for a, b in ((one, other), (other, one)):
            if both >= least and support[a] and both / Fraction(support[a]) >= confidence:
                found.add((a, b))
    return found


def possible(original, published):
    """The tokens whose items all occur in the original."""
    known = set().union(*original)
    return [{t for t in row if set(TOKENS[t]) <= known} for row in published]


@settings(max_examples=300)
@given(rows, published_rows, st.integers(0, 12))
def test_top_pairs_their_estimates_and_survivors(original, published, n):
    published = possible(original, published)
    before, after = Baskets.from_rows(original), Baskets.from_rows(published)
    meanings = token_meanings(after.vocabulary, before.vocabulary)
    found = pair_survival(before, after, meanings, n)
    names = [(found.names[a], found.names[b]) for a, b in zip(found.one.tolist(), found.other.tolist(), strict=True)]
    top = naive_top(original, n)
    assert dict(zip(names, found.before.tolist(), strict=True)) == top
    assert found.before.tolist() == sorted(found.before.tolist(), reverse=True)
    assert found.after.tolist() == pytest.approx([float(estimate(*pair, published)) for pair in names])
    survivors = {pair for pair, lives in zip(names, found.survives.tolist(), strict=True) if lives}
    if names:
        assert survivors == naive_survivors(top, original, published)
        assert found.to_dict()["survival"] == len(survivors) / len(names)


@settings(max_examples=300)
@given(rows, published_rows, st.integers(1, 12), st.sampled_from([0.2, 0.5, 0.75, 1.0]))
def test_rules_that_are_missed_and_those_that_are_none(original, published, n, confidence):
    published = possible(original, published)
    before, after = Baskets.from_rows(original), Baskets.from_rows(published)
    meanings = token_meanings(after.vocabulary, before.vocabulary)
    pairs = pair_survival(before, after, meanings, n)
    found = rule_errors(pairs, before, after, meanings, confidence)
    top = naive_top(original, n)
    if not top:
        assert found.rules == found.shown == 0
        return
    least, exact = min(top.values()), Fraction(str(confidence))
    named = sorted(set().union(*original))
    support = {i: sum(i in row for row in original) for i in named}
    there = {i: item_estimate(i, published) for i in named}
    estimates = {pair: estimate(*pair, published) for pair in combinations(named, 2)}
    true = naive_rules(supports(original), support, least, exact)
    shown = naive_rules(estimates, there, least, exact)
    assert (found.rules, found.shown) == (len(true), len(shown))
    assert (found.missed, found.extra) == (len(true - shown), len(shown - true))
    errors = []
    for a, b in true:
        was = Fraction(supports(original)[min(a, b), max(a, b)], support[a])
        now = estimates[min(a, b), max(a, b)] / there[a] if there[a] else 0
        errors.append(abs(now - was) / was)
    assert found.confidence_error == pytest.approx(float(sum(errors) / len(errors)) if errors else 0.0)


@given(rows, st.integers(0, 12))
def test_a_file_and_itself_have_the_same_pairs_and_rules(original, n):
    baskets = Baskets.from_rows(original)
    meanings = token_meanings(baskets.vocabulary, baskets.vocabulary)
    pairs = pair_survival(baskets, baskets, meanings, n)
    figures = pairs.to_dict()
    assert (figures["survival"], figures["lost"], figures["support_error"]) == (1, 0, 0)
    errors = rule_errors(pairs, baskets, baskets, meanings).to_dict()
    assert (errors["missed"], errors["extra"], errors["confidence_error"]) == (0, 0, 0)


def test_by_hand():
    """Four rows of milk and bread, two of milk and tea. Tea becomes (jam,tea): milk and tea now count 1, as milk and jam do."""
    original = Baskets.from_rows([["milk", "bread"]] * 4 + [["milk", "tea"]] * 2 + [["jam"]])
    published = Baskets.from_rows([["milk", "bread"]] * 4 + [["milk", "(jam,tea)"]] * 2 + [["(jam,tea)"]])
    meanings = token_meanings(published.vocabulary, original.vocabulary)
    pairs = pair_survival(original, published, meanings, 2)
    assert pairs.before.tolist() == [4, 2]
    assert pairs.after.tolist() == [4.0, 1.0]
    assert pairs.bar == 1.0
    assert pairs.to_dict() == {"top": 2, "least_support": 2, "survival": 1.0, "lost": 0, "support_error": 0.25}
    errors = rule_errors(pairs, original, published, meanings, 0.5)
    # bread => milk, milk => bread and tea => milk; the last has too few rows now.
    assert (errors.rules, errors.shown, errors.missed, errors.extra) == (3, 2, 1, 0)
    assert errors.confidence_error == pytest.approx((1 - 2 / 3) / 3)


def test_a_pair_inside_one_token_is_lost():
    original = Baskets.from_rows([["a", "b"]] * 3)
    published = Baskets.from_rows([["(a,b)"]] * 3)
    pairs = pair_survival(original, published, token_meanings(published.vocabulary, original.vocabulary))
    assert (pairs.to_dict()["survival"], pairs.to_dict()["lost"]) == (0.0, 1)


def test_sensitive_items_make_no_pairs():
    baskets = Baskets.from_rows([["a", "hiv"]] * 3)
    meanings = token_meanings(baskets.vocabulary, baskets.vocabulary, sensitive={"hiv"})
    assert len(pair_survival(baskets, baskets, meanings, sensitive={"hiv"})) == 0


def test_many_items_go_in_blocks():
    """More items than a block holds: the bound must not end the search too early."""
    rng = np.random.default_rng(0)
    original = [set(map(str, rng.zipf(1.3, 6).clip(max=400).tolist())) for _ in range(800)]
    baskets = Baskets.from_rows(original)
    meanings = token_meanings(baskets.vocabulary, baskets.vocabulary)
    pairs = pair_survival(baskets, baskets, meanings, 300)
    top = naive_top(original, 300)
    assert sorted(pairs.before.tolist()) == sorted(top.values())
    assert pairs.to_dict()["survival"] == 1.0
