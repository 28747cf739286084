"""Task `check`: what `shoal run --check` finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.plan import Plan
from shoal.processes import Teller
from shoal.rehearsal import checked_plan


def work(plan: Plan, folder: Path, tell: Teller) -> dict[str, Any]:
    tell.stage("Checking the plan")
    return checked_plan(plan.model_copy(update={"outputs": None}), progress=tell).to_dict()
