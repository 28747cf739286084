"""Trees over durations, however they are written: `90 min`, `3 days`, `2w`, `1:30:00`, `P3DT12H`.

A duration lies in the intervals of hours, days, weeks and so on, each within the next: `[7d-14d)`. Months and years have no fixed length,
so they are taken among themselves alone (`[12mo-24mo)`), never beside days.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from shoal.errors import InputError
from shoal.hierarchy.kinds.columns import decimal, nested_intervals
from shoal.hierarchy.tree import Hierarchy

_SECONDS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_MONTHS = {"mo": 1, "y": 12}
_WORDS = {
    "s": "s", "sec": "s", "second": "s", "m": "min", "min": "min", "minute": "min", "h": "h", "hr": "h", "hour": "h", "d": "d",
    "day": "d", "w": "w", "wk": "w", "week": "w", "mo": "mo", "month": "mo", "y": "y", "yr": "y", "year": "y",
}  # fmt: skip
_USUAL = ([Fraction(60), Fraction(3_600), Fraction(86_400), Fraction(604_800), Fraction(4 * 604_800), Fraction(52 * 604_800)],
          [Fraction(1), Fraction(3), Fraction(12), Fraction(60), Fraction(120)])  # fmt: skip
"""The widths unless others are named: a minute, an hour, a day, a week, 4 and 52 weeks; a month, a quarter, 1, 5 and 10 years."""

_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_PART = re.compile(rf"\s*({_NUMBER})\s*([a-zA-Z]+)[\s,]*", re.ASCII)
_CLOCK = re.compile(r"\s*([0-9]+):([0-5][0-9])(?::([0-5][0-9](?:\.[0-9]+)?))?\s*", re.ASCII)
_ISO = re.compile(
    rf"\s*P(?=.)(?:({_NUMBER})Y)?(?:({_NUMBER})M)?(?:({_NUMBER})W)?(?:({_NUMBER})D)?"
    rf"(?:T(?=.)(?:({_NUMBER})H)?(?:({_NUMBER})M)?(?:({_NUMBER})S)?)?\s*",
    re.ASCII,
)


def duration_in(text: str) -> tuple[Fraction, bool] | None:
    """(how long a text says, whether that is in months and not in seconds); None if it is not a duration."""
    if clock := _CLOCK.fullmatch(text):
        hours, minutes, seconds = (Fraction(part or 0) for part in clock.groups())
        return hours * 3_600 + minutes * 60 + seconds, False
    if iso := _ISO.fullmatch(text):
        parts = list(zip(("y", "mo", "w", "d", "h", "min", "s"), iso.groups(), strict=True))
        return _sum([(unit, number) for unit, number in parts if number])
    parts, at = list[tuple[str, str]](), 0
    while part := _PART.match(text, at):
        word = part[2].lower()
        unit = _WORDS.get(word) or _WORDS.get(word.removesuffix("s"))
        if unit is None:
            return None
        parts.append((unit, part[1]))
        at = part.end()
    return _sum(parts) if parts and at == len(text) else None


def read_durations(names: Sequence[str]) -> tuple[list[Fraction], bool] | None:
    """(how long each value is, whether in months); None unless all are durations of one kind."""
    durations = [duration_in(name) for name in names]
    known = [one for one in durations if one is not None]
    if not known or len(known) < len(durations) or len({months for length, months in known if length}) > 1:
        return None
    return [length for length, _ in known], any(months for _, months in known)


def duration_tree(names: Sequence[str], parameter: str = "") -> Hierarchy:
    """Durations in intervals of the widths that are named, `1d,7d`, or of the usual ones."""
    spec = f"durations:{parameter}" if parameter else "durations"
    known = read_durations(names)
    if known is None:
        raise InputError(
            "some of its values are not durations, such as 90 min, 3 days, 2w, 1:30:00 or P3DT12H, or they count in months and in days; "
            "use another hierarchy"
        )
    lengths, months = known
    steps = [step for step in _USUAL[months] if step <= max(lengths)]
    if parameter:
        widths = [duration_in(width) for width in parameter.split(",")]
        steps = [width[0] for width in widths if width is not None and width[1] == months and width[0] > 0]
        if len(steps) < len(widths) or any(wide <= narrow or wide % narrow for narrow, wide in pairwise(steps)):
            example = "durations:3mo,1y" if months else "durations:1d,7d"
            raise InputError(
                f"hierarchy {spec!r} does not name widths of which each divides the next; use for example {example}"
            )
    return nested_intervals(
        names, lengths, steps, spec, lambda low, high: f"[{_words(low, months)}-{_words(high, months)})"
    )


def _words(length: Fraction, months: bool) -> str:
    """A duration in the largest unit that fits."""
    if not length:
        return "0"
    units = _MONTHS if months else {unit: size for unit, size in _SECONDS.items() if unit != "w"}
    unit = next((unit for unit, size in reversed(units.items()) if not length % size), next(iter(units)))
    return f"{decimal(length / units[unit])}{unit}"


def _sum(parts: Sequence[tuple[str, str]]) -> tuple[Fraction, bool] | None:
    months = [unit in _MONTHS for unit, _ in parts]
    if any(months) and not all(months):
        return None
    sizes = _MONTHS if all(months) else _SECONDS
    return sum((Fraction(number) * sizes[unit] for unit, number in parts), Fraction(0)), all(months)
