"""JSON lines: each line a list of items, or an object with the list in one of its fields.

A block whose lists are all texts, or all integers, goes through Arrow's parser, which is exact about both and refuses
everything else. Only a refused block (mixed lists, very long integers, a fault to be named) is parsed line by line. A whole number names an
item by its digits; one with a point or an exponent names none, for 7, 7.0 and 70e-1 would be one item, and are three texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from shoal.errors import InputError, option
from shoal.limits import unique_keys
from shoal.records.assemble import MIXED, NUMBER, SetRows, Table, is_list
from shoal.records.formats.frames import typed_values
from shoal.records.formats.text import SetText, ValueText, text_blocks
from shoal.records.layout import Layout
from shoal.records.records import Column, Records
from shoal.records.roles import Roles, SetRoles, check_roles, name_list
from shoal.records.storage.streams import Input, TextBlock
from shoal.records.tokens import Tokens, as_text, is_text, list_tokens
from shoal.records.values import MISSING

_SAMPLE = 20  # objects that show which type each field has
_TYPES = {"string": "text", "large_string": "text", "int64": NUMBER, "bool": "boolean"}
_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
_DEEP = 64
"""Brackets in a line that Arrow is given: it has no limit to depth of its own, and would use up the stack."""


def jsonl_table(source: Input, roles: Roles | SetRoles) -> Table | SetRows:
    """The objects of JSON lines as a table, or, where sets alone are asked for, the lists in one of their fields or instead of them."""
    if isinstance(roles, Roles):
        return _objects_table(source, roles.names_to_read)
    if roles.person is not None:
        return _objects_table(source, (roles.items or "", roles.person))
    fields = _Fields(source.name, roles)
    return SetRows(_set_tokens(source, fields), source.name, lambda: fields.items or "", room=source.room)


@dataclass
class _Fields:
    """What is known so far about the objects of a file of sets."""

    source: str
    roles: SetRoles
    items: str | None = None
    """The field with the sets; none as long as only lists were seen."""
    seen: set[str] = field(default_factory=set)

    def add(self, names: Collection[str]) -> None:
        """Takes note of an object's fields. Unless it was asked for, the first object shows which of them holds the sets."""
        drop = self.roles.dropped_columns(names)
        if self.items is None and names:
            present = tuple(name for name in drop if name in names)
            self.items = self.roles.items or SetRoles(drop=present).set_column(list(names), self.source)
        self.seen.update(names)
        check_roles([name for name in names if name != self.items and name not in drop], self.source)

    def list_in(self, value: Any, where: str) -> list[str] | None:
        """The names in what a line holds: the list, or that in its field."""
        if isinstance(value, dict):
            self.add(value)
            value = value.get(self.items or "")
        if value is None:
            return None
        if not isinstance(value, list):
            raise InputError(f"{where} holds no list of items; give a list, or an object with the list in a field")
        return _item_names(value, where)

    def check(self) -> None:
        """Raises if an option named a field that no line has."""
        drop = self.roles.dropped_columns(self.seen)
        for name, role in ((self.roles.items, "items"), *((name, "drop") for name in drop)):
            if name is not None and name not in self.seen:
                raise InputError(
                    f"{self.source}: no line has a field {name!r} for {option(role)}; its fields are {name_list(sorted(self.seen))}"
                )


def _set_tokens(source: Input, fields: _Fields) -> Iterator[Tokens]:
    """The sets, block by block."""
    is_empty = True
    for block in source.text_blocks():
        if block.data.strip():
            is_empty = False
            lists = _arrow_lists(block, fields)
            if lists is None:
                lists = _line_fields(block, fields.source, frozenset([""]), {}, fields).arrays[""]
            yield list_tokens(lists, fields.source)
    if not is_empty:
        fields.check()


