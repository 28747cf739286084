"""k-anonymity of a table without items (Samarati and Sweeney 1998): every combination of published quasi-identifier values has k rows.

With l, every such class holds at least l different values of each sensitive column (distinct l-diversity); a missing value counts for
none unless it is read as a value. The classes of a table are also what (k,k^m)-anonymity and (k,l^m)-diversity look into; `classes` is
here for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError, option
from shoal.guarantees.audit import Audit, Witness
from shoal.guarantees.missing import UNKNOWN, Missing, check_named, checked_missing, counted_values, words_of
from shoal.guarantees.soundness import check_table
from shoal.numbers import whole_number
from shoal.records.records import Records


@dataclass(frozen=True)
class TableAnonymity:
    """The promise: every class of equal quasi-identifier values has k rows, and l different values of each sensitive column."""

    k: int
    l: int = 1  # noqa: E741 (the papers' name)
    missing: Missing = UNKNOWN
    """What a missing sensitive value counts for: `unknown` (nothing) or `value`, for all sensitive columns or by column."""

    model = "k"
    family = "table"

    def __post_init__(self) -> None:
        for name, value, least in (("k", self.k, 2), ("l", self.l, 1)):
            whole_number(name, value, least)
        object.__setattr__(self, "missing", checked_missing(self.missing))
        if self.l == 1 and self.missing != UNKNOWN:
            raise InputError(
                f"missing values have no use without l: nothing sensitive is counted; leave out {option('missing')}"
            )

    def __str__(self) -> str:
        return f"{self.k}-anonymity" + (f" with {self.l}-diversity" if self.l > 1 else "")

    def to_dict(self) -> dict[str, Any]:
        return {"model": self.model, "k": int(self.k), "l": int(self.l), "name": str(self)} | (
            {"missing": self.missing} if self.l > 1 else {}
        )

    def promise(self) -> tuple[str, ...]:
        """Which attacker is stopped, in plain words."""
        return (
            f"Whoever knows all quasi-identifier values of a person still faces at least {self.k} published records that are equal "
            "in them.",
            *(
                [
                    f"Every such crowd holds at least {self.l} different values of each sensitive column{words_of(self.missing)}."
                ]
                if self.l > 1
                else ["Equal records were counted on the published data itself."]
            ),
        )

    def limits(self) -> tuple[str, ...]:
        """Which attacker is not stopped."""
        return (
            *(
                [
                    f"{self.l} different sensitive values in a crowd can be of very different frequency: the attacker may still be "
                    "nearly sure."
                ]
                if self.l > 1
                else [
                    "If all members of a crowd share a sensitive value, an attacker learns it without knowing whose record is whose."
                ]
            ),
            "An attacker who knows a sensitive or a kept column of a person may use it: only quasi-identifiers were generalized.",
            "Values were generalized no more than the promise needs. Whoever knows that can conclude why: the rows of a crowd differed "
            "in what is not exact, a range ends at numbers that somebody in the crowd has, and in a crowd of two each end is one of them.",
            "Rows are counted, not people: if one person has several rows, a crowd of rows can be a smaller crowd of people.",
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
        """Count the rows of each class, and the different values of its sensitive columns. All is counted also with `yes_or_no`."""
        sensitive = published.of_role("sensitive")
        if self.l > 1 and not sensitive:
            raise InputError(
                f"l = {self.l}, but no column is sensitive; say with {option('sensitive')} which one, or leave l out"
            )
        check_named(self.missing, [column.name for column in sensitive])
        check_table(published, threads)
        of_row, sizes = classes(published)
        fewest = fewest_values(published, of_row, len(sizes), self.missing)
        if progress:
            progress(1.0)
        small, plain = sizes < self.k, fewest < (self.l if self.l > 1 else 0)
        bad = np.flatnonzero(small | plain)
        worst = bad[np.lexsort((fewest[bad], sizes[bad]))][:witnesses]
        return Audit(
            guarantee=self.to_dict(),
            holds=not len(bad),
            checked=len(sizes),
            violations=len(bad),
            witnesses=tuple(
                Witness(
                    (),
                    int(sizes[c]),
                    rows := rows_of(of_row, c),
                    f"{sizes[c]:,} of {self.k:,} rows" if small[c] else f"{fewest[c]:,} of {self.l:,} sensitive values",
                    group_of(published, rows),
                )
                for c in worst.tolist()
            ),
            facts=class_facts(sizes) | ({"fewest_sensitive": int(fewest.min())} if sensitive and len(sizes) else {}),
        )


def classes(published: Records) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(class of each row, rows of each class): rows that are equal in the text of all quasi-identifier columns."""
    of_row = np.zeros(len(published), np.int64)
    for column in published.of_role("quasi"):
        key = of_row * max(1, len(column.values)) + canonical(column.values)[column.codes]
        of_row = np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return of_row, np.bincount(of_row).astype(np.int64)


def fewest_values(
    published: Records, of_row: npt.NDArray[np.int64], n_classes: int, missing: Missing
) -> npt.NDArray[np.int64]:
    """Per class, the different values of the sensitive column that has fewest there; very many where no column is sensitive."""
    fewest = np.full(n_classes, np.iinfo(np.int64).max)
    for column in published.of_role("sensitive"):
        counted = counted_values(column.values, column.name, missing)[column.codes]
        value = canonical(column.values)[column.codes]
        pairs = np.unique(of_row[counted] * (len(column.values) + 1) + value[counted])
        fewest = np.minimum(fewest, np.bincount(pairs // (len(column.values) + 1), minlength=n_classes))
    return fewest


def canonical(values: tuple[str, ...]) -> npt.NDArray[np.int64]:
    """The first place of each value: what reads the same is the same."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(value, i) for i, value in enumerate(values)], np.int64)


def rows_of(of_row: npt.NDArray[np.int64], c: int) -> tuple[int, ...]:
    """The rows of a class, counted from 1."""
    return tuple((np.flatnonzero(of_row == c) + 1).tolist())


def group_of(published: Records, rows: tuple[int, ...]) -> tuple[str, ...]:
    """The quasi-identifier values of these rows, which all share them."""
    return tuple(column.values[int(column.codes[rows[0] - 1])] for column in published.of_role("quasi"))


def class_facts(sizes: npt.NDArray[np.int64]) -> dict[str, Any]:
    return {
        "classes": len(sizes),
        "smallest_class": int(sizes.min()) if len(sizes) else 0,
        "largest_class": int(sizes.max(initial=0)),
        "average_class": float(sizes.mean()) if len(sizes) else 0.0,
    }
