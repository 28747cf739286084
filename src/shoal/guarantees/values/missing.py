"""How a missing sensitive value is read.

`unknown`, the safe reading: nobody wrote the value down, so it may be any. It counts for none towards l, and where shares matter it is
taken for the value that makes an attacker surest. `value`: that there is none is an answer of its own, and counts as one more value.
A cell is missing if it is empty or blank, null or NaN; a text such as `?` or `NA` is a value like others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from shoal.errors import InputError, option
from shoal.numbers import Bools

UNKNOWN, VALUE = "unknown", "value"

Missing = str | Mapping[str, str]
"""One reading for all sensitive columns, or one by column; columns that are not named are read as unknown."""


def checked_missing(missing: Any) -> Missing:
    """The same as plain texts; raises if it is not a reading."""
    for column, reading in missing.items() if isinstance(missing, Mapping) else [("", missing)]:
        if reading in (UNKNOWN, VALUE):
            continue
        where = f"{column}={reading}" if column else f"{reading}"
        if reading == "drop":
            raise InputError(
                f"missing is {where}, but rows are not left out of a release; leave them out of the data, or choose unknown or value"
            )
        raise InputError(
            f"missing is {where}, which is not known; choose unknown or value, for all columns or as COL=value"
        )
    if isinstance(missing, Mapping):
        return {str(column): str(reading) for column, reading in missing.items()}
    return str(missing)


def check_named(missing: Missing, sensitive: Collection[str]) -> None:
    """Raises if a column is named that is not sensitive: elsewhere a missing value is a value of its own."""
    strange = [column for column in missing if column not in sensitive] if isinstance(missing, Mapping) else []
    if strange:
        raise InputError(
            f"missing values of {strange[0]!r} are always a value of their own, for the column is not sensitive; leave it out of "
            f"{option('missing')}"
        )


def reading_of(missing: Missing, column: str) -> str:
    """How missing values of one sensitive column are read."""
    return missing.get(column, UNKNOWN) if isinstance(missing, Mapping) else missing


def counted_values(values: Sequence[str], column: str, missing: Missing) -> Bools:
    """Which values of a sensitive column count towards l: all but the missing ones, where these are unknown."""
    reading = reading_of(missing, column)
    return np.array([reading == VALUE or value.strip() != "" for value in values], np.bool_)


def words_of(missing: Missing, unknown: str = "missing ones not counted") -> str:
    """What is said of missing values beside a number of values; `unknown` is what becomes of those that may be any."""
    if missing == VALUE:
        return ", a missing value counted as one of them"
    columns = (
        [repr(column) for column, reading in missing.items() if reading == VALUE]
        if isinstance(missing, Mapping)
        else []
    )
    return f", {unknown}" + (f" but as one value in {', '.join(columns)}" if columns else "")
