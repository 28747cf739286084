"""Which columns give people away: how many rows are alone, or among few, by each column, each pair, and all but one.

A combination is one code per row, so that each costs a sort of the rows; single columns and pairs of the first dozen are cheap. What all
columns but one give away is joined from those before and those behind it, so that it takes as many sorts as there are columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from shoal.guarantees.table import canonical
from shoal.numbers import Ints
from shoal.records.records import Column, Records

Codes = Ints
MOST_COLUMNS = 12


@dataclass(frozen=True)
class KnownColumns:
    """What somebody learns who knows these columns of a person."""

    columns: tuple[str, ...]
    combinations: int
    """Different combinations of their values."""
    unique: int
    """Rows that are alone."""
    few: int
    """Rows among fewer than k, those that are alone among them."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"columns": list(self.columns)}


@dataclass(frozen=True)
class ColumnRisk:
    """All that is asked of the columns which others may know."""

    single: tuple[KnownColumns, ...]
    pairs: tuple[KnownColumns, ...]
    without: tuple[KnownColumns, ...]
    """All columns but one, in the order of `single`; none for fewer than three columns, where the others say it
    already, and none where there are too many."""
    left_out: int = 0
    """Columns that were not looked at, as there are too many."""

    def to_dict(self) -> dict[str, Any]:
        parts = {name: [one.to_dict() for one in getattr(self, name)] for name in ("single", "pairs", "without")}
        return parts | {"left_out": self.left_out}


def column_risk(records: Records, k: int, most: int = MOST_COLUMNS) -> ColumnRisk:
    """What single columns, pairs of them and all but one give away: the worst first, except `without`."""
    quasi = records.of_role("quasi")
    looked = quasi[:most]
    single = [_known([column], _refined(None, column), k) for column in looked]
    pairs = [_known(pair, _refined(_refined(None, pair[0]), pair[1]), k) for pair in combinations(looked, 2)]
    without = _without(quasi, k) if 2 < len(quasi) <= most else []
    order = sorted(range(len(looked)), key=lambda at: _worst(single[at]))
    return ColumnRisk(
        tuple(single[at] for at in order),
        tuple(sorted(pairs, key=_worst)),
        tuple(without[at] for at in order) if without else (),
        len(quasi) - len(looked),
    )


def _without(columns: Sequence[Column], k: int) -> list[KnownColumns]:
    """All but each: what stands before a column, joined with what stands behind it."""
    behind: list[Codes | None] = [None]
    for column in reversed(columns[1:]):
        behind.append(_refined(behind[-1], column))
    before: Codes | None = None
    found = []
    for at, column in enumerate(columns):
        rest = behind.pop()
        joined = rest if before is None else before if rest is None else _joined(before, rest)
        assert joined is not None
        found.append(_known([*columns[:at], *columns[at + 1 :]], joined, k))
        before = _refined(before, column)
    return found


def _worst(one: KnownColumns) -> tuple[int, int, tuple[str, ...]]:
    return -one.unique, -one.few, one.columns


def _refined(of_row: Codes | None, column: Column) -> Codes:
    """The classes of rows, told apart by one more column. What reads the same is the same."""
    own = canonical(column.values)[column.codes]
    return _joined(np.zeros(len(own), np.int64) if of_row is None else of_row, own)


def _joined(one: Codes, other: Codes) -> Codes:
    key = one * (int(other.max(initial=0)) + 1) + other
    found: Codes = np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return found


def _known(columns: Sequence[Column], of_row: Codes, k: int) -> KnownColumns:
    sizes = np.bincount(of_row)
    return KnownColumns(
        tuple(column.name for column in columns),
        len(sizes),
        int(np.count_nonzero(sizes == 1)),
        int(sizes[sizes < k].sum()),
    )
