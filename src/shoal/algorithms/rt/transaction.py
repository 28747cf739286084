"""The transaction function T of the RT paper: how the items of a class are generalized.

`local` (row by row, with deletions), `hybrid`, `exact` and `aa` go along the item hierarchy with the algorithms of the k^m room;
`sets` joins items into groups without one (COAT and PCTA's way). Each also keeps l^m-diversity and t-closeness. `local` searches all
classes together, so that they share what may be deleted; the others take one class at a time, in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.apriori import aa
from shoal.algorithms.km.exact import exact
from shoal.algorithms.km.hybrid import hybrid
from shoal.algorithms.km.local import local_in_parts
from shoal.algorithms.rt.cluster_recoding import ItemTokens
from shoal.algorithms.rt.demand import Demand
from shoal.algorithms.rt.task import Task
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.parallel import even_blocks, over_blocks
from shoal.kernels.tables.crowds import lacking_set, lacking_tokens
from shoal.kernels.tables.item_groups import Promise, first_bad_set, joined_items, settled_groups
from shoal.numbers import Codes, Floats, Ints
from shoal.price.ul import record_costs
from shoal.records.baskets import Baskets

BLOCKS = 64
"""Parts of the classes that threads share."""

T = TypeVar("T")
Rows = Ints
Nodes = Codes


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows, and their items in groups that are published as one token each."""

    rows: Rows
    group: Codes
    """Per occurrence in the rows, -1 for a deleted one."""
    size: Ints
    """Per group, how many items it stands for."""
    weight: Floats
    """Per group, w(u)."""
    node: Nodes | None
    """Per group, its node of the hierarchy; None for sets."""
    ul: float
    """The sum over the rows."""


def generalize(task: Task, rows: Rows) -> Piece:
    """T of the class that these rows are."""
    part = task.items.take(rows)
    if task.rt.transaction == "sets":  # neither way of comparing losses is always the better one
        return min((_sets(task, rows, part, by_size=by_size) for by_size in (False, True)), key=lambda one: one.ul)
    node = _local(task, part, np.zeros(len(rows), np.int32), 1) if task.rt.transaction == "local" else _cut(task, part)
    return _of_nodes(task, rows, part, _untelling(task, rows, part, node) if task.looks_at_values else node)


def generalize_all(task: Task, of_row: Codes, n: int) -> list[Piece]:
    """T of every class."""
    classes = class_rows(of_row, n)
    if task.rt.transaction != "local":
        return _over_classes(task, classes, lambda rows: generalize(task, rows))
    node, items = _local(task, task.items, of_row, task.options.threads), task.items
    if task.looks_at_values:
        raise_telling(task, items, np.arange(len(items), dtype=np.int64), classes, node)
    return [_of_nodes(task, np.arange(len(items), dtype=np.int64), items, node)]


def raise_telling(task: Task, items: Baskets, rows: Rows, classes: Sequence[Rows], node: Nodes) -> None:
    """Move up in `node` what tells too much of a sensitive value in its class. The items are those of these rows of the table, and the
    classes number them from 0."""

    def act(own: Rows) -> None:
        inside = places_of(items, own)
        node[inside] = _untelling(task, rows[own], items.take(own), node[inside])

    _over_classes(task, classes, act)


def class_rows(of_row: npt.NDArray[np.integer[Any]], n: int) -> list[Rows]:
    """The rows of each class, ascending."""
    order = np.argsort(of_row, kind="stable").astype(np.int64)
    return np.split(order, np.cumsum(np.bincount(of_row, minlength=n))[:-1])


def places_of(items: Baskets, rows: Rows) -> Ints:
    """Where the occurrences of these rows are."""
    return stretches(items.offsets[rows], items.lengths[rows])


def stretches(starts: Ints, lengths: Ints) -> Ints:
    """The places of stretches, one after another."""
    first: Ints = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return first + np.arange(len(first))


def _over_classes(task: Task, classes: Sequence[Rows], act: Callable[[Rows], T]) -> list[T]:
    parts = over_blocks(
        lambda a, b: [act(rows) for rows in classes[a:b]],
        even_blocks(np.array([float(len(rows)) for rows in classes]), BLOCKS),
        task.options.threads,
        lambda share: task.options.tell("items of the classes", 0.7 + 0.3 * share),
    )
    return [one for part in parts for one in part]


