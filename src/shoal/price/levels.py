"""The prices that a search can go by, as levels of the nodes of a hierarchy: what it costs to publish an item as a node, or to delete it.

An occurrence of item x that is published as node v costs `level[v] - level[x]`; a deleted one costs `deletion`, whatever it was.
Two prices have this form:

- `ncp`: the share of the domain that the node stands for. Leaves are at 0, a node with u leaves below it is at u, and a
  deletion costs |I|, as the root does.
- `information`: the bits that a reader no longer knows. Node v is at log2 of the occurrences below it, so x published as v costs
  log2(n(v) / n(x)); a deletion costs the mean information of an occurrence, the entropy of the items. Summed over the items of a
  node this is its conditional entropy. Where occurrences are deleted or published in several ways, fewer items than all may stand
  behind a token, and `shoal.price.information` measures what is lost then: never more than these levels say, because the entropy
  of what stands there is below the cross entropy with what stood there first.

Whole numbers are kept as long as possible, so that equal losses compare equal: a bit is 2^20 units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.errors import InputError, option
from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import Codes, Ints

PRICES = ("information", "ncp")
"""What a release can be made cheap in."""
BIT = 1 << 20
"""Units of a bit."""


@dataclass(frozen=True, eq=False)
class Price:
    """What every optimising search asks."""

    name: str
    level: Ints
    """Per node; it never falls on the way to the root."""
    deletion: int
    """What a deleted occurrence costs."""

    def of_nodes(self, hierarchy: Hierarchy, occurrences: Ints) -> Ints:
        """Per node, what all items below it cost when they are published as this node; occurrences are per leaf."""
        own = hierarchy.sums(occurrences * self.level[: hierarchy.n_leaves])
        return self.level * hierarchy.sums(occurrences) - own

    def of_cut(self, node: Codes, occurrences: Ints, deleted: Ints | None = None) -> int:
        """What it costs to publish every leaf as its node (-1: dropped); `deleted` of its occurrences are single deletions."""
        kept = np.where(node >= 0, occurrences - (0 if deleted is None else deleted), 0)
        each = self.level[np.maximum(node, 0)] - self.level[: len(node)]
        return int((each * kept).sum()) + self.deletion * int((occurrences - kept).sum())

    def share(self, price: float, occurrences: int) -> float:
        """The price of so many occurrences as a loss: 1 is what deleting all of them costs."""
        return price / max(1, self.deletion * occurrences)


def ncp_price(hierarchy: Hierarchy) -> Price:
    return Price("ncp", np.where(hierarchy.leaf_count > 1, hierarchy.leaf_count, 0), hierarchy.n_leaves)


def information_price(hierarchy: Hierarchy, occurrences: Ints) -> Price:
    """`occurrences` is per leaf. Over a single item, which tells nothing, a deletion costs the least unit there is."""
    bits = np.log2(np.maximum(1, hierarchy.sums(occurrences)))
    level = np.rint(BIT * bits).astype(np.int64)
    # A node that stands for more items than its child is at least a unit above it, also where only that child occurs: of equal
    # losses the search then takes the lower node.
    wider = hierarchy.leaf_count[hierarchy.parent] > hierarchy.leaf_count
    for depth in range(hierarchy.height, 0, -1):
        at = np.flatnonzero(hierarchy.depth == depth)
        np.maximum.at(level, hierarchy.parent[at], level[at] + wider[at])
    whole = int(level[hierarchy.root] * occurrences.sum()) - int((level[: hierarchy.n_leaves] * occurrences).sum())
    return Price("information", level, max(1, -(-whole // max(1, int(occurrences.sum())))))


def price_for(name: str, hierarchy: Hierarchy, occurrences: Ints) -> Price:
    """The price of this name for items that occur so often."""
    if name not in PRICES:
        raise InputError(f"there is no price {name!r}; give {option('price')} one of {', '.join(PRICES)}")
    return ncp_price(hierarchy) if name == "ncp" else information_price(hierarchy, occurrences)
