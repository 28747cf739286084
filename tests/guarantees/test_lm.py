"""The audit of (k,l^m)-diversity against a brute-force auditor."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_rt as naive
from rt_tables import as_records, records, tables
from shoal.errors import InputError
from shoal.guarantees.lm import LmDiversity
from shoal.guarantees.rt import RTAnonymity

SENSITIVE = "EF"


def parts(table):
    own = list(zip(*(c.texts() for c in table.of_role("quasi")), strict=True))
    rows = list(table.items.rows())
    return own, [[i for i in r if i not in SENSITIVE] for r in rows], [set(r) & set(SENSITIVE) for r in rows]


@settings(max_examples=200)
@given(tables(max_rows=16), st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
def test_audit_counts_what_brute_force_counts(rows, k, l, m):  # noqa: E741
    table, _ = as_records(rows, SENSITIVE)
    own, known, told = parts(table)
    rare = naive.rt_breaches(own, known, k, m)
    sure = naive.inferences(own, known, told, l, m)
    audit = LmDiversity(k, l, m).audit(table, witnesses=10_000)
    assert audit.holds == (not rare and not sure)
    assert (audit.facts["rare"], audit.facts["inferences"]) == (len(rare), len(sure))
    assert audit.violations == len(rare) + len(sure)
    # A witness does not name the sensitive item: as many are shown as there are such items.
    found = Counter(
        (w.group, w.items, int(w.reason.split()[0]), w.support) for w in audit.witnesses if "sensitive" in w.reason
    )
    assert found == Counter((*key[:2], *figures) for key, figures in sure.items())
    assert all(len(w.rows) == w.support for w in audit.witnesses)


@given(tables(max_rows=16), st.integers(1, 4), st.integers(1, 3))
def test_with_l_1_it_is_k_km_anonymity(rows, k, m):
    table, _ = as_records(rows, SENSITIVE)
    assert LmDiversity(k, 1, m).audit(table).holds == RTAnonymity(k, m).audit(table).holds


@given(tables(max_rows=16), st.integers(1, 3))
def test_threads_change_nothing(rows, l):  # noqa: E741
    table, _ = as_records(rows, SENSITIVE)
    one, two = (LmDiversity(2, l, 2).audit(table, threads=t).to_dict() for t in (1, 2))
    assert one == two


def test_a_crowd_that_shares_a_sensitive_item_is_refused():
    table = records(
        [((1, "a", "b"), ["A", "HIV"]), ((1, "a", "b"), ["A", "HIV"]), ((1, "a", "b"), ["B"])] * 2, sensitive=["HIV"]
    )
    assert RTAnonymity(2, 2).audit(table).holds
    audit = LmDiversity(2, 2, 2).audit(table)
    assert not audit.holds
    assert audit.by_size[0][1] == audit.by_size[1][1] == 1
    surest = audit.witnesses[0]
    assert (surest.items, surest.support, surest.rows) == (("A",), 4, (1, 2, 4, 5))
    assert surest.reason == "4 of 4 rows hold the same sensitive item, more than 1/2"


def test_a_few_witnesses_show_both_kinds_of_breach():
    table = records([((1, "a", "b"), [c, "HIV"]) for c in "ABCDEFGH"], sensitive=["HIV"])
    reasons = {bool(w.reason) for w in LmDiversity(2, 2, 1).audit(table, witnesses=4).witnesses}
    assert reasons == {True, False}


@pytest.mark.parametrize("bad", [{"k": 2, "l": 0, "m": 2}, {"k": 2, "l": 1.5, "m": 2}])
def test_impossible_parameters_are_refused(bad):
    with pytest.raises(InputError):
        LmDiversity(**bad)


def test_it_names_itself():
    assert str(LmDiversity(25, 3, 2)) == "(25,3^2)-diversity"
    assert "1/3" in LmDiversity(25, 3, 2).promise()[-1]
    assert LmDiversity(25, 3, 2).to_dict()["model"] == "lm"
