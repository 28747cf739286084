"""Rum-bound and Tum-bound, the two frameworks of the RT paper (section 4): form clusters, merge them, generalize their items; and RFIRST
(section 3), which merges none. Where nothing is known but items, `one_class` is all there is.

Rum-bound keeps the loss of relational columns (NCP, or what `rum` names) at delta or below and merges as long as that allows, for the
sake of the items.
Tum-bound merges until the loss of the items (UL) is at delta or below, and no further, for the sake of the columns.

One thing comes before both: a cluster in which some rows hold items, but fewer than k, cannot be published by itself, whatever is
generalized, nor can one (with l) in which a sensitive item stands in more than 1/l of the rows, or (with t) that is too far from the
table in a sensitive column. Clusters are formed with l and t in view (`shoal.algorithms.rt.demand`); what still cannot be published is
joined with its nearest until it can. What no cluster of all rows could keep is refused before.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, RTOptions
from shoal.algorithms.rt.clusters import cluster_facts, cluster_values, form_clusters, joined_alike, number_groups
from shoal.algorithms.rt.merging import C_AVG, DISCERNIBILITY, NCP, SLACK, ItemOrder, Merging, nearest_candidate
from shoal.algorithms.rt.task import Guarantee, Hierarchies, Task, task_of
from shoal.algorithms.rt.transaction import Piece, class_rows, generalize, generalize_all, item_tokens
from shoal.errors import Unreachable
from shoal.loss.relational import relational_ncp
from shoal.numbers import Codes, Ints
from shoal.price.ul import items_ncp
from shoal.records.records import Records


def rum_bound(
    way: str,
    records: Records,
    guarantee: Guarantee,
    hierarchies: Hierarchies,
    options: Options,
    rt: RTOptions | None = None,
) -> ClusterRecoding:
    """RMERGE by relational values (`r`), by items (`t`) or by both (`rt`), under NCP <= delta."""
    task = task_of(records, guarantee, hierarchies, options, rt)
    merging, joined = initial_clusters(task)
    delta, start = task.rt.bound, merging.rum
    if start > delta + SLACK:
        raise Unreachable(
            f"delta = {delta:g} cannot be kept: in clusters of k = {task.k:,} rows {_LOST[task.rt.rum].format(f'{start:.4f}')}; "
            f"the smallest delta that works is {rounded_up(start):.4f}",
            remedy={"delta": rounded_up(start)},
        )
    order = None if way == "r" else ItemOrder(task, merging)
    before, left = merging.merges, int(np.count_nonzero(merging.alive))
    while left > 1:
        if left % 64 == 0:
            options.tell(f"{left:,} clusters", 0.1 + 0.6 * min(1.0, merging.rum / max(delta, SLACK)))
        c = merging.seed()
        if order is None:
            # As printed: only the nearest is tried, and if it passes the bound, nothing changes any more.
            other, cost = merging.nearest(c)
            if merging.rum_with(c, other, cost) > delta + SLACK:
                break
            merging.merge(c, other, cost)
        else:
            joint = merging.beside(c)
            other, apart = nearest_candidate(way, order, c, joint, merging.rum_after(c, joint) <= delta + SLACK)
            if other < 0:
                break
            merging.merge(c, other, float(joint[other]))
            order.merge(c, other, apart)
        left -= 1
    measure = task.rt.rum
    facts: dict[str, Any] = {"delta": delta, f"{measure}_before_merging".replace("-", "_"): start}
    facts |= {"merges": merging.merges - before}
    of_row, n = joined_alike(task.space, *number_groups(merging.of_row()))
    notes = joining_notes(joined)
    if measure != NCP:
        facts |= {"rum": measure, "rum_published": (rum := Merging(task.space, of_row, n, measure).rum)}
        if rum > delta + SLACK:
            notes += (
                f"clusters that came out alike are one class: as published, {_LOST[measure].format(f'{rum:.4f}')}, more than "
                f"delta = {delta:g}",
            )
    return recoding_of(f"rmerge-{way}", task, of_row, n, facts=facts, notes=notes)


def tum_bound(
    way: str,
    records: Records,
    guarantee: Guarantee,
    hierarchies: Hierarchies,
    options: Options,
    rt: RTOptions | None = None,
) -> ClusterRecoding:
    """TMERGE by relational values (`r`), by items (`t`) or by both (`rt`), until UL <= delta; merges are kept until it is."""
    task = task_of(records, guarantee, hierarchies, options, rt)
    merging, joined = initial_clusters(task)
    delta, n = task.rt.bound, max(1, len(task))
    alive = np.flatnonzero(merging.alive).tolist()
    groups: dict[int, Piece] = dict(zip(alive, (generalize(task, merging.rows(c)) for c in alive), strict=True))
    total = sum(one.ul for one in groups.values())
    loss = start = least = total / n
    order: ItemOrder | None = None
    before = merging.merges
    while loss > delta + SLACK and len(groups) > 1:
        options.tell(f"{len(groups):,} clusters, UL {loss:.4f}", 0.1 + 0.6 * (1 - len(groups) / len(alive)))
        if order is None and way != "r":
            order = ItemOrder(task, merging)
        c, other = merge_next(way, merging, order)
        gone = groups.pop(c).ul + groups.pop(other).ul
        groups[c] = generalize(task, merging.rows(c))
        total += groups[c].ul - gone
        loss = total / n
        least = min(least, loss)
    if loss > delta + SLACK:
        raise Unreachable(
            f"delta = {delta:g} cannot be kept: merging clusters brings UL down to {least:.4f} and no further; "
            f"the smallest delta that works is {rounded_up(least):.4f}",
            remedy={"delta": rounded_up(least)},
        )
    facts = {"delta": delta, "ul_before_merging": start, "merges": merging.merges - before}
    of_row, count = number_groups(merging.of_row())
    pieces = list(groups.values())
    return recoding_of(f"tmerge-{way}", task, of_row, count, pieces, facts=facts, notes=joining_notes(joined))


def merge_next(way: str, merging: Merging, order: ItemOrder | None) -> tuple[int, int]:
    """Merges the next seed with its nearest cluster; (the seed, the cluster that is gone)."""
    c = merging.seed()
    if order is None:
        return c, merging.join_nearest(c)
    joint = merging.beside(c)
    other, apart = nearest_candidate(way, order, c, joint, np.isfinite(joint))
    merging.merge(c, other, float(joint[other]))
    order.merge(c, other, apart)
    return c, other


_LOST = {
    NCP: "the columns already lose {} of their detail",
    DISCERNIBILITY: "discernibility is {} of what one class of all rows has",
    C_AVG: "the average class has {} of all rows",
}
"""What the relational side loses, by the measure, for sentences."""


rmerge_r, rmerge_t, rmerge_rt = (partial(rum_bound, way) for way in ("r", "t", "rt"))
tmerge_r, tmerge_t, tmerge_rt = (partial(tum_bound, way) for way in ("r", "t", "rt"))


def rfirst(
    records: Records, guarantee: Guarantee, hierarchies: Hierarchies, options: Options, rt: RTOptions | None = None
) -> ClusterRecoding:
    """Clusters of near relational values, and the items of each generalized as they are: the least loss of relational columns that CLUSTER
    finds, whatever the items lose."""
    task = task_of(records, guarantee, hierarchies, options, rt)
    merging, joined = initial_clusters(task)
    return recoding_of("rfirst", task, *number_groups(merging.of_row()), notes=joining_notes(joined))


def one_class(
    name: str,
    records: Records,
    guarantee: Guarantee,
    hierarchies: Hierarchies,
    options: Options,
    rt: RTOptions | None = None,
) -> ClusterRecoding:
    """Where no column is a quasi-identifier all rows are one class, and whatever forms or merges classes has nothing to do."""
    task = task_of(records, guarantee, hierarchies, options, rt)
    return recoding_of(name, task, np.zeros(len(task), np.int32), 1)


def initial_clusters(task: Task) -> tuple[Merging, int]:
    """Clusters of at least k rows, each of which can be published, and how many had to be joined for that."""
    formed = form_clusters(task.space, task.k, task.rt.formation, task.options, task.forming)
    merging = Merging(task.space, *formed, task.rt.rum)
    for c in range(len(merging.alive)):
        while merging.alive[c] and not publishable(task, merging.rows(c)):
            merging.join_nearest(c)
    return merging, merging.merges


def publishable(task: Task, rows: Ints) -> bool:
    """Whether these rows keep the promise as a class of their own once all their items are one generalized item."""
    holds = task.items.lengths[rows] > 0
    filled = int(np.count_nonzero(holds))
    if task.members(rows) < task.k or 0 < filled < task.k or (filled and task.members(rows[holds]) < task.k):
        return False
    if task.columns is not None and not (
        task.columns.holds(rows) and (filled in (0, len(rows)) or task.columns.holds(rows[holds]))
    ):
        return False
    if task.l <= 1 or not len(task.sensitive.vocabulary):
        return True
    told = task.sensitive.take(rows)
    row = np.repeat(np.arange(len(rows)), told.lengths)
    every = np.bincount(told.items, minlength=1).max()
    among = np.bincount(told.items[holds[row]], minlength=1).max()
    return bool(every * task.l <= len(rows) and among * task.l <= filled)


def publishable_alike(task: Task, of_row: Codes, n: int) -> tuple[Codes, int]:
    """The classes with those joined that are published alike, and then those that cannot be published so with their nearest."""
    while True:
        of_row, n = joined_alike(task.space, of_row, n)
        bad = next((c for c, rows in enumerate(class_rows(of_row, n)) if not publishable(task, rows)), None)
        if bad is None or n == 1:
            return of_row, n
        merging = Merging(task.space, of_row, n)
        merging.join_nearest(bad)
        of_row, n = number_groups(merging.of_row())


def recoding_of(
    algorithm: str,
    task: Task,
    of_row: Codes,
    n: int,
    pieces: list[Piece] | None = None,
    *,
    facts: dict[str, Any] | None = None,
    notes: tuple[str, ...] = (),
) -> ClusterRecoding:
    """The recoding that a partition of the rows amounts to, with its losses."""
    if not task.is_closed:
        of_row, n = publishable_alike(task, of_row, n)
    if pieces is None:
        pieces = generalize_all(task, of_row, n)
    tokens = item_tokens(task, pieces)
    losses = relational_ncp(task.space, of_row, n)
    sizes = np.append(tokens.sizes, task.tree.n_leaves)[tokens.token]  # what is deleted may be anything
    return ClusterRecoding(
        of_row,
        cluster_values(task.space, of_row, n),
        tokens,
        losses.pop("ncp"),
        losses,
        ul=sum(one.ul for one in pieces) / max(1, len(task)),
        items_ncp=items_ncp(sizes, task.tree.n_leaves)["items_ncp"],
        algorithm=algorithm,
        facts=cluster_facts(of_row, n)
        | {"formation": task.rt.formation, "transaction": task.rt.transaction, "ordering": task.rt.ordering}
        | (facts or {}),
        notes=notes,
    )


def rounded_up(loss: float) -> float:
    """The next number of four digits behind the point: what a user can type."""
    return math.ceil(loss * 10_000 - 1e-9) / 10_000


def joining_notes(joined: int) -> tuple[str, ...]:
    """What to tell about clusters that had to be joined before anything else."""
    if not joined:
        return ()
    return (
        f"{joined:,} {'cluster' if joined == 1 else 'clusters'} could not be published alone (too few rows with items, or telling too "
        "much of something sensitive): joined with the nearest",
    )
