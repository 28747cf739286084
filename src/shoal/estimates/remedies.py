"""What else there is to try where a release loses a lot: changes of a plan that often keep more under the same promise.

Nothing here says how much more: whoever offers a remedy tries it on the data (`shoal.estimates.trials`), and says what it would keep.
Weaker promises are none: that choice is the decision map's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from shoal.algorithms import entry
from shoal.evaluation.advice import SHARES, WORTH_A_LOOK
from shoal.models.km import HIERARCHY

BETTER = {
    "km": ("local", "hybrid"),
    "k": ("split",),
    "table": ("better-of-two",),
    "rt": ("joint",),
    "lm": ("joint",),
    "diversity": ("balanced",),
}
"""Per kind of promise, the algorithms that mostly keep the most."""
ROWS = (0.01, 0.05)
"""Shares of the rows that may leave."""
NOTHING = "nothing"
"""Instead of a tree: none, so that what belongs together is found in the data."""


@dataclass(frozen=True)
class Remedy:
    """A change of a plan.

    Attributes:
        options: What is set, by the names of options; `algorithm` is one of them.
        column: Whose tree is taken out of the plan, if one is; an empty name for that of sets alone.
        tree: What takes its place, NOTHING for none.
    """

    options: Mapping[str, Any]
    column: str | None = None
    tree: str = NOTHING


def remedies(
    kind: str, algorithm: str, now: Mapping[str, float], lost: float, idle: Collection[tuple[str, str]] = ()
) -> list[Remedy]:
    """What to try with a plan that loses so much of the information.

    Args:
        kind: The kind of its promise, as in `shoal.algorithms.ALGORITHMS`.
        algorithm: Its algorithm.
        now: What its options stand at.
        lost: The share that is lost.
        idle: (column, spec) of its trees that help little; no column for those of sets alone.
    """
    if lost <= WORTH_A_LOOK and not idle:
        return []
    takes = entry(kind, algorithm)[1].options
    found = [Remedy({"algorithm": name}) for name in BETTER.get(kind, ()) if name != algorithm]
    for name, shares in (("suppress", SHARES), ("suppress_rows", ROWS)):
        more = [share for share in shares if share > now.get(name, 0.0)]
        if name in takes and more:
            found.append(Remedy({name: more[0]}))
    if algorithm.startswith("rmerge") and now.get("delta"):
        found.append(Remedy({"delta": round(now["delta"] / 2, 4)}))
    for column, spec in idle:
        other = HIERARCHY if kind == "km" else NOTHING
        if spec != other:
            found.append(Remedy({}, column, other))
    return found
