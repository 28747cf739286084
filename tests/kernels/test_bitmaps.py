"""Columns, packed bitmaps and Hamming distances of a segment."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import naive_transactions as naive
from shoal.kernels.classes.bitmaps import hamming_matrix, packed_bitmaps, segment_columns


@given(st.lists(st.sets(st.integers(0, 200), max_size=90), min_size=1, max_size=8))
def test_distances(rows):
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    items = np.array([item for row in rows for item in sorted(row)], np.int32)
    column_of = np.full(201, -1, np.int32)
    columns, n_columns = segment_columns(items, 0, len(items), column_of)
    assert n_columns == len(set().union(*rows))
    assert len(set(zip(items.tolist(), columns.tolist(), strict=True))) == n_columns
    assert (column_of == -1).all()
    distance = hamming_matrix(packed_bitmaps(offsets, columns, n_columns))
    assert distance.tolist() == [[naive.hamming(a, b) for b in rows] for a in rows]


def test_columns_of_a_part():
    columns, n_columns = segment_columns(np.array([5, 7, 9, 7, 5], np.int32), 1, 4, np.full(10, -1, np.int32))
    assert (columns.tolist(), n_columns) == ([0, 1, 0], 2)
