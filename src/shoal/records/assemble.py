"""Records put together from a table, whatever it came in.

A table is its column names and a stream of record batches; only the columns that are needed are asked for, and it is read once. Each
single-valued column becomes codes over its distinct texts (a text is compared once per batch and never again), each column of sets
becomes Baskets, and all item columns together make one domain of items, as the first footnote of the paper on RT-datasets has it. Sets
stand as lists, or as text with a separator inside the cell, or, in a long table, as one row per id and item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, Message, number_of, option
from shoal.limits import Room
from shoal.numbers import Codes, Ints
from shoal.records.baskets import Baskets
from shoal.records.joining import join_rows, joined_note, numbered_by_first_row
from shoal.records.records import Column, Records
from shoal.records.roles import SENSITIVE_MARKS, Roles, SetRoles, check_named, name_list, numeric_columns
from shoal.records.spelling.local_forms import Form, form_of
from shoal.records.spelling.lookalikes import lookalike_note
from shoal.records.spelling.set_cells import parting_mark
from shoal.records.tokens import (
    MARKS,
    SetGatherer,
    Tokens,
    as_text,
    cell_tokens,
    check_in_memory,
    compact_codes,
    grouped_baskets,
    guessed_separator,
    is_text,
    item_names,
    joined_codes,
    list_tokens,
    memory_of,
)
from shoal.records.values import MISSING, is_number, kind_of, same_numbers

NUMBER = "number"
"""The type of a column of numbers that are texts without quotes, as in JSON: of any size, and spelled in any way."""
MIXED = "mixed"
"""The type of a column that holds texts as well as numbers or truth values."""
_NEARLY = 0.9  # from this share of numbers on, a column that is not numeric deserves a word


@dataclass(frozen=True)
class Table:
    """A table that has not been read yet."""

    columns: Sequence[str]
    batches: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
    """The rows, batch by batch, with the given columns alone."""
    source: str
    types: Mapping[str, str] | None = field(default_factory=dict)
    """What columns hold (`text`, `boolean`, `NUMBER`, `MIXED`) where their arrays do not tell; None for a format without types."""
    rows: int | None = None
    """How many rows there are, where the file says so."""
    room: Room | None = None
    """The memory that what is read may take."""
    delimiter: str = ","
    """What separates its columns, in text."""
    notes: tuple[str, ...] = ()
    """What its owner should know of what was left out of it."""


@dataclass(frozen=True)
class SetRows:
    """Rows that have not been read yet, each of them a set."""

    tokens: Iterator[Tokens]
    source: str
    name: Callable[[], str] = lambda: "items"
    """The field that held the sets, known when all are read."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Other names of items, known when all are read."""
    room: Room | None = None
    delimiter: str = ","


@dataclass(frozen=True)
class Assembled:
    """The records of a table, and how they stood in it."""

    records: Records
    separator: str = " "
    """What separated the items of cells."""
    notes: tuple[str, ...] = ()
    types: tuple[tuple[str, str], ...] = ()
    """What columns of single values hold, where the format tells."""
    person_values: tuple[str, ...] | None = None
    """Who the people of the records are, by their numbers. For the owner alone."""
    forms: tuple[tuple[str, Form], ...] = ()
    """How the numbers and dates of columns were spelled, where that was said."""


