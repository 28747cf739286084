"""The places of a certificate (`audit.checked`, `loss.ncp`), and who can know what stands there.

Whoever has the file finds out most of it anew (`statements`). Some of it says how the file is to be read and what is promised: the
audit goes by it, and nobody but the owner can say whether that is what was meant. Some of it only the owner can know. A place that
is none of these does not belong into a certificate. Patterns name places; `*` stands for any name or number in one step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.certificate.sections import LOSSES, shown

Place = tuple[str, ...]

_TREE = ("source", "hmac_sha256")
_ASKED = sorted({option for homes in ALGORITHMS.values() for home in homes.values() for option in home.options})

TAKEN = (
    *(f"guarantee.{name}" for name in ("model", "k", "l", "m", "local", "sensitive_items")),
    *(f"output.{name}" for name in ("format", "separator", "id", "items", "columns.*", "numeric.*", "sensitive_items")),
    "columns.*",
)
"""What the audit goes by: the promise, how the file is read, and in which roles its columns stand."""

OWNERS = (
    "created",
    "algorithm",
    "optimal",
    *(f"{part}{name}" for part in ("loss.", "rounded_to.loss.") for name in LOSSES),
    "ncp_by_column.*",
    "rounded_to.ncp_by_column.*",
    *(f"withheld.{part}.*" for part in ("loss", "ncp_by_column")),
    *(f"hierarchy.{name}" for name in (*_TREE, "*", *(f"*.{name}" for name in _TREE))),
    *(f"buckets.{name}" for name in ("buckets", "smallest_bucket", "largest_bucket", "average_bucket")),
    *(f"guarantee.knowledge.{name}" for name in ("min_exp", "min_conf")),
    *(f"risk.before.*.{name}" for name in ("knows", "fewer_than_k", "singled_out", "value_certain")),
    *(f"risk.{name}" for name in ("rows", "after.fewer_than_k", "after.singled_out", "after.value_certain")),
    "risk.in_steps_of",
    *(f"changes.{name}" for name in ("tokens", "exact")),
    *(f"parameters.{name}" for name in (*_ASKED, "unknown", "keep_order", "engine")),
    *(f"parameters.{name}.*" for name in ("weights", "item_weights", "fuzzy")),
    "input.hmac_sha256",
    "key_id",
    *(f"versions.{name}" for name in ("shoal", "python", "numpy", "scipy", "numba", "typst")),
    "warnings.*",
)
"""What only the owner can know."""


@dataclass(frozen=True)
class NotChecked:
    """Places of which nobody found out whether they are so, and why."""

    places: tuple[str, ...]
    why: str

    def within(self, content: Mapping[str, Any]) -> tuple[str, ...]:
        """Those of its places that a certificate has."""
        return tuple(place for place in self.places if _is_in(content, place))

    def to_dict(self) -> dict[str, Any]:
        return {"places": list(self.places), "why": self.why}


def _is_in(content: Any, place: str) -> bool:
    for step in place.split("."):
        if not isinstance(content, Mapping) or step not in content:
            return False
        content = content[step]
    return True


def leaves(content: Any, above: Place = ()) -> Iterator[tuple[Place, Any]]:
    """All values that hold no others, and where they stand."""
    if isinstance(content, Mapping | list) and content:
        named = content.items() if isinstance(content, Mapping) else enumerate(content)
        for name, value in named:
            yield from leaves(value, (*above, str(name)))
    else:
        yield above, content


def is_known(place: Place, value: Any) -> bool:
    """Whether a certificate may have this place: a plain value stands at the end of a pattern, and a part of one may be empty."""
    part = isinstance(value, Mapping | list)
    return any(below.keys() - {""} if part else "" in below for below in _below(_KNOWN, place))


def _below(tree: Mapping[str, Any], place: Place) -> Iterator[Mapping[str, Any]]:
    """What may follow on a place, by every pattern that leads there."""
    if not place:
        yield tree
        return
    for step in {place[0], "*"} & tree.keys():
        yield from _below(tree[step], place[1:])


def _as_tree(patterns: Iterable[str]) -> dict[str, Any]:
    """The steps of patterns under each other; one that ends where others go on is marked by an empty step."""
    tree: dict[str, Any] = {}
    for pattern in patterns:
        at = tree
        for step in pattern.split("."):
            at = at.setdefault(step, {})
        at[""] = {}
    return tree


_KNOWN = _as_tree((*TAKEN, *OWNERS))


def names_of(patterns: Iterable[str], looked_at: Mapping[str, Any]) -> tuple[str, ...]:
    """Patterns as readers see them: a part of which nothing was looked at goes by its own name."""
    found: dict[str, None] = {}
    for pattern in patterns:
        seen: Any = looked_at
        name = []
        for step in pattern.split("."):
            if step == "*":
                break
            name.append(step)
            if not isinstance(seen, Mapping) or step not in seen:
                break
            seen = seen[step]
        found[".".join(name)] = None
    return tuple(found)


def dotted(place: Place) -> str:
    """A place as text. The names come from strangers."""
    return ".".join(map(shown, place))
