"""A study: many cells, each computed in a process of its own and kept in a folder the moment it is finished.

A fresh process has its memory and its caches to itself, so that neither reaches the next measurement. What a folder has already is not
computed again: a study that was interrupted, or that grew, computes only what is missing. Every file appears whole or not at all, so that
neither an interrupt nor a second study in the same folder can lose or spoil a finished cell.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from shoal.errors import InputError, option
from shoal.passwords import without_passwords
from shoal.processes import Answer, Child
from shoal.records.storage.journal import TakenError
from shoal.records.storage.publication import Publication, writing_errors

CELLS = "cells"
PAUSE = 0.05
"""Seconds between two looks at the running cells."""
BETWEEN_WORDS = 0.5
"""Seconds after which progress is told again though no cell was finished."""
PATIENCE = 60.0
"""Seconds for which a file is waited for that another study writes."""


@dataclass(frozen=True)
class Folder:
    """Where a study is kept: one file for each finished cell, named by its key, and the tables and pages made of them."""

    path: str

    def make(self, *, force: bool | None = None) -> None:
        """Makes the folder, or takes one that holds a study. Raises if it holds something else, unless forced; None offers no force."""
        name = os.path.basename(os.path.normpath(without_passwords(self.path))) or self.path
        if os.path.lexists(self.path) and not os.path.isdir(self.path):
            raise InputError(f"{name}: it is a file; name a folder for the results with {option('output')}")
        cells = os.path.join(self.path, CELLS)
        if os.path.isdir(self.path) and not os.path.isdir(cells) and not force:
            with writing_errors(self.path):
                others = os.listdir(self.path)
            if others:
                remedy = "" if force is None else f", or pass {option('force')}"
                raise InputError(
                    f"{name}: it holds other files; name a folder of its own with {option('output')}{remedy}"
                )
        with writing_errors(self.path):
            os.makedirs(cells, exist_ok=True)

    def cell(self, key: str) -> Any:
        """What is kept of a cell; None where there is nothing, or it is damaged."""
        try:
            with open(os.path.join(self.path, CELLS, f"{key}.json"), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return None

    def keep(self, key: str, document: Mapping[str, Any]) -> None:
        self.write({os.path.join(CELLS, f"{key}.json"): (json.dumps(document, indent=1) + "\n").encode()})

    def write(self, contents: Mapping[str, bytes]) -> None:
        """Writes files by their names in the folder, together, in place of those of an earlier run. Another study that writes the same
        file at this moment is waited for: studies may share a folder."""
        paths = {os.path.join(self.path, name): content for name, content in contents.items()}
        last = time.monotonic() + PATIENCE
        while True:
            try:
                self._write_now(paths)
                return
            except TakenError:
                if time.monotonic() > last:
                    raise
                time.sleep(0.05)

    def _write_now(self, paths: Mapping[str, bytes]) -> None:
        with Publication(list(paths), force=True) as publication, contextlib.ExitStack() as stack:
            for path, content in paths.items():
                stack.enter_context(publication.file(path)).write(content)


@dataclass(frozen=True)
class Task:
    """A cell to be computed."""

    key: str
    """What it is recognised by: the same for the same result."""
    request: Any
    """What its process is asked; None where the outcome is known without one."""
    limit: float | None = None
    """Seconds after which it is stopped, counted from the moment its process says that it has started."""
    cost: float | None = None
    """Seconds that it takes, about, if somebody knows."""
    like: str = ""
    """Cells with the same word take about as long as each other."""
    label: str = ""


@dataclass(frozen=True)
class Tally:
    """How far a study is."""

    finished: int
    total: int
    kept: int
    failed: int
    remaining: float | None
    """Seconds that the rest will take, about; None as long as nobody knows."""
    latest: str
    """The cell that was started last."""


K = TypeVar("K", bound=Task)
T = TypeVar("T")


class Study(ABC, Generic[K, T]):
    """What is computed, and what is kept of it: for tasks of the kind K, outcomes T."""

    work: str
    """The function that a cell's process calls, as `module:name`. It tells `started` once the clock is to run."""
    environment: Mapping[str, str] | None = None

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Folder(os.fspath(folder))

    @abstractmethod
    def outcome(self, task: K, answer: Answer | None) -> T:
        """What came of a cell. There is no answer from one that was stopped by its limit."""

    @abstractmethod
    def document(self, task: K, outcome: T) -> Mapping[str, Any] | None:
        """What is kept of an outcome; None for one to be computed again the next time."""

    @abstractmethod
    def restore(self, task: K, document: Any) -> T | None:
        """The outcome that a kept document stands for; None where it is damaged, or not good enough any more."""

    def has_failed(self, outcome: T) -> bool:
        return False

    def kept_outcome(self, task: K) -> T | None:
        """What the folder has of a cell."""
        document = self.folder.cell(task.key)
        return None if document is None else self.restore(task, document)

    def run(
        self, tasks: Sequence[K], jobs: int, watch: Callable[[Tally], None] | None = None, force: bool | None = None
    ) -> Run[K, T]:
        """Computes the cells that the folder does not have, so many at a time. Ctrl-C or SIGTERM stops those that are being computed and
        loses nothing else."""
        self.folder.make(force=force)
        run = Run(self, tasks, jobs)
        with _interrupts() as interrupted:
            try:
                while (run.waiting or run.running) and not interrupted():
                    run.step(watch)
                    time.sleep(PAUSE)
            finally:
                for cell in run.running.values():
                    cell.child.end()
        return run


