"""The homogeneity attack: nobody needs to know whose row is whose if all rows of a crowd share the sensitive value.

The attacker finds the crowd of a person by all that is not sensitive (as in `prosecutor`) and takes the value that is most frequent in
it: the share of that value is how sure the guess is (Machanavajjhala et al. 2006). Sensitive columns and sensitive items
are looked at alike, and so are the items in cells that hold sets; with several, the one that gives most away counts. A missing value
that is unknown may be the one that the attacker guesses.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shoal.attacks.prosecutor import crowds
from shoal.errors import InputError, option
from shoal.guarantees.values.missing import UNKNOWN, Missing, check_named, checked_missing, counted_values
from shoal.numbers import Ints, whole_number
from shoal.records.records import Column, Records
from shoal.records.spelling.set_cells import cell_items, parting_mark


@dataclass(frozen=True)
class Guess:
    """A crowd and the sensitive value that most of it have."""

    size: int
    value: str
    count: int
    """Rows that have it, or may have it because their value is unknown."""
    rows: tuple[int, ...]
    """From 1."""
    unknown: int = 0

    def __str__(self) -> str:
        who = f"all {self.size:,} rows" if self.count == self.size else f"{self.count:,} of {self.size:,} rows"
        first = ", ".join(f"{row:,}" for row in self.rows[:5])
        may = f", counting {self.unknown:,} whose value is missing" if self.unknown else ""
        return f"{who} of the crowd of {first}{', ...' if len(self.rows) > 5 else ''} have {self.value}{may}"


@dataclass(frozen=True)
class Homogeneity:
    """How sure an attacker can be of a sensitive value of each row."""

    l: int | None  # noqa: E741
    rows: int
    crowds: int
    certain: int
    """Rows in crowds that share a sensitive value."""
    certain_crowds: int
    likely: int
    """Rows in crowds where a value is likelier than 1/l; without l, the same as `certain`."""
    highest: float
    average: float
    """Of how sure the attacker is, over all rows."""
    by_confidence: tuple[int, ...]
    """Rows by how sure the attacker is: up to 10%, up to 20%, ..., up to 100%, and certain."""
    examples: tuple[Guess, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def homogeneity(
    records: Records,
    l: int | None = None,  # noqa: E741
    *,
    missing: Missing = UNKNOWN,
    separator: str | None = None,
    examples: int = 5,
) -> Homogeneity:
    """How sure an attacker is who finds the crowd of a person and guesses its most frequent sensitive value.

    `missing` says what a missing value is, `unknown` (perhaps the very one) or a `value` of its own; `separator` is what stands between
    the items in a cell of a sensitive column, and is guessed unless given.
    """
    if l is not None:
        whole_number("l", l, 2)
    whole_number("examples", examples, 0)
    if not records.of_role("sensitive") and not records.sensitive_items:
        raise InputError(f"there is nothing sensitive to guess; name it with {option('sensitive')}")
    missing = checked_missing(missing)
    check_named(missing, [column.name for column in records.of_role("sensitive")])
    of_row, sizes = crowds(records)
    likeliest = _Likeliest.of(records, of_row, len(sizes), missing, separator)
    most = likeliest.most
    certain, likely = most == sizes, most == sizes
    if l is not None:
        likely = (
            most * min(l, len(records) + 1) > sizes
        )  # a larger l changes nothing, and may be no number of the machine
    sure = most / np.maximum(1, sizes)
    band = np.where(certain, 10, np.minimum(9, np.ceil(sure * 10 - 1e-9).astype(np.int64) - 1).clip(0))
    # The surest guesses first, and among them those about the most people.
    worst = np.lexsort((-sizes, -sure))[:examples]
    worst = worst[likely[worst]]
    return Homogeneity(
        l,
        len(records),
        len(sizes),
        int(sizes[certain].sum()),
        int(np.count_nonzero(certain)),
        int(sizes[likely].sum()),
        float(sure.max(initial=0.0)),
        float((np.sort(sure * sizes)).sum() / max(1, len(records))),
        tuple(np.bincount(band, sizes, 11).astype(np.int64).tolist()) if len(sizes) else (0,) * 11,
        tuple(
            Guess(
                int(sizes[c]),
                likeliest.names[likeliest.which[c]],
                int(most[c]),
                tuple((np.flatnonzero(of_row == c)[:6] + 1).tolist()),
                int(likeliest.unknown[c]),
            )
            for c in worst.tolist()
        ),
    )


@dataclass(eq=False)
class _Likeliest:
    """Per crowd, how many of its rows may have the most frequent sensitive value, which value that is, and how many are unknown."""

    most: Ints
    which: Ints
    unknown: Ints
    names: list[str]

    @classmethod
    def of(cls, records: Records, of_row: Ints, n: int, missing: Missing, separator: str | None) -> _Likeliest:
        likeliest = cls(np.zeros(n, np.int64), np.full(n, -1, np.int64), np.zeros(n, np.int64), [])
        for column in records.of_role("sensitive"):
            known = counted_values(column.values, column.name, missing)[column.codes]
            unknown = np.bincount(of_row[~known], minlength=n).astype(np.int64)
            names = [f"{column.name} {value or '(missing)'}" for value in column.values]
            likeliest.take(of_row[known], column.codes[known].astype(np.int64), names, unknown)
            mark = parting_mark(column.values, separator)
            if mark is not None:
                likeliest.take(*_items(column, of_row, mark), unknown)
        if records.items is not None and records.sensitive_items:
            sets = records.items
            wanted = np.array([item in records.sensitive_items for item in sets.vocabulary], np.bool_)[sets.items]
            crowd = np.repeat(of_row, sets.lengths)[wanted]
            likeliest.take(crowd, sets.items[wanted].astype(np.int64), list(sets.vocabulary), np.zeros(n, np.int64))
        return likeliest

    def take(self, crowd: Ints, code: Ints, names: list[str], unknown: Ints) -> None:
        """Raises the counts of crowds that have a value more often than the ones known so far."""
        n = max(1, len(names))
        pairs, counts = np.unique(crowd * n + code, return_counts=True)
        order = np.lexsort(
            (-pairs, counts)
        )  # the last of a crowd is its most frequent value, the first of those in order
        at, what, count = pairs[order] // n, pairs[order] % n, counts[order]
        best = np.zeros(len(self.most), np.int64)
        which = np.zeros(len(self.most), np.int64)
        best[at], which[at] = count + unknown[at], what
        more = best > self.most
        self.most[more], self.which[more] = best[more], which[more] + len(self.names)
        self.unknown[more] = unknown[more]
        self.names += names


def _items(column: Column, of_row: Ints, mark: str) -> tuple[Ints, Ints, list[str]]:
    """The crowd and the number of each item in the cells of a column, row by row, and what the items are called."""
    number: dict[str, int] = {}
    items = [[number.setdefault(item, len(number)) for item in cell_items(cell, mark)] for cell in column.values]
    flat = np.array([item for held in items for item in held], np.int64)
    many = np.array([len(held) for held in items], np.int64)
    lengths, start = many[column.codes], (np.cumsum(many) - many)[column.codes]
    place = np.repeat(start - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
    return np.repeat(of_row, lengths), flat[place], [f"{column.name} {item}" for item in number]
