"""Makes transactions.svg beside this file, the bars of the guide to `--model k`:

    .venv/bin/python docs/images/transactions.py

The figures are read from the guide itself, from the block that compares the algorithms: what the picture shows is what the block
prints. The picture is plain SVG in the reader's own font, and looks up no host when it is opened.
"""

from __future__ import annotations

import html
import os
import re
from dataclasses import dataclass
from pathlib import Path

GUIDE = Path(__file__).parents[1] / "guide" / "transactions.md"
LINE = re.compile(
    r"^# -> (?P<data>.*?) +gsc (?P<gsc>[\d.]+)%  pta (?P<pta>[\d.]+)%  split (?P<split>[\d.]+)%", re.MULTILINE
)
COLOURS = {"gsc": "#b9b9b9", "pta": "#4a7fb5", "split": "#d9822b"}
NAMES = {"gsc": "GSC", "pta": "PTA", "split": "split"}
WIDTH, BASE, HEIGHT = 720, 300, 230
AXIS = 80
"""Percent at the top of the axis."""
THICK = 26


@dataclass(frozen=True)
class Group:
    """What the algorithms lose on one data set, in percent of all occurrences."""

    data: str
    lost: dict[str, float]


def groups_of(guide: str) -> list[Group]:
    """The lines of the guide's comparison, in its order."""
    return [Group(found["data"], {name: float(found[name]) for name in COLOURS}) for found in LINE.finditer(guide)]


def bars_svg(groups: list[Group]) -> str:
    """The picture: three bars a data set, one for each algorithm."""
    step = (WIDTH - 70) / len(groups)
    parts = [*_legend(), *_axis()]
    for place, group in enumerate(groups):
        parts += _bars(group, 60 + step * (place + 0.5))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 335" font-family="system-ui, sans-serif" '
        f'font-size="14" fill="#222">\n<title>{html.escape(_spoken(groups))}</title>\n'
        f'<rect width="{WIDTH}" height="335" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _spoken(groups: list[Group]) -> str:
    told = (
        f"{group.data}: " + ", ".join(f"{NAMES[name]} {lost:.1f}%" for name, lost in group.lost.items())
        for group in groups
    )
    return f"Lost with k = 15. {'; '.join(told)}"


def _legend() -> list[str]:
    parts = [_text(20, 26, "lost, % of all occurrences, k = 15", "start")]
    for place, (name, colour) in enumerate(COLOURS.items()):
        x = 450 + 90 * place
        parts.append(
            f'<rect x="{x}" y="14" width="14" height="14" fill="{colour}"/>{_text(x + 20, 26, NAMES[name], "start")}'
        )
    return parts


def _axis() -> list[str]:
    return [
        f'<path d="M60 {_y(percent):.1f}H{WIDTH - 10}" stroke="#ddd"/>{_text(52, _y(percent) + 5, f"{percent}%", "end")}'
        for percent in range(0, AXIS + 1, 20)
    ]


def _bars(group: Group, middle: float) -> list[str]:
    parts = [_text(middle, BASE + 22, group.data, "middle", "bold", 12)]
    for place, (name, lost) in enumerate(group.lost.items()):
        x, top = middle + (place - 1) * (THICK + 3), _y(lost)
        parts.append(
            f'<rect x="{x - THICK / 2:.1f}" y="{top:.1f}" width="{THICK}" height="{BASE - top:.1f}" fill="{COLOURS[name]}"/>'
            f"{_text(x, top - 5, f'{lost:.1f}', 'middle', size=11)}"
        )
    return parts


def _text(x: float, y: float, text: str, anchor: str, weight: str = "normal", size: int = 14) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" font-size="{size}">'
        f"{html.escape(text)}</text>"
    )


def _y(percent: float) -> float:
    return BASE - HEIGHT * percent / AXIS


if __name__ == "__main__":
    picture = Path(__file__).with_name("transactions.svg")
    picture.write_text(bars_svg(groups_of(GUIDE.read_text(encoding="utf-8"))), encoding="utf-8")
    print(f"written to {os.path.relpath(picture)}")
