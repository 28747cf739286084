"""local: local recoding and deletion in one search. A row's item stands as it is, or as a category, or is left out.

What is promised is the strict promise of `lra`: every set of up to m published tokens, counted as they stand, is in at least k
rows. A row may hold a category beside something below it: then the category stands for a further item.

The search begins at the leaves. In every row with rare sets a cheap set of occurrences that hits them all is taken away, round by
round, as `hybrid` deletes. What was taken returns level by level: all of it is offered as the next category above, together, and what
makes a set rare goes on to the level after. What stands already is not touched by that. In the end what could not return anywhere
stays away.

Which occurrences are taken away decides everything, and two weights proved right. An item is the dearer to take the more frequent it
is (by the square root of its occurrences): rare items are in most rare sets anyway, and the more of them are taken, the more company
they have when they return. And it is the dearer the more its taken occurrences lost in the last pass, which has told how far up
they had to go: so a few passes are made, and the best is kept.

Deletions within the budget come by their price. If a pass deletes more than is allowed, others follow in which a deletion costs more,
so that what would be deleted rather returns as a high category; the price is narrowed down to where the budget is just kept. If
none is high enough, what is missing is offered again against what stands: leaves give way where that is cheaper, and return one level
up. What is left even then moves up together with its whole row, if need be to the root; if `lra`, which deletes nothing, loses
clearly less than that, its answer is taken.

Where several rows are one person's, a set has to be in rows of k people, and the rows stand by person. A row of somebody whose other rows
hold a token already is given it back only where all of its sets have k people without it. `lra` counts rows, and is not asked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.algorithms import algorithm
from shoal.algorithms.km.problem import Problem
from shoal.algorithms.recoding import LocalRecoding, Options
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.itemsets.deletion import (
    Asked,
    Choice,
    Scratch,
    TokenRows,
    about_all,
    find_rare,
    hitting_places,
    mark_beside,
    neighbours,
    new_scratch,
    put_back,
)
from shoal.kernels.itemsets.nodes import LeafRows
from shoal.kernels.itemsets.offers import Offers, lay_out, note_standing, rows_of_tokens, take_lowest
from shoal.kernels.parallel import even_blocks, over_blocks
from shoal.price.information import Fates
from shoal.price.levels import BIT
from shoal.price.ncp import local_ncp
from shoal.records.baskets import Baskets

PASSES = 5
"""From the leaves up, each with what the one before has learned."""
EFFORT = 6e9
"""Steps of the kernels after which no further pass begins: work is counted, not time, so that the answer is the same everywhere."""
RUNGS = 16
"""Levels of a taller hierarchy that items may return at."""
DEARER = (1.25, 1.5, 2.0, 3.0, 5.0, 8.0)
"""What a deletion costs, in turn, while more than the budget is deleted."""
NARROWINGS = 3
"""Halvings of the last step between two of these prices."""
GIVING_WAY = 2
"""How often what is missing is offered against what stands at each of these prices."""
IDLE, MANY = 2, 100_000
"""Prices in turn that changed nothing, after which no other is tried among so many occurrences; with few a third may."""
PRIOR = 5.0
"""Occurrences of each item that count as lost before anything is known."""
CLEARLY = 0.9
"""The answer of `lra` is taken below this share of the loss: at an equal one it has far fewer items as they are."""
BLOCKS, BLOCK = 16, 1 << 14
"""Parts that threads share, and what each holds at least."""
HALVINGS = 30
"""Of the extra price of a deletion by which parts of the rows share the budget."""
UNIT = 64
"""Weights are whole numbers of this part of a deletion."""
MOST = 1 << 20
"""The largest weight of an occurrence."""

Nodes = npt.NDArray[np.int32]
Rungs = npt.NDArray[np.int8]


def local(baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> LocalRecoding:
    """A local recoding with at most the share `suppress` of occurrences deleted, at a low price."""
    search = _Search(_problem(baskets, guarantee, hierarchy, options), options)
    node = search.nodes(search.run().rung)
    notes: tuple[str, ...] = ("stopped by the time limit: a longer run may lose less",) if search.expired else ()
    if (
        search.has_moved_rows and search.people is None
    ):  # so little may be deleted that a cut for each part of the rows may lose less
        parts = algorithm("km", "lra")(baskets, guarantee, hierarchy, replace(options, suppress=0.0))
        if search.loss_of(parts.node) < CLEARLY * search.loss_of(node):
            node, notes = parts.node, parts.notes
    facts = {"passes": search.passes}
    return LocalRecoding(
        hierarchy, node, baskets.vocabulary, algorithm="local", facts=facts, notes=notes, hurried=bool(notes)
    )


def local_in_parts(
    baskets: Baskets,
    part: npt.NDArray[Any],
    guarantee: KmAnonymity,
    hierarchy: Hierarchy,
    options: Options,
    passes: int = PASSES,
) -> Nodes:
    """The node of each occurrence, -1 for none, when the promise is to hold in every part of the rows, counted by itself.

    `part` is that of each row; in each, no row or at least k hold items. All parts are searched together and share the budget.
    """
    search = _Search(_problem(baskets, guarantee, hierarchy, options), options, part, passes)
    return search.nodes(search.run().rung)


def _problem(baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> Problem:
    return Problem(baskets, guarantee, hierarchy, options.threads, price=options.price)


@dataclass(frozen=True, eq=False)
class _State:
    """On which rung of its ladder each occurrence stands: 0 is the leaf, -1 nowhere."""

    rung: Rungs
    deleted: int
    loss: float
    """In the price of the search, as a share."""

    def is_like(self, other: _State) -> bool:
        """Whether every occurrence stands where it does in the other state."""
        return self.deleted == other.deleted and bool((self.rung == other.rung).all())


class _Ladder:
    """Per leaf the nodes that its item may be published as: `node[0]` is the leaf, `node[-1]` the root, -1 where a level adds nothing."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        h = hierarchy
        parent, leaf_count = h.parent.tolist(), h.leaf_count.tolist()
        up, depth = np.full(h.n_nodes, -1, np.int32), np.zeros(h.n_nodes, np.int64)
        for v in range(h.n_nodes - 2, -1, -1):
            above = parent[v]
            while above >= 0 and leaf_count[above] == leaf_count[v]:  # no level of its own
                above = parent[above]
            if above >= 0:
                up[v], depth[v] = above, depth[above] + 1
        at = np.arange(h.n_leaves, dtype=np.int32)
        tallest = int(depth[: h.n_leaves].max(initial=0))
        levels = np.unique(np.linspace(tallest - 1, 0, min(tallest, RUNGS)).round().astype(np.int64))[::-1]
        rungs = [at.copy()]
        for level in levels.tolist():
            higher = depth[at] > level
            while (deep := depth[at] > level).any():
                at[deep] = up[at[deep]]
            rungs.append(np.where(higher, at, -1).astype(np.int32))
        self.node = np.stack(rungs)

    def __len__(self) -> int:
        return len(self.node)


