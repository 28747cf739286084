"""Trees over the values of a column that stand in an order: intervals of numbers, and names for groups of neighbours.

A label is published, and the smallest or largest value of a group may be a rare one. So groups part at the roundest number, or at the
beginning of a year, a month, a day or an hour, that lies between them: a bound says where a group ends, not which values there are.
Between two texts there is no such bound, so their groups are called by places, as `town[4:6]`, unless somebody allows their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise

from shoal.errors import InputError
from shoal.hierarchy.build import ROOT
from shoal.hierarchy.tree import Hierarchy

Label = Callable[[int, int], str]
"""From the places of the first and last value of a group to its label."""

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?", re.ASCII)
_STEPS = (4, 7, 10, 13, 16, 19)  # characters up to the year, the month, the day, the hour, the minute, the second
_FIRST = "0000-01-01T00:00:00"
"""The earliest moment: its end stands where a text says no more."""
_WIDTH = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)


def interval_tree(values: Sequence[str], widths: str) -> Hierarchy:
    """Numbers in nested intervals of the given widths, which begin at multiples of them.

    Whole numbers in intervals of whole widths are called by their first and last number (`[20:24]`), all others by their bounds, of
    which the upper one is outside (`[2.5:5)`).
    """
    source = f"intervals:{widths}"
    steps = _widths(widths, source)
    numbers = [Fraction(value) for value in values]
    whole = all(number.denominator == 1 for number in (*numbers, *steps))
    return nested_intervals(values, numbers, steps, source, lambda low, high: interval(low, high, whole))


def nested_intervals(
    values: Sequence[str],
    numbers: Sequence[Fraction],
    steps: Sequence[Fraction],
    source: str,
    label: Callable[[Fraction, Fraction], str],
) -> Hierarchy:
    """Values under intervals of these widths, of which each divides the next; `label` names one by its bounds, the upper one outside."""
    labels: list[str] = list(values)
    parent: list[int] = [-1] * len(labels)
    level = list(zip(range(len(values)), numbers, strict=True))  # nodes of a level, each with a number in it
    for step in steps:
        nodes: dict[int, int] = {}
        above = []
        for node, number in level:
            place = number // step
            if place not in nodes:
                nodes[place] = len(labels)
                labels.append(label(place * step, (place + 1) * step))
                parent.append(-1)
                above.append((nodes[place], place * step))
            parent[node] = nodes[place]
        level = above
    root = len(labels)
    for node, _ in level:
        parent[node] = root
    return Hierarchy.from_parents([*parent, -1], [*labels, ROOT], source)


def range_labels(column: str, values: Sequence[str], numeric: bool) -> Label:
    """Labels for groups of these values of a column, which stand in order."""
    if numeric and all(one < other for one, other in pairwise(map(float, values))):
        return _numbers([Fraction(value) for value in values])
    if all(map(_DAY.fullmatch, values)) and all(map(_is_day, values)):
        return _days(values)
    if len({len(value) for value in values}) == 1 and all(_TIME.fullmatch(v) and _is_day(v[:10]) for v in values):
        return _times(values)
    return lambda first, last: f"{column}[{first + 1}:{last + 1}]"


def interval(low: Fraction, high: Fraction, whole: bool) -> str:
    """`[20:24]` for whole numbers, `[2.5:5)` for others, where the upper bound is outside."""
    return f"[{low}:{high - 1}]" if whole else f"[{decimal(low)}:{decimal(high)})"


def _numbers(values: Sequence[Fraction]) -> Label:
    whole = all(value.denominator == 1 for value in values)
    cuts = cuts_between(values)
    return lambda first, last: interval(cuts[first], cuts[last + 1], whole)


def cuts_between(values: Sequence[Fraction]) -> list[Fraction]:
    """The roundest numbers before, between and after these, which ascend; whole ones if they are."""
    whole = all(value.denominator == 1 for value in values)
    gap = (values[-1] - values[0]) / max(1, len(values) - 1) or Fraction(1)
    gap = max(gap, Fraction(1)) if whole else gap
    cuts = [roundest(values[0] - gap, values[0]), *(roundest(one, other) for one, other in pairwise(values))]
    cuts.append(roundest(values[-1], values[-1] + gap))
    return [Fraction(-(-cut // 1)) for cut in cuts] if whole else cuts


def roundest(above: Fraction, upto: Fraction) -> Fraction:
    """The number in (above, upto] with the fewest digits, fives before others."""
    if above < 0 <= upto:
        return Fraction(0)
    step = Fraction(10) ** len(str(int(max(abs(above), abs(upto)))))
    while True:
        for size in (step, step / 2):
            multiple = upto // size * size
            if multiple > above:
                return multiple
        step /= 10


def decimal(number: Fraction) -> str:
    """A number with finitely many digits, in full."""
    if number.denominator == 1:
        return str(number.numerator)
    digits = 1
    while 10**digits % number.denominator:
        digits += 1
    shown = f"{abs(number.numerator) * 10**digits // number.denominator:0{digits + 1}}"
    return f"{'-' if number < 0 else ''}{shown[:-digits]}.{shown[-digits:]}"


def _days(values: Sequence[str]) -> Label:
    cuts = [date.fromisoformat(_first_moment(cut)[:10]) for cut in _beginnings(values)]
    years_end = date(int(values[-1][:4]), 12, 31)

    def label(first: int, last: int) -> str:
        end = cuts[last + 1] - timedelta(1) if last + 1 < len(cuts) else years_end
        return f"[{cuts[first]} to {end}]"

    return label


def _times(values: Sequence[str]) -> Label:
    mark, length = values[0][10], min(len(values[0]), len(_FIRST))
    cuts = [f"{_first_moment(cut)[:10]}{mark}{_first_moment(cut)[11:]}" for cut in _beginnings(values)]
    cuts = [cut[: max(length, len(cut) if "." in cut else 0)] for cut in cuts]
    years_end = f"{values[-1][:4]}-12-31"

    def label(first: int, last: int) -> str:
        return f"[{cuts[first]} to {cuts[last + 1]})" if last + 1 < len(cuts) else f"[{cuts[first]} to {years_end}]"

    return label


def _beginnings(values: Sequence[str]) -> list[str]:
    """The year of the first value, and between neighbours the shortest beginning of the later one that the earlier one lies before."""
    between = (
        next((other[:step] for step in _STEPS if other[:step] > one[:step]), other) for one, other in pairwise(values)
    )
    return [values[0][:4], *between]


def _first_moment(beginning: str) -> str:
    """A beginning of a date or time as the first moment that it may be."""
    return beginning + _FIRST[len(beginning) :]


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _widths(text: str, source: str) -> list[Fraction]:
    parts = [part.strip() for part in text.split(",")]
    if not all(_WIDTH.fullmatch(part) and Fraction(part) > 0 for part in parts):
        raise InputError(
            f"hierarchy {source!r} does not name the widths of its intervals; use for example intervals:5,10,20"
        )
    widths = [Fraction(part) for part in parts]
    for (narrow, wide), names in zip(pairwise(widths), pairwise(parts), strict=True):
        if wide <= narrow or wide % narrow:
            raise InputError(
                f"hierarchy {source!r}: intervals of width {names[0]} do not fit into intervals of width {names[1]}; "
                "give widths of which each divides the next, as in intervals:5,10,20"
            )
    return widths
