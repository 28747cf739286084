"""The promise of snapshots, counted person by person, and attackers who know less, tried out one by one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations

from shoal.records.baskets import Baskets

Trace = tuple[int, ...]
Fact = tuple[str, Trace]
Release = dict[int, frozenset[str]]
"""Of each person who is in it, the tokens."""


def releases(history: Sequence[Baskets]) -> list[Release]:
    return [dict(zip(release.people.tolist(), map(frozenset, release.rows()), strict=True)) for release in history]


def people_of(history: Sequence[Release]) -> dict[int, tuple[Trace, frozenset[Fact]]]:
    """Of each person who was ever published: when, and each token with when it was there."""
    when, what = defaultdict(list), defaultdict(lambda: defaultdict(list))
    for number, release in enumerate(history):
        for person, tokens in release.items():
            when[person].append(number)
            for token in tokens:
                what[person][token].append(number)
    return {p: (tuple(when[p]), frozenset((t, tuple(there)) for t, there in what[p].items())) for p in when}


def breaches(history: Sequence[Release], k: int, m: int) -> dict[tuple[Trace, frozenset[Fact]], int]:
    """What an attacker can know and fewer than k people fit, with how many do."""
    crowd = Counter()
    for presence, facts in people_of(history).values():
        for size in range(m + 1):
            crowd.update((presence, frozenset(known)) for known in combinations(sorted(facts), size))
    return {known: people for known, people in crowd.items() if people < k}


def fewest_found(history: Sequence[Release], m: int, presence_known: bool = True) -> int:
    """The smallest crowd of attackers who know only that tokens were there, in some of the releases in which they were.

    Each knows up to m facts `this token in this release`, of up to m tokens but any number of releases, and, if told, in which of
    the releases the person was and was not.
    """
    fewest = 10**9
    for person in people_of(history):
        facts = [(n, t) for n, release in enumerate(history) for t in release.get(person, ())]
        presence = {n for n, release in enumerate(history) if person in release}
        for size in range(len(facts) + 1):
            for known in combinations(facts, size):
                if len({t for _, t in known}) > m:
                    continue
                fit = 0
                for other in people_of(history):
                    there = {n for n, release in enumerate(history) if other in release}
                    fits = there == presence if presence_known else {n for n, _ in known} <= there
                    fit += fits and all(t in history[n].get(other, ()) for n, t in known)
                fewest = min(fewest, fit)
    return fewest
