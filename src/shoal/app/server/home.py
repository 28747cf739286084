"""The first page: bring data, go on with a project, or wipe what was brought."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from nicegui import ui

from shoal.app.jobs.queue import Jobs
from shoal.app.panels import panels
from shoal.app.panels.hierarchies.canvas.cut_question import forget_answers
from shoal.app.panels.hierarchies.column_tree import forget_trees
from shoal.app.project.drafts import project_of
from shoal.app.project.plan_files import is_plan, project_of_plan
from shoal.app.project.project import Project
from shoal.app.project.wording import as_sentence
from shoal.app.project.workspace import RELEASES, Belongings, DataFile, Workspace
from shoal.app.server.demo_project import demo_project
from shoal.app.widgets import components as parts
from shoal.errors import InputError

MOST_NAMED = 8
"""Files that a question names."""
FORMATS = "CSV, TSV, Excel, Parquet, Arrow, JSON lines or FIMI text (.dat); text also as .gz or .zst"
PLANS = (
    "A plan (plan.yaml) goes on where it stands; bring its data first. The command line also reads databases, lakes and FHIR exports, and "
    "publishes in series."
)


async def build_home(workspace: Workspace, jobs: Jobs) -> None:
    with parts.element("div", "sh-body"), parts.main():
        parts.heading("Publish data in which every record hides in a crowd", 1)
        parts.text(
            "Bring a file with records of people. Shoal shows what it gives away, changes it as little as it must to keep a "
            "promise that you choose, checks the result, and writes a certificate.",
            "p",
            "sh-lead",
        )
        with parts.columns():
            _build_bringing(workspace)
            _build_taking(workspace)
        _build_projects(workspace, jobs)
        _build_wiping(workspace, jobs)


async def begin_project(workspace: Workspace, trouble: ui.element, path: Path) -> None:
    """Makes a project for a file and leads to it; says why, and makes none, where the file cannot be read."""
    trouble.clear()
    try:
        project = await asyncio.to_thread(project_of_plan if is_plan(path) else project_of, workspace, path)
    except InputError as error:
        with trouble:
            parts.notice(as_sentence(error), "bad")
            parts.why_line(
                "It was not taken, and no copy of it was kept. Bring another file, or this one once it is put right."
            )
        ui.run_javascript("shoalDropAgain()")
        return
    ui.navigate.to(f"/p/{project.id}/{panels()[0].name}")


def _build_bringing(workspace: Workspace) -> None:
    with parts.card("Bring a file", f"{FORMATS}. A copy is kept in the workspace, for you alone."):
        trouble = ui.element("div")
        take = partial(begin_project, workspace, trouble)
        parts.upload(workspace, "Choose a file, or drop it here", take)

        async def try_demo() -> None:
            project = await asyncio.to_thread(demo_project, workspace)
            ui.navigate.to(f"/p/{project.id}/{panels()[0].name}")

        parts.why_line(PLANS)
        with parts.row():
            parts.button("Try it with a made-up grocery store", try_demo, "quiet")


def _build_taking(workspace: Workspace) -> None:
    with parts.card("Use a file that is here already", f"It stays where it is. The workspace is {workspace.folder}."):
        files = workspace.files()
        choices = {str(file.path): f"{file.name} ({parts.size(file.size)})" for file in files}
        trouble = ui.element("div")

        async def take(path: str | None) -> None:
            if path in choices:
                await begin_project(workspace, trouble, Path(path))

        if choices:
            chosen = ui.select(choices, label="Files in the workspace", with_input=True).props("outlined")
            chosen.classes("sh-wide")
            with parts.row():
                parts.button("Use this file", lambda: take(chosen.value))
        else:
            parts.text("No file of data lies in the workspace yet.", "p", "sh-why")
        named = ui.input("Or its name, as seen from the workspace").props("outlined").classes("sh-wide")

        async def take_named() -> None:
            trouble.clear()
            try:
                path = workspace.file_called(named.value or "")
            except InputError as error:
                with trouble:
                    parts.notice(as_sentence(error), "bad")
                return
            await begin_project(workspace, trouble, path)

        named.on("keydown.enter", take_named)
        with parts.row():
            parts.button("Use the file of this name", take_named, "quiet")


def _build_projects(workspace: Workspace, jobs: Jobs) -> None:
    with parts.card("Your projects"):
        found = workspace.projects()
        if not found:
            parts.empty(
                "There are no projects yet",
                "A file that you bring becomes a project; leave it and come back when you like.",
            )
            return
        with ui.element("ul").classes("sh-list"):
            for project in found:
                with ui.element("li").classes("sh-row"):
                    _build_project(workspace, jobs, project)


def _build_project(workspace: Workspace, jobs: Jobs, project: Project) -> None:
    parts.link(project.name, f"/p/{project.id}/{panels()[0].name}")
    parts.text(project.created.replace("T", " ")[:16], "span", "sh-why")
    job = jobs.latest(project)
    if job is not None:
        kind = {"done": "good", "failed": "bad", "running": "warn", "queued": "warn"}.get(job.status, "")
        parts.tag({"done": "run is done", "queued": "waiting"}.get(job.status, job.status), kind)
    if project.data is None:
        parts.tag("its data are gone", "bad")

    async def remove() -> None:
        if await ask_removal(workspace, jobs, project):
            ui.navigate.to("/")

    parts.button("Remove …", remove, "quiet", f"Remove the project {project.name}")


async def ask_removal(workspace: Workspace, jobs: Jobs, project: Project) -> bool:
    """Asks what of a project is to go, and removes it. Says whether it did."""
    held = workspace.belongings(project)
    with ui.dialog() as dialog, ui.card():
        parts.heading(f"Remove the project {project.name}?")
        parts.text("What goes, for good:")
        with parts.element("ul"):
            for words in removal_words(held):
                parts.text(words, "li")
        kept = ui.checkbox(
            f"Keep what was released: it moves to {RELEASES} in the workspace", value=bool(held.published)
        )
        kept.set_visibility(bool(held.published))
        for name, users in held.shared.items():
            parts.why_line(f"{name} stays: {', '.join(users)} {'reads' if len(users) == 1 else 'read'} it, too.")
        parts.why_line("Files that you named in the workspace stay where they are, and so do other projects.")
        with parts.row():
            parts.button("Cancel", lambda: dialog.submit(False), "quiet")
            parts.button("Remove it", lambda: dialog.submit(True), "danger")
    sure = bool(await dialog)
    dialog.delete()
    if sure:
        remove_project(workspace, jobs, project, releases=not kept.value)
    return sure


def removal_words(held: Belongings) -> list[str]:
    """What goes with a project, for a list."""
    words = [f"{file.name}, {parts.size(file.size)}, as you brought it" for file in held.uploads]
    words.append("the plan, trees that you edited, and every value that was read or counted for them")
    words.append("estimates, risks, and of all runs the tables, rules and reports")
    if held.published:
        count = len({path.parent for path in held.published})
        words.append(f"unless kept, {count:,} released {'file' if count == 1 else 'files'} with certificates")
    return words


def remove_project(workspace: Workspace, jobs: Jobs, project: Project, *, releases: bool = True) -> None:
    """Removes a project with all that was read for it, in memory, too."""
    jobs.end_of(project)
    jobs.warm.close()  # it holds the rows that it read last
    forget_trees()
    forget_answers()
    workspace.remove_project(project, releases=releases)


def _build_wiping(workspace: Workspace, jobs: Jobs) -> None:
    idle, projects = workspace.idle_uploads(), workspace.projects()
    if not idle and not projects:
        return
    with parts.card(
        "What the workspace holds of yours",
        "Remove a project above, and what you brought for it goes with it. Files that you named stay where they are.",
    ):
        if idle:
            parts.text(f"Uploads that no project uses: {_named(idle)}.")

        async def remove_idle() -> None:
            if await parts.is_sure("Remove these uploads?", f"What goes, for good: {_named(idle)}.", "Remove them"):
                for file in idle:
                    file.path.unlink(missing_ok=True)
                ui.navigate.to("/")

        async def wipe() -> None:
            uploads = [file for file in workspace.files() if file.uploaded]
            words = f"What goes, for good: {len(projects):,} {'project' if len(projects) == 1 else 'projects'} "
            words += f"({', '.join(project.name for project in projects)}) " if projects else ""
            words += "with all plans, trees, releases and certificates in them"
            words += f"; and {_named(uploads)}." if uploads else "."
            words += f" Files that you named, what lies in {RELEASES}, and your keys stay."
            if await parts.is_sure("Remove everything?", words, "Remove everything"):
                jobs.end_all()
                jobs.warm.close()
                forget_trees()
                forget_answers()
                workspace.wipe()
                ui.navigate.to("/")

        with parts.row():
            if idle:
                parts.button("Remove these uploads …", remove_idle, "quiet")
            parts.button("Remove everything …", wipe, "danger")


def _named(files: Sequence[DataFile]) -> str:
    """Files by name, as far as a sentence has room, and their size."""
    names = ", ".join(file.name for file in files[:MOST_NAMED])
    more = f" and {len(files) - MOST_NAMED:,} more" if len(files) > MOST_NAMED else ""
    return f"{names}{more} ({parts.size(sum(file.size for file in files))})"
