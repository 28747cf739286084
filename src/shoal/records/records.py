"""Records: a table about people, every column with a role, and one domain of items beside it.

A column is kept as codes into its distinct values, so that a class of equal values is a class of equal codes, whatever the
values are. A value is the text that stood there; numbers carry their value besides. Published records are the same noun: a
generalized number is then the text `[19:22]`, a generalized category the label of its node, and items are tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError, number_of
from shoal.numbers import Bools, Codes, Floats, Ints
from shoal.records.baskets import Baskets, check_people, row_blocks
from shoal.records.formats.tabular import Tabular
from shoal.records.values import MISSING, NumberError, ordering

__all__ = ["MISSING", "ROLES", "Column", "Records", "same_records", "same_sets"]

_BLOCK = 1 << 17  # rows of a table that are put together at a time
_OCCURRENCES = 1 << 20  # and items in them

ROLES = ("identifier", "quasi", "items", "sensitive", "keep")


@dataclass(frozen=True, eq=False)
class Column:
    """A single-valued column."""

    name: str
    role: str
    """`quasi` (an attacker may know it), `sensitive` (an attacker wants it) or `keep` (published as it is)."""
    codes: Codes
    """Per row, the place of its value in `values`."""
    values: tuple[str, ...]
    """Distinct values in natural order, numbers ascending; `MISSING` first where values are missing."""
    numbers: Floats | None = None
    """For a numeric column, the number each value stands for, NaN for `MISSING`. Ascending; equal where values spell one number."""
    gap: str = MISSING
    """What a missing value is published as by itself."""

    def __post_init__(self) -> None:
        self.codes.setflags(write=False)

    @classmethod
    def from_codes(
        cls, name: str, role: str, codes: npt.NDArray[np.integer], names: Sequence[str], *, numeric: bool | None = None
    ) -> Column:
        """From a code per row and the name of each code. Sorts, drops unused names, finds out unless told whether they are numbers."""
        used = np.flatnonzero(np.bincount(codes, minlength=len(names)))
        try:
            found = ordering([names[i] for i in used.tolist()], numeric)
        except NumberError as error:
            row = int(np.argmax(codes == used[error.place])) + 1
            raise InputError(
                f"column {name!r}, row {row:,}: {error}; correct it, or leave {name!r} out of the numeric columns"
            ) from None
        place = np.zeros(len(names), np.int32)
        place[used] = found.place
        return cls(name, role, place[codes], found.values, found.numbers)

    @classmethod
    def from_texts(cls, name: str, role: str, texts: Iterable[str], *, numeric: bool | None = None) -> Column:
        """From the values row by row. Convenient, not fast: readers use `from_codes`."""
        place: dict[str, int] = {}
        codes = np.array([place.setdefault(text, len(place)) for text in texts], np.int32)
        return cls.from_codes(name, role, codes, list(place), numeric=numeric)

    def __len__(self) -> int:
        return len(self.codes)

    def texts(self) -> list[str]:
        """The column row by row. For small data and for reading aloud."""
        return [self.values[code] for code in self.codes.tolist()]

    def take(self, rows: Ints) -> Column:
        return Column(self.name, self.role, self.codes[rows], self.values, self.numbers, self.gap)

    @property
    def filled(self) -> Bools:
        """Which rows hold a value: neither a missing nor a blank one."""
        there: Bools = np.array([bool(value.strip()) for value in self.values], np.bool_)[self.codes]
        return there


@dataclass(frozen=True, eq=False)
class Records(Tabular):
    """Columns and items about the same rows. Identifiers are not in it: they are dropped while reading.

    Attributes:
        columns: The columns with one value a row, each with its name, role and values.
        items_name: What the column of the sets is called.

    >>> import polars, shoal
    >>> table = polars.DataFrame({"age": [34, 51], "codes": [["E11"], ["I10"]]})
    >>> records = shoal.load_records(table, quasi="age", items="codes").records
    >>> len(records), records.names, records["age"].texts()
    (2, ('age', 'codes'), ['34', '51'])
    """

    columns: tuple[Column, ...]
    items: Baskets | None = None
    """The sets, of all item columns together, sensitive ones among them."""
    items_name: str = "items"
    sensitive_items: frozenset[str] = field(default=frozenset())
    """Items that an attacker wants to learn. They travel unchanged."""
    sensitive_name: str | None = None
    """The column in which the sensitive items stood and will stand, if it was one of their own."""
    people: Codes | None = None
    """Per row, whose it is, by a number from 0 on, where several rows may be one person's; the items say the same. Never published."""

    def __post_init__(self) -> None:
        lengths = {len(column) for column in self.columns} | ({len(self.items)} if self.items is not None else set())
        if len(lengths) != 1:
            raise InputError(f"columns of one table have the same number of rows, not {sorted(lengths)}")
        repeated = [name for name, times in Counter(self.names).items() if times > 1]
        if repeated:
            raise InputError(f"two columns of one table are called {repeated[0]!r}; rename one")
        if self.people is None and self.items is not None:
            object.__setattr__(self, "people", self.items.people)
        if self.people is not None:
            check_people(self.people, len(self))
            if self.items is not None and self.items.people is not self.people:
                object.__setattr__(self, "items", replace(self.items, people=self.people))

    @classmethod
    def of(cls, rows: Baskets | Records) -> Records:
        """Sets as records without columns; records as they are."""
        return rows if isinstance(rows, Records) else cls((), rows)

    @property
    def holds_sets_alone(self) -> bool:
        """Whether there is nothing but one column of sets."""
        return not self.columns and self.sensitive_name is None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table as it is written: single values first, then the items, then the sensitive ones if they stand apart."""
        sets = () if self.items is None else (self.items_name,)
        apart = () if self.items is None or self.sensitive_name is None else (self.sensitive_name,)
        return (*(column.name for column in self.columns), *sets, *apart)

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else len(self.items or ())

    def __repr__(self) -> str:
        names = [f"{column.name} ({column.role})" for column in self.columns]
        names += [f"{self.items_name} (items)"] if self.items is not None else []
        names += [f"{self.sensitive_name} (sensitive items)"] if self.sensitive_name is not None else []
        return f"Records({number_of(len(self), 'row')}: {', '.join(names)})"

    def __getitem__(self, name: str) -> Column:
        found = next((column for column in self.columns if column.name == name), None)
        if found is None:
            raise InputError(f"there is no column {name!r}; there are {', '.join(c.name for c in self.columns)}")
        return found

    def of_role(self, role: str) -> tuple[Column, ...]:
        """The columns with a role, in their order."""
        return tuple(column for column in self.columns if column.role == role)

    def set_columns(self) -> list[tuple[str, Baskets]]:
        """The columns of sets as they are written: the items, then the sensitive ones if they stand apart."""
        if self.items is None:
            return []
        if self.sensitive_name is None:
            return [(self.items_name, self.items)]
        return list(
            zip((self.items_name, self.sensitive_name), self.items.split_off(self.sensitive_items), strict=True)
        )

    def row_blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows of a handy size to be written at a time, all rows together."""
        rows = _BLOCK if self.columns else _OCCURRENCES
        if self.items is None:
            return [(start, min(start + rows, len(self))) for start in range(0, len(self), rows)]
        return row_blocks(self.items.offsets, _OCCURRENCES, rows)

    def take(self, rows: Ints) -> Records:
        """The given rows, in the given order."""
        return Records(
            tuple(column.take(rows) for column in self.columns),
            None if self.items is None else self.items.take(rows),
            self.items_name,
            self.sensitive_items,
            self.sensitive_name,
            None if self.people is None else self.people[rows],
        )


