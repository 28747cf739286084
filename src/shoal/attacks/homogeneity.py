"""The homogeneity attack: nobody needs to know whose row is whose if all rows of a crowd share the sensitive value.

The attacker finds the crowd of a person by all that is not sensitive (as in `prosecutor`) and takes the value that is most frequent in
it: the share of that value is how sure the guess is (Machanavajjhala et al. 2006). Sensitive columns and sensitive items
are looked at alike; with several, the one that gives most away counts.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.attacks.prosecutor import crowds
from shoal.errors import InputError
from shoal.numbers import whole_number
from shoal.records.records import Records

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Guess:
    """A crowd and the sensitive value that most of it have."""

    size: int
    value: str
    count: int
    rows: tuple[int, ...]
    """From 1."""

    def __str__(self) -> str:
        who = f"all {self.size:,} rows" if self.count == self.size else f"{self.count:,} of {self.size:,} rows"
        first = ", ".join(f"{row:,}" for row in self.rows[:5])
        return f"{who} of the crowd of {first}{', ...' if len(self.rows) > 5 else ''} have {self.value}"


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
    examples: int = 5,
) -> Homogeneity:
    """How sure an attacker is who finds the crowd of a person and guesses its most frequent sensitive value."""
    if l is not None:
        whole_number("l", l, 2)
    whole_number("examples", examples, 0)
    if not records.of_role("sensitive") and not records.sensitive_items:
        raise InputError("there is nothing sensitive to guess; name it with --sensitive")
    of_row, sizes = crowds(records)
    most, value = _likeliest(records, of_row, len(sizes))
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
            Guess(int(sizes[c]), value[c], int(most[c]), tuple((np.flatnonzero(of_row == c)[:6] + 1).tolist()))
            for c in worst.tolist()
        ),
    )


def _likeliest(records: Records, of_row: Ints, n: int) -> tuple[Ints, dict[int, str]]:
    """Per crowd, how many of its rows have the most frequent sensitive value, and which value that is."""
    most, name = np.zeros(n, np.int64), np.full(n, -1, np.int64)
    names = list[str]()
    for column in records.of_role("sensitive"):
        _take(most, name, of_row, column.codes.astype(np.int64), len(column.values), len(names))
        names += [f"{column.name} {value or '(missing)'}" for value in column.values]
    if records.items is not None and records.sensitive_items:
        sets = records.items
        wanted = np.array([item in records.sensitive_items for item in sets.vocabulary], np.bool_)[sets.items]
        crowd = np.repeat(of_row, sets.lengths)[wanted]
        _take(most, name, crowd, sets.items[wanted].astype(np.int64), len(sets.vocabulary), len(names))
        names += sets.vocabulary
    return most, {crowd: names[at] for crowd, at in enumerate(name.tolist()) if at >= 0}


def _take(most: Ints, name: Ints, crowd: Ints, code: Ints, values: int, first: int) -> None:
    """Raises the counts of crowds that have a value more often than the ones known so far."""
    pairs, counts = np.unique(crowd * max(1, values) + code, return_counts=True)
    order = np.lexsort((-pairs, counts))  # the last of a crowd is its most frequent value, the first of those in order
    at, what, count = pairs[order] // max(1, values), pairs[order] % max(1, values), counts[order]
    best = np.zeros(len(most), np.int64)
    which = np.zeros(len(most), np.int64)
    best[at], which[at] = count, what
    more = best > most
    most[more], name[more] = best[more], which[more] + first
