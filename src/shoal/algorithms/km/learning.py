"""learned:N, a hierarchy that is built from the data so that k^m-anonymity costs little under it.

What a release loses is decided by the groups of its cut: every group that takes part in a rare set must grow, and a group costs
what its items cost when they are published as it: by NCP u * o for u items with o occurrences, by information their conditional
entropy. So the groups are grown first and the tree is put around them, as in the clustering of
items by privacy constraints (PCTA; Gkoulalas-Divanis and Loukides, PAIS 2011): find the rare sets under the present groups, pick
from each the member that mends most for its cost, and merge those picked two by two, in rounds. Rare single items
come first, then pairs, then triples, up to m. In the end the groups keep the promise, and the optimal cut through a tree that has them
as nodes loses no more than they do.

Several ways to choose mates are tried (`WAYS`), on smaller data also the trees that need supports alone (`frequency:N`, `by_mass`),
and what loses least for the promise is kept: there the optimum under it is never above that under `frequency:N`. Where no
promise is known (`shoal hierarchy build`), the tree is for the reference promises 5^2 and, around it, 5^3.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.exact import exact_on
from shoal.algorithms.km.problem import Problem, cut_loss
from shoal.algorithms.recoding import Options
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.build import frequency_tree
from shoal.hierarchy.learned import mass_tree, relabel, tree_of_groups
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.itemsets.mates import mates
from shoal.kernels.itemsets.prefixes import laid_out
from shoal.kernels.itemsets.rare_sets import rare_sets
from shoal.kernels.parallel import over_blocks
from shoal.price.ncp import leaf_occurrences
from shoal.records.baskets import Baskets

REFERENCE = (KmAnonymity(5, 2), KmAnonymity(5, 3))
"""The promises to learn for where none is known: those of the papers' experiments. Each is weaker than the next."""
MOST_SETS = 8
"""Rare sets looked at per first token and round: enough to see which groups are in the way."""
TOGETHER = 7
"""How many shared partners it is worth that two groups are rare with each other: one merge mends that set for good."""
JUDGED = 300_000
"""Occurrences up to which the optimum under every tree is found to compare them; on larger data that takes longer than the learning."""


@dataclass(frozen=True)
class Way:
    """How groups choose their mates: from how many, and in which order they stand."""

    name: str
    window: int
    order: Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64]], npt.NDArray[np.float64]]
    """By which figure of (size, occurrences) groups stand next to each other."""


WAYS = (
    Way("support", 1, lambda size, occurrences: occurrences.astype(float)),
    Way("co-occurrence", 8, lambda size, occurrences: occurrences / size),
)


@dataclass(frozen=True)
class Candidate:
    """A tree, how it was made, and what it is known to lose at most by the price: a geometric mean over the promises."""

    construction: str
    tree: Hierarchy
    loss: float


def learned_tree(
    baskets: Baskets, n: int, promise: KmAnonymity | None = None, options: Options | None = None
) -> Hierarchy:
    """The tree of at most n children per node that loses least for the promise, of all constructions."""
    options = options or Options()
    return min(candidates(baskets, n, promise, options), key=lambda candidate: candidate.loss).tree


def learner(
    baskets: Baskets, promise: KmAnonymity | None = None, options: Options | None = None
) -> Callable[[int], Hierarchy]:
    """What makes the tree of `learned:N` for these rows, as `shoal.hierarchy.spec.resolve` asks for it."""

    def learn(n: int) -> Hierarchy:
        if not baskets.vocabulary:  # empty transactions only: one name that never occurs serves them all
            return mass_tree(("*",), np.zeros(1, np.int64), n)
        return learned_tree(baskets, n, promise, options)

    return learn