def _arrow_lists(block: TextBlock, fields: _Fields) -> pa.Array | None:
    """The sets of a block as Arrow reads them, or none if it does not take every line for exactly one set."""
    text, column = block.data.strip(), ""
    if text.startswith(b"{"):
        if fields.items is None:
            fields.add(_names_of_first_object(text))
        if fields.items is None:
            return None
        column = fields.items
    else:
        text = b'{"":' + text.replace(b"\n", b'}\n{"":') + b"}"
    seen: dict[str, None] = {}
    found = _arrow_fields(text, frozenset([column]), seen)
    lists = None if found is None else found.arrays.get(column)
    if lists is None or not is_list(lists.type):
        return None
    if column:
        fields.add(seen)
    return lists


def _objects_table(source: Input, wanted: Collection[str]) -> Table:
    """The objects as a table, of which only the wanted fields are kept. A field that a line lacks is missing there.

    All lines are looked at, for any of them may have a field of its own.
    """
    seen: dict[str, None] = {}
    kept = frozenset(wanted)
    blocks = []
    for block in source.text_blocks():
        if block.data.strip():
            found = _arrow_fields(block.data.strip(), kept, seen) or _line_fields(block, source.name, kept, seen)
            blocks.append(found)
            source.room.take(sum(array.nbytes for array in blocks[-1].arrays.values()))
    if not blocks:
        raise InputError(f"{source.name} has no rows; check that it is the right one")

    def batches(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for block in blocks:
            held = [block.arrays[column] if column in block.arrays else pa.nulls(block.rows) for column in columns]
            yield pa.record_batch(held, names=list(columns))

    types = {name: type for name in seen if (type := _type_of(name, blocks, source.name)) is not None}
    return Table(list(seen), batches, source.name, types, room=source.room)


@dataclass(frozen=True)
class _Block:
    """The objects of a block: their number, their fields, and which texts of a field stood bare, as numbers and truth values do."""

    rows: int
    arrays: dict[str, pa.Array]
    bare: dict[str, frozenset[str]] = field(default_factory=dict)
    """For fields that are text here, and were not only texts in the file."""


def _type_of(name: str, blocks: Sequence[_Block], source: str) -> str | None:
    """The type of a field in all blocks; raises if one text stands both in quotes and bare, for these are not the same value."""
    kinds = {_TYPES.get(str(block.arrays[name].type)) for block in blocks if name in block.arrays} - {None}
    mixed = [block for block in blocks if name in block.bare]
    if not mixed and len(kinds) <= 1:
        return next(iter(kinds), None)
    bare, quoted = set[str](), set[str]()
    for block in blocks:
        if name in block.arrays and not is_list(block.arrays[name].type):
            texts = {text for text in pc.unique(as_text(block.arrays[name])).to_pylist() if text}
            here = block.bare.get(name, frozenset() if is_text(block.arrays[name].type) else texts)
            bare |= here
            quoted |= texts - here
    if not quoted:
        words = bare & {"true", "false"}
        return NUMBER if not words else "boolean" if bare == words else MIXED
    if both := bare & quoted:
        raise InputError(
            f"{source}: field {name!r} holds {len(both):,} of its values both in quotes and without; write them in one way"
        )
    return MIXED


def _arrow_fields(text: bytes, wanted: frozenset[str], seen: dict[str, None]) -> _Block | None:
    """The objects of a block, and their wanted fields as Arrow reads them; none if it might not read them as they stand."""
    if not _is_plain(text):
        return None
    kinds: dict[str, pa.DataType] = {}
    for line in text.split(b"\n", _SAMPLE)[:_SAMPLE]:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(found, dict):
            return None
        seen.update(dict.fromkeys(found))
        kinds |= {name: kind for name in found if name in wanted and (kind := _kind_of(found[name])) is not None}
    try:
        table = arrow_json.read_json(
            pa.BufferReader(text),
            arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            arrow_json.ParseOptions(explicit_schema=pa.schema(list(kinds.items())), unexpected_field_behavior="infer"),
        )
    except pa.ArrowException:
        return None
    arrays = {name: table.column(name).combine_chunks() for name in table.column_names if name in wanted}
    # What Arrow would guess to be a date or a number with a point is not read as it stands.
    exact = all(name in kinds or pa.types.is_null(array.type) for name, array in arrays.items())
    if len(table) != text.count(b"\n") + 1 or not exact or any(_lacks_names(array) for array in arrays.values()):
        return None
    seen.update(dict.fromkeys(table.column_names))
    return _Block(len(table), arrays)


def _kind_of(value: Any) -> pa.DataType | None:
    """The Arrow type that holds such values exactly; none for a value that does not tell, or that has none."""
    if isinstance(value, list):
        inner = _kind_of(value[0]) if value else None
        return None if inner is None else pa.list_(inner)
    return {str: pa.string(), int: pa.int64(), bool: pa.bool_()}.get(type(value))


def _lacks_names(array: pa.Array) -> bool:
    """Whether lists hold anything but names: that needs a message with its line."""
    if not pa.types.is_list(array.type):
        return False
    items = array.flatten()
    is_text = pa.types.is_string(items.type)
    if items.null_count or not (is_text or pa.types.is_integer(items.type)):
        return True
    return is_text and bool(pc.any(pc.equal(items, "")).as_py())


def _line_fields(
    block: TextBlock, source: str, wanted: frozenset[str], seen: dict[str, None], sets: _Fields | None = None
) -> _Block:
    """As `_arrow_fields`, line by line, with every fault named: lists of names, or single values as text.

    Where the lines are `sets`, they stand in a field without a name.
    """
    objects: list[dict[str, Any]] = []
    numbers: list[int] = []
    known: Collection[str] = ()
    for number, line in enumerate(block.data.split(b"\n"), block.line):
        if line.strip():
            where = f"{source}: line {number}"
            found = parsed_line(line, where)
            if sets is not None:
                found = {"": sets.list_in(found, where)}
            elif not isinstance(found, dict):
                raise InputError(f"{where} holds no object; give each line one object with the columns as its fields")
            if found.keys() != known:
                known = found.keys()
                seen.update(dict.fromkeys(known))
            objects.append(found)
            numbers.append(number)
    values = {name: [found.get(name) for found in objects] for name in seen if name in wanted}
    try:
        arrays = {name: _field_array(name, column, numbers, source) for name, column in values.items()}
        bare = {name: _bare(column) for name, column in values.items() if not is_list(arrays[name].type)}
        return _Block(len(numbers), arrays, {name: texts for name, texts in bare.items() if texts})
    except UnicodeEncodeError as error:
        lines = zip(numbers, zip(*values.values(), strict=True), strict=True)
        number = next(number for number, held in lines if _holds(held, error.object))
        raise InputError(f"{source}: line {number} holds half a surrogate pair; correct its \\u escape") from None


def _holds(values: Iterable[Any], text: str) -> bool:
    return any(text in value if isinstance(value, list) else text == value for value in values)


def _field_array(name: str, values: list[Any], numbers: list[int], source: str) -> pa.Array:
    """A field of all objects of a block, from what JSON made of it; that of sets has no name."""
    kinds = set(map(type, values)) - {type(None)}
    if kinds == {list} or not (kinds or name):
        lists = [
            None if items is None else _item_names(items, f"{source}: line {number}")
            for number, items in zip(numbers, values, strict=True)
        ]
        return pa.array(lists, pa.large_list(pa.large_string()))
    texts: list[str | None] = []
    for number, value in zip(numbers, values, strict=True):
        if isinstance(value, list | dict):
            raise InputError(
                f"{source}: line {number} holds {_kind_in_words(value)} in field {name!r}; give one value, or a list in every line"
            )
        texts.append(_value_text(value))
    return pa.array(texts, pa.large_string())


def _value_text(value: Any) -> str | None:
    """A single value as text, numbers as they are spelled; NaN is missing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text: str | None = value
    return None if isinstance(value, _Number) and value == "NaN" else text


def _bare(values: Iterable[Any]) -> frozenset[str]:
    """The texts of values that stand without quotes."""
    return frozenset(text for value in values if isinstance(value, bool | _Number) and (text := _value_text(value)))


def _is_plain(text: bytes) -> bool:
    """Whether Arrow can be trusted with the text: no line is deep, and no integer would read as another than it is written."""
    if re.search(rb"-0(?![0-9.eE])", text):  # it would be 0
        return False
    octets = np.frombuffer(text, np.uint8)
    brackets = np.flatnonzero((octets == ord("[")) | (octets == ord("{")))
    if len(brackets) <= _DEEP:
        return True
    lines = np.searchsorted(np.flatnonzero(octets == ord("\n")), brackets)
    return not np.any(lines[_DEEP:] == lines[:-_DEEP])


def _names_of_first_object(text: bytes) -> list[str]:
    try:
        return list(json.loads(text.partition(b"\n")[0]))
    except (ValueError, RecursionError):
        return []


def parsed_line(line: bytes, where: str) -> Any:
    """What stands in a line, numbers as they are spelled."""
    try:
        return _DECODER.decode(line.decode().removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        fault = f"{error.msg} in column {error.colno}"
        raise InputError(f"{where} is not JSON ({fault}); give each line one list or one object") from None
    except RecursionError:
        raise InputError(
            f"{where} is not JSON (it is nested too deep); give each line one list or one object"
        ) from None
    except ValueError:
        raise InputError(
            f"{where} is not JSON (a field stands twice, or a number has thousands of digits); correct it"
        ) from None


def _item_names(items: Sequence[Any], where: str) -> list[str]:
    """The names of items: texts, or whole numbers."""
    if not set(map(type, items)) - {str} and "" not in items:
        return list(items)
    for item in items:
        if not isinstance(item, str) or not item or (isinstance(item, _Number) and not item.lstrip("-").isdecimal()):
            raise InputError(f"{where} holds {_kind_in_words(item)} as an item; items are texts or whole numbers")
    return list(map(str, items))


class _Number(str):
    """A number as it is spelled."""


def _kind_in_words(value: Any) -> str:
    """What a value is. The value itself may be somebody's."""
    if isinstance(value, _Number):
        return "a number with a point or an exponent" if value[-1].isdecimal() else str(value)
    kinds = {list: "a list", dict: "an object", bool: "true or false", str: "an empty text"}
    return kinds.get(type(value), "null")


_DECODER = json.JSONDecoder(
    parse_int=_Number, parse_float=_Number, parse_constant=_Number, object_pairs_hook=unique_keys
)


def jsonl_text(records: Records, layout: Layout) -> Iterator[memoryview]:
    """An object a line, or the bare list where the column of sets has no name."""
    ends = [""] * (len(records.names) - 1) + ["}\n"]
    columns: list[ValueText | SetText] = []
    for column in records.columns:
        before, end = ", " if columns else "{", ends[len(columns)]
        is_bare = _is_bare(column, dict(layout.types).get(column.name))
        values = (value if value and is_bare else _json(value or None) for value in column.values)
        columns.append(ValueText(column.codes, [f"{before}{_json(column.name)}: {value}{end}" for value in values]))
    for name, baskets in records.set_columns():
        before, end = ", " if columns else "{", ends[len(columns)]
        edges = [f"{before}{_json(name)}: [", f"]{end}"] if name else ["[", "]\n"]
        tokens = [_json(token) for token in baskets.vocabulary]
        columns.append(SetText(baskets, [f"{token}, " for token in tokens], tokens, edges))
    return text_blocks(records, columns)


def _is_bare(column: Column, came_in: str | None) -> bool:
    """Whether values stand without quotes: truth values, and numbers that JSON spells as they are spelled."""
    kind = typed_values(column, came_in).type
    is_number = came_in == NUMBER or not pa.types.is_string(kind)
    spelled = all(_JSON_NUMBER.fullmatch(value) for value in column.values if value != MISSING)
    return pa.types.is_boolean(kind) or (is_number and spelled)


def _json(text: str | None) -> str:
    return json.dumps(text, ensure_ascii=False)
