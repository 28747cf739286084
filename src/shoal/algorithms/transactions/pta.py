"""PTA (Lin, Liu, Fournier-Viger, Hong 2017), as printed: Gray sort, segments, PrimTSP, groups that vote, classes of least loss; and
Gray-TSP, a baseline of the paper (after Xue, Karras, Raïssi, Vaidya, Tan 2012), in which a genetic algorithm looks for the loop of each
segment (`kernels/classes/evolution.py`; the paper gives no details of it).

- Pre-processing (section 4.1): transactions in Gray order, cut into segments, each with the bitmaps of its transactions and the matrix of
  their Hamming distances. A segment knows only the items that occur in it: bitmaps stay short however many items the data has.
- TSP (section 4.2): a short loop through all transactions of a segment, so that neighbours on it are alike.
- Anonymization (section 4.3): groups of k neighbours on the loop vote for their centre, groups that lose least become classes, and who is
  left over joins the nearest class.

Algorithm 2 is followed as printed. For every k from 2 on its ranges give k consecutive nodes, the middle one in the middle
for odd k and one side longer for even k: the side whose end is nearer to the middle, the one ahead if both are equally
near. They are k different nodes on every loop of at least k, also on one of just k or k + 1: for even k and a loop of k
both ends are the same node, and it is taken once. (For k = 1 the printed lines 8 and 9 would enter the node twice; here it
enters once.) "More than k/2" is strictly more than half, with whole or real division alike. Groups that lose the same are
taken in loop order, which Algorithm 3 leaves open; its line 14 is read as choosing among the classes, not among the groups
left (there are none).

Segments are independent of each other, so they run in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.algorithms.recoding import Options
from shoal.algorithms.transactions.classes import Classes, check_enough, majority_centres
from shoal.errors import InputError, number_of
from shoal.guarantees.k import KAnonymity
from shoal.kernels.classes import evolution
from shoal.kernels.classes.bitmaps import hamming_matrix, packed_bitmaps, segment_columns
from shoal.kernels.classes.gray import gray_order
from shoal.kernels.classes.groups import classes_of_nodes, disjoint_groups, group_starts, window_losses
from shoal.kernels.classes.tours import shortest_loop
from shoal.kernels.parallel import even_blocks, over_blocks
from shoal.numbers import Codes, Ints
from shoal.records.baskets import Baskets

SIZE = 100
"""Transactions of a segment, about, when the user names no number of segments."""
GROUPS = 4
"""At least so many groups of k fit into a segment then."""
LARGEST = 30_000
"""Transactions of a segment, at most: the distances among more would fill the memory of an ordinary machine (8 bytes a pair)."""
BLOCKS = 256
"""Parts of the work, of one or more segments each."""


def pta(baskets: Baskets, guarantee: KAnonymity, hierarchy: None, options: Options) -> Classes:
    """Classes of at least k transactions along PrimTSP's loop in each of `options.segments` segments."""
    return classes_along_loops("pta", baskets, guarantee.k, prim_loop, options)


def gray_tsp(baskets: Baskets, guarantee: KAnonymity, hierarchy: None, options: Options) -> Classes:
    """Classes as PTA makes them, along loops evolved over `options.generations` by `options.population` loops each."""
    return classes_along_loops(
        "gray-tsp",
        baskets,
        guarantee.k,
        lambda segment: evolved_loop(segment, options.population, options.generations, options.seed),
        options,
    )


def classes_along_loops(
    algorithm: str, baskets: Baskets, k: int, loop_of: Callable[[Segment], Loop], options: Options
) -> Classes:
    """The flow chart of Figure 1, with whatever finds the loop of a segment."""
    n = len(baskets)
    check_enough(k, n)
    segments, notes = _segments(n, k, options.segments)
    options.tell("Gray order", 0.0)
    order, ordered = gray_sorted(baskets, options.threads)
    bounds = segment_bounds(n, segments)

    def run(first: int, last: int) -> list[tuple[Chosen, int]]:
        answers = []
        for segment in segments_among(ordered, bounds, first, last):
            loop = loop_of(segment)
            answers.append((chosen_classes(segment, loop, mapped_groups(segment, loop, k), k), loop.length))
        return answers

    blocks = over_blocks(
        run,
        even_blocks(np.diff(bounds).astype(np.float64), BLOCKS),
        options.threads,
        lambda share: options.tell(f"{round(share * segments):,} of {segments:,} segments", 0.05 + 0.9 * share),
    )
    answers = list(chain.from_iterable(blocks))
    # Classes are numbered segment after segment; their centres are voted for by the groups they were chosen as.
    first_class = np.concatenate(([0], np.cumsum([len(chosen.voters) for chosen, _ in answers])))
    of_row = np.empty(n, np.int32)
    of_row[order] = np.concatenate([c.of_node + a for (c, _), a in zip(answers, first_class[:-1], strict=True)])
    voters = order[np.concatenate([c.voters.ravel() + a for (c, _), a in zip(answers, bounds[:-1], strict=True)])]
    centres = majority_centres(baskets, voters, np.arange(0, len(voters) + 1, k, dtype=np.int64), options.threads)
    facts = {
        "segments": segments,
        "classes": int(first_class[-1]),
        "leftovers": n - len(voters),
        "loop_length": sum(length for _, length in answers),
    }
    return Classes(of_row, centres, algorithm=algorithm, facts=facts, notes=notes)


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
        f"{number_of(asked, 'segment')} of {number_of(n, 'transaction')} would have fewer than k = {k:,} each: "
        f"cut into {segments:,} instead.",
    )


