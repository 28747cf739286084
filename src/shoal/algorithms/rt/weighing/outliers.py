"""Rows that leave a table so that the others are published more exactly.

First those that the limits leave fewer than k alike, without whom there is no release; then those that are farthest from the rows of their
class. The others form classes anew. They have to lose less than all rows did: else far rows stay.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.blocks import Algorithm, Rows, limited_blocks, within_limits
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, RTOptions
from shoal.algorithms.rt.task import Hierarchies
from shoal.errors import Unreachable
from shoal.guarantees.table import TableAnonymity
from shoal.kernels.tables.boxes import boxes_around
from shoal.loss.relational import Space, space
from shoal.records.records import Records

MATES = 8
"""Rows of its class that a row is compared with."""


def without_outliers(
    run: Algorithm,
    records: Records,
    guarantee: TableAnonymity,
    hierarchies: Hierarchies,
    options: Options,
    rt: RTOptions,
    share: float,
) -> tuple[Rows, ClusterRecoding]:
    """(rows that stay, what the algorithm makes of them): up to `share` of the rows leave."""
    room, stay = int(share * len(records)), np.arange(len(records))
    if rt.limits and room:
        lonely = [rows for rows in limited_blocks(records, hierarchies, rt) if len(rows) < guarantee.k]
        gone = np.concatenate(lonely) if lonely else stay[:0]
        if len(gone) <= room:  # else the refusal names them all
            stay, room = np.delete(stay, gone), room - len(gone)

    def made_of(rows: Rows) -> ClusterRecoding:
        return within_limits(run, records.take(rows), guarantee, hierarchies, options, rt)

    made = made_of(stay)
    if not room:
        return stay, made
    far = remoteness(space(records.take(stay), hierarchies, rt.weights), made.of_row)
    fewer = stay[np.sort(np.argsort(-far, kind="stable")[room:])]
    try:
        finer = made_of(fewer)
    except Unreachable:
        return stay, made
    return (fewer, finer) if finer.ncp < made.ncp else (stay, made)


def remoteness(space: Space, of_row: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    """Per row, what it costs on average to publish it alike with one row of its class: of those that come next in it, round about."""
    order = np.argsort(of_row, kind="stable")
    classes = of_row[order]
    first = np.searchsorted(classes, classes)
    sizes = np.bincount(of_row)[classes]
    pairs = np.tile(np.arange(len(order)), 2)
    total = np.zeros(len(order), np.float64)
    for step in range(1, MATES + 1):
        mate = first + (np.arange(len(order)) - first + step) % sizes
        points = space.points[space.tuple_of[np.concatenate((order, order[mate]))]]
        total += space.costs(boxes_around(space.metric, points, pairs, len(order)))
    far = np.empty(len(order), np.float64)
    far[order] = total / MATES
    return far
