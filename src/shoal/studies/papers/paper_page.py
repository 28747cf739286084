"""What was reproduced, as files: one page (also as text), a CSV and SVGs for every figure, and all figures' numbers as JSON.

On the page, what the paper states stands beside what came out here, statement by statement.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from shoal.drawing.web_page import html_list, html_plots, html_table, web_page
from shoal.studies.papers import PAPERS, paper
from shoal.studies.papers.figure import NOT_RUN, Outcome, Row
from shoal.studies.study import Folder

PAGE, TEXT, NUMBERS, PLOTS = "page.html", "page.md", "figures.json", "figures"


def write_results(folder: Path, outcomes: Sequence[Outcome], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Writes page, plots, tables and numbers into the folder; returns the numbers."""
    (folder / PLOTS).mkdir(parents=True, exist_ok=True)
    for name in PAPERS:  # figures of an earlier run that this one does not have must not be taken for its own
        for old in (*folder.glob(f"{name}-*.csv"), *(folder / PLOTS).glob(f"{name}-*.svg")):
            old.unlink()
    plots = {outcome.figure.name: _plots(outcome) for outcome in outcomes}
    contents = {f"{outcome.figure.name}.csv": _csv(outcome.rows) for outcome in outcomes if outcome.rows}
    for name, panels in plots.items():
        contents |= {os.path.join(PLOTS, f"{name}-{panel}.svg"): svg for panel, svg in panels.items()}
    numbers = dict(facts) | {"figures": [_finite(outcome.to_dict()) for outcome in outcomes]}
    contents[NUMBERS] = json.dumps(numbers, indent=1, allow_nan=False) + "\n"
    files = {name: text.encode() for name, text in contents.items()}
    pages = {PAGE: page_of(outcomes, facts, plots), TEXT: text_of(outcomes, facts).encode()}
    Folder(os.fspath(folder)).write(files | pages)
    return numbers


def text_of(outcomes: Sequence[Outcome], facts: Mapping[str, Any]) -> str:
    """The page without plots and numbers, in Markdown: every figure, every statement, and its verdict."""
    lines = [f"# {_title(outcomes)}", "", _how(facts), "", "| figure | | here |", "|---|---|---|"]
    lines += [
        f"| {_cell(f'{one.figure.paper}, {one.figure.heading}')} | {_cell(one.figure.title)} | {_cell(one.told_verdict())} |"
        for one in outcomes
    ]
    for name in _papers(outcomes):
        lines += ["", f"## {paper(name).TITLE}"]
        for one in outcomes:
            if one.figure.paper == name:
                lines += _figure_text(one)
    return "\n".join(lines) + "\n"


def _figure_text(outcome: Outcome) -> list[str]:
    figure = outcome.figure
    lines = ["", f"### {figure.heading}: {figure.title}", "", figure.sweep, ""]
    lines += ["| the paper states | here | |", "|---|---|---|"]
    for claim, finding in outcome.findings():
        ours, word = ("", NOT_RUN) if finding is None else (finding.ours, finding.word)
        lines.append(f"| {_cell(claim.statement)} | {_cell(ours)} | {word} |")
    lists = {"What differs from the paper": (*figure.differs, *outcome.stand_ins), "Not run": outcome.why_not()}
    for title, texts in lists.items():
        if texts:
            lines += ["", f"{title}:", "", *(f"- {text}" for text in texts)]
    return lines


def _cell(text: str) -> str:
    """In a table of Markdown a bar would end the cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def _papers(outcomes: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(outcome.figure.paper for outcome in outcomes))


def _title(outcomes: Sequence[Outcome]) -> str:
    names = _papers(outcomes)
    return "The four papers and Shoal" if len(names) > 1 else f"Reproducing {names[0]}"


def page_of(outcomes: Sequence[Outcome], facts: Mapping[str, Any], plots: Mapping[str, Mapping[str, str]]) -> bytes:
    """The page."""
    parts = [f"<p>{escape(_how(facts))}</p>\n", _overview(outcomes)]
    for name in _papers(outcomes):
        parts.append(f'<h2 id="{name}">{escape(paper(name).TITLE)}</h2>\n')
        parts += [_figure(one, plots[one.figure.name]) for one in outcomes if one.figure.paper == name]
    return web_page(_title(outcomes), parts)


def _how(facts: Mapping[str, Any]) -> str:
    where = facts["machine"]
    return (
        f"Shoal {facts['shoal']}, {facts['mode']} mode, {where['cores']} cores, Python {where['python']} on {where['system']}, "
        f"{facts['jobs']} at a time, seed {facts['seed']}. "
        "Every measurement ran in a process of its own, and what it made passed the audit of its guarantee. "
        "Times are the best of up to five runs after a warm-up; other work on the machine disturbs them. "
        "What the papers state is given in our words."
    )


def _overview(outcomes: Sequence[Outcome]) -> str:
    rows = "".join(
        f'<tr><td><a href="#{one.figure.name}">{escape(f"{one.figure.paper}, {one.figure.heading}")}</a></td>'
        f'<td>{escape(one.figure.title)}</td><td class="word">{escape(one.told_verdict())}</td></tr>\n'
        for one in outcomes
    )
    return f"<table><thead><tr><th>figure</th><th></th><th>here</th></tr></thead><tbody>\n{rows}</tbody></table>\n"


def _figure(outcome: Outcome, plots: Mapping[str, str]) -> str:
    figure = outcome.figure
    claims = [
        (claim.statement, "" if finding is None else finding.ours, NOT_RUN if finding is None else finding.word)
        for claim, finding in outcome.findings()
    ]
    parts = [
        f'<h3 id="{figure.name}">{escape(figure.heading)}: {escape(figure.title)}</h3>\n<p class="soft">{escape(figure.sweep)}</p>\n',
        html_table(("the paper states", "here", ""), claims, ("", "", "word")),
        html_plots(plots.values()) if plots else "",
    ]
    lists = {"What differs from the paper": (*figure.differs, *outcome.stand_ins), "Not run": outcome.why_not()}
    parts += [f"<p>{title}:</p>\n{html_list(texts)}" for title, texts in lists.items() if texts]
    if outcome.rows:
        names = [name for name in _columns(outcome.rows) if any(row.get(name) is not None for row in outcome.rows)]
        table = html_table(names, ([_shown(row.get(name)) for name in names] for row in outcome.rows))
        summary = f"<summary>Numbers ({figure.name}.csv)</summary>"
        parts.append(f'<details>{summary}<div class="wide">{table}</div></details>\n')
    return "".join(parts)


def _plots(outcome: Outcome) -> dict[str, str]:
    charts = {panel.name: panel.svg(outcome.rows, outcome.figure.ours) for panel in outcome.figure.panels}
    return {name: svg for name, svg in charts.items() if svg is not None}


def _columns(rows: Sequence[Row]) -> list[str]:
    """The names of all columns, in the order in which rows bring them."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _csv(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, _columns(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _finite(value: Any) -> Any:
    """The same without NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
