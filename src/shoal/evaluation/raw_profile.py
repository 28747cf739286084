"""The risk in raw data: what somebody who knows a few items of a person gives away, before anything is released."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from shoal.algorithms.km.learning import learner
from shoal.algorithms.km.problem import RareCategories, rare_categories
from shoal.algorithms.recoding import Options
from shoal.errors import VALUES, InputError, Message, Unreachable, option
from shoal.evaluation.advice import described, prospects
from shoal.evaluation.uniqueness import uniqueness
from shoal.guarantees.audit import Witness
from shoal.guarantees.km import Exposure, KmAnonymity
from shoal.guarantees.rt import told_apart
from shoal.guarantees.table import classes, group_of, rows_of
from shoal.hierarchy.spec import Values, resolve
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets
from shoal.records.columns import OR_QUASI, NoRoleError
from shoal.records.formats.peek import column_names
from shoal.records.reading import load
from shoal.records.record_reading import load_records
from shoal.records.source import Source
from shoal.records.values import Kind, kind_of


@dataclass(frozen=True)
class Profile:
    """The size of raw data and what m known items single out in it."""

    source: str
    k: int
    rows: int
    items: int
    occurrences: int
    longest: int
    average: float
    empty: int
    duplicates: int
    sha256: str
    exposures: tuple[Exposure, ...]
    """For m = 1, 2, ...; in tables for m = 0 first: the quasi-identifier columns alone."""
    hierarchy: str | None = None
    rare_categories: tuple[RareCategories, ...] = ()
    """What would force a release to the root of the hierarchy, each set from m = its size on."""
    notes: tuple[str, ...] = ()
    columns: Mapping[str, Kind] = field(default_factory=dict)
    """The quasi-identifier columns that the attacker knows besides: whether each is read as numbers, and why."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "input_sha256": self.sha256,
            "k": self.k,
            "rows": self.rows,
            "items": self.items,
            "occurrences": self.occurrences,
            "longest": self.longest,
            "average": self.average,
            "empty": self.empty,
            "duplicates": self.duplicates,
            "exposures": [asdict(exposure) for exposure in self.exposures],
            "columns": list(self.columns),
            "kinds": {name: asdict(kind) for name, kind in self.columns.items()},
            "hierarchy": self.hierarchy,
            "rare_categories": [
                {"names": list(c.names), "support": c.support, "from_m": len(c.names)} for c in self.rare_categories
            ],
            "notes": list(self.notes),
        }


def profile(
    data: Any,
    k: int = 5,
    up_to: int = 3,
    *,
    hierarchy: Hierarchy | str | os.PathLike[str] | None = None,
    unknown: str | None = None,
    examples: int = 3,
    threads: int | None = None,
    quasi: str | Collection[str] | None = None,
    keep: str | Collection[str] | None = None,
    **reading: Any,
) -> Profile:
    """How many itemsets of 1, 2, ..., `up_to` items are rarer than k, and how many transactions they give away.

    With a hierarchy, also the top-level categories that would force a release to its root, and what a release for m = 2 would
    lose. With `quasi`, the columns of a table that an attacker may know: then all of it is about people who are known by
    these columns and up to m items. `reading` is as for `shoal.read`.
    """
    source = _table(data, k, up_to, quasi, keep, hierarchy, reading) if quasi else _sets(data, k, up_to, reading)
    return profile_of(
        source,
        k,
        up_to,
        hierarchy=hierarchy,
        unknown=unknown,
        examples=examples,
        threads=threads,
        numbers_named=reading.get("numeric") is not None,
    )