def assemble(
    table: Table | SetRows,
    asked: Roles | SetRoles,
    numeric: tuple[str, ...] | None,
    separator: str | None,
    spelling: tuple[tuple[str, str], ...] = (),
) -> Assembled:
    """The records of a table whose columns have the roles that are asked for."""
    source = table.source
    if isinstance(table, SetRows):
        sets_alone = SetGatherer(source, table.room)
        for tokens in table.tokens:
            sets_alone.add(tokens)
        found = sets_alone.baskets(table.renamed)
        records = Records((), found, table.name())
        return Assembled(records, notes=tuple(lookalike_note(table.name(), found.vocabulary)))
    roles = asked.of(table.columns, source)
    if asked.id is not None and separator is not None:  # cells that hold sets, as in a table with other columns
        check_in_memory(source)
        roles = replace(roles, joined_by=(asked.id,))
    elif asked.id is not None:
        owners = None if not roles.person else _Owners(roles.person[0], source, table.room)
        tokens_of_ids = _long_tokens(table, roles.items[0], asked.id, owners)
        grouped = grouped_baskets(tokens_of_ids, source, table.room)
        whose_is, names = (None, None) if owners is None else owners.people()
        records = Records((), grouped, roles.items[0], people=whose_is)
        return Assembled(records, notes=_one_item_note(roles.items[0], grouped.vocabulary), person_values=names)
    single = [name for name in table.columns if name in (*roles.quasi, *roles.sensitive, *roles.keep)]
    numbers = numeric_columns(numeric, table.columns)
    check_named(numbers or (), single, source, "numeric")
    check_named([name for name, _ in spelling], single, source, "spelling")
    ways = dict(spelling)
    values = [_ValueColumn(name, source, table.room, ways.get(name)) for name in single]
    marks = [separator] * len(roles.items) + [separator if separator != " " else None] * len(roles.sensitive_sets)
    sets = [
        _SetColumn(name, table, mark, is_alone=isinstance(asked, SetRoles), is_sensitive=name in roles.sensitive_sets)
        for name, mark in zip((*roles.items, *roles.sensitive_sets), marks, strict=True)
    ]
    rows = 0
    whose = [_OwnerColumn(name, source, table.room, "person") for name in roles.person]
    same = [_OwnerColumn(name, source, table.room, "id") for name in roles.joined_by]
    every: list[_ValueColumn | _SetColumn | _OwnerColumn] = [*values, *sets, *whose, *same]
    for batch in table.batches([each.name for each in every]):
        for each, cells in zip(every, batch.columns, strict=True):
            each.add(cells)
        rows += len(batch)
    if not rows:
        raise InputError(f"{source} has no {asked.noun}; check that it is the right one")
    # Cells of a sensitive column may hold sets as well.
    if separator is not None and not roles.sensitive and all(column.holds_lists for column in sets):
        what = f"column {sets[0].name!r} holds lists" if sets else "it has no set column"
        raise InputError(f"{source}: {what}; leave out {option('separator')}")

    types = _types(values, table)
    for name in (*roles.sensitive, *roles.keep):
        if types.get(name) == MIXED:
            raise InputError(
                f"{source}: column {name!r} holds numbers or truth values beside texts, and would not be published as it is; "
                "write all of them as texts"
            )
    role_of = {name: role for role in ("quasi", "sensitive", "keep") for name in getattr(roles, role)}
    columns = []
    for column in values:
        wanted = None if numbers is None else column.name in numbers
        columns.append(column.column(role_of[column.name], wanted))
    notes = table.notes + tuple(
        note
        for column in columns
        for note in lookalike_note(column.name, column.values)
        + number_notes(column, np.bincount(column.codes, minlength=len(column.values)), numbers is not None)
    )
    people, person_values = whose[0].owners() if whose else (None, None)
    forms = tuple((column.name, column.form) for column in values if column.form is not None)
    if not sets:
        records = Records(tuple(columns), people=people)
    else:
        records = replace(_with_sets(tuple(columns), sets, roles, table), people=people)
        notes += tuple(lookalike_note(records.items_name, records.items.vocabulary if records.items else ()))
        separator = sets[0].separator
    notes += _empty_rows_note(records)
    if same:
        record, first = numbered_by_first_row(same[0].owners()[0])
        records = join_rows(records, record, first, source)
        notes += joined_note(rows, len(records))
    return Assembled(records, separator or " ", notes, tuple(types.items()), person_values, forms)


def _with_sets(columns: tuple[Column, ...], sets: Sequence[_SetColumn], roles: Roles, table: Table) -> Records:
    """The records of these columns, all sets in one domain."""
    baskets = [column.baskets() for column in sets]
    own = len(roles.items)
    items, name = _one_domain(baskets[:own], roles.items, table.source)
    marked: frozenset[str] = frozenset()
    if roles.sensitive_sets:
        items, marked = _with_sensitive(items, baskets[own], name, roles.sensitive_sets[0], table.source)
    apart = next(iter(roles.sensitive_sets), None)
    return Records(columns, items, _unused(name, table.columns, roles.items), marked, apart)


