"""The tree of a column in the page: missing values with their remedies, search, icicle, rows, edits and export."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from nicegui import ui

from shoal.app.jobs.warm import Warm
from shoal.app.panels.hierarchies.canvas.tree_canvas import TreeCanvas
from shoal.app.panels.hierarchies.column_tree import ColumnTree
from shoal.app.panels.hierarchies.loaded_tree import Loaded
from shoal.app.panels.hierarchies.node_search import NodeSearch, node_button
from shoal.app.panels.hierarchies.tree_browser import Browser
from shoal.app.panels.hierarchies.tree_missing import MissingCard
from shoal.app.panels.hierarchies.tree_page import TreeElement, short
from shoal.app.project.own_files import safe_name
from shoal.app.widgets import components as parts
from shoal.hierarchy import edit as edits
from shoal.hierarchy.files import hierarchy_text
from shoal.hierarchy.tree import Hierarchy

TARGETS = 8
"""Nodes that are offered as the target of a move."""
EXPORTS = {
    "parent-child": ("Parent and child, CSV", ".csv"),
    "arx": ("ARX: one row per item, CSV", ".csv"),
    "amnesia": ("Amnesia, text", ".txt"),
    "json": ("Nested JSON", ".json"),
}
MOST_REMEMBERED = 60


class Workbench:
    """A tree that is looked at. `build_steps` makes the buttons for undo; `again` is called after an edit: the plan names another tree
    then. `warm` is the process that says what the tree allows. `offer` is another column of its file that fits better, in words, with what
    takes it. `note` brings what is counted later."""

    def __init__(
        self,
        tree: ColumnTree,
        loaded: Loaded,
        build_steps: Callable[[], None],
        again: Callable[[], Awaitable[None]],
        warm: Warm,
        offer: tuple[str, Callable[[], Awaitable[None]]] | None = None,
    ) -> None:
        self.tree, self.loaded, self.project, self.need = tree, loaded, tree.project, tree.need
        self.notes: Sequence[tuple[str, str]] = ()
        self.build_steps, self.again, self.offer = build_steps, again, offer
        self.client = ui.context.client
        seen = (self.project.settings.get("tree_open") or {}).get(self.need.column) or {}
        self.browser = Browser(loaded, seen.get("open") or ())
        if (top := loaded.node(str(seen.get("top")))) is not None:
            self.browser.start_at(top)
        chosen = [v for name in seen.get("chosen") or () if (v := loaded.node(name)) is not None]
        if chosen and not any(row.node in chosen for row in self.browser.rows()):
            self.browser.show(chosen[0])
        self.browser.chosen = dict.fromkeys(chosen)
        self.search = NodeSearch(self.browser, self._show)
        self.missing = MissingCard(self)
        self.canvas = TreeCanvas(self, warm)
        self._trail = ui.refreshable(self._build_trail)
        self._side = ui.refreshable(self._build_side)
        self._notes = ui.refreshable(self._build_notes)

    @property
    def unit(self) -> str:
        return "times" if self.need.is_items else "rows"

    @property
    def thing(self) -> str:
        return "item" if self.need.is_items else "value"

    def build(self) -> None:
        tree = self.loaded.tree
        self.missing.show()
        with parts.card("The tree"):
            parts.why_line(
                f"{tree.n_leaves:,} {self.thing}s under {_nodes(tree.n_nodes - tree.n_leaves)}, up to {tree.height} "
                f"{'step' if tree.height == 1 else 'steps'} from the top. Only what can be seen is in this page."
            )
            with parts.row():
                self.search.field("Search in the tree").style("min-width: 20rem")
                self.build_steps()
            self.search.hits()
            self.canvas.build()
            self._trail()
            with ui.element("div").classes("sh-bench"):
                self.element = TreeElement(self.browser, f"Tree of {self.need.column}", self.unit, self._act)
                with ui.element("div").classes("sh-side") as side:
                    side.props["role"], side.props["aria-label"] = "group", "What is chosen"
                    self._side()
            self._notes()
            self._build_export()

    def note(self, notes: Sequence[tuple[str, str]]) -> None:
        """Shows what there is to know about the tree."""
        if list(notes) != list(self.notes):
            self.notes = notes
            self._notes.refresh()

    def _build_notes(self) -> None:
        """What there is to know about the tree besides missing values."""
        grave = [text for grade, text in self.notes if grade != "note"]
        for text in grave:
            parts.notice(text, "warn")
        others = [text for grade, text in self.notes if grade == "note"]
        if others:
            with ui.expansion(f"What else there is to know ({len(others)})").classes("sh-wide"):
                for text in others:
                    parts.why_line(text)

    # Looking.

    def _act(self, act: str, node: int) -> None:
        browser = self.browser
        if act == "toggle":
            browser.toggle(node)
        elif act in ("next", "before"):
            browser.turn(node, act == "next")
        elif act in ("choose", "also"):
            browser.choose(node, act == "also")
            self.canvas.show(node)
            self._side.refresh()
            self.missing.show.refresh()
        self._drawn()

    def _drawn(self) -> None:
        self.element.draw(self.browser)
        self._trail.refresh()
        self.remember()
        self.canvas.draw()

    def drawn_anew(self) -> None:
        """Draws list and icicle, and what can be done with what is chosen."""
        self._side.refresh()
        self.missing.show.refresh()
        self._drawn()

    def look_at(self, node: int) -> None:
        """Chooses a node and opens the way to it in the list."""
        self.browser.show(node)

    async def undo(self) -> None:
        """Takes back the last edit."""
        if self.tree.step(-1):
            await self.again()

    def remember(self) -> None:
        names = self.loaded.tree.names
        known = dict(self.project.settings.get("tree_open") or {})
        known[self.need.column] = {
            "open": self.browser.names_open()[-MOST_REMEMBERED:],
            "top": names[self.browser.top],
            "chosen": [names[v] for v in self.browser.chosen][:MOST_REMEMBERED],
        }
        self.project.set(tree_open=known)

    def _show(self, node: int) -> None:
        self.browser.show(node)
        self.search.clear()
        self._side.refresh()
        self.missing.show.refresh()
        self.canvas.show(node)
        self._drawn()
        self.client.run_javascript(
            "requestAnimationFrame(() => document.querySelector('.sh-tree [aria-selected=true]')"
            "?.scrollIntoView({block: 'nearest'}))"
        )

    def _build_trail(self) -> None:
        above = self.browser.trail()
        if not above:
            return
        with parts.row().classes("sh-trail"):
            parts.text("Above:", "span", "sh-why")
            for v in above[-6:]:
                node_button(self.loaded.tree.names[v], partial(self._start_at, v))

    def _start_at(self, node: int) -> None:
        self.browser.start_at(node)
        self._drawn()

    # Edits.

    async def edit(self, verb: Callable[[Hierarchy], Hierarchy], did: str, name: str | None = None) -> None:
        """Does it; afterwards the node of this name is chosen."""
        await asyncio.to_thread(self.tree.edit, self.loaded, verb, did)
        before = [self.loaded.tree.names[v] for v in self.browser.chosen]
        self.remember()
        known = dict(self.project.settings.get("tree_open") or {})
        seen = dict(known.get(self.need.column) or {})
        seen["chosen"] = before if name is None else [name]
        if name is not None and len(before) == 1 and before[0] in seen.get("open", ()):
            seen["open"] = [*seen["open"], name]
        self.project.set(tree_open=known | {self.need.column: seen})
        await self.again()

    def _build_side(self) -> None:
        chosen, tree = list(self.browser.chosen), self.loaded.tree
        if not chosen:
            parts.heading("Nothing is chosen", 3)
            parts.why_line("Click a name to rename, move or merge it. The boxes, or the space key, choose several.")
            parts.why_line("Keys: ↑ ↓ walk, → opens, ← closes, Enter does both.")
            return
        if len(chosen) == 1:
            self._build_one(chosen[0])
        else:
            self._build_several(chosen)
        if tree.root not in chosen:
            self._build_move(chosen)

    def _build_one(self, node: int) -> None:
        loaded, tree = self.loaded, self.loaded.tree
        parts.heading(short(tree.names[node]), 3)
        if node != tree.root:
            parts.why_line(f"Under {self.browser.way_to(node)}")
        times = int(loaded.counts[node])
        count = f"{times:,} {self.unit[:-1] if times == 1 else self.unit} in the data"
        if node < tree.n_leaves:
            parts.why_line(f"{count}. It is a value of the data and keeps its name.")
            return
        below = int(tree.leaf_count[node])
        parts.why_line(f"{below:,} {self.thing}{'' if below == 1 else 's'} below, {count}.")

        async def rename(label: str) -> None:
            did = f"renamed “{short(tree.names[node])}” to “{short(label)}”"
            await self.edit(lambda tree: edits.rename(tree, node, label), did, label)

        with _name_field("Name", tree.names[node], "Rename", rename):
            if node != tree.root:

                async def take_out() -> None:
                    above = tree.names[int(tree.parent[node])]
                    did = f"took out “{short(tree.names[node])}”"
                    await self.edit(lambda tree: edits.remove(tree, node), did, above)

                parts.button("Take out", take_out, "quiet").classes("sh-narrow")
        if node != tree.root:
            parts.why_line("Taken out, what is below it moves one step up.")

    def _build_several(self, chosen: list[int]) -> None:
        tree = self.loaded.tree
        parts.heading(f"{len(chosen):,} are chosen", 3)
        names = ", ".join(short(tree.names[v], 30) for v in chosen[:5]) + (", …" if len(chosen) > 5 else "")
        parts.why_line(names)
        if len({int(tree.parent[v]) for v in chosen}) > 1:
            parts.why_line("They hang under different nodes; siblings can be merged into one.")
            return

        async def merge(label: str) -> None:
            did = f"merged {len(chosen)} nodes into “{short(label)}”"
            await self.edit(lambda tree: edits.merge(tree, chosen, label), did, label)

        _name_field("Name of the new node", "", "Merge them", merge)

    def _build_move(self, chosen: list[int]) -> None:
        """Search for a node, then move what is chosen under it, or merge it into it."""
        tree = self.loaded.tree

        async def act(node: int) -> None:
            target = short(tree.names[node])
            what = f"“{short(tree.names[chosen[0]])}”" if len(chosen) == 1 else f"{len(chosen):,} nodes"
            if mode is not None and mode.value == "merge":
                name = tree.names[node]
                await self.edit(
                    lambda tree: edits.merge_into(tree, chosen[0], node), f"merged {what} into “{target}”", name
                )
            else:
                await self.edit(lambda tree: edits.move(tree, chosen, node), f"moved {what} under “{target}”")

        words = "Move it under" if len(chosen) == 1 else "Move them under"
        mode = None
        if len(chosen) == 1 and chosen[0] >= tree.n_leaves:
            modes = {"move": f"{words} …", "merge": "Merge it into …"}
            mode = parts.select(modes, "move", "Or", lambda event: None, width="100%").props("dense")
        label = f"{words} (search)" if mode is None else "The other node (search)"
        targets = NodeSearch(self.browser, act, inner=True, most=TARGETS)
        targets.field(label).classes("sh-wide")
        targets.hits()

    # Export.

    def _build_export(self) -> None:
        with parts.row():
            titles = {name: title for name, (title, _) in EXPORTS.items()}
            form = parts.select(titles, "parent-child", "Format", lambda event: None, width="16rem").props("dense")

            async def download() -> None:
                chosen = str(form.value)
                name = safe_name(f"{self.need.column}-tree{EXPORTS[chosen][1]}")
                text = await asyncio.to_thread(hierarchy_text, self.loaded.tree, chosen, name)
                ui.download.content(text.encode(), name)

            parts.button("Download the tree", download, "quiet")


def _name_field(label: str, value: str, words: str, on_name: Callable[[str], Awaitable[None]]) -> ui.element:
    """A field for a name with the button that uses it, as Enter does, in a row that takes further buttons."""
    field = ui.input(label, value=value).props("outlined dense").classes("sh-wide")

    async def use() -> None:
        await on_name(str(field.value or "").strip())

    field.on("keydown.enter", parts.speaking(use))
    with parts.row() as row:
        parts.button(words, use, "quiet").classes("sh-narrow")
    return row


def _nodes(count: int) -> str:
    return "one node" if count == 1 else f"{count:,} nodes"
