"""Recodings: how values change on their way into a release. They can be applied, and shown as rules.

`Recoding` is the global one of the 2008 paper: a cut through the hierarchy replaces an item by the same token wherever it stands.
Under a `LocalRecoding` the same item may stand as itself in one row and as a category in another. Tables, classes and buckets have
recodings of their own; all of them are an `Outcome`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from shoal.errors import InputError, option
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.itemsets.prefixes import laid_out, moved_together
from shoal.numbers import Codes, Ints, seconds, share, whole_number
from shoal.ordering import natural_order
from shoal.price.levels import PRICES
from shoal.records.baskets import Baskets


class Progress(Protocol):
    """Who is told what a long run is doing and which share of it is done (0 to 1).

    Some algorithms also know the loss of the best release so far, and a bound below which no release can lose.
    """

    def __call__(self, doing: str, share: float, *, best: float | None = None, bound: float | None = None) -> None: ...


def listener(progress: Callable[..., Any] | None) -> Progress | None:
    """A callback of the user's as a Progress: one that takes no best and bound is not told them."""
    if progress is None:
        return None
    try:
        inspect.signature(progress).bind("", 0.0, best=None, bound=None)
    except TypeError:
        plain = progress
        return lambda doing, share, best=None, bound=None: plain(doing, share)
    except ValueError:  # a built-in without a signature
        pass
    return progress


@dataclass(frozen=True)
class Options:
    """What a user may set for an algorithm, beyond the promise itself."""

    suppress: float = 0.0
    """The largest share of item occurrences that may be dropped, by whole top-level categories."""
    time_limit: float | None = None
    """Seconds after which the best answer so far is returned."""
    threads: int | None = None
    progress: Progress | None = None
    price: str = "information"
    """What k^m searches make cheap: `information` or `ncp`. Their bounds, and the best and bound that they tell, are in it."""
    seed: int = 0
    """For algorithms that draw lots; the same seed gives the same classes."""
    segments: int | None = None
    """Into how many parts PTA and Gray-TSP cut the sorted transactions; chosen from the data when None."""
    population: int = 50
    """Loops that the genetic algorithm of Gray-TSP keeps."""
    generations: int = 100
    """Rounds of its evolution."""
    cluster_size: int | None = None
    """The records that a cluster of disassociation may have; chosen from k when None."""

    def __post_init__(self) -> None:
        if self.price not in PRICES:
            raise InputError(f"there is no price {self.price!r}; give {option('price')} one of {', '.join(PRICES)}")
        share("suppress", self.suppress, "0.02")
        if self.time_limit is not None:
            seconds("the time limit", self.time_limit)
        for name, least in (
            ("threads", 1),
            ("seed", 0),
            ("segments", 1),
            ("population", 1),
            ("generations", 0),
            ("cluster_size", 2),
        ):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), least)

    def tell(self, doing: str, share: float, *, best: float | None = None, bound: float | None = None) -> None:
        if self.progress:
            self.progress(doing, share, best=best, bound=bound)


@dataclass(frozen=True, eq=False)
class Deletions:
    """Single occurrences that are left out: in row `row[i]`, what would be published as node `node[i]`."""

    row: Ints
    node: Codes


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """What an algorithm knows about its answer, whatever form the answer has."""

    algorithm: str
    optimal: bool | None = None
    """True when no answer of this form loses less; None when the algorithm does not know."""
    bound: float | None = None
    """No release by this algorithm's means keeps the promise at a lower loss; None where no bound is known."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Figures for a reader of the release's JSON: rounds, classes, merges, the order that won."""
    notes: tuple[str, ...] = ()
    """For the owner, in plain words: what was changed about the request, and why."""
    hurried: bool = False
    """Whether a time limit ended its search."""


@dataclass(frozen=True, eq=False)
class Recoding(Outcome):
    """A cut, with `hybrid` also deletions."""

    cut: Cut
    vocabulary: tuple[str, ...]
    """The original items it recodes."""
    deletions: Deletions | None = None
    """Single occurrences that are left out besides; they speak of the rows of the baskets that were recoded."""

    @cached_property
    def node(self) -> Codes:
        """The node each original item is published as, -1 for a dropped one."""
        return self.cut.lowest().node[self.cut.hierarchy.leaves_of(self.vocabulary)]

    def apply(self, baskets: Baskets, threads: int | None = None) -> Baskets:
        """The baskets as they would be published, in the original order of rows."""
        names = self.cut.hierarchy.names
        used = [v for v in np.unique(self.node).tolist() if v >= 0]
        used = [used[i] for i in natural_order([names[v] for v in used])]
        token_of = np.full(self.cut.hierarchy.n_nodes + 1, -1, np.int32)  # the last entry serves node -1
        token_of[used] = np.arange(len(used), dtype=np.int32)
        rows = laid_out(baskets.offsets, baskets.items, token_of[self.node], len(used), threads)
        offsets, out = moved_together(rows)
        published = Baskets(offsets, out, tuple(names[v] for v in used), people=baskets.people)
        if self.deletions is None:
            return published
        return _without(published, self.deletions.row, token_of[self.deletions.node])

    def deletions_by_leaf(self, baskets: Baskets) -> Ints:
        """Per leaf, the original occurrences whose token does not stand in their transaction because of single deletions."""
        leaf = self.cut.hierarchy.leaves_of(self.vocabulary)
        gone = np.zeros(0, np.int64)
        if self.deletions is not None:
            n = self.cut.hierarchy.n_nodes
            row = np.repeat(np.arange(len(baskets), dtype=np.int64), baskets.lengths)
            lost = np.isin(row * n + self.node[baskets.items], self.deletions.row * n + self.deletions.node)
            gone = leaf[baskets.items[lost]].astype(np.int64)
        return np.bincount(gone, minlength=self.cut.hierarchy.n_leaves)

    def deleted_shares(self, baskets: Baskets) -> dict[str, float]:
        """Per token that is still published, the share of its original occurrences that single deletions took, where there are any.

        What no longer occurs at all is not named.
        """
        if self.deletions is None:
            return {}
        h = self.cut.hierarchy
        per_leaf = np.zeros(h.n_leaves, np.int64)
        per_leaf[h.leaves_of(self.vocabulary)] = baskets.supports()
        node = self.cut.lowest().node
        gone = np.bincount(node, self.deletions_by_leaf(baskets), minlength=h.n_nodes)
        share = gone / np.maximum(np.bincount(node, per_leaf, minlength=h.n_nodes), 1)
        return {h.names[v]: float(share[v]) for v in np.flatnonzero((gone > 0) & (share < 1)).tolist()}

    def rules(self) -> Iterator[tuple[str, str]]:
        """(original item, published token), the token empty for a dropped item."""
        names = self.cut.hierarchy.names
        for item, node in zip(self.vocabulary, self.node.tolist(), strict=True):
            yield item, names[node] if node >= 0 else ""


