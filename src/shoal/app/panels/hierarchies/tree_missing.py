"""Values of the data that a tree does not know: a page of them, with remedies that are one click away."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from nicegui import ui

from shoal.app.panels.hierarchies.column_tree import hang_unknown, hangs_unknown, is_file
from shoal.app.panels.hierarchies.tree_page import short
from shoal.app.widgets import components as parts

if TYPE_CHECKING:
    from shoal.app.panels.hierarchies.tree_workbench import Workbench

AT_ONCE = 6


class MissingCard:
    """The missing values of a tree that is looked at; `show` builds the card, and builds it anew with `refresh`."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self.missing = sorted(bench.loaded.missing.items(), key=lambda value: -value[1])
        self.start = 0
        self.show = ui.refreshable(self._build)

    def _build(self) -> None:
        bench, many = self.bench, len(self.missing)
        if not many:
            if is_file(bench.tree.spec):
                parts.notice(f"The tree knows all {bench.loaded.known:,} {bench.thing}s of the data.", "good")
            return
        one = many == 1
        with parts.card(f"{many:,} {bench.thing}{' of the data is' if one else 's of the data are'} not in the tree"):
            if not bench.loaded.known:
                parts.text(f"The tree knows no {bench.thing} of the data: this may be the tree of something else.")
            if bench.offer is not None:
                parts.notice("Another column of the same file fits better.", "warn")
                with parts.row():
                    parts.button(*bench.offer)
            hung = hangs_unknown(bench.project)
            if hung:
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
            where = None if target is None else short(bench.loaded.tree.names[target])
            with parts.row():
                if not hung:
                    words = "Hang it under the root" if one else f"Hang all {many:,} under the root"
                    kind = "button" if bench.offer is None else "quiet"
                    parts.button(words, lambda: self._hang_unknown(True), kind)
                if where is not None and not one:
                    names = tuple(name for name, _ in self.missing)
                    parts.button(f"Hang all {many:,} under “{where}”", lambda: self._hang(names), "quiet")
            self._build_rows(where)

    def _build_rows(self, where: str | None) -> None:
        titles = (self.bench.thing.capitalize(), self.bench.unit.capitalize(), "Remedy")
        words = "Choose a node first" if where is None else f"Hang under “{where}”"

        def build(name: str) -> None:
            hang = parts.button(words, partial(self._hang, (name,)), "quiet")
            hang.classes("sh-narrow").set_enabled(where is not None)

        shown = self.missing[self.start : self.start + AT_ONCE]
        rows = [(short(name), f"{count:,}", partial(build, name)) for name, count in shown]
        parts.live_table("Missing values", titles, rows)
        parts.turning(self.start, AT_ONCE, len(self.missing), self._turn, "values")

    def _turn(self, start: int) -> None:
        self.start = start
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
            await asyncio.to_thread(self.bench.tree.hang, self.bench.loaded, names, target)
            self.bench.remember()
            await self.bench.again()
