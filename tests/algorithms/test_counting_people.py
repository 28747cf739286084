"""Searches that count people: what they propose is held against brute force."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import strategies
from shoal.algorithms.km.exact import exact
from shoal.algorithms.km.hybrid import hybrid
from shoal.algorithms.km.local import local, local_in_parts
from shoal.algorithms.km.oa import oa
from shoal.algorithms.km.problem import Problem
from shoal.algorithms.recoding import Options
from shoal.errors import Unreachable
from shoal.evaluation.advice import loss_of
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.build import balanced_tree
from shoal.price.ncp import leaf_occurrences, ncp
from shoal.records.baskets import Baskets


@st.composite
def worlds_of_people(draw):
    """(tree, baskets with their people, k, m), with at least k people who have an item."""
    hierarchy, rows, k, m = draw(strategies.worlds(max_rows=20))
    people = draw(st.lists(st.integers(0, draw(st.integers(1, 9))), min_size=len(rows), max_size=len(rows)))
    k = min(k, len({person for row, person in zip(rows, people, strict=True) if row}) or 1)
    baskets = Baskets.from_rows([hierarchy.labels[item] for item in row] for row in rows)
    return hierarchy, replace(baskets, people=np.array(people, np.int32)), k, m


def leaves_of(baskets, hierarchy):
    """Rows as sets of leaf numbers."""
    leaf = hierarchy.leaves_of(baskets.vocabulary)
    return [frozenset(leaf[row].tolist()) for row in np.split(baskets.items, baskets.offsets[1:-1])]


def rare_sets(published, k, m):
    supports = naive.people_supports([frozenset(row) for row in published.rows()], published.people.tolist(), m)
    return {held: people for held, people in supports.items() if people < k}


@settings(max_examples=200, deadline=None)
@given(worlds_of_people(), st.sampled_from([0.0, 0.1, 0.4]))
def test_local_keeps_the_promise_in_people(world, suppress):
    hierarchy, baskets, k, m = world
    recoding = local(baskets, KmAnonymity(k, m), hierarchy, Options(suppress=suppress))
    published = recoding.apply(baskets)
    assert published.people is baskets.people
    assert not rare_sets(published, k, m)
    assert recoding.deleted <= suppress * baskets.occurrences + 1e-9


@settings(max_examples=60, deadline=None)
@given(worlds_of_people(), st.data())
def test_local_keeps_the_promise_in_people_of_every_part(world, data):
    hierarchy, baskets, k, m = world
    part = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(baskets), max_size=len(baskets))))
    for one in (0, 1):  # what a class must have
        filled = (part == one) & (baskets.lengths > 0)
        if 0 < len(np.unique(baskets.people[filled])) < k:
            part[:] = 0
    node = local_in_parts(baskets, part, KmAnonymity(k, m), hierarchy, Options(suppress=0.2))
    rows = np.split(node, baskets.offsets[1:-1])
    for one in (0, 1):
        inside = np.flatnonzero(part == one).tolist()
        held = [set(rows[row][rows[row] >= 0].tolist()) for row in inside]
        assert all(people >= k for people in naive.people_supports(held, baskets.people[inside].tolist(), m).values())


@settings(max_examples=40, deadline=None)
@given(strategies.worlds(max_rows=12))
def test_where_everybody_has_one_row_the_search_is_the_same(world):
    hierarchy, rows, k, m = world
    baskets = Baskets.from_rows([hierarchy.labels[item] for item in row] for row in rows)
    whose = replace(baskets, people=np.arange(len(rows), dtype=np.int32)[::-1])
    plain, counted = (local(sets, KmAnonymity(k, m), hierarchy, Options(suppress=0.1)) for sets in (baskets, whose))
    assert plain.node.tolist() == counted.node.tolist()


@settings(max_examples=60, deadline=None)
@given(worlds_of_people(), st.sampled_from(["information", "ncp"]))
def test_oa_finds_the_same_optimum_in_people(world, price):
    hierarchy, baskets, k, m = world
    cuts = [search(baskets, KmAnonymity(k, m), hierarchy, Options(price=price)) for search in (oa, exact)]
    assert not rare_sets(cuts[0].apply(baskets), k, m)
    losses = [loss_of(cut, baskets, Options(price=price)) for cut in cuts]
    assert losses[0] == pytest.approx(losses[1], abs=1e-12)


@settings(max_examples=150, deadline=None)
@given(worlds_of_people(), st.sampled_from([0.0, 0.0, 0.3]))
def test_exact_finds_the_best_of_all_cuts_in_people(world, share):
    hierarchy, baskets, k, m = world
    tree, rows, people = strategies.naive_tree(hierarchy), leaves_of(baskets, hierarchy), baskets.people.tolist()
    promise, budget = KmAnonymity(k, m), int(share * baskets.occurrences + 1e-9)
    recoding = exact(baskets, promise, hierarchy, Options(suppress=share, price="ncp"))
    assert recoding.optimal
    assert promise.audit(recoding.apply(baskets)).holds
    best = naive.best_cut_with_dropping(tree, rows, k, m, budget, people) if budget else None
    expected = naive.best_cut(tree, rows, k, m, people) if best is None else best
    assert (
        round(ncp(recoding.cut, leaf_occurrences(hierarchy, baskets))["ncp"] * baskets.occurrences * hierarchy.n_leaves)
        == expected
    )


WAYS = {"at once": {}, "round by round": {"problem.MOST_SETS": 0.0}, "by sets": {"exact.LARGEST": 0}}
"""How `exact` finds what no cut may do, and what leaves it no other way."""


@settings(max_examples=100, deadline=None)
@given(worlds_of_people(), st.sampled_from(sorted(WAYS)))
def test_exact_finds_the_least_information_lost_in_people(world, way):
    hierarchy, baskets, k, m = world
    tree, rows, people = strategies.naive_tree(hierarchy), leaves_of(baskets, hierarchy), baskets.people.tolist()
    problem = Problem(baskets, KmAnonymity(k, m), hierarchy)
    costs = [
        problem.price.of_cut(np.array([tree.published(v, cut) for v in range(tree.n_leaves)]), problem.occurrences)
        for cut in tree.cuts()
        if naive.is_km_anonymous(tree.generalized(rows, cut), k, m, people)
    ]
    with ExitStack() as stack:
        for name, value in WAYS[way].items():
            stack.enter_context(patch(f"shoal.algorithms.km.{name}", value))
        recoding = exact(baskets, KmAnonymity(k, m), hierarchy, Options())
    assert problem.price.of_cut(recoding.cut.node, problem.occurrences) == min(costs)


@settings(max_examples=150, deadline=None)
@given(worlds_of_people(), st.sampled_from([0.0, 0.1, 0.4]), st.sampled_from(["information", "ncp"]))
def test_hybrid_keeps_the_promise_in_people_and_never_loses_more_than_exact(world, share, price):
    hierarchy, baskets, k, m = world
    promise, options = KmAnonymity(k, m), Options(suppress=share, price=price)
    found, rival = hybrid(baskets, promise, hierarchy, options), exact(baskets, promise, hierarchy, options)
    published = found.apply(baskets)
    assert published.people is baskets.people
    assert not rare_sets(published, k, m)
    assert found.deletions_by_leaf(baskets).sum() <= share * baskets.occurrences + 1e-9
    losses = [loss_of(recoding, baskets, options) for recoding in (found, rival)]
    assert losses[0] <= losses[1] + 1e-12
    assert found.bound <= losses[0] + 1e-12
    assert rival.bound <= losses[1] + 1e-12


@settings(max_examples=40, deadline=None)
@given(strategies.worlds(max_rows=12), st.sampled_from([exact, hybrid]))
def test_where_everybody_has_one_row_cuts_are_the_same(world, search):
    hierarchy, rows, k, m = world
    baskets = Baskets.from_rows([hierarchy.labels[item] for item in row] for row in rows)
    whose = replace(baskets, people=np.arange(len(rows), dtype=np.int32)[::-1])
    plain, counted = (search(sets, KmAnonymity(k, m), hierarchy, Options(suppress=0.1)) for sets in (baskets, whose))
    assert list(plain.apply(baskets).rows()) == list(counted.apply(baskets).rows())
    assert plain.bound == counted.bound


@pytest.mark.parametrize("m", [2, 3])
def test_cuts_of_many_rows_keep_the_promise_in_people(m):
    """So many rows that sets are looked up one by one, and deletions are decided anew."""
    random = np.random.default_rng(m)
    tree = balanced_tree([f"i{n:02}" for n in range(40)], 4)
    people = random.integers(0, 80, 3000).astype(np.int32)  # each of whom has a taste
    rows = [{f"i{int(12 * x + p) % 40:02}" for x in random.random(random.integers(1, 6))} for p in people.tolist()]
    baskets, promise = replace(Baskets.from_rows(map(sorted, rows)), people=people), KmAnonymity(10, m)
    best = exact(baskets, promise, tree, Options())
    found = hybrid(baskets, promise, tree, Options(suppress=0.1))
    assert found.deletions is not None
    for recoding in (best, found):
        verdict = promise.audit(recoding.apply(baskets))
        assert verdict.holds
        assert verdict.facts["people"] == len(np.unique(people))
    assert loss_of(found, baskets, Options()) < loss_of(best, baskets, Options())
    in_rows = exact(replace(baskets, people=None), promise, tree, Options())
    assert not promise.audit(in_rows.apply(baskets)).holds


def test_fewer_than_k_people_are_never_enough():
    visits = replace(Baskets.from_rows([["E11"]] * 9), people=np.array([0, 0, 0, 1, 1, 1, 2, 2, 2], np.int32))
    hierarchy = strategies.Hierarchy.from_parents([1, -1], ["E11", "*"])
    with pytest.raises(Unreachable):
        local(visits, KmAnonymity(4, 1), hierarchy, Options())
    assert local(visits, KmAnonymity(3, 1), hierarchy, Options()).deleted == 0
