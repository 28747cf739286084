"""Risk: what the raw data give away, before anything is done about it.

A worker counts it as soon as the panel is opened; what it found is kept for as long as the data, what others may know, and k stay the same.
"""

from __future__ import annotations

import asyncio
from typing import Any

from nicegui import ui

from shoal.app.jobs import kept_results as kept
from shoal.app.jobs.queue import LIVE, Job
from shoal.app.panels import Panel, needs_data
from shoal.app.panels.risk import risk_words as risks
from shoal.app.project import contents
from shoal.app.project.wording import with_capital
from shoal.app.server.shell import View
from shoal.app.widgets import components as parts
from shoal.app.widgets.figures import figure
from shoal.errors import number_of

TASK = "risk"
CROWDS = (2, 3, 5, 10, 20, 50)
USUAL_K = 5
OFTEN = 0.4
"""Seconds between two looks at the worker."""


async def build(view: View) -> None:
    document = risks.known_document(view.project.draft)
    if document is None:
        with parts.empty(
            "Nobody knows anything yet",
            "No column is one that others may know, and none is a set of items. If that is so, nobody can be found by these data. "
            "Look once more: an age, a place or a date is known to neighbours and to other data sets.",
        ):
            parts.link_button("Back to the columns", view.address("data"))
        return
    k = int(view.project.settings.get("risk_k", USUAL_K))

    def crowd(event: Any) -> None:
        view.project.set(risk_k=int(event.value))
        view.reload()

    with parts.row():
        options = {number: f"fewer than {number}" for number in sorted({*CROWDS, k})}
        parts.select(options, k, "A crowd is too small with", crowd)
        parts.term(
            "What does unique mean?",
            "A row is unique by 2 items if no other row holds the same two. Whoever knows these two of a person, and that the person is in "
            "the data, has found the row, and reads the rest of it.",
        )
    key = await asyncio.to_thread(contents.key_of, view.project, document, task=TASK, k=k)
    _build_found(view, document, key, k)


def _build_found(view: View, document: dict[str, Any], key: str, k: int) -> None:
    state: dict[str, Any] = {"job": kept.ask(view.jobs, view.project, TASK, key, document, {"k": k}), "shown": None}

    @ui.refreshable
    def found() -> None:
        job: Job | None = state["job"]
        if job is None:
            parts.notice("Another page of this project has asked for something else.", "warn")
            parts.button("Count again", again)
            return
        state["shown"] = (job.status, job.phase)
        if job.status in LIVE:
            _build_waiting(view, job)
        elif job.status == "done":
            _build_result(view, job.result)
        else:
            parts.notice(job.error or "The count was stopped.", "bad" if job.error else "warn")
            parts.button("Count again", again)

    def again() -> None:
        kept.forget(view.jobs, view.project, TASK, key)
        state["job"] = kept.ask(view.jobs, view.project, TASK, key, document, {"k": k})
        found.refresh()
        timer.active = True

    def look() -> None:
        job = view.jobs.get(view.project, state["job"].id)
        state["job"] = job
        if job is None:
            timer.active = False
            found.refresh()
            return
        if job.status == "queued" or state["shown"] != (job.status, job.phase):
            found.refresh()
            if job.status not in LIVE:
                view.refresh_steps()
        timer.active = job.status in LIVE

    found()
    timer = ui.timer(OFTEN, look, active=state["job"].status in LIVE)


def _build_waiting(view: View, job: Job) -> None:
    with parts.empty(
        "Counting what the data give away", "This takes seconds, for millions of rows minutes. You may go on."
    ):
        queued = job.status == "queued"
        words = view.jobs.waiting_words(job) if queued else with_capital(job.phase) or "Starting"
        parts.waiting(words if queued else f"{words} …", words)
        parts.button("Stop", lambda: view.jobs.cancel(job), "quiet")


