"""What a series of snapshots promises: releases of the same people, put together person by person, still hide everybody.

The attacker is taken to know which published row of one release belongs to which of another, as if names stood beside them; nobody who
has to link rows can know more. Put together that way, a person has a presence (the releases in which the person was published) and,
for every published token, a trace (those among them in which it stood for the person). The promise is (k,k^m)-anonymity of that joined
table: presence is its column, and a token with its trace is an item. So the audit joins the history with code of its own, and then
asks `RTAnonymity`. The first release alone makes this k^m-anonymity of people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.errors import InputError, number_of
from shoal.guarantees.audit import Audit
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.rt import RTAnonymity
from shoal.guarantees.soundness import check_sets
from shoal.numbers import Bools, Ints, warn_of_one, whole_number
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records

PRESENCE = "presence"
SNAPSHOTS = "snapshots"
"""The kind of series in which the same people are published again."""

History = Sequence[Baskets]
"""Release by release what was published of whom: `people` says whose each row is."""


@dataclass(frozen=True)
class SnapshotAnonymity:
    """The promise: who was published when, and up to m tokens of a person with the releases each was there in, fit nobody or k people.

    Args:
        k: The smallest crowd, of people.
        m: How many tokens of a person an attacker may know, each with the releases in which it was published.

    Raises:
        InputError: A number is out of range.
    """

    k: int
    m: int

    model = SNAPSHOTS

    def __post_init__(self) -> None:
        for name, value in (("k", self.k), ("m", self.m)):
            whole_number(name, value, 1)
        warn_of_one(self.k)

    def __str__(self) -> str:
        return f"{self.k}^{self.m}-anonymity of snapshots"

    def to_dict(self) -> dict[str, Any]:
        return {"model": self.model, "k": int(self.k), "m": int(self.m), "name": str(self)}

    def promise(self) -> tuple[str, ...]:
        """Which attacker is stopped, in plain words."""
        items = "one item" if self.m == 1 else f"up to {self.m} items"
        return (
            f"Whoever knows in which releases of the series a person was published, and {items} of the person with the releases in which "
            f"each was there, faces either nobody or at least {self.k} people, all releases taken together.",
            f"Who joined or left between two releases is at least {self.k} people who look alike, and in each single release whoever knows "
            f"{items} of a person still faces at least {self.k} people.",
            "This was counted as if it were known which rows of different releases are the same person's.",
        )

    def limits(self) -> tuple[str, ...]:
        """Which attacker is not stopped."""
        return (
            f"An attacker who knows more than {number_of(self.m, 'item')} of a person may still single the person out.",
            "An attacker who knows that a person did not have an item is not considered, except that an item which was known in some "
            "releases was not known in the others.",
            "That an item is not there in a release can mean that the person did not have it, or that it was left out to keep the "
            "promise; that a person is not there can mean that the person waits. What is there may be as it was in an earlier release: who "
            "left, and what only a few lost, stays until enough others have left or lost it as well.",
            "If all candidates share a further item, the attacker learns it without knowing who is who.",
            "The promise is about the releases of this series; another series about the same people can be combined with it.",
        )

    def audit(
        self,
        history: History,
        *,
        witnesses: int = 10,
        threads: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Audit:
        """Join what was published of each person, and count; witnesses name tokens and releases, never people."""
        joined, labels = joined_table(history)
        found = RTAnonymity(self.k, self.m).audit(joined, witnesses=witnesses, threads=threads, progress=progress)
        return replace(
            found,
            guarantee=self.to_dict(),
            witnesses=tuple(
                replace(
                    w,
                    items=tuple(labels[int(name)] for name in w.items),
                    rows=(),
                    reason=f"{w.support:,} of {self.k:,} people",
                    group=("in " + w.group[0],),
                )
                for w in found.witnesses
            ),
            notes=(),
        )


@dataclass(frozen=True)
class KmOfSnapshots(KmAnonymity):
    """What a single release of snapshots promises: k^m-anonymity of a file in which each row is a person, as part of the series."""

    def promise(self) -> tuple[str, ...]:
        """What whoever has the file can check, then what its owner audited."""
        return (*super().promise(), *SnapshotAnonymity(self.k, self.m).promise(), OF_THE_OWNER)

    def limits(self) -> tuple[str, ...]:
        """Which attacker is not stopped: of the release, then of the series."""
        *of_rows, _, _ = super().limits()  # each row is a person, and the series is promised as well
        *_, of_what_is_missing, _, of_others = SnapshotAnonymity(self.k, self.m).limits()
        return (*of_rows, of_what_is_missing, of_others)


OF_THE_OWNER = (
    "Each row is one person. Of the published file alone anybody can check what is said first; what is said of people and of the series "
    "was audited over what its owner keeps of all releases."
)


def joined_table(history: History) -> tuple[Records, list[str]]:
    """One row per person who was ever published, with the presence as a column and numbers as items; what each number stands for."""
    n_releases = len(history)
    whose, token, when, present = [], [], [], []
    names: dict[str, int] = {}
    for place, release in enumerate(history):
        check_sets(release)
        people = release.people
        if people is None or len(people) != len(release):
            raise InputError(f"release {place + 1} does not say whose its rows are")
        of_name = np.array([names.setdefault(name, len(names)) for name in release.vocabulary], np.int64)
        lengths = np.diff(release.offsets)
        whose.append(np.repeat(people.astype(np.int64), lengths))
        token.append(of_name[release.items])
        when.append(np.full(len(release.items), place, np.int64))
        present.append(np.stack((people.astype(np.int64), np.full(len(people), place))))
    if not n_releases:
        raise InputError("a series without a release promises nothing; publish one first")
    there, releases = np.concatenate(present, axis=1)
    persons, row, presences = _release_sets(there, releases, n_releases)
    pairs = np.concatenate(whose) * max(1, len(names)) + np.concatenate(token)
    held, entry, traces = _release_sets(pairs, np.concatenate(when), n_releases)
    holder = np.searchsorted(persons, held // max(1, len(names)))
    kinds, item = np.unique(
        held % max(1, len(names)) * max(1, len(traces)) + entry, return_inverse=True
    )  # a token with its trace
    order = np.lexsort((item, holder))
    offsets = np.concatenate(([0], np.cumsum(np.bincount(holder, minlength=len(persons))))).astype(np.int64)
    numbers = tuple(map(str, range(len(kinds))))
    items = Baskets(offsets, item.reshape(-1)[order].astype(np.int32), numbers)
    spoken = list(names)
    labels = [
        f"{spoken[kind // max(1, len(traces))]} ({releases_in_words(traces[kind % max(1, len(traces))])})"
        for kind in kinds.tolist()
    ]
    column = Column.from_codes(
        PRESENCE, "quasi", row.astype(np.int32), [releases_in_words(p) for p in presences], numeric=False
    )
    return Records((column,), items), labels


def _release_sets(keys: Ints, when: Ints, n_releases: int) -> tuple[Ints, Ints, Bools]:
    """The distinct keys, the number of the set of releases that each comes with, and these sets, a mark for each release."""
    distinct, place = np.unique(keys, return_inverse=True)
    marks = np.zeros((len(distinct), n_releases), np.bool_)
    marks[place.reshape(-1), when] = True
    sets, number = np.unique(marks, axis=0, return_inverse=True)
    return distinct, number.reshape(-1), sets


def releases_in_words(marks: Bools) -> str:
    """The marked releases, counted from 1: `1-3, 5`."""
    runs: list[list[int]] = []
    for place in (np.flatnonzero(marks) + 1).tolist():
        if runs and place == runs[-1][1] + 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
