"""Classes with enough different sensitive items: one that has too few, or one that all share, is merged with its cheapest neighbour.

Classes stand in Gray order of their centres, so that near ones are neighbours. Of the next few on both sides, the one
with which the class loses least is taken; the merged class votes for its centre anew. It goes on until no class has too
few, which at the latest is so when one class is left that holds everything.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from shoal.algorithms.transactions.classes import Classes, majority_centres
from shoal.errors import Unreachable
from shoal.kernels.classes.centres import class_centres, members
from shoal.kernels.classes.gray import gray_order
from shoal.records.baskets import Baskets

NEAR = 4
"""Neighbours on each side that a class may be merged with."""


def diverse(baskets: Baskets, sensitive: Baskets, classes: Classes, l: int, threads: int | None = None) -> Classes:  # noqa: E741
    """Classes of at least l different sensitive items each, none of which stands in all rows, from classes that may have fewer.

    `baskets` holds the quasi-identifier items and `sensitive` the sensitive ones of the same rows.
    """
    if l <= 1:
        return classes
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
    n, n_items = len(classes.centres), len(baskets.vocabulary)
    order, bounds = members(classes.of_row, n)
    rows = [order[bounds[c] : bounds[c + 1]] for c in range(n)]
    values = [_distinct(sensitive, held_by) for held_by in rows]
    shared = [_shared(sensitive, held_by) for held_by in rows]
    by_class = gray_order(classes.centres.offsets, classes.centres.items, n_items, None, threads)
    before, after = _links(by_class)
    merged_into = np.arange(n)
    todo = [c for c in by_class.tolist() if len(values[c]) < l or shared[c]]
    merges = 0

    def losses(groups: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
        """What each group of rows loses when it is published as its majority."""
        ends = np.concatenate(([0], np.cumsum([len(group) for group in groups])))
        voted = class_centres(baskets.offsets, baskets.items, n_items, np.concatenate(groups), ends, 1)
        return voted.added + voted.removed

    while todo:
        c = todo.pop()
        if merged_into[c] != c or (len(values[c]) >= l and not shared[c]):
            continue
        near = _near(c, before, NEAR) + _near(c, after, NEAR)
        alone = losses([rows[o] for o in near])
        together = losses([np.concatenate((rows[c], rows[o])) for o in near])
        other = near[int(np.argmin(together - alone))]
        rows[other] = np.concatenate((rows[c], rows[other]))
        values[other], shared[other] = values[other] | values[c], shared[other] & shared[c]
        merged_into[c] = other
        b, a = before[c], after[c]
        if b >= 0:
            after[b] = a
        if a >= 0:
            before[a] = b
        merges += 1
        if len(values[other]) < l or shared[other]:
            todo.append(other)
    left = [c for c in by_class.tolist() if merged_into[c] == c]
    of_row = np.empty(len(baskets), np.int32)
    for number, c in enumerate(left):
        of_row[rows[c]] = number
    centres = _centres(baskets, classes, rows, left, threads)
    return replace(classes, of_row=of_row, centres=centres, facts={**classes.facts, "merged_for_l": merges})


def _centres(
    baskets: Baskets, classes: Classes, rows: list[npt.NDArray[np.int64]], left: list[int], threads: int | None
) -> Baskets:
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


def _distinct(sensitive: Baskets, rows: npt.NDArray[np.int64]) -> frozenset[int]:
    return frozenset(sensitive.take(rows).items.tolist())


def _shared(sensitive: Baskets, rows: npt.NDArray[np.int64]) -> frozenset[int]:
    """The sensitive items that all rows hold."""
    held, times = np.unique(sensitive.take(rows).items, return_counts=True)
    return frozenset(held[times == len(rows)].tolist())


def _links(order: npt.NDArray[np.int64]) -> tuple[list[int], list[int]]:
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
