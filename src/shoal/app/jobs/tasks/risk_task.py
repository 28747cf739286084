"""Task `risk`: what the raw data give away, by the library's own profile, prosecutor risk, and which columns do it.

The plan names what others may know (quasi, items); its promise is of no account. Sensitive items are what others want to learn: as for the
promises that have them, nobody is taken to know them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.plan import Plan, call_of
from shoal.plan.running import check_files
from shoal.processes import Teller

if TYPE_CHECKING:
    from shoal.records.records import Records

LARGEST_M = 4
SUBSETS = 2e8
"""Sets of items that are counted at most before a larger m is left out: about ten seconds on two cores. Two items always are."""


def work(plan: Plan, folder: Path, tell: Teller, *, k: int = 5, key: str = "") -> dict[str, Any]:
    from shoal.attacks.prosecutor import prosecutor
    from shoal.drawing.risk_plots import exposure_plot
    from shoal.evaluation.column_risk import column_risk
    from shoal.evaluation.raw_profile import profile
    from shoal.records.reading import load
    from shoal.records.record_reading import load_records, mark_sensitive

    check_files(plan.model_copy(update={"outputs": None}))
    call = call_of(plan)
    threads = plan.options.threads
    names = ("format", "items", "id", "separator", "drop", "numeric")
    reading = {name: call.arguments[name] for name in names if name in call.arguments}
    quasi = plan.of_role("quasi")
    tell.stage("Reading the data")
    sensitive, marked = call.arguments.get("sensitive"), 0
    if quasi:
        source = load_records(call.data, quasi=quasi, **reading)
        data, name, sets = source.records, source.name, source.records.items
        known: Any = call.data
        if sensitive is not None:
            data, marked = _openly(mark_sensitive(data, sensitive))
            known, reading, sets = _frame(data), {"items": data.items_name}, data.items
        tell.stage("Comparing the columns")
        columns = column_risk(source.records, k).to_dict()
        up_to = 1 if sets is None else _up_to(sets.lengths)
        tell.stage("Counting who is rare")
        found = profile(known, k, up_to, threads=threads, quasi=quasi, **reading)
        found = replace(found, exposures=found.exposures[: 1 if sets is None else None], sha256=source.sha256)
        everything = prosecutor(data, k, threads=threads)
    else:
        read = load(call.data, **reading)
        name, columns, open_sets = read.name, None, read.baskets
        if sensitive is not None:
            openly, marked = _openly(mark_sensitive(open_sets, sensitive))
            assert openly.items is not None
            open_sets = openly.items
        tell.stage("Counting who is rare")
        found = profile(open_sets, k, _up_to(open_sets.lengths), threads=threads)
        everything = prosecutor(open_sets, k, threads=threads)
    found = replace(found, source=name)
    return {
        "sensitive": marked,
        "profile": found.to_dict(),
        "picture": exposure_plot(found) if len(found.exposures) > 1 else None,
        "everything": everything.to_dict(),
        "columns": columns,
        "largest_m": LARGEST_M,
    }


def _openly(records: Records) -> tuple[Records, int]:
    """The records without their sensitive items, and how many those are."""

    assert records.items is not None
    items = records.items.parted(records.sensitive_items)[0]
    return replace(records, items=items, sensitive_items=frozenset()), len(records.sensitive_items)


def _frame(records: Records) -> Any:
    """What others may know as a table in memory, which is read as a file is."""
    import pyarrow as pa

    sets = records.items
    assert sets is not None
    columns = {
        column.name: pa.array([value or None for value in column.values], pa.string()).take(pa.array(column.codes))
        for column in records.of_role("quasi")
    }
    items = pa.array(sets.vocabulary, pa.string()).take(pa.array(sets.items))
    return pa.table(columns | {records.items_name: pa.LargeListArray.from_arrays(pa.array(sets.offsets), items)})


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
