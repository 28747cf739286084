"""Plots by matplotlib, the extra `plots`: what notebooks and papers are drawn with, and what their authors know how to change.

Each plot takes the axes of the caller, or makes some, and returns them. Colours are those of the certificate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shoal.drawing.notebook import KEPT, shares_kept
from shoal.drawing.palette import TONES
from shoal.errors import InputError
from shoal.hierarchy.survey import outline

NEEDS = "plots need matplotlib; run pip install 'shoal[plots]'"
_LEVELS, _CHILDREN, _LINES, _LETTERS = 2, 30, 18, 28
"""Of a tree: levels below the root and children of a node; lines that fit into the height of a plot, and letters into a level."""


def plot_of(result: Any, ax: Any = None) -> Any:
    """The plot of a result, by what it is."""
    name = next(kind.__name__ for kind in type(result).__mro__ if kind.__name__ in _PLOTS)
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


def _audit(audit: Any, axes: Any) -> str:
    counted = {f"{size} item{'s' if size > 1 else ''}": both for size, both in audit.by_size.items()}
    counted = counted or {"counted": (audit.checked, audit.violations)}
    shares = [broken / max(1, checked) for checked, broken in counted.values()]
    told = [f"{broken:,} of {checked:,}" for checked, broken in counted.values()]
    _bars(axes, list(counted), shares, told, tone="bad")
    axes.set_title(f"{audit.guarantee['name']} {'holds' if audit.holds else 'does not hold'}: what breaks it")
    return "x"


def _hierarchy(tree: Any, axes: Any) -> str:
    """Levels side by side, from the root on, each node as high as it has leaves."""
    starts = {0: 0}
    for line in outline(tree, _LEVELS, _CHILDREN):
        start = starts.setdefault(line.indent, 0)
        starts[line.indent], starts[line.indent + 1] = start + line.leaves, start
        middle = start + line.leaves / 2
        axes.barh(middle, 0.97, line.leaves, left=line.indent, color=TONES["after"], edgecolor="white", linewidth=0.5)
        if line.leaves * _LINES >= tree.n_leaves:
            label = line.label if len(line.label) <= _LETTERS else f"{line.label[: _LETTERS - 1]}…"
            axes.text(line.indent + 0.03, middle, label, va="center", color="white", fontsize="small", clip_on=True)
    axes.set(xticks=[], ylim=(tree.n_leaves, 0), ylabel="leaves")
    axes.set_title(f"{tree.source}: {tree.n_leaves:,} leaves")
    return ""


def _outlook(found: Any, axes: Any) -> str:
    names = [KEPT.get(name, name) for name in found.kept]
    kept = list(found.kept.values())
    _bars(axes, names, [(share.low + share.high) / 2 for share in kept], [str(share) for share in kept])
    for place, share in enumerate(kept):
        axes.plot((share.low, share.high), (place, place), color=TONES["plain"], linewidth=3)
    axes.set_title(f"What {found.guarantee} would keep")
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


def _bars(
    axes: Any, names: Sequence[str], shares: Sequence[float], told: Sequence[str] | None = None, tone: str = "after"
) -> None:
    places = range(len(names))
    drawn = axes.barh(places, shares, color=TONES[tone])
    axes.bar_label(drawn, told or [f"{share:.1%}" for share in shares], padding=3)
    axes.set(yticks=places, xlim=(0, 1.12))
    axes.set_yticklabels(names)
    axes.invert_yaxis()


_PLOTS: dict[str, Callable[[Any, Any], str]] = {
    "Release": _release,
    "Audit": _audit,
    "Hierarchy": _hierarchy,
    "Outlook": _outlook,
    "Profile": _profile,
    "Evaluation": _evaluation,
    "SideBySide": _side_by_side,
}
