"""The integer program behind `exact`: which nodes can stay open, at the largest gain.

A variable is an inner node, closed when the cut lies at or above it; with dropping also one for each top-level branch in place of the root,
closed when the branch is dropped. Rare sets say which of them cannot be open together: pairs (conflicts) and larger families
(clashes). Weights are what the cut gains when it moves from a node down to its children.

A program falls into parts that no conflict connects. Each goes first to a branch and bound of our own (`kernels.itemsets.open_sets`),
which proves programs with many conflicts in milliseconds; what it does not prove soon goes to SciPy's HiGHS, with the conflicts
as cliques, which is good where conflicts are few; and what that gives up goes back. Work is counted, not time, so that the
answer is the same everywhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.problem import Counts
from shoal.kernels.itemsets.conflicts import Relations
from shoal.kernels.itemsets.open_sets import (
    BEST,
    LEVEL,
    NO_LIMIT,
    STEPS,
    Bits,
    OpenNodes,
    Search,
    bit_rows,
    cliques,
    forced_nodes,
    most_possible,
    new_search,
    search_on,
    try_order,
)

SCALE = 1e7
"""The objective at the root for HiGHS, which proves optima to 1e-6 in absolute terms: this makes it 1e-13 of the whole."""
QUICK = 3e7
"""Steps of our own search before HiGHS is asked, ..."""
SLICE = 1e8
"""... between two looks at the clock, ..."""
LONG = 5e8
"""... and for one part of a program in all, to begin with."""
PER_STEP = 6
"""Steps of a walk over rows that one of them takes as long as."""
ENTRIES = 60_000
"""Entries of the matrix beyond which HiGHS is not asked, to begin with, ..."""
NODES = 500
"""... the nodes of its search tree that it may look at, ..."""
PER_ENTRY = 100_000
"""... and the steps that count for an entry at the first node; at the others, a tenth."""
MOST_TRIALS = 2000
"""Nodes beyond which it is not tried which of them must be open or closed."""
LARGEST = 8192
"""Nodes beyond which a program has no matrix of conflicts."""

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Expired(Exception):  # noqa: N818 - an event, not an error
    """The time or the effort that a search may take is used up."""


@dataclass
class Effort:
    """Steps of the kernels, counted; with a time limit the clock decides instead."""

    most: float
    seconds: float | None
    started: float
    steps: float = 0.0

    def check(self, _: float = 0.0) -> None:
        """Raises when time is up."""
        if self.seconds_left is not None and self.seconds_left < 0:
            raise Expired

    def spend(self, steps: float) -> None:
        """Raises when that was the last."""
        self.steps += steps
        self.check()
        if self.seconds is None and self.steps > self.most:
            raise Expired

    @property
    def seconds_left(self) -> float | None:
        return None if self.seconds is None else self.seconds - (time.monotonic() - self.started)


@dataclass(frozen=True, eq=False)
class Answer:
    """The best cut down to some depth that is known, and whether no better one was left out."""

    node: npt.NDArray[np.int32]
    is_proven: bool


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of some variables; whatever lies above one comes before it."""

    program: Program
    free: Ints
    parent: Ints
    """The place of the variable above each, or -1."""
    below: Flags
    conflict: Flags

    def relations(self, tokens: Ints) -> Relations:
        """For a walk over sets of these nodes."""
        above = self.places[self.program.above[tokens]].astype(np.int32)
        return Relations(above, bit_rows(self.below), bit_rows(self.conflict))

    @property
    def places(self) -> Ints:
        """Per variable, its place among these, or -1; the last entry is -1 too."""
        place = np.full(len(self.program.price) + 1, -1, np.int64)
        place[self.free] = np.arange(len(self.free))
        return place

    @property
    def clashes(self) -> Ints:
        """The clashes of which no two members conflict and none must be closed, by places."""
        members = self.program.clashes
        inside = members >= 0
        at = np.where(inside, self.places[members], -1)
        live = ~((at < 0) & inside).any(axis=1)
        for i in range(at.shape[1]):
            for j in range(i):
                live &= ~(
                    inside[:, i] & inside[:, j] & (self.conflict[at[:, i], at[:, j]] if len(self.free) else False)
                )
        return at[live]


