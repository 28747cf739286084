"""What a tree allows, and whom to blame: against a release, against counting by hand, and on a worked example."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import shoal
from shoal.algorithms.recoding import Options
from shoal.estimates.tree_cut import (
    APART,
    blame,
    edit_of,
    free_label,
    name_culprits,
    remedies,
    smallest_rare_sets,
    tree_cut,
)
from shoal.hierarchy.tree import Hierarchy
from strategies import baskets_of, worlds

IN_FULL = Options()


def store():
    """Twelve baskets of a store whose fish counter hardly anybody goes to."""
    labels = ("apple", "pear", "leek", "kale", "cod", "eel", "fruit", "greens", "fish", "*")
    tree = Hierarchy(np.array([6, 6, 7, 7, 8, 8, 9, 9, 9, -1], np.int32), labels, 6)
    rows = [("apple", "leek"), ("apple", "kale"), ("pear", "leek"), ("pear", "kale")] * 3
    return tree, [*rows, ("cod",), ("eel", "apple")]


def test_two_fish_close_the_whole_store():
    tree, rows = store()
    found = tree_cut(shoal.Baskets.from_rows(rows), shoal.KmAnonymity(3, 2), tree)
    assert [tree.labels[v] for v in found.cut.nodes] == ["*"]
    assert (found.info, found.exact, found.optimal) == (1.0, 0.0, True)
    assert found.closed_nodes() == [tree.root]
    why = blame(found, tree.root)
    assert [(tree.labels[one.node], one.rows, one.sets) for one in why.culprits] == [("fish", 2, 1)]
    merged, apart = remedies(found, why)
    assert (merged.act, [tree.labels[v] for v in merged.nodes], merged.label) == (
        "merge",
        ["fish", "greens"],
        "other *",
    )
    assert (apart.act, apart.nodes, apart.label) == ("apart", (tree.labels.index("fish"),), APART)
    assert apart.deleted == pytest.approx(2 / 27)
    assert apart.info < merged.info < found.info


def test_a_set_apart_category_is_dropped_within_what_may_be_left_out():
    tree, rows = store()
    baskets, promise = shoal.Baskets.from_rows(rows), shoal.KmAnonymity(3, 2)
    found = tree_cut(baskets, promise, tree)
    apart = list(remedies(found, blame(found, tree.root)))[-1]
    after = tree_cut(
        baskets, promise, edit_of(apart.act, tree, apart.nodes, apart.label), Options(suppress=apart.suppress)
    )
    assert (after.info, after.deleted) == (apart.info, apart.deleted)
    assert after.deleted == pytest.approx(2 / 27)


@given(worlds(min_leaves=2))
def test_it_loses_what_the_release_loses(world):
    tree, rows, k, m = world
    baskets = baskets_of(rows, tree)
    if not baskets.occurrences:
        return
    promise = shoal.KmAnonymity(k, m)
    found = tree_cut(baskets, promise, tree, IN_FULL)
    release = shoal.anonymize(baskets, promise, hierarchy=tree, algorithm="exact", suppress=0)
    assert found.info == pytest.approx(release.loss["info"], abs=1e-6)
    assert found.exact == pytest.approx(release.kept["exact"])
    assert found.optimal
    assert sorted(found.cut.nodes) == sorted(np.unique(found.cut.node))


def naive_rare_sets(tree, rows, node, k, m):
    """Sets of published nodes in fewer than k rows: singles, pairs without a rare single, and larger ones if there are none."""
    published = [{int(node[leaf]) for leaf in row} for row in rows]

    def rare(size):
        sets = {one for row in published for one in combinations(sorted(row), size)}
        return {one for one in sets if sum(set(one) <= row for row in published) < k}

    singles = rare(1)
    small = singles | ({one for one in rare(2) if not any((v,) in singles for v in one)} if m > 1 else set())
    return small or set().union(*(rare(size) for size in range(3, m + 1)))


@given(worlds(min_leaves=2))
def test_blame_is_what_counting_by_hand_says(world):
    tree, rows, k, m = world
    baskets = baskets_of(rows, tree)
    if not baskets.occurrences:
        return
    found = tree_cut(baskets, shoal.KmAnonymity(k, m), tree, IN_FULL)
    for node in [v for v in found.cut.nodes.tolist() if v >= tree.n_leaves]:
        opened = found.cut.node.copy()
        for leaf in np.flatnonzero(opened == node).tolist():
            child = leaf
            while int(tree.parent[child]) != node:
                child = int(tree.parent[child])
            opened[leaf] = child
        rare = naive_rare_sets(tree, rows, opened, k, found.problem.m)
        sets = {tuple(v for v in one if v >= 0) for one in smallest_rare_sets(found.problem, opened).tolist()}
        assert sets <= rare
        assert bool(sets) == bool(rare)
        assert {one for one in rare if len(one) < 3} <= sets
        why = blame(found, node)
        assert why.sets == len(sets)
        assert sum(culprit.sets for culprit in why.culprits) + why.others == why.sets
        blamed = {culprit.node for culprit in why.culprits}
        assert sum(not blamed & set(one) for one in sets) == why.others == 0


def test_sets_are_held_against_whom_it_costs_least():
    rare = np.array([[0, 3], [1, 3], [2, 3], [-1, 4], [1, 2]], np.int32)
    named, others = name_culprits(rare, np.array([5, 5, 9, 12, 1]))
    assert named == [(4, 1), (1, 2), (0, 1), (2, 1)]
    assert others == 0
    assert name_culprits(rare, np.array([5, 5, 9, 12, 1]), most=1) == ([(4, 1)], 4)


def test_a_label_that_is_taken_gets_a_number():
    tree, _ = store()
    assert free_label(tree, "herbs") == "herbs"
    assert free_label(tree, "fish") == "fish 2"


@pytest.mark.skipif(not os.environ.get("SHOAL_DATA"), reason="needs the public data sets")
def test_fourteen_departments_close_a_real_store():
    folder = Path(os.environ["SHOAL_DATA"]) / "completejourney"
    baskets = shoal.read(folder / "completejourney_baskets.dat.gz")
    tree = shoal.read_hierarchy(folder / "completejourney_hierarchy.csv.gz")
    promise = shoal.KmAnonymity(5, 2)
    found = tree_cut(baskets, promise, tree, IN_FULL)
    assert found.info == 1.0
    why = blame(found, tree.root)
    assert (why.sets, len(why.culprits), why.others) == (55, 14, 0)
    merged = next(remedies(found, why))
    assert merged.info == pytest.approx(0.842, abs=1e-3)
