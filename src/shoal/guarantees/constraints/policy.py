"""A policy: the sets of items to protect, and the groups in which items may be put together.

These are the privacy and the utility constraints of Loukides, Gkoulalas-Divanis and Malin (COAT, 2011). A policy is a noun that the audit
and the searches share: it holds names, knows no rows, and reads no file (`shoal.plan.policy_file` does).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from shoal.errors import VALUES, InputError
from shoal.numbers import whole_number

LONGEST = 60
"""Items in a set that is protected: more than anybody knows of anybody, and a bit each in one number."""
MOST_SETS = 1_000_000
ALL = "*"
"""In place of names: every item there is."""


@dataclass(frozen=True)
class AllOf:
    """Every set of up to `m` of these items, as one promise; None for all items there are."""

    m: int
    items: tuple[str, ...] | None

    def __post_init__(self) -> None:
        whole_number("all", self.m, 1)


@dataclass(frozen=True)
class Policy:
    """Which sets of items are protected, and which items may be published together as one set.

    Args:
        protect: Sets of items (each with all its parts), and `{"all": 2, "of": [...]}` for all sets of up to 2 of some items, or of `"*"`.
        generalize: Groups of items that may be put together, or `"*"`: any with any. What is in no group stands as it is, or is left out.
        source: What messages call it.

    Raises:
        InputError: It protects nothing, or an item is in two groups.

    >>> import shoal
    >>> shoal.Policy(protect=[["HIV", "asthma"], {"all": 2, "of": ["gout", "flu", "HIV"]}], generalize=[["gout", "flu"]])
    Policy(protects 1 set and all sets of up to 2 of 3 items; 1 group)
    """

    protect: Any
    generalize: Any = ()
    source: str = field(default="the policy", compare=False)
    path: str | None = field(default=None, compare=False)
    """The file that it was read from."""

    def __post_init__(self) -> None:
        protect = tuple(dict.fromkeys(self._protection(entry) for entry in self._listed(self.protect, "protect")))
        if not protect:
            raise InputError(f"{self.source}: it protects nothing; name sets of items under protect")
        if len(protect) > MOST_SETS:
            raise InputError(f"{self.source}: it protects more than {MOST_SETS:,} sets; say them as all: 2, of: [...]")
        object.__setattr__(self, "protect", protect)
        object.__setattr__(self, "generalize", self._groups(self.generalize))

    def __repr__(self) -> str:
        return f"Policy(protects {self.protects}; {self.within})"

    @staticmethod
    def of(given: Any, source: str = "the policy", path: str | None = None) -> Policy:
        """A policy from a mapping with the keys `protect` and `generalize`; one that is a policy already stays itself."""
        if isinstance(given, Policy):
            return given
        if not isinstance(given, Mapping):
            raise InputError(
                f"{source}: it is not a policy; give protect: [[ITEM, ITEM], ...] and generalize: [[ITEM, ITEM], ...]"
            )
        if strange := [key for key in given if key not in ("protect", "generalize")]:
            what = repr(strange[0]) if isinstance(strange[0], str) and len(strange[0]) < LONGEST else "one of its keys"
            raise InputError(f"{source}: {what} is not a key of a policy; take protect and generalize")
        return Policy(given.get("protect", ()), given.get("generalize", ()), source, path)

    @cached_property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """The sets that are named one by one."""
        return tuple(entry for entry in self.protect if isinstance(entry, tuple))

    @cached_property
    def families(self) -> tuple[AllOf, ...]:
        """The sets that are named all at once."""
        return tuple(entry for entry in self.protect if isinstance(entry, AllOf))

    @property
    def is_free(self) -> bool:
        """Whether any items may be put together."""
        return self.generalize is None

    @cached_property
    def group_of(self) -> Mapping[str, int]:
        """The number of each item's group; items in none are not there."""
        return {name: number for number, group in enumerate(self.generalize or ()) for name in group}

    @cached_property
    def names(self) -> frozenset[str]:
        """All items that it names."""
        found = set(self.group_of)
        for entry in self.protect:
            found.update(entry if isinstance(entry, tuple) else entry.items or ())
        return frozenset(found)

    @property
    def protects(self) -> str:
        """How much it protects, in words that name no item."""
        parts = []
        if self.sets:
            parts.append(f"{len(self.sets):,} set{'s' * (len(self.sets) != 1)}")
        for one in self.families[:3]:
            of = "the items" if one.items is None else f"{len(one.items):,} items"
            parts.append(f"all sets of up to {one.m} of {of}" if one.m > 1 else f"each of {of}")
        if len(self.families) > 3:
            parts.append(f"{len(self.families) - 3:,} more such families")
        return ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]

    @property
    def within(self) -> str:
        """How many groups it has, in words."""
        groups = self.generalize
        return "any items together" if groups is None else f"{len(groups):,} group{'s' * (len(groups) != 1)}"

    def fingerprint(self) -> str:
        """The SHA-256 of what it says, in whatever order it says it."""
        content = {
            "sets": sorted(sorted(one) for one in self.sets),
            "families": sorted(
                [one.m, *(["*"] if one.items is None else ["", *sorted(one.items)])] for one in self.families
            ),
            "groups": "*" if self.generalize is None else sorted(sorted(group) for group in self.generalize),
        }
        return hashlib.sha256(b"shoal policy 1\n" + json.dumps(content, separators=(",", ":")).encode()).hexdigest()

    def _listed(self, given: Any, key: str) -> Iterable[Any]:
        if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
            raise InputError(f"{self.source}: {key} is a list; give {key}: [[ITEM, ITEM], ...]")
        return given

    def _protection(self, entry: Any) -> tuple[str, ...] | AllOf:
        if isinstance(entry, AllOf):
            return entry
        if isinstance(entry, Mapping):
            if set(entry) != {"all", "of"}:
                raise InputError(
                    f"{self.source}: what stands in braces under protect is all: NUMBER, of: [ITEM, ITEM] or of: '*'"
                )
            try:
                m = int(str(entry["all"]))
            except ValueError:
                raise InputError(f"{self.source}: all is a whole number; give for example all: 2") from None
            if not 1 <= m <= LONGEST:
                raise InputError(f"{self.source}: all is from 1 to {LONGEST}; give for example all: 2")
            return AllOf(m, None if entry["of"] == ALL else self._names(entry["of"], "of"))
        found = self._names(entry, "protect")
        if len(found) > LONGEST:
            raise InputError(
                f"{self.source}: it protects a set of {len(found):,} items; {LONGEST} are the most, and all: 2, of: [...] protects all "
                "pairs of any number"
            )
        return found

    def _groups(self, given: Any) -> tuple[tuple[str, ...], ...] | None:
        if given is None or given == ALL:
            return None
        groups = tuple(self._names(group, "generalize") for group in self._listed(given, "generalize"))
        owner: dict[str, int] = {}
        twice = [
            name for number, group in enumerate(groups) for name in group if owner.setdefault(name, number) != number
        ]
        if twice:
            raise InputError(
                f"{self.source}: {len(twice):,} of the items under generalize stand in two groups{VALUES}; leave each in one",
                values=twice,
            )
        return groups

    def _names(self, given: Any, key: str) -> tuple[str, ...]:
        if isinstance(given, str) or not isinstance(given, Collection) or isinstance(given, Mapping):
            raise InputError(f"{self.source}: under {key}, each entry is a list of items; give [ITEM, ITEM]")
        if not given or not all(isinstance(name, str) and name for name in given):
            raise InputError(
                f"{self.source}: under {key}, an item is empty or no text; name each as the data do, in quotes"
            )
        return tuple(sorted(set(given)))
