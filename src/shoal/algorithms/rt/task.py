"""Task: a table as the algorithms of this room see it: its relational space, its items, its sensitive items, the promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import RTOptions
from shoal.algorithms.rt.demand import Demand, check_all_people, check_people, column_blocks, item_blocks, people_blocks
from shoal.errors import InputError, Unreachable, check_rows, number_of, option
from shoal.guarantees.lm import LmDiversity
from shoal.guarantees.rt import RTAnonymity
from shoal.hierarchy.build import flat_tree
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.relational import Space, space
from shoal.numbers import Codes, Floats, Ints
from shoal.records.baskets import Baskets
from shoal.records.records import Records

Hierarchies = Mapping[str, Hierarchy | None]
Guarantee = RTAnonymity | LmDiversity


@dataclass(frozen=True, eq=False)
class Task:
    """What all algorithms for relational columns with items are given."""

    space: Space
    items: Baskets
    """The items that an attacker may know."""
    sensitive: Baskets
    """The items that an attacker wants to learn."""
    k: int
    m: int
    l: int  # noqa: E741 (the papers' name)
    promise: str
    tree: Hierarchy
    """The item hierarchy; sets do without it."""
    weight: Floats
    """Per item, how much it matters."""
    rt: RTOptions
    options: Options
    columns: Demand | None = None
    """What every crowd must be like in sensitive columns: a class, and its rows with the same up to m items."""
    forming: Demand | None = None
    """What is demanded of a class as a whole, of sensitive columns and items."""

    @property
    def looks_at_values(self) -> bool:
        """Whether more is demanded of crowds than their size."""
        return self.l > 1 or self.columns is not None

    @property
    def is_closed(self) -> bool:
        """Whether classes that can be published each can be together."""
        return self.columns is None or self.columns.is_closed

    def members(self, rows: Ints) -> int:
        """How many people, or rows if every row is a person, there are in these rows."""
        return len(rows) if self.items.people is None else len(np.unique(self.items.people[rows]))

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def leaf(self) -> Codes:
        """The leaf of each item in the hierarchy."""
        return self.tree.leaves_of(self.items.vocabulary)

    @cached_property
    def node_weight(self) -> Floats:
        """Per node of the item hierarchy, the mean weight of the items under it."""
        leaf_weight = np.zeros(self.tree.n_leaves, np.float64)
        leaf_weight[self.leaf] = self.weight
        held = np.bincount(self.leaf, minlength=self.tree.n_leaves)
        order, span = self.tree.leaf_order, self.tree.span
        weights, counts = (np.concatenate(([0.0], np.cumsum(one[order]))) for one in (leaf_weight, held))
        below = counts[span[:, 1]] - counts[span[:, 0]]
        mean: Floats = (weights[span[:, 1]] - weights[span[:, 0]]) / np.maximum(below, 1.0)
        return mean


def task_of(
    records: Records, guarantee: Guarantee, hierarchies: Hierarchies, options: Options, rt: RTOptions | None = None
) -> Task:
    """The task for a table; raises where no partition of it can keep the promise."""
    rt = rt or RTOptions()
    if records.items is None:
        raise InputError(
            f"the table has no items; say with {option('items')} which column holds them, or ask for {option('model', 'k')}"
        )
    items, sensitive = records.items.split_off(records.sensitive_items)
    n, k, l = len(records), int(guarantee.k), int(getattr(guarantee, "l", 1))  # noqa: E741
    check_rows(n, guarantee)
    check_people(items.people, guarantee)
    filled = n - items.empty
    with_items = np.flatnonzero(items.lengths > 0)
    if 0 < (there := filled if items.people is None else len(np.unique(items.people[with_items]))) < k:
        who = ("row holds", "rows hold") if items.people is None else ("person has", "people have")
        raise Unreachable(
            f"{guarantee} cannot be reached: only "
            f"{number_of(there, *who)} any item, fewer than k = {k:,}; choose a smaller k"
        )
    if l > 1:
        _refuse_frequent(str(guarantee), items, sensitive, l)
    of_columns = column_blocks(records, guarantee) if l > 1 or guarantee.t is not None else []
    of_items, of_people = item_blocks(sensitive, l), people_blocks(items.people, guarantee)
    if of_people:  # what is demanded of people is demanded of every crowd
        of_columns += [block for block in of_items if block.once is not None]
    counts_people = of_people and not of_columns and rt.transaction == "local"  # by itself
    columns = None if counts_people else Demand.of([*of_people, *of_columns], n)
    if of_people:
        check_all_people(columns, guarantee, np.arange(n, dtype=np.int64))
        check_all_people(columns, guarantee, with_items)
    elif columns is not None and 0 < filled < n and not columns.holds(with_items):
        raise Unreachable(
            f"{guarantee} cannot be reached: the {filled:,} rows that hold items are, all together, already too far from it in a sensitive "
            f"column; choose a larger t or a smaller l, or leave out the rows without items"
        )
    tree = hierarchies.get(records.items_name)
    if tree is None and rt.transaction not in ("local", "sets"):
        raise InputError(
            f"transaction {rt.transaction!r} generalizes items along a hierarchy; give one for {records.items_name!r}"
        )
    if tree is None or rt.transaction == "sets":
        tree = flat_tree(items.vocabulary or ("",))
    elif taken := records.sensitive_items & set(tree.names[tree.n_leaves :]):
        raise InputError(
            f"hierarchy {tree.source}: {len(taken):,} of its categories are called like a sensitive item; rename them"
        )
    return Task(
        space(records, hierarchies, rt.weights),
        items,
        sensitive,
        k,
        min(int(guarantee.m), max(items.longest, 1)),
        l,
        str(guarantee),
        tree,
        _item_weights(items.vocabulary, rt.item_weights),
        rt,
        options,
        columns,
        Demand.of([*of_people, *of_columns, *(block for block in of_items if block.once is None)], n),
    )


def _refuse_frequent(promise: str, items: Baskets, sensitive: Baskets, l: int) -> None:  # noqa: E741
    """Classes average out: what is too frequent in the whole table is too frequent in one of its classes."""
    has_items = items.lengths > 0
    row = np.repeat(np.arange(len(items)), sensitive.lengths)
    for rows, among in ((np.ones(len(items), bool), "all"), (has_items, "the rows with other items")):
        support = np.bincount(sensitive.items[rows[row]], minlength=len(sensitive.vocabulary))
        total = int(np.count_nonzero(rows))
        worst = int(support.argmax()) if len(support) else -1
        if worst >= 0 and int(support[worst]) * l > total:
            raise Unreachable(
                f"{promise} cannot be reached: a sensitive item is in {support[worst]:,} of "
                f"{among if total != len(items) else 'all'} {total:,} rows, more than 1/{l}; choose a smaller l, or do not name it as "
                "sensitive"
            )


def _item_weights(vocabulary: tuple[str, ...], given: Mapping[str, float]) -> Floats:
    weight = np.array([given.get(name, 1.0) for name in vocabulary], np.float64)
    if len(weight) and not (np.all(np.isfinite(weight)) and weight.min() >= 0 and weight.max() <= 1):
        raise InputError("weights of items are numbers from 0 to 1")
    return weight
