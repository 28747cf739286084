"""Trees for property tests, and a slow, obvious way to look at one."""

from collections import Counter

from hypothesis import strategies as st

from shoal.hierarchy.tree import Hierarchy

# Few letters, so that labels repeat on levels and branches, and the signs that could confuse a separator or a path.
LABELS = st.text(alphabet='ab*/#;,"1é', min_size=1, max_size=3)
WORDS = st.text(alphabet="ab*/#;,1é", min_size=1, max_size=3)


@st.composite
def trees(draw, labels=LABELS, most_leaves=12, distinct_siblings=False):
    """A random tree with one to `most_leaves` leaves: nodes without a parent are grouped until one is left."""
    leaves = draw(st.lists(labels, min_size=1, max_size=most_leaves, unique=True))
    names = list(leaves)
    parent = [-1] * len(leaves)
    orphans = list(range(len(leaves)))
    while len(orphans) > 1 or len(names) == len(leaves):
        size = draw(st.integers(1, len(orphans)))
        start = draw(st.integers(0, len(orphans) - size))
        grouped = orphans[start : start + size]
        names.append(draw(labels))
        parent.append(-1)
        for v in grouped:
            parent[v] = len(names) - 1
        if size == 1 and len(names) > 3 * most_leaves:  # enough of chains: close the tree
            grouped = orphans
            for v in grouped:
                parent[v] = len(names) - 1
        orphans = [v for v in orphans if v not in grouped] + [len(names) - 1]
    if distinct_siblings:
        seen = set()
        for v in range(len(leaves), len(names)):
            while (parent[v], names[v]) in seen or names[v] in leaves:
                names[v] += "+"
            seen.add((parent[v], names[v]))
    return Hierarchy.from_parents(parent, names, "random")


def path(h, v):
    """Node v and everything above it, the root last."""
    found = [v]
    while h.parent[found[-1]] >= 0:
        found.append(int(h.parent[found[-1]]))
    return found


def leaves_below(h, v):
    return {leaf for leaf in range(h.n_leaves) if v in path(h, leaf)}


def shape(h, labels=None):
    """What a tree means, whatever the numbering of its nodes: each node's path of labels and the items below it."""
    labels = labels or h.labels
    return Counter(
        (tuple(labels[u] for u in path(h, v)), frozenset(h.labels[leaf] for leaf in leaves_below(h, v)))
        for v in range(h.n_nodes)
    )