class Program:
    """What is known about the nodes of a problem, and the best cut by it.

    Variable v < n_nodes is inner node v. Without dropping, the root is the variable above all top-level nodes; with it, the
    variable above top-level node v is numbered n_nodes + its place among them.
    """

    def __init__(self, problem: Counts, budget: int) -> None:
        h = problem.hierarchy
        self.problem, self.hierarchy, self.budget = problem, h, budget
        self.dropping = budget > 0
        self.bound = 0.0
        """No cut costs less."""
        self.watch: Callable[[], None] = lambda: None
        """Called whenever more is known."""
        top = np.array(h.top, np.int64)
        n = h.n_nodes + (len(top) if self.dropping else 0)
        self.above = np.full(h.n_nodes, -1, np.int64)
        """Per node, the variable above it."""
        self.above[:] = problem.parent
        # What the cut gains in cost when it moves from a node's children up to it.
        self.price = np.zeros(n, np.int64)
        self.price[: h.n_nodes] = problem.cost
        np.subtract.at(self.price, problem.parent[:-1], problem.cost[:-1])
        self.price[: h.n_leaves] = 0
        self.dropped = np.zeros(n, np.int64)
        """Per variable, the occurrences that are dropped when it closes."""
        self.depth = np.zeros(n, np.int64)
        self.depth[: h.n_nodes] = h.depth
        self.parent = np.full(n, -1, np.int64)
        self.parent[: h.n_nodes] = problem.parent
        self.is_closed = np.zeros(n, np.bool_)
        """What must be closed."""
        self.is_needed = np.zeros(n, np.bool_)
        """What is open in every cut that costs no more than the best known."""
        self.was_open = np.zeros(n, np.bool_)
        """What the last answer had open."""
        self.pairs = np.empty(0, np.int64)
        """Conflicts, as first * n + second, first < second."""
        self.clashes: npt.NDArray[np.int32] = np.empty((0, max(3, problem.m)), np.int32)
        if self.dropping:
            self.above[top] = self.parent[top] = h.n_nodes + np.arange(len(top))
            self.dropped[h.n_nodes :] = h.sums(problem.occurrences)[top]
            # Per node, the place of the top-level node that it lies under.
            self.branch = np.searchsorted(h.span[top, 1], h.span[:, 0], side="right")
            self.price[h.root] = 0
        rare = np.flatnonzero((problem.support > 0) & (problem.support < problem.k))
        self.close(self.above[rare[rare != h.root]])

    @property
    def size(self) -> int:
        """How many conflicts and clashes are known."""
        return len(self.pairs) + len(self.clashes)

    def close(self, variables: Ints) -> None:
        """These must be closed, and so must everything below them."""
        if len(variables) == 0:
            return
        self.is_closed[variables] = True
        parent, closed = self.parent.tolist(), self.is_closed.tolist()
        for v in range(self.hierarchy.n_nodes - 1, -1, -1):
            if parent[v] >= 0 and closed[parent[v]]:
                closed[v] = True
        self.is_closed = np.array(closed)

    def free(self, depth: int) -> Ints:
        """The variables above nodes of at most this depth that need not be closed; whatever lies above one comes before it."""
        inner = np.arange(len(self.price)) >= self.hierarchy.n_leaves
        free: Ints = np.flatnonzero(inner & ~self.is_closed & (self.depth < depth))
        if self.dropping:
            free = free[free != self.hierarchy.root]
            return free[np.lexsort((free, self.depth[free], free < self.hierarchy.n_nodes))]
        return free[np.lexsort((free, self.depth[free]))]

    def tokens(self, depth: int) -> Ints:
        """The nodes that a cut down to this depth may publish if it costs no more than the best known."""
        h = self.hierarchy
        is_free = np.zeros(len(self.price) + 1, np.bool_)
        is_free[self.free(depth)] = True
        may = is_free[self.above] & (h.depth <= depth) & (self.problem.support > 0) & ~self.is_needed[: h.n_nodes]
        return np.flatnonzero(may)

    def add_sets(self, sets: npt.NDArray[np.int32]) -> None:
        """Of the nodes above the members of each of these rare sets, not all can be open."""
        h, pairs, clashes = self.hierarchy, [], []
        for nodes in sets.tolist():
            needs = sorted({int(self.above[v]) for v in nodes if v >= 0})
            # Below the variable of a branch lies what lies below its top-level node.
            spans = [h.span[h.top[v - h.n_nodes] if v >= h.n_nodes else v].tolist() for v in needs]
            least = [
                v
                for v, (lo, hi) in zip(needs, spans, strict=True)
                if not any(
                    u != v and lo <= a and b <= hi and self._is_above(v, u)
                    for u, (a, b) in zip(needs, spans, strict=True)
                )
            ]
            if len(least) <= 2:
                pairs.append((least[0], least[-1]))
            else:
                clashes.append(least + [-1] * (self.clashes.shape[1] - len(least)))
        self.add(
            np.array(pairs, np.int64).reshape(-1, 2), np.array(clashes, np.int32).reshape(-1, self.clashes.shape[1])
        )

    def _is_above(self, v: int, u: int) -> bool:
        while u >= 0 and u != v:
            u = int(self.parent[u])
        return u == v

    def add(self, pairs: Ints, clashes: npt.NDArray[np.int32]) -> None:
        """Variables that cannot be open together; a pair of one with itself must be closed."""
        self.close(pairs[pairs[:, 0] == pairs[:, 1], 0])
        pairs = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
        if len(pairs):
            self.pairs = np.union1d(self.pairs, pairs[:, 0] * len(self.price) + pairs[:, 1])
        if len(clashes):
            wide = np.full((len(clashes), self.clashes.shape[1]), -1, np.int32)
            wide[:, : clashes.shape[1]] = clashes
            self.clashes = np.unique(np.concatenate((self.clashes, wide)), axis=0)

    def knowledge(self, depth: int, all_of_them: bool = True) -> Known:
        """What is known of the free variables, or of those alone that conflict or clash, after closing what must be."""
        while True:
            free = self.free(depth)
            place = self._places(free)
            parent = np.where(self.parent[free] >= 0, place[self.parent[free]], -1)
            first, second = (place[v] for v in np.divmod(self.pairs, len(self.price)))
            there = (first >= 0) & (second >= 0)
            first, second = first[there], second[there]
            if not all_of_them:
                free, parent, number = self._involved(free, parent, first, second)
                first, second = number[first], number[second]
            below, conflict = np.eye(len(free), dtype=np.bool_), np.zeros((len(free), len(free)), np.bool_)
            above = parent.tolist()
            for v in range(len(free) - 1, -1, -1):
                if above[v] >= 0:
                    below[above[v]] |= below[v]
            conflict[first, second] = conflict[second, first] = True
            # Conflicts hold for all below as well: first of one node, then of the other.
            for _ in range(2):
                for v in range(len(free)):
                    if above[v] >= 0:
                        conflict[v] |= conflict[above[v]]
                conflict = conflict.T.copy()
            closed = conflict.diagonal()
            if not closed.any():
                return Known(self, free, parent, below, conflict)
            self.close(free[closed])

    def decide(self, depth: int, cost: int, effort: Effort) -> None:
        """Close what is closed, and note what is open, in every cut that costs no more than this."""
        known = self.knowledge(depth, all_of_them=False)
        free, n = self.free(depth), len(known.free)
        if n > MOST_TRIALS:
            return
        effort.spend(PER_STEP * n**3 / 16)
        price = self._prices(free)
        weight = price[known.free]
        least = int(price[self.is_closed].sum()) + int(weight.sum()) - cost
        must_open, must_close, most = forced_nodes(weight, bit_rows(known.below), bit_rows(known.conflict), least)
        # A node that nothing excludes is open if it and those below it of its kind gain more than there is to spare.
        others = np.setdiff1d(free, known.free)
        gain = np.zeros(len(price), np.int64)
        gain[others] = price[others]
        for v in others[np.argsort(-self.depth[others], kind="stable")].tolist():
            if self.parent[v] >= 0:
                gain[self.parent[v]] += gain[v]
        self.is_needed[known.free[must_open]] = True
        self.is_needed[others[gain[others] > int(most) - least]] = True
        self.close(known.free[must_close])

    def _involved(self, free: Ints, parent: Ints, first: Ints, second: Ints) -> tuple[Ints, Ints, Ints]:
        """(variables, parents, new number of each old one): those that conflict, clash, or had better be closed, and all below them."""
        place = self._places(free)
        involved = np.zeros(len(free) + 1, np.bool_)
        involved[first] = involved[second] = True
        involved[place[self.clashes[self.clashes >= 0]]] = True
        if self.dropping:
            involved[:-1] |= self._prices(free)[free] < 0
        involved[-1] = False
        for v, above in enumerate(parent.tolist()):
            if above >= 0 and involved[above]:
                involved[v] = True
        chosen = np.flatnonzero(involved)
        number = np.full(len(free) + 1, -1, np.int64)
        number[chosen] = np.arange(len(chosen))
        return free[chosen], number[parent[chosen]], number

    def _places(self, free: Ints) -> Ints:
        place: Ints = np.full(len(self.price) + 1, -1, np.int64)
        place[free] = np.arange(len(free))
        return place

    def solve(self, depth: int, effort: Effort, patience: float = 1.0) -> Answer | None:
        """The cheapest cut down to `depth` by what is known so far; None if there is none. More patience may prove more."""
        known = self.knowledge(depth, all_of_them=False)
        free = self.free(depth)
        room = self.budget - int(self.dropped[self.is_closed].sum())
        if self.dropping and room < 0:
            return None
        price = self._prices(free)
        parts = self._parts(known, price, room)
        is_open = np.zeros(len(price), np.bool_)
        is_open[free] = True
        fixed = int(price[self.is_closed].sum())

        def note() -> None:
            self.bound = max(self.bound, fixed + sum(part.whole - part.most for part in parts))
            self.watch()

        for part in parts:
            part.improve(self.was_open, effort, patience, note)
            if part.open is None:
                if part.is_infeasible:
                    return None
                raise Expired
            is_open[part.variables[~part.open]] = False
        note()
        self.was_open = is_open
        return Answer(self.cut(is_open, depth), all(part.is_settled for part in parts))

    def lowest(self, depth: int) -> npt.NDArray[np.int32]:
        """The cut with everything open down to this depth that need not be closed."""
        is_open = np.zeros(len(self.price), np.bool_)
        is_open[self.free(depth)] = True
        return self.cut(is_open, depth)

    def close_some(
        self, depth: int, is_open: Flags, node: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.int32] | None, Flags]:
        """A cut (None where only dropping would help) and what it leaves open of what this one has open, by what is known: greedily,
        whatever settles most for its cost is closed first."""
        h, n = self.hierarchy, len(self.price)
        sets = np.full((self.size, self.clashes.shape[1]), -1)
        sets[: len(self.pairs), 0], sets[: len(self.pairs), 1] = np.divmod(self.pairs, n)
        sets[len(self.pairs) :] = self.clashes
        is_open = is_open & ~self.is_closed
        sets = sets[np.append(is_open, True)[sets].all(axis=1)]
        cost = np.full(n, np.inf)
        level, inner = self.problem.price.level, slice(h.n_leaves, h.n_nodes)
        paid = h.sums((level[np.maximum(node, 0)] - level[: h.n_leaves]) * (node >= 0) * self.problem.occurrences)
        cost[inner] = np.maximum(1, (self.problem.cost - paid)[inner])
        if self.dropping:
            cost[h.root] = np.inf
        while len(sets):
            worth = np.bincount(sets[sets >= 0], minlength=n) / cost
            v = int(worth.argmax())
            if worth[v] == 0:
                return None, is_open
            lo, hi = h.span[v]
            is_open[: h.n_nodes] &= (h.span[:, 0] < lo) | (h.span[:, 1] > hi) | (h.depth < h.depth[v])
            sets = sets[np.append(is_open, True)[sets].all(axis=1)]
        return self.cut(is_open, depth) if int(self.dropped[~is_open].sum()) <= self.budget else None, is_open

    def _prices(self, free: Ints) -> Ints:
        """What each variable adds when closed. A dropped branch costs its deletions, beyond what the nodes counted in it add."""
        price, n = self.price.copy(), self.hierarchy.n_nodes
        if self.dropping:
            counted = self.is_closed.copy()
            counted[free] = True
            nodes = np.flatnonzero(counted[: n - 1])
            price[n:] = self.dropped[n:] * self.problem.price.deletion
            np.subtract.at(price, n + self.branch[nodes], price[nodes])
        return price

    def _parts(self, known: Known, price: Ints, room: int) -> list[Part]:
        """What cannot simply be opened, in parts that nothing connects."""
        clashes = known.clashes
        whole = self.dropping  # the budget connects all
        label = np.zeros(len(known.free), np.int64) if whole else _labels(known.conflict, known.parent, clashes)
        degree = known.conflict.sum(axis=1)
        parts = []
        for part in range(int(label.max(initial=-1)) + 1):
            own = clashes[label[clashes[:, 0]] == part]
            times = np.bincount(own[own >= 0], minlength=len(label))
            nodes = np.flatnonzero(label == part)
            # Whatever lies above a node has no more conflicts than it, so it comes before it.
            nodes = nodes[np.lexsort((times[nodes], self.depth[known.free[nodes]], degree[nodes]))]
            number = np.full(len(label) + 1, -1, np.int64)
            number[nodes] = np.arange(len(nodes))
            variables = known.free[nodes]
            lists = _lists(number[own], len(nodes))
            within = np.ix_(nodes, nodes)
            program = OpenNodes(
                price[variables],
                number[known.parent[nodes]],
                self.dropped[variables],
                room,
                bit_rows(known.below[within]),
                bit_rows(known.conflict[within]),
                *lists,
            )
            parts.append(Part(program, variables, SCALE / max(1.0, float(self.problem.cost[self.hierarchy.root]))))
        return parts

    def cut(self, is_open: Flags, depth: int) -> npt.NDArray[np.int32]:
        """The node of each leaf, -1 where it is dropped."""
        h = self.hierarchy
        node = np.full(h.n_nodes, -2, np.int64)
        stop = ~is_open[: h.n_nodes] | (h.depth >= depth)
        stop[: h.n_leaves] = True
        if self.dropping:
            stop[h.root] = False
            top = np.array(h.top, np.int64)
            node[top[~is_open[h.n_nodes :]]] = -1
        # From the root down, the first node at which the cut may lie takes all leaves below it.
        parent, stops, at = self.problem.parent.tolist(), stop.tolist(), node.tolist()
        for v in range(h.n_nodes - 1, -1, -1):
            if parent[v] >= 0 and at[parent[v]] != -2:
                at[v] = at[parent[v]]
            elif at[v] == -2 and stops[v]:
                at[v] = v
        return np.array(at[: h.n_leaves], np.int32)


