"""split: an order in which similar transactions are close, the best split of it, and reassignment that only lowers the loss.

Our own rival to PTA. The order comes from a tree that divides by the most even item (sparse data) or from Gray orders
with the items ranked by frequency or evenness (dense data); the best split of an order into classes of k to 2k - 1 is a
shortest path (kernels/classes/splitting.py). Then rows move to nearer classes, change places, and classes dissolve or split, as
long as the loss falls (reassignment.py). All steps work on blocks of fixed size, so time grows in proportion to the data and
the number of threads changes nothing.
"""

from __future__ import annotations

import time

import numpy as np

from shoal.algorithms.recoding import Options
from shoal.algorithms.transactions.classes import Classes, check_enough, majority_centres
from shoal.algorithms.transactions.reassignment import Partition, along_tour, exchange_rows, split_large
from shoal.algorithms.transactions.working import Working, working_rows
from shoal.guarantees.k import KAnonymity
from shoal.kernels.classes.bitmaps import packed_bitmaps
from shoal.kernels.classes.bounds import nearest_sum
from shoal.kernels.classes.gray import gray_order
from shoal.kernels.classes.orders import dense_gray_order, tree_order
from shoal.kernels.classes.splitting import best_split
from shoal.numbers import Codes, Floats
from shoal.records.baskets import Baskets

ROUNDS, ROUNDS_OF_SHORT = 1, 3
"""Rounds of reassignment without a time limit; rows of few items allow for more in the same time."""
SHORT = 5
"""Items a row on average, at most, for that."""
LITTLE = 0.0001
"""A round that gains less than this share of the loss is idle."""
PATIENCE = 10
"""With a time limit, so many idle rounds in a row end the search early."""
QUICK_BOUND, SLOW_BOUND = 1 << 20, 1 << 31
"""Words compared for the lower bound at most, without and with a time limit."""


def split(baskets: Baskets, guarantee: KAnonymity, hierarchy: None, options: Options) -> Classes:
    """Classes of at least k transactions, found by ordering, splitting and reassigning.

    With `options.time_limit`, more orders are tried and reassignment goes on until it ends or little is gained.
    """
    started = time.monotonic()
    k, n = guarantee.k, len(baskets)
    check_enough(k, n)
    options.tell("collapsing equal transactions", 0.0)
    rows = working_rows(baskets, k, options.threads)
    # Rows change places afterwards: without a time limit, classes that begin at every k/5-th row are near enough.
    grid = max(1, k // 5) if options.time_limit is None and len(rows) > 32 * k else None
    partition, name = best_order(rows, k, grid, options)
    rng = np.random.default_rng(options.seed)
    most = ROUNDS if len(rows.items) > SHORT * len(rows) else ROUNDS_OF_SHORT
    rounds = idle = 0
    share = 0.3
    while True:
        spent = time.monotonic() - started
        if (rounds >= most) if options.time_limit is None else (spent > options.time_limit or idle == PATIENCE):
            break
        lost = (rows.constant + partition.loss) / max(1, baskets.occurrences)
        options.tell(f"{rounds:,} rounds of reassignment, {lost:.2%} lost", share, best=lost)
        share = (
            0.3 + 0.6 * (rounds + 1) / (most + 1)
            if options.time_limit is None
            else max(share, 0.3 + 0.6 * min(1.0, spent / options.time_limit))
        )
        before = partition.loss
        if rounds > 0:
            favour = (1 - 0.5 * rng.random(rows.n_items)).astype(np.float32)
            partition = along_tour(rows, partition, favour, options.threads)
        # Sparse rows first leave classes that few items hold together; swaps would only keep those alive.
        swaps = rounds > 0 or rows.bitmaps.size > 0
        partition = exchange_rows(rows, partition, k, swaps, options.time_limit is not None, options.threads)
        partition = split_large(rows, partition, k, options.threads, grid)
        rounds += 1
        idle = idle + 1 if before - partition.loss <= LITTLE * before else 0
    options.tell("centres", 0.95)
    bound = lower_bound(rows, k, options) / baskets.occurrences if baskets.occurrences else None
    return classes_of(baskets, rows, partition, bound or None, {"order": name, "rounds": rounds}, options)


def best_order(rows: Working, k: int, grid: int | None, options: Options) -> tuple[Partition, str]:
    """The best split of the best order, and which one that is."""

    def gray(key: Floats) -> Codes:
        rank = np.empty(rows.n_items, np.int32)
        rank[np.argsort(key, kind="stable")] = np.arange(rows.n_items, dtype=np.int32)
        if rows.bitmaps.size:
            return dense_gray_order(rows.offsets, rows.items, rows.n_items, rank, options.threads)
        return gray_order(rows.offsets, rows.items, rows.n_items, rank, options.threads).astype(np.int32)

    support = rows.support
    orders = {
        "tree": lambda: tree_order(rows.offsets, rows.items, rows.n_items, leaf=max(2, k - 1), threads=options.threads),
        "frequency": lambda: gray(-support.astype(np.float64)),
        "evenness": lambda: gray(np.abs(2.0 * support - len(rows))),
    }
    names = ["frequency"] if rows.bitmaps.size else ["tree"]
    if options.time_limit is not None:
        names = list(orders)
    best, best_name = None, ""
    for place, name in enumerate(names):
        options.tell(f"order by {name}", 0.05 + 0.25 * place / len(names))
        order = orders[name]()
        partition = Partition(
            order, *best_split(rows.offsets, rows.items, rows.bitmaps, order, rows.n_items, k, options.threads, grid)
        )
        if best is None or partition.loss < best.loss:
            best, best_name = partition, name
    assert best is not None
    return best, best_name


def lower_bound(rows: Working, k: int, options: Options) -> float:
    """Occurrences that every partition loses: those of items that cannot matter, and half the mean distance of each row to
    the k - 1 nearest others (kernels/classes/bounds.py), where so many distances are affordable."""
    words = (rows.n_items + 63) // 64
    affordable = QUICK_BOUND if options.time_limit is None else SLOW_BOUND
    if k < 2 or rows.settled or len(rows) ** 2 * words > affordable:
        return rows.constant
    bitmaps = rows.bitmaps if rows.bitmaps.size else packed_bitmaps(rows.offsets, rows.items, rows.n_items)
    near = nearest_sum(bitmaps, np.ones(len(rows), np.int64), k, options.threads)
    return rows.constant + near / (2 * (k - 1))


def classes_of(
    baskets: Baskets,
    rows: Working,
    partition: Partition,
    bound: float | None,
    facts: dict[str, object],
    options: Options,
) -> Classes:
    """The partition in terms of the transactions, with centres over all items."""
    order = np.concatenate([rows.source[partition.order], *rows.settled])
    sizes = np.concatenate((np.diff(partition.bounds), [len(rest) for rest in rows.settled])).astype(np.int64)
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    of_row = np.empty(len(baskets), np.int32)
    of_row[order] = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    centres = majority_centres(baskets, order, bounds, options.threads)
    return Classes(of_row, centres, algorithm="split", bound=bound, facts={"classes": len(sizes), **facts})
