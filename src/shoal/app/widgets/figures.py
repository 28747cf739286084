"""Figures: charts of ECharts, which comes with NiceGUI, with exact values on hover and by arrow keys, and a table behind each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from shoal.app.widgets import components as parts
from shoal.app.widgets.pictures import Lines, Picture, bars_height, options_of, rows_of


def figure(picture: Picture, on_point: Callable[[int, int], Any] | None = None, *, table: bool = True) -> ui.element:
    """A chart with its table behind it; `on_point` gets the series and the place of a point that is clicked."""
    with parts.element("div", "sh-wide") as made:
        height = 290 if isinstance(picture, Lines) else bars_height(picture)
        parts.text(picture.title, "p", "sh-figure-title")
        box = parts.element("div", "sh-figure", role="img", tabindex="0", onkeydown="shoalWalk(event)")
        box.props["aria-label"] = f"{picture.title}. Arrow keys go from value to value; the table below has them all."
        with box:
            chart = ui.echart(options_of(picture), renderer="svg").style(f"height: {height}px")
            chart.classes("sh-echart").props["aria-hidden"] = "true"
            box.props["data-chart"] = str(chart.id)
            if on_point is not None:
                choose = on_point
                chart.on_point_click(parts.speaking(lambda event: choose(event.series_index, event.data_index)))
        parts.text("", "p", "sh-hidden sh-figure-says", role="status")
        if table:
            header, rows = rows_of(picture)
            with ui.expansion("As a table").classes("sh-wide"):
                parts.table(header, rows, caption=picture.title)
    return made
