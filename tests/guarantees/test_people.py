"""Audits that count people: against brute force, on rows of which several may be one person's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import naive_local
import strategies
from shoal.attacks.prosecutor import risks
from shoal.errors import InputError
from shoal.guarantees import km, km_local
from shoal.guarantees.km import KmAnonymity, exposures
from shoal.guarantees.km_local import LocalKmAnonymity
from shoal.records.baskets import Baskets


@st.composite
def rows_of_people(draw):
    """(rows of small numbers, the person of each)."""
    rows = draw(strategies.transactions(draw(st.integers(1, 7)), max_rows=16))
    people = draw(st.lists(st.integers(0, draw(st.integers(0, 6))), min_size=len(rows), max_size=len(rows)))
    return rows, people


def named(rows, people):
    return replace(Baskets.from_rows(map(str, row) for row in rows), people=np.array(people, np.int32))


def in_three_ways(tell):
    """What is told by counters for pairs, by pairs that are sorted, and by a walk."""
    yield tell()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(km, "FEW_PAIRS", 0)
        yield tell()
        patch.setattr(km, "FEW_TO_SORT", -1)
        yield tell()


@settings(max_examples=300, deadline=None)
@given(rows_of_people(), st.integers(1, 5), st.integers(1, 6))
def test_sets_are_counted_in_people(world, k, m):
    rows, people = world
    supports = naive.people_supports(rows, people, m)
    rare = {itemset: support for itemset, support in supports.items() if support < k}
    audit = KmAnonymity(k, m).audit(named(rows, people), witnesses=100_000)
    assert (audit.checked, audit.violations, audit.holds) == (len(supports), len(rare), not rare)
    assert audit.facts == {"counted": "people", "people": len(set(people))}
    for witness in audit.witnesses:
        itemset = frozenset(map(int, witness.items))
        assert rare[itemset] == witness.support
        assert witness.rows == tuple(i for i, row in enumerate(rows, 1) if itemset <= row)
    if rare:
        assert audit.witnesses[0].support == min(rare.values())


@settings(max_examples=200, deadline=None)
@given(rows_of_people(), st.integers(1, 5), st.integers(0, 5), st.integers(1, 2))
def test_pairs_are_counted_alike_on_every_path(world, k, most, threads):
    rows, people = world
    baskets = named(rows, people)
    counted, ordered, walked = in_three_ways(lambda: KmAnonymity(k, 2).audit(baskets, witnesses=most, threads=threads))
    some = counted.witnesses[:1]  # of the rarest: a walk also names what stands beside an item that one person has
    assert counted == ordered == replace(walked, witnesses=ordered.witnesses)
    assert [witness.support for witness in some] == [witness.support for witness in walked.witnesses[:1]]
    for audit in in_three_ways(lambda: KmAnonymity(k, 2).audit(baskets, yes_or_no=True)):
        assert audit.holds == counted.holds


@settings(max_examples=200, deadline=None)
@given(rows_of_people(), st.integers(1, 5))
def test_rows_are_exposed_where_fewer_than_k_people_match(world, k):
    rows, people = world

    def told():
        return [(e.m, e.itemsets, e.rare, e.exposed, e.unique) for e in exposures(named(rows, people), k, 3)]

    expected = []
    for m in range(1, min(3, max(map(len, rows))) + 1):
        supports = naive.people_supports(rows, people, m)
        rare, alone = ([held for held, support in supports.items() if support < fewer] for fewer in (k, min(k, 2)))
        of_size = sum(len(held) == m for held in supports)
        exposed, unique = (sum(any(held <= row for held in few) for row in rows) for few in (rare, alone))
        expected.append((m, of_size, sum(len(held) == m for held in rare), exposed, unique))
    assert all(found == expected for found in in_three_ways(told))


@settings(max_examples=150, deadline=None)
@given(rows_of_people(), st.integers(1, 4))
def test_a_person_is_one_of_the_people_whose_rows_match(world, m):
    rows, people = world
    supports = naive.people_supports(rows, people, m)
    found = risks(named(rows, people), m)
    for row, risk in zip(rows, found.tolist(), strict=True):
        held = [support for itemset, support in supports.items() if itemset <= row]
        assert risk == pytest.approx(1 / min(held, default=len(set(people))))


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(1, 4), st.integers(1, 4))
def test_known_items_match_people_under_local_recoding(data, k, m):
    hierarchy = data.draw(strategies.trees(1, 6))
    nodes = st.sets(st.integers(0, hierarchy.n_nodes - 1), max_size=4)
    rows = data.draw(st.lists(nodes, min_size=1, max_size=12))
    people = data.draw(st.lists(st.integers(0, 4), min_size=len(rows), max_size=len(rows)))
    tree = strategies.naive_tree(hierarchy)
    breached = naive_local.attacks_on_people(tree, rows, people, k, m)
    published = Baskets.from_rows([hierarchy.names[v] for v in row] for row in rows)
    published = replace(published, people=np.array(people, np.int32))
    promise = LocalKmAnonymity(k, m, hierarchy)
    found = promise.audit(published, witnesses=100_000)
    assert found.holds == (not breached)
    walked = km_local._Published(published, hierarchy).first_breach(promise, 2, None)
    assert walked.holds == (not breached)
    for witness in (*found.witnesses, *walked.witnesses):
        known = frozenset(hierarchy.labels.index(name) for name in witness.items)
        assert breached[known] == witness.support
        assert [row + 1 for row in naive_local.matching_rows(tree, rows, known)] == list(witness.rows)


def test_five_visits_of_one_patient_are_one_person():
    visits = Baskets.from_rows([["E11", "I10"]] * 5)
    assert KmAnonymity(5, 2).audit(visits).holds
    audit = KmAnonymity(5, 2).audit(replace(visits, people=np.zeros(5, np.int32)))
    assert not audit.holds
    assert {witness.support for witness in audit.witnesses} == {1}
    assert audit.witnesses[0].rows == (1, 2, 3, 4, 5)


@settings(max_examples=60, deadline=None)
@given(strategies.transactions(5, max_rows=10), st.integers(1, 4), st.integers(1, 3))
def test_where_everybody_has_one_row_people_are_rows(rows, k, m):
    one, other = (
        KmAnonymity(k, m).audit(baskets)
        for baskets in (named(rows, range(len(rows))), Baskets.from_rows(map(str, row) for row in rows))
    )
    assert replace(one, facts={}) == other


def test_rows_without_a_person_are_refused():
    with pytest.raises(InputError, match="give every row its person"):
        replace(Baskets.from_rows([["a"], ["b"]]), people=np.zeros(1, np.int32))
    with pytest.raises(InputError, match="not sound"):
        KmAnonymity(2, 1).audit(replace(Baskets.from_rows([["a"], ["b"]]), people=np.array([0, -1], np.int32)))
