"""The plots of a comparison: every loss, time and memory against every parameter that differs, and the trade-off fronts.

A plot has one line for each algorithm. What else differs is fixed within a plot: there is one for each combination, as long as these are
few, else only for one. An algorithm that does not take the parameter is a dashed level. Repetitions count as their median.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.drawing.charts import Series, line_chart, scatter_chart
from shoal.studies.compare.cell import DONE
from shoal.studies.compare.comparison_table import PROMISE, SIDES, Row, main_loss, sides_of, telling_losses
from shoal.studies.compare.field import field_charts

MOST_PANELS = 12
"""Plots of one measure against one parameter that a reader can take in."""
MOST_COMBINATIONS = 300
"""Beyond this, no reader would look at the plots of all combinations anyway."""

UNSET = "unset"
PERCENT = {
    *("info", "info_columns", "info_items", "ncp", "il", "ul", "items_ncp"),
    *("generalized", "deleted", "added", "removed", "ambiguity"),
}
UNITS = {"seconds": "seconds", "peak_mb": "peak memory (MB)"}


@dataclass(frozen=True)
class Plots:
    """Plots under one heading."""

    title: str
    charts: tuple[str, ...]
    note: str = ""


def plots_of(rows: Sequence[Row], axes: Sequence[str]) -> list[Plots]:
    """All plots, by parameter, then the fronts."""
    done = [row for row in rows if row["status"] == DONE]
    found = list(_field(done))
    for axis in axes:
        if axis == "algorithm":
            continue
        for measure in (*telling_losses(done), *UNITS):
            plots = _against(done, axes, axis, measure)
            if plots.charts:
                found.append(plots)
    return [*found, *_frontier(done, axes), *_trade_offs(done, axes)]


def _field(rows: Sequence[Row]) -> Iterator[Plots]:
    """What each algorithm keeps, in the order of their ranks, for each promise; nothing where rows are not ranked."""
    if not any("rank" in row for row in rows):
        return
    first = [row for row in rows if row["repeat"] == 1]
    for fixed, inside in _fixed(first, PROMISE):
        promise = ", ".join(
            f"{name} = {place}" for name, place in zip(PROMISE, fixed, strict=True) if place is not None
        )
        for title, chart in field_charts(inside, promise):
            yield Plots(title, (chart,))


def _against(rows: Sequence[Row], axes: Sequence[str], axis: str, measure: str) -> Plots:
    others = [name for name in axes if name not in ("algorithm", axis)]
    known = [row for row in rows if value(row, measure) is not None]
    title = f"{name_of(measure)} against {axis}"
    users = {(row["algorithm"], name) for row in rows for name in others if row.get(name) is not None}
    panels, of = _panels([row for row in known if row.get(axis) is not None], others, axis, users)
    note = f"One of {of:,} combinations of the other parameters; the table has all." if of > len(panels) else ""
    charts = tuple(
        _line_chart(
            _titled(title, others, fixed),
            axis,
            measure,
            [row for row in known if _covers(_places(row, others, users), fixed)],
        )
        for fixed in panels
    )
    return Plots(title, charts, note)


Users = set[tuple[str, str]]
"""Algorithms with the parameters that they take."""


def _panels(rows: Sequence[Row], others: Sequence[str], axis: str, users: Users) -> tuple[list[tuple[Any, ...]], int]:
    """What is fixed in each plot, and how many combinations there are. A plot with one place on its axis would show nothing."""
    places: dict[tuple[Any, ...], set[Any]] = {}
    for row in rows:
        places.setdefault(_places(row, others, users), set()).add(row[axis])
    found = {fixed: len(at) for fixed, at in places.items() if len(at) > 1}
    if len(found) > MOST_COMBINATIONS:
        return [max(found, key=found.__getitem__)], len(found)
    # Rows of algorithms that do not take a parameter stand in the plots of those that do.
    apart = [one for one in found if not any(other != one and _covers(one, other) for other in found)]
    return (apart, len(apart)) if len(apart) <= MOST_PANELS else ([max(apart, key=found.__getitem__)], len(apart))


def _covers(general: Sequence[Any], special: Sequence[Any]) -> bool:
    return all(mine is None or mine == theirs for mine, theirs in zip(general, special, strict=True))


def _places(row: Row, names: Sequence[str], users: Users) -> tuple[Any, ...]:
    """The parameters of a row; None for one that its algorithm does not take, which is not the same as one that is not set."""
    return tuple(
        UNSET if row.get(name) is None and (row["algorithm"], name) in users else row.get(name) for name in names
    )


def _line_chart(title: str, axis: str, measure: str, rows: Sequence[Row]) -> str:
    places = list(dict.fromkeys(row[axis] for row in rows if row.get(axis) is not None))
    numeric = all(isinstance(place, int | float) for place in places)
    places = sorted(places) if numeric else places
    at: Mapping[Any, float] = {place: float(place) if numeric else i for i, place in enumerate(places)}
    series = []
    for name, inside in by_algorithm(rows).items():
        along = [row for row in inside if row.get(axis) is not None]
        if along:
            series.append(Series(name, [(at[place], y) for place, y in _medians(along, axis, measure, places)]))
        else:  # it does not take the parameter: the same wherever one looks
            level = statistics.median(value(row, measure) or 0.0 for row in inside)
            series.append(Series(f"{name} (without {axis})", [(x, level) for x in at.values()], dashed=True))
    figures = [y for one in series for _, y in one.points]
    return line_chart(
        title,
        axis,
        UNITS.get(measure, name_of(measure)),
        series,
        log_x=numeric and min(at.values()) > 0 and max(at.values()) >= 20 * min(at.values()),
        log_y=measure in UNITS and min(figures) > 0 and max(figures) >= 50 * min(figures),
        percent=measure in PERCENT,
        steps=None if numeric else [str(place) for place in places],
    )


def _medians(rows: Sequence[Row], axis: str, measure: str, places: Sequence[Any]) -> Iterator[tuple[Any, float]]:
    for place in places:
        figures = [value(row, measure) for row in rows if row[axis] == place]
        known = [figure for figure in figures if figure is not None]
        if known:
            yield place, statistics.median(known)


def _trade_offs(rows: Sequence[Row], axes: Sequence[str]) -> Iterator[Plots]:
    """Loss against the strength of the promise, and loss against time."""
    measure = main_loss(rows)
    if measure is None:
        return
    known = [row for row in rows if value(row, measure) is not None]
    swept = [name for name in PROMISE if name in axes]
    loss, line = name_of(measure), "The line is the front: no cell is better in both."
    for strength in swept:
        others = [name for name in swept if name != strength]
        title = f"Trade-off: {loss} against the strength of the promise, 1/{strength}"
        charts = [
            _scatter(_titled(title, others, fixed), inside, axes, measure, (f"1/{strength}", _inverse(strength)))
            for fixed, inside in _fixed(known, others)
        ]
        yield Plots(title, tuple(charts), f"{STRENGTHS[strength]} {line}")
    timed = [row for row in known if row["seconds"] is not None]
    charts = [
        _scatter(_titled(f"{loss} against time", swept, fixed), inside, axes, measure, ("seconds", _seconds))
        for fixed, inside in _fixed(timed, swept)
        if len(inside) > 1
    ]
    if charts:
        yield Plots(f"Trade-off: {loss} against time", tuple(charts), f"Cells with the same promise. {line}")


def _frontier(rows: Sequence[Row], axes: Sequence[str]) -> Iterator[Plots]:
    """Of tables with items: what the columns lose against what the items lose, for each promise."""
    known = [row for row in rows if sides_of(row) is not None]
    columns, items = SIDES
    title = "Frontier: information lost in columns against items"
    charts = [
        _scatter(_titled(title, PROMISE, fixed), inside, axes, items, ("share lost in columns", _loss(columns)))
        for fixed, inside in _fixed(known, PROMISE)
        if len(inside) > 1
    ]
    if charts:
        yield Plots(
            title, tuple(charts), "The line is the frontier: no cell with this promise is better on both sides."
        )


STRENGTHS = {
    "k": "1/k is the chance to pick a person's row out of those that remain: the further left, the stronger the promise.",
    "m": "m is how many items of a person the attacker may know: the further left (a larger m), the stronger the promise.",
    "l": "1/l is how sure of a sensitive value an attacker may become: the further left, the stronger the promise.",
}


def _inverse(name: str) -> Callable[[Row], float]:
    return lambda row: 1.0 / row[name]


def _loss(measure: str) -> Callable[[Row], float]:
    return lambda row: float(row["loss"][measure])


def _seconds(row: Row) -> float:
    return float(row["seconds"])


def _fixed(rows: Sequence[Row], names: Sequence[str]) -> list[tuple[tuple[Any, ...], list[Row]]]:
    """The rows of each combination of some parameters, of the first few combinations."""
    panels: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        panels.setdefault(tuple(row.get(name) for name in names), []).append(row)
    return list(panels.items())[:MOST_PANELS]


def _scatter(
    title: str, rows: Sequence[Row], axes: Sequence[str], measure: str, x: tuple[str, Callable[[Row], float]]
) -> str:
    label, at = x
    labels = {(at(row), row["loss"][measure]): description_of(row, axes) for row in rows}
    series = [
        Series(name, [(at(row), row["loss"][measure]) for row in part], labels=labels)
        for name, part in by_algorithm(rows).items()
    ]
    return scatter_chart(title, label, name_of(measure), series, percent=measure in PERCENT, front=True)


def by_algorithm(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(str(row["algorithm"]), []).append(row)
    return found


def value(row: Row, measure: str) -> float | None:
    """A loss, the time or the memory of a row."""
    found = row.get(measure) if measure in UNITS else row["loss"].get(measure)
    return None if found is None else float(found)


def name_of(measure: str) -> str:
    """What a measure is called on a page."""
    known = {"seconds": "Time", "peak_mb": "Memory", "items_ncp": "NCP of the items", "info": "Information lost"}
    known |= {"info_columns": "Information lost in columns", "info_items": "Information lost in items"}
    return known.get(measure, measure.upper() if len(measure) <= 3 else measure.replace("_", " "))


def description_of(row: Row, axes: Sequence[str]) -> str:
    """What sets a row apart: `aa, k=5, m=2`."""
    parts = [str(row["algorithm"])]
    parts += [f"{name}={row[name]}" for name in axes if name != "algorithm" and row.get(name) is not None]
    return ", ".join(parts)


def _titled(title: str, names: Sequence[str], fixed: Sequence[Any]) -> str:
    parts = [f"{name}={place}" for name, place in zip(names, fixed, strict=True) if place is not None]
    return f"{title} ({', '.join(parts)})" if parts else title
