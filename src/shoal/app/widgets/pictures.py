"""Pictures: what charts show, without a page. `options_of` is what ECharts is told, `rows_of` the table behind it.

Colours are variables of the style sheet, so that a chart changes with the theme; texts are data and never markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shoal.drawing.charts import Series, front_of
from shoal.drawing.palette import SERIES

INK, SOFT, LINE = "var(--sh-ink)", "var(--sh-soft)", "var(--sh-line)"
_SYMBOLS = ("circle", "rect", "triangle", "diamond")
_BAR, _BETWEEN, _AROUND = 16, 10, 44
"""Pixels of a bar, between groups of them, and around all."""


@dataclass(frozen=True)
class Lines:
    """Lines over a number, or, with `scatter`, points; `front` joins the points that no other beats both ways."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    percent: bool = False
    percent_x: bool = False
    log_x: bool = False
    steps: Sequence[str] | None = None
    """Names of the places 0, 1, 2, ... where x is not a number."""
    scatter: bool = False
    front: bool = False


@dataclass(frozen=True)
class Group:
    """Bars of one colour: a share from 0 to 1 for each label, and how it is written."""

    name: str
    shares: Sequence[float]
    figures: Sequence[str]
    tone: str = "plain"
    tones: Sequence[str] | None = None
    """Per label, where they differ."""


@dataclass(frozen=True)
class Bars:
    """Bars below each other, one of each group at every label."""

    title: str
    labels: Sequence[str]
    groups: Sequence[Group]


Picture = Lines | Bars


def bars_height(picture: Bars) -> int:
    return _AROUND + len(picture.labels) * (_BAR * len(picture.groups) + _BETWEEN)


def options_of(picture: Picture) -> dict[str, Any]:
    """What ECharts is told. Functions are named in keys that begin with a colon, and defined in shoal.js."""
    common: dict[str, Any] = {
        "animation": False,
        "textStyle": {"color": INK, "fontFamily": "inherit"},
        "tooltip": {
            "trigger": "item", "confine": True, ":formatter": "shoalTip", "backgroundColor": "var(--sh-card)", "borderColor": LINE,
            "textStyle": {"color": INK}, "extraCssText": "white-space: normal; max-width: 22rem",
        },
    }  # fmt: skip
    return common | (_lines(picture) if isinstance(picture, Lines) else _bars(picture))


