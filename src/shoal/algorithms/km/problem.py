"""Problem: baskets, a hierarchy and the promise to keep as arrays, so that supports of nodes and rare sets under any cut are quick to find.

All algorithms of this room work on it. It holds the support and the cost of every node, the rows of every leaf in
depth-first order (the rows of a node are then one stretch), and no more memory than the baskets themselves.

Where several rows are one person's, rows stand by person here, and supports are numbers of people: what a set needs to reach k.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shoal.errors import Unreachable, number_of
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.itemsets import rare_sets as kernels
from shoal.kernels.itemsets.conflicts import (
    Conflicts,
    Paths,
    Relations,
    conflicts,
    lengths_at_all_levels,
    rows_at_all_levels,
)
from shoal.kernels.itemsets.deletion import TokenRows, write_rows
from shoal.kernels.itemsets.nodes import LeafRows, joint_rows, node_supports, rows_by_position
from shoal.kernels.itemsets.prefixes import Rows, laid_out
from shoal.kernels.parallel import even_blocks, even_row_blocks, over_blocks
from shoal.price.levels import Price, price_for
from shoal.records.baskets import Baskets

MOST_PER_TOKEN = 256
"""Rare sets kept per first token and round; what is left over is found in the next round."""
MOST_LIFTED = 40_000
"""Rare sets raised per round."""


MOST_EXPANDED = 100_000_000
"""Tokens beyond which rows are not laid out with all levels at once, ..."""
MOST_SETS = 4e9
"""... and sets of them in all rows."""

Ints = npt.NDArray[np.int64]


class Counts(Protocol):
    """What `exact` and `aa` need to know: counts of nodes and rare sets, whichever engine counts them."""

    hierarchy: Hierarchy
    vocabulary: tuple[str, ...]
    """The original items."""
    k: int
    m: int
    parent: npt.NDArray[np.int32]
    occurrences: npt.NDArray[np.int64]
    """Per leaf, how often its item occurs."""
    price: Price
    cost: npt.NDArray[np.int64]
    """Per node, what its items cost when they are published as it."""
    support: npt.NDArray[np.int64]
    """Per node, transactions that hold something under it, or people who have one."""
    pulse: Callable[[float], None] | None

    def rare_sets(self, node: npt.NDArray[np.int32], up_to: int) -> npt.NDArray[np.int32]:
        """As `Problem.rare_sets`; of sets with the same parents, those behind the first may be left out."""

    def one_per_parents(self, sets: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]: ...


class Problem:
    """Baskets, hierarchy and the promise to keep, ready for counting."""

    def __init__(
        self,
        baskets: Baskets,
        guarantee: KmAnonymity,
        hierarchy: Hierarchy,
        threads: int | None = None,
        pulse: Callable[[float], None] | None = None,
        price: str | Price = "information",
    ) -> None:
        self.origin, self.order = baskets, rows_by_person(baskets.people)
        baskets = baskets if self.order is None else baskets.take(self.order)
        self.people = None if self.origin.people is None or self.order is None else self.origin.people[self.order]
        self.baskets, self.hierarchy, self.threads, self.pulse = baskets, hierarchy, threads, pulse
        self.k, self.m = int(guarantee.k), min(int(guarantee.m), max(baskets.longest, 1))
        self.parent, self.vocabulary = hierarchy.parent, baskets.vocabulary
        self.leaf = hierarchy.leaves_of(baskets.vocabulary)
        check_reachable(guarantee, crowd_of(baskets), in_people=self.people is not None)
        self.occurrences = np.zeros(hierarchy.n_leaves, np.int64)
        self.occurrences[self.leaf] = baskets.supports()
        self.price = price if isinstance(price, Price) else price_for(price, hierarchy, self.occurrences)
        self.cost = self.price.of_nodes(hierarchy, self.occurrences)
        # Whoever has something under a node has it in some row: all rows of a person together are one.
        offsets = baskets.offsets if self.people is None else _offsets_of_people(baskets.offsets, self.people)
        parts = over_blocks(
            lambda a, b: node_supports(offsets, baskets.items, self.leaf, self.parent, a, b),
            even_row_blocks(offsets, 4),
            threads,
            pulse,
        )
        self.support: npt.NDArray[np.int64] = np.array(parts).sum(axis=0)

    @cached_property
    def leaf_rows(self) -> LeafRows:
        """The rows under every node."""
        h = self.hierarchy
        position = h.span[: h.n_leaves, 0][self.leaf]
        return LeafRows(h.span, *rows_by_position(self.baskets.offsets, self.baskets.items, position, h.n_leaves))

    def token_rows(self, node: npt.NDArray[np.int32]) -> TokenRows:
        """The rows when every leaf is published as `node[leaf]`, with nothing deleted yet."""
        baskets, level = self.baskets, self.price.level
        size = len(baskets.items) + len(baskets)
        rows = TokenRows(
            baskets.offsets,
            np.full(size, -1, np.int32),
            np.zeros(size, np.int32),
            np.zeros(size, np.int64),
            np.zeros(size, np.bool_),
            self.leaf_rows,
            np.zeros(0, np.int64),
            self.k,
            self.m,
            self.people,
        )
        target = node[self.leaf]
        cost = level[target] - level[self.leaf]
        over_blocks(
            lambda a, b: write_rows(rows, baskets.items, target, cost, a, b),
            even_blocks(baskets.lengths + 1.0, 16),
            self.threads,
        )
        return rows

    def support_of(self, nodes: Iterable[int]) -> int:
        """Transactions that hold something under each of the nodes, or people who have one."""
        rows = joint_rows(np.fromiter(nodes, np.int64), self.leaf_rows, len(self.baskets))
        return int(np.count_nonzero(rows)) if self.people is None else len(np.unique(self.people[rows]))

    def rare_sets(self, node: npt.NDArray[np.int32], up_to: int) -> npt.NDArray[np.int32]:
        """Rare sets of up to `up_to` nodes when every leaf is published as `node[leaf]` (-1: dropped), padded with -1."""
        nodes, token = rarest_first(node[self.leaf], self.support)
        rows = laid_out(
            self.baskets.offsets, self.baskets.items, token, len(nodes), self.threads, self.pulse, self.people
        )
        found = over_blocks(
            lambda a, b: kernels.rare_sets(rows, a, b, self.k, up_to, MOST_PER_TOKEN),
            rows.blocks(),
            self.threads,
            self.pulse,
        )
        ranks = np.concatenate([np.empty(0, np.int32), *found]).reshape(-1, up_to)
        return np.where(ranks >= 0, nodes[ranks], -1).astype(np.int32)

    def conflicts(self, node: npt.NDArray[np.int32], size: int, relations: Callable[[Ints], Relations]) -> Conflicts:
        """What rare sets of up to `size` nodes say when every leaf is published as `node[leaf]` (-1: dropped)."""
        nodes, token = rarest_first(node[self.leaf], self.support)
        rows = laid_out(
            self.baskets.offsets, self.baskets.items, token, len(nodes), self.threads, self.pulse, self.people
        )
        return self._conflicts(rows, rows.blocks(), size, relations(nodes.astype(np.int64)))

    def conflicts_at_all_levels(
        self, tokens: Ints, n_new: int, size: int, relations: Callable[[Ints], Relations]
    ) -> Conflicts | None:
        """As `conflicts`, for sets of any of these nodes with one of the first `n_new`; None if that would take too much."""
        baskets = self.baskets
        if n_new == 0:
            return Conflicts(np.empty((0, 2), np.int64), np.empty((0, size), np.int32), True, 0)
        paths = self._paths(tokens)
        lengths = lengths_at_all_levels(baskets.offsets, baskets.items, paths, self.threads, self.pulse)
        times = np.bincount(lengths).astype(np.float64)
        sets = times.copy()
        for i in range(size):
            sets *= np.maximum(0, np.arange(len(times)) - i) / (i + 1)
        if lengths.sum(dtype=np.int64) > MOST_EXPANDED or sets.sum() > MOST_SETS:
            return None
        rows = rows_at_all_levels(baskets.offsets, baskets.items, paths, lengths, self.threads, self.pulse, self.people)
        return self._conflicts(rows, rows.blocks(n_first=n_new), size, relations(tokens))

    def _paths(self, tokens: Ints) -> Paths:
        """Per item, which of the nodes it may be published as."""
        number = np.full(self.hierarchy.n_nodes + 1, -1, np.int32)
        number[tokens] = np.arange(len(tokens), dtype=np.int32)
        at, levels = self.leaf.astype(np.int64), []
        for _ in range(self.hierarchy.height + 1):
            levels.append(number[at])
            at = np.where(at >= 0, self.parent[at], -1)
        table = np.stack(levels, axis=1)
        starts = np.concatenate(([0], np.cumsum((table >= 0).sum(axis=1)))).astype(np.int64)
        return Paths(starts, table[table >= 0], len(tokens))

    def _conflicts(self, rows: Rows, blocks: list[tuple[int, int]], size: int, relations: Relations) -> Conflicts:
        found = over_blocks(
            lambda a, b: conflicts(rows, a, b, self.k, size, relations), blocks, self.threads, self.pulse
        )
        return Conflicts(
            np.concatenate([np.empty((0, 2), np.int64), *(part.pairs for part in found)]),
            np.concatenate([np.empty((0, size), np.int32), *(part.clashes for part in found)]),
            all(part.are_all for part in found),
            sum(part.steps for part in found) + len(rows.tails),
        )

    def lift(self, sets: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """The rare sets raised towards the root as far as they stay rare, in two orders of their members, without repeats."""
        sets = self.one_per_parents(sets)
        if len(sets) > MOST_LIFTED:
            sets = sets[np.linspace(0, len(sets) - 1, MOST_LIFTED).astype(np.int64)]
        under, n_rows = self.leaf_rows, len(self.baskets)
        blocks = even_blocks(np.ones(len(sets)), min(64, 1 + len(sets) // 64))

        def from_one_end(backwards: bool) -> list[Any]:
            return over_blocks(
                lambda a, b: kernels.lift(sets, a, b, backwards, self.parent, under, n_rows, self.k),
                blocks,
                self.threads,
                self.pulse,
            )

        return self.one_per_parents(np.concatenate(from_one_end(False) + from_one_end(True)))

    def one_per_parents(self, sets: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """One set for each combination of parents: siblings ask for the same thing."""
        return one_per_parents(sets, self.parent)


def cut_loss(problem: Counts, node: npt.NDArray[np.int32]) -> float:
    """What it costs to publish every leaf as `node[leaf]` (-1: dropped), as a share of what deleting everything costs."""
    return problem.price.share(problem.price.of_cut(node, problem.occurrences), int(problem.occurrences.sum()))


def rows_by_person(people: npt.NDArray[np.int32] | None) -> Ints | None:
    """The rows in an order in which those of a person stand together; None where nobody has two, for rows are people then."""
    return None if people is None or len(np.unique(people)) == len(people) else np.argsort(people, kind="stable")


def crowd_of(baskets: Baskets) -> int:
    """How many transactions hold any item, or how many people have one that does."""
    filled = baskets.lengths > 0
    return int(np.count_nonzero(filled)) if baskets.people is None else len(np.unique(baskets.people[filled]))


def _offsets_of_people(offsets: Ints, people: npt.NDArray[np.int32]) -> Ints:
    """Where the items of each person begin, in rows that stand by person."""
    return offsets[np.concatenate(([0], 1 + np.flatnonzero(np.diff(people)), [len(people)]))]


def check_reachable(guarantee: KmAnonymity, filled: int, *, in_people: bool = False) -> None:
    """Raises if the `filled` transactions, those that hold any item, or their people, are too few for any cut to help."""
    if 0 < filled < guarantee.k:
        who = ("person has", "people have") if in_people else ("transaction holds", "transactions hold")
        raise Unreachable(
            f"{guarantee} cannot be reached: only {number_of(filled, *who)} any item, fewer than k = {guarantee.k:,}; "
            "choose a smaller k"
        )


def rarest_first(
    node: npt.NDArray[np.int32], support: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """(nodes, token): the nodes that items are published as, rarest first, and the place of each item's node among them (-1: dropped)."""
    nodes = np.unique(node)
    nodes = nodes[nodes >= 0]
    nodes = nodes[np.argsort(support[nodes], kind="stable")]
    token_of = np.full(len(support) + 1, -1, np.int32)
    token_of[nodes] = np.arange(len(nodes), dtype=np.int32)
    return nodes, token_of[node]


