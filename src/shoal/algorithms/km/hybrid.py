"""hybrid: generalize by node and delete by occurrence, under one price.

On real hierarchies a few rare combinations force whole branches upwards. Deleting the occurrences that make them costs a
deletion each, where generalizing the branch costs a little for every occurrence in it; often the first is far cheaper.

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
from shoal.algorithms.km.lower_bound import least_loss
from shoal.algorithms.km.problem import Problem, cut_loss
from shoal.algorithms.recoding import Deletions, Options, Recoding
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.itemsets.deletion import (
    Asked,
    Choice,
    Prices,
    about_all,
    find_rare,
    hitting_places,
    neighbours,
    new_scratch,
    put_back,
    try_move,
)
from shoal.kernels.parallel import even_blocks, over_blocks
from shoal.records.baskets import Baskets

Move = tuple[int, bool]
"""A node, and whether the cut moves below it (it is split) or up to it (its branch is closed)."""

STARTS = 4
"""Cuts from which a search sets out, one after the other."""
SMALLER = 4
"""Each search is made with the whole budget for deletions and with one so many times smaller."""
EFFORT = 7e9
"""Steps of the kernels after which a search without a time limit ends: some 25 seconds."""
FURTHER = 2e8
"""Steps up to which a search without a time limit sets out on a further climb."""
BOUNDING = 0.1
"""Steps for the lower bound, for each step of the search."""
QUICK = 1e7
"""Steps that the lower bound may take in any case."""
POLISHED = 24
"""Nodes around which deletions are decided anew at the end."""
HOPELESS = 1.5
"""A start is given up once this many times the budget is deleted: not that much can be put back."""
DEARER = 1
"""While more is deleted than the budget allows, a deletion costs so many times its price on top."""
DEAR = 16
"""What the rarest token weighs where frequent ones weigh more."""
AGAIN = 0.9
"""A node that got a thorough look gets another when the loss has fallen to this share of what it was then."""
HUGE = 0.2
"""A move that lowers the loss by this share at a quick look is made without a thorough one."""
LITTLE = 0.002
"""The search ends when a round of all moves gains less than this share of the loss."""
CLOSE = {True: 0.004, False: 0.01}
"""A split, and a closing, that adds less than this share of the loss at a quick look gets a thorough one, now and later."""


def hybrid(baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> Recoding:
    """A cut and deletions that keep the promise at a loss that no single move lowers; at most `suppress` is deleted."""
    started = time.monotonic()

    def is_late() -> bool:
        return options.time_limit is not None and time.monotonic() - started > options.time_limit

    problem = Problem(baskets, guarantee, hierarchy, options.threads, price=options.price)
    total = int(problem.occurrences.sum())
    budget = int(options.suppress * total + 1e-9)
    rival = exact(baskets, guarantee, hierarchy, replace(options, progress=None))
    without = cut_loss(problem, rival.cut.node)
    search = _search(problem, rival.cut, budget, options, is_late)
    best = search.best
    facts = {"moves": search.tried, "exact": without}
    hurried = is_late()
    bound = least_loss(problem, max(QUICK, BOUNDING * int(search.work[0])))
    if without <= problem.price.share(best.loss, total):
        return replace(rival, algorithm="hybrid", optimal=None, bound=bound, facts=facts, notes=(), hurried=hurried)
    return Recoding(
        Cut(hierarchy, best.node),
        baskets.vocabulary,
        best.deletions(),
        algorithm="hybrid",
        bound=bound,
        facts=facts,
        hurried=hurried,
    )


def deletions_under(cut: Cut, problem: Problem) -> Deletions:
    """What has to go where the cut is given: a cheap set of single occurrences, none of which could return."""
    tree = _Contracted(problem.hierarchy)
    return _State(problem, tree, tree.down[cut.node], np.zeros(1, np.int64), float("inf")).deletions()


def _search(problem: Problem, rival: Cut, budget: int, options: Options, is_late: Callable[[], bool]) -> _Search:
    """Splitting and closing, to the end.

    From the most promising start with the whole budget first, then with a smaller one (the larger leads some searches astray),
    then from the next start: until all are tried or, without a time limit, until enough work is done.
    """
    search = _Search(problem, _Contracted(problem.hierarchy), options, is_late)
    starts = search.starts(rival, budget)
    climbs = [(start, allowed) for start in starts for allowed in dict.fromkeys((budget, budget // SMALLER))]
    for place, (start, allowed) in enumerate(climbs):
        if place and (is_late() or search.has_done(FURTHER)):
            break
        search.climb(start, allowed, 0.1 + 0.8 * place / len(climbs))
    search.best.polish(budget, search.is_over)
    return search


class _Search:
    """The best state so far, and what it took to find it."""

    best: _State

    def __init__(self, problem: Problem, tree: _Contracted, options: Options, is_late: Callable[[], bool]) -> None:
        self.problem, self.tree, self.options, self.is_late = problem, tree, options, is_late
        self.tried = 0
        self.work = np.zeros(1, np.int64)

    def has_done(self, effort: float = EFFORT) -> bool:
        """Whether a search without a time limit has done so much work.

        Work is counted in steps of the kernels, not in seconds: the answer does not depend on the machine.
        """
        return self.options.time_limit is None and bool(self.work[0] > effort)

    def is_over(self) -> bool:
        return self.is_late() or self.has_done()

    def starts(self, rival: Cut, budget: int) -> list[npt.NDArray[np.int32]]:
        """A few cuts that need no more deletions than the budget allows, the best first."""
        h, tree = self.problem.hierarchy, self.tree
        states: list[_State] = []
        # The cut of `exact` (what it drops stays, at the top level, until deletion decides), the root, then depth by depth.
        firsts = [np.where(rival.node < 0, tree.at_depth(1), tree.down[rival.node]).astype(np.int32)]
        firsts += [tree.at_depth(depth) for depth in range(h.height + 1)]
        for place, node in enumerate(firsts):
            self.options.tell(f"start {place + 1} of at most {len(firsts)}", 0.1 * place / len(firsts))
            state = self.state(node, HOPELESS * budget)
            if state.clean:
                states.append(state)
                states.sort(key=lambda s: s.loss)
            if place > 1 and (self.is_late() or not state.clean or state.loss > 2 * states[0].loss):
                break  # further down only more has to go
        self.best = next(state for state in states if state.deleted <= budget)
        del states[STARTS:]
        return list({state.node.tobytes(): state.node.copy() for state in states}.values())

    def state(self, node: npt.NDArray[np.int32], most: float = float("inf")) -> _State:
        return _State(self.problem, self.tree, node, self.work, most)

    def climb(self, start: npt.NDArray[np.int32], budget: int, share: float) -> None:
        """Make moves from a start until a round of them gains little."""
        own = self.best.deleted <= budget and np.array_equal(start, self.best.node)
        state = self.best if own else self.state(start)
        if state.deleted > HOPELESS * budget:
            return
        dear = False
        while not self.is_over():
            # Where a round ended over the budget, deletions are dearer in the next, so that moves which save some pay off.
            state.charge(self.problem.price.deletion * DEARER if dear else 0)
            before = state.loss
            for move in state.moves():
                self.tried += 1
                state.try_move(move, budget)
                if self.is_over() or (state.extra and state.deleted <= budget):
                    break
            self._keep(state, budget, share)
            if self.is_over() or ((dear or state.deleted <= budget) and before - state.loss <= LITTLE * before):
                break
            dear = state.deleted > budget
            # What earlier moves deleted may not be needed any more: delete anew under the same cut, if that is better.
            fresh = self.state(state.node)
            fresh.charge(state.extra)
            if fresh.deleted <= max(budget, state.deleted) and fresh.loss < state.loss:
                fresh.last_try, fresh.last_look = state.last_try, state.last_look
                state = fresh
                self._keep(state, budget, share)

    def _keep(self, state: _State, budget: int, share: float) -> None:
        if state.deleted <= budget:
            state.charge(0)
            self.best = min(self.best, state, key=lambda s: s.loss)
        lost = self.problem.price.share(self.best.loss, int(self.problem.occurrences.sum()))
        self.options.tell(f"{self.tried:,} moves tried, {lost:.2%} lost", share, best=lost)


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


def _choice(problem: Problem) -> Choice:
    """Which tokens of a row go.

    Of pairs, those that hit most for the items they stand for, and among equals the frequent one, whose pairs are seldom near the limit.
    Of larger sets that is wrong where much is deleted: many sets around a frequent token are near the limit, so that each loss
    makes others rare, while a rare token is in most of the rare sets anyway. There frequent tokens weigh more, and those that
    cost much as they are published weigh less. (Diabetes-130, m = 3: 27% of the information lost instead of 30%, in half the time. For
    pairs it is worse, 12% instead of 11%, and by NCP, where hardly anything is deleted, 4.3% instead of 4.1%.)
    """
    n = problem.hierarchy.n_nodes
    rarity = np.empty(n, np.int32)
    rarity[np.argsort(-problem.support, kind="stable")] = np.arange(n, dtype=np.int32)
    if problem.m <= 2 or problem.price.name == "ncp":
        return Choice(rarity, np.ones(n, np.int32), 0)
    dear = np.rint(DEAR * np.maximum(1, problem.support) ** 0.25).astype(np.int32)
    return Choice(rarity, dear, problem.price.deletion)


class _State:
    """Rows under a cut from which as much has been deleted as the promise asks for.

    `loss` is what all occurrences cost together, a whole number; `deleted` counts original occurrences.
    """

    def __init__(
        self, problem: Problem, tree: _Contracted, node: npt.NDArray[np.int32], work: npt.NDArray[np.int64], most: float
    ) -> None:
        self.problem, self.tree, self.node = problem, tree, node.copy()
        h = problem.hierarchy
        level = problem.price.level
        self.prices = Prices(level, level[h.leaf_order], problem.price.deletion, _choice(problem))
        self.rows = problem.token_rows(self.node)
        self.work = work
        self.scratch = new_scratch(h.n_nodes, len(problem.baskets), problem.m, problem.people)._replace(work=work)
        self.last_try: dict[Move, int] = {}
        self.last_look: dict[int, int] = {}
        self.loss = problem.price.of_cut(self.node, problem.occurrences)
        self.deleted = 0
        self.extra = 0
        self.clean = self._cleaned(most)

    def _cleaned(self, most: float) -> bool:
        """Delete in rounds until nothing is rare, then put back what can return; given up when more than `most` is gone."""
        g, rows = self.problem, self.rows
        tokens = np.unique(self.node[g.leaf])
        asked = about_all(tokens)
        first = True
        while len(asked.tokens):

            def rare(a: int, b: int, asked: Asked = asked, first: bool = first) -> Any:
                scratch = new_scratch(g.hierarchy.n_nodes, len(g.baskets), g.m, g.people)
                return *find_rare(rows, scratch, asked, a, b, first), int(scratch.work[0])

            parts = over_blocks(rare, even_blocks(g.support[asked.tokens] + 1.0, 16), g.threads)
            occ_row, occ = (np.concatenate([part[i] for part in parts]) for i in range(2))
            self.work += sum(part[2] for part in parts)
            gone = hitting_places(rows, self.scratch, occ_row, occ, self.prices.choice)
            many = len(gone) > len(g.baskets) // 20
            asked = about_all(np.unique(rows.tok[gone])) if many else neighbours(rows, gone)
            rows.alive[gone] = False
            self._account(gone, 1)
            first = False
            if self.deleted > most:
                return False
        self._put_back(tokens[np.argsort(-g.support[tokens], kind="stable")])
        return True

    def charge(self, extra: int) -> None:
        """Let every deletion cost so much more than its price."""
        if extra == self.extra:
            return
        self.loss += (extra - self.extra) * self.deleted
        self.prices = self.prices._replace(lost=self.problem.price.deletion + extra)
        self.extra = extra
        self.last_try.clear()
        self.last_look.clear()

    def _put_back(self, tokens: npt.NDArray[np.int32]) -> None:
        """Until no single deleted occurrence could return."""
        back = None
        while self.deleted and (back is None or len(back)):
            back = put_back(self.rows, self.scratch, tokens, True)
            self._account(back, -1)

    def _account(self, places: npt.NDArray[np.int64], sign: int) -> None:
        weight = self.rows.weight[places].astype(np.int64)
        self.loss += sign * int((weight * self.prices.lost - self.rows.cost[places]).sum())
        self.deleted += sign * int(weight.sum())

    def moves(self) -> list[Move]:
        """Every node of the cut that can be split, every branch that can be closed; what costs most first."""
        g, tree = self.problem, self.tree
        current = np.unique(self.node[g.leaf]).tolist()
        splits = [(v, True) for v in current if tree.kids[v]]
        closings = [(p, False) for p in sorted({tree.up[v] for v in current} - {-1})]
        return sorted(splits + closings, key=lambda move: -int(g.cost[move[0]]))

    def try_move(self, move: Move, budget: int) -> bool:
        """Make the move if it lowers the loss within the budget.

        A quick look comes first: the move on the rows as they are. Only if that comes close, deletions in these rows are
        decided anew; if it gains much, it is made as it is, and left to the next round to refine.
        """
        if not self._fits(move):
            return False
        close = int(CLOSE[move[1]] * self.loss)
        if self.last_try.get(move, 0) > close:
            return False
        quick, made = self._moved(move, budget, anew=False, close=close)
        self.last_try[move] = quick
        if quick > close or made:
            return made
        thorough = self.last_look.get(move[0], self.loss / AGAIN) * AGAIN >= self.loss
        if thorough:
            self.last_look[move[0]] = self.loss
            if self._moved(move, budget, anew=True)[1]:
                return True
        return quick < 0 and self._moved(move, budget, anew=False)[1]

    def polish(self, budget: int, is_over: Callable[[], bool]) -> None:
        """Decide the deletions anew around the nodes that lose most by them, where that helps."""
        rows = self.rows
        dead = np.flatnonzero(~rows.alive & (rows.tok >= 0))
        lost = np.bincount(rows.tok[dead], rows.weight[dead], minlength=self.problem.hierarchy.n_nodes)
        for v in np.argsort(-lost, kind="stable")[:POLISHED].tolist():
            if is_over():
                break
            if lost[v] and self.node[self.problem.hierarchy.leaf_order[self.problem.hierarchy.span[v, 0]]] == v:
                self._moved((v, False), budget, anew=True)

    def _fits(self, move: Move) -> bool:
        """Whether the cut still lies where the move starts from; an earlier one may have changed it."""
        h, (v, split) = self.problem.hierarchy, move
        at = int(self.node[h.leaf_order[h.span[v, 0]]])
        return at == v if split else bool(h.leaf_count[at] < h.leaf_count[v])

    def _moved(self, move: Move, budget: int, *, anew: bool, close: int | None = None) -> tuple[int, bool]:
        """What the move does to the loss, and whether it was made; a quick look only, if it says what is `close`."""
        g, h, (v, split) = self.problem, self.problem.hierarchy, move
        parts = np.array([c for c in self.tree.kids[v] if g.support[c]] if split else [v], np.int32)
        at_most = -1 if close is None else -int(HUGE * self.loss) - 1
        stays, loss, gone = try_move(
            self.rows,
            self.scratch,
            self.prices,
            v,
            parts,
            budget - self.deleted,
            anew,
            close is not None,
            close or 0,
            at_most,
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
        self._put_back(np.unique(self.node[self.problem.leaf]))
        offsets, tok, alive = self.rows.offsets, self.rows.tok, self.rows.alive
        ended = tok < 0
        starts = offsets[:-1] + np.arange(len(offsets) - 1)
        # Places behind the end of a row are left over from longer versions of it.
        ends = np.flatnonzero(ended)
        first_end = ends[np.searchsorted(ends, starts)]
        places = np.flatnonzero(~alive & ~ended)
        row = np.searchsorted(starts, places, side="right") - 1
        inside = places < first_end[row]
        row, node = row[inside].astype(np.int64), tok[places[inside]]
        if self.problem.order is None:
            return Deletions(row, node)
        row = self.problem.order[row]
        order = np.argsort(row, kind="stable")
        return Deletions(row[order], node[order])
