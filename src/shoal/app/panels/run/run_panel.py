"""Run: the plan in brief, the button that queues it, and the jobs: what each is doing, how long it takes, why it failed.

A job is a folder that its worker writes into, so that this page may be reloaded, closed or open twice: it only looks. While something
runs it looks every second and changes the texts in place, so that the focus stays where it is; else every few seconds, for another window.
"""

from __future__ import annotations

from typing import Any

from nicegui import ui

from shoal.app.jobs.files_of_runs import STAGES
from shoal.app.jobs.queue import LIVE, Job
from shoal.app.panels import Panel, needs_data
from shoal.app.panels.release.handover import remove_run
from shoal.app.panels.result.results import Line, asked_again, brief, is_of_draft, queued_at, run_name, worth_words
from shoal.app.project.wording import with_capital
from shoal.app.server.shell import View
from shoal.app.widgets import components as parts

LOOKS, LOOKS_IDLE = 1.0, 4.0
"""Seconds between two looks at the jobs, while one runs and else."""
AT_ONCE = 10
"""Jobs that are listed at a time."""
_STATES = {
    "queued": ("waiting", ""),
    "running": ("running", ""),
    "done": ("done", "good"),
    "failed": ("failed", "bad"),
    "cancelled": ("cancelled", "warn"),
}


def build(view: View) -> None:
    _Runs(view).build()


def _build_plan(view: View) -> None:
    def change(line: Line) -> parts.Cell:
        return lambda: parts.link("Change", view.address(line.panel), aria_label=f"Change: {line.label}")

    with parts.card("The plan", "What will be run. Each line can be changed where it was decided."):
        lines = [(line.label, line.words, change(line)) for line in brief(view.project)]
        parts.live_table("The plan in brief", (), lines)


