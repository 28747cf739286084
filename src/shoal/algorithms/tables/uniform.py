"""Uniform: a table under recodings that are the same for all rows: the classes of each, the rows that it cannot hide, and its price.

Such a recoding is a node per lowest node of each column, and all three searches of this room ask the same of it. Rows in classes that
break the promise have to leave; the search may let so many of them go as `suppress_rows` allows. By the price of information a cell costs
the bits that a reader no longer knows, log2 of the rows published as its node over those with its value, and a row that leaves costs what
an average row says. By NCP a cell costs the share of the domain that its node covers, and a row that leaves costs 1. Both are shares: 1
is all lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, RTOptions
from shoal.algorithms.rt.clusters import cluster_facts, number_groups
from shoal.algorithms.rt.demand import Demand, demand_of
from shoal.algorithms.tables.fields import Field, Hierarchies, fields_of
from shoal.errors import InputError, Message, Unreachable, check_rows, option
from shoal.guarantees.table import TableAnonymity
from shoal.kernels.tables.demands import DISTINCT, ORDERED, ORDERED_OR_MISSING, PEOPLE
from shoal.kernels.tables.roll_up import lacking_classes, roll_up
from shoal.loss.relational import column_shares
from shoal.numbers import Bools, Codes, Floats, Ints
from shoal.price.information import entropy_bits
from shoal.records.records import Records

_LEAST = 1e-9
"""Bits that a row says at least: where all rows are alike, one that leaves still costs something."""


class Classes(NamedTuple):
    """Rows that are published alike."""

    of_finer: Ints
    """The class of each class that these were rolled up from."""
    member: Ints
    """A tuple of each."""
    size: Ints
    own: Floats
    """Per class, the bits that its rows' lowest nodes are above nothing, summed: what of their price does not depend on the recoding."""


@dataclass(frozen=True, eq=False)
class Uniform:
    """A table, a promise and a price."""

    records: Records
    guarantee: TableAnonymity
    fields: tuple[Field, ...]
    weight: Floats
    price: str
    budget: int
    """Rows that may leave."""
    demand: Demand | None
    points: Codes
    """The distinct tuples of lowest nodes."""
    tuple_of: Ints
    """The tuple of each row."""
    start: Ints
    """Where the nodes of each column begin in arrays over the nodes of all."""
    base: Classes
    """The tuples themselves."""
    limits: str = ""
    """The limits that were asked for, in words."""
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.tuple_of)

    @property
    def k(self) -> int:
        return int(self.guarantee.k)

    @cached_property
    def row_price(self) -> float:
        """What a row costs that leaves."""
        if self.price == "ncp":
            return 1.0
        said = sum(w * entropy_bits(one.rows) for w, one in zip(self.weight.tolist(), self.fields, strict=True))
        return float(max(_LEAST, said / len(self)))

    @cached_property
    def closed(self) -> bool:
        """Whether what holds of some classes holds of all that are made of them, with the rows that may leave left out of both.

        More rows of more values are never fewer than k, nor of fewer people or values. How often a value is in a class, or how far the
        class is from the table, is an average over its parts: it holds if it holds for all of them, but not if one was too bad and left.
        """
        if self.demand is None:
            return True
        kinds = set(self.demand.demands.kind.tolist())
        if kinds <= {DISTINCT, PEOPLE}:
            return True
        return self.budget == 0 and self.demand.is_closed and not kinds & {ORDERED, ORDERED_OR_MISSING}

    def heights(self, j: int, node: Ints) -> Floats:
        """Per node of column j, what a cell costs that is published as it, before what its own value says is taken off."""
        one, w = self.fields[j], float(self.weight[j])
        if self.price == "ncp":
            return w * one.cost
        return np.asarray(w * np.log2(np.maximum(np.bincount(node, one.rows, one.tree.n_nodes), 1)))

    def classes(self, target: Codes, at: Ints, finer: Classes | None = None) -> Classes:
        """The classes of a recoding, counted from those of a finer one, if there is one."""
        finer = finer or self.base
        return Classes(*roll_up(self.points, finer.member, finer.size, finer.own, target, at))

    def poor(self, classes: Classes, of_row: Ints | None) -> Bools:
        """The classes that break the promise; without the class of each row, by their size alone."""
        poor: Bools = classes.size < self.k
        if self.demand is not None and of_row is not None and not poor.all():
            poor = poor.copy()
            lacking_classes(self.demand.demands, of_row, poor)
        return poor

    def price_of(self, heights: Sequence[Floats], classes: Classes, poor: Bools, target: Codes, at: Ints) -> float:
        """The price of a recoding under which the poor classes leave; `heights` per column."""
        stays = ~poor
        total = float(classes.size[poor].sum()) * self.row_price - float(classes.own[stays].sum())
        for j, height in enumerate(heights):
            shown = target[at[j] + self.points[classes.member[stays], j]]
            total += float((classes.size[stays] * height[shown]).sum())
        return max(0.0, total)

    def share(self, price: float) -> float:
        """A price as a loss."""
        return min(1.0, price / (self.row_price * len(self)))

    def whole(self, nodes: Sequence[Ints]) -> tuple[Codes, Ints]:
        """A recoding as the kernels take it."""
        return np.concatenate(nodes).astype(np.int32), self.start

    def measure(self, nodes: Sequence[Ints]) -> tuple[Classes, Bools, float]:
        """(classes, which of them break the promise, price) of a recoding."""
        target, at = self.whole(nodes)
        classes = self.classes(target, at)
        poor = self.poor(classes, classes.of_finer[self.tuple_of])
        heights = [self.heights(j, node) for j, node in enumerate(nodes)]
        return classes, poor, self.price_of(heights, classes, poor, target, at)

    def unreachable(self) -> Unreachable:
        """Why there is no release: only under limits can that be."""
        classes, poor, _ = self.measure([one.top for one in self.fields])
        gone = int(classes.size[poor].sum())
        within = f" within the limits ({self.limits})" if self.limits else ""
        return Unreachable(
            f"{self.guarantee} cannot be reached{within}: even as coarse as is allowed, {gone:,} of {len(self):,} rows are in classes that "
            f"break it; widen a limit ({option('limits')}), or let more rows leave ({option('suppress_rows')})"
        )

    def recoding(self, nodes: Sequence[Ints], algorithm: str, facts: dict[str, Any], **known: Any) -> ClusterRecoding:
        """What is published: the rows whose classes keep the promise."""
        classes, poor, price = self.measure(nodes)
        of_row = classes.of_finer[self.tuple_of]
        stay = np.flatnonzero(~poor[of_row]).astype(np.int64)
        first = classes.member
        of_stay, n = number_groups(of_row[stay])
        order = np.empty(n, np.int64)
        order[of_stay] = of_row[stay]
        values, lost = {}, {}
        size = classes.size[order]
        for one, node, place in zip(self.fields, nodes, self.points[first[order]].T, strict=True):
            shown = node[place]
            values[one.name] = tuple(one.texts[v] for v in shown.tolist())
            lost[one.name] = float(size @ one.cost[shown]) / len(stay)
        ncp = float(self.weight @ np.array(list(lost.values())))
        recoding = ClusterRecoding(
            of_stay,
            values,
            None,
            ncp,
            lost,
            algorithm=algorithm,
            facts={**cluster_facts(of_stay, n), **facts, "lost": self.share(price)},
            stay=stay if self.budget else None,
            **known,
        )
        return replace(recoding, notes=(*self.notes, *recoding.notes))