def item_tokens(task: Task, pieces: Iterable[Piece]) -> ItemTokens:
    """What is published for each occurrence. What means the same in different classes is one token."""
    items, token_of = task.items, _Tokens(task)
    token = np.full(len(items.items), -1, np.int32)
    sizes: list[int] = []
    weights: list[float] = []
    for piece in pieces:
        inside = places_of(items, piece.rows)
        stands = piece.group >= 0
        code = np.full(len(piece.size), -1, np.int32)
        pairs = np.unique(piece.group[stands].astype(np.int64) * len(items.vocabulary) + items.items[inside[stands]])
        if not len(pairs):
            continue
        groups, starts = np.unique(pairs // len(items.vocabulary), return_index=True)
        for group, members in zip(groups.tolist(), np.split(pairs % len(items.vocabulary), starts[1:]), strict=True):
            code[group] = token_of(members.tolist(), None if piece.node is None else int(piece.node[group]))
            if code[group] == len(sizes):
                sizes.append(int(piece.size[group]))
                weights.append(float(piece.weight[group]))
        token[inside] = np.where(stands, code[piece.group], -1)
    return ItemTokens(items, token, tuple(token_of.names), np.array(sizes, np.int64), np.array(weights, np.float64))


class _Tokens:
    """Tokens by what they mean: a node of the hierarchy, the lowest over the same leaves, or a set of items."""

    def __init__(self, task: Task) -> None:
        self.names: list[str] = []
        self._task = task
        self._known: dict[int | tuple[int, ...], int] = {}
        self._taken = set(task.items.vocabulary) | set(task.sensitive.vocabulary)

    def __call__(self, items: list[int], node: int | None) -> int:
        """The token of a group of items that was made as a node, or as a set (None)."""
        task = self._task
        meaning = tuple(items) if node is None else self._lowest(task.tree, node)
        place = self._known.setdefault(meaning, len(self.names))
        if place == len(self.names):
            names = [task.items.vocabulary[i] for i in items]
            self.names.append(set_label(names, self._taken) if isinstance(meaning, tuple) else task.tree.names[meaning])
        return place

    @staticmethod
    def _lowest(tree: Hierarchy, node: int) -> int:
        while tree.only_child[node] >= 0:
            node = int(tree.only_child[node])
        return node


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


def _sets(task: Task, rows: Rows, part: Baskets, *, by_size: bool) -> Piece:
    offsets, flat = task.items.offsets, task.items.items
    items, group = joined_items(offsets, flat, rows, task.weight, task.k, task.m, by_size)
    if (task.m > 2 or task.l > 1) and len(items):
        group = settled_groups(offsets, flat, rows, task.weight, group, _promise(task), by_size)
    if task.columns is not None and len(items):
        group = _closer_groups(task, task.columns, rows, part, items, group)
    size = np.bincount(group).astype(np.int64)
    weight = np.bincount(group, task.weight[items]) / np.maximum(size, 1)
    return _piece(rows, part, group[np.searchsorted(items, part.items)].astype(np.int32), size, weight, None)


def _closer_groups(
    task: Task,
    columns: Demand,
    rows: Rows,
    part: Baskets,
    items: npt.NDArray[np.integer[Any]],
    group: npt.NDArray[np.integer[Any]],
) -> Codes:
    """Groups joined until the rows of no set of them lack what is demanded of sensitive columns."""
    own, joined = np.searchsorted(items, part.items), group.astype(np.int32)
    while True:
        joined = np.unique(joined, return_inverse=True)[1].reshape(-1).astype(np.int32)
        n = int(joined.max()) + 1
        sets = _grouped(part, joined[own], n)
        bad = lacking_set(sets.offsets, sets.items, n, rows, task.m, columns.demands)
        if not len(bad) or n == 1:
            return joined
        size = np.bincount(joined, minlength=n)
        one = int(bad[np.argmin(size[bad])])
        others = bad[bad != one] if len(bad) > 1 else np.delete(np.arange(n), one)
        joined[joined == one] = int(others[np.argmin(size[others])])


def _of_nodes(task: Task, rows: Rows, part: Baskets, node: Nodes) -> Piece:
    """The rows with each occurrence published as its node, -1 for none."""
    nodes, group = np.unique(node, return_inverse=True)
    first = int(len(nodes) > 0 and nodes[0] < 0)
    nodes = nodes[first:].astype(np.int32)
    group = group.reshape(-1) - first
    size = task.tree.leaf_count[nodes].astype(np.int64)
    return _piece(rows, part, group.astype(np.int32), size, task.node_weight[nodes], nodes)


def _piece(rows: Rows, part: Baskets, group: Codes, size: Ints, weight: Floats, node: Nodes | None) -> Piece:
    published = _grouped(part, group, len(size))
    return Piece(rows, group, size, weight, node, float(record_costs(published, size, weight).sum()))


def _grouped(part: Baskets, group: Codes, n: int) -> Baskets:
    """Rows of groups, each once, whose names are their numbers; groups that nothing stands in are there as well."""
    row = np.repeat(np.arange(len(part), dtype=np.int64), part.lengths)
    pairs = np.unique(row[group >= 0] * max(1, n) + group[group >= 0])
    lengths = np.bincount(pairs // max(1, n), minlength=len(part))
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return Baskets(offsets, (pairs % max(1, n)).astype(np.int32), tuple(map(str, range(n))))


def _promise(task: Task) -> Promise:
    s = task.sensitive
    return Promise(task.k, task.m, task.l, s.offsets, s.items, len(s.vocabulary) if task.l > 1 else 0)


def _local(task: Task, part: Baskets, of_row: Codes, threads: int | None) -> Nodes:
    options = replace(task.options, threads=threads)
    return local_in_parts(part, of_row, KmAnonymity(task.k, task.m), task.tree, options)


def _cut(task: Task, part: Baskets) -> Nodes:
    """The node of each occurrence under a cut of this class's own, -1 where it is deleted."""
    used = np.unique(part.items)
    if not len(used):
        return np.zeros(0, np.int32)
    names = tuple(part.vocabulary[i] for i in used.tolist())
    baskets = Baskets(part.offsets, np.searchsorted(used, part.items).astype(np.int32), names, people=part.people)
    search = {"aa": aa, "exact": exact, "hybrid": hybrid}[task.rt.transaction]
    found = search(baskets, KmAnonymity(task.k, task.m), task.tree, replace(task.options, threads=1, progress=None))
    node = found.node[baskets.items]
    if found.deletions is not None:
        row, n = np.repeat(np.arange(len(part), dtype=np.int64), part.lengths), task.tree.n_nodes
        gone = np.isin(row * n + node, found.deletions.row * n + found.deletions.node)
        node = np.where(gone, -1, node)
    return node.astype(np.int32)


def _untelling(task: Task, rows: Rows, part: Baskets, node: Nodes) -> Nodes:
    """With tokens moved up until no set of them tells too much of sensitive items, or of sensitive columns."""
    if task.columns is None:
        return _diverse(task, rows, part, node)
    while True:  # rows of two tokens overlap: what one of the two asks for may break the other
        diverse = _diverse(task, rows, part, node) if task.l > 1 and len(task.sensitive.vocabulary) else node
        close = _close(task, task.columns, rows, part, diverse)
        if np.array_equal(close, diverse):
            return close
        node = close


def _close(task: Task, columns: Demand, rows: Rows, part: Baskets, node: Nodes) -> Nodes:
    """With tokens moved up until the rows of no set of them lack what is demanded of sensitive columns: whole ones, so that no set becomes
    rare."""
    tree, parent = task.tree, task.tree.parent
    while True:
        nodes, sets = _sets_of(part, node)
        alone = lacking_tokens(sets.offsets, sets.items, len(nodes), rows, columns.demands)
        movable = alone & (nodes != tree.root)
        if movable.any():  # each of them has to go somewhere
            node = np.where(np.isin(node, nodes[movable]), parent[node], node).astype(np.int32)
            continue
        bad = nodes[lacking_set(sets.offsets, sets.items, len(nodes), rows, task.m, columns.demands)].tolist()
        if not bad:
            return node
        choice = [v for v in bad if v != tree.root]
        if not choice:  # the root must stand in every row that holds anything
            return np.full_like(node, tree.root)
        node = _with_cheapest_up(tree, node, choice)


def _sets_of(part: Baskets, node: Nodes) -> tuple[Nodes, Baskets]:
    """The nodes that occur, and the rows as sets of their numbers."""
    nodes, group = np.unique(node[node >= 0], return_inverse=True)
    grouped = np.full(len(node), -1, np.int32)
    grouped[node >= 0] = group.reshape(-1)
    return nodes, _grouped(part, grouped, len(nodes))


def _with_cheapest_up(tree: Hierarchy, node: Nodes, choice: list[int]) -> Nodes:
    """Of these nodes, the one that costs least to be published as its parent is."""
    times = {v: int(np.count_nonzero(node == v)) for v in choice}
    rises = min(choice, key=lambda v: (times[v] * int(tree.leaf_count[tree.parent[v]]), v))
    return np.where(node == rises, tree.parent[rises], node).astype(np.int32)


def _diverse(task: Task, rows: Rows, part: Baskets, node: Nodes) -> Nodes:
    """With tokens moved up until no set of them tells too much of a sensitive item: whole ones, so that no set becomes rare."""
    tree = task.tree
    s = task.sensitive.take(rows)
    promise = Promise(task.k, task.m, task.l, s.offsets, s.items, len(s.vocabulary))
    while True:
        nodes, sets = _sets_of(part, node)
        bad = first_bad_set(sets.offsets, sets.items, len(nodes), promise)
        if not len(bad):
            return node
        movable = [v for v in nodes[bad].tolist() if v != tree.root] or [v for v in nodes.tolist() if v != tree.root]
        if not movable:  # the root must stand in every row that holds anything
            return np.full_like(node, tree.root)
        node = _with_cheapest_up(tree, node, movable)
