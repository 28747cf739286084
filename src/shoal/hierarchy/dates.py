"""Trees over dates: a day goes to its month, a month to its year, whatever the order in which the three are written.

Hiding the last characters does that for 2019-02-05 alone: of 05.02.2019 it hides the year first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from shoal.errors import InputError
from shoal.hierarchy.build import ROOT
from shoal.hierarchy.tree import Hierarchy

ENOUGH = 0.9
"""The share of values that must be dates."""
_DATE = re.compile(r"\s*(\d{1,4})([-./])(\d{1,2})\2(\d{1,4})(?:[T ]\d{1,2}:\d{2}.*)?\s*")
_ORDERS = {"year first": (0, 1, 2), "day first": (2, 1, 0), "month first": (2, 0, 1)}
"""Where year, month and day stand."""


def date_order(names: Sequence[str], sample: int | None = None) -> str | None:
    """How most of these values are written as dates; None if they are none, or if day and month cannot be told apart.

    With `sample`, only about so many are looked at, here and there.
    """
    if sample is not None:
        names = names[:: max(1, len(names) // sample)]
    fits = {order: sum(_day(name, order) is not None for name in names) for order in _ORDERS}
    best = max(fits, key=fits.__getitem__)
    if not names or fits[best] < ENOUGH * len(names):
        return None
    return best if sum(count == fits[best] for count in fits.values()) == 1 else None


def date_tree(names: Sequence[str]) -> Hierarchy:
    """The tree of days, months and years over these values. What is no date hangs under the root."""
    order = date_order(names)
    if order is None:
        raise InputError(
            "too few of these values are dates for a tree of days, months and years, or days and months cannot be told apart; "
            "use another hierarchy"
        )
    known = set(names)
    links: dict[str, str] = {}
    days = {name: _day(name, order) for name in names}
    for name in sorted(names, key=lambda name: days[name] or date.max):  # so that siblings stand in the order of time
        day = days[name]
        if day is None:
            links[name] = ROOT
            continue
        year, month = _free_label(f"{day.year:04}", known), _free_label(f"{day.year:04}-{day.month:02}", known)
        links[name], links[month], links[year] = month, year, ROOT
    labels = [*links, ROOT]
    place = {label: v for v, label in enumerate(labels)}
    return Hierarchy.from_parents([place[above] for above in links.values()] + [-1], labels, "dates")


def _day(name: str, order: str) -> date | None:
    parts = _DATE.fullmatch(name)
    if parts is None or (parts[2] == "." and order == "month first"):  # which nobody writes with dots
        return None
    year, month, day = ((parts[1], parts[3], parts[4])[place] for place in _ORDERS[order])
    if len(year) not in (2, 4) or len(month) > 2 or len(day) > 2:
        return None
    whole = int(year) if len(year) == 4 else 2000 + int(year) if int(year) < 50 else 1900 + int(year)
    try:
        return date(whole, int(month), int(day))
    except ValueError:
        return None


def _free_label(label: str, known: set[str]) -> str:
    """A label that is no value of the data."""
    while label in known:
        label += "*"
    return label
