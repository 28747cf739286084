"""Comparisons of every model, and of a table in a database: their own parameters, losses and plots."""

from __future__ import annotations

import csv
import sqlite3

import numpy as np
import pytest

from shoal.studies.compare import compare, comparison_of, frame_of, rows_of
from shoal.studies.compare.comparison_page import page_of
from shoal.studies.compare.comparison_plots import plots_of

TABLE = {"version": 1, "input": {"path": "patients.csv"}}
SETS = {"input": {"path": "patients.csv", "separator": " "}}
RT = SETS | {"columns": {"age": "quasi", "sex": "quasi", "ill": "drop", "codes": "items"}}
ILL = {"columns": {"age": "quasi", "sex": "quasi", "ill": "sensitive", "codes": "drop"}}


@pytest.fixture
def patients(tmp_path, monkeypatch):
    """A folder with patients.csv (age, sex, ill, codes), which is where comparisons run."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(2)
    with open("patients.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["age", "sex", "ill", "codes"])
        for _ in range(120):
            codes = sorted(random.choice(list("ABCDEF"), random.integers(1, 4), replace=False).tolist())
            ill = ["flu", "gout", "cough", "burn"][random.integers(4)]
            out.writerow([int(random.integers(20, 60)), "fm"[random.integers(2)], ill, " ".join(codes)])
    return tmp_path


@pytest.mark.parametrize(
    ("document", "losses", "plotted"),
    [
        (
            RT
            | {"guarantee": {"model": "rt", "m": 1}}
            | {"compare": {"algorithm": ["rmerge-r", "rfirst"], "k": [2, 4], "delta": [0.6, 1.0]}},
            {"ncp", "ul"},
            {"NCP against k", "NCP against delta", "UL against delta"},
        ),
        (
            RT
            | {"guarantee": {"model": "lm", "k": 3, "m": 1}, "sensitive_items": ["F"]}
            | {"compare": {"algorithm": ["rfirst"], "l": [2, 60]}},
            {"ncp", "ul"},
            set(),
        ),
        (
            ILL
            | {"guarantee": {"model": "k", "k": 3}}
            | {"compare": {"algorithm": ["cluster", "mondrian"], "l": [1, 2]}},
            {"ncp"},
            {"NCP against l", "Trade-off: Information lost against the strength of the promise, 1/l"},
        ),
        (
            ILL
            | {"guarantee": {"model": "diversity"}}
            | {"compare": {"algorithm": ["injector", "anatomy"], "l": [2, 3], "min_exp": [0.9, 0.99]}},
            {"ambiguity"},
            {"ambiguity against l", "ambiguity against min_exp"},
        ),
        (
            SETS
            | {"columns": {"age": "drop", "sex": "drop", "ill": "drop", "codes": "items"}}
            | {"guarantee": {"model": "k", "k": 3}}
            | {"compare": {"algorithm": ["gsc", "pta"], "k": [2, 3, 200], "segments": [1, 2]}},
            {"il"},
            {"IL against k", "IL against segments"},
        ),
    ],
)
def test_every_model_can_be_compared(patients, in_process, document, losses, plotted):
    found = compare(comparison_of(TABLE | document), "out")
    rows = rows_of(found)
    done = [row for row in rows if row["status"] == "done"]
    assert done
    assert all(row["holds"] and losses <= set(row["loss"]) for row in done)
    assert all(row["status"] == "unreachable" and row["reason"] for row in rows if row not in done)
    assert plotted <= {one.title for one in plots_of(rows, found.comparison.axes)}
    assert frame_of(rows).num_rows == len(found.tasks)
    page = page_of(found, rows)
    assert b"gout" not in page
    assert b"cough" not in page


def test_a_table_in_a_database_is_known_by_its_rows(patients, in_process):
    pytest.importorskip("adbc_driver_sqlite")
    with sqlite3.connect("shop.db") as database:
        database.execute("create table baskets (items text)")
        database.executemany("insert into baskets values (?)", [("a|b",), ("b|c",), ("a|c",)] * 4)
    document = {
        "version": 1,
        "input": {"path": "sqlite:shop.db?table=baskets", "separator": "|"},
        "columns": {"items": "items"},
        "guarantee": {"model": "km", "k": 2, "m": 2},
        "compare": {"algorithm": ["aa"]},
    }
    assert compare(comparison_of(document), "out").done == 1
    assert compare(comparison_of(document), "out").kept == 1
    with sqlite3.connect("shop.db") as database:
        database.execute("insert into baskets values ('a|b')")
    assert compare(comparison_of(document), "out").kept == 0
