"""Releases of the same people, put together: who is found through two of them whom neither gives away.

From published files alone the attacker takes the people to be the same, but for those whom the attacker knows to have come or gone, and
compares each release with the next: a set of tokens that a few more rows hold than before tells of whoever came in between; a token that
one release says finer than the other splits the other's crowds. Tokens of different levels are compared by the finest nodes that no token
of either release lies above. Rows that say the same are linked on the way, which gives nobody away by itself.

With the originals it is known whose rows are whose. Then everybody counts as found whom the promise of snapshots would protect
(`shoal.guarantees.series.histories`): who shares the presence, and up to m tokens with their traces, with fewer than k people.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError, number_of
from shoal.guarantees.rt import told_apart
from shoal.guarantees.series.histories import joined_table
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets

Ints = npt.NDArray[np.int64]

MOSTLY = 0.5
"""The share of what is published that has to be compared as it is before it is said that nobody is found."""
MOST_SETS = 100_000_000
"""Sets of items, of all rows together, that are compared at most."""


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
        return {name: getattr(self, name) for name in ("checked", "changed", "mixed", "linked", "rows", "compared")}


@dataclass(frozen=True)
class People:
    """Who is found among the people of the originals."""

    people: int
    together: int
    """How many share what the attacker may know of all releases with fewer than k."""
    alone: tuple[int, ...]
    """How many share what the attacker may know of one release with fewer than k people, release by release."""
    unmatched: int
    """Published rows that fit no row of their original; they count for nobody."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "people": self.people,
            "together": self.together,
            "alone": list(self.alone),
            "unmatched": self.unmatched,
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
    return {token: [name for name in line if name in tokens][-1] for token, line in _lines(tokens, tree).items()}


def _lines(names: Collection[str], tree: Hierarchy | None) -> dict[str, list[str]]:
    """Each name and what lies above it, the nearest first."""
    nodes = {} if tree is None else {name: node for node, name in enumerate(tree.names)}
    lines = {name: [name] for name in names}
    for name, line in lines.items():
        node = nodes.get(name, -1)
        while tree is not None and node >= 0 and (node := int(tree.parent[node])) >= 0:
            line.append(tree.names[node])
    return lines


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


