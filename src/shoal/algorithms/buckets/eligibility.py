"""Whether buckets can keep the promise at all, before any is formed.

Two things are in the way: a value that more than one row in l has (Xiao and Tao 2006: no partition gives it to at most one row
in l everywhere), and rules that leave a row fewer than l values. Merging buckets never makes a value invalid, so it is enough to look at
a single bucket of all rows: what is not valid there is valid nowhere. That also tells the largest l that works.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from shoal.errors import Unreachable
from shoal.guarantees.diversity import MatchingDiversity
from shoal.records.records import Column

LARGEST = 2**28
"""Kinds of rows times values up to which all rows are matched at once."""
BLOCKS = 64


def check_shares(column: Column, guarantee: MatchingDiversity) -> None:
    """Raises `Unreachable` if a value is more frequent than 1/l."""
    counts = np.bincount(column.codes, minlength=len(column.values))
    check_shares_of_counts(column.name, column.values, counts, guarantee)


def check_shares_of_counts(
    name: str,
    values: Sequence[str],
    counts: npt.NDArray[np.int64],
    guarantee: MatchingDiversity,
    at_most: int | None = None,
) -> None:
    """As `check_shares`, from the rows of each value. `at_most` is a bound on l from elsewhere, for the message."""
    n = int(counts.sum())
    if n == 0 or int(counts.max()) * guarantee.l <= n:
        return
    value = int(counts.argmax())
    largest = n // int(counts[value])
    raise Unreachable(
        f"{guarantee} cannot be reached: {counts[value]:,} of {n:,} rows ({counts[value] / n:.2%}) have {values[value]!r} "
        f"as their {name}, more than one in {guarantee.l}; {_remedy(largest if at_most is None else min(largest, at_most))}"
    )


def check_reachable(
    column: Column,
    guarantee: MatchingDiversity,
    kind: npt.NDArray[np.int32],
    excluded: npt.NDArray[np.bool_],
    threads: int | None = None,
) -> None:
    """Raises `Unreachable` if a value is too frequent, or if the rules leave a row fewer than l values however rows are grouped."""

    def first_row(kinds: npt.NDArray[np.int64]) -> tuple[int, int]:
        row = int(np.argmax(np.isin(kind, kinds)))
        return row, int(kind[row])

    check_counts(
        column.name,
        column.values,
        guarantee,
        np.bincount(kind, minlength=len(excluded)),
        np.bincount(column.codes, minlength=len(column.values)),
        excluded,
        first_row,
        threads,
    )


def check_counts(
    name: str,
    values: Sequence[str],
    guarantee: MatchingDiversity,
    rows_of_kind: npt.NDArray[np.int64],
    rows_of_value: npt.NDArray[np.int64],
    excluded: npt.NDArray[np.bool_],
    first_row: Callable[[npt.NDArray[np.int64]], tuple[int, int]],
    threads: int | None = None,
) -> None:
    """As `check_reachable`, from the rows of each kind and of each value; `first_row` says where some kinds appear first, and which."""
    if not rows_of_value.sum():
        return
    number = valid_numbers(rows_of_kind[None], rows_of_value[None], excluded, threads)[0]
    least = int(number.min())
    check_shares_of_counts(name, values, rows_of_value, guarantee, least)
    if least >= guarantee.l:
        return
    if least == 0:
        raise Unreachable(
            f"{guarantee} cannot be reached: the rules contradict the data, no assignment of the values of {name} to the rows "
            "obeys them; strike the rules that have exceptions"
        )
    row, kind = first_row(np.flatnonzero((number == least) & (rows_of_kind > 0)))
    open_values = int(np.count_nonzero(~excluded[kind] & (rows_of_value > 0)))
    why = (
        f"the rules leave row {row + 1:,} {open_values:,} possible values of {name}"
        if open_values == least
        else f"of the {open_values:,} values of {name} that the rules leave row {row + 1:,}, others need all but {least:,}"
    )
    largest = min(least, int(rows_of_value.sum()) // int(rows_of_value.max()))
    raise Unreachable(
        f"{guarantee} cannot be reached: {why}; ask for fewer rules (a larger min_exp, fewer conditions) or strike some: with these "
        f"{_remedy(largest)}"
    )


def valid_numbers(
    rows_of_kind: npt.NDArray[np.int64],
    rows_of_value: npt.NDArray[np.int64],
    excluded: npt.NDArray[np.bool_],
    threads: int | None = None,
) -> npt.NDArray[np.int64]:
    """(groups, kinds): how many values are valid for rows of a kind in a group, of which all rows would be one bucket.

    Groups are given by their rows of each kind and of each value. A kind without rows in a group has all values.
    """
    from shoal.kernels.matchings import count_valid
    from shoal.kernels.parallel import even_blocks, over_blocks

    found = np.full(rows_of_kind.shape, excluded.shape[1], np.int64)
    if excluded.size > LARGEST:  # a flow of that size does not fit: what the rules leave each row by itself has to do
        for g, there in enumerate(rows_of_value > 0):
            found[g] = np.count_nonzero(~excluded[:, there], axis=1)
        found[rows_of_kind == 0] = excluded.shape[1]
        return found
    group, kind = np.nonzero(rows_of_kind)
    owner, value = np.nonzero(rows_of_value)
    groups = np.arange(len(found) + 1)
    first = np.searchsorted(group, groups).astype(np.int64)
    offsets = np.searchsorted(owner, groups).astype(np.int64)
    number = np.zeros(len(group), np.int64)
    many, wanted = rows_of_kind[group, kind].astype(np.int64), rows_of_value[owner, value].astype(np.int64)

    def run(low: int, high: int) -> None:
        count_valid(low, high, first, kind, many, offsets, value.astype(np.int32), wanted, excluded, number)

    work = (np.diff(first) * np.diff(offsets)).astype(np.float64) + 1
    over_blocks(run, even_blocks(work, BLOCKS), threads)
    found[group, kind] = number
    return found


def _remedy(largest: int) -> str:
    return f"the largest l that works is {largest}" if largest >= 2 else "no l of at least 2 works"
