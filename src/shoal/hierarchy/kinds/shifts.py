"""Dates moved by some days each, in the spelling that they have: one way to blur when something happened and keep how long it took."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import numpy as np

from shoal.errors import InputError
from shoal.hierarchy.kinds.dates import date_parts
from shoal.numbers import Ints


def moved_dates(names: Sequence[str], of_row: Ints, days: Ints) -> tuple[Ints, list[str]]:
    """(value of each row, values), when row i holds the date `names[of_row[i]]` and moves by `days[i]`; blank ones stay."""
    dates = date_parts(names)
    loose = any(parts.is_short for parts in dates.values())
    low = int(days.min(initial=0))
    span = int(days.max(initial=0)) - low + 1
    keys, rows = np.unique(of_row * span + (days - low), return_inverse=True)
    values: dict[str, int] = {}
    place = np.empty(len(keys), np.int64)
    for at, (v, by) in enumerate(zip((keys // span).tolist(), (keys % span + low).tolist(), strict=True)):
        text = names[v]
        if v in dates:
            try:
                text = dates[v].with_day(text, dates[v].day + timedelta(days=by), loose)
            except OverflowError:
                raise InputError("a date at the end of the calendar cannot be moved") from None
        place[at] = values.setdefault(text, len(values))
    return place[rows.reshape(-1)], list(values)
