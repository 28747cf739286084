"""Prosecutor risk: how likely is whoever knows a person, and that the person is in the file, to pick the right record?

The attacker knows all quasi-identifier columns and, where there are sets, all items that are not sensitive; the records that
agree are the crowd, and the risk of each is 1 over its size (El Emam and Dankar 2008). With `m`, the attacker knows the columns and
up to m items, those that help most: the crowd is then all records that agree in the columns and hold these items, and the risk is that
of the rarest choice. Knowing fewer items never helps, so only the largest choices count. Where rows say whose they are, a crowd is people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.guarantees.k import twins
from shoal.kernels.audit.least_supports import least_supports
from shoal.numbers import Floats, Ints, whole_number
from shoal.records.baskets import Baskets
from shoal.records.records import Records, row_classes
from shoal.showing import fields_of


@dataclass(frozen=True)
class ProsecutorRisk:
    """The risk of the records of one file, summed up."""

    k: int
    m: int | None
    """Items that the attacker knows; None for all of them, and that there are no others."""
    rows: int
    over: int
    """Records with a risk of more than 1/k."""
    unique: int
    """Records that are alone."""
    highest: float
    average: float

    @property
    def share_over(self) -> float:
        return self.over / self.rows if self.rows else 0.0

    def to_dict(self) -> dict[str, Any]:
        return fields_of(self, "rows", "over", "share_over", "unique", "highest", "average")


def crowds(data: Records | Baskets, *, items: bool = True) -> tuple[Ints, Ints]:
    """(class of each record, records or people of each class): equal in all quasi columns and, with `items`, in all known items."""
    records = Records.of(data)
    of_row, _ = row_classes(records.of_role("quasi"), len(records))
    if items and records.items is not None:
        known = _known_items(records, of_row)
        order, bounds = twins(known)
        of_row = np.empty(len(records), np.int64)
        of_row[order] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    return of_row, _sizes(of_row, records)


def _sizes(of_row: Ints, records: Records) -> Ints:
    """The records of each class or, where rows say whose they are, the people."""
    if records.people is None:
        return np.bincount(of_row).astype(np.int64)
    width = int(records.people.max(initial=0)) + 1
    return np.bincount(np.unique(of_row * width + records.people) // width).astype(np.int64)


def risks(data: Records | Baskets, m: int | None = None, *, threads: int | None = None) -> Floats:
    """The risk of each record; `m` limits the items that the attacker knows."""
    records = Records.of(data)
    if m is not None:
        whole_number("m", m, 0)
    if m is None or records.items is None:
        of_row, sizes = crowds(records)
        of_crowds: Floats = 1.0 / sizes[of_row]
        return of_crowds
    places: Any = slice(None)
    if records.people is not None:  # those of a person together, as supports of people are counted
        places = np.argsort(records.people, kind="stable")
        records = records.take(places)
    of_row, _ = row_classes(records.of_role("quasi"), len(records))
    crowd = _sizes(of_row, records)[of_row]
    if m:
        known = _known_items(records, of_row, with_class=False)
        support = known.supports()
        rank = np.empty(len(support), np.int32)
        rank[np.argsort(support, kind="stable")] = np.arange(len(support), dtype=np.int32)
        size = min(int(m), known.longest)
        least_supports(known.offsets, known.items, rank, crowd, size, threads, records.people)
    limited = np.empty(len(crowd))
    limited[places] = 1.0 / crowd
    return limited


def prosecutor(
    data: Records | Baskets, k: int = 5, m: int | None = None, *, threads: int | None = None
) -> ProsecutorRisk:
    """The risk of all records: how many are over 1/k, the highest and the average."""
    whole_number("k", k, 1)
    risk = risks(data, m, threads=threads)
    size = np.rint(1.0 / risk).astype(np.int64) if len(risk) else np.zeros(0, np.int64)
    return ProsecutorRisk(
        int(k),
        m,
        len(risk),
        int(np.count_nonzero(size < k)),
        int(np.count_nonzero(size == 1)),
        float(risk.max(initial=0.0)),
        # Added up in ascending order: the average does not depend on the order of the rows.
        float(np.sort(risk).mean()) if len(risk) else 0.0,
    )


def _known_items(records: Records, of_row: Ints, *, with_class: bool = True) -> Baskets:
    """The items that the attacker may know; the class of the row is one of them, or makes the same item another one in each class."""
    assert records.items is not None
    sets = records.items.split_off(records.sensitive_items)[0]
    if not records.of_role("quasi"):
        return sets
    offsets, items, n = sets.offsets, sets.items.astype(np.int64), len(sets.vocabulary)
    if with_class:
        # The class stands behind the items of its row, as an item of its own.
        items = np.insert(items, offsets[1:], n + of_row)
        classes = int(of_row.max(initial=-1)) + 1
        names = (*sets.vocabulary, *map(str, range(classes)))
        return Baskets(offsets + np.arange(len(offsets)), items.astype(np.int32), names)
    key = np.repeat(of_row, np.diff(offsets)) * max(1, n) + items
    distinct, code = np.unique(key, return_inverse=True)
    return Baskets(offsets, code.reshape(-1).astype(np.int32), tuple(map(str, range(len(distinct)))))
