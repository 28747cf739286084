"""The role of every column of a table about people.

`quasi` columns are what an attacker may know, `items` the sets, `sensitive` what an attacker wants to learn; `keep` is published as it
is, and `drop` is for identifiers, which are not even read. A column without a role stops the run: what nobody decided about is not
published.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

from shoal.errors import InputError, option
from shoal.records.columns import check_repeats, comma_parts, is_header, listed, named_columns, no_column

SENSITIVE_MARKS = ("|", ";", ",")
"""What may part the sensitive items of a cell: blanks belong to their names."""

_FLAGS = f"{option('quasi')}, {option('items')}, {option('sensitive')}, {option('keep')} or {option('drop')}"


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
            have = f"column {listed(without)} has" if len(without) == 1 else f"columns {listed(without)} have"
            raise InputError(f"{source}: {have} no role; name {'it' if len(without) == 1 else 'them'} with {_FLAGS}")
        if len(named["drop"]) == len(columns):
            raise InputError(f"{source}: all of its columns are dropped; give one a role with {_FLAGS}")
        if len(named["sensitive_sets"]) > 1 or (named["sensitive_sets"] and not named["items"]):
            raise InputError(
                f"{source}: sensitive sets ({listed(list(named['sensitive_sets']))}) stand in one column beside the items; "
                f"name one, and name the items with {option('items')}"
            )
        # In the order of the table, whatever the order in which they were named.
        return Roles(**{role: tuple(column for column in columns if column in names) for role, names in named.items()})

    def sensitive_apart(self, columns: Sequence[str]) -> tuple[Roles, tuple[str, ...]]:
        """The same without the sensitive texts that name no column, and those texts: where there are sets, they name items."""
        marked = tuple(text for text in self.sensitive if self.items and not {text, *comma_parts(text)} & set(columns))
        return replace(self, sensitive=tuple(text for text in self.sensitive if text not in marked)), marked

    @property
    def read(self) -> tuple[str, ...]:
        """Every name that a caller gave in a role that is read, also as part of a text with commas."""
        given = [text for role in fields(self) if role.name != "drop" for text in getattr(self, role.name)]
        return tuple(dict.fromkeys(name for text in given for name in (text, *comma_parts(text))))


def texts_of(names: str | Iterable[str] | None) -> tuple[str, ...]:
    """One text or several as several."""
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)


def flag_of(role: str) -> str:
    """The option that names columns of a role: sensitive columns have one, whatever they hold."""
    return "sensitive" if role == "sensitive_sets" else role