@dataclass(frozen=True, eq=False)
class Segment:
    """Transactions that follow each other in Gray order; node i is the i-th of them."""

    number: int
    """From 0, in Gray order."""
    offsets: Ints
    columns: Codes
    """Transaction i has the columns columns[offsets[i]:offsets[i + 1]]; a column is an item that occurs in the segment."""
    bitmaps: npt.NDArray[np.uint64]
    distance: Codes

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_columns(self) -> int:
        """Room for all columns, up to the next full word."""
        return 64 * int(self.bitmaps.shape[1])


def gray_sorted(baskets: Baskets, threads: int | None) -> tuple[Ints, Baskets]:
    """Definition 3: the rows in Gray order, the first item of the vocabulary being the most significant bit."""
    order = gray_order(baskets.offsets, baskets.items, len(baskets.vocabulary), threads=threads)
    return order, baskets.take(order)


def default_segments(n: int, k: int) -> int:
    """As many segments as leave each about 100 transactions, or 4k if that is more.

    The distances of a segment of 100 and the work on its loop then stay in the second-level cache of an ordinary core (less
    than 100 KiB), and the work that grows with the square and the cube of a segment's size stays small.
    """
    return max(1, n // max(SIZE, GROUPS * k))


def segment_bounds(n: int, segments: int) -> Ints:
    """Where segments begin and end: sizes differ by at most one, the larger segments come first (13 in 2: 7 and 6)."""
    number = np.arange(segments + 1, dtype=np.int64)
    return number * (n // segments) + np.minimum(number, n % segments)


def segments_among(ordered: Baskets, bounds: Ints, first: int, last: int) -> Iterator[Segment]:
    """Segments [first, last) of the sorted transactions, one after the other (Definitions 4 and 5)."""
    column_of = np.full(len(ordered.vocabulary), -1, np.int32)
    for number in range(first, last):
        offsets = ordered.offsets[bounds[number] : bounds[number + 1] + 1]
        columns, n_columns = segment_columns(ordered.items, offsets[0], offsets[-1], column_of)
        offsets = offsets - offsets[0]
        bitmaps = packed_bitmaps(offsets, columns, n_columns)
        yield Segment(number, offsets, columns, bitmaps, hamming_matrix(bitmaps))


class Loop(NamedTuple):
    nodes: Codes
    """All nodes of the segment, each once; the last is followed by the first."""
    length: int
    """The sum of the distances between neighbours."""


def prim_loop(segment: Segment) -> Loop:
    """Algorithm 1, PrimTSP: the shortest of the loops grown from each node."""
    nodes, length = shortest_loop(segment.distance)
    return Loop(nodes, int(length))


def evolved_loop(segment: Segment, population: int, generations: int, seed: int) -> Loop:
    """The best loop of a genetic algorithm; every segment draws its own random numbers, whichever thread it runs on."""
    entropy = np.random.SeedSequence([seed & (2**64 - 1), segment.number]).generate_state(1, np.uint64)
    nodes, length = evolution.evolved_loop(segment.distance, population, generations, entropy[0])
    return Loop(nodes, int(length))


class Groups(NamedTuple):
    """The candidates, one per node of the loop and in loop order: k nodes from place `starts[i]` on, around the loop."""

    starts: Codes
    losses: Ints


class Chosen(NamedTuple):
    """A segment's classes, numbered from 0 as they were chosen."""

    voters: Codes
    """One row per class: the k nodes whose majority is the centre."""
    of_node: Codes
    """The class of each node, leftovers among them."""


def mapped_groups(segment: Segment, loop: Loop, k: int) -> Groups:
    """Algorithm 2, MapAndMajorityVote: the group around each node, and what its majority centre loses."""
    starts = group_starts(loop.nodes, segment.distance, k)
    losses = window_losses(segment.offsets, segment.columns, segment.n_columns, loop.nodes, k)
    return Groups(starts, losses[starts])


def chosen_classes(segment: Segment, loop: Loop, groups: Groups, k: int) -> Chosen:
    """Algorithm 3: groups by ascending loss, none that overlaps a class; then each leftover to its nearest class."""
    chosen = disjoint_groups(groups.starts, np.argsort(groups.losses, kind="stable"), k)
    chosen = chosen[chosen >= 0]
    of_node = classes_of_nodes(segment.offsets, segment.columns, segment.bitmaps, loop.nodes, chosen, k)
    voters = loop.nodes[(chosen[:, None] + np.arange(k)) % len(segment)]
    return Chosen(voters, of_node)
