"""Figures of classes, by hand and against sums over rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.loss.class_sizes import class_figures, discernibility


@given(st.lists(st.integers(1, 9)), st.integers(0, 5), st.integers(1, 6))
def test_every_row_is_charged_the_size_of_its_class(sizes, suppressed, k):
    rows = [size for size in sizes for _ in range(size)]
    total = len(rows) + suppressed
    assert discernibility(np.array(sizes, np.int64), suppressed) == sum(rows) + suppressed * total
    found = class_figures(np.array(sizes, np.int64), k, suppressed)
    assert found["classes"] == len(sizes)
    assert found["average"] == pytest.approx(len(rows) / len(sizes) if sizes else 0)
    assert found["relative"] == pytest.approx(found["average"] / k)
    assert 0 <= found["discernibility_share"] <= 1


def test_by_hand():
    found = class_figures(np.array([5, 5, 10]), 5)
    assert found == {
        "classes": 3,
        "smallest": 5,
        "largest": 10,
        "average": 20 / 3,
        "relative": pytest.approx(4 / 3),
        "discernibility": 150,
        "discernibility_share": 150 / 400,
    }


def test_squares_do_not_overflow():
    assert discernibility(np.array([4_000_000_000], np.int64)) == 16 * 10**18
