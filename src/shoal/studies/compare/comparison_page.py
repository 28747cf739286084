"""A comparison as files: the table as CSV and Parquet, and a web page.

The page holds parameters, figures and reasons, never a value of the data. The plan of every row is there to be copied, unless it names
items or holds a query, which may name values.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import pyarrow.parquet as pq

from shoal import __version__
from shoal.drawing.web_page import html_list, html_plots, html_table, web_page
from shoal.errors import Wording, in_python, render
from shoal.plan import plan_yaml
from shoal.studies.compare.cell import DONE, WORDS
from shoal.studies.compare.comparison import Results
from shoal.studies.compare.comparison_plots import PERCENT, name_of, plots_of
from shoal.studies.compare.comparison_table import (
    KEPT,
    Row,
    cell_of,
    csv_text,
    frame_of,
    measure_of,
    notes_of,
    numbers_of,
    reasons_of,
    settings_in,
    shares_of,
    telling_losses,
)
from shoal.studies.study import Folder

HEADINGS = {"row": "", "above_optimum": "above optimum", "peak_mb": "MB", "status": "result"} | {
    "info": "info lost",
    "info_columns": "columns lost",
    "info_items": "items lost",
    "kept_exact": "as they are",
    "kept_pairs": "pairs kept",
    "kept_cells": "cells kept",
}
_FRONTIER = (
    "<p>Frontier: no other row with the same promise loses less of the columns' information and no more of the items', or the other way "
    "round.</p>\n"
)
MOST_PLANS = 200
"""Plans that a page carries; the command line prints any."""


def write_files(results: Results, rows: Sequence[Row], wording: Wording = in_python) -> None:
    """Writes them into the folder of the comparison, together, in place of those of an earlier run. The page mentions options in the
    words of a face."""
    parquet = io.BytesIO()
    pq.write_table(frame_of(rows), parquet)
    contents = {"csv": csv_text(rows).encode(), "parquet": parquet.getvalue(), "html": page_of(results, rows, wording)}
    Folder(results.folder).write({f"comparison.{ending}": content for ending, content in contents.items()})


def page_of(results: Results, rows: Sequence[Row], wording: Wording = in_python) -> bytes:
    """The page."""
    reasons = reasons_of(rows)
    failures = f"<h2>Why cells failed</h2>\n{html_list(reasons)}" if reasons else ""
    made_by = f"<p>Made by shoal {escape(__version__)}.</p>\n"
    summary, plans = _summary(results, rows, wording), _plans(results, wording)
    parts = (summary, _table(results, rows), failures, _plots(results, rows), plans, made_by)
    return web_page(f"Comparison of {results.comparison.origin.name}", parts)


def _summary(results: Results, rows: Sequence[Row], wording: Wording) -> str:
    cells = f"{len(results.tasks):,} cells: {results.done:,} audited releases, {results.failed:,} that cannot be"
    missing = f", {results.missing:,} not computed yet" if results.missing else ""
    texts = [
        f"{cells}{missing}. What differs: {', '.join(results.comparison.axes) or 'nothing'}.",
        "Every release was audited on the rows that would be published. Times run from reading to the audit, after the algorithm "
        "ran once on a few made-up rows; memory is the most that the cell's own process held.",
        _gaps(rows),
    ]
    notes = [render(note, wording) for note in notes_of(results, rows)]
    return "".join(f"<p>{escape(text)}</p>\n" for text in texts if text) + (html_list(notes) if notes else "")


def _gaps(rows: Sequence[Row]) -> str:
    """How far the heuristics are from the optimum, where that is known."""
    gaps: dict[str, list[float]] = {}
    for row in rows:
        if row["above_optimum"] is not None and not row["optimal"]:
            gaps.setdefault(str(row["algorithm"]), []).append(row["above_optimum"])
    if not gaps:
        return ""
    by_name = [
        f"{name} {_aside(sum(ones) / len(ones))} on average, {_aside(max(ones))} at worst"
        for name, ones in gaps.items()
    ]
    measures = dict.fromkeys(name_of(measure_of(row)) for row in rows if row["optimal"])
    return f"Beside the proven optimum in {' or '.join(measures)} (percentage points): {'; '.join(by_name)}."


def _aside(gap: float) -> str:
    return f"{abs(gap):.2%} {'below' if gap < -1e-12 else 'above'}"


def table_columns(results: Results, rows: Sequence[Row]) -> list[str]:
    """The columns that a reader wants: what differs, what was lost, what it took."""
    shown = [name for name in settings_in(rows) if name in results.comparison.axes or name == "algorithm"]
    repeat = ["repeat"] if any(row["repeat"] > 1 for row in rows) else []
    others = [name for name in ("frontier", "above_optimum", "classes") if any(row[name] is not None for row in rows)]
    telling = telling_losses(rows)
    shares = [name for name in shares_of(rows) if name.startswith(KEPT) or name in telling]
    return [*numbers_of(rows), *shown, *repeat, "status", *shares, *others, "seconds", "peak_mb"]


def shown_cell(row: Row, column: str) -> str:
    """A cell of the table as a reader sees it."""
    value = cell_of(row, column)
    if column == "status":
        if value != DONE:
            return WORDS[value]
        return "optimal" if row["optimal"] else "holds" if row["holds"] else "does not hold"
    if value is None:
        return ""
    if column == "frontier":
        return "yes" if value else ""
    if column in PERCENT or column.startswith(KEPT) or column == "above_optimum":
        return f"{value:.2%}"
    if column == "seconds":
        return f"{value:.2f}" if value < 100 else f"{value:,.0f}"
    if column == "peak_mb":
        return f"{value:,.0f}"
    if column in row["loss"] or isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def is_figure(rows: Sequence[Row], column: str) -> bool:
    return all(isinstance(cell_of(row, column), int | float | None) for row in rows)


def _table(results: Results, rows: Sequence[Row]) -> str:
    columns = table_columns(results, rows)
    table = html_table(
        [HEADINGS.get(name, name) for name in columns],
        ([shown_cell(row, name) for name in columns] for row in rows),
        ["n" if is_figure(rows, name) else "" for name in columns],
        ["front" if row["front"] else "" if row["status"] == DONE else "failed" for row in rows],
    )
    return (
        f'<h2>All cells</h2>\n<div class="wide">{table}</div>\n'
        "<p>Rows with a bold number are on the front: no other row promises at least as much and loses less.</p>\n"
        + (_FRONTIER if "frontier" in columns else "")
    )


def _plots(results: Results, rows: Sequence[Row]) -> str:
    parts = []
    for plots in plots_of(rows, results.comparison.axes):
        note = f"<p>{escape(plots.note)}</p>\n" if plots.note else ""
        parts.append(f"<h3>{escape(plots.title)}</h3>\n{note}{html_plots(plots.charts)}")
    return "".join(("<h2>Plots</h2>\n", *parts)) if parts else ""


def _plans(results: Results, wording: Wording) -> str:
    origin = results.comparison.origin
    name, asked = escape(origin.name), escape(wording("print_plan", "ROW"))
    parts = [
        f"<h2>Plans</h2>\n<p>Each row is a plan that runs alone, from the folder of {name}: "
        f"<code>shoal compare {name} {asked} &gt; cell.yaml</code>.</p>\n"
    ]
    first = {task.cell.identity: number for number, task in reversed([*enumerate(results.tasks, start=1)])}
    for cell in [cell for cell in results.comparison.cells if cell.identity in first][:MOST_PLANS]:
        if cell.refused is None and not _names_values(cell.document):
            text = escape(plan_yaml(cell.plan(origin)))
            parts.append(f"<details><summary>Row {first[cell.identity]}</summary>\n<pre>{text}</pre></details>\n")
    return "".join(parts)


def _names_values(document: Mapping[str, Any]) -> bool:
    """Whether a plan names items, or asks a database, where a query may name values."""
    options = document.get("options") or {}
    return any((document.get("sensitive_items"), options.get("item_weights"), document["input"].get("query")))