def profile_of(
    source: Source,
    k: int,
    up_to: int,
    *,
    hierarchy: Hierarchy | str | os.PathLike[str] | None = None,
    unknown: str | None = None,
    examples: int = 3,
    threads: int | None = None,
    numbers_named: bool = False,
) -> Profile:
    """The profile of data that were read already. `numbers_named` says that the columns of numbers were named, not found out."""
    if source.records.of_role("quasi"):
        return _table_profile(source, k, up_to, examples, threads, numbers_named)
    guarantee = KmAnonymity(k, up_to)
    baskets = source.baskets
    found = uniqueness(baskets, k, up_to, examples=examples, threads=threads)
    tree, rare = None, list[RareCategories]()
    notes, outlook = list[str](), tuple[str, ...]()
    if hierarchy is not None and baskets.vocabulary:
        learn = learner(baskets, KmAnonymity(k, min(2, up_to)), Options(threads=threads))
        tree = resolve(hierarchy, Values.of_items(baskets), unknown=unknown, learn=learn)
        try:
            rare = rare_categories(baskets, guarantee, tree)
            outlook = prospects(baskets, KmAnonymity(k, min(2, up_to)), tree, Options(threads=threads))
        except Unreachable as reason:
            notes.append(reason.message)
        if rare:
            notes.append(
                Message(
                    f"with m = {len(rare[0].names)} or more, every release goes to the root of {tree.source}, because of {len(rare):,} "
                    f"top-level categories in fewer than {k} transactions{VALUES}; merge them with others, or let "
                    f"{option('suppress')} drop them",
                    described(rare),
                )
            )
    return Profile(
        source.name,
        k,
        len(baskets),
        len(baskets.vocabulary),
        baskets.occurrences,
        baskets.longest,
        baskets.occurrences / max(1, len(baskets)),
        baskets.empty,
        baskets.duplicates,
        source.sha256,
        tuple(found),
        tree.source if tree else None,
        tuple(rare),
        (*notes, *outlook),
    )


def _sets(data: Any, k: int, up_to: int, reading: Mapping[str, Any]) -> Source:
    KmAnonymity(k, up_to)
    if "numeric" in reading:
        raise InputError(f"{option('numeric')} is for the columns of tables; a file of sets has none")
    try:
        return load(data, **reading)
    except NoRoleError as error:
        raise error.within("", OR_QUASI) from None


def _table(data: Any, k: int, up_to: int, quasi: Any, keep: Any, hierarchy: Any, reading: Mapping[str, Any]) -> Source:
    if hierarchy is not None:
        raise InputError(f"{option('hierarchy')} is for files of sets; leave it out with {option('quasi')}")
    if reading.get("id") is not None:
        raise InputError(
            f"{option('id')} is for long tables of items; a table with {option('quasi')} has one row per person"
        )
    KmAnonymity(k, up_to)
    asked = {name: value for name, value in reading.items() if value is not None and name != "id"}
    if "items" not in asked and "items" in column_names(data, asked.get("format")):
        asked["items"] = "items"
    return load_records(data, quasi=quasi, keep=keep or (), **asked)


def _table_profile(
    source: Source, k: int, up_to: int, examples: int, threads: int | None, numbers_named: bool
) -> Profile:
    """What the columns alone, and with up to m items, give away."""
    records = source.records
    of_row, sizes = classes(records)
    small = np.flatnonzero(sizes < k)
    worst = small[np.argsort(sizes[small], kind="stable")][:examples].tolist()
    found = [
        Exposure(
            0,
            len(sizes),
            len(small),
            int(sizes[small].sum()),
            int(np.count_nonzero(sizes == 1)),
            tuple(Witness((), int(sizes[c]), rows := rows_of(of_row, c), "", group_of(records, rows)) for c in worst),
        )
    ]
    items = Baskets.from_rows([()] * len(records)) if records.items is None else records.items
    apart, item = told_apart(items, of_row)
    for exposure in uniqueness(apart, k, up_to, examples=examples, threads=threads, known=sizes[of_row]):
        named = tuple(
            replace(
                w, items=tuple(items.vocabulary[item[int(name)]] for name in w.items), group=group_of(records, w.rows)
            )
            for w in exposure.examples
        )
        found.append(replace(exposure, examples=named))
    return Profile(
        source.name,
        k,
        len(records),
        len(items.vocabulary),
        items.occurrences,
        items.longest,
        items.occurrences / max(1, len(items)),
        items.empty,
        items.duplicates,
        source.sha256,
        tuple(found),
        notes=source.notes,
        columns={
            column.name: kind_of(column.values, column.numbers is not None if numbers_named else None)
            for column in records.of_role("quasi")
        },
    )
