"""How many parts a table is dealt out to, so that each can keep matching l-diversity by itself. On the driver, from counts of cells.

Rows that are numbered cell by cell and dealt out in turn leave each part with known counts. A part is able to keep the promise if it could
as a single bucket (see `shoal.algorithms.buckets.eligibility`); one that is not joins its neighbour, and since all rows together are
able, that comes to an end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.algorithms.buckets.eligibility import valid_numbers
from shoal.engines.spark.cells import CountedCells
from shoal.engines.spark.ragged import Ints, Longs
from shoal.errors import InputError
from shoal.guarantees.diversity import MatchingDiversity

ROWS = 100_000
"""Rows of a part, about: large enough for rows to find partners, small enough for a worker."""
MOST_ROWS = 5_000_000
"""Rows of parts that have joined, at most: what one worker takes."""
_COUNTS = 50_000_000
"""Counts of cells in parts that the driver looks at."""


def number_of_parts(n: int, n_cells: int) -> int:
    """Into how many parts n rows are dealt out at first."""
    return max(1, min(n // ROWS, _COUNTS // max(1, n_cells)))


def rows_of_parts(rows: Longs, n_parts: int) -> Longs:
    """(parts, cells): how many rows of each cell each part gets, from the rows of each cell."""
    ends = np.cumsum(rows)
    # Of the numbers below x, those that leave p when divided by P: (x + P - 1 - p) // P.
    offset = (n_parts - 1 - np.arange(n_parts))[:, None]
    return np.asarray((ends + offset) // n_parts - (ends - rows + offset) // n_parts, np.int64)


def able_parts(
    parts: Longs,
    cells: CountedCells,
    l: int,  # noqa: E741
    *,
    once: bool = False,
    threads: int | None = None,
) -> npt.NDArray[np.bool_]:
    """Which parts can keep the promise by themselves, from their rows of each cell; `once` if no value may stand twice in a bucket."""
    n_kinds, n_values = cells.excluded.shape
    rows_of_value, rows_of_kind = (np.zeros((len(parts), many), np.int64) for many in (n_values, n_kinds))
    for part, own in enumerate(parts):
        rows_of_value[part] = np.bincount(cells.value, own, minlength=n_values)
        rows_of_kind[part] = np.bincount(cells.kind, own, minlength=n_kinds)
    able = valid_numbers(rows_of_kind, rows_of_value, cells.excluded, cells.counted, threads).min(axis=1) >= l
    if once:
        known = np.where(cells.counted, rows_of_value, 0)
        able &= known.max(axis=1) * l <= known.sum(axis=1)
    return np.asarray(able & (parts.sum(axis=1) > 0))


def groups_of_parts(
    cells: CountedCells,
    guarantee: MatchingDiversity,
    n_parts: int,
    *,
    once: bool = False,
    threads: int | None = None,
) -> Ints:
    """The group of each part: groups are able to keep the promise by themselves. All rows together have to be able."""
    group = np.arange(n_parts, dtype=np.int32)
    parts = rows_of_parts(cells.rows, n_parts)
    l = int(guarantee.l)  # noqa: E741
    while len(parts) > 1 and not (able := able_parts(parts, cells, l, once=once, threads=threads)).all():
        step = joined(able)
        group = step[group]
        parts = np.add.reduceat(parts, np.unique(step, return_index=True)[1], axis=0)
        check_size(int(parts.sum(axis=1).max()), guarantee)
    check_size(int(parts.sum(axis=1).max()), guarantee)
    return group


def joined(able: Sequence[bool] | npt.NDArray[np.bool_]) -> Ints:
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


def check_size(rows: int, guarantee: MatchingDiversity) -> None:
    """Raises if a group has more rows than a worker takes."""
    if rows > MOST_ROWS:
        raise InputError(
            f"{guarantee} cannot be reached on Spark here: parts of the table that keep it by themselves would have up to {rows:,} rows, "
            f"more than the {MOST_ROWS:,} that one worker takes (there are few values that are not rare, or the rules leave some rows "
            "none of them); ask for a smaller l or fewer rules, or use the local engine"
        )
