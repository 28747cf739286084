"""Merging: clusters that become one, with their NCP and the BTD of their items kept up to date (section 5 of the RT paper).

A merge changes two clusters, so the NCP of the whole table (Rum) changes by the two that go and the one that comes: nothing
else is looked at. What two clusters would cost together is asked for one seed against all others at a time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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

SLACK = 1e-12
"""A sum that is kept up to date differs from a fresh one in its last digits: so much may a bound be passed by."""


class Merging:
    """Clusters under way. A merged one keeps the place of the cluster that was the seed."""

    def __init__(self, space: Space, of_row: npt.NDArray[np.int32], n: int) -> None:
        self.space = space
        self.boxes = space.boxes(of_row, n)
        self.ncp = space.costs(self.boxes)
        self.size = np.bincount(of_row, minlength=n).astype(np.int64)
        self.alive = np.ones(n, np.bool_)
        self.total = float((self.size * self.ncp).sum())
        self.merges = 0
        order = np.argsort(of_row, kind="stable").astype(np.int64)
        self._parts = [[rows] for rows in np.split(order, np.cumsum(self.size)[:-1])]

    @property
    def rum(self) -> float:
        """NCP of the table."""
        return self.total / max(1, len(self.space))

    def rows(self, c: int) -> npt.NDArray[np.int64]:
        """The rows of a cluster, ascending."""
        if len(self._parts[c]) > 1:
            self._parts[c] = [np.sort(np.concatenate(self._parts[c]))]
        return self._parts[c][0]

    def clusters(self) -> list[npt.NDArray[np.int64]]:
        """The rows of every cluster that is left."""
        return [self.rows(c) for c in np.flatnonzero(self.alive).tolist()]

    def of_row(self) -> npt.NDArray[np.int64]:
        """The cluster of each row."""
        of_row = np.empty(len(self.space), np.int64)
        for c in np.flatnonzero(self.alive).tolist():
            of_row[self.rows(c)] = c
        return of_row

    def seed(self) -> int:
        """The cluster with the least NCP, the first among equals (RMERGE, step 2)."""
        return int(np.argmin(np.where(self.alive, self.ncp, np.inf)))

    def beside(self, c: int) -> npt.NDArray[np.float64]:
        """Rum(G(C and C_i)) for every other cluster: the NCP of a record in both together."""
        costs: npt.NDArray[np.float64] = costs_beside(self.space.metric, self.boxes, c, self.alive)
        return costs

    def nearest(self, c: int) -> tuple[int, float]:
        """The cluster that minimizes Rum(G(C and C')), the first among equals, and that value (RMERGE_R, step 3)."""
        other, joint = nearest_box(self.space.metric, self.boxes, c, self.alive)
        return int(other), float(joint)

    def rum_with(self, c: int, other: int, joint: float) -> float:
        """NCP of the table after merging c with one other cluster."""
        gone = self.size[c] * self.ncp[c] + self.size[other] * self.ncp[other]
        return float(self.total - gone + (self.size[c] + self.size[other]) * joint) / max(1, len(self.space))

    def rum_after(self, c: int, joint: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """NCP of the table after merging c with each other cluster, given `beside(c)`; from the two clusters alone."""
        gone = self.size[c] * self.ncp[c] + self.size * self.ncp
        after: npt.NDArray[np.float64] = self.total - gone + (self.size[c] + self.size) * joint
        return after / max(1, len(self.space))

    def merge(self, c: int, other: int, joint: float) -> None:
        """Cluster `other` goes into c, whose records then cost `joint` each."""
        self.total += (self.size[c] + self.size[other]) * joint - (
            self.size[c] * self.ncp[c] + self.size[other] * self.ncp[other]
        )
        extend_box(self.space.metric, self.boxes, c, self.boxes, other)
        self.ncp[c] = joint
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

    def beside(self, c: int) -> npt.NDArray[np.float64]:
        """BTD, or the mean UL, of each other cluster together with c."""
        if self.exact:
            return self._ul_beside(c)
        apart: npt.NDArray[np.float64] = distances_beside(self._items, self._lists, self.btd, self.merging.alive, c)
        return apart

    def nearest(self, c: int, joint: npt.NDArray[np.float64], allowed: npt.NDArray[np.bool_]) -> tuple[int, float]:
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

    def _ul_beside(self, c: int) -> npt.NDArray[np.float64]:
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


def nearest_candidate(
    way: str, order: ItemOrder, c: int, joint: npt.NDArray[np.float64], allowed: npt.NDArray[np.bool_]
) -> tuple[int, float]:
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
