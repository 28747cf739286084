"""A tree as an element of a page: rows with roles that screen readers know, made as one text, with its clicks and keys in `tree.js`."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from html import escape
from typing import Any

from nicegui import ui

from shoal.app.panels.hierarchies.tree_browser import Browser, Row
from shoal.app.widgets.components import speaking

LONGEST = 120


class TreeElement:
    """The rows of a browser. `on_act` gets what was done (toggle, choose, also, next, before) and to which node."""

    def __init__(self, browser: Browser, label: str, unit: str, on_act: Callable[[str, int], Any]) -> None:
        self.unit = unit
        event = f"tree-{secrets.token_hex(6)}"
        self.element = ui.html(tree_html(browser, unit), sanitize=False).classes("sh-tree")
        props = {"role": "tree", "aria-label": label, "aria-multiselectable": "true", "data-event": event}
        self.element.props.update(props)

        async def act(arguments: Any) -> None:
            given = arguments.args or {}
            verb, node = str(given.get("act", "")), given.get("node")
            if isinstance(node, int):
                await speaking(lambda: on_act(verb, node))()

        ui.on(event, act)

    def draw(self, browser: Browser) -> None:
        self.element.set_content(tree_html(browser, self.unit))


def tree_html(browser: Browser, unit: str) -> str:
    """The rows that are shown. Names come from files of strangers: they are escaped."""
    rows = list(browser.rows())
    focus = next((v for v in browser.chosen if any(row.node == v for row in rows)), browser.top)
    return "".join(_row_html(browser, row, unit, focus) for row in rows)


def _row_html(browser: Browser, row: Row, unit: str, focus: int) -> str:
    if row.more is not None:
        return _more_html(row)
    loaded = browser.loaded
    leaf = row.is_open is None
    opened = "" if leaf else f' aria-expanded="{"true" if row.is_open else "false"}"'
    chosen = "true" if row.node in browser.chosen else "false"
    below = "" if leaf else f"{int(loaded.tree.leaf_count[row.node]):,} below · "
    count = int(loaded.counts[row.node])
    return (
        f'<div role="treeitem" data-node="{row.node}" aria-level="{row.level}" aria-posinset="{row.place}" '
        f'aria-setsize="{row.of}" aria-selected="{chosen}"{opened} tabindex="{0 if row.node == focus else -1}" '
        f'style="--level:{row.level}"><i data-act="toggle" aria-hidden="true"></i>'
        f'<i data-act="also" aria-hidden="true"></i><b>{escape(short(loaded.tree.names[row.node], LONGEST))}</b>'
        f"<span>{below}{count:,} {escape(unit[:-1] if count == 1 else unit)}</span></div>"
    )


def _more_html(row: Row) -> str:
    assert row.more is not None
    first, last, of = row.more
    before = (
        f'<button type="button" data-act="before" data-node="{row.node}" tabindex="-1"{" disabled" * (first == 1)}>'
    )
    after = f'<button type="button" data-act="next" data-node="{row.node}" tabindex="-1"{" disabled" * (last == of)}>'
    return (
        f'<div role="treeitem" class="sh-tree-more" data-more="{row.node}" aria-level="{row.level}" tabindex="-1" '
        f'style="--level:{row.level}">{before}Before</button><span>{first:,} to {last:,} of {of:,}</span>'
        f"{after}More</button></div>"
    )


def short(name: str, most: int = 60) -> str:
    """A name for a place that has no room for a long one."""
    return name if len(name) <= most else f"{name[: most - 1]}…"
