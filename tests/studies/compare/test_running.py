"""Comparisons as they run: kept cells, failing cells, limits, processes that die. What is not about processes runs in this one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from shoal import processes
from shoal.errors import InputError
from shoal.records.storage.publication import Publication
from shoal.records.writing import write
from shoal.studies import study
from shoal.studies.compare import compare, comparison_of, rows_of
from shoal.studies.study import Folder

BASE = {
    "version": 1,
    "input": {"path": "sets.dat"},
    "hierarchies": "frequency:5",
    "guarantee": {"model": "km", "k": 3, "m": 1},
}
GRID = BASE | {"compare": {"algorithm": ["exact", "aa"], "k": [2, 5]}}


def outcomes(found):
    return [(one.status, dict(one.loss), one.holds, one.optimal, one.rows) for one in found.outcomes]


def only(document, **axes):
    return comparison_of(document | {"compare": axes})


def test_every_cell_is_an_audited_release(shop, in_process):
    found = compare(comparison_of(GRID), "out")
    rows = rows_of(found)
    assert (found.done, found.failed, found.missing, found.interrupted) == (4, 0, 0, False)
    assert all(row["holds"] and row["rows"] == 300 and row["checked"] > 0 for row in rows)
    assert [row["above_optimum"] for row in rows][:2] == [0.0, 0.0]
    assert all(row["above_optimum"] >= 0 for row in rows)
    assert rows[0]["loss"]["ncp"] <= rows[1]["loss"]["ncp"]  # k = 2, k = 5


def test_a_second_run_keeps_what_is_there_and_computes_the_rest(shop, in_process):
    compare(only(BASE, algorithm=["exact"], k=[2, 5]), "out")
    assert len(in_process) == 2
    found = compare(comparison_of(GRID), "out")
    assert (len(in_process), found.kept) == (4, 2)
    again = compare(comparison_of(GRID), "out")
    assert (len(in_process), again.kept) == (4, 4)
    assert again.outcomes == found.outcomes


def test_a_changed_input_is_recognised(shop, in_process, baskets):
    before = compare(comparison_of(GRID), "out")
    write(baskets.take(range(200)), "sets.dat", force=True)
    after = compare(comparison_of(GRID), "out")
    assert (len(in_process), after.kept) == (8, 0)
    assert {one.rows for one in before.outcomes} == {300}
    assert {one.rows for one in after.outcomes} == {200}


def test_a_damaged_cell_is_computed_again(shop, in_process):
    found = compare(comparison_of(GRID), "out")
    (shop / "out" / "cells" / f"{found.outcomes[2].key}.json").write_text('{"format": 1, "sta')
    again = compare(comparison_of(GRID), "out")
    assert (again.kept, len(in_process)) == (3, 5)
    assert outcomes(again) == outcomes(found)


def test_a_grid_with_failing_cells_has_a_row_for_each(shop, in_process):
    (shop / "half.csv").write_text("1;a;r\n2;a;r\n")
    wanted = only(BASE, algorithm=["exact", "aa"], k=[2, 301], hierarchies=["frequency:5", "half.csv", "absent.csv"])
    found = compare(wanted, "out")
    assert (found.done, found.failed) == (2, 10)
    rows = {(row["algorithm"], row["k"], row["hierarchies"]): row for row in rows_of(found)}
    assert rows["aa", 301, "frequency:5"]["status"] == "unreachable"
    assert "fewer than k = 301" in rows["aa", 301, "frequency:5"]["reason"]
    assert rows["aa", 2, "half.csv"]["status"] == "refused"
    assert "149 items are not among its leaves" in rows["aa", 2, "half.csv"]["reason"]
    assert "there is no such file" in rows["exact", 2, "absent.csv"]["reason"]
    assert compare(wanted, "out").kept == 12
    assert compare(wanted, "out", retry=True).kept == 2


def test_an_impossible_cell_is_a_row_without_a_process(shop, in_process):
    document = {"version": 1, "input": {"path": "sets.dat"}, "guarantee": {"model": "k", "k": 2}}
    found = compare(only(document, algorithm=["gsc"], k=[1, 2]), "out")
    assert [one.status for one in found.outcomes] == ["refused", "done"]
    assert "give at least 2" in found.outcomes[0].reason
    assert len(in_process) == 1


def test_repetitions_are_rows_of_their_own(shop, in_process):
    found = compare(only(BASE, algorithm=["aa"]), "out", repeats=3)
    assert [row["repeat"] for row in rows_of(found)] == [1, 2, 3]
    assert compare(only(BASE, algorithm=["aa"]), "out").kept == 1


def test_a_fault_of_ours_keeps_its_place_and_no_message(shop, in_process, monkeypatch):
    from shoal.studies.compare import cell_work

    def broken(plan, threads):
        raise KeyError("HIV")

    monkeypatch.setattr(cell_work, "release_facts", broken)
    found = compare(only(BASE, algorithm=["aa"]), "out")
    assert found.outcomes[0].status == "fault"
    assert found.outcomes[0].reason.startswith("KeyError in ")
    assert "HIV" not in found.outcomes[0].reason


def test_memory_that_runs_out_is_a_reason(shop, in_process, monkeypatch):
    from shoal.studies.compare import cell_work

    def greedy(plan, threads):
        raise MemoryError

    monkeypatch.setattr(cell_work, "release_facts", greedy)
    assert compare(only(BASE, algorithm=["aa"]), "out").outcomes[0].status == "memory"


def test_progress_counts_and_estimates(shop, in_process):
    seen = []
    compare(comparison_of(GRID), "out", jobs=1, watch=seen.append)
    assert [state.finished for state in seen] == [0, 1, 2, 3, 4]
    assert {state.total for state in seen} == {4}
    assert seen[0].remaining is None
    assert all(state.remaining >= 0 for state in seen[1:])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_what_is_finished_and_the_handlers_as_they_were(shop, in_process, number):
    before = signal.getsignal(number)

    def impatient(state):
        if state.finished == 2:
            os.kill(os.getpid(), number)

    found = compare(comparison_of(GRID), "out", jobs=1, watch=impatient)
    assert (found.done, found.missing, found.interrupted) == (2, 2, True)
    assert [row["row"] for row in rows_of(found)] == [1, 2]
    assert signal.getsignal(number) == before
    again = compare(comparison_of(GRID), "out")
    assert (again.kept, again.done, again.interrupted) == (2, 4, False)


def test_a_cell_that_another_comparison_finished_meanwhile_is_taken(shop, in_process):
    def helpful(state):
        if state.finished == 0:
            compare(comparison_of(GRID), "out", jobs=1)

    found = compare(comparison_of(GRID), "out", jobs=1, watch=helpful)
    assert (found.done, found.kept) == (4, 3)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (BASE | {"input": {"path": "absent.dat"}}, "input.path: 'absent.dat': there is no such file"),
        (BASE | {"input": {"path": "-", "format": "dat"}}, "a comparison reads its data for every cell; name a file"),
        (BASE | {"input": {"path": "sets.dat", "sha256": "0" * 64}}, "another file than the one the plan was made for"),
        (BASE | {"hierarchies": "absent.csv"}, "'absent.csv': there is no such file"),
    ],
)
def test_what_no_cell_could_do_is_refused_at_once(shop, document, message):
    with pytest.raises(InputError, match=message):
        compare(comparison_of(document), "out")
    assert not (shop / "out").exists()


def test_a_process_has_its_own_memory_and_is_warmed_up(shop):
    ballast = b"x" * (700 << 20)  # of this process, which must not count
    found = compare(only(BASE, algorithm=["aa"]), "out", jobs=1)
    assert len(ballast)
    one = found.outcomes[0]
    assert (one.status, one.warm, one.holds, one.jobs) == ("done", True, True, 1)
    assert one.seconds < 60
    if sys.platform == "linux":
        assert 0 < one.start_mb <= one.peak_mb < 700


def test_a_process_that_takes_too_long_is_stopped_and_gets_its_chance_when_the_limit_grows(shop, monkeypatch):
    started = '{"facts": {"started": true}}'
    monkeypatch.setattr(processes, "_START", f"import time; print('{started}', flush=True); time.sleep(600)")
    wanted = only(BASE, algorithm=["aa"])
    begun = time.monotonic()
    found = compare(wanted, "out", limit=0.2)
    assert time.monotonic() - begun < 60
    assert (found.outcomes[0].status, found.outcomes[0].reason) == ("stopped", "it took longer than 0.2 seconds")
    assert compare(wanted, "out", limit=0.1).kept == 1
    monkeypatch.setattr(processes, "_START", "raise SystemExit(7)")
    again = compare(wanted, "out", limit=0.3)
    assert (again.kept, again.outcomes[0].status) == (0, "fault")
    assert "exit code 7" in again.outcomes[0].reason


def test_a_process_that_the_system_ends_is_a_row(shop, monkeypatch):
    monkeypatch.setattr(processes, "_START", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    found = compare(only(BASE, algorithm=["aa", "da"]), "out", jobs=2)
    assert [one.status for one in found.outcomes] == ["memory", "memory"]
    assert "lack of memory" in found.outcomes[0].reason


def test_two_comparisons_in_one_folder_do_not_harm_each_other(shop):
    script = (
        "from shoal.studies.compare import compare, read_comparison; "
        "found = compare(read_comparison('plan.json'), 'out', jobs=1); assert found.done == 2"
    )
    (shop / "plan.json").write_text(json.dumps(BASE | {"compare": {"algorithm": ["aa"], "k": [2, 5]}}))
    both = [subprocess.Popen([sys.executable, "-c", script], cwd=shop) for _ in range(2)]
    assert [one.wait(timeout=300) for one in both] == [0, 0]
    assert len(os.listdir(shop / "out" / "cells")) == 2


def test_a_file_that_another_study_writes_is_waited_for(shop, monkeypatch):
    (shop / "out" / "cells").mkdir(parents=True)
    folder, other, waits = Folder("out"), Publication(["out/cells/a.json"], force=True), []
    other.__enter__()

    def sleep(seconds):
        waits.append(seconds)
        other.__exit__(InputError, InputError("given up"), None)

    monkeypatch.setattr(study, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
    folder.keep("a", {"k": 5})
    assert (len(waits), folder.cell("a")) == (1, {"k": 5})


def test_a_comparison_runs_outside_the_main_thread(shop, in_process):
    done = []
    thread = threading.Thread(target=lambda: done.append(compare(only(BASE, algorithm=["aa"]), "out")))
    thread.start()
    thread.join(300)
    assert done[0].done == 1
