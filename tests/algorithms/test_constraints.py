"""COAT, PCTA and our own search: each keeps every constraint, and does what its slow twin does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_constraints as naive
from shoal.algorithms import ALGORITHMS, algorithm
from shoal.algorithms.constraints.coat import coat, join_of_rarest, set_by_set
from shoal.algorithms.constraints.joined_tokens import Grouping, task_of
from shoal.algorithms.constraints.pcta import cheapest_join, pcta
from shoal.algorithms.constraints.weigh import lost_bits, weigh, weighed_grouping
from shoal.algorithms.recoding import Options
from shoal.errors import InputError, Unreachable
from shoal.guarantees.constraints.policy import Policy
from shoal.guarantees.constraints.promise import ConstraintAnonymity, members_in
from shoal.loss.fates import Coverage, row_fates
from shoal.records.baskets import Baskets

ITEMS = "abcdefgh"
rows_of = st.lists(st.sets(st.sampled_from(ITEMS), max_size=5), min_size=2, max_size=14)
explicit = st.lists(st.lists(st.sampled_from(ITEMS), min_size=1, max_size=4, unique=True), min_size=1, max_size=5)
families = st.lists(
    st.builds(
        lambda m, of: {"all": m, "of": of if of == "*" else sorted(of)},
        st.integers(1, 3),
        st.one_of(st.just("*"), st.sets(st.sampled_from(ITEMS), min_size=1)),
    ),
    max_size=2,
)
groups = st.sampled_from([[], [["a", "b", "c"], ["d", "e"]], [list("abcd"), list("efgh")], "*"])
policies = st.builds(lambda sets, more, within: Policy([*sets, *more], within), explicit, families, groups)


def published(name, baskets, policy, k, suppress):
    recoding = algorithm("constraints", name)(baskets, ConstraintAnonymity(k, policy), None, Options(suppress=suppress))
    return recoding, recoding.apply(baskets)


@settings(max_examples=100)
@given(
    rows_of, policies, st.integers(2, 4), st.sampled_from(list(ALGORITHMS["constraints"])), st.sampled_from([0, 0.2, 1])
)
def test_what_is_published_keeps_every_constraint(rows, policy, k, name, suppress):
    baskets = Baskets.from_rows(rows)
    try:
        recoding, sets = published(name, baskets, policy, k, suppress)
    except Unreachable:
        assert suppress < 1  # to leave out everything is always an answer
        return
    assert ConstraintAnonymity(k, policy).audit(sets).holds
    meaning = {token: members_in(token, policy) for token in sets.vocabulary}
    assert naive.holds(list(sets), meaning, policy, k)
    assert recoding.deleted <= suppress * baskets.occurrences
    assert len(sets) == len(baskets)
    for before, after in zip(baskets, sets, strict=True):  # nothing is said of a row that is not so
        assert all(before & set(meaning[token]) for token in after)


@pytest.mark.parametrize(("name", "search"), [("coat", coat), ("pcta", pcta)])
@settings(max_examples=120)
@given(rows_of, explicit, st.sampled_from(["*", [list("abcd"), list("efgh")], [list("abc"), list("de")]]))
def test_the_papers_searches_do_what_their_slow_twins_do(name, search, rows, sets, within):
    baskets, policy = Baskets.from_rows(rows), Policy(sets, within)
    if not baskets.occurrences:
        return
    twin = naive.set_by_set(rows, policy, 3, 0.3 * baskets.occurrences, name)
    try:
        found = search(baskets, ConstraintAnonymity(3, policy), None, Options(suppress=0.3)).apply(baskets)
    except Unreachable:
        assert twin is None
        return
    meant = {token: sorted(members_in(token, policy)) for token in found.vocabulary}
    assert [sorted(meant[token] for token in row) for row in found] == twin.published()


def test_coat_by_hand():
    """{a, b} is in one row, k = 2. b is the rarer; of c and d it takes d, with which fewer rows hold the two: UL 3 * 2 against 3 * 4."""
    rows = [["a", "b"], ["a", "c"], ["a", "c"], ["a", "c"], ["a", "d"]]
    policy = Policy([["a", "b"]], [["b", "c", "d"]])
    _, sets = published("coat", Baskets.from_rows(rows), policy, 2, 0)
    assert list(sets.rows()) == [["(b,d)", "a"], ["a", "c"], ["a", "c"], ["a", "c"], ["(b,d)", "a"]]


def test_pcta_by_hand():
    """{a, b} is in one row, k = 2. The rarer b could be joined with c, UL 3 * 6; the commoner a with e is cheaper, 3 * 4."""
    rows = [["a", "b"], ["b", "e"], ["a"], ["a"], ["c"], ["c"], ["c"], ["c"]]
    policy = Policy([["a", "b"]], [["b", "c"], ["a", "e"]])
    _, sets = published("pcta", Baskets.from_rows(rows), policy, 2, 0)
    assert list(sets.rows())[:3] == [["(a,e)", "b"], ["(a,e)", "b"], ["(a,e)"]]
    _, sets = published("coat", Baskets.from_rows(rows), policy, 2, 0)
    assert "(b,c)" in sets.vocabulary  # the rarer of the two, which does not help


def test_what_no_group_holds_is_left_out_and_no_more():
    rows = [["a", "b"], ["a"], ["a"], ["b"], ["b"], ["c"]]
    baskets = Baskets.from_rows(rows)
    _, sets = published("weigh", baskets, Policy([["a", "b"]]), 2, 0.2)
    assert sorted(map(sorted, sets)) in ([["a"]] * 3 + [["b"]] * 2 + [["c"]], [["a"]] * 2 + [["b"]] * 3 + [["c"]])
    for name in ("coat", "pcta"):  # the papers' know whole items alone
        with pytest.raises(Unreachable, match="allow more with suppress="):
            published(name, baskets, Policy([["a", "b"]]), 2, 0.2)


@settings(max_examples=50)
@given(rows_of, policies, st.integers(2, 4), st.sampled_from([0.0, 0.5, 2.0]))
def test_what_is_deleted_is_needed(rows, policy, k, weight):
    """No token that went can come back to its row by itself."""
    baskets = Baskets.from_rows(rows)
    grouping = weighed_grouping(task_of(baskets, policy, k), weight, np.inf)
    gone = list(grouping.gone)
    for one in gone:
        grouping.gone = [other for other in gone if other != one]
        assert not ConstraintAnonymity(k, policy).audit(grouping.recoding("weigh").apply(baskets)).holds


@settings(max_examples=40)
@given(rows_of, policies, st.integers(2, 3), st.sampled_from([0.1, 0.5]))
def test_ours_costs_no_more_than_the_papers(rows, policy, k, suppress):
    baskets = Baskets.from_rows(rows)
    task, budget = task_of(baskets, policy, k), suppress * baskets.occurrences
    costs = [
        lost_bits(found)
        for choose in (join_of_rarest, cheapest_join)
        if (found := set_by_set(task, choose, budget)) is not None
    ]
    if not costs:
        return
    recoding = weigh(baskets, ConstraintAnonymity(k, policy), None, Options(suppress=suppress))
    sets = recoding.apply(baskets)
    fates = row_fates(baskets, sets, Coverage.of_tree(recoding.hierarchy, baskets, sets))
    # Deletions are left out of the count of what a token stands for, which can only make a cost too large.
    assert fates.lost_bits <= min(costs) + 1e-6


@settings(max_examples=100)
@given(rows_of, policies, st.integers(2, 4), st.randoms(use_true_random=False))
def test_sets_are_counted_right_whatever_is_joined_and_left_out(rows, policy, k, lots):
    """The bad rows of all sets, against a grouping that is counted anew."""
    baskets = Baskets.from_rows(rows)
    grouping = Grouping(task_of(baskets, policy, k))
    for _ in range(4):
        tokens = [token for token in grouping.members if len(grouping.mates(token))]
        if tokens and lots.random() < 0.8:
            token = lots.choice(tokens)
            grouping.join(token, int(lots.choice(grouping.mates(token).tolist())))
        elif grouping.members:
            grouping.leave_out(lots.choice(sorted(grouping.members)))
    sets = grouping.recoding("any").apply(baskets)
    meaning = {token: members_in(token, policy) for token in sets.vocabulary}
    assert bool(grouping.bad.any()) == bool(naive.rare_parts(list(sets), meaning, policy, grouping.task.k))
    before = grouping.bad.copy()
    grouping.count(np.flatnonzero(grouping._counts))
    assert np.array_equal(before, grouping.bad)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 12, 13, 20])
def test_rows_of_large_sets_are_counted_as_those_of_small_ones(size):
    """Sets of few, of some and of many tokens are counted in three ways."""
    draw = np.random.default_rng(size)
    names = [f"i{n:02}" for n in range(22)]
    rows = [draw.choice(names, draw.integers(1, 9), replace=False).tolist() for _ in range(150)]
    one = names[:size]
    for k in (2, 4, 9):
        grouping = Grouping(task_of(Baskets.from_rows(rows), Policy([one]), k))
        traces = [frozenset(one) & frozenset(row) for row in rows]
        bad = sum(bool(trace) and sum(trace <= other for other in traces) < k for trace in traces)
        assert grouping.bad.tolist() == [bad]


def test_items_that_look_like_sets_are_refused():
    baskets = Baskets.from_rows([["(a,b)", "a"], ["b"]])
    with pytest.raises(InputError, match="1 item has a name in brackets"):
        task_of(baskets, Policy([["a"]], [["a", "b"]]), 2)


def test_a_family_of_too_many_sets_says_so(monkeypatch):
    monkeypatch.setattr("shoal.algorithms.constraints.joined_tokens.MOST_SETS", 5)
    with pytest.raises(InputError, match="all sets of up to 2 items are more than 5 in these data"):
        task_of(Baskets.from_rows([ITEMS]), Policy([{"all": 2, "of": "*"}]), 2)


@pytest.mark.parametrize("rows", [[[]], [[], []], [["a"]]])
@pytest.mark.parametrize("name", list(ALGORITHMS["constraints"]))
def test_next_to_nothing_is_published_all_the_same(rows, name):
    _, sets = published(name, Baskets.from_rows(rows), Policy([["a", "b"], {"all": 2, "of": "*"}], "*"), 2, 1)
    assert all(not row for row in itertools.islice(sets.rows(), 2))
