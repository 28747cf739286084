"""Bottom-up generalization (Wang, Yu, Chakraborty 2004): from the values as they are, a node takes the place of its children, again and
again, until the promise holds. What is published is a cut through the tree of each column.

The paper takes the generalization that loses least information about a class label per gain in anonymity. There is no label here: the
loss is the price, and the gain is how many rows of classes below k come into classes of k. Where none gains anything, the cheapest is
taken, as in the paper. Rows may leave instead, so the search goes on while a step could still pay, and the cheapest cut on its way that
keeps the promise wins.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, RTOptions
from shoal.algorithms.tables.cuts import Cuts
from shoal.algorithms.tables.fields import Hierarchies
from shoal.algorithms.tables.uniform import Classes, uniform
from shoal.guarantees.table import TableAnonymity
from shoal.kernels.tables.roll_up import hidden_rows
from shoal.numbers import Ints
from shoal.records.records import Records


def bottom_up(
    records: Records, guarantee: TableAnonymity, hierarchies: Hierarchies, options: Options, rt: RTOptions | None = None
) -> ClusterRecoding:
    """A cut through the tree of each column, from below."""
    table = uniform(records, guarantee, hierarchies, options, rt or RTOptions())
    cuts = Cuts(table, [np.arange(one.tree.n_nodes) for one in table.fields])
    found: list[Ints] | None = None
    best, paid, steps = np.inf, 0.0, 0
    while True:
        classes, poor, price = cuts.weigh()
        gone = int(classes.size[poor].sum())
        if gone <= table.budget and gone < len(table) and price < best:
            best, found = price, list(cuts.node)
        chosen = _next(cuts, classes)
        if chosen is None or (found is not None and not table.budget):
            break
        paid += float(cuts.step[chosen[0]][chosen[1]])
        cuts.go_up(*chosen)
        steps += 1
        options.tell(f"generalizing: {gone:,} rows in classes that break the promise", 1 - gone / len(table))
    if found is None:
        raise table.unreachable()
    return table.recoding(found, "bottom-up", {"steps": steps})


def _next(cuts: Cuts, classes: Classes) -> tuple[int, int] | None:
    """(column, node) of the next generalization; None where all is at the top."""
    table = cuts.table
    target, at = table.whole(cuts.node)
    fewer = classes  # a class of the cut is known by one of its tuples
    best: tuple[int, float, int, int] | None = None
    for j, one in enumerate(table.fields):
        shown = set(cuts.node[j][one.places].tolist())
        ready = [p for p, below in cuts.children[j].items() if shown.issuperset(below)]
        if not ready:
            continue
        above = np.full(one.tree.n_nodes, -1, np.int64)
        for p in ready:
            above[np.isin(cuts.node[j], cuts.children[j][p])] = p
        hidden = hidden_rows(table.points, fewer.member, fewer.size, target, at, j, above, one.tree.n_nodes, table.k)
        for p in ready:
            gain, cost = int(hidden[p]), float(cuts.step[j][p])
            rank = (0, cost / gain, j, p) if gain else (1, cost, j, p)
            best = rank if best is None else min(best, rank)
    return None if best is None else best[2:]
