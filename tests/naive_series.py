"""What a series has to be, the slow and obvious way: rows as sets of names, trees as parents."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import naive


def publishable(rows, k, m, people=None):
    """The numbers of the rows in the largest set of rows that keeps the promise by itself: rows that break it go, one after the other."""
    stays, people = set(range(len(rows))), people or range(len(rows))
    while True:
        supports = naive.people_supports([rows[i] for i in stays], [people[i] for i in stays], m)
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


def comparable(tree, releases):
    """Per token, the highest name at or above it that stands in a release."""
    tokens = {token for release in releases for row in release for token in row}
    parent = {} if tree is None else {tree.names[v]: int(tree.parent[v]) for v in range(tree.n_nodes)}

    def above(name):
        yield name
        while (up := parent.get(name, -1)) >= 0:
            name = tree.names[up]
            yield name

    return {token: [name for name in above(token) if name in tokens][-1] for token in tokens}


def told_together(before, after, tree, k, m):
    """What two releases tell together: sets with a few rows more or fewer, pairs of a finer token of each that fit a few, rows linked."""
    up = comparable(tree, (before, after))
    both = [[frozenset(up[token] for token in row) for row in release] for release in (before, after)]
    supports = [naive.itemset_supports(rows, m) for rows in both]
    changed = {s for s in set().union(*supports) if 0 < abs(supports[0][s] - supports[1][s]) < k}
    sizes = [Counter(rows) for rows in both]
    most = Counter()
    for crowd in set(both[0]) & set(both[1]):
        held = [
            Counter(token for key, row in zip(keys, release, strict=True) if key == crowd for token in row)
            for keys, release in zip(both, (before, after), strict=True)
        ]
        for one, other in product(*held):
            if up[one] != one and up[other] != other and up[one] != up[other]:
                most[one, other] += min(held[0][one], held[1][other])
    mixed = {pair for pair, n in most.items() if n < k} if m > 1 else set()
    alone = {key for key in sizes[0] if sizes[0][key] == sizes[1][key] == 1}
    raw = [Counter(map(frozenset, release)) for release in (before, after)]
    same = {row for row in raw[0] if raw[0][row] == raw[1][row] == 1 and frozenset(up[t] for t in row) not in alone}
    return len(changed) + (0 < abs(len(before) - len(after)) < k), len(mixed), len(alone) + len(same)


def facts_of(tree, person, published):
    """In which releases a person was, and per item when a token of the person's row was the item or above it."""

    def line(v):
        while v >= 0:
            yield tree.names[v]
            v = int(tree.parent[v])

    when = frozenset(t for t, told in enumerate(published) if person in told)
    return when, {
        leaf: frozenset(t for t in when if published[t][person] & set(line(leaf))) for leaf in range(tree.n_leaves)
    }


def is_found(person, items, facts, k, m):
    """Whether few people are like the person in when they were there, and in up to m of the person's items with when each was there."""
    when, there = facts[person]
    known = [item for item in items if there[item]]
    for size in range(m + 1):
        for some in combinations(known, size):
            alike = [1 for w, t in facts.values() if w == when and all(t[item] == there[item] for item in some)]
            if len(alike) < k:
                return True
    return False
