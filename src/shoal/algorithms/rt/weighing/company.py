"""Company: what an item is likely to lose in a class, by how many rows of the class hold it.

Learned from a run of `local`: rare items lose much, frequent ones little, and between the two it is the number of rows that tells most.
With it mergers of classes and moves of rows are compared without searching each of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.numbers import Floats, Ints
from shoal.records.baskets import Baskets

STEPS = 2
"""Steps of the curve for each doubling of the rows."""


@dataclass(frozen=True, eq=False)
class Company:
    """The curve, and the items that each class holds: `item[starts[c]:starts[c + 1]]`, each in so many rows."""

    curve: Floats
    """What an occurrence loses where r rows hold the item, at place r."""
    starts: Ints
    item: Ints
    rows: Ints
    n_items: int

    @classmethod
    def of(cls, items: Baskets, of_row: npt.NDArray[np.integer], n: int, cost: Floats) -> Company:
        """From what each occurrence lost inside the classes of the rows."""
        n_items = max(1, len(items.vocabulary))
        of_class = np.repeat(of_row.astype(np.int64), items.lengths)
        keys, place, rows = np.unique(of_class * n_items + items.items, return_inverse=True, return_counts=True)
        step = np.rint(STEPS * np.log2(rows)).astype(np.int64)[place.reshape(-1)]
        times = np.bincount(step)
        there = np.flatnonzero(times)
        mean = np.minimum.accumulate(np.bincount(step, cost)[there] / times[there]) if len(there) else np.zeros(1)
        reach = STEPS * np.log2(np.arange(1, 2 * int(rows.max(initial=1)) + 2))
        curve = np.concatenate(([1.0], np.interp(reach, there if len(there) else [0], mean)))
        return cls(curve, np.searchsorted(keys // n_items, np.arange(n + 1)), keys % n_items, rows, n_items)

    def loss_of(self, rows: Ints) -> Floats:
        """What all occurrences of an item in so many rows lose."""
        each: Floats = rows * self.curve[np.minimum(rows, len(self.curve) - 1)]
        return each

    def gain_of(self, pairs: Ints) -> Floats:
        """Per pair of classes, what their items would lose less in one class."""
        gains = np.empty(len(pairs))
        for at, (a, b) in enumerate(pairs.tolist()):
            own = [slice(self.starts[c], self.starts[c + 1]) for c in (a, b)]
            items, rows = (np.concatenate([array[part] for part in own]) for array in (self.item, self.rows))
            order = np.argsort(items, kind="stable")
            first = np.flatnonzero(np.diff(items[order], prepend=-1))
            both = np.add.reduceat(rows[order], first) if len(first) else rows
            gains[at] = self.loss_of(rows).sum() - self.loss_of(both).sum()
        return gains

    def in_class(self, c: int, more: int) -> Floats:
        """Per item, what an occurrence loses in class c if `more` rows with it come."""
        held = np.zeros(self.n_items, np.int64)
        held[self.item[self.starts[c] : self.starts[c + 1]]] = self.rows[self.starts[c] : self.starts[c + 1]]
        loses: Floats = self.curve[np.minimum(held + more, len(self.curve) - 1)]
        return loses
