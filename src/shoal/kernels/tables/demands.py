"""Classes whose rows must hold certain values: how far rows are from that, and near rows chosen so that they hold it.

A demand is a block of values with a count each: `l` different ones, none in more than 1/l of the rows, or shares near those of the table.
The first place of a block counts what is missing and may be any value. A row adds one to each of its values, of all blocks.

Where a person may have several rows, the first block counts people, and others the people who have a value: what a row adds to such a count
has a place of its own as well, for the person, or the person's value, and only the first row that comes there adds to the count.

To form a class, the nearest rows come first, as in CLUSTER. While they fall short, the next nearest row comes in, in place of another
or besides, whatever leaves them least short.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.tables.boxes import Metric, cost_below, drop_farthest, extend_box, nearest_tuples, of_tuples

DISTINCT, FREQUENCY, EQUAL, ORDERED, ORDERED_OR_MISSING, JOINABLE, JOINABLE_OR_MISSING = range(7)
"""What a block demands. `OR_MISSING` has missing values for a value of their own, which no order has a place for. The last two are as the
two before, but with a distance that is more where more is known than in the table: then no two groups are farther together than apart."""
PEOPLE, SHARE_OF_PEOPLE, NOT_ALL_PEOPLE = range(7, 10)
"""What a block demands of people: so many of them, no value that more than 1/l of them have or may have, none that all of them have."""
_SLACK = 1e-9
_WORK = 50_000_000  # records times groups that are looked at to take one group apart


class Demands(NamedTuple):
    """Per row its values, and per block of values what is demanded of them."""

    offsets: npt.NDArray[np.int64]
    values: npt.NDArray[np.int32]
    """The places of row r are values[offsets[r]:offsets[r + 1]]."""
    start: npt.NDArray[np.int64]
    """The first place of each block, and the end of the last."""
    kind: npt.NDArray[np.int64]
    bound: npt.NDArray[np.float64]
    """l or t of each block."""
    table: npt.NDArray[np.float64]
    """Per place, its share of the whole table."""
    once: npt.NDArray[np.int32]
    """Empty, or for each of the values a place whose first row alone counts, -1 where every row does; these stand behind the blocks."""


@nb.step
def count_row(demands, counts, row, times):
    """Adds a row to the counts, or takes it out of them (-1)."""
    for p in range(demands.offsets[row], demands.offsets[row + 1]):
        if len(demands.once) > 0 and demands.once[p] >= 0:
            counts[demands.once[p]] += times
            if counts[demands.once[p]] != (times + 1) // 2:
                continue
        counts[demands.values[p]] += times


@nb.step
def shortfall(demands, counts, size):
    """How much is lacking, 0 if nothing is, where `size` rows have these counts."""
    lacking = 0.0
    for b in range(len(demands.kind)):
        unknown, first, last = demands.start[b], demands.start[b] + 1, demands.start[b + 1]
        kind, bound = demands.kind[b], demands.bound[b]
        if kind == DISTINCT:
            different = 0
            for v in range(first, last):
                different += counts[v] > 0
            lacking += max(0.0, (bound - different) / bound)
        elif kind == PEOPLE:
            lacking += max(0.0, (bound - counts[unknown]) / bound)
        elif kind == FREQUENCY or kind >= SHARE_OF_PEOPLE:
            whole, most = size if kind == FREQUENCY else counts[0], 0
            for v in range(first, last):
                most = counts[v] if counts[v] > most else most
            if kind != NOT_ALL_PEOPLE:
                lacking += max(0.0, ((most + counts[unknown]) * bound - whole) / whole)
            elif most == whole:
                lacking += 1.0 / whole
        else:
            far = _distance(demands.table, counts, size, unknown, last, kind)
            if far > bound + _SLACK:
                lacking += far - bound
    return lacking


@nb.part
def _distance(table, counts, size, unknown, last, kind):
    """The earth mover's distance between these rows and the table, in one block."""
    if kind == EQUAL:
        stays = 0.0
        for v in range(unknown + 1, last):
            share = counts[v] / size
            stays += share if share < table[v] else table[v]
        return 1 - stays
    here, there = 1 - counts[unknown] / size, 1 - table[unknown]
    work, behind = 0.0, 0.0
    if here > 0 and there > 0 and last - unknown > 2:
        for v in range(unknown + 1, last - 1):
            behind += counts[v] / size / here - table[v] / there
            work += abs(behind)
        work /= last - unknown - 2
    least = here if here < there else there
    rest = 1 - least if kind in (ORDERED, JOINABLE) else abs(here - there)
    return (here if kind >= JOINABLE else least) * work + rest


def shortfall_of(demands: Demands, rows: npt.NDArray[np.int64]) -> float:
    """How much the rows lack together."""
    return float(_shortfall_of(demands, rows, np.zeros(demands.start[-1], np.int64)))


@nb.njit(cache=True, nogil=True)
def _shortfall_of(demands, rows, counts):
    for row in rows:
        count_row(demands, counts, row, 1)
    return shortfall(demands, counts, len(rows))


