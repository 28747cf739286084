"""The Gray order: Table 3 and Figure 3 of the paper, and the numbers that Gray code words stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_transactions as naive
from shoal.kernels.classes.gray import gray_order, sort_keyed


def packed(rows):
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return offsets, np.array([item for row in rows for item in sorted(row)], np.int32)


def ordered(rows, n_items, rank=None, threads=1):
    rank = None if rank is None else np.array(rank, np.int32)
    return gray_order(*packed(rows), n_items, rank, threads).tolist()


def test_table_3():
    words = ["000", "001", "011", "010", "110", "111", "101", "100"]
    rows = [{i for i, bit in enumerate(word) if bit == "1"} for word in words]
    assert [naive.gray_number(map(int, word)) for word in words] == list(range(8))
    assert ordered(rows, 3) == list(range(8))
    assert ordered(rows[::-1], 3) == list(range(7, -1, -1))


@st.composite
def rows_and_rank(draw):
    n_items = draw(st.integers(0, 9))
    items = st.sets(st.integers(0, n_items - 1)) if n_items else st.just(set())
    rows = draw(st.lists(items, max_size=40))
    return rows, n_items, draw(st.none() | st.permutations(range(n_items)))


@settings(max_examples=300)
@given(rows_and_rank())
def test_order_is_that_of_the_numbers(case):
    assert ordered(*case) == naive.gray_order(*case)


@pytest.mark.parametrize("n_items", [200, 70_000, 2**31 - 1])
def test_long_rows_that_differ_late(n_items):
    """Rows that agree in many words, rows that are prefixes of others, equal rows, at few and at many places a word."""
    rng = np.random.default_rng(n_items)
    common = set(rng.choice(150, 60, replace=False).tolist())
    rows = [
        common | set(rng.choice(np.arange(150, 200), rng.integers(0, 4), replace=False).tolist()) for _ in range(300)
    ]
    rows += [set(sorted(common)[: rng.integers(0, 60)]) for _ in range(100)]
    # Items above 199 do not occur: the bits below them are the same in all rows.
    assert ordered(rows, n_items) == naive.gray_order(rows, 200)
    assert ordered(rows, n_items, threads=2) == ordered(rows, n_items)


def test_equal_and_empty_rows_keep_their_order():
    assert ordered([set()] * 3, 0) == [0, 1, 2]
    assert ordered([], 5) == []
    assert ordered([{1}, set(), {1}, set(), {0, 1}], 2) == [1, 3, 0, 2, 4]


@given(st.lists(st.integers(0, 20), max_size=100))
def test_sorting_by_key_is_stable(keys):
    ks, rows = np.array(keys, np.int64), np.arange(len(keys))
    sort_keyed(ks, rows, np.empty_like(ks), np.empty_like(rows), len(keys))
    assert rows.tolist() == sorted(range(len(keys)), key=lambda r: keys[r])
    assert ks.tolist() == sorted(keys)
