"""The records in a table, whatever the table came in.

It is read once, batch by batch. Each single-valued column becomes codes over its distinct texts (a text is compared once per
batch and never again), each set column becomes Baskets, and all item columns together make one domain of items, as the first
footnote of the paper on RT-datasets has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, Message, option
from shoal.records.baskets import Baskets
from shoal.records.columns import check_numeric, listed, numeric_columns
from shoal.records.records import Column, Records
from shoal.records.roles import SENSITIVE_MARKS, Roles
from shoal.records.tables import MIXED, SetColumn, Table, is_list
from shoal.records.tokens import Tokens, as_text, baskets_of, compact_codes, is_text, joined_codes, memory_of
from shoal.records.values import MISSING, is_number, kind_of, same_numbers

_NEARLY = 0.9  # from this share of numbers on, a column that is not numeric deserves a word


@dataclass(frozen=True)
class TableRecords:
    """The records of a table, and how they stood in it."""

    records: Records
    separator: str
    """What parted the items of cells."""
    notes: tuple[str, ...]
    types: tuple[tuple[str, str], ...]
    """What columns of single values hold, where the format tells."""


def table_records(table: Table, asked: Roles, numeric: tuple[str, ...] | None, separator: str | None) -> TableRecords:
    """The records of a table whose columns have the roles that are asked for."""
    source = table.source
    roles = asked.of(table.columns, source)
    single = [name for name in table.columns if name in (*roles.quasi, *roles.sensitive, *roles.keep)]
    numbers = numeric_columns(numeric, table.columns)
    check_numeric(numbers, single, source)
    values = [_Values(name, source) for name in single]
    remedy = "give lists or text"
    sets = [SetColumn(name, source, separator, remedy=remedy) for name in roles.items]
    apart = separator if separator != " " else None
    sets += [SetColumn(name, source, apart, marks=SENSITIVE_MARKS, remedy=remedy) for name in roles.sensitive_sets]
    stretches: list[list[Tokens]] = [[] for _ in sets]
    rows = 0
    for batch in table.batches([*single, *roles.items, *roles.sensitive_sets]):
        for place, column in enumerate(values):
            size = column.add(batch.column(place))
            if table.room is not None:
                table.room.take(size)
        for place, sets_column in enumerate(sets):
            tokens = sets_column.tokens(batch.column(len(values) + place))
            if table.room is not None:
                table.room.take(tokens.size)
            stretches[place].append(tokens)
        rows += len(batch)
    if not rows:
        raise InputError(f"{source} has no rows; check that it is the right file")
    # Cells of a sensitive column may hold sets as well.
    if separator is not None and not roles.sensitive and all(column.holds_lists for column in sets):
        what = "its sets stand in lists" if sets else "it has no set column"
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
    counts = [np.bincount(column.codes, minlength=len(column.values)) for column in columns]
    notes = tuple(
        note
        for column, rows_of in zip(columns, counts, strict=True)
        for note in number_notes(column, rows_of, numbers is not None)
    )
    if not sets:
        return TableRecords(Records(tuple(columns)), separator or " ", notes, tuple(types.items()))
    baskets = [baskets_of(stretch, source) for stretch in stretches]
    own = len(roles.items)
    folded, name = _one_domain(baskets[:own], roles.items, source)
    marked: frozenset[str] = frozenset()
    if roles.sensitive_sets:
        folded, marked = _with_sensitive(folded, baskets[own], name, roles.sensitive_sets[0], source)
    records = Records(
        tuple(columns),
        folded,
        _unused(name, table.columns, roles.items),
        marked,
        next(iter(roles.sensitive_sets), None),
    )
    return TableRecords(records, sets[0].separator or " ", notes, tuple(types.items()))


class _Values:
    """The cells of a single-valued column, batch by batch."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self._source = source
        self._codes: list[npt.NDArray[np.unsignedinteger]] = []
        self._dictionaries: list[pa.Array] = []
        self._types: list[str] = []

    def add(self, cells: pa.Array) -> int:
        """Takes the next cells, and returns the bytes of memory that they need."""
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
        return memory_of(encoded)

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
            return Column.from_codes(self.name, role, np.concatenate(codes), names, numeric=numeric)
        except InputError as error:
            raise error.within(f"{self._source}: ") from None


def _texts_in(names: pa.Array) -> list[str]:
    return [text for text in names.to_pylist() if text != MISSING]


def _types(columns: Sequence[_Values], table: Table) -> dict[str, str]:
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


def number_notes(column: Column, counts: npt.NDArray[np.int64], said: bool) -> list[str]:
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
        f"{source}: a name stands for items of two columns, with the column before it; rename one of {listed(columns)}",
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
