"""Where something stands in a plan, and how messages say it: `plan.yaml: guarantee.k (line 9): ...`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import option
from shoal.options import OPTIONS, Place
from shoal.passwords import without_passwords

_KEYS = {name: ".".join(map(str, row.place)) for name, row in OPTIONS.items()}
_AT = {row.place: name for name, row in OPTIONS.items()} | {
    ("sensitive_items",): "sensitive",
    ("sensitive_file",): "sensitive",
}


@dataclass(frozen=True)
class Origin:
    """Where a plan was read."""

    name: str = "the plan"
    """What messages call it."""
    folder: str = ""
    """What its relative paths are relative to; empty for the current folder."""
    lines: Mapping[Place, int] = field(default_factory=dict)
    """The line of each key, from 1, where it is known."""
    sha256: str | None = None

    def where(self, place: Place = ()) -> str:
        """What stands before a message about a place: `plan.yaml: guarantee.k (line 9): `."""
        if place[:2] == ("options", "item_weights"):
            place = place[:2]  # its keys are items
        line = line_of(self, place)
        return f"{self.name}: " + (f"{dotted_path(place)}{f' (line {line})' if line else ''}: " if place else "")

    def mention(self, name: str, value: str | None) -> str:
        """What messages call an option: the plan's key for it."""
        return in_plan(name, value)


def sentence(origin: Origin, place: Place, message: str) -> str:
    return f"{origin.where(place)}{message}"


class Asked(Origin):
    """A plan that was made from options: messages speak of those."""

    def where(self, place: Place = ()) -> str:
        if place in ((), ("columns",), ("outputs",)):
            return ""
        if place[0] == "columns":
            return f"column {place[1]!r}: "
        for length in range(len(place), 0, -1):
            if place[:length] in _AT:
                inner = place[length] if len(place) > length and place[:2] != ("options", "item_weights") else None
                where = f" for {inner!r}" if isinstance(inner, str) and inner else ""
                return f"{option(_AT[place[:length]])}{where}: "
        return "the data: " if place == ("input", "path") else f"{dotted_path(place)}: "

    def mention(self, name: str, value: str | None) -> str:
        return option(name, value)


def in_plan(name: str, value: str | None) -> str:
    """An option as a plan says it; who runs the plan says the rest."""
    if name in ("force", "shell"):
        return option(name, value)
    if value is None:
        return _KEYS.get(name, f"options.{name}")
    if name == "hierarchy":
        column, equals, spec = value.partition("=")
        return f"hierarchies: {{{column}: {spec}}}" if equals else f"hierarchies: {value}"
    if name in ("model", "algorithm"):
        return f"{name} {value}"
    key = _KEYS.get(name, f"options.{name}")
    return f"options: {{{name}: {value}}}" if key.startswith("options.") else f"{key}: {value}"


def line_of(origin: Origin, place: Place) -> int | None:
    """The line of a place, or of what it would stand in."""
    return next((origin.lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in origin.lines), None)


def dotted_path(place: Place) -> str:
    return ".".join(str(key) if re.fullmatch(r"[\w-]{1,60}", str(key)) else short_form(key) for key in place)


def short_form(value: Any) -> str:
    """A value as a message shows it: short, without looking into it, and without the password of an address in the wrong place."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str):
        value = without_passwords(value)
        return repr(value if len(value) <= 60 else f"{value[:57]}...")
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "nothing"}[value]
    try:
        text = str(value)
    except ValueError:  # an integer of thousands of digits
        text = "a very long number"
    return text if len(text) <= 60 else f"{text[:57]}..."
