"""The figures that README and docs show, taken from what was recorded.

A page says `<!-- figures:NAME -->...<!-- /figures -->`, and what stands between is replaced after every run. Markers stand
inside a line, where they are part of a sentence, or on lines of their own around a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from measuring import Row
from recorded import number
from scoreboard import Results, table

ROOT = Path(__file__).parents[1]
MARKED = re.compile(r"(<!-- figures:(?P<name>[\w-]+) -->)(?P<text>.*?)(<!-- /figures -->)", re.DOTALL)


def pages() -> list[Path]:
    """Those that show figures."""
    return [
        page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if MARKED.search(page.read_text())
    ]


def filled(text: str, results: Results) -> str:
    """A page with the figures of these results."""

    def replaced(found: re.Match[str]) -> str:
        if found["name"] not in FIGURES:
            raise KeyError(f"no figures are named {found['name']}; there are {', '.join(FIGURES)}")
        new = FIGURES[found["name"]](results)
        return found[1] + (f"\n\n{new}\n\n" if "\n" in new else new) + found[4]

    return MARKED.sub(replaced, text)


def split_below_pta(results: Results) -> str:
    """How much less split loses than PTA at k = 15, over all data sets."""
    less = [number(row["split below PTA by"]) for row in results["transactions"].where(k=15)]
    return f"{min(less):.0%} to {max(less):.0%}"


def hybrid_diagnoses(results: Results) -> str:
    """What hybrid loses on diagnoses under ICD-9, k = 5, m = 2."""
    return f"{number(next(results['hybrid'].where(data='Diabetes-130', m=2))['hybrid NCP']):.1%}"


def exact_diagnoses(results: Results) -> str:
    """What the best release without deletion loses there."""
    return f"{number(next(results['hybrid'].where(data='Diabetes-130', m=2))['exact, nothing dropped']):.0%}"


def search_seconds(results: Results) -> str:
    """Seconds of the search alone, for the cases of the comparison."""
    found = (
        next(results["exact"].where(hierarchy="balanced:5", data=row["data"], m=row["m"]))
        for row in results["command"].rows
    )
    seconds = [f"{number(row['seconds']):.1f}" for row in found]
    return f"{', '.join(seconds[:-1])} and {seconds[-1]} s"


def audit_over_loop(results: Results) -> str:
    """One thread of the audit against a bare loop over the same subsets."""
    return str(results["audit"].rows[0]["one thread / bare loop"])


def largest(results: Results) -> str:
    """The largest growth case, in words."""
    row = max(results["growth"].rows, key=lambda row: number(row["transactions"]))
    rows = number(row["transactions"])
    seconds, memory = number(row["exact µs / transaction"]) * rows / 1e6, number(row["peak MB"]) / 1000
    return f"{row['transactions']} baskets in {seconds:.0f} s and {memory:.1f} GB"


def measured(results: Results) -> str:
    """When and on what the whole commands were measured."""
    run = results["command"].run
    return f"{run.date} on {run.cores} cores and {run.memory_gib} GiB, commit {run.commit}"


def rivals_measured(results: Results) -> str:
    run = results["rivals"].run
    return f"{run.date} on {run.cores} cores and {run.memory_gib} GiB"


def comparison(results: Results) -> str:
    """Shoal and every other tool."""
    rows = []
    for ours in results["command"].rows:
        row = {"data": ours["data"], "m": ours["m"], "Shoal, `exact`": f"**{_ours(ours)}**"}
        rows.append(row | {theirs["tool"]: _theirs(theirs) for theirs in _rivals(results, ours)})
    return table(rows)


def short_comparison(results: Results) -> str:
    """Shoal and the fastest other tool, which differs from row to row."""
    rows = []
    for ours in results["command"].rows:
        finished = [theirs for theirs in _rivals(results, ours) if theirs["NCP"]]
        fastest = min(finished, key=lambda theirs: number(theirs["seconds"]))
        name = fastest["tool"].split()[0].strip(",")
        row = {"data": ours["data"], "m": ours["m"], "Shoal, `exact`": f"**{_ours(ours)}**"}
        rows.append(row | {"the fastest other tool": f"{_theirs(fastest)} ({name})"})
    return table(rows)


def _rivals(results: Results, ours: Row) -> Iterator[Row]:
    return results["rivals"].where(data=ours["data"], m=ours["m"])


def _ours(row: Row) -> str:
    return f"{row['seconds']} s, {row['peak MB']} MB, {row['NCP']}"


def _theirs(row: Row) -> str:
    return f"{row['seconds']} s, {row['peak memory']}, {row['NCP']}" if row["NCP"] else str(row["seconds"])


FIGURES: dict[str, Callable[[Results], str]] = {
    "split-below-pta": split_below_pta,
    "hybrid-diagnoses": hybrid_diagnoses,
    "exact-diagnoses": exact_diagnoses,
    "search-seconds": search_seconds,
    "audit-over-loop": audit_over_loop,
    "largest": largest,
    "measured": measured,
    "rivals-measured": rivals_measured,
    "comparison": comparison,
    "short-comparison": short_comparison,
}
