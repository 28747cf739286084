"""Hierarchies: the tree along which each column, or the items, are made coarser: chosen, held against the data, looked at and edited.

Of a tree only what is open is in the page (`tree_browser`); the tree itself is in the server, and every edit is a new file that the plan
names (`trees`).
"""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from nicegui import ui

from shoal.app.jobs.queue import Job
from shoal.app.panels import Panel, needs_data
from shoal.app.panels.hierarchies.tree_columns import ColumnsCard, fit_of
from shoal.app.panels.hierarchies.tree_forms import DATES, FILE, GLANCE, Form, form_of, forms_for, spec_with
from shoal.app.panels.hierarchies.tree_loaded import Loaded, findings
from shoal.app.panels.hierarchies.tree_page import HEAD
from shoal.app.panels.hierarchies.tree_steps import step, steps_of, take
from shoal.app.panels.hierarchies.tree_values import Need, is_small, keep_values, kept_values, needs, submit
from shoal.app.panels.hierarchies.tree_waiting import build_waiting
from shoal.app.panels.hierarchies.tree_workbench import Workbench
from shoal.app.panels.hierarchies.trees import (
    learned_job,
    load,
    refusal,
    shown_spec,
    spec_of,
    tree_in,
    with_root,
)
from shoal.app.project.wording import as_sentence, in_app
from shoal.app.server.shell import View
from shoal.app.widgets import components as parts
from shoal.errors import InputError
from shoal.hierarchy.dates import date_order
from shoal.hierarchy.formats.links import PLACE
from shoal.hierarchy.spec import Values

MOST_FILES = 200


async def build(view: View) -> None:
    ui.add_head_html(HEAD)
    wanted = needs(view.project)
    if not wanted:
        with parts.empty(
            "No tree is needed",
            "As the promise stands, rows are made alike by adding and removing items, and nothing is generalized. Trees are for promises "
            "about parts of a set, or about columns.",
        ):
            pass
        return
    values = await asyncio.to_thread(kept_values, view.project, view.jobs)
    if values is None and is_small(view.project):
        await asyncio.to_thread(keep_values, view.project)
        values = kept_values(view.project, view.jobs)
    if values is None:
        build_waiting(view, "Reading the data", None)
        return
    await Trees(view, wanted, values).build()


