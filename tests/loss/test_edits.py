"""Items added and removed, counted by sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.price.edits import edits
from shoal.records.baskets import Baskets

rows = st.lists(st.sets(st.sampled_from("abcde")), min_size=1, max_size=8)


@given(rows, st.data())
def test_edits_are_the_differences_of_the_rows(original, data):
    named = sorted(set().union(*original))
    published = [data.draw(st.sets(st.sampled_from(named)) if named else st.just(set())) for _ in original]
    found = edits(Baskets.from_rows(original), Baskets.from_rows(published))
    assert found.added_in_row.tolist() == [len(b - a) for a, b in zip(original, published, strict=True)]
    assert found.removed_in_row.tolist() == [len(a - b) for a, b in zip(original, published, strict=True)]
    pairs = list(zip(original, published, strict=True))
    assert found.added.tolist() == [sum(name in b - a for a, b in pairs) for name in named]
    assert found.removed.tolist() == [sum(name in a - b for a, b in pairs) for name in named]
    total = max(1, sum(map(len, original)))
    assert found.loss()["il"] == pytest.approx(sum(len(a ^ b) for a, b in pairs) / total)


def test_rows_must_correspond_and_hold_known_items():
    one = Baskets.from_rows([["a"]])
    with pytest.raises(InputError, match="rows must correspond"):
        edits(one, Baskets.from_rows([["a"], ["a"]]))
    with pytest.raises(InputError, match="holds 1 item that the original does not"):
        edits(one, Baskets.from_rows([["b"]]))


def test_nothing_to_lose_is_no_loss():
    empty = Baskets.from_rows([[], []])
    assert edits(empty, empty).loss() == {"il": 0.0, "added": 0.0, "removed": 0.0}
    assert isinstance(edits(empty, empty).added, np.ndarray)
