"""Full-domain generalization: every column at one level, and no choice of levels loses less (proven).

All choices form a lattice, in which a step up makes one column a level coarser. LeFevre, DeWitt and Ramakrishnan (Incognito, 2005), El
Emam and others (OLA, 2009) and Kohlmayer and others (Flash, 2012) search it by what makes such searches fast: whatever lies above a
choice that keeps the promise keeps it too, and whatever lies below one that breaks it breaks it too. Here choices come in the order of
what their columns lose, of which the sum is known before anything is counted. Without rows that leave, the first that keeps the promise
is therefore the best. From each that is looked at a path goes up by the cheapest steps, and a binary search on it finds where the promise
begins to hold: what lies below that point is settled without a look.

Rows that leave cost as well, so the loss of a choice is known only once its classes are counted. But no choice loses less than its
columns do with the dearest rows taken out, and where so many rows must leave that they alone cost more than the best choice so far,
everything below is settled.

Classes are rolled up from those of a finer choice (`shoal.kernels.tables.roll_up`).
"""

from __future__ import annotations

import time
from collections import OrderedDict

import numpy as np

from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, RTOptions
from shoal.algorithms.tables.fields import Hierarchies
from shoal.algorithms.tables.uniform import Classes, Uniform, uniform
from shoal.errors import InputError
from shoal.guarantees.table import TableAnonymity
from shoal.numbers import Floats, Ints
from shoal.price.information import entropy_bits
from shoal.records.records import Records

MOST_CHOICES = 5_000_000
"""Choices of levels that can be held in view."""
_TABLES = 48
"""Class tables that are kept to roll others up from."""
_TOLD = 64
"""Choices that are counted between two words about progress."""


def full_domain(
    records: Records, guarantee: TableAnonymity, hierarchies: Hierarchies, options: Options, rt: RTOptions | None = None
) -> ClusterRecoding:
    """The choice of a level for each column that loses least."""
    rt = rt or RTOptions()
    started = time.monotonic()
    table = uniform(records, guarantee, hierarchies, options, rt)
    search = _Lattice(table, options, started)
    search.run()
    if search.found is None:
        raise table.unreachable()
    nodes = search.nodes(search.found)
    exact = table.price == "ncp" or not table.budget
    bound = table.share(search.bound)
    gap = table.share(search.best) - bound
    return table.recoding(
        nodes,
        "full-domain",
        {
            "levels": ", ".join(
                f"{one.name} {h} of {len(one.levels) - 1}"
                for one, h in zip(table.fields, search.found.tolist(), strict=True)
            ),
            "choices": int(np.prod(search.shape)),
            "counted": search.counted,
            **({} if search.is_optimal else {"gap": gap}),
        },
        optimal=search.is_optimal,
        bound=bound if exact else None,
        notes=()
        if search.is_optimal
        else (f"stopped by the time limit: at most {gap:.4%} above the least that levels can lose",),
    )


