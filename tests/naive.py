"""Slow, obvious versions of everything fast: dictionaries, sets and loops, straight from the papers.

Trees are plain: `parent[v]` (root: -1), leaves first. Transactions are lists of sets of leaf numbers.
"""

from __future__ import annotations

from collections import Counter, deque
from itertools import chain, combinations, product


def itemset_supports(rows, m):
    """Support of every itemset of at most m items that occurs."""
    counts = Counter()
    for row in rows:
        for size in range(1, m + 1):
            counts.update(map(frozenset, combinations(sorted(row), size)))
    return counts


def people_supports(rows, people, m):
    """Of every itemset of up to m items that some row holds, the people who have a row that holds it."""
    whose = {}
    for row, person in zip(rows, people, strict=True):
        for size in range(1, min(m, len(row)) + 1):
            for chosen in combinations(sorted(row), size):
                whose.setdefault(frozenset(chosen), set()).add(person)
    return {itemset: len(persons) for itemset, persons in whose.items()}


def violations(rows, k, m):
    return {itemset: n for itemset, n in itemset_supports(rows, m).items() if n < k}


def is_km_anonymous(rows, k, m, people=None):
    """Whether every set is in k rows or, where these are known, in rows of k people."""
    if people is None:
        return not violations(rows, k, m)
    return all(crowd >= k for crowd in people_supports(rows, people, m).values())


class Tree:
    """A hierarchy as the papers draw it."""

    def __init__(self, parent, n_leaves):
        self.parent = list(map(int, parent))
        self.n = len(self.parent)
        self.n_leaves = n_leaves
        self.root = self.n - 1
        self.children = {v: [] for v in range(self.n)}
        self._ancestors = {-1: ()}
        self._leaves = {v: [] for v in range(self.n)}
        for v in reversed(range(self.n)):
            self._ancestors[v] = (v, *self._ancestors[self.parent[v]])
        for v in range(self.n - 1):
            self.children[self.parent[v]].append(v)
        for leaf in range(n_leaves):
            for v in self.ancestors(leaf):
                self._leaves[v].append(leaf)

    def ancestors(self, v):
        """v, its parent, ... up to the root."""
        return self._ancestors[v]

    def leaves(self, v):
        return self._leaves[v]

    def depth(self, v):
        return len(list(self.ancestors(v))) - 1

    def cuts(self, v=None):
        """All cuts of the subtree at v, as frozensets of nodes."""
        v = self.root if v is None else v
        if v < self.n_leaves:
            return [frozenset([v])]
        below = [frozenset(chain(*choice)) for choice in product(*(self.cuts(c) for c in self.children[v]))]
        return [*below, frozenset([v])]

    def published(self, leaf, cut):
        return next(v for v in self.ancestors(leaf) if v in cut)

    def generalized(self, rows, cut):
        return [{self.published(leaf, cut) for leaf in row} for row in rows]


def node_ncp(tree, v, domain):
    below = len(tree.leaves(v))
    return 0 if below == 1 else below / domain


def cut_cost(tree, rows, cut, occurrences=None):
    """NCP times |I| times the number of occurrences: a whole number."""
    occurrences = occurrences or Counter(chain(*rows))
    below = {v: tree.leaves(v) for v in cut}
    return sum(len(b) * sum(occurrences[leaf] for leaf in b) for b in below.values() if len(b) > 1)


def best_cut(tree, rows, k, m, people=None):
    """The least cost over all cuts that keep the promise, or None."""
    cuts = [cut for cut in tree.cuts() if is_km_anonymous(tree.generalized(rows, cut), k, m, people)]
    costs = [cut_cost(tree, rows, cut) for cut in cuts]
    return min(costs) if costs else None


