"""Refining (Terrovitis and others 2012, REFINE): clusters joined, so that what is rare in each can be counted in all of them together.

Clusters (and joined ones) with similar rests are put side by side, and each is tried with its neighbour: the items that stand in the rest
of both make shared chunks over the records of both. The pair is joined if that publishes at least as many occurrences as entries of
rests go (our reading of the paper's equation 1).
This is repeated while anything is joined.

An item that stands in a chunk of a cluster below is not shared above it. The paper allows that where the shared chunk is k-anonymous, since
sub-records with the item cannot lie in that cluster; but where a joined cluster has hardly more records than sub-records, so few of the
others may fit into it that the promise fails. Without such items chunks need k^m-anonymity alone, and the commonest pairs of three public
data sets were counted better.

How neighbours are found and when two are joined is our reading of the paper; that a cluster keeps an item in its rest where its chunks need
one (`Cluster.is_covered`) is our addition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

from shoal.algorithms.chunks.vertical import Cluster, Masks, grouped_items

MOST_JOINED = 32
"""Times the largest cluster that a joined one may be: chunks over ever more records say ever less about each."""


@dataclass(eq=False)
class Joint:
    """Clusters with chunks over the records of all of them."""

    parts: tuple[Cluster | Joint, Cluster | Joint]
    chunks: list[list[int]]
    rest: Masks
    """The items in the rests of all clusters below; the bits are the records of all of them."""
    leaves: list[Cluster]
    size: int
    domain: set[int]
    """The items that stand in chunks of it and of all below."""


def joined_clusters(clusters: list[Cluster], k: int, m: int, tell: Callable[[int, int], None]) -> list[Cluster | Joint]:
    """The clusters, joined where that tells more. `tell` hears of each round with the number of clusters that are left."""
    nodes: list[Cluster | Joint] = list(clusters)
    most = MOST_JOINED * max((cluster.size for cluster in clusters), default=0)
    settled: set[frozenset[int]] = set()
    rounds = 0
    while True:
        rounds += 1
        tell(rounds, len(nodes))
        joined, nodes = _round(_side_by_side(nodes), (k, m, most), settled)
        if not joined:
            return nodes


def _round(
    nodes: list[Cluster | Joint], limits: tuple[int, int, int], settled: set[frozenset[int]]
) -> tuple[bool, list[Cluster | Joint]]:
    k, m, most = limits
    found: list[Cluster | Joint] = []
    place, any_joined = 0, False
    while place < len(nodes):
        joint = None
        if place + 1 < len(nodes):
            one, other = nodes[place], nodes[place + 1]
            pair = frozenset((id(one), id(other)))
            if pair not in settled and one.size + other.size <= most:
                joint = joint_of(one, other, k, m)
                if joint is None:
                    settled.add(pair)
        if joint is None:
            found.append(nodes[place])
            place += 1
        else:
            found.append(joint)
            place, any_joined = place + 2, True
    return any_joined, found


def _side_by_side(nodes: list[Cluster | Joint]) -> list[Cluster | Joint]:
    """Those with the same items in their rests next to each other: by the item that stands in most rests, then by the next."""
    times = Counter(chain.from_iterable(node.rest for node in nodes))
    rank = {item: place for place, item in enumerate(sorted(times, key=lambda item: (-times[item], item)))}
    return sorted(nodes, key=lambda node: sorted(rank[item] for item in node.rest))


def joint_of(one: Cluster | Joint, other: Cluster | Joint, k: int, m: int) -> Joint | None:
    """Both as one with shared chunks; None where these would not tell more than the rests do."""
    both = {
        item: one.rest[item] | (other.rest[item] << one.size)
        for item in one.rest.keys() & other.rest.keys()
        if one.rest[item].bit_count() + other.rest[item].bit_count() >= k
    }
    domain = one.domain | other.domain
    for item in domain & both.keys():
        del both[item]
    leaves = [*one.leaves, *other.leaves]
    for leaf in leaves if both else ():
        if not leaf.is_covered(k, m) and leaf.rest.keys() <= both.keys():
            spared = min(leaf.rest, key=lambda item: (both[item].bit_count(), item), default=None)
            if spared is None:
                return None
            del both[spared]
    chunks = grouped_items(both, k, m)
    shared = {item for chunk in chunks for item in chunk}
    entries = sum(item in leaf.rest for leaf in leaves for item in shared)
    if not shared or sum(both[item].bit_count() for item in shared) < entries:
        return None
    for leaf in leaves:
        leaf.rest = {item: mask for item, mask in leaf.rest.items() if item not in shared}
    rest = {
        item: one.rest.get(item, 0) | (other.rest.get(item, 0) << one.size)
        for item in one.rest.keys() | other.rest.keys()
        if item not in shared
    }
    return Joint((one, other), chunks, rest, leaves, one.size + other.size, domain | shared)
