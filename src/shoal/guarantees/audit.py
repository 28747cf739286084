"""What an audit says: does a promise hold for published data, and if not, who shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Witness:
    """An itemset that breaks the promise: its items, how many rows hold it, and which (counted from 1)."""

    items: tuple[str, ...]
    support: int
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Audit:
    """The verdict on published data, from the published data alone."""

    guarantee: Mapping[str, Any]
    holds: bool
    checked: int
    """Itemsets that occur and were counted."""
    violations: int
    """Those among them that occur in fewer than k rows."""
    by_size: Mapping[int, tuple[int, int]]
    """Per itemset size: (checked, violations)."""
    complete: bool = True
    """False when the verdict was clear before everything was counted; `violations` is then a lower bound."""
    witnesses: tuple[Witness, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        return {
            "guarantee": dict(self.guarantee),
            "holds": self.holds,
            "checked": self.checked,
            "violations": self.violations,
            "by_size": {str(size): {"checked": c, "violations": v} for size, (c, v) in self.by_size.items()},
            "complete": self.complete,
            "witnesses": [{"items": list(w.items), "support": w.support, "rows": list(w.rows)} for w in self.witnesses],
            "notes": list(self.notes),
        }
