"""GSC, a baseline of the PTA paper (after Wang, Tsai, Kao, Hong 2014): Gray sort, then every k consecutive transactions are
a class, published as its majority centre; the last class takes the rest.

That is a guess. The PTA paper does not print the procedure; it says that similar transactions are replaced by their centre."""

from __future__ import annotations

import numpy as np

from shoal.algorithms.recoding import Options
from shoal.algorithms.transactions.classes import Classes, check_enough, majority_centres
from shoal.guarantees.k import KAnonymity
from shoal.kernels.classes.gray import gray_order
from shoal.records.baskets import Baskets


def gsc(baskets: Baskets, guarantee: KAnonymity, hierarchy: None, options: Options) -> Classes:
    """Classes of k transactions that follow each other in Gray order, the last one of k to 2k - 1."""
    n, k = len(baskets), guarantee.k
    check_enough(k, n)
    options.tell("Gray order", 0.0)
    order = gray_order(baskets.offsets, baskets.items, len(baskets.vocabulary), threads=options.threads)
    options.tell("centres", 0.7)
    bounds = np.append(np.arange(0, n // k * k, k, dtype=np.int64), n)
    of_row = np.empty(n, np.int32)
    of_row[order] = np.repeat(np.arange(n // k, dtype=np.int32), np.diff(bounds))
    centres = majority_centres(baskets, order, bounds, options.threads)
    return Classes(of_row, centres, algorithm="gsc", facts={"classes": n // k})
