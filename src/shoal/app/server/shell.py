"""Shell: the frame around the panels, the page of projects, and the few addresses that are not pages (uploads, files of jobs).

A page is built from the files of its project each time it is loaded, so that it can be reloaded, closed and opened twice at will.
"""

from __future__ import annotations

import inspect
import logging
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from nicegui import ui

from shoal.app import STATIC
from shoal.app.jobs.queue import Jobs
from shoal.app.panels import Panel, panel, panels
from shoal.app.project.project import Project
from shoal.app.project.wording import as_sentence
from shoal.app.project.workspace import Workspace
from shoal.app.server.home import build_home
from shoal.app.widgets import components as parts
from shoal.errors import InputError, ShoalError

HOSTED = "What you bring goes to {host} and no further: no request, no font, no statistic. Your data stay in your workspace there."
LOCAL = "Nothing leaves this machine: no request, no font, no statistic. Your data stay in the workspace."
LOOKS = 2.0
"""Seconds between two looks at whether another window has changed the plan."""
DECIDING = ("data", "hierarchies", "promise")
"""Panels that show the plan as it was when they were built."""
_TYPES = {".json": "application/json", ".html": "text/html", ".pdf": "application/pdf", ".csv": "text/csv"}


class View:
    """What a panel sees: its project, the workspace, the jobs; and the frame that it stands in."""

    def __init__(self, workspace: Workspace, jobs: Jobs, project: Project, here: Panel) -> None:
        self.workspace = workspace
        self.jobs = jobs
        self.project = project
        self.here = here
        self._seen = self._stamp()
        self._changed_elsewhere = False
        self._steps = ui.refreshable(self._build_steps)
        self._onward = ui.refreshable(self._build_onward)
        self._stale = ui.refreshable(self._build_stale)

    def refresh_steps(self) -> None:
        """Call it after each change of the plan: the steps are drawn anew, the panel stays as it is."""
        self._seen = self._stamp()
        self._steps.refresh()
        self._onward.refresh()
        if self._changed_elsewhere:
            self._changed_elsewhere = False
            self._stale.refresh()

    def _stamp(self) -> int:
        """Another number after each change of the plan."""
        plan = self.project.folder / "plan.yaml"
        return plan.stat().st_mtime_ns if plan.exists() else 0

    def _look(self) -> None:
        """Marks what is out of date once another window has changed the plan."""
        if self._stamp() != self._seen:
            self.refresh_steps()
            self._changed_elsewhere = True
            self._stale.refresh()

    def go(self, name: str) -> None:
        """Leads to another panel."""
        ui.navigate.to(self.address(name))

    def reload(self) -> None:
        """Builds the panel anew."""
        ui.navigate.to(self.address(self.here.name))

    def address(self, name: str) -> str:
        return f"/p/{self.project.id}/{name}"

    def file(self, job: str, name: str) -> str:
        """The address of a file that a job made; with `?show` it opens in the browser instead of being saved."""
        return f"/p/{self.project.id}/jobs/{job}/{quote(name)}"

    def _build_steps(self) -> None:
        told: set[str | None] = set()
        with ui.element("ol"):
            for number, step in enumerate(panels(), 1):
                why = step.blocked(self)
                with ui.element("li"):
                    self._build_step(number, step, why, why not in told)
                told.add(why)

    def _build_step(self, number: int, step: Panel, why: str | None, is_new: bool) -> None:
        """A step, and under the first that it blocks, why."""
        here = step is self.here
        stale = why is None and step.stale(self) is not None
        done = why is None and not stale and step.done(self)
        state = "here" if here else "blocked" if why else "done" if done else "stale" if stale else "open"
        blocked = state == "blocked"
        props = {"aria-disabled": "true"} if blocked else {"href": self.address(step.name)}
        props |= {"aria-current": "step"} if here else {}
        with parts.element("span" if blocked else "a", f"sh-step sh-step-{state}", **props):
            parts.text("✓" if done else "!" if stale else str(number), "span", "sh-step-mark", aria_hidden="true")
            with ui.element("span"):
                parts.text(step.title, "span")
                words = {"done": " (done)", "blocked": " (not yet)", "here": " (you are here)"}.get(state, "")
                parts.text(words, "span", "sh-hidden")
                if stale:
                    parts.text("out of date", "span", "sh-step-why")
                if why and blocked:
                    parts.text(why, "span", "sh-step-why" if is_new else "sh-hidden")

    def _build_stale(self) -> None:
        """Says so where what is here is of another plan."""
        if (why := self.here.stale(self)) is not None:
            parts.notice(why, "warn")
            with parts.row():
                parts.link_button("Go to Run", self.address("run"), quiet=True)
        elif self._changed_elsewhere and self.here.name in DECIDING:
            parts.notice("Another window has changed the plan: what is here is of the plan before.", "warn")
            with parts.row():
                parts.button("Show it as it stands", self.reload, "quiet")

    def _build_onward(self) -> None:
        known = panels()
        place = known.index(self.here)
        with parts.element("nav", "sh-onward", aria_label="Back and forth"):
            if place:
                parts.link_button(f"Back: {known[place - 1].title}", self.address(known[place - 1].name), quiet=True)
            else:
                parts.link_button("Back: all projects", "/", quiet=True)
            if place + 1 < len(known):
                after = known[place + 1]
                why = after.blocked(self)
                if why is None:
                    parts.link_button(f"Next: {after.title}", self.address(after.name))
                else:
                    parts.text(why, "span", "sh-why")

    async def build(self) -> None:
        """The frame with the panel in it."""
        with frame(self.workspace, self.project.name), ui.element("div").classes("sh-body"):
            with parts.element("nav", "sh-steps", aria_label="Steps"):
                self._steps()
            with parts.main():
                parts.heading(self.here.title, 1)
                parts.text(self.here.lead, "p", "sh-lead")
                why = self.here.blocked(self)
                if why is not None:
                    parts.notice(why, "warn")
                else:
                    self._stale()
                    await self._build_panel()
                    ui.timer(LOOKS, self._look)
                self._onward()

    async def _build_panel(self) -> None:
        """The panel; a sentence where it cannot be built, so that one can still go back."""
        try:
            made = self.here.build(self)
            if inspect.isawaitable(made):
                await made
        except ShoalError as error:
            parts.notice(as_sentence(error), "bad")
        except Exception:
            logging.getLogger("shoal.app").exception("building %s", self.here.name)
            parts.notice(parts.OURS, "bad")