class _Search:
    """The rows, what stands in them, and the passes over them."""

    def __init__(
        self, problem: Problem, options: Options, part: npt.NDArray[Any] | None = None, most: int = PASSES
    ) -> None:
        self.problem, self.options, self.most = problem, options, most
        self.started = time.monotonic()
        self.expired = self.has_moved_rows = False
        h, baskets = problem.hierarchy, problem.origin
        # Rows that share their commonest items stand together: what is read together then lies together.
        whose = None if problem.order is None else baskets.people
        self.order = _alike_together(baskets, part) if whose is None else _by_person(whose, part)
        self.baskets = baskets = baskets.take(self.order)
        self.people = None if whose is None else whose[self.order]
        self.part_of_row = None if part is None else part[self.order]
        self.ladder = _Ladder(h)
        self.leaf = problem.leaf.astype(np.int32)[baskets.items]
        self.place, self.leaf_of_place, self.token, self.n = self._tokens()
        self.in_place = np.bincount(self.place, minlength=len(self.leaf_of_place))
        self.total = baskets.occurrences
        self.budget = int(options.suppress * self.total + 1e-9)
        self.passes, self.work, self.part = 0, 0, 0.0
        size = len(baskets.items) + len(baskets)
        self.tok, self.weight = np.full(size, -1, np.int32), np.zeros(size, np.int32)
        self.alive = np.zeros(size, np.bool_)
        self.own_span = np.stack((np.arange(self.n), np.arange(1, self.n + 1)), axis=1)
        self.blocks = _blocks(baskets.lengths)
        self.scratch = self._new_scratch()
        self.spare: list[Scratch] = []

    def _new_scratch(self) -> Scratch:
        return new_scratch(self.n, len(self.baskets), self.problem.m, self.people)

    def _tokens(self) -> tuple[Nodes, Nodes, Nodes, int]:
        """(place of each occurrence, leaf of each place, token of each rung and place, number of tokens): what is counted together.

        A place is a leaf, or a leaf in a part of the rows, and a token a node, or a node in a part.
        """
        node = self.ladder.node
        if self.part_of_row is None:
            return self.leaf, np.arange(node.shape[1], dtype=np.int32), node, self.problem.hierarchy.n_nodes
        n_leaves, n_nodes = self.problem.hierarchy.n_leaves, np.int64(self.problem.hierarchy.n_nodes)
        part = np.repeat(self.part_of_row.astype(np.int64), self.baskets.lengths)
        keys, place = np.unique(part * n_leaves + self.leaf, return_inverse=True)
        at, leaf = np.divmod(keys, n_leaves)
        tokens = np.where(node[:, leaf] >= 0, at * n_nodes + node[:, leaf], -1)
        known, token = np.unique(tokens, return_inverse=True)
        first = int(len(known) > 0 and known[0] < 0)
        numbers = (token.reshape(tokens.shape) - first).astype(np.int32)
        return place.reshape(-1).astype(np.int32), leaf.astype(np.int32), numbers, len(known) - first

    def run(self) -> _State:
        """The best state within the budget."""
        best = self._state(np.full(len(self.leaf), len(self.ladder) - 1, np.int8))
        if not self.total or len(self.ladder) == 1:  # no items, or one alone
            return best
        first = self._pass(None)
        lesson: _State | None = None  # what the first state has learned from
        while self.passes < self.most and not self._is_enough():
            self.part = self.passes / PASSES
            state = self._pass(first)
            if self._rank(state) < self._rank(first):
                first, lesson = state, first
            else:
                break
        state = first if first.deleted <= self.budget else self._within_budget(first, lesson)
        return min(state, best, key=lambda s: s.loss)

    def _is_enough(self) -> bool:
        """Whether no further pass is to begin."""
        limit = self.options.time_limit
        self.expired = limit is not None and time.monotonic() - self.started > limit
        return self.expired or self.work * (self.passes + 1) > EFFORT * self.passes

    def loss_of(self, node: Nodes) -> float:
        """What it costs to publish each occurrence as its node."""
        if self.problem.price.name == "ncp":
            return local_ncp(self.problem.hierarchy, node)["ncp"]
        n = self.problem.hierarchy.n_nodes
        leaves = self.leaf.astype(np.int64) * (n + 1)
        pairs, times = np.unique(leaves + node[self._origin()] + 1, return_counts=True)
        leaf, token = pairs // (n + 1), pairs % (n + 1) - 1
        return Fates(leaf, token, times.astype(np.int64), leaf == token).info

    def _rank(self, state: _State) -> tuple[bool, float]:
        return state.deleted > self.budget, state.loss

    def nodes(self, rung: Rungs) -> Nodes:
        """What each occurrence is published as, -1 for nothing."""
        node = np.empty(len(rung), np.int32)
        node[self._origin()] = np.where(rung >= 0, self.ladder.node[rung, self.leaf], -1)
        return node

    def _origin(self) -> npt.NDArray[np.int64]:
        """Where each occurrence stands in the rows as they came."""
        begins = self.problem.origin.offsets[:-1][self.order] - self.baskets.offsets[:-1]
        return np.repeat(begins, self.baskets.lengths) + np.arange(len(self.leaf))

    def _state(self, rung: Rungs) -> _State:
        over_blocks(
            lambda a, b: take_lowest(self.baskets.offsets, self.ladder.node, self.leaf, rung, a, b),
            self.blocks,
            self.problem.threads,
        )
        times, cost = self._costs(rung)
        deleted = int(np.count_nonzero(rung < 0))
        return _State(rung, deleted, (float((times * cost).sum()) + deleted) / max(1, self.total))

    def _costs(self, rung: Rungs) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Per leaf and rung: how many occurrences stand there, and what each of them costs, a deletion being 1."""
        n_leaves, n_rungs = self.problem.hierarchy.n_leaves, len(self.ladder)
        there = rung >= 0
        key = self.leaf[there].astype(np.int64) * n_rungs + rung[there]
        times = np.bincount(key, minlength=n_leaves * n_rungs).reshape(n_leaves, n_rungs)
        return times, self._prices(self.ladder.node.T, times)

    def _costs_at(self, level: int, occurrences: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """What each of these costs if they are all that stands, on one rung."""
        leaf = self.leaf[occurrences]
        times = np.bincount(leaf, minlength=self.problem.hierarchy.n_leaves)
        costs: npt.NDArray[np.float64] = self._prices(self.ladder.node[level][:, None], times[:, None])[:, 0]
        return costs[leaf]

    def _prices(self, node: Nodes, times: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """What an occurrence of each leaf costs as a node, if so many of the leaf are published as that."""
        price = self.problem.price
        if price.name == "ncp":
            level = price.level[node] - price.level[: len(node), None]
            return np.where(node >= 0, level / price.deletion, 0.0)
        behind = np.bincount(node.ravel() + 1, times.ravel(), minlength=self.problem.hierarchy.n_nodes + 1)[1:]
        bits = np.log2(np.maximum(behind[node], 1) / np.maximum(times, 1))
        return np.where(node >= 0, bits, 0.0) * BIT / price.deletion

    def _pass(self, before: _State | None, dear: float = 1.0) -> _State:
        """From the leaves up, where a deletion costs `dear`."""
        self.passes += 1
        worth = np.sqrt(np.maximum(1, self.in_place))
        if before is not None:
            worth = worth * self._lost_when_taken(before.rung, dear)[self.leaf_of_place]
        worth = _weights(UNIT * worth / np.median(worth[self.in_place > 0]))[self.place]
        away = np.full(len(self.leaf), -1, np.int8)
        self._tell("taking away what makes sets rare")
        rung = self._settle(away, np.zeros_like(away), worth, is_firm=True)
        return self._state(self._returned(rung, dear))

    def _lost_when_taken(self, rung: Rungs, dear: float) -> npt.NDArray[np.float64]:
        """Per leaf, what an occurrence lost on average that does not stand as it is."""
        times, cost = self._costs(rung)
        lost = (times * cost)[:, 1:].sum(axis=1)
        taken = self.problem.occurrences - times[:, 0]
        gone = taken - times[:, 1:].sum(axis=1)
        mean: npt.NDArray[np.float64] = (lost + dear * gone + PRIOR) / (taken + PRIOR)
        return mean

    def _returned(self, rung: Rungs, dear: float) -> Rungs:
        """Let what is away return, level by level, where that costs less than a deletion that costs `dear`."""
        for level in range(1, len(self.ladder)):
            self._tell("publishing as categories what cannot stand")
            away = np.flatnonzero(rung < 0)
            away = away[(self.ladder.node[level] >= 0)[self.leaf[away]]]
            offer, worth = np.full_like(rung, -1), np.ones(len(rung), np.int32)
            offer[away] = level
            gain = dear - self._costs_at(level, away)
            offer[away[gain <= 0]] = -1
            away, gain = away[gain > 0], gain[gain > 0]
            if len(away):
                worth[away] = _weights(UNIT * gain * self._company(self.token[level, self.place[away]]))
                rung = self._settle(rung, offer, worth, is_firm=True)
        return rung

    def _cost_of(self, rung: Rungs) -> npt.NDArray[np.float64]:
        """What each occurrence costs on this rung, 0 where it has none."""
        _, cost = self._costs(rung)
        return np.where(rung >= 0, cost[self.leaf, rung], 0.0)

    def _company(self, token: Nodes) -> npt.NDArray[np.float64]:
        """How frequent the token of each occurrence is beside the others, as the square root."""
        there = np.bincount(token, minlength=self.n)
        scale: npt.NDArray[np.float64] = np.sqrt(there / max(1.0, float(np.median(there[there > 0]))))
        return scale[token]

    def _within_budget(self, first: _State, lesson: _State | None) -> _State:
        """The best state with no more deleted than is allowed, when the first, which learned from the lesson, deletes more."""
        states, over, low, high = [first], first, 1.0, DEARER[-1]
        for high in DEARER:
            states.append(self._pass(lesson, high))
            if states[-1].deleted <= self.budget or self._is_enough():
                break
            over, low = states[-1], high
        if states[-1].deleted > self.budget:
            for start in (first, over):
                ways = [start, *self._giving_way(start, (1.0, *DEARER))]
                states += ways[1:]
                if ways[-1].deleted > self.budget:
                    states.append(self._moved_up(ways[-1]))
            return self._mixed(states)
        for _ in range(NARROWINGS):
            if self._is_enough():
                break
            middle = (low + high) / 2
            states.append(self._pass(lesson, middle))
            if states[-1].deleted <= self.budget:
                high = middle
            else:
                over, low = states[-1], middle
        states += self._giving_way(over, (low, high))
        return self._mixed(states)

    def _giving_way(self, state: _State, prices: tuple[float, ...]) -> Iterator[_State]:
        """States in which less and less is deleted, at these prices for a deletion, until the budget is kept or the prices end.

        A price that changes nothing is not tried again.
        """
        idle = 0
        for dear in prices:
            for _ in range(GIVING_WAY):
                before, state = state, self._state(self._returned(self._given_way(state.rung, dear), dear))
                if state.is_like(before):
                    break
                yield state
                if state.deleted <= self.budget:
                    return
                idle = -1
            idle += 1
            if idle == IDLE and self.total >= MANY:
                return

    def _mixed(self, states: list[_State]) -> _State:
        """The best state within the budget; where parts of the rows are searched, each takes what is best for all of them.

        A part takes the state that costs it least where each of its deletions costs something extra: as little as keeps the budget.
        """
        best = min((state for state in states if state.deleted <= self.budget), key=lambda state: state.loss)
        if self.part_of_row is None:
            return best
        part = np.repeat(self.part_of_row, self.baskets.lengths)
        deleted, lost = (
            np.stack([np.bincount(part, figure(state.rung)) for state in states])
            for figure in (_is_deleted, self._lost)
        )
        every = np.arange(deleted.shape[1])
        low, high, chosen = 0.0, DEARER[-1], np.full(len(every), states.index(best))
        for _ in range(HALVINGS):
            extra = (low + high) / 2
            taken = np.argmin(lost + extra * deleted, axis=0)
            if deleted[taken, every].sum() <= self.budget:
                high, chosen = extra, taken
            else:
                low = extra
        mixed = self._state(np.choose(chosen[part], [state.rung for state in states]).astype(np.int8))
        return min(best, mixed, key=lambda state: state.loss)

    def _lost(self, rung: Rungs) -> npt.NDArray[np.float64]:
        """What each occurrence loses, a deleted one 1."""
        return np.where(rung >= 0, self._cost_of(rung), 1.0)

    def _given_way(self, rung: Rungs, dear: float) -> Rungs:
        """Offer what is away again, below the root, against what stands: leaves give way where that is cheaper."""
        high = max(1, len(self.ladder) - 2)
        level = np.where(self.ladder.node[high, self.leaf] >= 0, high, len(self.ladder) - 1)
        offer = np.where(rung < 0, level, -1).astype(np.int8)
        both = np.where(rung > 0, rung, offer)
        worth = dear - self._cost_of(both)
        offer[worth <= 0] = -1
        at_leaf = rung == 0
        worth[at_leaf] = self._lost_when_taken(rung, dear)[self.leaf[at_leaf]]
        self._tell("making room for what would be deleted")
        return self._settle(rung, offer, _weights(UNIT * worth), is_firm=False)

    def _moved_up(self, state: _State) -> _State:
        """Whole rows published higher: those that still miss something below the root first, then at it, until nothing has to go."""
        self.has_moved_rows = True
        for level in chain(range(1, len(self.ladder)), repeat(len(self.ladder) - 1)):
            state = self._state(self._raised(state.rung, level))
            if state.deleted <= self.budget:  # at the latest when every row stands at the root
                break
        return state

    def _raised(self, rung: Rungs, level: int) -> Rungs:
        """With whole rows at this level or above it, namely those from which something is missing, and what makes sets rare then taken."""
        self._tell("moving whole rows up")
        lengths, root = self.baskets.lengths, len(self.ladder) - 1
        row = np.repeat(np.arange(len(self.baskets)), lengths)
        rises = np.zeros(len(self.baskets), np.bool_)
        rises[row[rung < 0]] = True
        if level == root:  # the root must be in k rows of each part, too
            there = rises.copy()
            there[row[rung == root]] = True
            part = np.zeros(len(rises), np.int64) if self.part_of_row is None else self.part_of_row.astype(np.int64)
            whose = np.arange(len(rises)) if self.people is None else self.people
            person = part * (1 + whose.max(initial=0)) + whose
            _, one = np.unique(person[there], return_index=True)  # a row of each person who has it
            have = np.bincount(part[there][one], minlength=1 + part.max(initial=0))
            missing = np.where(have > 0, self.problem.k, 0) - have
            others = np.flatnonzero((lengths > 0) & ~np.isin(person, person[there]) & (missing[part] > 0))
            others = others[np.lexsort((self.order[others], lengths[others], part[others]))]
            others = others[np.sort(np.unique(person[others], return_index=True)[1])]
            first = np.searchsorted(part[others], part[others])
            rises[others[np.arange(len(others)) - first < missing[part[others]]]] = True
        higher = np.full(self.problem.hierarchy.n_leaves, root, np.int8)
        for r in range(root, level - 1, -1):
            higher[self.ladder.node[r] >= 0] = r
        up = rises[row] & (rung < higher[self.leaf])
        rung = np.where(up, higher[self.leaf], rung).astype(np.int8)
        return self._settle(rung, np.full_like(rung, -1), np.ones(len(rung), np.int32), is_firm=False)

    def _settle(self, rung: Rungs, offer: Rungs, worth: Nodes, *, is_firm: bool) -> Rungs:
        """Let stand of what is offered whatever the promise allows; what stands already stays, if it `is_firm`."""
        problem, baskets = self.problem, self.baskets
        unpriced = np.zeros(0, np.int64)  # nothing here asks what a place costs
        rows = TokenRows(
            baskets.offsets,
            self.tok,
            self.weight,
            unpriced,
            self.alive,
            problem.leaf_rows,
            unpriced,
            problem.k,
            problem.m,
            self.people,
        )
        offers = Offers(self.token, self.place, rung, offer, worth, is_firm)
        over_blocks(lambda a, b: lay_out(rows, offers, a, b), self.blocks, problem.threads)
        starts, of_token, places = rows_of_tokens(baskets.offsets, self.tok, self.n)
        rows = rows._replace(under=LeafRows(self.own_span, starts, of_token), places=places)
        support = np.diff(starts)
        rarity = np.empty(self.n, np.int32)
        rarity[np.argsort(-support, kind="stable")] = np.arange(self.n, dtype=np.int32)
        choice = Choice(rarity, np.ones(self.n, np.int32), 0)  # the weights say all
        every = not (is_firm and (rung >= 0).any())
        tokens = np.flatnonzero(support)
        if not every:
            new = np.flatnonzero((rung < 0) & (offer >= 0))
            tokens = np.flatnonzero(np.bincount(self.token[offer[new], self.place[new]]))
        if (
            every and self.part_of_row is not None
        ):  # most leaves are rare in a small part, and go whatever stands beside them
            held_by = support if self.people is None else _people_of_tokens(self.people[of_token], support)
            rare = (support > 0) & (held_by < problem.k)
            self.alive[places[np.repeat(rare, support)]] = False
            tokens = tokens[~rare[tokens]]
        # Small sets first: what they take away leaves few of the larger ones.
        for size in range(min(2, problem.m), problem.m + 1):
            self._take_away(rows._replace(m=size), about_all(tokens), support, choice, every)
        if not is_firm:
            tokens = np.unique(self.tok[~self.alive & (self.tok >= 0)])
        order = tokens[np.argsort(-support[tokens], kind="stable")].astype(np.int32)
        while len(back := put_back(rows, self.scratch, order, True)):
            order = order[self._stands_beside(rows, back)[order]]
        stands = np.empty_like(rung)
        over_blocks(lambda a, b: note_standing(rows, offers, stands, a, b), self.blocks, problem.threads)
        return stands

    def _stands_beside(self, rows: TokenRows, places: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Per token, whether it is in the row of one of these places: no other can return since they did."""
        is_beside = np.zeros(self.n, np.bool_)
        mark_beside(rows, places, is_beside)
        return is_beside

    def _take_away(
        self, rows: TokenRows, asked: Asked, support: npt.NDArray[np.int64], choice: Choice, first: bool
    ) -> None:
        """Round by round, until no set is rare."""
        while len(asked.tokens):

            def rare(a: int, b: int, asked: Asked = asked, first: bool = first) -> Any:
                try:
                    scratch = self.spare.pop()
                except IndexError:
                    scratch = self._new_scratch()
                before = int(scratch.work[0])
                found = find_rare(rows, scratch, asked, a, b, first)
                made = int(scratch.work[0]) - before
                self.spare.append(scratch)
                return *found, made

            parts = over_blocks(rare, _blocks(support[asked.tokens]), self.problem.threads)
            occ_row, occ = (np.concatenate([part[i] for part in parts]) for i in range(2))
            self.work += sum(part[2] for part in parts)
            gone = hitting_places(rows, self.scratch, occ_row, occ, choice)
            many = len(gone) > len(self.baskets) // 20
            asked = about_all(np.unique(self.tok[gone])) if many else neighbours(rows, gone)
            self.alive[gone] = False
            first = False

    def _tell(self, doing: str) -> None:
        self.options.tell(f"pass {self.passes}: {doing}", self.part)


