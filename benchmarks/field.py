"""The whole field: every algorithm that there is for a promise, ranked by what it keeps (`shoal compare --field`), on public data.

A row is one data set and one promise. Algorithms stand in the order of their ranks with the information that they keep; those with the
same rank keep the same. Each runs in a process of its own, as a reader's command would, and is stopped after SECONDS by the clock.
"""

from __future__ import annotations

import json
import resource
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from measuring import Row, folder, peak_mb

SECONDS = 60
"""That an algorithm may take, from reading to the audit."""
_ADULT = {
    **dict.fromkeys(("age", "workclass", "education", "marital-status", "race", "sex"), "quasi"),
    "occupation": "sensitive",
}
_TREES = {name: f"adult/hierarchies_arx/adult_hierarchy_{name}.csv" for name in ("age", "education", "sex")}
PLANS: dict[tuple[str, str], Mapping[str, Any]] = {
    ("groceries", "5^2-anonymity"): {
        "input": "groceries/groceries.dat.gz",
        "guarantee": {"model": "km", "k": 5, "m": 2},
        "hierarchies": "groceries/groceries_hierarchy.csv",
    },
    ("WebView-1", "5^2-anonymity"): {
        "input": "bms_webview1/*.dat.gz",
        "guarantee": {"model": "km", "k": 5, "m": 2},
        "hierarchies": "frequency:5",
    },
    ("chess", "5^2-anonymity"): {
        "input": "chess/chess.dat.gz",
        "guarantee": {"model": "km", "k": 5, "m": 2},
        "hierarchies": "frequency:5",
    },
    ("chess", "5-anonymity"): {"input": "chess/chess.dat.gz", "guarantee": {"model": "k", "k": 5}},
    ("mushroom", "5-anonymity"): {"input": "mushroom/mushroom.dat.gz", "guarantee": {"model": "k", "k": 5}},
    ("Adult", "5-anonymity"): {
        "input": "adult/adult.csv.gz",
        "columns": {**_ADULT, "occupation": "keep"},
        "guarantee": {"model": "k", "k": 5},
        "hierarchies": _TREES,
    },
    ("Adult", "3-diversity"): {
        "input": "adult/adult.csv.gz",
        "columns": _ADULT,
        "guarantee": {"model": "diversity", "l": 3},
    },
    ("Complete Journey RT", "(5,5^2)-anonymity"): {
        "input": "completejourney/completejourney_rt.csv.gz",
        "columns": {
            "household_id": "drop",
            "age": "quasi",
            "income": "quasi",
            "household_size": "quasi",
            "home_ownership": "drop",
            "marital_status": "drop",
            "household_comp": "drop",
            "kids_count": "drop",
            "items": "items",
        },
        "guarantee": {"model": "rt", "k": 5, "m": 2},
    },
}
"""What is compared, by data set and promise: a plan each, its files below the folder of the data."""


def section_field() -> list[Row]:
    return [{"data": data, "promise": promise} for data, promise in PLANS]


def case_field(data_name: str, promise: str) -> Row:
    """The whole field: every algorithm for a promise, by the information that it keeps"""
    from shoal.records.formats.peek import column_names
    from shoal.studies.compare import compare, comparison_of, rows_of

    asked, where = PLANS[data_name, promise], folder()
    assert where is not None
    path = min(where.glob(asked["input"]))
    plan: dict[str, Any] = {"version": 1, "input": {"path": str(path)}, "guarantee": asked["guarantee"]}
    if "columns" in asked:
        plan["columns"] = {name: asked["columns"].get(name, "drop") for name in column_names(path)}
    if (trees := asked.get("hierarchies")) is not None:
        plan["hierarchies"] = _files(trees, where)
    with tempfile.TemporaryDirectory() as scratch:
        results = compare(comparison_of(plan, field=True), scratch, jobs=1, limit=SECONDS)
    rows = rows_of(results)
    done = [row for row in rows if row["status"] == "done"]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "data": data_name,
        "promise": promise,
        "rows": f"{max((row['rows'] for row in done), default=0):,}",
        "information kept, by rank": _ranking(done),
        "no release": "; ".join(f"{row['algorithm']} ({row['status']})" for row in rows if row["status"] != "done"),
        "CPU seconds": f"{used.ru_utime + used.ru_stime:.0f}",
        "peak MB": peak_mb(of_children=True),
    }


def _files(trees: Any, where: Path) -> Any:
    """The same specs, files as they lie here."""
    if isinstance(trees, Mapping):
        return {name: _files(spec, where) for name, spec in trees.items()}
    return str(where / trees) if trees.endswith(".csv") else trees


def _ranking(done: Sequence[Row]) -> str:
    """`1. local 94.3%; 2. hybrid, lra 93.4%`."""
    groups: dict[int, list[Row]] = {}
    for row in done:
        groups.setdefault(row["rank"], []).append(row)
    return "; ".join(
        f"{rank}. {', '.join(row['algorithm'] for row in rows)} {1 - rows[0]['loss']['info']:.2%}"
        for rank, rows in groups.items()
    )


if __name__ == "__main__":
    for case in section_field():
        print(json.dumps(case_field(case["data"], case["promise"])))
