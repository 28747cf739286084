"""The first page: bring data, go on with a project, or wipe what was brought."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from nicegui import ui

from shoal.app.jobs.queue import Jobs
from shoal.app.panels import panels
from shoal.app.panels.promise import estimates
from shoal.app.project.drafts import begin
from shoal.app.project.project import Project
from shoal.app.project.wording import as_sentence
from shoal.app.project.workspace import Workspace
from shoal.app.server.demo_project import demo_project
from shoal.app.widgets import components as parts
from shoal.errors import InputError

FORMATS = "CSV, TSV, Parquet, Arrow, JSON lines or FIMI text (.dat); text also as .gz or .zst"


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


async def begin_project(workspace: Workspace, path: Path) -> None:
    """Makes a project for a file and leads to it."""
    project = workspace.new_project(path.name)
    await asyncio.to_thread(begin, project, path)
    ui.navigate.to(f"/p/{project.id}/{panels()[0].name}")


def _build_bringing(workspace: Workspace) -> None:
    with parts.card("Bring a file", f"{FORMATS}. A copy is kept in the workspace, for you alone."):
        begin = partial(begin_project, workspace)
        parts.upload(workspace, "Choose a file, or drop it here", "It does not leave this machine.", begin)

        async def try_demo() -> None:
            project = await asyncio.to_thread(demo_project, workspace)
            ui.navigate.to(f"/p/{project.id}/{panels()[0].name}")

        with parts.row():
            parts.button("Try it with a made-up grocery store", try_demo, "quiet")


def _build_taking(workspace: Workspace) -> None:
    with parts.card("Use a file that is here already", f"It stays where it is. The workspace is {workspace.folder}."):
        files = workspace.files()
        choices = {str(file.path): f"{file.name} ({parts.size(file.size)})" for file in files}

        async def take(path: str | None) -> None:
            if path in choices:
                await begin_project(workspace, Path(path))

        if choices:
            chosen = ui.select(choices, label="Files in the workspace", with_input=True).props("outlined")
            chosen.classes("sh-wide")
            with parts.row():
                parts.button("Use this file", lambda: take(chosen.value))
        else:
            parts.text("No file of data lies in the workspace yet.", "p", "sh-why")
        named = ui.input("Or its name, as seen from the workspace").props("outlined").classes("sh-wide")
        trouble = ui.element("div")

        async def take_named() -> None:
            trouble.clear()
            try:
                path = workspace.file_called(named.value or "")
            except InputError as error:
                with trouble:
                    parts.notice(as_sentence(error), "bad")
                return
            await begin_project(workspace, path)

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
        parts.tag({"done": "released", "queued": "waiting"}.get(job.status, job.status), kind)
    if project.data is None:
        parts.tag("its data are gone", "bad")

    async def remove() -> None:
        question = f"Remove the project {project.name}?"
        if await parts.is_sure(question, "Its plan and its releases go. The file of data stays.", "Remove it"):
            jobs.end_of(project)
            jobs.warm.forget(project)
            workspace.remove_project(project)
            ui.navigate.to("/")

    parts.button("Remove", remove, "quiet", f"Remove the project {project.name}")


def _build_wiping(workspace: Workspace, jobs: Jobs) -> None:
    uploads = [file for file in workspace.files() if file.uploaded]
    if not uploads and not workspace.projects():
        return
    held = f"{len(uploads):,} {'file' if len(uploads) == 1 else 'files'}, {parts.size(sum(f.size for f in uploads))}"
    with parts.card("What the workspace holds of yours", f"Uploads: {held}. Files that you named stay where they are."):

        def wipe_uploads() -> None:
            for project in workspace.projects():  # what was counted in them names rare rows
                for job in jobs.of(project, "risk"):
                    jobs.remove(job)
                estimates.forget(project)
            jobs.warm.close()
            count = workspace.wipe_uploads()
            ui.notify(f"{count:,} {'upload is' if count == 1 else 'uploads are'} gone.")
            ui.navigate.to("/")

        async def wipe() -> None:
            words = "Uploads, plans, releases and certificates in the workspace go. Files that you named stay."
            if await parts.is_sure("Remove everything?", words, "Remove everything"):
                jobs.end_all()
                jobs.warm.close()
                workspace.wipe()
                ui.navigate.to("/")

        with parts.row():
            if uploads:
                parts.button("Wipe the uploads", wipe_uploads, "danger")
            parts.button("Remove everything", wipe, "danger")
