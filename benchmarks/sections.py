"""The registry of what is measured, in the order of the results.

A section NAME of a module beside this file is two functions: `section_NAME()` gives the parameters of its cases, and
`case_NAME(...)` measures one of them in a fresh process and gives a row (`data` arrives as `data_name`). A new section is
a line in SECTIONS, a new module a name in MODULES: all its sections are then taken, under the first line of what their case says
and, unless its WITHOUT_DATA names them, only where the public data sets are at hand. Its LIMIT, if it has one, stops cases after so many
seconds of CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from measuring import Row


@dataclass(frozen=True)
class Section:
    """One table of the results."""

    module: str
    title: str
    needs_data: bool = True
    limit: int | None = None
    """Seconds of CPU after which a case is stopped."""


SECTIONS = {
    "audit": Section("km", "Audit of raw data against a bare loop"),
    "exact": Section("km", "exact, k = 5, and the published figures of other tools"),
    "command": Section("km", "The whole command, k = 5, balanced:5, and the fastest other tool"),
    "hybrid": Section("km", "hybrid, k = 5, beside exact"),
    "tiny": Section("km", "hybrid against brute force on tiny data", needs_data=False),
    "aa": Section("km", "AA against a straightforward Python count-tree"),
    "growth": Section("km", "Growth: Quest data, m = 2", needs_data=False),
    "transactions": Section(
        "transactions", "k-anonymous transactions: items added and removed, over the original occurrences"
    ),
    "segments": Section("transactions", "PTA and Gray-TSP by number of segments"),
    "quest": Section("transactions", "k-anonymous transactions: growth on Quest data, k = 15", needs_data=False),
    "tables": Section("tables", "(k,k^m)-anonymous tables: all algorithms, m = 2, delta = 0.65"),
    "rum": Section("tables", "RMERGE by its bound on NCP, m = 2"),
    "tum": Section("tables", "TMERGE by its bound on UL, m = 2"),
    "scale": Section("tables", "RMERGE by rows and by k: Diabetes-130 RT, m = 2, delta = 0.65"),
    "btd": Section("tables", "BTD against ordering by UL itself, m = 2"),
    "rules": Section("buckets", "Negative rules on Adult, one condition, beside Figure 3 of the Injector paper"),
    "narrowed": Section("buckets", "Buckets on Adult: rows narrowed down below l by the rules"),
    "confidence": Section(
        "buckets",
        "Buckets on Adult: errors about positive rules, support 1%, conviction 1.02, up to three conditions",
    ),
    "counts": Section("buckets", "Buckets on Adult: relative errors of 1,000 counting queries"),
    "bucketing": Section("buckets", "Buckets on Adult: seconds"),
    "census": Section("buckets", "Buckets: growth on synthetic tables, l = 5", needs_data=False),
}


MODULES = (
    "local",
    "worth",
    "chunks",
    "field",
    "balance",
    "learned",
    "cluster",
    "memory",
    "app",
    "first_use",
    "series",
    "snapshots",
)


def sections_of(module: str) -> dict[str, Section]:
    """All sections of a module, in its order; none where there is no such module."""
    if find_spec(module) is None:
        return {}
    functions = vars(import_module(module))
    names = [name.removeprefix("section_") for name in functions if name.startswith("section_")]
    without = functions.get("WITHOUT_DATA", ())
    limit = functions.get("LIMIT")
    return {
        name: Section(module, _title(functions[f"case_{name}"], name), name not in without, limit) for name in names
    }


def _title(case: Callable[..., Any], name: str) -> str:
    return (case.__doc__ or name).strip().split("\n")[0].rstrip(".")


for _module in MODULES:
    SECTIONS |= {name: section for name, section in sections_of(_module).items() if name not in SECTIONS}


def cases_of(name: str) -> list[Row]:
    cases: list[Row] = _function(name, "section")()
    return cases


def case_of(name: str, **parameters: Any) -> Row:
    """One case, measured here and now, with the peak memory of this process where the case does not say its own."""
    from measuring import peak_mb

    if "data" in parameters:
        parameters["data_name"] = parameters.pop("data")
    row: Row = _function(name, "case")(**parameters)
    return row if "peak MB" in row else {**row, "peak MB": peak_mb()}


def _function(name: str, kind: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(import_module(SECTIONS[name].module), f"{kind}_{name}")
    return found
