"""Clusters of at least k rows with near relational values: CLUSTER as printed (section 5 of the RT paper), Mondrian, or the better of both.

CLUSTER takes a random row as seed and the k - 1 rows with the least NCP together with it (with the seed, not with what the cluster
has become: line 4); fewer than k rows are left, each goes where the cluster's NCP is then least, and clusters that are
published alike become one. Equal tuples are looked at once, however many rows they have. Neither way is always the better one, so
`better-of-two` forms clusters in both and takes those whose columns keep more of their information.
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
from shoal.errors import Unreachable
from shoal.guarantees.table import TableAnonymity
from shoal.kernels.tables.boxes import boxes_around, nearest_groups, place_leftovers
from shoal.loss.relational import Space, relational_ncp, space
from shoal.records.records import Records

Way = Literal["cluster", "mondrian"]
WAYS: tuple[Way, ...] = ("cluster", "mondrian")
MOST_TUPLES = 100_000
"""Different tuples beyond which CLUSTER, which compares each with all others, is tried only by name."""


def better_of_two(
    records: Records,
    guarantee: TableAnonymity,
    hierarchies: Hierarchies,
    options: Options,
    rt: RTOptions | None = None,
) -> ClusterRecoding:
    """Relational k-anonymity by CLUSTER and by Mondrian: of the two, the clusters that keep more of the columns' information."""
    return replace(relational(WAYS, records, guarantee, hierarchies, options, rt), algorithm="better-of-two")


def cluster(
    records: Records,
    guarantee: TableAnonymity,
    hierarchies: Hierarchies,
    options: Options,
    rt: RTOptions | None = None,
) -> ClusterRecoding:
    """Relational k-anonymity by CLUSTER; with l or t, of near rows that keep to it together."""
    return relational(("cluster",), records, guarantee, hierarchies, options, rt)


def mondrian(
    records: Records,
    guarantee: TableAnonymity,
    hierarchies: Hierarchies,
    options: Options,
    rt: RTOptions | None = None,
) -> ClusterRecoding:
    """Relational k-anonymity by Mondrian; with l or t, it cuts only where all pieces keep to it."""
    return relational(("mondrian",), records, guarantee, hierarchies, options, rt)


def clusters(space: Space, k: int, seed: int) -> tuple[npt.NDArray[np.int32], int]:
    """CLUSTER: (cluster of each row, how many)."""
    order = np.random.default_rng(seed).permutation(len(space))
    group, n = nearest_groups(space.metric, space.points, space.sizes.copy(), space.tuple_of, order, k)
    placed = group >= 0
    points = space.points[space.tuple_of[placed]]
    boxes = boxes_around(space.metric, points, group[placed].astype(np.int64), n)
    place_leftovers(space.metric, space.points, space.tuple_of, group, boxes)
    return joined_alike(space, group, n)


def form_clusters(
    space: Space, k: int, way: str, options: Options, demand: Demand | None = None
) -> tuple[npt.NDArray[np.int32], int]:
    """Clusters of at least k rows by CLUSTER or Mondrian, which keep to what is demanded of sensitive values as far as they can."""
    options.tell("clusters of rows", 0.0)
    plain = clusters(space, k, options.seed) if way == "cluster" else joined_alike(space, *mondrian_parts(space, k))
    if demand is None or (mended := demand.repair(space, *plain, k))[1] == plain[1]:  # nothing was lacking
        return plain
    aware = demand.clusters(space, k, options.seed) if way == "cluster" else mondrian_parts(space, k, demand.holds)
    formed = [joined_alike(space, *mended), joined_alike(space, *demand.repair(space, *aware, k))]
    return min(formed, key=lambda one: relational_ncp(space, *one)["ncp"])


def joined_alike(space: Space, group: npt.NDArray[np.int32], n: int) -> tuple[npt.NDArray[np.int32], int]:
    """Clusters that are published alike as one (CLUSTER, lines 9 to 11), numbered in the order of their first rows."""
    boxes = space.legible(space.boxes(group, n))
    _, alike = np.unique(boxes.reshape(n, -1), axis=0, return_inverse=True)
    return number_groups(alike.reshape(-1)[group])


def number_groups(group: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], int]:
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
    if n < k:
        raise Unreachable(
            f"{guarantee} cannot be reached: k = {k:,}, but there are only {n:,} rows; choose a smaller k"
        )
    laid = space(records, hierarchies, (rt or RTOptions()).weights)
    demand = demand_of(records, guarantee)
    ways, notes = tuple(ways), tuple[str, ...]()
    if len(ways) > 1 and len(laid.points) > MOST_TUPLES:
        ways = ("mondrian",)
        notes = (
            f"the rows have {len(laid.points):,} different combinations of values, too many to compare each with all others: classes were "
            "formed by mondrian alone; name the algorithm cluster to have that done",
        )
    formed = {way: form_clusters(laid, k, way, options, demand) for way in ways}
    way = min(formed, key=lambda one: ColumnPrice(laid).of_classes(*formed[one])) if len(ways) > 1 else ways[0]
    of_row, count = formed[way]
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


def cluster_values(space: Space, of_row: npt.NDArray[np.int32], n: int) -> dict[str, tuple[str, ...]]:
    """Per column, what each cluster is published as."""
    boxes = space.boxes(of_row, n)
    return {column.name: tuple(space.text_of(j, box) for box in boxes) for j, column in enumerate(space.columns)}


def cluster_facts(of_row: npt.NDArray[np.int32], n: int) -> dict[str, int]:
    sizes = np.bincount(of_row, minlength=n)
    return {
        "clusters": n,
        "smallest_cluster": int(sizes.min(initial=len(of_row))),
        "largest_cluster": int(sizes.max(initial=0)),
    }
