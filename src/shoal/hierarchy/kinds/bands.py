"""Trees over values that stand in an order: numbers in bands, rounded, or coded at both ends, and bands that the data hold already.

All of them are rows of cells, each next to the one before. Two neighbours make a cell of twice the width, two of these the next, up to the
root; a cell without a value is left out. Numbers lie on a grid that the spec names, so that a label says where a cell ends, not
which values there are.

    bands:10                 [40-50), [40-60), [40-80), ...
    bands:0,18,65            <0, [0-18), [18-65), 65+
    round:5                  45, [40:45], [40:55], ...; 42.5 becomes 45
    top:90                   90+ from 90 on, all others as they are; bottom:18 makes <18 of what is below
    bands:10,top:90          both; round:5,bottom:20,top:90

Values that such a spec puts into a cell are never published as themselves: that is what a rounded or coded number is for. Bands of the
data, such as [50-60), 50-59, <18 or 65+, are published as they are, or as one band with their neighbours.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from shoal.errors import InputError
from shoal.hierarchy.build import ROOT
from shoal.hierarchy.kinds.columns import cuts_between, decimal, interval
from shoal.hierarchy.tree import Hierarchy

EXAMPLES = "bands:10, bands:0,18,65, round:5, top:90 or bands:10,top:90"

_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_PARTS = re.compile(rf"(bands|round|top|bottom):({_NUMBER}(?:,{_NUMBER})*)(?:,|\Z)", re.ASCII)
_BAND = re.compile(
    rf"\s*(?:(?P<open>[\[(])\s*(?P<low>{_NUMBER})\s*(?:-|:|,|;|to|\.\.)\s*(?P<high>{_NUMBER})\s*(?P<close>[\])])"
    rf"|(?P<from>{_NUMBER})\s*(?:-|to|\.\.)\s*(?P<upto>{_NUMBER})"
    rf"|(?P<under><=?)\s*(?P<below>{_NUMBER})|(?P<over>>=?)\s*(?P<above>{_NUMBER})|(?P<plus>{_NUMBER})\s*\+|(?P<single>{_NUMBER}))"
    rf"(?P<unit>\s*[a-z]*)\s*",
    re.ASCII | re.IGNORECASE,
)


class Band(NamedTuple):
    """A stretch of numbers, as a text such as `[50-60)`, `50-59`, `<18`, `65+` or `70` tells it."""

    low: str
    """Empty where it has no lower bound."""
    high: str
    opening: str = ""
    """`[` or `(`, if it is written with brackets; `(` also where the bound is outside."""
    closing: str = ""
    unit: str = ""

    @property
    def place(self) -> tuple[float, bool, float, bool]:
        """By which bands are ordered: from where to where they reach, and how they stand to the bounds."""
        low, high = float(self.low or "-inf"), float(self.high or "inf")
        return low, self.opening == "(", high, self.closing != ")"

    def up_to(self, last: Band) -> str:
        """One band from the beginning of this one to the end of another."""
        if not self.low and not last.high:
            return ROOT
        if not self.low:
            return f"<{'' if last.closing == ')' else '='}{last.high}{last.unit}"
        if not last.high:
            return f">{self.low}{last.unit}" if self.opening == "(" else f"{self.low}{self.unit}+"
        if not self.opening and not last.closing:
            return f"{self.low}-{last.high}{last.unit}"
        return f"{self.opening or '['}{self.low}-{last.high}{last.closing or ']'}{last.unit}"


@dataclass(frozen=True)
class _Cells:
    """A row of cells, numbered: what a stretch of them is called, the last of it included. The two ends may reach to infinity."""

    label: Callable[[int, int], str]
    first: int | None = None
    """The cell of all that is below the bottom."""
    last: int | None = None
    """The cell of all from the top on."""
    border: Callable[[int], str] = str
    """Where a cell begins."""
    own: bool = False
    """Whether a cell has one value alone and is called like it. A rounded number is not: nobody is told what it was."""

    def name(self, start: int, stop: int) -> str:
        """What the cells from `start` to before `stop` are called."""
        below = self.first is not None and start <= self.first
        above = self.last is not None and stop > self.last
        if below and above:
            return ROOT
        if below:
            return f"<{self.border(stop)}"
        return f"{self.border(start)}+" if above else self.label(start, stop)


def band_tree(names: Sequence[str], spec: str) -> Hierarchy:
    """Numbers in the cells of `spec`."""
    parts = _parts(spec)
    numbers = [Fraction(name) for name in names]
    if len(parts.get("bands", ())) > 1:
        return _tree(names, *_at_borders(numbers, parts["bands"]), spec)
    if "bands" in parts or "round" in parts:
        return _tree(names, *_on_a_grid(numbers, parts), spec)
    return _tree(names, *_as_they_are(names, numbers, parts), spec)


def category_tree(names: Sequence[str], source: str = "bands") -> Hierarchy:
    """Bands that the data hold, joined with their neighbours; raises where values are not bands, or overlap."""
    order = band_order(names)
    if order is None:
        raise InputError(
            "its values are neither numbers nor bands that stand in an order, such as [50-60), 50-59, <18 and 65+; use a hierarchy file"
        )
    bands = [band for i in order if (band := band_in(names[i])) is not None]
    rank = [0] * len(order)
    for place, i in enumerate(order):
        rank[i] = place
    cells = _Cells(lambda start, stop: bands[start].up_to(bands[min(stop, len(bands)) - 1]))
    return _tree(names, rank, cells, source, floored=False)


def band_order(names: Sequence[str]) -> list[int] | None:
    """The places of bands from the lowest to the highest; None unless all are bands or numbers, some are bands, and none overlap."""
    bands = [band for name in names if (band := band_in(name)) is not None]
    if len(bands) < max(2, len(names)) or all(band.low == band.high for band in bands):
        return None
    order = sorted(range(len(bands)), key=lambda i: bands[i].place)
    ends = [bands[i].place for i in order]
    # 0-10 and 10-20 share an end, as people write it; two numbers that are the same do not stand side by side.
    apart = all(one[2] <= other[0] and one[:3:2] != other[:3:2] for one, other in pairwise(ends))
    return order if apart and len({band.unit.strip() for band in bands if band.unit.strip()}) < 2 else None


def band_in(text: str) -> Band | None:
    """The band that a text tells."""
    found = _BAND.fullmatch(text)
    if found is None:
        return None
    parts = found.groupdict(default="")
    unit = parts["unit"].rstrip()
    if parts["below"]:
        return Band("", parts["below"], "", "]" if "=" in parts["under"] else ")", unit)
    if parts["above"]:
        return Band(parts["above"], "", "" if "=" in parts["over"] else "(", "", unit)
    if parts["plus"] or parts["single"]:
        return Band(parts["plus"] or parts["single"], parts["single"], unit=unit)
    low, high = parts["low"] or parts["from"], parts["high"] or parts["upto"]
    return Band(low, high, parts["open"], parts["close"], unit) if float(low) <= float(high) else None


def _parts(spec: str) -> dict[str, list[Fraction]]:
    """What the parts of a spec say; raises where it is not one."""
    found = {name: [Fraction(number) for number in numbers.split(",")] for name, numbers in _PARTS.findall(spec)}
    whole = "".join(match[0] for match in _PARTS.finditer(spec)) == spec and not spec.endswith(",")
    single = all(len(numbers) == 1 for name, numbers in found.items() if name != "bands")
    borders = found.get("bands", [])
    steps = [*(borders if len(borders) == 1 else []), *found.get("round", [])]
    if not (whole and single) or len(_PARTS.findall(spec)) > len(found) or len(steps) + (len(borders) > 1) > 1:
        raise InputError(f"hierarchy {spec!r} is not complete; use {EXAMPLES}")
    if any(step <= 0 for step in steps) or any(one >= other for one, other in pairwise(borders)):
        raise InputError(f"hierarchy {spec!r}: widths are more than 0, and borders ascend; use {EXAMPLES}")
    ends = [found[end][0] for end in ("bottom", "top") if end in found]
    if len(borders) > 1 and ends:
        raise InputError(f"hierarchy {spec!r}: bands with borders have ends already; leave out top and bottom")
    if any(end % step for end in ends for step in steps):
        raise InputError(
            f"hierarchy {spec!r}: top and bottom must be multiples of {decimal(steps[0])}; use for example top:{decimal(steps[0] * 9)}"
        )
    if len(ends) == 2 and ends[0] >= ends[1]:
        raise InputError(f"hierarchy {spec!r}: the bottom must lie below the top; use for example bottom:18,top:90")
    return found


def _at_borders(numbers: Sequence[Fraction], borders: Sequence[Fraction]) -> tuple[list[int], _Cells]:
    def label(start: int, stop: int) -> str:
        return _half_open(borders[start - 1], borders[stop - 1])

    index = [bisect_right(borders, number) for number in numbers]
    return index, _Cells(label, 0, len(borders), lambda cell: decimal(borders[cell - 1]))


def _on_a_grid(numbers: Sequence[Fraction], parts: dict[str, list[Fraction]]) -> tuple[list[int], _Cells]:
    """Numbers in bands of one width, or rounded, which then is done before the ends are looked at."""
    rounded = "round" in parts
    step = parts["round" if rounded else "bands"][0]
    first = int(parts["bottom"][0] / step) - 1 if "bottom" in parts else None
    last = int(parts["top"][0] / step) if "top" in parts else None

    def label(start: int, stop: int) -> str:
        if not rounded:
            return _half_open(start * step, stop * step)
        one = decimal(start * step)
        return one if stop == start + 1 else f"[{one}:{decimal((stop - 1) * step)}]"

    index = [int((number / step + Fraction(int(rounded), 2)) // 1) for number in numbers]
    if first is not None:
        index = [max(first, cell) for cell in index]
    if last is not None:
        index = [min(last, cell) for cell in index]
    return index, _Cells(label, first, last, lambda cell: decimal(cell * step))


def _as_they_are(
    names: Sequence[str], numbers: Sequence[Fraction], parts: dict[str, list[Fraction]]
) -> tuple[list[int], _Cells]:
    """Numbers with nothing but a top or a bottom: each is a cell of its own between them."""
    bottoms, tops = parts.get("bottom", []), parts.get("top", [])
    inside = [i for i, n in enumerate(numbers) if all(n >= end for end in bottoms) and all(n < end for end in tops)]
    inside.sort(key=lambda i: numbers[i])
    cuts = cuts_between([numbers[i] for i in inside]) if inside else []
    edges = [*(bottoms or cuts[:1]), *cuts[1:-1], *(tops or cuts[-1:])]
    """Where cells begin, the first of all numbers being number 1, and where the last one ends."""
    whole = all(number.denominator == 1 for number in (*numbers, *edges))
    cell_of = {i: place + 1 for place, i in enumerate(inside)}

    def label(start: int, stop: int) -> str:
        start, stop = max(start, 1), min(stop, len(edges))
        return names[inside[start - 1]] if stop == start + 1 else interval(edges[start - 1], edges[stop - 1], whole)

    ends = (0 if bottoms else None, len(edges) if tops else None)
    index = [cell_of.get(i, 0 if bottoms and n < bottoms[0] else len(edges)) for i, n in enumerate(numbers)]
    return index, _Cells(label, *ends, lambda cell: decimal(edges[cell - 1]), own=True)


def _half_open(low: Fraction, high: Fraction) -> str:
    return f"[{decimal(low)}{'-' if low >= 0 else ' to '}{decimal(high)})"


def _tree(names: Sequence[str], index: Sequence[int], cells: _Cells, source: str, floored: bool = True) -> Hierarchy:
    """The tree over cells: `index` has the cell of each value. With `floored`, a value is never published below its cell."""
    labels, parent = list(names), [-1] * len(names)

    def hang(below: Sequence[tuple[int, int]], width: int) -> list[tuple[int, int]]:
        """Nodes as (cell, node), under the cells of a width that hold them; one alone goes up as it is."""
        nodes_in: dict[int, list[int]] = {}
        for cell, node in below:
            nodes_in.setdefault(cell // width * width, []).append(node)
        above = []
        for start, nodes in nodes_in.items():
            label = cells.name(start, start + width)
            if len(nodes) > 1 or (width == 1 and not (cells.own and labels[nodes[0]] == label)):
                for node in nodes:
                    parent[node] = len(labels)
                nodes = [len(labels)]
                labels.append(label)
                parent.append(-1)
            above.append((start, nodes[0]))
        return above

    level = [(cell, leaf) for leaf, cell in enumerate(index)]
    floor = None
    if floored:
        level = hang(level, 1)
        floor = [v if parent[v] < 0 else parent[v] for v in range(len(names))]
    width = 2
    while len(level) > 2:
        level, width = hang(level, width), width * 2
    return Hierarchy.from_parents(
        [len(labels) if above < 0 else above for above in parent] + [-1], [*labels, ROOT], source, floor
    )
