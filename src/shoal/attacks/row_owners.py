"""Whose the rows of several releases are, where the originals are at hand: known where the order of the rows was kept, guessed otherwise.

A row fits a person if each of its tokens is an item of the person's original row, or lies above one. Where each release has as many rows as
its original, and each row fits the person at its place, the order was kept. Rows that were shuffled are given to people whom they fit,
as an attacker would who knows the originals: first whoever may still have the row of the release before has it. The guess is often wrong
about people who are alike, and then takes small changes for rare ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets

Row = frozenset[str]

MOST_ASKED = 2_000
"""Kinds of rows of a release that are asked whether they can do without their person."""


@dataclass(frozen=True)
class Owners:
    """Per release, the row of each person who has one."""

    rows: tuple[dict[int, int], ...]
    guessed: bool
    """Whether rows were given to people whom they fit, because their order says nothing."""


def owners_of_rows(releases: Sequence[Baskets], originals: Sequence[Baskets], tree: Hierarchy | None) -> Owners:
    """Whose each row is."""
    rows = [[frozenset(row) for row in release.rows()] for release in releases]
    fits = [_Fits(original, release.vocabulary, tree) for release, original in zip(releases, originals, strict=True)]
    in_order = [_in_order(told, original, fit) for told, original, fit in zip(rows, originals, fits, strict=True)]
    if all(there is not None for there in in_order):
        return Owners(tuple(there for there in in_order if there is not None), guessed=False)
    guesses: list[dict[int, int]] = []
    before: dict[int, Row] = {}
    for told, fit in zip(rows, fits, strict=True):
        guesses.append(_given(told, fit, before))
        before = {person: told[row] for person, row in guesses[-1].items()}
    return Owners(tuple(guesses), guessed=True)


def _in_order(rows: Sequence[Row], original: Baskets, fit: _Fits) -> dict[int, int] | None:
    """The row of each person, where rows stand in the order of the original."""
    assert original.people is not None
    people = original.people.tolist()
    if len(rows) != len(people) or not all(row <= fit.possible[who] for who, row in zip(people, rows, strict=True)):
        return None
    return {person: number for number, person in enumerate(people)}


def lines_above(names: Collection[str], tree: Hierarchy | None) -> dict[str, list[str]]:
    """Each name and what lies above it, the nearest first."""
    nodes = {} if tree is None else {name: node for node, name in enumerate(tree.names)}
    lines = {name: [name] for name in names}
    for name, line in lines.items():
        node = nodes.get(name, -1)
        while tree is not None and node >= 0 and (node := int(tree.parent[node])) >= 0:
            line.append(tree.names[node])
    return lines


class _Fits:
    """Whom a row of one release fits."""

    def __init__(self, original: Baskets, tokens: Collection[str], tree: Hierarchy | None) -> None:
        assert original.people is not None
        there, lines = set(tokens), lines_above(original.vocabulary, tree)
        ways = [[name for name in lines[item] if name in there] for item in original.vocabulary]
        self.possible: dict[int, Row] = {}
        self.finest: dict[Row, list[int]] = defaultdict(list)
        """People by their rows as they would be if all items were said as finely as the release says them anywhere."""
        self._under: dict[str, set[int]] = defaultdict(set)
        for person, (low, high) in zip(original.people.tolist(), pairwise(original.offsets.tolist()), strict=True):
            held = [ways[item] for item in original.items[low:high].tolist()]
            self.finest[frozenset(way[0] for way in held if way)].append(person)
            self.possible[person] = frozenset(name for way in held for name in way)
            for name in self.possible[person]:
                self._under[name].add(person)

    def people(self, row: Row) -> set[int]:
        """Everybody in the original whom it fits."""
        if not row:
            return set(self.possible)
        return set.intersection(*sorted((self._under.get(name, set()) for name in row), key=len))


def _given(rows: Sequence[Row], fit: _Fits, before: Mapping[int, Row]) -> dict[int, int]:
    """The row of each person, given what each was published with before; each row has a person where that can be.

    Whoever may still have the former row has it; then rows that say each item as finely as the release does find theirs. Rows that are
    left may be those of people who are gone, as they were; of others, the longest take the original row of which they leave out least.
    """
    as_before: dict[Row, list[int]] = defaultdict(list)
    gone: dict[Row, list[int]] = defaultdict(list)
    for person, row in before.items():
        if person not in fit.possible:
            gone[row].append(person)
        elif row <= fit.possible[person]:
            as_before[row].append(person)
    row_of: dict[int, int] = {}
    free = set(range(len(rows)))
    for candidates in (as_before, fit.finest, gone):
        left = {row: list(people) for row, people in candidates.items()}
        for number in sorted(free):
            people = left.get(rows[number], [])
            while people and number in free:
                if (person := people.pop()) not in row_of:
                    row_of[person] = number
                    free.discard(number)
    for number in sorted(free, key=lambda number: (-len(rows[number]), number)):
        if among := fit.people(rows[number]) - row_of.keys():
            row_of[min(among, key=lambda person: (len(fit.possible[person]), person))] = number
            free.discard(number)
    asked = 0
    for number in sorted(free):
        if asked < MOST_ASKED:
            asked += _make_room(number, row_of, rows, fit, gone)
    return row_of


def _make_room(
    number: int, row_of: dict[int, int], rows: Sequence[Row], fit: _Fits, gone: Mapping[Row, list[int]]
) -> int:
    """Give a row without a person one, where others can change to people who are free; how many kinds of rows were asked."""
    wanted_by: dict[int, tuple[int, int]] = {}  # per row, which row wants its person, and who that is
    queue, asked = [number], set()
    for row in queue:
        if rows[row] in asked:
            continue
        asked.add(rows[row])
        people = fit.people(rows[row]) | set(gone.get(rows[row], ()))
        free = min(people - row_of.keys(), default=None)
        if free is not None:
            person = free
            while row != number:
                row_of[person] = row
                row, person = wanted_by[row]
            row_of[person] = number
            return len(asked)
        for person in sorted(people):
            holder = row_of[person]
            if holder not in wanted_by and rows[holder] not in asked:
                wanted_by[holder] = (row, person)
                queue.append(holder)
    return len(asked)
