"""NCP, the normalized certainty penalty of a generalized item: the share of the domain it could have been.

An item published as itself costs 0, as a node with u leaves below it u / |I|, and a dropped one 1, what the root would
cost. The loss of a release weighs each item by its occurrences in the original data (section 3.3 of the 2008 paper).
"""

from __future__ import annotations

import numpy as np

from shoal.hierarchy.cut import Cut
from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import Codes, Ints
from shoal.price.levels import ncp_price
from shoal.records.baskets import Baskets


def leaf_occurrences(hierarchy: Hierarchy, baskets: Baskets) -> Ints:
    """Per leaf of the hierarchy, how often its item occurs in the baskets."""
    occurrences = np.zeros(hierarchy.n_leaves, np.int64)
    occurrences[hierarchy.leaves_of(baskets.vocabulary)] = baskets.supports()
    return occurrences


def ncp(cut: Cut, occurrences: Ints, deleted: Ints | None = None) -> dict[str, float]:
    """The loss of a cut as fractions: `ncp` and its two parts, `generalized` and `deleted`.

    `occurrences` is per leaf, `deleted` the part of them that single deletions took besides what the cut drops.
    """
    price, total = ncp_price(cut.hierarchy), int(occurrences.sum())
    kept = np.where(cut.node >= 0, occurrences - (0 if deleted is None else deleted), 0)
    cost = int((price.level[np.maximum(cut.node, 0)] * kept).sum())
    gone = total - int(kept.sum())
    return {
        "ncp": price.share(cost + gone * price.deletion, total),
        "generalized": price.share(cost, total),
        "deleted": gone / max(1, total),
    }


def local_ncp(hierarchy: Hierarchy, node: Codes | Ints, times: Ints | int = 1) -> dict[str, float]:
    """The same loss where `times[i]` occurrences have the node `node[i]`, -1 for none, as under local recoding."""
    price, stands, times = ncp_price(hierarchy), node >= 0, np.broadcast_to(times, node.shape)
    occurrences, gone = int(times.sum()), int(times[~stands].sum())
    cost = int((price.level[node[stands]] * times[stands]).sum())
    return {
        "ncp": price.share(cost + gone * price.deletion, occurrences),
        "generalized": price.share(cost, occurrences),
        "deleted": gone / max(1, occurrences),
    }


def published_ncp(occurrences: Ints, leaves: Ints, domain: int) -> float:
    """The loss over published occurrences instead of original ones, which needs no original: per token, how often it stands in the
    release, and how many of the `domain` items it could be."""
    total = int(occurrences.sum())
    return int((occurrences * np.where(leaves > 1, leaves, 0)).sum()) / max(1, total * domain)
