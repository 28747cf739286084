"""The risk in raw data: what somebody who knows a few items of a person gives away, before anything is released; and what a release
would keep."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Unpack

from shoal.algorithms.km.learning import learner
from shoal.algorithms.km.problem import RareCategories, rare_categories
from shoal.algorithms.recoding import Options, Progress, listener
from shoal.errors import VALUES, InputError, Message, Unreachable, option
from shoal.estimates.outlook import Outlook, outlook
from shoal.estimates.whose_rows import people_notes
from shoal.evaluation.advice import describe
from shoal.evaluation.uniqueness import uniqueness_curve
from shoal.guarantees.km import Exposure, KmAnonymity
from shoal.guarantees.rt import RTAnonymity
from shoal.guarantees.table import TableAnonymity
from shoal.hierarchy.codes.systems import SYSTEMS, likely_system
from shoal.hierarchy.kinds.recognition import recognised_kind
from shoal.hierarchy.spec import Values, resolve
from shoal.hierarchy.tree import Hierarchy
from shoal.models import refuse_for_sets
from shoal.models.km import HIERARCHY
from shoal.options import Reading, check_keywords
from shoal.records.baskets import Baskets
from shoal.records.database.address import with_query
from shoal.records.formats.one_hot import ITEMS, OneHot
from shoal.records.formats.peek import column_names
from shoal.records.roles import OR_QUASI, NoRoleError
from shoal.records.source import Source, load_records, load_sets
from shoal.records.values import Kind, kind_of
from shoal.showing import Plotted, fields_of, watching

UP_TO, M = 3, 2
"""Known items that are looked at, and those of the release that is tried, unless somebody asks for others."""


@dataclass(frozen=True)
class Profile(Plotted):
    """The size of raw data and what m known items single out in it.

    Attributes:
        source: What the data are called.
        k: The crowd that was looked for.
        rows: How many rows there are.
        items: How many different items.
        occurrences: How many items in all rows together.
        longest: Items in the longest row.
        average: Items in a row, on average.
        empty: Rows without items.
        duplicates: Items that stood twice in a row and were folded into one.
        sha256: The hash of the input, for its owner.
        hierarchy: The tree that was asked about, if one was.
        notes: What else the owner should know.

    >>> import shoal
    >>> found = shoal.profile([["milk", "bread"]] * 9 + [["gin"]], k=2)
    >>> found.rows, found.items, found.average
    (10, 3, 1.9)
    """

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
    outlook: Outlook | None = None
    """What a release would keep; None where nobody asked, or where a note says why there is none."""

    def __repr__(self) -> str:
        shares = ", ".join(f"{one.exposed / max(1, self.rows):.1%}" for one in self.exposures)
        known = ", ".join(str(one.m) for one in self.exposures)
        told = f"; {shares} of the rows among fewer than {self.k} by {known} known items" if shares else ""
        return f"Profile({self.source}: {self.rows:,} rows, {self.items:,} items{told})"

    def to_dict(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "input_sha256": self.sha256,
            **fields_of(self, "k", "rows", "items", "occurrences", "longest", "average", "empty", "duplicates"),
            "exposures": [asdict(exposure) for exposure in self.exposures],
            "columns": list(self.columns),
            "kinds": {name: asdict(kind) for name, kind in self.columns.items()},
            "hierarchy": self.hierarchy,
            "rare_categories": [
                {"names": list(c.names), "support": c.support, "from_m": len(c.names)} for c in self.rare_categories
            ],
            "outlook": None if self.outlook is None else self.outlook.to_dict(),
            "notes": list(self.notes),
        }


def profile(
    data: Any,
    k: int = 5,
    m: int | None = None,
    *,
    hierarchy: Hierarchy | str | os.PathLike[str] | None = None,
    unknown: str | None = None,
    examples: int = 3,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    **reading: Unpack[Reading],
) -> Profile:
    """How many itemsets of 1, 2, ..., m items (3 unless given) are rarer than k, and how many transactions they give away.

    Also what a release would keep, by the default algorithm for this k and this m (2 unless given): tried on a sample, and so a range.
    With a hierarchy, also the top-level categories that would force a release to its root. With `quasi`, the columns of a table that an
    attacker may know: then all of it is about people who are known by these columns and up to m items. The file is read as by
    `shoal.read`.

    Args:
        data: The raw data, as for `anonymize`.
        k: The smallest crowd that is thought safe.
        m: How many items an attacker knows at the most.
        examples: How many people who are singled out are named for each m.

    Raises:
        InputError: The data or an option is not usable.

    >>> import shoal
    >>> found = shoal.profile([["milk", "bread"]] * 9 + [["milk", "gin"]], k=2)
    >>> [(exposure.m, exposure.unique) for exposure in found.exposures]
    [(1, 1), (2, 1)]
    """
    check_keywords(reading, Reading.__annotations__, "profile")
    KmAnonymity(k, UP_TO if m is None else m)
    if reading.pop("one_hot", None):
        data, reading["items"] = OneHot.of(with_query(data, reading.pop("query", None)), reading), ITEMS
    if not reading.get("quasi"):
        source = _sets(data, reading)
    elif hierarchy is not None:
        raise InputError(f"{option('hierarchy')} is for files of sets; leave it out with {option('quasi')}")
    else:
        source = _table(data, reading)
    found = profile_of(
        source,
        k,
        UP_TO if m is None else m,
        hierarchy=hierarchy,
        unknown=unknown,
        examples=examples,
        threads=threads,
        numbers_named=reading.get("numeric") is not None,
    )
    if not source.records.of_role("quasi"):
        found = replace(found, notes=(*found.notes, *people_notes(data, reading, k, found.exposures, threads)))
    asked = {"hierarchy": hierarchy, "unknown": unknown, "threads": threads}
    with watching(progress) as watch:
        return _with_outlook(found, source, M if m is None else m, asked, listener(watch))


def _with_outlook(
    found: Profile, source: Source, m: int, asked: Mapping[str, Any], progress: Progress | None
) -> Profile:
    """The profile with what a release would keep, or with a note that says why that is not known."""
    records, k = source.records, found.k
    sets = records.items
    promise: KmAnonymity | RTAnonymity | TableAnonymity
    if not records.of_role("quasi"):
        if not found.items:
            return found
        spec = HIERARCHY if asked["hierarchy"] is None else asked["hierarchy"]
        if not isinstance(spec, str) or not spec.startswith("learned:"):  # that is learned from each sample
            spec = resolve(spec, Values.of_items(source.baskets), unknown=asked["unknown"])
        promise, asked = KmAnonymity(k, m), {**asked, "hierarchy": spec}
    else:
        promise = TableAnonymity(k) if sets is None or not sets.vocabulary else RTAnonymity(k, m)
        records = records if sets is None or sets.vocabulary else replace(records, items=None)
    try:
        return replace(found, outlook=outlook(replace(source, records=records), promise, asked, progress))
    except Unreachable as reason:
        told = f"what a release would keep is not known: {reason.message}"
        return found if reason.message in found.notes else replace(found, notes=(*found.notes, Message(told)))


def _sets(data: Any, reading: Reading) -> Source:
    refuse_for_sets(reading)
    asked: dict[str, Any] = {name: value for name, value in reading.items() if name not in ("quasi", "keep")}
    try:
        return load_sets(data, **asked)
    except NoRoleError as error:
        raise error.within("", OR_QUASI) from None


def _table(data: Any, reading: Reading) -> Source:
    asked: dict[str, Any] = {name: value for name, value in reading.items() if value is not None}
    if "items" not in asked and "items" in column_names(data, reading.get("format")):
        asked["items"] = "items"
    return load_records(data, **asked)


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
    records = source.records
    items = Baskets.from_rows([()] * len(records)) if records.items is None else records.items
    curve = uniqueness_curve(records, items, k, up_to, examples=examples, threads=threads)
    found = Profile(
        source.name,
        k,
        len(records),
        len(items.vocabulary),
        items.occurrences,
        items.longest,
        items.occurrences / max(1, len(records)),
        items.empty,
        items.duplicates,
        source.sha256,
        curve.exposures,
    )
    if quasi := records.of_role("quasi"):
        kinds = {
            column.name: recognised_kind(
                kind_of(column.values, column.numbers is not None if numbers_named else None), column.values
            )
            for column in quasi
        }
        return replace(found, notes=(*source.notes, *_of_codes(items)), columns=kinds)
    if hierarchy is None or not items.vocabulary:
        return replace(found, notes=(*found.notes, *_of_codes(items)))
    learn = learner(items, KmAnonymity(k, min(M, up_to)), Options(threads=threads))
    tree = resolve(hierarchy, Values.of_items(items), unknown=unknown, learn=learn)
    rare, notes = list[RareCategories](), list[str]()
    try:
        rare = rare_categories(items, KmAnonymity(k, up_to), tree)
    except Unreachable as reason:
        notes.append(reason.message)
    if rare:
        notes.append(
            Message(
                f"with m = {len(rare[0].names)} or more, every release goes to the root of {tree.source}, because of {len(rare):,} "
                f"top-level categories in fewer than {k} transactions{VALUES}; merge them with others, or let "
                f"{option('suppress')} drop them",
                describe(rare),
            )
        )
    return replace(found, hierarchy=tree.source, rare_categories=tuple(rare), notes=tuple(notes))


def _of_codes(items: Baskets) -> tuple[Message, ...]:
    """A proposal, where the items look like codes for which a tree can be built."""
    name = likely_system(items.vocabulary)
    if name is None:
        return ()
    system = SYSTEMS[name]
    command = option("shell", f"shoal hierarchy build DATA --codes {name}:FILE -o tree.csv")
    return (Message(f"the items look like codes of {system.title}: {command} makes their tree from {system.files}"),)
