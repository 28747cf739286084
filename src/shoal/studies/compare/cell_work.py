"""What the process of a cell does: a warm-up, then the release of its plan, audited and measured.

The warm-up runs the algorithm on a few made-up rows of the same model. Kernels are loaded or compiled and libraries imported there, so that
the time of a cell is that of its data alone.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shoal.algorithms import entry
from shoal.plan import Origin, Plan, plan_of
from shoal.processes import Teller
from shoal.publish import check_files
from shoal.records.storage.memory import resident_bytes
from shoal.release import anonymize

_ROWS = 36
_CODES = ("a", "b", "c", "d", "e", "f")
_OF_THE_DATA = (
    *("limits", "missing_quasi", "shift", "weights", "item_weights", "fuzzy"),
    *("knowledge", "unknown", "seed", "threads", "segments", "memory_limit"),
)
"""Options that name columns or items, or whose value makes no difference to the warm-up."""


def compute(request: Mapping[str, Any], tell: Teller) -> dict[str, Any]:
    """The fields of an `Outcome` that the process of a cell knows."""
    threads: int = request["threads"]
    plan = plan_of(request["document"], Origin(request["name"], request["folder"]))
    warm = warm_up(plan, threads)
    now = resident_bytes()
    tell.note(started=True)
    check_files(plan)
    return release_facts(plan, threads) | {
        "start_mb": None if now is None else round(now[0] / (1 << 20), 1),
        "warm": warm,
    }


def release_facts(plan: Plan, threads: int) -> dict[str, Any]:
    """The release of a plan, in figures."""
    with plan.speaking():
        release = anonymize(plan.data, plan.promise, **{"threads": threads, **plan.keywords()})
    classes = release.details.get("classes") or release.details.get("buckets") or {}
    return {
        "guarantee": str(release.guarantee),
        "holds": bool(release.audit.holds),
        "checked": int(release.audit.checked),
        "loss": {name: _finite(value) for name, value in release.loss.items()},
        "kept": {name: _finite(value) for name, value in release.kept.items()},
        "price": release.proposal.parameters.get("price"),
        "optimal": release.optimal,
        "bound": _finite(release.bound),
        "seconds": round(release.seconds, 4),
        "peak_mb": release.peak_mb,
        "rows": release.rows,
        "classes": classes.get("count"),
        "threads": plan.options.threads or threads,
        "input_sha256": release.input_sha256,
    }


def _finite(value: Any) -> float | None:
    """A figure for JSON, which has no NaN and no infinity."""
    return None if value is None or not math.isfinite(value) else float(value)


def warm_up(plan: Plan, threads: int) -> bool:
    """Runs the plan's algorithm on made-up rows. Whether that went to its end."""
    guarantee = plan.promise
    small: dict[str, Any] = {
        name: min(getattr(guarantee, name), 2) for name in ("k", "m", "l") if hasattr(guarantee, name)
    }
    if plan.kind == "constraints":
        small["policy"] = {"protect": [{"all": 2, "of": "*"}], "generalize": "*"}
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
        _write_rows(path)
        try:
            anonymize(
                path,
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
    if plan.kind == "km":
        return {"hierarchy": "balanced:2", "items": "codes", "drop": ("age", "sex", "disease")}
    if plan.kind == "chunks":
        return {"items": "codes", "drop": ("age", "sex", "disease")}
    if plan.kind in ("k", "constraints"):
        return {"items": "codes", "drop": ("age", "sex", "disease")} | ({"sensitive": ("e", "f")} if l > 1 else {})
    tree = {"age": "intervals:5,10"}
    table: dict[str, Any] = {"quasi": ("age", "sex"), "hierarchy": tree}
    if plan.kind in ("table", "diversity"):
        role = "keep" if plan.kind == "table" and l == 1 else "sensitive"
        return table | {"drop": "codes", role: "disease"}
    if plan.hierarchies is not None:
        tree["codes"] = "balanced:2"
    return table | {"items": "codes", "drop": "disease"} | ({"sensitive": ("f",)} if plan.kind == "lm" else {})


def _write_rows(path: str) -> None:
    """Rows in which every code is in at most half of the rows and every disease in a third."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("age,sex,disease,codes\n")
        for i in range(_ROWS):
            codes = "|".join(dict.fromkeys((_CODES[i % 5], _CODES[i * i % 4], *(("f",) if i % 6 == 0 else ()))))
            file.write(f"{20 + i * 7 % 30},{'fm'[i % 2]},{('flu', 'gout', 'cough')[i // 2 % 3]},{codes}\n")
