"""LocalRecoding: what every single occurrence is published as. The same item may stand as itself in one row and as a category in another.

Within a row it is a cut all the same: no row holds a node and something below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets


@dataclass(frozen=True, eq=False)
class LocalRecoding:
    """`node[i]` is what `baskets.items[i]` is published as, for the baskets that were recoded and no others."""

    hierarchy: Hierarchy
    node: npt.NDArray[np.int32]
    vocabulary: tuple[str, ...]
    """The original items it recodes."""
    algorithm: str
    optimal: bool | None = None
    bound: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.node.setflags(write=False)

    def apply(self, baskets: Baskets, threads: int | None = None) -> Baskets:
        """The baskets as they would be published, in the original order of rows."""
        self._check(baskets)
        coded = Baskets.from_codes(baskets.lengths, self.node, self.hierarchy.names)
        return Baskets(coded.offsets, coded.items, coded.vocabulary)

    def counts(self, baskets: Baskets) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(items, nodes, occurrences): how often each item is published as each node, by item, the lowest node first."""
        self._check(baskets)
        h = self.hierarchy
        pairs, times = np.unique(baskets.items.astype(np.int64) * h.n_nodes + self.node, return_counts=True)
        return pairs // h.n_nodes, pairs % h.n_nodes, times.astype(np.int64)

    def rules(self, baskets: Baskets) -> Iterator[tuple[str, str, int]]:
        """(original item, published token, rows in which it became that)."""
        names = self.hierarchy.names
        for item, node, rows in zip(*(column.tolist() for column in self.counts(baskets)), strict=True):
            yield self.vocabulary[item], names[node], rows

    def _check(self, baskets: Baskets) -> None:
        if len(baskets.items) != len(self.node) or baskets.vocabulary != self.vocabulary:
            raise InputError("a local recoding speaks of the rows that it was made for; it cannot be applied to others")
