"""A comparison as a web page: one file that asks nothing of the network and runs nothing, for screens, light and dark, and for print.

It holds parameters, figures and reasons, never a value of the data. The plan of every row is there to be copied, unless it names items
or holds a query, which may name values.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from shoal import __version__
from shoal.comparing.cells import DONE, WORDS
from shoal.comparing.plots import PERCENT, name_of, plots_of
from shoal.comparing.running import Found
from shoal.comparing.table import Row, cell_of, main_loss, notes_of, reasons_of, settings_in, telling_losses
from shoal.plan import plan_yaml

MOST_PLANS = 200
"""Plans that a page carries; `--print-plan` prints any."""

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 Georgia, "Times New Roman", serif; color: #1c1c1c; background: #fff; }
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; border-bottom: 1px solid #bbb; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .75rem 0; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .15rem .8rem .15rem 0; border-bottom: 1px solid #e4e4e4; }
td.n, th.n { text-align: right; }
tr.failed td { color: #a03a0a; }
tr.front td:first-child { font-weight: bold; }
.plots { display: flex; flex-wrap: wrap; gap: .5rem 1rem; }
.plots svg { width: 32rem; max-width: 100%; height: auto; }
pre { font-size: .8rem; overflow-x: auto; border-left: 3px solid #bbb; padding-left: .8rem; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #16181a; }
  h2 { border-color: #555; } th, td { border-color: #333; } pre { border-color: #555; }
  tr.failed td { color: #f0936a; }
}
@media print { body { font-size: 10pt; margin: 0; max-width: none; } h2, h3 { break-after: avoid; } tr, svg { break-inside: avoid; } }
"""


def page_of(found: Found, rows: Sequence[Row]) -> bytes:
    """The page."""
    heading = escape(f"Comparison of {found.comparison.origin.name}")
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n',
        f"<title>{heading}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{heading}</h1>\n",
        *_summary(found, rows),
        "<h2>All cells</h2>\n",
        _table(found, rows),
        *_failures(rows),
        *_plots(found, rows),
        *_plans(found),
        f"<p>Made by shoal {escape(__version__)}.</p>\n</body>\n</html>\n",
    ]
    return "".join(parts).encode()


def _summary(found: Found, rows: Sequence[Row]) -> list[str]:
    cells = f"{len(found.tasks):,} cells: {found.done:,} audited releases, {found.failed:,} that cannot be"
    missing = f", {found.missing:,} not computed yet" if found.missing else ""
    axes = ", ".join(found.comparison.axes) or "nothing"
    parts = [
        f"<p>{escape(cells + missing)}. What differs: {escape(axes)}.</p>\n",
        "<p>Every release was audited on the rows that would be published. Times run from reading to the audit, after the algorithm "
        "ran once on a few made-up rows; memory is the most that the cell's own process held.</p>\n",
    ]
    best = _best(rows)
    if best:
        parts.append(f"<p>{escape(best)}</p>\n")
    notes = notes_of(found, rows)
    if notes:
        parts.append("<ul>\n" + "".join(f"<li>{escape(note)}</li>\n" for note in notes) + "</ul>\n")
    return parts


def _best(rows: Sequence[Row]) -> str:
    """How far the heuristics are from the optimum, where that is known."""
    gaps: dict[str, list[float]] = {}
    for row in rows:
        if row["above_optimum"] is not None and not row["optimal"]:
            gaps.setdefault(str(row["algorithm"]), []).append(row["above_optimum"])
    if not gaps:
        return ""
    measure = name_of(main_loss(rows) or "")
    told = [
        f"{name} {_aside(sum(ones) / len(ones))} on average, {_aside(max(ones))} at worst"
        for name, ones in gaps.items()
    ]
    return f"Beside the proven optimum in {measure} (percentage points): {'; '.join(told)}."


def _aside(gap: float) -> str:
    return f"{abs(gap):.2%} {'below' if gap < -1e-12 else 'above'}"


