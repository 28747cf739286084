"""The TSP module of PTA (section 4.2): a short loop through all transactions of a segment, so that neighbours on it are alike.

PTA takes PrimTSP's loop, Gray-TSP the best one of a genetic algorithm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.algorithms.transactions.segments import Segment


class Loop(NamedTuple):
    nodes: npt.NDArray[np.int32]
    """All nodes of the segment, each once; the last is followed by the first."""
    length: int
    """The sum of the distances between neighbours."""


def prim_loop(segment: Segment) -> Loop:
    """Algorithm 1, PrimTSP: the shortest of the loops grown from each node."""
    from shoal.kernels.classes.tours import shortest_loop

    nodes, length = shortest_loop(segment.distance)
    return Loop(nodes, int(length))


def evolved_loop(segment: Segment, population: int, generations: int, seed: int) -> Loop:
    """The best loop of a genetic algorithm; every segment draws its own random numbers, whichever thread it runs on."""
    from shoal.kernels.classes import evolution

    entropy = np.random.SeedSequence([seed & (2**64 - 1), segment.number]).generate_state(1, np.uint64)
    nodes, length = evolution.evolved_loop(segment.distance, population, generations, entropy[0])
    return Loop(nodes, int(length))
