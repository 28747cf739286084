"""Jobs: a queue of worker processes. A job is a folder, so that pages, and the app itself, may come and go.

    plan.yaml    what is run (paths relative to the folder)
    job.json     which task, when it was queued
    state.json   where it stands
    passing/     temporary files of its process
    out/         what it made; it appears when the job is done, in one piece
    result.json  what there is to say about it
    log.txt      what its process printed; after a crash, where it happened

`Jobs.tick` starts what waits and looks after what runs; the server calls it a few times a second.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.app.jobs.warm import Warm, start_child
from shoal.app.project.own_files import own_folder, read_json, write_json, write_own
from shoal.app.project.project import Project, plan_text, relocate
from shoal.app.project.wording import as_sentence
from shoal.app.project.workspace import Workspace
from shoal.errors import ShoalError
from shoal.processes import Answer, Child, Crash

LIVE = ("queued", "running")
ENDED = ("done", "failed", "cancelled")
AT_ONCE = 1
"""A release uses all cores by itself: two at once would only wait for each other."""
INTERRUPTED = "The app was closed or stopped while this was running. Nothing was written; run it again."
UNMEASURED = "Measuring was ended before it was done; run it again to have it."
OUT_OF_MEMORY = "The system ended this run, most likely because memory ran out; take fewer rows, or a larger machine."
NO_MEMORY = "There is not enough memory for this; take fewer rows, or a larger machine."
CRASHED = "This is a bug in Shoal. The log in the job's folder says where: please report it."
_TASKS = {
    "release": "a run",
    "rewrite": "the writing of a release",
    "risk": "the count of who is rare",
    "trees": "the reading of values",
}
"""What jobs are called by those who wait for them."""
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
        """queued, running, done, failed or cancelled. What can be used is done, though more may be measured behind it."""
        return "done" if self.is_measuring else str(self.state.get("status", "queued"))

    @property
    def is_measuring(self) -> bool:
        """Whether its files can be used, while more is measured about them."""
        return self.state.get("status") == "running" and "ready" in self.state

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
        """The loss of the best release so far, where the algorithm tells."""
        return self._number("best")

    @property
    def bound(self) -> float | None:
        """No release loses less than this, where the algorithm tells."""
        return self._number("bound")

    @property
    def gap(self) -> float | None:
        """How far the best may be from the optimum."""
        return None if self.best is None or self.bound is None else max(0.0, self.best - self.bound)

    @property
    def elapsed(self) -> float:
        """Seconds since it was started; in all, once its files are there."""
        started = self.state.get("started")
        ended = self.state.get("ready") or self.state.get("ended") or time.time()
        return 0.0 if started is None else max(0.0, float(ended) - float(started))

    @property
    def estimate(self) -> float | None:
        """Seconds that it may take in all, as an order of magnitude."""
        return self._number("estimate")

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

    def _number(self, name: str) -> float | None:
        number = self.state.get(name)
        return None if number is None else float(number)


class Jobs:
    """The queue of a workspace."""

    def __init__(self, workspace: Workspace, *, at_once: int = AT_ONCE) -> None:
        self.workspace = workspace
        self.at_once = at_once
        self._running: dict[str, tuple[Path, Child]] = {}
        self._waiting: dict[str, Path] = {}
        self._lock = threading.RLock()
        self.warm = Warm(workspace)
        """The process that estimates, beside the queue: it is for what a page waits for."""
        for project in workspace.projects():
            for job in self.of(project):
                if job.status == "running" or job.is_measuring:  # by an app that is no more
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
    ) -> Job:
        """Puts a job into the queue: a task (`NAME_task` in `shoal.app.jobs.tasks`) on the project's draft, or on another document of its
        folder. Raises `InputError` if the plan reads outside the workspace."""
        if not _TASK.fullmatch(task):
            raise ValueError(task)
        asked = dict(project.draft if document is None else document)
        self.workspace.check(asked, project.folder)
        id = f"{time.time_ns() // 1_000_000:013d}-{secrets.token_hex(4)}"
        folder = own_folder(project.folder / "jobs" / id)
        write_own(folder / "plan.yaml", plan_text(relocate(asked, project.folder, folder)))
        about = {"task": task, "options": dict(options or {}), "queued": time.time()}
        write_json(folder / "job.json", about)
        self._write(folder, {"status": "queued"})
        self._waiting[id] = folder
        return self._job(folder)

    def of(self, project: Project, task: str | None = None) -> list[Job]:
        """The jobs of a project, the newest first; with `task`, those alone."""
        self._hear()
        try:
            folders = sorted((project.folder / "jobs").iterdir(), reverse=True)
        except FileNotFoundError:
            return []
        found = [self._job(folder) for folder in folders if _ID.fullmatch(folder.name)]
        return [job for job in found if job.about and task in (None, job.task)]

    def get(self, project: Project, id: str) -> Job | None:
        """One job. An id is never taken for a path."""
        self._hear()
        folder = project.folder / "jobs" / id
        return self._job(folder) if _ID.fullmatch(id) and (folder / "job.json").is_file() else None

    def latest(self, project: Project, task: str = "release", status: str | None = None) -> Job | None:
        """The newest job of a task, or the newest one of a status."""
        return next((job for job in self.of(project, task) if status in (None, job.status)), None)

    def waiting_words(self, job: Job) -> str:
        """What a queued job waits for: what runs now, whose it is, and how many more come before it."""
        before = [folder for id, folder in sorted(self._waiting.items()) if id < job.id]
        ahead = [*(folder for folder, _ in self._running.values()), *before]
        if not ahead:
            return "It is next, and starts at once."
        first, home = self._job(ahead[0]), ahead[0].parents[1]
        whose = "this project" if home == job.folder.parents[1] else f"“{Project(home).name}”"
        more = (
            "" if len(ahead) == 1 else " and one more job" if len(ahead) == 2 else f" and {len(ahead) - 1:,} more jobs"
        )
        return f"It waits for {_TASKS.get(first.task, 'a job')} of {whose}{more}; one job runs at a time."

    def cancel(self, job: Job) -> None:
        """Ends a job. What it has half written goes with it."""
        self._hear()
        with self._lock:
            self._waiting.pop(job.id, None)
            if (running := self._running.pop(job.id, None)) is not None:
                running[1].end()
            now = self._job(job.folder)
            if now.status in LIVE or now.is_measuring:
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
        self._hear()
        with self._lock:
            for folder, child in self._running.values():
                child.end()
                self._end(folder, "failed", INTERRUPTED)
            self._running.clear()
        self.warm.close()

    def tick(self) -> None:
        """Takes in what workers have said, and starts as many as may run at once."""
        self.warm.tick()
        self._hear()
        with self._lock:
            for id in sorted(self._waiting)[: max(0, self.at_once - len(self._running))]:  # the oldest first
                folder = self._waiting.pop(id)
                if folder.is_dir():  # its project may have been removed
                    self._running[id] = folder, self._started(folder)

    def _started(self, folder: Path) -> Child:
        child = start_child("shoal.app.jobs.tasks:work", folder / "passing", folder / "log.txt")
        state = {"status": "running", "phase": "starting", "share": 0.0, "phases": [], "pid": child.pid}
        self._write(folder, state | {"started": time.time()})
        child.ask(str(folder))
        return child

    def _hear(self) -> None:
        """Takes in what workers have said."""
        with self._lock:
            for id, (folder, child) in list(self._running.items()):
                facts: dict[str, Any] = {}
                answer = None
                for news in child.news():
                    if isinstance(news, Answer):
                        answer = news
                    else:
                        facts |= news
                if facts:
                    self._write(folder, read_json(folder / "state.json") | facts)
                if answer is None:
                    continue
                del self._running[id]
                child.end()
                shutil.rmtree(folder / "passing", ignore_errors=True)
                if answer.error is None:
                    state = read_json(folder / "state.json")
                    self._write(folder, state | {"status": "done", "ended": time.time()})
                else:
                    self._end(folder, "failed", _reason(answer.error))

    def _job(self, folder: Path) -> Job:
        return Job(folder, read_json(folder / "job.json"), read_json(folder / "state.json"))

    def _end(self, folder: Path, status: str, error: str | None = None) -> None:
        """Ends a job, and removes what it has half done. What was there to be used stays: its measuring alone has ended."""
        for made in ("work", "passing"):
            shutil.rmtree(folder / made, ignore_errors=True)
        if self._job(folder).is_measuring:
            self._write(folder, read_json(folder / "state.json") | {"status": "done", "ended": time.time()})
            write_json(folder / "result.json", read_json(folder / "result.json") | {"evaluation_error": UNMEASURED})
            return
        shutil.rmtree(folder / "out", ignore_errors=True)
        (folder / "result.json").unlink(missing_ok=True)
        for part in folder.glob(".*.part"):
            part.unlink(missing_ok=True)
        state = read_json(folder / "state.json") | {"status": status, "ended": time.time()}
        self._write(folder, state | ({} if error is None else {"error": error}))

    @staticmethod
    def _write(folder: Path, state: Mapping[str, Any]) -> None:
        write_json(folder / "state.json", state)


def _reason(error: ShoalError | Crash) -> str:
    """Why a job failed, in a sentence for the user."""
    if isinstance(error, ShoalError):
        return as_sentence(error)
    if error.strerror is not None:
        reason = error.strerror or "the disk or a file failed"
        return f"A file could not be read or written ({reason}); check the disk, then run it again."
    if error.kind == MemoryError.__name__:
        return NO_MEMORY
    return OUT_OF_MEMORY if error.killed else CRASHED
