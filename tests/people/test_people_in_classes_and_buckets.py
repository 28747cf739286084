"""Transactions and buckets of different people: what is made passes the brute-force auditor."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_people as naive
import shoal
from shoal.errors import Unreachable
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records

HIDDEN = frozenset("EF")


def visits(seed, n, people):
    random = np.random.default_rng(seed)
    own = random.choice(list("ABCDEF"), (people, 3))  # people buy alike each time
    return [
        {
            "person": int(p),
            "age": str(30 + int(p)),
            "illness": str(random.choice(["flu", "gout", "cold", "HIV", "mumps"])),
            "items": frozenset(
                [*own[p].tolist()[: int(random.integers(0, 4))], *random.choice(list("ABCD"), 1).tolist()]
            ),
        }
        for p in random.integers(0, people, n)
    ]


def owners(rows):
    return np.unique([row["person"] for row in rows], return_inverse=True)[1].astype(np.int32)


@pytest.mark.parametrize("name", ["split", "gsc", "pta"])
@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(12, 60), st.integers(2, 4), st.integers(1, 2))
def test_transactions(name, seed, n, k, l):  # noqa: E741
    rows = visits(seed, n, people=8)
    baskets = Baskets.from_rows(sorted(row["items"]) for row in rows)
    baskets = Baskets(baskets.offsets, baskets.items, baskets.vocabulary, people=owners(rows))
    hidden = HIDDEN & set(baskets.vocabulary) if l > 1 else frozenset()
    try:
        release = shoal.anonymize(baskets, shoal.KAnonymity(k, l, hidden), algorithm=name, keep_order=True)
    except (Unreachable, shoal.InputError):
        assert l > 1 or len(set(baskets.people.tolist())) < k
        return
    published = [row | {"items": held} for row, held in zip(rows, release.published, strict=True)]
    assert not naive.k_breaches(published, k, l, hidden)


@pytest.mark.parametrize("name", ["injector", "balanced", "anatomy"])
@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(12, 60), st.integers(2, 3))
def test_buckets(name, seed, n, l):  # noqa: E741
    rows = visits(seed, n, people=10)
    columns = [Column.from_texts("age", "quasi", [row["age"] for row in rows], numeric=False)]
    columns += [Column.from_texts("illness", "sensitive", [row["illness"] for row in rows])]
    records = Records(tuple(columns), people=owners(rows))
    try:
        release = shoal.anonymize(records, shoal.MatchingDiversity(l), algorithm=name, keep_order=True)
    except Unreachable:
        return
    published = [row | {"bucket": text} for row, text in zip(rows, release.published["bucket"].texts(), strict=True)]
    assert not naive.rows_beside_their_own(published)
    by_bucket = defaultdict(set)
    for bucket, text in zip(release.published["bucket"].texts(), release.published["illness"].texts(), strict=True):
        by_bucket[bucket].add(text)
    assert min(map(len, by_bucket.values())) >= l


def test_ordinary_clinics_get_their_buckets():
    """Ten people of six visits each: all three algorithms find buckets of strangers."""
    rows = [row | {"person": i % 10, "age": str(i % 10)} for i, row in enumerate(visits(3, 60, people=10))]
    columns = (
        Column.from_texts("age", "quasi", [row["age"] for row in rows], numeric=False),
        Column.from_texts("illness", "sensitive", [row["illness"] for row in rows]),
    )
    records = Records(columns, people=owners(rows))
    for name in ("injector", "balanced", "anatomy"):
        assert shoal.anonymize(records, shoal.MatchingDiversity(3), algorithm=name, seed=1).audit.holds


def test_who_has_too_many_rows_is_said_beforehand():
    rows = [{"age": str(i), "illness": "abc"[i % 3], "person": 0 if i < 7 else i} for i in range(12)]
    columns = (
        Column.from_texts("age", "quasi", [row["age"] for row in rows], numeric=False),
        Column.from_texts("illness", "sensitive", [row["illness"] for row in rows]),
    )
    for name in ("injector", "anatomy"):
        with pytest.raises(Unreachable, match="one person has 7 of 12 rows"):
            shoal.anonymize(Records(columns, people=owners(rows)), shoal.MatchingDiversity(2), algorithm=name)
