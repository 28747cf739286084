"""Task `risk`: what the raw data give away, by the library's own profile, prosecutor risk, and which columns do it.

The plan names what others may know (quasi, items); its promise is of no account.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.app.worker import Teller
from shoal.plan import Plan, call_of
from shoal.plan.running import check_files

LARGEST_M = 4
SUBSETS = 2e8
"""Sets of items that are counted at most before a larger m is left out: about ten seconds on two cores. Two items always are."""


def work(plan: Plan, folder: Path, tell: Teller, *, k: int = 5, key: str = "") -> dict[str, Any]:
    from shoal.app.column_risk import column_risk
    from shoal.attacks.prosecutor import prosecutor
    from shoal.records.reading import load
    from shoal.records.record_reading import load_records
    from shoal.report.profile import profile
    from shoal.report.risk_plots import exposure_plot

    check_files(plan.model_copy(update={"outputs": None}))
    call = call_of(plan)
    threads = plan.options.threads
    names = ("format", "items", "id", "separator", "drop", "numeric")
    reading = {name: call.arguments[name] for name in names if name in call.arguments}
    quasi = plan.of_role("quasi")
    tell.stage("Reading the data")
    if quasi:
        source = load_records(call.data, quasi=quasi, **reading)
        data, name, sets = source.records, source.name, source.records.items
        tell.stage("Comparing the columns")
        columns = column_risk(source.records, k).to_dict()
        up_to = 1 if sets is None else _up_to(sets.lengths)
        tell.stage("Counting who is rare")
        found = profile(call.data, k, up_to, threads=threads, quasi=quasi, **reading)
        found = replace(found, exposures=found.exposures[: 1 if sets is None else None])
        everything = prosecutor(data, k, threads=threads)
    else:
        baskets = load(call.data, **reading)
        name, columns = baskets.name, None
        tell.stage("Counting who is rare")
        found = profile(baskets.baskets, k, _up_to(baskets.baskets.lengths), threads=threads)
        everything = prosecutor(baskets.baskets, k, threads=threads)
    found = replace(found, source=name)
    return {
        "profile": found.to_dict(),
        "picture": exposure_plot(found) if len(found.exposures) > 1 else None,
        "everything": everything.to_dict(),
        "columns": columns,
        "largest_m": LARGEST_M,
    }


def _up_to(lengths: Any) -> int:
    """The largest m for which all sets of items can be counted in a bearable time."""
    import numpy as np

    ways = lengths.astype(np.float64)
    total = float(ways.sum())
    for size in range(2, LARGEST_M + 1):
        ways *= np.maximum(lengths - size + 1, 0) / size
        total += float(ways.sum())
        if size > 2 and total > SUBSETS:
            return size - 1
    return LARGEST_M
