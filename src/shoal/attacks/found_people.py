"""Who is found in several releases put together, by whoever knows when a person was there, and up to m items with when each was there.

An item is there in a release where a token of the person's row is the item or lies above it: that is what the file says of it, whatever
the level. Of the items that the person really has, the attacker knows up to m; the crowd is everybody who was in the same releases and
has each of these items in the same ones. With one release this is the crowd of k^m-anonymity, also where rows are recoded one by one;
with several under one cut, that of the promise of snapshots (`shoal.guarantees.series.histories`).

Items with the same tokens above them say the same of everybody, so they are looked at once; a fact is such a group of items with the
releases it was there in, and the crowd of several facts is the intersection of their bitmaps over the people.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shoal.attacks.known_sets import sets_of
from shoal.attacks.row_owners import lines_above
from shoal.errors import InputError
from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import Bools, Ints
from shoal.records.baskets import Baskets

MOST_BYTES = 4 << 30
"""Of the bitmaps of all facts."""
AT_A_TIME = 4096
"""Sets whose crowds are counted together."""


def found_people(
    releases: Sequence[Baskets],
    originals: Sequence[Baskets],
    owners: Sequence[Mapping[int, int]],
    tree: Hierarchy | None,
    k: int,
    m: int,
) -> list[int]:
    """The people who share what can be known of them with fewer than k. Rows that are nobody's are somebody's whom nobody looks for."""
    known = sorted(set().union(*owners))
    number = {person: place for place, person in enumerate(known)}
    whose, n = _people_of_rows(releases, owners, number)
    presence = _told_apart([np.isin(np.arange(n), rows) for rows in whose], n)
    lonely = np.bincount(presence)[presence] < k
    facts, crowd_of_fact = _facts(releases, originals, whose, presence, tree, number)
    for sets, _, (person, of_set) in sets_of([facts], m):
        lonely[person[_crowds(sets, crowd_of_fact)[of_set] < k]] = True
    return [person for person, place in number.items() if lonely[place]]


def _people_of_rows(
    releases: Sequence[Baskets], owners: Sequence[Mapping[int, int]], number: Mapping[int, int]
) -> tuple[list[Ints], int]:
    """Per row its person's number, those of rows that are nobody's behind all others; and how many people that makes."""
    n, whose = len(number), []
    for release, rows in zip(releases, owners, strict=True):
        of_row = np.full(len(release), -1, np.int64)
        of_row[np.fromiter(rows.values(), np.int64, len(rows))] = [number[person] for person in rows]
        nobodys = np.flatnonzero(of_row < 0)
        of_row[nobodys] = n + np.arange(len(nobodys))
        n += len(nobodys)
        whose.append(of_row)
    return whose, n


def _told_apart(marks: Sequence[Bools], n: int) -> Ints:
    """A number for each combination of marks."""
    code = np.zeros(n, np.int64)
    for marked in marks:
        code = np.unique(2 * code + marked, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return code


def _facts(
    releases: Sequence[Baskets],
    originals: Sequence[Baskets],
    whose: Sequence[Ints],
    presence: Ints,
    tree: Hierarchy | None,
    number: Mapping[int, int],
) -> tuple[Baskets, npt.NDArray[np.uint8]]:
    """Per person, the facts that can be known of the person's own items; and per fact, a bitmap of the people it fits."""
    n, n_known = len(presence), len(number)
    groups, members = _groups(releases, originals, tree)
    held = _holders(releases, whose)
    has = _true_groups(originals, groups, number)
    knows: list[Ints] = []
    crowds: list[npt.NDArray[np.uint8]] = []
    n_facts = 0
    for group, tokens in enumerate(members):
        there = [
            np.concatenate([np.zeros(0, np.int64), *(held[place][token] for token in names)])
            for place, names in enumerate(tokens)
        ]
        people = np.unique(np.concatenate(there))
        code = presence[people]
        for some in there:
            code = np.unique(2 * code + np.isin(people, some), return_inverse=True)[1].reshape(-1).astype(np.int64)
        looked_for = np.isin(people, has[group])
        for fact in np.unique(code[looked_for]).tolist():
            alike = people[code == fact]
            mine = people[looked_for & (code == fact)]
            knows.append(np.column_stack((mine, np.full(len(mine), n_facts))))
            crowds.append(_bitmap(alike, n))
            n_facts += 1
            if n_facts * len(crowds[0]) > MOST_BYTES:
                raise InputError(
                    "there is too much to know of these people to compare it; take fewer releases, or fewer people"
                )
    pairs = np.concatenate([np.zeros((0, 2), np.int64), *knows])
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    offsets = np.concatenate(([0], np.cumsum(np.bincount(pairs[:, 0], minlength=n_known)))).astype(np.int64)
    facts = Baskets(offsets, pairs[:, 1].astype(np.int32), tuple(map(str, range(n_facts))))
    return facts, np.stack(crowds) if crowds else np.zeros((0, (n + 7) // 8), np.uint8)


def _groups(
    releases: Sequence[Baskets], originals: Sequence[Baskets], tree: Hierarchy | None
) -> tuple[dict[str, int], list[tuple[frozenset[str], ...]]]:
    """The group of each item, and per group and release the tokens that are its items or lie above them."""
    tokens = [set(release.vocabulary) for release in releases]
    items = sorted({item for original in originals for item in original.vocabulary})
    place: dict[tuple[frozenset[str], ...], int] = {}
    groups = {}
    for item, line in lines_above(items, tree).items():
        above = tuple(frozenset(names.intersection(line)) for names in tokens)
        groups[item] = place.setdefault(above, len(place))
    return groups, list(place)


def _holders(releases: Sequence[Baskets], whose: Sequence[Ints]) -> list[dict[str, Ints]]:
    """Per release and token, the people in whose rows it stands."""
    held = []
    for release, of_row in zip(releases, whose, strict=True):
        order = np.argsort(release.items, kind="stable")
        people = of_row[np.repeat(np.arange(len(release)), release.lengths)[order]]
        ends = np.cumsum(np.bincount(release.items, minlength=len(release.vocabulary)))
        parts = np.split(people, ends[:-1]) if len(ends) else []
        held.append(dict(zip(release.vocabulary, parts, strict=True)))
    return held


def _true_groups(originals: Sequence[Baskets], groups: Mapping[str, int], number: Mapping[int, int]) -> dict[int, Ints]:
    """Per group, the people who have one of its items in an original."""
    parts: dict[int, list[Ints]] = defaultdict(lambda: [np.zeros(0, np.int64)])
    for original in originals:
        assert original.people is not None
        of_row = np.array([number.get(person, -1) for person in original.people.tolist()], np.int64)
        person = np.repeat(of_row, original.lengths)
        group = np.array([groups[item] for item in original.vocabulary], np.int64)[original.items]
        order = np.argsort(group, kind="stable")
        numbers, starts = np.unique(group[order], return_index=True)
        ends = [*starts[1:].tolist(), len(order)]
        for which, start, end in zip(numbers.tolist(), starts.tolist(), ends, strict=False):
            people = person[order[start:end]]
            parts[which].append(people[people >= 0])
    return defaultdict(lambda: np.zeros(0, np.int64), {g: np.unique(np.concatenate(some)) for g, some in parts.items()})


def _bitmap(people: Ints, n: int) -> npt.NDArray[np.uint8]:
    marks = np.zeros(n, np.bool_)
    marks[people] = True
    return np.packbits(marks)


def _crowds(sets: Ints, crowd_of_fact: npt.NDArray[np.uint8]) -> Ints:
    """How many people each set of facts fits."""
    sizes = np.zeros(len(sets), np.int64)
    for low in range(0, len(sets), AT_A_TIME):
        some = sets[low : low + AT_A_TIME]
        both = crowd_of_fact[some[:, 0]]
        for column in some.T[1:]:
            both = both & crowd_of_fact[column]
        sizes[low : low + AT_A_TIME] = np.bitwise_count(both).sum(axis=1, dtype=np.int64)
    return sizes