def sets_of(parts: Sequence[Baskets], m: int) -> Iterator[tuple[Ints, Ints, tuple[Ints, Ints]]]:
    """Per size up to m: the sets of items that occur, how many rows of each part hold them, and (row, set) wherever one is held.

    The parts number their items alike; rows are counted through all parts. Sets grow by the items behind their last one in each row.
    """
    shift = np.cumsum([0, *(len(part.items) for part in parts)])
    ends = np.concatenate([part.offsets[1:] + by for part, by in zip(parts, shift.tolist(), strict=False)])
    items = np.concatenate([part.items for part in parts]).astype(np.int64)
    part_of = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    row = np.repeat(np.arange(len(ends)), np.diff(np.concatenate(([0], ends))))
    at = np.arange(len(items))
    sets: Ints = np.zeros((1, 0), np.int64)
    of_set = np.zeros(len(items), np.int64)
    n = int(items.max(initial=0)) + 1
    for size in range(1, m + 1):
        if size > 1:
            more = ends[row] - at - 1
            if int(more.sum()) > MOST_SETS:
                raise InputError("these are too many sets of items to compare; take a smaller m, or fewer rows")
            first = np.repeat(at + 1 - np.concatenate(([0], np.cumsum(more)))[:-1], more)
            row, of_set = np.repeat(row, more), np.repeat(of_set, more)
            at = first + np.arange(len(row))
        if not len(at):
            return
        keys, held = np.unique(of_set * n + items[at], return_inverse=True)
        of_set = held.reshape(-1)
        sets = np.column_stack((sets[keys // n], keys % n))
        supports = np.bincount(of_set * len(parts) + part_of[row], minlength=len(keys) * len(parts))
        yield sets, supports.reshape(-1, len(parts)), (row, of_set)


def _people(
    releases: Sequence[Baskets], originals: Sequence[Baskets], k: int, m: int, tree: Hierarchy | None
) -> People:
    history, unmatched = [], 0
    said: dict[int, frozenset[str]] = {}
    for release, original in zip(releases, originals, strict=True):
        whose = people_of_rows(release, original, tree, said)
        matched = np.flatnonzero(whose >= 0)
        unmatched += len(whose) - len(matched)
        rows = release.take(matched)
        said = dict(zip(whose[matched].tolist(), map(frozenset, rows.rows()), strict=True))
        history.append(Baskets(rows.offsets, rows.items, rows.vocabulary, people=whose[matched].astype(np.int32)))
    alone = tuple(len(exposed_people([release], k, m)[0]) for release in history)
    exposed, people = exposed_people(history, k, m)
    return People(people, len(exposed), alone, unmatched)


def exposed_people(history: Sequence[Baskets], k: int, m: int) -> tuple[Ints, int]:
    """Which people fewer than k are like, in what up to m items with their traces say, and how many people there are."""
    joined, _ = joined_table(history)
    assert joined.items is not None
    presence = joined.columns[0].codes.astype(np.int64)
    lonely = np.bincount(presence)[presence] < k
    apart, _ = told_apart(joined.items, presence)
    for _, supports, (row, of_set) in sets_of([apart], m):
        lonely[row[supports[of_set, 0] < k]] = True
    return np.flatnonzero(lonely), len(joined)


def people_of_rows(
    release: Baskets, original: Baskets, tree: Hierarchy | None, before: Mapping[int, frozenset[str]]
) -> Ints:
    """Whose each published row may be, each person's at most once; -1 where nobody is left whom it fits.

    A row fits if each of its tokens is an item of the person's original row, or lies above one. Whoever may still have the row that was the
    person's in the release before has it; then rows that say each item as finely as the release does at all find theirs. Rows that are left
    may be those of people who are gone, as they were before; of others, the longest take the original row of which they leave out least.
    Where nobody is left, others give up their rows for others that fit them, if that gives everybody one.
    """
    assert original.people is not None
    tokens = set(release.vocabulary)
    lines = _lines(original.vocabulary, tree)
    ways = [[name for name in lines[item] if name in tokens] for item in original.vocabulary]
    as_before: dict[frozenset[str], list[int]] = defaultdict(list)
    gone: dict[frozenset[str], list[int]] = defaultdict(list)
    finest: dict[frozenset[str], list[int]] = defaultdict(list)
    possible: dict[int, frozenset[str]] = {}
    for person, (low, high) in zip(original.people.tolist(), pairwise(original.offsets.tolist()), strict=True):
        held = [ways[item] for item in original.items[low:high].tolist()]
        finest[frozenset(way[0] for way in held if way)].append(person)
        possible[person] = frozenset(name for way in held for name in way)
    for person, row in before.items():
        if person not in possible:
            gone[row].append(person)
        elif row <= possible[person]:
            as_before[row].append(person)
    rows = [frozenset(row) for row in release.rows()]
    fits = _Fits(possible, gone)
    whose = np.full(len(release), -1, np.int64)
    taken: set[int] = set()
    for candidates in (as_before, finest, gone):
        left = {row: list(people) for row, people in candidates.items()}
        for number in np.flatnonzero(whose < 0).tolist():
            people = left.get(rows[number], [])
            while people and whose[number] < 0:
                if (person := people.pop()) not in taken:
                    whose[number] = person
                    taken.add(person)
    for number in sorted(np.flatnonzero(whose < 0).tolist(), key=lambda number: -len(rows[number])):
        if among := fits.people(rows[number]) - taken:
            whose[number] = min(among, key=lambda person: (len(possible.get(person, ())), person))
            taken.add(int(whose[number]))
    row_of = {person: number for number, person in enumerate(whose.tolist()) if person >= 0}
    asked = 0
    for number in np.flatnonzero(whose < 0).tolist():
        if asked < MOST_ASKED:
            asked += _change_places(number, whose, row_of, rows, fits)
    return whose


class _Fits:
    """Whom a published row fits."""

    def __init__(self, possible: Mapping[int, frozenset[str]], gone: Mapping[frozenset[str], list[int]]) -> None:
        self._everybody, self._gone = set(possible), gone
        self._under: dict[str, set[int]] = defaultdict(set)
        for person, names in possible.items():
            for name in names:
                self._under[name].add(person)

    def people(self, row: frozenset[str]) -> set[int]:
        """Those who may have it now, and those who are gone and had it before."""
        now = set.intersection(*(self._under.get(name, set()) for name in row)) if row else self._everybody
        return now | set(self._gone.get(row, ()))


MOST_ASKED = 20_000
"""Rows of a release that are asked whether they can do without their person."""


def _change_places(
    number: int, whose: Ints, row_of: dict[int, int], rows: Sequence[frozenset[str]], fits: _Fits
) -> int:
    """Give a row without a person one, where others can change to people who are free; how many rows were asked."""
    wanted_by: dict[int, tuple[int, int]] = {}  # per row, which row wants its person, and who that is
    queue = [number]
    for row in queue:
        for person in sorted(fits.people(rows[row])):
            if person not in row_of:
                while row != number:
                    whose[row], row_of[person] = person, row
                    row, person = wanted_by[row]
                whose[number], row_of[person] = person, number
                return len(queue)
            holder = row_of[person]
            if holder != number and holder not in wanted_by and len(queue) < MOST_ASKED:
                wanted_by[holder] = (row, person)
                queue.append(holder)
    return len(queue)