def demanded_groups(
    metric: Metric,
    points: npt.NDArray[np.int32],
    tuple_of: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
    k: int,
    demands: Demands,
    reach: int,
) -> tuple[npt.NDArray[np.int32], int]:
    """(group of each record or -1, number of groups): groups of k or more near records that lack nothing.

    As `nearest_groups`, but a seed goes through the nearest records one by one, of which it looks at about `reach` once there are k. One
    that finds no group is left for others.
    """
    n, lists = len(tuple_of), of_tuples(tuple_of, len(points), k + reach)
    place, group = np.empty(n, np.int64), np.full(n, -1, np.int32)
    place[lists.records] = np.arange(n)
    member, near = np.empty(n, np.int64), np.empty_like(lists.heap_tuple)
    counts, barren = np.zeros(demands.start[-1], np.int64), np.zeros(len(points), np.bool_)
    room = place, member, near, counts, barren
    return group, _take_demanded(metric, points, tuple_of, order, k, demands, lists, room, group)


@nb.njit(cache=True, nogil=True)
def _take_demanded(metric, points, tuple_of, order, k, demands, lists, room, group):
    """Numbers the groups in `group`: how many there are. The free records of a tuple stand first in its list, at `place` each; a seed
    of a `barren` tuple found no group."""
    records, first, left, free, heap_cost, heap_tuple = lists
    place, member, near, counts, barren = room
    n_free, reached, n_groups, remaining = len(points), len(near) - 1, 0, len(tuple_of)
    for i in order:
        if remaining < k:
            break
        if group[i] >= 0 or barren[tuple_of[i]]:
            continue
        n_free, n_near, _ = nearest_tuples(
            metric, points, left, free, n_free, tuple_of[i], reached, heap_cost, heap_tuple
        )
        for a in range(n_near - 1, -1, -1):
            near[a] = heap_tuple[0]
            drop_farthest(heap_cost, heap_tuple, a + 1)
        size, lacking = 0, np.inf
        for a in range(-1, n_near):  # the seed first
            if size >= k and lacking <= 0:
                break
            t = near[a] if a >= 0 else tuple_of[i]
            for p in range(first[t], first[t] + (left[t] if a >= 0 else 1)):
                r = records[p] if a >= 0 else i
                if a >= 0 and r == i:
                    continue
                if size >= k:
                    if lacking <= 0 or p - first[t] > reached:
                        break
                    size, lacking = _take_in(demands, counts, member, size, lacking, r)
                    continue
                member[size] = r
                size += 1
                count_row(demands, counts, r, 1)
                if size == k:
                    lacking = shortfall(demands, counts, size)
        found = size >= k and lacking <= 0
        for j in range(size):
            r = member[j]
            count_row(demands, counts, r, -1)
            if found:
                group[r] = n_groups
                t = tuple_of[r]
                left[t] -= 1
                swapped, p = records[first[t] + left[t]], place[r]
                records[p], records[first[t] + left[t]] = swapped, r
                place[swapped], place[r] = p, first[t] + left[t]
        if found:
            n_groups += 1
            remaining -= size
        barren[tuple_of[i]] = not found
    return n_groups


@nb.part
def _take_in(demands, counts, member, size, lacking, r):
    """(size, what is lacking) after record r has come in, if that helps: in place of the farthest of those for which it helps most."""
    count_row(demands, counts, r, 1)
    best, out = np.inf, size
    for j in range(size, 0, -1):  # none out, then one after the other
        if j < size:
            count_row(demands, counts, member[j], -1)
        after = shortfall(demands, counts, size + (j == size))
        if j < size:
            count_row(demands, counts, member[j], 1)
        if after < best or (after == best and out == size):
            best, out = after, j
    if best < lacking and out == size:
        member[size] = r
        return size + 1, best
    count_row(demands, counts, member[out] if best < lacking else r, -1)
    if best >= lacking:
        return size, lacking
    for j in range(out, size - 1):  # the farthest stay last
        member[j] = member[j + 1]
    member[size - 1] = r
    return size, best


class Groups(NamedTuple):
    """Groups under way: the box, cost and size of each, and its records as a list from the last one back."""

    boxes: npt.NDArray[np.int32]
    cost: npt.NDArray[np.float64]
    size: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]
    before: npt.NDArray[np.int64]