def candidates(baskets: Baskets, n: int, promise: KmAnonymity | None, options: Options) -> list[Candidate]:
    """The tree of every construction, with what is known to suffice: the optimum under it, or on large data what its groups cost.

    No time limit goes in: the tree must not depend on the clock.
    """
    source, vocabulary, supports = f"learned:{n}", baskets.vocabulary, baskets.supports()
    promises = REFERENCE if promise is None else (promise,)
    most = max(p.k for p in promises)
    found: list[Candidate] = []
    # With fewer rows than k no tree helps, and over one or two items there is only one.
    choice = len(baskets) - baskets.empty >= most and len(vocabulary) > 2
    if choice:
        for way in WAYS:
            options.tell(f"learning a hierarchy by {way.name}", len(found) / (len(WAYS) + 1))
            partitions, losses = grow_groups(baskets, way, promises, options)
            tree = tree_of_groups(vocabulary, supports, partitions, n, source)
            if baskets.occurrences <= JUDGED:
                losses = [_optimum(baskets, p, tree, options) for p in promises]
            found.append(Candidate(way.name, tree, _mean(losses)))
    if not choice or baskets.occurrences <= JUDGED:
        for name, plain in (
            ("frequency", frequency_tree(vocabulary, supports, n)),
            ("mass", mass_tree(vocabulary, supports, n)),
        ):
            losses = [_optimum(baskets, p, plain, options) for p in promises] if choice else [1.0]
            tree = relabel(plain, leaf_occurrences(plain, baskets), source)
            found.append(Candidate(name, tree, _mean(losses)))
    return found


def grow_groups(
    baskets: Baskets, way: Way, promises: Sequence[KmAnonymity], options: Options
) -> tuple[list[npt.NDArray[np.int64]], list[float]]:
    """For each promise, the weakest first, the group of every item when it was first kept, and what these groups lose by the price."""
    groups = _Groups(baskets, way, options)
    apart, together = groups.charge, groups.charges(groups.size.sum(), groups.occurrences.sum())
    whole = max(1.0, float(together) - apart)
    partitions, losses = [], []
    for promise in promises:
        groups.keep(promise.k, min(promise.m, max(1, baskets.longest)))
        partitions.append(groups.of_item)
        losses.append((groups.charge - apart) / whole)
    return partitions, losses


