"""The cut on the tree: how far items went up, and the tree node by node with what is published of it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from nicegui import ui

from shoal.app.jobs.queue import Job
from shoal.app.panels.release.handover import table_of
from shoal.app.panels.result.run_tables import ABOVE, BELOW, DROPPED, PUBLISHED, children_of
from shoal.app.widgets import components as parts
from shoal.drawing.bars import Bar, bars

AT_ONCE = 15
STATES = {
    ABOVE: ("split further", ""),
    PUBLISHED: ("published", "good"),
    BELOW: ("hidden in what is above", ""),
    DROPPED: ("left out", "warn"),
}


def level_bars(levels: list[dict[str, Any]]) -> str:
    """How many occurrences went up how far."""
    shown = []
    for level in levels:
        up = level["levels_up"]
        name = "left out" if up is None else "as themselves" if up == 0 else f"{up} level{'s' if up > 1 else ''} up"
        figure = f"{level['share']:.1%}"
        shown.append(
            Bar(f"{name} ({level['items']:,} items)", level["share"], figure, "before" if up is None else "after")
        )
    return bars(shown, "Share of all occurrences by how far their item went up")


async def build_cut(run: Job, result: Any) -> None:
    """The card about the tree; a line where every class of rows has its own recoding."""
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
        parts.chart(level_bars(levels), "How far items went up")
        state: dict[str, Any] = {"node": None, "start": 0, "search": ""}

        async def fetch() -> None:
            state["found"], state["way"] = await asyncio.to_thread(
                children_of, path, state["node"], state["start"], AT_ONCE, state["search"]
            )

        async def go(node: int | None) -> None:
            state.update(node=node, start=0, search="")
            field.value = ""
            await fetch()
            shown.refresh()

        async def turn(start: int) -> None:
            state["start"] = start
            await fetch()
            shown.refresh()

        async def look_for(event: Any) -> None:
            words = str(event.value or "").strip()
            if words != state["search"]:
                state.update(search=words, start=0)
                await fetch()
                shown.refresh()

        field = ui.input("Search the tree", on_change=parts.said(look_for))
        field.props("outlined dense clearable debounce=300").style("max-width: 22rem")

        @ui.refreshable
        def shown() -> None:
            _build_way(state, go)
            _build_nodes(state, go)
            _build_turning(state, turn)

        await fetch()
        shown()


def _build_way(state: dict[str, Any], go: Any) -> None:
    if state["search"]:
        parts.why_line(f"Nodes whose name holds “{state['search']}”.")
        return
    with ui.element("nav").classes("sh-row") as way:
        way.props["aria-label"] = "The way to this part of the tree"
        for node in state["way"][:-1]:
            parts.button(node["name"], partial(go, node["node"]), "quiet").props("dense")
            parts.text("›", "span", "sh-why")
        here = state["way"][-1]
        parts.text(here["name"], "strong")
        parts.tag(*STATES[here["state"]])


def _build_nodes(state: dict[str, Any], go: Any) -> None:
    if not state["found"].rows:
        parts.why_line("Nothing fits." if state["search"] else "There is nothing below it: it is an item.")
        return
    with ui.element("div").classes("sh-table-box"), ui.element("table").classes("sh-table"):
        parts.text("A part of the tree", "caption", "sh-hidden")
        with ui.element("thead"), ui.element("tr"):
            for title in ("Node", "In the release", "Items below", "Occurrences", "Rows that show it", ""):
                parts.text(title, "th").props["scope"] = "col"
        with ui.element("tbody"):
            for node in state["found"].rows:
                with ui.element("tr"):
                    parts.text(node["name"], "th").props["scope"] = "row"
                    with ui.element("td"):
                        parts.tag(*STATES[node["state"]])
                    parts.text(f"{node['items']:,}", "td")
                    parts.text(f"{node['occurrences']:,}", "td")
                    parts.text(f"{node['rows']:,}" if node["state"] == PUBLISHED else "", "td")
                    with ui.element("td"):
                        if node["items"] > 1:
                            into = parts.button("Open", partial(go, node["node"]), "quiet").props("dense")
                            into.props["aria-label"] = f"Open {node['name']}"


def _build_turning(state: dict[str, Any], turn: Any) -> None:
    found = state["found"]
    if found.total <= AT_ONCE:
        return
    last = found.start + len(found.rows)
    with parts.row():
        parts.button("Previous", lambda: turn(found.start - AT_ONCE), "quiet").set_enabled(found.start > 0)
        parts.text(f"{found.start + 1:,} to {last:,} of {found.total:,} nodes", "span", "sh-why")
        parts.button("Next", lambda: turn(last), "quiet").set_enabled(last < found.total)
