"""Horizontal partitioning (Terrovitis and others 2012, HORPART): clusters of records that have common items in common.

A set of records is split by its most frequent item that it was not split by before, those with the item here, those without it there, until
no part is larger than a cluster may be. A split that would leave fewer than k records on a side is not made, which the paper leaves open:
a cluster of fewer than k records could hide nobody among k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.numbers import Bools, Codes, Ints
from shoal.records.baskets import Baskets


@dataclass(frozen=True, eq=False)
class _Part:
    """Some rows, with the items that they may still be split by."""

    rows: Ints
    lengths: Ints
    items: Codes

    def take(self, wanted: Bools) -> _Part:
        return _Part(self.rows[wanted], self.lengths[wanted], self.items[np.repeat(wanted, self.lengths)])

    def without(self, item: int) -> _Part:
        held = self.items == item
        gone = np.bincount(np.repeat(np.arange(len(self.rows)), self.lengths)[held], minlength=len(self.rows))
        return _Part(self.rows, self.lengths - gone, self.items[~held])


def horizontal_parts(baskets: Baskets, k: int, most: int) -> list[Ints]:
    """The rows of each cluster: every row in one, none of fewer than k rows or more than `most`, which is 2k or more."""
    clusters: list[Ints] = []
    waiting = [_Part(np.arange(len(baskets), dtype=np.int64), baskets.lengths, baskets.items)]
    while waiting:
        part = waiting.pop()
        if len(part.rows) <= most:
            clusters.append(part.rows)
            continue
        count = np.bincount(part.items, minlength=1)
        item = int(count.argmax())
        if count[item] < k:
            clusters += _even_parts(baskets, part.rows, most)
        elif len(part.rows) - count[item] < k:
            waiting.append(part.without(item))
        else:
            holding = np.zeros(len(part.rows), np.bool_)
            holding[np.repeat(np.arange(len(part.rows)), part.lengths)[part.items == item]] = True
            waiting += [part.take(~holding), part.take(holding).without(item)]
    return clusters


def _even_parts(baskets: Baskets, rows: Ints, most: int) -> list[Ints]:
    """Rows that no item splits, those with the same items side by side, in as few parts as there can be, all of about one size."""
    offsets, items = baskets.offsets, baskets.items
    alike = sorted(rows.tolist(), key=lambda row: tuple(items[offsets[row] : offsets[row + 1]].tolist()))
    return [np.sort(part) for part in np.array_split(np.array(alike, np.int64), -(-len(rows) // most))]
