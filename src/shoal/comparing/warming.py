"""The warm-up before a cell is timed: its algorithm on a few made-up rows of the same model.

Kernels are loaded or compiled and libraries imported there, so that the time of a cell is that of its data alone.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from typing import Any

from shoal.algorithms import entry
from shoal.plan import Plan, call_of

_ROWS = 36
_CODES = ("a", "b", "c", "d", "e", "f")
_OF_THE_DATA = (
    "weights",
    "item_weights",
    "fuzzy",
    "knowledge",
    "unknown",
    "seed",
    "threads",
    "segments",
    "memory_limit",
)
"""Options that name columns or items, or whose value makes no difference here."""


def warm_up(plan: Plan, threads: int) -> bool:
    """Runs the plan's algorithm on made-up rows. Whether that went to its end."""
    from shoal.release import anonymize

    guarantee = call_of(plan).guarantee
    small: dict[str, Any] = {
        name: min(getattr(guarantee, name), 2) for name in ("k", "m", "l") if hasattr(guarantee, name)
    }
    options = {
        name: value for name, value in plan.options.model_dump(exclude_none=True).items() if name not in _OF_THE_DATA
    }
    for name, most in (("time_limit", 1.0), ("population", 4), ("generations", 2)):
        if name in options:
            options[name] = min(options[name], most)
    if "delta" in entry(plan.kind, plan.algorithm)[1].options:
        options["delta"] = 1.0  # which every clustering keeps
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.csv")
        try:
            anonymize(
                _written(path, plan.kind),
                replace(guarantee, **small),
                algorithm=plan.algorithm,
                threads=threads,
                **_roles(plan, small.get("l", 1)),
                **options,
            )
        except Exception:  # the cell itself will tell what is wrong
            return False
    return True


def _roles(plan: Plan, l: int) -> dict[str, Any]:  # noqa: E741
    kind = plan.kind
    if kind == "km":
        return {"hierarchy": "balanced:2", "items": "codes", "drop": ("age", "sex", "disease")}
    if kind == "k":
        return {"items": "codes", "drop": ("age", "sex", "disease")} | ({"sensitive": ("e", "f")} if l > 1 else {})
    tree = {"age": "intervals:5,10"}
    quasi = {"quasi": ("age", "sex")}
    if kind == "table":
        return (
            quasi | {"hierarchy": tree, "drop": "codes"} | ({"sensitive": "disease"} if l > 1 else {"keep": "disease"})
        )
    if kind == "diversity":
        return quasi | {"hierarchy": tree, "drop": "codes", "sensitive": "disease"}
    if plan.hierarchies is not None:
        tree["codes"] = "balanced:2"
    rest = {"items": "codes", "drop": "disease", "hierarchy": tree}
    return quasi | rest | ({"sensitive": ("f",)} if kind == "lm" else {})


def _written(path: str, kind: str) -> str:
    """Rows in which every code is in at most half of the rows and every disease in a third."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("age,sex,disease,codes\n")
        for i in range(_ROWS):
            codes = "|".join(dict.fromkeys((_CODES[i % 5], _CODES[i * i % 4], *(("f",) if i % 6 == 0 else ()))))
            file.write(f"{20 + i * 7 % 30},{'fm'[i % 2]},{('flu', 'gout', 'cough')[i // 2 % 3]},{codes}\n")
    return path
