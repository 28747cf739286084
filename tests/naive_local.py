"""Local recoding, slow and obvious: every attacker who knows up to m leaves, one after the other."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from math import log2

import naive


def matches(tree, row, leaf):
    """Whether a published row (a set of nodes) may hold this leaf: it names the leaf or something above it."""
    return any(node in row for node in tree.ancestors(leaf))


def matching_rows(tree, rows, known):
    return [i for i, row in enumerate(rows) if all(matches(tree, row, leaf) for leaf in known)]


def attacks(tree, rows, k, m):
    """Every set of up to m leaves that matches some rows, but fewer than k, with the number of rows."""
    found = {}
    for size in range(1, m + 1):
        for known in combinations(range(tree.n_leaves), size):
            n = len(matching_rows(tree, rows, known))
            if 0 < n < k:
                found[frozenset(known)] = n
    return found


def attacks_on_people(tree, rows, people, k, m):
    """Every set of up to m leaves that matches rows of some people, but of fewer than k, with the number of people."""
    found = {}
    for size in range(1, m + 1):
        for known in combinations(range(tree.n_leaves), size):
            n = len({people[row] for row in matching_rows(tree, rows, known)})
            if 0 < n < k:
                found[frozenset(known)] = n
    return found


def is_locally_anonymous(tree, rows, k, m):
    return not attacks(tree, rows, k, m)


def cost(tree, original, published):
    """NCP times |I| times occurrences: each leaf costs the leaves below the node that stands for it in its row."""
    total = 0
    for row, nodes in zip(original, published, strict=True):
        for leaf in row:
            node = next(v for v in tree.ancestors(leaf) if v in nodes)
            below = len(tree.leaves(node))
            total += below if below > 1 else 0
    return total


def clean_rows(published, k, m, about=None):
    """The rows of the largest set of rows that keeps the promise by itself: those with a rare set leave until there are none. Where
    `about` is given, sets without any of these tokens do not count."""
    left = set(range(len(published)))
    while True:
        supports = {}
        for i in left:
            for size in range(1, m + 1):
                for tokens in combinations(sorted(published[i]), size):
                    if about is None or about & set(tokens):
                        supports.setdefault(tokens, set()).add(i)
        gone = set().union(*(rows for rows in supports.values() if len(rows) < k))
        if not gone:
            return left
        left -= gone


def rows_to_fill(rows, sets, k):
    """Of (tokens, stays) rows, those that do not stay but must, taken one by one, because a set they hold has fewer than k rows yet."""
    inside = [tokens for tokens, stays in rows if stays]
    joined = []
    for i, (tokens, stays) in enumerate(rows):
        if not stays and any(one <= tokens and sum(one <= other for other in inside) < k for one in sets):
            inside.append(tokens)
            joined.append(i)
    return joined


def rows_that_go_down(rows, n_movers, n_children, k, m):
    """`kernels.descents`, by counting everything anew at each step; rows are sets of tokens with children 1..n_children in place of u."""
    down = [True] * len(rows)
    children = set(range(1, n_children + 1))
    sizes = range(1, min(m, 2) + 1)

    def support(tokens, going_down):
        return sum(
            tokens <= (row if d else (row - children) | {0})
            for row, d in zip(rows, down, strict=True)
            if d == going_down
        )

    def too_rare(row, going_down, first):
        held = row if going_down else (row - children) | {0}
        return any(
            (0 < support(set(one), going_down) < k)
            for size in sizes
            for one in combinations(sorted(held), size)
            if first & set(one)
        )

    filling = False
    while True:
        went_up = False
        for i in range(n_movers):
            if down[i] and too_rare(rows[i], not filling, {0} if filling else children):
                down[i], went_up = False, True
        if filling and not went_up:
            return down
        filling = not went_up


def fates(tree, original, published):
    """What becomes of each original occurrence: (leaf, the most specific node of its row above it, or None)."""
    for row, nodes in zip(original, published, strict=True):
        for leaf in row:
            yield leaf, next((v for v in tree.ancestors(leaf) if v in nodes), None)


def information_lost(tree, original, published):
    """The measure as it is defined, occurrence by occurrence."""
    fate = list(fates(tree, original, published))
    of_leaf, of_node, of_both = Counter(leaf for leaf, _ in fate), Counter(node for _, node in fate), Counter(fate)
    deleted = of_node.pop(None, 0)
    whole = sum(n * log2(len(fate) / n) for n in of_leaf.values())
    if not whole:
        return deleted / max(1, len(fate))
    unknown = sum(n * log2(of_node[node] / n) for (_, node), n in of_both.items() if node is not None)
    return unknown / whole + deleted / len(fate)


def best_recoding(tree, rows, k, m, most_deleted):
    """The least information that any local recoding with so many deletions loses, by trying all of them."""
    occurrences = [(i, leaf) for i, row in enumerate(rows) for leaf in sorted(row)]
    best = None
    for choice in product(*([*tree.ancestors(leaf), None] for _, leaf in occurrences)):
        if sum(node is None for node in choice) > most_deleted:
            continue
        published = [set() for _ in rows]
        for (i, _), node in zip(occurrences, choice, strict=True):
            if node is not None:
                published[i].add(node)
        if naive.is_km_anonymous(published, k, m):
            lost = information_lost(tree, rows, published)
            best = lost if best is None else min(best, lost)
    return best
