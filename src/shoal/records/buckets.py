"""Buckets: a bucketized release (Xiao and Tao 2006), everything that is published and nothing else.

Every row keeps its exact quasi-identifiers and gets the number of a bucket; every bucket lists its sensitive values with
counts. Whose value is whose is not in here: values stand in the order of their names, and buckets are numbered as they
first appear among the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError, number_of
from shoal.numbers import Codes, Floats, Ints
from shoal.records.records import Column, Records


@dataclass(frozen=True, eq=False)
class Buckets:
    """Rows without their sensitive value, the bucket of each, and the sensitive values of each bucket with counts."""

    rows: Records
    """All columns but the sensitive one."""
    of_row: Codes
    """The bucket of each row, numbered from 0 without gaps."""
    sensitive: str
    """The name of the sensitive column."""
    vocabulary: tuple[str, ...]
    """Its values, in natural order."""
    offsets: Ints
    """The values of bucket b are `values[offsets[b]:offsets[b + 1]]`, ascending."""
    values: Codes
    counts: Ints
    """How often each of them stands in its bucket."""
    labels: tuple[str, ...] | None = None
    """What each bucket is called in the release; buckets are counted from 1 where it has no names for them."""

    def __post_init__(self) -> None:
        if len(self.of_row) != len(self.rows):
            raise InputError(
                f"{len(self.rows):,} rows, but {len(self.of_row):,} of them have a bucket; give one to each"
            )
        held = np.add.reduceat(self.counts, self.offsets[:-1]) if len(self) else np.zeros(0, np.int64)
        differing = np.flatnonzero(held != self.sizes)
        if len(differing):
            b = int(differing[0])
            raise InputError(
                f"bucket {self.label(b)} has {number_of(self.sizes[b], 'row')} but {number_of(held[b], 'value')} of {self.sensitive!r}; "
                f"give one to each row"
            )
        for array in (self.of_row, self.offsets, self.values, self.counts):
            array.setflags(write=False)

    @classmethod
    def of(cls, records: Records, bucket: npt.NDArray[np.integer], *, names: Sequence[str] | None = None) -> Buckets:
        """From a table with one sensitive column, in any order within a bucket, and the bucket of each row in any numbering.

        `names` are those of the numbers that the buckets come with.
        """
        column = sensitive_column(records)
        others = tuple(c for c in records.columns if c is not column)
        if not others:
            raise InputError(f"{column.name!r} is the only column; there is nothing to publish beside the buckets")
        rows = Records(others, people=records.people)
        found, first, number = np.unique(bucket, return_index=True, return_inverse=True)
        place = np.empty(len(found), np.int32)
        by_first = np.argsort(first, kind="stable")
        place[by_first] = np.arange(len(found))
        of_row = place[number.reshape(-1)]
        # Unique pairs come back sorted by bucket, then by value.
        pairs, counts = np.unique(
            of_row.astype(np.int64) * max(len(column.values), 1) + column.codes, return_counts=True
        )
        owner, value = np.divmod(pairs, max(len(column.values), 1))
        offsets = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=len(found))))).astype(np.int64)
        return cls(
            rows,
            of_row,
            column.name,
            column.values,
            offsets,
            value.astype(np.int32),
            counts.astype(np.int64),
            None if names is None else tuple(names[i] for i in found[by_first].tolist()),
        )

    def __len__(self) -> int:
        """How many buckets there are."""
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Buckets({len(self.rows):,} rows in {len(self):,} buckets, {self.sensitive} apart)"

    @cached_property
    def sizes(self) -> Ints:
        """Rows of each bucket."""
        return np.bincount(self.of_row, minlength=len(self)).astype(np.int64)

    @cached_property
    def totals(self) -> Ints:
        """How often each sensitive value stands in the release."""
        return np.bincount(self.values, self.counts, minlength=len(self.vocabulary)).astype(np.int64)

    @cached_property
    def owner(self) -> Ints:
        """The bucket of each entry of `values`."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.offsets))

    @cached_property
    def share(self) -> Floats:
        """The share of its bucket that each entry of `values` has."""
        return np.asarray(self.counts / self.sizes[self.owner], np.float64)

    def label(self, bucket: int) -> str:
        """What a bucket is called."""
        return f"{bucket + 1:,}" if self.labels is None else self.labels[bucket]

    def content(self, bucket: int) -> dict[str, int]:
        """The sensitive values of a bucket with their counts."""
        part = slice(self.offsets[bucket], self.offsets[bucket + 1])
        return {
            self.vocabulary[v]: n for v, n in zip(self.values[part].tolist(), self.counts[part].tolist(), strict=True)
        }

    def deal(self, random: np.random.Generator) -> Column:
        """A sensitive value for each row, those of a bucket dealt to its rows at random: the release as a single table."""
        rows = np.lexsort((random.random(len(self.of_row)), self.of_row))
        codes = np.empty(len(rows), np.int32)
        codes[rows] = np.repeat(self.values, self.counts)
        return Column(self.sensitive, "sensitive", codes, self.vocabulary)


def sensitive_views(records: Records) -> tuple[Records, ...]:
    """The table once for each sensitive column, without the other sensitive ones; raises if there are none."""
    secrets = records.of_role("sensitive")
    if len(secrets) < 2 or records.items is not None:
        sensitive_column(records)
        return (records,)
    return tuple(
        replace(records, columns=tuple(c for c in records.columns if c is one or c.role != "sensitive"))
        for one in secrets
    )


def sensitive_column(records: Records) -> Column:
    """The one sensitive column of a table; raises if there are none or several."""
    if records.items is not None:
        raise InputError(
            f"{records.items_name!r} holds sets; buckets take one sensitive value per row: leave the sets out, or give one column"
        )
    found = records.of_role("sensitive")
    if len(found) != 1:
        names = ", ".join(column.name for column in found)
        raise InputError(
            f"{len(found)} columns are sensitive ({names}), and this takes one at a time; name one of them"
            if found
            else "no column is sensitive; name the one that an attacker must not learn"
        )
    return found[0]
