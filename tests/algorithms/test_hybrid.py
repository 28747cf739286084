"""hybrid: the promise, the budget, nothing invented, put-back maximal, the loss as recomputed, never worse than exact."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from shoal.algorithms.km.exact import exact
from shoal.algorithms.km.hybrid import _Contracted, _State, hybrid
from shoal.algorithms.km.problem import Problem
from shoal.algorithms.recoding import Options
from shoal.errors import Unreachable
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.build import balanced_tree
from shoal.kernels.itemsets.deletion import Choice, TokenRows, hitting_places, new_scratch
from shoal.kernels.itemsets.nodes import LeafRows
from shoal.price.ncp import ncp
from shoal.records.baskets import Baskets
from strategies import baskets_of, naive_tree, worlds

shares = st.sampled_from([0.0, 0.05, 0.2, 0.5, 1.0])


def recomputed(hierarchy, rows, recoding, published):
    """(generalized, deleted) in units of leaves times occurrences, from the published rows and the rules alone."""
    rules = dict(recoding.rules())
    tree = naive_tree(hierarchy)
    names = {name: v for v, name in enumerate(hierarchy.names)}
    generalized = deleted = 0
    for row, out in zip(rows, published, strict=True):
        for leaf in row:
            token = rules[hierarchy.labels[leaf]]
            if token in out:
                below = len(tree.leaves(names[token]))
                generalized += below if below > 1 else 0
            else:
                deleted += 1
    return generalized, deleted


@settings(max_examples=250, deadline=None)
@given(worlds(max_rows=18), shares)
def test_promise_budget_truth_and_loss(world, share):
    hierarchy, rows, k, m = world
    baskets = baskets_of(rows, hierarchy)
    recoding = hybrid(baskets, KmAnonymity(k, m), hierarchy, Options(price="ncp", suppress=share))
    published = list(recoding.apply(baskets))
    total = sum(map(len, rows))
    rules = dict(recoding.rules())

    assert naive.is_km_anonymous(published, k, m)
    for row, out in zip(baskets.rows(), published, strict=True):
        assert out <= {rules[name] for name in row}  # nothing is invented

    occurrences = np.zeros(hierarchy.n_leaves, np.int64)
    occurrences[hierarchy.leaves_of(baskets.vocabulary)] = baskets.supports()
    loss = ncp(recoding.cut, occurrences, recoding.deletions_by_leaf(baskets))
    generalized, deleted = recomputed(hierarchy, rows, recoding, published)
    scale = max(1, total * hierarchy.n_leaves)
    assert loss["generalized"] == pytest.approx(generalized / scale)
    assert loss["deleted"] == pytest.approx(deleted / max(1, total))
    assert loss["ncp"] == pytest.approx(loss["generalized"] + loss["deleted"])
    assert deleted <= share * total + 1e-9
    assert recoding.bound <= loss["ncp"] + 1e-12

    paper = exact(baskets, KmAnonymity(k, m), hierarchy, Options(price="ncp", suppress=share))
    assert loss["ncp"] <= ncp(paper.cut, occurrences)["ncp"] + 1e-12


@settings(max_examples=150, deadline=None)
@given(worlds(max_rows=18), shares)
def test_no_single_deleted_occurrence_could_return(world, share):
    hierarchy, rows, k, m = world
    baskets = baskets_of(rows, hierarchy)
    recoding = hybrid(baskets, KmAnonymity(k, m), hierarchy, Options(price="ncp", suppress=share))
    if recoding.deletions is None:
        return
    published = list(recoding.apply(baskets))
    for row, node in zip(recoding.deletions.row.tolist(), recoding.deletions.node.tolist(), strict=True):
        token = hierarchy.names[node]
        assert token not in published[row]
        with_it = [out | {token} if i == row else out for i, out in enumerate(published)]
        assert not naive.is_km_anonymous(with_it, k, m)


@settings(max_examples=150, deadline=None)
@given(worlds(max_rows=14), st.data())
def test_deletion_under_any_cut_keeps_the_promise_and_returns_what_it_can(world, data):
    """The step by itself: whatever the cut, what is left is safe, maximal, and counted as a slow recount counts it."""
    hierarchy, rows, k, m = world
    baskets = baskets_of(rows, hierarchy)
    tree = naive_tree(hierarchy)
    cut = data.draw(st.sampled_from(list(tree.cuts())))
    node = np.array([next(v for v in cut if leaf in tree.leaves(v)) for leaf in range(hierarchy.n_leaves)], np.int32)
    contracted = _Contracted(hierarchy)
    state = _State(
        Problem(baskets, KmAnonymity(k, m), hierarchy, price="ncp"),
        contracted,
        contracted.down[node],
        np.zeros(1, np.int64),
        1e9,
    )
    deletions = state.deletions()
    gone = set(zip(deletions.row.tolist(), deletions.node.tolist(), strict=True))
    full = [{int(contracted.down[node[leaf]]) for leaf in row} for row in rows]
    left = [{v for v in row if (i, v) not in gone} for i, row in enumerate(full)]
    assert naive.is_km_anonymous(left, k, m)
    for i, v in gone:
        assert not naive.is_km_anonymous([row | {v} if j == i else row for j, row in enumerate(left)], k, m)
    loss = deleted = 0
    for row, out in zip(rows, left, strict=True):
        for leaf in row:
            v = int(contracted.down[node[leaf]])
            below = len(tree.leaves(v))
            deleted += v not in out
            loss += hierarchy.n_leaves if v not in out else below if below > 1 else 0
    assert (state.loss, state.deleted) == (loss, deleted)


def hitting_tokens(sets, weights):
    """What goes of a row with these tokens 0, 1, ..., whose sets of up to three are rare."""
    n, m = len(weights), 3
    occ = np.full(len(sets) * m, -1, np.int32)
    for i, members in enumerate(sets):
        occ[i * m : i * m + len(members)] = sorted(members)
    row = np.append(np.arange(n), -1).astype(np.int32)
    under = LeafRows(np.zeros((0, 2), np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32))
    nothing = np.zeros(0, np.int64)
    weight = np.append(weights, 0).astype(np.int32)
    rows = TokenRows(np.array([0, n]), row, weight, nothing, np.ones(n + 1, np.bool_), under, nothing, 2, m)
    scratch = new_scratch(n, 1, m)
    choice = Choice(np.arange(n, dtype=np.int32), np.ones(n, np.int32), 0)
    places = hitting_places(rows, scratch, np.zeros(len(sets), np.int32), occ, choice)
    assert not scratch.hits.any()
    return places.tolist()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=3), min_size=1, max_size=12),
    st.lists(st.integers(1, 4), min_size=7, max_size=7),
)
def test_hitting_sets_hit_everything_and_hold_nothing_needless(sets, weights):
    taken = set(hitting_tokens(sets, weights))
    assert all(members & taken for members in sets)
    assert not any(all(members & (taken - {t}) for members in sets) for t in taken)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 300), st.sampled_from([5, 40, 200]))
def test_hitting_sets_are_those_of_the_plain_greedy_choice(seed, n_sets, n_tokens):
    """However many tokens there are to choose from: beyond a few, a heap finds the best."""
    rng = np.random.default_rng(seed)
    sets = [set(rng.integers(0, n_tokens, rng.integers(1, 4)).tolist()) for _ in range(n_sets)]
    weights = rng.integers(1, 9, n_tokens)
    taken, left = [], list(sets)
    while left:
        share = {t: Fraction(sum(t in one for one in left), int(weights[t])) for t in range(n_tokens)}
        taken.append(min(share, key=lambda t: (-share[t], t)))
        left = [one for one in left if taken[-1] not in one]
    for t in list(taken):
        if all(one & (set(taken) - {t}) for one in sets):
            taken.remove(t)
    assert hitting_tokens(sets, weights) == sorted(taken)


def skewed(rng, rows, items):
    weight = 1 / np.arange(1, items + 1)
    weight /= weight.sum()
    return Baskets.from_rows(
        [
            *(map(str, set(rng.choice(items, rng.integers(1, 8), p=weight).tolist())) for _ in range(rows)),
            map(str, range(items)),
        ]
    )


def test_deleting_saves_what_generalizing_would_lose():
    baskets = skewed(np.random.default_rng(5), 1500, 60)
    tree = balanced_tree(baskets.vocabulary, 4)
    both = hybrid(baskets, KmAnonymity(5, 2), tree, Options(price="ncp", suppress=0.3))
    paper = exact(baskets, KmAnonymity(5, 2), tree, Options(price="ncp"))
    occurrences = baskets.supports()
    assert ncp(both.cut, occurrences, both.deletions_by_leaf(baskets))["ncp"] < ncp(paper.cut, occurrences)["ncp"]
    shares = both.deleted_shares(baskets)
    assert shares
    assert set(shares) <= set(both.apply(baskets).vocabulary)
    assert all(0 < share < 1 for share in shares.values())


def test_threads_do_not_change_the_answer():
    baskets = skewed(np.random.default_rng(8), 1200, 50)
    tree = balanced_tree(baskets.vocabulary, 4)
    one, two = (
        hybrid(baskets, KmAnonymity(4, 3), tree, Options(price="ncp", suppress=0.2, threads=t)).apply(baskets)
        for t in (1, 2)
    )
    assert one == two


def test_a_time_limit_returns_an_answer_that_keeps_the_promise():
    baskets = skewed(np.random.default_rng(9), 800, 50)
    recoding = hybrid(
        baskets,
        KmAnonymity(5, 2),
        balanced_tree(baskets.vocabulary, 4),
        Options(price="ncp", suppress=0.2, time_limit=1e-9),
    )
    assert KmAnonymity(5, 2).audit(recoding.apply(baskets)).holds


def test_more_than_all_transactions_cannot_hide_anyone():
    baskets = Baskets.from_rows([["a"], ["a", "b"]])
    with pytest.raises(Unreachable):
        hybrid(baskets, KmAnonymity(3, 2), balanced_tree(baskets.vocabulary, 2), Options(price="ncp", suppress=0.5))
