"""Rare sets under a cut, in people: the walk over the rows of a token, and the look-up of single sets, against counting by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from shoal.algorithms.km.problem import Problem
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.build import balanced_tree
from shoal.kernels.itemsets.deletion import LOOK_UP, Asked, about_all, find_rare, new_scratch
from shoal.records.baskets import Baskets

ROWS = 9 * LOOK_UP
"""So many that single sets of a frequent token are looked up."""


def rows_of_rare_sets(rows, people, token, near, k, m):
    """The rows that hold the token and up to m - 1 of those near it, all of which fewer than k people have in a row."""
    found = set()
    for size in range(m):
        for others in combinations(sorted(near - {token}), size):
            holders = [number for number, row in enumerate(rows) if {token, *others} <= row]
            if len({people[number] for number in holders}) < k:
                found.update(holders)
    return found


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("n_people", [12, 700])
def test_rows_of_rare_sets_are_those_found_by_hand(m, n_people):
    random = np.random.default_rng(m)
    tree = balanced_tree([f"i{n:02}" for n in range(12)], 3)
    people = random.integers(0, n_people, ROWS).astype(np.int32)
    rows = [{f"i{int(9 * x**3 + person) % 12:02}" for x in random.random(random.integers(1, 6))} for person in people]
    baskets = replace(Baskets.from_rows(map(sorted, rows)), people=people)
    some = 0
    for k in (3, 10, n_people // 5 + 2, len(set(people.tolist()))):
        problem = Problem(baskets, KmAnonymity(k, m), tree)
        node = np.where(np.arange(12) < 9, tree.parent[:12], np.arange(12)).astype(np.int32)
        tokens = problem.token_rows(node)
        scratch = new_scratch(tree.n_nodes, len(rows), m, problem.people)
        whose = problem.people.tolist()
        told = [
            set(node[problem.leaf[row]].tolist())
            for row in np.split(problem.baskets.items, problem.baskets.offsets[1:-1])
        ]
        every = set(node.tolist())
        for token in sorted(every):
            for near in (every, {max(every)}, {min(every), max(every)}):
                which = np.array(sorted(near), np.int32)
                few = Asked(np.array([token], np.int32), np.array([0]), np.array([len(near)]), which)
                asked = about_all(np.array([token])) if near is every else few
                reported = set(find_rare(tokens, scratch, asked, 0, 1, False)[0].tolist())
                assert reported == rows_of_rare_sets(told, whose, token, near, k, problem.m)
                some += bool(reported)
    assert some
