"""Cells of a single-valued column that hold sets: `asthma|flu` beside `flu`.

l-diversity compares whole cells. That is the same as comparing their items as long as no two different cells share one; where two do,
a crowd of `asthma|flu` and `flu` would pass for two values though everybody in it has flu. What separates items is a bar, a semicolon, a
comma or a tab, or a blank between codes (`250 401`); or what the user says, and then nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.errors import InputError, option
from shoal.records.records import Records
from shoal.records.roles import SENSITIVE_MARKS

_MARKS = (*SENSITIVE_MARKS, "\t")
_WRAPPED = " \t\n\r\v\f{}[]()\"'"
"""What may stand around an item: arrays are written {a,b} or ["a", "b"]."""


def cell_items(cell: str, mark: str) -> tuple[str, ...]:
    """The items of a cell, each once."""
    return tuple(dict.fromkeys(item for part in cell.split(mark) if (item := part.strip(_WRAPPED))))


def parting_mark(cells: Sequence[str], separator: str | None = None) -> str | None:
    """What separates items in different cells that share one; None where no two do."""
    marks = (separator,) if separator is not None else (*_MARKS, *([" "] if _hold_codes(cells) else []))
    return next((mark for mark in marks if _share_items(cells, mark)), None)


def check_single_values(records: Records, source: str, separator: str | None = None) -> None:
    """Raises if cells of a sensitive column hold sets that share items."""
    for column in records.of_role("sensitive"):
        mark = parting_mark(column.values, separator)
        if mark is None:
            continue
        several = sum(mark in value for value in column.values)
        raise InputError(
            f"{source}: {several:,} of the {len(column.values):,} values of {column.name!r} hold several items, separated by {mark!r}, and "
            "different ones share items, so that to count different values proves nothing; give each row one value, or ask for "
            f"{option('model', 'lm')} with {option('items', column.name)}; if {mark!r} belongs to single values, pass a "
            f"{option('separator')} that does not occur in them"
        )


def _share_items(cells: Sequence[str], mark: str) -> bool:
    owner: dict[str, str] = {}
    for cell in cells:
        for item in cell_items(cell, mark):
            other = owner.setdefault(item, cell)
            if other != cell and (mark in cell or mark in other):
                return True
    return False


def _hold_codes(cells: Sequence[str]) -> bool:
    """Whether every part of cells with blanks has a digit: words of a name mostly have none."""
    parted = [cell.split() for cell in cells if len(cell.split()) > 1]
    return bool(parted) and all(any(sign.isdigit() for sign in part) for parts in parted for part in parts)
