"""Hierarchies made from names and their supports alone: flat, balanced, by frequency, and by leading characters.

`balanced_tree` and `frequency_tree` are the hierarchies of the k^m experiments: items in a fixed order, n consecutive nodes to a
parent, level after level up to one root. `prefix_tree` and `mask_tree` are trees of the beginnings that names share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from shoal.errors import VALUES, InputError
from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import Ints
from shoal.ordering import natural_order

ROOT = "*"


def flat_tree(values: Sequence[str]) -> Hierarchy:
    """All values right under the root."""
    parent = np.full(len(values) + 1, len(values), np.int32)
    parent[-1] = -1
    return Hierarchy(parent, (*values, ROOT), len(values), "flat")


def balanced_tree(vocabulary: Sequence[str], n: int) -> Hierarchy:
    """Items in natural order, consecutive groups of n under a parent, again and again up to the root `*`.

    A parent is called by the places of its items in the order, as `items[6:10]`: a label is published, and the names of its
    first and last item might be rare ones.
    """
    items = [vocabulary[i] for i in natural_order(distinct(vocabulary))]
    return group_neighbours(items, n, f"balanced:{n}", lambda first, last: f"items[{first + 1}:{last + 1}]")


def frequency_tree(vocabulary: Sequence[str], supports: Ints, n: int) -> Hierarchy:
    """As `balanced_tree`, over items in descending order of support (ties in natural order), with parents such as `rank[6:10]`."""
    source = f"frequency:{n}"
    items = [vocabulary[i] for i in support_order(vocabulary, supports, source)]
    return group_neighbours(items, n, source, lambda first, last: f"rank[{first + 1}:{last + 1}]")


def prefix_tree(vocabulary: Sequence[str], lengths: Sequence[int] = ()) -> Hierarchy:
    """Codes (such as ICD) grouped by their leading characters, dots aside: 250.01 under `250.0*` under `250*` under `25*`.

    With `lengths`, only by so many of them. A code that others begin with stays a leaf of its own (250 under `250*`).
    """
    keyed = sorted((name.replace(".", ""), name) for name in distinct(vocabulary))
    names = [name for _, name in keyed]
    source = f"prefix:{','.join(map(str, lengths))}" if lengths else "prefix"
    return _tree_of_beginnings(
        names, [key for key, _ in keyed], lambda name, length: _beginning(name, length) + "*", source, lengths
    )


def mask_tree(values: Sequence[str]) -> Hierarchy:
    """Texts whose last characters are hidden one after the other, up to the root: 4711 under `471*` under `47**`.

    Values of different length are filled up on the right: 47 is as long as 4711 once its end is hidden (`47**`). What all values begin
    with stays at the root.
    """
    longest = max(map(len, values))
    return _tree_of_beginnings(values, values, lambda name, length: name[:length].ljust(longest, "*"), "mask")


def _tree_of_beginnings(
    names: Sequence[str],
    keys: Sequence[str],
    label: Callable[[str, int], str],
    source: str,
    lengths: Sequence[int] = (),
) -> Hierarchy:
    """The tree of the beginnings that keys share; `label` names a node by a leaf below it and the length of the beginning.

    A node stands only where keys part: one that would cover the same leaves as its single child is left out. Sorted keys that share a
    beginning stand side by side, so one pass with a stack over the lengths that neighbours have in common finds every node.
    """
    order = sorted(range(len(names)), key=lambda i: (keys[i], names[i]))
    shared = [_shared_length(keys[i], keys[j]) for i, j in pairwise(order)]
    if lengths:
        shared = [max((length for length in lengths if length <= common), default=0) for common in shared]
    labels = list(names)
    parent = [-1] * len(labels)

    def open_node(length: int, leaf: int) -> tuple[int, int]:
        """A new inner node for the keys that share the first `length` characters of this leaf's, not hung up yet."""
        labels.append(label(names[leaf], length) if length else ROOT)
        parent.append(-1)
        return length, len(labels) - 1

    # The stack holds the open nodes above the current leaf as (length of the shared beginning, node), the root at the bottom.
    stack = [open_node(min(shared, default=0), order[0])]
    for leaf, ahead in zip(order, [*shared, stack[0][0]], strict=True):
        if ahead > stack[-1][0]:
            stack.append(open_node(ahead, leaf))
        parent[leaf] = stack[-1][1]
        while stack[-1][0] > ahead:
            _, closed = stack.pop()
            if stack[-1][0] < ahead:
                stack.append(open_node(ahead, leaf))
            parent[closed] = stack[-1][1]
    return Hierarchy.from_parents(parent, labels, source)


def support_order(vocabulary: Sequence[str], supports: Ints, source: str) -> list[int]:
    """Places of the items by descending support, ties in natural order."""
    order = np.array(natural_order(distinct(vocabulary)), np.int64)
    if len(supports) != len(vocabulary):
        raise InputError(f"{source} needs one support for each of the {len(vocabulary):,} items")
    ranked: list[int] = order[np.argsort(-np.asarray(supports, np.int64)[order], kind="stable")].tolist()
    return ranked


def distinct(vocabulary: Sequence[str]) -> Sequence[str]:
    """The vocabulary itself, once it is known to be a set of at least one name."""
    if not len(vocabulary):
        raise InputError("there are no items to build a hierarchy over; the data holds empty transactions only")
    if len(set(vocabulary)) < len(vocabulary):
        repeated = [name for name, times in Counter(vocabulary).items() if times > 1]
        raise InputError(
            f"items must be listed once to build a hierarchy over them, but {len(repeated):,} repeat{VALUES}",
            values=repeated,
        )
    return vocabulary


def group_neighbours(items: Sequence[str], n: int, source: str, label: Callable[[int, int], str]) -> Hierarchy:
    """Groups of n, level by level; `label` names a node by the positions of its first and last item."""
    if n < 2:
        raise InputError(f"hierarchy {source}: groups need at least 2 members; use for example balanced:5")
    labels = list(items)
    parents: list[Ints] = []
    width, covers = len(items), 1  # nodes on the current level, and the items under each of them but the last
    while width > 1 or not parents:
        parents.append(len(labels) + np.arange(width) // n)
        width, covers = -(-width // n), covers * n
        labels += [label(i * covers, min((i + 1) * covers, len(items)) - 1) for i in range(width)]
    labels[-1] = ROOT
    return Hierarchy(np.append(np.concatenate(parents), -1).astype(np.int32), tuple(labels), len(items), source)


def _shared_length(one: str, other: str) -> int:
    """Number of leading characters that two texts have in common."""
    shorter = min(len(one), len(other))
    return next((i for i in range(shorter) if one[i] != other[i]), shorter)


def _beginning(name: str, length: int) -> str:
    """The part of a name that holds its first `length` characters other than dots."""
    end = 0
    while length:
        length -= name[end] != "."
        end += 1
    return name[:end]
