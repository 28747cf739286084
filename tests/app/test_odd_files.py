"""Files that are tables, but not as Shoal reads them, and the copy that it does read."""

from __future__ import annotations

import stat

import pytest

from shoal.app.panels.data.data_panel import plain_copy
from shoal.app.project.drafts import begin
from shoal.app.project.workspace import Workspace
from shoal.errors import InputError
from shoal.records.formats.oddities import Oddity, oddity

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


def test_a_workbook_is_told_as_one(workspace):
    path = workspace.folder / "people.xlsx"
    path.write_bytes(b"PK\x03\x04")
    project = workspace.new_project("people")
    begin(project, path)
    assert "Save the sheet as CSV" in project.settings["trouble"]


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
