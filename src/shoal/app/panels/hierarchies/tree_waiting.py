"""What the page shows while a job reads values or learns a tree."""

from __future__ import annotations

from nicegui import ui

from shoal.app.jobs.queue import LIVE
from shoal.app.panels.hierarchies.tree_values import latest_job, submit
from shoal.app.server.shell import View
from shoal.app.widgets import components as parts


def build_waiting(view: View, title: str, learn: int | None) -> None:
    """A card that follows a job, and builds the panel anew when it is done."""
    if latest_job(view.project, view.jobs, learn) is None:
        submit(view.project, view.jobs, learn)

    def again() -> None:
        submit(view.project, view.jobs, learn)
        standing.refresh()

    @ui.refreshable
    def standing() -> None:
        job = latest_job(view.project, view.jobs, learn)
        if job is None or job.status in LIVE:
            waits = job is not None and job.status == "queued" and view.jobs.waiting_before(job)
            parts.text("Another job runs first." if waits else "This is done once; you can leave the page meanwhile.")
            ui.linear_progress(show_value=False).props["indeterminate"] = True
        elif job.status != "done":
            parts.notice(job.error or "It was ended before it was done.", "bad")
            parts.button("Try again", again)

    def look() -> None:
        job = latest_job(view.project, view.jobs, learn)
        if job is not None and job.status == "done":
            view.reload()
        elif job is None or job.status not in LIVE:
            standing.refresh()
            timer.deactivate()

    with parts.card(title):
        standing()
    timer = ui.timer(0.5, look)