def best_cut_with_dropping(tree, rows, k, m, budget, people=None):
    """The least cost when whole top-level subtrees may go, each dropped occurrence at NCP 1, within a budget of occurrences.

    The root itself is not used then, unless nothing else is possible.
    """
    total = sum(map(len, rows))
    best = cut_cost(tree, rows, {tree.root}) if total else 0
    top = tree.children[tree.root]
    for size in range(len(top) + 1):
        for dropped in combinations(top, size):
            gone = set(chain(*(tree.leaves(v) for v in dropped)))
            n_gone = sum(len(row & gone) for row in rows)
            if n_gone > budget:
                continue
            kept = [row - gone for row in rows]
            for choice in product(*(tree.cuts(v) for v in top if v not in dropped)):
                cut = frozenset(chain(*choice))
                if is_km_anonymous(tree.generalized(kept, cut), k, m, people):
                    best = min(best, cut_cost(tree, kept, cut) + n_gone * tree.n_leaves)
    return best


# Algorithms 1 to 4 of the 2008 paper, with an explicit count-tree.


class Node:
    def __init__(self):
        self.count = 0
        self.children = {}


def expanded(tree, row):
    """Figure 6: a transaction with all ancestors of its items but the root."""
    return {v for leaf in row for v in tree.ancestors(leaf)} - {tree.root}


def node_supports(tree, rows):
    return Counter(chain(*(expanded(tree, row) for row in rows)))


def tree_order(tree, rows):
    """Descending support, ties root side first, then by the first leaf below."""
    support = node_supports(tree, rows)
    return sorted(range(tree.n - 1), key=lambda v: (-support[v], tree.depth(v), tree.leaves(v)[0]))


def populate(tree, transactions, order, sizes):
    """Algorithm 1: the count-tree over all combinations of the given sizes without ancestor pairs."""
    place = {v: i for i, v in enumerate(order)}
    top = Node()
    for row in transactions:
        for size in sizes:
            for path in combinations(sorted(row, key=place.get), size):
                if any(u in tree.ancestors(v) for u, v in combinations(path, 2)):
                    continue
                node = top
                for v in path:
                    node = node.children.setdefault(v, Node())
                node.count += 1
    return top


def raised(tree, cut, nodes):
    """The cut with everything below `nodes` generalized to them."""
    return frozenset(v for v in cut if not any(u in tree.ancestors(v) for u in nodes)) | frozenset(nodes)


def repair(tree, rows, k, cut, path):
    """Lines 7-9 of Algorithm 3: the cheapest generalization of the path's items that makes the path frequent.

    `rows` are expanded: leaves with all their ancestors.
    """
    occurrences = Counter({v: n for v, n in Counter(chain(*rows)).items() if v < tree.n_leaves})
    filled = sum(map(bool, rows))
    chains = [list(tree.ancestors(v)) for v in path]
    choices = []
    for steps in product(*(range(len(c)) for c in chains)):
        if not any(steps):
            continue
        goals = {c[s] for c, s in zip(chains, steps, strict=True) if s}
        goals = {g for g in goals if not any(o != g and o in tree.ancestors(g) for o in goals)}
        image = goals | {v for v in path if not any(g in tree.ancestors(v) for g in goals)}
        support = filled if image == {tree.root} else sum(image <= row for row in rows)
        if support >= k:
            new = raised(tree, cut, goals)
            choices.append((cut_cost(tree, rows, new, occurrences), sum(steps), steps, new))
    return min(choices, key=lambda choice: choice[:3])[3]


def below_cut(tree, cut, v):
    """Whether v has been generalized: the cut lies strictly above it."""
    return any(u in cut for u in tree.ancestors(tree.parent[v]))


def direct(tree, rows, k, top, order, cut):
    """Algorithm 3 on a given count-tree."""

    def visit(node, path):
        nonlocal cut
        for v in sorted(node.children, key=order.index):
            if any(below_cut(tree, cut, u) for u in path):
                return
            if below_cut(tree, cut, v):
                continue
            child = node.children[v]
            if not child.children and child.count < k:
                cut = repair(tree, rows, k, cut, [*path, v])
            else:
                visit(child, [*path, v])

    visit(top, [])
    return cut


