"""How frequent sensitive values are in a class, and how far that is from the whole table: t-closeness (Li, Li, Venkatasubramanian 2007).

A class is as far from the table as it takes work to turn the one distribution into the other (earth mover's distance). `equal`: any two
values are 1 apart, so it is half the sum of all differences. `ordered`: values are as far apart as their ranks, the first and the last 1.

A missing value that is unknown may be any value: like none of the others, not even like another missing one, it costs 1 to be moved. One
that is a value of its own is 1 from every other. Both are then never nearer than the paper's distance for any way to fill them in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError, option
from shoal.guarantees.missing import Missing, counted_values
from shoal.records.records import Column, Records

EQUAL, ORDERED = "equal", "ordered"
SLACK = 1e-9
"""How far a sum of fractions may be off: so much may t be passed by."""
_CELLS = 1 << 22
"""Classes times values that are counted at a time."""

Distance = str | Mapping[str, str] | None
"""One for all sensitive columns, or one by column; where none is given numbers are ordered, and other values equally far apart."""


def checked_distance(distance: Any) -> Distance:
    """The same as plain texts; raises if it is none."""
    for column, word in distance.items() if isinstance(distance, Mapping) else [("", distance)]:
        if distance is not None and word not in (EQUAL, ORDERED):
            where = f"{column}={word}" if column else f"{word}"
            raise InputError(
                f"distance is {where}, which is not known; choose equal or ordered, for all columns or as COL=ordered"
            )
    if isinstance(distance, Mapping):
        return {str(column): str(word) for column, word in distance.items()}
    return distance if distance is None else str(distance)


def check_columns(distance: Distance, sensitive: Collection[str]) -> None:
    """Raises if a column is named that is not sensitive."""
    strange = [column for column in distance if column not in sensitive] if isinstance(distance, Mapping) else []
    if strange:
        raise InputError(f"{strange[0]!r} is no sensitive column; leave it out of {option('distance')}")


def distance_in(column: Column, distance: Distance) -> str:
    """The distance between values of a column."""
    given = distance.get(column.name) if isinstance(distance, Mapping) else distance
    return given or (EQUAL if column.numbers is None else ORDERED)


def words_of_distance(distance: Distance) -> str:
    """What is said of distances beside t."""
    words = {EQUAL: "all values equally far from each other", ORDERED: "values as far apart as their ranks"}
    if distance is None:
        return f"{words[ORDERED]} in columns of numbers, {words[EQUAL]} elsewhere"
    if isinstance(distance, str):
        return words[distance]
    return ", ".join(f"{words[way]} in {column!r}" for column, way in distance.items())


def likeliest_values(
    published: Records, of_row: npt.NDArray[np.int64], n_classes: int, missing: Missing
) -> npt.NDArray[np.int64]:
    """Per class, the most rows that one value of a sensitive column may have: its own, and those whose value is unknown."""
    likeliest = np.zeros(n_classes, np.int64)
    for column in published.of_role("sensitive"):
        value, known = _places(column, EQUAL, missing)
        for first, counts, unknown in _blocks(of_row, value[column.codes], n_classes, known):
            part = likeliest[first : first + len(counts)]
            np.maximum(part, counts.max(axis=1, initial=0) + unknown, out=part)
    return likeliest


def farthest_values(
    published: Records,
    of_row: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    missing: Missing,
    distance: Distance,
) -> npt.NDArray[np.float64]:
    """Per class, how far its values are from those of the table in the sensitive column that is farthest."""
    farthest = np.zeros(len(sizes))
    for column in published.of_role("sensitive"):
        way = distance_in(column, distance)
        value, known = _places(column, way, missing)
        of_value = value[column.codes]
        table = np.bincount(of_value[of_value >= 0], minlength=known) / max(1, len(of_value))
        unknown = not counted_values(("",), column.name, missing)[0]
        for first, counts, _ in _blocks(of_row, of_value, len(sizes), known):
            part = farthest[first : first + len(counts)]
            share = counts / sizes[first : first + len(counts), None]
            far = _equal(share, table) if way == EQUAL else _ordered(share, table, unknown=unknown)
            np.maximum(part, far, out=part)
    return farthest


def _equal(share: npt.NDArray[np.float64], table: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """All that does not stay where it is moves by 1. What is unknown never stays."""
    moved: npt.NDArray[np.float64] = 1 - np.minimum(share, table).sum(axis=1)
    return moved


def _ordered(
    share: npt.NDArray[np.float64], table: npt.NDArray[np.float64], *, unknown: bool
) -> npt.NDArray[np.float64]:
    """Section 5.1: the work between neighbours, of all that is known on both sides; the rest moves by 1."""
    here, there = share.sum(axis=1), float(table.sum())
    known = np.where(here > 0, here, 1.0)[:, None]
    work = np.abs(np.cumsum(share / known - table / (there or 1.0), axis=1)[:, :-1]).sum(axis=1)
    work /= max(1, len(table) - 1)
    rest = np.maximum(1 - here, 1 - there) if unknown else np.abs(here - there)
    far: npt.NDArray[np.float64] = np.minimum(here, there) * work + rest
    return far


def _places(column: Column, way: str, missing: Missing) -> tuple[npt.NDArray[np.int64], int]:
    """Per value of a column its place among those that occur, -1 for one that has none, and how many places there are.

    What reads the same is the same; where numbers are ordered, what is the same number as well.
    """
    used = np.bincount(column.codes, minlength=len(column.values)) > 0
    is_missing = np.array([value.strip() == "" for value in column.values], np.bool_)
    counted = used & ~is_missing if way == ORDERED else used & counted_values(column.values, column.name, missing)
    if way == ORDERED and column.numbers is not None:
        key = np.asarray(column.numbers, np.float64)
    else:
        first: dict[str, int] = {}
        key = np.array([first.setdefault(value, i) for i, value in enumerate(column.values)], np.float64)
    known, rank = np.unique(key[counted], return_inverse=True)
    place = np.full(len(column.values), -1, np.int64)
    place[counted] = rank.reshape(-1)
    return place, len(known)


def _blocks(
    of_row: npt.NDArray[np.int64], of_value: npt.NDArray[np.int64], n_classes: int, n_values: int
) -> Iterator[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """(first class, rows by class and value, rows by class without a place) for some classes at a time."""
    order = np.argsort(of_row, kind="stable")
    starts = np.searchsorted(of_row[order], np.arange(n_classes + 1))
    step = max(1, _CELLS // max(1, n_values))
    for first in range(0, n_classes, step):
        last = min(n_classes, first + step)
        rows = order[starts[first] : starts[last]]
        group, value = of_row[rows] - first, of_value[rows]
        known = value >= 0
        counts = np.bincount(group[known] * n_values + value[known], minlength=(last - first) * n_values)
        unknown = np.bincount(group[~known], minlength=last - first)
        yield first, counts.reshape(last - first, n_values).astype(np.int64), unknown.astype(np.int64)
