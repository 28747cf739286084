"""What lies between an original and its release, and what a user asks of both: the rules file of a release, and a workload of queries.

A rules file is what `anonymize --rules` wrote: item and token (k^m), values and tokens class by class (tables), or what each class
of equal rows gained and lost (k-anonymity), which says nothing about tokens. A workload is JSON lines, one query each:

    {"items": ["milk", "bread"], "between": {"age": [20, 30]}, "among": {"sex": ["F"]}}
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shoal.errors import InputError, option
from shoal.limits import unique_keys
from shoal.loss.queries import Among, Between, Query
from shoal.options import File as Path
from shoal.records.baskets import Baskets
from shoal.records.formats.text import without_guard
from shoal.records.records import Column, Records
from shoal.records.storage.streams import display_name, list_lines, list_text
from shoal.records.writing import without_blanks

_HEADERS = {
    ("item", "published"): "km",
    ("item", "published", "rows"): "km",
    ("class", "rows", "column", "original", "published"): "table",
    ("class", "rows", "added", "removed", "published"): "k",
    ("if", "never", "rows", "exceptions", "redundant", "given"): "diversity",
}
_GUARDED = re.compile(r"'('*[=+\-@\t\r])")
_KEYS = ("items", "between", "among")
_DIGITS = 18
"""Of a number of items."""


@dataclass(frozen=True)
class RulesFile:
    """What a rules file says about tokens."""

    model: str
    """`km`, `table`, `k` or `diversity`."""
    items_of: Mapping[str, tuple[str, ...]]
    """Per published token, the original items that became it somewhere."""
    dropped: tuple[str, ...] = ()
    """Items that became nothing."""
    added: int | None = None
    """Of a k-anonymous release: item occurrences that its classes gained and lost."""
    removed: int | None = None


def rules_file(path: Path) -> RulesFile:
    """The rules in a file; raises with the line that is not one."""
    name = display_name(path)
    reader = csv.reader(io.StringIO(list_text(path, "a file of rules"), newline=""), strict=True)
    try:
        header = tuple(next(reader, ()))
        model = _HEADERS.get(header)
        if model is None:
            raise InputError(
                f"{name}: line 1 is not the header of a rules file; give the file of rules that came with the release, or leave out "
                + option("rules")
            )
        found: dict[str, dict[str, None]] = {}
        dropped = list[str]()
        changes = [0, 0]
        for cells in reader:
            if len(cells) != len(header):
                raise InputError(
                    f"{name}: line {reader.line_num:,} has {len(cells)} cells where the header has {len(header)}; correct it"
                )
            if model == "km":
                item, token = map(_unguarded, cells[:2])
            elif model == "table" and cells[2] == "items":
                item, token = _unguarded(cells[3]), _unguarded(cells[4])
            elif model == "k":
                if not all(cell.isdecimal() and len(cell) <= _DIGITS for cell in cells[2:4]):
                    raise InputError(
                        f"{name}: line {reader.line_num:,}: items added and removed are whole numbers; correct it"
                    )
                changes = [changes[0] + int(cells[2]), changes[1] + int(cells[3])]
                continue
            else:
                continue
            if token:
                found.setdefault(token, {})[item] = None
            else:
                dropped.append(item)
    except csv.Error as error:
        raise InputError(f"{name}: line {reader.line_num:,} is not readable as CSV ({error}); correct it") from None
    tokens = {token: tuple(items) for token, items in found.items()}
    return RulesFile(model, tokens, tuple(dropped), *(changes if model == "k" else (None, None)))


def workload_file(path: Path) -> tuple[Query, ...]:
    """The queries in a file of JSON lines; raises with the line that is none."""
    name = display_name(path)
    found = []
    for number, line in enumerate(list_lines(path, "a file of queries"), 1):
        if not line.strip():
            continue
        try:
            query = json.loads(line, object_pairs_hook=unique_keys)
        except (ValueError, RecursionError) as error:
            why = (
                error.msg
                if isinstance(error, json.JSONDecodeError)
                else "a key stands twice, it is too deep, or a number is too long"
            )
            raise InputError(
                f'{name}: line {number:,} is not JSON ({why}); give one query a line, such as {{"items": ["milk"]}}'
            ) from None
        try:
            found.append(_query(query))
        except InputError as error:
            raise error.within(f"{name}: line {number:,}: ") from None
    if not found:
        raise InputError(f'{name}: it holds no query; give one a line, such as {{"items": ["milk"]}}')
    return tuple(found)


def _query(given: Any) -> Query:
    if not isinstance(given, dict) or not given:
        raise InputError('a query is an object such as {"items": ["milk"], "between": {"age": [20, 30]}}')
    strange = [key for key in given if key not in _KEYS]
    if strange:
        raise InputError("it has a key that is not known in a query; take items, between and among")
    items = given.get("items", [])
    if not _is_list_of_texts(items):
        raise InputError("items are a list of names")
    conditions: list[Between | Among] = []
    for column, bounds in _object(given, "between").items():
        numbers = isinstance(bounds, list) and len(bounds) == 2 and all(_is_number(bound) for bound in bounds)
        if not numbers:
            raise InputError(f"between {column!r} takes two numbers, such as [20, 30]")
        conditions.append(Between(column, float(bounds[0]), float(bounds[1])))
    for column, values in _object(given, "among").items():
        if not _is_list_of_texts(values) or not values:
            raise InputError(f'among {column!r} takes a list of values, such as ["F"]')
        conditions.append(Among(column, frozenset(map(str, values))))
    if not conditions and not items:
        raise InputError("the query asks for nothing; give items, between or among")
    return Query(tuple(conditions), frozenset(map(str, items)))


def _object(given: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = given.get(key, {})
    if not isinstance(found, dict):
        raise InputError(f'{key} is an object of columns, such as {{"age": [20, 30]}}')
    return found


def _is_list_of_texts(given: Any) -> bool:
    """Numbers are taken for their text: codes are often written so."""
    return isinstance(given, list) and all(
        isinstance(name, str | int | float) and not isinstance(name, bool) for name in given
    )


def _is_number(given: Any) -> bool:
    """Whether it is one, and none that floating point is too small for."""
    return isinstance(given, int | float) and not isinstance(given, bool) and abs(given) <= sys.float_info.max


def without_guards(published: Records, original: Records) -> Records:
    """A release in text without the apostrophes that keep spreadsheets from running what it holds, so that names are those of the original.

    An apostrophe stays where the original has one, and where two names would become one.
    """
    columns = []
    for column in published.columns:
        held = original[column.name].values if column.name in original.names else ()
        values = [without_guard(value, held) for value in column.values]
        if column.numbers is None and values != list(column.values) and len(set(values)) == len(values):
            column = Column.from_codes(column.name, column.role, column.codes, values, numeric=False)
        columns.append(column)
    items, marked = published.items, published.sensitive_items
    if items is not None:
        known = frozenset(() if original.items is None else original.items.vocabulary)
        names = [without_guard(name, known) for name in items.vocabulary]
        if names != list(items.vocabulary) and len(set(names)) == len(names):
            bare = dict(zip(items.vocabulary, names, strict=True))
            items, marked = (
                Baskets.from_codes(items.lengths, items.items, names),
                frozenset(map(bare.__getitem__, marked)),
            )
    return replace(published, columns=tuple(columns), items=items, sensitive_items=marked)


def with_blanks(published: Baskets, known: Iterable[str]) -> Baskets:
    """A release whose names have the blanks again that FIMI text has no place for, where one known name alone reads so with underscores."""
    names = set(known)
    strange = {name for name in published.vocabulary if name not in names and "_" in name}
    if not strange:
        return published
    meant: dict[str, list[str]] = {}
    for name in names:
        if (written := without_blanks(name)) in strange:
            meant.setdefault(written, []).append(name)
    clear = {written: one[0] for written, one in meant.items() if len(one) == 1 and one[0] not in published.vocabulary}
    if not clear:
        return published
    return Baskets.from_codes(
        published.lengths, published.items, [clear.get(name, name) for name in published.vocabulary]
    )


def _unguarded(cell: str) -> str:
    """The cell without the apostrophe that keeps a spreadsheet from running it."""
    return _GUARDED.sub(r"\1", cell, count=1) if _GUARDED.match(cell) else cell