def da(tree, rows, k, m):
    order = tree_order(tree, rows)
    rows = [expanded(tree, row) for row in rows]
    top = populate(tree, rows, order, range(1, m + 1))
    return direct(tree, rows, k, top, order, frozenset(range(tree.n_leaves)))


def aa(tree, rows, k, m):
    """Algorithm 4."""
    order = tree_order(tree, rows)
    cut = frozenset(range(tree.n_leaves))
    rows = [expanded(tree, row) for row in rows]
    for size in range(1, m + 1):
        kept = [{v for v in row if not below_cut(tree, cut, v)} for row in rows]
        cut = direct(tree, rows, k, populate(tree, kept, order, [size]), order, cut)
    return cut


def count_tree_nodes(tree, rows, k, m, algorithm):
    """Nodes but the top of the count-tree that AA holds in its last round, or the others all the time."""
    order, cut = tree_order(tree, rows), frozenset(range(tree.n_leaves))
    rows = [expanded(tree, row) for row in rows]
    sizes = [m] if algorithm == "aa" else range(1, m + 1)
    for size in range(1, m) if algorithm == "aa" else ():
        kept = [{v for v in row if not below_cut(tree, cut, v)} for row in rows]
        cut = direct(tree, rows, k, populate(tree, kept, order, [size]), order, cut)
    kept = [{v for v in row if not below_cut(tree, cut, v)} for row in rows]

    def nodes(node):
        return sum(1 + nodes(child) for child in node.children.values())

    return nodes(populate(tree, kept, order, sizes))


def vpa(tree, rows, k, m, parts):
    """AA on what each part of the domain (a set of nodes) has of the rows, one after the other, then on all of it."""
    order = tree_order(tree, rows)
    cut = frozenset(range(tree.n_leaves))
    rows = [expanded(tree, row) for row in rows]
    for part in [*parts, set(range(tree.n))]:
        for size in range(1, m + 1):
            kept = [{v for v in row & part if not below_cut(tree, cut, v)} for row in rows]
            cut = direct(tree, rows, k, populate(tree, kept, order, [size]), order, cut)
    return cut


def oa(tree, rows, k, m):
    """Algorithm 2."""
    start = frozenset(range(tree.n_leaves))
    queue, seen, marked = deque([start]), {start}, set()
    best, best_cost = None, float("inf")
    while queue:
        cut = queue.popleft()
        if cut in marked:
            continue
        parents = {tree.parent[v] for v in cut if v != tree.root}
        ancestors = [cut - set(tree.children[p]) | {p} for p in sorted(parents) if set(tree.children[p]) <= cut]
        if is_km_anonymous(tree.generalized(rows, cut), k, m):
            marked.update(ancestors)
            if cut_cost(tree, rows, cut) < best_cost:
                best, best_cost = cut, cut_cost(tree, rows, cut)
        else:
            for ancestor in ancestors:
                if ancestor not in marked and ancestor not in seen:
                    seen.add(ancestor)
                    queue.append(ancestor)
    return best


def best_with_deletions(tree, rows, k, m, budget):
    """The least cost over all cuts and all choices of deleted occurrences within a budget of original items; tiny data only."""
    best = None
    for cut in tree.cuts():
        published = [{v: [leaf for leaf in row if tree.published(leaf, cut) == v] for v in cut} for row in rows]
        places = [(r, v) for r, row in enumerate(published) for v in row if row[v]]
        price = {v: 0 if len(tree.leaves(v)) == 1 else len(tree.leaves(v)) for v in cut}
        for gone in chain.from_iterable(combinations(places, n) for n in range(len(places) + 1)):
            deleted = sum(len(published[r][v]) for r, v in gone)
            left = set(places) - set(gone)
            cost = deleted * tree.n_leaves + sum(price[v] * len(published[r][v]) for r, v in left)
            if deleted > budget or (best is not None and cost >= best):
                continue
            if is_km_anonymous([{v for q, v in left if q == r} for r in range(len(rows))], k, m):
                best = cost
    return best
