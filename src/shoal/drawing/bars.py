"""Plots as plain SVG: horizontal bars with their figures, for a page or a PDF. No script, no font of its own, no link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from shoal.drawing.palette import TONES

WIDTH, LABEL, FIGURE, LINE = 640, 230, 90, 24


@dataclass(frozen=True)
class Bar:
    """A share from 0 to 1, what it is a share of, and how it is written."""

    label: str
    share: float
    figure: str
    tone: str = "plain"
    """As in `palette.TONES`."""


def bars(rows: Sequence[Bar], title: str) -> str:
    """The bars below each other. Labels must be printable: they are escaped, not cleaned."""
    height = LINE * len(rows) + 8
    room = WIDTH - LABEL - FIGURE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        f'font-family="sans-serif" font-size="12"><title>{escape(title)}</title>'
    ]
    for place, bar in enumerate(rows):
        y = 4 + place * LINE
        length = round(room * min(1.0, max(0.0, bar.share)), 1)
        parts.append(
            f'<text x="{LABEL - 8}" y="{y + 15}" text-anchor="end">{escape(_short(bar.label))}</text>'
            f'<rect x="{LABEL}" y="{y + 3}" width="{room}" height="{LINE - 8}" fill="#eeeeee"/>'
            f'<rect x="{LABEL}" y="{y + 3}" width="{length}" height="{LINE - 8}" fill="{TONES[bar.tone]}"/>'
            f'<text x="{LABEL + room + 8}" y="{y + 15}">{escape(bar.figure)}</text>'
        )
    return "".join((*parts, "</svg>"))


def _short(label: str, most: int = 36) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"