def table_columns(found: Found, rows: Sequence[Row]) -> list[str]:
    """The columns that a reader wants: what differs, what was lost, what it took."""
    shown = [name for name in settings_in(rows) if name in found.comparison.axes or name == "algorithm"]
    repeated = ["repeat"] if any(row["repeat"] > 1 for row in rows) else []
    far = ["above_optimum"] if any(row["above_optimum"] is not None for row in rows) else []
    counted = ["classes"] if any(row["classes"] is not None for row in rows) else []
    return ["row", *shown, *repeated, "status", *telling_losses(rows), *far, *counted, "seconds", "peak_mb"]


HEADINGS = {"row": "", "above_optimum": "above optimum", "peak_mb": "MB", "status": "result"}


def shown_cell(row: Row, column: str) -> str:
    """A cell of the table as a reader sees it."""
    found = cell_of(row, column)
    if column == "status":
        if found != DONE:
            return WORDS[found]
        return "optimal" if row["optimal"] else "holds" if row["holds"] else "does not hold"
    if found is None:
        return ""
    if column in PERCENT or column == "above_optimum":
        return f"{found:.2%}"
    if column == "seconds":
        return f"{found:.2f}" if found < 100 else f"{found:,.0f}"
    if column == "peak_mb":
        return f"{found:,.0f}"
    if column in row["loss"] or isinstance(found, float):
        return f"{found:g}"
    return f"{found:,}" if isinstance(found, int) and not isinstance(found, bool) else str(found)


def is_figure(rows: Sequence[Row], column: str) -> bool:
    known = [cell_of(row, column) for row in rows]
    return all(isinstance(one, int | float) or one is None for one in known)


def _table(found: Found, rows: Sequence[Row]) -> str:
    columns = table_columns(found, rows)
    kinds = {column: ' class="n"' if is_figure(rows, column) else "" for column in columns}
    head = "".join(f'<th scope="col"{kinds[c]}>{escape(HEADINGS.get(c, c))}</th>' for c in columns)
    body = []
    for row in rows:
        state = "front" if row["front"] else "" if row["status"] == DONE else "failed"
        cells = "".join(f"<td{kinds[c]}>{escape(shown_cell(row, c))}</td>" for c in columns)
        body.append(f'<tr class="{state}">{cells}</tr>\n' if state else f"<tr>{cells}</tr>\n")
    return (
        f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{"".join(body)}</tbody>\n</table></div>\n'
        "<p>Rows with a bold number are on the front: no other row promises at least as much and loses less.</p>\n"
    )


def _failures(rows: Sequence[Row]) -> list[str]:
    lines = "".join(f"<li>{escape(reason)}</li>\n" for reason in reasons_of(rows))
    return [f"<h2>Why cells failed</h2>\n<ul>\n{lines}</ul>\n"] if lines else []


def _plots(found: Found, rows: Sequence[Row]) -> list[str]:
    parts = []
    for plots in plots_of(rows, found.comparison.axes):
        note = f"<p>{escape(plots.note)}</p>\n" if plots.note else ""
        parts.append(f'<h3>{escape(plots.title)}</h3>\n{note}<div class="plots">\n{"".join(plots.charts)}\n</div>\n')
    return ["<h2>Plots</h2>\n", *parts] if parts else []


def _plans(found: Found) -> list[str]:
    origin = found.comparison.origin
    parts = [
        "<h2>Plans</h2>\n",
        f"<p>Each row is a plan that runs alone, from the folder of {escape(origin.name)}: "
        f"<code>shoal compare {escape(origin.name)} --print-plan ROW &gt; cell.yaml</code>.</p>\n",
    ]
    cells = {id(task.cell): (number, task.cell) for number, task in reversed([*enumerate(found.tasks, start=1)])}
    for number, cell in sorted(cells.values(), key=lambda one: one[0])[:MOST_PLANS]:
        if cell.refused is None and not _names_values(cell.document):
            text = escape(plan_yaml(cell.plan(origin)))
            parts.append(f"<details><summary>Row {number}</summary>\n<pre>{text}</pre></details>\n")
    return parts


def _names_values(document: Any) -> bool:
    """Whether a plan names items, or asks a database, where a query may name values."""
    named = (
        document.get("sensitive_items"),
        (document.get("options") or {}).get("item_weights"),
        document["input"].get("query"),
    )
    return any(named)
