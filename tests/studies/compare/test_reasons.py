"""Why a cell failed: told in places, counts and remedies, never in the words of the data."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from shoal.plan import Origin
from shoal.processes import Teller, answer_to
from shoal.studies.compare import compare, comparison_of, rows_of, write_files
from shoal.studies.compare.cell_work import compute
from shoal.studies.compare.comparison import CellStudy, CellTask

# Cells that fail, each over data of which every value says so.

SETS = "".join(f"SECRET{i} SECRET{i + 1}\n" for i in range(30)) + "SECRET0\n" * 40
PEOPLE = "age,zip,disease,codes\n" + "".join(
    f"SECRETa{i % 9},{i},SECRETd{min(i % 7, 2)},SECRETc{i % 5}|SECRETc0\n" for i in range(60)
)
TREE = "SECRET0;SECRETg;SECRETr\nSECRET1;SECRETg;SECRETr\n"
KM = {"input": {"path": "sets.dat"}, "guarantee": {"model": "km", "k": 3, "m": 2}}
TABLE = {
    "input": {"path": "people.csv"},
    "columns": {"age": "quasi", "zip": "quasi", "disease": "keep", "codes": "items"},
    "guarantee": {"model": "rt", "k": 3, "m": 2},
}
DIVERSE = TABLE | {
    "columns": {"age": "quasi", "zip": "quasi", "disease": "sensitive", "codes": "drop"},
    "guarantee": {"model": "diversity", "l": 2},
}
FAILING = [
    (KM | {"hierarchies": "tree.csv"}, "hierarchy tree.csv: 29 items are not among its leaves; add"),
    (KM | {"hierarchies": "twice.csv"}, "hierarchy file twice.csv: 1 value stands in two places; keep"),
    (KM | {"hierarchies": "forest.csv"}, "hierarchy file forest.csv: it has 2 roots; "),
    (KM | {"hierarchies": "nested.json"}, "hierarchy file nested.json: a list inside a list is not a node; "),
    (KM | {"hierarchies": "levels.csv"}, "hierarchy file levels.csv"),
    (KM | {"hierarchies": "circle.csv"}, "hierarchy file circle.csv: 2 labels stand in a circle"),
    (KM | {"hierarchies": "broken.json"}, "hierarchy file broken.json, line 1, column 24: not JSON (Expecting value)"),
    (KM | {"guarantee": {"model": "km", "k": 71, "m": 2}}, "71^2-anonymity cannot be reached: only 70 transactions"),
    (KM | {"input": {"path": "broken.csv"}}, "broken.csv: line 3 "),
    (KM | {"input": {"path": "broken.jsonl"}}, "broken.jsonl: line 2 is not JSON (Expecting "),
    (KM | {"input": {"path": "nul.dat"}}, "nul.dat: line 2 holds a NUL"),
    (KM | {"input": {"path": "latin.dat"}}, "latin.dat: line 2 is not UTF-8 (byte 0xFF "),
    (KM | {"input": {"path": "headless.csv"}, "columns": {"items": "items"}}, "columns.items: "),
    (KM | {"input": {"path": "sets.parquet"}}, "sets.parquet: it is not readable as Parquet; check"),
    (
        {**KM, "guarantee": {"model": "k", "k": 3, "l": 2}, "sensitive_items": ["SECRETx"]},
        "1 of the sensitive items that are named do not occur in the data; ",
    ),
    (
        {**KM, "guarantee": {"model": "k", "k": 3, "l": 2}, "sensitive_file": "names.txt"},
        "2 of the sensitive items that are named do not occur in the data; ",
    ),
    ({**KM, "guarantee": {"model": "k", "k": 80}}, "80-anonymity cannot be reached: there are only 70"),
    (TABLE | {"hierarchies": {"age": "intervals:5,10"}}, "column 'age': intervals:5,10 is for numbers"),
    (TABLE | {"hierarchies": {"age": "tree.csv"}}, "column 'age': hierarchy tree.csv: 9 items are not"),
    (
        TABLE | {"input": {"path": "people.csv", "numeric": ["age"]}},
        "people.csv: column 'age', row 1: the value is not a number; ",
    ),
    (TABLE | {"columns": {"age": "quasi", "zip": "quasi", "codes": "items"}}, "columns: 'disease' of people.csv stand"),
    (TABLE | {"guarantee": {"model": "rt", "k": 61, "m": 2}}, "(61,61^2)-anonymity cannot be reached: k = 61"),
    (
        TABLE | {"guarantee": {"model": "lm", "k": 2, "l": 2, "m": 1}, "sensitive_items": ["SECRETc0"]},
        "(2,2^1)-diversity cannot be reached: a sensitive item is in 60 of all 60 rows, more than 1/2",
    ),
    (
        TABLE | {"guarantee": {"model": "lm", "k": 2, "l": 2, "m": 1}, "sensitive_items": ["SECRETz"]},
        "1 of the sensitive items that are named do not occur in the data; ",
    ),
    (
        DIVERSE | {"algorithm": "anatomy"},
        "2-diversity cannot be reached by anatomy: 42 of 60 rows (70.00%) have the same disease, more than one in 2",
    ),
    (
        DIVERSE | {"guarantee": {"model": "diversity", "l": 9}},
        "matching 9-diversity cannot be reached: there are only 3 different values of disease; the largest l that works is",
    ),
    (DIVERSE | {"options": {"knowledge": "values.jsonl"}}, 'values.jsonl, line 1: "never" names no value of '),
    (
        DIVERSE | {"options": {"knowledge": "columns.jsonl"}},
        "columns.jsonl, line 1: it has a condition on what is not a quasi column",
    ),
    (
        DIVERSE | {"options": {"knowledge": "labels.jsonl"}},
        "labels.jsonl, line 1: the condition on 'age' is not a value or category of it; ",
    ),
    (
        DIVERSE | {"options": {"knowledge": "struck.jsonl"}},
        "rule 1 of the 1 that are to be struck is not among the rules",
    ),
]


@pytest.fixture
def failing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rules = {
        "values": {"if": {"age": "SECRETa1"}, "never": "SECRETx"},
        "columns": {"if": {"SECRETcolumn": "SECRETa1"}, "never": "SECRETd1"},
        "labels": {"if": {"age": "SECRETx"}, "never": "SECRETd1"},
        "struck": {"if": {"age": "SECRETa1"}, "never": "SECRETd1", "strike": True},
    }
    for name, text in {
        "sets.dat": SETS,
        "people.csv": PEOPLE,
        "tree.csv": TREE,
        "twice.csv": TREE + "SECRET0;SECRETh;SECRETr\n",
        "forest.csv": TREE + "SECRET2;SECRETh;SECRETq\n",
        "levels.csv": "SECRETa;SECRETb\n;SECRETc\nSECRETd\n",
        "circle.csv": "parent,child\nSECRETa,SECRETb\nSECRETb,SECRETa\n",
        "nested.json": json.dumps({"name": "SECRETr", "children": [{"name": "SECRETa", "children": [["SECRET0"]]}]}),
        "broken.json": '{"SECRETr": ["SECRET0",, "SECRET1"]}',
        "broken.csv": 'items\n"SECRET0|SECRET1\nSECRET2"x,SECRET3\n',
        "broken.jsonl": '["SECRET0"]\n["SECRET1" "SECRET2"]\n',
        "headless.csv": "SECRET0|SECRET1,SECRET5\nSECRET2,SECRET3\n",
        "nul.dat": "SECRET0 SECRET1\nSECRET\x002\n",
        "sets.parquet": "PAR1SECRET0",
        "names.txt": "SECRETx\nSECRETy\nSECRET0\n",
        **{f"{name}.jsonl": json.dumps(rule) + "\n" for name, rule in rules.items()},
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "latin.dat").write_bytes(b"SECRET0\nSECRET\xff\n")
    monkeypatch.setattr("shoal.studies.compare.cell_work.warm_up", lambda plan, threads: True)
    return tmp_path


@pytest.mark.parametrize(("document", "reason"), FAILING)
def test_no_cell_that_fails_tells_a_value(failing, document, reason):
    request = {"document": {"version": 1, **document}, "name": "plan.yaml", "folder": "", "threads": 1}
    study = CellStudy("out", Origin("plan.yaml"), "", {"jobs": 1, "limit": None, "threads": 1})
    answer = answer_to(request, compute, Teller(lambda facts: None))
    outcome = study.outcome(CellTask("key", request, cell=None, repeat=1), answer)
    assert outcome.status in ("refused", "unreachable")
    assert "SECRET" not in json.dumps(outcome.to_dict())
    assert outcome.reason.startswith(reason)


def test_items_that_a_grid_weighs_are_in_no_file(failing, in_process):
    options = {"item_weights": [{"SECRETc0": 0.25}, {"SECRETc0": 0.5}, {"SECRETnone": 0.5}], "k": [2, 100]}
    found = compare(comparison_of(TABLE | {"version": 1, "compare": options}), "out")
    write_files(found, rows_of(found))
    assert found.failed
    for folder, _, names in os.walk("out"):
        for name in names:
            assert b"SECRET" not in (Path(folder) / name).read_bytes(), name
