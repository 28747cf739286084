"""Cells, and the frame that Injector and Balanced share: cells, groups of compatible rows, and a place for the remaining rows.

Rows of equal sensitive value and equal impossible values are interchangeable, so all choices are made among such cells, and lots
decide which row of a cell it is. The two algorithms differ in how they form groups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.algorithms.buckets.bucketization import Bucketization, figures
from shoal.algorithms.buckets.eligibility import LARGEST, check_reachable
from shoal.algorithms.known_values import known_values
from shoal.algorithms.recoding import Options
from shoal.errors import Unreachable
from shoal.guarantees.diversity import MatchingDiversity
from shoal.records.buckets import Buckets, sensitive_column
from shoal.records.knowledge import Rules, covers
from shoal.records.records import Records

LOOKS = 2e9
"""Rows of groups that may be looked at in search of groups for the remaining rows."""

Groups = tuple[npt.NDArray[np.int32], int]
"""The group of each place, -1 for remaining rows, and the number of groups."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows by sensitive value and impossible values: the entries N[s][S'] of the paper, with the rows they count.

    Rows whose own value the rules exclude (there are none with min_conf = 1) and, after them, rows whose value is unknown have cells of
    their own at the end: no group is formed of them.
    """

    rows: npt.NDArray[np.int64]
    """Rows cell by cell, those of a cell by lot; a place is a place in this order."""
    start: npt.NDArray[np.int64]
    """Cell c has the places from `start[c]` up to `start[c + 1]`."""
    value: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int32]
    n_obedient_cells: int
    """Cells of rows whose value is known and that the rules do not contradict; they are sorted by value, small sets of impossible values
    first."""
    excluded: npt.NDArray[np.bool_]
    """Per kind, the impossible values."""

    @property
    def n_obedient(self) -> int:
        return int(self.start[self.n_obedient_cells])

    @property
    def n_values(self) -> int:
        return int(self.excluded.shape[1])

    @cached_property
    def kind_start(self) -> npt.NDArray[np.int64]:
        """The impossible values of kind k are `kind_values[kind_start[k]:kind_start[k + 1]]`."""
        return np.concatenate(([0], np.cumsum(self.excluded.sum(axis=1)))).astype(np.int64)

    @cached_property
    def kind_values(self) -> npt.NDArray[np.int32]:
        return np.nonzero(self.excluded)[1].astype(np.int32)

    @cached_property
    def value_cells(self) -> npt.NDArray[np.int64]:
        """The first cell of each value."""
        values = self.value[: self.n_obedient_cells]
        return np.searchsorted(values, np.arange(self.n_values + 1)).astype(np.int64)


def cells_of_rows(
    codes: npt.NDArray[np.int32],
    kind: npt.NDArray[np.int32],
    excluded: npt.NDArray[np.bool_],
    seed: int,
    counted: npt.NDArray[np.bool_] | None = None,
) -> Cells:
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


def bucketized(
    algorithm: str,
    records: Records,
    guarantee: MatchingDiversity,
    options: Options,
    grouped: Callable[[Cells, int], Groups],
) -> Bucketization:
    """Groups as `grouped` forms them, with the remaining rows added and groups merged until the promise holds (lines 18 to 23)."""
    from shoal.kernels.buckets.grouping import assigned_rest

    column = sensitive_column(records)
    options.tell("impossible values", 0.0)
    counted = known_values(column, guarantee.missing)
    kind, excluded = _kinds_of_rows(records, guarantee.rules, column.values, counted, options.threads)
    check_reachable(column, guarantee, kind, excluded, counted, options.threads)
    n, l = len(records), int(guarantee.l)  # noqa: E741
    if n == 0:
        return Bucketization(Buckets.of(records, np.zeros(0, np.int32)), algorithm)
    cells = cells_of_rows(column.codes, kind, excluded, options.seed, counted)
    options.tell("groups", 0.1)
    group, n_groups = grouped(cells, l)
    options.tell("remaining rows", 0.8)
    pending = np.flatnonzero(group < 0)
    cell_of = np.repeat(np.arange(len(cells.value), dtype=np.int32), np.diff(cells.start))
    looked = LOOKS / (l * max(1, len(np.unique(cell_of[pending]))))
    merges = assigned_rest(
        l,
        group,
        n_groups,
        pending,
        cell_of,
        cells.value,
        cells.kind,
        cells.excluded,
        counted,
        max(64, int(looked)),
    )
    of_row = np.empty(n, np.int32)
    of_row[cells.rows] = group
    buckets = Buckets.of(records, of_row)
    if excluded.size > LARGEST and not guarantee.audit(buckets, witnesses=0, threads=options.threads).holds:
        raise Unreachable(
            f"{algorithm} found no buckets that keep {guarantee}, which does not mean that there are none; ask for a smaller l or fewer "
            "rules"
        )
    exceptions = int(np.count_nonzero(excluded[kind, column.codes]))
    return Bucketization(
        buckets,
        algorithm,
        figures(buckets)
        | {"cells": len(cells.value), "remaining": len(pending), "merges": int(merges), "exceptions": exceptions},
        exception_notes(exceptions),
    )


def _kinds_of_rows(
    records: Records, rules: Rules | None, values: tuple[str, ...], counted: npt.NDArray[np.bool_], threads: int | None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """(kind, excluded): the kind of each row, and per kind which of the values that count the rules exclude."""
    from shoal.kernels.buckets.impossible import impossible_kinds

    if rules is None or not len(rules):
        return np.zeros(len(records), np.int32), np.zeros((min(len(records), 1), len(values)), np.bool_)
    used = rules.applied()
    value = used.values_among(values)
    value = np.where((value >= 0) & counted[value], value, -1).astype(np.int32)
    return impossible_kinds(covers(records, used.hierarchies), used.nodes, value, len(values), threads)


def exception_notes(rows: int) -> tuple[str, ...]:
    """A word about rows that the rules contradict."""
    if not rows:
        return ()
    return (
        f"{rows:,} rows have a value that the rules exclude for them: an attacker who trusts the rules is wrong about them.",
    )
