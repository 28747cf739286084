"""Buckets in which nobody has two rows: rows of one person change places with others until all of a bucket are strangers.

The papers take each row for a person. Two rows of one in a bucket would leave it to fewer people than it has rows, and a value would be
likelier theirs than the promise says. Rows that are alike in their value and in what the rules exclude for them change places freely,
others where both buckets keep the promise; and a row moves where no exchange helps. There may be a way that this search does not find.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from shoal.algorithms.buckets.eligibility import valid_numbers
from shoal.errors import Unreachable, number_of
from shoal.guarantees.diversity import MatchingDiversity
from shoal.numbers import Bools, Codes

TRIED = 400
"""Rows that a row may change places with, of those alike and of others, before it is given up."""


def check_rows_of_one(people: Codes | None, guarantee: MatchingDiversity) -> None:
    """Raises if somebody has more rows than there can be buckets of l rows."""
    if people is None or not len(people):
        return
    most, buckets = int(np.bincount(people).max()), len(people) // int(guarantee.l)
    if most > buckets:
        raise Unreachable(
            f"{guarantee} cannot be reached: one person has {most:,} of {len(people):,} rows, of which no two may share a bucket, and "
            f"there can be only {number_of(buckets, 'bucket')} of {guarantee.l:,} rows; choose a smaller l, or join the rows of each person"
        )


class Strangers:
    """The rows of buckets, and whose they are."""

    def __init__(
        self, people: Codes, of_row: Codes, rows: tuple[Codes, Codes], promise: tuple[int, Bools, Bools], seed: int
    ) -> None:
        """`rows` are the value and the kind of each, `promise` is l, what the rules exclude per kind, and which values count."""
        self.people, self.of_row = people.tolist(), of_row.copy()
        self.value, self.kind = rows
        self.l, self.excluded, self.counted = promise
        self.random = np.random.default_rng(seed)
        self.members: list[set[int]] = [set() for _ in range(int(of_row.max(initial=-1)) + 1)]
        for row, bucket in enumerate(of_row.tolist()):
            self.members[bucket].add(row)
        self.held = [Counter(self.people[row] for row in members) for members in self.members]
        cell = self.kind.astype(np.int64) * len(self.counted) + self.value
        self._cell = np.unique(cell, return_inverse=True)[1].reshape(-1)
        order = np.argsort(self._cell, kind="stable")
        self._alike = np.split(order, np.flatnonzero(np.diff(self._cell[order])) + 1)

    def part(self) -> bool:
        """Let rows change places until no bucket has two of one person; False where some could not."""
        beside = [row for row, bucket in enumerate(self.of_row.tolist()) if self.held[bucket][self.people[row]] > 1]
        for row in self.random.permutation(np.array(beside, np.int64)).tolist():
            if self.held[self.of_row[row]][self.people[row]] > 1 and not self._placed(row):
                return False
        return True

    def _placed(self, row: int) -> bool:
        for other in self.random.permutation(self._alike[self._cell[row]])[:TRIED].tolist():
            if self._suits(row, other):
                self._swap(row, other)
                return True
        for other in self.random.integers(0, len(self.people), TRIED).tolist():
            if self._suits(row, other):
                self._swap(row, other)
                if self._keeps(self.of_row[row]) and self._keeps(self.of_row[other]):
                    return True
                self._swap(row, other)
        here = self.of_row[row]
        for bucket in self.random.permutation(len(self.members))[:TRIED].tolist():
            if not self.held[bucket][self.people[row]]:
                self._move(row, bucket)
                if self._keeps(here) and self._keeps(bucket):
                    return True
                self._move(row, here)
        return False

    def _suits(self, row: int, other: int) -> bool:
        """Whether two rows of different buckets would each come among strangers in the other's place."""
        here, there = self.of_row[row], self.of_row[other]
        return here != there and not self.held[here][self.people[other]] and not self.held[there][self.people[row]]

    def _swap(self, row: int, other: int) -> None:
        here, there = self.of_row[row], self.of_row[other]
        self._move(row, there)
        self._move(other, here)

    def _move(self, row: int, bucket: int) -> None:
        self.members[self.of_row[row]].remove(row)
        self.held[self.of_row[row]][self.people[row]] -= 1
        self.members[bucket].add(row)
        self.held[bucket][self.people[row]] += 1
        self.of_row[row] = bucket

    def _keeps(self, bucket: int) -> bool:
        rows = np.array(sorted(self.members[bucket]), np.int64)
        if not len(rows):
            return False
        of_kind = np.bincount(self.kind[rows], minlength=len(self.excluded))
        of_value = np.bincount(self.value[rows], minlength=len(self.counted))
        number = valid_numbers(of_kind[None], of_value[None], self.excluded, self.counted, 1)[0]
        there = np.count_nonzero((of_value > 0) & self.counted)
        return bool(there >= self.l and number[of_kind > 0].min() >= self.l)
