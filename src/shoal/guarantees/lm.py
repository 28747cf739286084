"""(k,l^m)-diversity (section 5 of the RT paper): (k,k^m)-anonymity, and no sensitive item is more likely than 1/l.

The attacker knows all quasi-identifier values and up to m items that are not sensitive. Among the rows of a class that hold a
set of at most m such items, the empty set included, no sensitive item stands in more than 1/l. Single sensitive items suffice:
a combination is never more frequent than its members. Where columns are sensitive instead of items, the same holds for each of their
values; with t, they are also close to the whole table (`shoal.guarantees.values.closeness`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.errors import number_of
from shoal.guarantees.audit import Audit, Witness, with_breaches
from shoal.guarantees.people import RECORDS_APART, ROWS_NOT_PEOPLE, counted_facts, rows_by_class
from shoal.guarantees.rt import NO_MORE_THAN_NEEDED, RTAnonymity, known_items
from shoal.guarantees.table import classes, group_of
from shoal.guarantees.values.closeness import Distance, Values, named_distances, with_crowds
from shoal.guarantees.values.missing import UNKNOWN, Missing, reading_of
from shoal.numbers import Ints, whole_number
from shoal.records.records import Records


@dataclass(frozen=True)
class LmDiversity:
    """The promise: k records for all values and up to m items, and no sensitive item in more than 1/l of them.

    Args:
        k: The smallest crowd.
        l: No sensitive item, or value, is in more than 1/l of a crowd.
        m: How many items of a person an attacker may know beside the columns.

    Raises:
        InputError: A number is out of range, or has no use beside the others.

    >>> import polars, shoal
    >>> table = polars.DataFrame({"age": [34, 34], "codes": [["E11", "HIV"], ["E11"]]})
    >>> shoal.audit(table, shoal.LmDiversity(k=2, l=2, m=1), quasi="age", items="codes", sensitive=["HIV"]).holds
    True
    """

    k: int
    l: int  # noqa: E741 (the papers' name)
    m: int
    t: float | None = None
    """How far sensitive columns may be from those of the whole table, in every such crowd; None for any distance."""
    distance: Distance = None
    """How far values are from each other: `equal` or `ordered`, for all sensitive columns or by column; None goes by the column."""
    missing: Missing = UNKNOWN
    """What a missing value of a sensitive column is: `unknown` (any value) or `value`, for all sensitive columns or by column."""
    of_people: bool = field(default=False, kw_only=True, repr=False)
    """Whether the crowd is promised in people, by a column that said whose each row is, and not in rows."""

    model = "lm"

    def __post_init__(self) -> None:
        for name, value in (("k", self.k), ("l", self.l), ("m", self.m)):
            whole_number(name, value, 1)
        object.__setattr__(self, "distance", self.values.distance)
        object.__setattr__(self, "missing", self.values.missing)

    @property
    def values(self) -> Values:
        """What is promised of sensitive columns."""
        return Values.of(self.l, self.t, self.distance, self.missing)

    @property
    def looks_at_values(self) -> bool:
        """Whether sensitive columns must have one value a row, be it one column or several."""
        return self.t is not None or self.missing != UNKNOWN

    def about(self, records: Records) -> LmDiversity:
        """The same promise, with the sensitive columns named: how each is read, and the distance in it."""
        self.values.check(records)
        columns = [column.name for column in records.of_role("sensitive")]
        if not columns:
            return self
        distance = None if self.t is None else named_distances(self.distance, records)
        return replace(self, distance=distance, missing={name: reading_of(self.missing, name) for name in columns})

    def __str__(self) -> str:
        close = "" if self.t is None else f" with {self.t:g}-closeness"
        return f"({self.k},{self.l}^{self.m})-diversity{close}"

    def to_dict(self) -> dict[str, Any]:
        numbers = {"model": self.model, "k": int(self.k), "l": int(self.l), "m": int(self.m), "name": str(self)}
        return numbers | self.values.to_dict() | counted_facts(self.of_people)

    def promise(self) -> tuple[str, ...]:
        """Which attacker is stopped, in plain words."""
        return (
            *RTAnonymity(self.k, self.m, of_people=self.of_people).promise(),
            f"Among the records that fit, no sensitive item stands in more than 1 of {self.l}: whoever knows that much is never surer than "
            f"1/{self.l} that the person has it.",
            *self.values.promise(),
        )

    def limits(self) -> tuple[str, ...]:
        """Which attacker is not stopped."""
        return (
            f"An attacker who knows more than {number_of(self.m, 'item')} of a record may still single it out.",
            "An attacker who knows that a person did not have an item, or how many items the person has, is not considered.",
            "An attacker who knows some sensitive items of a person may use them: they are published unchanged.",
            "Only the items or columns named as sensitive are protected from inference; others are not.",
            *self.values.limits(),
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
        """As for (k,k^m)-anonymity, and for every set of up to m items in every class the sensitive items beside it."""
        from shoal.kernels.audit.inference import count_inferences
        from shoal.kernels.audit.threads import blocks_of_work, in_threads

        hidden = RTAnonymity(self.k, self.m).audit(
            published, witnesses=witnesses, yes_or_no=yes_or_no, threads=threads, progress=progress
        )
        items, sensitive = known_items(published)
        of_row, sizes = classes(published)
        order = rows_by_class(of_row, published.people)
        starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        # More than there are rows changes nothing, and need not be a number that machines have.
        m, l = min(int(self.m), items.longest), min(int(self.l), len(published) + 1)  # noqa: E741
        # The share of a sensitive item is bounded among rows, as whoever has the file can count, and among the people whose they are.
        whose: dict[str, Ints | None] = {"rows": None}
        if published.people is not None:
            whose["people"] = published.people.astype(np.int64)

        def count(who: Ints | None) -> Any:
            return lambda a, b: count_inferences(
                items.offsets,
                items.items,
                len(items.vocabulary),
                sensitive.offsets,
                sensitive.items,
                len(sensitive.vocabulary),
                order,
                starts,
                who,
                a,
                b,
                l,
                m,
                witnesses,
                yes_or_no,
            )

        blocks = blocks_of_work(sizes.astype(np.float64), 64)
        parts = [
            (what, *part) for what, who in whose.items() for part in in_threads(count(who), blocks, threads, progress)
        ]
        bad = sum((part[1] for part in parts), np.zeros(m + 1, np.int64))
        figures = [
            (tuple(f.tolist()), members[: f[4]].tolist(), what)
            for what, _, *part in parts
            for f, members in zip(*part, strict=True)
        ]
        figures.sort(key=lambda kept: -kept[0][2] / kept[0][3])
        sure = []
        for (c, _, both, support, _), members, what in figures[:witnesses]:
            rows = order[starts[c] : starts[c + 1]]
            inside = items.take(rows)
            row = np.repeat(np.arange(len(rows)), inside.lengths)
            held = np.bincount(row[np.isin(inside.items, members)], minlength=len(rows)) == len(members)
            numbers = tuple(np.sort(rows[held] + 1).tolist())
            sure.append(
                Witness(
                    tuple(items.vocabulary[i] for i in members),
                    int(support),
                    numbers,
                    f"{both:,} of {support:,} {what} hold the same sensitive item, more than 1/{self.l}",
                    group_of(published, numbers),
                )
            )
        verdict = with_inferences(self, hidden, bad, tuple(sure), witnesses)
        how = witnesses, yes_or_no, threads, progress
        return with_crowds(verdict, self.values, published, items, self.m, of_row, how)


def with_inferences(
    guarantee: LmDiversity, hidden: Audit, bad: Ints, sure: tuple[Witness, ...], witnesses: int
) -> Audit:
    """The audit of (k,k^m)-anonymity, and the sensitive items that are too likely: `bad` per size of what is known, `sure` the worst."""
    facts = {**hidden.facts, "rare": hidden.violations, "inferences": int(bad.sum())}
    return replace(with_breaches(hidden, bad.tolist(), sure, witnesses), guarantee=guarantee.to_dict(), facts=facts)
