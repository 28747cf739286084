"""Cells: kept when finished, taken up again, measured again when they would come out differently."""

from __future__ import annotations

import json

import pytest

from shoal.studies.papers import km, reproduction
from shoal.studies.papers.figure import CANNOT, FAILED, RAN, STOPPED, Cell, Figure
from shoal.studies.papers.reproduction import Reproduction, identity, tasks_of
from shoal.studies.study import CELLS

pytestmark = pytest.mark.usefixtures("no_data")


def figure(*cells):
    return Figure("km", "8", "title", "sweep", (), (), cells, ())


def cell(k=5, data="grocery", **how):
    return Cell("km", "recoded", {"data": data, "k": k}, **how)


class Interrupting(Reproduction):
    """Measures k = 0 as a user who has enough."""

    def outcome(self, task, answer):
        if task.request["params"]["k"] == 0:
            raise KeyboardInterrupt
        return super().outcome(task, answer)


@pytest.fixture
def meter(here, monkeypatch):
    """Measurements that measure nothing; the k of each that was made."""
    ks = []

    def measure(data, k):
        ks.append(k)
        if k > 1_000:
            raise ValueError("no")
        return [{"seconds": 0.5}]

    monkeypatch.setitem(km.MEASURES, "recoded", measure)
    return ks


def test_a_finished_cell_is_not_measured_again(tmp_path, meter):
    one = figure(cell(5), cell(6), cell(5))
    rows = Reproduction(tmp_path).outcomes([one])[0].rows
    assert meter == [5, 6]
    assert [(row["k"], row["seconds"], row["status"]) for row in rows] == [(5, 0.5, RAN), (6, 0.5, RAN), (5, 0.5, RAN)]
    again = Reproduction(tmp_path)
    assert again.missing([one]) == []
    assert again.outcomes([one])[0].rows == rows
    assert meter == [5, 6]


def test_an_interruption_keeps_what_is_finished(tmp_path, meter):
    cells = figure(cell(5), cell(0), cell(7))
    with pytest.raises(KeyboardInterrupt):
        Interrupting(tmp_path).outcomes([cells])
    left = Reproduction(tmp_path).missing([cells])
    assert [one.request["params"]["k"] for one in left] == [0, 7]


def test_a_failure_is_shown_and_tried_again(tmp_path, meter):
    outcome = Reproduction(tmp_path).outcomes([figure(cell(1_001))])[0]
    assert outcome.why_not() == ("the grocery store of shoal demo: failed, ValueError: no",)
    assert len(Reproduction(tmp_path).missing([figure(cell(1_001))])) == 1


def test_what_was_stopped_is_tried_again_only_with_more_time(tmp_path):
    study = Reproduction(tmp_path)
    study.folder.make()
    (task,) = tasks_of([figure(cell(limit=30))])
    study.folder.keep(task.key, study.document(task, study.outcome(task, None)))
    assert study.missing([figure(cell(limit=30))]) == []
    assert study.missing([figure(cell(limit=10))]) == []
    assert len(study.missing([figure(cell(limit=60))])) == 1


def test_a_cell_cut_short_by_a_crash_is_measured_again(tmp_path, meter):
    Reproduction(tmp_path).outcomes([figure(cell())])
    (kept,) = (tmp_path / CELLS).iterdir()
    kept.write_text(kept.read_text()[:10])
    assert len(Reproduction(tmp_path).missing([figure(cell())])) == 1


def test_results_depend_on_request_data_and_code(tmp_path, monkeypatch):
    before = identity(cell())
    assert identity(cell()) == before
    assert identity(cell(6)) != before
    monkeypatch.setattr(reproduction.sources, "identity", lambda name: "other data")
    assert identity(cell()) != before
    monkeypatch.undo()
    monkeypatch.setattr(reproduction, "_code", lambda paper: "other code")
    assert identity(cell()) != before


def test_data_that_are_not_here_are_named_with_a_remedy(tmp_path, meter):
    both = figure(cell(5, "chess"), cell(5))
    assert [one.request["params"]["data"] for one in tasks_of([both])] == ["grocery"]
    outcome = Reproduction(tmp_path).outcomes([both])[0]
    assert outcome.absent == ("chess: not on this machine. Get it with: shoal datasets get chess.",)
    assert len(outcome.rows) == 1


def test_several_at_a_time_give_the_same_rows(tmp_path, meter):
    one = figure(*(cell(k) for k in range(1, 20)))
    tallies = []
    alone = Reproduction(tmp_path / "a").outcomes([one])[0].rows
    assert Reproduction(tmp_path / "b").outcomes([one], 3, tallies.append)[0].rows == alone
    assert (tallies[0].finished, tallies[0].total, tallies[-1].finished) == (0, 19, 19)
    assert tallies[0].remaining == pytest.approx(19 * 1.5 / 3, rel=0.01)
    assert tallies[0].latest.startswith("km, data grocery, k ")


def test_a_cell_in_a_process_of_its_own_says_what_it_cannot_do(tmp_path):
    asked = {"rows": 300, "items": None, "k": 3, "m": 2, "degree": 2, "algorithm": "oa"}
    large = Cell("km", "recoded", {"data": "grocery", **asked})
    wrong = Cell("km", "recoded", {"data": "grocery", "nonsense": 1})
    rows = Reproduction(tmp_path).outcomes([figure(large, wrong)])[0].rows
    assert rows[0]["status"] == CANNOT
    assert "which finds the same optimum" in rows[0]["reason"]
    assert rows[1]["status"] == FAILED
    assert "nonsense" in rows[1]["reason"]


def test_a_cell_that_takes_too_long_is_stopped(tmp_path):
    slow = Cell("km", "recoded", {"data": "grocery"}, limit=0.01)
    (row,) = Reproduction(tmp_path).outcomes([figure(slow)])[0].rows
    assert (row["status"], row["reason"]) == (STOPPED, "no answer within 0.01 s")
    assert json.dumps(row)
