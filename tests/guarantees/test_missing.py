"""A missing sensitive value counts for nothing and may be anything: against every way to fill it in."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_buckets
from shoal.algorithms.buckets.negative_rules import value_hierarchies
from shoal.algorithms.buckets.rule_files import rule_edits
from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.clusters import cluster, mondrian
from shoal.attacks.homogeneity import homogeneity
from shoal.errors import InputError, Unreachable
from shoal.guarantees.diversity import MatchingDiversity, PlainDiversity
from shoal.guarantees.table import TableAnonymity
from shoal.hierarchy.spec import column_hierarchy
from shoal.records.buckets import Buckets
from shoal.records.records import Column, Records

VALUES = ["p", "q", "r", "", ""]
FRESH = "a value that nobody has"


def table(rows):
    return Records(
        (
            Column.from_texts("who", "quasi", [w for w, _ in rows]),
            Column.from_texts("s", "sensitive", [v for _, v in rows]),
        )
    )


rows = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(VALUES)), min_size=2, max_size=8)


def filled_in(values):
    """Every way to fill in the missing values: with a value of the data, or with one that nobody has."""
    return naive_buckets.completions(values, sorted({*values, FRESH} - {""}))


@given(rows, st.integers(2, 3))
@settings(max_examples=150)
def test_a_class_is_diverse_if_it_is_so_however_missing_values_are_filled_in(given, l):  # noqa: E741
    crowds = [[v for w, v in given if w == who] for who in sorted({w for w, _ in given})]
    safe = all(len(set(world)) >= l for crowd in crowds for world in filled_in(crowd))
    plain = all(len(set(crowd)) >= l for crowd in crowds)
    large = all(len(crowd) >= 2 for crowd in crowds)
    assert TableAnonymity(2, l).audit(table(given)).holds == (safe and large)
    assert TableAnonymity(2, l, "value").audit(table(given)).holds == (plain and large)
    assert TableAnonymity(2, l, {"s": "value"}).audit(table(given)).holds == (plain and large)


@pytest.mark.parametrize("method", [cluster, mondrian])
@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(VALUES)), min_size=2, max_size=14),
    st.integers(2, 3),
    st.sampled_from(["unknown", "value"]),
)
@settings(max_examples=60, deadline=None)
def test_clusters_reach_l_or_say_that_it_cannot_be_reached(method, given, l, missing):  # noqa: E741
    guarantee = TableAnonymity(2, l, missing)
    records = table(given)
    counted = {v for _, v in given if v or missing == "value"}
    trees = {"who": column_hierarchy(records["who"], None)}
    if len(counted) < l:
        with pytest.raises(Unreachable, match=f"only {len(counted)} different values?;"):
            method(records, guarantee, trees, Options())
        return
    assert guarantee.audit(method(records, guarantee, trees, Options()).apply(records)).holds


@given(rows, st.integers(2, 3), st.sampled_from([1.0, 2.0, 3.0]))
@settings(max_examples=150)
def test_entropy_and_recursive_diversity_hold_in_the_worst_case(given, l, c):  # noqa: E741
    published = Buckets.of(table(given), np.array([ord(who) for who, _ in given]))
    crowds = [[v for w, v in given if w == who] for who in sorted({w for w, _ in given})]

    def entropy(world):
        shares = [n / len(world) for n in Counter(world).values()]
        return math.exp(-sum(p * math.log(p) for p in shares)) >= l * (1 - 1e-12)

    def recursive(world):
        counts = sorted(Counter(world).values(), reverse=True)
        return sum(counts[l - 1 :]) > 0 and counts[0] < c * sum(counts[l - 1 :])

    for kind, keeps in (("entropy", entropy), ("recursive", recursive), ("distinct", lambda w: len(set(w)) >= l)):
        worst = all(keeps(world) for crowd in crowds for world in filled_in(crowd))
        assert PlainDiversity(l, kind, c).audit(published).holds == worst, kind
        plain = all(keeps(crowd) for crowd in crowds)
        assert PlainDiversity(l, kind, c, "value").audit(published).holds == plain, kind


@given(rows, st.integers(2, 3))
@settings(max_examples=100)
def test_without_rules_buckets_are_diverse_however_missing_values_are_filled_in(given, l):  # noqa: E741
    published = Buckets.of(table(given), np.array([ord(who) for who, _ in given]))
    crowds = [[v for w, v in given if w == who] for who in sorted({w for w, _ in given})]
    safe = all(len(set(world)) >= l for crowd in crowds for world in filled_in(crowd))
    assert MatchingDiversity(l).audit(published).holds == safe


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(VALUES)), min_size=1, max_size=6),
    st.fixed_dictionaries({who: st.sets(st.sampled_from("pqr"), max_size=2) for who in "ab"}),
    st.integers(2, 3),
)
@settings(max_examples=150, deadline=None)
def test_with_rules_only_known_values_count_and_each_of_them_is_possible(given, never, l):  # noqa: E741
    """In one bucket. A row may have a value if some world has it so: missing values filled in, and all dealt to the rows by the rules."""
    records = table(given)
    lines = [
        json.dumps({"if": {"who": who}, "never": value})
        for who, values in never.items()
        for value in sorted(values)
        if who in records["who"].values and value in records["s"].values
    ]
    rules = rule_edits(lines, value_hierarchies(records, {}), records["s"]).added
    sets = [{rule.value for rule in rules if rule.conditions["who"] == who} for who, _ in given]
    left = naive_buckets.valid(sets, [value for _, value in given], {""})
    published = Buckets.of(records, np.zeros(len(given)))
    audit = MatchingDiversity(l, rules).audit(published, witnesses=100)
    assert audit.holds == all(len(held) >= l for held in left)
    for witness in audit.witnesses:
        assert all(set(witness.items) == left[row - 1] for row in witness.rows)
    worlds = [naive_buckets.valid(sets, world) for world in filled_in([value for _, value in given])]
    for row, held in enumerate(left):
        assert held <= set().union(*(world[row] for world in worlds))


def test_an_unknown_value_is_excluded_for_nobody_and_rules_about_it_do_nothing():
    records = table([("a", "p"), ("b", ""), ("b", "q")])
    rules = rule_edits(
        ['{"if": {"who": "b"}, "never": ""}', '{"if": {"who": "b"}, "never": "p"}'],
        value_hierarchies(records, {}),
        records["s"],
    ).added
    published = Buckets.of(records, np.zeros(3))
    unknown = MatchingDiversity(2, rules).audit(published, witnesses=9)
    assert not unknown.holds
    assert not unknown.facts["contradicted_rows"]
    assert MatchingDiversity(2, rules, "value").audit(published).facts["contradicted_rows"] == 3


def test_a_crowd_of_one_value_and_missing_ones_is_found_by_the_attack():
    records = table([("a", "hiv"), ("a", ""), ("b", "flu"), ("b", "hiv"), ("c", ""), ("c", "")])
    found = homogeneity(records)
    assert (found.certain, found.certain_crowds) == (2, 1)
    assert str(found.examples[0]) == ("all 2 rows of the crowd of 1, 2 have s hiv, counting 1 whose value is missing")
    assert homogeneity(records, missing="value").certain == 2  # those that all have nothing
    assert homogeneity(records, missing={"s": "value"}).certain == 2


@pytest.mark.parametrize("text", ["?", "NA", "unknown", "null", "-"])
def test_a_text_that_only_looks_missing_is_a_value(text):
    given = [("a", "hiv"), ("a", text)]
    assert TableAnonymity(2, 2).audit(table(given)).holds


@pytest.mark.parametrize("text", ["", " ", "\t ", "\u00a0"])
def test_a_blank_is_missing(text):
    given = [("a", "hiv"), ("a", text)]
    assert not TableAnonymity(2, 2).audit(table(given)).holds


def test_the_promise_says_how_missing_values_were_read():
    for make in (lambda m: TableAnonymity(5, 2, m), lambda m: MatchingDiversity(2, missing=m)):
        told = {reading: " ".join(make(reading).promise()) for reading in ("unknown", "value")}
        assert "missing ones not counted" in told["unknown"]
        assert "a missing value counted as one of them" in told["value"]
        assert [make(reading).to_dict()["missing"] for reading in told] == ["unknown", "value"]
    assert "but as one value in 's'" in TableAnonymity(5, 2, {"s": "value"}).promise()[1]
    assert "missing" not in TableAnonymity(5).to_dict()


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("drop", "rows are not left out of a release"),
        ({"s": "drop"}, "s=drop, but rows are not left out"),
        ("none", "choose unknown or value"),
        (None, "choose unknown or value"),
        (["value"], "choose unknown or value"),
    ],
)
def test_other_readings_are_refused(missing, message):
    for make in (
        lambda m: TableAnonymity(5, 2, m),
        lambda m: MatchingDiversity(2, missing=m),
        lambda m: PlainDiversity(2, missing=m),
    ):
        with pytest.raises(InputError, match=message):
            make(missing)


def test_only_sensitive_columns_have_a_reading():
    records = table([("a", "p"), ("a", "q")])
    with pytest.raises(InputError, match="'who' are always a value of their own, for the column is not sensitive"):
        TableAnonymity(2, 2, {"who": "value"}).audit(records)
    with pytest.raises(InputError, match="not sensitive"):
        MatchingDiversity(2, missing={"who": "value"}).audit(Buckets.of(records, np.zeros(2)))
    with pytest.raises(InputError, match="without l"):
        TableAnonymity(2, 1, "value")
