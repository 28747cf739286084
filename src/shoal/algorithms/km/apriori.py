"""AA and DA, the greedy algorithms of the 2008 paper (Algorithms 3 and 4), and VPA of 2011: walks over the count-tree that raise a cut.

DA takes one walk over all itemsets up to m. AA (apriori-based) takes single items first, then pairs, up to m, each walk on what the
last one left, and so has far less to walk over. VPA (vertical partitioning) lets AA walk over one part of the domain after the other,
where count-trees are small, and then over the whole, on what the parts left. How the domain is parted is our reading: by the categories
below the root, neighbours together where fewer parts are asked for.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.problem import Counts, Problem
from shoal.algorithms.recoding import Options, Recoding
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.itemsets.count_tree import Tree, count_nodes, expanded_rows, generalize_breaches
from shoal.kernels.itemsets.nodes import rows_by_position
from shoal.records.baskets import Baskets


def aa(baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> Recoding:
    """A cut that keeps the promise, usually near the optimum."""
    return aa_on(CountTree(Problem(baskets, guarantee, hierarchy, options.threads, price=options.price)), options)


def aa_on(tree: Walked, options: Options) -> Recoding:
    """As `aa`, on a count-tree that any engine walks."""
    repaired, m = 0, tree.problem.m
    for size in range(1, m + 1):
        options.tell(f"itemsets of size {size} of {m}", (size - 1) / m)
        repaired += tree.generalize(size, any_depth=False)
    return Recoding(tree.cut(), tree.problem.vocabulary, algorithm="aa", facts={"repaired": repaired})


def vpa(baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> Recoding:
    """A cut that keeps the promise, found in the parts of the domain first. `options.segments` is the most parts to make."""
    problem = Problem(baskets, guarantee, hierarchy, options.threads, price=options.price)
    tree, parts = CountTree(problem), domain_parts(hierarchy, problem.occurrences, options.segments)
    within = 0
    for i, part in enumerate(parts):
        options.tell(f"part {i + 1} of {len(parts)} of the domain", i / (len(parts) + 1))
        within += sum(tree.generalize(size, any_depth=False, part=part) for size in range(1, problem.m + 1))
    options.tell("the whole domain", len(parts) / (len(parts) + 1))
    repaired = within + sum(tree.generalize(size, any_depth=False) for size in range(1, problem.m + 1))
    facts = {"repaired": repaired, "repaired_in_parts": within, "parts": len(parts)}
    return Recoding(tree.cut(), baskets.vocabulary, algorithm="vpa", facts=facts)


def domain_parts(
    hierarchy: Hierarchy, occurrences: npt.NDArray[np.int64], most: int | None = None
) -> list[npt.NDArray[np.bool_]]:
    """Per part of the domain, the nodes in it: the subtrees below the root, or `most` runs of them of about as many occurrences."""
    tops = sorted(hierarchy.top, key=lambda v: int(hierarchy.span[v, 0]))
    ends = np.cumsum([occurrences[hierarchy.leaf_order[slice(*hierarchy.span[v])]].sum() for v in tops])
    n_parts = min(most or len(tops), len(tops))
    of_top = np.arange(len(tops))
    if n_parts < len(tops):
        of_top = np.minimum(((ends - 1) * n_parts // max(int(ends[-1]), 1)).clip(0), n_parts - 1)
    lo, hi = hierarchy.span[:, 0], hierarchy.span[:, 1]
    parts = []
    for number in np.unique(of_top):
        members = [tops[i] for i in np.flatnonzero(of_top == number)]
        inside = (lo >= hierarchy.span[members[0], 0]) & (hi <= hierarchy.span[members[-1], 1])
        inside[hierarchy.root] = False
        parts.append(inside)
    return parts


def count_tree_nodes(algorithm: str, baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy) -> int:
    """Nodes of the count-tree that the paper's AA holds in its last round, or OA and DA all the time: its measure of memory."""
    tree = CountTree(Problem(baskets, guarantee, hierarchy, price="ncp"))
    m = tree.problem.m
    for size in range(1, m) if algorithm == "aa" else ():
        tree.generalize(size, any_depth=False)
    return tree.nodes(m, any_depth=algorithm != "aa")


