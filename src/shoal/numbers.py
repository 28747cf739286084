"""Numbers: which a user may give, and how large they may be; and what arrays of them are called.

k, l and m may be of any size: more than there are rows, or items in a row, asks for as much as there is. What is done so many times, or
takes room for each, has a largest value, so that a slip of the keyboard is a sentence and not an hour.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError, PromiseWarning
from shoal.options import LONGEST, OPTIONS, Seconds, Share, Whole

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
"""Items, nodes, values or classes, by their numbers."""
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

MOST = {name: row.kind.most for name, row in OPTIONS.items() if isinstance(row.kind, Whole)} | {
    "queries": 1_000_000,
    "pairs": 10_000_000,
    "sample": 10**9,
    "witnesses": 10_000,
    "examples": 10_000,
    "transactions": 10**9,
    "items": 1_000_000,
    "patterns": 10**9,
}
"""The largest value of what takes time or room for each."""
_SHORT = 10**40


def check_value(name: str, value: Any) -> None:
    """Raises unless the value is a number that this option may have, if numbers are what it takes."""
    match OPTIONS[name].kind:
        case Whole(least):
            whole_number(name, value, least)
        case Share(example):
            share(name, value, example)
        case Seconds():
            seconds("the time limit", value)


def whole_number(name: str, value: Any, least: int) -> None:
    """Raises unless the value is a whole number that this name may have."""
    most = MOST.get(name)
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {_shown(value)}")
    if most is not None and value > most:
        raise InputError(f"{name} must be a whole number from {least} to {most:,}, not {_shown(value)}")


def warn_of_one(k: int) -> None:
    """Warns whoever makes a guarantee with k = 1, which every row keeps by itself."""
    if k == 1:
        told = "with k = 1 nobody needs to be like anybody else, so that any data keep the promise; take k = 2 or more"
        warnings.warn(told, PromiseWarning, stacklevel=4)


def share(name: str, value: Any, example: str) -> None:
    """Raises unless the value is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value <= 1:
        raise InputError(f"{name} is {_shown(value)}; give a share from 0 to 1, such as {example}")


def seconds(name: str, value: Any) -> None:
    """Raises unless the value is a time that can be waited for."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value <= LONGEST:
        raise InputError(f"{name} is {_shown(value)}; give seconds, more than 0 and at most {LONGEST:,.0f}")


def is_finite(value: Any) -> bool:
    """Whether it is a number like any other: no text, no truth, neither infinite nor undefined."""
    return not isinstance(value, bool) and isinstance(value, int | float | np.number) and math.isfinite(value)


def _shown(value: Any) -> str:
    if isinstance(value, int) and abs(value) >= _SHORT:
        return "one of many digits"
    return repr(value)
