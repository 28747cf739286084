"""OA, optimal anonymization (Algorithm 2): breadth first through the lattice of cuts, bottom up.

A cut is a bit mask over inner nodes (a bit is set where the cut lies at or above the node), and each breach found in the
data becomes a mask of the nodes of which one must be set. Most cuts are then refused by one AND, without counting
anything. The lattice is exponential in the domain all the same: larger ones are refused with a pointer to `exact`.
"""

from __future__ import annotations

import time
from collections import deque

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.problem import Problem, cut_loss
from shoal.algorithms.recoding import Options, Recoding
from shoal.errors import InputError, option
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets

MOST_CUTS = 500_000


def number_of_cuts(hierarchy: Hierarchy) -> int:
    """T(v) = 1 + the product of T over v's children; 1 for a leaf (section 4.2)."""
    ways = [1] * hierarchy.n_leaves
    for v in range(hierarchy.n_leaves, hierarchy.n_nodes):
        product = 1
        for child in hierarchy.children[v]:
            product *= ways[child]
            if product.bit_length() > 4096:
                return product  # beyond any hope; the exact figure has no use
        ways.append(1 + product)
    return ways[-1]


def oa(baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> Recoding:
    """The cut that costs least of all that keep the promise, by looking at the lattice of cuts."""
    started = time.monotonic()
    problem = Problem(baskets, guarantee, hierarchy, options.threads, price=options.price)
    cuts = number_of_cuts(hierarchy)
    if cuts > MOST_CUTS:
        problem.rare_sets(Cut.leaves(hierarchy).node, problem.m)
        each = time.monotonic() - started
        raise InputError(
            f"oa would have to search {_about(cuts)} cuts, which takes {_duration(cuts, each)} at the {each:.2g} s that checking one "
            f"takes here; use {option('algorithm', 'exact')}, which finds the same optimum"
        )
    lattice = _Lattice(problem)
    best, best_cost = lattice.top, float("inf")
    queue = deque([0])
    queued, not_minimal = {0}, set[int]()
    examined = 0
    while queue:
        cut = queue.popleft()
        if cut in not_minimal:
            continue
        examined += 1
        if examined % 1024 == 0:
            options.tell(f"{examined:,} of at most {cuts:,} cuts", examined / cuts)
        above = lattice.ancestors(cut)
        if lattice.keeps(cut):
            not_minimal.update(above)
            if lattice.cost(cut) < best_cost:
                best, best_cost = cut, lattice.cost(cut)
        else:
            for ancestor in above:
                if ancestor not in not_minimal and ancestor not in queued:
                    queued.add(ancestor)
                    queue.append(ancestor)
    chosen = Cut(hierarchy, lattice.node(best))
    loss = cut_loss(problem, chosen.node)
    return Recoding(
        chosen, baskets.vocabulary, algorithm="oa", optimal=True, bound=loss, facts={"cuts": cuts, "examined": examined}
    )


class _Lattice:
    """Cuts as bit masks: bit i stands for inner node n_leaves + i."""

    def __init__(self, problem: Problem) -> None:
        h = problem.hierarchy
        self.problem, self.hierarchy = problem, h
        self.inner = range(h.n_leaves, h.n_nodes)
        self.bit = {v: 1 << i for i, v in enumerate(self.inner)}
        self.top = (1 << len(self.inner)) - 1
        # A node can join the cut once all its inner children have.
        self.needs = {v: sum(self.bit[c] for c in h.children[v] if c >= h.n_leaves) for v in self.inner}
        gain = problem.cost.copy()
        np.subtract.at(gain, h.parent[:-1], problem.cost[:-1])
        self.gain = {v: int(gain[v]) for v in self.inner}
        self.breaches: list[int] = []

    def ancestors(self, cut: int) -> list[int]:
        """Immediate ancestors: all nodes with a common parent in the cut are replaced by it."""
        return [cut | self.bit[v] for v in self.inner if not cut & self.bit[v] and cut & self.needs[v] == self.needs[v]]

    def cost(self, cut: int) -> int:
        return sum(self.gain[v] for v in self.inner if cut & self.bit[v])

    def node(self, cut: int) -> npt.NDArray[np.int32]:
        h = self.hierarchy
        node = np.arange(h.n_nodes, dtype=np.int32)
        for v in range(h.n_nodes - 2, -1, -1):
            if cut & self.bit[int(h.parent[v])]:
                node[v] = node[h.parent[v]]
        return node[: h.n_leaves].copy()

    def keeps(self, cut: int) -> bool:
        """Whether the cut keeps the promise; remembers what breaks it."""
        for breach in self.breaches:
            if not cut & breach:
                return False
        sets = self.problem.rare_sets(self.node(cut), self.problem.m)
        if len(sets) == 0:
            return True
        for nodes in self.problem.lift(sets).tolist():
            mask = 0
            for v in nodes:
                if v >= 0:
                    mask |= self.bit[int(self.problem.parent[v])]
            self.breaches.append(mask)
        return False


def _about(cuts: int) -> str:
    return (
        f"{cuts:,}"
        if cuts < 10**9
        else f"10^{len(str(cuts)) - 1} or more"
        if cuts.bit_length() < 4000
        else "more than 10^1000"
    )


def _duration(cuts: int, each: float) -> str:
    if cuts.bit_length() > 200:
        return "longer than the world will last"
    hours = cuts * each / 3600
    return (
        f"about {hours:.0f} hours"
        if hours < 48
        else f"about {hours / 24:,.0f} days"
        if hours < 1e7
        else f"about {hours / 8766:.0e} years"
    )
