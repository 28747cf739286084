"""Slow, obvious twins of recodings that are the same for all rows of a table. A table is a list of tuples of names, with a Hierarchy per
column; a promise is a function of the rows of a class."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product
from math import log2

UNIT = 1 << 20


def path(tree, name):
    """The nodes from a leaf to the root."""
    nodes = [tree.labels.index(name)]
    while tree.parent[nodes[-1]] >= 0:
        nodes.append(int(tree.parent[nodes[-1]]))
    return nodes


def at_level(tree, name, steps_below_root):
    """The node of a value so many steps below the root, or itself where it hangs higher; not one above a single child."""
    nodes = path(tree, name)
    node = nodes[max(0, len(nodes) - 1 - steps_below_root)]
    while len(below := [v for v in range(tree.n_nodes) if tree.parent[v] == node]) == 1:
        node = below[0]
    return node


class Table:
    """Rows, trees, a promise on classes, and rows that may leave."""

    def __init__(self, rows, trees, holds, *, weights=None, price="information", budget=0):
        self.rows, self.trees, self.holds, self.price, self.budget = rows, trees, holds, price, budget
        weights = weights or [1.0] * len(trees)
        self.weights = [w / sum(weights) for w in weights]
        self.counts = [Counter(column) for column in zip(*rows, strict=True)]
        said = sum(
            w * sum(n * log2(len(rows) / n) for n in counts.values())
            for w, counts in zip(self.weights, self.counts, strict=True)
        )
        self.row_price = 1.0 if price == "ncp" else max(1e-9, said / len(rows))

    def classes(self, node_of):
        """The rows of each class; `node_of` has, per column and value, its node."""
        found = defaultdict(list)
        for r, row in enumerate(self.rows):
            found[tuple(nodes[value] for nodes, value in zip(node_of, row, strict=True))].append(r)
        return list(found.values())

    def cost(self, node_of, row):
        """What a row that stays loses."""
        total = 0.0
        for w, tree, counts, nodes, value in zip(self.weights, self.trees, self.counts, node_of, row, strict=True):
            leaves = int(tree.leaf_count[nodes[value]])
            alike = sum(n for other, n in counts.items() if nodes[other] == nodes[value])
            if self.price == "ncp":
                total += w * (leaves / tree.n_leaves if leaves > 1 else 0.0)
            else:
                total += w * log2(alike / counts[value])
        return total

    def weigh(self, node_of):
        """(rows that have to leave, the loss)."""
        stay = [r for rows in self.classes(node_of) if self.holds(rows) for r in rows]
        gone = len(self.rows) - len(stay)
        lost = sum(self.cost(node_of, self.rows[r]) for r in stay) + gone * self.row_price
        return gone, lost / (len(self.rows) * self.row_price)

    def may_be(self, gone):
        return gone <= self.budget and gone < len(self.rows)


def best_levels(table):
    """The least loss over all choices of levels; None where none keeps the promise."""
    best = None
    for steps in product(*(range(tree.height + 1) for tree in table.trees)):
        node_of = [
            {value: at_level(tree, value, n) for value in counts}
            for tree, n, counts in zip(table.trees, steps, table.counts, strict=True)
        ]
        gone, lost = table.weigh(node_of)
        if table.may_be(gone) and (best is None or lost < best):
            best = lost
    return best


class Branches:
    """Per column the nodes that part values of the data, each with its values and the ones next below it."""

    def __init__(self, table):
        self.table, self.values, self.below = table, [], []
        for tree, counts in zip(table.trees, table.counts, strict=True):
            under = {
                v: frozenset(value for value in counts if v in path(tree, value)) for v in reversed(range(tree.n_nodes))
            }
            values = {
                v: held for held in set(under.values()) if held for v in [min(u for u in under if under[u] == held)]
            }
            parent = {
                v: min((p for p in values if values[p] > held), key=lambda p: len(values[p]), default=None)
                for v, held in values.items()
            }
            self.values.append(values)
            self.below.append({p: sorted(v for v in values if parent[v] == p) for p in set(parent.values()) - {None}})

    def rows(self, j, v):
        return sum(self.table.counts[j][value] for value in self.values[j][v])

    def step(self, j, v):
        """What it costs to publish a node in place of those next below it."""
        tree = self.table.trees[j]

        def cost(u):
            n, leaves = self.rows(j, u), int(tree.leaf_count[u])
            if self.table.price == "ncp":
                return n * (leaves / tree.n_leaves if leaves > 1 else 0.0)
            return round(UNIT * n * log2(n))

        unit = 1 if self.table.price == "ncp" else UNIT
        return self.table.weights[j] * (cost(v) - sum(cost(u) for u in self.below[j][v])) / unit

    def moved(self, node_of, j, held, node):
        """The same cuts with these values of a column published as a node."""
        return [{**nodes, **dict.fromkeys(held, node)} if i == j else nodes for i, nodes in enumerate(node_of)]

    def up(self, node_of, j, v):
        return self.moved(node_of, j, self.values[j][v], v)

    def down(self, node_of, j, v):
        for u in self.below[j][v]:
            node_of = self.moved(node_of, j, self.values[j][u], u)
        return node_of


def bottom_up(table, k):
    """The loss of the cuts that bottom-up generalization ends with; None where none on its way keeps the promise."""
    tree = Branches(table)
    node_of = [{value: next(v for v in held if held[v] == {value}) for value in counts}
               for held, counts in zip(tree.values, table.counts, strict=True)]  # fmt: skip
    best = None
    while True:
        gone, lost = table.weigh(node_of)
        if table.may_be(gone) and (best is None or lost < best):
            best = lost
        if best is not None and not table.budget:
            return best
        ranks = []
        for j, below in enumerate(tree.below):
            for v in below:
                if not set(below[v]) <= set(node_of[j].values()):
                    continue
                small = [rows for rows in table.classes(node_of) if len(rows) < k]
                after = [rows for rows in table.classes(tree.up(node_of, j, v)) if len(rows) >= k]
                gain = sum(len(rows) for rows in small if any(set(rows) <= set(other) for other in after))
                ranks.append((0, tree.step(j, v) / gain, j, v) if gain else (1, tree.step(j, v), j, v))
        if not ranks:
            return best
        node_of = tree.up(node_of, *min(ranks)[2:])


def top_down(table, k):
    """The loss of the cuts that top-down specialization ends with."""
    tree = Branches(table)
    node_of = [{value: max(held, key=lambda v: len(held[v])) for value in counts}
               for held, counts in zip(tree.values, table.counts, strict=True)]  # fmt: skip
    gone, best = table.weigh(node_of)
    useless = set()
    while True:
        good = [rows for rows in table.classes(node_of) if table.holds(rows)]
        ranks = []
        for j, below in enumerate(tree.below):
            for v in sorted(set(node_of[j].values()) & set(below)):
                if (j, v) in useless:
                    continue
                finer = tree.down(node_of, j, v)
                parts = [
                    [r for r in rows if key(finer, table.rows[r]) == own]
                    for rows in good
                    if node_of[j][table.rows[rows[0]][j]] == v
                    for own in {key(finer, table.rows[r]) for r in rows}
                ]
                lost = sum(len(part) for part in parts if len(part) < k)
                if lost > table.budget - gone:
                    useless.add((j, v))
                    continue
                gain = tree.step(j, v) - lost * table.row_price
                if gain > 0 or (gain == 0 and not lost):
                    smallest = min(map(len, good))
                    least = min((len(part) for part in parts if len(part) >= k), default=smallest)
                    ranks.append((-gain / (smallest - min(smallest, least) + lost + 1), j, v))
        for _, j, v in sorted(ranks):
            after, price = table.weigh(tree.down(node_of, j, v))
            if table.may_be(after):
                node_of, gone, best = tree.down(node_of, j, v), after, min(best, price)
                break
            useless.add((j, v))
        else:
            return best


def key(node_of, row):
    return tuple(nodes[value] for nodes, value in zip(node_of, row, strict=True))
