"""Whether buckets can keep the promise at all, before any is formed.

Two things are in the way: a value that more than one row in l has (Xiao and Tao 2006: no partition gives it to at most one row
in l everywhere), and rules that leave a row fewer than l values. Merging buckets never makes a value invalid, so it is enough to look at
a single bucket of all rows: what is not valid there is valid nowhere. That also tells the largest l that works.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.errors import Unreachable
from shoal.guarantees.diversity import MatchingDiversity
from shoal.records.records import Column

LARGEST = 2**28
"""Kinds of rows times values up to which all rows are matched at once."""


def check_shares(column: Column, guarantee: MatchingDiversity, at_most: int | None = None) -> None:
    """Raises `Unreachable` if a value is more frequent than 1/l. `at_most` is a bound on l from elsewhere, for the message."""
    n = len(column)
    counts = np.bincount(column.codes, minlength=len(column.values))
    if n == 0 or counts.max() * guarantee.l <= n:
        return
    value = int(counts.argmax())
    largest = n // int(counts[value])
    raise Unreachable(
        f"{guarantee} cannot be reached: {counts[value]:,} of {n:,} rows ({counts[value] / n:.2%}) have {column.values[value]!r} "
        f"as their {column.name}, more than one in {guarantee.l}; {_remedy(largest if at_most is None else min(largest, at_most))}"
    )


def check_reachable(
    column: Column,
    guarantee: MatchingDiversity,
    kind: npt.NDArray[np.int32],
    excluded: npt.NDArray[np.bool_],
    threads: int | None = None,
) -> None:
    """Raises `Unreachable` if a value is too frequent, or if the rules leave a row fewer than l values however rows are grouped."""
    from shoal.kernels.matchings import valid_values

    n = len(column)
    if n == 0:
        return
    values, counts = np.unique(column.codes, return_counts=True)
    if excluded.size <= LARGEST:
        group, _, _, number = valid_values(
            np.zeros(n, np.int32),
            kind,
            excluded,
            np.array([0, len(values)], np.int64),
            values.astype(np.int32),
            counts.astype(np.int64),
            threads,
        )
    else:  # a flow of that size does not fit: what the rules leave each row by itself has to do
        group, number = kind.astype(np.int64), np.count_nonzero(~excluded[:, values], axis=1)
    least = int(number.min())
    check_shares(column, guarantee, least)
    if least >= guarantee.l:
        return
    row = int(np.argmax(number[group] == least))
    if least == 0:
        raise Unreachable(
            f"{guarantee} cannot be reached: the rules contradict the data, no assignment of the values of {column.name} to the rows "
            "obeys them; strike the rules that have exceptions"
        )
    open_values = int(np.count_nonzero(~excluded[kind[row]][values]))
    why = (
        f"the rules leave row {row + 1:,} {open_values:,} possible values of {column.name}"
        if open_values == least
        else f"of the {open_values:,} values of {column.name} that the rules leave row {row + 1:,}, others need all but {least:,}"
    )
    largest = min(least, n // int(counts.max()))
    raise Unreachable(
        f"{guarantee} cannot be reached: {why}; ask for fewer rules (a larger min_exp, fewer conditions) or strike some: with these "
        f"{_remedy(largest)}"
    )


def _remedy(largest: int) -> str:
    return f"the largest l that works is {largest}" if largest >= 2 else "no l of at least 2 works"
