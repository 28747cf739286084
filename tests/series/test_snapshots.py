"""Snapshots: the audit against brute force, attackers who try, and a search whose every release keeps the promise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_histories as naive
from shoal.algorithms.snapshots.snapshot import snapshot
from shoal.errors import InputError
from shoal.guarantees.series.histories import SnapshotAnonymity, joined_table, releases_in_words
from shoal.records.baskets import Baskets

TOKENS = "abcd"


def release_of(rows):
    """A release: per person, the tokens."""
    people = sorted(rows)
    sets = Baskets.from_rows([sorted(rows[person]) for person in people])
    return replace(sets, people=np.array(people, np.int32))


@st.composite
def histories(draw, max_people=9, max_releases=3, tokens=TOKENS):
    """What there is to publish of some people, release by release; most of it stays as it was."""
    people = draw(st.integers(1, max_people))
    one = st.frozensets(st.sampled_from(tokens), max_size=3)
    now = {person: draw(one) for person in range(people)}
    history = []
    for _ in range(draw(st.integers(1, max_releases))):
        for person in range(people):
            if draw(st.integers(0, 3)) == 0:
                now[person] = draw(one)
        there = [person for person in range(people) if draw(st.integers(0, 4))]
        history.append({person: now[person] for person in there})
    return history


@settings(max_examples=150)
@given(histories(), st.integers(1, 4), st.integers(1, 3))
def test_the_audit_counts_people_with_what_can_be_known_of_them(history, k, m):
    expected = naive.breaches(history, k, m)
    audit = SnapshotAnonymity(k, m).audit([release_of(release) for release in history], witnesses=5)
    assert (audit.holds, audit.violations) == (not expected, len(expected))
    if expected:
        assert audit.witnesses[0].support == min(expected.values())
        assert not any(witness.rows for witness in audit.witnesses)


@settings(max_examples=25)
@given(histories(max_people=7, tokens="abc"), st.integers(2, 3), st.integers(1, 2))
def test_where_it_holds_no_weaker_attacker_finds_fewer(history, k, m):
    if not naive.breaches(history, k, m) and any(history):
        assert naive.fewest_found(history, m) >= k
        assert naive.fewest_found(history, m, presence_known=False) >= k


@settings(max_examples=250)
@given(histories(max_people=14), st.integers(1, 4), st.integers(1, 3), st.booleans(), st.integers(0, 3))
def test_every_release_keeps_the_promise_beside_those_before(history, k, m, hold, overdue):
    published = []
    for rows in history:
        present = release_of(rows)
        made = snapshot(published, present, k, m, hold=hold, overdue=range(overdue))
        last = naive.releases(published[-1:])[0] if published and hold else {}
        assert_is_part_of(made, rows, last)
        published.append(made.published)
        assert not naive.breaches(naive.releases(published), k, m)


def assert_is_part_of(made, rows, last):
    """Nothing is made up: people who are there or were published last, with tokens that they have or had; all that is said is so."""
    out = naive.releases([made.published])[0]
    assert set(out) <= set(rows) | set(last)
    assert all(out[person] <= rows.get(person, set()) | last.get(person, frozenset()) for person in out)
    assert set(rows) - set(out) == set(made.waiting.tolist())
    assert set(out) - set(rows) == set(made.staying.tolist())
    assert made.occurrences == sum(map(len, rows.values()))
    assert made.deleted == sum(len(rows[person] - out.get(person, frozenset())) for person in rows)
    assert made.outdated == sum(len(out[person] - rows.get(person, set())) for person in out)


@settings(max_examples=60)
@given(histories(max_people=8, max_releases=1), st.integers(2, 3), st.integers(1, 2), st.integers(1, 3))
def test_what_stays_the_same_is_published_again(history, k, m, times):
    """People who neither come, go nor change can be published as they were published first."""
    first = snapshot([], release_of(history[0]), k, m).published
    published = [first]
    for _ in range(times):
        again = snapshot(published, first, k, m)
        assert naive.releases([again.published]) == naive.releases([first])
        published.append(again.published)


@settings(max_examples=40)
@given(histories(max_people=12), st.integers(2, 4), st.integers(1, 3), st.randoms(use_true_random=False))
def test_who_is_who_does_not_depend_on_numbers_or_the_order_of_rows(history, k, m, random):
    """The audit of a history says the same under other numbers, and with rows in another order."""
    numbers = random.sample(range(100), 12)
    releases = [release_of(rows) for rows in history]
    others = []
    for release in releases:
        order = random.sample(range(len(release)), len(release))
        moved = release.take(np.array(order, np.int64))
        others.append(replace(moved, people=np.array([numbers[p] for p in moved.people.tolist()], np.int32)))
    promise = SnapshotAnonymity(k, m)
    assert promise.audit(releases).violations == promise.audit(others).violations


def test_who_joins_comes_with_others_or_waits():
    """A worked example: one newcomer would be whoever is in the second release only."""
    first = {person: {"milk"} for person in range(4)}
    second = first | {4: {"milk"}}
    made = snapshot([release_of(first)], release_of(second), 2, 1)
    assert made.waiting.tolist() == [4]
    third = second | {5: {"milk"}}
    made = snapshot([release_of(first), made.published], release_of(third), 2, 1)
    assert made.waiting.tolist() == []


def test_who_leaves_stays_until_somebody_like_them_leaves_too():
    """The one who left would be found as the one who is in the first release only."""
    first = {person: {"milk"} for person in range(6)}
    second = {person: {"milk"} for person in range(5)}
    made = snapshot([release_of(first)], release_of(second), 2, 1)
    assert (made.staying.tolist(), made.outdated, len(made.waiting), len(made.published)) == ([5], 1, 0, 6)
    third = {person: {"milk"} for person in range(4)}
    made = snapshot([release_of(first), made.published], release_of(third), 2, 1)
    assert (made.staying.tolist(), made.outdated, len(made.published)) == ([], 0, 4)


def test_what_one_person_lost_stays_until_another_has_lost_it():
    first = {person: {"milk", "gin"} for person in range(6)}
    second = first | {0: {"milk"}}
    made = snapshot([release_of(first)], release_of(second), 2, 1)
    assert (len(made.staying), made.outdated, made.published.occurrences) == (0, 1, 12)
    third = second | {1: {"milk"}}
    made = snapshot([release_of(first), made.published], release_of(third), 2, 1)
    assert (made.outdated, made.published.occurrences) == (0, 10)


def test_those_who_stay_behind_are_a_crowd_as_well():
    """Five of six leave: the last would be found."""
    first = {person: {"milk"} for person in range(6)}
    made = snapshot([release_of(first)], release_of({5: {"milk"}}), 2, 1)
    assert len(made.published) in (2, 6)
    made = snapshot([release_of(first)], release_of({}), 2, 1)
    assert (len(made.published), len(made.staying)) == (0, 0)


def test_at_once_who_leaves_takes_somebody_along():
    first = {person: {"milk"} for person in range(6)}
    second = {person: {"milk"} for person in range(5)}
    made = snapshot([release_of(first)], release_of(second), 2, 1, hold=False)
    assert len(made.waiting) == 1
    assert len(made.published) == 4


def test_a_newcomer_of_whom_nothing_could_be_told_waits_unless_overdue():
    first = {person: {"milk"} for person in range(6)}
    second = first | {person: {"gin", f"rare{person}", f"odd{person}", f"own{person}"} for person in (6, 7)}
    made = snapshot([release_of(first)], release_of(second), 2, 1)
    assert (made.waiting.tolist(), len(made.published)) == ([6, 7], 6)
    made = snapshot([release_of(first)], release_of(second), 2, 1, overdue=(6, 7))
    assert (made.waiting.tolist(), len(made.published)) == ([], 8)


def test_a_few_who_leave_many_cost_nobody_a_place():
    """Pairs of tokens are rare among those who leave: the others need not leave with them."""
    random = np.random.default_rng(3)
    tokens = np.array([f"t{i}" for i in range(60)])
    rows = {p: set(random.choice(tokens, 5, p=np.arange(60, 0, -1) / 1830).tolist()) for p in range(2000)}
    first = snapshot([], release_of(rows), 5, 2).published
    there = {p: row for p, row in rows.items() if p % 200}
    made = snapshot([first], release_of(there), 5, 2)
    kept = 1 - made.deleted / made.occurrences
    assert kept > 0.98 * first.occurrences / sum(map(len, rows.values()))
    assert len(made.staying) == 10
    at_once = snapshot([first], release_of(there), 5, 2, hold=False)
    assert at_once.deleted > 5 * made.deleted


def test_an_item_that_is_new_to_one_person_is_not_told():
    first = {person: {"milk"} for person in range(6)}
    second = first | {0: {"milk", "gin"}, 1: {"milk", "beer"}, 2: {"milk", "beer"}}
    made = snapshot([release_of(first)], release_of(second), 2, 1)
    assert "gin" not in {token for row in made.published.rows() for token in row}
    assert sum("beer" in row for row in made.published.rows()) == 2
    assert len(made.published) == 6


def test_witnesses_name_tokens_and_releases_and_nobody():
    first = {person: {"milk"} for person in range(3)}
    second = {0: {"milk"}, 1: {"milk"}, 2: {"gin"}}
    audit = SnapshotAnonymity(2, 1).audit([release_of(first), release_of(second)])
    assert not audit.holds
    assert audit.witnesses[0].items in (("milk (1)",), ("gin (2)",))
    assert audit.witnesses[0].group == ("in 1-2",)
    assert audit.witnesses[0].reason == "1 of 2 people"


def test_releases_are_spoken_of_in_runs():
    assert releases_in_words(np.array([True, True, True, False, True])) == "1-3, 5"
    assert releases_in_words(np.array([False, True])) == "2"


def test_a_history_without_people_is_refused():
    with pytest.raises(InputError, match="publish one first"):
        joined_table([])
    with pytest.raises(InputError, match="release 1 does not say whose its rows are"):
        joined_table([Baskets.from_rows([["milk"]])])


def test_more_than_eight_known_items_are_refused():
    with pytest.raises(InputError, match="up to 8 known items"):
        snapshot([], release_of({0: {"milk"}}), 2, 9)


def test_nobody_to_publish():
    made = snapshot([], release_of({}), 3, 2)
    assert (len(made.published), len(made.waiting), made.deleted) == (0, 0, 0)
    made = snapshot([], release_of({0: set(), 1: set()}), 3, 2)
    assert made.waiting.tolist() == [0, 1]


@pytest.mark.parametrize(("leave", "least"), [(0.0, 0.7), (0.01, 0.65)])
def test_many_people_over_many_releases(leave, least):
    """Thousands who come, change and, in one of the cases, leave: the promise holds, and much of what is there is told."""
    random = np.random.default_rng(5)
    tokens = np.array([f"t{i}" for i in range(30)])
    chance = 0.6 / np.arange(1, 31)
    now, joins, left = random.random((3000, 30)) < chance, random.integers(-9, 4, 3000), np.zeros(3000, np.bool_)
    published = []
    for release in range(4):
        changed = random.random(3000) < 0.05
        now[changed] |= random.random((int(changed.sum()), 30)) < chance / 4
        left |= random.random(3000) < leave
        rows = {int(p): set(tokens[now[p]].tolist()) for p in np.flatnonzero((joins <= release) & ~left)}
        made = snapshot(published, release_of(rows), 5, 2)
        published.append(made.published)
        assert made.published.occurrences > least * made.occurrences, release
    assert SnapshotAnonymity(5, 2).audit(published).holds
