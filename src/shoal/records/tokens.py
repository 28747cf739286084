"""Tokens: rows of item names on their way from a file to Baskets.

Every reader turns a stretch of its input into Tokens: names as an Arrow dictionary (each distinct name once, 32-bit codes
for its occurrences). A name is compared as text once per stretch and never again: joining the stretches only renumbers codes.
Where memory is limited the codes go to a scratch file as they come, and only the distinct names stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import VALUES, InputError
from shoal.limits import Room
from shoal.numbers import Codes, Ints
from shoal.records.baskets import Baskets
from shoal.records.layout import SEPARATORS
from shoal.records.storage.scratch import Scratch, reading_scratch

MARKS = (*SEPARATORS, " ")
"""What may separate the items of a cell, in the order in which it is looked for."""


_PER_ROW, _PER_OCCURRENCE, _PER_NAME = 64, 40, 200
"""Bytes of memory that a command takes for each, with all arrays that stand side by side for it at some moment."""


@dataclass(frozen=True)
class Tokens:
    """How many names each row has, and the names themselves, row after row."""

    lengths: Ints
    names: pa.DictionaryArray

    @property
    def size(self) -> int:
        """Bytes of memory that they take on their way to Baskets."""
        return _PER_ROW * len(self.lengths) + memory_of(self.names)

    @property
    def codes(self) -> Codes:
        codes: Codes = self.names.indices.to_numpy()
        return codes


def memory_of(names: pa.DictionaryArray) -> int:
    """Bytes of memory that a stretch of codes takes, with its names."""
    held = names.dictionary
    return _PER_OCCURRENCE * len(names) + _PER_NAME * len(held) + 2 * int(held.nbytes)


def row_of(position: int, lengths: Ints) -> int:
    """The row, from 0, that holds the occurrence at `position`."""
    return int(np.searchsorted(np.cumsum(lengths), position, side="right"))


class SetGatherer:
    """Baskets in the making: takes one stretch of rows after the other, as long as there is room for them."""

    def __init__(self, source: str, room: Room | None = None) -> None:
        self._source, self._room = source, room
        self._stretches: list[tuple[Ints, npt.NDArray[np.unsignedinteger], pa.Array]] = []
        self._scratch = reading_scratch()
        if self._scratch is not None:  # then nothing but the distinct names stays in memory
            self._lengths, self._codes = self._scratch.spool(np.int64), self._scratch.spool(np.int32)
            self._names = pa.array([], pa.large_string())

    def add(self, tokens: Tokens) -> None:
        """Takes the next rows."""
        if self._scratch is not None:
            self._spool(tokens, self._scratch)
            return
        if self._room is not None:
            self._room.take(tokens.size)
        self._stretches.append((tokens.lengths, compact_codes(tokens.names), tokens.names.dictionary))

    def _spool(self, tokens: Tokens, scratch: Scratch) -> None:
        here = tokens.names.dictionary
        new = here.filter(pc.invert(pc.is_in(here, self._names)))
        if len(new):
            self._names = pa.concat_arrays([self._names, new.unique()])
            scratch.check_names(len(self._names), self._names.nbytes, self._source)
        place = pc.index_in(here, self._names).to_numpy().astype(np.int32)
        self._lengths.append(tokens.lengths)
        self._codes.append(place[tokens.codes])

    def baskets(self, renamed: Mapping[str, str] | None = None) -> Baskets:
        """The baskets that all stretches make together; `renamed` gives some names another form. The gatherer takes no more."""
        if not (
            self._lengths.size if self._scratch is not None else sum(len(lengths) for lengths, *_ in self._stretches)
        ):
            raise InputError(f"{self._source} has no transactions; check that it is the right one")
        if self._scratch is not None:
            names = _renamed(_texts(self._names, self._source), renamed, self._source)
            return Baskets.from_codes(self._lengths.array(), self._codes.array(), names)
        lengths, codes, dictionaries = map(list, zip(*self._stretches, strict=True))
        self._stretches.clear()
        names, joined = joined_codes(codes, dictionaries, self._source)
        return Baskets.from_blocks(list(zip(lengths, joined, strict=True)), _renamed(names, renamed, self._source))


def _renamed(names: list[str], renamed: Mapping[str, str] | None, source: str) -> list[str]:
    if not renamed:  # looked at when all is read: a reader may find new names on the way
        return names
    names = [renamed.get(name, name) for name in names]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"{source}: two items have the same name{VALUES}; give each @ITEM line a name of its own", values=[twice]
        )
    return names


def check_in_memory(source: str) -> None:
    """Raises where what is read has to lie in scratch files: rows of one transaction may stand anywhere."""
    if reading_scratch() is not None:
        raise InputError(
            f"{source}: a long table is put together in memory, for rows of one transaction may stand anywhere; "
            "leave out the memory limit, or write one row for each transaction"
        )


def grouped_baskets(
    stretches: Iterable[tuple[pa.DictionaryArray, Tokens]], source: str, room: Room | None = None
) -> Baskets:
    """The baskets of a long table, given row by row as an id and at most one item; they stand in the order of their ids' first rows."""
    check_in_memory(source)
    owners, ids = [], []
    held, codes, dictionaries = [], [], []
    for id_names, tokens in stretches:
        if room is not None:
            room.take(tokens.size + memory_of(id_names))
        owners.append(compact_codes(id_names))
        ids.append(id_names.dictionary)
        held.append(tokens.lengths == 1)
        codes.append(compact_codes(tokens.names))
        dictionaries.append(tokens.names.dictionary)
    if not sum(map(len, held)):
        raise InputError(f"{source} has no transactions; check that it is the right one")
    distinct, owner_codes = joined_codes(owners, ids, source)
    names, item_codes = joined_codes(codes, dictionaries, source)
    owner, item = np.concatenate(owner_codes)[np.concatenate(held)], np.concatenate(item_codes)
    if np.any(owner[1:] < owner[:-1]):
        item = item[np.argsort(owner, kind="stable")]
    return Baskets.from_codes(np.bincount(owner, minlength=len(distinct)), item, names)


