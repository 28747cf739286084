"""What each command prints with `--json`, as JSON Schema (2020-12): `shoal schema anonymize`.

The documents are described as pydantic models, one module for each kind of command, and where the rooms below have a type for a part
(`ItemsRemains`, `Exposure`, the options of a run) by that type. Every key is required unless it is marked with `absent`, and no other is
allowed, so a key that is misspelt or missing breaks the schema. Whatever a command prints, it may print an `Error` instead.

The version is in the `$id`. It changes when a key goes or means something else; a key that is added does not change it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pydantic import TypeAdapter

from shoal.cli.schemas.parts import ABSENT, CONFIG, DIALECT, Error

VERSION = 1
MODULES = ("releases", "audits", "measures", "studies", "tools")


def outputs() -> dict[str, tuple[Any, ...]]:
    """Per command, what it may print besides an error."""
    return {
        command: kinds
        for module in MODULES
        for command, kinds in import_module(f"shoal.cli.schemas.{module}").OUTPUTS.items()
    }


def schema_of(command: str) -> dict[str, Any]:
    """The JSON Schema of what a command prints."""
    any_of: Any = functools.reduce(operator.or_, (*outputs()[command], Error))
    made = TypeAdapter(any_of, config=CONFIG).json_schema()
    named = {"$schema": DIALECT, "$id": f"urn:shoal:output:{command.replace(' ', '-')}:{VERSION}"}
    return {**named, "title": f"shoal {command} --json", **_strict(made)}


def _strict(part: Any) -> Any:
    """A schema whose objects have all their keys, and no others."""
    if isinstance(part, list):
        return [_strict(one) for one in part]
    if not isinstance(part, Mapping):
        return part
    made = {key: _strict(value) for key, value in part.items() if key not in ("default", ABSENT)}
    if isinstance(part.get("properties"), Mapping):
        properties: Mapping[str, Any] = part["properties"]
        made["properties"] = {name: _untitled(_strict(one)) for name, one in properties.items()}
        made["required"] = [name for name, one in properties.items() if ABSENT not in one]
        made.setdefault("additionalProperties", False)
    return made


def _untitled(schema: dict[str, Any]) -> dict[str, Any]:
    """A property without the title that pydantic makes of its name."""
    return {key: value for key, value in schema.items() if key != "title"}
