"""Whether buckets can keep the promise at all, before any is formed.

Merging buckets never makes a value invalid: assignments of two buckets are one of both together. So buckets that keep matching
l-diversity exist just if a single bucket of all rows keeps it, and the values that are valid there for the row with the fewest are the
largest l that works. Definition 1 counts values and puts no bound on how frequent one is. Anatomy promises more, that no value stands
twice in a bucket: it can do so just if no value has more than one row in l (Xiao and Tao 2006).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoal.errors import Unreachable, only_so_many
from shoal.guarantees.diversity import MatchingDiversity
from shoal.guarantees.values.missing import Missing
from shoal.kernels.buckets.matchings import count_valid
from shoal.kernels.parallel import even_blocks, over_blocks
from shoal.numbers import Bools, Codes, Ints
from shoal.records.records import Column

LARGEST = 2**28
"""Kinds of rows times values up to which all rows are matched at once."""
BLOCKS = 64


def known_values(column: Column, missing: Missing) -> Bools:
    """Which values of a sensitive column help a class or a bucket to its l: all but missing ones, unless these are read as a value.

    The audit reads the promise for itself (`shoal.guarantees.values.missing`): what is wrong here makes it refuse, not agree.
    """
    read_as = missing if isinstance(missing, str) else missing.get(column.name, "unknown")
    return np.array([read_as == "value" or not (not value or value.isspace()) for value in column.values], np.bool_)


def check_shares(name: str, counts: Ints, rows: int, guarantee: MatchingDiversity, *, alone: bool = True) -> None:
    """Raises `Unreachable` if Anatomy cannot give each of its buckets l values that stand there once, from the rows of each known value
    and all rows; `alone` if the column is the only sensitive one, which others than Anatomy take, too."""
    n, different, most = int(counts.sum()), int(np.count_nonzero(counts)), int(counts.max(initial=0))
    if (most * guarantee.l <= n and different >= guarantee.l) or not rows:
        return
    remedy = f"with anatomy {_remedy(n // max(1, most))}" + ("" if alone else " for this column")
    way_out = "injector and balanced have no such bound" if alone else "ask for that, or leave out the column"
    if different < guarantee.l:
        raise Unreachable(_few(name, different, guarantee) + remedy)
    raise Unreachable(
        f"{guarantee} cannot be reached by anatomy: {most:,} of {n:,} rows ({most / n:.2%}) have the same {name}, more than one in "
        f"{guarantee.l}, and it gives no value to two rows of a bucket; {remedy}; {way_out}"
    )


def check_reachable(
    column: Column,
    guarantee: MatchingDiversity,
    kind: Codes,
    excluded: Bools,
    counted: Bools,
    threads: int | None = None,
) -> None:
    """Raises `Unreachable` if there are fewer than l values that count, or if the rules leave a row fewer however rows are grouped."""

    def first_row(kinds: Ints) -> tuple[int, int]:
        row = int(np.argmax(np.isin(kind, kinds)))
        return row, int(kind[row])

    check_counts(
        column.name,
        guarantee,
        np.bincount(kind, minlength=len(excluded)),
        np.bincount(column.codes, minlength=len(column.values)),
        excluded,
        counted,
        first_row,
        threads,
    )


def check_counts(
    name: str,
    guarantee: MatchingDiversity,
    rows_of_kind: Ints,
    rows_of_value: Ints,
    excluded: Bools,
    counted: Bools,
    first_row: Callable[[Ints], tuple[int, int]],
    threads: int | None = None,
) -> None:
    """As `check_reachable`, from the rows of each kind and of each value; `first_row` says where some kinds appear first, and which."""
    if not rows_of_value.sum():
        return
    there = (rows_of_value > 0) & counted
    different = int(np.count_nonzero(there))
    number = valid_numbers(rows_of_kind[None], rows_of_value[None], excluded, counted, threads)[0]
    least = int(number.min())
    if least >= guarantee.l:
        return
    if least < 0:
        raise Unreachable(
            f"{guarantee} cannot be reached: the rules contradict the data, no assignment of the values of {name} to the rows "
            "obeys them; strike the rules that have exceptions"
        )
    remedy = _remedy(least) if least < 2 or excluded.size <= LARGEST else f"no l above {least} works"
    if different < guarantee.l:
        raise Unreachable(_few(name, different, guarantee) + remedy)
    row, kind = first_row(np.flatnonzero((number == least) & (rows_of_kind > 0)))
    open_values = int(np.count_nonzero(~excluded[kind] & there))
    why = (
        f"the rules leave row {row + 1:,} {open_values:,} possible values of {name}"
        if open_values == least
        else f"of the {open_values:,} values of {name} that the rules leave row {row + 1:,}, others need all but {least:,}"
    )
    raise Unreachable(
        f"{guarantee} cannot be reached: {why}; ask for fewer rules (a larger min_exp, fewer conditions) or strike some: with these "
        f"{remedy}"
    )


def _few(name: str, different: int, guarantee: MatchingDiversity) -> str:
    return f"{guarantee} cannot be reached: there {only_so_many(different, 'different value')} of {name}; "


def valid_numbers(
    rows_of_kind: Ints, rows_of_value: Ints, excluded: Bools, counted: Bools, threads: int | None = None
) -> Ints:
    """(groups, kinds): how many values that count are valid for rows of a kind in a group, of which all rows would be one bucket; -1 in
    a group that the rules contradict.

    Groups are given by their rows of each kind and of each value. A kind without rows in a group has all values.
    """
    found = np.full(rows_of_kind.shape, excluded.shape[1], np.int64)
    if excluded.size > LARGEST:  # a flow of that size does not fit: what the rules leave each row by itself has to do
        for g, there in enumerate((rows_of_value > 0) & counted):
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
        count_valid(low, high, first, kind, many, offsets, value.astype(np.int32), wanted, excluded, counted, number)

    work = (np.diff(first) * np.diff(offsets)).astype(np.float64) + 1
    over_blocks(run, even_blocks(work, BLOCKS), threads)
    found[group, kind] = number
    return found


def _remedy(largest: int) -> str:
    return f"the largest l that works is {largest}" if largest >= 2 else "no l of at least 2 works"
