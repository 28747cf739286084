"""Why a cell failed: told in sentences of a closed list, never in the words of the data."""

from __future__ import annotations

import ast
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.comparing import compare, comparison_of, rows_of, write_files
from shoal.comparing.reasons import SENTENCES, UNTOLD, names_in, reason_of, refusal_of
from shoal.comparing.worker import outcome_of

PLAN = {
    "input": {"path": "people.csv"},
    "hierarchies": {"codes": "tree.csv"},
    "columns": {"age": "quasi", "codes": "items"},
    "guarantee": {"model": "rt", "k": 5, "m": 2},
    "sensitive_items": ["HIV"],
    "options": {"item_weights": {"HIV": 1.0}},
}


def test_names_are_texts_of_the_plan_and_not_the_items_that_it_names():
    assert {"tree.csv", "age", "quasi", "people.csv"} <= names_in(PLAN)
    assert not names_in(PLAN) & {"HIV", "5", "2"}


def test_reasons_keep_names_of_the_plan_and_no_values():
    message = (
        'hierarchy tree.csv: 2 items are not among its leaves (Z99, "B20"); add them, or pass options: {unknown: root} to hang them '
        "under the root"
    )
    assert reason_of(message, PLAN) == message.replace('Z99, "B20"', "...")
    assert reason_of(message.replace("tree.csv", "HIV.csv"), PLAN) == UNTOLD
    told = "(5,5^2)-anonymity cannot be reached: k = 5, but there are only 4 rows; choose a smaller k"
    assert reason_of(told, PLAN) == told
    assert reason_of("options.item_weights.HIV: it is 2; give at most 1", PLAN) == UNTOLD


def test_a_reason_names_the_place():
    assert reason_of("people.csv: row 7 has 3 cells (HIV, gout), but the header has 2", PLAN) == "people.csv: row 7 ..."
    assert (
        reason_of("column 'age', row 1,007: 'HIV' is not a number; correct it", PLAN) == "column 'age', row 1,007: ..."
    )
    assert reason_of("columns.age: people.csv has no such column; its columns are '5', 'HIV'", PLAN) == (
        "columns.age: people.csv has no such column; its columns are ..."
    )


@given(st.text(max_size=8), st.text(max_size=8))
def test_no_value_however_odd_stays_in_a_reason(before, after):
    value = f"{before}SECRET{after}"
    for message in (
        f"hierarchy tree.csv: 2 items are not among its leaves ({value}, {value}); add them, or pass options: {{unknown: root}} to hang "
        "them under the root",
        f"column 'age': its value {value!r} is no number; the plan's column 'age' says so",
        f"the plan's item {value!r} (12.5%) is in all rows",
        f"people.csv: line 3 is {value}",
        f"{value} is named as sensitive, but no transaction holds it; correct the name or leave it out",
        f"3-diversity cannot be reached: 3 of 4 rows (75.00%) have {value!r} as their age, more than one in 3; no l of at least 2 works",
        f"3-diversity cannot be reached: there are only 2 different values of {value}; the largest l that works is 2",
        value,
        f"{value}: row 3 is {value}",
    ):
        assert "SECRET" not in reason_of(message, PLAN)


@given(st.from_regex(r"[0-9]{3,6}", fullmatch=True))
def test_a_number_that_is_a_value_is_not_taken_for_a_count(value):
    end = "is in 3 of all 4 rows, more than 1/3; choose a smaller l, or do not name it as sensitive"
    for said in (value, f"{value} {end.replace('3', value)}", f"{end} {value}", f"x {value}"):
        told = reason_of(f"(2,3^1)-diversity cannot be reached: sensitive item {said!r} {end}", PLAN)
        assert told == f"(2,3^1)-diversity cannot be reached: sensitive item ... {end}"
    assert value not in reason_of(f"people.csv: row 7 holds {value}", PLAN).replace("row 7", "")


def test_every_sentence_is_one_that_the_code_says():
    """A sentence that was reworded there would be lost here."""
    known = "\n".join(_literals(Path(shoal.__file__).parent))
    for sentence in SENTENCES:
        said = sentence.replace("options: {unknown: root}", "--unknown root")
        for part in re.split(r"<\w+>|[:;,] ", said.replace("algorithm exact, which", "--algorithm exact, which")):
            assert part.strip() in known, sentence


