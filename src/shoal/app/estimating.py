"""Estimating: the part of the Promise panel that tries the plan on a sample, and shows what that would cost."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from nicegui import ui

from shoal.app import components as parts
from shoal.app import estimates, kept
from shoal.app.jobs import LIVE, Job
from shoal.app.shell import View
from shoal.app.tasks.estimate import ROWS
from shoal.app.wording import in_words, with_capital

PATIENCE = 0.7
"""Seconds without a change after which an estimate is begun."""
OFTEN = 0.35
"""Seconds between two looks at the worker."""


class Estimating:
    """The estimate of the plan as it stands, begun when nothing has changed for a moment."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.due: float | None = time.monotonic()
        self.problem: str | None = None
        self.job: Job | None = None
        self.base = ""
        self.shown: Any = None
        self.busy = False
        self.panel = ui.refreshable(self._panel)

    @property
    def rows(self) -> int:
        return int(self.view.project.settings.get("sample", ROWS))

    def want(self) -> None:
        """Says that the plan has changed."""
        self.due = time.monotonic() + PATIENCE

    async def look(self) -> None:
        """Begins what is due, and shows what has happened."""
        if self.busy:
            return
        self.busy = True
        try:
            if self.due is not None and time.monotonic() >= self.due:
                self.due = None
                await self._begin()
            elif self.job is not None and self.job.status in LIVE:
                self.job = self.view.jobs.get(self.view.project, self.job.id)
                if self.job is None:  # another page has changed the plan and asked for its own
                    self.want()
        finally:
            self.busy = False
        state = (self.problem, self.due is not None) + (
            () if self.job is None else (self.job.id, self.job.status, self.job.phase)
        )
        if state != self.shown:
            self.shown = state
            self.panel.refresh()

    async def _begin(self) -> None:
        project = self.view.project
        self.problem = await asyncio.to_thread(project.problem)
        if self.problem is not None:
            kept.forget_live(self.view.jobs, project, estimates.TASK)
            self.job = None
            return
        document = estimates.asked_document(project)
        key, self.base = await asyncio.to_thread(estimates.keys_of, project, document, self.rows)
        options = {"rows": self.rows, "base": self.base}
        self.job = kept.ask(self.view.jobs, project, estimates.TASK, key, document, options)

    def again(self) -> None:
        if self.job is not None:
            self.view.jobs.remove(self.job)
        self.due = time.monotonic()

    def size(self, event: Any) -> None:
        self.view.project.set(sample=int(event.value))
        self.due = time.monotonic()

    def _panel(self) -> None:
        with parts.card(
            "What would it cost?", "The promise is tried on some of the rows, each time you change something."
        ):
            options = {rows: f"{rows:,} rows" for rows in sorted({*estimates.SAMPLES, self.rows})}
            with parts.row():
                parts.select(options, self.rows, "Size of the sample", self.size)
            if self.problem is not None:
                parts.notice(f"There is no estimate yet. {self.problem}", "warn")
            elif self.job is None or self.job.status in LIVE:
                self._waiting()
            elif self.job.status == "done":
                self._result(self.job.result)
            else:
                parts.notice(self.job.error or "The estimate was stopped.", "warn")
                parts.button("Try again", self.again, "quiet")
            self._tried()

    def _waiting(self) -> None:
        job = self.job
        waits = job is not None and job.status == "queued" and self.view.jobs.waiting_before(job) > 0
        doing = (
            "Waiting for another job to end"
            if waits
            else (with_capital(in_words(job.phase)) if job and job.phase else "Starting")
        )
        parts.text(f"{doing} …", "p", "sh-why").props["role"] = "status"
        ui.linear_progress(show_value=False).props("indeterminate").props["aria-label"] = "The estimate is on its way"

    def _result(self, found: dict[str, Any]) -> None:
        parts.notice(estimates.label(found))
        with parts.grid():
            for value, what, note in estimates.figures(found):
                parts.stat(value, what, note)
        if words := estimates.protected(found):
            parts.text(words, "p")
        if words := estimates.advice(found):
            parts.text(words, "p")
        parts.why_line(f"{found['guarantee']} by {found['algorithm']}, in {found['seconds']:.1f} s.")

    def _tried(self) -> None:
        """Other promises on the same rows, to compare."""
        done = [
            job.result
            for job in self.view.jobs.of(self.view.project, estimates.TASK)
            if job.status == "done" and job.about.get("options", {}).get("base") == self.base
        ]
        lines = estimates.tried(done)
        if len(lines) > 1:
            with ui.expansion("Tried on the same sample").classes("sh-wide"):
                parts.table(("Promise", "Algorithm", "Lost", "And"), lines, caption="Promises tried on the same sample")
