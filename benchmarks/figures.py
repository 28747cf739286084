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
from worth import drawn_ways

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


def worth_table(results: Results) -> str:
    """What releases of four data sets are worth, by algorithm: AA by NCP first, then the price of information."""
    return table([_worth_row(row) for row in results["worth"].rows if row["data"] in SHOWN and _is_plain(row)])


def worth_comparison(results: Results) -> str:
    """What other tools publish, for which AA by NCP stands, and what `local` does, m = 2."""
    rows = []
    for ours in _worth_rows(results):
        if ours["m"] == 2 and ours["algorithm"] == "local" and ours["suppress"] and ours["hierarchy"] != "learned:5":
            same = {head: ours[head] for head in ("data", "hierarchy", "k", "m")}
            theirs = next(results["worth"].where(**same, algorithm="aa"), None)
            if theirs is not None and "NCP" in theirs:
                cells = {head: f"{theirs[head]} → **{ours[head]}**" for head in (*WORTH, "NCP")}
                rows.append({"data": ours["data"], "hierarchy": _spec(ours), **cells, "deleted": ours["deleted"]})
    return table(rows)


def worth_prices(results: Results) -> str:
    """The same search by either price: `hybrid`, m = 2."""
    rows = []
    for row in _worth_rows(results):
        if row["algorithm"] == "hybrid" and row["m"] == 2 and row["hierarchy"] != "learned:5":
            setting = {"data": row["data"], "hierarchy": _spec(row), "searched by": row["price"].replace("ncp", "NCP")}
            rows.append(setting | {head: row[head] for head in ("NCP", *WORTH, "deleted")})
    return table(rows)


def worth_deletions(results: Results) -> str:
    """`local` with and without deletions."""
    rows = []
    for row in _worth_rows(results):
        if row["algorithm"] == "local" and row["data"] in SHOWN and row["hierarchy"] != "learned:5":
            cells = {head: row[head] for head in (*WORTH, "deleted")}
            rows.append({"data": row["data"], "m": row["m"], "`--suppress`": row["suppress"], **cells})
    return table(rows)


def worth_trees(results: Results) -> str:
    """`local` under a tree that was built by frequency, and under one that was learned."""
    rows = []
    for learned in _worth_rows(results):
        if learned["hierarchy"] == "learned:5" and learned["algorithm"] == "local" and learned["suppress"]:
            same = {head: learned[head] for head in ("data", "m", "algorithm", "suppress")}
            plain = next(results["worth"].where(**same, hierarchy="frequency:5"), None)
            if plain is not None and "NCP" in plain:
                cells = {head: f"{plain[head]} → {learned[head]}" for head in (*WORTH, "deleted")}
                rows.append({"data": learned["data"], "m": learned["m"], **cells})
    return table(rows)


def worth_measured(results: Results) -> str:
    """When and on what the worth of releases was measured."""
    run = results["worth"].run
    return f"{run.date} on {run.cores} cores and {run.memory_gib} GiB, commit {run.commit}"


SHOWN = ("groceries", "Diabetes-130", "WebView-1", "Complete Journey")
WORTH = ("information kept", "as they are", "pairs")


def _worth_rows(results: Results) -> Iterator[Row]:
    """Those of releases that were finished."""
    return (row for row in results["worth"].rows if "NCP" in row)


def _is_plain(row: Row) -> bool:
    """As drawn: AA by NCP, the others by information, with the deletions that they are made for."""
    ways = (all(row[head] == value for head, value in way.items()) for way in drawn_ways())
    return row["hierarchy"] != "learned:5" and any(ways)


def _worth_row(row: Row) -> Row:
    price = " by NCP" if row["price"] == "ncp" else ""
    heads = (*WORTH, "rule recall", "query error, mean / median", "deleted", "NCP", "CPU seconds")
    setting = {"data": row["data"], "m": row["m"], "algorithm": f"`{row['algorithm']}`{price}"}
    return setting | {head: row.get(head, "") for head in heads}


def _spec(row: Row) -> str:
    return f"`{row['hierarchy']}`" if ":" in row["hierarchy"] else str(row["hierarchy"])


def _rivals(results: Results, ours: Row) -> Iterator[Row]:
    return results["rivals"].where(data=ours["data"], m=ours["m"])


def _ours(row: Row) -> str:
    return f"{row['seconds']} s, {row['peak MB']} MB, {row['NCP']}"


def _theirs(row: Row) -> str:
    return f"{row['seconds']} s, {row['peak memory']}, {row['NCP']}" if row["NCP"] else str(row["seconds"])


def snapshots_table(results: Results) -> str:
    """What snapshots of the same patients keep, in a series and without."""
    kept = ("patients", "way", "information kept", "as they are", "patients who wait", "gone, still there")
    rows = [{name: row[name] for name in (*kept, "people found together")} for row in results["snapshots"].rows]
    return table([{**row, "patients": f"{row['patients']:,}"} for row in rows])


def batches_table(results: Results) -> str:
    """What 52 batches keep, in a series and without."""
    ways = {"series": "in a series", "hybrid": "each by itself, `hybrid`", "local": "each by itself, `local`"}
    kept = ("information kept", "rows waiting, on average", "at most", "CPU s, first", "CPU s, later")
    return table(
        [
            {"data": row["data"], "rows a batch": f"{row['rows']:,}", "way": ways[row["way"]]}
            | {name: row[name] for name in kept}
            for row in results["series"].rows
        ]
    )


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
    "worth-table": worth_table,
    "snapshots": snapshots_table,
    "batches": batches_table,
    "worth-comparison": worth_comparison,
    "worth-prices": worth_prices,
    "worth-deletions": worth_deletions,
    "worth-trees": worth_trees,
    "worth-measured": worth_measured,
}
