"""Slow, obvious twins of what is done under constraints: the audit by all parts of all sets, COAT and PCTA on Python's own sets."""

from __future__ import annotations

from itertools import combinations


def parts(policy, items):
    """Every part of every protected set, of these items."""
    found = set()
    for one in policy.sets:
        found.update(frozenset(part) for size in range(1, len(one) + 1) for part in combinations(one, size))
    for family in policy.families:
        names = sorted(items if family.items is None else family.items)
        found.update(frozenset(part) for size in range(1, family.m + 1) for part in combinations(names, size))
    return found


def rows_matching(rows, meaning, part):
    """Rows, from 1, that hold every item of a part, or a token that may be it."""
    return [i for i, row in enumerate(rows, 1) if all(any(item in meaning[token] for token in row) for item in part)]


def rare_parts(rows, meaning, policy, k):
    """The parts that some rows match, and fewer than k."""
    items = {item for meant in meaning.values() for item in meant}
    return {part: n for part in parts(policy, items) if 0 < (n := len(rows_matching(rows, meaning, part))) < k}


def holds(rows, meaning, policy, k):
    group = {name: set(members) for members in policy.generalize or () for name in members}
    together = policy.is_free or all(
        set(meant) <= group.get(meant[0], {meant[0]}) for token, meant in meaning.items() if len(meant) > 1
    )
    return together and not rare_parts(rows, meaning, policy, k)


class Clusters:
    """Items in clusters, each with the number that breaks ties; None for items that are left out."""

    def __init__(self, rows, policy, k):
        self.rows, self.policy, self.k = [frozenset(row) for row in rows], policy, k
        self.items = sorted(set().union(*self.rows))
        self.of = {item: frozenset((item,)) for item in self.items}
        self.number = {self.of[item]: i for i, item in enumerate(self.items)}

    def support(self, clusters):
        wanted = set(clusters)
        return sum(wanted <= {self.of[i] for i in row} for row in self.rows)

    def tokens(self, one):
        return {self.of[i] for i in one if i in self.of and self.of[i] is not None}

    def lacks(self, one):
        """Rows whose trace is in fewer than k rows."""
        tokens = self.tokens(one)
        traces = [frozenset({self.of[i] for i in row} & tokens) for row in self.rows]
        return sum(bool(trace) and self.support(trace) < self.k for trace in traces)

    def mates(self, cluster):
        groups = [set(self.items)] if self.policy.is_free else [set(group) for group in self.policy.generalize]
        mine = next((group for group in groups if cluster <= group), set())
        return {other for other in self.of.values() if other and other != cluster and other <= mine}

    def join(self, one, other):
        self.number[one | other] = self.number[one]
        for item in one | other:
            self.of[item] = one | other

    def cost(self, one, other):
        """The UL that joining them makes, and then by number."""
        rows = sum(bool({self.of[i] for i in row} & {one, other}) for row in self.rows)
        return (2 ** len(one | other) - 1) * rows, self.number[one], self.number[other]

    def deleted(self):
        return sum(self.of[i] is None for row in self.rows for i in row)

    def published(self):
        return [sorted(sorted(c) for c in {self.of[i] for i in row} if c is not None) for row in self.rows]


def set_by_set(rows, policy, k, budget, choose):
    """COAT and PCTA: they differ in which tokens of a set they look at. Explicit sets alone. None where too much would be left out."""
    found = Clusters(rows, policy, k)
    sets = [one for one in policy.sets if set(one) & set(found.items)]
    while lacking := [one for one in sets if found.lacks(one)]:
        one = max(lacking, key=lambda one: found.support(found.tokens(one)))
        while found.lacks(one):
            tokens = [token for token in found.tokens(one) if found.support([token])]
            first = min(tokens, key=lambda token: (found.support([token]), found.number[token]))
            ways = [(t, other) for t in ([first] if choose == "coat" else tokens) for other in found.mates(t)]
            if ways:
                found.join(*min(ways, key=lambda way: found.cost(*way)))
                continue
            for item in first:
                found.of[item] = None
            if found.deleted() > budget:
                return None
    return found