class _ValueColumn:
    """The cells of a single-valued column, batch by batch."""

    def __init__(self, name: str, source: str, room: Room | None, way: str | None = None) -> None:
        self.name = name
        self.form: Form | None = None
        self._way = way
        self._source, self._room = source, room
        self._codes: list[npt.NDArray[np.unsignedinteger]] = []
        self._dictionaries: list[pa.Array] = []
        self._types: list[str] = []

    def add(self, cells: pa.Array) -> None:
        """Takes the next cells."""
        if is_list(cells.type):
            raise InputError(
                f"{self._source}: column {self.name!r} holds lists, not single values; "
                f"name it with {option('items')}, or as sensitive beside a column of items"
            )
        try:
            encoded = _encoded(cells)
        except pa.ArrowException:
            raise InputError(
                f"{self._source}: column {self.name!r} is of type {cells.type}, which has no text form; give text or numbers"
            ) from None
        self._codes.append(compact_codes(encoded))
        self._dictionaries.append(encoded.dictionary)
        self._types.append("text" if is_text(cells.type) else "boolean" if pa.types.is_boolean(cells.type) else "")
        if self._room is not None:
            self._room.take(memory_of(encoded))

    @property
    def type(self) -> str:
        """`text`, `boolean`, or nothing for what is told by how it is spelled; raises if a value stands both as text and not."""
        held = [type for type, names in zip(self._types, self._dictionaries, strict=True) if _texts_in(names)]
        if len(set(held)) <= 1:
            return held[0] if held else ""
        texts, others = (
            {
                text
                for type, names in zip(self._types, self._dictionaries, strict=True)
                if (type == "text") == is_one
                for text in _texts_in(names)
            }
            for is_one in (True, False)
        )
        if both := texts & others:
            raise InputError(
                f"{self._source}: column {self.name!r} holds {len(both):,} of its values both as text and not; give it one type"
            )
        return MIXED if texts else ""

    def column(self, role: str, numeric: bool | None) -> Column:
        names, codes = joined_codes(self._codes, self._dictionaries, self._source)
        try:
            if self._way is not None:
                self.form = form_of(self._way, [name for name in names if name != MISSING], self.name)
                names = list(map(self.form.plain, names))
            return Column.from_codes(self.name, role, np.concatenate(codes), names, numeric=numeric)
        except InputError as error:
            raise error.within(f"{self._source}: ") from None


class _OwnerColumn:
    """Whose the rows are (`person`), or which record they belong to (`id`), batch by batch."""

    def __init__(self, name: str, source: str, room: Room | None, role: str) -> None:
        self.name = name
        self._role = role
        self._source, self._room, self._rows = source, room, 0
        self._codes: list[npt.NDArray[np.unsignedinteger]] = []
        self._dictionaries: list[pa.Array] = []

    def add(self, cells: pa.Array) -> None:
        """Takes the next cells; raises where one does not say whose its row is."""
        try:
            encoded = _encoded(cells)
        except pa.ArrowException:
            raise InputError(
                f"{self._source}: column {self.name!r} is of type {cells.type}, which names nothing ({option(self._role)}); "
                "give text or numbers"
            ) from None
        names = pc.ascii_trim_whitespace(encoded.dictionary)
        nobody = np.asarray(pc.equal(names, MISSING).to_numpy(zero_copy_only=False), np.bool_)
        blank = np.flatnonzero(nobody[encoded.indices.to_numpy()])
        if len(blank):
            what = "whose it is" if self._role == "person" else "which record it belongs to"
            raise InputError(
                f"{self._source}: row {self._rows + int(blank[0]) + 1:,} does not say in {self.name!r} {what} "
                f"({option(self._role)}); fill it in, or remove the row"
            )
        if self._room is not None:
            self._room.take(memory_of(encoded))
        self._rows += len(cells)
        self._codes.append(compact_codes(encoded))
        self._dictionaries.append(names)

    def owners(self) -> tuple[Codes, tuple[str, ...]]:
        """Per row, the number of its person or record, and these by their numbers. The column takes no more."""
        names, codes = joined_codes(self._codes, self._dictionaries, self._source)
        return np.concatenate(codes).astype(np.int32), tuple(names)


class _Owners:
    """Whose the transactions of a long table are: the same person in all rows of an id."""

    def __init__(self, name: str, source: str, room: Room | None) -> None:
        self.name = name
        self._source = source
        self._ids, self._persons = (_OwnerColumn(name, source, room, role) for role in ("id", "person"))

    def add(self, ids: pa.Array, cells: pa.Array) -> None:
        """Takes the ids and the people of the next rows."""
        self._ids.add(ids)
        self._persons.add(cells)

    def people(self) -> tuple[Codes, tuple[str, ...]]:
        """Per id, in the order of their first rows, the number of its person, and the people by their numbers."""
        (id_of_row, _), (of_row, names) = self._ids.owners(), self._persons.owners()
        _, first = np.unique(id_of_row, return_index=True)
        owner = of_row[first]
        if len(other := np.flatnonzero(owner[id_of_row] != of_row)):
            raise InputError(
                f"{self._source}: row {int(other[0]) + 1:,} has another {self.name!r} than the rows before it with its id; give all "
                f"rows of an id one person ({option('person')})"
            )
        return owner, names


