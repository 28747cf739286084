"""Item frequencies before and after: how far the count of an item that a release suggests is from the true one.

A published token that stands for s items is taken to be one of them, all equally likely: it adds 1/s of its rows to the support of
each. What is published as itself counts in full, what was left out not at all. (Queries, in `shoal.loss.queries`, take a
token for any non-empty subset of its items, as the RT paper does; for frequencies that would add up to several items per token.)
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.hierarchy.meanings import TokenMeanings
from shoal.numbers import Floats, Ints
from shoal.records.baskets import Baskets


@dataclass(frozen=True, eq=False)
class FrequencyError:
    """The support of each original item, and what the release suggests."""

    items: tuple[str, ...]
    before: Ints
    after: Floats

    @property
    def errors(self) -> Floats:
        """Per item |after - before| / before."""
        errors: Floats = np.abs(self.after - self.before) / np.maximum(self.before, 1)
        return errors

    def to_dict(self) -> dict[str, Any]:
        """`mean` counts every item alike, `weighted` every occurrence; `exact` is the share of items whose count is right."""
        errors = self.errors
        total = int(self.before.sum())
        return {
            "items": len(self.items),
            "mean": float(errors.mean()) if len(errors) else 0.0,
            "median": float(np.median(errors)) if len(errors) else 0.0,
            "weighted": float(np.abs(self.after - self.before).sum() / total) if total else 0.0,
            "worst": float(errors.max(initial=0.0)),
            "exact": float(np.mean(errors < 1e-9)) if len(errors) else 1.0,
        }


def estimated_supports(published: Baskets, meanings: TokenMeanings) -> Floats:
    """Per item of the domain, the number of rows that the release suggests."""
    share = published.supports() / np.maximum(meanings.sizes, 1)
    return np.bincount(meanings.members, share[meanings.owner], minlength=len(meanings.domain)).astype(np.float64)


def frequency_error(
    original: Baskets, published: Baskets, meanings: TokenMeanings, sensitive: Collection[str] = ()
) -> FrequencyError:
    """How far published counts are off, item by item; sensitive items, which travel unchanged, are left out."""
    kept = np.array([name not in sensitive for name in original.vocabulary], np.bool_)
    after = estimated_supports(published, meanings)[: len(original.vocabulary)]
    names = tuple(name for name, stays in zip(original.vocabulary, kept.tolist(), strict=True) if stays)
    return FrequencyError(names, original.supports()[kept], after[kept])
