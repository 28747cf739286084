"""Workbooks, wherever a file can be named: one sheet is read as CSV, and the workbook is what is hashed."""

from __future__ import annotations

import hashlib
import os
import sys
from datetime import timedelta

import pytest
import yaml

import shoal
from made_workbooks import workbook
from shoal.errors import InputError, Unavailable
from shoal.publish import Targets
from shoal.records.foreign import workbooks
from shoal.records.source import fingerprint, load_records, load_sets
from shoal.records.storage.streams import Input
from shoal.records.stores.once import one_copy

PEOPLE = [["sex", "codes"], *(["MF"[i % 2], "a|b" if i % 3 else "c"] for i in range(24))]
SETS = [["items"], ["milk bread"], ["milk"], ["bread"]]


@pytest.fixture
def book(tmp_path):
    return workbook(tmp_path / "two.xlsx", {"People": PEOPLE, "Empty": [], "What, when?": SETS})


def test_a_sheet_is_read_as_the_csv_that_it_would_be(book):
    source = load_records(f"{book}?sheet=People", quasi="sex", items="codes")
    assert (source.name, source.layout.format, source.layout.separator) == ("two.xlsx?sheet=People", "csv", "|")
    assert len(source) == 24
    assert source.sha256 == fingerprint(f"{book}?sheet=People") == hashlib.sha256(book.read_bytes()).hexdigest()
    assert len(shoal.read(f"{book}?sheet=What,%20when%3F")) == len(shoal.read(f"{book}?sheet=What, when?")) == 3


def test_the_only_sheet_needs_no_name(tmp_path):
    path = workbook(tmp_path / "ONE.XLSX", {"Empty": [], "Sets": SETS})
    assert [sorted(row) for row in shoal.read(path)] == [["bread", "milk"], ["milk"], ["bread"]]


def test_a_sheet_that_is_not_named_or_not_there_is_refused_with_those_that_are(book, tmp_path):
    for path, why in (str(book), "2 of its sheets hold something"), (f"{book}?sheet=Empty", "it has no such sheet"):
        with pytest.raises(InputError, match=rf"^two\.xlsx: {why}; name one of them: 'two\.xlsx\?sheet=People', 'two"):
            shoal.read(path)
    with pytest.raises(InputError, match="none of its sheets holds anything"):
        shoal.read(workbook(tmp_path / "none.xlsx", {"Empty": []}))
    with pytest.raises(Unavailable, match=r"^gone\.xlsx: there is no such file"):
        shoal.read(tmp_path / "gone.xlsx?sheet=a")


def test_empty_rows_are_nobody(tmp_path):
    rows = [*PEOPLE[:5], ["", ""], [], *PEOPLE[5:], ["", ""]]
    assert len(load_records(workbook(tmp_path / "p.xlsx", {"P": rows}), quasi="sex", items="codes")) == 24
    assert [sorted(row) for row in shoal.read(workbook(tmp_path / "s.xlsx", {"S": [*SETS, [""], ["rye"]]}))][3:] == [
        [],
        ["rye"],
    ]


def test_cells_merged_over_rows_are_refused_and_those_of_a_title_are_not(tmp_path):
    path = workbook(tmp_path / "p.xlsx", {"P": PEOPLE}, merged=["A2:A4", "B6:B7"])
    with pytest.raises(InputError, match=r"^p\.xlsx: 2 cells in this sheet are merged over several rows"):
        load_records(path, quasi="sex", items="codes")
    titled = workbook(tmp_path / "t.xlsx", {"P": PEOPLE}, merged=["A1:B1"])
    assert len(load_records(titled, quasi="sex", items="codes")) == 24


def test_numbers_of_sixteen_digits_and_durations_are_whole(tmp_path):
    assert workbooks._cell_text(2.0**53) == "9007199254740992"
    assert workbooks._cell_text(timedelta(hours=30)) == "108000"
    assert workbooks._cell_text(timedelta(seconds=1.5)) == "1.5"


def test_without_its_reader_a_sentence_says_how_to_get_it(book, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(InputError, match=r"^two\.xlsx: it is a workbook; pip install 'shoal\[excel\]' to read it"):
        load_sets(book)


def test_one_command_makes_one_copy_that_goes_with_it(book, monkeypatch):
    made = []
    monkeypatch.setattr(
        workbooks, "write_sheet", lambda *given, write=workbooks.write_sheet: made.append(write(*given))
    )
    with one_copy():
        with Input(f"{book}?sheet=People") as first:
            first.read()
        with Input(f"{book}?sheet=People") as again:
            assert again.read().startswith(b"sex,codes\nM,c\n")
    assert len(made) == 1
    assert not os.path.exists(again.source)


def test_a_workbook_that_changes_meanwhile_is_refused(book, monkeypatch):
    def touch(path, *_):
        path.write_bytes(path.read_bytes() + b"!")

    monkeypatch.setattr(workbooks, "write_sheet", touch)
    with pytest.raises(InputError, match="changed while it was read"):
        shoal.read(f"{book}?sheet=People")


def test_a_plan_of_a_sheet_makes_a_release_that_is_verified_and_never_written_over_it(book, tmp_path):
    draft = yaml.safe_load(shoal.draft(f"{book}?sheet=People", bind=True).to_yaml())
    assert "format" not in draft["input"]
    assert draft["outputs"] == {"data": "two-public.csv"}
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        yaml.safe_dump(
            draft
            | {
                "columns": {"sex": "quasi", "codes": "items"},
                "input": draft["input"] | {"path": "two.xlsx?sheet=People"},
            }
        )
    )
    release = shoal.run(plan)
    assert release.audit.holds
    certificate = tmp_path / "two-public.csv.certificate.json"
    assert shoal.verify(certificate, tmp_path / "two-public.csv", original=f"{book}?sheet=People").holds
    targets = Targets.of(tmp_path / "x.csv", report=book)
    with pytest.raises(InputError, match="an input of this release"):
        targets.check(force=True, inputs=(f"{book}?sheet=People",))
