"""(k,k^m)-anonymity (Poulis, Loukides, Gkoulalas-Divanis, Skiadopoulos 2013): values and m items are known, k records are left.

The audit sees the published table and nothing else. Classes are rows that are equal in all quasi-identifier columns; a class has at
least k rows, and inside it every set of at most m published items that occurs occurs in at least k rows. Sensitive items
are not among what the attacker knows. With t, the sensitive columns of all these crowds are close to the whole table
(`shoal.guarantees.values.closeness`). All classes are counted in one walk: an item of one class is another item than
the same one of another class, so no set of items ever spans two of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.errors import InputError, number_of, option
from shoal.guarantees.audit import Audit, Witness, class_facts, empty_rows
from shoal.guarantees.k import open_and_sensitive
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.people import (
    RECORDS_APART,
    ROWS_NOT_PEOPLE,
    counted_facts,
    members_of,
    of_people_words,
    people_facts,
)
from shoal.guarantees.soundness import check_table
from shoal.guarantees.table import classes, group_of, rows_of
from shoal.guarantees.values.closeness import Distance, Values, named_distances, with_crowds
from shoal.guarantees.values.missing import UNKNOWN, Missing
from shoal.numbers import Ints, warn_of_one, whole_number
from shoal.records.baskets import Baskets
from shoal.records.records import Records

NO_MORE_THAN_NEEDED = (
    "Values and items were changed no more than the promise needs. Whoever knows that can conclude why: rows of a class differed in what "
    "is not exact, a range ends at values that somebody in the class has, and of items that are published together one at least was too "
    "rare in the class."
)


@dataclass(frozen=True)
class RTAnonymity:
    """The promise: whoever knows all quasi-identifier values and up to m items of a person faces at least k records.

    Args:
        k: The smallest crowd.
        m: How many items of a person an attacker may know beside the columns.

    Raises:
        InputError: A number is out of range, or has no use beside the others.

    >>> import polars, shoal
    >>> table = polars.DataFrame({"age": [34, 34, 51, 51], "codes": [["E11"], ["E11"], ["I10"], ["I10"]]})
    >>> shoal.audit(table, shoal.RTAnonymity(k=2, m=1), quasi="age", items="codes").holds
    True
    """

    k: int
    m: int
    t: float | None = None
    """How far sensitive columns may be from those of the whole table, in every such crowd; None for any distance."""
    distance: Distance = None
    """How far values are from each other: `equal` or `ordered`, for all sensitive columns or by column; None goes by the column."""
    missing: Missing = UNKNOWN
    """What a missing value of a sensitive column is: `unknown` (any value) or `value`, for all sensitive columns or by column."""
    of_people: bool = field(default=False, kw_only=True, repr=False)
    """Whether the crowd is promised in people, by a column that said whose each row is, and not in rows."""

    model = "rt"

    def __post_init__(self) -> None:
        for name, value in (("k", self.k), ("m", self.m)):
            whole_number(name, value, 1)
        warn_of_one(self.k)
        object.__setattr__(self, "distance", self.values.distance)
        object.__setattr__(self, "missing", self.values.missing)

    @property
    def values(self) -> Values:
        """What is promised of sensitive columns."""
        return Values.of(1, self.t, self.distance, self.missing)

    @property
    def looks_at_values(self) -> bool:
        """Whether it promises anything about sensitive columns."""
        return self.t is not None

    def about(self, records: Records) -> RTAnonymity:
        """The same promise, with the distance in each sensitive column named."""
        self.values.check(records)
        return replace(self, distance=named_distances(self.distance, records)) if self.t is not None else self

    def __str__(self) -> str:
        close = "" if self.t is None else f" with {self.t:g}-closeness"
        return f"({self.k},{self.k}^{self.m})-anonymity{close}"

    def to_dict(self) -> dict[str, Any]:
        numbers = {"model": self.model, "k": int(self.k), "m": int(self.m), "name": str(self)}
        return numbers | self.values.to_dict() | counted_facts(self.of_people)

    def promise(self) -> tuple[str, ...]:
        """Which attacker is stopped, in plain words."""
        items = "one item" if self.m == 1 else f"up to {self.m} items"
        crowd = f"records of at least {self.k} different people" if self.of_people else f"at least {self.k}"
        return (
            f"Whoever knows all quasi-identifier values of a person and {items} of the same person's record finds either no "
            f"published record that fits, or {crowd}.",
            "This holds for every class of published values and every combination of published items in it, and was counted on the "
            "published data itself.",
            *([of_people_words(self.k, "the same combinations are")] if self.of_people else []),
            *self.values.promise(),
        )

    def limits(self) -> tuple[str, ...]:
        """Which attacker is not stopped."""
        return (
            f"An attacker who knows more than {number_of(self.m, 'item')} of a record may still single it out.",
            "An attacker who knows that a person did not have an item, or how many items the person has, is not considered.",
            *self.values.limits(),
            "If all candidate records share a further item, the attacker learns it without knowing whose record is whose; "
            "(k,l^m)-diversity is against that.",
            "Sensitive and kept columns are published as they are: an attacker who knows them of a person may use them.",
            NO_MORE_THAN_NEEDED,
            RECORDS_APART if self.of_people else ROWS_NOT_PEOPLE,
            "Several releases of the same people can be combined; the promise is about this release alone.",
        )

    def audit(
        self,
        published: Records,
        *,
        witnesses: int = 10,
        yes_or_no: bool = False,
        threads: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Audit:
        """Count the rows of each class, and every set of up to m published items in each."""
        check_table(published, threads)
        items, _ = known_items(published)
        of_row, sizes = classes(published)
        people = published.people
        crowds, what = members_of(of_row, len(sizes), people), "rows" if people is None else "people"
        small = np.flatnonzero(crowds < self.k)
        apart, token = told_apart(items, of_row)
        counted = KmAnonymity(self.k, self.m).audit(
            apart, witnesses=witnesses, yes_or_no=yes_or_no, threads=threads, progress=progress
        )
        few = tuple(
            Witness(
                (),
                int(crowds[c]),
                rows := rows_of(of_row, c),
                f"{crowds[c]:,} of {self.k:,} {what}",
                group_of(published, rows),
            )
            for c in small[np.argsort(crowds[small], kind="stable")][:witnesses].tolist()
        )
        rare = tuple(
            replace(
                w,
                items=tuple(items.vocabulary[token[int(name)]] for name in w.items),
                group=group_of(published, w.rows),
            )
            for w in counted.witnesses
        )
        verdict = Audit(
            guarantee=self.to_dict(),
            holds=counted.holds and not len(small),
            checked=counted.checked + len(sizes),
            violations=counted.violations + len(small),
            by_size={0: (len(sizes), len(small)), **counted.by_size},
            complete=counted.complete,
            witnesses=tuple(sorted(rare + few, key=lambda w: (w.support, len(w.items))))[:witnesses],
            notes=empty_rows(items.empty),
            facts=people_facts(people) | class_facts(sizes, None if people is None else crowds),
        )
        how = witnesses, yes_or_no, threads, progress
        return with_crowds(verdict, self.values, published, items, self.m, of_row, how)


def known_items(published: Records) -> tuple[Baskets, Baskets]:
    """The items that an attacker may know, and the sensitive ones."""
    if published.items is None:
        raise InputError(
            f"the table has no items; say with {option('items')} which column holds them, or ask for {option('model', 'k')}"
        )
    return open_and_sensitive(published.items, published.sensitive_items)


def told_apart(items: Baskets, of_row: Ints) -> tuple[Baskets, Ints]:
    """The rows with items of different classes told apart, called by their numbers, and which original item each number is."""
    n = max(1, len(items.vocabulary))
    key = np.repeat(of_row, items.lengths) * n + items.items
    distinct, code = np.unique(key, return_inverse=True)
    names = tuple(map(str, range(len(distinct))))
    apart = Baskets(items.offsets, code.reshape(-1).astype(np.int32), names, people=items.people)
    return apart, distinct % n
