"""Hierarchies: the tree along which each column, or the items, are made coarser: chosen, held against the data, looked at and edited.

Of a tree only what is open is in the page (`tree_browser`); the tree itself is in the server, and every edit is a new file that the plan
names (`column_tree`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

from nicegui import ui

from shoal.app.jobs.queue import LIVE, Job
from shoal.app.panels import Panel, needs_data
from shoal.app.panels.hierarchies.column_tree import ColumnTree, learned_number, spec_words, tree_in
from shoal.app.panels.hierarchies.loaded_tree import Loaded
from shoal.app.panels.hierarchies.tree_columns import ColumnsCard, fit_words
from shoal.app.panels.hierarchies.tree_forms import DATES, FILE, GLANCE, Form, form_of, forms_for, spec_with
from shoal.app.panels.hierarchies.tree_values import is_small, keep_values, kept_values, latest_job, needs, submit
from shoal.app.panels.hierarchies.tree_workbench import Workbench
from shoal.app.project.wording import as_sentence, in_app
from shoal.app.server.shell import View
from shoal.app.widgets import components as parts
from shoal.errors import InputError
from shoal.hierarchy.edit import unambiguous
from shoal.hierarchy.files import read_hierarchy
from shoal.hierarchy.fitting import ColumnFit, best_column
from shoal.hierarchy.formats.links import PLACE, SeveralRoots
from shoal.hierarchy.kinds.dates import date_order

MOST_FILES = 200


async def build(view: View) -> None:
    parts.add_static("tree")
    parts.add_static("icicle")
    wanted = needs(view.project)
    if not wanted:
        parts.empty(
            "No tree is needed",
            "As the promise stands, rows are made alike by adding and removing items, and nothing is generalized. Trees are for promises "
            "about parts of a set, or about columns.",
        )
        return
    values = await asyncio.to_thread(kept_values, view.project, view.jobs)
    if values is None and is_small(view.project):
        await asyncio.to_thread(keep_values, view.project)
        values = kept_values(view.project, view.jobs)
    if values is None:
        build_waiting(view, "Reading the data", None)
        return
    await Trees(view, [ColumnTree(view.project, need, values[need.column]) for need in wanted]).build()


def build_waiting(view: View, title: str, learn: int | None) -> None:
    """A card that follows the job that reads values or learns a tree, and builds the panel anew when it is done."""
    if latest_job(view.project, view.jobs, learn) is None:
        submit(view.project, view.jobs, learn)

    def again() -> None:
        submit(view.project, view.jobs, learn)
        standing.refresh()

    @ui.refreshable
    def standing() -> None:
        job = latest_job(view.project, view.jobs, learn)
        if job is None or job.status in LIVE:
            queued = job is not None and job.status == "queued"
            once = "This is done once; you can leave the page meanwhile."
            parts.text(view.jobs.waiting_words(job) if job is not None and queued else once)
            ui.linear_progress(show_value=False).props["indeterminate"] = True
        elif job.status != "done":
            parts.notice(job.error or "It was ended before it was done.", "bad")
            parts.button("Try again", again)

    def look() -> None:
        job = latest_job(view.project, view.jobs, learn)
        if job is not None and job.status == "done":
            view.reload()
        elif job is not None and job.status == "queued":
            standing.refresh()
        elif job is None or job.status not in LIVE:
            standing.refresh()
            timer.deactivate()

    with parts.card(title):
        standing()
    timer = ui.timer(0.5, look)


class Trees:
    """The page: the columns, where the tree of the chosen one comes from, and the tree."""

    def __init__(self, view: View, trees: list[ColumnTree]) -> None:
        self.view, self.project, self.trees = view, view.project, trees
        chosen = self.project.settings.get("tree_column")
        self.tree = next((tree for tree in trees if tree.need.column == chosen), trees[0])
        self.loaded: Loaded | Job | None = None
        self.trouble: str | None = None
        self.bench: Workbench | None = None
        self.known: tuple[Loaded, Sequence[tuple[str, str]]] | None = None
        """A tree, and what there is to know about it."""
        self.better: ColumnFit | None = None
        self.refused: tuple[Path | None, str, bool] | None = None
        """What was not taken (a file, or None for a parameter), why, and whether a root would help."""
        self.client = ui.context.client
        self.asks_file = False
        self._columns = ColumnsCard(trees, self.tree, self._look_at)
        self._choice = ui.refreshable(self._build_choice)
        self._tree = ui.refreshable(self._build_tree)

    async def build(self) -> None:
        await self._load()
        if len(self.trees) > 1:
            self._columns.show()
        self._choice()
        self._tree()
        await self._note()

    async def _note(self) -> None:
        """Adds what there is to know about the tree, which is counted once the tree is there to look at."""
        loaded = self.loaded
        if isinstance(loaded, Loaded):
            k = self.project.draft.get("guarantee", {}).get("k") if self.tree.need.model == "km" else None
            self.known = loaded, await asyncio.to_thread(loaded.notes, k)
            if self.bench is not None and self.bench.loaded is loaded:  # the page may be drawn before this, or after
                self.bench.note(self.known[1])

    async def _load(self) -> None:
        """Loads the tree of the column, and remembers how it fits the data."""
        self.trouble = None
        try:
            self.loaded = await asyncio.to_thread(self.tree.load, self.view.workspace, self.view.jobs)
        except InputError as error:
            self.loaded, self.trouble = None, as_sentence(error)
        missing = len(self.loaded.missing) if isinstance(self.loaded, Loaded) else 0
        self.better = None
        if isinstance(self.loaded, Loaded) and missing:
            self.better = await asyncio.to_thread(self.tree.better, self.view.workspace, self.loaded.known)
        fit = {"spec": self.tree.spec, "missing": missing, "trouble": self.trouble}
        known, column = dict(self.project.settings.get("trees") or {}), self.tree.need.column
        if known.get(column) != fit:
            self.project.set(trees=known | {column: fit})
            self.view.refresh_steps()

    async def _show_anew(self, *, focus: bool = False) -> None:
        """After another tree was taken. With `focus`, what had it is gone, so it goes to what is chosen in the tree."""
        await self._load()
        self._columns.look_at(self.tree)
        self._choice.refresh()
        self._tree.refresh()
        self.view.refresh_steps()
        if focus:
            self.client.run_javascript("shoalBackToTree()")
        await self._note()

    async def _look_at(self, tree: ColumnTree) -> None:
        self.project.set(tree_column=tree.need.column)
        self.tree, self.refused, self.asks_file = tree, None, False
        await self._show_anew()

    # Where the tree comes from.

    def _build_choice(self) -> None:
        need, values, spec = self.tree.need, self.tree.values, self.tree.spec
        name, parameter = form_of(spec)
        forms = {form.name: form for form in forms_for(need, values)}
        now = FILE if self.asks_file else forms.get(name, FILE)
        what = "the items" if need.is_items else f"“{need.column}”"
        with parts.card(f"Where the tree of {what} comes from"):
            with parts.row():
                titles = {form.name: form.title for form in forms.values()}
                parts.select(titles, now.name, "Tree", lambda event: self._take_form(forms[event.value]), width="24rem")
                if now.asks:
                    self._build_parameter(now, parameter)
                if name == "file" and not self.asks_file:
                    parts.tag(spec_words(spec))
            parts.why_line(now.meaning)
            if now.name == "mask" and date_order(values.names, GLANCE) in ("day first", "month first"):
                parts.notice(
                    "These are dates that end in the year: hiding their last characters hides the year first.", "warn"
                )
                with parts.row():
                    parts.button("Put days into months and years instead", lambda: self._take_form(DATES))
            if self.refused is not None:
                self._build_refusal(*self.refused)
            if now is FILE:
                self._build_files(name == "file" and not self.asks_file)
            if not isinstance(self.loaded, Loaded):
                self._build_steps()

    def _build_parameter(self, form: Form, parameter: str) -> None:
        field = ui.input(form.asks, value=parameter or form.usual).props("outlined").style("min-width: 19rem")

        async def use() -> None:
            spec = spec_with(form, str(field.value or ""))
            if spec != self.tree.spec:
                await self._take(spec)

        field.on("keydown.enter", parts.speaking(use))
        parts.button("Use it", use, "quiet")

    def _build_refusal(self, path: Path | None, why: str, lacks_root: bool) -> None:
        parts.notice(why if path is None else f"{path.name} was not taken. {why}", "bad")
        if (offer := self._offer()) is not None:
            with parts.row():
                parts.button(*offer)
            return
        if path is None or not lacks_root:
            return

        async def add_root() -> None:
            tree = await asyncio.to_thread(lambda: unambiguous(read_hierarchy(path, root="*")))
            spec = await asyncio.to_thread(self.tree.keep, tree)
            await self._take(spec, f"took {path.name} with a root above it")

        with parts.row():
            parts.button("Put one root above them", add_root)

    def _offer(self) -> tuple[str, Callable[[], Awaitable[None]]] | None:
        """The column of the file that fits better than the one it is read by, and what takes it."""
        fit = self.better
        return None if fit is None else (fit_offer(fit), partial(self._take_column, fit))

    async def _take_column(self, fit: ColumnFit) -> None:
        tree = await asyncio.to_thread(lambda: unambiguous(fit.tree()))
        spec = await asyncio.to_thread(self.tree.keep, tree)
        await self._take(spec, f"took column {fit.names[0]} of {Path(fit.path).name}")

    def _build_files(self, folded: bool) -> None:
        with ui.expansion("Use another file" if folded else "Choose the file").classes("sh-wide") as files:
            files.value = not folded
            with ui.element("div").classes("sh-main"):
                data = self.project.data
                names = {
                    str(file.path): file.name
                    for file in self.view.workspace.files()[:MOST_FILES]
                    if data is None or file.path != data
                }
                if names:
                    label = "A file of the workspace"
                    parts.select(names, None, label, lambda event: self.take_file(Path(event.value)), width="24rem")
                parts.upload(self.view.workspace, "Choose a file with a tree, or drop it here", self.take_file)

    def _build_steps(self) -> None:
        steps = self.tree.steps

        async def go(by: int) -> None:
            if self.tree.step(by):
                self.refused, self.asks_file = None, False
                await self._show_anew()

        with parts.row():
            parts.button("Undo", lambda: go(-1), "quiet").set_enabled(steps.undoes is not None)
            parts.button("Redo", lambda: go(1), "quiet").set_enabled(steps.redoes is not None)
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
        try:
            await asyncio.to_thread(self.tree.check, spec)
        except InputError as error:  # a parameter that does not work
            self.refused = None, as_sentence(error), False
            self._choice.refresh()
            return
        self.refused, self.asks_file = None, False
        self.tree.take(spec, did or f"took {spec_words(spec)}")
        await self._show_anew()

    async def take_file(self, path: Path) -> None:
        """Takes the tree in a file, if it holds one."""
        path = self.view.workspace.inside(path, path.name)
        self.project.remember(path)
        try:
            await asyncio.to_thread(tree_in, path)
        except InputError as error:
            self.refused = path, why_refused(error, path), isinstance(error, SeveralRoots)
            self.better = await asyncio.to_thread(best_column, path, self.tree.values.names)
            self.asks_file = True
            self._choice.refresh()
            return
        await self._take(os.path.relpath(path, self.project.folder), f"took {path.name}")

    # The tree.

    def _build_tree(self) -> None:
        self.bench = None
        if self.trouble is not None:
            parts.notice(self.trouble, "bad")
        elif isinstance(self.loaded, Loaded):

            async def again() -> None:
                await self._show_anew(focus=True)

            self.bench = Workbench(self.tree, self.loaded, self._build_steps, again, self.view.jobs.warm, self._offer())
            if self.known is not None and self.known[0] is self.loaded:
                self.bench.notes = self.known[1]
            self.bench.build()
        elif (number := learned_number(self.tree.spec)) is not None:
            self._build_learning(number)
        elif not self.tree.values.names:
            parts.notice("There is nothing to look at: all values are missing.")
        else:
            parts.empty(
                "There is no tree to look at",
                "None is needed here. Choose another way above if you want to say yourself what belongs together.",
            )

    def _build_learning(self, number: int) -> None:
        if latest_job(self.project, self.view.jobs, number) is not None:
            build_waiting(self.view, "Learning the tree", number)
            return

        def learn() -> None:
            submit(self.project, self.view.jobs, number)
            self.view.reload()

        with parts.empty(
            "It is learned when the release is made",
            "You can have it learned now, to look at it, name its groups and edit it.",
        ):
            parts.button("Learn it now", learn)


def fit_offer(fit: ColumnFit) -> str:
    """What a button says that takes a column of a tree's file."""
    return f"Take column {fit.names[0]}: fits {fit.known:,} of {fit.values:,}"


def why_refused(error: InputError, path: Path) -> str:
    """Why a file was not taken, without the path and the command that a page has a button for."""
    message = error.without_remedy if isinstance(error, SeveralRoots) else error.message
    text = message.render(in_app, show_values=True)
    return as_sentence(text.removeprefix(f"{PLACE}{path}").lstrip(":, ").replace(str(path), path.name))


def _is_done(view: View) -> bool:
    return all(fit_words(view.project, need)[1] in ("good", "warn") for need in needs(view.project))


PANEL = Panel(
    "hierarchies",
    "Hierarchies",
    "Say which values belong together: a release replaces what is rare by what stands above it in these trees.",
    build,
    needs_data,
    _is_done,
)
