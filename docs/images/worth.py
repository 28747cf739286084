"""Makes worth-information.svg and worth-as-they-are.svg beside this file, what releases keep as k and m grow:

    .venv/bin/python docs/images/worth.py

The figures are those recorded in benchmarks/results (sections `worth` and `curves`). The pictures are plain SVG, and look up no host when
they are opened.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "benchmarks"))

from recorded import number, recorded  # noqa: E402 (files of another folder)
from shoal.drawing.charts import HEIGHT, WIDTH, Series, line_chart  # noqa: E402
from worth import DRAWN, drawn_ways  # noqa: E402

PICTURES = {"information kept": "worth-information.svg", "as they are": "worth-as-they-are.svg"}
TALL = HEIGHT + 60
"""With the legend."""


def grid_svg(head: str) -> str:
    """One row of two charts a data set: against k with m = 2, and against m with k = 5."""
    charts = [chart(data, tree, along, head) for data, tree in DRAWN for along in ("k", "m")]
    placed = (
        one.replace("<svg ", f'<svg x="{place % 2 * WIDTH}" y="{place // 2 * TALL}" ', 1)
        for place, one in enumerate(charts)
    )
    body = "\n".join(placed)
    wide, high = 2 * WIDTH, len(DRAWN) * TALL
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" color="#222">\n'
        f'<rect width="{wide}" height="{high}" fill="#fff"/>\n{body}\n</svg>\n'
    )


def chart(data: str, tree: str, along: str, head: str) -> str:
    fixed = {"k": {"m": 2}, "m": {"k": 5}}[along]
    series = []
    for way in drawn_ways():
        found = [row for row in rows_of(data=data, hierarchy=tree, **fixed, **way) if head in row]
        points = sorted((float(row[along]), number(row[head])) for row in found)
        price = " by NCP" if way["price"] == "ncp" else ""
        series.append(Series(f"{way['algorithm']}{price}", points))
    (held,) = fixed.items()
    return line_chart(f"{data}, {held[0]} = {held[1]}", along, head, series, log_x=along == "k", percent=True)


def rows_of(**wanted: Any) -> list[Any]:
    kept = [what for what in map(recorded, ("worth", "curves")) if what is not None]
    return [row for what in kept for row in what.where(**wanted)]


if __name__ == "__main__":
    for head, name in PICTURES.items():
        picture = HERE / name
        picture.write_text(grid_svg(head), encoding="utf-8")
        print(f"written to {os.path.relpath(picture)}")
