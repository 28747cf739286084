"""Makes buckets.svg beside this file, the bars of the guide to `--model diversity`:

    .venv/bin/python docs/images/buckets.py

The figures are read from the guide itself, from the block that attacks the census: what the picture shows is what the block
prints. The picture is plain SVG in the reader's own font, and looks up no host when it is opened.
"""

from __future__ import annotations

import html
import os
import re
from dataclasses import dataclass
from pathlib import Path

GUIDE = Path(__file__).parents[1] / "guide" / "buckets.md"
LINE = re.compile(
    r"^# -> l = (?P<l>\d+), \d+ rules: narrowed below l by anatomy (?P<anatomy>\d+) rows, (?P<certain>\d+) certain; "
    r"injector (?P<injector>\d+) rows",
    re.MULTILINE,
)
COLOURS = {"anatomy": "#b9b9b9", "injector": "#d9822b"}
NAMES = {"anatomy": "Anatomy", "injector": "Injector"}
CERTAIN = "#7a3b3b"
WIDTH, BASE, HEIGHT = 720, 290, 220
AXIS = 800
"""Rows at the top of the axis."""
THICK = 46


@dataclass(frozen=True)
class Group:
    """How many rows are narrowed below one l, and how many of Anatomy's down to a single value."""

    l: int  # noqa: E741 (the papers' name)
    narrowed: dict[str, int]
    certain: int


def groups_of(guide: str) -> list[Group]:
    """The lines of the guide's attack, in its order."""
    return [
        Group(int(found["l"]), {name: int(found[name]) for name in COLOURS}, int(found["certain"]))
        for found in LINE.finditer(guide)
    ]


def bars_svg(groups: list[Group]) -> str:
    """The picture: two bars for each l."""
    step = (WIDTH - 80) / len(groups)
    parts = [*_legend(), *_axis()]
    for place, group in enumerate(groups):
        parts += _bars(group, 70 + step * (place + 0.5))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 325" font-family="system-ui, sans-serif" '
        f'font-size="14" fill="#222">\n<title>{html.escape(_spoken(groups))}</title>\n'
        f'<rect width="{WIDTH}" height="325" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _spoken(groups: list[Group]) -> str:
    told = (
        f"l = {group.l}: Anatomy {group.narrowed['anatomy']}, {group.certain} of them certain, "
        f"Injector {group.narrowed['injector']}"
        for group in groups
    )
    return f"Rows narrowed down below l. {'; '.join(told)}"


def _legend() -> list[str]:
    parts = [_text(20, 26, "rows of 30,718 narrowed down below l", "start")]
    shown = (*((COLOURS[name], NAMES[name]) for name in COLOURS), (CERTAIN, "one value left"))
    for place, (colour, name) in enumerate(shown):
        x = 380 + 105 * place
        parts.append(f'<rect x="{x}" y="14" width="14" height="14" fill="{colour}"/>{_text(x + 20, 26, name, "start")}')
    return parts


def _axis() -> list[str]:
    return [
        f'<path d="M60 {_y(rows):.1f}H{WIDTH - 10}" stroke="#ddd"/>{_text(52, _y(rows) + 5, str(rows), "end")}'
        for rows in range(0, AXIS + 1, 200)
    ]


def _bars(group: Group, middle: float) -> list[str]:
    parts = [_text(middle, BASE + 22, f"l = {group.l}", "middle", "bold")]
    for place, (name, rows) in enumerate(group.narrowed.items()):
        x, top = middle + (place - 0.5) * (THICK + 6), _y(rows)
        parts.append(_bar(x, top, BASE, COLOURS[name]) + _text(x, top - 5, str(rows), "middle", size=12))
        if name == "anatomy":
            parts.append(_bar(x, _y(group.certain), BASE, CERTAIN))
    return parts


def _bar(middle: float, top: float, bottom: float, colour: str) -> str:
    return f'<rect x="{middle - THICK / 2:.1f}" y="{top:.1f}" width="{THICK}" height="{bottom - top:.1f}" fill="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str, weight: str = "normal", size: int = 14) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" font-size="{size}">'
        f"{html.escape(text)}</text>"
    )


def _y(rows: float) -> float:
    return BASE - HEIGHT * rows / AXIS


if __name__ == "__main__":
    picture = Path(__file__).with_name("buckets.svg")
    picture.write_text(bars_svg(groups_of(GUIDE.read_text(encoding="utf-8"))), encoding="utf-8")
    print(f"written to {os.path.relpath(picture)}")