@dataclass(frozen=True, eq=False)
class LocalRecoding(Outcome):
    """`node[i]` is what `baskets.items[i]` is published as, -1 for nothing, for the baskets that were recoded and no others.

    Under `lra` it is a cut all the same within a row. Under `local` a row may hold a node and something below it: they stand for
    different items.
    """

    hierarchy: Hierarchy
    node: Codes
    vocabulary: tuple[str, ...]
    """The original items it recodes."""

    def __post_init__(self) -> None:
        self.node.setflags(write=False)

    def apply(self, baskets: Baskets, threads: int | None = None) -> Baskets:
        """The baskets as they would be published, in the original order of rows."""
        self._check(baskets)
        lengths, node = baskets.lengths, self.node
        if (stands := node >= 0).all():
            coded = Baskets.from_codes(lengths, node, self.hierarchy.names)
        else:
            row = np.repeat(np.arange(len(baskets), dtype=np.int64), lengths)
            lengths = np.bincount(row[stands], minlength=len(baskets))
            coded = Baskets.from_codes(lengths, node[stands], self.hierarchy.names)
        return Baskets(coded.offsets, coded.items, coded.vocabulary, people=baskets.people)

    @property
    def deleted(self) -> int:
        """Occurrences that are left out."""
        return int(np.count_nonzero(self.node < 0))

    def deleted_shares(self, baskets: Baskets) -> dict[str, float]:
        """Per item that is published as itself somewhere, the share of its occurrences that are left out, where any are."""
        return local_deleted_shares(self.hierarchy, self.vocabulary, self.counts(baskets))

    def counts(self, baskets: Baskets) -> tuple[Ints, Ints, Ints]:
        """(items, nodes, occurrences): how often each item is published as each node, by item, -1 (left out) and the lowest first."""
        self._check(baskets)
        n = self.hierarchy.n_nodes + 1
        pairs, times = np.unique(baskets.items.astype(np.int64) * n + self.node + 1, return_counts=True)
        return pairs // n, pairs % n - 1, times.astype(np.int64)

    def rules(self, baskets: Baskets) -> Iterator[tuple[str, str, int]]:
        """(original item, published token, rows in which it became that); the token is empty where the item is left out."""
        names = self.hierarchy.names
        for item, node, rows in zip(*(column.tolist() for column in self.counts(baskets)), strict=True):
            yield self.vocabulary[item], names[node] if node >= 0 else "", rows

    def rule_lines(self, baskets: Baskets, written: Callable[[str], str]) -> Iterator[tuple[str, ...]]:
        """The same as the rules file has it; `written` says what a token is called in the published file."""
        yield "item", "published", "rows"
        for item, token, rows in self.rules(baskets):
            yield item, written(token), str(rows)

    def _check(self, baskets: Baskets) -> None:
        if len(baskets.items) != len(self.node) or baskets.vocabulary != self.vocabulary:
            raise InputError("a local recoding speaks of the rows that it was made for; it cannot be applied to others")


def local_deleted_shares(
    tree: Hierarchy, vocabulary: Sequence[str], counts: tuple[Ints, Ints, Ints]
) -> dict[str, float]:
    """As `LocalRecoding.deleted_shares`, from its counts."""
    items, nodes, times = counts
    stands = np.unique(items[nodes == tree.leaves_of(vocabulary)[items]])
    of_item, gone = (np.bincount(items, weight, minlength=len(vocabulary)) for weight in (times, times * (nodes < 0)))
    return {vocabulary[i]: float(gone[i] / of_item[i]) for i in stands[gone[stands] > 0].tolist()}


def _without(baskets: Baskets, row: Ints, token: Codes) -> Baskets:
    """The baskets without these occurrences, and without names that no longer occur."""
    n = len(baskets.vocabulary)
    rows = np.repeat(np.arange(len(baskets), dtype=np.int64), baskets.lengths)
    kept = np.ones(len(baskets.items), np.bool_)
    # Rows ascend, and tokens within a row: so do these keys.
    kept[np.searchsorted(rows * n + baskets.items, row * n + token)] = False
    lengths = np.bincount(rows[kept], minlength=len(baskets)).astype(np.int64)
    return replace(Baskets.from_codes(lengths, baskets.items[kept], baskets.vocabulary), people=baskets.people)
