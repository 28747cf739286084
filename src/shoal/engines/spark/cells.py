"""Cells of a table on Spark, and rows dealt out to parts that have the cells of the whole in like shares.

A cell is a sensitive value and a set of impossible values; all that buckets are formed by is the cell of a row (see
`shoal.algorithms.buckets.bucketization`). The workers tell cells from the rules and count them; the driver sees the counts, one for each
cell of each partition. Rows are numbered cell by cell, and number i goes to part i modulo the number of parts: a part gets its share
of every value and of every cell, but for one row more or less. A row's number follows from the counts of the partitions before its
own and from its place in its own, so a task that is run again deals the same rows to the same parts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.algorithms.buckets.eligibility import known_values
from shoal.engines.spark.ragged import Ints, Longs, flat
from shoal.engines.spark.records import SparkRecords
from shoal.engines.spark.workers import collected, on_workers
from shoal.errors import InputError
from shoal.guarantees.missing import UNKNOWN, Missing
from shoal.records.buckets import sensitive_column
from shoal.records.knowledge import Covers, Rules, covers

MOST_CELLS = 2_000_000
"""Counts of cells that the driver is given: one for each cell of each partition."""
_CELLS = "segment bigint, kind binary, value int, count bigint, first bigint, excluded array<int>"


@dataclass(frozen=True, eq=False)
class Kinds:
    """How a worker tells what the rules exclude for a row."""

    above: Covers
    """Of the attributes that stand in rules; without rows."""
    places: tuple[int, ...]
    """Where these stand among the coded columns."""
    sensitive: int
    """And the sensitive column."""
    nodes: Ints
    value: Ints
    counted: npt.NDArray[np.bool_]
    """Which values count towards l; rules exclude no others."""

    @property
    def n_values(self) -> int:
        return len(self.counted)

    def of_rows(self, batch: pa.RecordBatch) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
        """(sensitive value of each row, its kind, what is excluded for each kind)."""
        from shoal.kernels.buckets.impossible import impossible_kinds

        codes = flat(batch.column("values"))[1].reshape(len(batch), -1)
        own = np.ascontiguousarray(codes[:, list(self.places)].T, np.int32)
        kind, excluded = impossible_kinds(
            replace(self.above, codes=own), self.nodes, self.value, self.n_values, threads=1
        )
        return codes[:, self.sensitive], kind, excluded


@dataclass(frozen=True, eq=False)
class CountedCells:
    """All cells of a table, sorted by value and then by kind, and where the rows of each lie."""

    value: Ints
    kind: Ints
    rows: Longs
    """Of each cell."""
    excluded: npt.NDArray[np.bool_]
    """Per kind, small sets of impossible values first."""
    counted: npt.NDArray[np.bool_]
    """Which values count towards l."""
    first_row: Longs
    """Per kind, the first row of it."""
    digests: dict[bytes, int]
    """The number of each kind, by what it is known by on the workers."""
    segments: dict[int, tuple[Longs, Longs]]
    """Per partition, known by its first row: cells, and the number that its first row of each gets."""

    @property
    def rows_of_value(self) -> Longs:
        return np.bincount(self.value, self.rows, minlength=self.excluded.shape[1]).astype(np.int64)

    @property
    def rows_of_kind(self) -> Longs:
        return np.bincount(self.kind, self.rows, minlength=len(self.excluded)).astype(np.int64)


def kinds_told_by(records: SparkRecords, rules: Rules | None, missing: Missing = UNKNOWN) -> Kinds:
    """What a worker needs to tell the kinds of rows; `missing` is as for the promise."""
    table = records.template
    column = sensitive_column(table)
    used = None if rules is None else rules.applied()
    trees = {} if used is None else used.hierarchies
    value = np.zeros(0, np.int32) if used is None else used.values_among(column.values)
    counted = known_values(column, missing)
    return Kinds(
        above=covers(table, trees),
        places=tuple(table.columns.index(table[name]) for name in trees),
        sensitive=table.columns.index(column),
        nodes=np.zeros((0, 0), np.int32) if used is None else used.nodes,
        value=np.where((value >= 0) & counted[value], value, -1).astype(np.int32),
        counted=counted,
    )


def counted_cells(records: SparkRecords, kinds: Kinds) -> CountedCells:
    """The cells of all rows."""
    return of_counts(told(records, kinds), kinds.counted)


def told(records: SparkRecords, kinds: Kinds) -> pa.Table:
    """What the partitions count; raises if that is more than the driver takes."""
    found = collected(records.rows.mapInArrow(on_workers(_counted, kinds=kinds), _CELLS).limit(MOST_CELLS + 1))
    if found.num_rows > MOST_CELLS:
        raise InputError(
            f"the rules tell apart so many kinds of rows that their counts (by partition, value and kind) are more than {MOST_CELLS:,}, "
            "which the driver does not take; ask for fewer rules (a larger min_exp, fewer conditions), coalesce the data frame, or use the "
            "local engine"
        )
    return found


def of_counts(found: pa.Table, counted: npt.NDArray[np.bool_]) -> CountedCells:
    """The cells from what the partitions count; `counted` are the values that count towards l."""
    digest = found["kind"].to_pylist()
    told_by = {
        one: values for one, values in zip(digest, found["excluded"].to_pylist(), strict=True) if values is not None
    }
    names = sorted(told_by, key=lambda one: (len(told_by[one]), told_by[one]))
    number = {one: i for i, one in enumerate(names)}
    excluded = np.zeros((len(names), len(counted)), np.bool_)
    for i, one in enumerate(names):
        excluded[i, told_by[one]] = True
    kind = np.array([number[one] for one in digest], np.int64)
    value, count, segment, first = (found[name].to_numpy() for name in ("value", "count", "segment", "first"))
    first_row = np.full(len(names), np.iinfo(np.int64).max)
    np.minimum.at(first_row, kind, first)
    key = value.astype(np.int64) * max(1, len(names)) + kind
    order = np.lexsort((segment, key))
    keys, cell = np.unique(key[order], return_inverse=True)
    starts = np.cumsum(count[order]) - count[order]
    segments: dict[int, tuple[Longs, Longs]] = {}
    by_segment = np.argsort(segment[order], kind="stable")
    own, begins = np.unique(segment[order][by_segment], return_index=True)
    for one, part in zip(own.tolist(), np.split(by_segment, begins[1:]), strict=True):
        segments[one] = (cell.reshape(-1)[part].astype(np.int64), starts[part].astype(np.int64))
    return CountedCells(
        value=(keys // max(1, len(names))).astype(np.int32),
        kind=(keys % max(1, len(names))).astype(np.int32),
        rows=np.bincount(cell.reshape(-1), count[order], minlength=len(keys)).astype(np.int64),
        excluded=excluded,
        counted=counted,
        first_row=first_row,
        digests=number,
        segments=segments,
    )


def _digests(excluded: npt.NDArray[np.bool_]) -> list[bytes]:
    """What kinds are known by, whatever their numbers in a batch are."""
    return [hashlib.blake2b(np.flatnonzero(own).astype("<i4").tobytes(), digest_size=16).digest() for own in excluded]


def _counted(batches: Iterator[pa.RecordBatch], kinds: Kinds) -> Iterator[pa.RecordBatch]:
    """On a worker: the cells of one partition, and for each kind once what it excludes."""
    segment = -1
    cells: dict[tuple[bytes, int], list[int]] = {}
    sets: dict[bytes, list[int]] = {}
    for batch in batches:
        if not len(batch):
            continue
        rows = batch.column("row").to_numpy()
        segment = int(rows[0]) if segment < 0 else segment
        value, kind, excluded = kinds.of_rows(batch)
        names = _digests(excluded)
        for name, own in zip(names, excluded, strict=True):
            if name not in sets:
                sets[name] = np.flatnonzero(own).tolist()
        key, first, many = np.unique(
            kind.astype(np.int64) * kinds.n_values + value, return_index=True, return_counts=True
        )
        for one, at, count in zip(key.tolist(), rows[first].tolist(), many.tolist(), strict=True):
            cell = names[one // kinds.n_values], one % kinds.n_values
            cells.setdefault(cell, [0, at])[0] += count
    if cells:
        # The first cell of a kind says what it excludes.
        first_cell = {name: i for i, (name, _) in reversed(list(enumerate(cells)))}
        shown = [sets[name] if first_cell[name] == i else None for i, (name, _) in enumerate(cells)]
        yield pa.record_batch(
            {
                "segment": pa.array([segment] * len(cells), pa.int64()),
                "kind": pa.array([name for name, _ in cells], pa.binary()),
                "value": pa.array([value for _, value in cells], pa.int32()),
                "count": pa.array([count for count, _ in cells.values()], pa.int64()),
                "first": pa.array([first for _, first in cells.values()], pa.int64()),
                "excluded": pa.array(shown, pa.list_(pa.int32())),
            }
        )


def dealt(
    batches: Iterator[pa.RecordBatch], kinds: Kinds, cells: CountedCells, n_parts: int, group: Ints
) -> Iterator[pa.RecordBatch]:
    """On a worker: every row with the group of the part that it is dealt to."""
    n_kinds = max(1, len(cells.excluded))
    keys = cells.value.astype(np.int64) * n_kinds + cells.kind
    number: Longs | None = None
    for batch in batches:
        if not len(batch):
            continue
        if number is None:
            number = _first_numbers(int(batch.column("row")[0].as_py()), cells)
        value, kind, excluded = kinds.of_rows(batch)
        known = np.array([cells.digests.get(one, -1) for one in _digests(excluded)], np.int64)[kind]
        key = value.astype(np.int64) * n_kinds + known
        cell = np.searchsorted(keys, key)
        if known.min() < 0 or not np.array_equal(keys[np.minimum(cell, len(keys) - 1)], key):
            raise RuntimeError(_CHANGED)
        order = np.argsort(cell, kind="stable")
        used, begins, many = np.unique(cell[order], return_index=True, return_counts=True)
        position = np.empty(len(cell), np.int64)
        position[order] = number[cell[order]] + np.arange(len(cell)) - np.repeat(begins, many)
        if number[used].min() < 0:
            raise RuntimeError(_CHANGED)
        number[used] += many
        names = ("row", "values", "items", "kept")
        yield pa.record_batch({"part": group[position % n_parts]} | {name: batch.column(name) for name in names})


_CHANGED = "the data frame is not the same every time it is computed, or not in the same partitions; write it to a table, or checkpoint it"


def _first_numbers(segment: int, cells: CountedCells) -> Longs:
    """Per cell, the number of the first row that a partition has of it; -1 where it has none."""
    if segment not in cells.segments:
        raise RuntimeError(_CHANGED)
    own, start = cells.segments[segment]
    number = np.full(len(cells.value), -1, np.int64)
    number[own] = start
    return number
