"""Rum-bound and Tum-bound, the two frameworks of the RT paper (section 4): form clusters, merge them, generalize their items.

Rum-bound keeps the loss of relational columns (NCP) at delta or below and merges as long as that allows, for the sake of the items.
Tum-bound merges until the loss of the items (UL) is at delta or below, and no further, for the sake of the columns.

One thing comes before both: a cluster in which some rows hold items, but fewer than k, cannot be published by itself, whatever is
generalized, nor can one (with l) in which a sensitive item stands in more than 1/l of the rows. It is joined with its nearest
until it can. What no cluster of all rows could keep is refused before.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, RTOptions, settings
from shoal.algorithms.rt.clusters import cluster_facts, cluster_values, formed, joined_alike, numbered
from shoal.algorithms.rt.merging import SLACK, ItemOrder, Merging, chosen
from shoal.algorithms.rt.task import Ground, Hierarchies, ground
from shoal.algorithms.rt.transaction import Generalized, all_generalized, generalized, item_rules
from shoal.errors import Message, Unreachable, option
from shoal.loss.relational import relational_ncp
from shoal.price.ul import items_ncp
from shoal.records.records import Records

if TYPE_CHECKING:
    from shoal.guarantees.lm import LmDiversity
    from shoal.guarantees.rt import RTAnonymity


def rum_bound(
    way: str,
    records: Records,
    guarantee: RTAnonymity | LmDiversity,
    hierarchies: Hierarchies,
    options: Options,
    rt: RTOptions | None,
) -> ClusterRecoding:
    """RMERGE by relational values (`r`), by items (`t`) or by both (`rt`), under NCP <= delta."""
    laid = ground(records, guarantee, hierarchies, options, settings(options, rt))
    merging, joined = initial_clusters(laid)
    delta, start = laid.rt.bound, merging.rum
    if start > delta + SLACK:
        raise Unreachable(
            f"delta = {delta:g} cannot be kept: in clusters of k = {laid.k:,} rows the columns already lose {start:.4f} of their detail; "
            f"the smallest delta that works is {rounded_up(start):.4f}",
            remedy={"delta": rounded_up(start)},
        )
    order = None if way == "r" else ItemOrder(laid, merging)
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
            other, apart = chosen(way, order, c, joint, merging.rum_after(c, joint) <= delta + SLACK)
            if other < 0:
                break
            merging.merge(c, other, float(joint[other]))
            order.merge(c, other, apart)
        left -= 1
    facts = {"delta": delta, "ncp_before_merging": start, "merges": merging.merges - before}
    of_row, n = joined_alike(laid.space, *numbered(merging.of_row()))
    return recoded(f"rmerge-{way}", laid, of_row, n, facts=facts, notes=joining_notes(joined))


def tum_bound(
    way: str,
    records: Records,
    guarantee: RTAnonymity | LmDiversity,
    hierarchies: Hierarchies,
    options: Options,
    rt: RTOptions | None,
) -> ClusterRecoding:
    """TMERGE by relational values (`r`), by items (`t`) or by both (`rt`), until UL <= delta; merges are kept until it is."""
    laid = ground(records, guarantee, hierarchies, options, settings(options, rt))
    merging, joined = initial_clusters(laid)
    delta, n = laid.rt.bound, max(1, len(laid))
    alive = np.flatnonzero(merging.alive).tolist()
    found: dict[int, Generalized] = dict(zip(alive, all_generalized(laid, merging.clusters()), strict=True))
    total = sum(one.ul for one in found.values())
    loss = start = least = total / n
    order: ItemOrder | None = None
    before = merging.merges
    while loss > delta + SLACK and len(found) > 1:
        options.tell(f"{len(found):,} clusters, UL {loss:.4f}", 0.1 + 0.6 * (1 - len(found) / len(alive)))
        if order is None and way != "r":
            order = ItemOrder(laid, merging)
        c = merging.seed()
        if order is None:
            other = merging.join_nearest(c)
        else:
            joint = merging.beside(c)
            other, apart = chosen(way, order, c, joint, np.isfinite(joint))
            merging.merge(c, other, float(joint[other]))
            order.merge(c, other, apart)
        gone = found.pop(c).ul + found.pop(other).ul
        found[c] = generalized(laid, merging.rows(c))
        total += found[c].ul - gone
        loss = total / n
        least = min(least, loss)
    if loss > delta + SLACK:
        raise Unreachable(
            f"delta = {delta:g} cannot be kept: merging clusters brings UL down to {least:.4f} and no further; "
            f"the smallest delta that works is {rounded_up(least):.4f}",
            remedy={"delta": rounded_up(least)},
        )
    facts = {"delta": delta, "ul_before_merging": start, "merges": merging.merges - before}
    of_row, count = numbered(merging.of_row())
    # Clusters are numbered by their first rows now: bring what was found for them into the same order.
    by_number = [found[c] for c in sorted(found, key=lambda c: int(merging.rows(c)[0]))]
    return recoded(f"tmerge-{way}", laid, of_row, count, by_number, facts=facts, notes=joining_notes(joined))


def initial_clusters(laid: Ground) -> tuple[Merging, int]:
    """Clusters of at least k rows, each of which can be published, and how many had to be joined for that."""
    merging = Merging(laid.space, *formed(laid.space, laid.k, laid.rt.formation, laid.options))
    for c in range(len(merging.alive)):
        while merging.alive[c] and not publishable(laid, merging.rows(c)):
            merging.join_nearest(c)
    return merging, merging.merges


def publishable(laid: Ground, rows: npt.NDArray[np.int64]) -> bool:
    """Whether these rows keep the promise as a class of their own once all their items are one generalized item."""
    holds = laid.items.lengths[rows] > 0
    filled = int(np.count_nonzero(holds))
    if len(rows) < laid.k or 0 < filled < laid.k:
        return False
    if laid.l <= 1 or not len(laid.sensitive.vocabulary):
        return True
    told = laid.sensitive.take(rows)
    row = np.repeat(np.arange(len(rows)), told.lengths)
    every = np.bincount(told.items, minlength=1).max()
    among = np.bincount(told.items[holds[row]], minlength=1).max()
    return bool(every * laid.l <= len(rows) and among * laid.l <= filled)


def recoded(
    algorithm: str,
    laid: Ground,
    of_row: npt.NDArray[np.int32],
    n: int,
    found: list[Generalized] | None = None,
    *,
    facts: dict[str, float] | None = None,
    notes: tuple[str, ...] = (),
) -> ClusterRecoding:
    """The recoding that a partition of the rows amounts to, with its losses."""
    if found is None:
        order = np.argsort(of_row, kind="stable").astype(np.int64)
        found = all_generalized(laid, np.split(order, np.cumsum(np.bincount(of_row, minlength=n))[:-1]))
    rules = item_rules(laid, found)
    in_sets = sum(one.node is None and len(one.items) > 0 for one in found)
    losses = relational_ncp(laid.space, of_row, n)
    domain = len(laid.items.vocabulary) if laid.tree is None else laid.tree.n_leaves
    return ClusterRecoding(
        of_row,
        cluster_values(laid.space, of_row, n),
        rules,
        algorithm,
        losses.pop("ncp"),
        ul=sum(one.ul for one in found) / max(1, len(laid)),
        items_ncp=items_ncp(_occurrence_sizes(laid, of_row, found), domain)["items_ncp"],
        ncp_by_column=losses,
        facts=cluster_facts(of_row, n)
        | {
            "formation": laid.rt.formation,
            "transaction": laid.rt.transaction or ("sets" if laid.tree is None else "aa"),
            "ordering": laid.rt.ordering,
        }
        | ({} if laid.tree is None else {"clusters_in_sets": in_sets})
        | (facts or {}),
        notes=notes + (_set_notes(in_sets, n) if laid.tree is not None else ()),
    )


def _set_notes(in_sets: int, n: int) -> tuple[str, ...]:
    """What to tell about clusters for which the item hierarchy was of no use."""
    if not in_sets:
        return ()
    return (
        Message(
            f"in {in_sets:,} of {n:,} classes the item hierarchy would leave nothing but its root: items are put together in sets "
            f"there; {option('transaction', 'aa')} or {option('transaction', 'exact')} keeps to the hierarchy"
        ),
    )


def rounded_up(loss: float) -> float:
    """The next number of four digits behind the point: what a user can type."""
    return math.ceil(loss * 10_000 - 1e-9) / 10_000


def joining_notes(joined: int) -> tuple[str, ...]:
    """What to tell about clusters that had to be joined before anything else."""
    if not joined:
        return ()
    return (
        f"{joined:,} {'cluster' if joined == 1 else 'clusters'} could not be published alone (too few rows with items, or a sensitive "
        "item in too many): joined with the nearest",
    )


def _occurrence_sizes(laid: Ground, of_row: npt.NDArray[np.int32], found: list[Generalized]) -> npt.NDArray[np.int64]:
    """Per original occurrence of an item, how many items its published token stands for; in no particular order."""
    n = max(1, len(laid.items.vocabulary))
    row = np.repeat(np.arange(len(laid), dtype=np.int64), laid.items.lengths)
    known = np.concatenate([c * n + one.items.astype(np.int64) for c, one in enumerate(found)])
    sizes = np.concatenate([one.size[one.group] for one in found])
    wanted = of_row[row].astype(np.int64) * n + laid.items.items
    return sizes[np.searchsorted(known, wanted)]
