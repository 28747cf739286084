"""How claims are compared with rows: pairs of algorithms at the same parameters, and trends along a sweep."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from shoal.studies.papers.figure import RAN, Finding, Row


def runs(rows: Iterable[Row], algorithm: str | None = None) -> list[Row]:
    """The rows that ran, of one algorithm or of all."""
    return [row for row in rows if row["status"] == RAN and algorithm in (None, row.get("algorithm"))]


def lines(rows: Iterable[Row], x: str, y: str, by: Sequence[str] = ()) -> dict[tuple[Any, ...], list[tuple[Any, Any]]]:
    """(x, y) of the rows that ran, ascending in x, for each combination of the columns `by`."""
    found: dict[tuple[Any, ...], list[tuple[Any, Any]]] = {}
    for row in runs(rows):
        if None not in (row.get(x), row.get(y)):
            found.setdefault(tuple(row.get(name) for name in by), []).append((row[x], row[y]))
    return {name: sorted(points) for name, points in found.items()}


def values(rows: Iterable[Row], name: str, y: str, at: Sequence[str], column: str = "algorithm") -> dict[Any, Any]:
    """`y` of one algorithm by the parameters `at`."""
    chosen = [row for row in rows if row.get(column) == name]
    return {place: points[0][1] for place, points in lines(chosen, column, y, at).items()}


def pairs(
    rows: list[Row], one: str, other: str, y: str, at: Sequence[str], column: str = "algorithm"
) -> list[tuple[Any, Any]]:
    """`y` of two algorithms wherever both were measured with the same parameters."""
    first, second = values(rows, one, y, at, column), values(rows, other, y, at, column)
    return [(first[place], second[place]) for place in first if place in second]


def of_all(tests: Sequence[bool], ours: str) -> Finding | None:
    """A finding about several yes-or-no comparisons; None where there are none."""
    return Finding(sum(tests), len(tests), ours) if tests else None


def share_of(tests: Sequence[bool]) -> str:
    """`3 of 4`."""
    return f"{sum(tests)} of {len(tests)}"


def growth(points: Sequence[tuple[float, float]]) -> float | None:
    """The exponent b of y ~ x^b between the ends of a sweep."""
    if len(points) < 2:
        return None
    (x0, y0), (x1, y1) = points[0], points[-1]
    if min(x0, y0, x1, y1) <= 0 or x0 == x1:
        return None
    return math.log(y1 / y0) / math.log(x1 / x0)


def below(one: float, other: float) -> bool:
    """Whether one is smaller, by more than rounding."""
    return one < other - 1e-9


def close(one: float, other: float, within: float = 0.05) -> bool:
    """Whether two values differ by at most a share of the larger one."""
    return abs(one - other) <= within * max(abs(one), abs(other)) + 1e-9


def mostly(tests: Sequence[bool], ours: str) -> Finding | None:
    """A finding about what is stated to be so in most cases: one comparison, of the majority."""
    return Finding(int(2 * sum(tests) > len(tests)), 1, ours) if tests else None


def spread(numbers: Sequence[float], form: str = "", unit: str = "") -> str:
    """`0.12 to 0.35`, or the one number that they all are; two digits unless a form is given. Nothing where there is none."""
    if not numbers:
        return ""
    low, high = (format(end, form or (".2g" if abs(end) < 100 else ",.0f")) for end in (min(numbers), max(numbers)))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"