def da(baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> Recoding:
    """A cut that keeps the promise, without the pruning that AA gains from small itemsets."""
    problem = Problem(baskets, guarantee, hierarchy, options.threads, price=options.price)
    tree = CountTree(problem)
    options.tell(f"itemsets up to size {problem.m}", 0.0)
    repaired = tree.generalize(problem.m, any_depth=True)
    return Recoding(tree.cut(), baskets.vocabulary, algorithm="da", facts={"repaired": repaired})


class Walked(Protocol):
    """A count-tree as AA sees it, whichever engine walks it."""

    @property
    def problem(self) -> Counts: ...

    def generalize(self, size: int, *, any_depth: bool) -> int: ...

    def cut(self) -> Cut: ...


class RisingCut:
    """The cut that a walk over the count-tree raises: `gone[v]` says that v lies below it, `under[v]` what its nodes below v cost."""

    def __init__(self, problem: Counts) -> None:
        h = problem.hierarchy
        self.problem, self.hierarchy = problem, h
        self.gone = np.zeros(h.n_nodes, np.bool_)
        self.under = np.zeros(h.n_nodes, np.int64)
        self.order = tree_order(h, problem.support)
        self.rank = np.full(h.n_nodes, -1, np.int32)
        self.rank[self.order] = np.arange(len(self.order), dtype=np.int32)

    def cut(self) -> Cut:
        """The lowest node above each leaf that has not been generalized."""
        h = self.hierarchy
        node = np.arange(h.n_nodes, dtype=np.int32)
        for v in range(h.n_nodes - 2, -1, -1):
            if self.gone[v]:
                node[v] = node[h.parent[v]]
        return Cut(h, node[: h.n_leaves].copy())


class CountTree(RisingCut):
    """The walk of Algorithm 3 over all paths of a given size, on a cut that it raises."""

    problem: Problem

    def generalize(self, size: int, *, any_depth: bool, part: npt.NDArray[np.bool_] | None = None) -> int:
        """Raise the cut until no path of `size` nodes in `part` (with `any_depth`: none that is a leaf of the tree) is rare."""
        g = self.problem
        rank = self.rank if part is None else np.where(part, self.rank, np.int32(-1))
        offsets, tails = expanded_rows(g.baskets.offsets, g.baskets.items, g.leaf, g.parent, rank, self.gone)
        places = np.arange(len(self.order), dtype=np.int64)
        row_offsets, rows = rows_by_position(offsets, tails, places, len(self.order))
        tree = Tree(g.parent, g.cost, g.leaf_rows, self.gone, self.under)
        repaired: int = generalize_breaches(offsets, tails, row_offsets, rows, self.order, g.k, size, any_depth, tree)
        return repaired

    def nodes(self, size: int, *, any_depth: bool) -> int:
        """How many nodes the paper's count-tree has for paths of `size` nodes on the cut as it is, with `any_depth` for shorter ones, too.
        The walk needs none of them; the paper measures memory by them."""
        g = self.problem
        offsets, tails = expanded_rows(g.baskets.offsets, g.baskets.items, g.leaf, g.parent, self.rank, self.gone)
        counted: int = count_nodes(offsets, tails, self.order, g.leaf_rows.span, size, any_depth)
        return counted


def tree_order(hierarchy: Hierarchy, support: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """All nodes but the root by descending support, then root side first, then by the first leaf below them."""
    first = np.full(hierarchy.n_nodes, hierarchy.n_nodes, np.int64)
    first[: hierarchy.n_leaves] = np.arange(hierarchy.n_leaves)
    np.minimum.at(first, hierarchy.parent[: hierarchy.n_leaves], first[: hierarchy.n_leaves])
    for v in range(hierarchy.n_leaves, hierarchy.n_nodes - 1):
        first[hierarchy.parent[v]] = min(first[hierarchy.parent[v]], first[v])
    order = np.lexsort((first, hierarchy.depth, -support))
    below_root: npt.NDArray[np.int32] = order[order != hierarchy.root].astype(np.int32)
    return below_root
