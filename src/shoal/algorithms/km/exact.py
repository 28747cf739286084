"""exact: the cut that costs least among all that keep the promise, proven, whichever price it goes by.

With y_p = "the cut lies at or above inner node p", what it costs is a sum of d_p * y_p (what moving from p's children to p
adds), y_parent <= y_child, and every rare antichain {u1..ur} asks for y_parent(u1) + ... + y_parent(ur) >= 1, which holds
for every feasible cut because supports only grow towards the root. Such constraints are found where the current answer
breaks the promise, and the small integer program is solved again (scipy's HiGHS).

Two ideas make it fast. Coarse to fine: the tree is first looked at down to depth 1, then 2, and so on, so a breach is
met where it is as high as it can be (no need to raise it afterwards), and one of them speaks for thousands below; each
finished depth is itself a cut that keeps the promise, which is what a time limit returns. And small sets first: larger
ones are only looked for where no pair is rare.

With `suppress`, a top-level subtree v may be dropped at the price of a deletion per occurrence: z_v takes the place of y_root in
constraints on sets that contain v. Dropping a whole top-level subtree leaves all other supports as they are, so the
constraints stay valid and the optimum proven. While only the upper levels are looked at, what the levels below will cost is taken
as nothing, so each answer is a lower bound on the next.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.problem import Counts, Problem
from shoal.algorithms.recoding import Options, Recoding
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets

SCALE = 1e7
"""The program's objective at the root. HiGHS proves optima to 1e-6 in absolute terms: this makes it 1e-13 of the whole."""


class _Expired(Exception):  # noqa: N818 - an event, not an error
    """The time limit has passed."""