def compact_codes(names: pa.DictionaryArray) -> npt.NDArray[np.unsignedinteger]:
    """The codes of a stretch in two bytes each where its dictionary is small, outside of Arrow's pool so that memory goes back at once."""
    codes: Codes = names.indices.to_numpy()
    return codes.astype(np.uint16 if len(names.dictionary) <= 1 << 16 else np.uint32)


def joined_codes(
    codes: list[npt.NDArray[np.unsignedinteger]], dictionaries: list[pa.Array], source: str
) -> tuple[list[str], list[Codes]]:
    """The distinct names of all dictionaries, and the codes of each stretch over them. Empties `codes` as it goes."""
    merged = pa.concat_arrays(dictionaries).dictionary_encode()
    place = merged.indices.to_numpy()
    joined = []
    codes.reverse()
    for dictionary in dictionaries:
        joined.append(place[: len(dictionary)][codes.pop()])
        place = place[len(dictionary) :]
    return _texts(merged.dictionary, source), joined


def _texts(names: pa.Array, source: str) -> list[str]:
    try:
        texts: list[str] = names.to_pylist()
    except UnicodeDecodeError:
        raise InputError(f"{source}: an item's name is not UTF-8; write the file again with UTF-8 text") from None
    return texts


def cell_tokens(cells: pa.Array, separator: str | None) -> Tokens:
    """The items in cells of text. A missing or blank cell is an empty row.

    A blank as separator means any white space, none that a cell is one item.
    """
    cells = pc.fill_null(cells.cast(pa.large_string()), "")
    if separator is None:
        whole = pc.ascii_trim_whitespace(cells)
        held = pc.not_equal(whole, "")
        return Tokens(held.to_numpy(zero_copy_only=False).astype(np.int64), whole.filter(held).dictionary_encode())
    split = pc.ascii_split_whitespace(cells) if separator == " " else pc.split_pattern(cells, separator)
    names = pc.list_flatten(split)
    if separator != " ":
        names = pc.ascii_trim_whitespace(names)
    solid = pc.not_equal(names, "")
    kept = np.zeros(len(names) + 1, np.int64)
    np.cumsum(solid.to_numpy(zero_copy_only=False), out=kept[1:])
    ends = np.zeros(len(cells) + 1, np.int64)
    np.cumsum(pc.list_value_length(split).to_numpy(), out=ends[1:])
    return Tokens(np.diff(kept[ends]), names.filter(solid).dictionary_encode())


