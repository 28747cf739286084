"""Files that are tables, but not as Shoal reads them, and the copy that it does read."""

from __future__ import annotations

import os
import signal
import stat
import sys
import zipfile

import pytest

from made_workbooks import workbook
from shoal.app.panels.data.data_panel import plain_copy
from shoal.app.project.drafts import begin, bring, project_of, read_as_missing, set_role
from shoal.app.project.workspace import Workspace
from shoal.errors import InputError
from shoal.records.foreign import workbooks
from shoal.records.foreign.oddities import Oddity, missing_header, missing_marks, oddity
from shoal.records.foreign.workbooks import sheet_names

ROWS = [["name", "age", "place"], ["Jürgen, the elder", "31", "Köln"], ["Zoë", "44", "Orléans"], ["Ann", "", "Bonn"]]


def written(path, mark, encoding="utf-8", above=""):
    path.write_bytes((above + "".join(mark.join(row) + "\n" for row in ROWS)).encode(encoding))
    return path


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path / "w")


@pytest.mark.parametrize(
    ("mark", "encoding", "above", "found", "told"),
    [
        ("|", "utf-8", "", Oddity("utf-8", "|", 0), "Its columns seem to be separated by “|”."),
        (";", "utf-8", "Export\n\n", Oddity("utf-8", ";", 2), "The first 2 lines stand above the names of the columns."),
        (";", "utf-8", "Export\n", Oddity("utf-8", ";", 1), "The first line stands above the names of the columns."),
        (";", "cp1252", "", Oddity("cp1252", None, 0), "Its text seems to be Windows-1252, as spreadsheet programs write it."),
        ("\t", "utf-16", "", Oddity("utf-16", None, 0), "Its text seems to be UTF-16."),
        ("^", "cp1252", "x\n", Oddity("cp1252", "^", 1), None),
    ],
)  # fmt: skip
def test_what_is_odd_is_found_and_plain_copy(workspace, mark, encoding, above, found, told):
    path = written(workspace.folder / "people.csv", mark, encoding, above)
    odd = oddity(path, unreadable=encoding != "utf-8")
    assert odd == found
    assert told is None or odd.in_words() == told
    before = path.read_bytes()
    copy = plain_copy(workspace, path, odd)
    assert path.read_bytes() == before
    assert copy.parent == workspace.uploads
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    project = workspace.new_project("people")
    begin(project, copy)
    assert list(project.roles) == ["name", "age", "place"]
    assert "Jürgen, the elder" in copy.read_text(encoding="utf-8")


def test_what_is_not_odd_is_left_alone(workspace):
    path = workspace.folder / "list.csv"
    path.write_text("items\nmilk\nbread\n")
    assert oddity(path) is None
    assert oddity(written(path, ";")) is None
    path.write_bytes(b"\x1f\x8b\x08\x00packed")
    assert oddity(path, unreadable=True) is None


def test_text_that_is_not_what_it_seemed_is_refused_and_leaves_nothing(workspace):
    path = workspace.folder / "people.csv"
    path.write_bytes(b"a;b\n\x81\x8d;2\n")  # no characters of Windows-1252
    with pytest.raises(InputError, match="cannot be read this way, either"):
        plain_copy(workspace, path, Oddity("cp1252"))
    assert list(workspace.uploads.iterdir()) == list(workspace.passing.iterdir()) == []


def test_a_workbook_is_read_sheet_by_sheet(workspace):
    rows = [["age", "zip", "town"], *([30 + i % 3, f"0{i % 2}7", "Köln, West"] for i in range(30))]
    path = workbook(workspace.folder / "people.xlsx", {"People": rows, "Empty": [], "Half": [["x"], [1.5]]})
    assert sheet_names(path) == ["People", "Half"]
    project = project_of(workspace, path)
    assert list(project.roles) == ["age", "zip", "town"]
    assert project.data.read_text().splitlines()[1] == '30,007,"Köln, West"'
    bring(workspace, project, path, "Half")
    assert project.data.read_text() == "x\n1.5\n"
    assert project.settings["workbook"]["sheets"] == ["People", "Half"]
    workspace.remove_project(project)
    assert list(workspace.uploads.iterdir()) == []  # the copies go, the workbook in the workspace stays
    assert path.exists()


def test_a_workbook_that_is_none_makes_no_project(workspace, monkeypatch):
    path = workspace.folder / "people.xlsx"
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match="cannot be read as a workbook"):
        project_of(workspace, path)
    workbook(path, {"a": [["x"], [1]]})
    monkeypatch.setenv("SHOAL_INPUT_LIMIT", "1MB")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/large.xml", b" " * 10**6)
    with pytest.raises(InputError, match="unpacks to more"):
        project_of(workspace, path)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(InputError, match=r"shoal\[excel\]"):
        project_of(workspace, path)
    assert workspace.projects() == []


