"""lra: local recoding, which the authors of the 2008 paper announced: rows in parts, each part anonymized by itself.

The first step is theirs (partition, anonymize the parts); how rows are parted is ours (`parts`), and so is the second step, which
makes the release finer token by token and row by row (`cells`). Both start from the exact optimum among cuts and take only steps that
lose less, so lra never loses more than `exact`. What it proposes has every set of up to m tokens in at least k rows, tokens
counted as they stand; that is more than the promise asks for (see `guarantees.km_local`), and needs no hierarchy to be checked.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.cells import Cells
from shoal.algorithms.km.exact import exact
from shoal.algorithms.km.ground import Ground
from shoal.algorithms.km.local import LocalRecoding
from shoal.algorithms.km.parts import Part, Splitting
from shoal.algorithms.recoding import Options
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets

MOST_PARTS = 64
SPLITTING_WORK = 4_000_000
"""Occurrences that may go into the search for parts. Work is capped, not time, so that the answer is the same everywhere."""
LEAST_TRIES = 10
"""Data that is too large to be looked at so often within that is not parted."""
REFINING_WORK = 4_000_000_000
"""The same for the moves that follow."""


def lra(baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> LocalRecoding:
    """A local recoding that keeps the promise and loses no more than the optimal cut. `options.segments` is the most parts to make."""
    clock = _Clock(options)
    whole = exact(baskets, guarantee, hierarchy, replace(options, suppress=0.0))
    ground = Ground(baskets, guarantee, hierarchy, options.threads)
    splitting = Splitting(baskets, guarantee, hierarchy, options)
    start = splitting.part(np.arange(len(baskets)), whole.cut.lowest().node)
    best, used = _refined(ground, [start], clock), 1
    budget = SPLITTING_WORK // max(1, ground.m - 1)
    partitions: Iterable[list[Part]] = ()
    if baskets.occurrences * LEAST_TRIES <= budget:
        partitions = splitting.partitions(
            start, options.segments or MOST_PARTS, budget, lambda share: clock("splitting into parts", share)
        )
    # More parts lose less before the second step, but leave it less to share: two parts are often the better start.
    for parts in _first_and_last(partitions):
        other = _refined(ground, parts, clock)
        if other.cost < best.cost:
            best, used = other, len(parts)
    scale = max(1, hierarchy.n_leaves * baskets.occurrences)
    return LocalRecoding(
        hierarchy,
        best.node,
        baskets.vocabulary,
        "lra",
        facts={"parts": used, "moves": best.moves, "ncp_of_cut": start.cost / scale, "cut_optimal": whole.optimal},
        notes=("stopped by the time limit: a longer run may lose less",) if clock.expired else (),
    )


def _first_and_last(partitions: Iterable[list[Part]]) -> list[list[Part]]:
    found = list(partitions)
    return found if len(found) < 3 else [found[0], found[-1]]


def _refined(ground: Ground, parts: list[Part], clock: _Clock) -> Cells:
    """The release in these parts, made finer."""
    doing = "making single rows finer" + (f", from {len(parts)} parts" if len(parts) > 1 else "")
    node = np.empty(len(ground.baskets.items), np.int32)
    for part in parts:
        places, leaf = _occurrences(ground, part.rows)
        node[places] = part.node[leaf]
    cells = Cells(ground, node)
    cells.refine(REFINING_WORK, lambda share: clock(doing, share))
    return cells


def _occurrences(ground: Ground, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """The places of the rows' occurrences, and their leaves."""
    inside = np.zeros(len(ground.baskets), np.bool_)
    inside[rows] = True
    places = np.flatnonzero(np.repeat(inside, ground.baskets.lengths))
    return places, ground.leaf[ground.baskets.items[places]]


class _Clock:
    """Tells how far a run is, and whether the time limit leaves room for more."""

    def __init__(self, options: Options) -> None:
        self.options, self.started, self.expired = options, time.monotonic(), False

    def __call__(self, doing: str, share: float) -> bool:
        self.options.tell(doing, min(share, 1.0))
        limit = self.options.time_limit
        self.expired = self.expired or (limit is not None and time.monotonic() - self.started > limit)
        return not self.expired