class _SetColumn:
    """The sets of one column, batch by batch.

    What separates the items of cells is, unless given, what the first cells show; later ones must not contradict.
    """

    def __init__(self, name: str, table: Table, separator: str | None, *, is_alone: bool, is_sensitive: bool) -> None:
        self.name = name
        self.separator = separator
        self.holds_lists = False
        self._source = table.source
        self._marks = SENSITIVE_MARKS if is_sensitive else MARKS
        self._remedy = "give lists or text" + (f", or pass {option('id')} if every row is one item" if is_alone else "")
        self._is_given = separator is not None
        self._rows = 0
        self._gathered = SetGatherer(table.source, table.room)
        self.baskets = self._gathered.baskets

    def add(self, values: pa.Array) -> None:
        """Takes the sets of the next rows."""
        if is_list(values.type):
            self.holds_lists = True
            tokens = list_tokens(values, self._source, self._rows)
        elif is_text(values.type) or pa.types.is_null(values.type):
            cells = as_text(values)
            if not self._is_given:
                self._look(cells)
            tokens = cell_tokens(cells, self.separator or (" " if " " in self._marks else None))
        else:
            raise InputError(
                f"{self._source}: column {self.name!r} is of type {values.type}, which holds no sets; {self._remedy}"
            )
        self._rows += len(values)
        self._gathered.add(tokens)

    def _look(self, cells: pa.Array) -> None:
        mark = guessed_separator(cells, self._marks)
        if mark and self.separator is None:
            self.separator = mark
        elif mark and self._marks.index(mark) < self._marks.index(self.separator or mark):
            row = self._rows + pc.match_substring(cells, mark).index(True).as_py() + 1
            raise InputError(
                f"{self._source}: row {row:,} holds {mark!r}, but items were separated by {self.separator!r} before; "
                f"say with {option('separator')} what separates them"
            )


def _one_item_note(column: str, names: Sequence[str]) -> tuple[str, ...]:
    """What to say where the cells of a long table look as if they held several items each."""
    mark = parting_mark(names)
    if mark is None:
        return ()
    return (
        Message(
            f"each cell of {column!r} is one item, as long tables ({option('id')}) have them, though some look like several with {mark!r} "
            f"in between; if they are, say so with {option('separator')}"
        ),
    )


def _long_tokens(
    table: Table, column: str, id: str, owners: _Owners | None
) -> Iterator[tuple[pa.DictionaryArray, Tokens]]:
    """Ids and items batch by batch; a row without an item has length 0."""
    rows = 0
    for batch in table.batches([id, column] + ([] if owners is None else [owners.name])):
        ids, items, *people = batch.columns
        if is_list(items.type):
            raise InputError(
                f"{table.source}: column {column!r} holds lists, not single items; leave out {option('id')} and drop {id!r}"
            )
        try:
            ids = pc.ascii_trim_whitespace(as_text(ids))
        except pa.ArrowException:
            raise InputError(
                f"{table.source}: column {id!r} is of type {ids.type}, which holds no ids; give text or whole numbers"
            ) from None
        missing = pc.fill_null(pc.equal(ids, ""), True).index(True).as_py()
        if missing >= 0:
            raise InputError(f"{table.source}: row {rows + missing + 1:,} has no {id!r}; give it one or remove it")
        if owners is not None:
            owners.add(ids, *people)
        if is_text(items.type):
            items = pc.ascii_trim_whitespace(as_text(items))
            held = pc.fill_null(pc.not_equal(items, ""), False)
        else:
            held = items.is_valid()
        lengths = held.to_numpy(zero_copy_only=False).astype(np.int64)
        yield ids.dictionary_encode(), Tokens(lengths, item_names(items.filter(held), table.source))
        rows += len(ids)


def _texts_in(names: pa.Array) -> list[str]:
    return [text for text in names.to_pylist() if text != MISSING]


def _types(columns: Sequence[_ValueColumn], table: Table) -> dict[str, str]:
    """What columns hold, where the format tells."""
    if table.types is None:
        return {}
    return {column.name: type for column in columns if (type := table.types.get(column.name) or column.type)}


def _encoded(cells: pa.Array) -> pa.DictionaryArray:
    """Cells of any type as text, each distinct text once. Null and NaN are missing."""
    if pa.types.is_floating(cells.type):
        cells = pc.if_else(pc.is_nan(cells), pa.scalar(None, cells.type), cells)
    if pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type):  # spell out only the distinct ones
        numbers = cells.dictionary_encode(null_encoding="encode")
        texts = pc.fill_null(as_text(numbers.dictionary), MISSING)
        again = texts.dictionary_encode()  # 0 and -0 have two places, and may have one text
        return pa.DictionaryArray.from_arrays(again.indices.take(numbers.indices), again.dictionary)
    return pc.fill_null(as_text(cells), MISSING).dictionary_encode()


