"""What an audit says: does a promise hold for published data, and if not, who shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shoal.errors import Unreachable, number_of
from shoal.numbers import Ints
from shoal.showing import Plotted


@dataclass(frozen=True)
class Witness:
    """What breaks the promise: an itemset or the items of a class, how many rows hold it, and which (counted from 1).

    Attributes:
        items: The items, by name.
        support: How many rows hold them.
        rows: Which, counted from 1.

    >>> import shoal
    >>> shoal.audit([["milk"], ["milk"], ["gin"]], shoal.KmAnonymity(k=2, m=1)).witnesses
    (Witness(items=('gin',), support=1, rows=(3,), reason='', group=()),)
    """

    items: tuple[str, ...]
    support: int
    rows: tuple[int, ...]
    reason: str = ""
    """What is wrong with it, where that is not just its support."""
    group: tuple[str, ...] = ()
    """The class it is about, where there are several: its published quasi-identifier values, in the order of the columns."""

    def to_dict(self) -> dict[str, Any]:
        return {"items": list(self.items), "support": self.support, "rows": list(self.rows)} | (
            ({"reason": self.reason} if self.reason else {}) | ({"group": list(self.group)} if self.group else {})
        )


@dataclass(frozen=True)
class Audit(Plotted):
    """The verdict on published data, from the published data alone. It is true where the promise holds, so that it can be asserted.

    Attributes:
        guarantee: The promise and its numbers.
        holds: Whether it holds.
        witnesses: Who breaks it, the rarest first.
        notes: What else the owner should know.

    >>> import shoal
    >>> verdict = shoal.audit([["milk", "bread"], ["milk", "bread"]], shoal.KmAnonymity(k=2, m=2))
    >>> assert verdict
    >>> verdict.require().checked
    3
    """

    guarantee: Mapping[str, Any]
    holds: bool
    checked: int
    """Itemsets that occur, or classes, that were counted."""
    violations: int
    """Those among them that break the promise."""
    by_size: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """Per itemset size: (checked, violations)."""
    complete: bool = True
    """False when the verdict was clear before everything was counted; `violations` is then a lower bound."""
    witnesses: tuple[Witness, ...] = ()
    notes: tuple[str, ...] = field(default=())
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What else was counted: the number and size of classes, and how diverse they are."""

    def __bool__(self) -> bool:
        return bool(self.holds)

    def __repr__(self) -> str:
        least = "" if self.complete else "at least "
        told = "holds" if self.holds else f"does not hold: {least}{self.violations:,} break it"
        return f"Audit({self.guarantee['name']} {told}; {self.checked:,} counted)"

    def require(self) -> Audit:
        """The audit itself where the promise holds; raises Unreachable, which carries the witnesses, where it does not."""
        if self.holds:
            return self
        least = "" if self.complete else "at least "
        raise Unreachable(
            f"{self.guarantee['name']} does not hold: {least}{self.violations:,} of {self.checked:,} counted break it; "
            "the error's witnesses show which",
            self.witnesses,
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "guarantee": dict(self.guarantee),
            "holds": self.holds,
            "checked": self.checked,
            "violations": self.violations,
            "by_size": {str(size): {"checked": c, "violations": v} for size, (c, v) in self.by_size.items()},
            "complete": self.complete,
            "witnesses": [w.to_dict() for w in self.witnesses],
            "notes": list(self.notes),
        } | dict(self.facts)


def with_breaches(verdict: Audit, bad: Sequence[int], shown: Sequence[Witness], wanted: int) -> Audit:
    """The verdict with further breaches, by the number of known items, and some witnesses of each kind: neither hides the other."""
    by_size = dict(verdict.by_size)
    for size, more in enumerate(bad):
        checked, broken = by_size.get(size, (0, 0))
        by_size[size] = (checked, broken + more)
    first = verdict.witnesses[: max(wanted - len(shown), wanted // 2)]
    return replace(
        verdict,
        holds=verdict.holds and not any(bad),
        violations=verdict.violations + sum(bad),
        by_size=by_size,
        witnesses=(*first, *shown[: wanted - len(first)]),
    )


def class_facts(sizes: Ints, people: Ints | None = None) -> dict[str, Any]:
    """How many classes and how large; `people` are those of each, where they were counted."""
    return ({} if people is None else {"fewest_people": int(people.min(initial=int(sizes.sum())))}) | {
        "classes": len(sizes),
        "smallest_class": int(sizes.min()) if len(sizes) else 0,
        "largest_class": int(sizes.max(initial=0)),
        "average_class": float(sizes.mean()) if len(sizes) else 0.0,
    }


def empty_sets(number: int) -> tuple[str, ...]:
    """The note on transactions that hold nothing; none where there are none."""
    if not number:
        return ()
    told = number_of(
        number, "transaction is empty; it holds no items and is", "transactions are empty; they hold no items and are"
    )
    return (f"{told} safe",)


def empty_rows(number: int) -> tuple[str, ...]:
    """The note on rows of a table that hold no items; none where there are none."""
    if not number:
        return ()
    hides = "its class alone hides it" if number == 1 else "their class alone hides them"
    return (f"{number_of(number, 'row holds', 'rows hold')} no items that an attacker may know; {hides}",)
