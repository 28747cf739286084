"""PTA (Lin, Liu, Fournier-Viger, Hong 2017), as printed: Gray sort, segments, PrimTSP, groups that vote, classes of least loss.

Its modules are the files beside this one: `segments` (pre-processing), `loops` (TSP), `voting` (anonymization). Segments are
independent of each other, so they run in parallel.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.recoding import Options
from shoal.algorithms.transactions.classes import Classes
from shoal.algorithms.transactions.loops import Loop, prim_loop
from shoal.algorithms.transactions.segments import (
    LARGEST,
    Segment,
    default_segments,
    gray_sorted,
    segment_bounds,
    segments_among,
)
from shoal.algorithms.transactions.voting import Chosen, chosen_classes, mapped_groups
from shoal.errors import InputError, Unreachable
from shoal.records.baskets import Baskets

if TYPE_CHECKING:
    from shoal.guarantees.k import KAnonymity


BLOCKS = 256
"""Parts of the work, of one or more segments each."""


def pta(baskets: Baskets, guarantee: KAnonymity, hierarchy: None, options: Options) -> Classes:
    """Classes of at least k transactions along PrimTSP's loop in each of `options.segments` segments."""
    return classes_along_loops("pta", baskets, guarantee.k, prim_loop, options)


def classes_along_loops(
    algorithm: str, baskets: Baskets, k: int, loop_of: Callable[[Segment], Loop], options: Options
) -> Classes:
    """The flow chart of Figure 1, with whatever finds the loop of a segment."""
    from shoal.kernels.classes.centres import class_centres
    from shoal.kernels.parallel import even_blocks, over_blocks

    n = len(baskets)
    if k > n:
        raise Unreachable(f"k = {k:,}, but there are only {n:,} transactions; choose a k of at most their number")
    segments, notes = _segments(n, k, options.segments)
    options.tell("Gray order", 0.0)
    order, ordered = gray_sorted(baskets, options.threads)
    bounds = segment_bounds(n, segments)

    def run(first: int, last: int) -> list[tuple[Chosen, int]]:
        found = []
        for segment in segments_among(ordered, bounds, first, last):
            loop = loop_of(segment)
            found.append((chosen_classes(segment, loop, mapped_groups(segment, loop, k), k), loop.length))
        return found

    blocks = over_blocks(
        run,
        even_blocks(np.diff(bounds).astype(np.float64), BLOCKS),
        options.threads,
        lambda share: options.tell(f"{round(share * segments):,} of {segments:,} segments", 0.05 + 0.9 * share),
    )
    found = list(chain.from_iterable(blocks))
    # Classes are numbered segment after segment; their centres are voted for by the groups they were chosen as.
    first_class = np.concatenate(([0], np.cumsum([len(chosen.voters) for chosen, _ in found])))
    of_row = np.empty(n, np.int32)
    of_row[order] = np.concatenate([c.of_node + a for (c, _), a in zip(found, first_class[:-1], strict=True)])
    voters = order[np.concatenate([c.voters.ravel() + a for (c, _), a in zip(found, bounds[:-1], strict=True)])]
    centres = class_centres(
        baskets.offsets,
        baskets.items,
        len(baskets.vocabulary),
        voters,
        np.arange(0, len(voters) + 1, k, dtype=np.int64),
        options.threads,
    )
    facts = {
        "segments": segments,
        "classes": int(first_class[-1]),
        "leftovers": n - len(voters),
        "loop_length": sum(length for _, length in found),
    }
    return Classes(
        of_row, Baskets(centres.offsets, centres.items, baskets.vocabulary), algorithm, facts=facts, notes=notes
    )


def _segments(n: int, k: int, asked: int | None) -> tuple[int, tuple[str, ...]]:
    """How many segments, and what to tell about it; none of them may have fewer than k transactions."""
    segments = min(asked or default_segments(n, k), n // k)
    if -(-n // segments) > LARGEST:
        raise InputError(
            f"{segments:,} segments of {n:,} transactions, k = {k:,}: PTA and Gray-TSP compare every two transactions of a "
            f"segment, and more than {LARGEST:,} are too many; ask for more segments, a smaller k or algorithm split"
        )
    if asked is None or asked == segments:
        return segments, ()
    return segments, (
        f"{asked:,} segments of {n:,} transactions would have fewer than k = {k:,} each: cut into {segments:,} instead.",
    )
