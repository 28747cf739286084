"""Vertical partitioning (Terrovitis and others 2012, VERPART): the items of a cluster in chunks that are k^m-anonymous, and the rest.

What stands in fewer than k records of the cluster goes to the rest (the paper's term chunk), which is published as a plain list. The other
items go into chunks, the most frequent first: an item joins the chunk at hand if every combination of up to m of its items then still
stands in none or in k of the records. What does not join waits for the next chunk.

The records that hold an item are the bits of one large integer: those that hold several are an `and`, and Python counts bits by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from shoal.numbers import Ints
from shoal.records.baskets import Baskets

Masks = dict[int, int]
"""Per item, the records that hold it, as bits."""


@dataclass(eq=False)
class Cluster:
    """Some records, and how their items are published."""

    rows: Ints
    chunks: list[list[int]]
    """The items of each chunk."""
    rest: Masks
    """The items that are in no chunk, nor in one that is shared with other clusters."""
    held: list[int] = field(default_factory=list)
    """Per chunk, the records that hold any of its items, as bits."""

    @property
    def size(self) -> int:
        return len(self.rows)

    @property
    def leaves(self) -> list[Cluster]:
        return [self]

    @property
    def domain(self) -> set[int]:
        """The items that stand in chunks."""
        return {item for chunk in self.chunks for item in chunk}

    def is_covered(self, k: int, m: int) -> bool:
        """Whether no list of rest items is needed to keep the promise (the paper's Lemma 2).

        Whoever knows that nobody's record is empty can conclude something from chunks with few sub-records: they must lie in different
        records. So there must be enough of them for every record, also where k of each of m chunks lie on the same k records.
        """
        several = max(1, min(m, len(self.chunks)))
        return sum(held.bit_count() for held in self.held) >= self.size + k * (several - 1)


def masks_of(baskets: Baskets, rows: Ints) -> Masks:
    """The items of some rows; the bits are these rows in their order."""
    masks: Masks = {}
    offsets, items = baskets.offsets, baskets.items
    for place, row in enumerate(rows.tolist()):
        bit = 1 << place
        for item in items[offsets[row] : offsets[row + 1]].tolist():
            masks[item] = masks.get(item, 0) | bit
    return masks


def vertical_parts(rows: Ints, masks: Masks, k: int, m: int) -> Cluster:
    """A cluster with its items in chunks and a rest."""
    common = {item: mask for item, mask in masks.items() if mask.bit_count() >= k}
    rest = {item: mask for item, mask in masks.items() if item not in common}
    chunks = grouped_items(common, k, m)
    cluster = Cluster(rows, chunks, rest, [union(masks, chunk) for chunk in chunks])
    while not cluster.rest and cluster.chunks and not cluster.is_covered(k, m):
        # The least frequent item of the last chunk becomes the rest: it may then be anybody's.
        item = cluster.chunks[-1].pop()
        cluster.rest[item] = masks[item]
        cluster.held[-1] = union(masks, cluster.chunks[-1])
        if not cluster.chunks[-1]:
            del cluster.chunks[-1], cluster.held[-1]
    return cluster


def grouped_items(masks: Mapping[int, int], k: int, m: int) -> list[list[int]]:
    """Chunks of items, each of which stands in k records or more."""
    chunks = []
    waiting = by_support(masks)
    while waiting:
        chunk: list[int] = []
        left: list[int] = []
        for item in waiting:
            joins = _fits(masks[item], [masks[other] for other in chunk], 0, k, m - 1)
            (chunk if joins else left).append(item)
        chunks.append(chunk)
        waiting = left
    return chunks


def by_support(masks: Mapping[int, int]) -> list[int]:
    """The items, those that most records hold first."""
    return sorted(masks, key=lambda item: (-masks[item].bit_count(), item))


def union(masks: Mapping[int, int], items: Iterable[int]) -> int:
    """The records that hold any of these items."""
    held = 0
    for item in items:
        held |= masks[item]
    return held


def _fits(held: int, others: Sequence[int], first: int, k: int, deeper: int) -> bool:
    """Whether no combination of some items with up to `deeper` of the others stands in 1 to k - 1 records; `held` are those with the
    items."""
    if held.bit_count() < k:
        return False
    if deeper <= 0:
        return True
    for place in range(first, len(others)):
        both = held & others[place]
        if both and not _fits(both, others, place + 1, k, deeper - 1):
            return False
    return True
