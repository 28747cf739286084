"""Plots by matplotlib, the extra `plots`: what notebooks and papers are drawn with, and what their authors know how to change.

Each plot takes the axes of the caller, or makes some, and returns them. Colours are those of the certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shoal.drawing.notebook import KEPT, shares_kept
from shoal.drawing.palette import TONES
from shoal.errors import InputError

NEEDS = "plots need matplotlib; run pip install 'shoal[plots]'"


def plot_of(result: Any, ax: Any = None) -> Any:
    """The plot of a result, by what it is."""
    name = next((kind.__name__ for kind in type(result).__mro__ if kind.__name__ in _PLOTS), None)
    if name is None:
        raise InputError(f"a {type(result).__name__} has no plot; display it in a notebook, or take its to_dict()")
    try:
        from matplotlib import pyplot
        from matplotlib.ticker import PercentFormatter
    except ImportError:
        raise InputError(NEEDS) from None
    axes = pyplot.subplots(figsize=(7, 3.2), layout="constrained")[1] if ax is None else ax
    percent = _PLOTS[name](result, axes)
    if percent:
        getattr(axes, f"{percent}axis").set_major_formatter(PercentFormatter(1.0))
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _release(release: Any, axes: Any) -> str:
    shares = shares_kept(release)
    _bars(axes, [KEPT[name] for name in shares], list(shares.values()))
    axes.set_title(f"{release.guarantee} by {release.algorithm}")
    return "x"


def _outlook(found: Any, axes: Any) -> str:
    names = [KEPT.get(name, name) for name in found.kept]
    lows = [share.low for share in found.kept.values()]
    widths = [max(share.high - share.low, 0.004) for share in found.kept.values()]
    axes.barh(names, widths, left=lows, color=TONES["after"])
    axes.set(xlim=(0, 1), title=f"What {found.guarantee} would keep")
    axes.invert_yaxis()
    return "x"


def _profile(profile: Any, axes: Any) -> str:
    known = [one.m for one in profile.exposures]
    shares = [one.exposed / max(1, profile.rows) for one in profile.exposures]
    axes.plot(known, shares, marker="o", color=TONES["before"])
    axes.set(xticks=known, ylim=(0, 1), xlabel="items that an attacker knows")
    axes.set_title(f"Rows among fewer than {profile.k}")
    return "y"


def _evaluation(found: Any, axes: Any) -> str:
    shares = _measured(found.measures)
    _bars(axes, [KEPT[name] for name in shares], list(shares.values()))
    axes.set_title(f"{found.published.source} against {found.original.source}")
    return "x"


def _side_by_side(found: Any, axes: Any) -> str:
    rows = [row for row in found if row.get("info") is not None]
    several = len({row["guarantee"] for row in rows}) > 1
    names = [f"{row['algorithm']}, {row['guarantee']}" if several else row["algorithm"] for row in rows]
    _bars(axes, names, [row["info"] for row in rows])
    axes.set_title("Information kept" if several or not rows else f"Information kept under {rows[0]['guarantee']}")
    return "x"


def _measured(measures: Mapping[str, Any]) -> dict[str, float]:
    return {name: value for name in KEPT if (value := measures.get(f"kept.{name}")) is not None}


def _bars(axes: Any, names: Sequence[str], shares: Sequence[float]) -> None:
    places = range(len(names))
    drawn = axes.barh(places, shares, color=TONES["after"])
    axes.bar_label(drawn, [f"{share:.1%}" for share in shares], padding=3)
    axes.set(yticks=places, xlim=(0, 1.12))
    axes.set_yticklabels(names)
    axes.invert_yaxis()


_PLOTS: dict[str, Callable[[Any, Any], str]] = {
    "Release": _release,
    "Outlook": _outlook,
    "Profile": _profile,
    "Evaluation": _evaluation,
    "SideBySide": _side_by_side,
}