def _literals(folder):
    """The texts in the code, with the fixed parts of formatted ones."""
    for path in folder.rglob("*.py"):
        if path.parent.name == "comparing":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_a_plan_that_is_none_keeps_its_words_but_not_the_items_that_it_names():
    assert refusal_of("guarantee.k: it is 1; give at least 2", PLAN) == "guarantee.k: it is 1; give at least 2"
    assert refusal_of("options.item_weights.HIV: it is 2; give at most 1", PLAN) == UNTOLD
    assert refusal_of("options.item_weights: it is 3; give a mapping", {"options": {"item_weights": 3}}) != UNTOLD


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
    (KM | {"hierarchies": "tree.csv"}, "hierarchy tree.csv: 29 items are not among its leaves (...)"),
    (KM | {"hierarchies": "twice.csv"}, "hierarchy file twice.csv: 1 value stands in two places (...); keep"),
    (KM | {"hierarchies": "forest.csv"}, "hierarchy file forest.csv: it has 2 roots (..."),
    (KM | {"hierarchies": "nested.json"}, "hierarchy file nested.json, under ..."),
    (KM | {"hierarchies": "levels.csv"}, "hierarchy file levels.csv, line 3: ..."),
    (KM | {"hierarchies": "circle.csv"}, "hierarchy file circle.csv: 2 labels stand in a circle"),
    (KM | {"hierarchies": "broken.json"}, "hierarchy file broken.json, line 1, column 24: not JSON (...)"),
    (KM | {"guarantee": {"model": "km", "k": 71, "m": 2}}, "71^2-anonymity cannot be reached: only 70 transactions"),
    (KM | {"input": {"path": "broken.csv"}}, "broken.csv: row 1 ..."),
    (KM | {"input": {"path": "broken.jsonl"}}, "broken.jsonl: line 2 is not JSON (...); give"),
    (KM | {"input": {"path": "nul.dat"}}, "nul.dat: line 2 ..."),
    (KM | {"input": {"path": "latin.dat"}}, "latin.dat: line 2 is not UTF-8 (...); save"),
    (KM | {"input": {"path": "headless.csv"}, "columns": {"items": "items"}}, "columns.items: "),
    (KM | {"input": {"path": "sets.parquet"}}, "sets.parquet: it is not readable as Parquet (...)"),
    (
        {**KM, "guarantee": {"model": "k", "k": 3, "l": 2}, "sensitive_items": ["SECRETx"]},
        "sensitive item ... does not",
    ),
    ({**KM, "guarantee": {"model": "k", "k": 3, "l": 2}, "sensitive_file": "names.txt"}, "sensitive items ... do not"),
    ({**KM, "guarantee": {"model": "k", "k": 80}}, "80-anonymity cannot be reached: there are only 70"),
    (TABLE | {"hierarchies": {"age": "intervals:5,10"}}, "column 'age': intervals:5,10 is for numbers"),
    (TABLE | {"hierarchies": {"age": "tree.csv"}}, "column 'age': hierarchy tree.csv: 9 items are not"),
    (TABLE | {"input": {"path": "people.csv", "numeric": ["age"]}}, "people.csv: column 'age', row 1: ..."),
    (TABLE | {"columns": {"age": "quasi", "zip": "quasi", "codes": "items"}}, "columns: ... of people.csv stand"),
    (TABLE | {"guarantee": {"model": "rt", "k": 61, "m": 2}}, "(61,61^2)-anonymity cannot be reached: k = 61"),
    (
        TABLE | {"guarantee": {"model": "lm", "k": 2, "l": 2, "m": 1}, "sensitive_items": ["SECRETc0"]},
        "(2,2^1)-diversity cannot be reached: sensitive item ... is in 60 of all 60 rows, more than 1/2",
    ),
    (
        TABLE | {"guarantee": {"model": "lm", "k": 2, "l": 2, "m": 1}, "sensitive_items": ["SECRETz"]},
        "sensitive item ...",
    ),
    (
        DIVERSE | {"algorithm": "anatomy"},
        "2-diversity cannot be reached by anatomy: 42 of 60 rows (70.00%) have the same disease, more than one in 2",
    ),
    (
        DIVERSE | {"guarantee": {"model": "diversity", "l": 9}},
        "matching 9-diversity cannot be reached: there are only 3 different values of disease; the largest l that works is",
    ),
    (DIVERSE | {"options": {"knowledge": "values.jsonl"}}, "values.jsonl, line 1: ..."),
    (DIVERSE | {"options": {"knowledge": "columns.jsonl"}}, "columns.jsonl, line 1: ..."),
    (DIVERSE | {"options": {"knowledge": "labels.jsonl"}}, "labels.jsonl, line 1: ..."),
    (DIVERSE | {"options": {"knowledge": "struck.jsonl"}}, UNTOLD),
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
    monkeypatch.setattr("shoal.comparing.warming.warm_up", lambda plan, threads: True)
    return tmp_path


@pytest.mark.parametrize(("document", "reason"), FAILING)
def test_no_cell_that_fails_tells_a_value(failing, document, reason):
    request = {"document": {"version": 1, **document}, "name": "plan.yaml", "folder": "", "threads": 1}
    found = outcome_of(request)
    assert found["status"] in ("refused", "unreachable")
    assert "SECRET" not in json.dumps(found)
    assert found["reason"].startswith(reason)


def test_items_that_a_grid_weighs_are_in_no_file(failing, in_process):
    options = {"item_weights": [{"SECRETc0": 0.25}, {"SECRETc0": 0.5}, {"SECRETnone": 0.5}], "k": [2, 100]}
    found = compare(comparison_of(TABLE | {"version": 1, "compare": options}), "out")
    write_files(found, rows_of(found))
    assert found.failed
    for folder, _, names in os.walk("out"):
        for name in names:
            assert b"SECRET" not in (Path(folder) / name).read_bytes(), name
