"""The columns that are made coarser: what tree each has and how it fits, a page of them at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from nicegui import ui

from shoal.app.panels.hierarchies.tree_forms import form_of, forms_for
from shoal.app.panels.hierarchies.tree_values import Need
from shoal.app.panels.hierarchies.trees import hangs_unknown, is_file, shown_spec, spec_of
from shoal.app.project.project import Project
from shoal.app.widgets import components as parts
from shoal.hierarchy.spec import Values

AT_ONCE = 30
"""Columns that are listed at a time."""


class ColumnsCard:
    """The list of columns; `on_look` is called with the one that is to be looked at."""

    def __init__(
        self,
        project: Project,
        wanted: Sequence[Need],
        values: Mapping[str, Values],
        need: Need,
        on_look: Callable[[Need], Awaitable[None]],
    ) -> None:
        self.project, self.wanted, self.values, self.need, self.on_look = project, wanted, values, need, on_look
        self.first = max(0, wanted.index(need) // AT_ONCE * AT_ONCE)
        self.show = ui.refreshable(self._build)

    def look_at(self, need: Need) -> None:
        """Builds it anew, with another column as the one that is shown."""
        self.need = need
        self.show.refresh()

    def _build(self) -> None:
        with parts.card("What is made coarser", "Each of these has its own tree. Choose one to look at it."):
            shown = self.wanted[self.first : self.first + AT_ONCE]
            with ui.element("div").classes("sh-table-box"), ui.element("table").classes("sh-table"):
                parts.text("Columns and their trees", "caption", "sh-hidden")
                with ui.element("thead"), ui.element("tr"):
                    for title in ("Column", "Values", "Tree", "How it fits", ""):
                        parts.text(title, "th").props["scope"] = "col"
                with ui.element("tbody"):
                    for need in shown:
                        self._build_column(need)
            if len(self.wanted) > AT_ONCE:
                with parts.row():
                    last = self.first + len(shown)
                    parts.button("Columns before", lambda: self._turn(-AT_ONCE), "quiet").set_enabled(self.first > 0)
                    parts.text(f"{self.first + 1} to {last} of {len(self.wanted):,}", "span", "sh-why")
                    parts.button("Columns after", lambda: self._turn(AT_ONCE), "quiet").set_enabled(
                        last < len(self.wanted)
                    )

    def _build_column(self, need: Need) -> None:
        with ui.element("tr"):
            name = parts.text(need.column, "th")
            name.props["scope"] = "row"
            values = self.values[need.column]
            parts.text(f"{len(values.names):,}", "td")
            form, parameter = form_of(spec_of(self.project, need))
            titles = {found.name: found.title for found in forms_for(need, values)}
            told = shown_spec(parameter) if form == "file" else titles.get(form, form)
            parts.text(told, "td")
            with ui.element("td"):
                words, kind = fit_of(self.project, need)
                parts.tag(words, kind)
            with ui.element("td"):
                if need is self.need:
                    parts.tag("shown below")
                else:
                    found = parts.button("Look", partial(self.on_look, need), "quiet").classes("sh-narrow")
                    found.props["aria-label"] = f"Look at the tree of {need.column}"

    def _turn(self, by: int) -> None:
        self.first = max(0, self.first + by)
        self.show.refresh()


def fit_of(project: Project, need: Need) -> tuple[str, str]:
    """How the tree of a column fits its data, as far as it was looked at: words, and the kind of their tag."""
    spec = spec_of(project, need)
    if not is_file(spec):
        return "fits", "good"
    fits = (project.settings.get("trees") or {}).get(need.column) or {}
    if fits.get("spec") != spec:
        return "not looked at yet", ""
    if fits.get("trouble"):
        return "cannot be used", "bad"
    missing = int(fits.get("missing") or 0)
    if missing and not hangs_unknown(project):
        return f"{missing:,} missing", "bad"
    return (f"{missing:,} under the root", "warn") if missing else ("fits", "good")