def guessed_separator(cells: pa.LargeStringArray, marks: Sequence[str] = MARKS) -> str | None:
    """The first of the marks that occurs in the cells (a blank stands for any), else none: every cell is one item, or empty."""
    _, ends, data = cells.buffers()
    if len(cells) == 0 or data is None:
        return None
    bounds = np.frombuffer(ends, np.int64)[cells.offset :]
    text = data.slice(bounds[0], bounds[len(cells)] - bounds[0]).to_pybytes()  # one look at all cells, end to end
    forms = {mark: (mark.encode(),) if mark != " " else (b" ", b"\n", b"\v", b"\f", b"\r") for mark in marks}
    return next((mark for mark, bytes_of in forms.items() if any(form in text for form in bytes_of)), None)


def list_tokens(lists: pa.Array, source: str, rows_before: int = 0) -> Tokens:
    """The items in lists. A missing list is an empty row, a missing item an error."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
    values = pc.list_flatten(lists)
    tokens = Tokens(lengths, item_names(values, source))
    codes = tokens.names.indices
    empty = tokens.names.dictionary.index(pa.scalar("", pa.large_string())).as_py()
    if codes.null_count or empty >= 0:
        unnamed = pc.fill_null(pc.equal(codes, empty), True)
        row = rows_before + row_of(unnamed.index(True).as_py(), lengths) + 1
        raise InputError(
            f"{source}: row {row:,} holds an item that is missing or an empty text; take it out of the list"
        )
    return tokens


def item_names(values: pa.Array, source: str) -> pa.DictionaryArray:
    """Text or whole numbers as names; a missing value stays missing."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        names = item_names(values.dictionary, source)
        if names.null_count == 0:
            places = names.indices.take(values.indices)
            return pa.DictionaryArray.from_arrays(places, names.dictionary)
        values, kind = as_text(values), pa.large_string()
    if pa.types.is_integer(kind):  # compare the numbers and spell out only the distinct ones
        numbers = values.dictionary_encode()
        return pa.DictionaryArray.from_arrays(numbers.indices, numbers.dictionary.cast(pa.large_string()))
    if is_text(kind) or pa.types.is_null(kind):
        return as_text(values).dictionary_encode()
    raise InputError(f"{source}: its items are of type {kind}; cast them to integer or string")


def as_text(values: pa.Array) -> pa.Array:
    """Values of any type that has a text form. Categories are spelled out one by one: Arrow cannot gather some kinds of text itself."""
    if pa.types.is_dictionary(values.type):
        return as_text(values.dictionary).take(values.indices)
    if pa.types.is_duration(values.type):
        return _seconds(values)
    return values.cast(pa.large_string())


def _seconds(durations: pa.Array) -> pa.Array:
    """Durations as seconds: Arrow would spell them in whatever unit they are kept in."""
    distinct = durations.dictionary_encode()
    digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}[durations.type.unit]
    counts = distinct.dictionary.cast(pa.int64()).to_pylist()
    texts = [f"{Decimal(count).scaleb(-digits):f}" for count in counts]
    spelled = [text.rstrip("0").rstrip(".") if "." in text else text for text in texts]
    return pa.array(spelled, pa.large_string()).take(distinct.indices)


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text, plain or as categories."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
