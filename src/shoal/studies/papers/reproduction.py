"""Running the experiments: a study whose cells are the measurements of figures.

A cell is kept under a name made from all that it depends on: what was asked for, the data, and the code that measured it. So the same
command measures again only what would come out differently.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import shoal
from shoal.errors import InputError, ShoalError, Unreachable
from shoal.processes import Answer, Teller
from shoal.studies.papers import paper, sources
from shoal.studies.papers.figure import CANNOT, FAILED, RAN, STOPPED, Cell, Figure, Outcome, Row
from shoal.studies.study import Study, Tally, Task

_MEASURING = ("algorithms", "attacks", "guarantees", "hierarchy", "kernels", "loss", "models", "price", "records")
"""Rooms whose code has a part in what is measured."""


def machine() -> dict[str, Any]:
    """Where the times were taken."""
    return {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}


def measure_cell(request: Mapping[str, Any], tell: Teller) -> list[Row]:
    """What the process of a cell does."""
    tell.note(started=True)
    rows: list[Row] = paper(request["paper"]).MEASURES[request["measure"]](**request["params"])
    return rows


class Reproduction(Study[Task, list[Row]]):
    """The measurements of figures."""

    work = f"{__name__}:measure_cell"

    def missing(self, figures: Iterable[Figure]) -> list[Task]:
        """The measurements that the folder does not have."""
        return [task for task in tasks_of(figures) if self.kept_outcome(task) is None]

    def outcomes(
        self, figures: Sequence[Figure], jobs: int = 1, watch: Callable[[Tally], None] | None = None
    ) -> list[Outcome]:
        """Every figure with its rows; what is not there yet is measured first. Raises `KeyboardInterrupt` if that was interrupted."""
        tasks = tasks_of(figures)
        found = self.run(tasks, jobs, watch).outcomes
        rows = {task.key: one for task, one in zip(tasks, found, strict=True) if one is not None}
        if len(rows) < len(tasks):
            raise KeyboardInterrupt
        return [_outcome(figure, rows) for figure in figures]

    def outcome(self, task: Task, answer: Answer | None) -> list[Row]:
        if answer is None:
            return [{"status": STOPPED, "reason": f"no answer within {task.limit:g} s", "limit": task.limit}]
        if answer.error is None:
            rows: list[Row] = answer.result
            return rows
        if isinstance(answer.error, InputError | Unreachable):  # by the rules of an algorithm, which is a result, too
            return [{"status": CANNOT, "reason": str(answer.error)}]
        if isinstance(answer.error, ShoalError):
            return [{"status": FAILED, "reason": str(answer.error)}]
        crash = answer.error
        reason = f"{crash.kind}: {crash.says}" if crash.kind else f"the process ended with code {crash.code}"
        return [{"status": FAILED, "reason": reason}]

    def document(self, task: Task, outcome: list[Row]) -> Mapping[str, Any] | None:
        if any(row.get("status") == FAILED for row in outcome):
            return None
        asked = [task.request[name] for name in ("paper", "measure", "params")]
        return {"cell": asked, "machine": machine(), "rows": outcome}

    def restore(self, task: Task, document: Any) -> list[Row] | None:
        rows: list[Row] | None = document.get("rows") if isinstance(document, dict) else None
        # One that was stopped earlier than it would be now deserves another try.
        limit = task.limit or 0.0
        return None if rows is None or any(row.get("limit", limit) < limit for row in rows) else rows


def tasks_of(figures: Iterable[Figure]) -> list[Task]:
    """The cells of the figures, each once, as far as their data are here or can be made up."""
    cells = {cell.key: cell for figure in figures for cell in figure.cells}
    return [_task(cell) for cell in cells.values() if sources.absence(cell.params["data"]) is None]


def _task(cell: Cell) -> Task:
    request = {"paper": cell.paper, "measure": cell.measure, "params": dict(cell.params)}
    return Task(identity(cell), request, cell.limit, cell.cost, label=f"{cell.paper}, {cell}")


def identity(cell: Cell) -> str:
    """The name of what a cell measures: the same as long as request, data and measuring code are."""
    facts = [cell.key, shoal.__version__, sources.SEED, sources.identity(cell.params["data"]), _code(cell.paper)]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


@cache
def _code(name: str) -> str:
    here = Path(__file__).parent
    files = [here / f"{part}.py" for part in (name, "sources", "made_up", "measure")]
    for room in _MEASURING:
        files += sorted((Path(shoal.__file__).parent / room).rglob("*.py"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _outcome(figure: Figure, rows: Mapping[str, list[Row]]) -> Outcome:
    names = list(dict.fromkeys(cell.params["data"] for cell in figure.cells))
    measured: list[Row] = []
    unmeasured = 0
    for cell in figure.cells:
        # What was a list is told apart in the rows themselves.
        plain = {name: value for name, value in cell.params.items() if not isinstance(value, list)}
        where = {"data": sources.label(cell.params["data"])}
        found = [plain | {"status": RAN} | row | where for row in rows.get(identity(cell), ())]
        unmeasured += not any(row["status"] == RAN for row in found)
        measured += found
    return Outcome(
        figure,
        figure.derive(measured),
        tuple(reason for name in names if (reason := sources.absence(name)) is not None),
        tuple(sources.stand_in_note(name) for name in names if sources.is_stand_in(name)),
        unmeasured,
    )


def seconds_ahead(tasks: Iterable[Task], jobs: int) -> float:
    """How long measurements will take, about, on a machine as busy as this one is now: what they cost where nothing else runs, times the
    processes that want each core."""
    alone = sum(task.cost or 0.0 for task in tasks) / jobs
    try:
        busy = os.getloadavg()[0]
    except (AttributeError, OSError):  # the system does not tell
        return alone
    return alone * max(1.0, (busy + jobs) / (os.cpu_count() or 1))
