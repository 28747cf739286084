"""Bucketization: what an algorithm of this room returns, and the frame that Injector and Balanced share: cells, groups of compatible
rows, and a place for the remaining rows.

Rows of equal sensitive value and equal impossible values are interchangeable, so all choices are made among such cells, and lots
decide which row of a cell it is. The two algorithms differ in how they form groups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shoal.algorithms.buckets.eligibility import LARGEST, check_reachable, known_values
from shoal.algorithms.buckets.strangers import Strangers, check_rows_of_one
from shoal.algorithms.recoding import Options, Outcome
from shoal.errors import Unreachable, number_of
from shoal.guarantees.diversity import MatchingDiversity
from shoal.kernels.buckets.grouping import CellTable, PlacedRows, assigned_rest
from shoal.kernels.buckets.impossible import impossible_kinds
from shoal.numbers import Bools, Codes, Floats, Ints
from shoal.records.buckets import Buckets, sensitive_column
from shoal.records.knowledge import Rules, covers
from shoal.records.records import Column, Records

LOOKS = 2e9
"""Rows of groups that may be looked at in search of groups for the remaining rows."""

Groups = tuple[Codes, int]
"""The group of each place, -1 for remaining rows, and the number of groups."""


@dataclass(frozen=True, eq=False)
class Bucketization(Outcome):
    """The published buckets."""

    buckets: Buckets
    others: tuple[Buckets, ...] = ()
    """The same buckets for each further sensitive column."""

    def apply(self) -> Buckets:
        """What is published; of several sensitive columns, the first."""
        return self.buckets


def figures(buckets: Buckets) -> dict[str, Any]:
    """How many buckets, and their sizes."""
    sizes = buckets.sizes
    return {
        "buckets": len(sizes),
        "smallest_bucket": int(sizes.min()) if len(sizes) else 0,
        "largest_bucket": int(sizes.max(initial=0)),
        "average_bucket": float(np.mean(sizes)) if len(sizes) else 0.0,
    }


def chances(buckets: Buckets, sensitive: Column) -> Floats:
    """Per row, the share of its bucket that has the row's own value."""
    n = max(1, len(sensitive.values))
    pairs = buckets.of_row.astype(np.int64) * n + sensitive.codes
    known = np.repeat(np.arange(len(buckets), dtype=np.int64), np.diff(buckets.offsets)) * n + buckets.values
    return np.asarray(buckets.counts[np.searchsorted(known, pairs)] / buckets.sizes[buckets.of_row], np.float64)


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows by sensitive value and impossible values: the entries N[s][S'] of the paper, with the rows they count.

    Rows whose own value the rules exclude (there are none with min_conf = 1) and, after them, rows whose value is unknown have cells of
    their own at the end: no group is formed of them.
    """

    rows: Ints
    """Rows cell by cell, those of a cell in random order; a place is a place in this order."""
    start: Ints
    """Cell c has the places from `start[c]` up to `start[c + 1]`."""
    value: Codes
    kind: Codes
    n_obedient_cells: int
    """Cells of rows whose value is known and that the rules do not contradict; they are sorted by value, small sets of impossible values
    first."""
    excluded: Bools
    """Per kind, the impossible values."""

    @property
    def n_obedient(self) -> int:
        return int(self.start[self.n_obedient_cells])

    @property
    def n_values(self) -> int:
        return int(self.excluded.shape[1])

    @cached_property
    def table(self) -> CellTable:
        """The cells that groups are formed of, as the kernels take them."""
        many = self.n_obedient_cells
        values = self.value[:many]
        return CellTable(
            values,
            self.kind[:many],
            self.start[: many + 1],
            np.searchsorted(values, np.arange(self.n_values + 1)).astype(np.int64),
            np.concatenate(([0], np.cumsum(self.excluded.sum(axis=1)))).astype(np.int64),
            np.nonzero(self.excluded)[1].astype(np.int32),
            self.excluded,
        )

    def with_rest(self, group: Codes) -> Codes:
        """The groups of obedient rows, with -1 behind them for all others."""
        return np.concatenate((group, np.full(len(self.rows) - len(group), -1, np.int32)))


def cells_of_rows(codes: Codes, kind: Codes, excluded: Bools, seed: int, counted: Bools | None = None) -> Cells:
    """The cells of rows with the given sensitive values and kinds; `counted` are the values that are known, all of them if None."""
    n_kinds, n_values = excluded.shape
    by_size = np.argsort(excluded.sum(axis=1), kind="stable")
    rank = np.empty(n_kinds, np.int64)
    rank[by_size] = np.arange(n_kinds)
    apart = excluded[kind, codes].astype(np.int64)
    if counted is not None:
        # Unknown ones come last of all: the others then keep the promise without them, also from one who knows whose value is missing.
        apart[~counted[codes]] = 2
    key = (apart * n_values + codes) * n_kinds + rank[kind]
    drawn = np.random.default_rng(seed).permutation(len(codes))
    rows = drawn[np.argsort(key[drawn], kind="stable")]
    keys, first = np.unique(key[rows], return_index=True)
    value, of_kind = np.divmod(keys, n_kinds)
    return Cells(
        rows,
        np.append(first, len(rows)).astype(np.int64),
        (value % n_values).astype(np.int32),
        of_kind.astype(np.int32),
        int(np.searchsorted(value, n_values)),
        np.ascontiguousarray(excluded[by_size]),
    )


def bucketize(
    algorithm: str,
    records: Records,
    guarantee: MatchingDiversity,
    options: Options,
    form_groups: Callable[[Cells, int], Groups],
) -> Bucketization:
    """Groups as `form_groups` makes them, with the remaining rows added and groups merged until the promise holds (lines 18 to 23)."""
    column = sensitive_column(records)
    options.tell("impossible values", 0.0)
    counted = known_values(column, guarantee.missing)
    kind, excluded = _kinds_of_rows(records, guarantee.rules, column.values, counted, options.threads)
    check_rows_of_one(records.people, guarantee)
    check_reachable(column, guarantee, kind, excluded, counted, options.threads)
    n, l = len(records), int(guarantee.l)  # noqa: E741
    if n == 0:
        return Bucketization(Buckets.of(records, np.zeros(0, np.int32)), algorithm=algorithm)
    cells = cells_of_rows(column.codes, kind, excluded, options.seed, counted)
    options.tell("groups", 0.1)
    group, n_groups = form_groups(cells, l)
    options.tell("remaining rows", 0.8)
    pending = np.flatnonzero(group < 0)
    cell_of = np.repeat(np.arange(len(cells.value), dtype=np.int32), np.diff(cells.start))
    looked = LOOKS / (l * max(1, len(np.unique(cell_of[pending]))))
    placed = PlacedRows(cells.value[cell_of], cells.kind[cell_of], cell_of, cells.excluded)
    merges = assigned_rest(l, group, n_groups, pending, placed, counted, max(64, int(looked)))
    of_row = np.empty(n, np.int32)
    of_row[cells.rows] = group
    if records.people is not None:
        options.tell("keeping the rows of each person apart", 0.9)
        promise = l, excluded, counted
        strangers = Strangers(records.people, of_row, (column.codes, kind), promise, options.seed)
        if not strangers.part():
            raise Unreachable(
                f"{algorithm} found no buckets that keep {guarantee} and hold no two rows of one person, which does not mean that there "
                "are none; ask for a smaller l, or join the rows of each person"
            )
        of_row = strangers.of_row
    buckets = Buckets.of(records, of_row)
    if excluded.size > LARGEST and not guarantee.audit(buckets, witnesses=0, threads=options.threads).holds:
        raise Unreachable(
            f"{algorithm} found no buckets that keep {guarantee}, which does not mean that there are none; ask for a smaller l or fewer "
            "rules"
        )
    exceptions = int(np.count_nonzero(excluded[kind, column.codes]))
    return Bucketization(
        buckets,
        algorithm=algorithm,
        facts=figures(buckets)
        | {"cells": len(cells.value), "remaining": len(pending), "merges": int(merges), "exceptions": exceptions},
        notes=exception_notes(exceptions),
    )


def _kinds_of_rows(
    records: Records, rules: Rules | None, values: tuple[str, ...], counted: Bools, threads: int | None
) -> tuple[Codes, Bools]:
    """(kind, excluded): the kind of each row, and per kind which of the values that count the rules exclude."""
    if rules is None or not len(rules):
        return np.zeros(len(records), np.int32), np.zeros((min(len(records), 1), len(values)), np.bool_)
    used = rules.without_redundant()
    value = used.values_among(values)
    value = np.where((value >= 0) & counted[value], value, -1).astype(np.int32)
    return impossible_kinds(covers(records, used.hierarchies), used.nodes, value, len(values), threads)


def exception_notes(rows: int) -> tuple[str, ...]:
    """A word about rows that the rules contradict."""
    if not rows:
        return ()
    return (
        f"{number_of(rows, 'row has', 'rows have')} a value that the rules exclude for {'it' if rows == 1 else 'them'}: "
        f"an attacker who trusts the rules is wrong about them.",
    )
