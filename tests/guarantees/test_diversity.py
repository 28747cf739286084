"""Matching l-diversity against all assignments, on random small buckets; the paper's examples; the plain kinds of l-diversity."""

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
from shoal.errors import InputError
from shoal.guarantees.diversity import MatchingDiversity, PlainDiversity, diversities
from shoal.kernels.audit import assignments
from shoal.kernels.buckets import matchings
from shoal.records.buckets import Buckets
from shoal.records.records import Column, Records


def records_of(quasi, sensitive):
    return Records((Column.from_texts("who", "quasi", quasi), Column.from_texts("s", "sensitive", sensitive)))


def rules_of(records, excluded):
    """Rules from {quasi value: values that it cannot have}."""
    lines = [
        json.dumps({"if": {"who": who}, "never": value})
        for who, values in excluded.items()
        for value in values
        if who in records["who"].values and value in records["s"].values
    ]
    return rule_edits(lines, value_hierarchies(records, {}), records["s"]).added


@st.composite
def releases(draw, max_rows=6):
    """(rows of (kind, value), bucket of each, {kind: impossible values}); whether or not the rules agree with the rows."""
    kinds, values = "abc", "pqrs"
    rows = draw(st.lists(st.tuples(st.sampled_from(kinds), st.sampled_from(values)), min_size=1, max_size=max_rows))
    buckets = draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    excluded = {kind: draw(st.sets(st.sampled_from(values))) for kind in kinds}
    return rows, buckets, excluded


@given(releases(), st.integers(2, 4))
@settings(max_examples=300)
def test_the_audit_finds_what_all_assignments_find(release, l):  # noqa: E741
    rows, bucket, excluded = release
    records = records_of([kind for kind, _ in rows], [value for _, value in rows])
    published = Buckets.of(records, np.array(bucket))
    audit = MatchingDiversity(l, rules_of(records, excluded)).audit(published, witnesses=100)
    expected = {}
    for b in set(bucket):
        members = [i for i in range(len(rows)) if bucket[i] == b]
        left = naive_buckets.valid([excluded[rows[i][0]] for i in members], [rows[i][1] for i in members])
        expected |= dict(zip(members, left, strict=True))
    broken = {i for i, left in expected.items() if len(left) < l}
    assert audit.holds == (not broken)
    assert audit.violations == len(broken)
    assert audit.checked == len(rows)
    assert audit.facts["contradicted_rows"] == sum(not left for left in expected.values())
    assert audit.facts["certain_rows"] == sum(len(left) == 1 for left in expected.values())
    named = {row - 1: set(witness.items) for witness in audit.witnesses for row in witness.rows}
    assert named == {i: expected[i] for i in broken}
    assert bool(audit.notes) == any(not left for left in expected.values())


@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=4),
    st.lists(st.integers(1, 3), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
)
@settings(max_examples=200)
def test_values_left_of_many_equal_rows_and_values(rows, wanted, random):
    """The audit's code and the search's are two; both equal trying every assignment."""
    while sum(rows) < sum(wanted):
        rows[0] += 1
    while sum(wanted) < sum(rows):
        wanted[-1] += 1
    if sum(rows) > 7:
        return
    allowed = np.array([[random.random() < 0.6 for _ in wanted] for _ in rows])
    sets = [{j for j in range(len(wanted)) if not allowed[i, j]} for i, many in enumerate(rows) for _ in range(many)]
    left = naive_buckets.valid(sets, [j for j, many in enumerate(wanted) for _ in range(many)])
    for keep_valid in (assignments.keep_open, matchings.valid_pairs):
        kept = allowed.copy()
        matched = keep_valid(np.array(rows), np.array(wanted), kept)
        assert matched == all(left)
        if matched:
            first = np.cumsum([0, *rows[:-1]])
            assert [set(np.flatnonzero(row).tolist()) for row in kept] == [left[i] for i in first]


@pytest.mark.parametrize("l", [2, 3, 5])
def test_the_only_female_must_have_ovarian_cancer(l):  # noqa: E741
    """Section V-A: every row has l possible values when looked at alone, and yet the female's is certain."""
    records = records_of(["F"] + ["M"] * l, ["Ovarian Cancer"] + [f"d{i}" for i in range(l)])
    published = Buckets.of(records, np.zeros(l + 1, np.int32))
    audit = MatchingDiversity(l, rules_of(records, {"M": ["Ovarian Cancer"]})).audit(published)
    assert not audit.holds
    assert audit.violations == 1
    (witness,) = audit.witnesses
    assert witness.rows == (1,)
    assert witness.items == ("Ovarian Cancer",)
    assert witness.reason == f"bucket 1: 1 of {l} values are possible"
    # Without the rule, plain diversity sees nothing.
    assert MatchingDiversity(l).audit(published).holds


