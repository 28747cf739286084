"""COAT (Loukides, Gkoulalas-Divanis, Malin 2011): constraint by constraint, the rarest item is generalized within its group, or left out.

Of the protected sets that lack rows, the one that most rows hold comes first, for it needs the least. Its rarest token is joined with the
token of the same group for which the result has the least UL, (2^|set| - 1) times its rows; where the group has no other, it is left out
everywhere, as long as no more is left out than may be. What a join makes occur anew, in too few rows, is looked at again.

Our reading: the paper bounds the share of the domain's items that are left out, we that of occurrences, as everywhere in Shoal.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoal.algorithms.constraints.joined_tokens import Grouping, Task, refusal, task_of
from shoal.algorithms.recoding import LocalRecoding, Options
from shoal.guarantees.constraints.promise import ConstraintAnonymity
from shoal.numbers import Floats, Ints
from shoal.records.baskets import Baskets

Join = tuple[int, int]
"""A token, and another that it is joined with."""


def coat(baskets: Baskets, guarantee: ConstraintAnonymity, hierarchy: None, options: Options) -> LocalRecoding:
    """Sets of items in place of items until every constraint holds."""
    task = task_of(baskets, guarantee.policy, int(guarantee.k))
    found = set_by_set(task, join_of_rarest, options.suppress * baskets.occurrences, options)
    if found is None:
        raise refusal(task.k)
    return found.recoding("coat")


def set_by_set(
    task: Task, choose: Callable[[Grouping, list[int]], Join | None], budget: float, options: Options | None = None
) -> Grouping | None:
    """Satisfies one protected set after the other by the joins that are chosen for its tokens, and leaves the rarest out where there is
    none; None where more than the budget would be left out."""
    grouping = Grouping(task)
    lacking = max(1, int(np.count_nonzero(grouping.bad)))
    while (wanted := most_supported(grouping)) >= 0:
        while grouping.bad[wanted]:
            tokens = grouping.tokens_in(wanted)
            join = choose(grouping, tokens)
            if join is not None:
                grouping.join(*join)
                continue
            token = rarest(grouping, tokens)
            if grouping.deleted + grouping.times[token] > budget:
                return None
            grouping.leave_out(token)
        if options is not None:
            options.tell("constraints", 1 - int(np.count_nonzero(grouping.bad)) / lacking)
    return grouping


def join_of_rarest(grouping: Grouping, tokens: list[int]) -> Join | None:
    """COAT's choice: the rarest token, with what makes the least UL."""
    token = rarest(grouping, tokens)
    mates = grouping.mates(token)
    return (token, int(mates[np.argmin(joined_ul(grouping, token, mates))])) if len(mates) else None


def most_supported(grouping: Grouping) -> int:
    """The set that lacks rows and that most rows hold; -1 if none lacks any."""
    bad = np.flatnonzero(grouping.bad)
    return int(bad[np.argmax(grouping.whole[bad])]) if len(bad) else -1


def rarest(grouping: Grouping, tokens: list[int]) -> int:
    return min(tokens, key=lambda token: (int(grouping.state.support[token]), token))


def joined_ul(grouping: Grouping, token: int, mates: Ints) -> Floats:
    """The binary logarithm of the UL of a token joined with each of others, up to a constant."""
    from shoal.kernels.constraints.protected_sets import rows_of_union

    rows = rows_of_union(grouping.state, token, mates)
    sizes = len(grouping.members[token]) + np.array(
        [len(grouping.members[mate]) for mate in mates.tolist()], np.float64
    )
    exact = sizes + np.log1p(-np.exp2(-sizes)) / np.log(2) + np.log2(np.maximum(rows, 1))
    return np.asarray(np.round(exact, 9))  # so that what costs the same is the same
