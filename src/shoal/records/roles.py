"""The role of every column of a table about people, and which column holds the sets.

`quasi` columns are what an attacker may know, `items` the sets, `sensitive` what an attacker wants to learn; `keep` is published as it
is, and `drop` is for identifiers, which are not even read. A column without a role stops the run: what nobody decided about is not
published.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from shoal.errors import InputError, near_miss, option
from shoal.records.layout import FORMATS, FORMATS_WITH_COLUMNS, TWO_TABLES
from shoal.records.values import is_number

SENSITIVE_MARKS = ("|", ";", ",")
"""What may separate the sensitive items of a cell: blanks belong to their names."""
NO_COLUMN = "none"
"""What stands for no column at all where columns are named."""
OR_QUASI = f", or name what an attacker may know with {option('quasi')}"
"""The other remedy, for commands that look at tables as well: what is dropped is no risk to them."""

_FLAGS = f"{option('quasi')}, {option('items')}, {option('sensitive')}, {option('keep')} or {option('drop')}"
_NEAR, _LOOKED = 0.75, 200
_SHOWN, _LONGEST = 12, 60
"""How many names a message repeats, and how much of each: a file may have a million columns."""
_HEADINGS = frozenset(
    ("id", "item", "items", "name", "age", "sex", "gender", "zip", "diagnosis", "diagnoses", "patient", "customer")
)
"""What columns are called, and people and things are not."""


class FirstLine(list[str]):
    """Names of columns that stand in the first line of a text. Where somebody forgot the header, they are a person's values."""


class NoRoleError(InputError):
    """There are columns without a role."""


@dataclass(frozen=True)
class Roles:
    """Names of columns by role. As a caller gives them, a text may hold several names with commas between them."""

    quasi: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    """The columns with the sets. Several make one domain, each item called `column.item`."""
    sensitive: tuple[str, ...] = ()
    """Columns with one sensitive value per row."""
    sensitive_sets: tuple[str, ...] = ()
    """At most one: the column with a set of sensitive items per row, which joins the items."""
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    person: tuple[str, ...] = ()
    """At most one: the column that says whose a row is. It is never published."""
    joined_by: tuple[str, ...] = ()
    """At most one: the column that says which rows are one record. They are joined, and it is not published."""
    formats: ClassVar = (*FORMATS_WITH_COLUMNS, TWO_TABLES)
    """What such data can stand in."""
    noun: ClassVar = "rows"
    """What there must be some of."""
    id: ClassVar[None] = None
    """A table with roles is not a long table of items."""

    def of(self, columns: Sequence[str], source: str) -> Roles:
        """The same with single names: every column of the table in one role, or an error that says what to do."""
        check_repeats(columns, source)
        if "" in columns:
            raise InputError(f"{source}: column {columns.index('') + 1} has no name; give it one")
        known = frozenset(columns)
        named = {role.name: dict.fromkeys(named_columns(getattr(self, role.name), known)) for role in fields(self)}
        every = [name for names in named.values() for name in names]
        roles: dict[str, str] = {}
        for role, names in named.items():
            for name in names:
                if name not in known:
                    raise no_column(name, flag_of(role), columns, every, source)
                if name in roles:
                    raise InputError(
                        f"{source}: column {name!r} has two roles; name it in only one of {option(flag_of(roles[name]))} and "
                        f"{option(flag_of(role))}"
                    )
                roles[name] = role
        without = [column for column in columns if column not in roles]
        if without and not is_header(columns, every):
            raise InputError(
                f"{source}: {len(without):,} of the {len(columns):,} columns of line 1 have no role; is that line a header? if so, name "
                f"them with {_FLAGS}"
            )
        if without:
            have = f"column {name_list(without)} has" if len(without) == 1 else f"columns {name_list(without)} have"
            raise InputError(f"{source}: {have} no role; name {'it' if len(without) == 1 else 'them'} with {_FLAGS}")
        if len(named["drop"]) == len(columns):
            raise InputError(f"{source}: all of its columns are dropped; give one a role with {_FLAGS}")
        if len(named["sensitive_sets"]) > 1 or (named["sensitive_sets"] and not named["items"]):
            raise InputError(
                f"{source}: sensitive sets ({name_list(list(named['sensitive_sets']))}) stand in one column beside the items; "
                f"name one, and name the items with {option('items')}"
            )
        for role, what in (("person", "whose a row is"), ("joined_by", "which rows are one record")):
            if len(named[role]) > 1:
                raise InputError(
                    f"{source}: columns {name_list(list(named[role]))} are to say {what} ({option(flag_of(role))}); name one"
                )
        # In the order of the table, whatever the order in which they were named.
        return Roles(**{role: tuple(column for column in columns if column in names) for role, names in named.items()})

    def sensitive_apart(self, columns: Sequence[str]) -> tuple[Roles, tuple[str, ...]]:
        """The same without the sensitive texts that name no column, and those texts: where there are sets, they name items."""
        marked = tuple(text for text in self.sensitive if self.items and not {text, *comma_parts(text)} & set(columns))
        return replace(self, sensitive=tuple(text for text in self.sensitive if text not in marked)), marked

    @property
    def names_to_read(self) -> tuple[str, ...]:
        """Every name that a caller gave in a role that is read, also as part of a text with commas."""
        given = [text for role in fields(self) if role.name != "drop" for text in getattr(self, role.name)]
        return tuple(dict.fromkeys(name for text in given for name in (text, *comma_parts(text))))


