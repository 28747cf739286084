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
            shown = self.trees[self.first : self.first + AT_ONCE]
            parts.live_table("Columns and their trees", titles, map(self._cells, shown))
            parts.turning(self.first, AT_ONCE, len(self.trees), self._turn, "columns")

    def _cells(self, tree: ColumnTree) -> tuple[parts.Cell, ...]:
        column, (name, _) = tree.need.column, form_of(tree.spec)
        titles = {form.name: form.title for form in forms_for(tree.need, tree.values)}
        words = spec_words(tree.spec) if name == "file" else titles.get(name, name)
        fit = partial(parts.tag, *fit_words(tree.project, tree.need))
        return column, f"{len(tree.values.names):,}", words, fit, partial(self._build_look, tree)

    def _build_look(self, tree: ColumnTree) -> None:
        if tree is self.shown:
            parts.tag("shown below")
        else:
            label = f"Look at the tree of {tree.need.column}"
            parts.button("Look", partial(self.on_look, tree), "quiet", label).classes("sh-narrow")

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
