"""What was reproduced, as files: one page, a CSV and SVGs for every figure, and all figures' numbers as JSON.

The page asks nothing of the network and runs nothing. What the paper states stands beside what we found, statement by statement.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.reproducing.figure import NOT_RUN, Outcome, Row
from shoal.reproducing.papers import PAPERS, paper
from shoal.reproducing.running import KEPT

PAGE, NUMBERS, PLOTS = "page.html", "figures.json", "figures"

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fff; --line: #ccc; --soft: #666; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #16181a; --line: #444; --soft: #aaa; } }
body { font: 16px/1.5 Georgia, "Times New Roman", serif; color: var(--ink); background: var(--paper); }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.3rem; margin-top: 3rem; } h3 { font-size: 1.1rem; margin: 2.2rem 0 .3rem; }
h2, h3 { border-bottom: 1px solid var(--line); }
table { border-collapse: collapse; margin: .75rem 0; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); }
.numbers { font: 13px/1.4 sans-serif; overflow-x: auto; } .numbers td { white-space: nowrap; }
.soft { color: var(--soft); } .plots { display: flex; flex-wrap: wrap; gap: 1rem; } .plots svg { max-width: 30rem; height: auto; }
.word { font-weight: bold; white-space: nowrap; }
@media print { body { max-width: none; margin: 0; font-size: 10pt; } svg, tr { break-inside: avoid; } }
"""


def check_folder(folder: Path) -> None:
    """Raises where results would be mixed with somebody's files."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder for the results with -o")
    if folder.is_dir() and not (folder / KEPT).is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder} has files that are not of shoal reproduce; name an empty or a new folder with -o")
    try:
        (folder / KEPT).mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise InputError(f"the folder {folder} cannot be made ({cause.strerror}); name another with -o") from cause


def write(folder: Path, outcomes: Sequence[Outcome], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Writes page, plots, tables and numbers into the folder; returns the numbers."""
    (folder / PLOTS).mkdir(parents=True, exist_ok=True)
    for name in PAPERS:  # figures of an earlier run that this one does not have must not be taken for its own
        for old in (*folder.glob(f"{name}-*.csv"), *(folder / PLOTS).glob(f"{name}-*.svg")):
            old.unlink()
    drawn = {outcome.figure.name: _plots(outcome) for outcome in outcomes}
    for outcome in outcomes:
        name = outcome.figure.name
        if outcome.rows:
            (folder / f"{name}.csv").write_text(_csv(outcome.rows), encoding="utf-8", newline="")
        for panel, svg in drawn[name].items():
            (folder / PLOTS / f"{name}-{panel}.svg").write_text(svg, encoding="utf-8")
    numbers = dict(facts) | {"figures": [_finite(outcome.to_dict()) for outcome in outcomes]}
    (folder / NUMBERS).write_text(json.dumps(numbers, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    (folder / PAGE).write_text(page(outcomes, facts, drawn), encoding="utf-8")
    return numbers


def page(outcomes: Sequence[Outcome], facts: Mapping[str, Any], drawn: Mapping[str, Mapping[str, str]]) -> str:
    """The page as text."""
    title = "The four papers and Shoal" if len(_papers(outcomes)) > 1 else f"Reproducing {_papers(outcomes)[0]}"
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n",
        f"<p>{escape(_how(facts))}</p>\n",
        _overview(outcomes),
    ]
    for name in _papers(outcomes):
        parts.append(f'<h2 id="{name}">{escape(paper(name).TITLE)}</h2>\n')
        parts += [_figure(one, drawn[one.figure.name]) for one in outcomes if one.figure.paper == name]
    return "".join((*parts, "</body>\n</html>\n"))


def _papers(outcomes: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(outcome.figure.paper for outcome in outcomes))


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
        f'<tr><td><a href="#{one.figure.name}">{escape(_called(one))}</a></td><td>{escape(one.figure.title)}</td>'
        f'<td class="word">{escape(one.verdict())}</td></tr>\n'
        for one in outcomes
    )
    return f"<table><thead><tr><th>figure</th><th></th><th>here</th></tr></thead><tbody>\n{rows}</tbody></table>\n"


def _called(outcome: Outcome) -> str:
    return f"{outcome.figure.paper}, {outcome.figure.heading}"


def _figure(outcome: Outcome, drawn: Mapping[str, str]) -> str:
    figure = outcome.figure
    parts = [
        f'<h3 id="{figure.name}">{escape(figure.heading)}: {escape(figure.title)}</h3>\n<p class="soft">{escape(figure.sweep)}</p>\n',
        "<table><thead><tr><th>the paper states</th><th>here</th><th></th></tr></thead><tbody>\n",
    ]
    for claim, finding in outcome.findings():
        ours, word = ("", NOT_RUN) if finding is None else (finding.ours, finding.word)
        parts.append(
            f'<tr><td>{escape(claim.statement)}</td><td>{escape(ours)}</td><td class="word">{escape(word)}</td></tr>\n'
        )
    parts.append("</tbody></table>\n")
    if drawn:
        parts.append('<div class="plots">\n' + "\n".join(drawn.values()) + "\n</div>\n")
    parts.append(_listed("What differs from the paper", (*figure.differs, *outcome.stand_ins)))
    parts.append(_listed("Not run", outcome.why_not()))
    if outcome.rows:
        parts.append(f"<details><summary>Numbers ({figure.name}.csv)</summary>{_table(outcome.rows)}</details>\n")
    return "".join(parts)


def _listed(title: str, texts: Sequence[str]) -> str:
    if not texts:
        return ""
    return f"<p>{title}:</p>\n<ul>\n" + "".join(f"<li>{escape(text)}</li>\n" for text in texts) + "</ul>\n"


def _plots(outcome: Outcome) -> dict[str, str]:
    drawn = {panel.name: panel.svg(outcome.rows, outcome.figure.ours) for panel in outcome.figure.panels}
    return {name: svg for name, svg in drawn.items() if svg is not None}


def columns(rows: Sequence[Row]) -> list[str]:
    """The names of all columns, in the order in which rows bring them."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _csv(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _table(rows: Sequence[Row]) -> str:
    names = [name for name in columns(rows) if any(row.get(name) is not None for row in rows)]
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_shown(row.get(name)))}</td>" for name in names) + "</tr>\n" for row in rows
    )
    return f'<div class="numbers"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>'


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
