"""GSC, a baseline of the PTA paper (after Wang, Tsai, Kao, Hong 2014): Gray sort, then every k consecutive transactions are
a class, published as its majority centre; the last class takes the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.recoding import Options
from shoal.algorithms.transactions.classes import Classes
from shoal.errors import Unreachable
from shoal.records.baskets import Baskets

if TYPE_CHECKING:
    from shoal.guarantees.k import KAnonymity


def gsc(baskets: Baskets, guarantee: KAnonymity, hierarchy: None, options: Options) -> Classes:
    """Classes of k transactions that follow each other in Gray order, the last one of k to 2k - 1."""
    from shoal.kernels.classes.centres import class_centres
    from shoal.kernels.classes.gray import gray_order

    n, k = len(baskets), guarantee.k
    if k > n:
        raise Unreachable(f"k = {k:,}, but there are only {n:,} transactions; choose a k of at most their number")
    n_items = len(baskets.vocabulary)
    options.tell("Gray order", 0.0)
    order = gray_order(baskets.offsets, baskets.items, n_items, threads=options.threads)
    options.tell("centres", 0.7)
    bounds = np.append(np.arange(0, n // k * k, k, dtype=np.int64), n)
    of_row = np.empty(n, np.int32)
    of_row[order] = np.repeat(np.arange(n // k, dtype=np.int32), np.diff(bounds))
    centres = class_centres(baskets.offsets, baskets.items, n_items, order, bounds, options.threads)
    return Classes(
        of_row,
        Baskets(centres.offsets, centres.items, baskets.vocabulary),
        "gsc",
        facts={"classes": n // k},
    )
