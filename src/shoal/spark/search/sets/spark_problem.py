"""The problem of k^m on Spark: supports of nodes, and rare sets under any cut, found by the executors.

It answers as `shoal.algorithms.km.problem.Ground` does, set for set and in the same order, so `exact` takes the same steps on both.
Of rare sets with the same parents, which ask for the same thing, a worker sends the first only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.algorithms.km.problem import MOST_PER_TOKEN, check_reachable, one_per_parents, rarest_first
from shoal.algorithms.km.program import Expired
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.itemsets.nodes import node_supports, rows_by_position
from shoal.kernels.itemsets.rare_sets import rare_sets
from shoal.numbers import Codes, Ints
from shoal.price.levels import price_for
from shoal.spark.data.executors import TimeUp, count_keys, jobs_within, total_batch
from shoal.spark.data.packing import frozen, pieces
from shoal.spark.data.sets import SparkSets
from shoal.spark.search.sets.projection import blocks_of, recode_items, search_blocks

_ROWS_AT_A_TIME = 1 << 16


class SparkProblem:
    """Sets on Spark, hierarchy and the promise to keep."""

    def __init__(
        self,
        sets: SparkSets,
        guarantee: KmAnonymity,
        hierarchy: Hierarchy,
        price: str = "information",
        until: float | None = None,
    ) -> None:
        self.sets, self.hierarchy = sets, hierarchy
        self.until = until
        """The time (`time.monotonic()`) at which a search for rare sets is broken off."""
        self.pulse: Callable[[float], None] | None = None
        self.k, self.m = int(guarantee.k), min(int(guarantee.m), max(sets.longest, 1))
        self.parent, self.vocabulary = hierarchy.parent, sets.vocabulary
        self.leaf = hierarchy.leaves_of(sets.vocabulary)
        check_reachable(guarantee, len(sets) - sets.empty)
        self.occurrences = np.zeros(hierarchy.n_leaves, np.int64)
        self.occurrences[self.leaf] = sets.supports()
        self.price = price_for(price, hierarchy, self.occurrences)
        self.cost = self.price.of_nodes(hierarchy, self.occurrences)
        self.support = count_keys(sets.rows, _node_supports, hierarchy.n_nodes, leaf=self.leaf, parent=self.parent)

    def rare_sets(self, node: Codes, up_to: int) -> Codes:
        """As `Problem.rare_sets`, without sets whose parents an earlier set of the same block has."""
        if self.pulse:
            self.pulse(0.0)
        nodes, token = rarest_first(node[self.leaf], self.support)
        support = self.support[nodes]
        # A rare token is a rare set, and nothing is looked for behind it: tokens are rarest first, so these are the first ones.
        single = int(np.searchsorted(support, self.k))
        ranks = np.full((single, up_to), -1, np.int32)
        ranks[:, 0] = np.arange(single)
        if up_to > 1 and single < len(nodes):
            try:
                with jobs_within(self.sets.session, None if self.until is None else self.until - time.monotonic()):
                    answers = search_blocks(
                        self.sets,
                        blocks_of(support, self.sets, single),
                        (recode_items, {"token": token, "n_tokens": len(nodes)}),
                        (_rare_sets, {"k": self.k, "m": up_to, "parent": self.parent[nodes]}),
                        "sets array<int>",
                    )
            except TimeUp as error:
                raise Expired from error
            ranks = np.concatenate([ranks, *(answer["sets"].to_numpy().reshape(-1, up_to) for answer in answers)])
        if self.pulse:
            self.pulse(1.0)
        return np.where(ranks >= 0, nodes[ranks], -1).astype(np.int32)

    def one_per_parents(self, sets: Codes) -> Codes:
        return one_per_parents(sets, self.parent)

    def supports_of(self, sets: list[tuple[int, ...]]) -> Ints:
        """Rows that hold something under each node of each of the sets."""
        if not sets:
            return np.zeros(0, np.int64)
        span, n_leaves = self.hierarchy.span, self.hierarchy.n_leaves
        position = span[:n_leaves, 0][self.leaf]
        return count_keys(self.sets.rows, _set_supports, len(sets), sets=sets, span=span, position=position)


def _node_supports(batches: Iterator[pa.RecordBatch], leaf: Codes, parent: Codes) -> Iterator[pa.RecordBatch]:
    """On a worker: its rows that hold something under each node."""
    support = np.zeros(len(parent), np.int64)
    for rows, baskets in pieces(batches):
        support += node_supports(baskets.offsets, baskets.items, leaf, frozen(parent), 0, len(rows))
    yield total_batch(support)


def _rare_sets(rows: Any, first: int, last: int, k: int, m: int, parent: Codes) -> dict[str, Any]:
    """On a worker: the rare sets of one block, one for each combination of parents."""
    rare = rare_sets(rows, first, last, k, m, MOST_PER_TOKEN)
    return {"sets": one_per_parents(rare.reshape(-1, m), parent).reshape(-1)}


def _set_supports(
    batches: Iterator[pa.RecordBatch], sets: list[tuple[int, ...]], span: npt.NDArray[Any], position: npt.NDArray[Any]
) -> Iterator[pa.RecordBatch]:
    """On a worker: its rows that hold something under all nodes of a set, for every set: ANDs of bitmaps of rows."""
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
    yield total_batch(count)
