"""Trees over dates and times: a day goes to its month, its quarter and its year, however the three are written.

Hiding the last characters does that for 2019-02-05 alone: of 05.02.2019 it hides the year first. What cannot be told from the values is
never guessed: where 05/02/2019 may be in May or in February the owner says which (`dates:dmy`, `dates:mdy`), and years of two digits
are refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from shoal.errors import InputError
from shoal.hierarchy.build import ROOT
from shoal.hierarchy.tree import Hierarchy

FIGURES = "some of its values are not dates in figures with year, month and day"
ENOUGH = 0.9
"""The share of values that must be dates."""


class Level(NamedTuple):
    """A stretch of time that dates are published as."""

    label: Callable[[datetime], str]
    form: str
    """What its labels look like, as a regular expression."""
    within: tuple[str, ...]
    """The coarser ones that hold it whole."""


def _week(day: datetime) -> str:
    year, week, _ = day.isocalendar()
    return f"{year:04}-W{week:02}"


LEVELS = {
    "year": Level(lambda day: f"{day.year:04}", r"\d{4}", ()),
    "quarter": Level(lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}", r"\d{4}-Q\d", ("year",)),
    "month": Level(lambda day: f"{day.year:04}-{day.month:02}", r"\d{4}-\d\d", ("year", "quarter")),
    "week": Level(_week, r"\d{4}-W\d\d", ()),
    "day": Level(lambda day: f"{day:%Y-%m-%d}".zfill(10), r"\d{4}-\d\d-\d\d", ("year", "quarter", "month", "week")),
    "hour": Level(
        lambda day: f"{day:%Y-%m-%dT%H}".zfill(13), r"\d{4}-\d\d-\d\dT\d\d", ("year", "quarter", "month", "week", "day")
    ),
}
"""The coarsest first. Weeks are those of ISO 8601: they begin on Mondays, and may lie in two months and years."""
USUAL = ("year", "quarter", "month", "day")
ORDERS = {"dmy": "day first", "mdy": "month first"}
"""How an owner says which comes first where the values do not."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = rf"(?P<name>{'|'.join(_MONTHS)})[a-z]*"
_DAY, _MONTH, _YEAR = r"(?P<day>\d{1,2})", r"(?P<month>\d{1,2})", r"(?P<year>\d{4}|\d{2})"
_TIME = (
    r"(?:[T ]\s*(?P<hour>\d{1,2}):\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?P<half>[AaPp][Mm])?\s*(?:Z|UTC|[+-]\d{2}:?\d{2})?)?"
)
_FORMS = tuple(
    (first, re.compile(rf"\s*{form}{_TIME}\s*", re.ASCII | re.IGNORECASE))
    for first, form in (
        ("year first", rf"(?P<year>\d{{4}})(?P<sign>[-./]){_MONTH}(?P=sign){_DAY}"),
        ("year first", r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})"),
        ("year first", r"(?P<year>\d{4})[-/](?P<month>\d{2})"),
        ("day first", rf"{_DAY}\.{_MONTH}\.{_YEAR}"),  # nobody writes the month first with dots
        ("day first", rf"{_DAY}[-./ ]+{_NAME}[-./, ]+{_YEAR}"),
        ("month first", rf"{_NAME}[-./ ]+{_DAY}(?:st|nd|rd|th)?[-./, ]+{_YEAR}"),
        ("", rf"{_DAY}(?P<sign>[-/]){_MONTH}(?P=sign){_YEAR}"),  # or the other way round
    )
)
_WORDS = {"year first": "year-month-day", "day first": "day.month.year", "month first": "month/day/year"}


class UnclearDatesError(InputError):
    """Values that are dates, but nobody can tell which."""


@dataclass(frozen=True)
class Dates:
    """What a column of dates is: how most of them are written, and the hour that each value lies in, None for what is not a date."""

    order: str
    days: tuple[datetime | None, ...]
    timed: bool
    """Whether some of them tell the time of day."""
    dayless: bool
    """Whether some of them are months."""

    @property
    def words(self) -> str:
        return f"{_WORDS[self.order]}{' with times' if self.timed else ''}"


def read_dates(names: Sequence[str], order: str | None = None) -> Dates:
    """The dates that these values are; `order` says whether 05/02/2019 has the day or the month first, None finds out or raises."""
    forms = [next(((first, m) for first, form in _FORMS if (m := form.fullmatch(name))), ("", None)) for name in names]
    ways = {way: [_moment(first, m, way) for first, m in forms] for way in ORDERS.values() if order in (None, way)}
    fits = {way: sum(day is not None for day in days) for way, days in ways.items()}
    best = max(fits, key=fits.__getitem__)
    if not names or fits[best] < ENOUGH * len(names):
        short = sum(m is not None and len(m["year"]) == 2 for _, m in forms)
        if names and fits[best] + short >= ENOUGH * len(names):
            raise UnclearDatesError(
                "its dates have years of two digits, which may be of any century; write them with four"
            )
        raise InputError(
            "too few of these values are dates for a tree of days, months and years; use another hierarchy"
        )
    for days in (days for way, days in ways.items() if way != best and days != ways[best]):
        pairs = list(zip(ways[best], days, strict=True))
        unlike = any(mine is None and other is not None for mine, other in pairs)
        if unlike or not any(mine is not None and other is None for mine, other in pairs):
            why = "some have the day first and others the month" if unlike else "no day is above the 12th"
            raise UnclearDatesError(
                f"day and month of its dates cannot be told apart, for {why}; say which comes first, with dates:dmy or dates:mdy, "
                "or with the spelling dmy or mdy"
            )
    firsts = Counter(first or best for first, m in forms if m is not None)
    matches = [m.groupdict() for _, m in forms if m is not None]
    return Dates(
        firsts.most_common(1)[0][0],
        tuple(ways[best]),
        any(parts["hour"] is not None for parts in matches),
        any("day" not in parts for parts in matches),
    )


