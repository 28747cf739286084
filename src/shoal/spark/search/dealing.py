"""Cells of a table on Spark, and rows dealt out to parts that have the cells of the whole in like shares.

A cell is a sensitive value and a set of impossible values; all that buckets are formed by is the cell of a row (see
`shoal.algorithms.buckets.bucketization`). The workers tell cells from the rules and count them; the driver sees the counts, one for each
cell of each partition. Rows are numbered cell by cell, and number i goes to part i modulo the number of parts: a part gets its share
of every value and of every cell, but for one row more or less. A row's number follows from the counts of the partitions before its
own and from its place in its own, so a task that is run again deals the same rows to the same parts.

A part is able to keep matching l-diversity if it could as a single bucket (see `shoal.algorithms.buckets.eligibility`), which the driver
tells from the counts; one that is not joins its neighbour, and since all rows together are able, that comes to an end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from shoal.algorithms.buckets.eligibility import known_values, valid_numbers
from shoal.errors import InputError
from shoal.guarantees.diversity import MatchingDiversity
from shoal.guarantees.values.missing import UNKNOWN, Missing
from shoal.kernels.buckets.impossible import impossible_kinds
from shoal.numbers import Bools, Codes, Ints
from shoal.records.buckets import sensitive_column
from shoal.records.knowledge import Covers, Rules, covers
from shoal.spark.data.executors import fetch, map_rows
from shoal.spark.data.frame_records import SparkRecords, beside_rows, codes_of
from shoal.spark.data.one_task import BASE, SETTING, task_memory

ROWS = 100_000
"""Rows of a part, about: large enough for rows to find partners, small enough for a worker."""
MOST_ROWS = 5_000_000
"""Rows of parts that have joined that one worker takes whatever its memory; more, where a task may take more."""
_PER_ROW, _PER_VALUE = 400, 40
"""Bytes that a row, and a value of it, take at the peak of forming buckets."""
_COUNTS = 50_000_000
"""Counts of cells in parts that the driver looks at."""
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
    nodes: Codes
    value: Codes
    counted: Bools
    """Which values count towards l; rules exclude no others."""

    @property
    def n_values(self) -> int:
        return len(self.counted)

    def of_rows(self, batch: pa.RecordBatch) -> tuple[Codes, Codes, Bools]:
        """(sensitive value of each row, its kind, what is excluded for each kind)."""
        codes = codes_of(batch)
        own = np.ascontiguousarray(codes[:, list(self.places)].T, np.int32)
        kind, excluded = impossible_kinds(
            replace(self.above, codes=own), self.nodes, self.value, self.n_values, threads=1
        )
        return codes[:, self.sensitive], kind, excluded


@dataclass(frozen=True, eq=False)
class CountedCells:
    """All cells of a table, sorted by value and then by kind, and where the rows of each lie."""

    value: Codes
    kind: Codes
    rows: Ints
    """Of each cell."""
    excluded: Bools
    """Per kind, small sets of impossible values first."""
    counted: Bools
    """Which values count towards l."""
    first_row: Ints
    """Per kind, the first row of it."""
    digests: dict[bytes, int]
    """The number of each kind, by what it is known by on the workers."""
    segments: dict[int, tuple[Ints, Ints]]
    """Per partition, known by its first row: cells, and the number that its first row of each gets."""

    @property
    def rows_of_value(self) -> Ints:
        return np.bincount(self.value, self.rows, minlength=self.excluded.shape[1]).astype(np.int64)

    @property
    def rows_of_kind(self) -> Ints:
        return np.bincount(self.kind, self.rows, minlength=len(self.excluded)).astype(np.int64)


def kinds_under(records: SparkRecords, rules: Rules | None, missing: Missing = UNKNOWN) -> Kinds:
    """What a worker needs to tell the kinds of rows; `missing` is as for the promise."""
    table = records.template
    column = sensitive_column(table)
    used = None if rules is None else rules.without_redundant()
    trees = {} if used is None else used.hierarchies
    value = np.zeros(0, np.int32) if used is None else used.values_among(column.values)
    counted = known_values(column, missing)
    return Kinds(
        above=covers(table, trees),
        places=tuple(map(records.place, trees)),
        sensitive=records.place(column.name),
        nodes=np.zeros((0, 0), np.int32) if used is None else used.nodes,
        value=np.where((value >= 0) & counted[value], value, -1).astype(np.int32),
        counted=counted,
    )


def count_cells(records: SparkRecords, kinds: Kinds) -> CountedCells:
    """The cells of all rows; raises if the partitions count more than the driver takes."""
    counts = fetch(map_rows(records.rows, _count_partition, _CELLS, kinds=kinds).limit(MOST_CELLS + 1))
    if counts.num_rows > MOST_CELLS:
        raise InputError(
            f"the rules tell apart so many kinds of rows that their counts (by partition, value and kind) are more than {MOST_CELLS:,}, "
            "which the driver does not take; ask for fewer rules (a larger min_exp, fewer conditions), coalesce the data frame, or use the "
            "local engine"
        )
    return cells_from_counts(counts, kinds.counted)


def cells_from_counts(counts: pa.Table, counted: Bools) -> CountedCells:
    """The cells from what the partitions count; `counted` are the values that count towards l."""
    digest = counts["kind"].to_pylist()
    told_by = {
        one: values for one, values in zip(digest, counts["excluded"].to_pylist(), strict=True) if values is not None
    }
    names = sorted(told_by, key=lambda one: (len(told_by[one]), told_by[one]))
    number = {one: i for i, one in enumerate(names)}
    excluded = np.zeros((len(names), len(counted)), np.bool_)
    for i, one in enumerate(names):
        excluded[i, told_by[one]] = True
    kind = np.array([number[one] for one in digest], np.int64)
    value, count, segment, first = (counts[name].to_numpy() for name in ("value", "count", "segment", "first"))
    first_row = np.full(len(names), np.iinfo(np.int64).max)
    np.minimum.at(first_row, kind, first)
    key = value.astype(np.int64) * max(1, len(names)) + kind
    order = np.lexsort((segment, key))
    keys, cell = np.unique(key[order], return_inverse=True)
    starts = np.cumsum(count[order]) - count[order]
    segments: dict[int, tuple[Ints, Ints]] = {}
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


def _digests(excluded: Bools) -> list[bytes]:
    """What kinds are known by, whatever their numbers in a batch are."""
    return [hashlib.blake2b(np.flatnonzero(own).astype("<i4").tobytes(), digest_size=16).digest() for own in excluded]


def _count_partition(batches: Iterator[pa.RecordBatch], kinds: Kinds) -> Iterator[pa.RecordBatch]:
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


def deal_rows(
    batches: Iterator[pa.RecordBatch], kinds: Kinds, cells: CountedCells, n_parts: int, group: Codes
) -> Iterator[pa.RecordBatch]:
    """On a worker: every row with the group of the part that it is dealt to."""
    n_kinds = max(1, len(cells.excluded))
    keys = cells.value.astype(np.int64) * n_kinds + cells.kind
    number: Ints | None = None
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
        yield beside_rows("part", group[position % n_parts], batch)


_CHANGED = "the data frame is not the same every time it is computed, or not in the same partitions; write it to a table, or checkpoint it"


def _first_numbers(segment: int, cells: CountedCells) -> Ints:
    """Per cell, the number of the first row that a partition has of it; -1 where it has none."""
    if segment not in cells.segments:
        raise RuntimeError(_CHANGED)
    own, start = cells.segments[segment]
    number = np.full(len(cells.value), -1, np.int64)
    number[own] = start
    return number


def number_of_parts(n: int, n_cells: int) -> int:
    """Into how many parts n rows are dealt out at first."""
    return max(1, min(n // ROWS, _COUNTS // max(1, n_cells)))


def rows_of_parts(rows: Ints, n_parts: int) -> Ints:
    """(parts, cells): how many rows of each cell each part gets, from the rows of each cell."""
    ends = np.cumsum(rows)
    # Of the numbers below x, those that leave p when divided by P: (x + P - 1 - p) // P.
    offset = (n_parts - 1 - np.arange(n_parts))[:, None]
    return np.asarray((ends + offset) // n_parts - (ends - rows + offset) // n_parts, np.int64)


def able_parts(
    parts: Ints,
    cells: CountedCells,
    l: int,  # noqa: E741
    *,
    once: bool = False,
) -> Bools:
    """Which parts can keep the promise by themselves, from their rows of each cell; `once` if no value may stand twice in a bucket."""
    n_kinds, n_values = cells.excluded.shape
    rows_of_value, rows_of_kind = (np.zeros((len(parts), many), np.int64) for many in (n_values, n_kinds))
    for part, own in enumerate(parts):
        rows_of_value[part] = np.bincount(cells.value, own, minlength=n_values)
        rows_of_kind[part] = np.bincount(cells.kind, own, minlength=n_kinds)
    able = valid_numbers(rows_of_kind, rows_of_value, cells.excluded, cells.counted).min(axis=1) >= l
    if once:
        known = np.where(cells.counted, rows_of_value, 0)
        able &= known.max(axis=1) * l <= known.sum(axis=1)
    return np.asarray(able & (parts.sum(axis=1) > 0))


def most_rows(records: SparkRecords) -> int:
    """Rows of parts that have joined, at most: what one task takes."""
    a_row = _PER_ROW + _PER_VALUE * (len(records.template.columns) + len(records.kept))
    return max(MOST_ROWS, (task_memory(records.sets.session) - BASE) // a_row)


def groups_of_parts(
    cells: CountedCells, guarantee: MatchingDiversity, n_parts: int, most: int, *, once: bool = False
) -> Codes:
    """The group of each part: groups are able to keep the promise by themselves. All rows together have to be able."""
    group = np.arange(n_parts, dtype=np.int32)
    parts = rows_of_parts(cells.rows, n_parts)
    l = int(guarantee.l)  # noqa: E741
    while len(parts) > 1 and not (able := able_parts(parts, cells, l, once=once)).all():
        step = join_neighbours(able)
        group = step[group]
        parts = np.add.reduceat(parts, np.unique(step, return_index=True)[1], axis=0)
        check_size(int(parts.sum(axis=1).max()), guarantee, most)
    check_size(int(parts.sum(axis=1).max()), guarantee, most)
    return group


def join_neighbours(able: Sequence[bool] | Bools) -> Codes:
    """The new number of each group: one that is not able is joined with the next, the last with the one before it."""
    number = np.zeros(len(able), np.int32)
    i, new = 0, -1
    while i < len(able):
        alone = bool(able[i])
        if alone or i + 1 < len(able) or new < 0:
            new += 1
        number[i : i + (1 if alone else 2)] = new
        i += 1 if alone else 2
    return number


def check_size(rows: int, guarantee: MatchingDiversity, most: int) -> None:
    """Raises if a group has more rows than a worker takes."""
    if rows > most:
        raise InputError(
            f"{guarantee} cannot be reached on Spark here: parts of the table that keep it by themselves would have up to {rows:,} rows, "
            f"more than the {most:,} that one task takes (there are few values that are not rare, or the rules leave some rows "
            f"none of them); ask for a smaller l or fewer rules, give a task more memory ({SETTING}), or use the local engine"
        )
