"""The ground of k^m on Spark: supports of nodes, and rare sets under any cut, found by the executors.

It answers as `shoal.algorithms.km.problem.Ground` does, set for set and in the same order, so `exact` takes the same steps on both.
Of rare sets with the same parents, which ask for the same thing, a worker sends the first only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.algorithms.km.problem import MOST_PER_TOKEN, check_reachable, one_per_parents, rarest_first
from shoal.engines.spark.packing import pieces
from shoal.engines.spark.projection import blocks_of, by_items, found_in_blocks, parallelism
from shoal.engines.spark.ragged import Ints, Longs, frozen
from shoal.engines.spark.sets import SparkSets
from shoal.engines.spark.workers import on_workers, summed
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.price.ncp import node_cost

_COUNTS = "key bigint, count bigint"
_ROWS_AT_A_TIME = 1 << 16


class SparkGround:
    """Sets on Spark, hierarchy and the promise to keep."""

    def __init__(self, sets: SparkSets, guarantee: KmAnonymity, hierarchy: Hierarchy) -> None:
        self.sets, self.hierarchy = sets, hierarchy
        self.pulse: Callable[[float], None] | None = None
        self.k, self.m = int(guarantee.k), min(int(guarantee.m), max(sets.longest, 1))
        self.parent, self.vocabulary = hierarchy.parent, sets.vocabulary
        self.leaf = hierarchy.leaves_of(sets.vocabulary)
        check_reachable(guarantee, len(sets) - sets.empty)
        self.occurrences = np.zeros(hierarchy.n_leaves, np.int64)
        self.occurrences[self.leaf] = sets.supports()
        self.cost = node_cost(hierarchy, self.occurrences)
        self.support = summed(
            sets.rows.mapInArrow(on_workers(_node_supports, leaf=self.leaf, parent=self.parent), _COUNTS),
            hierarchy.n_nodes,
        )

    def rare_sets(self, node: npt.NDArray[np.int32], up_to: int) -> npt.NDArray[np.int32]:
        """As `Ground.rare_sets`, without sets whose parents an earlier set of the same block has."""
        if self.pulse:
            self.pulse(0.0)
        nodes, token = rarest_first(node[self.leaf], self.support)
        support = self.support[nodes]
        # A rare token is a rare set, and nothing is looked for behind it: tokens are rarest first, so these are the first ones.
        single = int(np.searchsorted(support, self.k))
        ranks = np.full((single, up_to), -1, np.int32)
        ranks[:, 0] = np.arange(single)
        if up_to > 1 and single < len(nodes):
            found = found_in_blocks(
                self.sets,
                blocks_of(support, len(self.sets), parallelism(self.sets), single),
                by_items,
                {"token": token, "n_tokens": len(nodes)},
                _rare_sets,
                {"k": self.k, "m": up_to, "parent": self.parent[nodes]},
                "sets array<int>",
            )
            ranks = np.concatenate([ranks, *(block["sets"].to_numpy().reshape(-1, up_to) for block in found)])
        if self.pulse:
            self.pulse(1.0)
        return np.where(ranks >= 0, nodes[ranks], -1).astype(np.int32)

    def one_per_parents(self, sets: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        return one_per_parents(sets, self.parent)

    def supports_of(self, sets: list[tuple[int, ...]]) -> npt.NDArray[np.int64]:
        """Rows that hold something under each node of each of the sets."""
        if not sets:
            return np.zeros(0, np.int64)
        span, n_leaves = self.hierarchy.span, self.hierarchy.n_leaves
        position = span[:n_leaves, 0][self.leaf]
        return summed(
            self.sets.rows.mapInArrow(on_workers(_set_supports, sets=sets, span=span, position=position), _COUNTS),
            len(sets),
        )


def _node_supports(batches: Iterator[pa.RecordBatch], leaf: Ints, parent: Ints) -> Iterator[pa.RecordBatch]:
    """On a worker: its rows that hold something under each node."""
    from shoal.kernels.itemsets.nodes import node_supports

    support = np.zeros(len(parent), np.int64)
    for rows, baskets in pieces(batches):
        support += node_supports(baskets.offsets, baskets.items, leaf, frozen(parent), 0, len(rows))
    yield _counts(support)


def _rare_sets(rows: Any, first: int, last: int, k: int, m: int, parent: Ints) -> dict[str, Any]:
    """On a worker: the rare sets of one block, one for each combination of parents."""
    from shoal.kernels.itemsets.rare_sets import rare_sets

    found = rare_sets(rows, first, last, k, m, MOST_PER_TOKEN)
    return {"sets": one_per_parents(found.reshape(-1, m), parent).reshape(-1)}


def _set_supports(
    batches: Iterator[pa.RecordBatch], sets: list[tuple[int, ...]], span: npt.NDArray[Any], position: npt.NDArray[Any]
) -> Iterator[pa.RecordBatch]:
    """On a worker: its rows that hold something under all nodes of a set, for every set: ANDs of bitmaps of rows."""
    from shoal.kernels.itemsets.nodes import rows_by_position

    count = np.zeros(len(sets), np.int64)
    nodes = sorted({v for nodes in sets for v in nodes})
    for _, baskets in pieces(batches):
        for first in range(0, len(baskets), _ROWS_AT_A_TIME):
            some = baskets.take(np.arange(first, min(first + _ROWS_AT_A_TIME, len(baskets))))
            starts, held = rows_by_position(some.offsets, some.items, position, len(span))
            bitmap = {}
            for v in nodes:
                marks = np.zeros(len(some), np.bool_)
                marks[held[starts[span[v, 0]] : starts[span[v, 1]]]] = True
                bitmap[v] = np.packbits(marks)
            for i, members in enumerate(sets):
                common = bitmap[members[0]]
                for v in members[1:]:
                    common = common & bitmap[v]
                count[i] += int(np.bitwise_count(common).sum())
    yield _counts(count)


def _counts(count: Longs) -> pa.RecordBatch:
    """What one task has counted, without zeros."""
    key = np.flatnonzero(count)
    return pa.record_batch({"key": key.astype(np.int64), "count": count[key]})
