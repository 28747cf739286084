"""The values of a single-valued column: which order they stand in, and whether they are numbers.

A value is a text and stays as it stands, whatever column it is in: 00501, 250.0 and 250.00 are three values. A column is numeric where
one way of writing numbers gives back every text of it from its number (39; 2.5; 39.0; 2.50), so that no two of its values are the same
number. Codes that only look like numbers (250.0 beside 250.00) do not pass. Whoever knows better says so; then several values may be
one number, which is for those to see who reckon with numbers: the values stay apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

import numpy as np

from shoal.errors import InputError
from shoal.numbers import Codes, Floats
from shoal.ordering import natural_order

MISSING = ""
"""How a missing value stands among the values of a column: a value of its own."""

NO_NUMBER = "no value is spelled as numbers are"
"""Why a column of plain texts holds categories."""

_BLANKS = " \t\n\v\f\r"
# A whole number with an exponent but without its sign (1E5, 12E3) is more often a code; programs write 1e+05.
_SPELLED = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.([0-9]+))?(e[+-][0-9]{1,3})?", re.ASCII)
_PLAIN = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]*)(?:[eE][+-][0-9]{1,3})?|(?:(?:0|[1-9][0-9]*)?\.[0-9]+|(?:0|[1-9][0-9]*)\.)(?:[eE][+-]?[0-9]{1,3})?)",
    re.ASCII,
)
_ANY = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_LARGEST = 400  # digits: beyond the range of floating point in any case
_SAFE = 15  # digits that floating point always gives back


@dataclass(frozen=True)
class Ordering:
    """The distinct values of a column in order, and where each name went."""

    values: tuple[str, ...]
    place: Codes
    """Per given name, its place in `values`."""
    numbers: Floats | None
    """The number of each value, NaN for `MISSING`; none for categories."""


@dataclass(frozen=True)
class Kind:
    """Whether the values of a column are numbers, and why."""

    numeric: bool
    reason: str
    recognised: bool = False
    """Whether its categories are something that stands in an order, such as dates, as the reason says."""

    def __str__(self) -> str:
        return self.reason if self.recognised else f"{'numbers' if self.numeric else 'categories'}: {self.reason}"


def ordering(names: Sequence[str], numeric: bool | None = None) -> Ordering:
    """Distinct names in natural order, or as numbers ascending; `MISSING` first. `numeric` says which, None finds out.

    Raises `NumberError` if they must be numbers and are not.
    """
    return _numeric(names) if kind_of(names, numeric).numeric else _categorical(names)


def kind_of(names: Sequence[str], numeric: bool | None = None) -> Kind:
    """Whether distinct names are numbers: `numeric` says so, None finds out."""
    if numeric is not None:
        return Kind(numeric, "as you say")
    texts = [name for name in names if name != MISSING]
    if not texts:
        return Kind(False, "all values are missing")
    spelled = [_SPELLED.fullmatch(text) for text in texts]
    strange = sum(found is None for found in spelled)
    if strange == len(texts):
        return Kind(False, NO_NUMBER)
    if strange:
        return Kind(False, f"{strange:,} of {len(texts):,} different values are not spelled as numbers are")
    decimals = [found[1] or "" for found in spelled if found is not None]
    with_exponent = [found[2] is not None for found in spelled if found is not None]
    way = _way(decimals, with_exponent)
    if way is None:
        return Kind(False, "its numbers are not all spelled in one way, as codes may be (5 and 5.0, or 5.0 and 5.00)")
    exact = all(
        _given_back(text) for text, marked in zip(texts, with_exponent, strict=True) if marked or len(text) > _SAFE
    )
    if not exact or len(set(map(float, texts))) < len(texts):
        return Kind(False, "it has numbers too long to be told apart, or the same number twice (1e+3 and 1000)")
    return Kind(True, way)


def _way(decimals: Sequence[str], with_exponent: Sequence[bool]) -> str | None:
    """The one way in which numbers with these decimals are all spelled, if there is one."""
    if not any(decimals) and not any(with_exponent):
        return "whole numbers"
    ends = {text for text in decimals if text.endswith("0")}
    if not ends:
        return "each in its shortest spelling"
    if ends == {"0"} and all(text or marked for text, marked in zip(decimals, with_exponent, strict=True)):
        return "all with a point"
    if len(set(map(len, decimals))) == 1 and not any(with_exponent):
        return f"all with {len(decimals[0])} decimals"
    return None


def _given_back(text: str) -> bool:
    """Whether the number of a text gives back all of its digits."""
    return len(text) <= _LARGEST and Decimal(repr(float(text))) == Decimal(text)


class NumberError(InputError):
    """A value of a column that must be numeric. `place` is its place among the names."""

    def __init__(self, message: str, place: int) -> None:
        super().__init__(message)
        self.place = place


def same_numbers(names: Sequence[str]) -> int:
    """How many of these different values are a number that another of them spells otherwise."""
    numbers = [Decimal(bare) for name in names if is_number(bare := name.strip(_BLANKS))]
    return len(numbers) - len(set(numbers))


def is_number(text: str) -> bool:
    """Whether a text looks like a number by itself: not a code with leading zeros, not NaN or infinity; blanks around it do not matter."""
    return _reads(text, _PLAIN)


def _reads(text: str, pattern: re.Pattern[str]) -> bool:
    bare = text.strip(_BLANKS)
    return pattern.fullmatch(bare) is not None and len(bare) <= _LARGEST and abs(float(bare)) != float("inf")


def _categorical(names: Sequence[str]) -> Ordering:
    present = [i for i, name in enumerate(names) if name != MISSING]
    order = [i for i, name in enumerate(names) if name == MISSING]
    order += [present[i] for i in natural_order([names[i] for i in present])]
    return Ordering(tuple(names[i] for i in order), _places(order), None)


def _numeric(names: Sequence[str]) -> Ordering:
    number = [_number(name, i) for i, name in enumerate(names)]
    # Of several spellings of a number the shortest comes first, and stands for all where numbers are published.
    order = sorted(range(len(names)), key=lambda i: (number[i], len(names[i]), names[i]))
    for one, other in pairwise(order):
        if number[one] == number[other] and Decimal(names[one].strip()) != Decimal(names[other].strip()):
            raise NumberError("the number is too long to be told apart from another", max(one, other))
    numbers = np.array([np.nan if number[i] == -np.inf else number[i] for i in order], np.float64)
    return Ordering(tuple(names[i] for i in order), _places(order), numbers)


def _places(order: Sequence[int]) -> Codes:
    place = np.empty(len(order), np.int32)
    place[list(order)] = np.arange(len(order))
    return place


def _number(name: str, place: int) -> float:
    """The number, negative infinity for a missing one: it goes first."""
    if name == MISSING:
        return -np.inf
    if not _reads(name, _ANY):
        raise NumberError("the value is not a number", place)
    return float(name)