@dataclass(frozen=True)
class SetRoles:
    """What the caller says about the columns of data that are read as sets alone; the rest is found out where there is no doubt."""

    items: str | None = None
    """The column with the sets, or with the items of a long table."""
    id: str | None = None
    """The column that says which rows of a long table belong together."""
    drop: tuple[str, ...] = ()
    """Columns to leave out, one or several (with commas between them) to a text."""
    person: str | None = None
    """The column that says whose a row is."""
    formats: ClassVar = FORMATS
    noun: ClassVar = "transactions"

    def of(self, columns: Sequence[str], source: str) -> Roles:
        """The roles of all columns: one has the sets, and the others are dropped, or an error that says what to do."""
        return Roles(items=(self.set_column(columns, source),), person=texts_of(self.person))

    def dropped_columns(self, columns: Collection[str]) -> list[str]:
        """The names to leave out."""
        return named_columns(self.drop, columns)

    def set_column(self, columns: Sequence[str], source: str) -> str:
        """The chosen column, or the only one that is left, or the one called `items`. Raises if any other has no role."""
        check_repeats(columns, source)
        drop = self.dropped_columns(columns)
        apart = [*drop, self.id, self.person]
        given = [
            (self.items, "items"),
            (self.id, "id"),
            (self.person, "person"),
            *((column, "drop") for column in drop),
        ]
        named = [asked for asked, _ in given if asked is not None]
        for asked, role in given:
            if asked is not None and asked not in columns:
                raise no_column(asked, role, columns, named, source)
        if self.person is not None and self.person in (self.items, self.id, *drop):
            raise InputError(
                f"{source}: column {self.person!r} has two roles; {option('person')} names a column of its own, which is not published"
            )
        left = [column for column in columns if column not in apart]
        items = self.items
        if items is None:
            defaults = ("items",) if self.id is None else ("items", "item")
            items = left[0] if len(left) == 1 else next((column for column in defaults if column in left), None)
        if items is None and not left:
            raise InputError(f"{source}: no column is left for the items; {its_columns(columns, named)}")
        if items is None:
            which = f" with one of {name_list(left)}" if is_header(columns, named) else ", if line 1 is a header"
            raise InputError(
                f"{source}: which of its {len(columns):,} columns holds the items? pass {option('items')}{which}"
            )
        if items not in left:
            raise InputError(
                f"{source}: column {items!r} has two roles; name it once among {option('items')}, {option('id')} and {option('drop')}"
            )
        check_roles([column for column in left if column != items], source, columns, named)
        return items


def texts_of(names: str | Iterable[Any] | None) -> tuple[str, ...]:
    """One text or several as several. Frames may have numbers for names of columns."""
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(map(str, names))


