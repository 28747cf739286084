"""Running a comparison: what is kept is taken from the folder, what is missing is computed, several cells at a time.

One process starts, watches and keeps; it writes a cell down the moment it is finished. Ctrl-C (or SIGTERM) stops the cells that are being
computed and loses nothing else.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.comparing.cells import DONE, REFUSED, STOPPED, Cell, Contents, Outcome, key_of
from shoal.comparing.folder import Folder
from shoal.comparing.grid import Comparison
from shoal.comparing.workers import CHANGED, Worker
from shoal.errors import InputError
from shoal.plan import call_of

PAUSE = 0.05
"""Seconds between two looks at the running cells."""
BETWEEN_WORDS = 0.5
"""Seconds after which progress is told again though no cell was finished."""


@dataclass(frozen=True)
class Task:
    """A cell and the number of its repetition."""

    cell: Cell
    repeat: int
    key: str


@dataclass(frozen=True)
class Progress:
    """How far a comparison is."""

    finished: int
    total: int
    kept: int
    failed: int
    running: int
    remaining: float | None
    """Seconds that the rest will take, as far as the finished cells tell; None as long as they do not."""


@dataclass(frozen=True)
class Found:
    """What a comparison found: one outcome for each task, None for those that were not finished."""

    comparison: Comparison
    folder: str
    tasks: tuple[Task, ...]
    outcomes: tuple[Outcome | None, ...]
    kept: int
    """Cells that an earlier comparison had finished."""
    jobs: int
    interrupted: bool

    @property
    def missing(self) -> int:
        return sum(one is None for one in self.outcomes)

    @property
    def failed(self) -> int:
        return sum(one is not None and one.status != DONE for one in self.outcomes)

    @property
    def done(self) -> int:
        return len(self.outcomes) - self.missing - self.failed


def compare(
    comparison: Comparison,
    folder: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    limit: float | None = None,
    repeats: int = 1,
    retry: bool = False,
    force: bool = False,
    watch: Callable[[Progress], None] | None = None,
) -> Found:
    """Computes the cells that `folder` does not have yet, `jobs` at a time (as many as there are cores unless given).

    A cell that takes longer than `limit` seconds is stopped. `retry` computes failed cells again; those that were stopped are computed
    again by themselves when the limit has grown. Interrupted, it returns what there is.
    """
    from shoal.kernels.parallel import default_threads
    from shoal.release import check_hash

    if jobs is not None and jobs < 1:
        raise InputError(f"jobs is {jobs}; give 1 or more")
    if limit is not None and not limit > 0:
        raise InputError(f"the limit is {limit:g}; give seconds, more than 0")
    if repeats < 1:
        raise InputError(f"repeats is {repeats}; give 1 or more")
    _check_inputs(comparison)
    contents = Contents(call_of(comparison.plan).data)
    check_hash(comparison.plan, contents.data)
    tasks = _tasks(comparison, contents, repeats)
    place = Folder(os.fspath(folder))
    place.make(force=force)
    at_once = jobs or default_threads()
    threads = max(1, default_threads() // at_once)
    run = _Run(comparison, place, tasks, at_once, threads, limit, contents.data)
    run.take_kept(retry=retry)
    with _interrupts() as interrupted:
        try:
            while run.goes_on() and not interrupted():
                run.step(watch)
                time.sleep(PAUSE)
        finally:
            run.stop()
    outcomes = tuple(run.outcomes)
    return Found(comparison, place.path, tasks, outcomes, run.kept, at_once, None in outcomes)


def tasks_of(comparison: Comparison, repeats: int = 1) -> tuple[Task, ...]:
    """The cells with what they are recognised by, in the order of the table."""
    _check_inputs(comparison)
    return _tasks(comparison, Contents(call_of(comparison.plan).data), repeats)


def _tasks(comparison: Comparison, contents: Contents, repeats: int) -> tuple[Task, ...]:
    return tuple(
        Task(cell, repeat, key_of(cell, comparison.origin, contents, repeat))
        for cell in comparison.cells
        for repeat in range(1, repeats + 1)
    )


def _check_inputs(comparison: Comparison) -> None:
    """Raises if the data are not there, or not those that the plan is bound to, or a file is missing that every cell needs."""
    from shoal.release import check_files

    plan = comparison.plan
    if plan.input.path == "-":
        raise plan.refusal(("input", "path"), "a comparison reads its data for every cell; name a file")
    # A file that only some cells need is their own affair: if it is missing, they say so in their rows.
    if "hierarchies" in comparison.axes:
        plan = plan.model_copy(update={"hierarchies": None})
    if "knowledge" in comparison.axes:
        plan = plan.model_copy(update={"options": plan.options.model_copy(update={"knowledge": None})})
    check_files(plan)


class _Run:
    """The state of a comparison that is being computed."""

    def __init__(
        self,
        comparison: Comparison,
        folder: Folder,
        tasks: Sequence[Task],
        jobs: int,
        threads: int,
        limit: float | None,
        input_sha256: str,
    ) -> None:
        self.comparison, self.folder, self.tasks = comparison, folder, tasks
        self.jobs, self.threads, self.limit, self.input_sha256 = jobs, threads, limit, input_sha256
        self.outcomes: list[Outcome | None] = [None] * len(tasks)
        self.waiting: list[int] = []
        self.running: dict[int, Worker] = {}
        self.spent: dict[int, float] = {}
        """Seconds from start to end of a cell's process, for the estimate."""
        self.told = -1, 0.0
        """Cells that were finished when progress was told last, and when that was."""
        self.kept = 0
        self.retry = False

    def take_kept(self, *, retry: bool) -> None:
        """Takes what the folder has; the rest waits."""
        self.retry = retry
        for number, task in enumerate(self.tasks):
            if task.cell.refused is not None:
                self.outcomes[number] = Outcome(
                    task.key, REFUSED, task.cell.refused, repeat=task.repeat, jobs=self.jobs, limit=self.limit
                )
                continue
            if not self._takes(number):
                self.waiting.append(number)
        self.waiting.reverse()

    def _takes(self, number: int) -> bool:
        """Takes a cell from the folder, if it has a finished one that is good enough."""
        found = self.folder.kept(self.tasks[number].key)
        if found is None or (self.retry and found.status != DONE):
            return False
        if found.status == STOPPED and found.limit is not None and (self.limit is None or self.limit > found.limit):
            return False
        self.outcomes[number] = found
        self.kept += 1
        return True

    def goes_on(self) -> bool:
        return bool(self.waiting or self.running)

    def step(self, watch: Callable[[Progress], None] | None) -> None:
        """Takes in what is finished and starts what there is room for."""
        for number, worker in list(self.running.items()):
            outcome = worker.outcome()
            if outcome is None:
                continue
            del self.running[number]
            self.spent[number] = time.monotonic() - worker.begun
            self.outcomes[number] = outcome
            if outcome.reason != CHANGED:
                self.folder.keep(outcome)
        while self.waiting and len(self.running) < self.jobs:
            number = self.waiting.pop()
            if self._takes(number):  # another comparison in this folder was faster
                continue
            task = self.tasks[number]
            self.running[number] = Worker.start(
                task.cell,
                self.comparison.origin,
                key=task.key,
                repeat=task.repeat,
                threads=self.threads,
                jobs=self.jobs,
                limit=self.limit,
                input_sha256=self.input_sha256,
            )
        finished = len(self.tasks) - len(self.waiting) - len(self.running)
        if watch is not None and (finished != self.told[0] or time.monotonic() - self.told[1] > BETWEEN_WORDS):
            self.told = finished, time.monotonic()
            watch(self._progress())

    def stop(self) -> None:
        """Ends what is being computed."""
        while self.running:
            self.running.popitem()[1].stop()

    def _progress(self) -> Progress:
        finished = [one for one in self.outcomes if one is not None]
        failed = sum(one.status != DONE for one in finished)
        return Progress(len(finished), len(self.tasks), self.kept, failed, len(self.running), self._remaining())

    def _remaining(self) -> float | None:
        """Each cell is expected to take as long as finished ones of its algorithm, or of any, did on average."""
        if not self.spent:
            return None
        by_algorithm: dict[str, list[float]] = {}
        for number, seconds in self.spent.items():
            by_algorithm.setdefault(self._algorithm(number), []).append(seconds)
        overall = sum(self.spent.values()) / len(self.spent)
        known = {name: sum(times) / len(times) for name, times in by_algorithm.items()}
        ahead = sum(known.get(self._algorithm(number), overall) for number in self.waiting)
        for number, worker in self.running.items():
            ran = time.monotonic() - worker.begun
            ahead += max(known.get(self._algorithm(number), overall) - ran, 0.0)
        return ahead / max(1, min(self.jobs, len(self.waiting) + len(self.running)))

    def _algorithm(self, number: int) -> str:
        return str(self.tasks[number].cell.settings["algorithm"])


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
