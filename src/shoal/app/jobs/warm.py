"""The process that estimates (`shoal.app.jobs.estimator`), as the server sees it: one, started when somebody asks, and kept warm.

One request of a project counts, the last: a new one ends the one before, which is given a moment to notice and then ended by force.
Such limits are of computing, not of waiting: on a crowded machine a process that is ended by the clock has only begun to load, and so
has the next, which would be ended as well.

Estimates are kept in the project's folder, so that a page that asks for the same again has it at once. Points of the decision map are
tried while nobody asks for anything else. Questions about a release are answered here too, for the process has loaded what counts them.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.app.panels.promise import estimates
from shoal.app.project.own_files import own_folder
from shoal.app.project.project import Project, relocate
from shoal.app.project.wording import as_sentence
from shoal.app.project.workspace import Workspace
from shoal.errors import ShoalError
from shoal.processes import Answer, Child, Crash

LIMIT = 25.0
"""Seconds of computing after which an estimate that is not there yet is given up. Reading the file is not counted; loading the algorithm
has as many for itself."""
QUESTION_LIMIT = 300.0
"""The same for a question about a release: it is counted on all rows."""
PATIENCE = 1.0
"""Seconds of computing that an estimate nobody waits for has to end by itself."""
LOOK_PATIENCE = 3.0
"""The same for a point of the map, or a look at a tree: one look is short, and a process that is ended has to load and read again."""
CROWDED = 10.0
"""So many times as long by the clock as in computing is as much: a process that waits for something else does not compute."""
IDLE = 900.0
"""Seconds without a request after which the process is ended."""
NO_MEMORY = "There is not enough memory for this; take a smaller sample."
_MOST_FAILED = 64


@dataclass(frozen=True)
class Moment:
    """By the clock, and by what the process has computed, where the system tells that."""

    clock: float
    computed: float | None

    @classmethod
    def of(cls, child: Child) -> Moment:
        return cls(time.monotonic(), child.computed)

    def seconds_since(self, since: Moment) -> float:
        """Seconds since another moment: of computing, or by the clock if that is less (threads compute side by side) or far more."""
        clock = self.clock - since.clock
        if self.computed is None or since.computed is None:
            return clock
        return max(min(clock, self.computed - since.computed), clock / CROWDED)


@dataclass(eq=False)
class Request:
    """An estimate that somebody waits for."""

    project: Project
    key: str
    asked: Mapping[str, Any]
    """What the process is told."""
    keep: Callable[[Mapping[str, Any]], None]
    """Takes what it finds."""
    limit: float = LIMIT
    phase: str = ""
    found: bool = False
    trying: str = ""
    """What is tried: the algorithm, on a few rows that load it, or the promise."""
    since: Moment | None = None
    """When that began, its data being read."""
    unwanted: Moment | None = None
    """Since when nobody waits for it."""


class Warm:
    """The estimates of a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._lock = threading.RLock()
        self._child: Child | None = None
        self._waiting: OrderedDict[str, Request] = OrderedDict()
        self._current: Request | None = None
        self._failed: OrderedDict[str, tuple[str, Mapping[str, float]]] = OrderedDict()
        self._asked = time.monotonic()

    def ask(self, project: Project, key: str, document: dict[str, Any], rows: int | None, limit: float = LIMIT) -> None:
        """Asks for an estimate, in place of what was asked for this project before."""
        self._put(self._estimate(project, key, document, rows, None, limit))

    def fill(self, project: Project, key: str, document: dict[str, Any], look: str) -> None:
        """Asks for a point of the map (a `first` look, or `all`), unless the project waits for something already."""
        if not self.is_busy(project):
            self._put(self._estimate(project, key, document, None, look, LIMIT))

    def question(
        self, project: Project, key: str, asked: Mapping[str, Any], keep: Callable[[Mapping[str, Any]], None]
    ) -> None:
        """Asks a question about a release or a tree, in place of what was asked for this project before; `keep` takes the answer."""
        self._put(Request(project, key, asked, keep, QUESTION_LIMIT))

    def is_busy(self, project: Project) -> bool:
        """Whether anything is waited for, or on its way, for a project."""
        with self._lock:
            self._hear()
            return project.id in self._waiting or (self._current is not None and self._current.project.id == project.id)

    def _estimate(
        self, project: Project, key: str, document: dict[str, Any], rows: int | None, look: str | None, limit: float
    ) -> Request:
        self.workspace.check(document, project.folder)
        asked = {"document": relocate(document, project.folder.resolve(), Path()), "rows": rows, "look": look}
        return Request(project, key, asked, lambda found: estimates.keep(project, key, found), limit)

    def _put(self, request: Request) -> None:
        project, key = request.project, request.key
        with self._lock:
            self._hear()
            self._asked = time.monotonic()
            if self._current is not None and self._current.key == key and self._current.unwanted is None:
                self._waiting.pop(project.id, None)
                return
            self._give_up_current(project)
            self._failed.pop(key, None)
            self._waiting[project.id] = request
            self._dispatch()

    def forget(self, project: Project) -> None:
        """Nobody waits for an estimate of this project any more."""
        with self._lock:
            self._hear()
            self._waiting.pop(project.id, None)
            self._give_up_current(project)

    def standing(self, key: str) -> tuple[str, str] | None:
        """(waiting, running or failed; its phase, or why there is none) of an estimate; None if it is not on its way."""
        with self._lock:
            self._hear()
            if self._current is not None and self._current.key == key and self._current.unwanted is None:
                return "running", self._current.phase
            if any(request.key == key for request in self._waiting.values()):
                return "waiting", ""
            return ("failed", self._failed[key][0]) if key in self._failed else None

    def remedy(self, key: str) -> Mapping[str, float]:
        """Options with a value that would let an estimate that has failed succeed."""
        with self._lock:
            return self._failed[key][1] if key in self._failed else {}

    def retry(self, key: str) -> None:
        """Forgets that an estimate has failed."""
        with self._lock:
            self._failed.pop(key, None)

    def begin(self) -> None:
        """Starts the process ahead of the first request."""
        with self._lock:
            self._asked = time.monotonic()
            self._started()

    def tick(self) -> None:
        """Takes in what the process has said; ends what takes too long, and a process that nobody has asked for long."""
        with self._lock:
            self._hear()
            current = self._current
            if current is None:
                if self._child is not None and time.monotonic() - self._asked > IDLE:
                    self.close()
                return
            looks = current.asked.get("look") or "tree" in current.asked
            now, patience = Moment.of(self._started()), LOOK_PATIENCE if looks else PATIENCE
            if current.unwanted is not None and now.seconds_since(current.unwanted) > patience:
                self._end()
            elif current.since is not None and now.seconds_since(current.since) > current.limit:
                if current.found:
                    estimates.finish(current.project, current.key)
                else:
                    self._fail(current.key, estimates.given_up(current.limit))
                self._end()

    def close(self) -> None:
        """Ends the process."""
        with self._lock:
            self._waiting.clear()
            self._end()

    def _give_up_current(self, project: Project) -> None:
        current = self._current
        if current is not None and current.unwanted is None and current.project.id == project.id:
            child = self._started()
            current.unwanted = Moment.of(child)
            child.give_up()

    def _dispatch(self) -> None:
        if self._current is None and self._waiting:
            _, self._current = self._waiting.popitem(last=False)
            self._started().ask(self._current.asked)

    def _started(self) -> Child:
        """The process; a new one where there is none."""
        if self._child is None:
            log = self.workspace.own / "estimator.log"
            self._child = start_child("shoal.app.jobs.estimator:work", self.workspace.passing / "estimates", log)
        return self._child

    def _end(self) -> None:
        """Ends the process, and with it the current request. Another one starts it again."""
        if self._child is not None:
            self._child.end()
            shutil.rmtree(self.workspace.passing / "estimates", ignore_errors=True)
        self._child = self._current = None
        self._dispatch()

    def _hear(self) -> None:
        """Takes in what the process has said."""
        child = self._child
        if child is None:
            return
        for news in child.news():
            current = self._current
            if current is None:
                continue
            if isinstance(news, Answer):
                self._current = None
                if news.error is not None and current.unwanted is None:
                    if current.found:
                        estimates.finish(current.project, current.key)
                    else:
                        self._fail(current.key, _reason(news.error), getattr(news.error, "remedy", {}))
                continue
            current.phase = str(news.get("phase", current.phase))
            if news.get("trying", current.trying) != current.trying:
                current.trying, current.since = str(news["trying"]), Moment.of(child)
            if "found" in news:
                current.found = True
                current.keep(news["found"])
        if child.code is not None:
            self._child = None
        self._dispatch()

    def _fail(self, key: str, why: str, remedy: Mapping[str, float] = {}) -> None:
        self._failed[key] = why, remedy
        while len(self._failed) > _MOST_FAILED:
            self._failed.popitem(last=False)


def start_child(work: str, passing: Path, log: Path) -> Child:
    """A process of the app, with a folder for its temporary files, which are gone with it."""
    shutil.rmtree(passing, ignore_errors=True)
    environment = os.environ | {"TMPDIR": str(own_folder(passing))}
    return Child(work, log=log, environment=environment, background=True)


def _reason(error: ShoalError | Crash) -> str:
    """Why there is no estimate, in a sentence for the user."""
    if isinstance(error, ShoalError):
        return as_sentence(error)
    if error.kind == MemoryError.__name__:
        return NO_MEMORY
    return estimates.ENDED if error.killed else estimates.CRASHED
