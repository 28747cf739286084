"""Random histories of batches: every batch and every stack keeps the promise, and each row is published once or waits."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import naive_series
import shoal
from shoal.algorithms.recoding import Options
from shoal.errors import InputError
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets
from shoal.series.batches import Waiting, cut_names, cut_of, grown_tree, next_batch, series_tree
from shoal.series.holding import exposed_rows, going_out, publishable
from strategies import baskets_of, transactions, trees, worlds

ASKED = dict.fromkeys(("algorithm", "hierarchy", "suppress", "price", "unknown"))


@st.composite
def histories(draw):
    """A tree, a promise, and the rows of some batches."""
    tree = draw(trees(2, 7))
    batches = draw(st.lists(transactions(tree.n_leaves, 9), min_size=1, max_size=4))
    asked = {"suppress": draw(st.sampled_from((0.0, 0.1, 0.4))), "hierarchy": tree}
    asked["algorithm"] = "exact" if asked["suppress"] == 0 and draw(st.booleans()) else "hybrid"
    return tree, draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(0, 2)), ASKED | asked, batches


@given(worlds())
@settings(max_examples=60)
def test_the_largest_set_of_rows_is_found(world):
    _, rows, k, m = world
    tokens = Baskets.from_rows([[str(i) for i in row] for row in rows])
    promise = shoal.KmAnonymity(k, m)
    stays = publishable(tokens, promise, 1)
    assert set(np.flatnonzero(stays).tolist()) == naive_series.publishable([frozenset(row) for row in rows], k, m)


@given(worlds(), st.data())
@settings(max_examples=60)
def test_the_largest_set_of_rows_is_found_in_people(world, data):
    _, rows, k, m = world
    people = data.draw(st.lists(st.integers(0, 5), min_size=len(rows), max_size=len(rows)))
    tokens = replace(Baskets.from_rows([[str(i) for i in row] for row in rows]), people=np.array(people, np.int32))
    stays = publishable(tokens, shoal.KmAnonymity(k, m), 1)
    told = naive_series.publishable([frozenset(row) for row in rows], k, m, people)
    assert set(np.flatnonzero(stays).tolist()) == told


@given(worlds())
@settings(max_examples=40)
def test_exposed_rows_are_those_with_a_rare_set(world):
    _, rows, k, m = world
    supports = naive.itemset_supports(rows, m)
    told = [any(supports[s] < k for s in naive.itemset_supports([row], m)) for row in rows]
    tokens = Baskets.from_rows([[str(i) for i in row] for row in rows])
    assert exposed_rows(tokens, shoal.KmAnonymity(k, m), 1).tolist() == told


@given(worlds(min_leaves=2), st.sampled_from((0.0, 0.2, 0.5)), st.integers(0, 2**14 - 1))
@settings(max_examples=60)
def test_what_goes_out_keeps_the_promise_within_the_budget(world, suppress, late):
    tree, rows, k, m = world
    baskets, promise = baskets_of(rows, tree), shoal.KmAnonymity(k, m)
    overdue = np.array([bool(late >> i & 1) for i in range(len(rows))])
    before = Cut.leaves(tree)
    going = going_out(baskets, promise, before, overdue, Options(suppress=suppress, threads=1), "hybrid")
    out = baskets.take(going.rows)
    published = [set(row) for row in going.recoding.apply(out, 1).rows()]
    assert naive.is_km_anonymous(published, k, m)
    lost = int(going.recoding.deletions_by_leaf(out).sum())
    assert lost <= suppress * out.occurrences + 1e-9
    if sum(map(bool, rows)) >= k:
        assert set(np.flatnonzero(overdue).tolist()) <= set(going.rows.tolist())
    assert np.all(tree.leaf_count[going.recoding.cut.node] >= tree.leaf_count[before.node])
    # No row that waits could go out beside the others as it is.
    left = [i for i in range(len(rows)) if i not in set(going.rows.tolist())]
    as_it_is = going.recoding.cut.lowest().node
    tokens = [{tree.names[as_it_is[leaf]] for leaf in rows[i]} for i in left]
    assert naive_series.publishable([*map(frozenset, published), *map(frozenset, tokens)], k, m) == set(
        range(len(published))
    )


@given(histories())
@settings(max_examples=50)
def test_every_batch_and_every_stack_keeps_the_promise(history):
    tree, k, m, wait, asked, batches = history
    promise, state = shoal.KmAnonymity(k, m), {}
    came, out, published, cut = [], [], [], None
    for number, rows in enumerate(batches):
        new = baskets_of(rows, tree)
        came += [set(row) for row in new.rows()]
        batch = next_batch(state, new, promise, asked, Options(threads=1), wait)
        again = next_batch(state, new, promise, asked, Options(threads=1), wait)
        assert batch.state == again.state
        state = json.loads(json.dumps(batch.state))
        if batch.going is not None:
            rows_out = [set(row) for row in batch.going.recoding.apply(batch.rows, 1).rows()]
            assert naive.is_km_anonymous(rows_out, k, m)
            published += rows_out
            now = batch.going.recoding.cut
            assert cut is None or np.all(tree.leaf_count[now.node] >= tree.leaf_count[cut.node])
            assert batch.cut_changed == (cut is not None and cut_names(now) != cut_names(cut))
            cut = now
        out += [set(row) for row in batch.rows.rows()]
        waiting = Waiting.of(state)
        assert naive_series.multiset([*out, *waiting.baskets.rows()]) == naive_series.multiset(came)
        assert batch.waiting == len(waiting.ages) == sum(batch.ages.values())
        if batch.going is not None:
            assert max(waiting.ages, default=0) <= max(wait, 1) * (wait > 0)
        today = series_tree(state)
        if today is not None:
            assert cut_names(today[1]) == cut_names(cut)
            assert naive.is_km_anonymous(naive_series.expressed(tree, cut, published), k, m), number


@given(histories(), st.data())
@settings(max_examples=80)
def test_every_batch_and_every_stack_keeps_the_promise_in_people(history, data):
    """Rows are named by who came when, so that it shows whose goes out: a person who waits is the same person in a later batch."""
    tree, k, m, wait, asked, batches = history
    promise, state = shoal.KmAnonymity(k, m, of_people=True), {}
    came, out, stacked, whose, now = [], [], [], [], None
    for number, rows in enumerate(batches):
        names = data.draw(st.lists(st.sampled_from("abcde"), min_size=len(rows), max_size=len(rows)))
        marks, people = np.unique(names, return_inverse=True)
        new = replace(baskets_of(rows, tree), people=people.astype(np.int32))
        came += [(name, frozenset(row)) for name, row in zip(names, new.rows(), strict=True)]
        batch = next_batch(state, new, promise, asked, Options(threads=1), wait, marks.tolist())
        before, state = Waiting.of(state), json.loads(json.dumps(batch.state))
        waiting = Waiting.of(state)
        assert set(waiting.marks) == {waiting.marks[person] for person in waiting.baskets.people.tolist()}
        known = dict.fromkeys([*before.marks, *marks.tolist()])
        owners = [list(known)[person] for person in batch.rows.people.tolist()]
        out += zip(owners, map(frozenset, batch.rows.rows()), strict=True)
        left = [
            (waiting.marks[p], frozenset(row))
            for p, row in zip(waiting.baskets.people, waiting.baskets.rows(), strict=True)
        ]
        assert Counter([*out, *left]) == Counter(came)
        if batch.going is not None:
            published = [frozenset(row) for row in batch.going.recoding.apply(batch.rows, 1).rows()]
            assert naive.is_km_anonymous(published, k, m, owners)
            assert promise.audit(batch.going.recoding.apply(batch.rows, 1)).holds
            now = batch.going.recoding.cut
            stacked, whose = stacked + published, whose + owners
            assert max(waiting.ages, default=0) <= max(wait, 1) * (wait > 0)
        if now is not None:
            assert naive.is_km_anonymous(naive_series.expressed(tree, now, stacked), k, m, whose), number


def test_a_row_that_waits_and_a_new_one_of_the_same_person_are_one_person():
    tree = Hierarchy.from_parents([2, 2, -1], ["brie", "rye", "food"])
    promise, asked = shoal.KmAnonymity(3, 1, of_people=True), ASKED | {"hierarchy": tree, "suppress": 0.0}

    def then(state, *rows):
        names = sorted({name for name, _ in rows})
        people = np.array([names.index(name) for name, _ in rows], np.int32)
        new = replace(Baskets.from_rows([[item] for _, item in rows]), people=people)
        return next_batch(state, new, promise, asked, Options(), 9, names)

    first = then({}, *((name, item) for name in "abc" for item in ("brie", "brie", "rye")))
    second = then(first.state, ("d", "brie"), ("e", "brie"), ("e", "brie"))
    assert (len(first.rows), len(second.rows), second.waiting) == (9, 0, 3)
    same = then(second.state, ("d", "brie"))
    assert (len(same.rows), same.waiting) == (0, 4)
    another = then(second.state, ("f", "brie"))
    assert (len(another.rows), another.waiting) == (4, 0)


def test_rows_that_have_waited_long_enough_make_the_cut_coarser():
    tree = Hierarchy.from_parents([3, 3, 4, 4, -1], ["brie", "feta", "rye", "cheese", "food"])
    promise = shoal.KmAnonymity(3, 1)
    asked = ASKED | {"hierarchy": tree, "suppress": 0.0, "algorithm": "exact"}
    first = Baskets.from_rows([["brie"]] * 3 + [["feta"]] * 3 + [["rye"]] * 3)
    batch = next_batch({}, first, promise, asked, Options(), 1)
    assert (len(batch.rows), batch.cut_changed) == (9, False)
    batch = next_batch(batch.state, Baskets.from_rows([["brie"]] * 4 + [["feta"]]), promise, asked, Options(), 1)
    assert (len(batch.rows), batch.ages, batch.cut_changed) == (4, {"1": 1}, False)
    batch = next_batch(batch.state, Baskets.from_rows([["brie"]] * 4), promise, asked, Options(), 1)
    assert (len(batch.rows), batch.waiting, batch.cut_changed) == (5, 0, True)
    assert set(cut_names(batch.going.recoding.cut)) == {"cheese", "rye"}


def test_a_tree_may_grow_and_not_change():
    tree = Hierarchy.from_parents([3, 3, 4, 4, -1], ["brie", "feta", "rye", "cheese", "food"])
    baskets = Baskets.from_rows([["brie", "gouda"]])
    wider = Hierarchy.from_parents([4, 4, 4, 5, 5, -1], ["brie", "feta", "gouda", "rye", "cheese", "food"])
    grown, notes = grown_tree(tree, wider, baskets, None)
    assert grown.labels == wider.labels
    assert not notes
    cut = cut_of(grown, ["cheese", "rye"])
    assert {grown.names[v] for v in cut.node[grown.leaves_of(["brie", "gouda"])]} == {"cheese"}
    hung, notes = grown_tree(tree, "balanced:2", baskets, None)
    assert hung.parent[hung.leaf_called["gouda"]] == hung.root
    assert "1 item that the series did not know hangs under the root" in notes[0]
    moved = Hierarchy.from_parents([4, 5, 4, 5, 5, -1], ["brie", "feta", "gouda", "rye", "cheese", "food"])
    with pytest.raises(InputError, match="moves, renames or lacks"):
        grown_tree(tree, moved, baskets, None)