def _alike_together(baskets: Baskets, part: npt.NDArray[Any] | None) -> npt.NDArray[np.int64]:
    """The rows of each part, those with the same commonest item one after the other, and among them those with the same next two."""
    support = baskets.supports()
    rank = np.empty(len(support) + 1, np.int64)
    rank[np.argsort(-support, kind="stable")] = np.arange(len(support))
    filled, last = np.flatnonzero(baskets.lengths), len(support)
    ranks, keys = rank[baskets.items], np.full((4, len(baskets)), last)
    if part is not None:
        keys[3] = part
    for key in keys[2::-1] if len(filled) else ():
        key[filled] = np.minimum.reduceat(ranks, baskets.offsets[:-1][filled])
        ranks[ranks == np.repeat(key, baskets.lengths)] = last
    return np.lexsort(keys)


def _by_person(people: npt.NDArray[np.int32], part: npt.NDArray[Any] | None) -> npt.NDArray[np.int64]:
    """The rows of each part by their people."""
    return np.lexsort((people,) if part is None else (people, part))


def _people_of_tokens(people: npt.NDArray[np.int32], support: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many people the rows of each token are of, from the people of its rows, one token's after the other's."""
    token = np.repeat(np.arange(len(support)), support)
    another = np.ones(len(people), np.bool_)
    another[1:] = (people[1:] != people[:-1]) | (token[1:] != token[:-1])
    return np.bincount(token[another], minlength=len(support))


def _blocks(work: npt.NDArray[np.integer]) -> list[tuple[int, int]]:
    """Parts for threads; so little work that a thread would cost more than it saves is one."""
    return even_blocks(work + 1.0, min(BLOCKS, 1 + int(work.sum()) // BLOCK))


def _is_deleted(rung: Rungs) -> npt.NDArray[np.float64]:
    return (rung < 0).astype(np.float64)


def _weights(worth: npt.NDArray[np.float64]) -> Nodes:
    return np.clip(np.rint(worth), 1, MOST).astype(np.int32)