class Part:
    """Nodes of a program that conflicts connect, and the best set of them that is known."""

    def __init__(self, nodes: OpenNodes, variables: Ints, unit: float) -> None:
        self.nodes, self.variables, self.unit = nodes, variables, unit
        self.whole = int(nodes.weight.sum())
        self.most: float = int(np.maximum(nodes.weight, 0).sum())
        """No set of them gains more, ..."""
        self.gain = 0
        """... and the best known gains this."""
        self.open: Flags | None = None
        self.is_infeasible = False

    def improve(self, was_open: Flags, effort: Effort, patience: float, note: Callable[[], None]) -> None:
        """Look for the best set, until it is proven or patience ends."""
        nodes = self.nodes
        matrix = nodes.conflicts.copy()
        search = new_search(nodes)
        branches = np.flatnonzero(nodes.dropped)
        trail = np.empty(256, np.int64), np.empty(256, np.uint64), 0
        worth = nodes.weight / (
            1.0 + np.unpackbits(matrix.view(np.uint8), axis=1).sum(axis=1) + np.diff(nodes.of_starts)
        )
        for rank in (np.lexsort((-worth, ~was_open[self.variables])), np.argsort(-worth), np.argsort(-nodes.weight)):
            trail = try_order(nodes, search, rank, trail)
        most, has_asked = min(QUICK, LONG * patience), False
        while True:
            before = int(search.numbers[STEPS])
            trail = search_on(nodes, search, branches, int(most), trail)
            self._take_over(search)
            effort.spend(PER_STEP * (int(search.numbers[STEPS]) - before))
            if not self.is_settled and not has_asked:
                has_asked = True
                note()
                self._ask_highs(matrix, effort, patience)
            if self.is_settled or most >= LONG * patience:
                return
            note()
            most += SLICE

    @property
    def is_settled(self) -> bool:
        """Whether the best is known, or that there is none."""
        return self.is_infeasible or (self.open is not None and self.most <= self.gain)

    def _take_over(self, search: Search) -> None:
        """What our own search knows."""
        if search.numbers[BEST] > -NO_LIMIT and (self.open is None or search.numbers[BEST] > self.gain):
            self.gain, self.open = int(search.numbers[BEST]), search.best.copy()
        if search.numbers[LEVEL] < 0:
            self.is_infeasible = self.open is None
            self.most = self.gain
        else:
            self.most = min(self.most, int(most_possible(self.nodes, search)))

    def _ask_highs(self, conflicts: Bits, effort: Effort, patience: float) -> None:
        """What HiGHS knows, unless the part is too large for it."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        nodes, n = self.nodes, len(self.variables)
        starts, members = cliques(conflicts)
        below = np.flatnonzero(nodes.parent >= 0)
        sizes = np.diff(starts), np.diff(nodes.starts), np.full(len(below), 2)
        entries = sum(int(size.sum()) for size in sizes)
        if entries > ENTRIES * patience:
            return
        pairs = np.stack((below, nodes.parent[below]), axis=1).reshape(-1)
        columns = np.concatenate((members, nodes.members, pairs)).astype(np.int32)
        values = np.ones(len(columns))
        values[len(columns) - 2 * len(below) + 1 :: 2] = -1.0
        ends = np.concatenate(([0], np.cumsum(np.concatenate(sizes)))).astype(np.int32)
        matrix = csr_array((values, columns, ends), shape=(len(ends) - 1, n))
        most = np.concatenate((np.ones(len(sizes[0])), sizes[1] - 1.0, np.zeros(len(below))))
        demands = [LinearConstraint(matrix, -np.inf, most)]
        if nodes.dropped.any():  # what is dropped is what is not open
            least = int(nodes.dropped.sum()) - nodes.budget
            demands.append(LinearConstraint(csr_array(nodes.dropped[None, :].astype(float)), least, np.inf))
        limits: dict[str, float] = {"mip_rel_gap": 0.0, "node_limit": int(NODES * patience)}
        if effort.seconds_left is not None:
            limits["time_limit"] = max(0.01, effort.seconds_left)
        result = milp(
            -nodes.weight * self.unit, constraints=demands, integrality=np.ones(n), bounds=Bounds(0, 1), options=limits
        )
        if result.status == 2:
            self.is_infeasible = True
            return
        if result.status not in (0, 1):
            raise RuntimeError(f"the solver gave up: {result.message}")
        if result.x is not None:
            is_open = result.x > 0.5
            gain = int(nodes.weight[is_open].sum())
            if self.open is None or gain > self.gain:
                self.gain, self.open = gain, is_open
        if result.status == 0:
            self.most = self.gain
        elif result.mip_dual_bound is not None and np.isfinite(result.mip_dual_bound):
            self.most = max(self.gain, min(self.most, -result.mip_dual_bound / self.unit + 1))
        effort.spend(PER_ENTRY * entries * (1 + (result.mip_node_count or 0) / 10))


def _labels(conflict: Flags, parent: Ints, clashes: Ints) -> Ints:
    """Per node, the number of the part that it belongs to."""
    link = conflict.copy()
    lower = np.flatnonzero(parent >= 0)
    link[lower, parent[lower]] = link[parent[lower], lower] = True
    for i in range(1, clashes.shape[1]):
        both = clashes[:, i] >= 0
        a, b = clashes[both, 0], clashes[both, i]
        link[a, b] = link[b, a] = True
    label = np.full(len(link), -1, np.int64)
    parts = 0
    for v in range(len(link)):
        if label[v] >= 0:
            continue
        reached = np.zeros(len(link), np.bool_)
        border = np.array([v])
        while len(border):
            reached[border] = True
            border = np.flatnonzero(link[border].any(axis=0) & ~reached)
        label[reached] = parts
        parts += 1
    return label


def _lists(clashes: Ints, n: int) -> tuple[Ints, npt.NDArray[np.int32], Ints, npt.NDArray[np.int32]]:
    """Clashes as lists of their members, and per node the list of its clashes."""
    inside = clashes >= 0
    starts = np.concatenate(([0], np.cumsum(inside.sum(axis=1)))).astype(np.int64)
    members = clashes[inside].astype(np.int32)
    clash = np.repeat(np.arange(len(clashes)), np.diff(starts))
    of_node = clash[np.argsort(members, kind="stable")].astype(np.int32)
    of_starts = np.concatenate(([0], np.cumsum(np.bincount(members, minlength=n)))).astype(np.int64)
    return starts, members, of_starts, of_node
