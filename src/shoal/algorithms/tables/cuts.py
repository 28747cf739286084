"""Cuts: a cut through the tree of each column, moved a node at a time: a node in place of its children (up), or they in its place (down).

What a step costs is known before anything is counted: by information n log2 n of the node less the same of its children, in whole units
so that equal prices compare equal; by NCP what the cells of the node cost less those of its children.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms.tables.uniform import Classes, Uniform
from shoal.numbers import Bools, Floats, Ints
from shoal.price.levels import BIT


class Cuts:
    """What each lowest node of each column is published as, and the classes of that."""

    def __init__(self, table: Uniform, node: list[Ints]) -> None:
        self.table = table
        self.node = node
        """Per column and lowest node, the node of the cut."""
        self.rows: list[Ints] = []
        """Per column and node, the rows below it."""
        self.children: list[dict[int, list[int]]] = []
        """Per column and node, the next nodes below it that say something else."""
        self.step: list[Floats] = []
        """Per column and node, what it costs to publish it in place of its children."""
        for j, one in enumerate(table.fields):
            rows, children = one.rows.copy(), dict[int, list[int]]()
            for v in range(one.tree.n_nodes):  # nodes stand before those above them
                if one.above[v] >= 0 and rows[v]:
                    rows[one.above[v]] += rows[v]
                    children.setdefault(int(one.above[v]), []).append(v)
            self.rows.append(rows)
            self.children.append({p: below for p, below in children.items() if len(below) > 1})
            self.step.append(self._steps(j))

    def _steps(self, j: int) -> Floats:
        """What each node costs in place of its children."""
        table, rows = self.table, self.rows[j]
        bits = np.rint(BIT * rows * np.log2(np.maximum(rows, 1)))
        cost = rows * table.fields[j].cost if table.price == "ncp" else bits
        step = np.zeros(len(rows))
        for p, below in self.children[j].items():
            step[p] = float(cost[p] - sum(cost[v] for v in below))
        return np.asarray(table.weight[j] * step / (1 if table.price == "ncp" else BIT))

    def go_up(self, j: int, v: int) -> None:
        """Publish a node of column j in place of its children."""
        node, below = self.node[j], self.children[j][v]
        self.node[j] = np.where(np.isin(node, below), v, node)

    def towards(self, j: int) -> Ints:
        """Per lowest node of column j, the node below that of the cut that it is under; that of the cut where there is none."""
        one, node = self.table.fields[j], self.node[j]
        found = node.copy()
        for v in one.places.tolist():
            at = v
            while at != node[v]:
                found[v], at = at, int(one.above[at])
        return found

    def go_down(self, j: int, v: int) -> None:
        """Publish the children of a node of column j in its place."""
        self.node[j] = np.where(self.node[j] == v, self.towards(j), self.node[j])

    def weigh(self) -> tuple[Classes, Bools, float]:
        """(classes, which of them break the promise, price)."""
        return self.table.measure(self.node)
