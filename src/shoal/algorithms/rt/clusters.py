"""Clusters of at least k rows with near relational values: CLUSTER as printed (section 5 of the RT paper), Mondrian, or the better of both.

CLUSTER takes a random row as seed and the k - 1 rows with the least NCP together with it (with the seed, not with what the cluster
has become: line 4); fewer than k rows are left, each goes where the cluster's NCP is then least, and clusters that are
published alike become one. Equal tuples are looked at once, however many rows they have. Neither way is always the better one, so
`better-of-two` forms clusters in both and takes those whose columns keep more of their information.

CLUSTER goes by rows: of five equal rows it makes two pairs for k = 2, and the fifth goes with a stranger. Mondrian never parts equal rows,
and leaves a stranger among all of them. So in `better-of-two` rows that have k equals go home afterwards: into a cluster of their
equals alone, but for those that strangers need to be k.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, RTOptions
from shoal.algorithms.rt.demand import Demand, demand_of
from shoal.algorithms.rt.mondrian import mondrian_parts
from shoal.algorithms.rt.task import Hierarchies
from shoal.algorithms.rt.weighing.column_price import ColumnPrice
from shoal.errors import check_rows
from shoal.guarantees.table import TableAnonymity
from shoal.kernels.tables.boxes import boxes_around, nearest_groups, place_leftovers
from shoal.loss.relational import Space, relational_ncp, space
from shoal.numbers import Codes, Ints
from shoal.records.records import Records

Way = Literal["cluster", "mondrian"]
WAYS: tuple[Way, ...] = ("cluster", "mondrian")
MOST_TUPLES = 100_000
"""Different tuples beyond which CLUSTER, which compares each with all others, is tried only by name."""


def better_of_two(
    records: Records, guarantee: TableAnonymity, hierarchies: Hierarchies, options: Options, rt: RTOptions | None = None
) -> ClusterRecoding:
    """Relational k-anonymity by CLUSTER and by Mondrian, also with rows that have k equals sent home: what keeps most information."""
    return replace(relational(WAYS, records, guarantee, hierarchies, options, rt), algorithm="better-of-two")


def cluster(
    records: Records, guarantee: TableAnonymity, hierarchies: Hierarchies, options: Options, rt: RTOptions | None = None
) -> ClusterRecoding:
    """Relational k-anonymity by CLUSTER; with l or t, of near rows that keep to it together."""
    return relational(("cluster",), records, guarantee, hierarchies, options, rt)


def mondrian(
    records: Records, guarantee: TableAnonymity, hierarchies: Hierarchies, options: Options, rt: RTOptions | None = None
) -> ClusterRecoding:
    """Relational k-anonymity by Mondrian; with l or t, it cuts only where all pieces keep to it."""
    return relational(("mondrian",), records, guarantee, hierarchies, options, rt)


def clusters(space: Space, k: int, seed: int) -> tuple[Codes, int]:
    """CLUSTER: (cluster of each row, how many)."""
    order = np.random.default_rng(seed).permutation(len(space))
    group, n = nearest_groups(space.metric, space.points, space.tuple_of, order, k)
    placed = group >= 0
    points = space.points[space.tuple_of[placed]]
    boxes = boxes_around(space.metric, points, group[placed].astype(np.int64), n)
    place_leftovers(space.metric, space.points, space.tuple_of, group, boxes)
    return joined_alike(space, group, n)


def form_clusters(space: Space, k: int, way: str, options: Options, demand: Demand | None = None) -> tuple[Codes, int]:
    """Clusters of at least k rows by CLUSTER or Mondrian, which keep to what is demanded of sensitive values as far as they can."""
    options.tell("clusters of rows", 0.0)
    plain = clusters(space, k, options.seed) if way == "cluster" else joined_alike(space, *mondrian_parts(space, k))
    if demand is None or (repaired := demand.repair(space, *plain, k))[1] == plain[1]:  # nothing was lacking
        return plain
    aware = demand.clusters(space, k, options.seed) if way == "cluster" else mondrian_parts(space, k, demand.holds)
    formed = [_settled(space, repaired, k, demand), _settled(space, demand.repair(space, *aware, k), k, demand)]
    return min(formed, key=lambda one: relational_ncp(space, *one)["ncp"])


def _settled(space: Space, formed: tuple[Codes, int], k: int, demand: Demand) -> tuple[Codes, int]:
    """Clusters that are published alike as one, which then still lack nothing."""
    group, n = joined_alike(space, *formed)
    while not demand.is_closed:
        repaired, left = joined_alike(space, *demand.repair(space, group, n, k))
        if left == n:
            break
        group, n = repaired, left
    return group, n


def rows_at_home(space: Space, group: Codes, n: int, k: int) -> tuple[Codes, int]:
    """Clusters in which no row is published with others, at a price, whose equals form a cluster or could."""
    tuple_of, width = space.tuple_of, np.int64(len(space.points))
    order = np.argsort(group * width + tuple_of, kind="stable")
    keys, first, counts = np.unique((group * width + tuple_of)[order], return_index=True, return_counts=True)
    of_cluster, of_tuple = keys // width, keys % width
    starts = np.searchsorted(of_cluster, np.arange(n + 1))
    kinds = np.diff(starts)
    home = np.full(len(space.points), -1, np.int64)  # of each tuple, the cluster of its rows alone
    alone = kinds[of_cluster] == 1
    home[of_tuple[alone]] = of_cluster[alone]
    group = group.copy()
    for c in np.unique(of_cluster[~alone & (space.sizes[of_tuple] >= k)]).tolist():
        own = slice(starts[c], starts[c + 1])
        leaving = _leaving(space, of_tuple[own], counts[own], home, k)
        for at, number in enumerate(leaving.tolist(), starts[c]):
            if number:
                if home[of_tuple[at]] < 0:
                    home[of_tuple[at]], n = n, n + 1
                group[order[first[at] : first[at] + number]] = home[of_tuple[at]]
    return number_groups(group)


def _leaving(space: Space, tuples: Ints, counts: Ints, home: Ints, k: int) -> Ints:
    """How many rows of each tuple of a cluster can go home: all, but for those that the others need, which are the nearest to them."""
    may_leave = (home[tuples] >= 0) | (counts >= k)
    leaving = np.where(may_leave, counts, 0)
    others = tuples[~may_leave]
    needed = k - int(counts[~may_leave].sum())
    if not len(others) or needed <= 0:
        return leaving
    near = np.flatnonzero(may_leave)
    beside = np.stack([space.boxes_of_tuples(np.append(others, t)) for t in tuples[near]])
    for at in near[np.argsort(space.costs(beside), kind="stable")].tolist():
        stays = min(needed, int(counts[at]))
        if home[tuples[at]] < 0 and 0 < counts[at] - stays < k:  # too few to have a home of their own
            stays = int(counts[at])
        leaving[at] -= stays
        needed -= stays
        if needed <= 0:
            break
    return leaving


def joined_alike(space: Space, group: Codes, n: int) -> tuple[Codes, int]:
    """Clusters that are published alike as one (CLUSTER, lines 9 to 11), numbered in the order of their first rows."""
    boxes = space.legible(space.boxes(group, n))
    _, alike = np.unique(boxes.reshape(n, -1), axis=0, return_inverse=True)
    return number_groups(alike.reshape(-1)[group])


def number_groups(group: npt.NDArray[Any]) -> tuple[Codes, int]:
    """Groups numbered from 0 in the order of their first rows, and how many there are."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first), dtype=np.int32)
    return rank[inverse.reshape(-1)], len(first)


