"""Result: what an analyst can still do, what the audit found, what was lost and where, what an attacker learns, and how runs compare.

Everything is read from the files of a run that is done; the one that is shown is a setting of the project. Tables are leafed through.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from nicegui import ui

from shoal.app.jobs.queue import Job
from shoal.app.panels import Panel
from shoal.app.panels.promise.estimating import OFTEN
from shoal.app.panels.promise.offers_card import OffersCard, put_document
from shoal.app.panels.release.handover import made_name, out_of_date, table_of
from shoal.app.panels.result.analyst_card import (
    QuestionCard,
    RecordCard,
    build_answers,
    build_distributions,
    build_measuring,
    build_worth,
)
from shoal.app.panels.result.cut_browser import build_cut
from shoal.app.panels.result.results import (
    NCP,
    algorithm_words,
    asked_again,
    class_chart,
    column_losses,
    commonest_rows,
    comparison_chart,
    counts_people,
    frontier_chart,
    losses,
    risk_chart,
    risks,
    run_name,
    short_promise,
    verdict,
    width_rows,
    worth,
)
from shoal.app.panels.result.run_tables import page_of
from shoal.app.project.wording import as_sentence
from shoal.app.server.shell import View
from shoal.app.widgets import components as parts
from shoal.app.widgets.figures import figure
from shoal.app.widgets.leafing import Leaf, leaves, rows_of
from shoal.app.widgets.preview import Preview
from shoal.errors import InputError
from shoal.estimates.outlook import Range

ROWS, LINES = 10, 15
"""Rows of data, and lines of other tables, that are shown at a time."""
MOST_COMPARED = 60
LOOKS = 1.0
"""Seconds between two looks at a run that is still measured."""


def done_runs(view: View) -> list[Job]:
    """The newest first."""
    return [job for job in view.jobs.of(view.project, "release") if job.status == "done"]


def shown_run(view: View) -> Job | None:
    """The run that was chosen, or the newest that is done."""
    chosen = view.jobs.get(view.project, str(view.project.settings.get("shown_run") or ""))
    if chosen is not None and chosen.status == "done" and chosen.task == "release":
        return chosen
    return next(iter(done_runs(view)), None)


def needs_run(view: View) -> str | None:
    return None if shown_run(view) else "First run the plan: a result is here when a run is done."


def build_choice(view: View, run: Job) -> None:
    """Which run is looked at, where there are several."""
    runs = done_runs(view)
    if len(runs) < 2:
        parts.text(f"The run: {run_name(run)}.", "p", "sh-why")
        return

    def choose(event: Any) -> None:
        view.project.set(shown_run=event.value)
        view.reload()

    names = {job.id: run_name(job) for job in runs[:MOST_COMPARED]}
    names.setdefault(run.id, run_name(run))
    parts.select(names, run.id, "The run that you look at", choose, width="24rem")


async def build(view: View) -> None:
    run = shown_run(view)
    assert run is not None
    result = run.result
    build_choice(view, run)
    _build_file_line(view, run, result)
    first, measured = ui.refreshable(_build_analyst), ui.refreshable(_build_measured)
    first(view, run.id)
    _build_offers(view, run)
    QuestionCard(view, run).build()
    if result.get("records"):
        RecordCard(result["records"]).build()
    _build_verdict(result)
    await measured(view, run.id)
    _build_compared(view, run)
    if run.is_measuring:
        timer = ui.timer(LOOKS, lambda: _follow(view, run.id, timer, first, measured))


def _follow(view: View, id: str, timer: ui.timer, *parts_of_it: Any) -> None:
    """Shows what was measured, once it is done."""
    run = view.jobs.get(view.project, id)
    if run is None or not run.is_measuring:
        timer.deactivate()
        for part in parts_of_it if run is not None else ():
            part.refresh()


def _build_file_line(view: View, run: Job, result: Any) -> None:
    """Whether the promise holds, and the file, which can be had at once."""
    found = verdict(result)
    parts.notice(found.title, "good" if found.holds else "bad")
    name = made_name(run)
    if found.holds and run.output(name) is not None:
        with parts.row():
            parts.link_button(f"Save {name}", view.file(run.id, name), quiet=True, download=True)
            parts.link("Other formats, the certificate and how to make it again", view.address("release"))


def _build_analyst(view: View, id: str) -> None:
    run = view.jobs.get(view.project, id)
    if run is None:
        return
    result = run.result
    with parts.card("What can an analyst still do?"):
        build_worth(run, result)
        build_measuring(run, result)
        build_answers(result)
    build_distributions(result)


def _build_offers(view: View, run: Job) -> None:
    """What else there is to try, with what it would keep; tried while the page is open."""
    result = run.result
    lost = result["release"]["loss"].get("info")
    if lost is None:
        return

    def take(offered: dict[str, Any]) -> None:
        view.project.change(lambda document: put_document(document, offered))
        view.project.set(promise_chosen=True)
        view.go("promise")

    card = OffersCard(view, take)
    document = {name: part for name, part in asked_again(view.project, run).items() if name != "outputs"}
    card.about(document, Range(1 - lost, 1 - lost), "run", result.get("idle_trees") or ())
    card.panel()
    if card.offers:
        ui.timer(OFTEN, lambda: card.look(not run.is_measuring))


async def _build_measured(view: View, id: str) -> None:
    run = view.jobs.get(view.project, id)
    if run is None:
        return
    result = run.result
    _build_tiles(result)
    await _build_losses(run, result)
    _build_risk(result)
    _build_classes(result)
    await build_cut(run, result)
    await _build_rows(view, run, result)
    await _build_rules(run)


def _build_verdict(result: Any) -> None:
    found = verdict(result)
    with parts.card("The promise"):
        for sentence in result["promise"]:
            parts.text(sentence)
        parts.quasi_term(str(result.get("kind")))
        parts.why_line(f"{found.counted} The audit is code of its own, which sees the published rows and nothing else.")
        parts.points("What is not promised", result["limits"])
        if notes := result["release"]["notes"]:
            parts.points("Notes for you", map(as_sentence, notes))


def _build_tiles(result: Any) -> None:
    release = result["release"]
    with parts.grid():
        worst = risks(result)[-1:]
        for risk in worst:
            crowd = "rows lead to too few people" if counts_people(result) else "rows stand in too small a crowd"
            what = "sensitive values are certain" if risk.alone_before is None else crowd
            before = f"before: {risk.before:,}, for whoever knows {risk.knows}"
            parts.stat(f"{risk.after:,}", what, before, "good" if risk.after == 0 else "bad")
        order = "in an order drawn at random" if release["row_order"] == "shuffled" else "in the order of the input"
        parts.stat(f"{release['rows']:,}", "rows published", order)
        parts.stat(parts.duration(release["seconds"]), "to make it", f"by {release['algorithm']}")


async def _build_rows(view: View, run: Job, result: Any) -> None:
    ordered = result["release"]["row_order"] != "shuffled"
    told = (
        "The release keeps the order of the input: the same number is the same row."
        if ordered
        else "Rows of the release are shuffled: these are pages of two files, and a row does not stand beside the one it came from."
    )
    with parts.card("Before and after", told), parts.columns():
        checked = result["checked"]
        source = run.document.get("input") or {}
        columns = checked.get("columns") or None
        path = (run.folder / str(source.get("path", ""))).resolve()
        with ui.element("div").classes("sh-main"):
            parts.heading("The original", 3)
            if not path.is_file() or not path.is_relative_to(view.workspace.folder):
                parts.why_line("The original file is gone: it was wiped, moved or renamed.")
            else:
                total = None if source.get("format") == "long" else checked.get("rows")
                await _build_file(path, source.get("format"), total, columns, "The original")
        with ui.element("div").classes("sh-main"):
            parts.heading("The release", 3)
            made = run.output(made_name(run))
            if made is not None:
                total = None if result["release"]["format"] == "long" else result["release"]["rows"]
                await _build_file(made, result["release"]["format"], total, None, "The release")


async def _build_file(path: Path, form: str | None, total: int | None, columns: Any, caption: str) -> None:
    try:
        preview = await asyncio.to_thread(Preview, path, form)
    except InputError as error:
        parts.notice(as_sentence(error), "bad")
        return
    wanted = list(columns) if columns else None
    await leaves(rows_of(preview, total, ROWS, wanted), caption, ROWS, numbered=True)


async def _build_losses(run: Job, result: Any) -> None:
    by_column = column_losses(result)
    table = table_of(run, "items")
    if not by_column and table is None:
        return
    with parts.card("What was lost, and where"):
        parts.text("; ".join(f"{share:.2%} {measure}" for measure, share in losses(result)) + ".")
        if "ncp" in result["release"]["loss"]:
            parts.term("How loss is counted", NCP)
        if len(by_column) > 1 or table is None:
            rows = [(name, role, f"{lost:.2%}") for name, role, lost in by_column[:200]]
            parts.table(("Column", "Role", "Lost"), rows, caption="Loss of each column")
        if widths := width_rows(result):
            parts.table(("", "As it was", "Median width"), widths[:200], caption="What is left of each column")
        if commonest := commonest_rows(result):
            header = ("Item", "Occurrences", "As it was", "Else")
            parts.table(header, commonest, caption="What became of the ten commonest items")
        if table is not None:
            parts.heading("Each item", 3)
            edited = "il" in result["release"]["loss"]
            parts.why_line(
                "Items are added to rows and removed from them; those that lost the most come first."
                if edited
                else "Those that cost the most come first: frequent items that are seldom published as they are."
            )
            await leaves(
                lambda start, search: item_leaf(table, start, search, edited=edited),
                "Loss of each item",
                LINES,
                what="items",
                search="Search an item",
            )


def item_leaf(table: Path, start: int, search: str, *, edited: bool) -> Leaf:
    """A few items with what became of them."""
    found = page_of(table, start, LINES, column="item", search=search)
    if edited:
        header = ("Item", "Occurrences", "Removed", "Added", "Removed of all")
        rows = [
            (one["item"], f"{one['occurrences']:,}", f"{one['removed']:,}", f"{one['added']:,}", f"{one['lost']:.2%}")
            for one in found.rows
        ]
        return Leaf(header, rows, found.start, found.total)
    header = ("Item", "Occurrences", "As it is", "Published as", "Lost (NCP)")
    lines = [
        (one["item"], f"{one['occurrences']:,}", _exact(one), _published_as(one), f"{one['lost']:.2%}")
        for one in found.rows
    ]
    return Leaf(header, lines, found.start, found.total)


def _exact(one: Any) -> str:
    """The share of its occurrences that is published as it is; runs of older versions did not tell."""
    return f"{one['exact']:.1%}" if "exact" in one else "–"


def _published_as(one: Any) -> str:
    if not one["ways"]:
        return "left out"
    name = "itself" if one["published"] == one["item"] else str(one["published"]) or "left out"
    return name if one["ways"] == 1 else f"mostly {name} ({one['ways']:,} ways)"


def _build_risk(result: Any) -> None:
    with parts.card(
        "Risk, before and after", "Rows that an attacker narrows down too far, by what the attacker knows."
    ):
        _build_risk_table(result)
        chart = risk_chart(result)
        if chart is not None:
            figure(chart)
        everything = ((result.get("evaluation") or {}).get("risk") or {}).get("prosecutor")
        if everything and result.get("kind") in ("km", "rt", "lm"):
            alone = everything["after"]["unique"]
            parts.why_line(
                f"Beyond the promise: whoever knows everything of a person singles out {alone:,} {'row' if alone == 1 else 'rows'} of the "
                f"release, and {everything['before']['unique']:,} of the original."
            )


def _build_risk_table(result: Any) -> None:
    lines = []
    for risk in risks(result):
        if risk.alone_before is None:
            lines.append((risk.knows, "whose sensitive value is certain", f"{risk.before:,}", f"{risk.after:,}"))
        else:
            few, one = ("leading to too few people", "leading to one person")
            if not counts_people(result):
                few, one = ("in too small a crowd", "singled out")
            lines.append((risk.knows, few, f"{risk.before:,}", f"{risk.after:,}"))
            lines.append((risk.knows, one, f"{risk.alone_before:,}", f"{risk.alone_after:,}"))
    if lines:
        parts.table(("Known", "Rows", "Before", "After"), lines, caption="Risk before and after")


def _build_classes(result: Any) -> None:
    why = {
        "km": "Rows that are equal in all their items. This promise is about a few known items, so single rows are no breach of it.",
        "rt": "Rows that are equal in their columns and all items. This promise is about the columns and a few items.",
        "lm": "Rows that are equal in their columns and all items. This promise is about the columns and a few items.",
        "diversity": "Before: rows that are equal in what others may know. After: rows that share their sensitive values.",
    }.get(
        str(result.get("kind")),
        "Rows that nobody can tell apart by what others may know. The promise asks for classes of at least k.",
    )
    if not result.get("classes"):
        return
    with parts.card("Sizes of classes", why):
        figure(class_chart(result))


async def _build_rules(run: Job) -> None:
    path = run.output("rules.csv")
    if path is None:
        return
    with parts.card(
        "The rules",
        "What became of what. For you alone: they name what was hidden. They are not part of what is published.",
    ):
        preview = await asyncio.to_thread(Preview, path, "csv")
        await leaves(rows_of(preview, None, LINES), "Rules", LINES, what="rules")


def _build_compared(view: View, run: Job) -> None:
    every = done_runs(view)[:MOST_COMPARED]
    data = run.result["release"]["input_sha256"]
    runs = [job for job in every if (job.result.get("release") or {}).get("input_sha256") == data]
    with parts.card(
        "Compare runs",
        "A stronger promise costs more information. Down and to the left is better; each point is a run.",
    ):
        chart = comparison_chart(runs)
        if chart is not None:
            figure(chart, table=False)
        frontier = frontier_chart(runs, run)
        if frontier is not None:
            parts.why_line(
                "Of the runs with this promise, those on the dashed line lose least: no other is better on both sides."
            )
            figure(frontier)
        rows = []
        for number, job in reversed(list(enumerate(reversed(runs), 1))):
            result = job.result
            here = " (this one)" if job.id == run.id else ""
            rows.append(
                (
                    f"{number}{here}",
                    short_promise(result["release"]["guarantee"]),
                    algorithm_words(job.document),
                    *_worth_cells(result),
                    "; ".join(f"{share:.2%}" for _, share in losses(result)),
                    parts.duration(job.elapsed),
                )
            )
        header = (
            "Run",
            "Promise",
            "Algorithm",
            "Information kept",
            "As they are",
            "Pairs kept",
            "Lost (papers)",
            "Time",
        )
        parts.table(header, rows[:20], caption="Runs of this project")
        if len(runs) < len(every):
            parts.why_line("Runs on other data are left out: their losses mean something else.")
        if len(runs) == 1:
            parts.why_line("Change the promise or the algorithm and run again: the runs will stand here side by side.")


def _worth_cells(result: Any) -> tuple[str, str, str]:
    """Information, items or cells as they are, and pairs that are kept, for a row of a table."""
    kept = worth(result)
    exact = [f"{kept[name]:.1%} of {what}" for name, what in (("exact", "items"), ("cells", "cells")) if name in kept]
    shares = {name: f"{share:.1%}" for name, share in kept.items()}
    return shares.get("info", "–"), ", ".join(exact) or "–", shares.get("pairs", "–")


PANEL = Panel(
    "result",
    "Result",
    "See what an analyst can still do with the release, what it lost and what it still gives away, before anything leaves your hands.",
    build,
    needs_run,
    lambda view: shown_run(view) is not None,
    stale=out_of_date,
)
