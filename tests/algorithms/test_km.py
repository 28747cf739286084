"""OA, DA, AA and exact against their naive twins, the paper's examples, and the enumeration of all cuts."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from shoal.algorithms import ALGORITHMS, algorithm
from shoal.algorithms.km.apriori import aa, count_tree_nodes, da, domain_parts, tree_order, vpa
from shoal.algorithms.km.exact import exact
from shoal.algorithms.km.oa import number_of_cuts, oa
from shoal.algorithms.km.problem import Problem, rare_categories
from shoal.algorithms.recoding import Options
from shoal.errors import InputError, Unreachable
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.build import flat_tree
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.tree import Hierarchy
from shoal.price.ncp import ncp
from shoal.records.baskets import Baskets
from strategies import baskets_of, naive_tree, nodes_of, trees, worlds

# Figures 1 and 2 of the paper: a1, a2 -> A; b1, b2 -> B; A, B -> ALL.
FIGURE_1 = Hierarchy(np.array([4, 4, 5, 5, 6, 6, -1], np.int32), ("a1", "a2", "b1", "b2", "A", "B", "ALL"), 4)
A1, A2, B1, B2, A, B, ALL = range(7)
FIGURE_2A = [{A1, B1, B2}, {A2, B1}, {A2, B1, B2}, {A1, A2, B2}]


def per_leaf(rows, hierarchy):
    return np.array([sum(leaf in row for row in rows) for leaf in range(hierarchy.n_leaves)], np.int64)


def cost_of(recoding, rows, hierarchy):
    """NCP times |I| times occurrences, as a whole number."""
    occurrences = per_leaf(rows, hierarchy)
    return round(ncp(recoding.cut, occurrences)["ncp"] * hierarchy.n_leaves * int(occurrences.sum()))


def test_figure_2_costs_two_and_a_half_elevenths():
    cut = Cut.at(FIGURE_1, [A, B1, B2])
    assert ncp(cut, per_leaf(FIGURE_2A, FIGURE_1))["ncp"] == pytest.approx(2.5 / 11, abs=1e-15)


def test_figure_3_has_five_cuts():
    assert len(naive_tree(FIGURE_1).cuts()) == number_of_cuts(FIGURE_1) == 5


def test_figure_5_orders_nodes_by_support():
    baskets = baskets_of(FIGURE_2A, FIGURE_1)
    order = tree_order(FIGURE_1, Problem(baskets, KmAnonymity(2, 2), FIGURE_1, price="ncp").support)
    assert order.tolist() == [A, B, A2, B1, B2, A1]
    assert naive.tree_order(naive_tree(FIGURE_1), FIGURE_2A) == [A, B, A2, B1, B2, A1]


def test_figure_5_counts():
    tree = naive_tree(FIGURE_1)
    top = naive.populate(
        tree, [naive.expanded(tree, t) for t in FIGURE_2A], naive.tree_order(tree, FIGURE_2A), range(1, 3)
    )
    assert top.children[A1].count == 2
    assert top.children[A].children[B2].count == 3


@given(worlds(), st.sampled_from(["aa", "da"]))
def test_count_trees_have_as_many_nodes_as_if_they_were_built(world, name):
    hierarchy, rows, k, m = world
    wanted = naive.count_tree_nodes(naive_tree(hierarchy), rows, k, min(m, max(map(len, rows))), name)
    assert count_tree_nodes(name, baskets_of(rows, hierarchy), KmAnonymity(k, m), hierarchy) == wanted


def test_figure_6_expands_transactions():
    tree = naive_tree(FIGURE_1)
    assert [naive.expanded(tree, t) for t in FIGURE_2A] == [
        {A1, B1, B2, A, B},
        {A2, B1, A, B},
        {A2, B1, B2, A, B},
        {A1, A2, B2, A, B},
    ]


@pytest.mark.parametrize("name", [name for name in ALGORITHMS["km"] if name not in ("local", "lra")])
def test_every_algorithm_finds_the_cut_of_figure_2(name):
    recoding = algorithm("km", name)(baskets_of(FIGURE_2A, FIGURE_1), KmAnonymity(2, 2), FIGURE_1, Options(price="ncp"))
    assert nodes_of(recoding.cut) == {A, B1, B2}
    published = recoding.apply(baskets_of(FIGURE_2A, FIGURE_1))
    assert list(published) == [{"A", "b1", "b2"}, {"A", "b1"}, {"A", "b1", "b2"}, {"A", "b2"}]
    assert dict(recoding.rules()) == {"a1": "A", "a2": "A", "b1": "b1", "b2": "b2"}


def test_the_trace_of_da_repairs_one_path_only():
    recoding = da(baskets_of(FIGURE_2A, FIGURE_1), KmAnonymity(2, 2), FIGURE_1, Options(price="ncp"))
    assert recoding.facts["repaired"] == 1


@settings(max_examples=300, deadline=None)
@given(worlds())
def test_aa_gives_the_cut_of_its_naive_twin(world):
    hierarchy, rows, k, m = world
    recoding = aa(baskets_of(rows, hierarchy), KmAnonymity(k, m), hierarchy, Options(price="ncp"))
    m = min(m, max(map(len, rows)) or 1)
    assert nodes_of(recoding.cut) == naive.aa(naive_tree(hierarchy), rows, k, m)


@settings(max_examples=300, deadline=None)
@given(worlds())
def test_da_gives_the_cut_of_its_naive_twin(world):
    hierarchy, rows, k, m = world
    recoding = da(baskets_of(rows, hierarchy), KmAnonymity(k, m), hierarchy, Options(price="ncp"))
    m = min(m, max(map(len, rows)) or 1)
    assert nodes_of(recoding.cut) == naive.da(naive_tree(hierarchy), rows, k, m)


@settings(max_examples=200, deadline=None)
@given(worlds(), st.integers(1, 4))
def test_vpa_gives_the_cut_of_its_naive_twin(world, most):
    hierarchy, rows, k, m = world
    baskets = baskets_of(rows, hierarchy)
    recoding = vpa(baskets, KmAnonymity(k, m), hierarchy, Options(price="ncp", segments=most))
    parts = [set(np.flatnonzero(part)) for part in domain_parts(hierarchy, per_leaf(rows, hierarchy), most)]
    m = min(m, max(map(len, rows)) or 1)
    assert nodes_of(recoding.cut) == naive.vpa(naive_tree(hierarchy), rows, k, m, parts)
    assert KmAnonymity(k, m).audit(recoding.apply(baskets)).holds


@given(trees(), st.data())
def test_the_parts_of_a_domain_are_whole_subtrees_that_share_nothing(hierarchy, data):
    occurrences = np.array(
        data.draw(st.lists(st.integers(0, 9), min_size=hierarchy.n_leaves, max_size=hierarchy.n_leaves))
    )
    most = data.draw(st.none() | st.integers(1, 5))
    parts = domain_parts(hierarchy, occurrences, most)
    below_root = set(range(hierarchy.n_nodes)) - {hierarchy.root}
    assert sorted(v for part in parts for v in np.flatnonzero(part)) == sorted(below_root)
    assert len(parts) <= (most or len(hierarchy.top))
    for part in parts:
        assert all(hierarchy.parent[v] == hierarchy.root or part[hierarchy.parent[v]] for v in np.flatnonzero(part))


@settings(max_examples=200, deadline=None)
@given(worlds())
def test_oa_gives_the_cut_of_its_naive_twin(world):
    hierarchy, rows, k, m = world
    recoding = oa(baskets_of(rows, hierarchy), KmAnonymity(k, m), hierarchy, Options(price="ncp"))
    assert cost_of(recoding, rows, hierarchy) == naive.best_cut(naive_tree(hierarchy), rows, k, m)
    assert nodes_of(recoding.cut) == naive.oa(naive_tree(hierarchy), rows, k, m)


@settings(max_examples=500, deadline=None)
@given(worlds())
def test_exact_costs_what_the_best_of_all_cuts_costs(world):
    hierarchy, rows, k, m = world
    recoding = exact(baskets_of(rows, hierarchy), KmAnonymity(k, m), hierarchy, Options(price="ncp"))
    assert recoding.optimal
    assert cost_of(recoding, rows, hierarchy) == naive.best_cut(naive_tree(hierarchy), rows, k, m)
    assert recoding.bound == ncp(recoding.cut, per_leaf(rows, hierarchy))["ncp"]


@settings(max_examples=250, deadline=None)
@given(worlds(max_leaves=6, max_rows=10), st.sampled_from([0.1, 0.3, 0.6, 1.0]))
def test_exact_with_dropping_costs_what_the_best_of_all_choices_costs(world, share):
    hierarchy, rows, k, m = world
    total = sum(map(len, rows))
    recoding = exact(baskets_of(rows, hierarchy), KmAnonymity(k, m), hierarchy, Options(price="ncp", suppress=share))
    budget = int(share * total + 1e-9)
    expected = (
        naive.best_cut_with_dropping(naive_tree(hierarchy), rows, k, m, budget)
        if budget
        else naive.best_cut(naive_tree(hierarchy), rows, k, m)
    )
    assert cost_of(recoding, rows, hierarchy) == expected
    assert ncp(recoding.cut, per_leaf(rows, hierarchy))["deleted"] <= share + 1e-12


@settings(max_examples=150, deadline=None)
@given(worlds(), st.sampled_from(["exact", "oa", "da", "aa"]))
def test_what_is_published_keeps_the_promise_and_invents_nothing(world, name):
    hierarchy, rows, k, m = world
    baskets = baskets_of(rows, hierarchy)
    recoding = algorithm("km", name)(baskets, KmAnonymity(k, m), hierarchy, Options(price="ncp"))
    published = recoding.apply(baskets)
    assert naive.is_km_anonymous(list(published), k, m)
    assert len(published) == len(baskets)
    rules = dict(recoding.rules())
    assert [set(row) for row in published.rows()] == [{rules[name] for name in row} for row in baskets.rows()]
    assert KmAnonymity(k, m).audit(published).holds


@settings(max_examples=60, deadline=None)
@given(trees(min_leaves=2))
def test_number_of_cuts_counts_cuts(hierarchy):
    assert number_of_cuts(hierarchy) == len(naive_tree(hierarchy).cuts())


def balanced(n, degree=3):
    parent, level, new = {}, list(range(n)), n
    while len(level) > 1:
        above = []
        for i in range(0, len(level), degree):
            parent.update(dict.fromkeys(level[i : i + degree], new))
            above.append(new)
            new += 1
        level = above
    return Hierarchy(np.array([parent.get(v, -1) for v in range(new)], np.int32), tuple(map(str, range(new))), n)


def random_baskets(rng, rows, items, longest):
    weight = 1 / np.arange(1, items + 1)
    weight /= weight.sum()
    draw = [set(rng.choice(items, rng.integers(1, longest), p=weight).tolist()) for _ in range(rows)]
    return draw, Baskets.from_rows(map(str, row) for row in [*draw, range(items)])


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_exact_is_never_above_aa_and_its_bound_is_tight(m):
    _, baskets = random_baskets(np.random.default_rng(m), 400, 40, 7)
    tree = balanced(40)
    best = exact(baskets, KmAnonymity(4, m), tree, Options(price="ncp"))
    greedy = aa(baskets, KmAnonymity(4, m), tree, Options(price="ncp"))
    occurrences = baskets.supports()
    assert best.bound == ncp(best.cut, occurrences)["ncp"] <= ncp(greedy.cut, occurrences)["ncp"]


def test_threads_do_not_change_the_cut():
    _, baskets = random_baskets(np.random.default_rng(1), 2000, 80, 9)
    cuts = [
        exact(baskets, KmAnonymity(5, 3), balanced(80), Options(price="ncp", threads=t)).cut.node.tolist()
        for t in (1, 2)
    ]
    assert cuts[0] == cuts[1]


def test_a_time_limit_returns_a_cut_that_keeps_the_promise_and_its_gap():
    _, baskets = random_baskets(np.random.default_rng(3), 2000, 80, 9)
    recoding = exact(baskets, KmAnonymity(5, 3), balanced(80), Options(price="ncp", time_limit=1e-9))
    assert recoding.optimal is False
    assert KmAnonymity(5, 3).audit(recoding.apply(baskets)).holds
    best = exact(baskets, KmAnonymity(5, 3), balanced(80), Options(price="ncp"))
    assert recoding.bound <= best.bound <= recoding.bound + recoding.facts["gap"] + 1e-12


@pytest.mark.parametrize("name", ALGORITHMS["km"])
def test_more_than_all_transactions_cannot_hide_anyone(name):
    baskets = baskets_of([*FIGURE_2A, set()], FIGURE_1)
    with pytest.raises(Unreachable, match="only 4 transactions"):
        algorithm("km", name)(baskets, KmAnonymity(5, 2), FIGURE_1, Options(price="ncp"))


def test_oa_refuses_a_lattice_it_cannot_finish_and_points_to_exact():
    _, baskets = random_baskets(np.random.default_rng(3), 50, 200, 5)
    with pytest.raises(InputError, match="algorithm='exact'"):
        oa(baskets, KmAnonymity(2, 2), balanced(200), Options(price="ncp"))


def test_an_unknown_algorithm_is_refused_with_the_list():
    with pytest.raises(InputError, match="exact, "):
        algorithm("km", "magic")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sets(st.sampled_from("abcdef"), min_size=1), min_size=4, max_size=20),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_rare_top_categories_are_those_of_a_plain_count(rows, k, m):
    baskets = Baskets.from_rows(rows)
    tree = flat_tree("abcdef")
    rare = naive.violations([set(row) for row in rows], k, m)
    minimal = {frozenset(s): held for s, held in rare.items() if not any(set(other) < set(s) for other in rare)}
    found = rare_categories(baskets, KmAnonymity(k, m), tree)
    assert {frozenset(c.names): c.support for c in found} == minimal


def test_rare_top_categories_are_named():
    rows = [{A1}, {A2}, {A1, A2}, {B1}]
    found = rare_categories(baskets_of(rows, FIGURE_1), KmAnonymity(2, 2), FIGURE_1)
    assert [(c.names, c.support) for c in found] == [(("B",), 1)]
    assert rare_categories(baskets_of(FIGURE_2A, FIGURE_1), KmAnonymity(2, 2), FIGURE_1) == []


def test_dropping_a_rare_category_saves_the_rest():
    rows = [{A1}, {A2}, {A1, A2}, {A1}, {A2, B1}]
    baskets = baskets_of(rows, FIGURE_1)
    whole = exact(baskets, KmAnonymity(2, 1), FIGURE_1, Options(price="ncp"))
    assert nodes_of(whole.cut) == {ALL}
    dropping = exact(baskets, KmAnonymity(2, 1), FIGURE_1, Options(price="ncp", suppress=0.2))
    assert nodes_of(dropping.cut) == {A1, A2}
    assert dropping.cut.dropped == (B,)
    assert dict(dropping.rules())["b1"] == ""
    assert list(dropping.apply(baskets))[-1] == {"a2"}


def test_exact_tells_the_best_once_a_depth_is_finished():
    told = []
    rows = [{A1, B1}, {A1, B2}, {A2, B1}, {A2, B2}, {A1, B1}, {A2}]
    options = Options(price="ncp", progress=lambda doing, share, **facts: told.append(doing))
    exact(baskets_of(rows, FIGURE_1), KmAnonymity(2, 2), FIGURE_1, options)
    assert told[0].startswith("depth 1 of 2, at least ")  # the root is no find
    assert all(
        re.fullmatch(r"depth 2 of 2, best [0-9.]+%, at least [0-9.]+% lost, gap [0-9.]+%", doing) for doing in told[1:]
    )
    best, bound, gap = map(float, re.findall(r"([0-9.]+)%", told[-1]))
    assert best >= bound
    assert gap == pytest.approx(best - bound, abs=0.011)
