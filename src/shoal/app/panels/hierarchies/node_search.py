"""Searching for the nodes of a tree by name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui

from shoal.app.panels.hierarchies.tree_browser import MOST_FOUND, Browser, Hit
from shoal.app.panels.hierarchies.tree_page import short
from shoal.app.widgets import components as parts


class NodeSearch:
    """A field to search for nodes, and a list of what has the words in its name; `on_choose` gets the node that is clicked."""

    def __init__(
        self, browser: Browser, on_choose: Callable[[int], Any], *, inner: bool = False, most: int = MOST_FOUND
    ) -> None:
        self.browser, self.on_choose, self.inner, self.most = browser, on_choose, inner, most
        self.asked = ""
        self.found: tuple[list[Hit], int] = [], 0
        self.hits = ui.refreshable(self._build_hits)

    def field(self, label: str) -> ui.input:
        async def look(event: Any) -> None:
            self.asked = str(event.value or "")
            self.found = await asyncio.to_thread(
                lambda: self.browser.search(self.asked, inner=self.inner, most=self.most)
            )
            self.hits.refresh()

        self._field = ui.input(label, on_change=parts.speaking(look))
        return self._field.props("outlined dense clearable debounce=250 type=search")

    def clear(self) -> None:
        self.asked, self.found = "", ([], 0)
        self._field.set_value("")

    def _build_hits(self) -> None:
        if not self.asked.strip():
            return
        hits, count = self.found
        words = f"{count:,} found" if count else "Nothing has this in its name."
        more = f"; the first {len(hits)} are listed" if count > len(hits) else ""
        parts.text(words + more, "span", "sh-why").props["role"] = "status"
        if not hits:
            return
        with ui.element("ul").classes("sh-hits"):
            for hit in hits:
                with ui.element("li"):
                    node_button(hit.name, partial(self.on_choose, hit.node), hit.path)


def node_button(name: str, on_click: Callable[[], Any], path: str = "") -> None:
    with ui.button(on_click=parts.speaking(on_click), color=None).props("no-caps unelevated flat").classes("sh-hit"):
        parts.text(short(name), "span")
        if path:
            parts.text(path, "small")
