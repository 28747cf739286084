"""Items added and removed: what a release by class centres costs (PTA, Definition 2, as a share of the original occurrences).

Both sides are compared row by row, item by item, whatever algorithm made the release.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.errors import VALUES, InputError, number_of
from shoal.numbers import Ints
from shoal.records.baskets import Baskets


@dataclass(frozen=True, eq=False)
class Edits:
    """Occurrences that a release adds and removes."""

    added: Ints
    """Per item of the original vocabulary."""
    removed: Ints
    added_in_row: Ints
    removed_in_row: Ints
    occurrences: int
    """Item occurrences of the original."""

    def loss(self) -> dict[str, float]:
        """As fractions of the original occurrences: `il`, the paper's ratio, and its two parts."""
        total = max(1, self.occurrences)
        added, removed = int(self.added.sum()), int(self.removed.sum())
        return {"il": (added + removed) / total, "added": added / total, "removed": removed / total}


def check_correspond(original: int, published: int) -> None:
    """Raises unless there are as many rows in both."""
    if original != published:
        raise InputError(f"the original has {original:,} rows, the release {published:,}; rows must correspond")


def edits(original: Baskets, published: Baskets) -> Edits:
    """What has to be added to and removed from each row of the original to get the published row of the same number."""
    check_correspond(len(original), len(published))
    n = len(original.vocabulary)
    number = {name: i for i, name in enumerate(original.vocabulary)}
    unknown = [name for name in published.vocabulary if name not in number]
    if unknown:
        raise InputError(
            f"the release holds {number_of(len(unknown), 'item')} that the original does not{VALUES}; a centre holds original items only",
            values=unknown,
        )
    translate = np.array([number[name] for name in published.vocabulary], np.int64)
    before = _keys(original, np.arange(n, dtype=np.int64), n)
    after = _keys(published, translate, n)
    added = after[~np.isin(after, before, assume_unique=True)]
    removed = before[~np.isin(before, after, assume_unique=True)]
    rows = len(original)
    return Edits(
        np.bincount(added % n, minlength=n) if n else np.zeros(0, np.int64),
        np.bincount(removed % n, minlength=n) if n else np.zeros(0, np.int64),
        np.bincount(added // max(n, 1), minlength=rows),
        np.bincount(removed // max(n, 1), minlength=rows),
        original.occurrences,
    )


def _keys(baskets: Baskets, item: Ints, n: int) -> Ints:
    """One number for each occurrence."""
    return np.repeat(np.arange(len(baskets), dtype=np.int64) * n, baskets.lengths) + item[baskets.items]
