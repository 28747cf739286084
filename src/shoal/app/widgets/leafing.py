"""Leafing: a table of which a page shows one leaf at a time, read on the server in a thread when it is turned to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nicegui import ui

from shoal.app.project.wording import as_sentence
from shoal.app.widgets import components as parts
from shoal.app.widgets.preview import MOST_COLUMNS, Preview
from shoal.errors import InputError


@dataclass(frozen=True)
class Leaf:
    """A few rows of a table."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    start: int
    total: int | None
    """None while nobody has counted."""


Load = Callable[[int, str], Leaf]
"""The leaf that begins at a row, of those that fit a search."""


async def leaves(
    load: Load, caption: str, count: int, *, what: str = "rows", search: str | None = None, numbered: bool = False
) -> None:
    """A table with its buttons. `search` is the label of a field to search in it, None for none."""
    state: dict[str, Any] = {"search": ""}

    @ui.refreshable
    def shown() -> None:
        if "fault" in state:
            parts.notice(state["fault"], "bad")
            return
        leaf: Leaf = state["leaf"]
        if not leaf.rows:
            parts.why_line("Nothing fits." if state["search"] else f"There are no {what}.")
            return
        parts.table(leaf.header, leaf.rows, caption=caption, first=leaf.start + 1 if numbered else None)
        last = leaf.start + len(leaf.rows)
        of = "" if leaf.total is None else f" of {leaf.total:,}"
        if leaf.start or leaf.total is None or last < leaf.total:
            with parts.row():
                back = parts.button("Previous", lambda: turn(leaf.start - count), "quiet")
                back.set_enabled(leaf.start > 0)
                back.props["aria-label"] = f"Previous {what}: {caption}"
                where = parts.text(f"{leaf.start + 1:,} to {last:,}{of} {what}", "span", "sh-why")
                where.props["role"] = "status"
                on = parts.button("Next", lambda: turn(last), "quiet")
                on.set_enabled(len(leaf.rows) == count and (leaf.total is None or last < leaf.total))
                on.props["aria-label"] = f"Next {what}: {caption}"

    async def fetch(start: int) -> None:
        try:
            found = await asyncio.to_thread(load, max(0, start), state["search"])
            if found.rows or not start:  # past the end of what nobody has counted: stay
                state["leaf"] = found
            state.pop("fault", None)
        except InputError as error:
            state["fault"] = as_sentence(error)
        except OSError:
            state["fault"] = "The file is gone; run it again to see it here."

    async def turn(start: int) -> None:
        await fetch(start)
        shown.refresh()

    async def look_for(event: Any) -> None:
        state["search"] = str(event.value or "").strip()
        await turn(0)

    if search is not None:
        field = ui.input(search, on_change=parts.said(look_for)).props("outlined dense clearable debounce=300")
        field.style("max-width: 22rem")
    await fetch(0)
    shown()


def rows_of(preview: Preview, total: int | None, count: int, wanted: Sequence[str] | None = None) -> Load:
    """The rows of a file, of some of its columns."""
    places = [
        place for place, name in enumerate(preview.columns[:MOST_COLUMNS]) if wanted is None or name in wanted
    ] or list(range(min(MOST_COLUMNS, len(preview.columns))))
    header = [preview.columns[place] for place in places]

    def load(start: int, search: str) -> Leaf:
        found = preview.page(start, count)
        return Leaf(header, [[row[place] for place in places] for row in found], start, total)

    return load
