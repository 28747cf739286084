"""joint: its prices, its tree of classes and its parts against naive twins; never worse than the algorithms that it starts from."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.algorithms.km.local import local_in_parts
from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.weighing.class_tree import grow
from shoal.algorithms.rt.weighing.column_price import ColumnPrice
from shoal.errors import Unreachable
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.build import balanced_tree
from shoal.loss.fates import column_fates
from shoal.loss.relational import space
from shoal.loss.worth import columns_worth
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records

ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from("abc"), st.sets(st.sampled_from("PQRSTUVW"), max_size=4)),
    min_size=6,
    max_size=30,
)


def table_of(rows) -> Records:
    columns = (
        Column.from_texts("age", "quasi", [str(age) for age, _, _ in rows], numeric=True),
        Column.from_texts("town", "quasi", [town for _, town, _ in rows], numeric=False),
    )
    return Records(columns, Baskets.from_rows(sorted(items) for _, _, items in rows))


@settings(max_examples=40, deadline=None)
@given(ROWS, st.integers(1, 3), st.integers(1, 3), st.sampled_from([0.0, 0.2, 1.0]), st.data())
def test_every_part_keeps_the_promise_by_itself_within_the_budget(rows, k, m, suppress, data):
    items = Baskets.from_rows(sorted(items) for _, _, items in rows)
    if not items.occurrences:
        return
    part = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))))
    filled = np.bincount(part, items.lengths > 0, minlength=3)
    part[np.isin(part, np.flatnonzero((filled > 0) & (filled < k)))] = int(np.argmax(filled))
    filled = np.bincount(part, items.lengths > 0, minlength=3)
    if ((filled > 0) & (filled < k)).any():
        return
    tree = balanced_tree(items.vocabulary, 2)
    node = local_in_parts(items, part, KmAnonymity(k, m), tree, Options(suppress=suppress))
    assert np.count_nonzero(node < 0) <= suppress * items.occurrences + 1e-9
    tokens = [set(node[a:b].tolist()) - {-1} for a, b in itertools.pairwise(items.offsets.tolist())]
    held: Counter[tuple[int, ...]] = Counter()
    for p, row in zip(part.tolist(), tokens, strict=True):
        held.update((p, *some) for size in range(1, m + 1) for some in itertools.combinations(sorted(row), size))
    assert all(times >= k for times in held.values())
    for leaf, v in zip(tree.leaves_of(items.vocabulary)[items.items].tolist(), node.tolist(), strict=True):
        assert v < 0 or tree.span[v, 0] <= tree.span[leaf, 0] < tree.span[v, 1]


@settings(max_examples=40, deadline=None)
@given(ROWS, st.integers(1, 4), st.data())
def test_a_price_learns_what_the_columns_of_a_partition_lose(rows, n, data):
    table = table_of(rows)
    of_row = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=len(rows), max_size=len(rows))), np.int32)
    of_row = np.unique(of_row, return_inverse=True)[1].astype(np.int32)
    laid, classes = space(table, {}), int(of_row.max()) + 1
    boxes = laid.boxes(of_row, classes)
    keys, times = np.unique(of_row * len(laid.points) + laid.tuple_of, return_counts=True)
    pair = keys // len(laid.points), keys % len(laid.points), times
    price = ColumnPrice(laid)
    lost = price.learn(boxes, *pair)
    published = [
        Column.from_texts(column.name, "quasi", [laid.text_of(j, boxes[c]) for c in of_row.tolist()], numeric=False)
        for j, column in enumerate(laid.columns)
    ]
    fates = {one.name: column_fates(column, one) for column, one in zip(laid.columns, published, strict=True)}
    assert lost == pytest.approx(columns_worth(fates).lost["info"], abs=1e-9)
    # Of what it has learned, the sum over classes is the whole.
    assert price.of_pairs(boxes, *pair).sum() == pytest.approx(lost, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(ROWS, st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_pruning_is_the_cheapest_of_all_prunings(rows, k, lots):
    laid = space(table_of(rows), {})
    tree = grow(laid, lambda tuples: laid.sizes[tuples].sum() >= k)
    cost = np.array([lots.random() * len(tuples) for tuples in tree.tuples])

    def least(v: int) -> float:
        halves = tree.halves[v]
        return min(cost[v], math.inf if halves is None else least(halves[0]) + least(halves[1]))

    nodes = tree.cheapest_pruning(cost)
    assert cost[nodes].sum() == pytest.approx(least(0))
    inside = np.concatenate([tree.tuples[v] for v in nodes.tolist()])
    assert sorted(inside.tolist()) == list(range(len(laid.points)))
    assert all(laid.sizes[tree.tuples[v]].sum() >= k for v in range(1, len(tree)))


@settings(max_examples=12, deadline=None)
@given(ROWS, st.integers(2, 3), st.sampled_from([0.2, 0.5, 0.8]))
def test_joint_is_never_worse_than_what_it_starts_from(rows, k, balance):
    table, promise = table_of(rows), shoal.RTAnonymity(k, 2)
    if not table.items.occurrences:
        return
    trees = {"items": "balanced:2"}
    try:
        found = shoal.anonymize(table, promise, hierarchy=trees, balance=balance)
    except Unreachable:
        return
    assert found.algorithm == "joint"
    for name in ALGORITHMS["rt"]:
        for formation in ("cluster", "mondrian") if name == "rfirst" else ("cluster",):
            if name == "joint":
                continue
            try:
                other = shoal.anonymize(table, promise, hierarchy=trees, algorithm=name, formation=formation)
            except Unreachable:
                continue
            columns, items = (other.loss[f"info_{side}"] for side in ("columns", "items"))
            assert found.loss["info"] <= balance * columns + (1 - balance) * items + 1e-9


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc")), min_size=2, max_size=6, unique=True),
    st.integers(2, 3),
    st.data(),
)
def test_columns_that_occur_k_times_stay_as_they_are_when_only_columns_count(pairs, k, data):
    items = st.sets(st.sampled_from("PQRS"), min_size=1)
    rows = [(*pair, data.draw(items)) for pair in pairs for _ in range(data.draw(st.integers(k, k + 2)))]
    found = shoal.anonymize(table_of(rows), shoal.RTAnonymity(k, 2), hierarchy={"items": "balanced:2"}, balance=1)
    assert found.loss["info_columns"] == 0


def test_the_balance_decides_which_side_stays_finer():
    rng = np.random.default_rng(0)
    rows = [
        (int(age), "abc"[int(rng.integers(3))], {f"i{int(x) % 30}" for x in rng.exponential(10 + age, 3)})
        for age in rng.integers(0, 40, 1500)
    ]
    losses = {
        balance: shoal.anonymize(
            table_of(rows), shoal.RTAnonymity(5, 2), hierarchy={"items": "balanced:3"}, balance=balance
        ).loss
        for balance in (0.05, 0.95)
    }
    assert losses[0.95]["info_columns"] < losses[0.05]["info_columns"]
    assert losses[0.95]["info_items"] > losses[0.05]["info_items"]