def _build_result(view: View, found: dict[str, Any]) -> None:
    profile = found["profile"]
    with parts.card() as card:
        card.props["aria-label"] = "What the data give away"
        parts.text(risks.headline(found), "p", f"sh-headline sh-headline-{risks.severity(found)}")
        parts.text(risks.second_line(found), "p")
        if worst := risks.worst_column(found):
            parts.text(worst, "p")
        if hidden := risks.not_known(found):
            parts.why_line(hidden)
    _build_tiles(found)
    _build_curve(found)
    _build_columns(found)
    _build_examples(found)
    for note in profile["notes"][:5]:
        parts.notice(risks.visible(note, 400), "warn")
    with parts.card("What to do about it"):
        if risks.severity(found) == "good":
            parts.text(
                "Little can be found by what was counted here. A promise still matters: it is checked on what you publish, and says so "
                "to whoever gets it."
            )
        else:
            parts.text(
                "Leave out in Data what nobody needs: the cheapest protection there is. Then say how values may become coarser, and choose "
                "a promise; Shoal changes as little as it takes to keep it."
            )
        with parts.row():
            parts.link_button("Look at the columns again", view.address("data"), quiet=True)
            parts.link_button("Choose a promise", view.address("promise"), quiet=True)


def _build_tiles(found: dict[str, Any]) -> None:
    profile, everything = found["profile"], found["everything"]
    rows, k = profile["rows"], profile["k"]
    with parts.grid():
        parts.stat(f"{rows:,}", "rows", f"{profile['items']:,} different items" if profile["items"] else "")
        for one in profile["exposures"]:
            if one["m"] in (0, 1, 2) and not (one["m"] == 1 and profile["columns"]):
                label = f"unique by {risks.known_words(profile, one['m'])}"
                few = f"{one['exposed']:,} among fewer than {k}"
                parts.stat(f"{one['unique']:,}", label, few, "bad" if one["unique"] else "good")
        if profile["items"]:
            items = "all items but the sensitive ones" if found.get("sensitive") else "all items"
            what = f"all columns and {items}" if profile["columns"] else items
            note = f"{everything['over']:,} among fewer than {k}"
            parts.stat(
                f"{everything['unique']:,}", f"unique by {what}", note, "bad" if everything["unique"] else "good"
            )


def _build_curve(found: dict[str, Any]) -> None:
    profile = found["profile"]
    if not profile["exposures"]:
        return
    several = len(profile["exposures"]) > 1
    title = "The more somebody knows" if several else "By the columns alone"
    why = (
        "Each more item that is known of a person finds more people. The promise says up to which number they are safe."
    )
    with parts.card(title, why if several else None):
        if several:
            figure(risks.curve_picture(profile), table=False)
        header = (
            "Known",
            "Combinations",
            f"Rarer than {profile['k']}",
            f"Rows among fewer than {profile['k']}",
            "Unique",
        )
        parts.table(header, risks.over_m(found), caption="What is given away, by how much is known")
        last = profile["exposures"][-1]["m"]
        if 0 < last < found["largest_m"] and last < profile["longest"]:
            parts.why_line(f"More than {last} known items were not counted: the rows are too long for that.")


def _build_columns(found: dict[str, Any]) -> None:
    single, pairs = risks.by_columns(found)
    if not single:
        return
    k = found["profile"]["k"]
    with parts.card(
        "Which column gives most away?",
        "Columns whose values are nearly all different point to single people, like names.",
    ):
        header: tuple[str, ...] = ("Column", "Values", "Unique by it alone", f"Among fewer than {k}")
        header = (*header, "Unique by all the others") if len(single[0]) == 5 else header
        parts.table(header, single, caption="Uniqueness by single columns")
        if pairs:
            with ui.expansion("Two columns together").classes("sh-wide"):
                head = ("Columns", "Combinations", "Unique by them", f"Among fewer than {k}")
                parts.table(head, pairs, caption="Uniqueness by pairs of columns")
                more = len(found["columns"]["pairs"]) - len(pairs)
                if more > 0:
                    parts.why_line(f"The worst {len(pairs)} pairs; {more:,} more give less away.")
        if found["columns"]["left_out"]:
            parts.why_line(
                f"{number_of(found['columns']['left_out'], 'more column was', 'more columns were')} not looked at one by one."
            )


def _build_examples(found: dict[str, Any]) -> None:
    told = risks.examples(found)
    if not told:
        return
    with parts.card("Examples"):
        parts.notice("They name rare people: for you, not for publication.", "warn")
        with ui.expansion("Show examples").classes("sh-wide"):
            parts.table(("Whoever knows", "is led to"), told, caption="Rare combinations and the rows that hold them")


def _seen(view: View) -> bool:
    job = view.jobs.latest(view.project, TASK)
    return job is not None and job.status == "done"


PANEL = Panel(
    "risk",
    "Risk",
    "See what the raw data give away to somebody who knows a little about a person, before you decide anything.",
    build,
    needs_data,
    _seen,
)
