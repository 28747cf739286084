"""Every search that counts people ends in what the brute-force auditor passes, or says that it found nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_people as naive
import shoal
from shoal.algorithms import algorithm
from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.blocks import within_limits
from shoal.algorithms.rt.cluster_recoding import RTOptions
from shoal.errors import Unreachable
from shoal.guarantees.lm import LmDiversity
from shoal.guarantees.rt import RTAnonymity
from shoal.guarantees.table import FREQUENCY, TableAnonymity
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records

HIDDEN = frozenset("EF")
ITEM_TREE = None


@st.composite
def clinics(draw):
    """Visits of some people, most of whom came more than once."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, people = draw(st.integers(14, 40)), draw(st.integers(6, 12))
    return [
        {
            "person": int(person),
            "age": str(30 + 3 * int(person) + int(random.integers(3))),
            "sex": "fm"[int(person) % 2],
            "illness": str(random.choice(["flu", "gout", "cold", "HIV"])),
            "items": frozenset(random.choice(list("ABCDEF"), int(random.integers(0, 4))).tolist()),
        }
        for person in random.integers(0, people, n)
    ]


def records_of(rows, *, items, sensitive=True):
    columns = [Column.from_texts(name, "quasi", [row[name] for row in rows]) for name in ("age", "sex")]
    columns += [Column.from_texts("illness", "sensitive", [row["illness"] for row in rows])] if sensitive else []
    people = np.unique([row["person"] for row in rows], return_inverse=True)[1].astype(np.int32)
    sets = Baskets.from_rows(sorted(row["items"]) for row in rows) if items else None
    return Records(tuple(columns), sets, people=people)


def published_rows(table, rows):
    own = [dict(row) for row in rows]
    for column in table.columns:
        for row, text in zip(own, column.texts(), strict=True):
            row[column.name] = text
    for row, held in zip(own, table.items.rows() if table.items else [()] * len(own), strict=True):
        row["items"] = frozenset(held)
    return own


def released(kind, name, records, promise, **said):
    rt = RTOptions(**said)
    return within_limits(algorithm(kind, name), records, promise, dict.fromkeys(("age", "sex", "items")), Options(), rt)


@pytest.mark.parametrize("name", ["better-of-two", "cluster", "mondrian", "full-domain", "top-down", "bottom-up"])
@settings(max_examples=12)
@given(clinics(), st.integers(2, 4), st.integers(1, 2), st.booleans())
def test_tables(name, rows, k, l, frequency):  # noqa: E741
    promise = TableAnonymity(k, l, l_kind=FREQUENCY if frequency and l > 1 else "distinct")
    records = records_of(rows, items=False)
    try:
        found = released("table", name, records, promise)
    except Unreachable:
        assert l > 1
        return
    published = published_rows(found.apply(records), rows)
    assert not naive.table_breaches(published, k, l, ["age", "sex"], ["illness"], frequency=frequency)


@pytest.mark.parametrize("name", ["better-of-two", "full-domain", "top-down", "bottom-up"])
def test_tables_whose_rows_may_leave(name):
    random = np.random.default_rng(5)
    rows = [{"person": int(p), "age": str(20 + int(p)), "sex": "f"} for p in random.integers(0, 12, 60)]
    rows += [{"person": 99, "age": "99", "sex": "m"}] * 5
    people = np.unique([row["person"] for row in rows], return_inverse=True)[1].astype(np.int32)
    records = Records(
        tuple(Column.from_texts(name, "quasi", [row[name] for row in rows]) for name in ("age", "sex")), people=people
    )
    release = shoal.anonymize(records, TableAnonymity(3), algorithm=name, suppress_rows=0.1)
    assert release.audit.holds
    assert "m" not in release.published["sex"].texts() or name == "better-of-two"


@pytest.mark.parametrize("name", ["joint", "rfirst", "tfirst", "rmerge-r", "rmerge-t", "tmerge-rt"])
@settings(max_examples=8)
@given(clinics(), st.integers(2, 4), st.integers(1, 2))
def test_columns_beside_items(name, rows, k, m):
    records = records_of(rows, items=True, sensitive=False)
    try:
        found, reason = released("rt", name, records, RTAnonymity(k, m), delta=1.0), ""
    except Unreachable as error:
        found, reason = None, str(error)
    if found is None:
        assert "people have any item" in reason
        return
    published = published_rows(found.apply(records), rows)
    assert not naive.rt_breaches(published, k, m, ["age", "sex"])


@pytest.mark.parametrize("transaction", ["sets", "local"])
@settings(max_examples=8)
@given(clinics(), st.integers(1, 2))
def test_items_in_any_way(transaction, rows, m):
    records = records_of(rows, items=True, sensitive=False)
    found = released("rt", "rfirst", records, RTAnonymity(2, m), transaction=transaction)
    assert not naive.rt_breaches(published_rows(found.apply(records), rows), 2, m, ["age", "sex"])


@pytest.mark.parametrize("name", ["joint", "rfirst", "tfirst"])
@settings(max_examples=8)
@given(clinics(), st.integers(2, 3), st.integers(1, 2), st.booleans())
def test_sensitive_items_and_columns(name, rows, k, m, of_items):
    records = records_of(rows, items=True, sensitive=not of_items)
    if of_items:
        records = Records(records.columns, records.items, "items", HIDDEN, people=records.people)
    try:
        found = released("lm", name, records, LmDiversity(k, 2, m))
    except Unreachable:
        return
    published = published_rows(found.apply(records), rows)
    hidden = HIDDEN if of_items else frozenset()
    assert not naive.rt_breaches(published, k, m, ["age", "sex"], hidden)
    assert not naive.inferences(published, 2, m, ["age", "sex"], hidden)
    if not of_items:
        assert not naive.telling_crowds(published, 2, m, ["age", "sex"], "illness")