def flag_of(role: str) -> str:
    """The option that names columns of a role: sensitive columns have one, whatever they hold."""
    return {"sensitive_sets": "sensitive", "joined_by": "id"}.get(role, role)


def check_roles(without: Sequence[str], source: str, columns: Sequence[str] = (), named: Collection[str] = ()) -> None:
    """Raises if there are columns without a role."""
    if without and is_header(columns, named):
        have = "columns {} have" if len(without) > 1 else "column {} has"
        flags = " ".join(option("drop", column) for column in without[:_SHOWN])
        others = " and so on" if len(without) > _SHOWN else ""
        raise NoRoleError(f"{source}: {have.format(name_list(without))} no role; pass {flags}{others}")
    if without:
        raise NoRoleError(
            f"{source}: {len(without):,} of the {len(columns):,} columns of line 1 have no role; is that line a header? if so, name them "
            f"with {option('drop')}"
        )


def named_columns(texts: Collection[str], columns: Collection[str]) -> list[str]:
    """The columns that texts name, one or several to a text. A text that is a column's name stands for it, commas and all."""
    known = frozenset(columns)
    return [name for text in texts for name in ([text] if text in known else comma_parts(text))]


def numeric_columns(texts: Collection[str] | None, columns: Collection[str]) -> list[str] | None:
    """The columns that are said to hold numbers; none at all where that is said, and None where nothing is."""
    if texts is None:
        return None
    if NO_COLUMN not in columns and [text.strip() for text in texts] == [NO_COLUMN]:
        return []
    return list(dict.fromkeys(named_columns(texts, columns)))


def check_named(names: Iterable[str], single: Sequence[str], source: str, by: str) -> None:
    """Raises if a column that an option names is not one of single values."""
    for name in names:
        if name not in single:
            raise InputError(
                f"{source}: {name!r} for {option(by)} is not one of its columns of single values ({name_list(single)})"
            )


def check_repeats(columns: Sequence[str], source: str) -> None:
    """Raises if two columns have the same name."""
    places: dict[str, list[int]] = {}
    for place, column in enumerate(columns, 1):
        places.setdefault(column, []).append(place)
    if twice := next((at for at in places.values() if len(at) > 1), None):
        raise InputError(f"{source}: columns {twice[0]} and {twice[1]} have the same name; rename one")


def no_column(asked: str, role: str, columns: Sequence[str], named: Collection[str], source: str) -> InputError:
    """The error for a column that is not there."""
    return InputError(
        f"{source}: there is no column {asked!r} for {option(role)}; {its_columns(columns, named, asked)}"
    )


def its_columns(columns: Sequence[str], named: Collection[str], asked: str = "") -> str:
    """Which columns there are, for the end of a sentence, the one that may be `asked` for first; how many, where their names may be
    somebody's values."""
    near = near_miss(asked, columns)
    if is_header(columns, named):
        return f"{near}its columns are {name_list(columns)}"
    return f"line 1 has {len(columns):,} cells and does not look like its header: put a header line above the rows, or correct the name"


def is_header(columns: Sequence[str], named: Collection[str]) -> bool:
    """Whether names of columns are surely no values of a person: of a text file, if they hold, nearly at least, a name that was given."""
    if not isinstance(columns, FirstLine):
        return True
    if any(is_number(column) for column in columns):  # as in a row without a header
        return False
    held, asked = [column.casefold() for column in columns], [name.casefold() for name in named]
    if not _HEADINGS.union(asked).isdisjoint(held):
        return True
    return any(difflib.get_close_matches(name, held[:_LOOKED], 1, _NEAR) for name in asked[:_SHOWN])


def name_list(columns: Sequence[str]) -> str:
    """Names for a message: the first few of them, none in full that is as long as a text."""
    if not columns:
        return "none"
    shown = [repr(name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…") for name in columns[:_SHOWN]]
    more = len(columns) - _SHOWN
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def comma_parts(text: str) -> list[str]:
    """What stands between the commas of a text, or the text itself if that is nothing."""
    return [name for name in map(str.strip, text.split(",")) if name] or [text]