class Trees:
    """The page: the columns, where the tree of the chosen one comes from, and the tree."""

    def __init__(self, view: View, wanted: list[Need], values: dict[str, Values]) -> None:
        self.view, self.project = view, view.project
        self.wanted, self.all_values = wanted, values
        chosen = self.project.settings.get("tree_column")
        self.need = next((need for need in wanted if need.column == chosen), wanted[0])
        self.loaded: Loaded | Job | None = None
        self.trouble: str | None = None
        self.bench: Workbench | None = None
        self.refused: tuple[Path | None, str] | None = None
        """What was not taken (a file, or None for a parameter), and why."""
        self.client = ui.context.client
        self.asks_file = False
        self._columns = ColumnsCard(self.project, wanted, values, self.need, self._look_at)
        self._choice = ui.refreshable(self._build_choice)
        self._tree = ui.refreshable(self._build_tree)

    @property
    def values(self) -> Values:
        return self.all_values[self.need.column]

    async def build(self) -> None:
        await self._load()
        if len(self.wanted) > 1:
            self._columns.show()
        self._choice()
        self._tree()
        await self._note()

    async def _note(self) -> None:
        """Adds what there is to know about the tree, which is counted once the tree is there to look at."""
        if self.bench is not None and isinstance(self.loaded, Loaded):
            k = self.project.draft.get("guarantee", {}).get("k") if self.need.model == "km" else None
            self.bench.note(await asyncio.to_thread(findings, self.loaded, self.values, k))

    async def _load(self) -> None:
        """Loads the tree of the column, and remembers how it fits the data."""
        self.trouble = None
        try:
            self.loaded = await asyncio.to_thread(
                load, self.view.workspace, self.project, self.view.jobs, self.need, self.values
            )
        except InputError as error:
            self.loaded, self.trouble = None, as_sentence(error)
        missing = len(self.loaded.missing) if isinstance(self.loaded, Loaded) else 0
        fits = {"spec": spec_of(self.project, self.need), "missing": missing, "trouble": self.trouble}
        known = dict(self.project.settings.get("trees") or {})
        if known.get(self.need.column) != fits:
            self.project.set(trees=known | {self.need.column: fits})
            self.view.changed()

    async def again(self) -> None:
        """After another tree was taken."""
        await self._shown_anew()
        await self._note()

    async def _shown_anew(self) -> None:
        await self._load()
        self._columns.look_at(self.need)
        self._choice.refresh()
        self._tree.refresh()
        self.view.changed()

    async def _edited(self) -> None:
        """After an edit: what has the focus is gone, so it goes to what is chosen in the tree."""
        await self._shown_anew()
        self.client.run_javascript("document.querySelector('.sh-tree [tabindex=\"0\"]')?.focus()")
        await self._note()

    async def _look_at(self, need: Need) -> None:
        self.project.set(tree_column=need.column)
        self.need, self.refused, self.asks_file = need, None, False
        await self.again()

    # Where the tree comes from.

    def _build_choice(self) -> None:
        project, need = self.project, self.need
        spec = spec_of(project, need)
        name, parameter = form_of(spec)
        forms = {form.name: form for form in forms_for(need, self.values)}
        now = FILE if self.asks_file else forms.get(name, FILE)
        what = "the items" if need.is_items else f"“{need.column}”"
        with parts.card(f"Where the tree of {what} comes from"):
            with parts.row():
                titles = {form.name: form.title for form in forms.values()}
                parts.select(titles, now.name, "Tree", lambda event: self._take_form(forms[event.value]), width="24rem")
                if now.asks:
                    self._build_parameter(now, parameter)
                if name == "file" and not self.asks_file:
                    parts.tag(shown_spec(spec))
            parts.why_line(now.meaning)
            if (
                name == "mask"
                and not self.asks_file
                and date_order(self.values.names, GLANCE) in ("day first", "month first")
            ):
                parts.notice(
                    "These are dates that end in the year: hiding their last characters hides the year first.", "warn"
                )
                with parts.row():
                    parts.button("Put days into months and years instead", lambda: self._take_form(DATES))
            if self.refused is not None:
                self._build_refusal()
            if now is FILE:
                self._build_files(name == "file" and not self.asks_file)
            if not isinstance(self.loaded, Loaded):
                self._build_steps()

    def _build_parameter(self, form: Form, parameter: str) -> None:
        field = ui.input(form.asks, value=parameter or form.usual).props("outlined").style("min-width: 19rem")

        async def use() -> None:
            spec = spec_with(form, str(field.value or ""))
            if spec != spec_of(self.project, self.need):
                await self._take(spec)

        field.on("keydown.enter", parts.said(use))
        parts.button("Use it", use, "quiet")

    def _build_refusal(self) -> None:
        assert self.refused is not None
        path, why = self.refused
        parts.notice(why if path is None else f"{path.name} was not taken. {why}", "bad")
        if path is not None and "roots" in why:

            async def mend() -> None:
                spec = await asyncio.to_thread(with_root, self.project, self.need, path)
                if spec is None:
                    raise InputError(f"{path.name}: a root above its roots does not make it a tree; mend the file")
                await self._take(spec, f"took {path.name} with a root above it")

            with parts.row():
                parts.button("Put one root above them", mend)

    def _build_files(self, folded: bool) -> None:
        with ui.expansion("Take another file" if folded else "Choose the file").classes("sh-wide") as found:
            found.value = not folded
            with ui.element("div").classes("sh-main"):
                data = self.project.data
                files = {
                    str(file.path): file.name
                    for file in self.view.workspace.files()[:MOST_FILES]
                    if data is None or file.path != data
                }
                if files:
                    label = "A file of the workspace"
                    parts.select(files, None, label, lambda event: self.take_file(Path(event.value)), width="24rem")
                hint = "It is checked at once, and does not leave this machine."
                parts.upload(self.view.workspace, "Choose a file with a tree, or drop it here", hint, self.take_file)

    def _build_steps(self) -> None:
        steps = steps_of(self.project, self.need)

        async def go(by: int) -> None:
            if step(self.project, self.need, by):
                self.refused, self.asks_file = None, False
                await self.again()

        with parts.row():
            undo = parts.button("Undo", lambda: go(-1), "quiet")
            undo.set_enabled(steps.undoes is not None)
            redo = parts.button("Redo", lambda: go(1), "quiet")
            redo.set_enabled(steps.redoes is not None)
            if steps.undoes:
                parts.text(f"Last: {steps.undoes}", "span", "sh-why").props["role"] = "status"

    async def _take_form(self, form: Form) -> None:
        self.refused = None
        self.asks_file = form is FILE
        if form is FILE:
            self._choice.refresh()
        else:
            await self._take(form.spec)

    async def _take(self, spec: str | None, did: str | None = None) -> None:
        why = await asyncio.to_thread(refusal, self.need, self.values, spec)
        if why is not None:  # a parameter that does not work
            self.refused = None, as_sentence(why)
            self._choice.refresh()
            return
        self.refused, self.asks_file = None, False
        take(self.project, self.need, spec, did or f"took {shown_spec(spec)}")
        await self.again()

    async def take_file(self, path: Path) -> None:
        """Takes the tree in a file, if it holds one."""
        path = self.view.workspace.inside(path, path.name)
        try:
            await asyncio.to_thread(tree_in, path)
        except InputError as error:
            self.refused, self.asks_file = (path, in_words(error, path)), True
            self._choice.refresh()
            return
        await self._take(os.path.relpath(path, self.project.folder), f"took {path.name}")

    # The tree.

    def _build_tree(self) -> None:
        before, self.bench = self.bench, None
        if self.trouble is not None:
            parts.notice(self.trouble, "bad")
            return
        spec = spec_of(self.project, self.need)
        if isinstance(self.loaded, Loaded):
            notes = before.notes if before is not None and before.need == self.need else ()
            self.bench = Workbench(
                self.view, self.need, self.values, self.loaded, notes, self._build_steps, self._edited
            )
            self.bench.build()
        elif spec is not None and spec.startswith("learned:"):
            if learned_job(self.project, self.view.jobs, spec) is None:
                with parts.empty(
                    "It is learned when the release is made",
                    "You can have it learned now, to look at it, name its groups and edit it.",
                ):
                    number = int(spec.partition(":")[2])
                    parts.button("Learn it now", lambda: self._learn(number))
            else:
                build_waiting(self.view, "Learning the tree", int(spec.partition(":")[2]))
        elif not self.values.names:
            parts.notice("There is nothing to look at: all values are missing.")
        else:
            with parts.empty(
                "There is no tree to look at",
                "None is needed here. Choose another way above if you want to say yourself what belongs together.",
            ):
                pass

    def _learn(self, number: int) -> None:
        submit(self.project, self.view.jobs, number)
        self.view.reload()


def in_words(error: InputError, path: Path) -> str:
    """Why a file was not taken, without the path and the command that a page has a button for."""
    text = re.sub(r", or, to put one above them, run .*", "", error.told(in_app, show_values=True), flags=re.DOTALL)
    return as_sentence(text.removeprefix(f"{PLACE}{path}").lstrip(":, ").replace(str(path), path.name))


def _is_done(view: View) -> bool:
    return all(fit_of(view.project, need)[1] in ("good", "warn") for need in needs(view.project))


PANEL = Panel(
    "hierarchies",
    "Hierarchies",
    "Say which values belong together: a release replaces what is rare by what stands above it in these trees.",
    build,
    needs_data,
    _is_done,
)
