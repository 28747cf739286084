"""What says nothing any more: columns that became one value, hierarchies that could not help.

The owner hears of it first, with what would keep more; readers of a certificate hear what they can count in the file themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shoal.algorithms.rt.cluster_recoding import ClusterRecoding
from shoal.errors import Message, option
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.relational import ANYTHING
from shoal.records.records import Column, Records

FLAT = "flat"
"""The tree of a column that has none: values and nothing above them but the root."""
HARDLY = 0.5
"""A hierarchy that leaves more than this share at its root, or deleted, is of little help."""

Trees = Mapping[str, Hierarchy | None]


@dataclass(frozen=True)
class IdleTree:
    """A hierarchy that was given, and that helps little."""

    column: str
    """Its column; the name of the items' column for theirs."""
    source: str
    of_items: bool
    share: float
    """Of the rows, or of the items, that are published as nothing more than its root, or not at all."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def idle_trees(records: Records, published: Records, recoding: ClusterRecoding, trees: Trees) -> tuple[IdleTree, ...]:
    """The hierarchies that help little with a table."""
    found = []
    for column in records.of_role("quasi"):
        tree, after = trees[column.name], published[column.name]
        if tree is not None and tree.source != FLAT:
            share = 1.0 if is_uniform(after) and not is_uniform(column) else root_share(after, tree)
            found.append(IdleTree(column.name, tree.source, False, share))
    tree = trees.get(records.items_name) if records.items is not None else None
    if tree is not None and tree.source != FLAT and recoding.facts.get("transaction") != "sets":
        found.append(IdleTree(records.items_name, tree.source, True, _says_nothing(recoding, tree)))
    return tuple(one for one in found if one.share > HARDLY)


def idle_tree_of_items(
    tree: Hierarchy, nodes: Any, counts: Sequence[int] | Any, name: str = ""
) -> tuple[IdleTree, ...]:
    """The same for sets, from how often each node is published; -1 is what is deleted."""
    nodes, counts = np.asarray(nodes), np.asarray(counts)
    if tree.n_nodes == 1 or not counts.sum():
        return ()
    share = float(counts[(nodes < 0) | (nodes == tree.root)].sum() / counts.sum())
    return (IdleTree(name, tree.source, True, share),) if share > HARDLY else ()


def first_notes(records: Records, published: Records, recoding: ClusterRecoding, trees: Trees) -> Iterator[str]:
    """To the owner, before all other notes."""
    balance = f"a larger {option('balance')}, " if recoding.algorithm == "joint" else ""
    more = f"{balance}a smaller k, fewer quasi columns or a larger weight of it ({option('weights')})"
    for column in records.of_role("quasi"):
        tree, after = trees[column.name], published[column.name]
        if is_uniform(after) and not is_uniform(column):
            by_tree = "" if tree is None or tree.source == FLAT else f", and its hierarchy {tree.source} could not help"
            yield Message(
                f"nothing is left of column {column.name!r}: it is {_uniform_words(after)} in every published row{by_tree}; {more}, or a "
                f"limit ({option('limits')}), keep more of it"
            )
        elif tree is not None and tree.source != FLAT and (share := root_share(after, tree)) > HARDLY:
            yield Message(
                f"the hierarchy {tree.source} helps little with column {column.name!r}: {share:.0%} of the rows are published as nothing "
                f"more than its root; {more}, or a finer hierarchy, keep more of it"
            )
    yield from _item_notes(recoding, trees.get(records.items_name) if records.items is not None else None)


def _item_notes(recoding: ClusterRecoding, tree: Hierarchy | None) -> Iterator[str]:
    if tree is None:
        return
    share = _says_nothing(recoding, tree)
    if share > HARDLY and recoding.facts.get("transaction") != "sets":
        yield Message(
            f"the hierarchy {tree.source} helps little here: {share:.0%} of the items are published as nothing more than its root, or not "
            f"at all, because few rows of a class share a category; fewer quasi columns, a smaller {option('balance')}, k or m keep more"
        )


def _says_nothing(recoding: ClusterRecoding, tree: Hierarchy) -> float:
    """The share of the items that are published as the root, or not at all."""
    if recoding.tokens is None or not len(recoding.tokens.token):
        return 0.0
    says_nothing = np.array([*(name == tree.names[tree.root] for name in recoding.tokens.tokens), True], np.bool_)
    return float(np.mean(says_nothing[recoding.tokens.token]))


def empty_warnings(published: Records, trees: Trees) -> Iterator[str]:
    """To readers of the certificate: all of it can be counted in the file."""
    for column in published.of_role("quasi"):
        tree = trees[column.name]
        if is_uniform(column):
            yield f"Column {column.name!r} is {_uniform_words(column)} in every row: it says nothing that tells rows apart."
        elif tree is not None and (share := root_share(column, tree)) > HARDLY:
            yield f"Column {column.name!r} says nothing in {share:.0%} of the rows: they hold the root of its hierarchy."
    tree = trees.get(published.items_name)
    if published.items is None or tree is None:
        return
    items = published.items.split_off(published.sensitive_items)[0]
    if (root := tree.names[tree.root]) in items.vocabulary:
        share = float(items.supports()[items.vocabulary.index(root)]) / items.occurrences
        if share > HARDLY:
            yield f"Of the published items {share:.0%} say nothing: they are the root of the hierarchy."


def is_uniform(column: Column) -> bool:
    """Whether all rows have the same value, or the same number however it is spelled; not where there is but one row."""
    if len(column) < 2:
        return False
    values = np.unique(column.codes)
    return len(values) == 1 or (column.numbers is not None and len(set(column.numbers[values].tolist())) == 1)


def root_share(column: Column, tree: Hierarchy) -> float:
    """The share of rows that are published as the root of a tree with something under it."""
    if tree.n_nodes == 1:
        return 0.0
    root = np.array([text in (ANYTHING, tree.names[tree.root]) for text in column.values], np.bool_)
    return float(np.mean(root[column.codes])) if len(column) else 0.0


def _uniform_words(column: Column) -> str:
    return ANYTHING if column.values[int(column.codes[0])] == ANYTHING else "the same value"
