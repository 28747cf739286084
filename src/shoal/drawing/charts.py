"""Charts as plain SVG: lines over a parameter, and points with the front of the best among them.

Ink is the page's own (`currentColor`), so that they read in light and in dark; series differ in colour and in marker. No script, no
font of its own, no link. Texts are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from shoal.drawing.palette import SERIES, TONES

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 74, 20, 34, 46
LEGEND_LINE = 18

LEAST, MOST = 1e-300, 1e300
"""What is smaller counts as nothing, what is larger as no number: there, floats lose their digits or pass into infinity."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """Points of one name. A point with a value that is not a number is left out, and the line is broken there."""

    name: str
    points: Sequence[Point]
    dashed: bool = False
    labels: Mapping[Point, str] | None = None
    """What points say, unless their name and their figures."""
    tone: str | None = None
    """As in `palette.TONES`, for what is raw or released; else each series has a colour of its own."""


@dataclass(frozen=True)
class _Axis:
    """From values to places on the paper."""

    low: float
    high: float
    start: float
    end: float
    log: bool

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float, *, log: bool, from_zero: bool) -> _Axis:
        if log:
            positive = [value for value in values if value > LEAST] or [1.0]
            first, last = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
            return cls(first, max(last, first + 1), start, end, True)
        low, high = min(values, default=0.0), max(values, default=1.0)
        if from_zero:
            low, high = min(0.0, low), max(0.0, high)
        if high - low <= max(LEAST, 1e-12 * max(abs(low), abs(high))):
            apart = max(1.0, abs(low))
            low, high = (low - apart, high + apart) if not from_zero else (low, low + apart)
        return cls(low, high, start, end, False)

    def place(self, value: float) -> float:
        at = math.log10(value) if self.log else value
        return round(self.start + (at - self.low) / (self.high - self.low) * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        if self.log:
            apart = max(1, math.ceil((self.high - self.low) / 6))
            return [10.0**power for power in range(int(self.low), int(self.high) + 1, apart)]
        step = _step((self.high - self.low) / 5)
        first = math.ceil(self.low / step - 1e-9)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


def line_chart(
    title: str,
    x: str,
    y: str,
    series: Sequence[Series],
    *,
    log_x: bool = False,
    log_y: bool = False,
    percent: bool = False,
    steps: Sequence[str] | None = None,
) -> str:
    """Lines with a marker at every point. `steps` names the places 0, 1, 2, ... where x is not a number; `percent` shows shares."""
    paper = _Paper(series, log_x and steps is None, log_y, percent)
    used = sorted({at for at, _ in paper.points})
    parts = paper.frame(title, x, y, paper.marks(steps, used), is_empty=not used)
    for number, one in enumerate(series):
        dashes = ' stroke-dasharray="6 4"' if one.dashed else ""
        path = "".join(paper.strokes(number))
        parts.append(f'<path d="{path}" fill="none" stroke="{_colour(number, one.tone)}" stroke-width="2"{dashes}/>')
        parts += paper.markers(number)
    return paper.picture(title, parts)


def scatter_chart(
    title: str,
    x: str,
    y: str,
    series: Sequence[Series],
    *,
    log_x: bool = False,
    log_y: bool = False,
    percent: bool = False,
    front: bool = False,
) -> str:
    """Points. With `front`, the staircase under which there are none: of all points, those that no other beats in both x and y."""
    paper = _Paper(series, log_x, log_y, percent)
    parts = paper.frame(title, x, y, paper.marks(), is_empty=not series)
    if front:
        parts.append(paper.staircase(front_of(paper.points)))
    for number in range(len(series)):
        parts += paper.markers(number)
    return paper.picture(title, parts)


def front_of(points: Sequence[Point]) -> list[Point]:
    """The points that no other beats: from left to right, each lower than all before it."""
    best, front = math.inf, list[Point]()
    for at, value in sorted(set(points)):
        if value < best:
            best = value
            front.append((at, value))
    return front


class _Paper:
    """What is drawn, and where on the paper it stands."""

    def __init__(self, series: Sequence[Series], log_x: bool, log_y: bool, percent: bool) -> None:
        def can_be_drawn(point: Point) -> bool:
            at, value = point
            return abs(at) < MOST and abs(value) < MOST and (at > LEAST or not log_x) and (value > LEAST or not log_y)

        self.series, self.percent = series, percent
        self.drawn = [[point for point in one.points if can_be_drawn(point)] for one in series]
        self.points = [point for points in self.drawn for point in points]
        across, upward = ([point[i] for point in self.points] for i in (0, 1))
        self.across = _Axis.over(across, LEFT + 12, WIDTH - RIGHT - 12, log=log_x, from_zero=False)
        self.upward = _Axis.over(upward, HEIGHT - BOTTOM, TOP + 6, log=log_y, from_zero=True)

    def place(self, point: Point) -> Point:
        return self.across.place(point[0]), self.upward.place(point[1])

    def frame(self, title: str, x: str, y: str, marks: Sequence[tuple[float, str]], *, is_empty: bool) -> list[str]:
        floor, wall = HEIGHT - BOTTOM, WIDTH - RIGHT
        parts = [f'<text x="{LEFT}" y="18" font-size="14" font-weight="600">{escape(title)}</text>']
        for tick in self.upward.ticks():
            at = self.upward.place(tick)
            parts.append(
                f'<path d="M{LEFT} {at}H{wall}" stroke="currentColor" stroke-opacity=".15"/>'
                f'<text x="{LEFT - 8}" y="{at + 4}" text-anchor="end">{_figure(tick, self.percent)}</text>'
            )
        for tick, name in marks:
            at = self.across.place(tick)
            parts.append(
                f'<path d="M{at} {floor}v5" stroke="currentColor" stroke-opacity=".5"/>'
                f'<text x="{at}" y="{floor + 18}" text-anchor="middle">{escape(name)}</text>'
            )
        middle = (TOP + floor) / 2
        parts.append(
            f'<path d="M{LEFT} {floor}H{wall}" stroke="currentColor" stroke-opacity=".5"/>'
            f'<text x="{(LEFT + wall) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x)}</text>'
            f'<text transform="translate(16 {middle}) rotate(-90)" text-anchor="middle">{escape(y)}</text>'
        )
        if is_empty:
            parts.append(f'<text x="{(LEFT + wall) / 2}" y="{middle}" text-anchor="middle">nothing to show</text>')
        return parts

    def marks(self, steps: Sequence[str] | None = None, used: Sequence[float] = ()) -> list[tuple[float, str]]:
        """Where the lower edge is marked: at the values that were measured where they are few and apart, else at round ones."""
        if steps is not None:
            places = [(float(place), _short(name)) for place, name in enumerate(steps)]
            return [(place, name) for place, name in places if self.across.low <= place <= self.across.high]
        if not used or len(used) > 12:
            return [(tick, _figure(tick)) for tick in self.across.ticks()]
        marks: list[tuple[float, str]] = []
        for value in used:
            room = 7 * len(_figure(value)) + 8
            if not marks or self.across.place(value) - self.across.place(marks[-1][0]) >= room:
                marks.append((value, _figure(value)))
        return marks

    def strokes(self, number: int) -> Iterator[str]:
        """The line through a series, which is broken where a point cannot be drawn."""
        there, pen = set(self.drawn[number]), "M"
        for point in self.series[number].points:
            if point in there:
                at, height = self.place(point)
                yield f"{pen}{at} {height}"
            pen = "L" if point in there else "M"

    def staircase(self, front: Sequence[Point]) -> str:
        places = [self.place(point) for point in front]
        path = "".join(
            f"{'M' if not n else 'H'}{at}{' ' if not n else 'V'}{height}" for n, (at, height) in enumerate(places)
        )
        return f'<path d="{path}" fill="none" stroke="currentColor" stroke-opacity=".45" stroke-dasharray="3 3"/>'

    def markers(self, number: int) -> Iterator[str]:
        one = self.series[number]
        for point in self.drawn[number]:
            figures = f"{one.name}: {_figure(point[0])}, {_figure(point[1], self.percent)}"
            yield _marker(number, *self.place(point), (one.labels or {}).get(point) or figures, one.tone)

    def picture(self, title: str, parts: Sequence[str]) -> str:
        """The whole, with a legend where there are several series."""
        lines = len(self.series) if len(self.series) > 1 else 0
        height = HEIGHT + (8 + LEGEND_LINE * math.ceil(lines / 3) if lines else 0)
        legend = "".join(_legend(number, one.name, one.tone) for number, one in enumerate(self.series[:lines]))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
            f'fill="currentColor" font-family="sans-serif" font-size="12"><title>{escape(title)}</title>'
            f"{''.join(parts)}{legend}</svg>"
        )


def _legend(number: int, name: str, tone: str | None) -> str:
    x, y = LEFT + number % 3 * 190, HEIGHT + 12 + number // 3 * LEGEND_LINE
    return _marker(number, x, y - 4, name, tone) + f'<text x="{x + 10}" y="{y}">{escape(_short(name, 26))}</text>'


def _marker(number: int, x: float, y: float, said: str, tone: str | None) -> str:
    shape = (
        f'<circle cx="{x}" cy="{y}" r="4"',
        f'<rect x="{x - 3.5}" y="{y - 3.5}" width="7" height="7"',
        f'<path d="M{x} {y - 5}l5 9h-10z"',
        f'<path d="M{x} {y - 5}l5 5l-5 5l-5 -5z"',
    )[(number + number // len(SERIES)) % 4]
    name = shape[1:].split(" ", 1)[0]
    return f'{shape} fill="{_colour(number, tone)}"><title>{escape(said)}</title></{name}>'


def _colour(number: int, tone: str | None) -> str:
    return SERIES[number % len(SERIES)] if tone is None else TONES[tone]


def _step(least: float) -> float:
    """The round number, 1, 2 or 5 times a power of ten, that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(n * power for n in (1, 2, 5, 10) if n * power >= least * (1 - 1e-9))


def _figure(value: float, percent: bool = False) -> str:
    if percent:
        return f"{value * 100:.3g}%"
    if value and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-")
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _short(label: str, most: int = 16) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"
