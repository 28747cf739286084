"""Rows of names become packed numbers and come out as the local vocabulary has them; without Spark."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from shoal.records.baskets import Baskets
from shoal.spark.data import encoding, packing
from shoal.spark.data.packing import pack, pack_by_key, pieces, together, unpack

names = st.text("ab1é", min_size=1, max_size=2)
tables = st.lists(st.lists(names, max_size=5), min_size=1, max_size=12)


@given(tables, st.integers(1, 5), st.integers(0, 3), st.integers(1, 9))
def test_names_listed_piece_by_piece_are_the_local_vocabulary(rows, at_a_time, partition, most):
    here = Baskets.from_rows(rows)
    first = partition << encoding.IN_PARTITION
    batches = [
        pa.record_batch(
            {
                "row": pa.array(range(first + at, first + min(at + at_a_time, len(rows))), pa.int64()),
                "items": pa.array(rows[at : at + at_a_time], pa.list_(pa.string())),
            }
        )
        for at in range(0, len(rows), at_a_time)
    ]
    before, encoding.MOST = encoding.MOST, most
    try:
        own = [*encoding.by_own_names(iter(batches))]
    finally:
        encoding.MOST = before
    told = [each for piece in own for each in piece["told"][0].as_py()]
    counts = {each["name"]: each["count"] for each in told if each["name"] is not None}
    assert [counts[name] for name in here.vocabulary] == here.supports().tolist()
    lengths = [each for each in told if each["name"] is None]
    assert sum(each["more"] for each in lengths) == here.duplicates
    assert {each["part"] for each in lengths} == {partition}
    assert sorted(np.repeat(*zip(*((each["length"], each["count"]) for each in lengths), strict=True))) == sorted(
        here.lengths.tolist()
    )
    # Another partition before it has names of its own.
    other = [*encoding.by_own_names(iter([pa.record_batch({"row": [9 << 33], "items": [["zz", *rows[0]]]})]))]
    names = tuple(sorted({*here.vocabulary, "zz"}, key=[*here.vocabulary, "zz"].index))
    common = [*encoding.by_common_names(iter([*other, *own]), names, {partition: 100, 9: 0})][1:]
    numbers, offsets, ids = together(pa.Table.from_batches(common))
    assert numbers.tolist() == [100 + i for i in range(len(rows))]
    assert (offsets.tolist(), ids.tolist()) == (here.offsets.tolist(), here.items.tolist())


@given(tables, st.integers(1, 4))
def test_packed_rows_come_out_as_they_went_in(rows, most):
    here = Baskets.from_rows(rows)
    numbers = np.arange(len(rows)) * 7
    batch = pa.record_batch(pack(numbers, here.offsets, here.items))
    ((again, offsets, items),) = unpack(batch)
    assert (again.tolist(), offsets.tolist(), items.tolist()) == (
        numbers.tolist(),
        here.offsets.tolist(),
        here.items.tolist(),
    )
    before, packing.MOST = packing.MOST, most
    try:
        cut = [
            (row, part)
            for rows, baskets in pieces(iter([batch]))
            for row, part in zip(rows, _lists(baskets), strict=True)
        ]
    finally:
        packing.MOST = before
    assert cut == list(zip(numbers.tolist(), _lists(here), strict=True))


@given(tables, st.data())
def test_rows_are_packed_by_their_key(rows, data):
    here = Baskets.from_rows(rows)
    key = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))))
    numbers = np.arange(len(rows))
    found = [*pack_by_key(key, numbers, here.offsets[:-1], here.lengths, here.items)]
    assert [batch["key"][0].as_py() for batch in found] == sorted(set(key.tolist()))
    for batch in found:
        own = np.flatnonzero(key == batch["key"][0].as_py())
        taken = here.take(own)
        row, offsets, items = together(pa.Table.from_batches([batch]))
        assert (row.tolist(), offsets.tolist(), items.tolist()) == (
            own.tolist(),
            taken.offsets.tolist(),
            taken.items.tolist(),
        )


def test_no_rows_are_packed_by_no_key():
    none = np.zeros(0, np.int64)
    assert [*pack_by_key(none, none, none, none, none)] == []


def _lists(baskets):
    return [baskets.items[a:b].tolist() for a, b in zip(baskets.offsets[:-1], baskets.offsets[1:], strict=True)]
