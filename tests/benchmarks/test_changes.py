"""Fresh figures beside those recorded before: what is told apart from noise, and what is compared with what."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    names = {name: __import__(name) for name in ("measuring", "recorded", "changes")}
    yield type("Bench", (), names)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(BENCHMARKS)):
            del sys.modules[name]


def made_up(bench, *rows, **run):
    """Rows as if they had been recorded on a quiet machine, unless `run` says otherwise."""
    quiet = bench.measuring.Run("2026-01-02", "abc1234", 2, 24, "3.11.0", 0.1, processor="Made Up 7")
    return bench.recorded.Recorded(replace(quiet, **run), list(rows))


def verdicts(bench, before, now):
    return {change.figure: change.verdict for change in bench.changes.changes(before, now) if change.verdict}


ROW = {
    "data": "retail",
    "m": 2,
    "seconds": "1.00",
    "CPU s": "1.00",
    "NCP": "0.0500",
    "as they are": "60.0%",
    "peak MB": 300,
}


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({}, {}),
        ({"seconds": "1.20", "CPU s": "1.24", "peak MB": 350, "as they are": "59.9%", "NCP": "0.0501"}, {}),
        ({"seconds": "1.30"}, {"seconds": "slower"}),
        ({"seconds": "0.70", "peak MB": 200}, {"seconds": "faster", "peak MB": "less memory"}),
        ({"CPU s": "1.30", "peak MB": 400}, {"CPU s": "slower", "peak MB": "more memory"}),
        ({"NCP": "0.0520", "as they are": "55.0%"}, {"NCP": "worse", "as they are": "worse"}),
        ({"NCP": "0.0400", "as they are": "65.0%"}, {"NCP": "better", "as they are": "better"}),
        ({"seconds": "", "NCP": "no solution"}, {}),
    ],
)
def test_a_figure_has_changed_where_it_moved_by_more_than_noise(bench, cells, said):
    assert verdicts(bench, made_up(bench, ROW), made_up(bench, ROW | cells)) == said


def test_a_step_of_the_last_digit_is_no_change(bench):
    before, now = ({"data": "x", "s": one, "NCP": loss} for one, loss in (("0.03", "0.01%"), ("0.05", "0.03%")))
    assert verdicts(bench, made_up(bench, before), made_up(bench, now)) == {}
    assert verdicts(bench, made_up(bench, before), made_up(bench, now | {"s": "0.06"})) == {"s": "slower"}


def test_the_clock_is_not_believed_beside_other_work(bench):
    """CPU seconds are, from half as many again on."""
    slow = ROW | {"seconds": "9.00", "CPU s": "1.40"}
    for run in ({"load": 10.0}, {"load": None}):
        assert verdicts(bench, made_up(bench, ROW), made_up(bench, slow, **run)) == {}
        very = made_up(bench, slow | {"CPU s": "1.60", "NCP": "0.0600"}, **run)
        assert verdicts(bench, made_up(bench, ROW), very) == {"CPU s": "slower", "NCP": "worse"}


def test_seconds_of_another_machine_do_not_compare(bench):
    slow = ROW | {"seconds": "9.00", "CPU s": "9.00", "NCP": "0.0600"}
    for run in ({"cores": 8}, {"python": "3.12.1"}, {"processor": "Made Up 8"}):
        assert verdicts(bench, made_up(bench, ROW), made_up(bench, slow, **run)) == {"NCP": "worse"}
    assert verdicts(bench, made_up(bench, ROW), made_up(bench, slow, python="3.11.9"))["seconds"] == "slower"


def test_rows_are_compared_with_those_about_the_same(bench):
    """By what stands before the first figure, in any order; new rows and rows that are gone are left out."""
    one, two = ROW, ROW | {"data": "WebView-1", "seconds": "3.00"}
    new = ROW | {"m": 3, "seconds": "50"}
    found = bench.changes.changes(made_up(bench, one, two), made_up(bench, new, two, one))
    assert {(change.row, change.before, change.now) for change in found if change.figure == "seconds"} == {
        ("retail, m 2", "1.00", "1.00"),
        ("WebView-1, m 2", "3.00", "3.00"),
    }
    twice = made_up(bench, one, one | {"seconds": "2.00"})
    assert verdicts(bench, twice, twice) == {}


def test_a_report_says_what_became_slower(bench):
    before, now = made_up(bench, ROW), made_up(bench, ROW | {"seconds": "2.00"})
    head, line = bench.changes.report("exact", before, now)
    assert head == (
        "exact: beside 2026-01-02, commit abc1234; times 1.50 (1.00 to 2.00); memory 1.00 (1.00 to 1.00); "
        "losses 1.00 (1.00 to 1.00); shares kept 1.00 (1.00 to 1.00)"
    )
    assert line == "  ! retail, m 2: seconds 1.00 -> 2.00, 2.00 times: SLOWER"


def test_before_is_what_git_has(bench, tmp_path):
    """The newest committed record that is another one than that at hand, or that of a commit."""

    def git(*words):
        who = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    def recorded(seconds):
        what = made_up(bench, ROW | {"seconds": seconds})
        bench.recorded.record("exact", what, tmp_path)
        return what

    git("init", "-q")
    assert bench.changes.before_now("exact", folder=tmp_path) is None
    states = []
    for seconds in ("3.00", "2.00"):
        states.append(recorded(seconds))
        git("add", ".")
        git("commit", "-q", "-m", seconds)
    assert bench.changes.before_now("exact", folder=tmp_path) == states[0]
    recorded("1.00")
    assert bench.changes.before_now("exact", folder=tmp_path) == states[1]
    assert bench.changes.before_now("exact", "HEAD~1", tmp_path) == states[0]
    assert bench.changes.before_now("hybrid", folder=tmp_path) is None


def test_a_record_from_before_the_processor_was_noted_is_read(bench):
    run = {"date": "2026-01-02", "commit": "a", "cores": 2, "memory_gib": 2, "python": "", "load": None, "other": 1}
    assert bench.recorded.read_record({"run": run, "rows": []}).run.processor == ""


def test_ratios_to_a_bare_loop_and_to_arx_are_those_of_the_scoreboard(bench):
    lines = [*bench.changes.beside_others()]
    assert any(line.startswith("audit, ") and "times a bare loop over the same" in line for line in lines)
    assert any("times ARX's seconds" in line and "times its loss" in line for line in lines)
    assert [*bench.changes.beside_others({})] == []


def test_every_record_can_be_compared_with_itself(bench):
    """All columns of all sections are read: no figure differs from itself, and most sections have some."""
    names = [path.stem for path in bench.recorded.RESULTS.glob("*.json")]
    kept = {name: bench.recorded.recorded(name) for name in names}
    found = {name: bench.changes.changes(what, what) for name, what in kept.items()}
    assert all(not change.verdict for every in found.values() for change in every)
    assert {name for name in names if not found[name]} <= {"narrowed", "rules", "tiny"}
