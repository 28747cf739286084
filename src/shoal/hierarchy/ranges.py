"""Names for groups of neighbours in a column: ranges of numbers and of dates, and places in the order of anything else.

A label is published, and the smallest or largest value of a group may be a rare one. So groups part at the roundest number, or at the
beginning of a year, a month, a day or an hour, that lies between them: a bound says where a group ends, not which values there are. Between
texts nothing lies that is no beginning of one of them, so they are counted, as `town[4:6]`, unless somebody allows their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise

Name = Callable[[int, int], str]
"""From the places of the first and last value of a group to its label."""

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?", re.ASCII)
_STEPS = (4, 7, 10, 13, 16, 19)  # characters up to the year, the month, the day, the hour, the minute, the second
_FIRST = "0000-01-01T00:00:00"
"""What stands where nothing is said."""


def names_of(column: str, values: Sequence[str], numbers: Sequence[float] | None) -> Name:
    """Labels for groups of these values, which stand in order; `numbers` are theirs, if the column is numeric."""
    if numbers is not None and all(one < other for one, other in pairwise(numbers)):
        return _numbers([Fraction(value) for value in values])
    if all(map(_DAY.fullmatch, values)) and all(map(_is_day, values)):
        return _days(values)
    if len({len(value) for value in values}) == 1 and all(_TIME.fullmatch(v) and _is_day(v[:10]) for v in values):
        return _times(values)
    return lambda first, last: f"{column}[{first + 1}:{last + 1}]"


def first_and_last(values: Sequence[str]) -> Name:
    """Labels that name the first and the last value of a group, which publishes both."""
    return lambda first, last: f"{values[first]}..{values[last]}"


def interval(low: Fraction, high: Fraction, whole: bool) -> str:
    """`[20:24]` for whole numbers, `[2.5:5)` for others, where the upper bound is outside."""
    return f"[{low}:{high - 1}]" if whole else f"[{_decimal(low)}:{_decimal(high)})"


def _numbers(values: Sequence[Fraction]) -> Name:
    whole = all(value.denominator == 1 for value in values)
    gap = (values[-1] - values[0]) / max(1, len(values) - 1) or Fraction(1)
    gap = max(gap, Fraction(1)) if whole else gap
    cuts = [roundest(values[0] - gap, values[0]), *(roundest(one, other) for one, other in pairwise(values))]
    cuts.append(roundest(values[-1], values[-1] + gap))
    if whole:
        cuts = [Fraction(-(-cut // 1)) for cut in cuts]
    return lambda first, last: interval(cuts[first], cuts[last + 1], whole)


def roundest(above: Fraction, upto: Fraction) -> Fraction:
    """The number in (above, upto] with the fewest digits, fives before others."""
    if above < 0 <= upto:
        return Fraction(0)
    step = Fraction(10) ** len(str(int(max(abs(above), abs(upto)))))
    while True:
        for size in (step, step / 2):
            found = upto // size * size
            if found > above:
                return found
        step /= 10


def _decimal(number: Fraction) -> str:
    """A number with finitely many digits, in full."""
    if number.denominator == 1:
        return str(number.numerator)
    digits = 1
    while 10**digits % number.denominator:
        digits += 1
    shown = f"{abs(number.numerator) * 10**digits // number.denominator:0{digits + 1}}"
    return f"{'-' if number < 0 else ''}{shown[:-digits]}.{shown[-digits:]}"


def _days(values: Sequence[str]) -> Name:
    cuts = [date.fromisoformat(_filled(cut)[:10]) for cut in _beginnings(values)]
    years_end = date(int(values[-1][:4]), 12, 31)

    def label(first: int, last: int) -> str:
        end = cuts[last + 1] - timedelta(1) if last + 1 < len(cuts) else years_end
        return f"[{cuts[first]} to {end}]"

    return label


def _times(values: Sequence[str]) -> Name:
    mark, length = values[0][10], min(len(values[0]), len(_FIRST))
    cuts = [f"{_filled(cut)[:10]}{mark}{_filled(cut)[11:]}" for cut in _beginnings(values)]
    cuts = [cut[: max(length, len(cut) if "." in cut else 0)] for cut in cuts]
    years_end = f"{values[-1][:4]}-12-31"

    def label(first: int, last: int) -> str:
        return f"[{cuts[first]} to {cuts[last + 1]})" if last + 1 < len(cuts) else f"[{cuts[first]} to {years_end}]"

    return label


def _beginnings(values: Sequence[str]) -> list[str]:
    """The year of the first value, and between neighbours the shortest beginning of the later one that the earlier one lies before."""
    found = [values[0][:4]]
    for one, other in pairwise(values):
        found.append(next((other[:step] for step in _STEPS if other[:step] > one[:step]), other))
    return found


def _filled(beginning: str) -> str:
    """A beginning of a date or time as the first moment that it may be."""
    return beginning + _FIRST[len(beginning) :]


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
