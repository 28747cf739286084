"""What published rows say about one item, and about several together.

A row that names an item holds it. A row that names a category above it may hold it, and how likely that is is a guess: the rows of a
category go to the items below it by the weights `(n + 1/2)^FLATTEN`, n being the rows in which an item stands as itself. Weights in
proportion to n (what coarsening at random would give, Heitjan and Rubin 1991) are too steep: what goes up to a category is what was rare
beside the rest of its row, and rare items are that more often than common ones. A category of which a share f of all rows has a token
stands for more than one item where f is large: items are taken to fall into rows independently, so that one with the weight w is there
with the chance (1 - (1 - f)^w) / f, and two below the same token with the product of their chances times f.

All that counts of a row is which of the tokens above an item it has, of which there are few ways: rows get a number for theirs once per
item, and a set is counted by the numbers of its items, way by way instead of row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from shoal.errors import VALUES, InputError
from shoal.hierarchy.tree import Hierarchy, count_of
from shoal.kernels.measures.pair_counts import count_pairs
from shoal.kernels.measures.ways_together import ways_together
from shoal.numbers import Bools, Floats, Ints
from shoal.records.baskets import Baskets

FLATTEN = 0.25
"""How much the weights of items follow how often they stand as themselves: 0 not at all, 1 in proportion."""
LOW, HIGH, HIDDEN = 4.0, 1 / 3, 1 / 8
"""A chance p may be as small as p^LOW and as large as p^HIGH; as p^HIDDEN for an item that never stands as itself: all its rows went up,
which those of its neighbours say little about."""
_BLOCK = 256
"""Items whose pairs are counted at a time."""
_BYTES = 1 << 28
"""For the ways of items in rows that are looked at again, about."""


@dataclass(frozen=True)
class Rows:
    """In how many published rows a set of items is: for sure, possibly, and by the guess with its range."""

    sure: int
    possible: int
    low: float
    guess: float
    high: float


@dataclass(frozen=True, eq=False)
class Ways:
    """Which of the tokens above an item each row has."""

    leaf: int
    tokens: list[int]
    """The lowest first."""
    of_row: npt.NDArray[np.unsignedinteger]
    """The number of its way; 0 for rows that have none of the tokens."""
    held: Bools
    """Per way, which of the tokens it is made of."""


class Evidence:
    """Published rows over a tree."""

    def __init__(self, rows: Baskets, tree: Hierarchy) -> None:
        self.rows, self.tree = rows, tree
        node_called = {name: v for v, name in enumerate(tree.names)}
        strangers = [name for name in rows.vocabulary if name not in node_called]
        if strangers:
            raise InputError(
                f"hierarchy {tree.source}: {count_of(strangers, 'published token is', 'published tokens are')} no node of it{VALUES}; give "
                "the tree that the release was made with",
                values=strangers,
            )
        self.node = np.array([node_called[name] for name in rows.vocabulary], np.int64)
        if np.any(tree.only_child[self.node] >= 0):
            lowest = _without_single_children(tree, self.node)
            self.rows = Baskets.from_codes(rows.lengths, lowest[rows.items], tree.names)
            self.node = np.array([node_called[name] for name in self.rows.vocabulary], np.int64)
        self.support = np.zeros(tree.n_nodes, np.int64)
        """Rows with each node's token."""
        self.support[self.node] = self.rows.supports()
        self.token = np.full(tree.n_nodes, -1, np.int64)
        """The number of each node's token among the published ones."""
        self.token[self.node] = np.arange(len(self.node))
        self._ways = lru_cache(max(2, _BYTES // max(1, 2 * len(self.rows))))(self._ways_of)

    @cached_property
    def _held(self) -> Any:
        """Rows by tokens, sparse, by tokens."""
        held = (np.ones(len(self.rows.items), np.int32), self.rows.items, self.rows.offsets)
        return sparse.csr_array(held, shape=(len(self.rows), len(self.node))).tocsc()

    @cached_property
    def _along(self) -> Floats:
        """Of two items below one token the second comes along with the share of rows that have the token, at the most always."""
        share = self.support[self.node] / max(1, len(self.rows))
        return np.column_stack((share**LOW, share, np.ones(len(share))))

    @cached_property
    def weight(self) -> Floats:
        """Per node: of an item, how much of a category's rows it is likely to take; of a category, the sum over its items."""
        own = (self.support[: self.tree.n_leaves] + 0.5) ** FLATTEN
        running = np.concatenate(([0.0], np.cumsum(own[self.tree.leaf_order])))
        span = self.tree.span
        return running[span[:, 1]] - running[span[:, 0]]

    @cached_property
    def tells_apart(self) -> Bools:
        """Per node, whether an item below it stands as itself anywhere: if none does, nothing says how its rows divide."""
        return self.tree.sums(self.support[: self.tree.n_leaves]) > 0

    def chances(self, leaf: int, node: int) -> Floats:
        """How likely a row with this token holds this item below it: at the least, by the guess, and at the most."""
        if node == leaf:
            return np.ones(3)
        n = max(1, len(self.rows))
        share = min(self.support[node] / n, 1 - 0.5 / n)
        guess = float(-np.expm1(np.log1p(-share) * self.weight[leaf] / self.weight[node]) / share)
        high = HIGH if self.support[leaf] else HIDDEN
        return np.array([guess**LOW, guess, guess**high if self.tells_apart[node] else 1.0])

    def tokens_of(self, leaf: int) -> list[int]:
        """The published tokens that an item may stand as, the lowest first."""
        path, v = [], leaf
        while v >= 0:
            if self.token[v] >= 0:
                path.append(int(self.token[v]))
            v = int(self.tree.parent[v])
        return path

    def rows_of(self, leaves: Sequence[int]) -> Rows:
        """In how many rows these items are together."""
        items = sorted((self._ways(leaf) for leaf in leaves), key=lambda one: self._possible(one.tokens))
        if not all(item.tokens for item in items):
            return Rows(0, 0, 0.0, 0.0, 0.0)
        codes, times = _together(items)
        chance, certain = np.ones((len(times), 3)), np.ones(len(times), np.bool_)
        lowest = np.zeros((len(times), 0), np.int64)
        for item, code in zip(items, codes.T, strict=True):
            held = item.held[code]
            missing = np.ones((len(times), 3))
            for position, token in enumerate(item.tokens):
                own = self.chances(item.leaf, int(self.node[token]))
                missing[held[:, position]] *= 1 - own
                certain &= ~held[:, position] | (own[0] == 1.0) | held[:, :position].any(axis=1)
            chance *= 1 - missing
            low = np.array(item.tokens, np.int64)[held.argmax(axis=1)]
            below_one = (lowest == low[:, None]).any(axis=1)
            chance[below_one] *= self._along[low[below_one]]
            lowest = np.column_stack((lowest, low))
        return Rows(int(times[certain].sum()), int(times.sum()), *(times @ chance).tolist())

    def _possible(self, tokens: list[int]) -> int:
        return int(self.support[self.node[tokens]].sum())

    def _ways_of(self, leaf: int) -> Ways:
        tokens, where = self.tokens_of(leaf), self._held
        of_row = np.zeros(len(self.rows), np.uint16)
        held = np.zeros((1, len(tokens)), np.bool_)
        for position, token in reversed(list(enumerate(tokens))):
            rows = where.indices[where.indptr[token] : where.indptr[token + 1]]
            before = of_row[rows]
            used = np.flatnonzero(np.bincount(before, minlength=len(held)))
            number = np.zeros(len(held), np.int64)
            number[used] = len(held) + np.arange(len(used))
            more = held[used]
            more[:, position] = True
            held = np.concatenate((held, more))
            of_row = of_row if len(held) <= np.iinfo(of_row.dtype).max else of_row.astype(np.uint32)
            of_row[rows] = number[before]
        return Ways(leaf, tokens, of_row, held)

    def common_pairs(self, n: int) -> list[tuple[int, int]]:
        """The pairs of items that stand together as themselves in most rows, and in any, up to n of them; frequent ones first."""
        order = np.argsort(-self.support[: self.tree.n_leaves], kind="stable")
        order = order[self.support[order] > 0]
        rank = np.full(len(self.node), len(order), np.int64)
        rank[self.token[order]] = np.arange(len(order))
        one, other, times = (np.zeros(0, np.int64) for _ in range(3))
        for start in range(0, len(order), _BLOCK):
            if len(times) == n and self.support[order[start]] <= times[-1]:
                break  # no pair is more frequent than its rarer item
            end = min(start + _BLOCK, len(order))
            counts = count_pairs(self.rows.offsets, self.rows.items, rank, start, end)
            rarer, commoner = np.nonzero(counts)
            one = np.concatenate((one, commoner))
            other = np.concatenate((other, rarer + start))
            times = np.concatenate((times, counts[rarer, commoner]))
            best = np.lexsort((other, one, -times))[:n]
            one, other, times = one[best], other[best], times[best]
        return list(zip(order[one].tolist(), order[other].tolist(), strict=True))


def _together(items: Sequence[Ways]) -> tuple[Ints, Ints]:
    """(ways of the items that stand together in some row, in how many rows they do); rows that lack one of the items are left out."""
    last, code = items[-1], items[-1].of_row
    known: Ints = np.arange(len(items[0].held), dtype=np.int64)[:, None]
    if len(items) == 1:
        times = np.bincount(code, minlength=len(known))[1:]
        return known[1:][times > 0], times[times > 0]
    key: Any = items[0].of_row
    for item in items[1:-1]:
        rows = np.flatnonzero((key > 0) & (item.of_row > 0))
        # Numbered from 1: 0 is for rows that lack one.
        used, number = np.unique(key[rows].astype(np.int64) * len(item.held) + item.of_row[rows], return_inverse=True)
        known = np.concatenate(
            ([[0] * (known.shape[1] + 1)], np.column_stack((known[used // len(item.held)], used % len(item.held))))
        )
        key = np.zeros(len(key), np.uint32)
        key[rows] = number + 1
    times = ways_together(key, code, len(known), len(last.held))
    first, second = np.nonzero(times)
    return np.column_stack((known[first], second)), times[first, second]


def _without_single_children(tree: Hierarchy, node: Ints) -> Ints:
    """Nodes, those with a single child as what is below: they say the same."""
    while np.any(more := tree.only_child[node] >= 0):
        node = np.where(more, tree.only_child[node], node)
    return node.astype(np.int64)
