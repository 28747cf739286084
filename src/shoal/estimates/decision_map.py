"""The decision map: what each of many promises would keep, how far that is known, and which of them to propose.

Sets have a grid of k and m; tables with items a frontier, columns against items, over balances and algorithms. Points are tried from coarse
to fine: the ends of each axis first, then the middles of what is between, each on a small sample; then those that are not known well
enough on larger ones. What a stronger promise keeps, a weaker one keeps too: so each point also narrows the ranges of its neighbours, and
some never have to be tried twice.

A range is shown as one figure only where it is narrow: all of it must be within FACTOR of the loss that is shown, or within SLACK of it.
Else the point is unknown. `benchmarks/run.py trust` counts how often releases keep to that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from shoal.errors import Unreachable
from shoal.estimates.outlook import Range
from shoal.evaluation.raw_risk import affordable
from shoal.evaluation.uniqueness import uniqueness_curve
from shoal.records.records import Records

KS = (2, 3, 5, 10, 20, 50)
MS = (1, 2, 3)
LS = (2, 3, 4, 6, 10)
BALANCES = (0.0, 0.25, 0.5, 0.75, 1.0)
OTHERS = ("rfirst", "tfirst")
"""Algorithms for tables beside `joint`: the ends of the frontier, as the papers have them."""
FACTOR, SLACK = 1.5, 0.02
"""How far a release may be from the loss that is shown: so many times as much or as little, or so much more or less."""
LUCK = 0.01
"""How much more a search may keep of a stronger promise than of a weaker one, by chance."""
MOMENT = 8.0
"""Seconds of computing for a point, at most; nobody waits for a map as for an estimate."""
KNOWN, SUBSETS = 3, 1e7
"""Items that the attacker knows who is left, and how many sets of items are counted for it at most."""
LEAST = {"k": 5, "m": 2, "l": 2}
"""Weaker promises are shown, and never proposed."""
FRONTIER = 3
"""Points of a frontier that must be known before one is proposed: with fewer, what is known is proposed because it is known."""

At = Mapping[str, Any]
"""The settings of a point, by the names of options: `{"k": 5, "m": 2}`, `{"algorithm": "joint", "balance": 0.5}`."""
T = TypeVar("T")


@dataclass(frozen=True)
class Spot:
    """A point of the map.

    Attributes:
        at: Its settings, by the names of options.
        kept: Between which shares the information is taken to be that is kept; None before anything was tried.
        sides: The same of the columns and of the items, where there are both.
        how: `run` if a release told it, `estimated`, or `unknown` where a figure would say more than is known.
        risk: The share of published rows that somebody who knows KNOWN items (and all columns) still singles out, where it was counted.
        sample: Rows that it was tried on, if any.
        why: Why there is none, where the promise cannot be kept.
    """

    at: At
    kept: Range | None = None
    sides: tuple[Range, Range] | None = None
    how: str = "unknown"
    risk: float | None = None
    sample: int = 0
    why: str = ""
    figure: float | None = None
    """What is shown for `kept`, where that is another figure than the one of the range alone: beside its neighbours."""
    all_rows: bool = False
    """Whether it was tried on all rows. Then `kept` is one figure, unless the search had less time than that of a release has."""

    @property
    def share(self) -> float | None:
        """The share of the information that is kept, as one figure; None where it is not known well enough."""
        if self.kept is None or self.how == "unknown":
            return None
        return figure_of(self.kept) if self.figure is None else self.figure

    def to_dict(self) -> dict[str, Any]:
        kept = None if self.kept is None else [self.kept.low, self.kept.high]
        sides = None if self.sides is None else {
            name: [one.low, one.high] for name, one in zip(("columns", "items"), self.sides, strict=True)
        }  # fmt: skip
        return {
            "at": dict(self.at), "how": self.how, "info": self.share, "kept": kept, "sides": sides, "risk": self.risk,
            "sample": self.sample, "why": self.why,
        }  # fmt: skip


@dataclass(frozen=True)
class DecisionMap:
    """What each of many promises would keep, as far as a moment for each could tell.

    Attributes:
        rows: How many rows there are.
    """

    spots: tuple[Spot, ...]
    """The points, coarse to fine."""
    rows: int

    @property
    def knee(self) -> Spot | None:
        """The point to propose; None while too little is known."""
        return knee_of(self.spots)

    def __repr__(self) -> str:
        known = sum(spot.how != "unknown" for spot in self.spots)
        return f"DecisionMap({known} of {len(self.spots)} points known, {self.rows:,} rows)"

    def to_dict(self) -> dict[str, Any]:
        knee = self.knee
        return {
            "rows": self.rows,
            "knee": None if knee is None else dict(knee.at),
            "spots": [spot.to_dict() for spot in self.spots],
        }


# Which points there are, and in which order they are tried.


def grid_of(kind: str, now: At) -> list[At]:
    """The points of a kind of promise, coarse to fine; `now` is where the plan stands, which comes first and has its place on the grid."""
    if kind in ("rt", "lm"):
        ways: list[At] = [{"algorithm": "joint", "balance": BALANCES[i]} for i in coarse_to_fine(len(BALANCES))]
        ways += [{"algorithm": name} for name in OTHERS]
        return [*(way for way in ways if way == now), *(way for way in ways if way != now)]
    axes = axes_of(kind, now)
    names = list(axes)
    levels = {name: dict(zip(coarse_to_fine(len(axes[name])), range(len(axes[name])), strict=True)) for name in names}

    def coarseness(place: Sequence[int]) -> tuple[bool, int, int]:
        steps = [levels[name][i] for name, i in zip(names, place, strict=True)]
        is_now = all(axes[name][i] == now.get(name) for name, i in zip(names, place, strict=True))
        return not is_now, max(steps), sum(steps)

    places = [()] if not names else _product([range(len(axes[name])) for name in names])
    return [
        {name: axes[name][i] for name, i in zip(names, place, strict=True)}
        for place in sorted(places, key=coarseness)
        if names
    ]


def axes_of(kind: str, now: At) -> dict[str, tuple[int, ...]]:
    """The axes of a kind of promise, with where the plan stands among their values. Tables with items have none."""
    ways: dict[str, dict[str, tuple[int, ...]]] = {
        "km": {"k": KS, "m": MS},
        "k": {"k": KS},
        "table": {"k": KS, **({"l": (1, *LS)} if (now.get("l") or 1) > 1 else {})},
        "diversity": {"l": LS},
    }
    usual = ways.get(kind, {})
    return {name: tuple(sorted({*values, int(now[name])})) if name in now else values for name, values in usual.items()}


def coarse_to_fine(places: int) -> list[int]:
    """Places 0, 1, ... in another order: both ends, the middle, then the middles of what is between.

    >>> coarse_to_fine(6)
    [0, 5, 2, 1, 3, 4]
    """
    order, gaps = [0, places - 1][: max(0, places)], [(0, places - 1)]
    while gaps:
        low, high = gaps.pop(0)
        if high - low > 1:
            middle = (low + high) // 2
            order.append(middle)
            gaps += [(low, middle), (middle, high)]
    return order


def filling(
    points: Iterable[At], trials_of: Callable[[At], Iterator[tuple[T, bool]]], is_known: Callable[[At], bool]
) -> Iterator[tuple[At, T | None, str]]:
    """Trials of all points, each as soon as it is there: the first of every point, then larger ones of those that are not known yet.

    What cannot be kept comes with None and the reason.
    """
    waiting: list[tuple[At, Iterator[tuple[T, bool]]]] = [(at, trials_of(at)) for at in points]
    first = True
    while waiting:
        left = []
        for at, trials in waiting:
            if not first and is_known(at):
                continue
            try:
                found, final = next(trials)
            except Unreachable as error:
                yield at, None, str(error)
                continue
            yield at, found, ""
            if not final:
                left.append((at, trials))
        waiting, first = left, False


# How far a point is known.


def figure_of(kept: Range) -> float:
    """The one figure for a range of what is kept: the loss in the middle, as factors go."""
    most, least = 1 - kept.low, 1 - kept.high
    if most - least <= 2 * SLACK or least <= 0:
        return (kept.low + kept.high) / 2
    return 1 - math.sqrt(most * least)


def is_trusted(kept: Range | None) -> bool:
    """Whether all of a range is near the figure that is shown for it."""
    if kept is None:
        return False
    shown = 1 - figure_of(kept)
    return all(is_near(shown, 1 - end) for end in (kept.low, kept.high))


def is_near(shown: float, lost: float) -> bool:
    """Whether a loss is within FACTOR of the one that is shown, or within SLACK of it."""
    return abs(shown - lost) <= SLACK + 1e-9 or max(shown, lost) <= FACTOR * min(shown, lost) + 1e-9


def narrow(spots: Sequence[Spot]) -> list[Spot]:
    """The same points, each with what the others tell about it, and how it is known.

    A release that keeps a promise keeps all weaker ones, so that nothing keeps more than a weaker promise does, nor less than a stronger.
    The figures that are shown keep to that: a map never shows more for a stronger promise, unless releases found it so.
    """
    narrowed = [_narrow_one(spot, spots) for spot in spots]
    return [_next_to(spot, narrowed) for spot in narrowed]


def _next_to(spot: Spot, spots: Sequence[Spot]) -> Spot:
    """A point with a figure that is in order with those of weaker and of stronger promises: midway between the least of the ones and the
    most of the others. Unknown where that is too far from what it may keep."""
    if spot.how != "estimated" or spot.kept is None or "algorithm" in spot.at:
        return spot
    known = [other for other in spots if other.share is not None and other is not spot]
    weaker = [other for other in known if is_weaker(other.at, spot.at)]
    stronger = [other for other in known if is_weaker(spot.at, other.at)]
    own = figure_of(spot.kept)
    most = min([own, *(other.share or 0.0 for other in weaker)])
    least = max([own, *(other.share or 0.0 for other in stronger)])
    figure = (most + least) / 2
    figure = max([figure, *(other.share or 0.0 for other in stronger if other.how == "run")])
    figure = min([figure, *(other.share or 0.0 for other in weaker if other.how == "run")])
    if figure == own:
        return spot
    if all(is_near(1 - figure, 1 - end) for end in (spot.kept.low, spot.kept.high)):
        return replace(spot, figure=figure)
    return replace(spot, how="unknown")


def _narrow_one(spot: Spot, spots: Sequence[Spot]) -> Spot:
    if spot.how == "run" or spot.why:
        return spot
    low, high = (0.0, 1.0) if spot.kept is None else (spot.kept.low, spot.kept.high)
    told = spot.kept is not None
    for other in spots:
        if other is spot or other.kept is None or "algorithm" in spot.at:
            continue
        if is_weaker(other.at, spot.at) and other.kept.high + LUCK < high:
            high, told = max(low, other.kept.high + LUCK), True
        if is_weaker(spot.at, other.at) and other.kept.low - LUCK > low:
            low, told = min(high, other.kept.low - LUCK), True
    kept = Range(low, high) if told else None
    trusted = is_trusted(kept) and all(map(is_trusted, spot.sides or ()))
    return replace(spot, kept=kept, how="estimated" if trusted else "unknown")


def is_weaker(one: At, other: At) -> bool:
    """Whether a promise asks for no more than another in anything, and for less in something."""
    return one != other and all(one[name] <= other[name] for name in one)


def risk_left(published: Any, threads: int | None = None) -> float | None:
    """The share of published rows that are alone for whoever knows KNOWN of their items, in tables with all columns.

    None where there is too much to count."""
    records = Records.of(published)
    sets = records.items
    if not len(records) or (
        sets is not None and affordable(sets.lengths, KNOWN, SUBSETS) < min(KNOWN, int(sets.lengths.max(initial=1)))
    ):
        return None
    curve = uniqueness_curve(records, sets, 2, KNOWN, threads=threads)
    return max((one.unique for one in curve.exposures), default=0) / len(records)


# What to propose.


def knee_of(spots: Sequence[Spot]) -> Spot | None:
    """The point to propose: the one that stands out farthest from the line between the ends of the front, None while too little is known.

    On a grid the front are the strongest promises for what they keep, and none weaker than LEAST is proposed; where a straight line is
    all there is, the weakest of them. On a frontier of columns against items, those that no other beats on both sides.
    """
    known = [spot for spot in spots if spot.how != "unknown" and not spot.why]
    if known and all(spot.sides is not None for spot in known):
        placed = [(figure_of(spot.sides[0]), figure_of(spot.sides[1]), spot) for spot in known if spot.sides]
        return _farthest(placed) if len(placed) >= FRONTIER else None
    placed = [
        (strength_of(spot.at, spots), spot.share or 0.0, spot)
        for spot in known
        if all(spot.at.get(name, least) >= least for name, least in LEAST.items())
    ]
    return _farthest(placed)


def strength_of(at: At, spots: Sequence[Spot]) -> float:
    """How strong a promise is among those of the grid, from 0 to 1: k counts by its logarithm, and as much as m."""

    def place(name: str) -> float:
        ends = [math.log(other.at[name]) for other in spots]
        return (math.log(at[name]) - min(ends)) / (max(ends) - min(ends)) if max(ends) > min(ends) else 0.0

    return sum(map(place, at)) / len(at)


def _farthest(placed: list[tuple[float, float, Spot]]) -> Spot | None:
    """Of the points that no other beats both ways, the one farthest beyond the line from the first to the last."""
    front: list[tuple[float, float, Spot]] = []
    for x, y, spot in sorted(placed, key=lambda one: (-one[0], -one[1])):
        if not front or y > front[-1][1] + 1e-12:
            front.append((x, y, spot))
    if not front:
        return None
    front.reverse()
    # What another beats is no choice, but it says where the front begins: a promise that costs nothing more than a weaker one stands out.
    left, top, (right, bottom, _) = min(x for x, _, _ in placed), front[0][1], front[-1]

    def beyond(one: tuple[float, float, Spot]) -> float:
        along = (one[0] - left) / (right - left) if right > left else 0.0
        return one[1] - (top + along * (bottom - top))

    best = max(map(beyond, front))
    return next(one[2] for one in front if beyond(one) >= best - 1e-9)


def _product(ranges: Sequence[range]) -> list[tuple[int, ...]]:
    places: list[tuple[int, ...]] = [()]
    for steps in ranges:
        places = [(*place, i) for place in places for i in steps]
    return places
