"""The sets of up to m items that somebody may know, of all rows of some releases, with how many rows hold each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from shoal.errors import InputError
from shoal.numbers import Ints
from shoal.records.baskets import Baskets

MOST_SETS = 100_000_000
"""Sets of items, of all rows together, that are compared at most."""


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
