"""What a tree allows: the best single cut through it, what that loses, which nodes force it upwards, and what would help.

Under one cut for all rows the loss is a sum over nodes, so it is known exactly, on all rows, in the moment that an edit of a tree takes.
Algorithms that go row by row lose less, but pay for the same sets: whatever is too rare costs them too.

A node of the cut is *closed* if something below it is not shown. Were it opened, so that its children were published, some sets of at
most m nodes would stand in fewer than k rows: it is closed because of them. Whom to blame? Of a set that is too rare some member has
to give way, and that is cheap where rare nodes do. So members are named one after the other, each time the one that is in most of the sets
that are left, per occurrence of its own. Two things can be done about them: siblings become one node (`merge`), or all of them are set
apart, to be left out as a whole (`apart`). Both are tried, and come with what would be lost then.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from shoal.algorithms.km.exact import exact_on
from shoal.algorithms.km.problem import Problem
from shoal.algorithms.recoding import Options
from shoal.errors import InputError
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.edit import merge, set_apart
from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import Codes, Ints
from shoal.price.information import Fates
from shoal.records.baskets import Baskets

AT_ONCE = Options(time_limit=4.0)
"""Seconds after which the search for the best cut returns the best so far. A tree of 72,000 nodes takes a tenth of that."""
MOST_BLAMED = 80
"""Nodes that are named."""
APART = "left out"
"""What nodes are put under that a cut may drop."""

Sets = Codes


@dataclass(frozen=True, eq=False)
class TreeCut:
    """The best cut through a tree, and what it loses."""

    cut: Cut
    """In its lowest form."""
    info: float
    """The share of the information that is lost."""
    exact: float
    """The share of occurrences that are published as they are."""
    deleted: float
    optimal: bool
    """Whether no cut loses less, in the price that was searched. If not, time was up."""
    problem: Problem
    options: Options

    def closed_nodes(self) -> list[int]:
        """The inner nodes that are published in place of what is below them, the costliest first."""
        cost = self.problem.cost
        closed = [v for v in self.cut.nodes.tolist() if v >= self.cut.hierarchy.n_leaves]
        return sorted(closed, key=lambda v: (-int(cost[v]), v))


@dataclass(frozen=True)
class Culprit:
    """A node that is blamed."""

    node: int
    rows: int
    """In which something of it stands."""
    sets: int
    """Sets that are too rare and are held against it."""


@dataclass(frozen=True)
class Blame:
    """Why a node is closed."""

    node: int
    sets: int
    """Sets that would be too rare if it were open, as far as they are looked for."""
    culprits: tuple[Culprit, ...]
    """Those who would have to give way, the worst first."""
    others: int
    """Sets that are held against nobody, for those who are named are many enough."""


@dataclass(frozen=True)
class Remedy:
    """Something that can be done, and what would be lost then."""

    act: str
    """`merge` or `apart`."""
    nodes: tuple[int, ...]
    label: str
    """Of the node that is new."""
    suppress: float
    """The share of occurrences that may be left out."""
    info: float
    deleted: float


def tree_cut(baskets: Baskets, promise: KmAnonymity, tree: Hierarchy, options: Options = AT_ONCE) -> TreeCut:
    """The best cut that keeps the promise, with at most the share `suppress` of occurrences dropped; the best so far when time is up."""
    problem = Problem(baskets, promise, tree, options.threads, price=options.price)
    found = exact_on(problem, options, time.monotonic())
    problem.pulse = None  # what follows is not the search's time
    cut = found.cut.lowest()
    leaves = np.flatnonzero(problem.occurrences)
    node = cut.node[leaves]
    fates = Fates(leaves, node.astype(np.int64), problem.occurrences[leaves], node == leaves)
    return TreeCut(cut, fates.info, fates.exact, fates.deleted, bool(found.optimal), problem, options)


def blame(found: TreeCut, node: int) -> Blame:
    """Why a node of the cut is closed."""
    problem, tree = found.problem, found.cut.hierarchy
    children = np.flatnonzero(tree.parent == node)
    opened = found.cut.node.copy()
    for child in children.tolist():
        lo, hi = tree.span[child]
        opened[tree.leaf_order[lo:hi]] = child
    rare = smallest_rare_sets(problem, opened)
    culprits, others = name_culprits(rare, tree.sums(problem.occurrences))
    named = [Culprit(v, int(problem.support[v]), sets) for v, sets in culprits]
    return Blame(node, len(rare), tuple(named), others)


def smallest_rare_sets(problem: Problem, node: Sets) -> Sets:
    """Single nodes and pairs that are rare, without pairs of a node that is rare itself; larger sets where there are none. -1 fills up."""
    for size in dict.fromkeys((min(2, problem.m), problem.m)):
        rare = np.sort(problem.rare_sets(node, size), axis=1)
        if len(rare):
            alone = (rare[:, :-1] < 0).all(axis=1)
            return np.unique(rare[alone | ~np.isin(rare, rare[alone, -1]).any(axis=1)], axis=0)
    return np.empty((0, 1), np.int32)


def name_culprits(rare: Sets, occurrences: Ints, most: int = MOST_BLAMED) -> tuple[list[tuple[int, int]], int]:
    """(node, sets held against it) until each set is held against somebody, or enough are named; and the sets that are left."""
    left, named = rare, list[tuple[int, int]]()
    while len(left) and len(named) < most:
        sets = np.bincount(left[left >= 0], minlength=len(occurrences))
        members = np.flatnonzero(sets)
        per_occurrence = sets[members] / np.maximum(1, occurrences[members])
        worst = int(members[np.argmax(per_occurrence)])
        named.append((worst, int(sets[worst])))
        left = left[(left != worst).all(axis=1)]
    return named, len(left)


def remedies(found: TreeCut, why: Blame) -> Iterator[Remedy]:
    """What can be done about the nodes that are blamed, each as soon as it is tried."""
    problem, tree = found.problem, found.cut.hierarchy
    promise = KmAnonymity(problem.k, problem.m)
    blamed = [culprit.node for culprit in why.culprits]
    total = max(1, int(problem.occurrences.sum()))
    share = sum(int(v) for v in tree.sums(problem.occurrences)[blamed]) / total
    suppress = found.options.suppress
    room = min(1.0, max(suppress, np.ceil((found.deleted + share) * 1e4) / 1e4))
    siblings = mergeable(problem, tree, why)
    tries = [("merge", siblings, free_label(tree, f"other {tree.labels[why.node]}"), suppress)] if siblings else []
    if blamed:
        tries.append(("apart", tuple(blamed), APART, float(room)))
    for act, nodes, label, allowed in tries:
        try:
            other = edit_of(act, tree, nodes, label)
        except InputError:  # all of them are under it already, or it is the name of another node
            continue
        after = tree_cut(problem.baskets, promise, other, replace(found.options, suppress=allowed))
        yield Remedy(act, nodes, label, allowed, after.info, after.deleted)


def edit_of(act: str, tree: Hierarchy, nodes: tuple[int, ...], label: str) -> Hierarchy:
    """The tree after a remedy."""
    return merge(tree, nodes, label) if act == "merge" else set_apart(tree, nodes, label)


def mergeable(problem: Problem, tree: Hierarchy, why: Blame) -> tuple[int, ...]:
    """Children of the closed node to be made one: those that are blamed, and the rarest others until they are together no longer rare."""
    children = np.flatnonzero(tree.parent == why.node)
    blamed = {culprit.node for culprit in why.culprits}
    ranked = sorted(children.tolist(), key=lambda v: (v not in blamed, int(problem.support[v]), v))
    count = sum(v in blamed for v in ranked)
    if not count:
        return ()
    count = max(2, count)
    while count < len(ranked) and problem.occurrences[_leaves(tree, ranked[:count])].sum() < problem.k:
        count += 1
    return tuple(ranked[:count]) if count < len(ranked) else ()


def free_label(tree: Hierarchy, wanted: str) -> str:
    """The wanted label, or one with a number where it is taken."""
    taken, label, number = set(tree.names) | set(tree.labels), wanted, 1
    while label in taken:
        number += 1
        label = f"{wanted} {number}"
    return label


def _leaves(tree: Hierarchy, nodes: list[int]) -> Codes:
    return np.concatenate([tree.leaf_order[slice(*tree.span[v])] for v in nodes])
