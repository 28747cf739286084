"""hybrid: generalize by node and delete by occurrence, under one price.

On real hierarchies a few rare combinations force whole branches upwards. Deleting the occurrences that make them costs 1
each, where generalizing the branch costs a little for every occurrence in it; often the first is far cheaper.

For a given cut, deletion goes in rounds: every transaction with rare itemsets loses a cheap set of tokens that hits
them all, which makes other itemsets rarer, so again, until none is left; then whatever can return without breaking the
promise returns. The search starts from the cut of `exact`, or from one at a single depth, and makes moves: a node of the
cut is split into its children, or a branch is closed into one node. A move is tried on the cleaned data itself: only rows
with an item below the node change, only itemsets with a changed token can become rare, and it is undone unless the loss
falls. So every state of the search keeps the promise, and a time limit returns the best so far. The answer is never worse
than what `exact` finds with the same budget.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.exact import exact
from shoal.algorithms.km.ground import Ground
from shoal.algorithms.recoding import Deletions, Options, Recoding
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.ncp import ncp
from shoal.records.baskets import Baskets

Move = tuple[int, bool]
"""A node, and whether the cut moves below it (it is split) or up to it (its branch is closed)."""

STARTS = 4
"""Cuts from which a search with a time limit sets out, one after the other; without one, the best alone."""
POLISHED = 24
"""Nodes around which deletions are decided anew at the end."""
LITTLE = 0.002
"""The search ends when a round of all moves gains less than this share of the loss."""
CLOSE = {True: 0.004, False: 0.02}
"""A split, and a closing, that adds less than this share of the loss at a quick look gets a thorough one, now and later."""


def hybrid(baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> Recoding:
    """A cut and deletions that keep the promise at a loss that no single move lowers; at most `suppress` is deleted."""
    started = time.monotonic()

    def expired() -> bool:
        return options.time_limit is not None and time.monotonic() - started > options.time_limit

    ground = Ground(baskets, guarantee, hierarchy, options.threads)
    total = int(ground.occurrences.sum())
    budget = int(options.suppress * total + 1e-9)
    rival = exact(baskets, guarantee, hierarchy, Options(options.suppress, options.time_limit, options.threads))
    without = ncp(rival.cut, ground.occurrences)["ncp"]
    best, tried = _search(ground, rival.cut, budget, options, expired)
    facts = {"moves": tried, "exact": without}
    if without * max(1, hierarchy.n_leaves * total) <= best.loss:
        return replace(rival, algorithm="hybrid", optimal=None, bound=None, facts=facts, notes=())
    return Recoding(Cut(hierarchy, best.node), baskets.vocabulary, "hybrid", facts=facts, deletions=best.deletions())


def _search(
    ground: Ground, rival: Cut, budget: int, options: Options, expired: Callable[[], bool]
) -> tuple[_State, int]:
    """The best state that splitting and closing finds from a few starts, and the number of moves tried."""
    height = ground.hierarchy.height
    tree = _Contracted(ground.hierarchy)
    scale = max(1, ground.hierarchy.n_leaves * int(ground.occurrences.sum()))
    starts: list[_State] = []
    # The cut of `exact` (what it drops stays, at the top level, until deletion decides), the root, then depth by depth.
    firsts = [np.where(rival.node < 0, tree.at_depth(1), tree.down[rival.node]).astype(np.int32)]
    firsts += [tree.at_depth(depth) for depth in range(height + 1)]
    for place, node in enumerate(firsts):
        options.tell(f"start {place + 1} of at most {len(firsts)}", 0.1 * place / len(firsts))
        state = _State(ground, tree, node)
        if state.deleted <= budget:
            starts.append(state)
            starts.sort(key=lambda s: s.loss)
            del starts[1 if options.time_limit is None else STARTS :]
        if place > 1 and (expired() or state.loss > 2 * starts[0].loss):
            break  # further down only more has to go
    best = starts[0]
    tried = 0
    for place, start in enumerate(starts):
        state = start
        while not expired():
            before = state.loss
            for move in state.moves():
                tried += 1
                state.try_move(move, budget)
                if expired():
                    break
            best = min(best, state, key=lambda s: s.loss)
            share = 0.1 + 0.85 * (place + 0.5) / len(starts)
            options.tell(f"{tried:,} moves tried, {best.loss / scale:.2%} lost", share)
            if before - state.loss <= LITTLE * before:
                break
            # What earlier moves deleted may not be needed any more: delete anew under the same cut, if that is better.
            fresh = _State(ground, tree, state.node)
            if fresh.deleted <= budget and fresh.loss < state.loss:
                fresh.last_try = state.last_try
                state = fresh
                best = min(best, state, key=lambda s: s.loss)
    if not expired():
        best.polish(budget)
    return best, tried


class _Contracted:
    """The hierarchy without nodes that cover the same leaves as their single child."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        h = self.hierarchy = hierarchy
        down = list(range(h.n_nodes))
        for v in range(h.n_leaves, h.n_nodes):
            if len(h.children[v]) == 1:
                down[v] = down[h.children[v][0]]
        self.down = np.array(down, np.int32)
        self.up = [-1] * h.n_nodes
        self.kids: list[list[int]] = [[] for _ in range(h.n_nodes)]
        parent = h.parent.tolist()
        for v in range(h.n_nodes):
            if down[v] == v:
                a = v
                while parent[a] >= 0 and down[parent[a]] == v:
                    a = parent[a]
                if parent[a] >= 0:
                    self.up[v] = down[parent[a]]
                    self.kids[down[parent[a]]].append(v)

    def at_depth(self, depth: int) -> npt.NDArray[np.int32]:
        """The cut at one depth: the node of each leaf."""
        h = self.hierarchy
        node = np.arange(h.n_leaves, dtype=np.int32)
        while (deep := h.depth[node] > depth).any():
            node[deep] = h.parent[node[deep]]
        return self.down[node]


