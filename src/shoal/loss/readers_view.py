"""What a release is worth as its reader sees it: counted in the published rows, with the tree, and with nothing else.

A certificate says what is kept in these figures. The owner's (`shoal.loss.worth`) are shares of the original: exact, they would tell how
many of its occurrences were deleted or fell together in one token, which items hide under a category, and how many rows a common pair
lost, and the borders of rounded ones do not begin at zero. These here say nothing that whoever has file and tree could not count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.hierarchy.tree import Hierarchy
from shoal.loss.common_pairs import TOP, common_pairs
from shoal.numbers import Bools, Ints
from shoal.price.information import entropy_bits
from shoal.records.baskets import Baskets


def published_nodes(tree: Hierarchy, tokens: Sequence[str]) -> Ints:
    """The node of each published token."""
    called = {name: v for v, name in enumerate(tree.names)}
    return np.array([called[token] for token in tokens], np.int64)


def exact_share(occurrences: Ints, is_item: Bools) -> float:
    """The share of published occurrences that are items, not categories; `occurrences` has those of each token."""
    return int(occurrences[is_item].sum()) / max(1, int(occurrences.sum()))


def exact_pairs(published: Baskets, is_item: Bools) -> float | None:
    """The share of the 100 commonest published pairs that are of two items; None where no pair is commoner than another.

    Those that tie with the next are left out: which of them came first could tell in which order the original named its items.
    """
    pairs = common_pairs(published, TOP + 1)
    least = int(pairs.rows[TOP]) if len(pairs) > TOP else 0
    common = pairs.rows > least
    if not common.any():
        return None
    both = is_item[pairs.one[common]] & is_item[pairs.other[common]]
    return int(np.count_nonzero(both)) / len(both)


def most_information_lost(tree: Hierarchy, nodes: Ints, occurrences: Ints) -> float:
    """The largest share of the information of published occurrences that can be lost, each taken for one item; `nodes` has their tokens.

    With X the item and T the token, H(X|T) / H(X) is lost. Under a token every leaf may be equally frequent: H(X|T) is at most u, the mean
    of log2(leaves). Tokens of which none is above another divide the items, so that among them H(X) = H(T) + H(X|T). With Z the rank of a
    token (the longest chain of published tokens below it; one rank for a cut), H(X) >= H(X|Z) = H(T) - H(Z) + H(X|T): the share
    is at most u / (H(T) - H(Z) + u).
    """
    unknown = float((occurrences * np.log2(tree.leaf_count[nodes])).sum())
    if unknown == 0:
        return 0.0
    rank = _ranks(tree, nodes[occurrences > 0])[nodes]
    of_rank = np.bincount(rank, occurrences).astype(np.float64)
    known = entropy_bits(occurrences.astype(np.float64)) - entropy_bits(of_rank)
    return unknown / (max(0.0, known) + unknown)


def _ranks(tree: Hierarchy, nodes: Ints) -> Ints:
    """Per node of the tree, the published nodes in the longest chain below it."""
    published = np.zeros(tree.n_nodes, np.int64)
    published[nodes] = 1
    below = [0] * tree.n_nodes
    for v, (parent, here) in enumerate(zip(tree.parent[:-1].tolist(), published[:-1].tolist(), strict=True)):
        below[parent] = max(below[parent], below[v] + here)
    return np.array(below, np.int64)
