"""The audit's kernels against their obvious twins: blocks, sorting, layout, equal rows, and what rules exclude."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.audit.exclusions import excluded_kinds
from shoal.kernels.audit.lists import ascend
from shoal.kernels.audit.numbered_rows import copy_behind, count_behind, numbered_rows
from shoal.kernels.audit.row_sets import equal_rows, first_unsound_row
from shoal.kernels.audit.threads import blocks_of_rows, blocks_of_work, in_threads

sets = st.lists(st.sets(st.integers(0, 9), max_size=6), max_size=12)


def packed(rows):
    rows = [sorted(row) for row in rows]
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    return offsets, np.array([item for row in rows for item in row], np.int32)


@given(st.lists(st.floats(1e-3, 1e6), max_size=40), st.integers(1, 50))
def test_blocks_of_work_are_all_places_in_order(work, blocks):
    found = blocks_of_work(np.array(work), blocks)
    assert [place for a, b in found for place in range(a, b)] == list(range(len(work)))
    assert len(found) <= blocks
    assert all(a < b for a, b in found)


@given(sets, st.integers(1, 20))
def test_blocks_of_rows_are_all_rows_in_order(rows, blocks):
    found = blocks_of_rows(packed(rows)[0], blocks)
    assert [row for a, b in found for row in range(a, b)] == list(range(len(rows)))


@pytest.mark.parametrize("threads", [1, 3])
def test_answers_come_in_the_order_of_blocks(threads):
    shares = []
    blocks = [(i, i + 2) for i in range(0, 20, 2)]
    assert in_threads(lambda a, b: (a, b), blocks, threads, shares.append) == blocks
    assert shares == [i / 10 for i in range(1, 11)]
    assert in_threads(lambda a, b: a, [], threads) == []


@given(st.lists(st.integers(-50, 50), max_size=120), st.integers(0, 5), st.integers(0, 5))
def test_ascend_sorts_a_stretch_and_nothing_else(values, before, after):
    array = np.array(values, np.int32)
    start, stop = min(before, len(values)), max(min(before, len(values)), len(values) - after)
    ascend(array, start, stop)
    assert array.tolist() == values[:start] + sorted(values[start:stop]) + values[stop:]


def layout_case(rows, seed):
    offsets, items = packed(rows)
    n = max((max(row) for row in rows if row), default=-1) + 1
    number = np.random.default_rng(seed).permutation(n).astype(np.int32)
    return number, numbered_rows(offsets, items, number, 2)


@given(sets, st.integers(0, 99))
def test_rows_are_laid_out_as_their_numbers_ascending(rows, seed):
    number, laid = layout_case(rows, seed)
    expected = [sorted(int(number[item]) for item in row) for row in rows]
    assert laid.tails.tolist() == [v for i, row in enumerate(expected) for v in (*row, -(i + 1))]
    assert np.diff(laid.starts).tolist() == [sum(v in row for row in expected) for v in range(len(number))]
    assert laid.longest == max(map(len, rows), default=0)


@given(sets, st.integers(0, 99))
def test_what_stands_behind_a_number_is_copied_and_counted(rows, seed):
    number, laid = layout_case(rows, seed)
    expected = [sorted(int(number[item]) for item in row) for row in rows]
    n = len(number)
    for t in range(n):
        behind = [(i, row[row.index(t) + 1 :]) for i, row in enumerate(expected) if t in row]
        assert laid.volume[t] == sum(len(tail) + 1 for _, tail in behind)
        copies, places = np.empty(laid.volume[t] + 1, np.int32), np.empty(len(behind), np.int64)
        copy_behind(laid, t, copies, places)
        for source, before in ((copies, places), (laid.tails, laid.places[laid.starts[t] : laid.starts[t + 1]])):
            for place, (i, tail) in zip(before.tolist(), behind, strict=True):
                assert source[place + 1 : place + 2 + len(tail)].tolist() == [*tail, -(i + 1)]
        count, touched, ends = np.zeros(n, np.int32), np.empty(n, np.int32), np.empty(len(behind), np.int64)
        n_touched = count_behind(copies, places, ends, 0, len(behind), count, touched, None, count, count)
        assert count.tolist() == [sum(v in tail for _, tail in behind) for v in range(n)]
        assert sorted(touched[:n_touched].tolist()) == np.flatnonzero(count).tolist()
        assert (-copies[ends] - 1).tolist() == [i for i, _ in behind]


@given(sets)
def test_equal_rows_are_those_with_the_same_items(rows):
    order, bounds = equal_rows(*packed(rows))
    found = [order[a:b].tolist() for a, b in pairwise(bounds.tolist())]
    classes = {}
    for i, row in enumerate(rows):
        classes.setdefault(frozenset(row), []).append(i)
    assert found == list(classes.values())


@given(st.data())
def test_rules_exclude_what_all_their_conditions_meet(data):
    """Two attributes with trees of two levels, more values than a word has bits."""
    n_values = data.draw(st.sampled_from([3, 70]))
    parents = [np.array([3, 3, 4, 5, 5, 5], np.int32), np.array([2, 2, 2], np.int32)]
    leaves = [np.array([2, 0, 1], np.int32), np.array([1, 0], np.int32)]
    rows = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=8))
    node = st.tuples(st.integers(-1, 4), st.integers(-1, 1), st.integers(0, n_values - 1))
    rules = data.draw(st.lists(node, min_size=1, max_size=8))
    codes = [np.array([row[a] for row in rows], np.int32) for a in range(2)]
    nodes, value = np.array([rule[:2] for rule in rules], np.int32), np.array([rule[2] for rule in rules], np.int32)
    kind, excluded = excluded_kinds(codes, leaves, parents, nodes, value, n_values, len(rows), 2)

    def above(a, v):
        return {v} | (above(a, int(parents[a][v])) if v < len(parents[a]) - 1 else set())

    for i, row in enumerate(rows):
        met = [above(a, int(leaves[a][row[a]])) for a in range(2)]
        expected = {v for one, other, v in rules if (one < 0 or one in met[0]) and (other < 0 or other in met[1])}
        assert set(np.flatnonzero(excluded[kind[i]]).tolist()) == expected


@given(sets, st.integers(0, 3))
def test_unsound_rows_are_found(rows, what):
    offsets, items = packed([*rows, {2, 4}])
    assert first_unsound_row(offsets, items, 10) == -1
    last = items[-2:]
    last[:] = {0: (4, 2), 1: (4, 4), 2: (2, 10), 3: (-1, 4)}[what]
    assert first_unsound_row(offsets, items, 10) == len(rows)
