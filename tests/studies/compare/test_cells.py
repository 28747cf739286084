"""What a cell is recognised by, what is kept of it, and what is not."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.plan import Origin
from shoal.studies.compare import comparison_of
from shoal.studies.compare.cell import Contents, Outcome, key_of
from shoal.studies.compare.comparison import CellStudy, CellTask
from shoal.studies.study import Folder

BASE = {
    "version": 1,
    "input": {"path": "sets.dat"},
    "hierarchies": "tree.csv",
    "guarantee": {"model": "km", "k": 5, "m": 2},
    "compare": {"algorithm": ["exact"]},
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sets.dat").write_text("1 2\n1 3\n")
    (tmp_path / "tree.csv").write_text("1;a;r\n2;a;r\n3;b;r\n")
    return tmp_path


def key(document, folder="", repeat=1):
    found = comparison_of(document, Origin("plan.yaml", folder))
    return key_of(found.cells[0], found.origin, Contents(found.plan.data), repeat)


def test_the_spelling_of_a_path_makes_no_difference(files):
    same = [
        BASE | {"input": {"path": "./sets.dat"}},
        BASE | {"input": {"path": os.path.join("..", files.name, "sets.dat")}},
        BASE | {"input": {"path": str(files / "sets.dat")}, "hierarchies": str(files / "tree.csv")},
    ]
    assert {key(document) for document in (BASE, *same)} == {key(BASE, str(files))}


def test_a_copy_with_the_same_content_is_the_same(files):
    (files / "copy.dat").write_bytes((files / "sets.dat").read_bytes())
    assert key(BASE | {"input": {"path": "copy.dat"}}) == key(BASE)


@pytest.mark.parametrize("name", ["sets.dat", "tree.csv"])
def test_a_changed_file_makes_another_cell(files, name):
    before = key(BASE)
    with open(files / name, "a") as file:
        file.write("1 2\n" if name == "sets.dat" else "4;b;r\n")
    assert key(BASE) != before


def test_parameters_repetition_and_version_make_another_cell(files, monkeypatch):
    found = {
        key(BASE),
        key(BASE, repeat=2),
        key(BASE | {"guarantee": {"model": "km", "k": 6, "m": 2}}),
        key(BASE | {"options": {"suppress": 0.01}}),
        key(BASE | {"hierarchies": "balanced:5"}),
        key(BASE | {"compare": {"algorithm": ["aa"]}}),
    }
    monkeypatch.setattr("shoal.studies.compare.cell.__version__", "9.9")
    assert len(found | {key(BASE)}) == 7


def test_a_plan_bound_to_its_input_is_the_same_cell(files):
    assert key(BASE | {"input": {"path": "sets.dat", "sha256": "0" * 64}}) == key(BASE)


def test_a_file_that_appears_makes_another_cell(files):
    document = BASE | {"hierarchies": "late.csv"}
    before = key(document)
    (files / "late.csv").write_text("1;r\n2;r\n3;r\n")
    assert key(document) != before


def test_the_order_of_columns_may_decide_ties(files):
    (files / "people.csv").write_text("age,sex\n1,f\n2,m\n")
    table = {
        "version": 1,
        "input": {"path": "people.csv"},
        "guarantee": {"model": "k", "k": 2},
        "compare": {"algorithm": ["cluster"]},
    }
    one = key(table | {"columns": {"age": "quasi", "sex": "quasi"}})
    assert one != key(table | {"columns": {"sex": "quasi", "age": "quasi"}})


@pytest.fixture
def study(tmp_path):
    made = CellStudy(tmp_path / "out", Origin(), "", {"jobs": 1, "limit": None, "threads": 1})
    made.folder.make()
    return made


def task(key):
    return CellTask(key, {}, cell=None, repeat=1)


def test_outcomes_are_read_as_they_were_kept(study, tmp_path):
    outcome = Outcome("0" * 32, "done", loss={"ncp": 0.25, "deleted": 0.0}, optimal=True, seconds=1.5, rows=3)
    study.folder.keep(outcome.key, study.document(task(outcome.key), outcome))
    assert study.kept_outcome(task("0" * 32)) == outcome
    assert list(study.kept_outcome(task("0" * 32)).loss) == ["ncp", "deleted"]
    assert os.listdir(tmp_path / "out" / "cells") == [f"{'0' * 32}.json"]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"format": 1}', b"\xff\xfe", b'{"format": 99, "status": "done"}']
)
def test_a_damaged_cell_is_not_there(study, tmp_path, content):
    (tmp_path / "out" / "cells" / f"{'0' * 32}.json").write_bytes(content)
    assert study.kept_outcome(task("0" * 32)) is None


def test_a_cell_under_another_name_is_not_taken(study):
    outcome = Outcome("0" * 32, "done")
    study.folder.keep("1" * 32, study.document(task(outcome.key), outcome))
    assert study.kept_outcome(task("1" * 32)) is None


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda part: st.lists(part) | st.dictionaries(st.text(max_size=6), part),
    )
)
def test_any_json_is_an_outcome_or_none(document):
    json.dumps(document)
    assert Outcome.of(document) is None


def test_a_folder_with_other_files_is_not_taken(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="it holds other files"):
        Folder(str(tmp_path)).make()
    Folder(str(tmp_path)).make(force=True)
    Folder(str(tmp_path)).make()  # now it holds a comparison
    with pytest.raises(InputError, match="it is a file"):
        Folder(str(tmp_path / "thesis.txt")).make()
