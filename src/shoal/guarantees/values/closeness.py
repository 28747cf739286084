"""How frequent sensitive values are in a class, and how far that is from the whole table: t-closeness (Li, Li, Venkatasubramanian 2007).

A class is as far from the table as it takes work to turn the one distribution into the other (earth mover's distance). `equal`: any two
values are 1 apart, so it is half the sum of all differences. `ordered`: values are as far apart as their ranks, the first and the last 1.

A missing value that is unknown may be any value: like none of the others, not even like another missing one, it costs 1 to be moved. One
that is a value of its own is 1 from every other. Both are then never nearer than the paper's distance for any way to fill them in.

Beside items an attacker knows some of these as well: a crowd is then the rows of a class that hold a set of at most m items, the empty set
included, and every crowd is looked at as a class is here (`with_crowds`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.errors import InputError, option
from shoal.guarantees.audit import Audit, Witness, with_breaches
from shoal.guarantees.people import rows_by_class
from shoal.guarantees.values.missing import UNKNOWN, Missing, check_named, checked_missing, counted_values, words_of
from shoal.numbers import Floats, Ints
from shoal.numbers import share as check_share
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records

EQUAL, ORDERED = "equal", "ordered"
SLACK = 1e-9
"""How far a sum of fractions may be off: so much may t be passed by."""
_CELLS = 1 << 22
"""Classes times values that are counted at a time."""

Distance = str | Mapping[str, str] | None
"""One for all sensitive columns, or one by column; where none is given numbers are ordered, and other values equally far apart."""


def checked_distance(distance: Any) -> Distance:
    """The same as plain texts; raises if it is none."""
    for column, word in distance.items() if isinstance(distance, Mapping) else [("", distance)]:
        if distance is not None and word not in (EQUAL, ORDERED):
            where = f"{column}={word}" if column else f"{word}"
            raise InputError(
                f"distance is {where}, which is not known; choose equal or ordered, for all columns or as COL=ordered"
            )
    if isinstance(distance, Mapping):
        return {str(column): str(word) for column, word in distance.items()}
    return distance if distance is None else str(distance)


def check_columns(distance: Distance, sensitive: Collection[str]) -> None:
    """Raises if a column is named that is not sensitive."""
    strange = [column for column in distance if column not in sensitive] if isinstance(distance, Mapping) else []
    if strange:
        raise InputError(f"{strange[0]!r} is not a sensitive column; leave it out of {option('distance')}")


def check_rows_are_people(records: Records) -> None:
    """Raises where a person may have several rows: how often a value occurs among people is then not said by any distribution."""
    if records.people is not None:
        raise InputError(
            f"{option('t')} compares how often values occur, and a person with several rows has several values at once; leave out "
            f"{option('t')} and ask for {option('l')}, or join the rows of each person ({option('id')})"
        )


def distance_in(column: Column, distance: Distance) -> str:
    """The distance between values of a column."""
    given = distance.get(column.name) if isinstance(distance, Mapping) else distance
    return given or (EQUAL if column.numbers is None else ORDERED)


def named_distances(distance: Distance, records: Records) -> Distance:
    """The distance of each sensitive column by its name: readers of a file may take other columns for numbers."""
    return {column.name: distance_in(column, distance) for column in records.of_role("sensitive")}


def words_of_distance(distance: Distance) -> str:
    """What is said of distances beside t."""
    words = {EQUAL: "all values equally far from each other", ORDERED: "values as far apart as their ranks"}
    if distance is None:
        return f"{words[ORDERED]} in columns of numbers, {words[EQUAL]} elsewhere"
    if isinstance(distance, str):
        return words[distance]
    return ", ".join(f"{words[way]} in {column!r}" for column, way in distance.items())


def likeliest_values(published: Records, of_row: Ints, n_classes: int, missing: Missing) -> Ints:
    """Per class, the most rows that one value of a sensitive column may have: its own, and those whose value is unknown."""
    likeliest = np.zeros(n_classes, np.int64)
    for column in published.of_role("sensitive"):
        value, known = _places(column, EQUAL, missing)
        for first, counts, unknown in _blocks(of_row, value[column.codes], n_classes, known):
            part = likeliest[first : first + len(counts)]
            np.maximum(part, counts.max(axis=1, initial=0) + unknown, out=part)
    return likeliest


def farthest_values(published: Records, of_row: Ints, sizes: Ints, missing: Missing, distance: Distance) -> Floats:
    """Per class, how far its values are from those of the table in the sensitive column that is farthest."""
    farthest = np.zeros(len(sizes))
    for column in published.of_role("sensitive"):
        way = distance_in(column, distance)
        value, known = _places(column, way, missing)
        of_value = value[column.codes]
        table = np.bincount(of_value[of_value >= 0], minlength=known) / max(1, len(of_value))
        unknown = not counted_values(("",), column.name, missing)[0]
        for first, counts, _ in _blocks(of_row, of_value, len(sizes), known):
            part = farthest[first : first + len(counts)]
            share = counts / sizes[first : first + len(counts), None]
            far = _equal(share, table) if way == EQUAL else _ordered(share, table, unknown=unknown)
            np.maximum(part, far, out=part)
    return farthest


def _equal(share: Floats, table: Floats) -> Floats:
    """All that does not stay where it is moves by 1. What is unknown never stays."""
    moved: Floats = 1 - np.minimum(share, table).sum(axis=1)
    return moved


def _ordered(share: Floats, table: Floats, *, unknown: bool) -> Floats:
    """Section 5.1: the work between neighbours, of all that is known on both sides; the rest moves by 1."""
    here, there = share.sum(axis=1), float(table.sum())
    known = np.where(here > 0, here, 1.0)[:, None]
    work = np.abs(np.cumsum(share / known - table / (there or 1.0), axis=1)[:, :-1]).sum(axis=1)
    work /= max(1, len(table) - 1)
    rest = np.maximum(1 - here, 1 - there) if unknown else np.abs(here - there)
    far: Floats = np.minimum(here, there) * work + rest
    return far


def _places(column: Column, way: str, missing: Missing) -> tuple[Ints, int]:
    """Per value of a column its place among those that occur, -1 for one that has none, and how many places there are.

    What reads the same is the same; where numbers are ordered, what is the same number as well.
    """
    used = np.bincount(column.codes, minlength=len(column.values)) > 0
    is_missing = np.array([value.strip() == "" for value in column.values], np.bool_)
    counted = used & ~is_missing if way == ORDERED else used & counted_values(column.values, column.name, missing)
    if way == ORDERED and column.numbers is not None:
        key = np.asarray(column.numbers, np.float64)
    else:
        first: dict[str, int] = {}
        key = np.array([first.setdefault(value, i) for i, value in enumerate(column.values)], np.float64)
    known, rank = np.unique(key[counted], return_inverse=True)
    place = np.full(len(column.values), -1, np.int64)
    place[counted] = rank.reshape(-1)
    return place, len(known)


def _blocks(of_row: Ints, of_value: Ints, n_classes: int, n_values: int) -> Iterator[tuple[int, Ints, Ints]]:
    """(first class, rows by class and value, rows by class without a place) for some classes at a time."""
    order = np.argsort(of_row, kind="stable")
    starts = np.searchsorted(of_row[order], np.arange(n_classes + 1))
    step = max(1, _CELLS // max(1, n_values))
    for first in range(0, n_classes, step):
        last = min(n_classes, first + step)
        rows = order[starts[first] : starts[last]]
        group, value = of_row[rows] - first, of_value[rows]
        known = value >= 0
        counts = np.bincount(group[known] * n_values + value[known], minlength=(last - first) * n_values)
        unknown = np.bincount(group[~known], minlength=last - first)
        yield first, counts.reshape(last - first, n_values).astype(np.int64), unknown.astype(np.int64)


@dataclass(frozen=True)
class Values:
    """What is promised of sensitive columns beside items: of every crowd that whoever knows a class and up to m items is left with."""

    l: int  # noqa: E741 (the papers' name)
    """No value in more than 1/l of the rows; 1 for any."""
    t: float | None
    distance: Distance
    missing: Missing
    """`unknown` for all columns also where nobody has named any."""

    @classmethod
    def of(cls, l: int, t: Any, distance: Any, missing: Any) -> Values:  # noqa: E741
        """Checked; raises for what has no meaning."""
        if t is not None:
            check_share("t", t, "0.2")
        elif distance is not None:
            raise InputError(f"a distance has no use without t; give {option('t')}, or leave out {option('distance')}")
        values = cls(l, t, checked_distance(distance), checked_missing(missing))
        if l == 1 and t is None and values.missing != UNKNOWN:
            raise InputError(
                f"missing values have no use without l or t: nothing sensitive is counted; leave out {option('missing')}"
            )
        return values

    def to_dict(self) -> dict[str, Any]:
        """What is said besides the numbers."""
        said = {"missing": self.missing} if self.t is not None or self.missing != UNKNOWN else {}
        return said | ({} if self.t is None else {"t": float(self.t), "distance": self.distance})

    def promise(self) -> Iterator[str]:
        """In plain words, for whoever faces a crowd of records."""
        if self.l > 1 and self.missing != UNKNOWN:
            yield (
                f"The same holds for each value of a sensitive column: no more than 1 of {self.l} records that fit has "
                f"it{words_of(self.missing, 'missing ones counted for it')}."
            )
        if self.t is not None:
            yield (
                "How often each value of a sensitive column occurs among the records that fit is close to how often it occurs in the whole "
                f"table: at most {self.t:g} apart, where 1 is the farthest ({words_of_distance(self.distance)}"
                f"{words_of(self.missing, 'missing ones like none of them')})."
            )

    def limits(self) -> Iterator[str]:
        """What of them is not promised."""
        if self.t is not None:
            yield (
                "What the whole table tells of a sensitive column is not hidden, and each sensitive column is close by itself: what two "
                "of them together tell is not bounded."
            )

    def check(self, records: Records) -> None:
        """Raises unless what is said is about columns that there are."""
        names = [column.name for column in records.of_role("sensitive")]
        if self.t is not None:
            check_rows_are_people(records)
        if self.t is not None and not names:
            raise InputError(
                f"t = {self.t:g}, but no column is sensitive; say with {option('sensitive')} which one, of one value a row, or leave t out"
            )
        if names:
            check_named(self.missing, names)
            check_columns(self.distance, names)


@dataclass(frozen=True, eq=False)
class _Counted:
    """Sensitive columns as the kernel counts them, once for each thing that is asked of them."""

    columns: list[Column]
    place: Ints
    start: Ints
    table: Floats
    way: Ints
    asks: Ints

    @classmethod
    def of(cls, published: Records, values: Values) -> _Counted:
        columns = published.of_role("sensitive")
        counts = (0,) if published.people is None else (0, 2)  # rows, and the people whose rows they are
        asked = [(column, EQUAL, count) for column in columns for count in counts if values.l > 1]
        if values.t is not None:
            asked += [(column, distance_in(column, values.distance), 1) for column in columns]
        places = [_places(column, way, values.missing) for column, way, _ in asked]
        start = np.concatenate(([0], np.cumsum([known for _, known in places]))).astype(np.int64)
        place = np.empty((len(published), len(asked)), np.int64)
        for j, ((column, _, _), (of_value, _)) in enumerate(zip(asked, places, strict=True)):
            own = of_value[column.codes]
            place[:, j] = np.where(own >= 0, own + start[j], -1)
        table = np.bincount(place[place >= 0], minlength=int(start[-1])) / max(1, len(published))
        # What is missing has no place in an order, be it unknown (1) or a value of its own (2).
        unknown = [not counted_values(("",), column.name, values.missing)[0] for column, _, _ in asked]
        way = [
            0 if way == EQUAL else 1 if any_value else 2 for (_, way, _), any_value in zip(asked, unknown, strict=True)
        ]
        asks = np.array([asks for _, _, asks in asked], np.int64)
        return cls([column for column, _, _ in asked], place, start, table, np.array(way, np.int64), asks)


def with_crowds(
    verdict: Audit,
    values: Values,
    published: Records,
    items: Baskets,
    m: int,
    of_row: Ints,
    how: tuple[int, bool, int | None, Callable[[float], None] | None],
) -> Audit:
    """An audit, and whether every crowd keeps what is promised of sensitive columns; `how` is as for an audit."""
    values.check(published)
    if not published.of_role("sensitive") or (values.l == 1 and values.t is None):
        return verdict
    from shoal.kernels.audit.crowd_values import count_crowds
    from shoal.kernels.audit.threads import blocks_of_work, in_threads

    (witnesses, yes_or_no, threads, progress), counted = how, _Counted.of(published, values)
    whose = np.arange(len(published)) if published.people is None else published.people.astype(np.int64)
    order, sizes = rows_by_class(of_row, published.people), np.bincount(of_row)
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    l, t = min(int(values.l), len(published) + 1), float(values.t or 0)  # noqa: E741 - more rows than there are change nothing
    longest = min(int(m), items.longest)
    parts = in_threads(
        lambda a, b: count_crowds(
            items.offsets,
            items.items,
            order,
            starts,
            a,
            b,
            counted.place,
            counted.start,
            counted.table,
            counted.way,
            counted.asks,
            whose,
            l,
            t,
            longest,
            witnesses,
            yes_or_no,
        ),
        blocks_of_work(sizes.astype(np.float64), 64),
        threads,
        progress,
    )
    bad = sum((part[0] for part in parts), np.zeros(longest + 1, np.int64))
    worst = [(figure, held[held >= 0]) for part in parts for figure, held in zip(part[4], part[5], strict=True)]
    worst.sort(key=lambda one: -(one[0][3] if one[0][2] == 1 else one[0][3] / one[0][4]))
    telling = []
    for (c, j, asks, amount, support), held in worst[:witnesses]:
        rows = order[starts[int(c)] : starts[int(c) + 1]]
        inside = items.take(rows)
        row = np.repeat(np.arange(len(rows)), inside.lengths)
        fits = np.bincount(row[np.isin(inside.items, held)], minlength=len(rows)) == len(held)
        name, what = counted.columns[int(j)].name, "people" if asks else "rows"
        reason = (
            f"{amount:.4f} from the whole table in {name!r}, more than {t:g}"
            if asks == 1
            else f"{int(amount):,} of {int(support):,} {what} may have the same value of {name!r}, more than 1/{values.l}"
        )
        group = tuple(column.values[int(column.codes[rows[0]])] for column in published.of_role("quasi"))
        known = tuple(items.vocabulary[i] for i in held.tolist())
        telling.append(Witness(known, int(support), tuple(np.sort(rows[fits] + 1).tolist()), reason, group))
    facts = {**verdict.facts, "telling_crowds": int(bad.sum())}
    if values.l > 1:
        facts["likeliest_sensitive"] = round(max((part[2] for part in parts), default=0.0), 6)
    if values.t is not None:
        facts["farthest_crowd"] = round(max((part[3] for part in parts), default=0.0), 6)
    complete = verdict.complete and not (yes_or_no and bad.any())
    return replace(with_breaches(verdict, bad.tolist(), telling, witnesses), complete=complete, facts=facts)
