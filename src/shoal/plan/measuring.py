"""A plan as what lies between an original and its release: what `evaluate` needs to know of both."""

from __future__ import annotations

from typing import Any

from shoal.plan.model import Plan
from shoal.plan.running import call_of

_BETWEEN = ("hierarchy", "unknown", "sensitive", "quasi", "keep", "weights")
_READING = ("format", "separator", "numeric", "items", "id", "drop")


def evaluation_of(plan: Plan) -> dict[str, Any]:
    """The arguments of `shoal.evaluate` that a plan stands for: how the files are read, what published names mean, k and m."""
    arguments = call_of(plan).arguments
    found = {name: arguments[name] for name in (*_BETWEEN, *_READING) if name in arguments}
    promised = {name: getattr(plan.guarantee, name, None) for name in ("k", "m")}
    return found | {name: value for name, value in promised.items() if value is not None}
