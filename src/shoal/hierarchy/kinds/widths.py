"""How wide published values are, in the units of their column: years, days, or how many values they may be.

Each value of a column that stands in an order reaches from where to where: 52 from 52 to 53 among whole numbers, `[50-60)` from 50 to
60, a date to the next day. What stands for several values is as wide as they reach, or as its label says. Whether a value is missing
somewhere makes nothing wider: a width may be told to readers, who need not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from shoal.hierarchy.kinds.bands import Band, band_in
from shoal.hierarchy.kinds.dates import read_dates
from shoal.hierarchy.kinds.durations import read_durations
from shoal.hierarchy.kinds.recognition import recognise
from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import Floats, Ints

DIGITS = 9
"""Of a width: the difference of two decimals has no more."""
_MISSING = ""
_DAY = 86_400
_FIRST = datetime(1, 1, 1)


def node_widths(
    tree: Hierarchy, nodes: Ints, value: Ints, texts: Sequence[str], *, numeric: bool
) -> tuple[Floats, str]:
    """(how wide each published text is, in which unit): text `value[i]` has node `nodes[i]`. The unit of numbers has no name."""
    names = tree.labels[: tree.n_leaves]
    there = [i for i, name in enumerate(names) if name != _MISSING]
    known = [names[i] for i in there]
    kind = "numbers" if numeric else recognise(known).spec
    if kind is None:
        counted = np.zeros(len(names), np.int64)
        counted[there] = 1
        return np.maximum(1.0, np.bincount(value, tree.sums(counted)[nodes], minlength=len(texts))), "values"
    from_to, unit = _reaches(known, kind)
    low, high = np.full(len(names), np.inf), np.full(len(names), -np.inf)
    low[there], high[there] = from_to.T
    start, stop = np.full(len(texts), np.inf), np.full(len(texts), -np.inf)
    for i, (first, last) in zip(value.tolist(), tree.span[nodes].tolist(), strict=True):
        below = tree.leaf_order[first:last]
        start[i], stop[i] = min(start[i], low[below].min()), max(stop[i], high[below].max())
    width = np.maximum(stop - start, 0.0)
    if kind == "numbers":
        step = _grid(tree.source) or whole_step(from_to[:, 0])
        for i, text in enumerate(texts):  # a label says more than the numbers that happen to be in the data
            width[i] = _label_width(text, step, width[i])
    return np.round(width, DIGITS), unit


def whole_step(numbers: Floats) -> float:
    """How far it is from a number to the next: 1 where all are whole, so that `[50:59]` is 10 wide; else 0."""
    return float(np.all(np.isnan(numbers) | (numbers == np.floor(numbers))))


def _reaches(names: Sequence[str], kind: str) -> tuple[Floats, str]:
    """(from where to where each value reaches, in which unit)."""
    if kind == "dates":
        hours = [None if day is None else (day - _FIRST).total_seconds() / _DAY // 1 for day in read_dates(names).days]
        return np.array([(np.inf, -np.inf) if day is None else (day, day + 1) for day in hours]), "days"
    if kind == "durations":
        lengths, months = read_durations(names) or ([], False)
        return np.array([(float(length), float(length)) for length in lengths]) / (1 if months else _DAY), (
            "months" if months else "days"
        )
    if kind == "bands":
        bands = [band for name in names if (band := band_in(name)) is not None]
        ends = np.array([float(end) for band in bands for end in (band.low, band.high) if end])
        step = whole_step(ends)
        return np.array([_reach(band, step) for band in bands]), bands[0].unit.strip()
    numbers = np.array([float(name) for name in names])
    return np.column_stack((numbers, numbers + whole_step(numbers))).reshape(-1, 2), ""


def _reach(band: Band, step: float) -> tuple[float, float]:
    """From where to where a band reaches; one without a bound is taken to end at the other."""
    low, high = float(band.low or band.high), float(band.high or band.low)
    return low, high + (step if band.high and band.closing != ")" else 0.0)


def _label_width(text: str, step: float, otherwise: float) -> float:
    band = band_in(text.replace(" to ", ":"))
    if band is None or not band.low or not band.high:
        return otherwise
    return float(band.high) - float(band.low) + (0.0 if band.closing == ")" else step)


def _grid(source: str) -> float | None:
    """What numbers are rounded to, if they are."""
    form, _, parameter = source.partition(",")[0].partition(":")
    return float(parameter) if form == "round" else None
