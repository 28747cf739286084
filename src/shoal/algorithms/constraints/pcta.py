"""PCTA (Gkoulalas-Divanis, Loukides 2011): clusters of items, merged by the least UL until every constraint holds.

As in COAT, the protected set that most rows hold comes first; but of all merges of any of its clusters with any other, the one whose result
has the least UL is made. With groups it is their UPCTA (2012): clusters are merged within groups, and what can be merged no more is left
out.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms.constraints.coat import Join, joined_ul, set_by_set
from shoal.algorithms.constraints.joined_tokens import Grouping, refusal, task_of
from shoal.algorithms.recoding import LocalRecoding, Options
from shoal.guarantees.constraints.promise import ConstraintAnonymity
from shoal.records.baskets import Baskets


def pcta(baskets: Baskets, guarantee: ConstraintAnonymity, hierarchy: None, options: Options) -> LocalRecoding:
    """Clusters of items in place of items until every constraint holds."""
    task = task_of(baskets, guarantee.policy, int(guarantee.k))
    found = set_by_set(task, cheapest_join, options.suppress * baskets.occurrences, options)
    if found is None:
        raise refusal(task.k)
    return found.recoding("pcta")


def cheapest_join(grouping: Grouping, tokens: list[int]) -> Join | None:
    """PCTA's choice: of all joins of any of the tokens, the one that makes the least UL."""
    best: tuple[float, int, int] | None = None
    for token in tokens:
        if len(mates := grouping.mates(token)):
            costs = joined_ul(grouping, token, mates)
            at = int(np.argmin(costs))
            found = (float(costs[at]), token, int(mates[at]))
            best = found if best is None else min(best, found)
    return None if best is None else best[1:]
