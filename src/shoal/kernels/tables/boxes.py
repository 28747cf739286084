"""Boxes: what a set of relational tuples is published as, and what that costs (NCP, Xu et al. 2006).

A tuple is a point: one int32 per column, a rank for a column of numbers, a leaf for a column with a tree. A box has two per column:
the lowest and the highest rank, or twice the lowest common node. Children stand before parents in a tree, so the common
node of two is found by always moving the smaller one up. The columns lie one behind the other in flat arrays.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb


class Metric(NamedTuple):
    """What a box costs, column by column."""

    kind: npt.NDArray[np.int32]
    """Per column, 0 for numbers, 1 for a tree."""
    start: npt.NDArray[np.int64]
    """Where each column begins in `number`, `parent` and `cost`."""
    number: npt.NDArray[np.float64]
    """What each rank stands for, NaN (rank 0 only) where the value is missing."""
    width: npt.NDArray[np.float64]
    """Per column, the length of the domain."""
    parent: npt.NDArray[np.int32]
    """Of each node."""
    cost: npt.NDArray[np.float64]
    """NCP of each node."""
    weight: npt.NDArray[np.float64]
    """Of each column."""


@nb.step
def common_node(metric, j, a, b):
    """The lowest node of column j above two."""
    base = metric.start[j]
    while a != b:
        if a < b:
            a = metric.parent[base + a]
        else:
            b = metric.parent[base + b]
    return a


@nb.step
def cost_below(metric, boxes, i, others, o, limit):
    """NCP of a record in the smallest box around box i of `boxes` and box o of `others` where it is less than `limit`, else something that
    is not: most boxes are told from near ones by a column or two."""
    total = 0.0
    for j in range(len(metric.kind)):
        if metric.kind[j] == 0:
            low, high = boxes[i, j, 0], boxes[i, j, 1]
            other, base = others[o, j, 0], metric.start[j]
            low = other if other < low else low
            other = others[o, j, 1]
            high = other if other > high else high
            cost = 0.0
            if low != high:
                cost = (metric.number[base + high] - metric.number[base + low]) / metric.width[j]
                if cost != cost:
                    cost = 1.0  # numbers and missing ones together: nothing is said
        else:
            cost = metric.cost[metric.start[j] + common_node(metric, j, boxes[i, j, 0], others[o, j, 0])]
        total += metric.weight[j] * cost
        if total >= limit:
            return total
    return total


@nb.njit(cache=True, nogil=True)
def extend_box(metric, boxes, i, others, o):
    """Make box i of `boxes` hold box o of `others` as well."""
    for j in range(len(metric.kind)):
        low, high = others[o, j, 0], others[o, j, 1]
        if metric.kind[j] == 0:
            if low < boxes[i, j, 0]:
                boxes[i, j, 0] = low
            if high > boxes[i, j, 1]:
                boxes[i, j, 1] = high
        else:
            boxes[i, j, 0] = boxes[i, j, 1] = common_node(metric, j, boxes[i, j, 0], low)


def boxes_around(
    metric: Metric, points: npt.NDArray[np.int32], group: npt.NDArray[np.int64], n_groups: int
) -> npt.NDArray[np.int32]:
    """The smallest box around the points of each group."""
    boxes = np.full((n_groups, len(metric.kind), 2), -1, np.int32)
    boxes[group] = points  # any one of each
    _extend_boxes(metric, points, group, boxes)
    return boxes


@nb.njit(cache=True, nogil=True)
def _extend_boxes(metric, points, group, boxes):
    for i in range(len(points)):
        extend_box(metric, boxes, group[i], points, i)


@nb.njit(cache=True, nogil=True)
def costs_beside(metric, boxes, i, alive):
    """Per box, the NCP of a record in the smallest box around it and box i; infinite for dead ones and for i itself."""
    out = np.empty(len(boxes), np.float64)
    for o in range(len(boxes)):
        if o == i or not alive[o]:
            out[o] = np.inf
        else:
            out[o] = cost_below(metric, boxes, i, boxes, o, np.inf)
    return out


@nb.njit(cache=True, nogil=True)
def nearest_box(metric, boxes, i, alive):
    """(box, cost): the box that costs least together with box i, the first among equals, and -1 if there is no other."""
    best, best_cost = -1, np.inf
    for o in range(len(boxes)):
        if o != i and alive[o]:
            joint = cost_below(metric, boxes, i, boxes, o, best_cost)
            if joint < best_cost:
                best, best_cost = o, joint
    return best, best_cost


def nearest_groups(
    metric: Metric, points: npt.NDArray[np.int32], tuple_of: npt.NDArray[np.int64], order: npt.NDArray[np.int64], k: int
) -> tuple[npt.NDArray[np.int32], int]:
    """CLUSTER, lines 2 to 5: (group of each record or -1, number of groups).

    `points` are the distinct tuples, `tuple_of` the tuple of each record and `order` the order
    in which records offer themselves as seeds. Of a tuple, records are taken in the order of their rows; among tuples at
    the same distance from the seed the first one goes first. Only as many tuples as hold k - 1 records are kept, in a heap.
    """
    group = np.full(len(tuple_of), -1, np.int32)
    return group, _take_groups(metric, points, tuple_of, order, k, of_tuples(tuple_of, len(points), k), group)


class OfTuples(NamedTuple):
    """The records of each tuple, and room for the nearest tuples."""

    records: npt.NDArray[np.int64]
    """Those of a tuple together, ascending."""
    first: npt.NDArray[np.int64]
    """Where they begin."""
    left: npt.NDArray[np.int64]
    """How many of them are free."""
    free: npt.NDArray[np.int64]
    """Tuples with records left."""
    heap_cost: npt.NDArray[np.float64]
    heap_tuple: npt.NDArray[np.int64]


def of_tuples(tuple_of: npt.NDArray[np.int64], n_tuples: int, room: int) -> OfTuples:
    """All records, free, in arrays for which nothing has to be compiled."""
    records, left = np.argsort(tuple_of, kind="stable"), np.bincount(tuple_of, minlength=n_tuples)
    heap = np.empty(room + 1, np.float64), np.empty(room + 1, np.int64)
    return OfTuples(records, np.cumsum(left) - left, left, np.arange(n_tuples), *heap)


@nb.njit(cache=True, nogil=True)
def _take_groups(metric, points, tuple_of, order, k, lists, group):
    """Numbers the groups in `group`: how many there are. Of each tuple, `first` goes on to what is not used up, apart from seeds."""
    records, taken_to, left, free, heap_cost, heap_tuple = lists
    n_free, n_groups, remaining = len(points), 0, len(tuple_of)
    for i in order:
        if remaining < k:
            break
        if group[i] >= 0:
            continue
        seed = tuple_of[i]
        group[i] = n_groups
        left[seed] -= 1
        wanted = k - 1
        n_free, size, held = nearest_tuples(metric, points, left, free, n_free, seed, wanted, heap_cost, heap_tuple)
        # The farthest tuple gives only what is still missing; all others everything.
        excess = held - wanted
        while size > 0:
            t = heap_tuple[0]
            taking = left[t] - excess
            excess = 0
            left[t] -= taking
            while taking > 0:
                r = records[taken_to[t]]
                taken_to[t] += 1
                if group[r] < 0:
                    group[r] = n_groups
                    taking -= 1
            size = drop_farthest(heap_cost, heap_tuple, size)
        n_groups += 1
        remaining -= k
    return n_groups


@nb.step
def nearest_tuples(metric, points, left, free, n_free, seed, wanted, heap_cost, heap_tuple):
    """(free tuples, tuples, records): fills a heap, farthest first, with the nearest tuples that hold as many free records as wanted.

    The first of the free tuples stay those that have records left.
    """
    if wanted <= 0:
        return n_free, 0, 0
    size = 0
    held = 0  # records of the tuples in the heap
    kept = 0
    for f in range(n_free):
        t = free[f]
        if left[t] == 0:
            continue
        free[kept] = t
        kept += 1
        limit = heap_cost[0] if held >= wanted else np.inf
        distance = cost_below(metric, points, seed, points, t, limit)
        # Tuples come in ascending order, so one that is as far as the farthest kept stands behind it.
        if distance >= limit:
            continue
        p = size
        size += 1
        held += left[t]
        while p > 0:
            up = (p - 1) >> 1
            if heap_cost[up] > distance or (heap_cost[up] == distance and heap_tuple[up] > t):
                break
            heap_cost[p], heap_tuple[p] = heap_cost[up], heap_tuple[up]
            p = up
        heap_cost[p], heap_tuple[p] = distance, t
        while held - left[heap_tuple[0]] >= wanted:
            held -= left[heap_tuple[0]]
            size = drop_farthest(heap_cost, heap_tuple, size)
    return kept, size, held


@nb.step
def drop_farthest(heap_cost, heap_tuple, size):
    """Take the first entry (largest cost, then largest tuple) out of the heap; returns its new size."""
    size -= 1
    distance, t = heap_cost[size], heap_tuple[size]
    p = 0
    while True:
        child = 2 * p + 1
        if child >= size:
            break
        if child + 1 < size and (
            heap_cost[child + 1] > heap_cost[child]
            or (heap_cost[child + 1] == heap_cost[child] and heap_tuple[child + 1] > heap_tuple[child])
        ):
            child += 1
        if heap_cost[child] < distance or (heap_cost[child] == distance and heap_tuple[child] < t):
            break
        heap_cost[p], heap_tuple[p] = heap_cost[child], heap_tuple[child]
        p = child
    heap_cost[p], heap_tuple[p] = distance, t
    return size


@nb.njit(cache=True, nogil=True)
def place_leftovers(metric, points, tuple_of, group, boxes):
    """CLUSTER, lines 6 and 7: each record without a group joins the one whose box then costs least; the first among equals."""
    for i in range(len(group)):
        if group[i] >= 0:
            continue
        best, best_cost = 0, np.inf
        for g in range(len(boxes)):
            joint = cost_below(metric, boxes, g, points, tuple_of[i], best_cost)
            if joint < best_cost:
                best, best_cost = g, joint
        group[i] = best
        extend_box(metric, boxes, best, points, tuple_of[i])
