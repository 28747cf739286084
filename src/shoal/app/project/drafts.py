"""How a project begins: the draft that `shoal init` would make for its data, and what follows when a role is changed.

A promise that the user has chosen stays. Until then it follows the roles: sets alone, columns alone, or both.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.app.project.project import Project
from shoal.app.project.wording import as_sentence
from shoal.errors import InputError
from shoal.plan.draft import K, L, M, draft
from shoal.records.columns import NO_COLUMN
from shoal.records.formats.oddities import A_WORKBOOK, WORKBOOKS
from shoal.records.layout import format_of


def begin(project: Project, data: Path, format: str | None = None, separator: str | None = None) -> None:
    """Gives a project its data: guesses format and roles, and writes the draft. What fails is kept as the project's `trouble`."""
    path = os.path.relpath(data, project.folder)
    try:
        found = draft(str(data), format=format)
    except InputError as error:
        why = A_WORKBOOK if data.suffix.lower() in WORKBOOKS else as_sentence(error)
        project.set(trouble=why, data=path, guesses={})
        project.change(lambda document: document.clear())
        project.forget()
        return
    guesses = {
        guess.name: {"role": guess.role, "reason": guess.reason, "hierarchy": guess.hierarchy}
        for guess in found.guesses
    }
    looked = {"rows": found.rows, "complete": found.complete, "format": found.format, "named": found.named}
    project.set(trouble=None, data=path, guesses=guesses, looked=looked, reason=found.reason, promise_chosen=False)
    project.set(aside=None, separator=separator or found.separator)  # what was put aside is that of another file
    source: dict[str, Any] = {"path": path}
    if format is not None or not found.named:
        source["format"] = found.format
    if (mark := separator or found.separator) is not None:
        source["separator"] = mark

    def put(document: dict[str, Any]) -> None:
        document.clear()
        document |= {"version": 1, "input": source, "columns": {guess.name: guess.role for guess in found.guesses}}
        document |= promise_for(document, guesses)
        document["outputs"] = {"data": _output(data.name, found.format)}

    project.change(put)
    project.forget()  # the guesses and reasons are those of this file


def set_role(project: Project, column: str, role: str | None) -> None:
    """Gives a column a role. The promise follows, unless the user has chosen it."""
    set_roles(project, (column,), role)


def set_roles(project: Project, columns: Iterable[str], role: str | None) -> None:
    """Gives columns a role, in one change."""

    def put(document: dict[str, Any]) -> None:
        document["columns"].update(dict.fromkeys(columns, role))
        _fit_separator(document, project.settings.get("separator"))
        _fit_numeric(document)
        if not project.settings.get("promise_chosen"):
            chosen = document.get("hierarchies")
            for key in ("hierarchies", "guarantee", "algorithm"):
                document.pop(key, None)
            document |= promise_for(document, project.settings.get("guesses", {}))
            _keep_trees(document, chosen)
        else:
            _drop_trees(document)

    project.change(put)


def set_numeric(project: Project, found_out: bool) -> None:
    """Says that columns of numbers are found out, or that there are none."""

    def put(document: dict[str, Any]) -> None:
        document["input"].pop("numeric", None)
        if not found_out:
            document["input"]["numeric"] = NO_COLUMN

    project.change(put)


def _fit_numeric(document: dict[str, Any]) -> None:
    """Without columns that are generalized there are no numbers, and a plan that says which is refused."""
    given = document["input"].pop("numeric", None)
    if given is None or "quasi" not in document["columns"].values():
        return
    if not isinstance(given, str):
        given = [name for name in given if document["columns"].get(name) in ("quasi", "sensitive", "keep")]
    document["input"]["numeric"] = given or NO_COLUMN


def _fit_separator(document: dict[str, Any], mark: str | None) -> None:
    """Without sets there are no cells to part, and a plan that says how is refused; with them the mark comes back."""
    if "items" not in document["columns"].values():
        document["input"].pop("separator", None)
    elif mark is not None:
        document["input"].setdefault("separator", mark)


def _keep_trees(document: dict[str, Any], chosen: Any) -> None:
    """Trees that were chosen stay those of columns that are still generalized."""
    found = document.get("hierarchies")
    if isinstance(chosen, str) and isinstance(found, str):
        document["hierarchies"] = chosen
    elif isinstance(chosen, dict) and not isinstance(found, str) and "quasi" in document["columns"].values():
        document["hierarchies"] = (found or {}) | chosen
        _drop_trees(document)


def _drop_trees(document: dict[str, Any]) -> None:
    """A column that is no longer generalized has no tree."""
    trees, columns = document.get("hierarchies"), document["columns"]
    if isinstance(trees, dict):
        items = "+".join(name for name, role in columns.items() if role == "items")
        left = {name: spec for name, spec in trees.items() if name == items or columns.get(name) == "quasi"}
        document.pop("hierarchies")
        document |= {"hierarchies": left} if left else {}


def promise_for(document: dict[str, Any], guesses: dict[str, Any]) -> dict[str, Any]:
    """The promise, hierarchies and algorithm that fit the roles of a document, until the user decides."""
    columns = document.get("columns") or {}
    roles = set(columns.values())
    model = "k"
    if "items" in roles or not columns:
        model = "rt" if "quasi" in roles else "k" if "sensitive" in roles else "km"
    promise: dict[str, Any] = {"model": model, "k": K}
    if model in ("km", "rt"):
        promise["m"] = M
    elif "sensitive" in roles:
        promise["l"] = L
    kind = "table" if model == "k" and "quasi" in roles else model
    found: dict[str, Any] = {}
    shapes = {
        name: guess["hierarchy"]
        for name, guess in guesses.items()
        if guess.get("hierarchy") and columns.get(name) == "quasi"
    }
    if model == "km":
        found["hierarchies"] = "frequency:5"
    elif shapes:
        found["hierarchies"] = shapes
    return found | {"guarantee": promise, "algorithm": next(iter(ALGORITHMS[kind]))}


def _output(name: str, form: str) -> str:
    stem = name
    while format_of(stem)[0] or format_of(stem)[1] or stem.endswith((".gz", ".zst")):
        stem = os.path.splitext(stem)[0]
    return f"{stem or 'data'}-public.{ {'long': 'csv'}.get(form, form) }"
