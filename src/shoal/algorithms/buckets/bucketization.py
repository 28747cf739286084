"""Bucketization: what an algorithm of this room returns, the published buckets and what it knows about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.records.buckets import Buckets
from shoal.records.records import Column


@dataclass(frozen=True, eq=False)
class Bucketization:
    """Buckets, and how they came about."""

    buckets: Buckets
    algorithm: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What a reader of --json may want to know: groups, remaining rows, merges."""
    notes: tuple[str, ...] = ()
    """For the owner, in plain words."""

    def apply(self) -> Buckets:
        """What is published."""
        return self.buckets


def figures(buckets: Buckets) -> dict[str, Any]:
    """How many buckets, and their sizes."""
    sizes = buckets.sizes
    return {
        "buckets": len(sizes),
        "smallest_bucket": int(sizes.min()) if len(sizes) else 0,
        "largest_bucket": int(sizes.max(initial=0)),
        "average_bucket": float(np.mean(sizes)) if len(sizes) else 0.0,
    }


def chances(buckets: Buckets, sensitive: Column) -> npt.NDArray[np.float64]:
    """Per row, the share of its bucket that has the row's own value."""
    n = max(1, len(sensitive.values))
    pairs = buckets.of_row.astype(np.int64) * n + sensitive.codes
    known = np.repeat(np.arange(len(buckets), dtype=np.int64), np.diff(buckets.offsets)) * n + buckets.values
    return np.asarray(buckets.counts[np.searchsorted(known, pairs)] / buckets.sizes[buckets.of_row], np.float64)
