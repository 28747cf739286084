"""UL, the utility loss of generalized items (section 5 of the RT paper), and their NCP.

A generalized item u that stands for |u| items could mean any of 2^|u| - 1 sets: UL(u) = (2^|u| - 1) w(u). A record costs the sum
over its generalized items over 2^s - 1, s being the sum of their sizes, and a table the mean over its records; a record without
items costs nothing. (2^a - 1) / (2^s - 1) is computed as 2^(a - s) (1 - 2^-a) / (1 - 2^-s), which stays between 0 and 1 for
any size. A record of a single published item costs w(u) whatever its size: the measure says how much of what a record could
mean sits in one place, and is to be read together with the NCP of the items.
"""

from __future__ import annotations

import numpy as np

from shoal.numbers import Floats, Ints
from shoal.records.baskets import Baskets


def ul(published: Baskets, size: Ints, weight: Floats | None = None) -> dict[str, float]:
    """UL of published rows; `size` is, per published token, how many items it stands for, `weight` is w(u) of each."""
    costs = record_costs(published, size, weight)
    return {"ul": float(costs.sum() / len(costs)) if len(costs) else 0.0}


def record_costs(published: Baskets, size: Ints, weight: Floats | None = None) -> Floats:
    """UL of each record."""
    row = np.repeat(np.arange(len(published), dtype=np.int64), published.lengths)
    own = np.asarray(size, np.float64)[published.items]
    together = np.bincount(row, own, minlength=len(published))[row]
    share = np.exp2(own - together) * -np.expm1(-own * np.log(2)) / -np.expm1(-together * np.log(2))
    if weight is not None:
        share = share * weight[published.items]
    return np.bincount(row, share, minlength=len(published)).astype(np.float64)


def items_ncp(size: Ints, domain: int) -> dict[str, float]:
    """NCP of items: `size` is, per original occurrence, how many of the `domain` items its published token stands for."""
    if not len(size):
        return {"items_ncp": 0.0}
    return {"items_ncp": float(np.where(size > 1, size, 0).sum() / (len(size) * domain))}
