"""Majority centres and their losses against counting by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_transactions as naive
from shoal.kernels.classes.centres import class_centres, members


@st.composite
def classes(draw):
    rows = draw(st.lists(st.sets(st.integers(0, 6)), max_size=25))
    n = draw(st.integers(1, 6))
    return rows, n, [draw(st.integers(0, n - 1)) for _ in rows]


@settings(max_examples=200)
@given(classes(), st.sampled_from([1, 2]))
def test_centres_and_losses(case, threads):
    rows, n, of_row = case
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    items = np.array([item for row in rows for item in sorted(row)], np.int32)
    order, bounds = members(np.array(of_row, np.int32), n)
    got = class_centres(offsets, items, 7, order, bounds, threads)
    for c in range(n):
        inside = [row for row, of in zip(rows, of_row, strict=True) if of == c]
        assert order[bounds[c] : bounds[c + 1]].tolist() == [r for r, of in enumerate(of_row) if of == c]
        centre = got.items[got.offsets[c] : got.offsets[c + 1]].tolist()
        assert centre == sorted(naive.majority(inside))
        assert (got.added[c], got.removed[c]) == naive.loss(inside, set(centre))


def test_half_is_not_a_majority():
    offsets, items = np.array([0, 1, 1, 2, 3]), np.array([0, 0, 0], np.int32)
    got = class_centres(offsets, items, 1, np.arange(4), np.array([0, 2, 4]))
    assert got.offsets.tolist() == [0, 0, 1]
    assert (got.added.tolist(), got.removed.tolist()) == ([0, 0], [1, 0])


def test_no_classes():
    got = class_centres(np.zeros(1, np.int64), np.zeros(0, np.int32), 0, np.zeros(0, np.int64), np.zeros(1, np.int64))
    assert got.offsets.tolist() == [0]
    assert len(got.items) == len(got.added) == len(got.removed) == 0
