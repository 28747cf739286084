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
    load: Load,
    caption: str,
    at_once: int,
    *,
    what: str = "rows",
    search: str | None = None,
    numbered: bool = False,
    count: Callable[[], int] | None = None,
) -> None:
    """A table with its buttons. `search` is the label of a field to search in it; `count` counts what nobody has counted, meanwhile."""
    state: dict[str, Any] = {"search": "", "total": None}

    @ui.refreshable
    def show() -> None:
        if "fault" in state:
            parts.notice(state["fault"], "bad")
            return
        leaf: Leaf = state["leaf"]
        if not leaf.rows:
            parts.why_line("Nothing fits." if state["search"] else f"There are no {what}.")
            return
        parts.table(leaf.header, leaf.rows, caption=caption, first=leaf.start + 1 if numbered else None)
        total = state["total"] if leaf.total is None else leaf.total
        parts.turning(leaf.start, at_once, total, turn, what, shown=len(leaf.rows), of=caption)

    async def fetch(start: int) -> None:
        try:
            leaf = await asyncio.to_thread(load, max(0, start), state["search"])
            if leaf.rows or not start:  # past the end of what nobody has counted: stay
                state["leaf"] = leaf
            state.pop("fault", None)
        except InputError as error:
            state["fault"] = as_sentence(error)
        except OSError:
            state["fault"] = "The file is gone; run it again to see it here."

    async def turn(start: int) -> None:
        await fetch(start)
        show.refresh()

    async def look_for(words: str) -> None:
        state["search"] = words
        await turn(0)

    async def count_all() -> None:
        try:
            state["total"] = await asyncio.to_thread(count) if count else None
        except InputError as error:
            state["fault"] = as_sentence(error)
        show.refresh()

    if search is not None:
        parts.search_field(search, look_for)
    await fetch(0)
    show()
    if count is not None:
        ui.timer(0.1, count_all, once=True)


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
