"""Relational k-anonymity without items: CLUSTER, Mondrian and the better of the two, with distinct l-diversity."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rt_tables import HIERARCHIES, as_naive, as_records, column, example, tables
from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import RTOptions
from shoal.algorithms.rt.clusters import better_of_two, cluster, clusters, joined_alike, mondrian, rows_at_home
from shoal.algorithms.rt.mondrian import mondrian_parts
from shoal.errors import Unreachable
from shoal.guarantees.rt import RTAnonymity
from shoal.guarantees.table import TableAnonymity
from shoal.loss.fates import column_fates
from shoal.loss.relational import relational_ncp, space
from shoal.loss.worth import columns_worth
from shoal.records.baskets import Baskets
from shoal.records.records import Records

BOTH = {"cluster": cluster, "mondrian": mondrian}
ALL = BOTH | {"better-of-two": better_of_two}


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=100)
@given(tables(min_rows=2, max_rows=30), st.integers(2, 5))
def test_every_class_has_k_rows_and_the_loss_is_what_it_costs(name, rows, k):
    assume(len(rows) >= k)
    table, hierarchies = as_records(rows)
    bare = Records(table.columns)
    found = ALL[name](bare, TableAnonymity(k), hierarchies, Options())
    published = found.apply(bare)
    assert TableAnonymity(k).audit(published).holds
    assert published.items is None
    classes = [np.flatnonzero(found.of_row == c).tolist() for c in range(found.of_row.max() + 1)]
    assert found.ncp == pytest.approx(as_naive(rows).rum(classes))
    # Clusters that read alike are one, so every cluster is a class of its own.
    values = list(zip(*found.values.values(), strict=True))
    assert len(set(values)) == len(values) == found.facts["clusters"]


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=100)
@given(tables(min_rows=3, max_rows=20), st.integers(2, 3), st.data())
def test_classes_hold_l_different_sensitive_values(name, rows, l, data):  # noqa: E741
    table, hierarchies = as_records(rows)
    told = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(rows), max_size=len(rows)))
    bare = Records((*table.columns, column("told", told, "sensitive")))
    if len(set(told)) < l:
        with pytest.raises(Unreachable, match="different value"):
            ALL[name](bare, TableAnonymity(2, l), hierarchies, Options())
        return
    found = ALL[name](bare, TableAnonymity(2, l), hierarchies, Options())
    published = found.apply(bare)
    assert TableAnonymity(2, l).audit(published).holds
    assert published["told"].texts() == told


PROMISES = st.one_of(
    st.builds(TableAnonymity, st.just(2), st.integers(2, 3), l_kind=st.just("frequency")),
    st.builds(
        TableAnonymity, st.just(2), t=st.sampled_from([0.2, 0.5]), distance=st.sampled_from(["equal", "ordered"])
    ),
    st.builds(TableAnonymity, st.just(3), st.just(2), t=st.just(0.3), missing=st.just("value")),
)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=60)
@given(tables(min_rows=4, max_rows=20), PROMISES, st.data())
def test_classes_keep_what_is_promised_of_shares_and_distances(name, rows, promise, data):
    table, hierarchies = as_records(rows)
    value = st.sampled_from([None, 1, 2, 3, 3])
    told = data.draw(st.lists(value, min_size=len(rows), max_size=len(rows)))
    bare = Records((*table.columns, column("told", told, "sensitive", numeric=True)))
    everything = Records((column("one", ["x"] * len(rows)), bare["told"]))
    if not promise.audit(everything).holds:  # not even all rows together
        with pytest.raises(Unreachable, match="cannot be reached: column 'told'"):
            ALL[name](bare, promise, hierarchies, Options())
        return
    found = ALL[name](bare, promise, hierarchies, Options())
    assert promise.audit(found.apply(bare)).holds
    classes = [np.flatnonzero(found.of_row == c).tolist() for c in range(found.of_row.max() + 1)]
    assert found.ncp == pytest.approx(as_naive(rows).rum(classes))


@settings(max_examples=60)
@given(st.lists(st.sampled_from([None, 1, 2, 2, 5]), min_size=2, max_size=9), PROMISES, st.data())
def test_searches_and_the_audit_agree_on_what_a_class_lacks(told, promise, data):
    from shoal.algorithms.rt.demand import demand_of

    of_row = data.draw(st.lists(st.sampled_from("ab"), min_size=len(told), max_size=len(told)))
    records = Records((column("class", of_row), column("told", told, "sensitive", numeric=True)))
    try:
        demand = demand_of(records, promise)
    except Unreachable:
        return
    sizes = {c: of_row.count(c) for c in set(of_row)}
    for c in sizes:
        rows = np.flatnonzero(np.array(of_row) == c)
        broken = {w.group for w in promise.audit(records).witnesses}
        assert demand.holds(rows) or (c,) in broken
        if sizes[c] >= promise.k:
            assert demand.holds(rows) == ((c,) not in broken)


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.sampled_from([None, 1, 2, 2, 5]), st.sampled_from("abc")), min_size=3, max_size=12),
    st.sampled_from([0.2, 0.4, 0.6]),
    st.sampled_from(["unknown", "value"]),
)
def test_groups_beside_items_that_lack_nothing_lack_nothing_together(rows, t, missing):
    from shoal.algorithms.rt.demand import Demand, column_blocks

    promise = RTAnonymity(1, 1, t=t, distance="ordered", missing=missing)
    records = Records((column("told", [value for value, _ in rows], "sensitive", numeric=True),))
    try:
        demand = Demand.of(column_blocks(records, promise), len(rows))
    except Unreachable:
        return
    groups = [np.flatnonzero([own == c for _, own in rows]) for c in "abc"]
    whole = [rows for rows in groups if len(rows) and demand.holds(rows)]
    for one, other in combinations(whole, 2):
        assert demand.holds(np.sort(np.concatenate((one, other))))
    # The audit never asks for more than that.
    table = Records(
        (column("class", [own for _, own in rows]), *records.columns), Baskets.from_rows([[]] * len(rows)), "x"
    )
    broken = {w.group[0] for w in promise.audit(table).witnesses}
    assert not broken & {rows[int(one[0])][1] for one in whole}


def test_diversity_is_kept_in_view_while_classes_are_formed():
    """Two rows of ten are rare: joined afterwards, classes would grow over the gap between the two crowds."""
    table = Records(
        (
            column("n", [*range(10), *range(100, 110)]),
            column("told", ["x"] * 4 + ["y"] + ["x"] * 10 + ["y"] * 2 + ["x"] * 3, "sensitive"),
        )
    )
    for algorithm in BOTH.values():
        found = algorithm(table, TableAnonymity(2, 2), {}, Options())
        assert found.ncp < 0.1
        assert not any(low in found.values["n"] for low in ("[0:109]", "[0:100]"))


def test_more_rows_than_k_are_needed():
    for algorithm in ALL.values():
        with pytest.raises(Unreachable, match="only 6 rows"):
            algorithm(Records(example().columns), TableAnonymity(7), HIERARCHIES, Options())


def test_mondrian_splits_numbers_at_the_median_and_trees_at_their_children():
    numbers = Records((column("n", list(range(8))),))
    found = mondrian(numbers, TableAnonymity(2), {}, Options())
    assert found.values["n"] == ("[0:1]", "[2:3]", "[4:5]", "[6:7]")
    names = Records((column("name", list("aabbbc")),))
    found = mondrian(names, TableAnonymity(2), {}, Options())
    # c is too rare to stand alone and calls in the smallest child that is not.
    assert sorted(found.values["name"]) == ["*", "b"]


@given(tables(min_rows=4, max_rows=40, missing=False), st.integers(2, 4))
def test_no_part_of_mondrian_can_be_cut_in_its_numbers(rows, k):
    table, hierarchies = as_records(rows)
    laid = space(table, hierarchies)
    of_row, n = joined_alike(laid, *mondrian_parts(laid, k))
    for c in range(n if len(rows) >= k else 0):
        numbers = sorted(rows[r][0][0] for r in np.flatnonzero(of_row == c))
        possible = [i for i in range(k, len(numbers) - k + 1) if numbers[i - 1] < numbers[i]]
        assert not possible


def information_lost(records, published, hierarchies, weights):
    fates = {
        one.name: column_fates(one, published[one.name], hierarchies.get(one.name)) for one in records.of_role("quasi")
    }
    return columns_worth(fates, weights).lost["info"]


@settings(max_examples=100)
@given(
    tables(min_rows=4, max_rows=40),
    st.integers(2, 4),
    st.sampled_from([1, 2]),
    st.dictionaries(st.sampled_from(["age", "origin"]), st.sampled_from([0.5, 3.0])),
    st.data(),
)
def test_the_better_of_two_keeps_as_much_information_as_either(rows, k, l, weights, data):  # noqa: E741
    table, hierarchies = as_records(rows)
    told = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(rows), max_size=len(rows)))
    assume(len(rows) >= k and len(set(told)) >= l)
    bare = Records((*table.columns, column("told", told, "sensitive")))
    weights = {name: share for name, share in weights.items() if name in bare.names}
    made = {
        name: run(bare, TableAnonymity(k, l), hierarchies, Options(), RTOptions(weights=weights))
        for name, run in ALL.items()
    }
    lost = {name: information_lost(bare, one.apply(bare), hierarchies, weights) for name, one in made.items()}
    better = made["better-of-two"]
    assert lost["better-of-two"] == pytest.approx(min(lost.values()))
    if l > 1:  # else rows may have gone home afterwards
        assert np.array_equal(better.of_row, made[better.facts["formation"]].of_row)
    assert better.algorithm == "better-of-two"


@settings(max_examples=60)
@given(tables(max_rows=8), st.integers(2, 4), st.data())
def test_what_occurs_k_times_is_published_as_it_is(rows, k, data):
    times = data.draw(st.lists(st.integers(k, 2 * k + 1), min_size=len(rows), max_size=len(rows)))
    table, hierarchies = as_records([row for row, n in zip(rows, times, strict=True) for _ in range(n)])
    bare = Records(table.columns).take(np.array(data.draw(st.permutations(range(len(table))))))
    found = better_of_two(bare, TableAnonymity(k), hierarchies, Options())
    assert found.ncp == 0
    assert [one.texts() for one in found.apply(bare).columns] == [one.texts() for one in bare.columns]


def test_of_five_equal_rows_the_fifth_stays_with_them_though_a_stranger_joins():
    """CLUSTER as printed pairs the fifth rows with each other."""
    table = Records((column("kind", list("aaaaabbbbbc")), column("n", [1] * 5 + [2] * 5 + [3])))
    assert cluster(table, TableAnonymity(2), {}, Options()).ncp > 0.1
    found = better_of_two(table, TableAnonymity(2), {}, Options())
    assert sorted(np.bincount(found.of_row).tolist()) == [
        2,
        4,
        5,
    ]  # the stranger and the nearest row, the others at home


@settings(max_examples=100)
@given(tables(min_rows=2, max_rows=30), st.integers(2, 4), st.data())
def test_no_row_is_left_among_others_that_could_go_home(rows, k, data):
    assume(len(rows) >= k)
    table, hierarchies = as_records(rows)
    laid = space(Records(table.columns), hierarchies, {})
    formed = clusters(laid, k, data.draw(st.integers(0, 9)))
    of_row, n = rows_at_home(laid, *formed, k)
    classes = [np.flatnonzero(of_row == c).tolist() for c in range(n)]
    before = [np.flatnonzero(formed[0] == c).tolist() for c in range(formed[1])]
    naive = as_naive(rows)
    assert min(map(len, classes)) >= k
    assert naive.rum(classes) <= naive.rum(before) + 1e-12
    homes = {rows[one[0]][0] for one in classes if len({rows[r][0] for r in one}) == 1}
    for one in classes:
        if len({rows[r][0] for r in one}) > 1:  # one at most short of k without any of these
            assert len(one) <= k or not any(rows[r][0] in homes for r in one)


def test_a_table_of_many_combinations_is_not_compared_row_by_row_and_the_run_says_so(monkeypatch):
    table = Records((column("n", list(range(8))),))
    monkeypatch.setattr("shoal.algorithms.rt.clusters.MOST_TUPLES", 7)
    found = better_of_two(table, TableAnonymity(2), {}, Options())
    assert found.facts["formation"] == "mondrian"
    assert any("8 different combinations" in str(note) for note in found.notes)
    assert cluster(table, TableAnonymity(2), {}, Options()).facts["formation"] == "cluster"


def test_weights_say_which_column_may_lose():
    rng = np.random.default_rng(0)
    table = Records(tuple(column(name, rng.integers(0, 50, 200).tolist()) for name in "xy"))
    for algorithm in BOTH.values():
        heavy = algorithm(table, TableAnonymity(5), {}, Options(), RTOptions(weights={"x": 20.0}))
        assert heavy.ncp_by_column["x"] < heavy.ncp_by_column["y"]
        even = algorithm(table, TableAnonymity(5), {}, Options())
        assert heavy.ncp_by_column["x"] < even.ncp_by_column["x"]


def test_one_value_costs_nothing_and_a_flat_tree_all_or_nothing():
    table = Records((column("one", ["x"] * 4), column("two", ["a", "a", "b", "c"])))
    laid = space(table, {})
    losses = relational_ncp(laid, np.array([0, 0, 1, 1], np.int32), 2)
    assert losses == pytest.approx({"ncp": 0.25, "one": 0.0, "two": 0.5})


def test_equal_numbers_written_differently_are_equal():
    from shoal.records.records import Column

    twice = Column("n", "quasi", np.array([0, 1, 2], np.int32), ("1", "1.0", "2"), np.array([1.0, 1.0, 2.0]))
    laid = space(Records((twice,)), {})
    boxes = laid.boxes(np.array([0, 0, 1], np.int32), 2)
    assert [laid.text_of(0, box) for box in boxes] == ["1", "2"]
    assert laid.costs(boxes).tolist() == [0, 0]
