"""Classes with enough different sensitive items: one that has too few, or one that all share, is merged with its cheapest neighbour.

Classes stand in Gray order of their centres, so that near ones are neighbours. Of the next few on both sides, the one
with which the class loses least is taken; the merged class votes for its centre anew. It goes on until no class has too
few, which at the latest is so when one class is left that holds everything.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from shoal.algorithms.transactions.classes import Classes, majority_centres
from shoal.errors import Unreachable
from shoal.kernels.classes.centres import class_centres, members
from shoal.kernels.classes.gray import gray_order
from shoal.numbers import Ints
from shoal.records.baskets import Baskets

NEAR = 4
"""Neighbours on each side that a class may be merged with."""


class _Told(NamedTuple):
    """What a class says: how many rows or people it has, which sensitive items there are, and which all of these share."""

    people: int
    values: frozenset[int]
    shared: frozenset[int]

    def beside(self, other: _Told) -> _Told:
        """Both classes as one; rows add up, as people who may be in both do not."""
        return _Told(self.people + other.people, self.values | other.values, self.shared & other.shared)


def diverse(baskets: Baskets, sensitive: Baskets, classes: Classes, l: int, threads: int | None = None) -> Classes:  # noqa: E741
    """Classes of at least l different sensitive items each, none of which stands in all rows, from classes that may have fewer.

    `baskets` holds the quasi-identifier items and `sensitive` the sensitive ones of the same rows.
    """
    if l <= 1:
        return classes
    _check_items(sensitive, l)
    merged, merges = _merged(baskets, sensitive, classes, 1, l, threads)
    return replace(merged, facts={**classes.facts, "merged_for_l": merges})


def classes_of_strangers(
    baskets: Baskets,
    sensitive: Baskets,
    classes: Classes,
    k: int,
    l: int,  # noqa: E741
    threads: int | None = None,
) -> Classes:
    """Classes of at least k different people each and, with l > 1, of l different sensitive items, none of which all of them have."""
    if l > 1:
        _check_items(sensitive, l)
    merges = 0
    while True:
        classes, more = _merged(baskets, sensitive, classes, k, l, threads)
        merges += more
        alike = _alike(baskets, classes, threads)
        if len(alike.centres) == len(classes.centres) or l <= 1:
            break
        classes = alike
    if l > 1 and len(classes.centres) == 1 and _told(sensitive, np.arange(len(sensitive))).shared:
        raise Unreachable(
            f"{l}-diversity was not reached: even in one class of all rows there is a sensitive item that all people have; do not name "
            "it as sensitive"
        )
    return replace(classes, facts={**classes.facts, "classes": len(classes.centres), "merged_for_people": merges})


def _alike(baskets: Baskets, classes: Classes, threads: int | None) -> Classes:
    """Classes that are published alike as one."""
    first: dict[bytes, int] = {}
    centres = classes.centres
    ends = zip(centres.offsets[:-1].tolist(), centres.offsets[1:].tolist(), strict=True)
    number = np.array([first.setdefault(centres.items[a:b].tobytes(), len(first)) for a, b in ends], np.int32)
    of_row = number[classes.of_row]
    order, bounds = members(of_row, len(first))
    return replace(classes, of_row=of_row, centres=majority_centres(baskets, order, bounds, threads))


def _check_items(sensitive: Baskets, l: int) -> None:  # noqa: E741
    held = int(np.count_nonzero(sensitive.supports()))
    if held < l:
        raise Unreachable(
            f"{l}-diversity cannot be reached: in all, the data holds only {held:,} of the sensitive items; choose an l of at most that"
        )
    if len(sensitive) and (everywhere := int(np.count_nonzero(sensitive.supports() == len(sensitive)))):
        raise Unreachable(
            f"{l}-diversity cannot be reached: {everywhere:,} of the sensitive items stand in all {len(sensitive):,} rows, and nobody is "
            "unsure of these; do not name them as sensitive"
        )


def _merged(
    baskets: Baskets,
    sensitive: Baskets,
    classes: Classes,
    k: int,
    l: int,  # noqa: E741
    threads: int | None,
) -> tuple[Classes, int]:
    """Classes of which none is poor, as long as there are two, and how many were merged."""
    n, n_items = len(classes.centres), len(baskets.vocabulary)
    order, bounds = members(classes.of_row, n)
    rows = [order[bounds[c] : bounds[c + 1]] for c in range(n)]
    told = [_told(sensitive, held_by) for held_by in rows]
    by_class = gray_order(classes.centres.offsets, classes.centres.items, n_items, None, threads)
    before, after = _links(by_class)
    merged_into = np.arange(n)
    merges = 0

    def is_poor(c: int) -> bool:
        return told[c].people < k or (l > 1 and (len(told[c].values) < l or bool(told[c].shared)))

    todo = [c for c in by_class.tolist() if is_poor(c)]

    def losses(groups: list[Ints]) -> Ints:
        """What each group of rows loses when it is published as its majority."""
        ends = np.concatenate(([0], np.cumsum([len(group) for group in groups])))
        voted = class_centres(baskets.offsets, baskets.items, n_items, np.concatenate(groups), ends, 1)
        return voted.added + voted.removed

    while todo:
        c = todo.pop()
        if merged_into[c] != c or not is_poor(c):
            continue
        near = _near(c, before, NEAR) + _near(c, after, NEAR)
        if not near:
            break
        alone = losses([rows[o] for o in near])
        together = losses([np.concatenate((rows[c], rows[o])) for o in near])
        other = near[int(np.argmin(together - alone))]
        rows[other] = np.concatenate((rows[c], rows[other]))
        told[other] = _told(sensitive, rows[other]) if sensitive.people is not None else told[other].beside(told[c])
        merged_into[c] = other
        b, a = before[c], after[c]
        if b >= 0:
            after[b] = a
        if a >= 0:
            before[a] = b
        merges += 1
        if is_poor(other):
            todo.append(other)
    left = [c for c in by_class.tolist() if merged_into[c] == c]
    of_row = np.empty(len(baskets), np.int32)
    for number, c in enumerate(left):
        of_row[rows[c]] = number
    centres = _centres(baskets, classes, rows, left, threads)
    return replace(classes, of_row=of_row, centres=centres), merges


def _centres(baskets: Baskets, classes: Classes, rows: list[Ints], left: list[int], threads: int | None) -> Baskets:
    """Centres of the classes that are left: as they were, or voted for anew where others came in."""
    ends = np.concatenate(([0], np.cumsum([len(rows[c]) for c in left])))
    order = np.concatenate([rows[c] for c in left])
    both = _stacked(classes.centres, majority_centres(baskets, order, ends, threads))
    grown = [len(rows[c]) > classes.sizes[c] for c in left]
    chosen = [len(classes.centres) + i if grew else c for i, (c, grew) in enumerate(zip(left, grown, strict=True))]
    return both.take(np.array(chosen, np.int64))


def _stacked(first: Baskets, second: Baskets) -> Baskets:
    offsets = np.concatenate((first.offsets, second.offsets[1:] + first.offsets[-1]))
    return Baskets(offsets, np.concatenate((first.items, second.items)), first.vocabulary)


def _told(sensitive: Baskets, rows: Ints) -> _Told:
    held = sensitive.take(rows)
    if held.people is None:
        items, times = np.unique(held.items, return_counts=True)
        return _Told(len(rows), frozenset(items.tolist()), frozenset(items[times == len(rows)].tolist()))
    who, person = np.unique(held.people, return_inverse=True)
    pairs = np.unique(held.items * np.int64(len(rows) + 1) + np.repeat(person.reshape(-1), held.lengths))
    items, times = np.unique(pairs // (len(rows) + 1), return_counts=True)
    return _Told(len(who), frozenset(items.tolist()), frozenset(items[times == len(who)].tolist()))


def _links(order: Ints) -> tuple[list[int], list[int]]:
    """For each class the one before and the one after it in the order, -1 at the ends."""
    before, after = [-1] * len(order), [-1] * len(order)
    for a, b in pairwise(order.tolist()):
        after[a], before[b] = b, a
    return before, after


def _near(c: int, links: list[int], count: int) -> list[int]:
    near: list[int] = []
    while len(near) < count and (c := links[c]) >= 0:
        near.append(c)
    return near
