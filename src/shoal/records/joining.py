"""Rows that are one record, put together: the union of their sets, and in each column the one value that they share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError, Message, number_of, option
from shoal.numbers import Floats, Ints
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records


def numbered_by_first_row(codes: npt.NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Per row, the number of its record, in the order of their first rows; and these rows."""
    _, first, record = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place[record.reshape(-1)], first[order].astype(np.int64)


def joined_sets(sets: Baskets, record: Ints, records: int) -> Baskets:
    """A row for each record, of all that stands in its rows; nobody's, until somebody says whose."""
    order = np.argsort(record, kind="stable").astype(np.int64)
    lengths = np.bincount(record, weights=sets.lengths, minlength=records).astype(np.int64)
    together = Baskets.from_codes(lengths, sets.take(order).items, sets.vocabulary)
    return replace(together, duplicates=sets.duplicates)


def join_rows(records: Records, record: Ints, first: Ints, source: str) -> Records:
    """A row for each record. A missing value agrees with any other; raises where values contradict each other.

    `record` is the number of each row's record, and `first` the first row of each.
    """
    columns = [_shared_values(column, record, first, source) for column in records.columns]
    people = records.people
    if people is not None:
        if len(other := np.flatnonzero(people[first][record] != people)):
            raise InputError(
                f"{source}: row {int(other[0]) + 1:,} is another person's ({option('person')}) than the rows before it with its "
                f"{option('id')}; give all rows of an id one person"
            )
        people = people[first]
    sets = None if records.items is None else joined_sets(records.items, record, len(first))
    return replace(records, columns=tuple(columns), items=sets, people=people)


def _shared_values(column: Column, record: Ints, first: Ints, source: str) -> Column:
    value = column.codes if column.numbers is None else _by_number(column.numbers)[column.codes]
    filled = column.filled
    row = np.arange(len(record), dtype=np.int64)
    says = np.full(len(first), len(record), np.int64)
    np.minimum.at(says, record[filled], row[filled])
    says = np.where(says < len(record), says, first)
    contradicting = np.unique(record[filled & (value != value[says][record])])
    if len(contradicting):
        n = number_of(len(contradicting), "record")
        raise InputError(
            f"{source}: column {column.name!r} says different things in the rows of {n}, and rows that are joined ({option('id')}) "
            f"share one value; correct it, drop the column, or keep rows apart and count people with {option('person')}"
        )
    return column.take(says)


def _by_number(numbers: Floats) -> Ints:
    """The values of a numeric column, numbered so that two spellings of one number are one."""
    return np.unique(numbers, return_inverse=True)[1].reshape(-1).astype(np.int64)


def joined_note(rows: int, records: int) -> tuple[str, ...]:
    """What to say where rows were joined."""
    if rows == records:
        return ()
    return (Message(f"{rows:,} rows were joined to {number_of(records, 'record')} ({option('id')})"),)
