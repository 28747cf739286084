"""exact: the cut that costs least among all that keep the promise, proven, whichever price it goes by.

Think of a node as open when the cut lies below it. Opening node p gains d_p (what moving from p's children up to p would add), a node
can only be open if the one above it is, and of the nodes above the members of a rare set not all can be open. That holds for every
feasible cut because supports only grow towards the root. So the best cut is the heaviest set of nodes that may be open together
(`program`), once it is known which may not.

Two ideas make it fast. Coarse to fine: the tree is first looked at down to depth 1, then 2, and so on, so a breach is met where it
is as high as it can be, and one of them speaks for thousands below; each finished depth is itself a cut that keeps the promise. And
all cuts at once: where the data allow it, one walk over rows that hold every node which some cut may publish finds what the rare
sets of all these cuts say, so that the program is complete and solved once (`kernels.itemsets.conflicts`). Elsewhere it is solved
again and again, each time with what the rare sets under its last answer say; larger sets are then only looked for where no pair is rare.

With `suppress`, a top-level subtree v may be dropped at the price of a deletion per occurrence: a variable of its own takes the place of
the root above v. Dropping a whole top-level subtree leaves all other supports as they are, so what is known stays valid and the
optimum proven. While only the upper levels are looked at, what the levels below will cost is taken as nothing, so each answer is a lower
bound on the next.

With a time limit, cuts that keep the promise are looked for before any proof: whatever breaks it is closed, greedily, and stays closed.
Without one the search ends after a stated effort, with the best cut so far and what no cut can go below.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.problem import Counts, Problem
from shoal.algorithms.km.program import LARGEST, Effort, Expired, Program
from shoal.algorithms.recoding import Options, Recoding
from shoal.errors import Message, option
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.itemsets.conflicts import Conflicts
from shoal.records.baskets import Baskets

EFFORT = 5e10
"""Steps of the kernels after which a search without a time limit ends: work is counted, not time, so that the answer is the same
everywhere."""
AGAIN = 0.8
"""All levels are looked at once more when no more than this share of the nodes that were too many is left."""
MANY = 500
"""Nodes of a cut beyond which its rare pairs are looked for before anything larger."""
FURTHER = 4.0
"""By how much patience grows when a whole search has not proven its answer."""


def exact(baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> Recoding:
    """The optimal cut, or the best within the effort or the time, with a lower bound, in the same price, on what any cut can reach."""
    started = time.monotonic()
    return exact_on(Problem(baskets, guarantee, hierarchy, options.threads, price=options.price), options, started)


def exact_on(problem: Counts, options: Options, started: float) -> Recoding:
    """As `exact`, on a problem that any engine counts; `started` is the time from which a limit counts (`time.monotonic()`)."""
    search = _Search(problem, options, started)
    search.run()
    loss, bound = search.loss, search.bound
    return Recoding(
        Cut(problem.hierarchy, search.best),
        problem.vocabulary,
        algorithm="exact",
        optimal=search.is_optimal,
        bound=bound,
        facts={"rounds": search.rounds, "constraints": search.program.size, "gap": loss - bound},
        notes=() if search.is_optimal else (_note(loss - bound, options.time_limit),),
    )


class _Search:
    """The best cut so far, and the program that says what no cut can go below."""

    def __init__(self, problem: Counts, options: Options, started: float) -> None:
        self.problem, self.options, self.hierarchy = problem, options, problem.hierarchy
        self.effort = Effort(EFFORT, options.time_limit, started)
        problem.pulse = self.effort.check
        self.total = int(problem.occurrences.sum())
        self.program = Program(problem, int(options.suppress * self.total + 1e-9))
        self.best = np.full(self.hierarchy.n_leaves, self.hierarchy.root, np.int32)
        self.cost = int(problem.cost[self.hierarchy.root])
        self.is_optimal = self.has_found = False
        self.rounds = 0
        self.mended: set[int] = set()
        """Depths at which a good cut has been looked for without proof."""
        self.settled = dict.fromkeys(range(2, problem.m + 1), 0)
        """Per size, the depth down to which sets of all levels have been looked at."""
        self.too_many = 1 << 60
        """Nodes that were too many to look at all levels at once."""

    @property
    def loss(self) -> float:
        return self.problem.price.share(self.cost, self.total)

    @property
    def bound(self) -> float:
        if self.is_optimal:
            return self.loss
        return min(self.loss, self.problem.price.share(self.program.bound, self.total))

    def run(self) -> None:
        """Search until the best is proven, or effort or time is used up."""
        height, patience = self.hierarchy.height, 1.0
        try:
            is_clean = is_proven = True
            for depth in range(1, height + 1):
                if is_clean and not self._is_clean(depth):
                    is_clean = False
                    for lower in range(depth, height + 1) if self.effort.seconds is not None else ():
                        self._mend(lower)
                is_proven = self._solve_to(depth, patience)
            while not is_proven:
                patience *= FURTHER
                is_proven = self._solve_to(height, patience)
            self.is_optimal = True
        except _Infeasible:
            # Not even dropping as much as allowed helps: the root is all that is left.
            self.is_optimal = True
        except Expired:
            self.is_optimal = self.program.bound >= self.cost

    def _solve_to(self, depth: int, patience: float) -> bool:
        """Find the best cut down to this depth that keeps the promise: whether it is proven."""
        self.program.watch = lambda: self._tell(depth)
        while True:
            self._look_at_all_levels(depth)
            if self.effort.seconds is None and depth not in self.mended:
                self._mend(depth)
            answer = self.program.solve(depth, self.effort, patience)
            if answer is None:
                raise _Infeasible
            self.rounds += 1
            # What is settled is so for the cuts that cost no more than the best, which an answer without proof may not be among.
            sizes = [s for s in sorted({2, self.problem.m}) if not answer.is_proven or self.settled.get(s, 0) < depth]
            if not self._add_breaches(depth, answer.node, sizes):
                break
        self._take(answer.node)
        return answer.is_proven

    def _take(self, node: npt.NDArray[np.int32]) -> None:
        """Keep this cut, which keeps the promise, unless a better one is known."""
        cost = self._cost_of(node)
        if cost <= self.cost:
            self.best, self.cost = node, cost
        self.has_found = True

    def _cost_of(self, node: npt.NDArray[np.int32]) -> int:
        return self.problem.price.of_cut(node, self.problem.occurrences)

    def _is_clean(self, depth: int) -> bool:
        """Whether every cut down to this depth keeps the promise: supports only grow towards the root, so the lowest one tells."""
        if not isinstance(self.problem, Problem) or self._add_breaches(depth, self.program.lowest(depth)):
            return False
        self.settled = dict.fromkeys(self.settled, depth)
        return True

    def _mend(self, depth: int) -> None:
        """Look for a good cut down to this depth that keeps the promise: whatever breaks it closes, and stays closed."""
        program = self.program
        self.mended.add(depth)
        if not isinstance(self.problem, Problem) or min(self.settled.values(), default=depth) >= depth:
            return
        program.watch = lambda: self._tell(depth)
        answer = program.solve(depth, self.effort)
        node, is_open = (None if answer is None else answer.node), program.was_open
        while node is not None and self._cost_of(node) < self.cost:
            if not self._add_breaches(depth, node):
                self._take(node)
                break
            node, is_open = program.close_some(depth, is_open, node)

    def _look_at_all_levels(self, depth: int) -> None:
        """Find what all rare sets say that a cut down to this depth can show, unless that would take too much."""
        problem, program, h = self.problem, self.program, self.hierarchy
        if not isinstance(problem, Problem):
            return
        for size in [size for size, done in self.settled.items() if done < depth]:
            if self.has_found:
                program.decide(depth, self.cost, self.effort)
            known = program.knowledge(depth) if len(program.free(depth)) <= LARGEST else None
            tokens = program.tokens(depth)
            if known is None or len(tokens) > AGAIN * self.too_many:
                return
            # Sets without a node below these levels have been looked at before.
            is_old = h.depth[tokens] <= self.settled[size]
            tokens = tokens[np.lexsort((problem.support[tokens], is_old))]
            n_new = int(np.count_nonzero(~is_old))
            conflicts = problem.conflicts_at_all_levels(tokens, n_new, size, known.relations)
            if conflicts is None:
                self.too_many = len(tokens)
                return
            self._add(known.free, conflicts)
            if not conflicts.are_all:
                return
            self.settled[size] = depth
        self.too_many = 1 << 60

    def _add_breaches(self, depth: int, node: npt.NDArray[np.int32], sizes: Iterable[int] | None = None) -> bool:
        """Find what the rare sets of these sizes under this cut say, up to the first that say anything: whether there are any."""
        problem = self.problem
        if sizes is None:
            sizes = sorted({2, problem.m} if len(np.unique(node)) > MANY else {problem.m})
        for size in sizes if problem.m > 1 else ():
            if isinstance(problem, Problem) and len(self.program.free(depth)) <= LARGEST:
                known = self.program.knowledge(depth)
                conflicts = problem.conflicts(node, size, known.relations)
                if len(conflicts.pairs) or len(conflicts.clashes):
                    self._add(known.free, conflicts)
                    return True
            else:
                sets = problem.rare_sets(node, size)
                if len(sets):
                    self.program.add_sets(problem.one_per_parents(sets))
                    return True
        return False

    def _add(self, free: npt.NDArray[np.int64], conflicts: Conflicts) -> None:
        clashes = np.where(conflicts.clashes >= 0, free[conflicts.clashes], -1)
        self.program.add(free[conflicts.pairs], clashes.astype(np.int32))
        self.effort.spend(conflicts.steps)

    def _tell(self, depth: int) -> None:
        best = self.loss if self.has_found else None
        bound = self.problem.price.share(self.program.bound, self.total)
        height = self.hierarchy.height
        self.options.tell(_standing(depth, height, best, bound), depth / (height + 1), best=best, bound=bound)


class _Infeasible(Exception):  # noqa: N818
    """No choice of dropped categories within the budget keeps the promise."""


def _note(gap: float, time_limit: float | None) -> str:
    """Why the answer is not proven, how good it is, and how to go on."""
    if time_limit is not None:
        return f"stopped by the time limit: at most {gap:.4%} above the optimum"
    return Message(
        f"stopped after the effort that a search without a time limit may take: at most {gap:.4%} above the optimum; "
        f"give {option('time_limit')} the seconds that it may take instead"
    )


def _standing(depth: int, height: int, best: float | None, bound: float) -> str:
    """Where the search stands, in words; the best so far and the gap are named once a finished depth has given one."""
    if best is None:
        return f"depth {depth} of {height}, at least {bound:.2%} lost"
    return f"depth {depth} of {height}, best {best:.2%}, at least {bound:.2%} lost, gap {max(0.0, best - bound):.2%}"