class _Groups:
    """The present groups of items."""

    def __init__(self, baskets: Baskets, way: Way, options: Options) -> None:
        items = len(baskets.vocabulary)
        self.baskets, self.way, self.threads = baskets, way, options.threads
        self.information = options.price == "information"
        self.of_item = np.arange(items)
        self.size = np.ones(items, np.int64)
        self.occurrences = baskets.supports()

    @property
    def charge(self) -> float:
        """What the groups cost, but for what their items cost by themselves."""
        return float(self.charges(self.size, self.occurrences).sum())

    def charges(self, size: Any, occurrences: Any) -> npt.NDArray[np.float64]:
        if self.information:
            return np.asarray(occurrences * np.log2(np.maximum(1, occurrences)))
        return np.where(size > 1, size * occurrences, 0).astype(np.float64)

    def keep(self, k: int, m: int) -> None:
        """Merge until no set of up to m groups is in 1 to k - 1 rows, or one group is left."""
        for size in range(1, m + 1):
            while len(self.size) > 1 and len(sets := self._rare_sets(k, size)):
                self._merge(self._mates(sets))

    def _rare_sets(self, k: int, m: int) -> npt.NDArray[np.int64]:
        """Some rare sets of every group, as rows of group numbers padded with -1."""
        order = np.argsort(self.occurrences, kind="stable")
        token = np.empty(len(order), np.int32)
        token[order] = np.arange(len(order), dtype=np.int32)
        offsets, items = self.baskets.offsets, self.baskets.items
        rows = laid_out(offsets, items, token[self.of_item], len(order), self.threads)
        if m == 1:
            return order[(rows.support > 0) & (rows.support < k)][:, None]
        found = over_blocks(lambda a, b: rare_sets(rows, a, b, k, m, MOST_SETS), rows.blocks(), self.threads)
        ranks = np.concatenate([np.empty(0, np.int32), *found]).reshape(-1, m)
        return np.where(ranks >= 0, order[ranks], -1)

    def _mates(self, sets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Pairs of groups to merge: of each set the member that is in most sets for its cost must grow."""
        n = len(self.size)
        degree = np.bincount(sets[sets >= 0], minlength=n)
        # To grow costs a bit per occurrence, or by NCP as much as the group costs already.
        worth = degree / np.maximum(1, self.occurrences * (1 if self.information else self.size))
        chosen = np.unique(sets[np.arange(len(sets)), np.where(sets >= 0, worth[sets], -1.0).argmax(axis=1)])
        standing = self.way.order(self.size[chosen], self.occurrences[chosen])
        chosen = chosen[np.lexsort((chosen, self.occurrences[chosen], standing))]
        place = np.full(n, -1)
        place[chosen] = np.arange(len(chosen))
        # Groups that are not chosen keep numbers of their own behind the chosen ones: they count as shared partners too.
        others = np.flatnonzero(place < 0)
        place[others] = len(chosen) + np.arange(len(others))
        starts, partners = _neighbours(np.where(sets >= 0, place[sets], -1), len(chosen))
        mate = mates(
            starts, partners, self.size[chosen], self.occurrences[chosen], self.information, self.way.window, TOGETHER
        )
        first = np.flatnonzero(mate > np.arange(len(chosen)))
        pairs = np.column_stack((chosen[first], chosen[mate[first]]))
        for alone in chosen[mate < 0].tolist():  # at most one: an odd one out, which takes the cheapest of all others
            added = self.charges(self.size[alone] + self.size, self.occurrences[alone] + self.occurrences)
            added -= self.charges(self.size, self.occurrences)
            # Names that never occur cost nothing and mend nothing: only where no other is left.
            free = np.setdiff1d(np.flatnonzero(self.occurrences), np.append(pairs.ravel(), alone))
            if not len(free):
                free = np.setdiff1d(np.arange(n), np.append(pairs.ravel(), alone))
            if len(free):
                pairs = np.vstack((pairs, [[alone, free[np.argmin(added[free])]]]))
        return pairs

    def _merge(self, pairs: npt.NDArray[np.int64]) -> None:
        """Each pair becomes one group, in the place of its first."""
        first, second = pairs[:, 0], pairs[:, 1]
        self.size[first] += self.size[second]
        self.occurrences[first] += self.occurrences[second]
        into = np.arange(len(self.size))
        into[second] = first
        kept = np.delete(np.arange(len(self.size)), second)
        number = np.empty(len(self.size), np.int64)
        number[kept] = np.arange(len(kept))
        self.of_item = number[into[self.of_item]]
        self.size, self.occurrences = self.size[kept], self.occurrences[kept]


def _neighbours(sets: npt.NDArray[np.int64], n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(starts, partners): per group below n the others that stand in a set with it, ascending and once."""
    m = sets.shape[1]
    edges = [sets[:, [a, b]] for a in range(m) for b in range(m) if a != b]
    both = np.concatenate([np.empty((0, 2), np.int64), *edges])
    both = both[(both >= 0).all(axis=1) & (both[:, 0] < n)]
    key = np.unique((both[:, 0] << 32) | both[:, 1])
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(key >> 32, minlength=n), out=starts[1:])
    return starts, key & 0xFFFFFFFF


def _optimum(baskets: Baskets, guarantee: KmAnonymity, tree: Hierarchy, options: Options) -> float:
    problem = Problem(baskets, guarantee, tree, options.threads, price=options.price)
    cut = exact_on(problem, Options(price=options.price), time.monotonic()).cut
    return cut_loss(problem, cut.node)


def _mean(losses: list[float]) -> float:
    """The geometric mean, so that no promise counts for more because it costs more."""
    return float(np.exp(np.mean(np.log(np.maximum(losses, 1e-12)))))