def test_a_workbook_that_breaks_its_reader_breaks_nothing_else(workspace, monkeypatch):
    """The reader is in a process of its own: if that dies, or never ends, there is a sentence."""
    path = workbook(workspace.folder / "people.xlsx", {"a": [["x"], [1]]})
    monkeypatch.setattr(workbooks, "WORKBOOK_SECONDS", 0.0)
    with pytest.raises(InputError, match="takes too long"):
        sheet_names(path)
    monkeypatch.undo()
    asked = []

    class Dying(workbooks.Child):
        def ask(self, request):
            asked.append(request)
            super().ask(request)
            os.kill(self.pid, signal.SIGKILL)

    monkeypatch.setattr(workbooks, "Child", Dying)
    with pytest.raises(InputError, match="cannot be read as a workbook"):
        sheet_names(path)
    assert asked == [{"path": str(path)}]


def test_a_missing_header_is_noticed_and_mended(workspace):
    path = workspace.folder / "people.csv"
    lines = "".join(f"{30 + i % 5};{'MF'[i % 2]};{'xyz'[i % 3]}\n" for i in range(40))
    for headless in (lines, "".join(f"{'MF'[i % 2]},{'xyz'[i % 3]}\n" for i in range(40))):
        path.write_text(headless)
        odd = missing_header(path)
        assert odd.headless
        assert "first line seems to be a row" in odd.in_words()
        copy = plain_copy(workspace, path, odd)
        project = project_of(workspace, copy)
        assert list(project.roles)[:2] == ["column 1", "column 2"]
        assert len(copy.read_text().splitlines()) == 41
        assert missing_header(copy) is None
    for fine in ("age;sex\n" + lines, "a,b\nx,y\nx,z\n", "2024,2025\nx,y\nx,z\n"):
        path.write_text(fine)
        assert missing_header(path) is None


def test_marks_of_missing_values_are_found_and_read_as_such_column_by_column(workspace):
    path = workspace.folder / "people.csv"
    people = [(30 + i % 5, "?" if i % 7 == 0 else "MF"[i % 2], "NA" if i == 3 else "xyz"[i % 3]) for i in range(40)]
    path.write_text("age;sex;job\n" + "".join(f"{age};{sex};{job}\n" for age, sex, job in people))
    assert missing_marks(path) == {"sex": "?", "job": "NA"}
    project = project_of(workspace, path)
    set_role(project, "job", "keep")
    read_as_missing(workspace, project, path, {"sex": "?"})
    assert project.roles["job"] == "keep"
    assert missing_marks(project.data) == {"job": "NA"}
    lines = project.data.read_text().splitlines()
    assert lines[:2] == ["age,sex,job", "30,,x"]
    assert len(lines) == 41
    for fine in ("a;b\nx;?\ny;?\n", "a;b\nx;1\ny;2\n", "a\n?\n"):  # marks alone say nothing
        path.write_text(fine)
        assert missing_marks(path) == {}


def test_bad_files_make_no_project_and_leave_no_copy(workspace):
    for name, text in {"ragged.csv": "a,b\n1,2\n1,2,3\n", "empty.csv": "", "half.jsonl": '{"a": 1}\n{'}.items():
        with workspace.part() as part:
            part.write_text(text)
            path = workspace.keep(part, name)
        with pytest.raises(InputError):
            project_of(workspace, path)
    assert workspace.projects() == []
    assert list(workspace.uploads.iterdir()) == []
    latin = workspace.folder / "latin.csv"
    latin.write_bytes("name;age\nMüller;3\n".encode("latin-1"))
    assert project_of(workspace, latin).settings["trouble"]  # it can be read in another way, which the page offers


def test_a_table_with_bars_is_a_click_away(served, page):
    served.upload(page, "people.csv", "".join("|".join(row) + "\n" for row in ROWS))
    page.get_by_text("Its columns seem to be separated by “|”.").wait_for()
    page.get_by_role("button", name="Read it this way").click()
    page.get_by_label("Role of column place").wait_for()
    page.wait_for_selector("text=1 to 3 of 3 rows")
    served.upload(page, "people.csv", "\n".join(";".join(row) for row in ROWS).encode("cp1252"))
    page.get_by_text("Its text seems to be Windows-1252").wait_for()
    page.get_by_role("button", name="Read it this way").click()
    page.get_by_label("Role of column place").wait_for()
    assert page.locator("td", has_text="Köln").count() == 1
