"""joint: classes for columns and items at once, under one objective: W x (information lost in columns) + (1 - W) x (lost in items).

The table is cut in two again and again: a tree of classes, of which every pruning is a partition of the rows. What the items of each class
in the tree would lose, `local` finds out, a whole level at a time. The best pruning then follows from below: a class is cut where its parts
together cost less than it does. What a class costs in columns depends on which others are published alike, so that this is done a few
times, each with the prices that the last pruning has told. Clusters by CLUSTER and by Mondrian are starts as well.

From the best of these, classes merge in pairs where the objective gains by it, again judged by `local`, as many at a time as have no
class in common; and rows move into classes that they fit into and where their items have more company. The answer of an algorithm of
the RT paper stands if it is the best: clusters that are not merged (`rfirst`) are always compared, the others in tables of moderate size.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.local import local_in_parts
from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, RTOptions
from shoal.algorithms.rt.clusters import MOST_TUPLES, WAYS, number_groups
from shoal.algorithms.rt.merges import initial_clusters, publishable, recoding_of, rum_bound, tum_bound
from shoal.algorithms.rt.task import Guarantee, Hierarchies, Task, task_of
from shoal.algorithms.rt.tfirst import tfirst
from shoal.algorithms.rt.transaction import class_rows, raise_telling, stretches
from shoal.algorithms.rt.weighing.class_tree import ClassTree, grow
from shoal.algorithms.rt.weighing.column_price import ColumnPrice
from shoal.algorithms.rt.weighing.company import Company
from shoal.errors import Unreachable
from shoal.guarantees.km import KmAnonymity
from shoal.kernels.tables.boxes import costs_beside, extend_box
from shoal.numbers import Codes, Floats, Ints
from shoal.price.information import Fates, entropy_bits
from shoal.records.records import Records

PRUNINGS = 4
"""How often the tree is pruned, each time with the prices of the last pruning."""
LEAN = (0.25, 0.5, 1.0, 2.0, 4.0)
"""How much more than its due the columns' side counts in a pruning, tried in turn: sums over classes are not the whole truth."""
ROUNDS = 12
"""Of mergers, and of moves."""
NEAR = 8
"""Classes that each is compared with for a merger."""
MOST_CLASSES = 4_000
"""With more classes than this, none merge and no row moves: each would be compared with all others."""
MOST_FITTING = 20_000_000
"""Places, over all classes, of rows that fit into them; beyond, no row moves."""
MODERATE = 2_000
"""Rows, and occurrences of items, up to which the algorithms of the paper are run as well."""
LARGE = 200_000
"""Rows, and occurrences of items, from which on fewer starts are measured in full."""
CLOSE, CLOSE_IN_LARGE = 1.1, 1.01
"""Starts that cost no more than this much of the best are measured in full beside it."""

Classes = Codes
Boxes = Codes


@dataclass(frozen=True, eq=False)
class Partition:
    """Classes of the rows, and what they cost, the items by `local` in one pass and with as many deletions as it likes."""

    of_row: Classes
    n: int
    columns: float
    items: float
    lost: Floats
    """What each occurrence loses, in shares of what one says on average."""

    def cost(self, balance: float) -> float:
        return balance * self.columns + (1 - balance) * self.items


def joint(
    records: Records, guarantee: Guarantee, hierarchies: Hierarchies, options: Options, rt: RTOptions | None = None
) -> ClusterRecoding:
    """The classes that cost least by the objective, of all that were looked at."""
    task = task_of(records, guarantee, hierarchies, options, rt)
    search = _Search(task)
    starts = [search.best_pruning(), *search.clusters()]
    found = search.move_rows(search.merge_classes(min(starts, key=search.cost)))
    answers = list(search.answers({one.of_row.tobytes(): one for one in (found, *starts)}.values()))
    if search.size <= MODERATE:
        answers += _of_the_paper(records, guarantee, hierarchies, task)
    costs = [search.objective(answer) for answer in answers]
    chosen = answers[int(np.argmin(costs))]
    facts = {**chosen.facts, "balance": search.balance, "objective": min(costs)}
    notes = ("stopped by the time limit: a longer run may lose less",) if search.expired else ()
    return replace(chosen, algorithm="joint", facts=facts, notes=chosen.notes + notes, hurried=search.expired)


