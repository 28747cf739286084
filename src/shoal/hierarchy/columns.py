"""Hierarchies over the values of a single column of a table.

    None                 a flat tree for categories; none at all for numbers, which are generalized to ranges
    intervals:5,10,20    numbers in intervals of width 5 under intervals of width 10 under ... under the root
    mask                 texts with more and more of their last characters hidden: 4711 under 471* under 47**
    balanced:N           groups of N neighbours, again and again: called by ranges of numbers and dates, else by places (`town[4:6]`)
    named:N              the same, called by the first and the last value of each group, which are so published
    prefix, frequency:N, a file, a Hierarchy    as for items

The leaves are the values of the column; a missing value is a leaf right under the root, whatever the spec.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import InputError
from shoal.hierarchy.build import ROOT, grouped
from shoal.hierarchy.ranges import first_and_last, interval, names_of
from shoal.hierarchy.spec import FORMS, resolve
from shoal.hierarchy.tree import Hierarchy

if TYPE_CHECKING:
    from shoal.records.records import Column

COLUMN_FORMS = "intervals:5,10,20 (for numbers), mask, prefix, balanced:N, named:N, frequency:N, or a hierarchy file"

_MISSING = ""
_INTERVALS = re.compile(r"intervals(:.*)?", re.DOTALL)
_MADE = re.compile(r"(intervals|balanced|named|frequency):.*|mask|prefix", re.DOTALL)
_NEIGHBOURS = re.compile(r"(balanced|named):([0-9]{1,9})", re.ASCII)
_WIDTH = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)


def column_hierarchy(
    column: Column, spec: Hierarchy | str | os.PathLike[str] | None = None, *, unknown: str | None = None
) -> Hierarchy | None:
    """The hierarchy of a column with a leaf for each of its values, or none for numbers that are generalized to ranges.

    Values that a file or a given tree does not know are refused, or hung under its root with `unknown="root"`.
    """
    if spec is None and column.numbers is not None:
        return None
    values = [value for value in column.values if value != _MISSING]
    try:
        tree = _tree(column, values, spec, unknown)
    except InputError as error:
        text = error.message.text.replace(FORMS, COLUMN_FORMS)
        raise InputError(f"column {column.name!r}: {text}", values=error.values) from None
    if len(values) == len(column.values):
        return tree
    if isinstance(spec, str) and _MADE.fullmatch(spec):
        tree = _rooted(tree)
    return tree.with_unknown((_MISSING,))


def _tree(
    column: Column, values: Sequence[str], spec: Hierarchy | str | os.PathLike[str] | None, unknown: str | None
) -> Hierarchy:
    """The hierarchy over the values that are not missing."""
    if not values and (spec is None or (isinstance(spec, str) and _MADE.fullmatch(spec))):
        return Hierarchy(np.array([1, -1], np.int32), (_MISSING, ROOT), 1, "flat")
    if spec is None:
        return flat(values)
    if spec == "mask":
        return mask(values)
    if isinstance(spec, str) and (found := _INTERVALS.fullmatch(spec)):
        if column.numbers is None:
            raise InputError(
                f"{spec} is for numbers, but its values are not numeric; use mask, prefix or a hierarchy file"
            )
        return intervals(values, (found[1] or ":")[1:])
    if isinstance(spec, str) and (found := _NEIGHBOURS.fullmatch(spec)) and int(found[2]) >= 2:
        numbers = None if column.numbers is None else column.numbers[~np.isnan(column.numbers)].tolist()
        names = first_and_last(values) if found[1] == "named" else names_of(column.name, values, numbers)
        return grouped(values, int(found[2]), spec, names)
    counts = np.bincount(column.codes, minlength=len(column.values))
    supports = np.array([n for n, value in zip(counts, column.values, strict=True) if value != _MISSING], np.int64)
    return resolve(spec, values, supports, unknown=unknown)


def _rooted(tree: Hierarchy) -> Hierarchy:
    """The same tree under `*`, if its root says anything about the values under it."""
    if tree.labels[tree.root] == ROOT:
        return tree
    parent = np.append(np.where(tree.parent < 0, tree.n_nodes, tree.parent), -1)
    return Hierarchy.from_parents(parent.tolist(), [*tree.labels, ROOT], tree.source)


def flat(values: Sequence[str]) -> Hierarchy:
    """All values right under the root."""
    parent = np.full(len(values) + 1, len(values), np.int32)
    parent[-1] = -1
    return Hierarchy(parent, (*values, ROOT), len(values), "flat")


def intervals(values: Sequence[str], widths: str) -> Hierarchy:
    """Numbers in nested intervals of the given widths, which begin at multiples of them.

    Whole numbers in intervals of whole widths are called by their first and last number (`[20:24]`), all others by their bounds, of
    which the upper one is outside (`[2.5:5)`).
    """
    source = f"intervals:{widths}"
    steps = _widths(widths, source)
    numbers = [Fraction(value) for value in values]
    whole = all(number.denominator == 1 for number in (*numbers, *steps))
    labels: list[str] = list(values)
    parent: list[int] = [-1] * len(labels)
    level = list(zip(range(len(values)), numbers, strict=True))  # nodes of a level, each with a number in it
    for step in steps:
        nodes: dict[int, int] = {}
        above = []
        for node, number in level:
            place = number // step
            if place not in nodes:
                nodes[place] = len(labels)
                labels.append(interval(place * step, (place + 1) * step, whole))
                parent.append(-1)
                above.append((nodes[place], place * step))
            parent[node] = nodes[place]
        level = above
    root = len(labels)
    for node, _ in level:
        parent[node] = root
    return Hierarchy.from_parents([*parent, -1], [*labels, ROOT], source)


def mask(values: Sequence[str]) -> Hierarchy:
    """Texts whose last characters are hidden one after the other, up to the root.

    Values of different length are filled up on the right: 47 is as long as 4711 once its end is hidden (`47**`). A node stands only
    where values part: one that would cover the same leaves as its single child is left out. What all values begin with stays at the
    root.
    """
    ordered = sorted(values)
    length = max(map(len, ordered))
    shared = [_shared(one, other) for one, other in pairwise(ordered)]
    common = min(shared, default=0)
    beginnings = {one[:n] for one, n in zip(ordered, shared, strict=False) if n > common}
    inner = sorted(beginnings, key=len, reverse=True)
    node = {text: len(values) + i for i, text in enumerate(inner)}
    root = len(values) + len(inner)
    lengths = sorted(set(map(len, inner)), reverse=True)

    def above(text: str, limit: int) -> int:
        """The node of the longest beginning of a text, of at most `limit` characters."""
        return next((node[text[:n]] for n in lengths if n <= limit and text[:n] in node), root)

    parent = [above(value, len(value)) for value in values] + [above(text, len(text) - 1) for text in inner] + [-1]
    top = ordered[0][:common] + "*" * (length - common) if common else ROOT
    labels = [*values, *(text + "*" * (length - len(text)) for text in inner), top]
    return Hierarchy(np.array(parent, np.int32), tuple(labels), len(values), "mask")


def _shared(one: str, other: str) -> int:
    """Number of leading characters that two texts have in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _widths(text: str, source: str) -> list[Fraction]:
    parts = [part.strip() for part in text.split(",")]
    if not all(_WIDTH.fullmatch(part) and Fraction(part) > 0 for part in parts):
        raise InputError(
            f"hierarchy {source!r} does not name the widths of its intervals; use for example intervals:5,10,20"
        )
    widths = [Fraction(part) for part in parts]
    for (narrow, wide), names in zip(pairwise(widths), pairwise(parts), strict=True):
        if wide <= narrow or wide % narrow:
            raise InputError(
                f"hierarchy {source!r}: intervals of width {names[0]} do not fit into intervals of width {names[1]}; "
                "give widths of which each divides the next, as in intervals:5,10,20"
            )
    return widths