def exact(baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> Recoding:
    """The optimal cut, or under a time limit the best found, with a lower bound, in the same price, on what any cut can reach."""
    started = time.monotonic()
    return exact_on(Problem(baskets, guarantee, hierarchy, options.threads, price=options.price), options, started)


def exact_on(problem: Counts, options: Options, started: float) -> Recoding:
    """As `exact`, on a problem that any engine counts; `started` is the time from which a limit counts (`time.monotonic()`)."""

    def pulse(_: float) -> None:
        if options.time_limit is not None and time.monotonic() - started > options.time_limit:
            raise _Expired

    problem.pulse, hierarchy = pulse, problem.hierarchy
    total = int(problem.occurrences.sum())
    program = _Program(problem, int(options.suppress * total + 1e-9))
    best, best_cost, optimal = _root_cut(hierarchy), int(problem.cost[hierarchy.root]), False
    rounds = 0
    known: float | None = None  # the loss of the best, once a depth is finished
    try:
        for depth in range(1, hierarchy.height + 1):
            while True:
                left = None if options.time_limit is None else options.time_limit - (time.monotonic() - started)
                answer = program.solve(depth, left)
                if answer is None:
                    # Not even dropping as much as allowed helps: the root is all that is left.
                    raise _Infeasible
                rounds += 1
                loss = problem.price.share(program.bound, total)
                doing = _standing(depth, hierarchy.height, known, loss)
                options.tell(doing, depth / (hierarchy.height + 1), best=known, bound=loss)
                breaches = _breaches(problem, answer)
                if breaches is None:
                    break
                program.add(breaches)
            cost = problem.price.of_cut(answer, problem.occurrences)
            if cost <= best_cost:
                best, best_cost = Cut(hierarchy, answer), cost
            known = problem.price.share(best_cost, total)
        optimal = True
    except _Infeasible:
        optimal = True
        program.bound = best_cost
    except _Expired:
        pass
    loss = problem.price.share(best_cost, total)
    bound = loss if optimal else min(loss, problem.price.share(program.bound, total))
    return Recoding(
        best,
        problem.vocabulary,
        algorithm="exact",
        optimal=optimal,
        bound=bound,
        facts={"rounds": rounds, "constraints": len(program.constraints), "gap": loss - bound},
        notes=() if optimal else (f"stopped by the time limit: at most {loss - bound:.4%} above the optimum",),
    )


class _Infeasible(Exception):  # noqa: N818
    """No choice of dropped categories within the budget keeps the promise."""


@dataclass
class _Program:
    """The integer program: one binary per inner node, or per top-level node in place of the root when dropping is allowed.

    Variable v < n_nodes is y_v. Without suppression y_root is the variable above all top-level nodes; with it, the variable
    above top-level node v is z_v, numbered n_nodes + its place among them.
    """

    problem: Counts
    budget: int
    constraints: set[tuple[int, ...]] = field(default_factory=set)
    bound: float = 0.0

    def __post_init__(self) -> None:
        h, g = self.problem.hierarchy, self.problem
        top = np.array(h.top, np.int64)
        self.dropping = self.budget > 0
        self.above = g.parent.astype(np.int64)
        if self.dropping:
            self.above[top] = h.n_nodes + np.arange(len(top))
        n = h.n_nodes + (len(top) if self.dropping else 0)
        # d_p: what the cut gains in cost when it moves from p's children up to p.
        price = np.zeros(n, np.int64)
        price[: h.n_nodes] = g.cost
        np.subtract.at(price, g.parent[:-1], g.cost[:-1])
        price[: h.n_leaves] = 0
        self.weight = np.zeros(n, np.int64)
        depth = np.zeros(n, np.int64)
        depth[: h.n_nodes] = h.depth
        parent = np.full(n, -1, np.int64)
        parent[: h.n_nodes] = g.parent
        if self.dropping:
            self.weight[h.n_nodes :] = h.sums(g.occurrences)[top]
            # Per node, the place of the top-level node that it lies under.
            self.branch = np.searchsorted(h.span[top, 1], h.span[:, 0], side="right")
            parent[top] = h.n_nodes + np.arange(len(top))
            price[h.root] = 0
        self.price, self.depth, self.parent = price, depth, parent
        self.is_one = np.zeros(n, np.bool_)
        rare = np.flatnonzero((g.support > 0) & (g.support < g.k))
        self.fix(self.above[rare[rare != h.root]])

    def fix(self, variables: npt.NDArray[np.int64]) -> None:
        """These must be 1, and so must everything below them."""
        self.is_one[variables] = True
        order = range(self.problem.hierarchy.n_nodes - 1, -1, -1)
        parent, one = self.parent.tolist(), self.is_one.tolist()
        for v in order:
            if parent[v] >= 0 and one[parent[v]]:
                one[v] = True
        self.is_one = np.array(one)

    def add(self, sets: npt.NDArray[np.int32]) -> None:
        """One constraint per rare set: the cut must lie above at least one of its members."""
        single = []
        for nodes in sets.tolist():
            needs = tuple(sorted({int(self.above[v]) for v in nodes if v >= 0}))
            if len(needs) == 1:
                single.append(needs[0])
            else:
                self.constraints.add(needs)
        if single:
            self.fix(np.array(single))

    def solve(self, depth: int, seconds: float | None) -> npt.NDArray[np.int32] | None:
        """The cheapest cut down to `depth` under the constraints known so far, as the node of each leaf; None if there is none."""
        h = self.problem.hierarchy
        inner = np.arange(len(self.price)) >= h.n_leaves
        free = np.flatnonzero(inner & ~self.is_one & (self.depth < depth))
        if self.dropping:
            free = free[free != h.root]
        on = self.is_one.copy()
        if self.dropping and int(self.weight[on].sum()) > self.budget:
            return None
        chosen = self._chosen(free, on, self._prices(free, on), seconds)
        if chosen is None:
            return None
        on[chosen] = True
        node = np.full(h.n_nodes + 1, -2, np.int64)
        stop = on[: h.n_nodes] | (h.depth >= depth)
        stop[: h.n_leaves] = True
        if self.dropping:
            stop[h.root] = False
            for place, v in enumerate(h.top):
                if on[h.n_nodes + place]:
                    node[v] = -1
        # From the root down, the first node at which the cut may lie takes all leaves below it.
        parent, stops, at = self.problem.parent.tolist(), stop.tolist(), node.tolist()
        for v in range(h.n_nodes - 1, -1, -1):
            if parent[v] >= 0 and at[parent[v]] != -2:
                at[v] = at[parent[v]]
            elif at[v] == -2 and stops[v]:
                at[v] = v
        return np.array(at[: h.n_leaves], np.int32)

    def _prices(self, free: npt.NDArray[np.int64], on: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """What each variable adds. A dropped branch costs its deletions, so z adds what these come to beyond the nodes counted in it."""
        price, n = self.price.copy(), self.problem.hierarchy.n_nodes
        if self.dropping:
            counted = on.copy()
            counted[free] = True
            nodes = np.flatnonzero(counted[: n - 1])
            price[n:] = self.weight[n:] * self.problem.price.deletion
            np.subtract.at(price, n + self.branch[nodes], price[nodes])
        return price

    def _chosen(
        self,
        free: npt.NDArray[np.int64],
        on: npt.NDArray[np.bool_],
        price: npt.NDArray[np.int64],
        seconds: float | None,
    ) -> npt.NDArray[np.int64] | None:
        """Free variables that an optimal solution sets to 1."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        h = self.problem.hierarchy
        fixed = float(price[on].sum())
        place = np.full(len(price), -1, np.int64)
        place[free] = np.arange(len(free))
        known = [c for c in self.constraints if not any(on[v] for v in c)]
        known = [c for c in known if all(place[v] >= 0 for v in c)]
        if not known:
            self.bound = max(self.bound, fixed)
            return np.empty(0, np.int64)
        # Only variables that a constraint speaks of, and those they drag along below them, can become 1.
        cover_row = np.repeat(np.arange(len(known)), [len(c) for c in known])
        cover_var = place[np.fromiter((v for c in known for v in c), np.int64, len(cover_row))]
        down = free[(self.parent[free] >= 0)]
        down = down[place[self.parent[down]] >= 0]
        n = len(known)
        rows = np.concatenate((cover_row, n + np.arange(len(down)), n + np.arange(len(down))))
        columns = np.concatenate((cover_var, place[down], place[self.parent[down]]))
        values = np.concatenate((np.ones(len(cover_row)), np.ones(len(down)), -np.ones(len(down))))
        low = np.concatenate((np.ones(n), np.zeros(len(down))))
        at = rows.astype(np.int32), columns.astype(np.int32)  # as HiGHS counts, which older SciPy takes literally
        matrix = csr_array((values, at), shape=(n + len(down), len(free)))
        demands = [LinearConstraint(matrix, low, np.inf)]
        if self.dropping:
            room = self.budget - int(self.weight[on].sum())
            demands.append(LinearConstraint(csr_array(self.weight[free][None, :].astype(float)), -np.inf, room))
        unit = SCALE / max(1.0, float(self.problem.cost[h.root]))
        limits = {"mip_rel_gap": 0.0} | ({} if seconds is None else {"time_limit": max(0.01, seconds)})
        result = milp(
            price[free] * unit,
            constraints=demands,
            integrality=np.ones(len(free)),
            bounds=Bounds(0, 1),
            options=limits,
        )
        if result.status == 2:
            return None
        if result.status not in (0, 1):
            raise RuntimeError(f"the solver gave up: {result.message}")
        if result.status == 1:
            if result.mip_dual_bound is not None and np.isfinite(result.mip_dual_bound):
                self.bound = max(self.bound, fixed + result.mip_dual_bound / unit)
            raise _Expired
        chosen: npt.NDArray[np.int64] = free[result.x > 0.5]
        self.bound = max(self.bound, fixed + float(price[chosen].sum()))
        return chosen


def _breaches(problem: Counts, node: npt.NDArray[np.int32]) -> npt.NDArray[np.int32] | None:
    """Rare sets under this cut, one for each combination of parents, pairs before anything larger; None when the promise holds."""
    for size in sorted({min(2, problem.m), problem.m}):
        sets = problem.rare_sets(node, size)
        if len(sets):
            return problem.one_per_parents(sets)
    return None


def _standing(depth: int, height: int, best: float | None, bound: float) -> str:
    """Where the search stands, in words; the best so far is named once a finished depth has given one."""
    so_far = "" if best is None else f"best {best:.2%}, "
    return f"depth {depth} of {height}, {so_far}at least {bound:.2%} lost"


def _root_cut(hierarchy: Hierarchy) -> Cut:
    return Cut(hierarchy, np.full(hierarchy.n_leaves, hierarchy.root, np.int32))
