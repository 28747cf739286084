"""Audits that count people against a brute-force auditor: whatever the rows, both find the same breaches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_people as naive
from shoal.errors import InputError
from shoal.guarantees.diversity import MatchingDiversity
from shoal.guarantees.k import KAnonymity
from shoal.guarantees.lm import LmDiversity
from shoal.guarantees.rt import RTAnonymity
from shoal.guarantees.table import FREQUENCY, TableAnonymity
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records

HIDDEN = frozenset("EF")


@st.composite
def visits(draw, max_rows=12):
    """Rows of a few people: two columns, an item set, a sensitive value that may be missing."""
    row = st.fixed_dictionaries(
        {
            "person": st.integers(0, 4),
            "sex": st.sampled_from("fm"),
            "illness": st.sampled_from(["", "flu", "gout", "HIV"]),
            "items": st.frozensets(st.sampled_from("ABCEF"), max_size=4),
            "bucket": st.integers(1, 3),
        }
    )
    return draw(st.lists(row, min_size=1, max_size=max_rows))


def records_of(rows, *, items=True, bucket=False):
    columns = [Column.from_texts("sex", "quasi", [row["sex"] for row in rows])]
    columns += [Column.from_texts("illness", "sensitive", [row["illness"] for row in rows])]
    if bucket:
        columns += [Column.from_texts("bucket", "keep", [str(row["bucket"]) for row in rows])]
    people = np.unique([row["person"] for row in rows], return_inverse=True)[1].astype(np.int32)
    sets = Baskets.from_rows(sorted(row["items"]) for row in rows) if items else None
    return Records(tuple(columns), sets, people=people)


def without_column(records, hidden):
    """Items alone are hidden: then no column is sensitive."""
    kept = tuple(column for column in records.columns if column.role != "sensitive")
    return Records(kept, records.items, "items", frozenset(hidden), people=records.people)


@settings(max_examples=60)
@given(visits(), st.integers(2, 4), st.integers(1, 3), st.booleans())
def test_classes_of_a_table(rows, k, l, frequency):  # noqa: E741
    promise = TableAnonymity(k, l, l_kind=FREQUENCY if frequency and l > 1 else "distinct")
    audit = promise.audit(records_of(rows, items=False))
    expected = naive.table_breaches(rows, k, l, ["sex"], ["illness"], frequency=frequency)
    assert (audit.violations, audit.holds) == (expected, not expected)
    assert audit.facts["fewest_people"] == min(
        len(naive.people(group)) for group in naive.grouped(rows, lambda row: row["sex"]).values()
    )


@settings(max_examples=60)
@given(visits(), st.integers(2, 4), st.integers(1, 3))
def test_classes_of_transactions(rows, k, l):  # noqa: E741
    records = records_of(rows)
    audit = KAnonymity(k, l, HIDDEN).audit(records.items)
    assert audit.violations == naive.k_breaches(rows, k, l, HIDDEN)


@settings(max_examples=60)
@given(visits(), st.integers(1, 3), st.integers(1, 3))
def test_crowds_beside_items(rows, k, m):
    audit = RTAnonymity(k, m).audit(records_of(rows))
    assert audit.violations == naive.rt_breaches(rows, k, m, ["sex"])


@settings(max_examples=60)
@given(visits(), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
def test_sensitive_items_of_crowds(rows, k, l, m):  # noqa: E741
    audit = LmDiversity(k, l, m).audit(without_column(records_of(rows), HIDDEN))
    assert audit.facts["inferences"] == naive.inferences(rows, l, m, ["sex"], HIDDEN)
    assert audit.facts["rare"] == naive.rt_breaches(rows, k, m, ["sex"], HIDDEN)


@settings(max_examples=60)
@given(visits(), st.integers(2, 3), st.integers(1, 2))
def test_sensitive_columns_of_crowds(rows, l, m):  # noqa: E741
    audit = LmDiversity(1, l, m).audit(records_of(rows))
    assert audit.facts["telling_crowds"] == naive.telling_crowds(rows, l, m, ["sex"], "illness")


@settings(max_examples=60)
@given(visits())
def test_buckets_hold_nobody_twice(rows):
    audit = MatchingDiversity(2).audit(records_of(rows, items=False, bucket=True))
    few = {
        name
        for name, group in naive.grouped(rows, lambda row: row["bucket"]).items()
        if len({row["illness"] for row in group} - {""}) < 2
    }
    beside = [
        row for row in rows if sum(o["bucket"] == row["bucket"] and o["person"] == row["person"] for o in rows) > 1
    ]
    broken = {id(row) for row in rows if row["bucket"] in few} | {id(row) for row in beside}
    assert audit.violations == len(broken)
    assert any("one person's" in witness.reason for witness in audit.witnesses) == bool(beside)


def test_where_every_row_is_a_person_nothing_changes():
    rows = [
        {"person": i, "sex": "fm"[i % 2], "illness": "flu" if i % 3 else "gout", "items": "AB"[i % 2], "bucket": 1}
        for i in range(8)
    ]
    with_people = records_of(rows)
    alone = Records(with_people.columns, Baskets.from_rows(row["items"] for row in rows))
    for promise in (RTAnonymity(3, 1), LmDiversity(3, 2, 1), TableAnonymity(3, 2, l_kind=FREQUENCY)):
        one, other = (promise.audit(records) for records in (with_people, alone))
        assert (one.holds, one.violations, one.witnesses) == (
            other.holds,
            other.violations,
            other.witnesses,
        ) or not one.holds


def test_witnesses_speak_of_people():
    rows = [{"person": 0, "sex": "f", "illness": "flu", "items": "A"} for _ in range(5)]
    (witness,) = TableAnonymity(3).audit(records_of(rows, items=False)).witnesses
    assert (witness.support, witness.rows, witness.reason) == (1, (1, 2, 3, 4, 5), "1 of 3 people")
    assert KAnonymity(3).audit(records_of(rows).items).witnesses[0].reason == "1 of 3 people"


def test_t_is_refused_where_people_are_counted():
    rows = [{"person": i // 2, "sex": "f", "illness": "flu", "items": "A"} for i in range(8)]
    for promise in (TableAnonymity(2, t=0.5), RTAnonymity(2, 1, t=0.5), LmDiversity(2, 2, 1, t=0.5)):
        with pytest.raises(InputError, match="several values at once"):
            promise.audit(records_of(rows))
