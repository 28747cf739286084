"""The transaction function T of the RT paper: how the items of one cluster are generalized.

`sets` joins items into groups without a tree (COAT and PCTA's way), `aa` and `exact` cut through the item hierarchy with the
algorithms of the k^m room; each also in a version that keeps l^m-diversity. With a hierarchy and no way named, it is `aa`, and `sets`
in clusters where nothing but the root would be left. Clusters are independent and run in parallel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.apriori import aa
from shoal.algorithms.km.exact import exact
from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import ItemRules
from shoal.algorithms.rt.task import Task
from shoal.guarantees.km import KmAnonymity
from shoal.kernels.parallel import even_blocks, over_blocks
from shoal.kernels.tables.item_groups import Promise, first_bad_set, joined_items, settled_groups, utility_loss
from shoal.records.baskets import Baskets

BLOCKS = 64
"""Parts of the clusters that threads share."""


@dataclass(frozen=True, eq=False)
class ItemGroups:
    """The items of a cluster, ascending, the group of each, and the node of each group under a hierarchy."""

    items: npt.NDArray[np.int32]
    group: npt.NDArray[np.int32]
    size: npt.NDArray[np.int64]
    """Per group, how many items it stands for."""
    weight: npt.NDArray[np.float64]
    """Per group, w(u)."""
    node: npt.NDArray[np.int32] | None
    ul: float
    """The sum over the cluster's rows."""


def generalize(task: Task, rows: npt.NDArray[np.int64]) -> ItemGroups:
    """T of the cluster that these rows are."""
    if task.tree is None:
        return _best_sets(task, rows)
    items, group, node = _cut(task, rows)
    if task.rt.transaction is None and len(items) > 1 and node.tolist() == [task.tree.root]:
        # Real hierarchies often end at their root inside a cluster: unless it was asked for by name, sets say more.
        return _best_sets(task, rows)
    size = task.tree.leaf_count[node].astype(np.int64)
    return _measured(task, rows, items, group, size, task.node_weight[node], node)


def _best_sets(task: Task, rows: npt.NDArray[np.int64]) -> ItemGroups:
    """Neither way of comparing losses is always the better one: both are tried, and the lower UL counts."""
    return min(_sets(task, rows, by_size=False), _sets(task, rows, by_size=True), key=lambda one: one.ul)


def _sets(task: Task, rows: npt.NDArray[np.int64], *, by_size: bool) -> ItemGroups:
    g, (offsets, flat) = task, (task.items.offsets, task.items.items)
    items, group = joined_items(offsets, flat, rows, g.weight, g.k, g.m, by_size)
    if (g.m > 2 or g.l > 1) and len(items):
        group = settled_groups(offsets, flat, rows, g.weight, group, _promise(g), by_size)
    size = np.bincount(group).astype(np.int64)
    return _measured(task, rows, items, group, size, np.bincount(group, g.weight[items]) / np.maximum(size, 1), None)


def _measured(
    task: Task,
    rows: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    group: npt.NDArray[np.int32],
    size: npt.NDArray[np.int64],
    weight: npt.NDArray[np.float64],
    node: npt.NDArray[np.int32] | None,
) -> ItemGroups:
    offsets, flat = task.items.offsets, task.items.items
    loss = utility_loss(offsets, flat, rows, items, group, size.astype(np.float64), weight, len(task.weight))
    return ItemGroups(items, group, size, weight, node, float(loss))


def generalize_all(task: Task, clusters: Sequence[npt.NDArray[np.int64]]) -> list[ItemGroups]:
    """T of every cluster, over threads."""
    work = np.array([float(len(rows)) for rows in clusters])
    options = task.options
    parts = over_blocks(
        lambda a, b: [generalize(task, rows) for rows in clusters[a:b]],
        even_blocks(work, BLOCKS),
        options.threads,
        lambda share: options.tell("items of the clusters", 0.7 + 0.3 * share),
    )
    return [one for part in parts for one in part]


def item_rules(task: Task, groups: Sequence[ItemGroups]) -> ItemRules:
    """What is published for the items of each cluster. What means the same in different clusters is one token, however it came about."""
    names = task.items.vocabulary
    token_of = _Tokens(task)
    sizes: list[int] = []
    weights: list[float] = []
    codes = []
    for one in groups:
        code = np.empty(len(one.size), np.int32)
        order = np.argsort(one.group, kind="stable")
        members = np.split(one.items[order], np.cumsum(np.bincount(one.group, minlength=len(one.size)))[:-1])
        for group, inside in enumerate(members[: len(one.size)]):
            code[group] = token_of(inside.tolist(), None if one.node is None else int(one.node[group]))
            if code[group] == len(sizes):
                sizes.append(int(one.size[group]))
                weights.append(float(one.weight[group]))
        codes.append(code[one.group])
    offsets = np.concatenate(([0], np.cumsum([len(one.items) for one in groups]))).astype(np.int64)
    none = np.zeros(0, np.int32)
    return ItemRules(
        offsets,
        np.concatenate([none, *(one.items for one in groups)]),
        np.concatenate([none, *codes]),
        names,
        tuple(token_of.names),
        np.array(sizes, np.int64),
        np.array(weights, np.float64),
    )