class _Cell(Generic[K]):
    """A cell that is being computed."""

    def __init__(self, study: Study[K, Any], task: K) -> None:
        self.task = task
        self.child = Child(study.work, environment=study.environment)
        self.child.ask(task.request)
        self._clock: float | None = None

    def look(self) -> tuple[bool, Answer | None]:
        """Whether it has ended, and with which answer."""
        for news in self.child.news():
            if isinstance(news, Answer):
                self.child.end()
                return True, news
            if "started" in news:
                self._clock = time.monotonic()
        limit = self.task.limit
        if limit is None or self._clock is None or time.monotonic() - self._clock <= limit:
            return False, None
        self.child.end()
        return True, None


class Run(Generic[K, T]):
    """A study as it runs, and what it came to."""

    def __init__(self, study: Study[K, T], tasks: Sequence[K], jobs: int) -> None:
        self.study, self.tasks, self.jobs = study, tasks, jobs
        self.outcomes: list[T | None] = []
        """One for each task; None for those that were not finished."""
        self.kept = 0
        """Cells that an earlier run had finished."""
        self.running: dict[int, _Cell[K]] = {}
        self._seconds: dict[int, float] = {}
        self._latest = ""
        self._told = -1, 0.0
        """Cells that were finished when progress was told last, and when that was."""
        for task in tasks:
            self.outcomes.append(study.outcome(task, Answer()) if task.request is None else self._take(task))
        self.waiting = [number for number, outcome in enumerate(self.outcomes) if outcome is None][::-1]

    def _take(self, task: K) -> T | None:
        outcome = self.study.kept_outcome(task)
        self.kept += outcome is not None
        return outcome

    def step(self, watch: Callable[[Tally], None] | None) -> None:
        """Takes in what is finished and starts what there is room for."""
        for number, cell in list(self.running.items()):
            has_ended, answer = cell.look()
            if not has_ended:
                continue
            del self.running[number]
            self._seconds[number] = time.monotonic() - cell.child.begun
            self.outcomes[number] = outcome = self.study.outcome(cell.task, answer)
            if (document := self.study.document(cell.task, outcome)) is not None:
                self.study.folder.keep(cell.task.key, document)
        while self.waiting and len(self.running) < self.jobs:
            number = self.waiting.pop()
            task = self.tasks[number]
            self.outcomes[number] = self._take(task)  # another study in this folder may have been faster
            if self.outcomes[number] is None:
                self.running[number] = _Cell(self.study, task)
                self._latest = task.label
        finished = len(self.tasks) - len(self.waiting) - len(self.running)
        if watch is not None and (finished != self._told[0] or time.monotonic() - self._told[1] > BETWEEN_WORDS):
            self._told = finished, time.monotonic()
            failed = sum(one is not None and self.study.has_failed(one) for one in self.outcomes)
            watch(Tally(finished, len(self.tasks), self.kept, failed, self._remaining(), self._latest))

    def _remaining(self) -> float | None:
        """Each cell is expected to take as long as those like it did on average, or as its cost says by the pace of all so far."""
        by_kind: dict[str, list[float]] = {}
        for number, seconds in self._seconds.items():
            by_kind.setdefault(self.tasks[number].like, []).append(seconds)
        guessed = sum(self.tasks[number].cost or 1.0 for number in self._seconds)
        pace = sum(self._seconds.values()) / guessed if guessed else 1.0
        ahead = 0.0
        for number in (*self.waiting, *self.running):
            task = self.tasks[number]
            if not guessed and task.cost is None:
                return None
            times = by_kind.get(task.like) if task.like else None
            expected = sum(times) / len(times) if times else (task.cost or 1.0) * pace
            begun = self.running[number].child.begun if number in self.running else time.monotonic()
            ahead += max(expected - (time.monotonic() - begun), 0.0)
        return ahead / max(1, min(self.jobs, len(self.waiting) + len(self.running)))


@contextlib.contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Tells whether Ctrl-C or SIGTERM came: they cannot hit in the middle of anything. A second one is obeyed at once."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def handle(number: int, _: Any) -> None:
        came.append(number)
        if len(came) > 1:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(came)
    finally:
        for number, was in before.items():
            signal.signal(number, was)
