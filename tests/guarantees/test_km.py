"""The audit of k^m-anonymity against a brute-force auditor, and against outputs damaged on purpose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from shoal.errors import InputError
from shoal.guarantees import km
from shoal.guarantees.km import KmAnonymity, exposures
from shoal.records.baskets import Baskets
from strategies import transactions

FIGURE_2A = [{"a1", "b1", "b2"}, {"a2", "b1"}, {"a2", "b1", "b2"}, {"a1", "a2", "b2"}]
FIGURE_2B = [{"A", "b1", "b2"}, {"A", "b1"}, {"A", "b1", "b2"}, {"A", "b2"}]

some_rows = st.integers(1, 9).flatmap(lambda n: transactions(n, max_rows=20))


def named(rows):
    return Baskets.from_rows(map(str, row) for row in rows)


def by_size(found, m):
    counts = [0] * (m + 1)
    for itemset in found:
        counts[len(itemset)] += 1
    return counts


def test_figure_2a_breaks_the_promise_and_figure_2b_keeps_it():
    assert not KmAnonymity(2, 2).audit(Baskets.from_rows(FIGURE_2A)).holds
    assert KmAnonymity(2, 2).audit(Baskets.from_rows(FIGURE_2B)).holds


def test_audit_names_the_rarest_itemset_with_its_rows():
    found = KmAnonymity(2, 2).audit(Baskets.from_rows(FIGURE_2A)).witnesses
    assert {(w.items, w.support, w.rows) for w in found} == {(("a1", "b1"), 1, (1,)), (("a1", "a2"), 1, (4,))}


@settings(max_examples=400, deadline=None)
@given(some_rows, st.integers(1, 6), st.integers(1, 10))
def test_audit_counts_what_brute_force_counts(rows, k, m):
    audit = KmAnonymity(k, m).audit(named(rows), witnesses=100_000)
    supports = naive.itemset_supports(rows, m)
    rare = naive.violations(rows, k, m)
    assert audit.holds == (not rare)
    assert (audit.checked, audit.violations, audit.complete) == (len(supports), len(rare), True)
    longest = min(m, max(map(len, rows)))
    assert [audit.by_size[s][0] for s in range(1, longest + 1)] == by_size(supports, longest)[1:]
    assert [audit.by_size[s][1] for s in range(1, longest + 1)] == by_size(rare, longest)[1:]


@settings(max_examples=200, deadline=None)
@given(some_rows, st.integers(1, 6), st.integers(1, 10), st.integers(1, 5))
def test_witnesses_are_true_and_rarest_first(rows, k, m, most):
    audit = KmAnonymity(k, m).audit(named(rows), witnesses=most)
    rare = naive.violations(rows, k, m)
    assert bool(audit.witnesses) == bool(rare)
    for witness in audit.witnesses:
        itemset = frozenset(map(int, witness.items))
        assert rare[itemset] == witness.support
        assert witness.rows == tuple(i for i, row in enumerate(rows, 1) if itemset <= row)
    supports = [w.support for w in audit.witnesses]
    assert supports == sorted(supports)
    if rare:
        assert supports[0] == min(rare.values())


def in_three_ways(tell):
    """What is told by counters for pairs, by pairs that are sorted, and by a walk."""
    yield tell()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(km, "FEW_PAIRS", 0)
        yield tell()
        patch.setattr(km, "FEW_TO_SORT", -1)
        yield tell()


@settings(max_examples=200, deadline=None)
@given(transactions(4, max_rows=30), st.integers(1, 6), st.integers(0, 5), st.integers(1, 2))
def test_pairs_that_are_counted_or_sorted_answer_as_the_walk_does(rows, k, most, threads):
    baskets, promise = named(rows), KmAnonymity(k, 2)
    counted, ordered, walked = in_three_ways(lambda: promise.audit(baskets, witnesses=most, threads=threads))
    assert counted == ordered == walked


@settings(max_examples=200, deadline=None)
@given(some_rows, st.integers(1, 6), st.integers(1, 2))
def test_pairs_that_are_counted_or_sorted_mark_the_rows_that_the_walk_marks(rows, k, threads):
    def told():
        return [(e.m, e.itemsets, e.rare, e.exposed, e.unique) for e in exposures(named(rows), k, 3, threads=threads)]

    counted, ordered, walked = in_three_ways(told)
    assert counted == ordered == walked


@given(some_rows, st.integers(1, 6), st.integers(1, 10))
def test_yes_or_no_agrees_with_the_full_count(rows, k, m):
    for audit in in_three_ways(lambda: KmAnonymity(k, m).audit(named(rows), yes_or_no=True)):
        assert audit.holds == naive.is_km_anonymous(rows, k, m)


@settings(max_examples=100, deadline=None)
@given(some_rows, st.integers(1, 6), st.integers(3, 10))
def test_verdict_does_not_depend_on_how_much_is_counted(rows, k, m):
    before = km.COUNTED
    km.COUNTED = 10
    try:
        audit = KmAnonymity(k, m).audit(named(rows))
    finally:
        km.COUNTED = before
    assert audit.holds == naive.is_km_anonymous(rows, k, m)
    assert bool(audit.witnesses) != audit.holds


@settings(max_examples=150, deadline=None)
@given(some_rows, st.integers(1, 6))
def test_exposures_count_rows_that_rare_itemsets_give_away(rows, k):
    found = exposures(named(rows), k, 3)
    for e in found:
        rare = naive.violations(rows, k, e.m)
        unique = naive.violations(rows, 2, e.m) if k > 1 else {}
        assert e.rare == by_size(rare, e.m)[e.m]
        assert e.exposed == sum(any(i <= row for i in rare) for row in rows)
        assert e.unique == sum(any(i <= row for i in unique) for row in rows)
        assert all(len(w.items) == e.m for w in e.examples)


@settings(max_examples=100, deadline=None)
@given(some_rows, st.integers(2, 4), st.integers(1, 3), st.data())
def test_a_changed_token_in_a_safe_release_is_caught(rows, k, m, data):
    safe = [row for row in rows if row for _ in range(k)]  # every row k times over is safe for any m
    if not safe:
        return
    assert KmAnonymity(k, m).audit(named(safe)).holds
    where = data.draw(st.integers(0, len(safe) - 1))
    damaged = [set(row) for row in safe]
    damaged[where].pop()
    damaged[where].add(99)
    assert not KmAnonymity(k, m).audit(named(damaged)).holds


def test_rows_dropped_until_a_support_falls_below_k_are_caught():
    rows = [{"bread", "tea"}] * 3 + [{"bread"}] * 4
    assert KmAnonymity(3, 2).audit(Baskets.from_rows(rows)).holds
    audit = KmAnonymity(3, 2).audit(Baskets.from_rows(rows[1:]))
    assert not audit.holds
    assert audit.witnesses[0].items in {("tea",), ("bread", "tea")}


def test_empty_transactions_are_safe_and_reported():
    audit = KmAnonymity(2, 2).audit(Baskets.from_rows([[], ["x"], ["x"]]))
    assert audit.holds
    assert "1 transaction is empty" in audit.notes[0]


def test_data_without_any_item_is_safe():
    assert KmAnonymity(5, 3).audit(Baskets.from_rows([[], []])).holds


def test_m_may_be_as_large_as_the_longest_transaction_or_larger():
    rows = [set(range(60)), set(range(60)), set(range(59))]
    assert not KmAnonymity(3, 60).audit(named(rows)).holds
    assert KmAnonymity(2, 1000).audit(named(rows)).holds


def test_threads_do_not_change_the_answer():
    rng = np.random.default_rng(7)
    rows = [set(rng.integers(0, 60, rng.integers(0, 9)).tolist()) for _ in range(3000)]
    one, two = (KmAnonymity(5, 3).audit(named(rows), threads=t, witnesses=50) for t in (1, 2))
    assert one == two


@pytest.mark.parametrize(("k", "m"), [(0, 1), (1, 0), (-3, 2), (2.5, 2), (True, 1), ("5", 2)])
def test_impossible_parameters_are_refused(k, m):
    with pytest.raises(InputError, match="whole number of at least 1"):
        KmAnonymity(k, m)
