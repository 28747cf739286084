"""split and its kernels: the best split of an order, exchanges that only lower the loss, reductions that lose nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_split
from shoal.algorithms.recoding import Options
from shoal.algorithms.transactions.reassignment import (
    WIDER,
    Partition,
    along_tour,
    exchange_rows,
    group_bounds,
    split_large,
)
from shoal.algorithms.transactions.split import split
from shoal.algorithms.transactions.working import often_repeated, working_rows
from shoal.errors import Unreachable
from shoal.kernels.classes.bitmaps import packed_bitmaps
from shoal.kernels.classes.bounds import nearest_sum
from shoal.kernels.classes.centres import class_centres
from shoal.kernels.classes.exchange import CLASSES, improve
from shoal.kernels.classes.gray import gray_order
from shoal.kernels.classes.majority import join_row, leave_row
from shoal.kernels.classes.orders import dense_gray_order, tree_order
from shoal.kernels.classes.splitting import best_split
from shoal.records.baskets import Baskets
from shoal.records.samples.quest import quest


@dataclass(frozen=True)
class Promise:
    k: int


NO_BITMAPS = np.zeros((0, 0), np.uint64)


def csr(rows):
    """Rows of item numbers as (offsets, items)."""
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    items = np.array([x for row in rows for x in sorted(row)], np.int32)
    offsets.setflags(write=False)  # as in Baskets: kernels are compiled for such arrays
    items.setflags(write=False)
    return offsets, items


def baskets_from(rows):
    return Baskets.from_rows([str(x) for x in row] for row in rows)


def class_rows(rows, of_row):
    return [[rows[i] for i in np.flatnonzero(of_row == c)] for c in range(of_row.max() + 1)]


def lost(rows, classes):
    """The loss of the classes as recomputed from the rows and the centres that would be published."""
    centres = list(classes.centres)
    return sum(len({str(x) for x in row} ^ centres[c]) for row, c in zip(rows, classes.of_row.tolist(), strict=True))


def data(max_rows=40, n_items=8, min_rows=1):
    """Random rows, often with many equal or empty ones."""
    one = st.sets(st.integers(0, n_items - 1))
    few = st.lists(one, min_size=1, max_size=4).flatmap(
        lambda kinds: st.lists(st.sampled_from(kinds), min_size=min_rows, max_size=max_rows)
    )
    return st.lists(one, min_size=min_rows, max_size=max_rows) | few


@settings(max_examples=150, deadline=None)
@given(data(12), st.randoms(use_true_random=False))
def test_loss_is_kept_as_rows_join_and_leave(rows, random):
    offsets, items = csr(rows)
    count, having = np.zeros((1, 8), np.int32), np.zeros((1, 20), np.int32)
    inside, loss, major = [], 0, 0
    for _ in range(30):
        away = [i for i in range(len(rows)) if i not in inside]
        if away and (not inside or random.random() < 0.6):
            i = random.choice(away)
            loss, major = join_row(offsets, items, i, count, having, 0, len(inside), loss, major)
            inside.append(i)
        else:
            i = random.choice(inside)
            loss, major = leave_row(offsets, items, i, count, having, 0, len(inside), loss, major)
            inside.remove(i)
        members = [rows[j] for j in inside]
        assert loss == (naive_split.loss(members) if members else 0)
        assert major == (len(naive_split.centre(members)) if members else 0)


@settings(max_examples=150, deadline=None)
@given(data(13, min_rows=2), st.integers(1, 4), st.booleans())
def test_split_of_an_order_is_the_best_of_all(rows, k, dense):
    k = min(k, len(rows))
    offsets, items = csr(rows)
    bitmaps = packed_bitmaps(offsets, items, 8) if dense else NO_BITMAPS
    bounds, losses = best_split(offsets, items, bitmaps, np.arange(len(rows), dtype=np.int32), 8, k)
    assert (bounds[0], bounds[-1]) == (0, len(rows))
    parts = [rows[a:b] for a, b in pairwise(bounds.tolist())]
    assert all(k <= len(part) < 2 * k for part in parts)
    assert losses.tolist() == [naive_split.loss(part) for part in parts]
    assert losses.sum() == naive_split.best_split_loss(rows, k)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize(("n", "k"), [(33, 33), (65, 33), (70, 40), (500, 100), (999, 37), (6000, 2), (4500, 16)])
def test_split_of_a_long_order_keeps_to_k_and_counts_right(n, k, dense):
    rng = np.random.default_rng(n)
    rows = [set(np.flatnonzero(rng.random(70) < 0.3).tolist()) for _ in range(n)]
    offsets, items = csr(rows)
    bitmaps = packed_bitmaps(offsets, items, 70) if dense else NO_BITMAPS
    bounds, losses = best_split(offsets, items, bitmaps, np.arange(n, dtype=np.int32), 70, k)
    parts = [rows[a:b] for a, b in pairwise(bounds.tolist())]
    assert min(map(len, parts)) >= k
    assert losses.tolist() == [naive_split.loss(part) for part in parts]
    again, _ = best_split(offsets, items, bitmaps, np.arange(n, dtype=np.int32), 70, k, threads=1)
    assert again.tolist() == bounds.tolist()


@settings(max_examples=150, deadline=None)
@given(data(40, min_rows=2), st.integers(1, 9), st.integers(1, 5))
def test_split_along_a_grid_keeps_to_k_and_counts_right(rows, k, grid):
    k = min(k, len(rows))
    offsets, items = csr(rows)
    bounds, losses = best_split(offsets, items, NO_BITMAPS, np.arange(len(rows), dtype=np.int32), 8, k, 1, grid)
    parts = [rows[a:b] for a, b in pairwise(bounds.tolist())]
    assert (bounds[0], bounds[-1]) == (0, len(rows))
    assert min(map(len, parts)) >= k
    assert losses.tolist() == [naive_split.loss(part) for part in parts]


@settings(max_examples=150, deadline=None)
@given(data(30), st.integers(0, 3))
def test_tree_order_lists_the_leaves_of_the_tree(rows, seed):
    offsets, items = csr(rows)
    favour = (1 - 0.5 * np.random.default_rng(seed).random(8)).astype(np.float32) if seed else np.ones(8, np.float32)
    order = tree_order(offsets, items, 8, favour)
    assert sorted(order.tolist()) == list(range(len(rows)))
    at = 0
    for leaf in naive_split.tree_leaves(rows, favour):
        ours = [rows[i] for i in order[at : at + len(leaf)].tolist()]
        assert sorted(map(sorted, ours)) == sorted(map(sorted, leaf))
        at += len(leaf)


@settings(max_examples=60, deadline=None)
@given(data(30, min_rows=6), st.data())
def test_tree_order_of_parts_is_a_tree_for_each(rows, draw):
    offsets, items = csr(rows)
    cut = draw.draw(st.integers(0, len(rows)))
    order = tree_order(offsets, items, 8, sizes=np.array([cut, len(rows) - cut]))
    ours = [rows[i] for i in order.tolist()]
    ones = np.ones(8, np.float32)
    leaves = naive_split.tree_leaves(rows[:cut], ones) + naive_split.tree_leaves(rows[cut:], ones, True)
    for leaf in leaves:
        assert sorted(map(sorted, ours[: len(leaf)])) == sorted(map(sorted, leaf))
        ours = ours[len(leaf) :]


@settings(max_examples=200, deadline=None)
@given(data(40, min_rows=4), st.integers(1, 5), st.booleans(), st.integers(0, 2**32 - 1))
def test_exchange_never_raises_the_loss(rows, k, dense, seed):
    k = min(k, len(rows))
    offsets, items = csr(rows)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(rows)).astype(np.int32)
    sizes = [k] * (len(rows) // k)
    sizes[-1] += len(rows) % k
    bounds = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    before = sum(naive_split.loss([rows[i] for i in order[a:b]]) for a, b in pairwise(bounds.tolist()))
    bitmaps = packed_bitmaps(offsets, items, 8) if dense else NO_BITMAPS
    new_sizes, losses = improve(
        offsets, items, bitmaps, 8, k, order, bounds, 0, len(sizes), 2 + 2 * (seed % 3 == 0), seed % 2 == 0
    )
    ends = np.cumsum(new_sizes)
    parts = np.split(order, ends[:-1])
    assert sorted(order.tolist()) == list(range(len(rows)))
    assert ends[-1] == len(rows)
    assert min(map(len, parts)) >= k
    assert losses.tolist() == [naive_split.loss([rows[i] for i in part.tolist()]) for part in parts]
    assert losses.sum() <= before


@settings(max_examples=100, deadline=None)
@given(data(40, min_rows=4), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_tours_keep_the_classes_and_splitting_again_never_loses(rows, k, seed):
    k = min(k, len(rows))
    held = working_rows(baskets_from(rows), k)
    rng = np.random.default_rng(seed)
    sizes = [k * int(rng.integers(1, 4))]
    while sum(sizes) + k <= len(held):
        sizes.append(k * int(rng.integers(1, 4)))
    sizes[-1] += len(held) - sum(sizes)
    if sizes[-1] < k:
        sizes = [len(held)]
    order = rng.permutation(len(held)).astype(np.int32)
    bounds = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)

    def losses(order, bounds):
        centres = class_centres(held.offsets, held.items, held.n_items, order.astype(np.int64), bounds)
        return (centres.added + centres.removed).tolist()

    def sets(partition):
        return {frozenset(partition.order[a:b].tolist()) for a, b in pairwise(partition.bounds.tolist())}

    start = Partition(order, bounds, np.array(losses(order, bounds)))

    tour = along_tour(held, start, np.ones(held.n_items, np.float32), 1)
    assert sets(tour) == sets(start)
    again = split_large(held, tour, k, 1)
    assert again.losses.tolist() == losses(again.order, again.bounds)
    assert again.loss <= start.loss
    assert sorted(again.order.tolist()) == list(range(len(held)))
    assert k <= np.diff(again.bounds).min() <= np.diff(again.bounds).max() < 2 * k
    end = exchange_rows(held, again, k, True, False, 1)
    assert end.losses.tolist() == losses(end.order, end.bounds)
    assert end.loss <= again.loss


@settings(max_examples=100, deadline=None)
@given(data(40), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_what_is_left_out_loses_the_same_in_every_partition(rows, k, seed):
    k = min(k, len(rows))
    held = working_rows(baskets_from(rows), k)
    sources = np.concatenate([held.source, *held.settled])
    assert sorted(sources.tolist()) == list(range(len(rows)))
    for rest in held.settled:
        assert len(rest) >= k
        assert all(rows[i] == rows[rest[0]] for i in rest.tolist()) or held.constant > 0
    if held.settled:
        return
    order = np.random.default_rng(seed).permutation(len(rows)).astype(np.int32)
    sizes = [k] * (len(rows) // k)
    sizes[-1] += len(rows) % k
    bounds = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    whole = sum(naive_split.loss([rows[i] for i in order[a:b]]) for a, b in pairwise(bounds.tolist()))
    centres = class_centres(held.offsets, held.items, held.n_items, order.astype(np.int64), bounds)
    assert held.constant + centres.added.sum() + centres.removed.sum() == whole


@settings(max_examples=60, deadline=None)
@given(data(10, 5, min_rows=2), st.integers(2, 4))
def test_never_below_the_best_partition_and_the_bound_never_above_it(rows, k):
    k = min(k, len(rows))
    classes = split(baskets_from(rows), Promise(k), None, Options())
    least = naive_split.least_loss(rows, k)
    assert lost(rows, classes) >= least
    if classes.bound is not None:
        assert classes.bound > 0
        assert classes.bound * sum(map(len, rows)) <= least + 1e-9


@settings(max_examples=100, deadline=None)
@given(data(20, 6, min_rows=2), st.integers(2, 5))
def test_distances_to_nearest_others_are_summed_with_weights(rows, k):
    k = min(k, len(rows))
    kinds = sorted({frozenset(row) for row in rows}, key=sorted)
    weights = np.array([sum(row == kind for row in rows) for kind in kinds], np.int64)
    assert nearest_sum(packed_bitmaps(*csr(kinds), 6), weights, k, 1) == naive_split.nearest_sum(rows, k)


@settings(max_examples=150, deadline=None)
@given(data(60), st.integers(1, 9), st.integers(0, 2))
def test_classes_have_k_rows_majority_centres_and_do_not_depend_on_threads(rows, k, seed):
    k = min(k, len(rows))
    baskets = baskets_from(rows)
    one = split(baskets, Promise(k), None, Options(threads=1, seed=seed))
    two = split(baskets, Promise(k), None, Options(threads=2, seed=seed))
    assert one.of_row.tolist() == two.of_row.tolist()
    assert one.centres == two.centres
    assert len(one.of_row) == len(rows)
    assert set(one.of_row.tolist()) == set(range(len(one.centres)))
    for members, published in zip(class_rows(rows, one.of_row), one.centres, strict=True):
        assert len(members) >= k
        assert published == {str(x) for x in naive_split.centre(members)}
    assert one.algorithm == "split"


@pytest.mark.parametrize(
    "rows",
    [
        [set()] * 7,
        [{1, 2}] * 7,
        [set(), {1}, {2}, {3}, {1, 2, 3}, set(), {1}],
        [{1}] * 50 + [{2}] * 50 + [{3}],
        [set(range(300))] * 3 + [set(range(150, 400))] * 4,
    ],
)
@pytest.mark.parametrize("k", [1, 2, 3, 4, 7])
def test_small_and_uniform_data(rows, k):
    classes = split(baskets_from(rows), Promise(k), None, Options())
    assert min(map(len, class_rows(rows, classes.of_row))) >= k
    if len({frozenset(row) for row in rows}) == 1:
        assert lost(rows, classes) == 0


def test_often_repeated_transactions_lose_nothing():
    rows = [{1, 2}] * 100 + [{3}] * 200 + [{4, 5, 6}] * 20
    assert lost(rows, split(baskets_from(rows), Promise(5), None, Options())) == 0


def test_more_than_there_are_is_refused():
    with pytest.raises(Unreachable, match="only 3 transactions"):
        split(baskets_from([{1}, {2}, {3}]), Promise(4), None, Options())


@pytest.mark.parametrize(("n_items", "mean"), [(60, 12), (400, 6)])
def test_many_groups_give_the_same_with_any_number_of_threads(n_items, mean, monkeypatch):
    import shoal.algorithms.transactions.reassignment as reassignment

    monkeypatch.setattr(reassignment, "DENSE_GROUP", 16)
    monkeypatch.setattr(reassignment, "SPARSE_GROUP", 16)
    baskets = quest(2000, items=n_items, length=mean, seed=3)
    told = []
    one = split(baskets, Promise(6), None, Options(threads=1, progress=lambda text, share, **facts: told.append(share)))
    two = split(baskets, Promise(6), None, Options(threads=2))
    assert one.of_row.tolist() == two.of_row.tolist()
    assert np.bincount(one.of_row).min() >= 6
    assert told == sorted(told)
    assert 0 <= told[0] <= told[-1] <= 1


def test_a_time_limit_only_improves():
    baskets = quest(1500, items=80, length=6, seed=1)
    rows = [{int(x) for x in row} for row in baskets.rows()]
    quick = split(baskets, Promise(5), None, Options())
    longer = split(baskets, Promise(5), None, Options(time_limit=1.0))
    assert lost(rows, longer) <= lost(rows, quick)


def test_groups_cover_all_classes():
    held = working_rows(quest(500, items=50, length=5, seed=0), 3)
    for n_classes in (1, 2, 511, 5000, 12345):
        groups = group_bounds(held, n_classes, WIDER)
        assert (groups[0][0], groups[-1][1]) == (0, n_classes)
        assert all(a[1] == b[0] for a, b in pairwise(groups))
        assert max(b - a for a, b in groups) <= CLASSES


@settings(max_examples=60, deadline=None)
@given(data(20), st.integers(2, 5))
def test_often_repeated_rows_are_found(rows, often):
    offsets, items = csr(rows)
    found = {tuple(sorted(rows[run[0]])): run.tolist() for run in often_repeated(offsets, items, often, 1, 1)}
    places = {tuple(sorted(row)): [i for i, other in enumerate(rows) if other == row] for row in rows}
    assert found == {row: at[1:] for row, at in places.items() if len(at) >= often}


@settings(max_examples=60, deadline=None)
@given(data(30), st.integers(0, 9))
def test_gray_order_by_bitmaps_is_the_gray_order(rows, seed):
    offsets, items = csr(rows)
    rank = np.random.default_rng(seed).permutation(8).astype(np.int32)
    assert dense_gray_order(offsets, items, 8, rank).tolist() == gray_order(offsets, items, 8, rank).tolist()


def test_gray_order_by_bitmaps_of_several_words_is_the_gray_order():
    rng = np.random.default_rng(0)
    rows = [set(np.flatnonzero(rng.random(200) < 0.02).tolist()) for _ in range(3000)]
    offsets, items = csr(rows)
    rank = rng.permutation(200).astype(np.int32)
    assert dense_gray_order(offsets, items, 200, rank).tolist() == gray_order(offsets, items, 200, rank).tolist()


TARGETS = [
    ("mushroom/mushroom.dat.gz", 150, 0.70),
    ("chess/chess.dat.gz", 60, 0.85),
    ("bms_webview1/bms_webview1.dat.gz", 596, 0.90),
    ("accidents_head/accidents_first15224.dat.gz", 152, 0.95),
]


@pytest.mark.skipif(not os.environ.get("SHOAL_DATA"), reason="SHOAL_DATA names the folder of public data sets")
@pytest.mark.parametrize(("file", "segments", "share"), TARGETS)
def test_loses_clearly_less_than_pta_on_real_data(file, segments, share):
    import shoal
    from shoal.algorithms.transactions.pta import pta

    baskets = shoal.read(os.path.join(os.environ["SHOAL_DATA"], file))
    rows = [{int(x) for x in row} for row in baskets.rows()]
    theirs = lost(rows, pta(baskets, Promise(15), None, Options(segments=segments)))
    ours = split(baskets, Promise(15), None, Options())
    assert np.bincount(ours.of_row).min() >= 15
    assert lost(rows, ours) <= share * theirs
