"""The risk before: what the attacker of a promise would learn from the raw data, as counts for the owner.

Counts alone leave this file: how many rows whoever knows what the promise speaks of would narrow down to fewer than k, and how many to
one. What a certificate says of them is much coarser (`disclosure`). It must not
keep an owner waiting, so sets of items are counted up to the largest size that takes about a second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.algorithms import kind_of
from shoal.guarantees.k import open_and_sensitive, twins
from shoal.guarantees.km import exposures
from shoal.guarantees.registry import OF_SETS
from shoal.guarantees.rt import known_items, told_apart
from shoal.guarantees.table import canonical, classes
from shoal.numbers import Ints
from shoal.records.baskets import Baskets
from shoal.records.records import Records
from shoal.records.source import Source

SUBSETS = 2e7
"""Sets of items that are counted at most: a second on two cores, of 100,000 rows of ten items all pairs."""

COLUMNS = "all quasi-identifier columns"


@dataclass(frozen=True)
class Exposed:
    """What an attacker of one kind gets from the raw data."""

    few: int
    """Rows that are narrowed down to fewer than k; for buckets, rows whose sensitive value is certain."""
    single: int | None
    """Rows that are singled out; None for buckets."""
    columns: bool = False
    """Whether the attacker knows all quasi-identifier columns."""
    whole: str = ""
    """What the attacker knows of the sets, where items are not counted."""
    items: int = 0
    """Items that the attacker knows at most, where items are counted."""
    alone: int | None = None
    """For buckets, rows that no other equals: their values are certain whatever they are, and the release shows them."""

    def knowing(self, items: int) -> Exposed:
        """The same of an attacker who knows more items, none of which a row holds besides."""
        return replace(self, items=items)

    @property
    def knows(self) -> str:
        return self.words()

    def words(self, columns: str = COLUMNS) -> str:
        """What the attacker knows; `columns` is what the reader calls all quasi-identifier columns."""
        counted = "" if not self.items else "one item" if self.items == 1 else f"up to {self.items} items"
        return " and ".join(filter(None, (columns if self.columns else "", self.whole, counted)))

    def to_dict(self, columns: str = COLUMNS) -> dict[str, Any]:
        knows = self.words(columns)
        if self.single is None:
            return {"knows": knows, "value_certain": self.few}
        return {"knows": knows, "fewer_than_k": self.few, "singled_out": self.single}


def raw_risk(source: Source, guarantee: Any, *, threads: int | None = None) -> tuple[Exposed, ...]:
    """What the attacker whom the guarantee is about would learn from the raw data, the more the attacker knows."""
    kind = kind_of(guarantee)
    if not len(source):
        return ()
    if kind in OF_SETS:
        return _of_baskets(source.baskets, guarantee, threads)
    records = source.records
    of_row, sizes = classes(records)
    if kind == "diversity":
        alone = int(np.count_nonzero(sizes == 1))
        return (Exposed(_certain(records, of_row, len(sizes)), None, columns=True, alone=alone),)
    crowd = sizes[of_row]
    found = [_by_crowd(crowd, guarantee.k, columns=True)]
    if kind in ("rt", "lm"):
        items, _ = known_items(records)
        apart, _ = told_apart(items, of_row)
        found += _by_items(apart, guarantee, threads, known=crowd)
    return tuple(found)


def _of_baskets(baskets: Baskets, guarantee: Any, threads: int | None) -> tuple[Exposed, ...]:
    if guarantee.model in ("km", "chunks"):
        return tuple(_by_items(baskets, guarantee, threads))
    if guarantee.model == "constraints":
        few, single = guarantee.exposure(baskets, affordable)
        return (Exposed(few, single, whole="items that are protected together"),)
    quasi, _ = open_and_sensitive(baskets, guarantee.sensitive)
    _, bounds = twins(quasi)
    sizes = np.diff(bounds)
    known = "all items but the sensitive ones" if guarantee.sensitive else "all items"
    return (_by_crowd(np.repeat(sizes, sizes), guarantee.k, whole=known),)


def _by_crowd(crowd: Ints, k: int, **known: Any) -> Exposed:
    return Exposed(int(np.count_nonzero(crowd < k)), int(np.count_nonzero(crowd < min(k, 2))), **known)


def _by_items(baskets: Baskets, guarantee: Any, threads: int | None, known: Ints | None = None) -> list[Exposed]:
    """For 1, 2, ... known items, as far as a second goes."""
    up_to = affordable(baskets.lengths, int(guarantee.m))
    return [
        Exposed(e.exposed, e.unique, columns=known is not None, items=e.m)
        for e in exposures(baskets, int(guarantee.k), up_to, examples=0, threads=threads, known=known)
    ]


def affordable(lengths: Ints, m: int, most: float | None = None) -> int:
    """The largest size, at least 1, up to which all subsets of all rows are few enough to be counted at once."""
    rows = np.bincount(lengths)  # of each length: a row's subsets depend on nothing else
    lengths = np.flatnonzero(rows)
    ways = (rows[lengths] * lengths).astype(np.float64)
    total = ways.sum()
    m = min(m, int(lengths.max(initial=1)))  # nobody has more
    for size in range(2, m + 1):
        ways *= np.maximum(lengths - size + 1, 0) / size
        total += ways.sum()
        if total > (most or SUBSETS):
            return size - 1
    return m


def _certain(records: Records, of_row: Ints, n: int) -> int:
    """Rows of which all rows with the same quasi-identifiers share a sensitive value."""
    certain = np.zeros(n, np.bool_)
    for column in records.of_role("sensitive"):
        width = len(column.values) + 1
        pairs = np.unique(of_row * width + canonical(column.values)[column.codes])
        certain |= np.bincount(pairs // width, minlength=n) == 1
    return int(np.count_nonzero(certain[of_row]))