def rows_of(picture: Picture) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of the table behind a picture."""
    if isinstance(picture, Bars):
        names = [group.name for group in picture.groups]
        lines = [[label, *(group.figures[i] for group in picture.groups)] for i, label in enumerate(picture.labels)]
        return ["", *names], lines
    rows = []
    for one in picture.series:
        for at, value in one.points:
            said = (one.labels or {}).get((at, value), "")
            rows.append(
                [one.name, _place(picture, at), _value(picture, value), *([said] if _is_labelled(picture) else [])]
            )
    return ["", picture.x, picture.y, *([""] if _is_labelled(picture) else [])], rows


def _is_labelled(picture: Lines) -> bool:
    return any(one.labels for one in picture.series)


def _place(picture: Lines, at: float) -> str:
    if picture.steps is not None:
        return picture.steps[int(at)]
    return f"{at:.1%}" if picture.percent_x else f"{at:.4g}"


def _value(picture: Lines, value: float) -> str:
    return f"{value:.2%}" if picture.percent else f"{value:,.4g}"


def colour_of(number: int, tone: str | None) -> str:
    return f"var(--sh-series-{number % len(SERIES)})" if tone is None else f"var(--sh-tone-{tone})"


def _axis(name: str, percent: bool, **more: Any) -> dict[str, Any]:
    label: dict[str, Any] = {"color": INK} | ({":formatter": "shoalPercent"} if percent else {})
    return {
        "name": name, "nameLocation": "middle", "nameTextStyle": {"color": SOFT}, "axisLabel": label,
        "axisLine": {"lineStyle": {"color": SOFT}}, "splitLine": {"lineStyle": {"color": LINE}}, **more,
    }  # fmt: skip


def _legend(names: Sequence[str], **where: Any) -> dict[str, Any]:
    return {"show": len(names) > 1, "data": list(names), "textStyle": {"color": INK}, "type": "scroll", **where}


def _lines(picture: Lines) -> dict[str, Any]:
    series = []
    for number, one in enumerate(picture.series):
        colour = colour_of(number, one.tone)
        data = [
            {
                "value": [_x(picture, at), value],
                "tip": (one.labels or {}).get((at, value))
                or f"{one.name}: {_place(picture, at)}, {_value(picture, value)}",
            }
            for at, value in one.points
        ]
        series.append(
            {
                "type": "scatter" if picture.scatter else "line", "name": one.name, "data": data, "symbolSize": 11,
                "symbol": _SYMBOLS[number % len(_SYMBOLS)], "itemStyle": {"color": colour}, "emphasis": {"disabled": True},
                "lineStyle": {"color": colour, "type": "dashed" if one.dashed else "solid"},
            }
        )  # fmt: skip
    if picture.front:
        points = front_of([(_x(picture, at), value) for one in picture.series for at, value in one.points])
        series.append(
            {
                "type": "line", "name": "", "data": [{"value": list(point)} for point in points], "step": "end", "symbol": "none",
                "silent": True, "lineStyle": {"color": SOFT, "type": "dotted"}, "tooltip": {"show": False}, "z": 1,
            }
        )  # fmt: skip
    kind = {"type": "category", "data": list(picture.steps)} if picture.steps is not None else {
        "type": "log" if picture.log_x else "value", "scale": not picture.percent_x,
        **({"minInterval": 1} if all(float(at).is_integer() for one in picture.series for at, _ in one.points) else {}),
    }  # fmt: skip
    return {
        "grid": {"left": 56, "right": 20, "top": 16, "bottom": 76},
        "legend": _legend([one.name for one in picture.series], bottom=0),
        "xAxis": _axis(picture.x, picture.percent_x, nameGap=28, **kind),
        "yAxis": _axis(picture.y, picture.percent, nameGap=42, type="value"),
        "series": series,
    }


def _x(picture: Lines, at: float) -> float:
    return int(at) if picture.steps is not None else at


def _bars(picture: Bars) -> dict[str, Any]:
    series = [
        {
            "type": "bar", "name": group.name, "barWidth": _BAR - 2, "emphasis": {"disabled": True},
            "itemStyle": {"color": colour_of(0, group.tone)},
            "data": [
                {
                    "value": share,
                    "tip": f"{label}, {group.name}: {said}" if group.name else f"{label}: {said}",
                    "figure": said,
                    "itemStyle": {"color": colour_of(0, group.tones[i] if group.tones else group.tone)},
                }
                for i, (label, share, said) in enumerate(zip(picture.labels, group.shares, group.figures, strict=True))
            ],
            "label": {"show": True, "position": "right", "color": INK, ":formatter": "shoalFigure"},
        }
        for group in picture.groups
    ]  # fmt: skip
    largest = max((share for group in picture.groups for share in group.shares), default=1.0)
    return {
        "grid": {"left": 8, "right": 84, "top": 8 if len(picture.groups) < 2 else 32, "bottom": 8, "containLabel": True},
        "legend": _legend([group.name for group in picture.groups], top=0, left=0),
        "xAxis": {"type": "value", "show": False, "min": 0, "max": largest or 1.0},
        "yAxis": {
            "type": "category", "data": list(picture.labels), "inverse": True, "axisTick": {"show": False},
            "axisLine": {"lineStyle": {"color": SOFT}}, "axisLabel": {"color": INK, "width": 110, "overflow": "truncate"},
        },
        "series": series,
    }  # fmt: skip
