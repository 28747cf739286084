"""Specs: the short texts that name a hierarchy on the command line and in plans, and the one way from a spec to a tree.

    balanced:N           groups of N neighbours, again and again; in columns called by ranges of numbers and dates, else by places
    frequency:N          the same over values by descending support
    prefix               codes by their leading characters: 250.01 under 250.0* under 250*; prefix:3,2 has only those lengths
    learned:N            for items: what loses least for the promise, at most N children a node
    named:N              for columns: as balanced:N, called by the first and the last value of each group, which are so published
    flat                 for columns: all values right under the root, as without a spec where nothing is recognised
    mask                 for columns: more and more of the last characters hidden: 4711 under 471* under 47**
    intervals:5,10,20    for columns: numbers in intervals of width 5 under intervals of width 10 under ... under the root
    dates:year,month     for columns: days in months, quarters and years (`dates`), or in what is named, also week, day and hour
    bands:10             for columns: numbers in bands of that width, or between borders (bands:0,18,65)
    bands                for columns: bands that the data hold ([50-60), 50-59, <18, 65+), joined with their neighbours
    dates:ranges         for columns: dates, and also bands:ranges, from the first to the last of a class (2024-03-01..2024-04-15, [50-70))
    round:5, top:90      for columns: numbers rounded, and coded at the top and the bottom (bottom:18); also round:5,top:90
    durations            for columns: 90 min, 3 days, P2W or 1:30:00 in hours, days, weeks and more, or in what is named: durations:1d,7d

Anything else is a file. A column without a spec has that of dates, durations or bands where its values are clearly that, none at all if it
holds numbers, which are generalized to ranges, and else a flat one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from shoal.errors import InputError, near_miss, option
from shoal.hierarchy.build import (
    ROOT,
    balanced_tree,
    flat_tree,
    frequency_tree,
    group_neighbours,
    mask_tree,
    prefix_tree,
)
from shoal.hierarchy.files import read_hierarchy
from shoal.hierarchy.fitting import better_column
from shoal.hierarchy.formats.objects import is_named, tree_of
from shoal.hierarchy.kinds.bands import band_tree, category_tree
from shoal.hierarchy.kinds.columns import interval_tree, range_labels
from shoal.hierarchy.kinds.dates import date_tree
from shoal.hierarchy.kinds.durations import duration_tree
from shoal.hierarchy.kinds.recognition import recognise
from shoal.hierarchy.kinds.stretches import WORD
from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import Ints
from shoal.records.stores.remote import is_elsewhere

if TYPE_CHECKING:
    from shoal.records.baskets import Baskets
    from shoal.records.records import Column

Spec = Hierarchy | str | os.PathLike[str]

_ITEM_FORMS = "learned:N, balanced:N, frequency:N (N = 2 or more), prefix, or a hierarchy file"
_COLUMN_FORMS = (
    "intervals:5,10,20, bands:10, round:5 or top:90 (for numbers), dates, durations, bands (for bands such as 50-59), mask, prefix, "
    "balanced:N, named:N, frequency:N, or a hierarchy file"
)
_MISSING = ""


class Form(NamedTuple):
    """A kind of tree that is made from the data."""

    parameter: str = ""
    """What follows the name, as a regular expression."""
    items: bool = True
    columns: bool = True
    numbered: bool = False
    """Whether labels count leaves, as `rank[6:10]` does."""


_N = r":[0-9]+"
FORMS = {
    "balanced": Form(_N, numbered=True),
    "frequency": Form(_N, numbered=True),
    "prefix": Form("(:[0-9]{1,3}(,[0-9]{1,3})*)?"),
    "learned": Form(_N, columns=False, numbered=True),
    "named": Form(_N, items=False),
    "mask": Form(items=False),
    "flat": Form(items=False),
    "intervals": Form("(:.*)?", items=False),
    "dates": Form("(:.*)?", items=False),
    "bands": Form("(:.*)?", items=False),
    "round": Form(":.*", items=False),
    "top": Form(":.*", items=False),
    "bottom": Form(":.*", items=False),
    "durations": Form("(:.*)?", items=False),
}


def form_of(spec: str) -> Form | None:
    """The form of a tree that is made from the data; None if the spec names a file."""
    form = FORMS.get(spec.partition(":")[0])
    return form if form and re.fullmatch(f"[a-z]+{form.parameter}", spec, re.ASCII | re.DOTALL) else None


def is_made(spec: str) -> bool:
    """Whether the tree is made from the data, not read from a file."""
    return form_of(spec) is not None


def near_form(spec: str) -> str:
    """A question for the middle of a sentence, where the name of a form is near that of the spec."""
    return near_miss(spec.partition(":")[0], FORMS)


@dataclass(frozen=True, eq=False)
class Values:
    """What a tree stands over: the items of the data, or the values of one column but the missing one."""

    names: Sequence[str]
    counts: Ints
    """Rows that hold each."""
    numeric: bool = False
    column: str | None = None
    """None for items."""

    @classmethod
    def of_items(cls, baskets: Baskets) -> Self:
        return cls(baskets.vocabulary, baskets.supports())

    @classmethod
    def of_column(cls, column: Column) -> Self:
        counts = np.bincount(column.codes, minlength=len(column.values)).astype(np.int64)
        there = [i for i, value in enumerate(column.values) if value != _MISSING]
        return cls(tuple(column.values[i] for i in there), counts[there], column.numbers is not None, column.name)


def column_hierarchy(column: Column, spec: Spec | None = None, *, unknown: str | None = None) -> Hierarchy | None:
    """The hierarchy of a column with a leaf for each of its values, or none for numbers that are generalized to ranges.

    A missing value is a leaf right under the root, whatever the spec.
    """
    if spec is None and column.numbers is not None:
        return None
    values = Values.of_column(column)
    tree = resolve(spec, values, unknown=unknown)
    if len(values.names) == len(column.values):
        return tree
    if isinstance(spec, str) and is_made(spec) and tree.labels[tree.root] != ROOT:
        # The root says what all other values begin with, which a missing one does not.
        parent = np.append(np.where(tree.parent < 0, tree.n_nodes, tree.parent), -1)
        tree = Hierarchy.from_parents(parent.tolist(), [*tree.labels, ROOT], tree.source)
    return tree.with_unknown((_MISSING,))


def resolve(
    spec: Spec | None, values: Values, *, unknown: str | None = None, learn: Callable[[int], Hierarchy] | None = None
) -> Hierarchy:
    """The hierarchy that `spec` stands for, with a leaf for every value.

    `learn` makes the tree of `learned:N` from N. It needs the rows, not the supports alone, and an algorithm, so whoever has both
    passes it in (`shoal.algorithms.km.learning.learner`).

    Values that a given tree or file does not know are refused, or hung under its root with `unknown="root"`. Its leaves that do not
    occur in the data stay: they count as part of the domain.
    """
    if unknown not in (None, "root"):
        raise InputError(
            f"unknown items can be hung under the root ({option('unknown', 'root')}), not under {unknown!r}"
        )
    try:
        if spec is None:
            spec = None if values.column is None else recognise(values.names).spec
        if spec is None:
            return flat_tree(values.names or (_MISSING,))
        if isinstance(spec, str) and (made := _make(spec, values, learn)) is not None:
            return made
        hierarchy = spec if isinstance(spec, Hierarchy) else _read(spec, values)
        if unknown == "root":
            return hierarchy.with_unknown(values.names)
        try:
            hierarchy.leaves_of(values.names)
        except InputError as error:
            better = "" if isinstance(spec, Hierarchy) else better_column(spec, hierarchy, values.names)
            raise error.within("", f"; {better}" if better else "") from None
        return hierarchy
    except InputError as error:
        raise error if values.column is None else error.within(f"column {values.column!r}: ") from None


def _make(spec: str, values: Values, learn: Callable[[int], Hierarchy] | None) -> Hierarchy | None:
    """The hierarchy that is made from the data, or None where the spec names a file."""
    name, _, parameter = spec.partition(":")
    form = FORMS.get(name)
    if form is None:
        return None
    fits = form.items if values.column is None else form.columns
    n = int(parameter) if form.parameter == _N and re.fullmatch("[0-9]{1,9}", parameter, re.ASCII) else 0
    whole = is_made(spec) and (form.parameter != _N or n >= 2)
    if whole and name == "learned" and learn is None:
        raise InputError(f"hierarchy {spec!r} is learned from rows of items and is of no use here; use balanced:{n}")
    if whole and fits:
        return _made(spec, n, values, learn)
    if Path(spec).is_file():
        return None
    if values.column is None and not form.items:
        raise InputError(f"hierarchy {spec!r} is for the columns of a table, not for items; use {_ITEM_FORMS}")
    raise InputError(f"hierarchy {spec!r} is not complete; use {_forms(values)}, for example balanced:5")


def _made(spec: str, n: int, values: Values, learn: Callable[[int], Hierarchy] | None) -> Hierarchy:
    names, column = values.names, values.column
    name, _, parameter = spec.partition(":")
    if column is not None and not names:
        return flat_tree((_MISSING,))
    match name:
        case "prefix":
            return prefix_tree(names, [int(length) for length in parameter.split(",") if length])
        case "mask":
            return mask_tree(names)
        case "flat":
            return flat_tree(names)
        case "dates":
            return date_tree(names, parameter)
        case "durations":
            return duration_tree(names, parameter)
        case "bands" if parameter in ("", WORD) and not values.numeric:
            return category_tree(names, spec)
        case "frequency":
            return frequency_tree(names, values.counts, n)
        case "learned" if learn is not None:
            return learn(n)
        case "intervals" | "bands" | "round" | "top" | "bottom":
            if not values.numeric:
                raise InputError(
                    f"{spec} is for numbers, but its values are not numeric; use bands (for bands such as 50-59), mask, prefix or a "
                    "hierarchy file"
                )
            return interval_tree(names, parameter) if name == "intervals" else band_tree(names, spec)
        case "named":
            return group_neighbours(names, n, spec, lambda first, last: f"{names[first]}..{names[last]}")
        case _ if column is not None:
            return group_neighbours(names, n, spec, range_labels(column, names, values.numeric))
    return balanced_tree(names, n)


def _read(path: str | os.PathLike[str], values: Values) -> Hierarchy:
    if not is_named(path):
        return tree_of(path)
    if not is_elsewhere(path) and (not Path(path).exists() or Path(path).is_dir()):
        raise InputError(
            f"hierarchy {os.fspath(path)!r} is neither a file nor a known form; {near_form(os.fspath(path))}use {_forms(values)}"
        )
    return read_hierarchy(path)


def _forms(values: Values) -> str:
    return _ITEM_FORMS if values.column is None else _COLUMN_FORMS
