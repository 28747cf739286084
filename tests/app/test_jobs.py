from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from serving import ended, until
from shoal.app.jobs.queue import CRASHED, INTERRUPTED, UNMEASURED, Jobs
from shoal.app.project.own_files import write_json
from shoal.app.project.workspace import Workspace
from shoal.errors import InputError

SETS = "items\n" + "\n".join("|".join("abcdefgh"[(i + j) % 8] for j in range(3)) for i in range(120)) + "\n"
KM = {
    "version": 1,
    "input": {"path": "../../../sets.csv", "separator": "|"},
    "columns": {"items": "items"},
    "hierarchies": "balanced:3",
    "guarantee": {"model": "km", "k": 20, "m": 2},
    "algorithm": "exact",
    "outputs": {"data": "public.csv"},
}
ENDLESS = KM | {
    "hierarchies": None,
    "guarantee": {"model": "k", "k": 5},
    "algorithm": "gray-tsp",
    "options": {"generations": 1_000_000, "population": 1_000},
}


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "sets.csv").write_text(SETS)
    return Workspace(tmp_path / "work")


@pytest.fixture
def project(workspace):
    found = workspace.new_project("sets.csv")
    found.change(KM)
    return found


@pytest.fixture
def jobs(workspace):
    found = Jobs(workspace)
    yield found
    found.close()


def started(jobs, project, job):
    """The job, once its worker is at work."""

    def look():
        jobs.tick()
        found = jobs.get(project, job.id)
        return found if "pid" in found.state and found.phase != "starting" else None

    return until(look)


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # A child that has ended but was not waited for still has its number.
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_release_ends_in_files_and_figures(jobs, project):
    job = ended(jobs, project, jobs.submit(project))
    assert (job.status, job.error) == ("done", None)
    assert {"public.csv", "certificate.json", "certificate.html", "rules.csv"} <= set(job.result["files"])
    assert job.result["release"]["holds"] is True
    assert job.result["release"]["output"] == "public.csv"
    assert job.result["evaluation"] is not None, job.result["evaluation_error"]
    assert job.result["risk"][0]["knows"] == "one item"
    assert [phase["name"] for phase in job.phases] == [
        "Checking the plan",
        "Making the release",
        "Measuring what it cost",
    ]
    assert job.bound is not None
    assert job.estimate > 0
    assert job.elapsed > 0
    certificate = json.loads(job.output("certificate.json").read_text())
    assert certificate["output"]["file"] == "public.csv"
    assert str(project.folder) not in json.dumps(job.result)
    assert not (job.folder / "work").exists()
    for path in job.folder.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) in (0o600, 0o700), path


def test_the_certificate_of_a_job_verifies(jobs, project):
    from shoal import verify

    job = ended(jobs, project, jobs.submit(project))
    for name in ("certificate.json", "certificate.html"):
        assert verify(job.output(name), job.output("public.csv")).holds


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"guarantee": {"model": "km", "k": 500, "m": 2}}, "only 120 rows"),
        ({"columns": {"items": "items", "age": "drop"}}, "no such column"),
    ],
)
def test_failures_are_told_in_the_users_words(jobs, project, change, words):
    job = ended(jobs, project, jobs.submit(project, document=KM | change))
    assert job.status == "failed"
    assert words in job.error
    assert "plan.yaml" not in job.error
    assert "Traceback" not in job.error
    assert job.result == {}
    assert not (job.folder / "out").exists()


def test_a_crash_says_so_and_logs_where(jobs, project):
    job = ended(jobs, project, jobs.submit(project, task="no_such_task"))
    assert (job.status, job.error) == ("failed", CRASHED)
    assert "ModuleNotFoundError" in (job.folder / "log.txt").read_text()


def test_files_that_are_not_there_are_refused_at_once(jobs, project):
    with pytest.raises(InputError, match="no such file"):
        jobs.submit(project, document=KM | {"hierarchies": {"items": "nonsense:3"}})


def test_plans_that_leave_the_workspace_are_not_run(jobs, project):
    with pytest.raises(InputError, match="outside the workspace"):
        jobs.submit(project, document=KM | {"input": {"path": "/etc/passwd"}})
    assert jobs.of(project) == []


