"""The next release of a series of snapshots: as much of it as leaves everybody a crowd in all releases put together.

What is out cannot change, and a release in which nobody is published changes nothing. So every contribution to the new release can be
taken back (a token of a person, or the person, who then waits), and taking back enough always ends where the promise holds. People
with the same presence so far are a former crowd; the release parts it into those who are in it and those who are not, and each set
of tokens with their traces likewise, into those who have which of them again. The search begins with everything published and fixes
each part that is left with fewer than k people by the cheaper of two ways: its people lose a token of it, or, where the set lies in the
past alone, others of the same crowd join them. Then it puts back, one at a time, what can return.

Who leaves, and what somebody loses, is dear that way: of a handful who leave a large release every pair of tokens is rare among them, so
that for each pair others have to leave, with pairs of their own, until hardly anybody is left. So departures wait as arrivals do (`hold`):
who is gone stays as published last, and so does a token that is gone, until the parts into which that divides the others have k people
each. The search first looks for what of the new can be published while all of the old stays, which nobody needs to leave for; then it
lets all of the old go and takes back, set by set, what made one too rare.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError
from shoal.kernels.parallel import over_blocks
from shoal.numbers import Bools, Codes, Ints
from shoal.records.baskets import Baskets

ROOM = 60_000_000
"""Sets of tokens up to which what can return does: each takes part in a table."""
FOLLOWING = 1 << 20
"""Places for the sets of people who follow others out of the release in one round."""
TOLD = 0.3
"""The share of a newcomer's tokens below which the newcomer rather waits for others."""
AT_A_TIME = 4096
"""Rare sets that begin with one token and are fixed in one round."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What is published of the new release: whose rows, and of them what."""

    published: Baskets
    """The rows of those who are in it, with their people."""
    waiting: Ints
    """Who is not in it, though there was something to publish."""
    occurrences: int
    """Tokens that there were to publish, of all people."""
    deleted: int
    """Those of them that were not published, those of people who wait among them."""
    staying: Ints
    """Who is in it as published last, though gone."""
    outdated: int
    """Tokens in it that are gone, those of people who stay among them."""
    rounds: int


def nobody_of(present: Baskets) -> Snapshot:
    """A release without anybody, in which all of these people wait."""
    nobody = np.zeros(0, np.int64)
    n = present.occurrences
    return Snapshot(present.take(nobody), _people(present), n, n, nobody, 0, 0)


class Entries(NamedTuple):
    """Per person, ascending, the tokens that the person has or had, numbered by crowd, token and trace (`kernels.snapshots`)."""

    offsets: Ints
    old: Codes
    bare: Bools
    whose: Codes
    starts: Ints
    holding: Ints
    crowd: Ints


