"""Demand: what the sensitive values of a class must be like, and classes formed with that in view.

Classes are formed twice, without the demand and with it: CLUSTER then takes the nearest rows that together hold what is demanded, Mondrian
cuts only where all pieces do. Classes that lack something go into others, whole or row by row, wherever that costs all rows least; the
better of the two outcomes is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.algorithms.buckets.eligibility import known_values
from shoal.errors import Message, Unreachable, number_of, option
from shoal.guarantees.table import TableAnonymity
from shoal.kernels.tables.demands import (
    DISTINCT,
    EQUAL,
    FREQUENCY,
    JOINABLE,
    JOINABLE_OR_MISSING,
    NOT_ALL_PEOPLE,
    ORDERED,
    ORDERED_OR_MISSING,
    PEOPLE,
    SHARE_OF_PEOPLE,
    Demands,
    demanded_groups,
    repair_groups,
    shortfall_of,
)
from shoal.loss.relational import Space
from shoal.numbers import Codes, Ints
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records

_REACH = 10
"""How many times k rows a seed looks at for those that it lacks."""


@dataclass(frozen=True, eq=False)
class Block:
    """One demand: per row its places (0 for what is unknown), of `places` in all."""

    kind: int
    bound: float
    rows: Ints
    value: Ints
    places: int
    once: Ints | None = None
    """A number for each of the values, from 0 on: of those with the same number only the first counts."""


@dataclass(frozen=True, eq=False)
class Demand:
    """All that is demanded of a class besides its size."""

    demands: Demands

    @classmethod
    def of(cls, blocks: list[Block], n_rows: int) -> Demand | None:
        """Blocks side by side; None where nothing is demanded."""
        if not blocks:
            return None
        start = np.concatenate(([0], np.cumsum([block.places for block in blocks]))).astype(np.int64)
        rows = np.concatenate([block.rows for block in blocks])
        value = np.concatenate([block.value + first for block, first in zip(blocks, start.tolist(), strict=False)])
        value = value[np.argsort(rows, kind="stable")].astype(np.int32)
        offsets = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n_rows)))).astype(np.int64)
        kind = np.array([block.kind for block in blocks], np.int64)
        bound = np.array([block.bound for block in blocks], np.float64)
        once = np.zeros(0, np.int32)
        if any(block.once is not None for block in blocks):
            once, start = _places_of_first_rows(blocks, np.argsort(rows, kind="stable"), start)
        table = np.bincount(value, minlength=int(start[-1])) / max(1, n_rows)
        return cls(Demands(offsets, value, start, kind, bound, table, once))

    @property
    def is_closed(self) -> bool:
        """Whether classes that lack nothing never do together. People may have one value in this class and another in that one."""
        return bool((self.demands.kind < SHARE_OF_PEOPLE).all())

    def holds(self, rows: Ints) -> bool:
        """Whether these rows lack nothing."""
        return bool(shortfall_of(self.demands, rows) <= 0)

    def clusters(self, space: Space, k: int, seed: int) -> tuple[Codes, int]:
        """CLUSTER with the demand in view: (cluster of each row, how many). A row that finds none is one by itself."""
        order = np.random.default_rng(seed).permutation(len(space))
        reach = _REACH * k
        group, n = demanded_groups(space.metric, space.points, space.tuple_of, order, k, self.demands, reach)
        alone = np.flatnonzero(group < 0)
        group[alone] = np.arange(n, n + len(alone), dtype=np.int32)
        return group, n + len(alone)

    def repair(self, space: Space, of_row: Codes, n: int, k: int) -> tuple[Codes, int]:
        """The clusters, with those that lack something or are too small taken apart or joined with others."""
        group = of_row.copy()
        repair_groups(space.metric, space.points, space.tuple_of, group, space.boxes(group, n), k, self.demands)
        left, number = np.unique(group, return_inverse=True)
        return number.reshape(-1).astype(np.int32), len(left)


def _places_of_first_rows(blocks: list[Block], by_row: Ints, start: Ints) -> tuple[Codes, Ints]:
    """(where the first rows of each number are told from others, -1 for values without a number; the starts with the end of these)."""
    places, end = [], int(start[-1])
    for block in blocks:
        if block.once is None:
            places.append(np.full(len(block.rows), -1, np.int64))
        else:
            places.append(block.once + end)
            end += int(block.once.max(initial=-1)) + 1
    return np.concatenate(places)[by_row].astype(np.int32), np.append(start, end)


def demand_of(records: Records, guarantee: TableAnonymity) -> Demand | None:
    """What a promise demands of classes besides their rows; raises where not even all rows together hold it."""
    demand = Demand.of([*people_blocks(records.people, guarantee), *column_blocks(records, guarantee)], len(records))
    check_all_people(demand, guarantee, np.arange(len(records), dtype=np.int64))
    return demand


def check_all_people(demand: Demand | None, guarantee: Any, rows: Ints) -> None:
    """Raises unless these rows hold all that is demanded of people: classes that cannot stand alone are joined until they are one."""
    if demand is not None and PEOPLE in demand.demands.kind and not demand.holds(rows):
        raise Unreachable(
            f"{guarantee} cannot be reached by joining classes: in all {len(rows):,} rows together a sensitive value is that of too many "
            "people; choose a smaller l"
        )


def people_blocks(people: Codes | None, guarantee: Any) -> list[Block]:
    """So many people in each class, where rows say whose they are; raises where there are fewer in all."""
    if people is None:
        return []
    check_people(people, guarantee)
    rows = np.arange(len(people), dtype=np.int64)
    return [Block(PEOPLE, float(guarantee.k), rows, np.zeros(len(people), np.int64), 1, people.astype(np.int64))]


def check_people(people: Codes | None, guarantee: Any) -> None:
    """Raises if not even one class of k people can be made."""
    if people is not None and (there := len(np.unique(people))) < guarantee.k:
        raise Unreachable(
            f"{guarantee} cannot be reached: k = {guarantee.k:,}, but the rows are those of only {number_of(there, 'person', 'people')}; "
            "choose a smaller k"
        )


def _among_people(kind: int, of_rows: Block, people: Codes) -> Block:
    """The same demand, but of the people whose rows these are."""
    pairs = people[of_rows.rows].astype(np.int64) * of_rows.places + of_rows.value
    once = np.unique(pairs, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return replace(of_rows, kind=kind, once=once)


def column_blocks(records: Records, guarantee: Any) -> list[Block]:
    """What a promise demands of sensitive columns, also beside items."""
    return [block for column in records.of_role("sensitive") for block in _blocks(column, guarantee, records.people)]


def item_blocks(sensitive: Baskets, l: int) -> list[Block]:  # noqa: E741
    """No sensitive item in more than 1/l of the rows, nor of the people where rows say whose they are."""
    if l <= 1 or not len(sensitive.vocabulary):
        return []
    row = np.repeat(np.arange(len(sensitive), dtype=np.int64), sensitive.lengths)
    block = Block(FREQUENCY, float(l), row, sensitive.items.astype(np.int64) + 1, len(sensitive.vocabulary) + 1)
    if sensitive.people is None:
        return [block]
    return [block, _among_people(SHARE_OF_PEOPLE, block, sensitive.people)]


def _blocks(column: Column, guarantee: Any, people: Codes | None) -> Iterator[Block]:
    """What is demanded of one column."""
    every = np.arange(len(column), dtype=np.int64)
    known = known_values(column, guarantee.missing)
    place = np.where(known, 1 + np.cumsum(known) - 1, 0)[column.codes].astype(np.int64)
    places = int(np.count_nonzero(known)) + 1
    cannot = f"{guarantee} cannot be reached: column {column.name!r}"
    asked = getattr(guarantee, "l", 1)
    if asked > 1:
        by_frequency = getattr(guarantee, "by_frequency", True)  # beside items it always is
        l = min(int(asked), len(column) + 1)  # noqa: E741 - more is as impossible
        counts = np.bincount(place, minlength=places)
        different, likeliest = int(np.count_nonzero(counts[1:])), int(counts[1:].max(initial=0) + counts[0])
        if not by_frequency and different < l:
            raise Unreachable(f"{cannot} has only {number_of(different, 'different value')}; choose a smaller l")
        if by_frequency and likeliest * l > len(column):
            raise Unreachable(
                f"{cannot} has a value that {likeliest:,} of all {len(column):,} rows may have, more than 1/{l}; choose a smaller l"
            )
        block = Block(FREQUENCY if by_frequency else DISTINCT, float(l), every, place, places)
        yield block
        if people is not None:
            yield _among_people(SHARE_OF_PEOPLE if by_frequency else NOT_ALL_PEOPLE, block, people)
    if guarantee.t is None:
        return
    t, missing = float(guarantee.t), np.array([value.strip() == "" for value in column.values])[column.codes]
    unknown = bool(missing.any()) and not bool(known[column.codes[missing][0]])
    if unknown and missing.mean() > t:
        raise Unreachable(
            Message(
                f"{cannot} is missing in {missing.mean():.1%} of the rows, which may be any value, so that no class is within t = {t:g}; "
                f"choose a larger t, or read missing ones as a value of their own ({option('missing', 'value')})"
            )
        )
    # The audit reads the promise for itself: what is wrong here makes it refuse, not agree.
    given = guarantee.distance if isinstance(guarantee.distance, str | None) else guarantee.distance.get(column.name)
    if given == "equal" or (given is None and column.numbers is None):
        yield Block(EQUAL, t, every, place, places)
        return
    key = np.arange(len(column.values), dtype=np.float64) if column.numbers is None else column.numbers
    ranked, rank = np.unique(np.asarray(key)[column.codes[~missing]], return_inverse=True)
    place = np.zeros(len(column), np.int64)
    place[~missing] = rank.reshape(-1) + 1
    kind = ORDERED if unknown else ORDERED_OR_MISSING
    if not isinstance(guarantee, TableAnonymity):  # classes are joined without asking again
        kind = JOINABLE if unknown else JOINABLE_OR_MISSING
    yield Block(kind, t, every, place, len(ranked) + 1)
