"""Top-down specialization (Fung, Wang, Yu 2005): from the roots of all columns, the children of a node take its place, again and again,
while the promise holds. What is published is a cut through the tree of each column.

The paper takes the specialization that gains most information about a class label per loss of anonymity. There is no label here: the gain
is the price that is saved, and the loss is by how many rows the smallest class shrinks, and one more so that none divides by zero. Where
rows may leave, those that a step would leave in classes below k count as such a loss too, and are paid for. What breaks the promise once
breaks it from then on, and is not tried again.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, RTOptions
from shoal.algorithms.tables.cuts import Cuts
from shoal.algorithms.tables.fields import Hierarchies
from shoal.algorithms.tables.uniform import Classes, uniform
from shoal.guarantees.table import TableAnonymity
from shoal.kernels.tables.roll_up import parted_classes
from shoal.numbers import Bools, Ints
from shoal.records.records import Records


def top_down(
    records: Records, guarantee: TableAnonymity, hierarchies: Hierarchies, options: Options, rt: RTOptions | None = None
) -> ClusterRecoding:
    """A cut through the tree of each column, from above."""
    table = uniform(records, guarantee, hierarchies, options, rt or RTOptions())
    cuts = Cuts(table, [one.top for one in table.fields])
    classes, poor, best = cuts.weigh()
    gone = int(classes.size[poor].sum())
    if gone > table.budget or gone == len(table):
        raise table.unreachable()
    found, steps, useless = list(cuts.node), 0, set[tuple[int, int]]()
    while True:
        for j, v in _ranked(cuts, classes, poor, table.budget - gone, useless):
            before = list(cuts.node)
            cuts.go_down(j, v)
            finer, lacking, price = cuts.weigh()
            gone = int(finer.size[lacking].sum())
            if gone <= table.budget and gone < len(table):
                classes, poor = finer, lacking
                break
            cuts.node = before
            useless.add((j, v))
        else:
            break
        steps += 1
        if price < best:
            best, found = price, list(cuts.node)
        options.tell(f"specializing: {len(classes.size):,} classes", 0.0, best=table.share(best))
    return table.recoding(found, "top-down", {"steps": steps})


def _ranked(
    cuts: Cuts, classes: Classes, poor: Bools, room: int, useless: set[tuple[int, int]]
) -> list[tuple[int, int]]:
    """(column, node) of the specializations that save something and leave no more rows in small classes than may go, the best first."""
    table = cuts.table
    of_tuple = classes.of_finer
    order = np.argsort(of_tuple, kind="stable")
    first = np.searchsorted(of_tuple[order], np.arange(len(classes.size) + 1)).astype(np.int64)
    smallest = int(classes.size[~poor].min())
    ranked = []
    for j, one in enumerate(table.fields):
        ready = _ready(cuts, j, useless)
        if not ready:
            continue
        place, child = table.points[:, j], cuts.towards(j)
        node: Ints = cuts.node[j][place]
        lost, least = parted_classes(
            order, first, ~poor, table.base.size, node, child[place], one.tree.n_nodes, table.k
        )
        for v in ready:
            gain = float(cuts.step[j][v]) - int(lost[v]) * table.row_price
            if int(lost[v]) > room:
                useless.add((j, v))
            elif gain > 0 or (gain == 0 and not lost[v]):
                shrinks = smallest - min(smallest, int(least[v])) + int(lost[v])
                ranked.append((-gain / (shrinks + 1), j, v))
    return [(j, v) for _, j, v in sorted(ranked)]


def _ready(cuts: Cuts, j: int, useless: set[tuple[int, int]]) -> list[int]:
    """The nodes of the cut of column j that have children."""
    shown = np.unique(cuts.node[j][cuts.table.fields[j].places]).tolist()
    return [v for v in shown if v in cuts.children[j] and (j, v) not in useless]