class _Lattice:
    """The choices of levels: what each loses at least, which are settled, and the best so far."""

    def __init__(self, table: Uniform, options: Options, started: float) -> None:
        self.table, self.options, self.started = table, options, started
        self.shape = tuple(len(one.levels) for one in table.fields)
        if (choices := int(np.prod([float(n) for n in self.shape]))) > MOST_CHOICES:
            raise InputError(
                f"the columns have {choices:,} choices of levels together, more than the {MOST_CHOICES:,} that full-domain can search; "
                "take hierarchies of fewer levels or fewer columns, or the algorithm top-down"
            )
        self.level_start = [np.cumsum([0, *[one.tree.n_nodes] * len(one.levels)]) for one in table.fields]
        lengths = [int(start[-1]) for start in self.level_start]
        self.column_start = np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.int64)
        self.target = np.concatenate([node for one in table.fields for node in one.levels]).astype(np.int32)
        self.heights = [[table.heights(j, node) for node in one.levels] for j, one in enumerate(table.fields)]
        self.least = [self._least(j) for j in range(len(self.shape))]
        self.floor = sum(np.ix_(*self.least)[1:], np.ix_(*self.least)[0]).astype(np.float64)
        """Per choice, what it loses at least."""
        self.settled = np.zeros(self.shape, np.bool_)
        self.best = np.inf
        self.bound = 0.0
        self.found: Ints | None = None
        self.is_optimal = False
        self.counted = 0
        self.tables: OrderedDict[tuple[int, ...], Classes] = OrderedDict()

    def nodes(self, choice: Ints) -> list[Ints]:
        return [one.levels[h] for one, h in zip(self.table.fields, choice.tolist(), strict=True)]

    def run(self) -> None:
        """Look at choices until none is left that could lose less than the best, or the time is up."""
        self._look_at(np.array(self.shape) - 1)  # where it holds, if it holds anywhere, unless rows may leave
        steps = sum(np.ix_(*(np.arange(n) for n in self.shape)), np.zeros(self.shape, np.int64))
        floor, settled = self.floor.reshape(-1), self.settled.reshape(-1)
        order = np.lexsort((steps.reshape(-1), floor))
        for at in order.tolist():
            if floor[at] >= self.best:
                break
            if settled[at]:
                continue
            if self._is_late:
                self.bound = float(floor[at])
                return
            choice = np.array(np.unravel_index(at, self.shape), np.int64)
            if self.table.closed:
                self._climb_from(choice)
            else:
                self._look_at(choice)
        self.is_optimal, self.bound = True, self.best

    @property
    def _is_late(self) -> bool:
        limit = self.options.time_limit
        return limit is not None and self.found is not None and time.monotonic() - self.started > limit

    def _least(self, j: int) -> Floats:
        """Per level of a column, what its cells cost at least, the rows that are dearest to it taken out as far as they may leave."""
        table, one = self.table, self.table.fields[j]
        rows, w, costs = one.rows[one.places], float(table.weight[j]), []
        is_ncp = table.price == "ncp"
        own = np.zeros(len(rows)) if is_ncp else w * np.log2(rows)
        average = w if is_ncp else w * entropy_bits(rows) / len(table)
        for node, height in zip(one.levels, self.heights[j], strict=True):
            each = height[node[one.places]] - own
            costs.append(max(0.0, float(each @ rows) - _saving(each - average, rows, table.budget)))
        return np.maximum.accumulate(np.array(costs))

    def _climb_from(self, choice: Ints) -> None:
        """Settle a choice, and what follows from others above it that could be better than the best."""
        path = [choice]
        while True:
            up = [path[-1] + step for step in np.eye(len(choice), dtype=np.int64)]
            up = [one for one in up if np.all(one < self.shape) and self.floor[tuple(one)] < self.best]
            if not up:
                break
            path.append(min(up, key=lambda one: float(self.floor[tuple(one)])))
        low, high = 0, len(path) - 1
        while low <= high:
            middle = (low + high) // 2
            if self._look_at(path[middle]):
                high = middle - 1
            else:
                low = middle + 1

    def _look_at(self, choice: Ints) -> bool:
        """Whether a choice keeps the promise and could be best for the rows that leave; settles it, and what follows from it."""
        table, at = self.table, tuple(choice.tolist())
        starts = self.column_start + np.array([int(start[h]) for start, h in zip(self.level_start, at, strict=True)])
        self.counted += 1
        classes = self._classes(at, starts)
        small = classes.size < table.k
        if self._settles(int(classes.size[small].sum()), at):
            return False
        poor, gone = small, int(classes.size[small].sum())
        if table.demand is not None:
            poor = table.poor(classes, classes.of_finer[table.tuple_of])
            gone = int(classes.size[poor].sum())
            if table.closed and self._settles(gone, at):
                return False
        self.settled[at] = True
        if gone <= table.budget and gone < len(table):
            price = (
                float(self.floor[at])
                if not table.budget
                else table.price_of(
                    [own[h] for own, h in zip(self.heights, at, strict=True)], classes, poor, self.target, starts
                )
            )
            if price < self.best:
                self.best, self.found = price, choice
        if self.counted % _TOLD == 0:
            best = table.share(self.best) if self.found is not None else None
            told = "" if best is None else f", best {best:.2%}"
            self.options.tell(
                f"levels: {self.counted:,} choices counted of {self.settled.size:,}{told}",
                float(self.settled.mean()),
                best=best,
            )
        return True

    def _settles(self, gone: int, at: tuple[int, ...]) -> bool:
        """Whether so many rows must leave that neither this choice nor any below it is of use, which are then settled."""
        if gone <= self.table.budget and gone * self.table.row_price < self.best:
            return False
        self.settled[tuple(slice(0, h + 1) for h in at)] = True
        return True

    def _classes(self, at: tuple[int, ...], starts: Ints) -> Classes:
        """The classes of a choice, from the fewest of a finer one that are known; from the rows where those are asked for one by one."""
        table = self.table
        if table.demand is not None:
            return table.classes(self.target, starts)
        finer = [one for name, one in self.tables.items() if all(a <= b for a, b in zip(name, at, strict=True))]
        best = min(finer, key=lambda one: len(one.size), default=None)
        classes = table.classes(self.target, starts, best)
        self.tables[at] = classes
        if len(self.tables) > _TABLES:
            self.tables.popitem(last=False)
        return classes


def _saving(dearer: Floats, rows: Ints, budget: int) -> float:
    """How much less is lost at most if up to `budget` rows leave, each saving what it is dearer than a row that leaves."""
    order = np.argsort(-dearer, kind="stable")
    order = order[dearer[order] > 0]
    taken = np.diff(np.minimum(np.concatenate(([0], np.cumsum(rows[order]))), budget))
    return float(taken @ dearer[order])
