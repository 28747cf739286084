"""Searches that count people: what they propose is held against brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import strategies
from shoal.algorithms.km.local import local, local_in_parts
from shoal.algorithms.recoding import Options
from shoal.errors import Unreachable
from shoal.guarantees.km import KmAnonymity
from shoal.records.baskets import Baskets


@st.composite
def worlds_of_people(draw):
    """(tree, baskets with their people, k, m), with at least k people who have an item."""
    hierarchy, rows, k, m = draw(strategies.worlds(max_rows=20))
    people = draw(st.lists(st.integers(0, draw(st.integers(1, 9))), min_size=len(rows), max_size=len(rows)))
    k = min(k, len({person for row, person in zip(rows, people, strict=True) if row}) or 1)
    baskets = Baskets.from_rows([hierarchy.labels[item] for item in row] for row in rows)
    return hierarchy, replace(baskets, people=np.array(people, np.int32)), k, m


def rare_sets(published, k, m):
    supports = naive.people_supports([frozenset(row) for row in published.rows()], published.people.tolist(), m)
    return {held: people for held, people in supports.items() if people < k}


@settings(max_examples=200, deadline=None)
@given(worlds_of_people(), st.sampled_from([0.0, 0.1, 0.4]))
def test_local_keeps_the_promise_in_people(world, suppress):
    hierarchy, baskets, k, m = world
    recoding = local(baskets, KmAnonymity(k, m), hierarchy, Options(suppress=suppress))
    published = recoding.apply(baskets)
    assert published.people is baskets.people
    assert not rare_sets(published, k, m)
    assert recoding.deleted <= suppress * baskets.occurrences + 1e-9


@settings(max_examples=60, deadline=None)
@given(worlds_of_people(), st.data())
def test_local_keeps_the_promise_in_people_of_every_part(world, data):
    hierarchy, baskets, k, m = world
    part = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(baskets), max_size=len(baskets))))
    for one in (0, 1):  # what a class must have
        filled = (part == one) & (baskets.lengths > 0)
        if 0 < len(np.unique(baskets.people[filled])) < k:
            part[:] = 0
    node = local_in_parts(baskets, part, KmAnonymity(k, m), hierarchy, Options(suppress=0.2))
    rows = np.split(node, baskets.offsets[1:-1])
    for one in (0, 1):
        inside = np.flatnonzero(part == one).tolist()
        held = [set(rows[row][rows[row] >= 0].tolist()) for row in inside]
        assert all(people >= k for people in naive.people_supports(held, baskets.people[inside].tolist(), m).values())


@settings(max_examples=40, deadline=None)
@given(strategies.worlds(max_rows=12))
def test_where_everybody_has_one_row_the_search_is_the_same(world):
    hierarchy, rows, k, m = world
    baskets = Baskets.from_rows([hierarchy.labels[item] for item in row] for row in rows)
    whose = replace(baskets, people=np.arange(len(rows), dtype=np.int32)[::-1])
    plain, counted = (local(sets, KmAnonymity(k, m), hierarchy, Options(suppress=0.1)) for sets in (baskets, whose))
    assert plain.node.tolist() == counted.node.tolist()


def test_fewer_than_k_people_are_never_enough():
    visits = replace(Baskets.from_rows([["E11"]] * 9), people=np.array([0, 0, 0, 1, 1, 1, 2, 2, 2], np.int32))
    hierarchy = strategies.Hierarchy.from_parents([1, -1], ["E11", "*"])
    with pytest.raises(Unreachable):
        local(visits, KmAnonymity(4, 1), hierarchy, Options())
    assert local(visits, KmAnonymity(3, 1), hierarchy, Options()).deleted == 0
