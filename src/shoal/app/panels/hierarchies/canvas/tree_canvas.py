"""The tree as a canvas: an icicle to look at, to edit and to cut, with what one cut loses and who is to blame, anew after each edit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from nicegui import ui

from shoal.app.jobs.warm import Warm
from shoal.app.panels.hierarchies.canvas import cut_words as words
from shoal.app.panels.hierarchies.canvas.cut_question import CutQuestion, answer_to
from shoal.app.panels.hierarchies.canvas.icicle_element import IcicleElement, nodes_in
from shoal.app.panels.hierarchies.canvas.icicle_window import Fate, IcicleWindow
from shoal.app.panels.hierarchies.column_tree import ColumnTree
from shoal.app.panels.hierarchies.loaded_tree import Loaded
from shoal.app.panels.hierarchies.node_search import node_button
from shoal.app.panels.hierarchies.tree_browser import Browser
from shoal.app.panels.hierarchies.tree_page import short
from shoal.app.project.wording import with_capital
from shoal.app.widgets import components as parts
from shoal.errors import InputError
from shoal.hierarchy import edit as edits
from shoal.hierarchy.tree import Hierarchy

LOOKS = 0.1
"""Seconds between two looks at what the process has found."""

Verb = Callable[[Hierarchy], Hierarchy]


class Bench(Protocol):
    """What the canvas works on: the tree that is looked at, and what is chosen of it."""

    tree: ColumnTree
    loaded: Loaded
    browser: Browser

    @property
    def unit(self) -> str: ...
    def drawn_anew(self) -> None: ...
    def look_at(self, node: int) -> None: ...
    async def edit(self, verb: Verb, did: str, name: str | None = None) -> None: ...
    async def undo(self) -> None: ...


class TreeCanvas:
    """The canvas of a workbench."""

    def __init__(self, bench: Bench, warm: Warm) -> None:
        self.bench, self.warm = bench, warm
        self.tree, self.loaded = bench.tree, bench.loaded
        self.client = ui.context.client
        self.window = IcicleWindow(self.loaded, self.loaded.tree.root)
        self.focus: int | None = None
        self.aim = 0
        """Counts how often the focus was put somewhere from here; in between it is where the page has it."""
        self.question = CutQuestion(self.tree, self.loaded, warm)
        self.key = ""
        self.shown: Any = None
        self.failed: str | None = None
        self.problem: str | None = None
        self.way = ui.refreshable(self._build_way)
        self.standing = ui.refreshable(self._build_standing)
        self._recall()

    @property
    def is_cut(self) -> bool:
        """Whether the promise is about sets, which one cut through the tree can keep."""
        return self.tree.need.model == "km"

    # What is remembered, by name: an edit makes another tree.

    @property
    def _memory(self) -> dict[str, Any]:
        return dict((self.tree.project.settings.get("canvas") or {}).get(self.tree.need.column) or {})

    def _recall(self) -> None:
        seen = self._memory
        if (top := self.loaded.node(str(seen.get("top")))) is not None:
            self.window.open_at(top, int(seen.get("first") or 0))
        self.focus = self.loaded.node(str(seen.get("focus")))
        self.window.resize(float(seen.get("width") or self.window.width))
        if len(self.bench.browser.chosen) == 1:
            self.focus = next(iter(self.bench.browser.chosen))
            self.window.show(self.focus)

    def _remember(self) -> None:
        names, window = self.loaded.tree.names, self.window
        known = dict(self.tree.project.settings.get("canvas") or {})
        here = {"top": names[window.top], "first": window.first, "width": window.width}
        known[self.tree.need.column] = here | ({} if self.focus is None else {"focus": names[self.focus]})
        if known != (self.tree.project.settings.get("canvas") or {}):
            self.tree.project.set(canvas=known)

    # What is drawn.

    def build(self) -> None:
        label = f"Icicle of {self.tree.need.column}: the wider a node, the more often it occurs. Arrow keys walk."
        with parts.element("div", "sh-canvas"):
            self.way()
            self.element = IcicleElement(label, self._drawn(), self._act)
            if self.is_cut:
                self._build_legend()
            with ui.expansion("Keys and mouse").classes("sh-wide"):
                parts.why_line(words.KEYS)
            if self.is_cut:
                self.standing()
        if self.is_cut:
            self.timer = ui.timer(LOOKS, parts.speaking(self._look), active=False)
            ui.timer(0.01, parts.speaking(self._ask), once=True)

    def _drawn(self) -> dict[str, Any]:
        return self.window.to_draw(self.bench.browser.chosen, self.focus, self.bench.unit) | {"aim": self.aim}

    def draw(self) -> None:
        """Draws it as it stands now."""
        self.element.draw(self._drawn())
        self.way.refresh()
        self._remember()

    def show(self, node: int) -> None:
        """Opens the window so that a node can be seen, and leads there."""
        self.window.show(node)
        self._lead_to(node)
        self.draw()

    def _lead_to(self, node: int) -> None:
        self.focus = node
        self.aim += 1

    def _build_legend(self) -> None:
        with parts.element("ul", "sh-legend", aria_label="What the colours say"):
            for kind, meaning in words.LEGEND:
                with parts.element("li"):
                    parts.element("span", f"sh-swatch sh-swatch-{kind}", aria_hidden="true")
                    parts.text(meaning, "span")

    def _build_way(self) -> None:
        names, window = self.loaded.tree.names, self.window
        path = self.loaded.path(window.top)
        with parts.element("nav", "sh-row sh-trail", aria_label="The way to this part of the icicle"):
            above = path if window.first else path[:-1]
            for v in above[-6:]:
                node_button(names[v], partial(self._open, v))
                parts.text("›", "span", "sh-why")
            here = f"from child {window.first + 1:,} on" if window.first else short(names[window.top])
            parts.text(here, "strong")
            if window.marked:
                count = len(window.marked)
                what = short(names[window.marked[0]]) if count == 1 else f"{count:,} nodes"
                parts.text(f"Taken up: {what}. V puts it under another node, Escape lets it go.", "span", role="status")

    def _open(self, node: int, first: int = 0) -> None:
        if self.window.open_at(node, first):
            self._lead_to(node if not first else self.window.widths.children(node, first, 1)[0])
        self.draw()

    # What is done.

    async def _act(self, act: str, given: dict[str, Any]) -> None:
        tree, browser = self.loaded.tree, self.bench.browser
        nodes = nodes_in(given.get("nodes", given.get("node")), tree.n_nodes)
        if act == "size":
            if isinstance(given.get("width"), int | float) and self.window.resize(given["width"]):
                self.draw()
            return
        self.focus = next(iter(nodes_in(given.get("at"), tree.n_nodes)), self.focus)
        if act == "up":
            self._lead_to(self.window.go_up())
            self.draw()
        elif act == "undo":
            await self.bench.undo()
        elif act == "drop-mark":
            self.window.marked = ()
            self.draw()
        elif not nodes:
            return
        elif act == "open":
            self._open(nodes[0], max(0, int(given.get("first") or 0)))
        elif act == "why":
            await self._ask(self._closed_above(nodes[0]))
        elif act in ("choose", "also", "range"):
            self._choose(act, nodes)
        elif act == "take":
            self.window.marked = tuple(browser.chosen) if nodes[0] in browser.chosen else (nodes[0],)
            self.draw()
        elif act == "put" and self.window.marked:
            await self._move(list(self.window.marked), nodes[0])
        elif act == "move":
            target = nodes_in(given.get("target"), tree.n_nodes)
            moved = list(browser.chosen) if nodes[0] in browser.chosen else nodes[:1]
            if target:
                await self._move(moved, target[0])
        elif act == "merge":
            self._name_it(nodes[0])

    def _choose(self, act: str, nodes: list[int]) -> None:
        browser = self.bench.browser
        if act == "range":
            browser.chosen = dict.fromkeys(nodes)
        elif act == "also":
            browser.choose(nodes[0], True)
        else:
            self.bench.look_at(nodes[0])
        self.bench.drawn_anew()

    async def _move(self, nodes: list[int], target: int) -> None:
        names = self.loaded.tree.names
        what = f"“{short(names[nodes[0]])}”" if len(nodes) == 1 else f"{len(nodes):,} nodes"
        did = f"moved {what} under “{short(names[target])}”"
        self.focus = nodes[0]
        self._remember()
        await self.bench.edit(lambda tree: edits.move(tree, nodes, target), did)

    def _name_it(self, node: int) -> None:
        """Leads to the field for the name of the node that others become."""
        if node not in self.bench.browser.chosen:
            self._choose("also", [node])
        if len(self.bench.browser.chosen) < 2:
            raise InputError("choose at least two nodes to merge: Shift and the arrow keys choose neighbours")
        self.client.run_javascript(
            "setTimeout(() => document.querySelector('.sh-side input[aria-label=\"Name of the new node\"]')?.focus(), 150)"
        )

    # What one cut loses.

    async def _ask(self, node: int | None = None) -> None:
        """Asks what the tree allows, and why a node is closed: the costliest, unless one is named."""
        if not self.is_cut:
            return
        self.failed = None
        self.problem = await asyncio.to_thread(self._problem)
        if self.problem is None:
            self.key = await asyncio.to_thread(self.question.ask, node)
            self.timer.active = True
        self._look()

    def _closed_above(self, node: int) -> int:
        """The closed node that a node is published as."""
        closed, above = set(answer_to(self.key).get("closed", ())), node
        while above >= 0 and above not in closed:
            above = int(self.loaded.tree.parent[above])
        if above < 0:
            raise InputError(
                f"nothing closes “{short(self.loaded.tree.names[node])}”; ask about a node that is not published as it is"
            )
        return above

    def _problem(self) -> str | None:
        """Why there is nothing to cut yet."""
        if self.loaded.missing:
            return "Some items are not in the tree. Once all have a place in it, what one cut loses is shown here."
        return self.tree.project.problem()

    def _look(self) -> None:
        """Shows what has been found since the last look."""
        standing = self.warm.standing(self.key) if self.key else None
        found = answer_to(self.key)  # after the look, which takes in what was found
        if standing is not None and standing[0] == "failed":
            self.failed = standing[1]
        if self.problem is not None or self.failed is not None or found.get("final"):
            self.timer.active = False
        elif standing is None and self.key:  # another page of the project has asked for something else
            self.timer.active = False
            self.failed = "Another page of this project asked for an estimate meanwhile."
        tried = (found.get("own") or {}).get("sample"), len(found.get("remedies", ()))
        state = self.key, len(found), tried, self.failed, self.problem, bool(standing)
        if state == self.shown:
            return
        self.shown = state
        if "closed" in found:
            why = found.get("blame") or {"culprits": ()}
            fate = self.window.fate
            if fate is None or set(fate.closed) != set(found["closed"]) or set(fate.dropped) != set(found["dropped"]):
                self.window.fate = Fate(self.loaded.tree, found["closed"], found["dropped"])
            self.window.blamed = {one["node"]: one["rows"] for one in why["culprits"]}
            self.element.draw(self._drawn())
        self.standing.refresh()

    def _build_standing(self) -> None:
        found = answer_to(self.key)
        if self.problem is not None or self.failed is not None:
            parts.notice(self.problem or str(self.failed), "warn")
            if self.failed is not None:
                with parts.row():
                    parts.button("Ask again", self._again, "quiet")
            return
        if "info" not in found:
            standing = self.warm.standing(self.key) if self.key else None
            doing = with_capital(standing[1]) if standing is not None and standing[1] else "Waiting for an estimate"
            parts.waiting(f"{doing} …", "What one cut loses is on its way")
            return
        before = self.question.answer_before(self.key)
        parts.text(words.loss_words(found, before), "p", "sh-cut-loss", role="status")
        if own := found.get("own"):
            parts.text(words.own_words(own, before.get("own")), "p", "sh-own-loss", role="status")
        if (not own and "own" not in found) or (own and not found.get("final")):
            more = "on more rows " if own else ""
            parts.why_line(f"What the plan's algorithm loses is being tried {more}…")
        if "blame" in found:
            self._build_blame(found)
        elif found["closed"]:
            parts.why_line("Looking for those to blame …")
        else:
            parts.why_line("One cut publishes everything as it is.")
        parts.why_line(words.RULE)

    async def _again(self) -> None:
        self.warm.retry(self.key)
        await self._ask()

    def _build_blame(self, found: Any) -> None:
        why, names = found["blame"], self.loaded.tree.names
        promise = self.tree.project.draft.get("guarantee", {})
        parts.text(words.blame_words(why, names[why["node"]], int(promise.get("k") or 0)))

        def cell_of(node: int) -> tuple[str, parts.Cell]:
            name = names[node]
            return short(name), partial(
                parts.button, "Look", partial(self._look_at, node), "quiet", f"Look at {short(name)}"
            )

        titles = ("To blame", "Rows", "Sets that are too rare", "")
        if why["culprits"]:
            parts.live_table("Who is to blame", titles, words.blame_rows(why, cell_of))
        if (more := words.more_words(why)) is not None:
            parts.why_line(more)
        tried = found.get("remedies", [])
        helps = [remedy for remedy in tried if remedy["info"] < found["info"] - words.NOTHING]
        with parts.row():
            for remedy in helps:
                parts.button(words.remedy_words(remedy, why), partial(self._help, remedy), "quiet")
            if not found.get("tried"):
                parts.text("Trying what would help …", "span", "sh-why")
            elif not helps and why["culprits"]:
                parts.text(words.HELPLESS, "span", "sh-why")
            closed = found["closed"]
            if found.get("tried") and len(closed) > 1:
                after = closed[(closed.index(why["node"]) + 1) % len(closed)]
                parts.button("The next closed node", partial(self._ask, after), "quiet")
        if (note := words.remedy_note(helps)) is not None:
            parts.why_line(note)

    def _look_at(self, node: int) -> None:
        self.bench.look_at(node)
        self.window.show(node)
        self._lead_to(node)
        self.bench.drawn_anew()

    async def _help(self, remedy: Any) -> None:
        """Does what is offered."""
        nodes, label = list(remedy["nodes"]), remedy["label"]
        count = len(nodes)
        if remedy["act"] == "merge":
            did = f"merged {count:,} nodes into “{short(label)}”"
            await self.bench.edit(lambda tree: edits.merge(tree, nodes, label), did, label)
            return
        allow_deletions(self.tree, float(remedy["suppress"]), float(answer_to(self.key)["suppress"]))
        did = f"set {count:,} {'node' if count == 1 else 'nodes'} apart"
        await self.bench.edit(lambda tree: edits.set_apart(tree, nodes, label), did, label)


def allow_deletions(tree: ColumnTree, share: float, allowed: float) -> None:
    """Lets the plan leave out so much, unless it allows more already."""
    if share > allowed:
        options = dict(tree.project.draft.get("options") or {})
        tree.project.change({"options": options | {"suppress": share}})
