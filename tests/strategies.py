"""Random small data and trees for hypothesis, and bridges between our nouns and the naive ones."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import naive
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets


@st.composite
def trees(draw, min_leaves=1, max_leaves=7):
    """Random hierarchies: any shape, leaves at any depth, nodes with a single child among them."""
    n_leaves = draw(st.integers(min_leaves, max_leaves))
    parent = {}
    level = draw(st.permutations(range(n_leaves)))
    new = n_leaves
    while True:
        groups, rest = [], list(level)
        while rest:
            size = draw(st.integers(1, min(4, len(rest))))
            groups.append(rest[:size])
            rest = rest[size:]
        if len(groups) == 1 or draw(st.integers(0, 5)) == 0:
            break
        level = []
        for group in groups:
            if len(group) == 1 and draw(st.booleans()):
                level.append(group[0])  # stays where it is and joins something higher up
                continue
            for v in group:
                parent[v] = new
            level.append(new)
            new += 1
        if len(level) == 1 and level[0] >= n_leaves:
            break
    if not (len(level) == 1 and level[0] == new - 1 and new > n_leaves):
        for v in level:
            parent[v] = new
        new += 1
    parents = np.array([parent.get(v, -1) for v in range(new)], np.int32)
    labels = tuple(f"i{v}" for v in range(n_leaves)) + tuple(f"n{v}" for v in range(n_leaves, new))
    return Hierarchy(parents, labels, n_leaves)


def transactions(n_items, max_rows=14, min_size=0):
    return st.lists(st.sets(st.integers(0, n_items - 1), min_size=min_size), min_size=1, max_size=max_rows)


@st.composite
def worlds(draw, min_leaves=1, max_leaves=7, max_rows=14):
    """(hierarchy, rows of leaf numbers, k, m), with at least k rows that hold an item."""
    hierarchy = draw(trees(min_leaves, max_leaves))
    rows = draw(transactions(hierarchy.n_leaves, max_rows))
    filled = sum(map(bool, rows))
    k = draw(st.integers(1, min(4, max(filled, 1))))
    m = draw(st.integers(1, 4))
    return hierarchy, rows, k, m


def baskets_of(rows, hierarchy):
    """Rows of leaf numbers as Baskets named by the hierarchy's leaves."""
    return Baskets.from_rows([hierarchy.labels[leaf] for leaf in row] for row in rows)


def naive_tree(hierarchy):
    return naive.Tree(hierarchy.parent, hierarchy.n_leaves)


def nodes_of(cut):
    return frozenset(cut.nodes.tolist())