class _Runs:
    """The button and the list of jobs, which follow the files of the jobs."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.start = 0
        self.seen: Any = None
        self.live: dict[str, _Progress] = {}
        self._plan = ui.refreshable(lambda: _build_plan(view))
        self._list = ui.refreshable(self._build_list)
        self._button = ui.refreshable(self._build_button)

    def build(self) -> None:
        self.seen = self._signature(self._jobs())
        self._plan()
        with parts.card("Run"):
            self._button()
        with parts.card("Runs", "The newest first. They go on when this page is closed, as long as the app is open."):
            self._list()
        self.timer = ui.timer(LOOKS, parts.speaking(self._look))

    def _jobs(self) -> list[Job]:
        return self.view.jobs.of(self.view.project, "release")

    def _signature(self, jobs: list[Job]) -> Any:
        """What the page is built from, the plan and the jobs; while it stays the same, only texts change."""
        plan = self.view.project.folder / "plan.yaml"
        return plan.stat().st_mtime_ns if plan.exists() else 0, [(job.id, job.status) for job in jobs]

    def _look(self) -> None:
        jobs = self._jobs()
        if self._signature(jobs) != self.seen:
            self.refresh()
        for job in jobs:
            if job.id in self.live:
                self.live[job.id].show(job, self.view.jobs.waiting_words(job))
        self.timer.interval = LOOKS if any(job.status in LIVE for job in jobs) else LOOKS_IDLE

    def refresh(self) -> None:
        before, self.seen = self.seen, self._signature(self._jobs())
        self.timer.interval = LOOKS
        if before[0] != self.seen[0]:
            self._plan.refresh()
        self._list.refresh()
        self._button.refresh()
        self.view.refresh_steps()

    def _build_button(self) -> None:
        view = self.view
        problem = view.project.problem()
        if problem is not None:
            parts.notice(problem, "warn")
            with parts.row():
                parts.link_button("Go to the promise", view.address("promise"), quiet=True)
                parts.link_button("Go to the data", view.address("data"), quiet=True)
            return
        jobs = self._jobs()
        same = next((job for job in jobs if job.status in (*LIVE, "done") and is_of_draft(view.project, job)), None)
        if same is not None and same.status == "done":
            parts.why_line(
                "This very plan was run already. Another run gives the same figures; rows are shuffled anew."
            )
        elif same is not None:
            parts.why_line("This very plan is on its way already.")
        waiting = any(job.status in LIVE for job in jobs)
        with parts.row():
            parts.button("Queue another run" if waiting else "Run", self._submit)
            parts.text("It is checked first; nothing is published by it.", "span", "sh-why")

    def _submit(self) -> None:
        if self._signature([])[0] != self.seen[0]:
            self.refresh()
            ui.notify("The plan was changed in another window. Look at it, then run it.", type="warning")
            return
        self.view.jobs.submit(self.view.project)
        self.view.project.set(shown_run=None)
        self.start = 0
        self.refresh()

    def _build_list(self) -> None:
        jobs = self._jobs()
        self.live = {}
        if not jobs:
            parts.empty(
                "Nothing has been run yet",
                "A run reads the data, makes the release, audits the very rows that would be published and measures what was lost. You "
                "see here what it is doing and how long it may take, and can cancel it at any moment.",
            )
            return
        self.start = min(self.start, (len(jobs) - 1) // AT_ONCE * AT_ONCE)
        shown = jobs[self.start : self.start + AT_ONCE]
        with parts.element("ul", "sh-list"):
            for job in shown:
                with parts.element("li", "sh-job", aria_label=run_name(job)):
                    self._build_job(job)
        if len(jobs) > AT_ONCE:
            parts.turning(self.start, AT_ONCE, len(jobs), self._turn, "runs")

    def _turn(self, start: int) -> None:
        self.start = start
        self._list.refresh()

    def _build_job(self, job: Job) -> None:
        words, kind = _STATES.get(job.status, (job.status, ""))
        with parts.row():
            parts.tag(words, kind)
            parts.text(run_name(job), "strong")
        if job.status in LIVE:
            self.live[job.id] = _Progress(job, self.view.jobs.waiting_words(job))
        elif job.status == "done":
            kept = worth_words(job.result) if job.result else ""
            parts.text(f"{kept}. It took {parts.duration(job.elapsed)}.", "p", "sh-why")
        elif job.status == "failed":
            parts.notice(job.error or "It failed, and did not say why.", "bad")
        else:
            parts.text(f"You cancelled it after {parts.duration(job.elapsed)}. It left nothing.", "p", "sh-why")
        with parts.row():
            self._build_ways(job)

    def _build_ways(self, job: Job) -> None:
        name = run_name(job)
        if job.status in LIVE:
            parts.button("Cancel", lambda: self._cancel(job), "danger", f"Cancel {name}")
            return
        if job.status == "done":
            parts.button("See the result", lambda: self._show(job), "quiet", f"See the result of {name}")
        else:
            parts.button("Run it again", lambda: self._again(job), "quiet", f"Run it again: {name}")
        parts.button("Remove", lambda: self._remove(job), "quiet", f"Remove {name}")

    def _show(self, job: Job) -> None:
        self.view.project.set(shown_run=job.id)
        self.view.go("result")

    def _again(self, job: Job) -> None:
        self.view.jobs.submit(self.view.project, document=asked_again(self.view.project, job))
        self.start = 0
        self.refresh()

    def _cancel(self, job: Job) -> None:
        self.view.jobs.cancel(job)
        self.refresh()

    async def _remove(self, job: Job) -> None:
        if job.status == "done" and not await parts.is_sure(
            "Remove this run?", "Its release, certificates and figures go with it. Your data stay.", "Remove"
        ):
            return
        remove_run(self.view.jobs, self.view.project, job)
        self.refresh()


class _Progress:
    """A running or waiting job: elements that are made once and then told what to say."""

    def __init__(self, job: Job, waits: str) -> None:
        with parts.element("ol", "sh-stages", aria_label="Stages"):
            self.stages = [parts.text(name, "li") for name in STAGES]
        self.doing = parts.text("", "p", role="status")
        self.bar = parts.element("progress", "sh-bar", max="1", aria_label="How far this stage is")
        self.time = parts.text("", "p", "sh-why")
        self.best = parts.text("", "p", "sh-why")
        self.show(job, waits)

    def show(self, job: Job, waits: str) -> None:
        """Says where the job stands, or what it waits for."""
        done = {phase["name"]: float(phase["seconds"]) for phase in job.phases}
        now = str(job.state.get("stage", ""))
        for name, found in zip(STAGES, self.stages, strict=True):
            took = f" – {parts.duration(done[name])}" if name in done else ""
            parts.say(found, name + took + (" – now" if name == now and name not in done else ""))
            found.classes(replace="sh-stage-done" if name in done else "sh-stage-now" if name == now else "")
        parts.say(self.doing, waits if job.status == "queued" else with_capital(job.phase))
        self.bar.set_visibility(job.status == "running")
        if self.bar.props.get("value") != job.share:
            self.bar.props["value"] = job.share
            self.bar.update()
        parts.say(self.time, time_words(job))
        parts.say(self.best, best_words(job))


def time_words(job: Job) -> str:
    """Elapsed and estimated time."""
    if job.status == "queued":
        return f"Queued {queued_at(job)}."
    told = f"{parts.duration(job.elapsed)} so far"
    if job.estimate is None:
        return f"{told}; the estimate comes with the check of the plan."
    if job.elapsed > 2 * job.estimate + 10:
        return f"{told}; longer than the {parts.duration(job.estimate)} that were estimated for the release itself."
    return (
        f"{told}; the release itself is estimated at {parts.duration(max(1, job.estimate))}, as an order of magnitude."
    )


def best_words(job: Job) -> str:
    """The best release so far and how far it may be from the optimum, where the algorithm tells."""
    said = []
    if job.best is not None:
        said.append(f"Best so far: {job.best:.2%} lost.")
    if job.bound is not None:
        said.append(f"No release can lose less than {job.bound:.2%}.")
    if job.gap is not None:
        said.append(f"Gap: {job.gap * 100:.2f} percentage points.")
    return " ".join(said)


def is_run(view: View) -> bool:
    return view.jobs.latest(view.project, "release", "done") is not None


PANEL = Panel(
    "run",
    "Run",
    "Let Shoal make the release in the background, watch it, and stop it when you like.",
    build,
    needs_data,
    is_run,
)
