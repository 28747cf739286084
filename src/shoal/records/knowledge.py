"""Rules: what an attacker may know beforehand, as negative association rules (Li and Li 2008, section IV).

A rule says that rows with certain quasi-identifiers do not have a certain sensitive value: `sex=M => not Ovarian Cancer`. Each
condition names a node of the column's value hierarchy, a value or a category but not the root. Rules are kept as a
table with a node per attribute, so that a hundred thousand of them are small and quick to apply.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError
from shoal.numbers import Bools, Codes, Floats, Ints

if TYPE_CHECKING:
    from shoal.hierarchy.tree import Hierarchy
    from shoal.records.records import Column, Records


@dataclass(frozen=True)
class Rule:
    """One rule, for reading."""

    conditions: Mapping[str, str]
    """Attribute and the node that its value lies under."""
    value: str
    """The sensitive value that such rows do not have."""
    support: float | None = None
    """Rows that satisfy the conditions; with fuzzy nodes their total membership; None where that was not counted."""
    exceptions: float = 0.0
    """Those among them that have the value all the same."""
    redundant: bool = False
    """Whether it follows from a more general rule."""
    given: bool = False
    """Whether the owner added it; mined from the data otherwise."""

    def __str__(self) -> str:
        return f"{' & '.join(f'{name}={node}' for name, node in self.conditions.items())} => not {self.value}"

    @property
    def confidence(self) -> float | None:
        """The share of the rows it covers that obey it."""
        return None if not self.support else 1 - self.exceptions / self.support


@dataclass(frozen=True, eq=False)
class Rules:
    """A table of rules, the most general first.

    Attributes:
        sensitive: The column that they are about.
        values: Its values.
        support: Per rule, how many rows meet its conditions.
        exceptions: Per rule, how many of them have the value all the same.
        redundant: Per rule, whether it follows from a more general one.
        given: Per rule, whether the owner gave it.
        min_exp: How many rows must have been expected for a rule to be believed.
        min_conf: How sure a rule must be.

    >>> import polars, shoal
    >>> people = polars.DataFrame({"sex": ["F"] * 50 + ["M"] * 50, "job": ["nurse", "pilot"] * 25 + ["pilot"] * 50})
    >>> shoal.rules(people, quasi="sex", sensitive="job")
    Rules(1 about job, 0 of them redundant)
    """

    hierarchies: Mapping[str, Hierarchy]
    """Per attribute that may stand in a rule, the tree over its values; their order is that of the columns of `nodes`."""
    sensitive: str
    values: tuple[str, ...]
    nodes: Codes
    """(rules, attributes): the node of each attribute, -1 where the rule says nothing about it."""
    value: Codes
    """Per rule, the place of its value in `values`."""
    support: Floats
    exceptions: Floats
    redundant: Bools
    given: Bools
    min_exp: float | None = None
    min_conf: float = 1.0

    def __post_init__(self) -> None:
        for array in (self.nodes, self.value, self.support, self.exceptions, self.redundant, self.given):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return f"Rules({len(self):,} about {self.sensitive}, {np.count_nonzero(self.redundant):,} of them redundant)"

    def __iter__(self) -> Iterator[Rule]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> Rule:
        support = float(self.support[i])
        return Rule(
            {
                name: tree.names[node]
                for (name, tree), node in zip(self.hierarchies.items(), self.nodes[i].tolist(), strict=True)
                if node >= 0
            },
            self.values[self.value[i]],
            None if math.isnan(support) else support,
            float(self.exceptions[i]),
            bool(self.redundant[i]),
            bool(self.given[i]),
        )

    @property
    def lengths(self) -> Ints:
        """Conditions of each rule."""
        return np.asarray(np.count_nonzero(self.nodes >= 0, axis=1), np.int64)

    def take(self, which: npt.NDArray[np.integer] | Bools) -> Rules:
        """Some of the rules."""
        return replace(
            self,
            nodes=self.nodes[which],
            value=self.value[which],
            support=self.support[which],
            exceptions=self.exceptions[which],
            redundant=self.redundant[which],
            given=self.given[which],
        )

    def without_redundant(self) -> Rules:
        """The rules from which all others follow, over the attributes that stand in them: as good for any row as all of them."""
        found = self.take(~self.redundant)
        used = np.flatnonzero((found.nodes >= 0).any(axis=0))
        names = list(self.hierarchies)
        return replace(
            found,
            hierarchies={names[a]: self.hierarchies[names[a]] for a in used.tolist()},
            nodes=np.ascontiguousarray(found.nodes[:, used]),
        )

    def values_among(self, vocabulary: Sequence[str]) -> Codes:
        """Per rule, the place of its value in a vocabulary, -1 if it is not there."""
        place = {name: i for i, name in enumerate(vocabulary)}
        return np.array([place.get(name, -1) for name in self.values], np.int32)[self.value]

    def to_dict(self) -> dict[str, Any]:
        """For the owner: how many rules, and how they were found."""
        return {
            "rules": len(self),
            "redundant": int(np.count_nonzero(self.redundant)),
            "given": int(np.count_nonzero(self.given)),
            "longest": int(self.lengths.max(initial=0)),
            "min_exp": self.min_exp,
            "min_conf": self.min_conf,
        }


@dataclass(frozen=True, eq=False)
class Covers:
    """Per attribute and value, the nodes above the value: what kernels need to know of hierarchies."""

    codes: Codes
    """(attributes, rows): the value of each row."""
    base: Ints
    """Per attribute, the place of its first value in `start`."""
    start: Ints
    """The nodes above the value at place p are `node[start[p]:start[p + 1]]`, the value's own leaf first."""
    node: Codes
    share: Floats
    """To what degree the value belongs to each of them: 1 but for fuzzy nodes."""
    most_nodes: int
    """Nodes of the largest of the hierarchies."""