def test_two_females_share_the_doubt():
    records = records_of("FFMM", ["Ovarian Cancer", "Flu", "Flu", "Cold"])
    audit = MatchingDiversity(2, rules_of(records, {"M": ["Ovarian Cancer"]})).audit(Buckets.of(records, np.zeros(4)))
    assert audit.holds
    assert audit.facts["fewest_values"] == 2


def test_a_bucket_that_no_assignment_fits_is_called_a_contradiction():
    records = records_of("MM", ["Ovarian Cancer", "Flu"])
    audit = MatchingDiversity(2, rules_of(records, {"M": ["Ovarian Cancer"]})).audit(Buckets.of(records, np.zeros(2)))
    assert not audit.holds
    assert "the rules contradict" in audit.witnesses[0].reason
    assert "a rule is wrong for this data" in audit.notes[0]


def test_a_large_bucket_stays_cheap():
    """20,000 rows of a few kinds in one bucket: kinds are matched, not rows."""
    random = np.random.default_rng(5)
    kinds = random.integers(0, 40, 20_000)
    values = (kinds + random.integers(0, 10, 20_000)) % 40
    records = records_of([f"k{k}" for k in kinds], [f"v{v}" for v in values])
    rules = rules_of(records, {f"k{k}": [f"v{(k + j) % 40}" for j in range(10, 40)] for k in range(40)})
    audit = MatchingDiversity(10, rules).audit(Buckets.of(records, np.zeros(20_000)))
    assert audit.holds
    assert audit.facts["fewest_values"] == 10


@given(releases(max_rows=12), st.integers(2, 4))
@settings(max_examples=100)
def test_plain_diversity_by_definition(release, l):  # noqa: E741
    rows, bucket, _ = release
    published = Buckets.of(records_of([a for a, _ in rows], [s for _, s in rows]), np.array(bucket))
    numbered = dict.fromkeys(bucket)  # buckets are numbered as they first appear
    counts = [Counter(rows[i][1] for i in range(len(rows)) if bucket[i] == b) for b in numbered]
    found = diversities(published, l)
    for b, content in enumerate(counts):
        size = sum(content.values())
        ordered = sorted(content.values(), reverse=True)
        rest = sum(ordered[l - 1 :])
        assert published.content(b) == content
        assert found["distinct"][b] == len(content)
        assert found["entropy"][b] == pytest.approx(math.exp(-sum(n / size * math.log(n / size) for n in ordered)))
        assert found["recursive"][b] == (pytest.approx(ordered[0] / rest) if rest else math.inf)
    assert PlainDiversity(l).audit(published).holds == all(len(content) >= l for content in counts)
    assert PlainDiversity(l).audit(published).holds == MatchingDiversity(l).audit(published).holds
    audit = PlainDiversity(l, "recursive", c=2).audit(published)
    assert audit.violations == sum(r >= 2 for r in found["recursive"])
    assert PlainDiversity(l, "entropy").audit(published).violations <= len(counts)


def test_equal_shares_have_the_entropy_of_their_number():
    records = records_of("abcdefg", "pqrstuv")
    published = Buckets.of(records, np.zeros(7))
    assert PlainDiversity(7, "entropy").audit(published).holds
    assert not PlainDiversity(8, "entropy").audit(published).holds
    assert not PlainDiversity(7, "recursive", c=1).audit(published).holds
    assert PlainDiversity(7, "recursive", c=1.01).audit(published).holds


def test_words_of_the_promise():
    records = records_of("FM", ["Ovarian Cancer", "Flu"])
    guarantee = MatchingDiversity(2, rules_of(records, {"M": ["Ovarian Cancer"]}))
    assert str(guarantee) == "matching 2-diversity"
    assert str(MatchingDiversity(2)) == "2-diversity"
    assert guarantee.to_dict()["knowledge"]["rules"] == 1
    assert MatchingDiversity(3).to_dict() == {
        "model": "diversity",
        "l": 3,
        "name": "3-diversity",
        "missing": "unknown",
    }
    assert any("all rules of the kind" in line for line in guarantee.promise())
    assert guarantee.limits()
    assert MatchingDiversity(2).promise()
    assert MatchingDiversity(2).limits()
    assert guarantee.audit(Buckets.of(records, np.zeros(2))).to_dict()["fewest_values"] == 1


@pytest.mark.parametrize("l", [1, 0, True, 2.5, "3"])
def test_an_impossible_l_is_refused(l):  # noqa: E741
    with pytest.raises(InputError, match="l must be a whole number of at least 2"):
        MatchingDiversity(l)
    with pytest.raises(InputError, match="l must be"):
        PlainDiversity(l)


def test_unknown_kinds_and_c_are_refused():
    with pytest.raises(InputError, match="choose one of distinct"):
        PlainDiversity(2, "odd")
    with pytest.raises(InputError, match="c must be"):
        PlainDiversity(2, "recursive", c=0)
