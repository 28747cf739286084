"""Releases of the same people, put together: who is found through two of them whom neither gives away.

From published files alone the attacker takes the people to be the same, but for those whom the attacker knows to have come or gone, and
compares each release with the next: a set of tokens that a few more rows hold than before tells of whoever came in between; a token that
one release says finer than the other splits the other's crowds. Tokens of different levels are compared by the finest nodes that no token
of either release lies above. Rows that say the same are linked on the way, which gives nobody away by itself.

With the originals there are people: rows are given to those whom they fit (`row_owners`), and whoever shares what can be known of all
releases with fewer than k people counts as found (`found_people`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from shoal.attacks.found_people import found_people
from shoal.attacks.known_sets import sets_of
from shoal.attacks.row_owners import lines_above, owners_of_rows
from shoal.errors import InputError, number_of
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets
from shoal.showing import fields_of

MOSTLY = 0.5
"""The share of what is published that has to be compared as it is before it is said that nobody is found."""


@dataclass(frozen=True)
class FoundSet:
    """What an attacker may know, and how few fit."""

    items: tuple[str, ...]
    before: int
    after: int

    def __str__(self) -> str:
        known = ", ".join(self.items) or "nothing but that somebody came or went"
        return f"{known}: {self.before:,} rows before, {self.after:,} after"


@dataclass(frozen=True)
class Step:
    """What a release and the next give away together."""

    checked: int
    """Sets of up to m tokens that were compared."""
    changed: int
    """Those that 1 to k - 1 rows more, or fewer, hold than before."""
    mixed: int
    """Pairs of a token of one release and a token of the other that together fit 1 to k - 1 people at most."""
    linked: int
    """Rows that say the same as one row of the other release and no other of either: the same person's, in all likelihood."""
    rows: int
    """Rows of the second of the two."""
    compared: float
    """Of the occurrences of both, the share that was compared as it is; the rest, as what lies above it."""
    examples: tuple[FoundSet, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Counts only, never which."""
        return fields_of(self, "checked", "changed", "mixed", "linked", "rows", "compared")


@dataclass(frozen=True)
class People:
    """Who is found among the people of the originals."""

    people: int
    together: int
    """How many share what the attacker may know of all releases with fewer than k."""
    alone: tuple[int, ...]
    """How many share what the attacker may know of one release with fewer than k people, release by release."""
    unmatched: int
    """Published rows for which nobody is left whom they fit."""
    guessed: bool
    """Whether rows were given to people whom they fit, because they do not stand in the order of their originals."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "people": self.people,
            "together": self.together,
            "alone": list(self.alone),
            "unmatched": self.unmatched,
            "guessed": self.guessed,
        }