def covers(records: Records, hierarchies: Mapping[str, Hierarchy], fuzzy: Mapping[str, float] | None = None) -> Covers:
    """The nodes above every value of the attributes, roots left out.

    `fuzzy` gives, for some numeric columns, the distance over which membership falls from 1 (inside a node) to 0: whatever is less
    than that away from the nearest number of a node belongs to it in part.
    """
    columns = [records[name] for name in hierarchies]
    base, start, node, share = [], [0], [], []
    for column, tree in zip(columns, hierarchies.values(), strict=True):
        base.append(len(start) - 1)
        above = _ancestors(column, tree)
        partly = _partly(column, tree, fuzzy[column.name]) if fuzzy and column.name in fuzzy else {}
        for code, nodes in enumerate(above):
            beside = [(v, mu) for v, mu in partly.get(code, ()) if v not in nodes]
            node += nodes + [v for v, _ in beside]
            share += [1.0] * len(nodes) + [mu for _, mu in beside]
            start.append(len(node))
    return Covers(
        np.array([column.codes for column in columns], np.int32).reshape(len(columns), len(records)),
        np.array(base, np.int64),
        np.array(start, np.int64),
        np.array(node, np.int32),
        np.array(share, np.float64),
        max((tree.n_nodes for tree in hierarchies.values()), default=1),
    )


def _ancestors(column: Column, tree: Hierarchy) -> list[list[int]]:
    """Per value of a column, its leaf and the nodes above that, the root left out."""
    try:
        leaves = tree.leaves_of(column.values).tolist()
    except InputError as error:
        raise error.within(f"column {column.name!r}: ") from None
    parent = tree.parent.tolist()
    found = []
    for v in leaves:
        path = []
        while v != tree.root:
            path.append(v)
            v = parent[v]
        found.append(path)
    return found


def _partly(column: Column, tree: Hierarchy, reach: float) -> dict[int, list[tuple[int, float]]]:
    """Per value of a numeric column, the nodes that it is less than `reach` away from, and its membership in them."""
    if column.numbers is None:
        raise InputError(
            f"column {column.name!r} is not numeric and has no fuzzy nodes; leave it out of the fuzzy columns"
        )
    if not (isinstance(reach, int | float) and reach > 0 and math.isfinite(reach)):
        raise InputError(
            f"column {column.name!r}: the reach of its fuzzy nodes is {reach!r}; give a number greater than 0"
        )
    number_of_leaf = np.array([_number(label) for label in tree.labels[: tree.n_leaves]])
    found: dict[int, list[tuple[int, float]]] = {}
    for v in range(tree.n_nodes - 1):
        within = number_of_leaf[tree.leaf_order[tree.span[v, 0] : tree.span[v, 1]]]
        within = np.sort(within[~np.isnan(within)])
        if not len(within):
            continue
        place = np.searchsorted(within, column.numbers)
        below = np.abs(column.numbers - within[np.maximum(place - 1, 0)])
        away = np.minimum(below, np.abs(column.numbers - within[np.minimum(place, len(within) - 1)]))
        membership = 1 - away / reach
        for code in np.flatnonzero(membership > 0).tolist():  # never a missing number, which is NaN
            found.setdefault(code, []).append((v, float(membership[code])))
    return found


def _number(label: str) -> float:
    try:
        return float(label)
    except ValueError:
        return math.nan
