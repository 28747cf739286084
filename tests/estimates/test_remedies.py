"""Remedies: what is offered where a release loses a lot, and that a tree that does not help is told beforehand."""

from __future__ import annotations

import pytest

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.estimates.remedies import BETTER, NOTHING, Remedy, remedies
from shoal.plan import plan_of
from shoal.release import run


@pytest.mark.parametrize("kind", BETTER)
def test_what_is_offered_is_something_else_that_the_algorithm_takes(kind):
    for algorithm in ALGORITHMS[kind]:
        now = {"suppress": 0.05, "suppress_rows": 0.0, "delta": 0.6}
        for remedy in remedies(kind, algorithm, now, 0.5):
            name = remedy.options.get("algorithm", algorithm)
            assert name in ALGORITHMS[kind]
            for option, value in remedy.options.items():
                if option != "algorithm":
                    assert option in ALGORITHMS[kind][name].options
                    assert value != now[option]


def test_nothing_is_offered_where_little_is_lost():
    assert remedies("km", "exact", {}, 0.01) == []


def test_an_idle_tree_has_another_in_its_place():
    assert remedies("km", "local", {"suppress": 1.0}, 0.0, [("", "tree.csv")])[-1] == Remedy({}, "", "frequency:5")
    assert remedies("km", "local", {"suppress": 1.0}, 0.0, [("", "frequency:5")])[-1].column is None
    assert Remedy({}, "age", NOTHING) in remedies("table", "cluster", {}, 0.5, [("age", "age.csv")])


def test_a_tree_that_leaves_all_at_its_root_is_idle():
    """Two categories of one item each, rare by themselves: only the root is left."""
    tree = shoal.Hierarchy.from_parents([2, 3, 4, 4, -1], ["a", "b", "x", "y", "*"])
    found = shoal.anonymize([["a"], ["a"], ["b"]], shoal.KmAnonymity(k=3, m=1), hierarchy=tree, algorithm="exact")
    (idle,) = found.proposal.idle_trees
    assert (idle.of_items, idle.share) == (True, 1.0)
    same = shoal.anonymize([["a"]] * 3 + [["b"]] * 3, shoal.KmAnonymity(k=3, m=1), hierarchy=tree)
    assert same.proposal.idle_trees == ()
    local = shoal.anonymize([["a"], ["a"], ["b"]], shoal.KmAnonymity(k=3, m=1), hierarchy=tree, algorithm="local")
    assert local.proposal.idle_trees[0].share == 1.0


def test_a_tree_of_a_column_that_leaves_nothing_is_idle(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("town\n" + "Aa\nBb\nCc\nDd\n")
    (tmp_path / "tree.csv").write_text("Aa,North,*\nBb,North,*\nCc,South,*\nDd,South,*\n")
    document = {
        "version": 1,
        "input": {"path": "t.csv"},
        "columns": {"town": "quasi"},
        "hierarchies": {"town": "tree.csv"},
    }
    found = run(plan_of(document | {"guarantee": {"model": "k", "k": 4}}))
    assert [(one.column, one.of_items, one.share) for one in found.proposal.idle_trees] == [("town", False, 1.0)]
    assert run(plan_of(document | {"guarantee": {"model": "k", "k": 2}})).proposal.idle_trees == ()
