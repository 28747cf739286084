"""The errors a user may want to catch. Each knows the exit code the command line gives it.

    ShoalError
    ├── InputError    the data, a file or a parameter is not usable (exit code 2); as Unavailable, a disk or a server failed
    └── Unreachable   the input is fine, but the promise does not hold or cannot be reached (exit code 3)

A message is one sentence that names the place (file, line, column, value) and the remedy.
"""

from collections.abc import Sequence
from typing import Any


class ShoalError(Exception):
    """Base of everything Shoal raises on purpose."""

    exit_code = 1


class InputError(ShoalError):
    """Bad input or usage: a missing file, a broken line, an unknown item, an impossible parameter."""

    exit_code = 2


class Unavailable(InputError):  # noqa: N818 - reads as what it says
    """A disk or a server failed, which says nothing about what it holds."""


class Unreachable(ShoalError):  # noqa: N818 - reads as what it says
    """The guarantee does not hold, or no recoding can reach it."""

    exit_code = 3

    def __init__(self, message: str = "", witnesses: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.witnesses = tuple(witnesses)
        """Who shows it, where somebody does: values of the data, which the message never holds."""
