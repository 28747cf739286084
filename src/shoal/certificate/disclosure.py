"""What a certificate may state: nothing from which, with file and tree at hand, a count between 1 and k - 1 follows.

What the published file tells by itself stands in full: whoever has the file can count it. A figure about the original is a share that is
rounded so coarsely that one step of it stands for at least 20 k of what is counted, or it is withheld. How coarse is decided by the size
of the file and by k, never by the original. `docs/decisions/0026-what-a-certificate-may-count.md` has the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.hierarchy.spec import form_of

if TYPE_CHECKING:
    from shoal.evaluation.raw_risk import Exposed
    from shoal.hierarchy.tree import Hierarchy

STEPS = (0.001, 0.01, 0.05, 0.1)
"""Shares that figures about the original may be rounded to, the finest first."""
CROWDS = 20
"""Times k that one step stands for at least: half a step, from nothing up to the first that is not rounded to nothing, is 10 k."""
DIGITS = 6
"""Digits of a share that the file tells: beyond them it depends on the order in which rows are added up."""
_HALF = 0.5
KNOWN_ITEMS = 3
"""The risk before is stated for attackers who know up to so many items, however long the rows are."""

LOSSES = {
    "info": "information lost, at most",
    "ncp": "detail lost by published items (NCP)",
    "deleted": "item occurrences that were dropped",
    "il": "items added and removed, over original occurrences",
    "added": "items added",
    "removed": "items removed",
    "ul": "detail of items lost (UL)",
    "items_ncp": "detail lost by published items (NCP)",
    "ambiguity": "rows dealt another value than their own",
}
"""The losses that a certificate may hold, and what it calls them."""
KEPT = {"exact": "items as they are", "pairs": "commonest pairs as they are", "cells": "cells as they are"}
"""What a certificate may say to be kept, and what it calls it. All of it is counted in the file: see `shoal.loss.readers_view`."""


def step_for(units: int, k: int) -> float | None:
    """The finest step of shares of so many units (occurrences, rows, leaves) that stands for enough of them; None where none does."""
    return next((step for step in STEPS if step * units >= CROWDS * k), None)


def nearest_step(share: float, step: float) -> float:
    """The nearest multiple of a step."""
    return round(round(share / step) * step, 4)


def at_least(share: float, step: float) -> float:
    """The multiple of a step that a share reaches."""
    return round(math.floor(share / step + 1e-9) * step, 4)


@dataclass(frozen=True)
class Figure:
    """A share, and what a reader could count with it."""

    share: float
    units: int | None = None
    """How many of what only the original tells (occurrences, leaves of a tree) it is about; None where file and tree tell it."""


def disclose(k: int, **parts: Mapping[str, Figure]) -> dict[str, Any]:
    """Parts of a certificate: their figures in full, rounded, or left out, and which of them were rounded or left out."""
    shares: dict[str, Any] = {part: {} for part in parts}
    rounded_to: dict[str, dict[str, float]] = {}
    withheld: dict[str, list[str]] = {}
    for part, figures in parts.items():
        for name, figure in figures.items():
            if figure.units is None:
                shares[part][name] = round(figure.share, DIGITS)
            elif (step := step_for(figure.units, k)) is None:
                withheld.setdefault(part, []).append(name)
            else:
                shares[part][name] = nearest_step(figure.share, step)
                rounded_to.setdefault(part, {})[name] = step
    return shares | ({"rounded_to": rounded_to} if rounded_to else {}) | ({"withheld": withheld} if withheld else {})


def untold_leaves(tree: Hierarchy | None, *, unknown: str | None, whole: bool = False) -> int | None:
    """The leaves of a tree whose number only the original tells, None where a reader knows it.

    A file can be given to readers, unless the data added leaves to it (`unknown`). A tree that was made from the data has its values for
    leaves, and their number is a secret but where tokens such as rank[6:10] tell it and together are the `whole` of the tree.
    """
    form = None if tree is None else form_of(tree.source)
    flat = tree is not None and tree.source == "flat"  # its root costs 1, whatever is below
    if tree is None or flat or (whole and form and form.numbered) or not (form or unknown):
        return None
    return tree.n_leaves


def tells_widths(tree: Hierarchy | None, *, unknown: str | None) -> bool:
    """Whether a reader knows how many values are below a node: those of a file are known, and a range of numbers says it by itself."""
    return tree is None or (tree.source != "flat" and untold_leaves(tree, unknown=unknown) is None)


def disclose_columns(columns: Mapping[str, Mapping[str, Any]], told: Collection[str]) -> dict[str, dict[str, Any]]:
    """What is left of each column, counted in the file; how wide its median value is where that is `told`, or is a single value."""
    return {
        name: {"exact": round(one["exact"], DIGITS)}
        | ({"width": one["width"], "unit": one["unit"]} if name in told or one["exact"] >= _HALF else {})
        for name, one in columns.items()
    }


def disclose_risk(before: tuple[Exposed, ...], rows: int, guarantee: Any) -> tuple[list[dict[str, Any]], float | None]:
    """The risk before as shares of the rows, at least so many, and the step in which they are counted, if they are.

    Buckets publish all but the link to a value. Rows that no other equals are in the file, and their values are certain in the original:
    that is all that is said.
    """
    if before[0].alone is not None:
        alone = [(one.knows, round((one.alone or 0) / max(1, rows), DIGITS)) for one in before]
        return [{"knows": knows, "value_certain": share} for knows, share in alone], None
    step = step_for(rows, int(getattr(guarantee, "k", None) or guarantee.l))
    if step is None:
        return [], None
    attackers = [one for one in before if not one.items]
    by_items = [one for one in before if one.items]
    # How many sizes were counted tells how long the longest row is: a size that no row has adds nothing to the one below.
    sizes = range(1, min(getattr(guarantee, "m", None) or 0, KNOWN_ITEMS) + 1) if by_items else ()
    attackers += [by_items[min(size, len(by_items)) - 1].knowing(size) for size in sizes]
    return [
        {
            "knows": one.knows,
            "fewer_than_k": at_least(one.few / rows, step),
            "singled_out": at_least((one.single or 0) / rows, step),
        }
        for one in attackers
    ], step
