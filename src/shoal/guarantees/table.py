"""k-anonymity of a table without items (Samarati and Sweeney 1998): every combination of published quasi-identifier values has k rows.

With l, every such class holds at least l different values of each sensitive column (distinct l-diversity), or none in more than 1/l of
its rows (by frequency); a missing value counts for none unless it is read as a value. With t, every class is close to the whole table in
each sensitive column (`shoal.guarantees.values.closeness`). The classes of a table are also what (k,k^m)-anonymity and
(k,l^m)-diversity look into; `classes` is here for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.errors import InputError, option
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
from shoal.guarantees.soundness import check_table
from shoal.guarantees.values.closeness import (
    SLACK,
    Distance,
    check_columns,
    check_rows_are_people,
    checked_distance,
    distance_in,
    farthest_values,
    likeliest_values,
    words_of_distance,
)
from shoal.guarantees.values.missing import UNKNOWN, Missing, check_named, checked_missing, counted_values, words_of
from shoal.numbers import Codes, Ints, share, whole_number
from shoal.records.records import Records

DISTINCT, FREQUENCY = "distinct", "frequency"


@dataclass(frozen=True)
class TableAnonymity:
    """The promise: every class of equal quasi-identifier values has k rows, and sensitive columns that are l-diverse and t-close in it.

    Args:
        k: The smallest class, 2 or more.
        l: How diverse each sensitive column is in a class; 1 for no such promise.

    Raises:
        InputError: A number is out of range, or has no use beside the others.

    >>> import polars, shoal
    >>> table = polars.DataFrame({"age": [34, 35, 51, 52], "town": ["Bern", "Bern", "Basel", "Basel"]})
    >>> release = shoal.anonymize(table, shoal.TableAnonymity(k=2), quasi=["age", "town"])
    >>> sorted(set(release.published["age"].texts()))
    ['[34:35]', '[51:52]']
    """

    k: int
    l: int = 1  # noqa: E741 (the papers' name)
    missing: Missing = UNKNOWN
    """What a missing sensitive value counts for: `unknown` (nothing) or `value`, for all sensitive columns or by column."""
    l_kind: str = DISTINCT
    """`distinct`: l different values of each sensitive column. `frequency`: none of them in more than 1/l of the rows."""
    t: float | None = None
    """How far the values of a sensitive column may be from those of the whole table; None for any distance."""
    distance: Distance = None
    """How far values are from each other: `equal` or `ordered`, for all sensitive columns or by column; None goes by the column."""
    of_people: bool = field(default=False, kw_only=True, repr=False)
    """Whether the crowd is promised in people, by a column that said whose each row is, and not in rows."""

    model = "k"
    family = "table"

    def __post_init__(self) -> None:
        for name, value, least in (("k", self.k, 2), ("l", self.l, 1)):
            whole_number(name, value, least)
        if self.t is not None:
            share("t", self.t, "0.2")
        if self.l_kind not in (DISTINCT, FREQUENCY):
            raise InputError(f"l_kind is {self.l_kind!r}, which is not known; choose distinct or frequency")
        object.__setattr__(self, "missing", checked_missing(self.missing))
        object.__setattr__(self, "distance", checked_distance(self.distance))
        if not self.looks_at_values and self.missing != UNKNOWN:
            raise InputError(
                f"missing values have no use without l or t: nothing sensitive is counted; leave out {option('missing')}"
            )
        if self.l == 1 and self.l_kind != DISTINCT:
            raise InputError(f"a kind of l has no use without l; give {option('l')}, or leave out {option('l_kind')}")
        if self.t is None and self.distance is not None:
            raise InputError(f"a distance has no use without t; give {option('t')}, or leave out {option('distance')}")

    @property
    def looks_at_values(self) -> bool:
        """Whether it promises anything about sensitive columns."""
        return self.l > 1 or self.t is not None

    @property
    def by_frequency(self) -> bool:
        """Whether l bounds how frequent a value is."""
        return self.l > 1 and self.l_kind == FREQUENCY

    def __str__(self) -> str:
        more = [f"{self.l}-diversity" + " by frequency" * self.by_frequency] if self.l > 1 else []
        more += [] if self.t is None else [f"{self.t:g}-closeness"]
        return f"{self.k}-anonymity" + (f" with {' and '.join(more)}" if more else "")

    def to_dict(self) -> dict[str, Any]:
        return (
            {"model": self.model, "k": int(self.k), "l": int(self.l), "name": str(self)}
            | ({"missing": self.missing} if self.looks_at_values else {})
            | ({"l_kind": self.l_kind} if self.by_frequency else {})
            | ({} if self.t is None else {"t": float(self.t), "distance": self.distance})
            | counted_facts(self.of_people)
        )

    def promise(self) -> tuple[str, ...]:
        """Which attacker is stopped, in plain words."""
        return (
            f"Whoever knows all quasi-identifier values of a person still faces {crowd_words(self.k, self.of_people)} that are equal "
            "in them.",
            *self._about_values(),
            *([of_people_words(self.k, "each combination of these values stands")] if self.of_people else []),
        )

    def _about_values(self) -> Iterator[str]:
        if self.by_frequency:
            yield (
                f"In every such crowd no value of a sensitive column stands in more than 1 of {self.l} records"
                f"{words_of(self.missing, 'missing ones counted for it')}: whoever knows that much is never surer than 1/{self.l} of it."
            )
        elif self.l > 1:
            yield f"Every such crowd holds at least {self.l} different values of each sensitive column{words_of(self.missing)}."
        if self.t is not None:
            yield (
                "How often each value of a sensitive column occurs in such a crowd is close to how often it occurs in the whole table: at "
                f"most {self.t:g} apart, where 1 is the farthest ({words_of_distance(self.distance)}"
                f"{words_of(self.missing, 'missing ones like none of them')}). Whoever finds the crowd of a person learns little that the "
                "table does not tell of everybody."
            )
        if not self.looks_at_values:
            yield "Equal records were counted on the published data itself."

    def limits(self) -> tuple[str, ...]:
        """Which attacker is not stopped."""
        return (
            *self._limits_of_values(),
            "An attacker who knows a sensitive or a kept column of a person may use it: only quasi-identifiers were generalized.",
            "Values were generalized no more than the promise needs. Whoever knows that can conclude why: the rows of a crowd differed "
            "in what is not exact, a range ends at values that somebody in the crowd has, and in a crowd of two each end is one of them.",
            RECORDS_APART if self.of_people else ROWS_NOT_PEOPLE,
            "Several releases of the same people can be combined; the promise is about this release alone.",
        )

    def _limits_of_values(self) -> Iterator[str]:
        if self.by_frequency:
            yield (
                f"1/{self.l} is about each value of each sensitive column by itself: values that mean nearly the same count as different, "
                "and one sensitive column may tell of another."
            )
        elif self.l > 1:
            yield (
                f"{self.l} different sensitive values in a crowd can be of very different frequency: the attacker may still be nearly sure."
            )
        if self.t is not None:
            yield (
                "What the whole table tells of a sensitive column is not hidden, and each sensitive column is close by itself: what two "
                "of them together tell of a crowd is not bounded."
            )
        if not self.looks_at_values:
            yield (
                "If all members of a crowd share a sensitive value, an attacker learns it without knowing whose record is whose."
            )

    def about(self, records: Records) -> TableAnonymity:
        """The same promise, with the distance in each sensitive column named: readers of a file may take other columns for numbers."""
        if self.t is None:
            return self
        self.check_sensitive(records)
        return replace(self, distance={c.name: distance_in(c, self.distance) for c in records.of_role("sensitive")})

    def check_sensitive(self, records: Records) -> None:
        """Raises unless what is said of sensitive columns is about columns that there are."""
        names = [column.name for column in records.of_role("sensitive")]
        if self.looks_at_values and not names:
            asked = f"l = {self.l}" if self.l > 1 else f"t = {self.t:g}"
            raise InputError(
                f"{asked}, but no column is sensitive; say with {option('sensitive')} which one, or leave {asked[0]} out"
            )
        check_named(self.missing, names)
        check_columns(self.distance, names)
        if self.t is not None:
            check_rows_are_people(records)

    def audit(
        self,
        published: Records,
        *,
        witnesses: int = 10,
        yes_or_no: bool = False,
        threads: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Audit:
        """Count the rows of each class and the values of its sensitive columns. All is counted also with `yes_or_no`."""
        sensitive = published.of_role("sensitive")
        self.check_sensitive(published)
        check_table(published, threads)
        of_row, sizes = classes(published)
        n, people = len(sizes), published.people
        crowds, what = members_of(of_row, n, people), "rows" if people is None else "people"
        fewest = fewest_values(published, of_row, n, self.missing)
        most = likeliest_values(published, of_row, n, self.missing) if self.by_frequency else np.zeros(n, np.int64)
        far = np.zeros(n)
        if self.t is not None:
            far = farthest_values(published, of_row, sizes, self.missing, self.distance)
        if progress:
            progress(1.0)
        l = min(int(self.l), len(published) + 1)  # noqa: E741 - more changes nothing, and may be too large to count with
        small = crowds < self.k
        plain = (fewest < l) & (self.l > 1 and not self.by_frequency)
        sure = most * l > sizes
        telling, by_people = np.zeros(n, np.bool_), np.zeros(n, np.int64)
        if people is not None and self.l > 1:
            by_people = likeliest_for_people(published, people, of_row, n, self.missing, may_be_any=self.by_frequency)
            telling = by_people * l > crowds if self.by_frequency else by_people == crowds
        distant = far > (1.0 if self.t is None else self.t) + SLACK
        bad = np.flatnonzero(small | plain | sure | telling | distant)
        worst = bad[np.lexsort((-far[bad], -most[bad] / sizes[bad], fewest[bad], crowds[bad]))][:witnesses]

        def reason(c: int) -> str:
            if small[c]:
                return f"{crowds[c]:,} of {self.k:,} {what}"
            if plain[c]:
                return f"{fewest[c]:,} of {self.l:,} sensitive values"
            if sure[c]:
                return f"{most[c]:,} of {sizes[c]:,} rows may have the same sensitive value, more than 1/{self.l}"
            if telling[c]:
                surer = f", more than 1/{self.l}" if self.by_frequency else ""
                return f"{by_people[c]:,} of {crowds[c]:,} people may have the same sensitive value{surer}"
            return f"{far[c]:.4f} from the whole table, more than {self.t:g}"

        return Audit(
            guarantee=self.to_dict(),
            holds=not len(bad),
            checked=n,
            violations=len(bad),
            witnesses=tuple(
                Witness((), int(crowds[c]), rows := rows_of(of_row, c), reason(c), group_of(published, rows))
                for c in worst.tolist()
            ),
            facts=people_facts(people)
            | class_facts(sizes, None if people is None else crowds)
            | ({"fewest_sensitive": int(fewest.min())} if sensitive and n else {})
            | ({"likeliest_sensitive": round(float((most / sizes).max()), 6)} if self.by_frequency and n else {})
            | ({} if self.t is None else {"farthest_class": round(float(far.max(initial=0)), 6)}),
        )


def classes(published: Records) -> tuple[Ints, Ints]:
    """(class of each row, rows of each class): rows that are equal in the text of all quasi-identifier columns."""
    of_row = np.zeros(len(published), np.int64)
    for column in published.of_role("quasi"):
        key = of_row * max(1, len(column.values)) + canonical(column.values)[column.codes]
        of_row = np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return of_row, np.bincount(of_row).astype(np.int64)


def fewest_values(published: Records, of_row: Ints, n_classes: int, missing: Missing) -> Ints:
    """Per class, the different values of the sensitive column that has fewest there; very many where no column is sensitive."""
    fewest = np.full(n_classes, np.iinfo(np.int64).max)
    for column in published.of_role("sensitive"):
        counted = counted_values(column.values, column.name, missing)[column.codes]
        value = canonical(column.values)[column.codes]
        pairs = np.unique(of_row[counted] * (len(column.values) + 1) + value[counted])
        fewest = np.minimum(fewest, np.bincount(pairs // (len(column.values) + 1), minlength=n_classes))
    return fewest


def likeliest_for_people(
    published: Records, people: Codes, of_row: Ints, n_classes: int, missing: Missing, *, may_be_any: bool
) -> Ints:
    """Per class, the most people who have one value of a sensitive column, or may: an uncounted one is any value, or else none."""
    likeliest = np.zeros(n_classes, np.int64)
    for column in published.of_role("sensitive"):
        value = np.where(counted_values(column.values, column.name, missing), canonical(column.values), -1)[
            column.codes
        ]
        rows = slice(None) if may_be_any else value >= 0
        np.maximum(likeliest, most_with_a_value(of_row[rows], value[rows], people[rows], n_classes), out=likeliest)
    return likeliest


def canonical(values: tuple[str, ...]) -> Ints:
    """The first place of each value: what reads the same is the same."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(value, i) for i, value in enumerate(values)], np.int64)


def rows_of(of_row: Ints, c: int) -> tuple[int, ...]:
    """The rows of a class, counted from 1."""
    return tuple((np.flatnonzero(of_row == c) + 1).tolist())


def group_of(published: Records, rows: tuple[int, ...]) -> tuple[str, ...]:
    """The quasi-identifier values of these rows, which all share them."""
    return tuple(column.values[int(column.codes[rows[0] - 1])] for column in published.of_role("quasi"))
