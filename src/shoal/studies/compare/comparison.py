"""Running a comparison: a study whose cells are the plans of a grid."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from shoal.errors import InputError, ShoalError, Unreachable
from shoal.kernels.parallel import default_threads
from shoal.plan import Origin
from shoal.processes import Answer, Crash
from shoal.publish import check_files, check_hash
from shoal.studies.compare.cell import (
    DONE,
    FAULT,
    MEMORY,
    REFUSED,
    STOPPED,
    UNREACHABLE,
    Cell,
    Contents,
    Outcome,
    key_of,
)
from shoal.studies.compare.grid import Comparison
from shoal.studies.study import Folder, Study, Tally, Task

CHANGED = "the input changed while it was compared; compare again"


@dataclass(frozen=True, kw_only=True)
class CellTask(Task):
    """A cell and the number of its repetition."""

    cell: Cell
    repeat: int


@dataclass(frozen=True)
class Results:
    """What a comparison came to: one outcome for each task, None for those that were not finished."""

    comparison: Comparison
    folder: str
    tasks: tuple[CellTask, ...]
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
    watch: Callable[[Tally], None] | None = None,
) -> Results:
    """Computes the cells that `folder` does not have yet, `jobs` at a time (as many as there are cores unless given).

    A cell that takes longer than `limit` seconds is stopped. `retry` computes failed cells again; those that were stopped are computed
    again by themselves when the limit has grown. Interrupted, it returns what there is.
    """
    for name, number in (("jobs", jobs), ("repeats", repeats)):
        if number is not None and number < 1:
            raise InputError(f"{name} is {number}; give 1 or more")
    if limit is not None and not limit > 0:
        raise InputError(f"the limit is {limit:g}; give seconds, more than 0")
    at_once = jobs or default_threads()
    threads = max(1, default_threads() // at_once)
    contents = _contents(comparison)
    check_hash(comparison.plan, contents.data)
    tasks = _tasks(comparison, contents, repeats, limit, threads)
    about = {"jobs": at_once, "limit": limit, "threads": threads}
    study = CellStudy(folder, comparison.origin, contents.data, about, retry)
    run = study.run(tasks, at_once, watch, force)
    outcomes = tuple(run.outcomes)
    return Results(comparison, study.folder.path, tasks, outcomes, run.kept, at_once, None in outcomes)


def tasks_of(comparison: Comparison, repeats: int = 1) -> tuple[CellTask, ...]:
    """The cells with what they are recognised by, in the order of the table."""
    return _tasks(comparison, _contents(comparison), repeats)


def is_kept(folder: str, task: CellTask) -> bool:
    """Whether a folder has a cell."""
    outcome = Outcome.of(Folder(folder).cell(task.key))
    return outcome is not None and outcome.key == task.key


def _tasks(
    comparison: Comparison, contents: Contents, repeats: int, limit: float | None = None, threads: int = 1
) -> tuple[CellTask, ...]:
    origin = comparison.origin
    where = {"name": origin.name, "folder": origin.folder, "threads": threads}
    return tuple(
        CellTask(
            key_of(cell, origin, contents, repeat),
            {"document": dict(cell.document), **where} if cell.refused is None else None,
            limit,
            like=str(cell.settings["algorithm"]),
            cell=cell,
            repeat=repeat,
        )
        for cell in comparison.cells
        for repeat in range(1, repeats + 1)
    )


def _contents(comparison: Comparison) -> Contents:
    """The hashes of the inputs. Raises if the data are not there, or a file is missing that every cell needs."""
    plan = comparison.plan
    if plan.input.path == "-":
        raise plan.refusal(("input", "path"), "a comparison reads its data for every cell; name a file")
    # A file that only some cells need is their own affair: if it is missing, they say so in their rows.
    needed = plan
    if "hierarchies" in comparison.axes:
        needed = needed.model_copy(update={"hierarchies": None})
    if "knowledge" in comparison.axes:
        needed = needed.model_copy(update={"options": needed.options.model_copy(update={"knowledge": None})})
    check_files(needed)
    return Contents(plan.data)


class CellStudy(Study[CellTask, Outcome]):
    """The cells of a comparison on one input."""

    work = "shoal.studies.compare.cell_work:compute"

    def __init__(
        self,
        folder: str | os.PathLike[str],
        origin: Origin,
        input_sha256: str,
        about: Mapping[str, Any],
        retry: bool = False,
    ) -> None:
        super().__init__(folder)
        self.origin, self.input_sha256, self.about, self.retry = origin, input_sha256, about, retry
        libraries = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
        self.environment = {**dict.fromkeys(libraries, str(about["threads"])), **os.environ}

    def outcome(self, task: CellTask, answer: Answer | None) -> Outcome:
        if task.request is None:
            about = {name: value for name, value in self.about.items() if name != "threads"}
            return Outcome(task.key, REFUSED, task.cell.refused, repeat=task.repeat, **about)
        facts = {"repeat": task.repeat, **self.about}
        if answer is None:
            return Outcome(task.key, STOPPED, f"it took longer than {task.limit:g} seconds", **facts)
        if answer.error is not None:
            status, reason = _failure(answer.error)
            return Outcome(task.key, status, reason.removeprefix(f"{self.origin.name}: "), **facts)
        if answer.result["input_sha256"] != self.input_sha256:
            return Outcome(task.key, REFUSED, CHANGED, **facts)
        known = {field.name for field in fields(Outcome)}
        facts |= {name: value for name, value in answer.result.items() if name in known}
        return Outcome(task.key, DONE, **facts)

    def document(self, task: CellTask, outcome: Outcome) -> Mapping[str, Any] | None:
        return None if outcome.reason == CHANGED else outcome.to_dict()

    def restore(self, task: CellTask, document: Any) -> Outcome | None:
        outcome = Outcome.of(document)
        if outcome is None or outcome.key != task.key or (self.retry and self.has_failed(outcome)):
            return None
        before, now = outcome.limit, task.limit
        stopped_early = outcome.status == STOPPED and before is not None and (now is None or now > before)
        return None if stopped_early else outcome

    def has_failed(self, outcome: Outcome) -> bool:
        return outcome.status != DONE


def _failure(error: ShoalError | Crash) -> tuple[str, str]:
    """The status of a cell that failed, and why, in a sentence without values of the data."""
    if isinstance(error, ShoalError):
        status = UNREACHABLE if isinstance(error, Unreachable) else REFUSED if isinstance(error, InputError) else FAULT
        return status, str(error)
    if error.killed:
        return MEMORY, "the system ended it, most likely for lack of memory"
    if error.code is not None:
        how = f"signal {-error.code}" if error.code < 0 else f"exit code {error.code}"
        return FAULT, f"its process ended without a word ({how}); please report it"
    if error.kind == MemoryError.__name__:
        return MEMORY, "there is not enough memory; take fewer rows, or a larger machine"
    # What it says is not kept: it may quote the data.
    return FAULT, f"{error.kind} in {error.place}; please report it"
