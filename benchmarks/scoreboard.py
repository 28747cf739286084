"""benchmarks/RESULTS.md from what was recorded: first the scoreboard, one table per engine, then every section as it was measured.

Seconds and megabytes are those of one machine on one day, ratios travel. So every row of the scoreboard is also a ratio to a
reference that was measured in the same run, and growth is the time per row at n rows over that at the fewest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import Row
from recorded import RESULTS, Recorded, number, recorded
from sections import SECTIONS

Results = Mapping[str, Recorded]
NOTHING = 1e-9
INTRODUCTION = """# Results

Written by `make bench` from `benchmarks/results/*.json`; do not edit. `benchmarks/run.py NAME ...` measures only these sections and
keeps the others, so each section says when, on which commit and on which machine it was measured. Seconds are the best of several
runs after a warm-up unless its remark says otherwise; every case runs in a process of its own, so peak memory is its own.
"""


@dataclass(frozen=True)
class Engine:
    """What the scoreboard shows of one engine, and from which sections."""

    title: str
    sections: tuple[str, ...]
    tables: Callable[[Results], list[list[Row]]]


def everything(folder: Path = RESULTS) -> dict[str, Recorded]:
    """All that was recorded, by section, and `rivals`."""
    kept = {name: recorded(name, folder) for name in (*SECTIONS, "rivals")}
    return {name: what for name, what in kept.items() if what is not None and what.rows}


def results_page(results: Results) -> str:
    parts = [INTRODUCTION, "## Scoreboard\n", _reading()]
    for engine in ENGINES:
        tables = [table(found) for found in engine.tables(results) if found]
        if tables:
            runs = ((name, results[name].run) for name in engine.sections if name in results)
            source = "From " + ", ".join(f"`{name}` ({run.date}, {run.commit})" for name, run in runs) + "."
            parts.append(f"### {engine.title}\n\n" + "\n\n".join([*tables, source]) + "\n")
    for name, section in SECTIONS.items():
        if name in results:
            what = results[name]
            parts.append(f"## {section.title}\n\n`{name}`: {what.run.line()}\n\n{table(what.rows)}\n")
    return "\n".join(parts)


def _reading() -> str:
    return (
        "How to read it: *s* are seconds, *loss* is between 0 and 1, *× s* and *× loss* are those of the row over those of its\n"
        "reference, measured in the same run (ARX: once, by hand); below 1 is better than the reference. An empty cell was not\n"
        "measured, or too short for a ratio; a dash means that both lost next to nothing. Growth: µs per row, and in brackets their\n"
        "ratio to those at the fewest rows; 1 is linear. Peak memory stands once where one process ran several algorithms.\n"
    )


def table(rows: Sequence[Row]) -> str:
    heads = list(dict.fromkeys(head for row in rows for head in row))
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(str(row.get(head, "")) for head in heads) + " |" for row in rows]
    return "\n".join(lines)


def ratio(one: Any, other: Any) -> str:
    """One cell over another in two digits; nothing where either is missing, a dash where both are next to nothing."""
    if "" in (one, other):
        return ""
    if max(number(one), number(other)) < NOTHING:
        return "-"
    if not number(other):  # too short for the digits that were kept: no ratio is known
        return ""
    value = number(one) / number(other)
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 0.1 else f"{value:#.2g}".rstrip(".")


def scored(
    data: str,
    setting: str,
    algorithm: str,
    seconds: Any,
    memory: Any,
    loss: Any,
    reference: str = "",
    reference_seconds: Any = "",
    reference_loss: Any = "",
) -> Row:
    """One row of the scoreboard."""
    return {
        "data": data,
        "setting": setting,
        "algorithm": algorithm,
        "s": seconds,
        "peak MB": memory,
        "loss": _share(loss),
        "reference": reference,
        "× s": ratio(seconds, reference_seconds),
        "× loss": ratio(loss, reference_loss),
    }


def growth(rows: Iterable[Row], rows_head: str, per_row: Mapping[str, Callable[[Row], float]]) -> list[Row]:
    """µs per row as the data grow, each with its ratio to that at the fewest rows."""
    ordered = sorted(rows, key=lambda row: number(row[rows_head]))
    return [
        {
            "rows": row[rows_head],
            **{
                f"{name}, µs per row": f"{cost(row):.3g} ({cost(row) / cost(ordered[0]):.2f})"
                for name, cost in per_row.items()
            },
            "peak MB": row.get("peak MB", ""),
        }
        for row in ordered
    ]


def cell(head: str) -> Callable[[Row], float]:
    """A cell that holds µs per row."""
    return lambda row: number(row[head])


def spread(seconds: str, rows: str) -> Callable[[Row], float]:
    """A cell of seconds, over the rows."""
    return lambda row: number(row[seconds]) / number(row[rows]) * 1e6


def _share(loss: Any) -> str:
    return "" if loss == "" else f"{number(loss):.4f}" if number(loss) >= 1e-4 else f"{number(loss):.2g}"


def _rows(results: Results, section: str, **wanted: Any) -> list[Row]:
    return list(results[section].where(**wanted)) if section in results else []


def audit_tables(results: Results) -> list[list[Row]]:
    against = [
        {
            "data": row["data"],
            "setting": f"m = {row['m']}",
            "itemsets": row["itemsets counted"],
            "s, one thread": row["one thread s"],
            "s, two threads": row["two threads s"],
            "peak MB": row.get("peak MB", ""),
            "reference": f"a bare loop over the same {row['m']}-subsets, one thread",
            "× s": row["one thread / bare loop"],
            "× s, two threads": ratio(row["two threads s"], row["bare loop s"]),
        }
        for row in _rows(results, "audit")
    ]
    return [against, growth(_rows(results, "growth"), "transactions", {"audit": cell("audit µs / transaction")})]


def km_tables(results: Results) -> list[list[Row]]:
    rows = []
    for row in _rows(results, "exact"):
        setting, loss, aa = f"m = {row['m']}, {row['hierarchy']}", row["NCP, proven optimal"], row["NCP of AA"]
        reference = ("aa", row.get("AA s", ""), aa)
        rows.append(scored(row["data"], setting, "exact", row["seconds"], row["peak MB"], loss, *reference))
    for row in _rows(results, "command"):
        for rival in _rows(results, "rivals", data=row["data"], m=row["m"]):
            if rival["tool"].startswith("ARX") and rival["NCP"]:
                setting, reference = f"m = {row['m']}, balanced:5, the command", ("ARX", rival["seconds"], rival["NCP"])
                rows.append(
                    scored(row["data"], setting, "exact", row["seconds"], row["peak MB"], row["NCP"], *reference)
                )
    for row in _rows(results, "hybrid"):
        setting = f"m = {row['m']}, {row['hierarchy']}, --suppress {row['--suppress']}"
        reference = ("exact", row.get("exact s", ""), row["exact, same budget"])
        rows.append(
            scored(row["data"], setting, "hybrid", row["seconds"], row["peak MB"], row["hybrid NCP"], *reference)
        )
    for row in _rows(results, "local"):
        setting, reference = f"m = {row['m']}, {row['hierarchy']}", ("exact", row["exact s"], row["exact NCP"])
        rows.append(scored(row["data"], setting, "lra", row["lra s"], row["peak MB"], row["lra NCP"], *reference))
    for row in _rows(results, "aa"):
        reference = ("a count-tree in Python, same cut", row["Python count-tree s"], "")
        rows.append(
            scored(
                row["data"], f"m = {row['m']}, balanced:5", "aa", row["AA s"], row.get("peak MB", ""), "", *reference
            )
        )
    return [rows, growth(_rows(results, "growth"), "transactions", {"exact": cell("exact µs / transaction")})]


def learned_tables(results: Results) -> list[list[Row]]:
    rows = []
    for row in _rows(results, "learned"):
        setting = f"k = {row['k']}, m = {row['m']}"
        seconds = f"{number(row['learning s']) + number(row['learned s']):.2f}"
        reference = (f"frequency:{row['N']}", row["frequency s"], row["frequency"])
        rows.append(
            scored(row["data"], setting, f"learned:{row['N']}", seconds, row["peak MB"], row["learned"], *reference)
        )
    return [rows, growth(_rows(results, "learning"), "transactions", {"learning": cell("learning µs / transaction")})]


def transactions_tables(results: Results) -> list[list[Row]]:
    rows = []
    for row in _rows(results, "transactions", k=15):
        setting = f"k = {row['k']}, {row['segments']} segments"
        for name in ("split", "PTA", "GSC", "Gray-TSP"):
            reference = ("", "", "") if name == "PTA" else ("pta", row["PTA s"], row["PTA"])
            memory = row.get("peak MB", "") if name == "split" else ""  # one process for all four
            rows.append(scored(row["data"], setting, name.lower(), row[f"{name} s"], memory, row[name], *reference))
            if name == "split":
                rows[-1]["× s"] = row["time, split / PTA"]  # from unrounded seconds
    costs = {name.lower(): cell(f"{name} µs / transaction") for name in ("split", "PTA")}
    return [rows, growth(_rows(results, "quest"), "transactions", costs)]


def tables_tables(results: Results) -> list[list[Row]]:
    rows = []
    for row in _rows(results, "tables"):
        first = next(results["tables"].where(data=row["data"], k=row["k"], algorithm="rfirst"))
        other = first if row is not first else dict.fromkeys(first, "")
        rows.append(
            {
                "data": row["data"],
                "setting": f"{row['rows']} rows, k = {row['k']}",
                "algorithm": row["algorithm"],
                "s": row["seconds"],
                "peak MB": row["peak MB"],
                "loss of columns (NCP)": row["NCP"],
                "loss of items (UL)": row["UL"],
                "reference": other["algorithm"],
                "× s": ratio(row["seconds"], other["seconds"]),
                "× NCP": ratio(row["NCP"], other["NCP"]),
                "× UL": ratio(row["UL"], other["UL"]),
            }
        )
    orders = [
        {
            "data": row["data"],
            "setting": f"{row['rows']} rows, k = {row['k']}, delta = {row['delta']}",
            "algorithm": row["algorithm"],
            "s": row["BTD s"],
            "reference": "ordering by UL itself",
            "× s": ratio(row["BTD s"], row["exact UL s"]),
            "× NCP": ratio(row["NCP, BTD"], row["NCP, exact UL"]),
            "× UL": ratio(row["UL, BTD"], row["UL, exact UL"]),
        }
        for row in _rows(results, "btd")
    ]
    costs = {name: spread(f"{name} s", "rows") for name in ("rmerge-r", "rmerge-t", "rmerge-rt")}
    return [rows, orders, growth(_rows(results, "scale", k=25), "rows", costs)]


def buckets_tables(results: Results) -> list[list[Row]]:
    rows = []
    for row in _rows(results, "bucketing"):
        errors = next(iter(_rows(results, "counts", l=row["l"], minExp="0.90", dim=2, sel=0.5)), None)
        for name in ("anatomy", "injector", "balanced"):
            loss, anatomy = ((errors[f"{method}: mean error"] if errors else "") for method in (name, "anatomy"))
            reference = ("", "", "") if name == "anatomy" else ("anatomy", row["anatomy s"], anatomy)
            memory = row["peak MB"] if name == "anatomy" else ""  # one process for all three
            rows.append(scored("Adult", f"l = {row['l']}", name, row[f"{name} s"], memory, loss, *reference))
    named = {"loss": "mean error of counts", "× loss": "× error"}
    rows = [{named.get(head, head): value for head, value in row.items()} for row in rows]
    costs = {name: cell(f"{name} µs / row") for name in ("rules", "anatomy", "injector", "balanced", "audit")}
    return [rows, growth(_rows(results, "census"), "rows", costs)]


ENGINES = (
    Engine("The audit", ("audit", "growth"), audit_tables),
    Engine(
        "k^m-anonymity, k = 5: exact, hybrid, lra, aa",
        ("exact", "command", "hybrid", "local", "aa", "growth"),
        km_tables,
    ),
    Engine(
        "Learned hierarchies: learning and the optimum under learned:N, beside the optimum under frequency:N",
        ("learned", "learning"),
        learned_tables,
    ),
    Engine("k-anonymous transactions: split, pta, gsc, gray-tsp", ("transactions", "quest"), transactions_tables),
    Engine("(k,k^m)-anonymous tables, m = 2: the merges", ("tables", "btd", "scale"), tables_tables),
    Engine("Buckets: anatomy, injector, balanced", ("bucketing", "counts", "census"), buckets_tables),
)
