"""The hash of rows: against an obvious twin, in any order, over any files, and another for any other rows."""

from __future__ import annotations

import hashlib
import json
import random
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.ordering import natural_order
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records
from shoal.records.source import load_records
from shoal.records.storage import digest as module
from shoal.records.storage.digest import row_digest

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
sets = st.lists(st.lists(names, max_size=5), min_size=1, max_size=12)


def naive_digest(n, names, hashes, groups=1):
    """The definition, word by word."""
    whole = hashlib.sha256(b"shoal rows 1\n" + json.dumps([n, *names]).encode())
    for group in range(groups):
        own = sorted(one for one in hashes if int.from_bytes(one[:4]) % groups == group)
        if own:
            whole.update(group.to_bytes(4) + hashlib.sha256(b"".join(own)).digest())
    return whole.hexdigest()


def in_order(texts):
    distinct = sorted(set(texts))
    return [distinct[i] for i in natural_order(distinct)]


def codes(values, known):
    return b"".join(known.index(value).to_bytes(4, "little") for value in values)


def naive_of_sets(rows, groups=1):
    known = in_order([name for row in rows for name in row])
    hashes = [hashlib.sha256(codes(sorted(set(row), key=known.index), known)).digest() for row in rows]
    return naive_digest(len(rows), known, hashes, groups)


@given(sets)
def test_sets_are_hashed_as_defined(rows):
    assert row_digest(Baskets.from_rows(rows)) == naive_of_sets(rows)


@given(sets, st.integers(1, 4))
def test_groups_do_not_change_the_definition(rows, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_HASHES", size)
        assert row_digest(Baskets.from_rows(rows)) == naive_of_sets(rows, 1 + len(rows) // size)


@given(sets, st.randoms(use_true_random=False))
def test_order_and_repeats_within_a_row_do_not_matter_and_all_else_does(rows, chance):
    digest = row_digest(Baskets.from_rows(rows))
    mixed = [[*chance.sample(row, len(row)), *row[:1]] for row in chance.sample(rows, len(rows))]
    assert row_digest(Baskets.from_rows(mixed)) == digest
    assert row_digest(Baskets.from_rows([*rows, rows[0]])) != digest
    assert row_digest(Baskets.from_rows([[*rows[0], "another"], *rows[1:]])) != digest
    if len(rows) > 1:
        assert row_digest(Baskets.from_rows(rows[1:])) != digest


def test_many_hashes_are_sorted_as_bytes():
    """Among thousands there are hashes with zeros within and at their ends."""
    rows = [[str(i)] for i in range(5_000)]
    assert row_digest(Baskets.from_rows(rows)) == naive_of_sets(rows)


ages = st.sampled_from(["", "39", "39.0", "7", " 7"])
towns = st.sampled_from(["", "x", "é", "a,b"])
people = st.lists(st.tuples(ages, towns, st.lists(names, max_size=3)), min_size=1, max_size=10)


@given(people, st.booleans())
def test_tables_are_hashed_as_defined(rows, with_items):
    ages, towns, items = zip(*rows, strict=True)
    columns = (
        Column.from_texts("age", "quasi", ages),
        Column.from_texts("town", "keep", towns),
        Column.from_texts("job", "sensitive", towns),
    )
    baskets = Baskets.from_rows(items) if with_items else None
    marked = frozenset(name for row in items[:1] for name in row) if with_items else frozenset()
    digest = row_digest(Records(columns, baskets, "codes", marked))
    known = in_order([name for row in items for name in row]) if with_items else []
    hashes = []
    for age, job, (_, town, row) in zip(columns[0].texts(), columns[2].texts(), rows, strict=True):
        own = codes([age], columns[0].values) + codes([job], columns[2].values)
        held = codes(sorted(set(row), key=known.index), known) if with_items else b""
        hashes.append(hashlib.sha256(own + json.dumps([len(held), town]).encode() + held).digest())
    told = [
        [["age", "quasi", *columns[0].values], ["job", "sensitive", *columns[2].values]],
        ["town", "codes", None, *sorted(marked)],
        *known,
    ]
    assert digest == naive_digest(len(rows), told, hashes)


def test_kept_columns_are_hashed_as_they_are_spelled():
    table = {"age": ["1", "2", "2"], "year": ["7", "7.0", "8"], "items": [["a"], ["b"], []]}
    how = {"quasi": "age", "keep": "year", "items": "items"}
    read = load_records(pa.table(table), **how).records
    assert read["year"].texts() == ["7", "7.0", "8"]
    other = load_records(pa.table(table | {"year": ["7", "7", "8"]}), **how).records
    assert row_digest(read) != row_digest(other)
    assert row_digest(read) == row_digest(load_records(pa.table(table), numeric="age", **how).records)


def test_hashing_takes_memory_in_proportion():
    n = 100_000
    chance = random.Random(1)
    lengths = np.full(n, 3, np.int64)
    baskets = Baskets.from_codes(
        lengths, np.array([chance.randrange(50) for _ in range(3 * n)], np.int32), [f"i{i}" for i in range(50)]
    )
    tracemalloc.start()
    row_digest(baskets)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 * n * 4 + 5e6  # the hashes, which of them, sorted, as bytes
