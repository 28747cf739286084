"""Top-level categories that force a release to the root: a single rare one is enough to take all detail away."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from shoal.algorithms.km.ground import Ground
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets


@dataclass(frozen=True)
class RareCategories:
    """A set of at most m top-level categories that stand together in fewer than k transactions, but in some."""

    names: tuple[str, ...]
    support: int


def rare_categories(baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy) -> list[RareCategories]:
    """What leaves no cut below the root, smallest sets first, then rarest; empty when the root is not forced."""
    ground = Ground(baskets, guarantee, hierarchy)
    at_top = np.full(hierarchy.n_leaves, -1, np.int32)
    for v in hierarchy.top:
        lo, hi = hierarchy.span[v]
        at_top[hierarchy.leaf_order[lo:hi]] = v
    found = [tuple(v for v in nodes if v >= 0) for nodes in ground.rare_sets(at_top, ground.m).tolist()]
    # A rare set says nothing new when a part of it is rare already.
    minimal: set[frozenset[int]] = set()
    for nodes in sorted(found, key=len):
        parts = (frozenset(part) for size in range(1, len(nodes)) for part in combinations(nodes, size))
        if not any(part in minimal for part in parts):
            minimal.add(frozenset(nodes))
    named = [RareCategories(tuple(hierarchy.labels[v] for v in sorted(s)), ground.support_of(s)) for s in minimal]
    return sorted(named, key=lambda c: (len(c.names), c.support, c.names))
