"""Recoding: how values change on their way into a release. It can be applied, and shown as rules.

Here the global one of the 2008 paper: a cut through the hierarchy replaces an item by the same token wherever it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.hierarchy.cut import Cut
from shoal.ordering import natural_order
from shoal.records.baskets import Baskets

Progress = Callable[[str, float], None]
"""What a long run is doing, and which share of it is done (0 to 1)."""


@dataclass(frozen=True)
class Options:
    """What a user may set for an algorithm, beyond the promise itself."""

    suppress: float = 0.0
    """The largest share of item occurrences that may be dropped, by whole top-level categories."""
    time_limit: float | None = None
    """Seconds after which the best answer so far is returned."""
    threads: int | None = None
    progress: Progress | None = None

    def tell(self, doing: str, share: float) -> None:
        if self.progress:
            self.progress(doing, share)


@dataclass(frozen=True, eq=False)
class Recoding:
    """A cut, and what the algorithm knows about it."""

    cut: Cut
    vocabulary: tuple[str, ...]
    """The original items it recodes."""
    algorithm: str
    optimal: bool | None = None
    """True when no cut loses less; None when the algorithm does not know."""
    bound: float | None = None
    """No cut that keeps the promise has an NCP below this."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @cached_property
    def node(self) -> npt.NDArray[np.int32]:
        """The node each original item is published as, -1 for a dropped one."""
        return self.cut.lowest().node[self.cut.hierarchy.leaves_of(self.vocabulary)]

    def apply(self, baskets: Baskets, threads: int | None = None) -> Baskets:
        """The baskets as they would be published, in the original order of rows."""
        from shoal.kernels.rows import laid_out, moved_together

        names = self.cut.hierarchy.names
        used = [v for v in np.unique(self.node).tolist() if v >= 0]
        used = [used[i] for i in natural_order([names[v] for v in used])]
        token_of = np.full(self.cut.hierarchy.n_nodes + 1, -1, np.int32)  # the last entry serves node -1
        token_of[used] = np.arange(len(used), dtype=np.int32)
        token = token_of[self.node]
        rows = laid_out(baskets.offsets, baskets.items, token, len(used), threads)
        offsets, out = moved_together(rows.offsets, rows.tails, rows.lengths)
        return Baskets(offsets, out, tuple(names[v] for v in used))

    def rules(self) -> Iterator[tuple[str, str]]:
        """(original item, published token), the token empty for a dropped item."""
        names = self.cut.hierarchy.names
        for item, node in zip(self.vocabulary, self.node.tolist(), strict=True):
            yield item, names[node] if node >= 0 else ""
