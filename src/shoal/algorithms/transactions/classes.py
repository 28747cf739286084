"""Classes: which transactions are published as one, and as what.

Every algorithm of this room ends here: `of_row` says which class a transaction belongs to, `centres` what all members of
a class are published as. A centre by majority (an item stands in it if strictly more than half of the members have it)
loses least for its class: each item is then added or removed in the smaller half.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.records.baskets import Baskets


@dataclass(frozen=True, eq=False)
class Classes:
    """A partition of the rows, with the items that are published for each part."""

    of_row: npt.NDArray[np.int32]
    """The class of each row, numbered from 0 without gaps."""
    centres: Baskets
    """One row per class, over the vocabulary of the baskets that were grouped."""
    algorithm: str
    bound: float | None = None
    """No k-anonymous release loses a smaller share of the occurrences than this; None where no bound is known."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What a reader of --json may want to know: segments, rounds, the order that won."""
    notes: tuple[str, ...] = ()
    """For the owner, in plain words: what was changed about the request, and why."""

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        return np.bincount(self.of_row, minlength=len(self.centres)).astype(np.int64)

    def apply(self) -> Baskets:
        """Every row as it is published, in the order of the rows that were grouped."""
        return self.centres.take(self.of_row.astype(np.int64))
