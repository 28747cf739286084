import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import naive_local
import shoal.guarantees.km_local as km_local
import strategies
from shoal.errors import InputError
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.km_local import LocalKmAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets

TREE = Hierarchy.from_parents([4, 4, 5, 5, 6, 6, -1], ["a1", "a2", "b1", "b2", "A", "B", "*"])


@st.composite
def mixed_releases(draw):
    """(hierarchy, rows of nodes of any level, nested ones among them, k, m)."""
    hierarchy = draw(strategies.trees(1, 6))
    nodes = st.sets(st.integers(0, hierarchy.n_nodes - 1), max_size=4)
    rows = draw(st.lists(nodes, min_size=1, max_size=10))
    return hierarchy, rows, draw(st.integers(1, 4)), draw(st.integers(1, 4))


def named(rows, hierarchy):
    return Baskets.from_rows([hierarchy.names[v] for v in row] for row in rows)


def audit(rows, k, m, hierarchy=TREE, **how):
    return LocalKmAnonymity(k, m, hierarchy).audit(Baskets.from_rows(rows), **how)


@given(mixed_releases())
def test_audit_agrees_with_every_attacker_who_knows_up_to_m_items(release):
    hierarchy, rows, k, m = release
    breached = naive_local.attacks(strategies.naive_tree(hierarchy), rows, k, m)
    found = LocalKmAnonymity(k, m, hierarchy).audit(named(rows, hierarchy))
    assert found.holds == (not breached)
    assert (found.violations > 0) == bool(breached)


@given(mixed_releases())
def test_the_walk_without_spelling_out_agrees_with_every_attacker(release):
    hierarchy, rows, k, m = release
    tree = strategies.naive_tree(hierarchy)
    breached = naive_local.attacks(tree, rows, k, m)
    whole = km_local._Published(named(rows, hierarchy), hierarchy)
    found = whole.first_breach(LocalKmAnonymity(k, m, hierarchy), 2, None)
    assert found.holds == (not breached)
    for witness in found.witnesses:
        known = frozenset(hierarchy.labels.index(name) for name in witness.items)
        assert breached[known] == witness.support
        assert [row + 1 for row in naive_local.matching_rows(tree, rows, known)] == list(witness.rows)


@given(mixed_releases())
def test_witnesses_are_known_items_and_the_rows_that_they_match(release):
    hierarchy, rows, k, m = release
    tree = strategies.naive_tree(hierarchy)
    for witness in LocalKmAnonymity(k, m, hierarchy).audit(named(rows, hierarchy)).witnesses:
        known = [hierarchy.labels.index(name) for name in witness.items]
        matched = naive_local.matching_rows(tree, rows, known)
        assert list(witness.rows) == [row + 1 for row in matched]
        assert witness.support == len(matched) < k


@given(mixed_releases())
def test_what_the_plain_audit_passes_is_safe_whatever_the_hierarchy(release):
    hierarchy, rows, k, m = release
    if naive.is_km_anonymous(rows, k, m):
        assert naive_local.is_locally_anonymous(strategies.naive_tree(hierarchy), rows, k, m)
        assert LocalKmAnonymity(k, m).audit(named(rows, hierarchy)).holds


def test_the_plain_audit_refuses_what_is_safe():
    rows = [["a1"], ["a2"], ["A"], ["A"]]  # a1 and a2 match three rows each, both together two
    assert not KmAnonymity(2, 2).audit(Baskets.from_rows(rows)).holds
    assert audit(rows, 2, 2).holds
    assert audit(rows, 3, 1).holds


def test_both_audits_refuse_what_is_not_safe():
    rows = [["a1"], ["A"], ["A"]]  # a2 matches two rows
    assert not KmAnonymity(3, 1).audit(Baskets.from_rows(rows)).holds
    assert [witness.items for witness in audit(rows, 3, 1).witnesses] == [("a2",)]


