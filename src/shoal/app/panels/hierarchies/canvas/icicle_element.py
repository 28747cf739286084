"""The icicle as an element of a page: a canvas that `icicle.js` draws, with its keys, clicks and drags as events."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from typing import Any

from nicegui import ui

from shoal.app.widgets import components as parts

MOST_NODES = 5_000
"""Nodes that one act may be about."""


class IcicleElement:
    """What is drawn of a window. `on_act` gets what was done, and what came with it."""

    def __init__(self, label: str, drawn: dict[str, Any], on_act: Callable[[str, dict[str, Any]], Any]) -> None:
        event = f"icicle-{secrets.token_hex(6)}"
        says = f"says-{secrets.token_hex(6)}"
        props = {"role": "application", "aria-roledescription": "icicle", "aria-label": label, "tabindex": "0"}
        self.element = ui.element("shoal-icicle").classes("sh-icicle")
        self.element.props.update(props | {"data-event": event, "data-says": says, "data-drawn": json.dumps(drawn)})
        parts.text("", "p", "sh-hidden", role="status", id=says)

        async def act(arguments: Any) -> None:
            given = arguments.args or {}
            verb = str(given.pop("act", ""))
            await parts.speaking(lambda: on_act(verb, given))()

        ui.on(event, act)

    def draw(self, drawn: dict[str, Any]) -> None:
        self.element.props["data-drawn"] = json.dumps(drawn)
        self.element.update()


def nodes_in(given: Any, most: int) -> list[int]:
    """The nodes that an event names, of a tree with so many."""
    named = given if isinstance(given, list) else [given]
    return [v for v in named[:MOST_NODES] if isinstance(v, int) and 0 <= v < most]
