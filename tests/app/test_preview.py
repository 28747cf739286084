from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.app.widgets.preview import LONGEST_CELL, Preview
from shoal.errors import InputError

ROWS = [[str(i), f"v{i % 7}"] for i in range(40_000)]
FORMS = ("csv", "csv.gz", "tsv", "jsonl", "parquet", "arrow", "dat")


@cache
def file_of(form):
    import polars as pl

    path = Path(mkdtemp()) / f"data.{form}"
    frame = pl.DataFrame(ROWS, schema=["a", "b"], orient="row")
    if form == "parquet":
        frame.write_parquet(path, row_group_size=9_000)
    elif form == "arrow":
        frame.write_ipc(path)
    elif form == "jsonl":
        path.write_text("".join(json.dumps({"a": a, "b": b}) + "\n" for a, b in ROWS))
    elif form == "dat":
        path.write_text("".join(f"{a} {b}\n" for a, b in ROWS))
    else:
        mark = "\t" if form == "tsv" else ","
        text = "".join(f"{mark.join(row)}\n" for row in [["a", "b"], *ROWS]).encode()
        path.write_bytes(gzip.compress(text) if form.endswith("gz") else text)
    return path


@pytest.mark.parametrize("form", FORMS)
def test_pages_are_the_rows_of_the_file(form):
    preview = Preview(file_of(form))
    expected = [[" ".join(row)] for row in ROWS] if form == "dat" else ROWS
    assert preview.columns == (["items"] if form == "dat" else ["a", "b"])
    for start in (0, 25, 39_990, 17_000, 16_990, 0, 50_000):
        assert preview.page(start) == expected[start : start + 25]
    assert preview.rows() == len(ROWS)


@given(st.lists(st.tuples(st.integers(0, 45_000), st.integers(1, 50)), max_size=6))
def test_pages_come_in_any_order(wanted):
    preview = Preview(file_of("csv"))
    for start, count in wanted:
        assert preview.page(start, count) == ROWS[start : start + count]


def test_long_cells_are_cut(tmp_path):
    (tmp_path / "data.csv").write_text(f"a\n{'x' * 1000}\n")
    ((cell,),) = Preview(tmp_path / "data.csv").page(0)
    assert len(cell) == LONGEST_CELL
    assert cell.endswith("…")


def test_lists_and_missing_cells_are_shown(tmp_path):
    (tmp_path / "data.jsonl").write_text('{"a": ["x", "y"], "b": "1"}\n{"a": [], "b": null}\n')
    assert Preview(tmp_path / "data.jsonl").page(0) == [["x, y", "1"], ["", ""]]


def test_a_name_that_tells_no_format_is_refused(tmp_path):
    (tmp_path / "data.bin").write_text("a\n1\n")
    with pytest.raises(InputError, match="choose one"):
        Preview(tmp_path / "data.bin")
    assert Preview(tmp_path / "data.bin", "csv").page(0) == [["1"]]
