"""What an audit asks of the data itself, before it counts anything: rows that are sets, codes that have values, names that differ.

Data from a reader is always so. But the nouns are all that the audit shares with what proposes a release, and a fault in one of them
could make both count the same wrong thing: an item twice in a row would be two items, two items of one name would be told apart that
nobody can tell apart in the file. So the audit does not take their word for it. The looks cost one pass over the data.
"""

from __future__ import annotations

import numpy as np

from shoal.errors import InputError
from shoal.numbers import Codes
from shoal.records.baskets import Baskets
from shoal.records.buckets import Buckets
from shoal.records.records import Records


def check_sets(sets: Baskets, threads: int | None = None) -> None:
    """Raises unless every row is a set of named items, and no two items have the same name."""
    from shoal.kernels.audit.row_sets import first_unsound_row

    offsets = sets.offsets
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(sets.items):
        raise InputError("the sets are not sound: rows and items do not add up; make them with Baskets.from_rows")
    row = first_unsound_row(offsets, sets.items, len(sets.vocabulary), threads)
    if row >= 0:
        raise InputError(
            f"the sets are not sound: row {row + 1:,} has items twice, out of order or without a name; make them with "
            "Baskets.from_rows"
        )
    check_whose(sets.people)
    if len(set(sets.vocabulary)) != len(sets.vocabulary):
        raise InputError("the sets are not sound: two items have the same name; give each name once")


def check_whose(people: Codes | None) -> None:
    """Raises unless people have numbers from 0 on."""
    if people is not None and len(people) and people.min() < 0:
        raise InputError("the people are not sound: a row has none; number them from 0 on")


def check_table(table: Records, threads: int | None = None) -> None:
    """Raises unless every cell has a value and the items are sound. (Values may read the same: they then count as the same.)"""
    for column in table.columns:
        codes = column.codes
        if len(codes) and not 0 <= int(codes.min()) <= int(codes.max()) < len(column.values):
            raise InputError(
                f"column {column.name!r} is not sound: a cell has none of its values; make it with Column.from_texts"
            )
    check_whose(table.people)
    if table.items is not None:
        check_sets(table.items, threads)


def check_buckets(buckets: Buckets) -> None:
    """Raises unless every row has a bucket, and every bucket a value for each of its rows, of values that differ."""
    check_table(buckets.rows)
    offsets, values, of_row = buckets.offsets, buckets.values, buckets.of_row
    inside = np.ones(len(values), np.bool_)
    inside[offsets[:-1][offsets[:-1] < len(values)]] = False  # the first value of a bucket comes after another bucket's
    held = np.diff(np.concatenate(([0], np.cumsum(buckets.counts)))[offsets])
    sound = (
        offsets[0] == 0
        and offsets[-1] == len(values) == len(buckets.counts)
        and bool((np.diff(offsets) > 0).all())
        and bool((buckets.counts > 0).all())
        and (not len(values) or (values.min() >= 0 and values.max() < len(buckets.vocabulary)))
        and not (np.diff(values)[inside[1:]] <= 0).any()
        and (not len(of_row) or (of_row.min() >= 0 and of_row.max() < len(buckets)))
        and np.array_equal(held, np.bincount(of_row, minlength=len(buckets)))
        and len(set(buckets.vocabulary)) == len(buckets.vocabulary)
    )
    if not sound:
        raise InputError(
            "the buckets are not sound: rows, buckets and values do not add up, or two values have the same name; make "
            "them with Buckets.of"
        )
