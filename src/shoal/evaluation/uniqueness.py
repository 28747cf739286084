"""The curve over m that `profile` and `evaluate` show: rare itemsets, and the records that 1, 2, ... known items give away.

The audit counts what is rarer than k, so that with k = 1 it counts nobody, not even who is alone. Whoever asks for the risk with k = 1
asks for just these.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shoal.guarantees.km import Exposure, exposures
from shoal.records.baskets import Baskets


def uniqueness(baskets: Baskets, k: int, up_to: int, **how: Any) -> list[Exposure]:
    """As `exposures`; records that are alone are counted with any k."""
    if k > 1:
        return exposures(baskets, k, up_to, **how)
    return [
        replace(found, rare=0, exposed=0, examples=())
        for found in exposures(baskets, 2, up_to, **(how | {"examples": 0}))
    ]
