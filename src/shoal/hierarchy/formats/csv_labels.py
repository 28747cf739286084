"""Cells: the rows of a CSV file of labels, whatever separates them, and the way to quote a label in one.

The separator is the one of `;`, tab and `,` that splits most rows; where two do, the one that leaves fewer different last cells, since
the rows of a hierarchy end in one root.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from shoal.errors import VALUES, InputError
from shoal.hierarchy.tree import count_of

if TYPE_CHECKING:
    from _csv import Reader

_SEPARATORS = ";\t,"
_SPECIAL = frozenset(_SEPARATORS + '"\r\n')
_SAMPLE = 200
BLANKS = " \t\n\v\f\r"
"""Blanks that do not count around a label or an item; those of other scripts do."""


@dataclass(frozen=True)
class Cells:
    """Rows without the empty cells at their end (rows of nothing else are left out), and the line that each ends in."""

    rows: list[list[str]]
    lines: list[int]

    def below_header(self) -> Cells:
        return Cells(self.rows[1:], self.lines[1:])


def read_cells(text: str, place: str) -> Cells:
    """All rows; blanks around a label do not count."""
    reader = _reader(text, _separator(text))
    rows, lines = [], []
    try:
        for row in map(_trimmed, reader):
            if row:
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(
            f"{place}, line {reader.line_num}: the row cannot be split into cells ({error}); "
            'close every quote, and double a quote that is part of a quoted label ("")'
        ) from error
    return Cells(rows, lines)


def sample_rows(text: str) -> list[list[str]]:
    """The first rows, for guessing the format; none where they cannot be split."""
    try:
        return list(_sample(text, _separator(text)))
    except csv.Error:
        return []


def cells_for(labels: Sequence[str], what: str) -> Sequence[str]:
    """The labels as cells. Every separator is quoted, so that a guess cannot take a comma in a label for one.

    A cell that is empty or has blanks around it would not be read back as it was, so it is refused; `what` begins the message. Mostly
    there is nothing to refuse and nothing to quote, which one look at all labels together shows.
    """
    joined = "".join(labels)
    suspect = not all(labels) or any(blank in joined for blank in BLANKS)
    if suspect and (bad := [label for label in labels if not label or label != label.strip(BLANKS)]):
        raise InputError(
            f"{what}: {count_of(bad, 'label is', 'labels are')} empty or surrounded by blanks{VALUES}; rename them, "
            "or write json",
            values=[repr(label) for label in bad],
        )
    if not any(mark in joined for mark in _SPECIAL):
        return labels
    return ['"' + label.replace('"', '""') + '"' if _SPECIAL.intersection(label) else label for label in labels]


def _reader(text: str, separator: str) -> Reader:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)


def _trimmed(row: list[str]) -> list[str]:
    row = [cell.strip(BLANKS) for cell in row]
    while row and not row[-1]:
        row.pop()
    return row


def _sample(text: str, separator: str) -> Iterator[list[str]]:
    return filter(None, map(_trimmed, islice(_reader(text, separator), _SAMPLE)))


def _separator(text: str) -> str:
    scores = {}
    for separator in _SEPARATORS:
        try:
            rows = list(_sample(text, separator))
        except csv.Error:  # quotes that make no sense with this separator
            continue
        scores[separator] = -sum(len(row) > 1 for row in rows), len({row[-1] for row in rows[1:]})
    return min(scores, key=scores.__getitem__, default=_SEPARATORS[0])
