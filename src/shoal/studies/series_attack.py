"""Playing the attacker on releases of the same people, put together, as files or whatever else can be read.

attack_series(["march.csv", "april.csv"], k=5, m=2, hierarchy="tree.csv")
attack_series(["march.csv", "april.csv"], originals=["raw-march.csv", "raw-april.csv"], person="customer", k=5, m=2)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.attacks.several_releases import SeveralReleases, several_releases
from shoal.errors import InputError, option
from shoal.evaluation.between import with_blanks
from shoal.hierarchy.files import read_hierarchy
from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import whole_number
from shoal.records.baskets import Baskets
from shoal.records.database.address import without_password
from shoal.records.formats.peek import column_names, source_name
from shoal.records.formats.text import without_guard
from shoal.records.joining import joined_sets, numbered_by_first_row
from shoal.records.roles import named_columns, texts_of
from shoal.records.source import Source, load_sets

_ROLES = ("items", "id", "person")


@dataclass(frozen=True)
class SeriesAttack:
    """What came of putting releases together. It is true where somebody was found.

    Attributes:
        outcome: All that was counted: `steps` for each release and the next, and `people` where the originals were given. Its `found` is
            None where too little could be compared to say whether anybody is found.
        inputs: What was put together, by name.
        originals: What the releases were made from, by name; none where they were not given.

    >>> import shoal
    >>> march = [["milk", "bread"]] * 5
    >>> attack = shoal.attack_series([march, march], k=5, m=2)
    >>> bool(attack), attack.outcome.steps[0].changed
    (False, 0)
    """

    outcome: SeveralReleases
    inputs: tuple[str, ...]
    originals: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.outcome.found)

    def __repr__(self) -> str:
        who = {True: "somebody is found", False: "nobody is found", None: "not known whether anybody is found"}
        return f"SeriesAttack({len(self.inputs)} releases: {who[self.outcome.found]})"

    def to_dict(self) -> dict[str, Any]:
        named = {"inputs": list(self.inputs), "originals": list(self.originals), "found": self.outcome.found}
        return named | self.outcome.to_dict()


def attack_series(
    releases: Sequence[Any],
    *,
    k: int = 5,
    m: int = 2,
    hierarchy: Any = None,
    originals: Sequence[Any] = (),
    examples: int = 5,
    **reading: Any,
) -> SeriesAttack:
    """Play the attacker on releases of the same people (paths, data frames), given in their order.

    From the releases alone: how many sets of up to `m` items do 1 to k - 1 rows more hold than before, or fewer, how many pairs of tokens
    fit fewer than `k` people because one release is finer than the other, and how many rows can be only one row of the other? With the
    `originals` and the column that says whose their rows are (`person`): how many people share what can be known of them, in all
    releases together, with fewer than k? That is exact where rows stand in the order of their originals (`keep_order`); otherwise each
    row is given to somebody whom it fits, and the answer is about (`outcome.people.guessed`).

    Args:
        releases: Two or more, the oldest first.
        k: The crowd.
        m: How many items the attacker knows of a person.
        hierarchy: The tree, or its file, that says which tokens are finer than others.
        originals: What each release was made from, in the same order.
        examples: Sets that are named at most, of each two releases.
        reading: How they are read: `items`, `id`, `person`, `drop`, `separator`, `format`.

    Raises:
        InputError: The data or an option is not usable.

    >>> import shoal
    >>> march = [["milk", "bread"]] * 5
    >>> shoal.attack_series([march, [*march, ["milk", "gin"]]], k=5, m=2)
    SeriesAttack(2 releases: somebody is found)
    """
    for name, value in (("k", k), ("m", m)):
        whole_number(name, value, 1)
    if originals and reading.get("person") is None:
        raise InputError(f"whose are the rows of the originals? name the column with {option('person')}")
    tree = hierarchy if isinstance(hierarchy, Hierarchy | None) else read_hierarchy(hierarchy)
    published = [_read(data, reading | {"person": None}).baskets for data in releases]
    people = _of_people([_read(data, reading) for data in originals])
    known = {name for original in people for name in original.vocabulary} | set(tree.names if tree is not None else ())
    published = [_as_known(release, known) for release in published]
    outcome = several_releases(published, k, m, tree, people or None, examples=examples)
    return SeriesAttack(outcome, *(tuple(map(_told, given)) for given in (releases, originals)))


def _of_people(sources: Sequence[Source]) -> list[Baskets]:
    """The sets of the sources, one for each person, who has the same number in all of them."""
    numbers: dict[str, int] = {}
    same = []
    for source in sources:
        sets, who = source.baskets, source.person_values
        assert sets.people is not None
        assert who is not None
        number = np.array([numbers.setdefault(name, len(numbers)) for name in who], np.int64)
        record, first = numbered_by_first_row(sets.people)
        one_each = joined_sets(sets, record, len(first)) if len(first) < len(sets) else sets
        same.append(replace(one_each, people=number[sets.people[first]].astype(np.int32)))
    return same


def _as_known(release: Baskets, known: set[str]) -> Baskets:
    """The release with the names that items have elsewhere, where its format writes them in another way."""
    names = [without_guard(name, known) for name in release.vocabulary]
    if len(set(names)) == len(names):
        release = Baskets.from_codes(release.lengths, release.items, names)
    return with_blanks(release, known)


def _read(data: Any, reading: dict[str, Any]) -> Source:
    """The sets of one file: what is named need not be in all of them."""
    there = column_names(data, reading.get("format"))
    asked = {name: value for name, value in reading.items() if value is not None}
    if not there and data != "-":  # sets alone, which have no columns and no cells
        asked = {name: value for name, value in asked.items() if name in ("format", "person")}
    elif there:
        asked |= {name: None for name in _ROLES[:2] if asked.get(name) not in there}
        asked["drop"] = [name for name in named_columns(texts_of(asked.get("drop")), there) if name in there]
    return load_sets(data, **asked)


def _told(data: Any) -> str:
    return without_password(data) if isinstance(data, str) else source_name(data)
