"""Parts of a table with near relational values, cut as Mondrian cuts: the widest column at its median, until a part fits a worker.

The driver sees histograms only: for every part, how many rows fall into each bin of each column, one job for all parts of a level. Values
stand in the order of their numbers or of the leaves of their tree, so a part is a box of near values. Both sides of a cut keep at least
`least` rows and k rows with items, so that the promise can be kept in every part by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import Bools, Codes, Ints
from shoal.records.records import Column
from shoal.spark.data.executors import count_batch, count_keys
from shoal.spark.data.frame_records import SparkRecords, codes_of
from shoal.spark.data.packing import flat, offsets_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = 20_000
"""Rows of a part, at most, unless its values leave no place for a cut."""
BINS = 512
"""Bins of a column, at most: finer cuts are for the algorithm inside a part."""


@dataclass(frozen=True, eq=False)
class Parts:
    """A tree of cuts: at node v, rows whose bin in `column[v]` is above `cut[v]` go to `right[v]`, others to `left[v]`."""

    bins: tuple[Codes, ...]
    """Per quasi-identifier column, the bin of each of its values."""
    place: tuple[int, ...]
    """Where these columns stand among all coded ones."""
    known: Bools
    """Which items an attacker may know."""
    column: Codes
    """Of a leaf -1."""
    cut: Codes
    left: Codes
    right: Codes

    @property
    def leaves(self) -> Ints:
        return np.flatnonzero(self.column < 0)

    def bins_and_nodes(self, batch: pa.RecordBatch) -> tuple[Codes, Ints]:
        """On a worker: (bin of each row in each column, node of each row)."""
        codes = codes_of(batch)
        bins = np.stack([bins[codes[:, at]] for bins, at in zip(self.bins, self.place, strict=True)], axis=1)
        node = np.zeros(len(batch), np.int64)
        while len(inner := np.flatnonzero(self.column[node] >= 0)):
            at = node[inner]
            above = bins[inner, self.column[at]] > self.cut[at]
            node[inner] = np.where(above, self.right[at], self.left[at])
        return bins, node


def parts_of(records: SparkRecords, trees: Mapping[str, Hierarchy | None], k: int) -> Parts:
    """Parts of at most `ROWS` rows, or of what cannot be cut further."""
    quasi = records.template.of_role("quasi")
    laid = [_laid_out(column, trees.get(column.name)) for column in quasi]
    parts = Parts(
        tuple(bins for bins, _ in laid),
        tuple(i for i, column in enumerate(records.template.columns) if column.role == "quasi"),
        ~records.sets.marks(records.template.sensitive_items),
        *(np.full(1, -1, np.int32) for _ in range(4)),
    )
    if len(records) <= ROWS:
        return parts
    least, settled = max(k, ROWS // 4), np.zeros(0, np.int64)
    while True:
        rows, filled = _histograms(records.rows, parts, [len(at) for _, at in laid])
        sizes = rows[:, : len(laid[0][1])].sum(axis=1)
        open_leaves = [v for v in parts.leaves.tolist() if sizes[v] > ROWS and v not in settled]
        cuts = {v: _best_cut(rows[v], filled[v], [at for _, at in laid], least, k) for v in open_leaves}
        settled = np.append(settled, [v for v, cut in cuts.items() if cut is None])
        good = {v: cut for v, cut in cuts.items() if cut is not None}
        if not good:
            return parts
        parts = _grow(parts, good)


def _laid_out(column: Column, tree: Hierarchy | None) -> tuple[Codes, npt.NDArray[np.float64]]:
    """(bin of each value, where each bin stands on a scale from 0 to 1), in the order of numbers or of leaves."""
    n = len(column.values)
    order = np.arange(n)
    where = np.arange(n, dtype=np.float64)
    if tree is not None:
        leaf = {name: i for i, name in enumerate(tree.labels[: tree.n_leaves])}
        at = [int(tree.span[leaf[v], 0]) if v in leaf else -1 for v in column.values]
        order = np.argsort(at, kind="stable")
    elif column.numbers is not None:
        # Missing numbers come first and lie beside the smallest.
        lowest = np.nan_to_num(column.numbers[~np.isnan(column.numbers)].min(initial=np.inf), posinf=0.0)
        where = np.where(np.isnan(column.numbers), lowest, column.numbers)
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    bins = (rank * min(n, BINS) // n).astype(np.int32)
    first = np.unique(bins[order], return_index=True)[1]
    where = where[first] if tree is None else first.astype(np.float64)
    width = where[-1] - where[0]
    return bins, (where - where[0]) / width if width else where * 0.0


def _histograms(rows: DataFrame, parts: Parts, widths: list[int]) -> tuple[Ints, Ints]:
    """Per node and bin of all columns: its rows, and those among them that hold an item an attacker may know."""
    wide = sum(widths)
    nodes = len(parts.column)
    start = np.cumsum(widths) - widths
    counts = count_keys(rows, _count_bins, 2 * nodes * wide, parts=parts, start=start, wide=wide)
    return counts[: nodes * wide].reshape(nodes, wide), counts[nodes * wide :].reshape(nodes, wide)


def _count_bins(batches: Iterator[pa.RecordBatch], parts: Parts, start: Ints, wide: int) -> Iterator[pa.RecordBatch]:
    """On a worker: its rows by node and bin, and those with items behind them."""
    for batch in batches:
        if not len(batch):
            continue
        bins, node = parts.bins_and_nodes(batch)
        offsets, items = flat(batch.column("items"))
        held = offsets_of(parts.known[items])[offsets]
        key = (node[:, None] * wide + start + bins).astype(np.int64)
        filled = key[np.diff(held) > 0] + len(parts.column) * wide
        yield count_batch(np.concatenate((key.reshape(-1), filled.reshape(-1))))


def _best_cut(
    rows: Ints, filled: Ints, scales: list[npt.NDArray[np.float64]], least: int, k: int
) -> tuple[int, int] | None:
    """(column, bin) of the cut of the widest column that can be cut, near its median; None if there is none."""
    ends = np.cumsum([len(scale) for scale in scales])
    own = [slice(end - len(scale), end) for end, scale in zip(ends.tolist(), scales, strict=True)]
    used = [np.flatnonzero(rows[at]) for at in own]
    wide = [scale[at[-1]] - scale[at[0]] for scale, at in zip(scales, used, strict=True)]
    needed = k if filled[own[0]].any() else 0
    for j in np.argsort(-np.array(wide), kind="stable").tolist():
        below, with_items = np.cumsum(rows[own[j]])[:-1], np.cumsum(filled[own[j]])[:-1]
        total, all_items = int(rows[own[j]].sum()), int(filled[own[j]].sum())
        possible = np.flatnonzero(
            (below >= least) & (total - below >= least) & (with_items >= needed) & (all_items - with_items >= needed)
        )
        if len(possible):
            return j, int(possible[np.argmin(np.abs(below[possible] - total / 2))])
    return None


def _grow(parts: Parts, cuts: dict[int, tuple[int, int]]) -> Parts:
    """The tree with some of its leaves cut."""
    n, new = len(parts.column), 2 * len(cuts)
    column, cut, left, right = (
        np.append(old, np.full(new, -1, np.int32)) for old in (parts.column, parts.cut, parts.left, parts.right)
    )
    for i, (v, (j, at)) in enumerate(cuts.items()):
        column[v], cut[v], left[v], right[v] = j, at, n + 2 * i, n + 2 * i + 1
    return Parts(parts.bins, parts.place, parts.known, column, cut, left, right)
