"""Gray-TSP, a baseline of the PTA paper (after Xue, Karras, Raïssi, Vaidya, Tan 2012): as PTA, but a genetic algorithm looks
for the loop of each segment. The search is the one `kernels/classes/evolution.py` describes; the PTA paper gives no details of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.algorithms.recoding import Options
from shoal.algorithms.transactions.classes import Classes
from shoal.algorithms.transactions.loops import evolved_loop
from shoal.algorithms.transactions.pta import classes_along_loops
from shoal.records.baskets import Baskets

if TYPE_CHECKING:
    from shoal.guarantees.k import KAnonymity


def gray_tsp(baskets: Baskets, guarantee: KAnonymity, hierarchy: None, options: Options) -> Classes:
    """Classes as PTA makes them, along loops evolved over `options.generations` by `options.population` loops each."""
    return classes_along_loops(
        "gray-tsp",
        baskets,
        guarantee.k,
        lambda nodes: evolved_loop(nodes, options.population, options.generations, options.seed),
        options,
    )
