"""The columns that are made coarser: what tree each has and how it fits, a page of them at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from nicegui import ui

from shoal.app.panels.hierarchies.column_tree import ColumnTree, hangs_unknown, is_file, spec_of, spec_words
from shoal.app.panels.hierarchies.tree_forms import form_of, forms_for
from shoal.app.panels.hierarchies.tree_values import Need
from shoal.app.project.project import Project
from shoal.app.widgets import components as parts

AT_ONCE = 30
"""Columns that are listed at a time."""


class ColumnsCard:
    """The list of columns; `on_look` is called with the one that is to be looked at."""

    def __init__(
        self, trees: Sequence[ColumnTree], shown: ColumnTree, on_look: Callable[[ColumnTree], Awaitable[None]]
    ) -> None:
        self.trees, self.shown, self.on_look = trees, shown, on_look
        self.first = trees.index(shown) // AT_ONCE * AT_ONCE
        self.show = ui.refreshable(self._build)

    def look_at(self, tree: ColumnTree) -> None:
        """Builds it anew, with another column as the one that is shown."""
        self.shown = tree
        self.show.refresh()

    def _build(self) -> None:
        with parts.card("What is made coarser", "Each of these has its own tree. Choose one to look at it."):
            titles = ("Column", "Values", "Tree", "How it fits", "")
            with parts.live_table("Columns and their trees", titles):
                for tree in self.trees[self.first : self.first + AT_ONCE]:
                    self._build_column(tree)
            parts.turning(self.first, AT_ONCE, len(self.trees), self._turn, ("Columns before", "Columns after"))

    def _build_column(self, tree: ColumnTree) -> None:
        column = tree.need.column
        with ui.element("tr"):
            parts.text(column, "th").props["scope"] = "row"
            parts.text(f"{len(tree.values.names):,}", "td")
            name, _ = form_of(tree.spec)
            titles = {form.name: form.title for form in forms_for(tree.need, tree.values)}
            parts.text(spec_words(tree.spec) if name == "file" else titles.get(name, name), "td")
            with ui.element("td"):
                parts.tag(*fit_words(tree.project, tree.need))
            with ui.element("td"):
                if tree is self.shown:
                    parts.tag("shown below")
                else:
                    look = parts.button("Look", partial(self.on_look, tree), "quiet").classes("sh-narrow")
                    look.props["aria-label"] = f"Look at the tree of {column}"

    def _turn(self, start: int) -> None:
        self.first = start
        self.show.refresh()


def fit_words(project: Project, need: Need) -> tuple[str, str]:
    """How the tree of a column fits its data, as far as it was looked at: words, and the kind of their tag."""
    spec = spec_of(project, need)
    if not is_file(spec):
        return "fits", "good"
    fit = (project.settings.get("trees") or {}).get(need.column) or {}
    if fit.get("spec") != spec:
        return "not looked at yet", ""
    if fit.get("trouble"):
        return "cannot be used", "bad"
    missing = int(fit.get("missing") or 0)
    if missing and not hangs_unknown(project):
        return f"{missing:,} missing", "bad"
    return (f"{missing:,} under the root", "warn") if missing else ("fits", "good")