def uniform(
    records: Records, guarantee: TableAnonymity, hierarchies: Hierarchies, options: Options, rt: RTOptions
) -> Uniform:
    """The table laid out; raises where nothing can keep the promise."""
    n = len(records)
    check_rows(n, guarantee)
    strange = [name for name in rt.limits if name not in {column.name for column in records.of_role("quasi")}]
    if strange:
        known = ", ".join(column.name for column in records.of_role("quasi"))
        raise InputError(f"limit of {strange[0]!r}: there is no such quasi-identifier; there are {known}")
    budget = int(rt.suppress_rows * n + 1e-9)
    if budget and guarantee.t is not None:
        raise InputError(
            f"{guarantee} compares classes with the published table, which changes with every row that leaves; leave out "
            f"{option('suppress_rows')}, or take the algorithm better-of-two"
        )
    fields = fields_of(records, hierarchies, rt.limits)
    weight = column_shares([one.name for one in fields], rt.weights)
    codes = np.column_stack([one.lowest[one.column.codes] for one in fields]).astype(np.int32)
    points, tuple_of = np.unique(codes, axis=0, return_inverse=True)
    tuple_of = tuple_of.reshape(-1).astype(np.int64)
    size = np.bincount(tuple_of, minlength=len(points)).astype(np.int64)
    own = np.zeros(len(points))
    if options.price == "information":
        for w, one, place in zip(weight.tolist(), fields, points.T, strict=True):
            own += w * np.log2(one.rows[place])
    every = np.arange(len(points), dtype=np.int64)
    made = [one for one in fields if one.column.numbers is not None and hierarchies.get(one.name) is None]
    return Uniform(
        records,
        guarantee,
        fields,
        weight,
        options.price,
        budget,
        demand_of(records, guarantee),
        np.ascontiguousarray(points),
        tuple_of,
        np.concatenate(([0], np.cumsum([one.tree.n_nodes for one in fields])[:-1])).astype(np.int64),
        Classes(every, every, size, own * size),
        " and ".join(
            f"{name}={limit:g}" if isinstance(limit, float) else f"{name}={limit}" for name, limit in rt.limits.items()
        ),
        tuple(
            Message(
                f"column {one.name!r} has no hierarchy, so its values are joined in {one.tree.source}; give it another with "
                f"{option('hierarchy', f'{one.name}=SPEC')}"
            )
            for one in made
        ),
    )