def test_a_cancel_ends_the_worker_and_leaves_nothing(jobs, project):
    job = started(jobs, project, jobs.submit(project, document=_endless()))
    assert is_alive(job.state["pid"])
    jobs.cancel(job)
    job = jobs.get(project, job.id)
    assert job.status == "cancelled"
    assert not is_alive(job.state["pid"])
    assert {path.name for path in job.folder.iterdir()} == {"job.json", "plan.yaml", "state.json", "log.txt"}


def test_a_release_can_be_used_while_it_is_measured_and_stays_when_that_ends(workspace, jobs, project):
    job = ended(jobs, project, jobs.submit(project))
    assert (job.status, job.is_measuring, job.result["evaluation_error"]) == ("done", False, None)
    assert len(job.result["answers"]["pairs"]) == 10
    assert job.state["started"] < job.state["ready"] <= job.state["ended"]

    def measured():  # as it stands in the files while a worker measures
        write_json(job.folder / "state.json", {**job.state, "status": "running"})
        return jobs.get(project, job.id)

    assert (measured().status, measured().is_measuring) == ("done", True)
    assert measured().output("public.csv") is not None
    for end in (lambda: jobs.cancel(measured()), lambda: Jobs(workspace).close()):
        measured()
        end()
        now = jobs.get(project, job.id)
        assert (now.status, now.is_measuring, now.result["evaluation_error"]) == ("done", False, UNMEASURED)
        assert now.output("public.csv") is not None


def test_jobs_wait_for_each_other(jobs, project):
    first = jobs.submit(project, document=_endless())
    second, third = jobs.submit(project), jobs.submit(project)
    started(jobs, project, first)
    assert [job.status for job in jobs.of(project)] == ["queued", "queued", "running"]
    assert "one more job" in jobs.waiting_words(third)
    jobs.cancel(third)
    jobs.cancel(first)
    assert ended(jobs, project, second).status == "done"
    assert jobs.get(project, third.id).status == "cancelled"
    assert jobs.latest(project, status="done").id == second.id


def test_jobs_of_an_app_that_is_no_more_are_interrupted(workspace, jobs, project):
    job = jobs.submit(project)
    waiting = jobs.submit(project)
    (job.folder / "state.json").write_text(json.dumps({"status": "running", "started": 1.0}))
    (job.folder / "work").mkdir()
    again = Jobs(workspace)
    found = again.get(project, job.id)
    assert (found.status, found.error) == ("failed", INTERRUPTED)
    assert not (job.folder / "work").exists()
    assert again.get(project, waiting.id).status == "queued"


def test_what_was_done_before_the_last_look_is_kept_as_the_app_ends(jobs, project):
    job = jobs.submit(project, options={"measure": False})
    jobs.tick()
    until(lambda: jobs.get(project, job.id).status == "done", 120)  # and nobody has looked after it since
    jobs.close()
    found = jobs.get(project, job.id)
    assert (found.status, found.error) == ("done", None)
    assert found.output("public.csv") is not None
    assert found.result["release"]["rows"] == 120


def test_what_runs_as_the_app_ends_is_interrupted(jobs, project):
    project.change(lambda document: (document.clear(), document.update(_endless())))
    job = started(jobs, project, jobs.submit(project))
    jobs.close()
    found = jobs.get(project, job.id)
    assert (found.status, found.error) == ("failed", INTERRUPTED)
    assert not is_alive(job.state["pid"])


def test_workers_end_with_the_app(workspace, project):
    project.change(lambda document: (document.clear(), document.update(_endless())))
    script = (
        "import sys, time\n"
        "from shoal.app.jobs.queue import Jobs\nfrom shoal.app.project.workspace import Workspace\n"
        "w = Workspace(sys.argv[1]); jobs = Jobs(w); p = w.projects()[0]; job = jobs.submit(p); jobs.tick()\n"
        "while 'pid' not in jobs.get(p, job.id).state: time.sleep(0.05)\n"
        "print(jobs.get(p, job.id).state['pid'], flush=True); time.sleep(600)\n"
    )
    app = subprocess.Popen([sys.executable, "-c", script, str(workspace.folder)], stdout=subprocess.PIPE, text=True)
    worker = int(app.stdout.readline())
    assert is_alive(worker)
    app.send_signal(signal.SIGKILL)
    app.communicate()
    until(lambda: not Path(f"/proc/{worker}").exists() or not is_alive(worker))


def _endless():
    return {key: value for key, value in ENDLESS.items() if value is not None}
