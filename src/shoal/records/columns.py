"""Which column of a table holds the sets.

A column without a role stops the run: what nobody decided about is not published.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from shoal.errors import InputError

_SHOWN, _LONGEST = 12, 60
"""How many names a message repeats, and how much of each: a file may have a million columns."""


@dataclass(frozen=True)
class Choice:
    """What the caller says about the columns of a table; what is left open is found out where the data leave no doubt."""

    items: str | None = None
    """The column with the sets, or with the items of a long table."""
    id: str | None = None
    """The column that says which rows of a long table belong together."""
    separator: str | None = None
    """What parts the items inside a cell."""
    drop: tuple[str, ...] = ()
    """Columns to leave out, one or several (with commas between them) to a text."""

    def dropped(self, columns: Collection[str]) -> list[str]:
        """The names to leave out."""
        return named_columns(self.drop, columns)


def set_column(columns: Sequence[str], choice: Choice, source: str) -> str:
    """The chosen column, or the only one that is left, or the one called `items`. Raises if any other has no role."""
    check_repeats(columns, source)
    drop = choice.dropped(columns)
    for asked, flag in ((choice.items, "--items"), (choice.id, "--id"), *((column, "--drop") for column in drop)):
        if asked is not None and asked not in columns:
            raise InputError(f"{source}: there is no column {asked!r} for {flag}; its columns are {listed(columns)}")
    left = [column for column in columns if column not in drop and column != choice.id]
    items = choice.items
    if items is None:
        defaults = ("items",) if choice.id is None else ("items", "item")
        items = left[0] if len(left) == 1 else next((column for column in defaults if column in left), None)
    if items is None and not left:
        raise InputError(f"{source}: no column is left for the items; its columns are {listed(columns)}")
    if items is None:
        raise InputError(f"{source}: which of its columns holds the items? pass --items with one of {listed(left)}")
    if items not in left:
        raise InputError(f"{source}: column {items!r} has two roles; name it once among --items, --id and --drop")
    check_roles([column for column in left if column != items], source)
    return items


class NoRoleError(InputError):
    """There are columns without a role."""


OR_QUASI = ", or name what an attacker may know with --quasi"
"""The other remedy, for commands that look at tables as well: what is dropped is no risk to them."""


def check_roles(without: Sequence[str], source: str) -> None:
    """Raises if there are columns without a role."""
    if without:
        have = "columns {} have" if len(without) > 1 else "column {} has"
        flags = " ".join(f"--drop {shlex.quote(column)}" for column in without[:_SHOWN])
        others = " and so on" if len(without) > _SHOWN else ""
        raise NoRoleError(f"{source}: {have.format(listed(without))} no role; pass {flags}{others}")


def named_columns(texts: Collection[str], columns: Collection[str]) -> list[str]:
    """The columns that texts name, one or several to a text. A text that is a column's name stands for it, commas and all."""
    known = frozenset(columns)
    return [name for text in texts for name in ([text] if text in known else comma_parts(text))]


NO_COLUMN = "none"
"""What stands for no column at all where columns are named."""


def numeric_columns(texts: Collection[str] | None, columns: Collection[str]) -> list[str] | None:
    """The columns that are said to hold numbers; none at all where that is said, and None where nothing is."""
    if texts is None:
        return None
    if NO_COLUMN not in columns and [text.strip() for text in texts] == [NO_COLUMN]:
        return []
    return list(dict.fromkeys(named_columns(texts, columns)))


def check_numeric(names: Collection[str] | None, single: Sequence[str], source: str) -> None:
    """Raises if a column that is said to hold numbers is not one of single values."""
    for name in names or ():
        if name not in single:
            raise InputError(
                f"{source}: {name!r} for --numeric is not one of its columns of single values ({listed(single)})"
            )


def check_repeats(columns: Sequence[str], source: str) -> None:
    """Raises if two columns have the same name."""
    repeated = [column for column, times in Counter(columns).items() if times > 1]
    if repeated:
        raise InputError(f"{source}: it has two columns called {repeated[0]!r}; rename one")


def listed(columns: Sequence[str]) -> str:
    """Names for a message: the first few of them, none in full that is as long as a text."""
    if not columns:
        return "none"
    shown = [repr(name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…") for name in columns[:_SHOWN]]
    more = len(columns) - _SHOWN
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def comma_parts(text: str) -> list[str]:
    """What stands between the commas of a text, or the text itself if that is nothing."""
    return [name for name in map(str.strip, text.split(",")) if name] or [text]
