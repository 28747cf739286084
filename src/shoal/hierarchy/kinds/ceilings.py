"""Limits: how coarse the values of a column may be published at the most.

A limit cuts the values of a column into blocks: the highest nodes of its tree that it allows, or, for numbers without a tree, stretches
of its width that begin at multiples of it. Rows of different blocks are never published alike, so an algorithm that sees one block at a
time keeps every limit without knowing of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import InputError, option
from shoal.hierarchy.kinds.bands import band_in
from shoal.hierarchy.kinds.dates import LEVELS, level_of
from shoal.hierarchy.kinds.durations import duration_in
from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import Ints

if TYPE_CHECKING:
    from shoal.records.records import Column

_NUMBER = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:y|yr|year|years)?\s*", re.ASCII)
_OPEN = re.compile(r"<.+|.+\+", re.ASCII)
_SPAN = re.compile(r"\[(.+?)(?:-| to )(.+)\)")


def blocks_of_values(column: Column, tree: Hierarchy | None, limit: str) -> Ints:
    """The block of each value of a column under a limit."""
    if tree is None and column.numbers is not None:
        width = float(_number(column.name, limit, "it holds numbers", "10"))
        return np.unique(np.floor(column.numbers / width), return_inverse=True)[1].reshape(-1).astype(np.int64)
    assert tree is not None
    if not any(map(str.strip, column.values)):
        return np.zeros(len(column.values), np.int64)
    allowed = _allowance(column, tree, limit)
    node = tree.lowest_of(column.values).astype(np.int64)
    fine = np.array([v < tree.n_leaves or allowed(tree.labels[v], v) for v in range(tree.n_nodes)])
    for v in set(node[~fine[node]].tolist()):
        if not _OPEN.fullmatch(tree.labels[v]):  # whoever codes the top has said how
            raise InputError(
                f"column {column.name!r}: {tree.source} publishes it more coarsely than its limit ({limit}) allows; widen the limit, or "
                "take a finer hierarchy"
            )
    above = tree.parent.astype(np.int64)
    while np.any(climbs := (above[node] >= 0) & fine[above[node]]):
        node = np.where(climbs, above[node], node)
    return node


def _allowance(column: Column, tree: Hierarchy, limit: str) -> Callable[[str, int], bool]:
    """Whether a limit allows a node, by its label or its number."""
    form = tree.source.partition(":")[0]
    if form == "flat":
        raise InputError(
            f"column {column.name!r} has a limit, but no hierarchy that it could be about: its values are published as they are, or not at "
            f"all; give it one ({option('hierarchy', 'COL=SPEC')}), such as dates, bands or prefix"
        )
    if form == "dates" or limit in LEVELS:
        if form != "dates" or limit not in LEVELS:
            what = "a tree of dates" if form == "dates" else f"no tree of dates ({tree.source})"
            raise InputError(
                f"column {column.name!r} has {what}, and its limit is {limit}; for dates name one of {', '.join(LEVELS)}, as in "
                f"{option('limits', 'COL=month')}"
            )
        levels = {limit} | {name for name, level in LEVELS.items() if limit in level.within}
        return lambda label, v: level_of(label) in levels
    if form == "durations":
        length = duration_in(limit)
        if length is None:
            raise _unclear(column.name, limit, "it holds durations", "7d")
        return lambda label, v: _duration(label) <= length[0]
    if form in ("prefix", "mask"):
        stays = int(_number(column.name, limit, "it holds codes", "3"))
        return lambda label, v: len(label.rstrip("*").replace(".", "")) >= stays
    if form in ("bands", "intervals", "round", "top", "bottom") or (form == "balanced" and column.numbers is not None):
        width = _number(column.name, limit, "it holds numbers", "10")
        step = Fraction(tree.source.partition(",")[0].partition(":")[2]) if form == "round" else Fraction(1)
        return lambda label, v: _width(label, step) <= width
    most = int(_number(column.name, limit, "it has categories", "5"))
    return lambda label, v: int(tree.leaf_count[v]) <= most


def _number(column: str, limit: str, why: str, example: str) -> Fraction:
    found = _NUMBER.fullmatch(limit)
    if found is None or not Fraction(found[1]):
        raise _unclear(column, limit, why, example)
    return Fraction(found[1])


def _unclear(column: str, limit: str, why: str, example: str) -> InputError:
    return InputError(
        f"column {column!r}: its limit is {limit!r}, but {why}; give for example {option('limits', f'COL={example}')}"
    )


def _width(label: str, step: Fraction) -> float | Fraction:
    """How many numbers a label covers, those of whole bounds counted with the last one; infinite without a bound."""
    band = band_in(label.replace(" to ", ":"))
    if band is None or not band.low or not band.high:
        return float("inf")
    return Fraction(band.high) - Fraction(band.low) + (0 if band.closing == ")" else step)


def _duration(label: str) -> float | Fraction:
    span = _SPAN.fullmatch(label)
    bounds = [duration_in(text) for text in span.groups() if text != "0"] if span else [None]
    lengths = [bound[0] for bound in bounds if bound is not None]
    return lengths[-1] - (lengths[0] if len(lengths) > 1 else 0) if len(lengths) == len(bounds) else float("inf")