def relational(
    ways: Iterable[str],
    records: Records,
    guarantee: TableAnonymity,
    hierarchies: Hierarchies,
    options: Options,
    rt: RTOptions | None,
) -> ClusterRecoding:
    """A table without items: clusters in the best of these ways, such as the promise demands of sensitive values."""
    n, k = len(records), int(guarantee.k)
    check_rows(n, guarantee)
    laid = space(records, hierarchies, (rt or RTOptions()).weights)
    demand = demand_of(records, guarantee)
    ways, notes = tuple(ways), tuple[str, ...]()
    chooses = len(ways) > 1
    if chooses and len(laid.points) > MOST_TUPLES:
        ways = ("mondrian",)
        notes = (
            f"the rows have {len(laid.points):,} different combinations of values, too many to compare each with all others: classes were "
            "formed by mondrian alone; name the algorithm cluster to have that done",
        )
    formed = [(way, form_clusters(laid, k, way, options, demand)) for way in ways]
    if chooses and demand is None:
        formed += [(way, joined_alike(laid, *rows_at_home(laid, *one, k))) for way, one in formed]
    way, (of_row, count) = min(formed, key=lambda one: ColumnPrice(laid).of_classes(*one[1])) if chooses else formed[0]
    losses = relational_ncp(laid, of_row, count)
    return ClusterRecoding(
        of_row,
        cluster_values(laid, of_row, count),
        None,
        losses.pop("ncp"),
        losses,
        algorithm=way,
        facts={**cluster_facts(of_row, count), "formation": way},
        notes=notes,
    )


def cluster_values(space: Space, of_row: Codes, n: int) -> dict[str, tuple[str, ...]]:
    """Per column, what each cluster is published as."""
    boxes = space.boxes(of_row, n)
    return {column.name: tuple(space.text_of(j, box) for box in boxes) for j, column in enumerate(space.columns)}


def cluster_facts(of_row: Codes, n: int) -> dict[str, int]:
    sizes = np.bincount(of_row, minlength=n)
    return {
        "clusters": n,
        "smallest_cluster": int(sizes.min(initial=len(of_row))),
        "largest_cluster": int(sizes.max(initial=0)),
    }
