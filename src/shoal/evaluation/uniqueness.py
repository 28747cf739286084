"""The curve over m that `profile` and `evaluate` show: rare itemsets, and the records that 1, 2, ... known items give away.

The audit counts what is rarer than k, so that with k = 1 it counts nobody, not even who is alone. Whoever asks for the risk with k = 1
asks for just these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.guarantees.audit import Witness
from shoal.guarantees.km import Exposure, exposures
from shoal.guarantees.rt import told_apart
from shoal.guarantees.table import classes, group_of, rows_of
from shoal.records.baskets import Baskets
from shoal.records.records import Records


@dataclass(frozen=True)
class Curve:
    """What m = 0 (in tables), 1, 2, ... known items give away of so many rows."""

    rows: int
    exposures: tuple[Exposure, ...]

    def to_dict(self) -> list[dict[str, Any]]:
        return [
            {
                "m": one.m,
                "itemsets": one.itemsets,
                "rare": one.rare,
                "over": one.exposed,
                "share_over": one.exposed / max(1, self.rows),
                "unique": one.unique,
                "share_unique": one.unique / max(1, self.rows),
            }
            for one in self.exposures
        ]


def uniqueness_curve(
    records: Records, sets: Baskets | None, k: int, up_to: int, *, examples: int = 0, threads: int | None = None
) -> Curve:
    """What m = 1, 2, ... items of these sets give away, in tables with the columns and beginning with m = 0, the columns alone."""
    if not records.of_role("quasi"):
        alone = [] if sets is None else uniqueness(sets, k, up_to, examples=examples, threads=threads)
        return Curve(len(records), tuple(alone))
    of_row, sizes = classes(records)
    small = np.flatnonzero(sizes < k)
    worst = small[np.argsort(sizes[small], kind="stable")][:examples].tolist()
    witnesses = (Witness((), int(sizes[c]), rows := rows_of(of_row, c), "", group_of(records, rows)) for c in worst)
    exposed, unique = int(sizes[small].sum()), int(np.count_nonzero(sizes == 1))
    curve = [Exposure(0, len(sizes), len(small), exposed, unique, tuple(witnesses))]
    if sets is not None:
        apart, item = told_apart(sets, of_row)
        for exposure in uniqueness(apart, k, up_to, examples=examples, threads=threads, known=sizes[of_row]):
            named = (
                replace(
                    witness,
                    items=tuple(sets.vocabulary[item[int(name)]] for name in witness.items),
                    group=group_of(records, witness.rows),
                )
                for witness in exposure.examples
            )
            curve.append(replace(exposure, examples=tuple(named)))
    return Curve(len(records), tuple(curve))


def uniqueness(baskets: Baskets, k: int, up_to: int, **how: Any) -> list[Exposure]:
    """As `exposures`; records that are alone are counted with any k."""
    if k > 1:
        return exposures(baskets, k, up_to, **how)
    return [
        replace(exposure, rare=0, exposed=0, examples=())
        for exposure in exposures(baskets, 2, up_to, **(how | {"examples": 0}))
    ]
