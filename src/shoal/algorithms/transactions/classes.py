"""Classes: which transactions are published as one, and as what.

Every algorithm of this room ends here: `of_row` says which class a transaction belongs to, `centres` what all members of
a class are published as. A centre by majority (an item stands in it if strictly more than half of the members have it)
loses least for its class: each item is then added or removed in the smaller half.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.algorithms.recoding import Outcome
from shoal.errors import Unreachable, only_so_many
from shoal.kernels.classes.centres import class_centres
from shoal.numbers import Codes, Ints
from shoal.records.baskets import Baskets


@dataclass(frozen=True, eq=False)
class Classes(Outcome):
    """A partition of the rows, with the items that are published for each part."""

    of_row: Codes
    """The class of each row, numbered from 0 without gaps."""
    centres: Baskets
    """One row per class, over the vocabulary of the baskets that were grouped."""

    @cached_property
    def sizes(self) -> Ints:
        return np.bincount(self.of_row, minlength=len(self.centres)).astype(np.int64)

    def apply(self) -> Baskets:
        """Every row as it is published, in the order of the rows that were grouped."""
        return self.centres.take(self.of_row.astype(np.int64))


def majority_centres(baskets: Baskets, order: Ints, bounds: Ints, threads: int | None) -> Baskets:
    """What the majority of each class has; class c has the rows order[bounds[c]:bounds[c + 1]]."""
    voted = class_centres(baskets.offsets, baskets.items, len(baskets.vocabulary), order, bounds, threads)
    return Baskets(voted.offsets, voted.items, baskets.vocabulary)


def check_enough(k: int, rows: int) -> None:
    """Raises if not even one class of k transactions can be made."""
    if k > rows:
        raise Unreachable(
            f"k = {k:,}, but there {only_so_many(rows, 'transaction')}; choose a k of at most their number"
        )
