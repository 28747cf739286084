"""Cells, each in a process of its own, so that neither caches nor memory of one measurement reach the next.

What a cell found is kept in the output folder under a name made from all that it depends on: what was asked for, the data, and the
code that measured it. The same command goes on where it was interrupted, and measures again only what would come out differently.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import shoal
from shoal.reproducing import sources
from shoal.reproducing.figure import FAILED, RAN, STOPPED, Cell, Figure, Outcome, Row

_MEASURING = ("algorithms", "attacks", "guarantees", "hierarchy", "kernels", "loss", "models", "records")
"""Rooms whose code has a part in what is measured."""
KEPT = "cells"
"""The folder of finished cells."""

Progress = Callable[[str, float], None]


def machine() -> dict[str, Any]:
    """Where the times were taken."""
    return {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}


@dataclass
class Cells:
    """Finished cells in a folder, and the running of those that are not."""

    folder: Path
    jobs: int = 1
    progress: Progress | None = None
    measure: Callable[[Cell], list[Row]] | None = None
    """Measures a cell; a process of its own unless given."""
    _children: set[subprocess.Popen[str]] = field(default_factory=set)

    def outcomes(self, figures: Sequence[Figure]) -> list[Outcome]:
        """Every figure with its rows; what is not there yet is measured first."""
        rows = self._measured(wanted(figures))
        return [_outcome(figure, rows) for figure in figures]

    def missing(self, figures: Sequence[Figure]) -> list[Cell]:
        """Cells that are still to be measured."""
        return [cell for cell in wanted(figures) if self._kept(cell) is None]

    def _measured(self, cells: Sequence[Cell]) -> dict[str, list[Row]]:
        found = {cell.key: kept for cell in cells if (kept := self._kept(cell)) is not None}
        left = [cell for cell in cells if cell.key not in found]
        clock = _Clock(left, self.jobs)
        with ThreadPoolExecutor(self.jobs) as pool:
            # Only as many are handed out as run at once, so that an interruption leaves none behind.
            running: dict[Future[list[Row]], Cell] = {}
            waiting = iter(left)
            try:
                while True:
                    while len(running) < self.jobs and (cell := next(waiting, None)) is not None:
                        running[pool.submit(self.measure or self._apart, cell)] = cell
                        self._tell(cell, len(found), len(cells), clock)
                    if not running:
                        return found
                    for done in wait(running, return_when=FIRST_COMPLETED).done:
                        cell = running.pop(done)
                        found[cell.key] = done.result()
                        self._keep(cell, found[cell.key])
                        clock.passed(cell)
            except BaseException:
                for child in list(self._children):
                    child.kill()
                raise

    def _apart(self, cell: Cell) -> list[Row]:
        """The rows of a cell from a fresh process."""
        asked = {"paper": cell.paper, "measure": cell.measure, "params": dict(cell.params)}
        order = [sys.executable, "-m", "shoal.reproducing"]
        child = subprocess.Popen(
            order, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )
        self._children.add(child)
        try:
            out, err = child.communicate(json.dumps(asked), timeout=cell.limit)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            return [{"status": STOPPED, "reason": f"no answer within {cell.limit:g} s", "limit": cell.limit}]
        finally:
            self._children.discard(child)
        if child.returncode:
            last = (err.strip().splitlines() or [f"the process ended with code {child.returncode}"])[-1]
            return [{"status": FAILED, "reason": last}]
        rows: list[Row] = json.loads(out.strip().splitlines()[-1])
        return rows

    def _tell(self, cell: Cell, done: int, all_: int, clock: _Clock) -> None:
        if self.progress is not None:
            text = f"{cell.paper}, {done + 1} of {all_} measurements, about {duration(clock.left())} left: {cell}"
            self.progress(text[:150], done / max(1, all_))

    def _path(self, cell: Cell) -> Path:
        return self.folder / KEPT / f"{identity(cell)}.json"

    def _kept(self, cell: Cell) -> list[Row] | None:
        try:
            rows: list[Row] = json.loads(self._path(cell).read_text(encoding="utf-8"))["rows"]
        except (OSError, ValueError, KeyError):  # not there, or cut short by a crash: measure it
            return None
        # One that was stopped earlier than it would be now deserves another try.
        return None if any(row.get("limit", cell.limit) < cell.limit for row in rows) else rows

    def _keep(self, cell: Cell, rows: list[Row]) -> None:
        if any(row.get("status") == FAILED for row in rows):
            return
        path = self._path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        arriving = path.with_suffix(f".{os.getpid()}.tmp")
        arriving.write_text(
            json.dumps({"cell": json.loads(cell.key), "machine": machine(), "rows": rows}), encoding="utf-8"
        )
        arriving.replace(path)


class _Clock:
    """How long the rest will take: the guesses for it, corrected by how the guesses so far came out."""

    def __init__(self, cells: Sequence[Cell], jobs: int) -> None:
        self.guessed, self.rest, self.jobs = 0.0, sum(cell.cost for cell in cells), jobs
        self.started = time.monotonic()

    def passed(self, cell: Cell) -> None:
        self.guessed, self.rest = self.guessed + cell.cost, self.rest - cell.cost

    def left(self) -> float:
        spent = time.monotonic() - self.started
        pace = spent / self.guessed if self.guessed else 1 / self.jobs
        return self.rest * pace


def wanted(figures: Iterable[Figure]) -> list[Cell]:
    """The cells of the figures, each once, as far as their data are here or can be made up."""
    cells = {cell.key: cell for figure in figures for cell in figure.cells}
    return [cell for cell in cells.values() if sources.absence(cell.params["data"]) is None]


def estimated(cells: Iterable[Cell], jobs: int = 1) -> float:
    """Seconds that cells will take, about."""
    return sum(cell.cost for cell in cells) / jobs


def duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} minutes"


def identity(cell: Cell) -> str:
    """The name of what a cell finds: the same as long as request, data and measuring code are."""
    facts = [cell.key, shoal.__version__, sources.SEED, sources.identity(cell.params["data"]), _code(cell.paper)]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


@cache
def _code(paper: str) -> str:
    home = Path(__file__).parent
    files = [home / f"{name}.py" for name in (paper, "sources", "made_up", "measuring")]
    files += sorted(home.glob(f"{paper}_measures.py"))
    for room in _MEASURING:
        files += sorted((home.parent / room).rglob("*.py"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _plain(params: Mapping[str, Any]) -> Row:
    """Parameters that are one value each; what was a list is told apart in the rows themselves."""
    return {name: value for name, value in params.items() if not isinstance(value, list)}


def _outcome(figure: Figure, rows: dict[str, list[Row]]) -> Outcome:
    names = list(dict.fromkeys(cell.params["data"] for cell in figure.cells))
    found = [
        _plain(cell.params) | {"status": RAN} | row | {"data": sources.label(cell.params["data"])}
        for cell in figure.cells
        for row in rows.get(cell.key, ())
    ]
    return Outcome(
        figure,
        figure.derived(found),
        tuple(reason for name in names if (reason := sources.absence(name)) is not None),
        tuple(sources.stand_in_note(name) for name in names if sources.is_stand_in(name)),
    )