def _empty_rows_note(records: Records) -> tuple[str, ...]:
    """A word about rows without anything in them, which lines of separators alone become, and which would help to fill a crowd."""
    if len(records.names) < 2:
        return ()
    there = np.zeros(len(records), np.bool_) if records.items is None else records.items.lengths > 0
    for column in records.columns:
        there |= column.filled
    empty = len(records) - int(np.count_nonzero(there))
    if not empty:
        return ()
    said = number_of(empty, "row holds nothing, and counts as a record", "rows hold nothing, and count as records")
    they, them = ("it is", "it") if empty == 1 else ("they are", "them")
    return (f"{said} like any other; unless {they} about people, take {them} out",)


def number_notes(column: Column, counts: Ints, said: bool) -> list[str]:
    """A word about a column that would be numeric but for its spelling or a few values, and about one number in several spellings.

    `counts` has the rows of each value; `said`: the caller says which columns are numeric.
    """
    if column.numbers is not None:
        repeated = len(column.values) - len(np.unique(column.numbers))
        return [_one_number(column.name, repeated)] if repeated and column.role == "quasi" else []
    if column.role == "sensitive" and (repeated := same_numbers(column.values)):
        return [
            f"column {column.name!r}: {repeated:,} of its values are numbers that others spell differently, as 5.0 and 5.00; they count as "
            "different sensitive values: spell them alike unless they are codes"
        ]
    read = np.array([is_number(value) for value in column.values], bool)
    missing = np.array([value == MISSING for value in column.values], bool)
    if said or not read.any() or counts[read].sum() < _NEARLY * counts[~missing].sum():
        return []
    reason = kind_of(column.values).reason
    said_so = f"column {column.name!r} is taken for categories: {reason}; if it holds numbers, name it with {option('numeric')}"
    return [Message(said_so)]


def _one_number(name: str, repeated: int) -> str:
    return (
        f"column {name!r} is said to hold numbers, and {repeated:,} of its values are numbers that others spell differently, as 5.0 and "
        "5.00; the shortest spelling is published for all"
    )


def _one_domain(parts: Sequence[Baskets], columns: Sequence[str], source: str) -> tuple[Baskets, str]:
    """All item columns as one, and its name. The items of several are told apart by the name of their column before them."""
    if len(parts) == 1:
        return parts[0], columns[0]
    names = [[f"{column}.{item}" for item in part.vocabulary] for part, column in zip(parts, columns, strict=True)]
    _refuse_common(
        names,
        f"{source}: a name stands for items of two columns, with the column before it; rename one of {name_list(columns)}",
    )
    return _side_by_side(parts, names), "+".join(columns)


def _with_sensitive(
    items: Baskets, sensitive: Baskets, name: str, sensitive_name: str, source: str
) -> tuple[Baskets, frozenset[str]]:
    """The items and the sensitive items of each row together, and which of them are sensitive."""
    names = [items.vocabulary, sensitive.vocabulary]
    _refuse_common(
        names,
        f"{source}: an item stands both in {name!r} and in the sensitive {sensitive_name!r}; rename it in one of them",
    )
    return _side_by_side([items, sensitive], names), frozenset(sensitive.vocabulary)


def _refuse_common(names: Sequence[Sequence[str]], message: str) -> None:
    """Raises if two parts have a name in common, which is not told: it may be a sensitive one."""
    if len(set[str]().union(*names)) < sum(map(len, names)):
        raise InputError(message)


def _side_by_side(parts: Sequence[Baskets], names: Sequence[Sequence[str]]) -> Baskets:
    """The sets of each row joined, over the names of all parts."""
    lengths = np.sum([part.lengths for part in parts], axis=0)
    start = np.cumsum(lengths) - lengths
    codes = np.empty(int(lengths.sum()), np.int32)
    before = 0
    for part, own in zip(parts, names, strict=True):
        at = np.repeat(start - part.offsets[:-1], part.lengths) + np.arange(part.occurrences)
        codes[at] = part.items + before
        start += part.lengths
        before += len(own)
    joined = Baskets.from_codes(lengths, codes, [name for own in names for name in own])
    return replace(joined, duplicates=sum(part.duplicates for part in parts))


def _unused(name: str, columns: Sequence[str], items: Sequence[str]) -> str:
    """The name of the one set column, made different from all other columns."""
    while name in columns and name not in items:
        name += "+"
    return name


def is_list(kind: Any) -> bool:
    """Whether a column of this type holds lists."""
    types = pa.types
    return bool(
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
        or types.is_list_view(kind)
        or types.is_large_list_view(kind)
    )
