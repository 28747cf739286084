"""Jobs: a queue of worker processes. A job is a folder, so that pages, and the app itself, may come and go.

    plan.yaml    what is run (paths relative to the folder)
    job.json     which task, when it was queued
    state.json   where it stands: written by the worker while it runs, by the queue before and after
    out/         what it made; it appears when the job is done, in one piece
    result.json  what there is to say about it
    log.txt      the worker's words; after a crash, where it happened

`Jobs.tick` starts what waits and looks after what runs; the server calls it a few times a second. A worker has its own process group, so
that a cancel ends all of it, and ends by itself when the app is gone (see `worker`).
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.app.jobs.processes import CRASHED, end_group
from shoal.app.jobs.warm import Warm
from shoal.app.project.own_files import own_folder, read_json, write_json, write_own
from shoal.app.project.project import Project, moved, plan_text
from shoal.app.project.workspace import Workspace

LIVE = ("queued", "running")
ENDED = ("done", "failed", "cancelled")
AT_ONCE = 1
"""A release uses all cores by itself: two at once would only wait for each other."""
INTERRUPTED = "The app was closed or stopped while this was running. Nothing was written; run it again."
OUT_OF_MEMORY = "The system ended this run, most likely because memory ran out; take fewer rows, or a larger machine."
_ID = re.compile(r"[0-9]{13}-[a-f0-9]{8}")
_TASK = re.compile(r"[a-z][a-z_]{0,30}")


@dataclass(frozen=True)
class Job:
    """A job as its folder tells it at this moment."""

    folder: Path
    about: Mapping[str, Any]
    state: Mapping[str, Any]

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def task(self) -> str:
        return str(self.about.get("task", "release"))

    @property
    def status(self) -> str:
        """queued, running, done, failed or cancelled."""
        return str(self.state.get("status", "queued"))

    @property
    def phase(self) -> str:
        """What it is doing, in words."""
        return str(self.state.get("phase", ""))

    @property
    def share(self) -> float:
        """Of the phase, 0 to 1."""
        return float(self.state.get("share", 0.0))

    @property
    def phases(self) -> list[dict[str, Any]]:
        """What it has done so far: name, seconds."""
        return list(self.state.get("phases", ()))

    @property
    def best(self) -> float | None:
        """The loss of the best release found so far, where the algorithm tells."""
        found = self.state.get("best")
        return None if found is None else float(found)

    @property
    def bound(self) -> float | None:
        """No release loses less than this, where the algorithm tells."""
        found = self.state.get("bound")
        return None if found is None else float(found)

    @property
    def gap(self) -> float | None:
        """How far the best may be from the optimum."""
        return None if self.best is None or self.bound is None else max(0.0, self.best - self.bound)

    @property
    def elapsed(self) -> float:
        """Seconds since it was started; in all, once it has ended."""
        started = self.state.get("started")
        return 0.0 if started is None else max(0.0, float(self.state.get("ended") or time.time()) - float(started))

    @property
    def estimate(self) -> float | None:
        """Seconds that it may take in all, as an order of magnitude."""
        found = self.state.get("estimate")
        return None if found is None else float(found)

    @property
    def error(self) -> str | None:
        """Why it failed, in a sentence for the user."""
        return self.state.get("error")

    @property
    def result(self) -> dict[str, Any]:
        """What it found; empty until it is done."""
        return read_json(self.folder / "result.json") if self.status == "done" else {}

    @property
    def document(self) -> dict[str, Any]:
        """The plan that it runs, as a document; paths are relative to the folder."""
        return Project(self.folder).draft

    def output(self, name: str) -> Path | None:
        """A file that it made, by its bare name."""
        path = self.folder / "out" / name
        return path if name == os.path.basename(name) and not name.startswith(".") and path.is_file() else None


class Jobs:
    """The queue of a workspace."""

    def __init__(self, workspace: Workspace, *, at_once: int = AT_ONCE) -> None:
        self.workspace = workspace
        self.at_once = at_once
        self._running: dict[str, tuple[Path, subprocess.Popen[bytes]]] = {}
        self._waiting: dict[str, Path] = {}
        self.warm = Warm(workspace)
        """The process that estimates, beside the queue: it is for what a page waits for."""
        for project in workspace.projects():
            for job in self.of(project):
                if job.status == "running":  # by an app that is no more
                    self._end(job.folder, "failed", INTERRUPTED)
                elif job.status == "queued":
                    self._waiting[job.id] = job.folder

    def submit(
        self,
        project: Project,
        *,
        task: str = "release",
        document: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        label: str = "",
    ) -> Job:
        """Puts a job into the queue: a task (`NAME_task` in `shoal.app.jobs.tasks`) on the project's draft, or on another document of its
        folder. Raises `InputError` if the plan reads outside the workspace."""
        if not _TASK.fullmatch(task):
            raise ValueError(task)
        asked = dict(project.draft if document is None else document)
        self.workspace.check(asked, project.folder)
        id = f"{time.time_ns() // 1_000_000:013d}-{secrets.token_hex(4)}"
        folder = own_folder(project.folder / "jobs" / id)
        write_own(folder / "plan.yaml", plan_text(moved(asked, project.folder, folder)))
        about = {"task": task, "options": dict(options or {}), "label": label, "queued": time.time()}
        write_json(folder / "job.json", about)
        self._write(folder, {"status": "queued"})
        self._waiting[id] = folder
        return self._job(folder)

    def of(self, project: Project, task: str | None = None) -> list[Job]:
        """The jobs of a project, the newest first; with `task`, those alone."""
        try:
            folders = sorted((project.folder / "jobs").iterdir(), reverse=True)
        except FileNotFoundError:
            return []
        found = [self._job(folder) for folder in folders if _ID.fullmatch(folder.name)]
        return [job for job in found if job.about and task in (None, job.task)]

    def get(self, project: Project, id: str) -> Job | None:
        """One job. An id is never taken for a path."""
        folder = project.folder / "jobs" / id
        return self._job(folder) if _ID.fullmatch(id) and (folder / "job.json").is_file() else None

    def latest(self, project: Project, task: str = "release", status: str | None = None) -> Job | None:
        """The newest job of a task, or the newest one of a status."""
        return next((job for job in self.of(project, task) if status in (None, job.status)), None)

    def waiting_before(self, job: Job) -> int:
        """How many jobs are to be started before a queued one."""
        return sum(other < job.id for other in self._waiting)

    def cancel(self, job: Job) -> None:
        """Ends a job. What it has half written goes with it."""
        self._waiting.pop(job.id, None)
        running = self._running.pop(job.id, None)
        if running is not None:
            end_group(running[1])
        if self._job(job.folder).status in LIVE:
            self._end(job.folder, "cancelled")

    def remove(self, job: Job) -> None:
        """Ends a job and removes its folder."""
        self.cancel(job)
        shutil.rmtree(job.folder, ignore_errors=True)

    def end_of(self, project: Project) -> None:
        """Ends all jobs of a project."""
        for job in self.of(project):
            if job.status in LIVE:
                self.cancel(job)

    def end_all(self) -> None:
        for project in self.workspace.projects():
            self.end_of(project)

    def close(self) -> None:
        """Ends what runs, as the app ends; what waits waits for the next start."""
        for folder, process in list(self._running.values()):
            end_group(process)
            if self._job(folder).status in LIVE:  # it may have been done since the last look
                self._end(folder, "failed", INTERRUPTED)
        self._running.clear()
        self.warm.close()

    def tick(self) -> None:
        """Looks after workers that have ended, and starts as many as may run at once."""
        self.warm.tick()
        for id, (folder, process) in list(self._running.items()):
            code = process.poll()
            if code is None:
                continue
            del self._running[id]
            if process.stdin:
                process.stdin.close()
            if self._job(folder).status == "running":  # it had no time to say why
                self._end(folder, "failed", OUT_OF_MEMORY if code == -signal.SIGKILL else CRASHED)
        for id in sorted(self._waiting)[: max(0, self.at_once - len(self._running))]:  # the oldest first
            folder = self._waiting.pop(id)
            if folder.is_dir():  # its project may have been removed
                self._start(id, folder)

    def _start(self, id: str, folder: Path) -> None:
        self._write(folder, {"status": "running", "phase": "starting", "share": 0.0, "started": time.time()})
        number = os.open(folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(number, "wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "shoal.app.jobs.job_worker", str(folder)],
                stdin=subprocess.PIPE,  # its end tells the worker that the app is gone
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=os.environ | {"PYTHONUNBUFFERED": "1", "TMPDIR": str(self.workspace.passing)},
            )
        self._running[id] = (folder, process)

    def _job(self, folder: Path) -> Job:
        return Job(folder, read_json(folder / "job.json"), read_json(folder / "state.json"))

    def _end(self, folder: Path, status: str, error: str | None = None) -> None:
        shutil.rmtree(folder / "work", ignore_errors=True)
        shutil.rmtree(folder / "out", ignore_errors=True)
        (folder / "result.json").unlink(missing_ok=True)
        for part in folder.glob(".*.part"):
            part.unlink(missing_ok=True)
        state = read_json(folder / "state.json") | {"status": status, "ended": time.time()}
        self._write(folder, state | ({} if error is None else {"error": error}))

    @staticmethod
    def _write(folder: Path, state: Mapping[str, Any]) -> None:
        write_json(folder / "state.json", state)
