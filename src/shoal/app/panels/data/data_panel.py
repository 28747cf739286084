"""Data: which file, how it is read, and what each of its columns is.

Formats and roles are guessed with a reason (`shoal.plan.draft`), and changed by a click. Rows are shown a page at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from nicegui import ui

from shoal.app.panels import Panel, needs_data, never
from shoal.app.panels.data.quasi_card import QuasiCard
from shoal.app.project.drafts import begin, bring, other_way, read_as_missing, set_numeric, set_role, set_roles
from shoal.app.project.plan_files import is_plan
from shoal.app.project.wording import ROLES, as_sentence
from shoal.app.project.workspace import Workspace
from shoal.app.server.shell import View
from shoal.app.widgets import components as parts
from shoal.app.widgets.leafing import leaves, rows_of
from shoal.app.widgets.preview import MOST_COLUMNS, PAGE, Preview
from shoal.errors import InputError
from shoal.records.foreign.oddities import Oddity, missing_marks, rewrite
from shoal.records.layout import FORMATS, SEPARATORS
from shoal.records.roles import NO_COLUMN

WHOSE = 3
"""Columns that are offered at most as saying whose a row is."""
AT_ONCE = 40
"""Columns that are listed at a time."""
UNDECIDED = "Decide …"
_NAMES = {
    "csv": "CSV, columns separated by commas or the like",
    "tsv": "TSV, columns separated by tabs",
    "long": "Long CSV, one item a row",
    "dat": "FIMI text, one set a line",
    "jsonl": "JSON lines",
    "parquet": "Parquet",
    "arrow": "Arrow (Feather)",
}
_AS_NAMED = "as named"
_MARKS = {None: "detected", " ": "blanks", "\t": "tabs"} | {m: m for m in SEPARATORS if m != "\t"}


async def build(view: View) -> None:
    _build_file(view)
    trouble = view.project.settings.get("trouble")
    if trouble:
        parts.notice(str(trouble), "bad")
    await _build_remedy(view, str(trouble or ""))
    if not trouble:
        await _build_gaps(view)
    if view.project.draft:
        quasi = QuasiCard(view)
        _build_roles(view, quasi)
        quasi.show()
    await _build_preview(view)


async def _build_remedy(view: View, trouble: str) -> None:
    """Where the file could not be read, as one column only, or without names of columns: what may be odd about it, and the way out."""
    path = _data(view)
    odd = None if path is None else await asyncio.to_thread(other_way, path, trouble=bool(trouble))
    if path is None or odd is None or not (trouble or odd.headless or len(view.project.roles) == 1):
        return

    async def read_so() -> None:
        copy = await asyncio.to_thread(plain_copy, view.workspace, path, odd)
        await asyncio.to_thread(begin, view.project, copy)
        view.reload()

    with parts.card("Read it in another way?"):
        parts.notice(odd.in_words(), "warn")
        with parts.row():
            parts.button("Read it this way", read_so)
            parts.text("It is copied to the uploads for that; your file stays as it is.", "span", "sh-why")


async def _build_gaps(view: View) -> None:
    """What seems to stand for a missing value, column by column, and a click that reads it as one."""
    path = _data(view)
    if path is None or path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        return
    marks = await asyncio.to_thread(missing_marks, path)
    marks = {name: mark for name, mark in marks.items() if view.project.roles.get(name) != "drop"}
    if not marks:
        return

    async def read_so(chosen: dict[str, str]) -> None:
        await asyncio.to_thread(read_as_missing, view.workspace, view.project, path, chosen)
        view.reload()

    with parts.card(
        "Missing values?",
        "An empty cell is a missing value. These look like one, and count as values until you say so.",
    ):
        shown = list(marks.items())[:AT_ONCE]
        for name, mark in shown:
            with parts.row():
                parts.text(f"“{mark}” in column {name}", "span")
                words = f"Read “{mark}” in column {name} as missing"
                parts.button("Read it as missing", partial(read_so, {name: mark}), "quiet", words)
        if len(marks) > 1:
            with parts.row():
                parts.button("Read all of these as missing", partial(read_so, marks))
        parts.why_line("The data are copied to the uploads for that; your file stays as it is.")


def _build_whose(view: View, refresh: Callable[[], None]) -> None:
    """A column that seems to say whose a row is, and a click that makes it say so."""
    project = view.project
    guesses = project.settings.get("guesses", {})
    found = [name for name, guess in guesses.items() if guess.get("whose") and name in project.roles]
    if not found or project.of_role("person") or "id" in project.roles.values():
        return

    def count_people(name: str) -> None:
        set_role(project, name, "person")
        refresh()

    for name in found[:WHOSE]:
        parts.notice(
            f"Column {name} seems to say whose a row is, and people have several. The rows of one person do not hide each other, but "
            "count as if they did.",
            "warn",
        )
        with parts.row():
            parts.button(f"Count people by {name}", partial(count_people, name), "quiet")


def plain_copy(workspace: Workspace, path: Path, odd: Oddity) -> Path:
    """A copy of an odd file as Shoal reads it, among the uploads."""
    with workspace.part() as part:
        rewrite(path, odd, part)
        return workspace.keep(part, f"{path.name.partition('.')[0]}-read.csv")


def _data(view: View) -> Path | None:
    given = view.project.settings.get("data")
    path = None if given is None else (view.project.folder / given).resolve()
    return path if path is not None and path.is_file() and path.is_relative_to(view.workspace.folder) else None


def _build_file(view: View) -> None:
    project = view.project
    path = _data(view)
    with parts.card("The file"):
        if path is None:
            parts.empty("The file is gone", "It was wiped, moved or renamed. Bring it again to go on from here.")
        else:
            uploaded = view.workspace.uploads in path.parents
            shown = path.name if uploaded else str(path.relative_to(view.workspace.folder))
            with parts.row():
                parts.text(shown, "strong")
                parts.text(parts.size(path.stat().st_size), "span", "sh-why")
                parts.tag("uploaded, kept for you alone" if uploaded else "read where it lies")
            _build_sheet(view)
            _build_reading(view, path)

        async def begin_anew(new: Path) -> None:
            if is_plan(new):
                raise InputError(
                    f"{new.name} is a plan, not data; bring it on the first page, where it becomes a project"
                )
            await asyncio.to_thread(bring, view.workspace, project, new)
            view.reload()

        with ui.expansion("Use another file").classes("sh-wide") as other:
            other.value = path is None
            parts.upload(view.workspace, "Choose a file, or drop it here", begin_anew)


def _build_sheet(view: View) -> None:
    """Which sheet of a workbook is read, where there are several."""
    book = view.project.settings.get("workbook") or {}
    if len(book.get("sheets") or ()) < 2:
        return
    path = view.workspace.inside(view.project.folder / str(book["path"]), "the workbook")

    async def choose(event: Any) -> None:
        await asyncio.to_thread(bring, view.workspace, view.project, path, str(event.value))
        view.reload()

    parts.select(list(book["sheets"]), book["sheet"], f"Sheet of {path.name}", choose, width="20rem")


def _build_reading(view: View, path: Path) -> None:
    project = view.project
    source = project.draft.get("input", {})
    looked = project.settings.get("looked", {})
    now = {"format": looked.get("format"), "separator": source.get("separator")}

    async def again(**changed: Any) -> None:
        asked = now | changed
        await asyncio.to_thread(begin, project, path, asked["format"], asked["separator"])
        view.reload()

    def number(value: Any) -> None:
        if value != _AS_NAMED:
            set_numeric(project, value is None)
            view.refresh_steps()

    with parts.row():
        forms = {form: _NAMES[form] for form in FORMATS}
        parts.select(forms, now["format"], "Format", lambda event: again(format=event.value), width="20rem")
        if project.of_role("items") or now["separator"]:
            marks: dict[Any, str] = dict(_MARKS)
            marks.setdefault(now["separator"], str(now["separator"]))

            def part(event: Any) -> None:
                def put(document: dict[str, Any]) -> None:
                    document["input"].pop("separator", None)
                    if event.value is not None:
                        document["input"]["separator"] = event.value

                project.change(put)
                view.refresh_steps()

            parts.select(marks, now["separator"], "Items inside a cell are separated by", part, width="21rem")
        if project.of_role("quasi"):
            parts.select(*_numbers(source.get("numeric")), lambda event: number(event.value), width="21rem")
    told = "Its name tells the format." if looked.get("named") else "Its name does not tell the format; check it."
    if looked.get("rows"):
        what = "all of its" if looked.get("complete") else "its first"
        told += f" Roles were guessed from {what} {looked['rows']:,} rows."
    parts.why_line(told)


def _numbers(given: Any) -> tuple[dict[Any, str], Any, str]:
    """The choice of columns that hold numbers: those found by how they are spelled, none, or what the plan names."""
    named = [] if given in (None, NO_COLUMN) else list(given)
    now = None if given is None else _AS_NAMED if named else NO_COLUMN
    choices: dict[Any, str] = {None: "detected by how they are spelled", NO_COLUMN: "in no column"}
    return choices | ({_AS_NAMED: f"in {', '.join(named)}"} if named else {}), now, "Numbers stand"


def _build_roles(view: View, quasi: QuasiCard) -> None:
    project = view.project
    if not project.roles:
        parts.notice("Every line of this file is one set of items; there are no columns to decide about.")
        return
    with parts.card(
        "What is in the columns?",
        "The guesses come from names and counts. They are yours to change: what nobody has decided about is not published.",
    ):
        with ui.expansion("What the roles mean").classes("sh-wide"):
            parts.table(
                ("Role", "Meaning"), [(name, meaning) for name, meaning in ROLES.values()], caption="What roles mean"
            )
        state = {"from": 0}

        @ui.refreshable
        def standing() -> None:
            without = project.open_columns
            if without:
                one = len(without) == 1
                parts.notice(
                    f"{len(without):,} {'column has' if one else 'columns have'} no role yet. The next steps open when "
                    f"{'it has' if one else 'each has'} one.",
                    "warn",
                )
            else:
                parts.notice("Every column has a role.", "good")
            _build_whose(view, refresh)
            with parts.row():
                if len(without) > 1:
                    parts.button(f"Leave out these {len(without):,}", leave_out, "quiet")
                parts.undo_buttons(project, refresh)

        def leave_out() -> None:
            set_roles(project, project.open_columns, "drop")
            refresh()

        def refresh() -> None:
            standing.refresh()
            rows.refresh()
            quasi.show.refresh()
            view.refresh_steps()

        def choose(name: str, role: str | None) -> None:
            set_role(project, name, role)
            if role == "person":
                rows.refresh()
            standing.refresh()
            quasi.show.refresh()
            view.refresh_steps()

        @ui.refreshable
        def rows() -> None:
            names = list(project.roles)
            shown = names[state["from"] : state["from"] + AT_ONCE]
            cells = [
                (name, partial(_build_role, view, name, choose), partial(_build_reason, view, name)) for name in shown
            ]
            parts.live_table("Columns and their roles", ("Column", "Role", "Why this guess"), cells)
            parts.turning(state["from"], AT_ONCE, len(names), turn, "columns")

        def turn(start: int) -> None:
            state["from"] = start
            rows.refresh()

        standing()
        rows()


def _build_role(view: View, name: str, choose: Callable[[str, str | None], None]) -> None:
    names: dict[str | None, str] = {None: UNDECIDED} | {role: words for role, (words, _) in ROLES.items()}
    role = view.project.roles.get(name)
    parts.select(names, role, f"Role of column {name}", lambda event: choose(name, event.value), quiet=True)


def _build_reason(view: View, name: str) -> None:
    reason = view.project.settings.get("guesses", {}).get(name, {}).get("reason")
    parts.text(as_sentence(str(reason)) if reason else "", "span", "sh-why")


async def _build_preview(view: View) -> None:
    path = _data(view)
    if path is None:
        return
    form = view.project.settings.get("looked", {}).get("format")
    try:
        preview = await asyncio.to_thread(Preview, path, form)
        await asyncio.to_thread(preview.page, 0, PAGE)
    except InputError as error:
        if (why := as_sentence(error)) != view.project.settings.get("trouble"):  # which stands above already
            parts.notice(why, "bad")
        return
    with parts.card("The rows", "A page at a time, as they stand in the file. Only what you see here is in this page."):
        if len(preview.columns) > MOST_COLUMNS:
            parts.why_line(f"The first {MOST_COLUMNS} of {len(preview.columns):,} columns.")
        await leaves(rows_of(preview, None, PAGE), "Rows of the file", PAGE, numbered=True, count=preview.rows)


PANEL = Panel(
    "data",
    "Data",
    "See what Shoal reads, and say what each column is: what others may know, what they want to learn, what must go.",
    build,
    never,
    lambda view: needs_data(view) is None,
)