def snapshot(
    history: Sequence[Baskets],
    present: Baskets,
    k: int,
    m: int,
    *,
    hold: bool = True,
    overdue: Collection[int] = (),
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Snapshot:
    """What of `present` (a row per person, under the cut of the series) can be published after `history`.

    The rows say whose they are by numbers that are the same in all releases. The history must keep the promise. Without `hold` nothing
    stays that is not in `present`, whatever others have to leave with it, and newcomers do not wait for more of their kind; of them, those
    who are `overdue` never do.
    """
    search = _Search(history, present, k, m, hold, threads)
    rounds = search.take_back(progress)
    search.give_back()
    if hold and history:
        rounds += search.wait_for_more(overdue)
    rounds += search.let_go()
    return search.result(rounds)


class _Search:
    """Who is in the release, and with which tokens."""

    def __init__(
        self, history: Sequence[Baskets], present: Baskets, k: int, m: int, hold: bool, threads: int | None
    ) -> None:
        if m > 8:
            raise InputError(f"m is {m}, and snapshots are made for up to 8 known items")
        self.k, self.m, self.threads = k, m, threads
        names: dict[str, int] = {}
        persons, tokens = zip(*(_pairs(release, names) for release in (*history, present)), strict=True)
        self.people = np.unique(np.concatenate([_people(release) for release in (*history, present)]))
        rows = [np.searchsorted(self.people, _people(release)) for release in (*history, present)]
        n, width = len(self.people), max(1, len(names))
        keys = [
            np.searchsorted(self.people, whose) * width + token for whose, token in zip(persons, tokens, strict=True)
        ]
        pairs = np.unique(np.concatenate(keys))
        crowd, trace = np.zeros(n, np.int64), np.zeros(len(pairs), np.int64)
        for who, held in zip(rows[:-1], keys[:-1], strict=True):  # 0 stays the number of those who were never there
            crowd = _told_apart(crowd, who)
            trace = _told_apart(trace, np.searchsorted(pairs, held))
        whose = pairs // width
        token = pairs % width
        key = (crowd[whose] * width + token) * (int(trace.max(initial=0)) + 1) + trace
        kinds, old = np.unique(key, return_inverse=True)
        order = np.lexsort((old, whose))
        self.token, number = token[order], old.reshape(-1)[order].astype(np.int32)
        offsets = np.concatenate(([0], np.cumsum(np.bincount(whose, minlength=n)))).astype(np.int64)
        starts = np.concatenate(([0], np.cumsum(np.bincount(number, minlength=len(kinds))))).astype(np.int64)
        holding = np.argsort(number, kind="stable").astype(np.int64)
        self.names = list(names)
        self.entries = Entries(offsets, number, trace[order] == 0, whose.astype(np.int32), starts, holding, crowd)
        last = slice(-2, None) if hold else slice(-1, None)  # what stays as it was published is there to be published
        self.has, self.is_there = _marks(pairs, keys[-1:])[order], _marks(np.arange(n), rows[-1:])
        self.had, self.was_inside = _marks(pairs, keys[last])[order], _marks(np.arange(n), rows[last])
        self.inside, self.mark = self.was_inside.copy(), self.had.copy()

    def take_back(self, progress: Callable[[float], None] | None) -> int:
        """Until each set has k people or none; in how many rounds."""
        from shoal.kernels.snapshots.way_back import fix_sets

        rounds, size = 0, 1
        total = max(1, int(self.had.sum()))
        while True:
            moved = self._fix_crowds()
            sets, support = self._rare_sets(size)
            if len(sets):
                room = self._room(4 * self._sets_of(self.inside == 0) + FOLLOWING)
                fix_sets(self.entries, sets, support, self.inside, self.mark, self.k, self.m, room)
                rounds += 1
                size = 1
            elif not moved:
                if size == self.m:
                    return rounds
                size += 1
            if progress is not None:
                progress(1 - int(self.mark.sum()) / total)

    def give_back(self) -> None:
        """What can return by itself, twice, as each return may let others follow."""
        from shoal.kernels.snapshots.way_back import give_back

        if self.k < 2 or self.mark.sum() == self.had.sum():
            return
        total = self._sets_of(np.ones(len(self.people), np.bool_))
        if total > ROOM:
            return
        room = self._room(4 * total // self.k)  # sets that occur have k people, and a mark adds none that does not
        for _ in range(2):
            before = int(self.mark.sum())
            give_back(
                *(self.entries, self.had, self.was_inside, self.inside, self.mark),
                *(np.stack(self._crowds(), axis=1), room, self.k, self.m),
            )
            if int(self.mark.sum()) == before:
                return

    def wait_for_more(self, overdue: Collection[int]) -> int:
        """Let newcomers wait of whom hardly anything would be told: they can be told of better among more of them, later."""
        whose = self.entries.whose
        new = (self.entries.crowd == 0) & ~np.isin(self.people, np.array(sorted(overdue), np.int64))
        had, rounds = np.bincount(whose, weights=self.had, minlength=len(self.people)), 0
        while True:
            told = np.bincount(whose, weights=self.mark, minlength=len(self.people))
            wait = new & (self.inside > 0) & (told < TOLD * had)
            if not wait.any():
                return rounds
            self.inside[wait] = self.was_inside[wait] = 0
            self.mark[wait[whose]] = 0
            rounds += self.take_back(None)

    def let_go(self) -> int:
        """Let what is gone leave the release, as far as everybody keeps a crowd; in how many rounds."""
        from shoal.kernels.snapshots.way_back import hold_back

        leaving = ((self.inside > 0) & (self.is_there == 0)).astype(np.uint8)
        losing = ((self.mark > 0) & (self.has == 0)).astype(np.uint8)
        losing[leaving[self.entries.whose] > 0] = 0
        if not leaving.any() and not losing.any():
            return 0
        held = self.mark.copy()
        self.inside[leaving > 0] = 0
        self.mark[(losing > 0) | (leaving[self.entries.whose] > 0)] = 0
        rounds, size = 0, 1
        while True:
            rounds += 1
            undone = self._hold_crowds(held, leaving)
            sets, _ = self._rare_sets(size)
            undone += hold_back(self.entries, sets, self.inside, self.mark, held, leaving, losing, self.k)
            if undone:
                size = 1
            elif size == self.m:
                return rounds
            else:
                size += 1

    def _hold_crowds(self, held: npt.NDArray[np.uint8], leaving: npt.NDArray[np.uint8]) -> int:
        """Let nobody of a crowd leave who would be one of fewer than k, or leave fewer behind; how many stay for that."""
        outside, inside = self._crowds()
        crowd = self.entries.crowd
        few = ((outside > 0) & (outside < self.k)) | ((inside > 0) & (inside < self.k))
        stay = (leaving > 0) & few[crowd]
        leaving[stay], self.inside[stay] = 0, 1
        of_them = stay[self.entries.whose]
        self.mark[of_them] = held[of_them]
        return int(stay.sum())

    def result(self, rounds: int) -> Snapshot:
        """The rows as they stand."""
        kept = self.mark > 0
        inside = np.flatnonzero(self.inside)
        lengths = np.bincount(self.entries.whose[kept], minlength=len(self.people))[inside]
        rows = Baskets.from_codes(lengths.astype(np.int64), self.token[kept], self.names)
        published = Baskets(rows.offsets, rows.items, rows.vocabulary, people=self.people[inside].astype(np.int32))
        inside_now, there = self.inside > 0, self.is_there > 0
        has = self.has > 0
        return Snapshot(
            published=published,
            waiting=self.people[there & ~inside_now],
            occurrences=int(has.sum()),
            deleted=int((has & ~kept).sum()),
            staying=self.people[inside_now & ~there],
            outdated=int((kept & ~has).sum()),
            rounds=rounds,
        )

    def _sets_of(self, whom: Bools) -> int:
        """How many sets of up to m items these people have or may have."""
        distinct, times = np.unique(np.diff(self.entries.offsets)[whom], return_counts=True)
        counts = [sum(comb(length, size) for size in range(self.m + 1)) for length in distinct.tolist()]
        return sum(number * count for number, count in zip(counts, times.tolist(), strict=True))

    def _room(self, places: int) -> Ints:
        """Room for a table of so many sets, a power of 2, and for those of one person."""
        longest = int(np.diff(self.entries.offsets).max(initial=0))
        most = sum(comb(longest, size) for size in range(self.m + 1))
        return np.array([1 << (places + 16).bit_length(), max(most, longest) + 1], np.int64)

    def _crowds(self) -> tuple[Ints, Ints]:
        """Of each former crowd, the people outside the release and inside."""
        crowd, inside = self.entries.crowd, self.inside > 0
        size = int(crowd.max(initial=0)) + 1
        return np.bincount(crowd[~inside], minlength=size), np.bincount(crowd[inside], minlength=size)

    def _fix_crowds(self) -> bool:
        """Let people wait where a crowd would fall into parts of fewer than k; whether anybody had to."""
        outside, inside = self._crowds()
        outside[0] = 0  # those who were never there are nobody's crowd
        wait = (inside > 0) & (inside < self.k)
        few = np.flatnonzero((outside > 0) & (outside < self.k) & ~wait)
        gone = wait[self.entries.crowd] & (self.inside > 0)
        marks = np.bincount(self.entries.whose[self.mark > 0], minlength=len(self.people))
        for crowd in few.tolist():
            members = np.flatnonzero((self.entries.crowd == crowd) & (self.inside > 0))
            cheapest = np.argsort(marks[members], kind="stable")[: self.k - outside[crowd]]
            gone[members[cheapest]] = True
        self.inside[gone] = 0
        self.mark[gone[self.entries.whose]] = 0
        return bool(gone.any())

    def _rare_sets(self, size: int) -> tuple[Codes, Ints]:
        """Sets of up to so many items that too few people have, a row of codes each, and how many people have each code."""
        from shoal.kernels.itemsets.prefixes import laid_out
        from shoal.kernels.itemsets.rare_sets import rare_sets

        entries = self.entries
        inside = self.inside[entries.whose] > 0
        there = ~entries.bare | (self.mark > 0)
        code = 3 * entries.old[there] + np.where(inside, 1 + self.mark, 0)[there].astype(np.int32)
        support = np.bincount(code, minlength=3 * len(entries.starts))
        by_rank = np.argsort(support, kind="stable")
        by_rank = by_rank[support[by_rank] > 0]
        if size == 1:
            rare = by_rank[support[by_rank] < self.k]
            return rare.astype(np.int32)[:, None], support
        rank = np.full(len(support), -1, np.int32)
        rank[by_rank] = np.arange(len(by_rank), dtype=np.int32)
        offsets = np.concatenate(([0], np.cumsum(there)))[entries.offsets].astype(np.int64)
        rows = laid_out(offsets, rank[code], np.arange(len(by_rank), dtype=np.int32), len(by_rank), self.threads)
        parts: list[Any] = over_blocks(
            lambda a, b: rare_sets(rows, a, b, self.k, size, AT_A_TIME), rows.blocks(), self.threads
        )
        ranks = np.concatenate([*parts, np.empty(0, np.int32)]).reshape(-1, size)
        return np.where(ranks >= 0, by_rank[np.maximum(ranks, 0)] if len(by_rank) else -1, -1).astype(np.int32), support


def _marks(of: Ints, parts: Sequence[Ints]) -> npt.NDArray[np.uint8]:
    """A mark for each of some sorted numbers that stands in one of the parts."""
    return np.isin(of, np.concatenate(parts)).astype(np.uint8)


def _people(release: Baskets) -> Ints:
    assert release.people is not None
    return release.people.astype(np.int64)


def _pairs(release: Baskets, names: dict[str, int]) -> tuple[Ints, Ints]:
    """Whose each occurrence is, and its token, by numbers that all releases share."""
    number = np.array([names.setdefault(name, len(names)) for name in release.vocabulary], np.int64)
    return np.repeat(_people(release), release.lengths), number[release.items]


def _told_apart(numbers: Ints, there: Ints) -> Ints:
    """The numbers, told apart by who is there; who was never there stays 0."""
    anew = 2 * numbers
    anew[there] += 1
    _, number = np.unique(np.append(anew, 0), return_inverse=True)
    return number.reshape(-1)[:-1].astype(np.int64)