def row_classes(columns: Sequence[Column], rows: int) -> tuple[Ints, Ints]:
    """The class of each row, equal in all of these columns, and a row of each class."""
    of_row = np.zeros(rows, np.int64)
    first = np.zeros(min(1, rows), np.int64)
    for column in columns:
        keys = of_row * max(1, len(column.values)) + column.codes
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        of_row = inverse.reshape(-1).astype(np.int64)
    return of_row, first.astype(np.int64)


def same_records(one: Records, other: Records) -> bool:
    """Whether two tables say the same row by row: names, roles, values and sets. What does not occur in a row does not count."""
    return (
        one.names == other.names
        and one.sensitive_name == other.sensitive_name
        and len(one) == len(other)
        and all(_same_column(a, b) for a, b in zip(one.columns, other.columns, strict=True))
        and same_sets(one, other)
    )


def _same_column(one: Column, other: Column) -> bool:
    place = {value: code for code, value in enumerate(other.values)}
    lookup = np.array([place.get(value, -1) for value in one.values], np.int32)
    return one.role == other.role and np.array_equal(lookup[one.codes], other.codes)


def same_sets(one: Records, other: Records) -> bool:
    """Whether two tables have the same sets, of which the same items are sensitive."""
    if one.items is None or other.items is None:
        return one.items is other.items
    same = one.items == other.items or _in_order(one.items) == _in_order(other.items)
    return same and not (one.sensitive_items ^ other.sensitive_items) & set(one.items.vocabulary)


def _in_order(sets: Baskets) -> Baskets:
    """The same sets over the names that occur, in natural order."""
    return Baskets.from_codes(sets.lengths, sets.items, sets.vocabulary)
