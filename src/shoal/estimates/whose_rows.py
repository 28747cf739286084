"""Whether rows are several of one person's, where nobody said so: a column that is left out looks like people's ids, and its values return.

Then a crowd of rows is a smaller crowd of people, and the risk by rows is too low. The column is read once more, to say how much.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from shoal.errors import InputError, Message, option
from shoal.evaluation.uniqueness import uniqueness
from shoal.guarantees.km import Exposure
from shoal.records.baskets import Baskets
from shoal.records.formats.one_hot import OneHot
from shoal.records.formats.peek import column_names
from shoal.records.roles import named_columns, texts_of
from shoal.records.source import load_sets

PEOPLE = frozenset(
    ("patient", "person", "customer", "member", "household", "user", "subject", "client", "employee", "student", "id")
)
"""Words in the names of columns that say whose a row is."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SHARE, _MANY = 0.1, 1_000
"""Different values from which on they are people and not kinds of them: this share of the rows, or so many."""


def may_name_people(name: str) -> bool:
    """Whether a column's name says that it says whose a row is."""
    return any(word.lower() in PEOPLE for word in _WORD.findall(name))


def people_notes(
    data: Any, reading: Mapping[str, Any], k: int, curve: Collection[Exposure], threads: int | None = None
) -> Iterator[str]:
    """A word about each column of a file of sets that is left out and seems to say whose a row is, where a person has several."""
    if reading.get("person") or not isinstance(data, str | os.PathLike) or isinstance(data, OneHot):
        return
    columns = column_names(data, reading.get("format"))
    dropped = named_columns(texts_of(reading.get("drop")), columns)
    for name in filter(may_name_people, dropped):
        others = tuple(column for column in dropped if column != name)
        asked: dict[str, Any] = {**reading, "drop": others, "person": name}
        try:
            sets = load_sets(data, **asked).baskets
        except InputError:  # rows without a person: then it is no such column, or says so when it is asked for
            continue
        people = 0 if sets.people is None else len(np.unique(sets.people))
        if not min(_SHARE * len(sets), _MANY) <= people < len(sets):
            continue
        yield Message(
            f"column {name!r} looks like people's ids, and {len(sets):,} rows are of {people:,}"
            f"{_worse(sets, k, curve, threads)}; {option('person', name)} counts people"
        )


def _worse(sets: Baskets, k: int, curve: Collection[Exposure], threads: int | None) -> str:
    """How much higher the risk by people is, for those who know most of what was looked at."""
    if not curve:
        return ""
    by_rows = max(curve, key=lambda exposure: exposure.m)
    by_people = uniqueness(sets, k, by_rows.m, examples=0, threads=threads)[-1]
    items = "one item narrows" if by_rows.m == 1 else f"up to {by_rows.m} items narrow"
    return (
        f": {items} {by_people.exposed:,} of the rows down to fewer than {k} people, and {by_rows.exposed:,} to fewer "
        f"than {k} rows"
    )
