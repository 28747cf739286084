"""The process that estimates (`shoal.app.jobs.estimator`), as the server sees it: one, started when somebody asks, and kept warm.

One request of a project counts, the last: a new one ends the one before, which is given a moment to notice and then ended by force.
Estimates are kept in the project's folder, so that a page that asks for the same again has it at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.app.jobs.processes import end_group
from shoal.app.panels.promise import estimates
from shoal.app.project.project import Project, moved
from shoal.app.project.workspace import Workspace

LIMIT = 25.0
"""Seconds after which an estimate that is not there yet is given up; reading the file is not counted."""
PATIENCE = 1.0
"""Seconds that an estimate nobody waits for has to end by itself."""
IDLE = 900.0
"""Seconds without a request after which the process is ended."""
_MOST_FAILED = 64
_counter = iter(range(1, 1 << 62))


@dataclass(eq=False)
class Request:
    """An estimate that somebody waits for."""

    project: Project
    key: str
    base: str
    document: Mapping[str, Any]
    rows: int | None
    limit: float = LIMIT
    id: int = field(default_factory=_counter.__next__)
    phase: str = ""
    found: bool = False
    since: float | None = None
    """When it began to be tried, its data being read."""
    unwanted: float | None = None
    """Since when nobody waits for it."""


class Warm:
    """The estimates of a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._lock = threading.RLock()
        self._process: subprocess.Popen[str] | None = None
        self._waiting: OrderedDict[str, Request] = OrderedDict()
        self._current: Request | None = None
        self._failed: OrderedDict[str, str] = OrderedDict()
        self._asked = time.monotonic()

    def ask(
        self,
        project: Project,
        key: str,
        base: str,
        document: dict[str, Any],
        rows: int | None,
        limit: float = LIMIT,
    ) -> None:
        """Asks for an estimate, in place of what was asked for this project before."""
        self.workspace.check(document, project.folder)
        request = Request(project, key, base, moved(document, project.folder.resolve(), Path()), rows, limit)
        with self._lock:
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
            self._waiting.pop(project.id, None)
            self._give_up_current(project)

    def standing(self, key: str) -> tuple[str, str] | None:
        """(waiting, running or failed; its phase, or why there is none) of an estimate; None if it is not on its way."""
        with self._lock:
            if self._current is not None and self._current.key == key and self._current.unwanted is None:
                return "running", self._current.phase
            if any(request.key == key for request in self._waiting.values()):
                return "waiting", ""
            return ("failed", self._failed[key]) if key in self._failed else None

    def retry(self, key: str) -> None:
        """Forgets that an estimate has failed."""
        with self._lock:
            self._failed.pop(key, None)

    def begin(self) -> None:
        """Starts the process ahead of the first request."""
        with self._lock:
            self._asked = time.monotonic()
            if self._process is None:
                self._start()

    def tick(self) -> None:
        """Ends what takes too long, and a process that nobody has asked for long."""
        with self._lock:
            now, current = time.monotonic(), self._current
            if current is None:
                if self._process is not None and now - self._asked > IDLE:
                    self.close()
            elif current.unwanted is not None and now - current.unwanted > PATIENCE:
                self._kill()
            elif current.since is not None and now - current.since > current.limit:
                if current.found:
                    estimates.finish(current.project, current.key)
                else:
                    self._fail(current.key, estimates.given_up(current.limit))
                current.unwanted = now
                self._kill()

    def close(self) -> None:
        """Ends the process."""
        with self._lock:
            self._waiting.clear()
            self._current = None
            self._kill()
            self._process = None

    def _give_up_current(self, project: Project) -> None:
        current = self._current
        if current is not None and current.unwanted is None and current.project.id == project.id:
            current.unwanted = time.monotonic()
            self._write("null")

    def _dispatch(self) -> None:
        if self._current is not None or not self._waiting:
            return
        if self._process is None:
            self._start()
        _, self._current = self._waiting.popitem(last=False)
        asked = {"id": self._current.id, "document": self._current.document, "rows": self._current.rows}
        self._write(json.dumps(asked))

    def _write(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):  # it has just ended; its listener says so
                self._process.stdin.write(line + "\n")
                self._process.stdin.flush()

    def _start(self) -> None:
        number = os.open(self.workspace.own / "estimator.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(number, "wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "shoal.app.jobs.estimator"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                encoding="utf-8",
                start_new_session=True,
                env=os.environ | {"PYTHONUNBUFFERED": "1", "TMPDIR": str(self.workspace.passing)},
            )
        self._process = process
        threading.Thread(target=self._listen, args=(process,), daemon=True).start()

    def _kill(self) -> None:
        if self._process is not None:
            end_group(self._process)

    def _listen(self, process: subprocess.Popen[str]) -> None:
        """Takes in what the process says, until it ends."""
        assert process.stdout is not None
        with contextlib.suppress(ValueError):  # closed
            for line in process.stdout:
                with contextlib.suppress(json.JSONDecodeError):  # a line that was cut off as it ended
                    self._heard(json.loads(line))
        process.wait()
        with self._lock:
            if self._process is not process:
                return
            self._process = None
            current, self._current = self._current, None
            if current is not None and current.unwanted is None:
                self._fail(current.key, estimates.CRASHED if process.returncode != -9 else estimates.ENDED)
            self._dispatch()

    def _heard(self, news: Mapping[str, Any]) -> None:
        with self._lock:
            current = self._current
            if current is None or news.get("id") != current.id:
                return
            if "phase" in news:
                current.phase = str(news["phase"])
                if current.since is None and current.phase.startswith("Trying"):
                    current.since = time.monotonic()
            if "found" in news:
                current.found = True
                estimates.keep(current.project, current.key, current.base, news["found"])
            if "error" in news and current.unwanted is None:
                if current.found:
                    estimates.finish(current.project, current.key)
                else:
                    self._fail(current.key, str(news["error"]))
            if "over" in news or "error" in news:
                self._current = None
                self._dispatch()

    def _fail(self, key: str, why: str) -> None:
        self._failed[key] = why
        while len(self._failed) > _MOST_FAILED:
            self._failed.popitem(last=False)
