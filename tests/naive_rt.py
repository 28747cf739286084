"""Slow, obvious twins of everything for relational columns with items. A table is a list of (values, items), a column of numbers or
of names; a tree is a dict from a node to its parent."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np


def ancestors(tree, value):
    path = [value]
    while path[-1] in tree:
        path.append(tree[path[-1]])
    return path


def leaves(tree, node):
    inner = set(tree.values())
    return {v for v in set(tree) | inner if v not in inner and node in ancestors(tree, v)}


def value_ncp(values, domain, tree):
    """NCP of publishing these values as one: a range of numbers (no tree; None is a missing one), or the lowest common node."""
    values = set(values)
    if len(values) == 1:
        return 0.0
    if tree is None:
        if None in values:
            return 1.0
        known = [v for v in domain if v is not None]
        return (max(values) - min(values)) / (max(known) - min(known))
    common = next(node for node in ancestors(tree, min(values)) if values <= leaves(tree, node))
    root = ancestors(tree, min(values))[-1]
    return len(leaves(tree, common)) / len(leaves(tree, root))


class Table:
    """Tuples, items and trees, with NCP of any set of rows."""

    def __init__(self, tuples, items, trees, weights=None):
        self.tuples, self.items, self.trees = tuples, [frozenset(row) for row in items], trees
        self.domains = [set(column) for column in zip(*tuples, strict=True)]
        weights = weights or [1.0] * len(trees)
        self.weights = [w / sum(weights) for w in weights]

    def ncp(self, rows):
        """NCP of a record in a cluster of these rows."""
        total = 0.0
        for j, (tree, weight) in enumerate(zip(self.trees, self.weights, strict=True)):
            total += weight * value_ncp([self.tuples[r][j] for r in rows], self.domains[j], tree)
        return total

    measure = "ncp"

    def cost(self, rows):
        """What a record costs in a cluster of these rows, by the measure."""
        return self.ncp(rows) if self.measure == "ncp" else len(rows) / len(self.tuples)

    def rum(self, clusters):
        """The loss of the table, from every record of it."""
        if self.measure == "c-avg":
            return (len(self.tuples) / len(clusters)) / len(self.tuples)
        return sum(len(c) * self.cost(c) for c in clusters) / len(self.tuples)

    def published(self, rows):
        """Something that is equal for clusters that are published alike."""
        return tuple(
            frozenset(
                {min(vs), max(vs)}
                if tree is None and None not in vs
                else {"mixed"}
                if tree is None and len(vs) > 1
                else vs
                if tree is None
                else next(leaves(tree, n) for n in ancestors(tree, min(vs)) if vs <= leaves(tree, n))
            )
            for tree, vs in zip(self.trees, map(set, zip(*(self.tuples[r] for r in rows), strict=True)), strict=True)
        )

    def cluster(self, k, order):
        """CLUSTER, line by line; `order` is the order in which seeds are drawn."""
        by_tuple = sorted(range(len(self.tuples)), key=lambda r: (self.place(r), r))
        left = set(range(len(self.tuples)))
        clusters = []
        for s in order:
            if len(left) < k:
                break
            if s not in left:
                continue
            near = sorted((r for r in by_tuple if r in left and r != s), key=lambda r: self.ncp([s, r]))[: k - 1]
            clusters.append([s, *near])
            left -= set(clusters[-1])
        for r in sorted(left):
            min(clusters, key=lambda c: self.ncp([*c, r])).append(r)
        alike = {}
        for c in clusters:
            alike.setdefault(self.published(c), []).extend(c)
        return sorted(sorted(c) for c in alike.values())

    def place(self, r):
        """How tuples are ordered: numbers ascending with missing ones first, names as their leaves are numbered."""
        return tuple(
            (value is not None, value or 0) if tree is None else (True, list(tree).index(value))
            for tree, value in zip(self.trees, self.tuples[r], strict=True)
        )

    def btd(self, rows):
        return max(btd(self.items[a], self.items[b]) for a in rows for b in rows)

    def rmerge(self, way, clusters, delta):
        """RMERGE_R, _T and _RT as printed, with the corrections of the reading notes; Rum is measured afresh each time."""
        clusters = [list(c) for c in clusters]
        while len(clusters) > 1:
            c = min(range(len(clusters)), key=lambda i: self.cost(clusters[i]))
            candidates = self.ordered(way, clusters, c)
            for i in candidates[:1] if way == "r" else candidates:
                merged = [m for j, m in enumerate(clusters) if j not in (c, i)]
                if self.rum([*merged, clusters[c] + clusters[i]]) <= delta + 1e-12:
                    break
            else:
                break
            clusters[c] += clusters[i]
            del clusters[i]
        return clusters

    def tmerge(self, way, clusters, delta, ul):
        """TMERGE: merges are kept until `ul(clusters)` is at delta or below."""
        clusters = [list(c) for c in clusters]
        while len(clusters) > 1 and ul(clusters) > delta + 1e-12:
            c = min(range(len(clusters)), key=lambda i: self.cost(clusters[i]))
            i = self.ordered(way, clusters, c)[0]
            clusters[c] += clusters[i]
            del clusters[i]
        return clusters

    def ordered(self, way, clusters, c):
        others = [i for i in range(len(clusters)) if i != c]
        joint = {i: self.cost(clusters[c] + clusters[i]) for i in others}
        by_rows = sorted(others, key=lambda i: joint[i])
        if way == "r":
            return by_rows
        by_items = sorted(others, key=lambda i: (self.btd(clusters[c] + clusters[i]), joint[i]))
        if way == "t":
            return by_items
        return sorted(others, key=lambda i: (by_rows.index(i) + by_items.index(i), by_rows.index(i)))


def btd(one, other):
    return (len(one ^ other) + 1) / (len(one & other) + 1)


def ul(rows, size, weight=lambda token: 1):
    """UL of published rows, exactly; `size(token)` is how many items it stands for."""
    total = Fraction(0)
    for row in rows:
        if row:
            above = sum(Fraction(weight(t)) * (2 ** size(t) - 1) for t in row)
            total += above / (2 ** sum(size(t) for t in row) - 1)
    return total / len(rows) if rows else Fraction(0)


def rt_breaches(classes, rows, k, m):
    """Per size, the sets of at most m items that break (k,k^m)-anonymity: {(class, set): support}; the empty set is the class."""
    found = {}
    for c in set(classes):
        inside = [set(row) for own, row in zip(classes, rows, strict=True) if own == c]
        domain = sorted(set().union(*inside))
        for size in range(m + 1):
            for chosen in combinations(domain, size):
                support = sum(set(chosen) <= row for row in inside)
                if 0 < support < k:
                    found[c, chosen] = support
    return found


def inferences(classes, rows, told, l, m):  # noqa: E741
    """(class, set, sensitive item) for which the item is in more than 1/l of the class's rows that hold the set."""
    found = {}
    for c in set(classes):
        inside = [(set(row), s) for own, row, s in zip(classes, rows, told, strict=True) if own == c]
        domain = sorted(set().union(*(row for row, _ in inside)))
        for size in range(m + 1):
            for chosen in combinations(domain, size):
                holding = [s for row, s in inside if set(chosen) <= row]
                for item in set().union(*holding) if holding else ():
                    having = sum(item in s for s in holding)
                    if having * l > len(holding):
                        found[c, chosen, item] = having, len(holding)
    return found


def seeds(seed, n):
    """The order in which CLUSTER draws its seeds."""
    return np.random.default_rng(seed).permutation(n).tolist()
