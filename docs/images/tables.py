"""Makes tables.svg beside this file, the curves of the guide to tables:

    .venv/bin/python docs/images/tables.py

The figures are read from the guide itself, from the block that sweeps delta: what the picture shows is what the block prints. The
picture is plain SVG in the reader's own font, and looks up no host when it is opened.
"""

from __future__ import annotations

import html
import os
import re
from dataclasses import dataclass
from pathlib import Path

GUIDE = Path(__file__).parents[1] / "guide" / "tables.md"
LINE = re.compile(
    r"^# -> (?P<data>\w+) +(?P<algorithm>[\w-]+)(?:  delta +(?P<delta>[\d.]+))? +columns +(?P<columns>[\d.]+)%  items (?P<items>[\d.]+)%$",
    re.MULTILINE,
)
COLOURS = {"rmerge-r": "#d9822b", "rmerge-t": "#4a7fb5"}
TITLES = {"patients": "71,517 patients, k = 25", "households": "801 households, k = 5"}
TICKS = {"patients": (0.0, 1.0, 2.0, 3.0), "households": (0.0, 0.25, 0.5, 0.75, 1.0)}
"""Percent of the items along each axis."""
WIDTH, BASE, HEIGHT, PANEL = 720, 300, 220, 270
LEFT = {"patients": 60, "households": 420}


@dataclass(frozen=True)
class Point:
    """One release: what the columns and the items lose, in percent. Without delta nothing was merged (rfirst)."""

    data: str
    algorithm: str
    delta: str | None
    columns: float
    items: float


def points_of(guide: str) -> list[Point]:
    """The lines of the guide's sweep, in its order."""
    return [
        Point(found["data"], found["algorithm"], found["delta"], float(found["columns"]), float(found["items"]))
        for found in LINE.finditer(guide)
    ]


def curves_svg(points: list[Point]) -> str:
    """The picture: a panel a data set, and in it a curve for each algorithm from rfirst through the deltas."""
    parts = _legend()
    for data in TITLES:
        parts += _panel(data, [point for point in points if point.data == data])
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 360" font-family="system-ui, sans-serif" '
        f'font-size="14" fill="#222">\n<title>{html.escape(_spoken(points))}</title>\n'
        f'<rect width="{WIDTH}" height="360" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _spoken(points: list[Point]) -> str:
    told = (
        f"{point.data}, {point.algorithm}{f' with delta {point.delta}' if point.delta else ''}: "
        f"columns {point.columns:.1f}%, items {point.items:.2f}%"
        for point in points
    )
    return f"Lost of columns and items. {'; '.join(told)}"


def _legend() -> list[str]:
    parts = [_text(20, 24, "items lost (NCP, %) against columns lost (NCP, %)", "start")]
    for place, (name, colour) in enumerate(COLOURS.items()):
        x = 400 + 110 * place
        parts.append(f'<rect x="{x}" y="12" width="14" height="14" fill="{colour}"/>{_text(x + 20, 24, name, "start")}')
    parts.append(f'<circle cx="627" cy="19" r="5" fill="#222"/>{_text(640, 24, "rfirst", "start")}')
    return parts


def _panel(data: str, points: list[Point]) -> list[str]:
    left = LEFT[data]
    parts = [_text(left + PANEL / 2, 62, TITLES[data], "middle", "bold")]
    for share in TICKS[data]:
        y = _y(data, share)
        parts.append(
            f'<path d="M{left} {y:.1f}H{left + PANEL}" stroke="#ddd"/>{_text(left - 8, y + 4, f"{share:.2f}", "end", size=12)}'
        )
    parts += [_text(_x(data, share), BASE + 18, f"{share}", "middle", size=12) for share in range(0, 101, 20)]
    parts.append(_text(left + PANEL / 2, BASE + 40, "columns lost, %", "middle", size=12))
    start = next(point for point in points if point.delta is None)
    for algorithm, colour in COLOURS.items():
        line = [start, *(point for point in points if point.algorithm == algorithm)]
        path = " ".join(f"{_x(data, point.columns):.1f},{_y(data, point.items):.1f}" for point in line)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        free = 0.0  # where the next label has room
        for point in line[1:]:
            x, y = _x(data, point.columns), _y(data, point.items)
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>')
            if algorithm == "rmerge-r":
                at = max(x - 3, free)
                free = at + 28
                parts.append(_text(at, y + 17, f"{'δ ' if point is line[1] else ''}{point.delta}", "end", size=11))
    parts.append(f'<circle cx="{_x(data, start.columns):.1f}" cy="{_y(data, start.items):.1f}" r="5" fill="#222"/>')
    return parts


def _text(x: float, y: float, text: str, anchor: str, weight: str = "normal", size: int = 14) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" font-size="{size}">'
        f"{html.escape(text)}</text>"
    )


def _x(data: str, percent: float) -> float:
    return LEFT[data] + PANEL * percent / 100


def _y(data: str, percent: float) -> float:
    return BASE - HEIGHT * percent / TICKS[data][-1]


if __name__ == "__main__":
    picture = Path(__file__).with_name("tables.svg")
    picture.write_text(curves_svg(points_of(GUIDE.read_text(encoding="utf-8"))), encoding="utf-8")
    print(f"written to {os.path.relpath(picture)}")
