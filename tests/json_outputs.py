"""Every document that a command prints in this process is held against the schema of that command, whatever the test is about."""

from __future__ import annotations

import functools
import json
import sys
from typing import Any

import jsonschema

GROUPS = ("hierarchy", "datasets")


def command_in(words: list[str]) -> str:
    """`hierarchy show` of `hierarchy show tree.csv --json`."""
    return " ".join(words[: 2 if words and words[0] in GROUPS else 1])


@functools.cache
def validator_of(command: str) -> jsonschema.Draft202012Validator:
    from shoal.cli.schemas import outputs, schema_of

    # What is no command can only be refused, and all are refused alike.
    return jsonschema.Draft202012Validator(schema_of(command if command in outputs() else "warm"))


def faults_of(command: str, document: Any) -> list[str]:
    """What is wrong with a document, as the kind of output says that it is nearest to."""
    validator = validator_of(command)
    if validator.is_valid(document):
        return []
    error = next(validator.iter_errors(document))
    by_kind: dict[Any, list[Any]] = {}
    for one in error.context or [error]:
        by_kind.setdefault(one.schema_path[0], []).append(one)
    nearest = min(by_kind.values(), key=len)
    return [f"{command}: {'.'.join(map(str, one.absolute_path))}: {one.message[:300]}" for one in nearest]


def words_of_caller() -> list[str] | None:
    """What the command line was called with, if it was."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "main" and frame.f_globals.get("__name__") == "shoal.cli":
            return list(frame.f_locals["arguments"])
        frame = frame.f_back  # type: ignore[assignment]
    return None


def watch(faults: list[str]) -> None:
    """Notes what is wrong with documents that are printed from now on."""
    from shoal.cli import terminal

    text_of = terminal.json_text

    def checked_text(document: Any) -> str:
        text = text_of(document)
        if (words := words_of_caller()) is not None:
            faults.extend(faults_of(command_in(words), json.loads(text)))
        return text

    terminal.json_text = checked_text
