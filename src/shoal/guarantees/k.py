"""k-anonymity of transactions (Lin and others 2017, Definition 1): every published transaction has at least k - 1 twins.

Twins agree in all quasi-identifier items, those that an attacker may know; a transaction without any counts like every other.
Sensitive items, those that an attacker wants to learn, travel beside them and are not compared. That leaves the
homogeneity attack: if all twins share a sensitive item, nobody needs to know whose row is whose. The audit reports such
classes, and with l > 1 every class has to hold at least l different sensitive items, and none that all of its rows share.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.errors import InputError, Message, option
from shoal.guarantees.audit import Audit, Witness, class_facts
from shoal.guarantees.people import (
    RECORDS_APART,
    ROWS_NOT_PEOPLE,
    counted_facts,
    crowd_words,
    members_of,
    most_with_a_value,
    of_people_words,
    people_facts,
)
from shoal.guarantees.soundness import check_sets
from shoal.numbers import Bools, Ints, whole_number
from shoal.records.baskets import Baskets
from shoal.records.records import Records


@dataclass(frozen=True)
class KAnonymity:
    """The promise: every published transaction is equal to at least k - 1 others; with l, no class gives few sensitive items away.

    Args:
        k: The smallest class of equal rows, 2 or more.
        l: How many different sensitive items each class has to hold; 1 for no such promise.

    Raises:
        InputError: k or l is out of range.

    >>> import shoal
    >>> release = shoal.anonymize([["milk", "bread"], ["milk", "bread"], ["milk"]], shoal.KAnonymity(k=3))
    >>> list(release.published.rows())
    [['bread', 'milk'], ['bread', 'milk'], ['bread', 'milk']]
    """

    k: int
    l: int = 1  # noqa: E741 (the papers' name)
    sensitive: Collection[str] = field(default=frozenset())
    """Items that an attacker wants to learn: they are published unchanged and not compared."""
    of_people: bool = field(default=False, kw_only=True, repr=False)
    """Whether the crowd is promised in people, by a column that said whose each row is, and not in rows."""

    model = "k"

    def __post_init__(self) -> None:
        for name, value, least in (("k", self.k, 2), ("l", self.l, 1)):
            whole_number(name, value, least)
        if isinstance(self.sensitive, str):
            raise InputError(f"sensitive is a {type(self.sensitive).__name__}; give a list of items")
        object.__setattr__(self, "sensitive", frozenset(map(str, self.sensitive)))

    def __str__(self) -> str:
        return f"{self.k}-anonymity" + (f" with {self.l}-diversity" if self.l > 1 else "")

    def to_dict(self) -> dict[str, Any]:
        """For --json and certificates: how many items are sensitive, not which."""
        numbers = {"model": self.model, "k": int(self.k), "l": int(self.l), "name": str(self)}
        hidden = {"sensitive_items": len(self.sensitive)} if self.sensitive else {}
        return numbers | hidden | counted_facts(self.of_people)

    def promise(self) -> tuple[str, ...]:
        """Which attacker is stopped, in plain words."""
        known = "all items but the sensitive ones" if self.sensitive else "all items"
        return (
            f"Whoever knows {known} of a person's record, however many, and even that it holds no others, still faces "
            f"{crowd_words(self.k, self.of_people)} that are equal in them.",
            *(
                [f"Every such crowd holds at least {self.l} different sensitive items, and none that all of it share."]
                if self.l > 1
                else ["Equal records were counted on the published data itself."]
            ),
            *([of_people_words(self.k, "each set of items stands")] if self.of_people else []),
        )

    def limits(self) -> tuple[str, ...]:
        """Which attacker is not stopped."""
        return (
            "Items were added and removed: a published record need not be what any one person had, and a count of an item is an estimate.",
            *(
                [
                    "Sensitive items are published unchanged: if all members of a crowd share one, an attacker learns it without "
                    "knowing whose record is whose."
                ]
                if self.sensitive and self.l == 1
                else []
            ),
            *(
                [
                    f"{self.l} different sensitive items in a crowd can be of very different frequency, and one of them may stand in all "
                    "rows but one: the attacker may still be nearly sure of it."
                ]
                if self.l > 1
                else []
            ),
            *(["An attacker who knows some sensitive items of a person may use them."] if self.sensitive else []),
            "Rows were changed no more than the promise needs, and a class is published as what most of its rows have. Whoever knows that "
            "can conclude that at least half of the rows of a class had each of its items, and at most half any other.",
            RECORDS_APART if self.of_people else ROWS_NOT_PEOPLE,
            "Several releases of the same people can be combined; the promise is about this release alone.",
        )

    def audit(
        self,
        published: Baskets | Records,
        *,
        witnesses: int = 10,
        yes_or_no: bool = False,
        threads: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Audit:
        """Count equal transactions, and the sensitive items among them. All is counted also with `yes_or_no`: it takes one pass."""
        from shoal.kernels.audit.row_sets import sensitive_per_run

        rows = published.items if isinstance(published, Records) else published
        if rows is None:
            raise InputError(f"there are no items; name the column that holds them with {option('items')}")
        check_sets(rows, threads)
        quasi, sensitive = open_and_sensitive(rows, self.sensitive)
        order, bounds = twins(quasi)
        sizes = np.diff(bounds)
        distinct, most = sensitive_per_run(sensitive.offsets, sensitive.items, order, bounds, len(sensitive.vocabulary))
        if progress:
            progress(1.0)
        crowds, what = sizes, "rows"
        if rows.people is not None:
            of_row = np.empty(len(rows), np.int64)
            of_row[order] = np.repeat(np.arange(len(sizes)), sizes)
            crowds, what = members_of(of_row, len(sizes), rows.people), "people"
            holder = np.repeat(np.arange(len(rows)), sensitive.lengths)
            most = most_with_a_value(of_row[holder], sensitive.items, rows.people[holder], len(sizes))
        alike = (most == crowds) & bool(self.sensitive)
        small, plain = crowds < self.k, (distinct < self.l) | alike
        bad = np.flatnonzero(small | plain if self.l > 1 else small)
        worst = bad[np.lexsort((distinct[bad], crowds[bad]))][:witnesses]
        return Audit(
            guarantee=self.to_dict(),
            holds=not len(bad),
            checked=len(sizes),
            violations=len(bad),
            witnesses=tuple(
                Witness(
                    tuple(next(quasi.take(order[bounds[c] : bounds[c] + 1]).rows())),
                    int(crowds[c]),
                    tuple((order[bounds[c] : bounds[c + 1]] + 1).tolist()),
                    f"{crowds[c]:,} of {self.k:,} {what}"
                    if small[c]
                    else f"{distinct[c]:,} of {self.l:,} sensitive items"
                    if distinct[c] < self.l
                    else SHARED.replace("rows", what),
                )
                for c in worst.tolist()
            ),
            notes=homogeneity_notes(len(sizes), int(np.count_nonzero(alike)), int(sizes[alike].sum()), int(self.l)),
            facts=class_facts(sizes)
            | people_facts(rows.people)
            | ({} if rows.people is None else {"fewest_people": int(crowds.min(initial=len(rows)))})
            | (
                {
                    "homogeneous_classes": int(np.count_nonzero(alike)),
                    "homogeneous_rows": int(sizes[alike].sum()),
                    "fewest_sensitive": int(distinct.min()) if len(sizes) else 0,
                }
                if self.sensitive
                else {}
            ),
        )


def twins(baskets: Baskets) -> tuple[Ints, Ints]:
    """(order, bounds): class c of equal rows is `order[bounds[c]:bounds[c + 1]]`, ascending; classes come as their first rows do."""
    from shoal.kernels.audit.row_sets import equal_rows

    return equal_rows(baskets.offsets, baskets.items)


def open_and_sensitive(baskets: Baskets, sensitive: Collection[str]) -> tuple[Baskets, Baskets]:
    """The same rows twice: with the quasi-identifier items alone, and with the sensitive ones alone."""
    marked = np.array([name in sensitive for name in baskets.vocabulary], bool)
    return _with(baskets, ~marked), _with(baskets, marked)


def _with(baskets: Baskets, wanted: Bools) -> Baskets:
    kept = wanted[baskets.items]
    offsets = np.concatenate(([0], np.cumsum(kept)))[baskets.offsets]
    rank = np.cumsum(wanted, dtype=np.int32) - np.int32(1)
    names = tuple(name for name, stays in zip(baskets.vocabulary, wanted.tolist(), strict=True) if stays)
    return Baskets(offsets, rank[baskets.items[kept]].astype(np.int32, copy=False), names, people=baskets.people)


SHARED = "all rows share a sensitive item"
"""What is wrong with a class that has enough different sensitive items."""


def homogeneity_notes(classes: int, alike: int, alike_rows: int, l: int) -> tuple[str, ...]:  # noqa: E741
    """A word about classes all of whose members share a sensitive item: `alike` of all, with so many rows."""
    if not alike:
        return ()
    return (
        Message(
            f"{alike:,} of {classes:,} classes, {alike_rows:,} rows, share a sensitive item among all their "
            "members: whoever knows that a person is in such a class learns it (the homogeneity attack)"
            + (f"; ask for {option('l', '2')} or more" if l == 1 else "")
        ),
    )
