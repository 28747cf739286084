"""NCP, the normalized certainty penalty of a generalized item: the share of the domain it could have been.

An item published as itself costs 0, as a node with u leaves below it u / |I|, and a dropped one 1, what the root would
cost. The loss of a release weighs each item by its occurrences in the original data (section 3.3 of the 2008 paper). Whole
numbers are kept as long as possible: `node_cost` is NCP times |I| times occurrences, so equal losses compare equal.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.hierarchy.cut import Cut
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets


def leaf_occurrences(hierarchy: Hierarchy, baskets: Baskets) -> npt.NDArray[np.int64]:
    """Per leaf of the hierarchy, how often its item occurs in the baskets."""
    occurrences = np.zeros(hierarchy.n_leaves, np.int64)
    occurrences[hierarchy.leaves_of(baskets.vocabulary)] = baskets.supports()
    return occurrences


def node_cost(hierarchy: Hierarchy, occurrences: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Per node: leaves below it times occurrences below it, 0 for a node with a single leaf. `occurrences` is per leaf."""
    return np.where(hierarchy.leaf_count > 1, hierarchy.leaf_count * hierarchy.sums(occurrences), 0)


def ncp(cut: Cut, occurrences: npt.NDArray[np.int64], deleted: npt.NDArray[np.int64] | None = None) -> dict[str, float]:
    """The loss of a cut as fractions: `ncp` and its two parts, `generalized` and `deleted`.

    `occurrences` is per leaf, `deleted` the part of them that single deletions took besides what the cut drops.
    """
    total = int(occurrences.sum())
    if total == 0:
        return {"ncp": 0.0, "generalized": 0.0, "deleted": 0.0}
    leaves = cut.hierarchy.n_leaves
    kept = np.where(cut.node >= 0, occurrences - (0 if deleted is None else deleted), 0)
    below = cut.hierarchy.leaf_count[np.maximum(cut.node, 0)]
    cost = int(np.where(below > 1, below * kept, 0).sum())
    gone = total - int(kept.sum())
    return {
        "ncp": (cost + gone * leaves) / (leaves * total),
        "generalized": cost / (leaves * total),
        "deleted": gone / total,
    }


def local_ncp(hierarchy: Hierarchy, node: npt.NDArray[np.int32]) -> dict[str, float]:
    """The same loss where every occurrence has a node of its own, `node[i]`, as under local recoding."""
    below = hierarchy.leaf_count[node]
    lost = int(np.where(below > 1, below, 0).sum()) / max(1, hierarchy.n_leaves * len(node))
    return {"ncp": lost, "generalized": lost, "deleted": 0.0}


def published_ncp(occurrences: npt.NDArray[np.int64], leaves: npt.NDArray[np.int64], domain: int) -> float:
    """The loss over published occurrences instead of original ones, which needs no original: per token, how often it stands in the
    release, and how many of the `domain` items it could be."""
    total = int(occurrences.sum())
    return int((occurrences * np.where(leaves > 1, leaves, 0)).sum()) / max(1, total * domain)