@dataclass(frozen=True)
class SeveralReleases:
    """What came of putting releases together."""

    k: int
    m: int
    steps: tuple[Step, ...]
    people: People | None = None

    @property
    def found(self) -> bool | None:
        """Whether anybody is found: with the originals, whether there is such a person. None where too little could be compared to say."""
        if self.people is not None:
            return self.people.together > 0
        if any(step.changed or step.mixed for step in self.steps):
            return True
        return None if self.least_compared < MOSTLY else False

    @property
    def least_compared(self) -> float:
        """Of two releases, the share that was compared as it is; of those of which it is least."""
        return min(step.compared for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        people = None if self.people is None else self.people.to_dict()
        return {"k": self.k, "m": self.m, "steps": [step.to_dict() for step in self.steps], "people": people}


def several_releases(
    releases: Sequence[Baskets],
    k: int,
    m: int,
    tree: Hierarchy | None = None,
    originals: Sequence[Baskets] | None = None,
    *,
    examples: int = 5,
) -> SeveralReleases:
    """Put releases together, in their order; the originals' rows say whose they are."""
    if len(releases) < 2:
        raise InputError("one release alone has nothing to be put together with; give two or more, in their order")
    if originals is not None and len(originals) != len(releases):
        raise InputError(
            f"there are {len(releases)} releases and {number_of(len(originals), 'original')}; give the original of each, in the same order"
        )
    steps = tuple(_step(before, after, k, m, tree, examples) for before, after in pairwise(releases))
    people = None if originals is None else _people(releases, originals, k, m, tree)
    return SeveralReleases(k, m, steps, people)


def _step(before: Baskets, after: Baskets, k: int, m: int, tree: Hierarchy | None, examples: int) -> Step:
    up = _comparable((before, after), tree)
    both = [Baskets.from_rows([{up[token] for token in row} for row in release.rows()]) for release in (before, after)]
    names, parts = _shared_numbers(both)
    checked, changed, found = 1, 0, []
    if 0 < abs(len(before) - len(after)) < k:
        changed += 1
        found.append(FoundSet((), len(before), len(after)))
    for sets, supports, _ in sets_of(parts, m):
        few = np.abs(supports[:, 0] - supports[:, 1])
        which = np.flatnonzero((few > 0) & (few < k))
        checked += len(sets)
        changed += len(which)
        found += [
            FoundSet(tuple(names[i] for i in sets[s].tolist()), *supports[s].tolist())
            for s in which[: max(0, examples - len(found))].tolist()
        ]
    crowds: list[dict[frozenset[str], list[list[str]]]] = [defaultdict(list), defaultdict(list)]
    for rows, release, crowd in zip(both, (before, after), crowds, strict=True):
        for key, row in zip(rows.rows(), release.rows(), strict=True):
            crowd[frozenset(key)].append(row)
    shared = [key for key in crowds[0] if key in crowds[1]]
    linked = {key for key in shared if len(crowds[0][key]) == len(crowds[1][key]) == 1}
    once = [
        {row for row, n in Counter(map(frozenset, release.rows())).items() if n == 1} for release in (before, after)
    ]
    linked_as_they_are = sum(frozenset(up[token] for token in row) not in linked for row in once[0] & once[1])
    mixed = _mixed(crowds, shared, k, up) if m > 1 else []
    found += mixed[: max(0, examples - len(found))]
    as_they_are = sum(
        int(release.supports()[[up[token] == token for token in release.vocabulary]].sum())
        for release in (before, after)
    )
    compared = as_they_are / max(1, before.occurrences + after.occurrences)
    n_linked = len(linked) + linked_as_they_are
    return Step(checked, changed, len(mixed), n_linked, len(after), compared, tuple(found))


def _mixed(
    crowds: list[dict[frozenset[str], list[list[str]]]], shared: list[frozenset[str]], k: int, up: dict[str, str]
) -> list[FoundSet]:
    """Pairs of a finer token of each release, and how many people can have both at most: in each crowd, the fewer of the two."""
    most: dict[tuple[str, str], int] = defaultdict(int)
    for key in shared:
        held: list[dict[str, int]] = [defaultdict(int), defaultdict(int)]
        for side, crowd in zip(held, crowds, strict=True):
            for row in crowd[key]:
                for token in row:
                    if up[token] != token:
                        side[token] += 1
        for one, n in held[0].items():
            for other, n_other in held[1].items():
                if up[one] != up[other]:
                    most[one, other] += min(n, n_other)
    return [FoundSet(pair, n, n) for pair, n in sorted(most.items(), key=lambda entry: entry[1]) if n < k]


def _comparable(releases: Sequence[Baskets], tree: Hierarchy | None) -> dict[str, str]:
    """Per token, the finest node at or above it that no token of a release lies above: itself, where no tree says otherwise."""
    tokens = {token for release in releases for token in release.vocabulary}
    return {token: [name for name in line if name in tokens][-1] for token, line in lines_above(tokens, tree).items()}


def _shared_numbers(parts: Sequence[Baskets]) -> tuple[list[str], list[Baskets]]:
    """The names of all parts, and the parts with their items numbered by them."""
    names = sorted({name for part in parts for name in part.vocabulary})
    place = {name: number for number, name in enumerate(names)}
    same = tuple(names)
    return names, [_renumbered(part, place, same) for part in parts]


def _renumbered(part: Baskets, place: dict[str, int], names: tuple[str, ...]) -> Baskets:
    number = np.array([place[name] for name in part.vocabulary], np.int64)
    row = np.repeat(np.arange(len(part)), part.lengths)
    codes = number[part.items]
    return Baskets(part.offsets, codes[np.lexsort((codes, row))].astype(np.int32), names)


def _people(
    releases: Sequence[Baskets], originals: Sequence[Baskets], k: int, m: int, tree: Hierarchy | None
) -> People:
    owners = owners_of_rows(releases, originals, tree)
    alone = [
        found_people([release], [original], [rows], tree, k, m)
        for release, original, rows in zip(releases, originals, owners.rows, strict=True)
    ]
    return People(
        people=len(set().union(*owners.rows)),
        together=len(found_people(releases, originals, owners.rows, tree, k, m)),
        alone=tuple(len(found) for found in alone),
        unmatched=sum(len(release) - len(rows) for release, rows in zip(releases, owners.rows, strict=True)),
        guessed=owners.guessed,
    )