class _Tokens:
    """Tokens by what they mean: a node of the hierarchy where there is one over exactly these items, else the set of the items.

    Clusters under a cut and clusters that fell back to sets meet here: a lone item, or all leaves of a node, is the node for both, and of
    nodes over the same leaves the lowest.
    """

    def __init__(self, task: Task) -> None:
        self.names: list[str] = []
        self._task = task
        self._known: dict[int | tuple[int, ...], int] = {}
        self._taken = set(task.items.vocabulary) | set(task.sensitive.vocabulary)
        self._node_over: dict[tuple[int, int], int] = {}
        if task.tree is not None:
            self._taken |= set(task.tree.names)
            for v, (start, stop) in enumerate(task.tree.span.tolist()):  # children come before their parents
                self._node_over.setdefault((start, stop), v)

    def __call__(self, items: list[int], node: int | None) -> int:
        """The token of a group of items that was made as a node, or as a set (None)."""
        meaning = self._node(items, node)
        place = self._known.setdefault(tuple(items) if meaning is None else meaning, len(self.names))
        if place == len(self.names):
            tree, vocabulary = self._task.tree, self._task.items.vocabulary
            self.names.append(
                set_label([vocabulary[i] for i in items], self._taken)
                if meaning is None or tree is None
                else tree.names[meaning]
            )
        return place

    def _node(self, items: list[int], node: int | None) -> int | None:
        """The lowest node over exactly the leaves that are meant, if there is one."""
        tree = self._task.tree
        if tree is None:
            return None
        if node is not None:
            start, stop = tree.span[node].tolist()
        else:
            leaves = tree.span[self._task.leaf[items], 0]
            start, stop = int(leaves.min()), int(leaves.max()) + 1
            if stop - start > len(items):
                return None
        return self._node_over.get((start, stop))


def set_label(members: Sequence[str], taken: set[str]) -> str:
    """`(A,B,C)`; an item alone stays itself. Names that hold a comma, a bracket or a quote are quoted, so that no two sets read alike."""
    if len(members) == 1:
        return members[0]
    label = (
        "("
        + ",".join(f'"{name.replace(chr(34), chr(34) * 2)}"' if set(name) & set(',()"') else name for name in members)
        + ")"
    )
    while label in taken:  # an item that is called like the set
        label = f"({label})"
    return label


def _promise(task: Task) -> Promise:
    s = task.sensitive
    return Promise(task.k, task.m, task.l, s.offsets, s.items, len(s.vocabulary) if task.l > 1 else 0)


def _cut(
    task: Task, rows: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """(items, group of each, node of each group) under a cut of this cluster's own."""
    g, tree = task, task.tree
    assert tree is not None
    part = g.items.take(rows)
    items = np.unique(part.items).astype(np.int32)
    if not len(items):
        return items, items, items
    names = g.items.vocabulary
    baskets = Baskets(
        part.offsets, np.searchsorted(items, part.items).astype(np.int32), tuple(names[i] for i in items.tolist())
    )
    promise, options = KmAnonymity(g.k, g.m), Options(threads=1)
    node = (exact if g.rt.transaction == "exact" else aa)(baskets, promise, tree, options).node
    nodes, group = np.unique(node, return_inverse=True)
    if g.l > 1:
        # l^m-diversity: while a set of nodes tells too much, the member whose parent covers the fewest occurrences moves up.
        occurrences = np.zeros(tree.n_leaves, np.int64)
        occurrences[g.leaf[items]] = baskets.supports()
        cost = tree.leaf_count * tree.sums(occurrences)
        promised = _promise(task)
        while True:
            bad = first_bad_set(g.items.offsets, g.items.items, rows, g.weight, group.astype(np.int64), promised)
            above = [int(tree.parent[v]) for v in nodes[group[bad]].tolist() if v != tree.root]
            if not above:
                break
            lifted = min(above, key=lambda v: (int(cost[v]), v))
            start, stop = tree.span[lifted]
            position = tree.span[g.leaf[items], 0]
            node = np.where((start <= position) & (position < stop), lifted, node)
            nodes, group = np.unique(node, return_inverse=True)
        only = tree.only_child
        while np.any(climbs := only[nodes] >= 0):
            nodes = np.where(climbs, only[nodes], nodes)
    return items, group.astype(np.int32), nodes.astype(np.int32)
