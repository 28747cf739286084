"""The cut on the tree: how far items went up, and the tree node by node with what is published of it."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from nicegui import ui

from shoal.app.jobs.queue import Job
from shoal.app.panels.release.handover import table_of
from shoal.app.panels.result.run_tables import ABOVE, BELOW, DROPPED, PUBLISHED, children_of
from shoal.app.widgets import components as parts
from shoal.app.widgets.figures import figure
from shoal.app.widgets.pictures import Bars, Group

AT_ONCE = 15
STATES = {
    ABOVE: ("split further", ""),
    PUBLISHED: ("published", "good"),
    BELOW: ("hidden in what is above", ""),
    DROPPED: ("left out", "warn"),
}


def level_bars(levels: list[dict[str, Any]]) -> Bars:
    """How many occurrences went up how far."""

    def name(up: int | None) -> str:
        return "left out" if up is None else "as themselves" if up == 0 else f"{up} level{'s' if up > 1 else ''} up"

    return Bars(
        "Share of all occurrences by how far their item went up",
        [f"{name(level['levels_up'])} ({level['items']:,} items)" for level in levels],
        [
            Group(
                "",
                [level["share"] for level in levels],
                [f"{level['share']:.1%}" for level in levels],
                tones=["gone" if level["levels_up"] is None else "after" for level in levels],
            )
        ],
    )


async def build_cut(run: Job, result: Any) -> None:
    """The card about the tree; nothing where every class of rows has its own recoding."""
    levels = result["release"].get("levels")
    path = table_of(run, "tree")
    if not levels or path is None:
        return
    tree = result["release"]["hierarchy"]
    with parts.card(
        "The cut on the tree",
        f"{tree['source']}: {tree['leaves']:,} items in {tree['height']:,} levels. Where the release cuts the tree, a node is published in "
        "place of all that is below it.",
    ):
        figure(level_bars(levels))
        await _CutBrowser(path).build()


class _CutBrowser:
    """The nodes below a node, or those that a search finds, a page at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.node: int | None = None
        self.search = ""
        self.show = ui.refreshable(self._build)

    async def build(self) -> None:
        self.field = parts.search_field("Search the tree", self.look_for)
        await self._fetch(0)
        self.show()

    async def _fetch(self, start: int) -> None:
        asked = (self.path, self.node, start, AT_ONCE, self.search)
        self.page, self.way = await asyncio.to_thread(children_of, *asked)

    async def turn(self, start: int) -> None:
        await self._fetch(start)
        self.show.refresh()

    async def go(self, node: int) -> None:
        self.node, self.search = node, ""
        self.field.value = ""
        await self.turn(0)

    async def look_for(self, words: str) -> None:
        if words != self.search:
            self.search = words
            await self.turn(0)

    def _build(self) -> None:
        if self.search:
            parts.why_line(f"Nodes whose name holds “{self.search}”.")
        else:
            self._build_way()
        if not self.page.rows:
            parts.why_line("Nothing fits." if self.search else "There is nothing below it: it is an item.")
            return
        titles = ("Node", "In the release", "Items below", "Occurrences", "Rows that show it", "")
        parts.live_table("A part of the tree", titles, map(self._cells, self.page.rows))
        parts.turning(self.page.start, AT_ONCE, self.page.total, self.turn, "nodes", of="the tree")

    def _build_way(self) -> None:
        with parts.element("nav", "sh-row", aria_label="The way to this part of the tree"):
            for node in self.way[:-1]:
                parts.button(node["name"], partial(self.go, node["node"]), "quiet").props("dense")
                parts.text("›", "span", "sh-why")
            here = self.way[-1]
            parts.text(here["name"], "strong")
            parts.tag(*STATES[here["state"]])

    def _cells(self, node: dict[str, Any]) -> tuple[parts.Cell, ...]:
        def build_open() -> None:
            if node["items"] > 1:
                parts.button("Open", partial(self.go, node["node"]), "quiet", f"Open {node['name']}").props("dense")

        rows = f"{node['rows']:,}" if node["state"] == PUBLISHED else ""
        state = partial(parts.tag, *STATES[node["state"]])
        return node["name"], state, f"{node['items']:,}", f"{node['occurrences']:,}", rows, build_open
