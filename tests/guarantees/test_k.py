"""k-anonymity of transactions: the audit against counting by dictionary, damage, and the homogeneity attack."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.guarantees.k import KAnonymity, open_and_sensitive
from shoal.records.baskets import Baskets

QUASI, SENSITIVE = "abc", "XYZ"
rows = st.lists(
    st.tuples(st.sets(st.sampled_from(QUASI)), st.sets(st.sampled_from(SENSITIVE), max_size=2)), min_size=1, max_size=14
)


def classes_of(people):
    found = defaultdict(list)
    for row, (quasi, sensitive) in enumerate(people):
        found[frozenset(quasi)].append((row, sensitive))
    return found


@given(rows, st.integers(2, 4), st.integers(1, 3))
def test_audit_counts_as_a_dictionary_does(people, k, l):  # noqa: E741
    published = Baskets.from_rows([quasi | sensitive for quasi, sensitive in people])
    verdict = KAnonymity(k, l, list(SENSITIVE)).audit(published, witnesses=100)
    classes = classes_of(people)
    bad = {
        items: members
        for items, members in classes.items()
        if len(members) < k
        or (l > 1 and len(set().union(*(s for _, s in members))) < l)
        or (l > 1 and set.intersection(*(set(s) for _, s in members)))
    }
    assert verdict.checked == verdict.facts["classes"] == len(classes)
    assert verdict.violations == len(bad)
    assert verdict.holds == (not bad)
    assert verdict.facts["smallest_class"] == min(map(len, classes.values()))
    assert verdict.facts["homogeneous_classes"] == sum(
        bool(set.intersection(*(s for _, s in members))) for members in classes.values()
    )
    assert {frozenset(w.items): w.rows for w in verdict.witnesses} == {
        items: tuple(row + 1 for row, _ in members) for items, members in bad.items()
    }
    assert all(w.reason for w in verdict.witnesses)


@given(rows)
def test_parting_keeps_every_row_and_item_once(people):
    baskets = Baskets.from_rows([quasi | sensitive for quasi, sensitive in people])
    quasi, sensitive = open_and_sensitive(baskets, SENSITIVE)
    assert list(quasi) == [frozenset(q) for q, _ in people]
    assert list(sensitive) == [frozenset(s) for _, s in people]


def test_a_single_changed_row_is_caught():
    rows = [["a", "b"]] * 6 + [["c"]] * 6
    assert KAnonymity(6).audit(Baskets.from_rows(rows)).holds
    for row in range(12):
        for damaged in ([], ["a"], ["a", "b", "c"], ["d"]):
            spoiled = Baskets.from_rows([damaged if i == row else r for i, r in enumerate(rows)])
            verdict = KAnonymity(6).audit(spoiled)
            assert not verdict.holds
            assert verdict.violations == 2


def test_empty_rows_are_a_class_like_every_other():
    assert KAnonymity(2).audit(Baskets.from_rows([[], []])).holds
    assert not KAnonymity(2).audit(Baskets.from_rows([[], ["a"], ["a"]])).holds
    assert KAnonymity(2).audit(Baskets.from_rows([])).holds


def test_the_homogeneity_attack_is_told_and_l_forbids_it():
    published = Baskets.from_rows([["a", "HIV"]] * 3 + [["b", "flu"], ["b", "HIV"], ["b"]])
    known = ["HIV", "flu"]
    plain = KAnonymity(3, sensitive=known).audit(published)
    assert plain.holds
    assert "1 of 2 classes, 3 rows, share a sensitive item" in plain.notes[0]
    diverse = KAnonymity(3, 2, known).audit(published)
    assert not diverse.holds
    assert diverse.witnesses[0].reason == "1 of 2 sensitive items"
    beside = KAnonymity(2, 2, known).audit(Baskets.from_rows([["a", "flu"], ["a", "flu", "HIV"]]))
    assert not beside.holds
    assert beside.witnesses[0].reason == "all rows share a sensitive item"


def test_many_items_and_rows():
    rng = np.random.default_rng(3)
    kinds = [rng.choice(70_000, 40, replace=False).astype(str).tolist() for _ in range(200)]
    published = Baskets.from_rows([kinds[i % 200] for i in rng.permutation(2000)])
    verdict = KAnonymity(10).audit(published)
    assert verdict.holds
    assert verdict.checked == 200


@pytest.mark.parametrize("given", [{"k": 1}, {"k": 0}, {"k": True}, {"k": 2.5}, {"k": 2, "l": 0}])
def test_impossible_parameters(given):
    with pytest.raises(InputError, match="must be a whole number"):
        KAnonymity(**given)


def test_words_name_the_crowd_and_no_item():
    promise = KAnonymity(5, 2, ["HIV"])
    assert str(promise) == "5-anonymity with 2-diversity"
    assert "HIV" not in " ".join([*promise.promise(), *promise.limits(), *map(str, promise.to_dict().values())])
