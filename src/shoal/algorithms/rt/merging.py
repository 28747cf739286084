"""Merging: clusters that become one, with their NCP and the BTD of their items kept up to date (section 5 of the RT paper).

A merge changes two clusters, so the NCP of the whole table (Rum) changes by the two that go and the one that comes: nothing
else is looked at. What two clusters would cost together is asked for one seed against all others at a time.

Rum may also be one of the measures that the paper names beside NCP (section 3), as shares of 1. Discernibility: the sum over classes of
rows squared (Bayardo and Agrawal 2005), divided by all rows squared. C_AVG: the average class over k (LeFevre and others 2006), here over
all rows. Both look at sizes alone, so that the smallest cluster is the seed, and the next smallest its nearest.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms.rt.task import Task
from shoal.algorithms.rt.transaction import generalize
from shoal.kernels.parallel import even_blocks, over_blocks
from shoal.kernels.tables.boxes import costs_beside, extend_box, nearest_box
from shoal.kernels.tables.btd import (
    Itemsets,
    distances_beside,
    group_distances,
    length_lists,
    link_lists,
    nearest_group,
    signatures,
)
from shoal.loss.relational import Space
from shoal.numbers import Bools, Codes, Floats, Ints

NCP, DISCERNIBILITY, C_AVG = RUMS = ("ncp", "discernibility", "c-avg")
"""What may be the loss of the relational side."""
SLACK = 1e-12
"""A sum that is kept up to date differs from a fresh one in its last digits: so much may a bound be passed by."""


class Merging:
    """Clusters under way. A merged one keeps the place of the cluster that was the seed."""

    def __init__(self, space: Space, of_row: Codes, n: int, measure: str = NCP) -> None:
        self.space, self.measure = space, measure
        self.boxes = space.boxes(of_row, n)
        self.size = np.bincount(of_row, minlength=n).astype(np.int64)
        self.cost = space.costs(self.boxes) if measure == NCP else self.size / max(1, len(space))
        """What a record of each cluster costs."""
        self.alive = np.ones(n, np.bool_)
        self.left = n
        self.total = float((self.size * self.cost).sum())
        self.merges = 0
        order = np.argsort(of_row, kind="stable").astype(np.int64)
        self._parts = [[rows] for rows in np.split(order, np.cumsum(self.size)[:-1])]

    @property
    def rum(self) -> float:
        """What the table costs."""
        return 1 / self.left if self.measure == C_AVG else self.total / max(1, len(self.space))

    def rows(self, c: int) -> Ints:
        """The rows of a cluster, ascending."""
        if len(self._parts[c]) > 1:
            self._parts[c] = [np.sort(np.concatenate(self._parts[c]))]
        return self._parts[c][0]

    def clusters(self) -> list[Ints]:
        """The rows of every cluster that is left."""
        return [self.rows(c) for c in np.flatnonzero(self.alive).tolist()]

    def of_row(self) -> Ints:
        """The cluster of each row."""
        of_row = np.empty(len(self.space), np.int64)
        for c in np.flatnonzero(self.alive).tolist():
            of_row[self.rows(c)] = c
        return of_row

    def seed(self) -> int:
        """The cluster that costs least, the first among equals (RMERGE, step 2)."""
        return int(np.argmin(np.where(self.alive, self.cost, np.inf)))

    def beside(self, c: int) -> Floats:
        """Rum(G(C and C_i)) for every other cluster: what a record costs in both together; infinite for those that are gone, and c."""
        if self.measure != NCP:
            sizes = np.where(self.alive, (self.size[c] + self.size) / max(1, len(self.space)), np.inf)
            sizes[c] = np.inf
            return sizes
        costs: Floats = costs_beside(self.space.metric, self.boxes, c, self.alive)
        return costs

    def nearest(self, c: int) -> tuple[int, float]:
        """The cluster that minimizes Rum(G(C and C')), the first among equals, and that value (RMERGE_R, step 3)."""
        if self.measure != NCP:
            sizes = self.beside(c)
            return int(np.argmin(sizes)), float(sizes.min())
        other, joint = nearest_box(self.space.metric, self.boxes, c, self.alive)
        return int(other), float(joint)

    def rum_with(self, c: int, other: int, joint: float) -> float:
        """What the table costs after merging c with one other cluster."""
        if self.measure == C_AVG:
            return 1 / (self.left - 1)
        gone = self.size[c] * self.cost[c] + self.size[other] * self.cost[other]
        return float(self.total - gone + (self.size[c] + self.size[other]) * joint) / max(1, len(self.space))

    def rum_after(self, c: int, joint: Floats) -> Floats:
        """What the table costs after merging c with each other cluster, given `beside(c)`; from the two clusters alone."""
        if self.measure == C_AVG:
            return np.where(np.isfinite(joint), 1 / max(1, self.left - 1), np.inf)
        gone = self.size[c] * self.cost[c] + self.size * self.cost
        after: Floats = self.total - gone + (self.size[c] + self.size) * joint
        return after / max(1, len(self.space))

    def merge(self, c: int, other: int, joint: float) -> None:
        """Cluster `other` goes into c, whose records then cost `joint` each."""
        self.total += (self.size[c] + self.size[other]) * joint - (
            self.size[c] * self.cost[c] + self.size[other] * self.cost[other]
        )
        extend_box(self.space.metric, self.boxes, c, self.boxes, other)
        self.cost[c] = joint
        self.left -= 1
        self.size[c] += self.size[other]
        self.alive[other] = False
        self._parts[c] += self._parts[other]
        self._parts[other] = []
        self.merges += 1

    def join_nearest(self, c: int) -> int:
        """Merge c with the cluster that it costs least with; returns that one."""
        other, joint = self.nearest(c)
        self.merge(c, other, joint)
        return other


class ItemOrder:
    """How near clusters are in their items: by BTD, kept up to date, or by UL after generalizing (the paper's baseline)."""

    def __init__(self, task: Task, merging: Merging) -> None:
        self.task, self.merging = task, merging
        self.exact = task.rt.ordering == "ul"
        if not self.exact:
            items = task.items
            words = signatures(items.offsets, items.items)
            self._items = Itemsets(items.offsets, items.items, words, len(items.vocabulary))
            self._lists = length_lists(items.lengths, merging.of_row(), len(merging.alive))
            self.btd = group_distances(self._items, self._lists)

    def beside(self, c: int) -> Floats:
        """BTD, or the mean UL, of each other cluster together with c."""
        if self.exact:
            return self._ul_beside(c)
        apart: Floats = distances_beside(self._items, self._lists, self.btd, self.merging.alive, c)
        return apart

    def nearest(self, c: int, joint: Floats, allowed: Bools) -> tuple[int, float]:
        """The first allowed cluster in this order, equal ones told apart by their NCP `joint`, and its BTD; -1 if there is none."""
        if self.exact:
            apart = self._ul_beside(c)
            places = np.flatnonzero(allowed)
            if not len(places):
                return -1, 0.0
            other = int(places[np.lexsort((joint[places], apart[places]))[0]])
            return other, float(apart[other])
        other, distance = nearest_group(self._items, self._lists, self.btd, allowed, joint, c)
        return int(other), float(distance)

    def merge(self, c: int, other: int, joint: float) -> None:
        """Cluster `other` goes into c, whose BTD is then `joint`."""
        if not self.exact:
            link_lists(self._lists, c, other)
            self.btd[c] = joint

    def _ul_beside(self, c: int) -> Floats:
        merging = self.merging
        own = merging.rows(c)
        others = [o for o in np.flatnonzero(merging.alive).tolist() if o != c]
        unions = [np.sort(np.concatenate((own, merging.rows(o)))) for o in others]
        work = np.array([float(len(rows)) for rows in unions])
        losses = np.full(len(merging.alive), np.inf)
        parts = over_blocks(
            lambda a, b: [generalize(self.task, rows).ul / len(rows) for rows in unions[a:b]],
            even_blocks(work, 64),
            self.task.options.threads,
        )
        losses[others] = [loss for part in parts for loss in part]
        return losses


def nearest_candidate(way: str, order: ItemOrder, c: int, joint: Floats, allowed: Bools) -> tuple[int, float]:
    """The first candidate, in the order of RMERGE_T (`t`) or RMERGE_RT (`rt`), that is allowed, and its BTD or UL; -1 if there is none.

    `joint` is the NCP of each cluster together with seed c. Among equals in BTD the smaller NCP goes first, then the first
    cluster; among equal sums of ranks the smaller rank in NCP.
    """
    if way == "t":
        return order.nearest(c, joint, allowed)
    places = np.flatnonzero(allowed)
    if not len(places):
        return -1, 0.0
    apart = order.beside(c)
    others = np.flatnonzero(np.isfinite(joint))
    u, v = np.empty(len(joint), np.int64), np.empty(len(joint), np.int64)
    u[others[np.argsort(joint[others], kind="stable")]] = np.arange(len(others))
    v[others[np.lexsort((joint[others], apart[others]))]] = np.arange(len(others))
    other = int(places[np.lexsort((u[places], u[places] + v[places]))[0]])
    return other, float(apart[other])
