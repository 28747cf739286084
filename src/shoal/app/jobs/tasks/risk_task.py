"""Task `risk`: what the raw data give away, by the library's own profile, prosecutor risk, and which columns do it.

The plan names what others may know (quasi, items); its promise is of no account. Sensitive items are what others want to learn: as for the
promises that have them, nobody is taken to know them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.attacks.prosecutor import prosecutor
from shoal.estimates.raw_profile import profile_of
from shoal.evaluation.column_risk import column_risk
from shoal.evaluation.raw_risk import affordable
from shoal.plan import Plan
from shoal.processes import Teller
from shoal.publish import check_files
from shoal.records.records import Records
from shoal.records.source import Source, load_records, load_sets, mark_sensitive

LARGEST_M = 4
SUBSETS = 2e8
"""Sets of items that are counted at most before a larger m is left out: about ten seconds on two cores. Two items always are."""


def work(plan: Plan, folder: Path, tell: Teller, *, k: int = 5, key: str = "") -> dict[str, Any]:
    check_files(plan.model_copy(update={"outputs": None}))
    threads = plan.options.threads
    tell.stage("Reading the data")
    source, hidden = _read(plan)
    sets, columns = source.records.items, None
    if plan.of_role("quasi"):
        tell.stage("Comparing the columns")
        columns = column_risk(source.records, k).to_dict()
    tell.stage("Counting who is rare")
    profile = profile_of(
        source, k, 1 if sets is None else max(2, affordable(sets.lengths, LARGEST_M, SUBSETS)), threads=threads
    )
    if sets is None:
        profile = replace(profile, exposures=profile.exposures[:1])
    people = source.records.people
    return {
        "sensitive": hidden,
        "people": None if people is None else len(np.unique(people)),
        "profile": profile.to_dict(),
        "everything": prosecutor(source.records, k, threads=threads).to_dict(),
        "columns": columns,
        "largest_m": LARGEST_M,
    }


def _read(plan: Plan) -> tuple[Source, int]:
    """What others may know, and how many sensitive items were left out of it."""
    quasi = plan.of_role("quasi")
    reading = plan.reading()
    source = load_records(plan.content, quasi=quasi, **reading) if quasi else load_sets(plan.content, **reading)
    if (sensitive := plan.sensitive) is None:
        return source, 0
    records: Records = mark_sensitive(source.records, sensitive)
    assert records.items is not None
    items = records.items.split_off(records.sensitive_items)[0]
    known = replace(records, items=items, sensitive_items=frozenset())
    return replace(source, records=known), len(records.sensitive_items)
