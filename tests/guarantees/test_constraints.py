"""Anonymity under constraints: what the audit says is what all parts of all protected sets say, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_constraints as naive
import shoal
from shoal.errors import InputError
from shoal.guarantees.constraints.policy import AllOf, Policy
from shoal.guarantees.constraints.promise import ConstraintAnonymity, members_in
from shoal.records.baskets import Baskets

ITEMS = "abcdef"
GROUPS = [["a", "b", "c"], ["d", "e"]]
TOKENS = [*ITEMS, "(a,b)", "(b,c)", "(a,b,c)", "(d,e)", "(a,d)", "(e,f)"]
MEANING = {token: tuple(token.strip("()").split(",")) for token in TOKENS}

protections = st.lists(
    st.one_of(
        st.lists(st.sampled_from(ITEMS), min_size=1, max_size=4),
        st.builds(
            lambda m, of: {"all": m, "of": sorted(of)}, st.integers(1, 3), st.sets(st.sampled_from(ITEMS), min_size=1)
        ),
        st.builds(lambda m: {"all": m, "of": "*"}, st.integers(1, 3)),
    ),
    min_size=1,
    max_size=4,
)
policies = st.builds(Policy, protections, st.sampled_from([GROUPS, [], "*"]))


@settings(max_examples=300)
@given(st.lists(st.sets(st.sampled_from(TOKENS), max_size=4), min_size=1, max_size=9), policies, st.integers(2, 4))
def test_the_audit_agrees_with_brute_force(rows, policy, k):
    verdict = ConstraintAnonymity(k, policy).audit(Baskets.from_rows(rows))
    # What names nothing of the policy is an item, whatever it looks like.
    meaning = {token: members_in(token, policy) for row in rows for token in row}
    assert verdict.holds == naive.holds(rows, meaning, policy, k)
    rare = naive.rare_parts(rows, meaning, policy, k)
    for witness in verdict.witnesses:
        if not witness.reason:
            assert rare[frozenset(witness.items)] == witness.support == len(witness.rows)
            assert list(witness.rows) == naive.rows_matching(rows, meaning, witness.items)
    if rare and verdict.complete and not any(w.reason for w in verdict.witnesses):
        assert min(w.support for w in verdict.witnesses) == min(rare.values())
    quick = ConstraintAnonymity(k, policy).audit(Baskets.from_rows(rows), yes_or_no=True)
    assert quick.holds == verdict.holds


def test_a_witness_is_the_smallest_part_that_is_too_rare():
    rows = [["a", "b", "c"], ["a", "b"], ["a", "b"], ["a", "c"], ["c"]]
    verdict = shoal.audit(rows, ConstraintAnonymity(2, {"protect": [["a", "b", "c"]]}))
    assert [(w.items, w.support, w.rows) for w in verdict.witnesses] == [(("b", "c"), 1, (1,))]


def test_a_row_matches_an_item_by_the_item_and_by_a_set_with_it():
    promise = ConstraintAnonymity(3, {"protect": [["a"]], "generalize": [["a", "b"]]})
    assert shoal.audit([["a"], ["(a,b)"], ["(a,b)", "c"]], promise).holds
    assert not shoal.audit([["a"], ["b"], ["(a,b)"]], promise).holds


def test_a_set_outside_the_groups_is_named():
    promise = ConstraintAnonymity(2, {"protect": [["a"]], "generalize": [["a", "b"]]})
    verdict = shoal.audit([["(a,c)"], ["(a,c)"], ["(a,b)"]], promise)
    assert [(w.items, w.rows) for w in verdict.witnesses] == [(("(a,c)",), (1, 2))]
    assert "does not put together" in verdict.witnesses[0].reason


@pytest.mark.parametrize(
    ("token", "items"),
    [
        ("a", ("a",)),
        ("(a,b)", ("a", "b")),
        ('("x,y",a)', ("x,y", "a")),
        ('("say ""x""",a)', ('say "x"', "a")),
        ("((a,b))", ("a", "b")),
        ("(kg)", ("(kg)",)),  # of which the policy names nothing
        ("(a", ("(a",)),
        ("(odd,a)", ("(odd,a)",)),  # which the policy names as an item
        ("()", ("()",)),
    ],
)
def test_tokens_are_items_or_sets_of_them(token, items):
    assert members_in(token, Policy([["a"], ["(odd,a)"]], [["a", "b"]])) == items


def test_more_sets_than_a_block_are_counted_the_same():
    draw = np.random.default_rng(2)
    names = [f"i{n}" for n in range(40)]
    rows = [draw.choice(names, 5, replace=False).tolist() for _ in range(60)]
    sets = [draw.choice(names, 3, replace=False).tolist() for _ in range(700)]
    promise = ConstraintAnonymity(2, {"protect": sets})
    baskets = Baskets.from_rows(rows)
    verdict = promise.audit(baskets)
    rare = naive.rare_parts(rows, {name: (name,) for name in names}, promise.policy, 2)
    assert not verdict.holds
    assert {w.items for w in verdict.witnesses} <= {tuple(sorted(part)) for part in rare}
    assert promise.audit(baskets, threads=1) == verdict


def test_the_raw_data_expose_the_rows_that_audits_name():
    rows = [["a", "b"], ["a", "b"], ["a"], ["c", "d"], ["c"], ["d"], ["e"]]
    promise = ConstraintAnonymity(2, {"protect": [["a", "b"], {"all": 2, "of": ["c", "d"]}]})
    assert promise.exposure(Baskets.from_rows(rows), lambda lengths, m: m) == (1, 1)


def test_a_policy_is_what_it_says_in_any_order():
    one = Policy([["b", "a", "a"], {"all": "2", "of": ["d", "c"]}], [["x", "y"]])
    other = Policy([AllOf(2, ("c", "d")), ["a", "b"]], [["y", "x"]])
    assert one.fingerprint() == other.fingerprint() != Policy([["a", "b"]], [["x", "y"]]).fingerprint()
    assert repr(one) == "Policy(protects 1 set and all sets of up to 2 of 2 items; 1 group)"
    assert Policy([{"all": 1, "of": "*"}], "*").protects == "each of the items"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "it protects nothing"),
        ({"protect": [[]]}, "an item is empty"),
        ({"protect": ["ab"]}, "each entry is a list of items"),
        ({"protect": "ab"}, "protect is a list"),
        ({"protect": [["a", 7]]}, "an item is empty or no text"),
        (
            {"protect": [["a"]], "generalize": [["a", "b"], ["b"]]},
            "1 of the items under generalize stand in two groups",
        ),
        ({"protect": [{"all": 0, "of": ["a"]}]}, "all is from 1 to 60"),
        ({"protect": [{"all": "two", "of": ["a"]}]}, "all is a whole number"),
        ({"protect": [{"any": 2}]}, "what stands in braces"),
        ({"protect": [[str(n) for n in range(61)]]}, "it protects a set of 61 items"),
        ({"protects": [["a"]]}, "'protects' is not a key of a policy"),
        ([["a"]], "it is not a policy"),
    ],
)
def test_what_is_no_policy_is_refused_without_its_items(given, says):
    with pytest.raises(InputError, match=says) as refused:
        Policy.of(given)
    assert "'a'" not in str(refused.value)


def test_a_promise_needs_its_policy_and_a_crowd():
    with pytest.raises(InputError, match="needs a policy; give one with policy="):
        ConstraintAnonymity(5)
    with pytest.raises(InputError, match="k must be a whole number of at least 2"):
        ConstraintAnonymity(1, {"protect": [["a"]]})