class frame:  # noqa: N801 - it is used as a function
    """The header and the footer of a page, with what is built inside between them. NiceGUI puts all of it into a <main>."""

    def __init__(self, workspace: Workspace, title: str = "") -> None:
        self.workspace = workspace
        self.title = title

    def __enter__(self) -> None:
        parts.add_static("shoal")
        ui.add_head_html('<meta name="referrer" content="no-referrer">')
        ui.colors(primary="#1b6b72")
        ui.page_title(f"{self.title} – Shoal" if self.title else "Shoal")
        self._page = ui.element("div").classes("sh-page")
        self._page.__enter__()
        parts.text("Skip to the content", "a", "sh-skip", href="#main")
        with parts.element("header", "sh-header"):
            parts.text("Shoal", "a", "sh-brand", href="/", aria_label="Shoal: all projects")
            if self.title:
                parts.text(self.title, "span", "sh-crumb")
            ui.element("span").classes("sh-grow")
            self._build_theme()

    def __exit__(self, *_: object) -> None:
        host = self.workspace.host
        parts.text(LOCAL if host is None else HOSTED.format(host=host), "footer", "sh-footer")
        self._page.__exit__(None, None, None)

    def _build_theme(self) -> None:
        themes = {"auto": None, "light": False, "dark": True}
        now = str(self.workspace.settings.get("theme", "auto"))
        now = now if now in themes else "auto"
        dark = ui.dark_mode(themes[now])

        def choose(event: Any) -> None:
            dark.value = themes[event.value]
            self.workspace.set(theme=event.value)

        names = {"auto": "As the system", "light": "Light", "dark": "Dark"}
        parts.select(names, now, "Theme", choose, width="9.5rem").props("dense options-dense")


class App:
    """The pages of a workspace."""

    def __init__(self, workspace: Workspace, jobs: Jobs) -> None:
        self.workspace = workspace
        self.jobs = jobs

    def add_routes(self, outer: FastAPI) -> None:
        """Adds the pages to NiceGUI, and what are not pages to the application around it."""
        outer.mount("/static", StaticFiles(directory=STATIC))
        outer.put("/upload")(self._upload)
        outer.get("/p/{project}/jobs/{job}/{name}")(self._file)

        @ui.page("/", title="Shoal")
        async def home() -> None:
            with frame(self.workspace):
                await build_home(self.workspace, self.jobs)

        @ui.page("/p/{project}/{name}", response_timeout=30)
        async def step(project: str, name: str) -> None:
            found, here = self.workspace.project(project), panel(name)
            if found is None or here is None:
                self._build_missing()
            else:
                await View(self.workspace, self.jobs, found, here).build()

        @ui.page("/p/{project}")
        def first(project: str) -> Response:
            return Response(status_code=303, headers={"location": f"/p/{project}/{panels()[0].name}"})

    def _build_missing(self) -> None:
        words = "The project may have been removed, or the address is not complete."
        with (
            frame(self.workspace),
            parts.element("div", "sh-body"),
            parts.main(),
            parts.empty("There is no such page", words),
        ):
            parts.link_button("All projects", "/")

    async def _upload(self, request: Request, name: str = "") -> Response:
        """Keeps the body of a request as a file of the workspace."""
        try:
            kept = await self.workspace.keep_upload(name, request.stream())
        except InputError as error:
            return JSONResponse({"error": as_sentence(error)}, 413)
        except OSError as error:
            return JSONResponse({"error": f"It could not be saved ({error.strerror}); nothing was kept."}, 507)
        return JSONResponse({"name": kept.name})

    async def _file(self, project: str, job: str, name: str, request: Request) -> Response:
        """A file that a job made."""
        found = self.workspace.project(project)
        made = None if found is None else self.jobs.get(found, job)
        path = None if made is None else made.output(name)
        if path is None:
            return PlainTextResponse("There is no such file.\n", 404)
        kind = _TYPES.get(path.suffix, "application/octet-stream")
        inline = "show" in request.query_params and path.suffix in (".html", ".pdf", ".json")
        how = "inline" if inline else "attachment"
        return FileResponse(path, media_type=kind, filename=name, content_disposition_type=how)