class _State:
    """Rows under a cut from which as much has been deleted as the promise asks for.

    `loss` is NCP times leaves times occurrences, a whole number; `deleted` counts original occurrences.
    """

    def __init__(self, ground: Ground, tree: _Contracted, node: npt.NDArray[np.int32]) -> None:
        from shoal.kernels.deletion import token_rows
        from shoal.kernels.parallel import even_blocks, over_blocks

        self.ground, self.tree, self.node = ground, tree, node.copy()
        h, offsets, items = ground.hierarchy, ground.baskets.offsets, ground.baskets.items
        self.price = np.where(h.leaf_count > 1, h.leaf_count, 0)
        self.lost = h.n_leaves
        size = len(items) + len(ground.baskets)
        self.tok = np.full(size, -1, np.int32)
        self.weight = np.zeros(size, np.int32)
        self.alive = np.zeros(size, np.bool_)
        target = node[ground.leaf]
        over_blocks(
            lambda a, b: token_rows(offsets, items, target, self.tok, self.weight, self.alive, a, b),
            even_blocks(ground.baskets.lengths + 1.0, 16),
            ground.threads,
        )
        self.rarity = np.empty(h.n_nodes, np.int32)
        self.rarity[np.argsort(-ground.support, kind="stable")] = np.arange(h.n_nodes, dtype=np.int32)
        self.hits = np.zeros(h.n_nodes, np.int32)
        self.by_token = np.zeros(h.n_nodes, np.int32)
        self.wanted = np.zeros(len(ground.baskets), np.bool_)
        self.counters = self._counters()
        self.last_try: dict[Move, int] = {}
        self.loss = int((self.price[target] * ground.baskets.supports()).sum())
        self.deleted = 0
        self._clean()

    def _counters(self) -> tuple[npt.NDArray[Any], ...]:
        """count, slot and touched per node, a stamp per row, a stamp per node."""
        n, rows = self.ground.hierarchy.n_nodes, len(self.ground.baskets)
        return (
            np.zeros(n, np.int32),
            np.zeros(n, np.int64),
            np.zeros(n, np.int32),
            np.zeros(rows + 1, np.int32),
            np.zeros(n + 1, np.int32),
        )

    def _clean(self) -> None:
        """Delete in rounds until nothing is rare, then put back what can return."""
        from shoal.kernels.deletion import find_rare, hitting_places, neighbours
        from shoal.kernels.parallel import even_blocks, over_blocks

        g, h, offsets = self.ground, self.ground.hierarchy, self.ground.baskets.offsets
        tokens = np.unique(self.node[g.leaf])
        everything = np.full(len(tokens), -1, np.int64)
        asked = (tokens, everything, everything, np.zeros(0, np.int32))
        first = True
        while len(asked[0]):

            def rare(a: int, b: int, asked: Any = asked, first: bool = first) -> Any:
                return find_rare(  # type: ignore[call-arg]
                    offsets,
                    self.tok,
                    self.alive,
                    h.span,
                    *g.leaf_rows,
                    *asked,
                    a,
                    b,
                    first,
                    g.k,
                    g.m,
                    *self._counters(),
                )

            found = over_blocks(rare, even_blocks(g.support[asked[0]] + 1.0, 16), g.threads)
            rows, members = (np.concatenate([f[part] for f in found]) for part in range(2))
            gone = hitting_places(
                rows, members, g.m, offsets, self.tok, self.weight, self.rarity, self.hits, self.by_token
            )
            if len(gone) > len(g.baskets) // 20:
                changed = np.unique(self.tok[gone])
                everything = np.full(len(changed), -1, np.int64)
                asked = (changed, everything, everything, np.zeros(0, np.int32))
            else:
                asked = neighbours(gone, offsets, self.tok, self.alive)
            self.alive[gone] = False
            self._account(gone, 1)
            first = False
        self._put_back(tokens[np.argsort(-g.support[tokens], kind="stable")])

    def _put_back(self, tokens: npt.NDArray[np.int32]) -> None:
        """Until no single deleted occurrence could return."""
        from shoal.kernels.deletion import put_back

        g = self.ground
        everywhere = np.zeros(0, np.bool_)
        back = None
        while self.deleted and (back is None or len(back)):
            back = put_back(
                g.baskets.offsets,
                self.tok,
                self.alive,
                g.hierarchy.span,
                *g.leaf_rows,
                tokens,
                everywhere,
                g.k,
                g.m,
                *self.counters,
            )
            self._account(back, -1)

    def _account(self, places: npt.NDArray[np.int64], sign: int) -> None:
        weight = self.weight[places].astype(np.int64)
        self.loss += sign * int((weight * (self.lost - self.price[self.tok[places]])).sum())
        self.deleted += sign * int(weight.sum())

    def moves(self) -> list[Move]:
        """Every node of the cut that can be split, every branch that can be closed; what costs most first."""
        g, tree = self.ground, self.tree
        current = np.unique(self.node[g.leaf]).tolist()
        splits = [(v, True) for v in current if tree.kids[v]]
        closings = [(p, False) for p in sorted({tree.up[v] for v in current} - {-1})]
        return sorted(splits + closings, key=lambda move: -int(g.cost[move[0]]))

    def try_move(self, move: Move, budget: int) -> bool:
        """Make the move if it lowers the loss within the budget.

        A quick look comes first: the move on the rows as they are. Only if that comes close, deletions in these rows are
        decided anew.
        """
        if not self._fits(move):
            return False
        close = int(CLOSE[move[1]] * self.loss)
        if self.last_try.get(move, 0) > close:
            return False
        quick, _ = self._moved(move, budget, anew=False, keep=False, close=close)
        self.last_try[move] = quick
        if quick > close:
            return False
        return any(
            self._moved(move, budget, anew=anew, keep=True)[1] for anew in ((True, False) if quick < 0 else (True,))
        )

    def polish(self, budget: int) -> None:
        """Decide the deletions anew around the nodes that lose most by them, where that helps."""
        dead = np.flatnonzero(~self.alive & (self.tok >= 0))
        lost = np.bincount(self.tok[dead], self.weight[dead], minlength=self.ground.hierarchy.n_nodes)
        for v in np.argsort(-lost, kind="stable")[:POLISHED].tolist():
            if lost[v] and self.node[self.ground.hierarchy.leaf_order[self.ground.hierarchy.span[v, 0]]] == v:
                self._moved((v, False), budget, anew=True, keep=True)

    def _fits(self, move: Move) -> bool:
        """Whether the cut still lies where the move starts from; an earlier one may have changed it."""
        h, (v, split) = self.ground.hierarchy, move
        at = int(self.node[h.leaf_order[h.span[v, 0]]])
        return at == v if split else bool(h.leaf_count[at] < h.leaf_count[v])

    def _moved(self, move: Move, budget: int, *, anew: bool, keep: bool, close: int = 0) -> tuple[int, bool]:
        """What the move does to the loss, and whether it was made."""
        from shoal.kernels.deletion import try_move

        g, h, (v, split) = self.ground, self.ground.hierarchy, move
        parts = np.array([c for c in self.tree.kids[v] if g.support[c]] if split else [v], np.int32)
        stays, loss, gone = try_move(  # type: ignore[call-arg]
            g.baskets.offsets,
            self.tok,
            self.weight,
            self.alive,
            h.span,
            *g.leaf_rows,
            v,
            parts,
            self.price,
            self.lost,
            budget,
            self.deleted,
            self.rarity,
            g.k,
            g.m,
            *self.counters,
            self.hits,
            self.by_token,
            self.wanted,
            anew,
            keep,
            close,
        )
        if stays:
            self.loss += int(loss)
            self.deleted += int(gone)
            for part in self.tree.kids[v] if split else [v]:
                lo, hi = h.span[part]
                self.node[h.leaf_order[lo:hi]] = part
        return int(loss), bool(stays)

    def deletions(self) -> Deletions:
        """What has been deleted, once everything that can return has."""
        self._put_back(np.unique(self.node[self.ground.leaf]))
        offsets = self.ground.baskets.offsets
        ended = self.tok < 0
        starts = offsets[:-1] + np.arange(len(offsets) - 1)
        # Places behind the end of a row are left over from longer versions of it.
        ends = np.flatnonzero(ended)
        first_end = ends[np.searchsorted(ends, starts)]
        places = np.flatnonzero(~self.alive & ~ended)
        row = np.searchsorted(starts, places, side="right") - 1
        inside = places < first_end[row]
        return Deletions(row[inside].astype(np.int64), self.tok[places[inside]])
