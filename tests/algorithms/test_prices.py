"""The searches of k^m under either price, against all cuts of small trees."""

from itertools import chain, combinations, product
from math import log2
from threading import Barrier

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive
from shoal.algorithms import algorithm
from shoal.algorithms.km import lower_bound
from shoal.algorithms.km.lower_bound import least_at_nodes
from shoal.algorithms.km.lower_bound import least_loss as least_loss_of
from shoal.algorithms.km.problem import Problem, cut_loss
from shoal.algorithms.recoding import Options
from shoal.errors import InputError
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.itemsets.charges import charge_sets
from shoal.kernels.itemsets.deletion import about_all, find_rare, new_scratch
from shoal.kernels.parallel import even_blocks
from shoal.price.levels import PRICES, price_for
from shoal.price.ncp import leaf_occurrences
from strategies import baskets_of, naive_tree, worlds


def loss(price, tree, rows, fate):
    """The share that is lost when `fate(row, leaf)` is published, or None deleted; spelled out."""
    occurrences = list(chain(*rows))
    if not occurrences:
        return 0.0
    published = [(leaf, fate(i, leaf)) for i, row in enumerate(rows) for leaf in row]
    gone = sum(node is None for _, node in published)
    kept = [(leaf, node) for leaf, node in published if node is not None]
    if price == "ncp":
        widths = [len(tree.leaves(node)) for _, node in kept]
        return (sum(u for u in widths if u > 1) / tree.n_leaves + gone) / len(occurrences)
    entropy = sum(log2(len(occurrences) / occurrences.count(leaf)) for leaf in occurrences)
    nodes = [node for _, node in kept]
    unknown = sum(log2(nodes.count(node) / kept.count((leaf, node))) for leaf, node in kept)
    return unknown / entropy + gone / len(occurrences) if entropy else gone / len(occurrences)


def least_loss(price, tree, rows, k, m, budget):
    """Of all cuts, also with whole top-level branches dropped, within a budget of occurrences."""
    losses = [loss(price, tree, rows, lambda _, leaf: tree.root)]
    cuts = [(cut, ()) for cut in tree.cuts()]
    top = tree.children[tree.root]
    for dropped in chain(*(combinations(top, size) for size in range(1, len(top) + 1))):
        kept = product(*(tree.cuts(v) for v in top if v not in dropped))
        cuts += [(frozenset(chain(*choice)), dropped) for choice in kept]
    for cut, dropped in cuts:
        gone = set(chain(*(tree.leaves(v) for v in dropped)))
        left = [row - gone for row in rows]
        if sum(len(row & gone) for row in rows) <= budget and naive.is_km_anonymous(tree.generalized(left, cut), k, m):
            node = {leaf: None if leaf in gone else tree.published(leaf, cut) for leaf in range(tree.n_leaves)}
            losses.append(loss(price, tree, rows, lambda _, leaf, node=node: node[leaf]))
    return min(losses)


def loss_of(price, recoding, rows, hierarchy):
    """What a recoding of the rows loses."""
    tree, node = naive_tree(hierarchy), recoding.cut.node.tolist()
    deleted = recoding.deletions
    gone = set() if deleted is None else set(zip(deleted.row.tolist(), deleted.node.tolist(), strict=True))
    lowest = recoding.cut.lowest().node.tolist()
    return loss(price, tree, rows, lambda i, leaf: None if node[leaf] < 0 or (i, lowest[leaf]) in gone else node[leaf])


@settings(max_examples=150, deadline=None)
@given(worlds(max_leaves=6, max_rows=10), st.sampled_from(PRICES), st.sampled_from([0.0, 0.3, 0.6, 1.0]))
def test_exact_finds_the_least_loss_of_all_cuts_whatever_the_price(world, price, share):
    hierarchy, rows, k, m = world
    recoding = algorithm("km", "exact")(
        baskets_of(rows, hierarchy), KmAnonymity(k, m), hierarchy, Options(suppress=share, price=price)
    )
    budget = int(share * sum(map(len, rows)) + 1e-9)
    least = least_loss(price, naive_tree(hierarchy), rows, k, m, budget)
    assert recoding.optimal
    assert loss_of(price, recoding, rows, hierarchy) == pytest.approx(least, abs=1e-4)
    assert recoding.bound == pytest.approx(least, abs=1e-4)


