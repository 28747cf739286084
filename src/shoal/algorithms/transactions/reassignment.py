"""Reassignment: classes that exchange rows with near ones, round after round, while the loss falls.

In each round the classes are laid out along a tour of their centres (the leaves of a tree, with other preferences each
time) and cut into groups; within a group every row finds its nearest centres (kernels/classes/exchange.py). Groups are
independent, so they run in parallel, and their size does not grow with the data: a round takes time in proportion to it.
Before a tour, classes that have grown to 2k rows and more are split again, which never loses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from shoal.algorithms.transactions.working import Working
from shoal.kernels.classes.centres import class_centres
from shoal.kernels.classes.exchange import improve
from shoal.kernels.classes.orders import tree_order
from shoal.kernels.classes.splitting import best_split
from shoal.kernels.parallel import over_blocks
from shoal.numbers import Codes, Ints
from shoal.records.baskets import Baskets

DENSE_GROUP = 320
"""Classes in a group where rows are bitmaps and each is compared with every centre."""
SPARSE_GROUP = 512
"""Classes in a group where centres are found through their items."""
WIDER = 8
"""Times as many classes in a group when there is time."""
CELLS = 1 << 23
"""Counts, one per class and item, that a group may hold."""


@dataclass(frozen=True, eq=False)
class Partition:
    """Class c has the rows order[bounds[c]:bounds[c + 1]]."""

    order: Codes
    bounds: Ints
    losses: Ints

    @property
    def loss(self) -> int:
        return int(self.losses.sum())

    def __len__(self) -> int:
        return len(self.bounds) - 1


def group_bounds(rows: Working, n_classes: int, wider: int = 1) -> list[tuple[int, int]]:
    """Groups of consecutive classes, about equal in number; they depend on the data alone."""
    most = wider * (DENSE_GROUP if rows.bitmaps.size else SPARSE_GROUP)
    n_groups = -(-n_classes // max(8, min(most, CELLS // (rows.n_items + 1))))
    return list(pairwise(np.linspace(0, n_classes, n_groups + 1).astype(np.int64).tolist()))


def exchange_rows(
    rows: Working,
    partition: Partition,
    k: int,
    swaps: bool,
    thorough: bool,
    threads: int | None,
    progress: Callable[[float], None] | None = None,
) -> Partition:
    """The classes after rows have changed places within groups of near classes."""
    order, bounds = partition.order.copy(), partition.bounds
    parts = over_blocks(
        lambda a, b: improve(
            rows.offsets, rows.items, rows.bitmaps, rows.n_items, k, order, bounds, a, b, 4 if thorough else 2, swaps
        ),
        group_bounds(rows, len(partition), WIDER if thorough else 1),
        threads,
        progress,
    )
    sizes, losses = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Partition(order, np.concatenate(([0], np.cumsum(sizes))), losses)


def along_tour(rows: Working, partition: Partition, favour: npt.NDArray[np.float32], threads: int | None) -> Partition:
    """The same classes along a tour of their centres."""
    centres = class_centres(
        rows.offsets, rows.items, rows.n_items, partition.order.astype(np.int64), partition.bounds, threads
    )
    # Kernels are compiled for arrays that cannot be written; these are such in all other calls.
    centres.offsets.setflags(write=False)
    centres.items.setflags(write=False)
    tour = tree_order(centres.offsets, centres.items, rows.n_items, favour, threads=threads)
    sizes = np.diff(partition.bounds)[tour]
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    at = np.repeat(partition.bounds[:-1][tour] - bounds[:-1], sizes) + np.arange(len(partition.order))
    return Partition(partition.order[at], bounds, partition.losses[tour])


def split_large(rows: Working, partition: Partition, k: int, threads: int | None, grid: int | None = None) -> Partition:
    """The classes with those of 2k rows or more split anew, one behind the other; with a grid, only if that loses less."""
    sizes = np.diff(partition.bounds)
    large = sizes >= 2 * k
    if not large.any():
        return partition
    of_large = np.repeat(large, sizes)
    inside = partition.order[of_large]
    part = Baskets(rows.offsets, rows.items, ()).take(inside.astype(np.int64))
    bitmaps = rows.bitmaps[inside] if rows.bitmaps.size else rows.bitmaps
    order = tree_order(part.offsets, part.items, rows.n_items, sizes=sizes[large], leaf=max(2, k // 2), threads=threads)
    bounds, losses = best_split(part.offsets, part.items, bitmaps, order, rows.n_items, k, threads, grid)
    if losses.sum() > partition.losses[large].sum():
        return partition  # the grid did not allow for where these classes begin
    kept = np.cumsum(sizes[~large])
    return Partition(
        np.concatenate((partition.order[~of_large], inside[order])),
        np.concatenate(([0], kept, (kept[-1] if len(kept) else 0) + bounds[1:])),
        np.concatenate((partition.losses[~large], losses)),
    )
