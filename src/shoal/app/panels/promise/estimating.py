"""Estimating: the part of the Promise panel that tries the plan on a sample, and shows what that would cost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from nicegui import ui

from shoal.app.panels.promise import estimates
from shoal.app.project.wording import as_sentence, with_capital
from shoal.app.server.shell import View
from shoal.app.widgets import components as parts
from shoal.errors import InputError
from shoal.estimates.outlook import Range

PATIENCE = 0.25
"""Seconds without a change after which an estimate is begun."""
OFTEN = 0.15
"""Seconds between two looks at it."""
AUTO = 0
"""Instead of a number of rows: as many as a moment allows."""


class Estimating:
    """The estimate of the plan as it stands, begun when nothing has changed for a moment. Until it is there, the one before stays, pale."""

    def __init__(self, view: View, turn: Callable[[str, float], None]) -> None:
        self.view = view
        self.turn = turn
        self.warm = view.jobs.warm
        self.due: float | None = time.monotonic()
        self.problem: str | None = None
        self.key = ""
        self.found: dict[str, Any] | None = None
        self.is_old = True
        """Whether `found` is about the plan as it was before."""
        self.failed: str | None = None
        self.doing: str | None = None
        self.shown: Any = None
        self.busy = False
        self.panel = ui.refreshable(self._panel)
        self.warm.begin()

    @property
    def rows(self) -> int | None:
        """Rows of the sample; None for as many as a moment allows."""
        return int(self.view.project.settings.get("sample") or AUTO) or None

    @property
    def state(self) -> tuple[Any, ...]:
        """What the page depends on."""
        found = None if self.found is None else (self.found["sample"], self.found.get("final"))
        return self.problem, self.failed, self.doing, self.key, found, self.is_old

    @property
    def is_settled(self) -> bool:
        """Whether nothing more is to come about the plan as it stands."""
        if self.due is not None or self.problem is not None:
            return False
        return self.failed is not None or (self.found is not None and not self.is_old and bool(self.found.get("final")))

    @property
    def told(self) -> tuple[dict[str, Any], Range | None, str, list[dict[str, Any]], int] | None:
        """The plan as it stands, what it keeps, how that is known, its trees that help little and on how many rows they were tried; None
        while more is to come."""
        if not self.is_settled or self.found is None:
            return None
        info, sample = (self.found.get("kept") or {}).get("info"), int(self.found["sample"])
        kept = None if info is None else Range(*info)
        document = estimates.asked_document(self.view.project)
        return document, kept, f"estimated on {sample:,} rows", list(self.found.get("idle_trees") or ()), sample

    def want(self) -> None:
        """Says that the plan has changed."""
        self.due = time.monotonic() + PATIENCE
        self.is_old, self.failed, self.problem = True, None, None
        self._show()

    async def look(self) -> None:
        """Begins what is due, and shows what has happened."""
        if self.busy:
            return
        self.busy = True
        try:
            if self.due is not None and time.monotonic() >= self.due:
                self.due = None
                await self._begin()
            elif self.due is None and self.key:
                self._follow()
        finally:
            self.busy = False
        self._show()

    def _show(self) -> None:
        if self.state != self.shown:
            self.shown = self.state
            self.panel.refresh()

    async def _begin(self) -> None:
        project = self.view.project
        self.problem = await asyncio.to_thread(project.problem)
        if self.problem is not None:
            self.warm.forget(project)
            self.key, self.found, self.doing = "", None, None
            return
        document = estimates.asked_document(project)
        rows = self.rows
        self.key = await asyncio.to_thread(estimates.estimate_key, project, document, rows)
        found = estimates.kept_estimate(project, self.key)
        try:
            if found is None or not found.get("final"):
                self.warm.ask(project, self.key, document, rows)
            else:
                self.warm.forget(project)
        except InputError as error:  # a file that is gone, or lies outside
            self.problem, self.key, self.found, self.doing = as_sentence(error), "", None, None
        else:
            self._follow()

    def _follow(self) -> None:
        """Takes what there is of the estimate that was asked for."""
        if self.found is not None and not self.is_old and self.found.get("final"):
            return
        standing = self.warm.standing(self.key)
        found = estimates.kept_estimate(self.view.project, self.key)
        if found is not None:
            self.found, self.is_old = found, False
        self.doing = self.failed = None
        if standing is None:
            if found is None or not found.get("final"):  # another page has changed the plan and asked for its own
                self.due = time.monotonic()
        elif standing[0] == "failed":
            self.failed = standing[1]
        else:
            self.doing = standing[1] if standing[0] == "running" else "waiting for another estimate"

    def again(self) -> None:
        self.warm.retry(self.key)
        self.want()

    def size(self, event: Any) -> None:
        self.view.project.set(sample=int(event.value))
        self.want()

    def _panel(self) -> None:
        with parts.card(
            "What would it cost?", "The promise is tried on some of the rows, each time you change something."
        ):
            options = {rows: f"{rows:,} rows" for rows in sorted({*estimates.SAMPLES, *filter(None, [self.rows])})}
            with parts.row():
                parts.select(
                    {AUTO: "As many rows as a moment allows", **options},
                    self.rows or AUTO,
                    "Size of the sample",
                    self.size,
                )
            if self.problem is not None:
                parts.notice(f"There is no estimate yet. {self.problem}", "warn")
            elif self.failed is not None:
                parts.notice(self.failed, "warn")
                delta = self.warm.remedy(self.key).get("delta")
                with parts.row():
                    if delta is None:
                        parts.button("Try again", self.again, "quiet")
                    else:
                        parts.button(f"Allow a loss of {delta:.2%}", lambda: self.turn("delta", delta), "quiet")
            else:
                self._standing()

    def _standing(self) -> None:
        """The estimate, and whether another is on its way."""
        waits = self.is_old or (self.found is not None and not self.found.get("final"))
        if waits:
            doing = f" {with_capital(self.doing)} …" if self.doing else ""
            words = "Estimating …" if self.is_old else "A larger sample is tried …"
            parts.waiting(words + (doing if self.found is None else ""), "The estimate is on its way")
        if self.found is not None:
            with ui.element("div").classes("sh-main sh-old" if self.is_old else "sh-main") as box:
                if self.is_old:
                    box.props["aria-busy"] = "true"
                    with parts.row():
                        parts.tag("of the promise before")
                self._result(self.found)

    def _result(self, found: dict[str, Any]) -> None:
        parts.notice(estimates.label(found))
        with parts.grid():
            for value, what, note in estimates.figures(found):
                parts.stat(value, what, note)
        if words := estimates.protection_words(found):
            parts.text(words, "p")
        if words := estimates.advice(found):
            parts.text(words, "p")
        parts.why_line(f"{found['guarantee']} by {found['algorithm']}, in {found['seconds']:.1f} s.")
