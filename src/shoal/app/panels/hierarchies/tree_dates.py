"""Trees over dates: the day goes to its month, the month to its year, whatever the order in which the three are written.

Hiding the last characters does that for 2019-02-05 alone: of 05.02.2019 it hides the year first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from shoal.hierarchy.tree import Hierarchy

GLANCE = 500
"""Values that are looked at to see whether they are dates."""
ENOUGH = 0.9
"""The share of values that must be dates."""
_DATE = re.compile(r"\s*(\d{1,4})([-./])(\d{1,2})\2(\d{1,4})(?:[T ]\d{1,2}:\d{2}.*)?\s*")
_ORDERS = {"year first": (0, 1, 2), "day first": (2, 1, 0), "month first": (2, 0, 1)}
"""Where year, month and day stand."""


def order_of(names: Sequence[str], most: int | None = None) -> str | None:
    """How most of these values are written as dates; None if they are none, or if day and month cannot be told apart. With `most`, only
    about so many are looked at, here and there."""
    if most is not None:
        names = names[:: max(1, len(names) // most)]
    fits = {order: sum(_day(name, order) is not None for name in names) for order in _ORDERS}
    best = max(fits, key=fits.__getitem__)
    if not names or fits[best] < ENOUGH * len(names):
        return None
    return best if sum(count == fits[best] for count in fits.values()) == 1 else None


def date_tree(names: Sequence[str]) -> Hierarchy | None:
    """The tree of days, months and years over these values. What is no date hangs under the root. None where there are no dates."""
    order = order_of(names)
    if order is None:
        return None
    known = set(names)
    links: dict[str, str] = {}
    days = {name: _day(name, order) for name in names}
    for name in sorted(
        names, key=lambda name: days[name] or date.max
    ):  # pages show siblings in the order of their first leaves
        day = days[name]
        if day is None:
            links[name] = "*"
            continue
        year, month = _free(f"{day.year:04}", known), _free(f"{day.year:04}-{day.month:02}", known)
        links[name], links[month], links[year] = month, year, "*"
    labels = [*links, "*"]
    place = {label: v for v, label in enumerate(labels)}
    return Hierarchy.from_parents([place[above] for above in links.values()] + [-1], labels, "dates")


def _day(name: str, order: str) -> date | None:
    found = _DATE.fullmatch(name)
    if found is None or (found[2] == "." and order == "month first"):  # which nobody writes with dots
        return None
    parts = found[1], found[3], found[4]
    year, month, day = (parts[place] for place in _ORDERS[order])
    if len(year) not in (2, 4) or len(month) > 2 or len(day) > 2:
        return None
    whole = int(year) if len(year) == 4 else 2000 + int(year) if int(year) < 50 else 1900 + int(year)
    try:
        return date(whole, int(month), int(day))
    except ValueError:
        return None


def _free(label: str, known: set[str]) -> str:
    """A label that is no value of the data."""
    while label in known:
        label += "*"
    return label
