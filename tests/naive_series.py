"""What a series has to be, the slow and obvious way: rows as sets of names, trees as parents."""

from __future__ import annotations

from collections import Counter

import naive


def publishable(rows, k, m):
    """The numbers of the rows in the largest set of rows that keeps the promise by itself: rows that break it go, one after the other."""
    stays = set(range(len(rows)))
    while True:
        supports = naive.itemset_supports([rows[i] for i in stays], m)
        exposed = {i for i in stays if any(supports[s] < k for s in naive.itemset_supports([rows[i]], m))}
        if not exposed:
            return stays
        stays -= {min(exposed)}


def expressed(tree, cut, rows):
    """Rows of tokens under a cut that is nowhere finer."""
    nodes = set(cut.lowest().nodes.tolist())
    place = {name: v for v, name in enumerate(tree.names)}

    def above(v):
        while v not in nodes and tree.parent[v] >= 0 and not leads_to(v):
            v = int(tree.parent[v])
        return v if v in nodes else leads_to(v)

    def leads_to(v):
        """The node of the cut that covers the same leaves as v, below it."""
        while v not in nodes:
            if len(tree.children[v]) != 1:
                return None
            v = tree.children[v][0]
        return v

    return [frozenset(tree.names[above(place[token])] for token in row) for row in rows]


def multiset(rows):
    return Counter(frozenset(row) for row in rows)
