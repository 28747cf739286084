"""The pre-processing module of PTA (section 4.1): transactions in Gray order, cut into segments, each with the bitmaps of
its transactions and the matrix of their Hamming distances.

A segment knows only the items that occur in it: bitmaps stay short however many items the data has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.records.baskets import Baskets

SIZE = 100
"""Transactions of a segment, about, when the user names no number of segments."""
GROUPS = 4
"""At least so many groups of k fit into a segment then."""
LARGEST = 30_000
"""Transactions of a segment, at most: the distances among more would fill the memory of an ordinary machine (8 bytes a pair)."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Transactions that follow each other in Gray order; node i is the i-th of them."""

    number: int
    """From 0, in Gray order."""
    offsets: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    """Transaction i has the columns columns[offsets[i]:offsets[i + 1]]; a column is an item that occurs in the segment."""
    bitmaps: npt.NDArray[np.uint64]
    distance: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_columns(self) -> int:
        """Room for all columns, up to the next full word."""
        return 64 * int(self.bitmaps.shape[1])


def gray_sorted(baskets: Baskets, threads: int | None) -> tuple[npt.NDArray[np.int64], Baskets]:
    """Definition 3: the rows in Gray order, the first item of the vocabulary being the most significant bit."""
    from shoal.kernels.classes.gray import gray_order

    order = gray_order(baskets.offsets, baskets.items, len(baskets.vocabulary), threads=threads)
    return order, baskets.take(order)


def default_segments(n: int, k: int) -> int:
    """As many segments as leave each about 100 transactions, or 4k if that is more.

    The distances of a segment of 100 and the work on its loop then stay in the second-level cache of an ordinary core (less
    than 100 KiB), and the work that grows with the square and the cube of a segment's size stays small.
    """
    return max(1, n // max(SIZE, GROUPS * k))


def segment_bounds(n: int, segments: int) -> npt.NDArray[np.int64]:
    """Where segments begin and end: sizes differ by at most one, the larger segments come first (13 in 2: 7 and 6)."""
    number = np.arange(segments + 1, dtype=np.int64)
    return number * (n // segments) + np.minimum(number, n % segments)


def segments_among(ordered: Baskets, bounds: npt.NDArray[np.int64], first: int, last: int) -> Iterator[Segment]:
    """Segments [first, last) of the sorted transactions, one after the other (Definitions 4 and 5)."""
    from shoal.kernels.classes.bitmaps import hamming_matrix, packed_bitmaps, segment_columns

    column_of = np.full(len(ordered.vocabulary), -1, np.int32)
    for number in range(first, last):
        offsets = ordered.offsets[bounds[number] : bounds[number + 1] + 1]
        columns, n_columns = segment_columns(ordered.items, offsets[0], offsets[-1], column_of)
        offsets = offsets - offsets[0]
        bitmaps = packed_bitmaps(offsets, columns, n_columns)
        yield Segment(number, offsets, columns, bitmaps, hamming_matrix(bitmaps))
