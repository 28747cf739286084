"""Rows in a random order where they do not fit into memory: two passes over them, each from start to end.

The first deals every row to one of a few buckets, drawn for each row by itself; the second shuffles each bucket in memory and puts it
behind the others. Every order is as likely as any other (Rao 1961, Sandelius 1962), no row is fetched from a random place of a file,
and no list of all rows is needed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from shoal.numbers import Codes, Ints
from shoal.records.storage.scratch import Scratch

Rows = tuple[Ints, Codes]
"""Where each row ends, and what the rows hold."""

_MOST = 256
"""Buckets, a power of two: some bits of one byte draw one."""
_BYTES_PER_ROW = 64
"""What shuffling takes for a row in passing, beside what its occurrences take."""


def shuffle_rows(rows: Rows, blocks: Iterable[tuple[int, int]], scratch: Scratch) -> Rows:
    """The rows in an order drawn from the system's randomness, of which nothing is kept; `blocks` are those to deal at a time."""
    offsets, items = rows
    n_rows = len(offsets) - 1
    needed = (len(items) + n_rows) * _BYTES_PER_ROW
    buckets = 1
    while buckets < _MOST and needed // buckets > scratch.working // 4:
        buckets *= 2
    dealt = [(scratch.spool(np.int64), scratch.spool(np.int32)) for _ in range(buckets)]
    for first, last in blocks:
        bucket = np.frombuffer(os.urandom(last - first), np.uint8) & (buckets - 1)
        order = np.argsort(bucket, kind="stable")
        ends, taken = _take((offsets[first : last + 1], items), order)
        edges = np.searchsorted(bucket[order], np.arange(buckets + 1))
        lengths = np.diff(ends)
        for number, (bucket_lengths, bucket_items) in enumerate(dealt):
            a, b = edges[number], edges[number + 1]
            bucket_lengths.append(lengths[a:b])
            bucket_items.append(taken[ends[a] : ends[b]])
    all_offsets = scratch.map_array(n_rows + 1, np.int64)
    all_items = scratch.map_array(len(items), np.int32)
    all_offsets[0] = row = size = 0
    dealt.reverse()
    while dealt:
        lengths, held = (spool.array() for spool in dealt.pop())
        order = np.argsort(np.frombuffer(os.urandom(8 * len(lengths)), np.uint64))
        ends, taken = _take((np.concatenate(([0], np.cumsum(lengths))), held), order)
        all_offsets[row + 1 : row + 1 + len(lengths)] = ends[1:] + size
        all_items[size : size + len(taken)] = taken
        row += len(lengths)
        size += len(taken)
    return all_offsets, all_items


def _take(rows: Rows, which: Ints) -> Rows:
    """The given rows, in memory."""
    offsets, items = rows
    lengths = np.diff(offsets)[which]
    ends = np.zeros(len(which) + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    places = np.repeat(offsets[:-1][which] - ends[:-1], lengths)
    places += np.arange(len(places))
    return ends, items[places]
