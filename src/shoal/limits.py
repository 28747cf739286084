"""Limits: how much an input may unfold to, so that no file takes more memory than its owner allowed.

A few kilobytes of gzip or Parquet can hold gigabytes, and a device never ends. One size, the input limit, bounds them all: what is read
from an input may take so much memory and no more; a line of text, a tree and a list may have a small part of it. Unless it was set, a large
file may take more, as much as plain text of its size would. `--input-limit` sets it for a command, `input_limit=` for a call, the
variable SHOAL_INPUT_LIMIT for all processes below.

A file that holds no data but says what to do (a certificate, a key) has a size of its own that nothing raises.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, BinaryIO

from shoal.errors import InputError, option

VARIABLE = "SHOAL_INPUT_LIMIT"
DEFAULT = 2 * 10**9
LEAST = 10**6
"""Below, not even a block of a good file fits."""
_PART = 32
"""A line, a tree or a list may have this part of the limit: text takes up to thirty times its size when it is taken apart."""
_UNFOLDING = 64
"""Bytes of memory that a byte of plain text may take: an empty row."""

_UNITS = {"": 1, "B": 1, "K": 1 << 10, "KB": 10**3, "KIB": 1 << 10, "M": 1 << 20, "MB": 10**6, "MIB": 1 << 20}
_UNITS |= {"G": 1 << 30, "GB": 10**9, "GIB": 1 << 30, "T": 1 << 40, "TB": 10**12, "TIB": 1 << 40}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", re.ASCII)

_asked: ContextVar[int | None] = ContextVar("input_limit", default=None)


def input_limit() -> int:
    """Bytes of memory that an input may take."""
    return _given() or DEFAULT


def room_for(name: str, size: int | None) -> Room:
    """The memory that what is read from an input may take; `size` is that of its file, None for what has none."""
    return Room(name, _given() or max(DEFAULT, _UNFOLDING * (size or 0)))


def _given() -> int | None:
    asked = _asked.get()
    if asked is None and (text := os.environ.get(VARIABLE)):
        return checked_limit(text)
    return asked


def part_limit() -> int:
    """Bytes that a line of text, a tree or a list may have."""
    return input_limit() // _PART


@contextlib.contextmanager
def limited_inputs(limit: int | str | None) -> Iterator[None]:
    """Inside, inputs may unfold to this and no more; None leaves the limit as it is."""
    if limit is None:
        yield
        return
    token = _asked.set(checked_limit(limit))
    try:
        yield
    finally:
        _asked.reset(token)


def checked_limit(limit: int | str) -> int:
    """An input limit in bytes; raises if it is none."""
    size = size_in_bytes(limit, "input limit")
    if size < LEAST:
        raise InputError(f"an input limit of {size:,} bytes is too small to read anything; give at least 1MB")
    return size


def size_in_bytes(size: int | str, what: str) -> int:
    """What `2GB`, `1.5 GiB`, `800M` or a number of bytes stands for; `what` it is the size of."""
    found = _SIZE.fullmatch(str(size))
    unit = _UNITS.get(found[2].upper()) if found else None
    if isinstance(size, bool) or found is None or unit is None:
        raise InputError(f"{what} {size!r} is not a size; give a number with a unit, such as 2GB or 800MB")
    # More than any machine has is no limit at all.
    return int(min(float(found[1]) * unit, float(1 << 60)))


def shown_size(size: int) -> str:
    """`64 MB`, `2.0 GB`: never less than it is."""
    return f"{size / 1e9:.1f} GB" if size >= 10**9 else f"{-(-size // 10**6)} MB"


def set_for_process(limit: str) -> None:
    """Sets the limit for this process and those that it starts; raises if it is none."""
    checked_limit(limit)
    os.environ[VARIABLE] = limit


@contextlib.contextmanager
def own_limit() -> Iterator[None]:
    """What the limit of the process is set to inside is forgotten afterwards."""
    before = os.environ.get(VARIABLE)
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)
        if before is not None:
            os.environ[VARIABLE] = before


@dataclass
class Room:
    """The memory that what is read from an input may take, and what it takes so far."""

    source: str
    limit: int
    taken: int = 0

    def take(self, size: int) -> None:
        """Raises if there is no room for so many bytes more."""
        self.taken += size
        if self.taken > self.limit:
            raise InputError(
                f"{self.source}: it takes more than {shown_size(self.limit)} of memory, which is the input limit; "
                f"check that it is the right file, or raise {option('input_limit')} if you trust it"
            )


def read_part(file: BinaryIO, name: str, what: str) -> bytes:
    """All of a file that is no more than a tree or a list may be. `what` it is, for the message."""
    most = part_limit()
    data = file.read(most + 1)
    if len(data) > most:
        raise too_long(name, what)
    return data


def too_long(name: str, what: str) -> InputError:
    """What to say of a tree or a list that is longer than it may be."""
    return InputError(
        f"{name}: it has more than {shown_size(part_limit())}, too much for {what}; check that it is the right file, "
        f"or raise {option('input_limit')}, of which that is a {_PART}nd part"
    )


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, for `object_pairs_hook`. Raises `ValueError` where a key stands twice: one of its values would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in an object")
    return found


def read_fixed(file: BinaryIO, name: str, most: int, what: str) -> bytes:
    """All of a file that has at most so many bytes, whatever the limit."""
    data = file.read(most + 1)
    if len(data) > most:
        raise InputError(f"{name}: it has more than {shown_size(most)}, too much for {what}; is it another file?")
    return data
