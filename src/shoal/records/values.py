"""The values of a single-valued column: which order they stand in, and whether they are numbers.

A value is a text, kept as it stands: 00501 is a code and stays one. A column is numeric when every value that is not missing reads
as a number; a number is then one value however it is spelled (39 and 39.0 are the same age), so that equal codes are equal numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError
from shoal.ordering import natural_order

MISSING = ""
"""How a missing value stands among the values of a column: a value of its own."""

_BLANKS = " \t\n\v\f\r"
# A whole number with an exponent but without its sign (1E5, 12E3) is more often a code; programs write 1e+05.
_PLAIN = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]*)(?:[eE][+-][0-9]{1,3})?|(?:(?:0|[1-9][0-9]*)?\.[0-9]+|(?:0|[1-9][0-9]*)\.)(?:[eE][+-]?[0-9]{1,3})?)",
    re.ASCII,
)
_ANY = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_LARGEST = 400  # digits: beyond the range of floating point in any case


@dataclass(frozen=True)
class Ordering:
    """The distinct values of a column in order, and where each name went."""

    values: tuple[str, ...]
    place: npt.NDArray[np.int32]
    """Per given name, its place in `values`."""
    numbers: npt.NDArray[np.float64] | None


def ordering(names: Sequence[str], numeric: bool | None = None) -> Ordering:
    """Distinct names in natural order, or as numbers ascending; `MISSING` first. `numeric` says which, None finds out.

    Raises `NumberError` if they must be numbers and are not.
    """
    if numeric is None:
        numeric = any(names) and all(is_number(name) for name in names if name != MISSING)
        if numeric:
            try:
                return _numeric(names)
            except NumberError:  # longer than floating point can tell apart: codes, not quantities
                numeric = False
    return _numeric(names) if numeric else _categorical(names)


class NumberError(InputError):
    """A value of a column that must be numeric. `place` is its place among the names."""

    def __init__(self, message: str, place: int) -> None:
        super().__init__(message)
        self.place = place


def is_number(text: str) -> bool:
    """Whether a text reads as a number by itself: not a code with leading zeros, not NaN or infinity; blanks around it do not matter."""
    bare = text.strip(_BLANKS)
    return _PLAIN.fullmatch(bare) is not None and len(bare) <= _LARGEST and abs(float(bare)) != float("inf")


def _categorical(names: Sequence[str]) -> Ordering:
    present = [i for i, name in enumerate(names) if name != MISSING]
    order = [i for i, name in enumerate(names) if name == MISSING]
    order += [present[i] for i in natural_order([names[i] for i in present])]
    place = np.empty(len(names), np.int32)
    place[order] = np.arange(len(names))
    return Ordering(tuple(names[i] for i in order), place, None)


def _numeric(names: Sequence[str]) -> Ordering:
    bare = [name.strip(_BLANKS) if name != MISSING else MISSING for name in names]
    number = [_number(text, name, i) for i, (text, name) in enumerate(zip(bare, names, strict=True))]
    # Of several spellings of a number the shortest stands for all.
    order = sorted(range(len(names)), key=lambda i: (number[i], len(bare[i]), bare[i]))
    values: list[str] = []
    numbers: list[float] = []
    place = np.empty(len(names), np.int32)
    for i in order:
        if not values or number[i] != numbers[-1]:
            values.append(bare[i])
            numbers.append(number[i])
        elif number[i] != -np.inf and Decimal(bare[i]) != Decimal(values[-1]):
            raise NumberError(f"{values[-1]!r} and {bare[i]!r} are too long to be told apart as numbers", i)
        place[i] = len(values) - 1
    return Ordering(tuple(values), place, np.array([np.nan if n == -np.inf else n for n in numbers], np.float64))


def _number(text: str, name: str, place: int) -> float:
    """The number, negative infinity for a missing one: it goes first."""
    if name == MISSING:
        return -np.inf
    if _ANY.fullmatch(text) is None or len(text) > _LARGEST or abs(number := float(text)) == np.inf:
        raise NumberError(f"{name!r} is not a number", place)
    return number
