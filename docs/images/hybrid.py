"""Makes hybrid.svg beside this file, the three bars of the guide to `--algorithm hybrid`:

    .venv/bin/python docs/images/hybrid.py

The figures are those that the guide's own blocks show for Diabetes-130, k = 5, m = 2. The picture is plain SVG in the
reader's own font, and looks up no host when it is opened.
"""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Bar:
    title: str
    command: str
    generalized: float
    deleted: float
    """Both in percent of all occurrences."""


BARS = (
    Bar("The paper's model", "exact", 100.0, 0.0),
    Bar("Dropping categories", "exact, --suppress 0.02", 5.856, 0.556),
    Bar("Deleting occurrences", "hybrid", 1.602, 0.713),
)
GENERALIZED, DELETED = "#4a7fb5", "#d9822b"
WIDTH, BASE, HEIGHT = 720, 300, 220
AXIS = 8.0
"""Percent at the top of the axis: the first bar is cut off there, or the others could not be told apart."""


def bars_svg() -> str:
    """The picture: one bar a model, what was generalized below, what was deleted on top."""
    step = (WIDTH - 80) / len(BARS)
    parts = [_legend(), *_axis()]
    for place, bar in enumerate(BARS):
        parts += _column(bar, 70 + step * (place + 0.5))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 370" font-family="system-ui, sans-serif" '
        f'font-size="14" fill="#222">\n<title>{html.escape(_spoken())}</title>\n'
        f'<rect width="{WIDTH}" height="370" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _spoken() -> str:
    told = (f"{bar.title} loses {bar.generalized + bar.deleted:.2f}%" for bar in BARS)
    return f"Lost on Diabetes-130, k = 5, m = 2: {'; '.join(told)}"


def _legend() -> str:
    return (
        f'<rect x="440" y="14" width="14" height="14" fill="{GENERALIZED}"/>{_text(460, 26, "generalized", "start")}\n'
        f'<rect x="570" y="14" width="14" height="14" fill="{DELETED}"/>{_text(590, 26, "deleted", "start")}'
    )


def _axis() -> list[str]:
    lines = [_text(20, 26, "lost, % of all occurrences", "start")]
    for percent in range(0, int(AXIS) + 1, 2):
        y = _y(percent)
        lines.append(f'<path d="M60 {y:.1f}H{WIDTH - 10}" stroke="#ddd"/>{_text(52, y + 5, f"{percent}%", "end")}')
    return lines


def _column(bar: Bar, middle: float) -> list[str]:
    total = bar.generalized + bar.deleted
    cut_off = total > AXIS
    split, top = _y(min(bar.generalized, AXIS)), _y(min(total, AXIS))
    parts = [_block(middle, split, BASE, GENERALIZED)]
    if bar.deleted:
        parts.append(_block(middle, top, split, DELETED))
    if cut_off:
        # A white zigzag says that the bar goes on.
        parts.append(
            f'<path d="M{middle - 56:.1f} {top + 26:.1f}l28 -10l28 10l28 -10l28 10" stroke="#fff" stroke-width="6" fill="none"/>'
        )
    note = "the root, nothing else" if cut_off else f"{bar.generalized:.2f} + {bar.deleted:.2f}"
    return [
        *parts,
        _text(middle, top - 8, f"{total:.2f}%", "middle", "bold"),
        _text(middle, BASE + 22, bar.title, "middle", "bold"),
        _text(middle, BASE + 41, bar.command, "middle"),
        _text(middle, BASE + 60, note, "middle"),
    ]


def _block(middle: float, top: float, bottom: float, colour: str) -> str:
    return f'<rect x="{middle - 50:.1f}" y="{top:.1f}" width="100" height="{bottom - top:.1f}" fill="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str, weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{html.escape(text)}</text>'


def _y(percent: float) -> float:
    return BASE - HEIGHT * percent / AXIS


if __name__ == "__main__":
    picture = Path(__file__).with_name("hybrid.svg")
    picture.write_text(bars_svg(), encoding="utf-8")
    print(f"written to {os.path.relpath(picture)}")