@settings(max_examples=60, deadline=None)
@given(worlds(max_leaves=6, max_rows=10), st.sampled_from(PRICES))
def test_oa_finds_the_same_optimum_as_exact(world, price):
    hierarchy, rows, k, m = world
    baskets, options = baskets_of(rows, hierarchy), Options(price=price)
    best, same = (algorithm("km", name)(baskets, KmAnonymity(k, m), hierarchy, options) for name in ("exact", "oa"))
    assert same.bound == pytest.approx(best.bound, abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(worlds(max_leaves=6, max_rows=10), st.sampled_from(PRICES), st.sampled_from([0.0, 0.1, 0.3, 1.0]))
def test_hybrid_lies_between_its_bound_and_exact(world, price, share):
    hierarchy, rows, k, m = world
    baskets, options = baskets_of(rows, hierarchy), Options(suppress=share, price=price)
    best = algorithm("km", "exact")(baskets, KmAnonymity(k, m), hierarchy, options)
    recoding = algorithm("km", "hybrid")(baskets, KmAnonymity(k, m), hierarchy, options)
    lost = loss_of(price, recoding, rows, hierarchy)
    assert recoding.bound - 1e-9 <= lost <= best.bound + 1e-4
    assert naive.is_km_anonymous([set(row) for row in recoding.apply(baskets)], k, m)


@settings(max_examples=60, deadline=None)
@given(worlds(max_leaves=6, max_rows=10), st.sampled_from(PRICES))
def test_lra_loses_no_more_than_exact_whatever_the_price(world, price):
    hierarchy, rows, k, m = world
    baskets, options = baskets_of(rows, hierarchy), Options(price=price)
    local = algorithm("km", "lra")(baskets, KmAnonymity(k, m), hierarchy, options)
    best = algorithm("km", "exact")(baskets, KmAnonymity(k, m), hierarchy, options)
    node = iter(local.node.tolist())
    leaf = hierarchy.leaves_of(baskets.vocabulary).tolist()
    ends = zip(baskets.offsets[:-1], baskets.offsets[1:], strict=True)
    places = [{leaf[item]: next(node) for item in baskets.items[a:b].tolist()} for a, b in ends]
    lost = loss(price, naive_tree(hierarchy), rows, lambda i, x: places[i][x])
    assert lost <= best.bound + 1e-4
    assert naive.is_km_anonymous([set(row.values()) for row in places], k, m)


@given(worlds(max_leaves=6, max_rows=10))
def test_the_price_of_a_cut_is_what_its_nodes_cost(world):
    hierarchy, rows, k, m = world
    for name in PRICES:
        problem = Problem(baskets_of(rows, hierarchy), KmAnonymity(k, m), hierarchy, price=name)
        node = np.full(hierarchy.n_leaves, hierarchy.root, np.int32)
        whole = problem.price.share(int(problem.cost[hierarchy.root]), sum(map(len, rows)))
        assert cut_loss(problem, node) == pytest.approx(whole)
        assert whole <= 1


@settings(max_examples=40, deadline=None)
@given(worlds(min_leaves=2, max_leaves=6, max_rows=10))
def test_an_item_that_can_stand_as_it_is_does(world):
    """A category of which only one item occurs costs no information; the item is published all the same."""
    hierarchy, rows, _, m = world
    baskets = baskets_of(rows, hierarchy)
    recoding = algorithm("km", "exact")(baskets, KmAnonymity(1, m), hierarchy, Options())
    assert (recoding.node == hierarchy.leaves_of(baskets.vocabulary)).all()


def test_a_price_that_does_not_exist_is_named_with_those_that_do():
    with pytest.raises(InputError, match="information, ncp"):
        Options(price="euro")


@given(worlds(max_leaves=6, max_rows=10))
def test_a_single_deletion_costs_what_the_price_says(world):
    hierarchy, rows, *_ = world
    baskets = baskets_of(rows, hierarchy)
    occurrences = leaf_occurrences(hierarchy, baskets)
    node = np.arange(hierarchy.n_leaves, dtype=np.int32)
    for name in PRICES:
        price = price_for(name, hierarchy, occurrences)
        assert price.of_cut(node, occurrences, occurrences) == price.deletion * int(occurrences.sum())
        assert price.of_cut(node, occurrences) == 0


def test_deleting_a_rare_item_can_cost_less_than_its_category():
    """The bound of hybrid holds for the measure itself: by the levels, the rare item would cost more than its deletion."""
    hierarchy = Hierarchy.from_parents([3, 3, 4, 4, -1], ["rare", "common", "other", "both", "all"])
    rows = [{0}] + [{1}] * 200 + [{2}] * 5
    baskets = baskets_of(rows, hierarchy)
    recoding = algorithm("km", "hybrid")(baskets, KmAnonymity(5, 2), hierarchy, Options(suppress=0.1))
    assert 0 < recoding.bound <= loss_of("information", recoding, rows, hierarchy) + 1e-9
    assert recoding.bound <= 1 / len(rows)


@settings(max_examples=150, deadline=None)
@given(worlds(min_leaves=2, max_leaves=5, max_rows=5), st.sampled_from(PRICES))
def test_no_cut_with_any_deletions_goes_below_the_bound(world, price):
    hierarchy, rows, k, m = world
    assume(sum(map(len, rows)) <= 10)
    tree = naive_tree(hierarchy)
    best = 1.0
    for cut in tree.cuts():
        node = {leaf: tree.published(leaf, cut) for leaf in range(tree.n_leaves)}
        places = sorted({(i, node[leaf]) for i, row in enumerate(rows) for leaf in row})
        for gone in map(set, chain(*(combinations(places, n) for n in range(len(places) + 1)))):
            fates = [
                {leaf: None if (i, node[leaf]) in gone else node[leaf] for leaf in row} for i, row in enumerate(rows)
            ]
            if naive.is_km_anonymous([set(fate.values()) - {None} for fate in fates], k, m):
                best = min(best, loss(price, tree, rows, lambda i, leaf, fates=fates: fates[i][leaf]))
    baskets = baskets_of(rows, hierarchy)
    assert least_loss_of(Problem(baskets, KmAnonymity(k, m), hierarchy, price=price)) <= best + 1e-9


@settings(max_examples=150, deadline=None)
@given(worlds(max_leaves=5, max_rows=6))
def test_the_least_cost_of_a_node_is_that_of_all_choices_of_what_is_left(world):
    """Any number of occurrences may be left of each item below the node."""
    hierarchy, rows, k, m = world
    baskets = baskets_of(rows, hierarchy)
    problem = Problem(baskets, KmAnonymity(k, m), hierarchy, price="information")
    n, tree = problem.occurrences.tolist(), naive_tree(hierarchy)
    total = sum(n)
    entropy = sum(c * log2(total / c) for c in n if c)
    found = least_at_nodes(problem)
    for v in range(hierarchy.n_nodes):
        below = sorted(tree.leaves(v))
        if len(below) == 1 or not entropy:
            assert found[v] == (-1 if len(below) == 1 else 0)
            continue
        least = min(
            sum(a * log2(sum(left) / a) for a in left if a) + entropy / total * (sum(n[x] for x in below) - sum(left))
            for left in product(*(range(n[x] + 1) for x in below))
        )
        exactly = least / entropy * total * problem.price.deletion
        assert exactly * (1 - 1e-6) - 3 <= found[v] <= exactly + 1e-6


def test_rare_pairs_raise_the_bound():
    """Every item is frequent, so none is forced up by itself; but a and b stand together in two rows, where one has to go."""
    hierarchy = Hierarchy.from_parents([4, 4, 5, 5, 6, 6, -1], ["a", "c", "b", "d", "ac", "bd", "all"])
    leaf = {name: v for v, name in enumerate("acbd")}
    rows = [{leaf[x] for x in row} for row in ["ab"] * 2 + ["a"] * 20 + ["b"] * 20 + ["c"] * 20 + ["d"] * 20]
    problem = Problem(baskets_of(rows, hierarchy), KmAnonymity(5, 2), hierarchy)
    assert least_loss_of(problem) == pytest.approx(2 / sum(map(len, rows)), rel=1e-5)
    assert least_loss_of(problem, effort=-1) == 0


@settings(max_examples=60, deadline=None)
@given(worlds(min_leaves=2, max_leaves=6, max_rows=12), st.sampled_from([-1, 5, 20, 80, float("inf")]))
def test_the_bound_is_the_same_for_any_number_of_threads(world, effort):
    """Parts are found several at a time, but charged one by one, up to the effort."""
    hierarchy, rows, k, m = world
    problem = Problem(baskets_of(rows, hierarchy), KmAnonymity(k, m), hierarchy, threads=1)
    rare, charged, made = problem.token_rows(np.arange(hierarchy.n_leaves, dtype=np.int32)), 0, 0
    asked = about_all(np.unique(problem.leaf))
    accounts = lower_bound.Accounts(
        np.full(len(rare.tok), problem.price.deletion, np.int64),
        least_at_nodes(problem),
        np.zeros(hierarchy.n_nodes + 1, np.int64),
    )
    for size in range(min(2, m), m + 1):
        for block in even_blocks(problem.support[asked.tokens] + 1.0, lower_bound.BLOCKS):
            if made <= effort:
                scratch = new_scratch(hierarchy.n_nodes, len(rows), m)
                found = find_rare(rare._replace(m=size), scratch, asked, *block, True)
                charged += charge_sets(rare._replace(m=size), accounts, hierarchy.parent, *found)
                made += int(scratch.work[0])
    assert lower_bound._for_sets(problem, effort) == charged
    problem.threads = 3
    assert lower_bound._for_sets(problem, effort) == charged


def test_two_threads_look_for_what_raises_the_bound(monkeypatch):
    both = Barrier(2, timeout=60)

    def find_together(*asked):
        both.wait()
        return find_rare(*asked)

    monkeypatch.setattr(lower_bound, "find_rare", find_together)
    hierarchy = Hierarchy.from_parents([4, 4, 5, 5, 6, 6, -1], ["a", "c", "b", "d", "ac", "bd", "all"])
    problem = Problem(baskets_of([{0, 1, 2, 3}] * 9, hierarchy), KmAnonymity(5, 2), hierarchy, threads=2)
    assert len(even_blocks(problem.support[np.unique(problem.leaf)] + 1.0, lower_bound.BLOCKS)) % 2 == 0
    assert least_loss_of(problem) == 0