def test_known_items_can_be_rare_together_though_each_is_common():
    rows = [["A", "b1"], ["A", "b1"], ["a1", "B"], ["a1", "b2"], ["a1", "b2"]]
    assert audit(rows, 3, 1).violations == 1  # a2 alone: the rows with A
    found = audit([*rows, ["A"]], 3, 2)
    assert not found.holds
    assert ("a2", "b1") in [witness.items for witness in found.witnesses]


def test_two_known_items_may_match_the_same_token():
    rows = [["A"], ["A"], ["a1"], ["a2"]]
    assert audit(rows, 3, 1).holds
    found = audit(rows, 3, 2)
    assert [(witness.items, witness.support, witness.rows) for witness in found.witnesses] == [
        (("a1", "a2"), 2, (1, 2))
    ]


def test_a_token_below_another_of_its_row_adds_nothing():
    assert audit([["A", "a1"], ["A"], ["A", "a2"]], 3, 2).holds
    assert not KmAnonymity(3, 2).audit(Baskets.from_rows([["A", "a1"], ["A"], ["A", "a2"]])).holds


def test_empty_rows_are_safe():
    assert audit([[], []], 5, 2).holds
    assert audit([[], ["*"], ["a1"]], 2, 2).violations


def test_tokens_from_elsewhere_are_an_error():
    with pytest.raises(InputError, match="1 published token is not in it"):
        audit([["c1"], ["c1"]], 2, 1)


def test_tokens_are_known_as_text_wrote_them():
    tree = Hierarchy.from_parents([3, 3, 4, 4, -1], ["whole milk", " oat", "bread", "all dairy", "*"])
    rows = [["whole_milk"], ["all_dairy"], ["all_dairy"], ["oat"], ["oat"]]
    assert audit(rows, 3, 1, tree).holds


def test_without_the_hierarchy_a_no_is_told_as_a_perhaps():
    found = audit([["a1"], ["A"], ["A"]], 3, 1, None)
    assert not found.holds
    assert "depends on the hierarchy" in found.notes[-1]


def test_nodes_that_cover_the_same_leaves_are_one():
    tree = Hierarchy.from_parents([1, 3, 3, -1], ["a", "only", "b", "*"])
    assert tree.names[tree.n_leaves] == "only"
    assert audit([["a"], ["only"]], 2, 1, tree).holds


def test_counts_are_those_of_items_that_rows_tell_apart():
    found = audit([["a1"], ["A"], ["A"], ["B"], ["B"]], 3, 2)
    # a1, a2 (for the rest of A), one of B, and a1 with a2.
    assert found.checked == 4
    assert found.by_size == {1: (3, 2), 2: (1, 1)}


def test_large_releases_are_audited_without_spelling_them_out(monkeypatch):
    monkeypatch.setattr(km_local, "SPELLED_OUT", 0)
    assert not audit([["a1"], ["A"], ["A"]], 3, 2).holds
    found = audit([["a1"], ["a2"], ["A"], ["A"]], 2, 2)
    assert found.holds
    assert found.complete


def test_the_root_in_many_rows_takes_no_room():
    n = 3000
    parent = np.full(n + 1, n, np.int32)
    parent[-1] = -1
    tree = Hierarchy(parent, (*(f"i{v}" for v in range(n)), "*"), n)
    rows = [["*"]] * 4000 + [[f"i{v}", f"i{(v + 1) % n}"] for v in range(n)]
    found = audit(rows, 5, 3, tree)
    assert found.holds


def test_the_guarantee_says_that_it_is_local():
    guarantee = LocalKmAnonymity(5, 2, TREE)
    assert guarantee.to_dict() == {"model": "km", "k": 5, "m": 2, "name": "5^2-anonymity", "local": True}
    assert guarantee == LocalKmAnonymity(5, 2)
    assert "category above it" in guarantee.promise()[0]
    with pytest.raises(InputError):
        LocalKmAnonymity(0, 2)
