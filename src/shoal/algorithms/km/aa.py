"""AA, apriori-based anonymization (Algorithm 4): single items first, then pairs, up to m, each step on what the last one left."""

from __future__ import annotations

from shoal.algorithms.km.count_tree import CountTree, Walked
from shoal.algorithms.km.ground import Ground
from shoal.algorithms.recoding import Options, Recoding
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets


def aa(baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> Recoding:
    """A cut that keeps the promise, usually near the optimum."""
    return aa_on(CountTree(Ground(baskets, guarantee, hierarchy, options.threads)), options)


def aa_on(tree: Walked, options: Options) -> Recoding:
    """As `aa`, on a count-tree that any engine walks."""
    repaired, m = 0, tree.ground.m
    for size in range(1, m + 1):
        options.tell(f"itemsets of size {size} of {m}", (size - 1) / m)
        repaired += tree.generalize(size, any_depth=False)
    return Recoding(tree.cut(), tree.ground.vocabulary, "aa", facts={"repaired": repaired})
