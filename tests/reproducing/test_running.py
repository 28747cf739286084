"""Cells: kept when finished, taken up again, measured again when they would come out differently."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from shoal.reproducing import running
from shoal.reproducing.figure import CANNOT, FAILED, RAN, STOPPED, Cell, Figure
from shoal.reproducing.running import Cells, identity, wanted

pytestmark = pytest.mark.usefixtures("no_data")


def figure(*cells):
    return Figure("km", "8", "title", "sweep", (), (), cells, ())


def cell(k=5, data="grocery", **how):
    return Cell("km", "recoded", {"data": data, "k": k}, **how)


class Meter:
    """Measures nothing, and counts how often."""

    def __init__(self, rows=None):
        self.asked = []
        self.rows = rows

    def __call__(self, asked):
        self.asked.append(asked.params["k"])
        if asked.params["k"] == 0:
            raise KeyboardInterrupt
        return self.rows or [{"seconds": 0.5}]


def test_a_finished_cell_is_not_measured_again(tmp_path):
    first, second = Meter(), Meter()
    one = figure(cell(5), cell(6), cell(5))
    rows = Cells(tmp_path, measure=first).outcomes([one])[0].rows
    assert first.asked == [5, 6]
    assert [(row["k"], row["seconds"], row["status"]) for row in rows] == [(5, 0.5, RAN), (6, 0.5, RAN), (5, 0.5, RAN)]
    again = Cells(tmp_path, measure=second)
    assert again.missing([one]) == []
    assert again.outcomes([one])[0].rows == rows
    assert second.asked == []


def test_an_interruption_keeps_what_is_finished(tmp_path):
    meter = Meter()
    with pytest.raises(KeyboardInterrupt):
        Cells(tmp_path, measure=meter).outcomes([figure(cell(5), cell(0), cell(7))])
    assert [one.params["k"] for one in Cells(tmp_path).missing([figure(cell(5), cell(0), cell(7))])] == [0, 7]


def test_a_failure_is_shown_and_tried_again(tmp_path):
    meter = Meter([{"status": FAILED, "reason": "ValueError: no"}])
    outcome = Cells(tmp_path, measure=meter).outcomes([figure(cell())])[0]
    assert outcome.why_not() == ("the grocery store of shoal demo: failed, ValueError: no",)
    assert len(Cells(tmp_path).missing([figure(cell())])) == 1


def test_what_was_stopped_is_tried_again_only_with_more_time(tmp_path):
    Cells(tmp_path, measure=Meter([{"status": STOPPED, "reason": "", "limit": 30}])).outcomes([figure(cell(limit=30))])
    assert Cells(tmp_path).missing([figure(cell(limit=30))]) == []
    assert Cells(tmp_path).missing([figure(cell(limit=10))]) == []
    assert len(Cells(tmp_path).missing([figure(cell(limit=60))])) == 1


def test_a_cell_cut_short_by_a_crash_is_measured_again(tmp_path):
    Cells(tmp_path, measure=Meter()).outcomes([figure(cell())])
    (kept,) = (tmp_path / running.KEPT).iterdir()
    kept.write_text(kept.read_text()[:10])
    assert len(Cells(tmp_path).missing([figure(cell())])) == 1


def test_results_depend_on_request_data_and_code(tmp_path, monkeypatch):
    before = identity(cell())
    assert identity(cell()) == before
    assert identity(cell(6)) != before
    monkeypatch.setattr(running.sources, "identity", lambda name: "other data")
    assert identity(cell()) != before
    monkeypatch.undo()
    monkeypatch.setattr(running, "_code", lambda paper: "other code")
    assert identity(cell()) != before


def test_data_that_are_not_here_are_named_with_a_remedy(tmp_path):
    meter = Meter()
    both = figure(cell(5, "chess"), cell(5))
    assert [one.params["data"] for one in wanted([both])] == ["grocery"]
    outcome = Cells(tmp_path, measure=meter).outcomes([both])[0]
    assert outcome.absent == ("chess: not on this machine. Get it with: shoal datasets get chess.",)
    assert len(outcome.rows) == 1


def test_several_at_a_time_give_the_same_rows(tmp_path):
    one = figure(*(cell(k) for k in range(1, 20)))
    told = []
    alone = Cells(tmp_path / "a", measure=Meter()).outcomes([one])[0].rows
    cells = Cells(tmp_path / "b", 3, lambda text, share: told.append((text, share)), Meter())
    assert cells.outcomes([one])[0].rows == alone
    assert told[0][0].startswith("km, 1 of 19 measurements, about ")
    assert all(0 <= share < 1 for _, share in told)


def test_a_cell_in_a_process_of_its_own_says_what_it_cannot_do(tmp_path):
    asked = {"rows": 300, "items": None, "k": 3, "m": 2, "degree": 2, "algorithm": "oa"}
    large = Cell("km", "recoded", {"data": "grocery", **asked})
    wrong = Cell("km", "recoded", {"data": "grocery", "nonsense": 1})
    rows = Cells(tmp_path).outcomes([figure(large, wrong)])[0].rows
    assert rows[0]["status"] == CANNOT
    assert "which finds the same optimum" in rows[0]["reason"]
    assert rows[1]["status"] == FAILED
    assert "nonsense" in rows[1]["reason"]


def test_a_cell_that_takes_too_long_is_stopped(tmp_path):
    slow = Cell("km", "recoded", {"data": "grocery"}, limit=0.01)
    (row,) = Cells(tmp_path).outcomes([figure(slow)])[0].rows
    assert (row["status"], row["reason"]) == (STOPPED, "no answer within 0.01 s")
    assert json.dumps(row)


@pytest.mark.skipif(sys.platform == "win32", reason="processes there keep the number of a parent that is gone")
def test_a_measurement_ends_with_the_command_that_asked_for_it():
    measuring = (
        "import os, time; from shoal.reproducing.__main__ import end_with; end_with(os.getppid(), 0.05)\n"
        "print('measuring', flush=True); time.sleep(60); print('for nobody')"
    )
    asking = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]]); sys.stdin.read()"
    order = [sys.executable, "-c", asking, measuring]
    with subprocess.Popen(order, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout.readline() == "measuring\n"
        command.kill()
        assert command.stdout.read() == ""  # it ends when nobody holds it any more