def repair_groups(
    metric: Metric,
    points: npt.NDArray[np.int32],
    tuple_of: npt.NDArray[np.int64],
    group: npt.NDArray[np.int32],
    boxes: npt.NDArray[np.int32],
    k: int,
    demands: Demands,
) -> None:
    """Groups of fewer than k records, or that lack something, go at the least cost for all records: one joins another as a whole, or its
    records one by one join groups that then lack nothing. Changes `group`; at the end nothing is lacking, or there is one group."""
    n, n_groups = len(group), len(boxes)
    by_group, size = np.argsort(group, kind="stable"), np.bincount(group, minlength=n_groups)
    before, last = np.full(n, -1, np.int64), np.full(n_groups, -1, np.int64)
    before[by_group[1:]] = np.where(np.diff(group[by_group]) == 0, by_group[:-1], -1)
    last[group] = np.arange(n)
    groups = Groups(boxes, np.empty(n_groups, np.float64), size, last, before)
    counts, poor, is_open = (
        np.zeros(demands.start[-1], np.int64),
        np.zeros(n_groups, np.bool_),
        np.ones(n_groups, np.bool_),
    )
    _repair(metric, points, tuple_of, group, groups, k, demands, counts, poor, is_open, np.empty(n, np.int64))


@nb.njit(cache=True, nogil=True)
def _repair(metric, points, tuple_of, group, groups, k, demands, counts, poor, is_open, home):
    """`repair_groups`. What is `open` of a group is found out before it is needed: its cost, and whether it is poor."""
    boxes = groups.boxes
    for left in range(len(boxes), 1, -1):
        c = -1
        for g in range(len(boxes)):  # the smallest first
            if is_open[g]:
                groups.cost[g] = cost_below(metric, boxes, g, boxes, g, np.inf)
                poor[g] = groups.size[g] < k or _group_shortfall(demands, counts, groups, g, -1, -1) > 0
                is_open[g] = False
            if poor[g] and (c < 0 or groups.size[g] < groups.size[c]):
                c = g
        if c < 0:
            break
        partner, whole, apart = -1, np.inf, np.inf
        alone = groups.size[c] == 1
        for turn in range(2):  # a single record first looks for a home
            if alone == (turn == 0):
                if alone or groups.size[c] * left <= _WORK:
                    apart = _best_homes(metric, points, tuple_of, groups, poor, c, demands, counts, home, whole)
            elif not alone or apart == np.inf:
                partner, whole = _best_partner(metric, groups, c, k, demands, counts)
        r = groups.last[c]
        groups.last[c], groups.size[c], poor[c] = -1, 0, False
        while r >= 0:
            g, following = home[r] if apart < whole else partner, groups.before[r]
            extend_box(metric, boxes, g, points, tuple_of[r])
            groups.before[r], groups.last[g], group[r] = groups.last[g], r, g
            groups.size[g] += 1
            is_open[g] = True
            r = following


@nb.step
def _group_shortfall(demands, counts, groups, g, other, record):
    """What a group lacks together with another group and a record, where they are not -1. Finds the counts at 0 and leaves them so."""
    size, lacking = 0, 0.0
    for times in range(1, -2, -2):
        if times < 0:
            lacking = shortfall(demands, counts, size)
            if len(demands.once) == 0:
                for v in range(len(counts)):
                    counts[v] = 0
                break  # people are many more than a group has rows
        r, turn = groups.last[g], 0
        while turn < 3:
            if r >= 0:
                count_row(demands, counts, r, times)
                size += 1
                r = groups.before[r] if turn < 2 else -1
            else:
                turn += 1
                if turn == 2:
                    r = record
                elif other >= 0:
                    r = groups.last[other]
    return lacking


@nb.part
def _best_partner(metric, groups, c, k, demands, counts):
    """(group, cost): with which a group lacks nothing at the least further cost of all records; the cheapest of all if with none."""
    best, best_cost, cheapest, cheapest_cost = -1, np.inf, -1, np.inf
    for g in range(len(groups.size)):
        if g == c or groups.size[g] == 0:
            continue
        size = groups.size[g] + groups.size[c]
        gone = groups.size[g] * groups.cost[g] + groups.size[c] * groups.cost[c]
        limit = cheapest_cost if best < 0 else best_cost
        joint = cost_below(metric, groups.boxes, g, groups.boxes, c, (limit + gone) / size) * size - gone
        if joint < cheapest_cost:
            cheapest, cheapest_cost = g, joint
        if joint < best_cost and size >= k and _group_shortfall(demands, counts, groups, g, c, -1) <= 0:
            best, best_cost = g, joint
    if best >= 0:
        return best, best_cost
    return cheapest, cheapest_cost


@nb.part
def _best_homes(metric, points, tuple_of, groups, poor, c, demands, counts, home, most):
    """What it costs to put the records of a group, one by one, into others that then lack nothing; infinite from `most` on."""
    total = -groups.size[c] * groups.cost[c]
    r = groups.last[c]
    while r >= 0:
        best, best_cost = -1, np.inf
        for g in range(len(groups.size)):
            size = groups.size[g]
            if g == c or size == 0 or poor[g]:
                continue
            gone = size * groups.cost[g]
            limit = (best_cost + gone) / (size + 1)
            joint = cost_below(metric, groups.boxes, g, points, tuple_of[r], limit) * (size + 1) - gone
            if joint < best_cost and _group_shortfall(demands, counts, groups, g, -1, r) <= 0:
                best, best_cost = g, joint
        home[r] = best
        total += best_cost
        if total >= most:
            return np.inf
        r = groups.before[r]
    return total
