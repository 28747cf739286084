"""JSON lines: each line a list of items, or an object with the list in one of its fields.

A block whose lists are all texts, or all integers, goes through Arrow's parser, which is exact about both and refuses
everything else. Only a refused block (mixed lists, very long integers, a fault to be named) is parsed line by line.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import json as arrow_json

from shoal.errors import InputError
from shoal.records.baskets import Baskets
from shoal.records.columns import Choice, check_roles, listed, set_column
from shoal.records.streams import Input, TextBlock
from shoal.records.tokens import Tokens, baskets_of, list_tokens, row_of

_EXACT_WHOLE = 2.0**53  # a larger whole number written with a point or an exponent has lost digits on its way


@dataclass
class _Fields:
    """What is known so far about the objects of a file."""

    source: str
    choice: Choice
    items: str | None = None
    """The field with the sets; none as long as only lists were seen."""
    seen: set[str] = field(default_factory=set)

    def add(self, names: Collection[str]) -> None:
        """Takes note of an object's fields. Unless it was asked for, the first object shows which of them holds the sets."""
        drop = self.choice.dropped(names)
        if self.items is None and names:
            present = tuple(name for name in drop if name in names)
            self.items = self.choice.items or set_column(list(names), Choice(drop=present), self.source)
        self.seen.update(names)
        check_roles([name for name in names if name != self.items and name not in drop], self.source)

    def check(self) -> None:
        """Raises if an option named a field that no line has."""
        drop = self.choice.dropped(self.seen)
        for name, flag in ((self.choice.items, "--items"), *((name, "--drop") for name in drop)):
            if name is not None and name not in self.seen:
                raise InputError(
                    f"{self.source}: no line has a field {name!r} for {flag}; its fields are {listed(sorted(self.seen))}"
                )


def read_jsonl(source: Input, choice: Choice) -> tuple[Baskets, str]:
    """The baskets in JSON lines, and the field that held them (empty if every line was a bare list)."""
    fields = _Fields(source.name, choice)
    baskets = baskets_of(_stretches(source, fields), source.name)
    fields.check()
    return baskets, fields.items or ""


def _stretches(source: Input, fields: _Fields) -> Iterator[Tokens]:
    for block in source.text_blocks():
        if block.data.strip():
            yield _arrow_tokens(block, fields) or _line_tokens(block, fields)


def _arrow_tokens(block: TextBlock, fields: _Fields) -> Tokens | None:
    """The sets of a block as Arrow reads them, or none if it does not take every line for exactly one set."""
    text = block.data.strip()
    rows = text.count(b"\n") + 1
    column = ""
    if text.startswith(b"{"):
        if fields.items is None:
            fields.add(_names_of_first_object(text))
        if fields.items is None:
            return None
        column = fields.items
    else:
        text = b'{"":' + text.replace(b"\n", b'}\n{"":') + b"}"
    for kind in (pa.string(), pa.int64()):
        schema = pa.schema([(column, pa.list_(kind))])
        try:
            table = arrow_json.read_json(
                pa.BufferReader(text),
                arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
                arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer"),
            )
        except pa.ArrowException:
            continue
        if len(table) != rows or table.column(column).null_count == rows:  # else the field may not be there at all
            return None
        if column:
            fields.add(table.column_names)
        try:
            return list_tokens(table.column(column).combine_chunks(), fields.source)
        except InputError:  # a missing or empty item
            return None
    return None


def _names_of_first_object(text: bytes) -> list[str]:
    try:
        return list(json.loads(text.partition(b"\n")[0]))
    except (ValueError, RecursionError):
        return []


def _line_tokens(block: TextBlock, fields: _Fields) -> Tokens:
    """The sets of a block line by line, with every fault named."""
    counts: list[int] = []
    flat: list[str] = []
    numbers: list[int] = []
    for number, line in enumerate(block.data.split(b"\n"), block.line):
        if line.strip():
            items = _items_of(line, number, fields)
            counts.append(len(items))
            flat.extend(items)
            numbers.append(number)
    lengths = np.array(counts, np.int64)
    try:
        names = pa.array(flat, pa.large_string())
    except UnicodeEncodeError as error:
        number = numbers[row_of(flat.index(error.object), lengths)]
        raise InputError(
            f"{fields.source}: line {number} holds half a surrogate pair; correct its \\u escape"
        ) from None
    return Tokens(lengths, names.dictionary_encode())


def _items_of(line: bytes, number: int, fields: _Fields) -> list[str]:
    """The items of one line."""
    where = f"{fields.source}: line {number}"
    try:
        value = json.loads(
            line, parse_int=_integer, parse_float=_whole, parse_constant=_Refused, object_pairs_hook=_object
        )
    except json.JSONDecodeError as error:
        fault = f"{error.msg} in column {error.colno}"
        raise InputError(f"{where} is not JSON ({fault}); give each line one list or one object") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON ({error}); give each line one list or one object") from None
    if isinstance(value, dict):
        fields.add(value)
        value = value.get(fields.items or "")
    if value is None:
        return []
    if not isinstance(value, list):
        raise InputError(f"{where} holds no list of items; give a list, or an object with the list in a field")
    if set(map(type, value)) - {str} or "" in value:
        wrong = next(item for item in value if type(item) is not str or not item)
        raise InputError(f"{where} holds the item {_shown(wrong)}; items are texts or whole numbers")
    return value


@dataclass(frozen=True)
class _Refused:
    """A number that names no item, as it was written."""

    text: str


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a field stands twice in an object")
    return value


def _integer(text: str) -> str:
    return "0" if text == "-0" else text


def _whole(text: str) -> str | _Refused:
    value = float(text)
    return str(int(value)) if value.is_integer() and abs(value) <= _EXACT_WHOLE else _Refused(text)


def _shown(item: Any) -> str:
    if isinstance(item, list | dict):
        return "[...]" if isinstance(item, list) else "{...}"
    return item.text if isinstance(item, _Refused) else json.dumps(item)
