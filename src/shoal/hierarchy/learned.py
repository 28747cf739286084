"""Trees that are learned from data: over groups of items that an algorithm found, and over parts of equal mass.

`by_mass` needs supports alone. Items in descending order of support are cut into n stretches that hold about the same number of
occurrences, and so on inside each: frequent items hang near the root, rare ones deep down, and all nodes of a level weigh
about the same. `nested` takes groups, and groups of groups, and makes a tree of them with at most n children per node.

Labels are places in the tree, as `learned[6:10]`: the sixth to tenth leaf, siblings in descending order of occurrences. They name
no item (docs/decisions/0005).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from shoal.errors import InputError
from shoal.hierarchy.build import ROOT, support_order
from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import Ints
from shoal.ordering import natural_order


def mass_tree(vocabulary: Sequence[str], supports: Ints, n: int) -> Hierarchy:
    """Items by descending support (ties in natural order), cut into n stretches of about equal mass, again and again."""
    items = _ranked(vocabulary, supports, n)
    mass = np.concatenate(([0], np.cumsum(np.asarray(supports, np.int64)[items])))
    root = len(items)
    parent = [root] * len(items) + [-1]
    stack = [(0, len(items), root)]
    while stack:
        first, last, node = stack.pop()
        for start, stop in _stretches(mass, first, last, n):
            if stop - start == 1:
                parent[items[start]] = node
            else:
                parent.append(node)
                stack.append((start, stop, len(parent) - 1))
    return _labelled(vocabulary, supports, parent, f"learned:{n}")


def tree_of_groups(
    vocabulary: Sequence[str], supports: Ints, partitions: Sequence[Ints], n: int, source: str
) -> Hierarchy:
    """A tree of at most n children per node in which every group of every partition is a node.

    A partition is the group number of each item; the groups of one lie inside those of the next. What is inside a group hangs
    together n by n, in descending order of occurrences, again and again up to the group's own node. Only its lightest member hangs
    right below that node: no cut can pass below the group without publishing this item as itself, so a search for the best cut
    sees at once that it may not, instead of weighing many cuts that almost keep the promise.
    """
    level = _ranked(vocabulary, supports, n)
    weight, item, parent = supports.tolist(), list(range(len(vocabulary))), [-1] * len(vocabulary)

    def join(nodes: list[int], most: int = 1) -> list[int]:
        """At most `most` nodes above all of these, which stand by descending weight."""
        while len(nodes) > most:
            parts = -(-len(nodes) // n)
            bounds = [len(nodes) * i // parts for i in range(parts + 1)]
            nodes = [above(nodes[a:b]) for a, b in pairwise(bounds)]
        return nodes

    def above(nodes: list[int]) -> int:
        if len(nodes) == 1:
            return nodes[0]
        for v in nodes:
            parent[v] = len(parent)
        parent.append(-1)
        weight.append(sum(weight[v] for v in nodes))
        item.append(item[nodes[0]])  # any of its items tells the groups that it belongs to
        return len(parent) - 1

    def group(nodes: list[int]) -> int:
        """The node of a whole group: its lightest member right below it, and the others in what places are left."""
        return nodes[0] if len(nodes) == 1 else above([*join(nodes[:-1], n - 1), nodes[-1]])

    for group_of in (*(partition.tolist() for partition in partitions), [0] * len(vocabulary)):
        members: dict[int, list[int]] = {}
        for v in level:
            members.setdefault(group_of[item[v]], []).append(v)
        level = sorted((group(nodes) for nodes in members.values()), key=lambda v: -weight[v])
    if len(parent) == len(vocabulary):  # a single item
        parent = [1, -1]
    return _labelled(vocabulary, supports, parent, source)


def relabel(tree: Hierarchy, supports: Ints, source: str) -> Hierarchy:
    """The same tree with the labels of a learned one; `supports` in the order of the items given to whoever built it.

    Nodes with a single child are left out.
    """
    only = tree.only_child.tolist()
    parent = tree.parent.tolist()
    for v in range(tree.n_nodes - 2, -1, -1):
        while (p := parent[v]) >= 0 and only[p] >= 0 and p != tree.root:
            parent[v] = parent[p]
    alive = [v for v in range(tree.n_nodes) if only[v] < 0 or v == tree.root]
    number = {v: i for i, v in enumerate(alive)}
    return _labelled(
        tree.labels[: tree.n_leaves], supports, [number[parent[v]] if parent[v] >= 0 else -1 for v in alive], source
    )


def _ranked(vocabulary: Sequence[str], supports: Ints, n: int) -> list[int]:
    if n < 2:
        raise InputError(f"hierarchy learned:{n}: nodes need room for at least 2 children; use for example learned:5")
    return support_order(vocabulary, supports, f"learned:{n}")


def _stretches(mass: Ints, first: int, last: int, n: int) -> list[tuple[int, int]]:
    """[first, last) in at most n stretches of about equal mass, none of them empty."""
    if last - first <= n:
        return [(i, i + 1) for i in range(first, last)]
    cuts = [first]
    for left in range(n, 1, -1):
        start = cuts[-1]
        if mass[last] == mass[start]:  # names that never occur weigh nothing: by number, or the tree would be a chain
            cuts.append(start + (last - start) // left)
            continue
        target = mass[start] + (mass[last] - mass[start]) / left
        cut = int(np.searchsorted(mass, target))
        if cut > start + 1 and target - mass[cut - 1] < mass[min(cut, len(mass) - 1)] - target:
            cut -= 1
        cuts.append(min(max(cut, start + 1), last - left + 1))
    cuts.append(last)
    return list(pairwise(cuts))


def _labelled(vocabulary: Sequence[str], supports: Ints, parent: list[int], source: str) -> Hierarchy:
    """The tree over the items in the given order, its inner nodes called by the places of their leaves."""
    tree = Hierarchy.from_parents(parent, [*vocabulary, *([ROOT] * (len(parent) - len(vocabulary)))], source)
    n, above = tree.n_leaves, tree.parent.tolist()
    rank = np.empty(n, np.int64)
    rank[np.array(natural_order(vocabulary), np.int64)] = np.arange(n)
    first = rank.tolist() + [n] * (tree.n_nodes - n)  # the place in natural order of the first item under each node
    for v in range(tree.n_nodes - 1):
        first[above[v]] = min(first[above[v]], first[v])
    weight = tree.sums(np.asarray(supports, np.int64))
    # Parents, which have higher numbers, before their children, and siblings by weight: each begins where the one before it ends.
    order = np.lexsort((np.array(first[:-1], np.int64), -weight[:-1], -tree.parent[:-1].astype(np.int64)))
    start, stop, count = [0] * tree.n_nodes, [0] * tree.n_nodes, tree.leaf_count.tolist()
    for v in order.tolist():
        start[v] = stop[v] = stop[above[v]]
        stop[above[v]] += count[v]
    labels = [f"learned[{start[v] + 1}:{start[v] + count[v]}]" for v in range(n, tree.root)]
    return Hierarchy(tree.parent.copy(), (*vocabulary, *labels, ROOT), n, source)
