"""Our own search under constraints: items are put together where that saves more than it costs, else single occurrences are left out.

Both are paid in bits. Joining two tokens costs what readers no longer know: which of the two it was. It saves the occurrences that
would otherwise have to go, one at least from every row that shows something of a protected set which too few rows show; an occurrence is
worth what the average one says. What is left to delete is taken from the rows in question alone, the token that the most sets of a row lack
first, and given back where it turns out not to be needed.

How many deletions a join really saves is not known before all is done: one that is deleted may serve several sets. So the whole is done for
several weights of a deletion, with deletions and without, where the rarest token of the set that most rows hold is joined with what costs
least until none lacks rows. What COAT and PCTA would publish is looked at as well, and the cheapest of all is kept.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial

import numpy as np

from shoal.algorithms.constraints.coat import join_of_rarest, most_supported, rarest, set_by_set
from shoal.algorithms.constraints.joined_tokens import Grouping, Task, refusal, task_of
from shoal.algorithms.constraints.pcta import cheapest_join
from shoal.algorithms.recoding import LocalRecoding, Options
from shoal.guarantees.constraints.promise import ConstraintAnonymity
from shoal.numbers import Floats, Ints
from shoal.records.baskets import Baskets

WEIGHTS = (0.0, 0.5, 1.0, 2.0)
"""What a deletion weighs against what it costs, where deletions are made."""
JOINS_ALONE = (0.0, 1.0, 4.0)
"""The same where joins alone are made, and deletions only of what no join can help."""
OFFERS = 8
"""Joins of one token that are looked at closely."""


def weigh(baskets: Baskets, guarantee: ConstraintAnonymity, hierarchy: None, options: Options) -> LocalRecoding:
    """Sets of items and single deletions, by what they cost in bits."""
    task = task_of(baskets, guarantee.policy, int(guarantee.k))
    budget = options.suppress * baskets.occurrences
    ways: list[tuple[str, Callable[[], Grouping | None]]] = [
        *((f"{weight:g}", partial(weighed_grouping, task, weight, budget)) for weight in WEIGHTS if budget >= 1),
        *(
            (f"{weight:g}, joins", partial(weighed_grouping, task, weight, budget, joins=True))
            for weight in JOINS_ALONE
        ),
        ("coat", partial(set_by_set, task, join_of_rarest, budget)),
        ("pcta", partial(set_by_set, task, cheapest_join, budget)),
    ]
    best: tuple[float, str, Grouping] | None = None
    for done, (way, search) in enumerate(ways):
        options.tell("weighing", done / len(ways))
        grouping = search()
        if grouping is not None and (best is None or lost_bits(grouping) < best[0]):
            best = (lost_bits(grouping), way, grouping)
        if best is not None and best[0] == 0:
            break
    if best is None:
        raise refusal(task.k)
    return best[2].recoding("weigh", weight=best[1])


def weighed_grouping(task: Task, weight: float, budget: float, *, joins: bool = False) -> Grouping | None:
    """What keeps all constraints where a deletion weighs so much, or by joins as far as there are any; None if more than the budget would
    be deleted."""
    grouping = Grouping(task)
    join_while_it_saves(grouping, weight * task.bits_each)
    if joins:
        join_what_lacks(grouping)
    delete_what_lacks(grouping)
    return grouping if grouping.deleted <= budget else None


def lost_bits(grouping: Grouping) -> float:
    """What readers no longer know, in bits, as if what is deleted had been left out of the count."""
    task = grouping.task
    unknown = sum(
        _spread(task.times[items].astype(np.float64)) for items in grouping.members.values() if len(items) > 1
    )
    return unknown + task.bits_each * grouping.deleted


def _spread(times: Floats) -> float:
    return float(_x_log_x(np.array([times.sum()]))[0] - _x_log_x(times).sum())


def _x_log_x(x: Floats) -> Floats:
    return np.asarray(x * np.log2(np.maximum(x, 1.0)))


def join_while_it_saves(grouping: Grouping, price: float) -> None:
    """Makes the join that saves most, again and again; `price` is what a deletion costs, in bits."""
    heap: list[tuple[float, int, int, int]] = []
    bad_of = _bad_of_tokens(grouping)
    for token in np.flatnonzero(bad_of).tolist():
        _offer(grouping, heap, token, bad_of, price, 0)
    joins = 0
    while heap:
        net, one, other, then = heapq.heappop(heap)
        if one not in grouping.members or other not in grouping.members:
            continue
        if then < joins:  # something has changed since
            net = -float(_savings(grouping, one, np.array([other], np.int64), price)[0])
            if net >= 0:
                continue
            if heap and net > heap[0][0]:
                heapq.heappush(heap, (net, one, other, joins))
                continue
        grouping.join(one, other)
        joins += 1
        _offer(grouping, heap, one, _bad_of_tokens(grouping), price, joins)


def _bad_of_tokens(grouping: Grouping) -> Ints:
    """Per token, the bad rows of the sets that it is in: no join of it saves more."""
    sets = grouping.task.sets
    per_item = np.repeat(grouping.bad, np.diff(sets.bounds))
    token = grouping.state.token[sets.items]
    there = token >= 0
    return np.bincount(token[there], per_item[there], minlength=len(grouping.task.own)).astype(np.int64)


def _offer(
    grouping: Grouping, heap: list[tuple[float, int, int, int]], token: int, bad_of: Ints, price: float, now: int
) -> None:
    mates = grouping.mates(token)
    if not len(mates):
        return
    least = join_costs(grouping, token, mates) - price * (bad_of[token] + bad_of[mates])
    near = mates[np.argsort(least, kind="stable")[: min(OFFERS, int(np.count_nonzero(least < 0)))]]
    if not len(near):
        return
    saved = _savings(grouping, token, near, price)
    for mate, net in zip(near.tolist(), saved.tolist(), strict=True):
        if net > 0:
            heapq.heappush(heap, (-net, token, mate, now))


def join_costs(grouping: Grouping, token: int, mates: Ints) -> Floats:
    """What readers no longer know, in bits, where a token is joined with each of others."""
    own, others = grouping.times[token], grouping.times[mates]
    return _x_log_x(own + others) - _x_log_x(others) - _x_log_x(np.array([own]))


def _savings(grouping: Grouping, token: int, mates: Ints, price: float) -> Floats:
    from shoal.kernels.constraints.protected_sets import relief

    theirs = [grouping.sets_of(mate, open_only=True) for mate in mates.tolist()]
    fewer = relief(
        grouping.task.sets,
        grouping.state,
        grouping.task.k,
        grouping.bad,
        token,
        mates,
        grouping.sets_of(token, open_only=True),
        np.concatenate(([0], np.cumsum([len(one) for one in theirs]))).astype(np.int64),
        np.concatenate(theirs),
        grouping.room,
    )
    return np.asarray(price * fewer - join_costs(grouping, token, mates))


def join_what_lacks(grouping: Grouping) -> None:
    """Joins tokens of sets that lack rows, the rarest first, as long as there is anything to join."""
    stuck: set[int] = set()
    while (wanted := most_supported(grouping)) >= 0:
        lacking = [s for s in np.flatnonzero(grouping.bad).tolist() if s not in stuck]
        if not lacking:
            return
        wanted = wanted if wanted not in stuck else lacking[0]
        tokens = [token for token in grouping.tokens_in(wanted) if len(grouping.mates(token))]
        if not tokens:
            stuck.add(wanted)
            continue
        token = rarest(grouping, tokens)
        mates = grouping.mates(token)
        grouping.join(token, int(mates[np.argmin(join_costs(grouping, token, mates))]))


def delete_what_lacks(grouping: Grouping) -> None:
    """Takes tokens from rows until no set lacks any, and gives back what need not have gone."""
    from shoal.kernels.constraints.protected_sets import bad_traces, put_back, tokens_to_delete

    task, state = grouping.task, grouping.state
    gone: list[Ints] = []
    while len(which := np.flatnonzero(grouping.bad)):
        rows, sizes, tokens = bad_traces(task.sets, state, task.k, which, grouping.room)
        order = np.argsort(rows, kind="stable")
        numbers, starts = np.unique(rows[order], return_index=True)
        price = (
            grouping.times / np.maximum(state.support, 1) * (1 + np.minimum(1.0, task.k / np.maximum(state.support, 1)))
        )
        place, token = tokens_to_delete(order, np.append(starts, len(order)), sizes, tokens, price)
        row = numbers[place]
        np.bitwise_and.at(state.rows, (token, row >> 6), ~(np.uint64(1) << (row & 63).astype(np.uint64)))
        state.support[:] -= np.bincount(token, minlength=len(state.support))
        gone.append(np.column_stack((row, token)))
        grouping.count(np.unique(np.concatenate([grouping.sets_of(t) for t in np.unique(token).tolist()])))
    if not gone:
        return
    row, token = np.concatenate(gone).T
    sets = [grouping.sets_of(t) if t in grouping.members else np.zeros(0, np.int64) for t in range(len(state.token))]
    bounds = np.concatenate(([0], np.cumsum([len(one) for one in sets]))).astype(np.int64)
    back = put_back(task.sets, state, task.k, row.copy(), token.copy(), bounds, np.concatenate(sets), grouping.room)
    grouping.gone = list(zip(row[~back].tolist(), token[~back].tolist(), strict=True))
