"""Values of the data that a tree does not know: a page of them, with remedies that are one click away."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from nicegui import ui

from shoal.app.panels.hierarchies.tree_page import short
from shoal.app.panels.hierarchies.tree_steps import hang_values
from shoal.app.panels.hierarchies.trees import hang_unknown, hangs_unknown, is_file, spec_of
from shoal.app.widgets import components as parts

if TYPE_CHECKING:
    from shoal.app.panels.hierarchies.tree_workbench import Workbench

MISSING_AT_ONCE = 6


class MissingCard:
    """The missing values of a tree that is looked at; `show` builds the card, and builds it anew with `refresh`."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.start = 0
        self.show = ui.refreshable(self._build)

    def _build(self) -> None:
        missing = self.bench.loaded.missing
        if not missing:
            if is_file(spec_of(self.bench.project, self.bench.need)):
                parts.notice(f"The tree knows all {self.bench.loaded.known:,} {self.bench.thing}s of the data.", "good")
            return
        one = len(missing) == 1
        count = f"{len(missing):,} {self.bench.thing}{'' if one else 's'}"
        with parts.card(f"{count} of the data {'is' if one else 'are'} not in the tree"):
            if not self.bench.loaded.known:
                parts.text(f"The tree knows no {self.bench.thing} of the data: this may be the tree of something else.")
            if hangs_unknown(self.bench.project):
                parts.notice(
                    "They are hung right under the root: each is published as it is, or as the root, which is anything.",
                    "warn",
                )
                parts.button("Do not hang them there", lambda: self._hang_unknown(False), "quiet")
            else:
                parts.notice("No release can be made before each has a place.", "bad")
                parts.why_line(
                    "Choose a node in the tree below to hang them under, or take the root, the top of the tree."
                )
            target = self._target()
            where = None if target is None else short(self.bench.loaded.tree.names[target])
            with parts.row():
                if not hangs_unknown(self.bench.project):
                    words = "Hang it under the root" if one else f"Hang all {len(missing):,} under the root"
                    parts.button(words, lambda: self._hang_unknown(True))
                if where is not None and not one:
                    parts.button(f"Hang all {len(missing):,} under “{where}”", lambda: self._hang(missing), "quiet")
            self._build_rows(where)

    def _build_rows(self, where: str | None) -> None:
        loaded, start = self.bench.loaded, self.start
        shown = list(zip(loaded.missing, loaded.missing_counts, strict=True))[start : start + MISSING_AT_ONCE]
        with ui.element("div").classes("sh-table-box"), ui.element("table").classes("sh-table"):
            parts.text("Missing values", "caption", "sh-hidden")
            with ui.element("thead"), ui.element("tr"):
                for title in (self.bench.thing.capitalize(), self.bench.unit.capitalize(), "Remedy"):
                    parts.text(title, "th").props["scope"] = "col"
            with ui.element("tbody"):
                for name, count in shown:
                    with ui.element("tr"):
                        parts.text(short(name), "td")
                        parts.text(f"{count:,}", "td")
                        with ui.element("td"):
                            words = "Choose a node first" if where is None else f"Hang under “{where}”"
                            found = parts.button(words, partial(self._hang, (name,)), "quiet")
                            found.classes("sh-narrow").set_enabled(where is not None)
        if len(loaded.missing) > MISSING_AT_ONCE:
            with parts.row():
                last = start + len(shown)
                parts.button("Before", lambda: self._turn(-MISSING_AT_ONCE), "quiet").set_enabled(start > 0)
                parts.text(f"{start + 1:,} to {last:,} of {len(loaded.missing):,}", "span", "sh-why")
                parts.button("More", lambda: self._turn(MISSING_AT_ONCE), "quiet").set_enabled(
                    last < len(loaded.missing)
                )

    def _turn(self, by: int) -> None:
        self.start = max(0, self.start + by)
        self.show.refresh()

    def _target(self) -> int | None:
        """The one inner node that is chosen."""
        chosen = list(self.bench.browser.chosen)
        return chosen[0] if len(chosen) == 1 and chosen[0] >= self.bench.loaded.tree.n_leaves else None

    async def _hang_unknown(self, yes: bool) -> None:
        hang_unknown(self.bench.project, yes)
        await self.bench.again()

    async def _hang(self, names: tuple[str, ...]) -> None:
        target = self._target()
        if target is not None:
            await asyncio.to_thread(
                hang_values, self.bench.project, self.bench.need, self.bench.values, self.bench.loaded, names, target
            )
            self.bench.remember()
            await self.bench.again()