def one_per_parents(sets: npt.NDArray[np.int32], parent: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """The first set of each combination of parents. `parent` is that of whatever the sets hold."""
    above = np.sort(np.where(sets >= 0, parent[sets], -1), axis=1)
    _, first = np.unique(above, axis=0, return_index=True)
    return sets[np.sort(first)]


def _apart(tokens: Ints) -> Relations:
    """Of tokens that have nothing to do with each other, so that rare sets speak of themselves."""
    number = np.arange(len(tokens))
    none = np.zeros((len(tokens), len(tokens) // 64 + 1), np.uint64)
    itself = none.copy()
    itself[number, number >> 6] = np.uint64(1) << (number & 63).astype(np.uint64)
    return Relations(number.astype(np.int32), itself, none)


@dataclass(frozen=True)
class RareCategories:
    """A set of at most m top-level categories that stand together in fewer than k transactions, or those of fewer people, but in some."""

    names: tuple[str, ...]
    support: int


def rare_categories(baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy) -> list[RareCategories]:
    """What leaves no cut below the root, smallest sets first, then rarest; empty when the root is not forced.

    A single rare category is enough to take all detail away.
    """
    problem = Problem(baskets, guarantee, hierarchy)
    at_top = np.full(hierarchy.n_leaves, -1, np.int32)
    for v in hierarchy.top:
        lo, hi = hierarchy.span[v]
        at_top[hierarchy.leaf_order[lo:hi]] = v
    rare: list[tuple[int, ...]] = [(v,) for v in hierarchy.top if 0 < problem.support[v] < problem.k]
    if problem.m > 1:
        found = problem.conflicts(at_top, problem.m, _apart)
        nodes = rarest_first(at_top[problem.leaf], problem.support)[0]
        sets = [*found.pairs[found.pairs[:, 0] < found.pairs[:, 1]].tolist(), *found.clashes.tolist()]
        rare += [tuple(int(nodes[i]) for i in numbers if i >= 0) for numbers in sets]
    # A rare set says nothing new when a part of it is rare already.
    minimal: set[frozenset[int]] = set()
    for members in sorted(rare, key=len):
        parts = (frozenset(part) for size in range(1, len(members)) for part in combinations(members, size))
        if not any(part in minimal for part in parts):
            minimal.add(frozenset(members))
    named = [RareCategories(tuple(hierarchy.labels[v] for v in sorted(s)), problem.support_of(s)) for s in minimal]
    return sorted(named, key=lambda c: (len(c.names), c.support, c.names))