def _of_the_paper(
    records: Records, guarantee: Guarantee, hierarchies: Hierarchies, task: Task
) -> Iterator[ClusterRecoding]:
    """What the merges of the RT paper and TFIRST make of the table, as far as their bound can be kept."""
    for way in ("r", "t", "rt"):
        for bound in (rum_bound, tum_bound):
            try:
                yield bound(way, records, guarantee, hierarchies, task.options, task.rt)
            except Unreachable:
                continue
    yield tfirst(records, guarantee, hierarchies, task.options, task.rt)


class _Search:
    """A table, the objective, and steps from one partition to a better one."""

    def __init__(self, task: Task) -> None:
        self.task, self.balance = task, task.rt.balance
        self.started, self.expired = time.monotonic(), False
        self.price = ColumnPrice(task.space)
        self.occurrences = max(1, task.items.occurrences)
        self.size = len(task) + task.items.occurrences
        self.bits = entropy_bits(task.items.supports()) / self.occurrences
        """What an occurrence says on average."""
        self.filled = np.bincount(task.space.tuple_of, task.items.lengths > 0, minlength=len(task.space.points))
        """Per distinct tuple, the rows that hold items."""
        self._by_tuple = np.argsort(task.space.tuple_of, kind="stable").astype(np.int64)
        self._starts = np.concatenate(([0], np.cumsum(task.space.sizes)))

    def cost(self, partition: Partition) -> float:
        return partition.cost(self.balance)

    def objective(self, answer: ClusterRecoding) -> float:
        """What an answer costs, with the deletions that it was allowed."""
        assert answer.tokens is not None
        n = len(answer.values[next(iter(answer.values))])
        item, token, times = answer.tokens.counts()
        items = Fates(item, token, times, np.zeros(len(item), np.bool_)).info
        return self.balance * self.price.of_classes(answer.of_row, n) + (1 - self.balance) * items

    def answers(self, partitions: Iterable[Partition]) -> Iterator[ClusterRecoding]:
        """The best partition published, and others that are close to it.

        Where few deletions are allowed, an answer costs more than its partition did by one pass without a bound. What already costs as
        much by one pass is then not looked at, in all but small tables.
        """
        ranked = sorted(partitions, key=self.cost)
        limit = (CLOSE_IN_LARGE if self.size >= LARGE else CLOSE) * self.cost(ranked[0])
        for one in ranked:
            if self.cost(one) <= limit:
                self.task.options.tell(f"items of {one.n:,} classes", 0.8)
                answer = recoding_of("joint", self.task, one.of_row, one.n)
                if self.size > MODERATE and (cost := self.objective(answer)) > self.cost(one):
                    limit = min(limit, cost)
                yield answer

    def goes_on(self, doing: str, share: float) -> bool:
        """Whether there is time for another step."""
        limit = self.task.options.time_limit
        self.expired = limit is not None and time.monotonic() - self.started > limit
        self.task.options.tell(doing, share)
        return not self.expired

    def measure(self, of_row: npt.NDArray[np.integer], lost: Floats | None = None) -> Partition:
        """A partition with what it costs; `lost` is what its occurrences lose, where that is known."""
        of_row, n = number_groups(of_row)
        if lost is None:
            lost = self.items_lost(np.arange(len(of_row)), of_row)
        return Partition(of_row, n, self.price.of_classes(of_row, n), float(lost.sum()) / self.occurrences, lost)

    def items_lost(self, rows: Ints, of_row: npt.NDArray[np.integer]) -> Floats:
        """What each occurrence of these rows loses by `local` inside the classes, in shares of what one says on average.

        What moves up because it tells too much of a sensitive column is in it.
        """
        task = self.task
        items = task.items if len(rows) == len(task) else task.items.take(rows)
        if not items.occurrences:
            return np.zeros(0)
        options = replace(task.options, suppress=1.0, price="information", progress=None, time_limit=None)
        node = local_in_parts(items, of_row, KmAnonymity(task.k, task.m), task.tree, options, passes=1)
        if task.columns is not None:
            quiet = replace(task, options=options)
            raise_telling(quiet, items, rows, class_rows(*number_groups(of_row)), node)
        node = node.astype(np.int64)
        width = task.tree.n_nodes + 1
        _, place, times = np.unique(items.items * width + node + 1, return_inverse=True, return_counts=True)
        behind = np.bincount(node + 1, minlength=width)
        bits = np.log2(behind[node + 1] / times[place.reshape(-1)])
        return np.where(node >= 0, bits / self.bits if self.bits else 0.0, 1.0)

    def clusters(self) -> Iterator[Partition]:
        """The clusters that the paper's algorithms begin with, formed in either way."""
        for formation in WAYS if len(self.task.space.points) <= MOST_TUPLES else ("mondrian",):
            if self.goes_on(f"clusters by {formation}", 0.3):
                formed = replace(self.task, rt=replace(self.task.rt, formation=formation))
                yield self.measure(initial_clusters(formed)[0].of_row())

    # A tree of classes and its prunings

    def best_pruning(self) -> Partition:
        """The pruning of the tree of classes that costs least."""
        task, w = self.task, self.balance
        task.options.tell("cutting the table into classes", 0.0)
        tree = grow(task.space, self._is_class)
        items = self._items_of_nodes(tree)
        of_pair = np.repeat(np.arange(len(tree)), [len(tuples) for tuples in tree.tuples])
        tuple_of_pair = np.concatenate(tree.tuples)
        rows = task.space.sizes[tuple_of_pair]
        boxes = np.stack([task.space.boxes_of_tuples(tuples) for tuples in tree.tuples])
        found: dict[bytes, tuple[float, Ints]] = {}
        for lean in LEAN:
            price = ColumnPrice(task.space)
            for _ in range(PRUNINGS):
                lost = np.bincount(of_pair, price.of_pairs(boxes, of_pair, tuple_of_pair, rows), minlength=len(tree))
                nodes = tree.cheapest_pruning(w * lean * lost + (1 - w) * items)
                inside = np.isin(of_pair, nodes)
                place = np.searchsorted(nodes, of_pair[inside])
                columns = price.learn(boxes[nodes], place, tuple_of_pair[inside], rows[inside])
                if nodes.tobytes() in found:
                    break
                found[nodes.tobytes()] = w * columns + (1 - w) * float(items[nodes].sum()), nodes
        nodes = min(found.values(), key=lambda one: one[0])[1]
        return self.measure(_node_of_tuple(tree, nodes)[task.space.tuple_of])

    def _is_class(self, tuples: Ints) -> bool:
        """Whether these tuples can be a class."""
        k, filled = self.task.k, self.filled[tuples].sum()
        if self.task.space.sizes[tuples].sum() < k or 0 < filled < k:
            return False
        is_told = self.task.looks_at_values or self.task.items.people is not None
        return not is_told or publishable(self.task, self._rows(tuples))

    def _rows(self, tuples: Ints) -> Ints:
        """The rows of these tuples, ascending."""
        return np.sort(self._by_tuple[stretches(self._starts[tuples], self.task.space.sizes[tuples])])

    def _items_of_nodes(self, tree: ClassTree) -> Floats:
        """Per node, what its items would lose, as a share of what all items say."""
        lost, items = np.zeros(len(tree)), self.task.items
        levels = list(tree.levels())
        for place, nodes in enumerate(levels):
            self.task.options.tell(f"items of {len(nodes):,} classes", 0.05 + 0.25 * place / len(levels))
            of_row = _node_of_tuple(tree, nodes)[self.task.space.tuple_of]
            rows = np.flatnonzero(of_row >= 0)
            lost += np.bincount(
                np.repeat(of_row[rows], items.lengths[rows]), self.items_lost(rows, of_row[rows]), minlength=len(tree)
            )
        return lost / self.occurrences

    # Mergers

    def merge_classes(self, best: Partition) -> Partition:
        """With classes merged in pairs, as long as the objective gains by it."""
        for place in range(ROUNDS):
            if not 2 <= best.n <= MOST_CLASSES or not self.goes_on(
                f"merging {best.n:,} classes", 0.4 + 0.2 * place / ROUNDS
            ):
                break
            better = self._with_mergers(best)
            if better is None:
                break
            best = better
        return best

    def _with_mergers(self, best: Partition) -> Partition | None:
        """With those pairs of classes merged that the objective gains by; None where it gains by none."""
        items, w = self.task.items, self.balance
        of_class = np.repeat(best.of_row, items.lengths)
        company = Company.of(items, best.of_row, best.n, best.lost)
        boxes = self.task.space.boxes(best.of_row, best.n)
        pairs = self._near(boxes, np.bincount(best.of_row, minlength=best.n))
        columns = self._lost_by_mergers(best, boxes, pairs)
        change = w * columns - (1 - w) * company.gain_of(pairs) / self.occurrences
        if not self.task.is_closed:
            rows = class_rows(best.of_row, best.n)
            kept = [publishable(self.task, np.sort(np.concatenate((rows[a], rows[b])))) for a, b in pairs.tolist()]
            pairs, columns, change = pairs[kept], columns[kept], change[kept]
        pairs, columns = _disjoint(pairs, columns, change)
        if not len(pairs):
            return None
        after = self.items_lost(np.arange(len(items)), _with_merged(best.of_row, pairs))
        change = np.bincount(of_class, after - best.lost, minlength=best.n)[pairs].sum(axis=1) / self.occurrences
        gain = w * columns + (1 - w) * change
        tried = len(pairs)
        pairs = pairs[np.argsort(gain, kind="stable")][: np.count_nonzero(gain < 0)]
        while len(pairs):
            found = self.measure(_with_merged(best.of_row, pairs), after if len(pairs) == tried else None)
            if self.cost(found) < self.cost(best):
                return found
            pairs = pairs[: len(pairs) // 2]
        return None

    def _near(self, boxes: Boxes, sizes: Ints) -> Ints:
        """Per class the few others that it costs least together with, by NCP; each pair once, the first class first."""
        n, alive, metric = len(boxes), np.ones(len(boxes), np.bool_), self.task.space.metric
        own = self.task.space.costs(boxes)
        found = []
        for c in range(n):
            worse = (sizes + sizes[c]) * costs_beside(metric, boxes, c, alive) - sizes * own - sizes[c] * own[c]
            worse[c] = np.inf
            near = np.argpartition(worse, NEAR)[:NEAR] if n > NEAR + 1 else np.flatnonzero(np.isfinite(worse))
            found += [(min(c, other), max(c, other)) for other in near.tolist()]
        return np.unique(np.array(found, np.int64), axis=0)

    def _lost_by_mergers(self, best: Partition, boxes: Boxes, pairs: Ints) -> Floats:
        """What the columns lose by merging each pair of classes."""
        of_pair, tuple_of_pair, rows = self.price.pairs(best.of_row)
        self.price.learn(boxes, of_pair, tuple_of_pair, rows)
        now = np.bincount(of_pair, self.price.of_pairs(boxes, of_pair, tuple_of_pair, rows), minlength=best.n)
        both = boxes[pairs[:, 0]].copy()
        for at, other in enumerate(pairs[:, 1].tolist()):
            extend_box(self.task.space.metric, both, at, boxes, other)
        starts = np.searchsorted(of_pair, np.arange(best.n + 1))
        lost: Floats = -now[pairs].sum(axis=1)
        for side in pairs.T:
            n = np.diff(starts)[side]
            inside = stretches(starts[side], n)
            merger = np.repeat(np.arange(len(pairs)), n)
            each = self.price.of_pairs(both, merger, tuple_of_pair[inside], rows[inside])
            lost += np.bincount(merger, each, minlength=len(pairs))
        return lost

    # Moves

    def move_rows(self, best: Partition) -> Partition:
        """With rows in other classes that they fit into, as long as the objective gains by it."""
        part = 1.0
        for place in range(ROUNDS):
            if not 2 <= best.n <= MOST_CLASSES or not self.goes_on(
                f"moving rows between {best.n:,} classes", 0.6 + 0.2 * place / ROUNDS
            ):
                break
            to, gain = self._better_places(best)
            rows = np.flatnonzero(gain > 0)
            rows = rows[np.argsort(-gain[rows], kind="stable")][: int(part * len(rows))]
            if not len(rows):
                break
            found = self.measure(self._with_moves(best.of_row, to, rows))
            if self.cost(found) < self.cost(best):
                best = found
            else:
                part /= 4
        return best

    def _better_places(self, best: Partition) -> tuple[Classes, Floats]:
        """Per row, the class that it fits into and promises most to gain in, and what."""
        task, w = self.task, self.balance
        items, space = task.items, task.space
        to, gain = best.of_row.copy(), np.zeros(len(task))
        boxes = space.boxes(best.of_row, best.n)
        fits = [self._fitting(box) for box in boxes]
        if sum(len(tuples) for tuples in fits) > MOST_FITTING // 100 or sum(
            int(space.sizes[tuples].sum()) for tuples in fits
        ) > MOST_FITTING // max(1, items.occurrences // max(1, len(items))):
            return to, gain
        company = Company.of(items, best.of_row, best.n, best.lost)
        of_pair, tuple_of_pair, rows = self.price.pairs(best.of_row)
        self.price.learn(boxes, of_pair, tuple_of_pair, rows)
        by_pair = self.price.of_pairs(boxes, of_pair, tuple_of_pair, np.ones(len(rows), np.int64))
        width = np.int64(len(space.points))
        keys = of_pair * width + tuple_of_pair
        now = w * by_pair[np.searchsorted(keys, best.of_row * width + space.tuple_of)]
        for rows_of_class, c in zip(class_rows(best.of_row, best.n), range(best.n), strict=True):
            now[rows_of_class] += (1 - w) * self._row_costs(rows_of_class, company.in_class(c, 0))
        for c, tuples in enumerate(fits):
            wanted = np.zeros(len(space.points), np.bool_)
            wanted[tuples] = True
            others = np.flatnonzero(wanted[space.tuple_of] & (best.of_row != c))
            if not len(others):
                continue
            one = np.ones(len(tuples), np.int64)
            columns = np.zeros(len(space.points))
            columns[tuples] = self.price.of_pairs(boxes[c : c + 1], np.zeros_like(one), tuples, one)
            then = w * columns[space.tuple_of[others]]
            then += (1 - w) * self._row_costs(others, company.in_class(c, 1))
            better = now[others] - then > gain[others]
            to[others[better]], gain[others[better]] = c, (now[others] - then)[better]
        return to, gain

    def _row_costs(self, rows: Ints, of_item: Floats) -> Floats:
        """What the items of each row lose where each item loses this."""
        part = self.task.items.take(rows)
        row = np.repeat(np.arange(len(rows)), part.lengths)
        return np.bincount(row, of_item[part.items], minlength=len(rows)) / self.occurrences

    def _fitting(self, box: Boxes) -> Ints:
        """The tuples that lie inside a box."""
        space = self.task.space
        inside = np.ones(len(space.points), np.bool_)
        for j, tree in enumerate(space.trees):
            value = space.points[:, j, 0]
            if tree is None:
                inside &= (box[j, 0] <= value) & (value <= box[j, 1])
            else:
                start, stop = tree.span[box[j, 0]]
                inside &= (start <= tree.span[value, 0]) & (tree.span[value, 0] < stop)
        return np.flatnonzero(inside)

    def _with_moves(self, of_row: Classes, to: Classes, rows: Ints) -> Classes:
        """With the rows in their new classes, but for rows whose old or new class could not be published then."""
        while True:
            moved = of_row.copy()
            moved[rows] = to[rows]
            touched = np.unique(np.concatenate((of_row[rows], to[rows]))).tolist()
            bad = [c for c in touched if len(own := np.flatnonzero(moved == c)) and not publishable(self.task, own)]
            if not bad:
                return moved
            rows = rows[~(np.isin(of_row[rows], bad) | np.isin(to[rows], bad))]


def _node_of_tuple(tree: ClassTree, nodes: Ints) -> Ints:
    """The one of these nodes that each tuple is in, -1 for none."""
    of_tuple = np.full(len(tree.tuples[0]), -1, np.int64)
    for v in nodes.tolist():
        of_tuple[tree.tuples[v]] = v
    return of_tuple


def _disjoint(pairs: Ints, columns: Floats, change: Floats) -> tuple[Ints, Floats]:
    """Pairs that promise to gain, the best first, none with a class of one before it."""
    chosen: list[int] = []
    taken: set[int] = set()
    order = np.argsort(change, kind="stable")
    for at in order[change[order] < 0].tolist():
        if taken.isdisjoint(pair := pairs[at].tolist()):
            taken.update(pair)
            chosen.append(at)
    return pairs[chosen], columns[chosen]


def _with_merged(of_row: Classes, pairs: Ints) -> Classes:
    becomes = np.arange(int(of_row.max()) + 1, dtype=np.int32)
    becomes[pairs[:, 1]] = pairs[:, 0]
    return becomes[of_row]
