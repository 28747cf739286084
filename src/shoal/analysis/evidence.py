"""What published rows say about one item, and about several together.

A row that names an item holds it. A row that names a category above it may hold it, and how likely that is is a guess: the rows of a
category go to the items below it by the weights `(n + 1/2)^FLATTEN`, n being the rows in which an item stands as itself. Weights in
proportion to n (what coarsening at random would give, Heitjan and Rubin 1991) are too steep: what goes up to a category is what was rare
beside the rest of its row, and rare items are that more often than common ones. A category of which a share f of all rows has a token
stands for more than one item where f is large: items are taken to fall into rows independently, so that one with the weight w is there
with the chance (1 - (1 - f)^w) / f, and two below the same token with the product of their chances times f.

Rows are found by token (an inverted index): a set is looked for in the rows of the tokens that cover its rarest item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from shoal.errors import VALUES, InputError
from shoal.hierarchy.tree import Hierarchy, count_of
from shoal.kernels.measures.likely_rows import likely_rows
from shoal.records.baskets import Baskets

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FLATTEN = 0.25
"""How much the weights of items follow how often they stand as themselves: 0 not at all, 1 in proportion."""
LOW, HIGH = 4.0, 1 / 3
_BLOCK = 256
"""Items whose pairs are counted at a time."""
"""A chance p may be as small as p^LOW and as large as p^HIGH."""


@dataclass(frozen=True)
class Rows:
    """In how many published rows a set of items is: for sure, possibly, and by the guess with its range."""

    sure: int
    possible: int
    low: float
    guess: float
    high: float


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
    def tells_apart(self) -> npt.NDArray[np.bool_]:
        """Per node, whether an item below it stands as itself anywhere: if none does, nothing says how its rows divide."""
        return self.tree.sums(self.support[: self.tree.n_leaves]) > 0

    def chances(self, leaf: int, node: int) -> Floats:
        """How likely a row with this token holds this item below it: at the least, by the guess, and at the most."""
        if node == leaf:
            return np.ones(3)
        n = max(1, len(self.rows))
        share = min(self.support[node] / n, 1 - 0.5 / n)
        guess = float(-np.expm1(np.log1p(-share) * self.weight[leaf] / self.weight[node]) / share)
        return np.array([guess**LOW, guess, guess**HIGH if self.tells_apart[node] else 1.0])

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
        paths = [(leaf, self.tokens_of(leaf)) for leaf in leaves]
        paths.sort(key=lambda one: int(self.support[self.node[one[1]]].sum()))
        missing = np.ones((len(paths), len(self.node), 3))
        covers = np.zeros(len(self.node), np.int64)
        for i, (leaf, path) in enumerate(paths):
            covers[path] |= 1 << i
            for t in path:
                missing[i, t] = 1 - self.chances(leaf, int(self.node[t]))
        first = np.array(paths[0][1], np.int64)
        held = self._held
        where = (self.rows.offsets, self.rows.items, held.indptr, held.indices)
        sure, possible, sums = likely_rows(*where, first, self.node, covers, missing, self._along)
        return Rows(int(sure), int(possible), *sums.tolist())

    def common_pairs(self, n: int) -> list[tuple[int, int]]:
        """The pairs of items that stand together as themselves in most rows, and in any, up to n of them; frequent ones first."""
        order = np.argsort(-self.support[: self.tree.n_leaves], kind="stable")
        order = order[self.support[order] > 0]
        held = self._held[:, self.token[order]]
        one, other, times = (np.zeros(0, np.int64) for _ in range(3))
        for start in range(0, len(order), _BLOCK):
            if len(times) == n and self.support[order[start]] <= times[-1]:
                break  # no pair is more frequent than its rarer item
            end = min(start + _BLOCK, len(order))
            product = (held[:, start:end].T @ held[:, :end]).tocoo()
            kept = product.coords[1] < product.coords[0] + start
            one = np.concatenate((one, product.coords[1][kept]))
            other = np.concatenate((other, product.coords[0][kept] + start))
            times = np.concatenate((times, product.data[kept]))
            best = np.lexsort((other, one, -times))[:n]
            one, other, times = one[best], other[best], times[best]
        return list(zip(order[one].tolist(), order[other].tolist(), strict=True))


def _without_single_children(tree: Hierarchy, node: Ints) -> Ints:
    """Nodes, those with a single child as what is below: they say the same."""
    while np.any(more := tree.only_child[node] >= 0):
        node = np.where(more, tree.only_child[node], node)
    return node.astype(np.int64)