@dataclass(frozen=True)
class DateParts:
    """A date in figures, and where its year, month and day stand in its text."""

    day: datetime
    spans: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]

    @property
    def is_short(self) -> bool:
        """Whether its month or day has one digit."""
        return any(stop - start == 1 for start, stop in self.spans[1:])

    def with_day(self, text: str, day: datetime, loose: bool) -> str:
        """The text with another day in it; `loose` where days and months below 10 have one digit."""
        least = 1 if loose else 2
        parts = zip(self.spans, (f"{day.year:04}", f"{day.month:0{least}}", f"{day.day:0{least}}"), strict=True)
        for (start, stop), figures in sorted(parts, reverse=True):
            text = text[:start] + figures + text[stop:]
        return text


def date_parts(names: Sequence[str], order: str | None = None) -> dict[int, DateParts]:
    """The dates among these values, by their places; raises unless all values but blank ones are days in figures."""
    places = [v for v, name in enumerate(names) if name.strip()]
    try:
        dates = read_dates([names[v] for v in places], order)
    except UnclearDatesError:
        raise
    except InputError:
        raise InputError(FIGURES) from None
    found = {}
    for v, moment in zip(places, dates.days, strict=True):
        first, match = next(((first, m) for first, form in _FORMS if (m := form.fullmatch(names[v]))), ("", None))
        if moment is None or match is None or not {"day", "month"} <= match.groupdict().keys():
            raise InputError(FIGURES)
        spans = [match.span(part) for part in ("year", "month", "day")]
        if not first and dates.order == "month first":  # the form calls the first of the two the day
            spans[1:] = spans[:0:-1]
        found[v] = DateParts(moment, (spans[0], spans[1], spans[2]))
    return found


def date_order(names: Sequence[str], sample: int | None = None) -> str | None:
    """How most of these values are written as dates; None if they are none, or if day and month cannot be told apart.

    With `sample`, only about so many are looked at, here and there.
    """
    if sample is not None:
        names = names[:: max(1, len(names) // sample)]
    try:
        return read_dates(names).order
    except InputError:
        return None


def date_tree(names: Sequence[str], parameter: str = "") -> Hierarchy:
    """The tree over these values, with the levels that are named. What is not a date hangs under the root."""
    order, levels = _asked(parameter)
    dates = read_dates(names, order)
    if not dates.timed:
        levels = [level for level in levels if level not in ("day", "hour")]  # the value itself is the day
    if dates.dayless and {"week", "day", "hour"} & set(levels):
        raise InputError("some of its dates are months without a day; use dates:year,quarter,month")
    known = set(names)
    links: dict[str, str] = {}
    # In the order of time, so that siblings stand in it.
    for day, name in sorted(
        zip(dates.days, names, strict=True), key=lambda one: (one[0] is None, one[0] or datetime.min)
    ):
        path = [] if day is None else [_free_label(LEVELS[level].label(day), known) for level in reversed(levels)]
        links |= zip([name, *path], [*path, ROOT], strict=True)
    labels = [*links, ROOT]
    place = {label: v for v, label in enumerate(labels)}
    source = f"dates:{parameter}" if parameter else "dates"
    return Hierarchy.from_parents([place[above] for above in links.values()] + [-1], labels, source)


def _asked(parameter: str) -> tuple[str | None, list[str]]:
    """(whether day or month comes first, if that is said; the levels, the coarsest first)."""
    words = [word.strip() for word in parameter.split(",") if word.strip() and word.strip() != "ranges"]
    orders = [ORDERS[word] for word in words if word in ORDERS]
    named = [word for word in words if word not in ORDERS]
    if set(named) - set(LEVELS) or len(orders) > 1 or len(set(named)) < len(named):
        raise InputError(
            f"hierarchy 'dates:{parameter}' is not known; name levels among {', '.join(LEVELS)}, and dmy or mdy if day and month cannot "
            "be told apart, for example dates:dmy,year,month"
        )
    levels = [level for level in LEVELS if level in named] or list(USUAL)
    for i, level in enumerate(levels):
        for coarser in levels[:i]:
            if coarser not in LEVELS[level].within:
                raise InputError(
                    f"hierarchy 'dates:{parameter}': a {level} may lie in two {coarser}s; use one of the two, for example dates:week,day"
                )
    return orders[0] if orders else None, levels


def way_of(parameter: str) -> str | None:
    """Whether the parameter of a tree says that day or month comes first."""
    return _asked(parameter)[0]


def level_of(label: str) -> str | None:
    """The level that a label of a tree of dates is on; None for the root and for what is not a date."""
    return next((name for name, level in LEVELS.items() if re.fullmatch(rf"{level.form}\**", label, re.ASCII)), None)


def _moment(first: str, found: re.Match[str] | None, order: str) -> datetime | None:
    """The hour that a value lies in; None if it is not a date, or its year has two digits."""
    if found is None or len(found["year"]) != 4:
        return None
    parts = found.groupdict()
    month = _MONTHS.index(parts["name"].lower()) + 1 if parts.get("name") else int(parts["month"])
    day = int(parts.get("day") or 1)
    if not first and order == "month first":
        day, month = month, day
    hour = int(parts["hour"] or 0)
    if parts["half"]:
        hour = hour % 12 + 12 * (parts["half"].lower() == "pm")
    try:
        return datetime(int(parts["year"]), month, day, hour)
    except ValueError:
        return None


def _free_label(label: str, known: set[str]) -> str:
    """A label that is not a value of the data."""
    while label in known:
        label += "*"
    return label
