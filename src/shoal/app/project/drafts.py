"""How a project begins: the draft that `shoal init` would make for its data, and what follows when a role is changed.

A promise that the user has chosen stays. Until then it follows the roles: sets alone, columns alone, or both.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shoal.app.project.column_choices import fit_columns
from shoal.app.project.project import Project
from shoal.app.project.promises import choose_model, fit_settings, kind_of, of_role, put_trees, trees_of, usual_kind
from shoal.app.project.wording import as_sentence
from shoal.app.project.workspace import Workspace
from shoal.errors import InputError
from shoal.plan.draft import Guess, draft
from shoal.records.foreign.oddities import Oddity, empty_marks, missing_header, oddity
from shoal.records.foreign.workbooks import WORKBOOKS, sheet_names, write_sheet
from shoal.records.layout import format_of
from shoal.records.roles import NO_COLUMN


def project_of(workspace: Workspace, path: Path) -> Project:
    """A new project for a file. Raises, and leaves none, where the file cannot be read and no other way of reading it is known."""
    project = workspace.new_project(path.name)
    try:
        bring(workspace, project, path)
        trouble = project.settings.get("trouble")
        if trouble and other_way(path, trouble=True) is None:
            raise InputError(str(trouble))
    except InputError:
        workspace.remove_project(project)
        raise
    return project


def bring(workspace: Workspace, project: Project, path: Path, sheet: str | None = None) -> None:
    """Gives a project the data in a file; of a workbook, a copy of one of its sheets."""
    if path.suffix.lower() not in WORKBOOKS:
        project.set(workbook=None)
        begin(project, path)
        return
    project.remember(path)
    names = sheet_names(path)
    if not names:
        raise InputError(f"{path.name}: none of its sheets holds anything; bring one that does")
    chosen = sheet if sheet in names else names[0]
    with workspace.part() as part:
        write_sheet(path, chosen, part)
        copy = workspace.keep(part, f"{path.stem}-{chosen}.csv")
    project.set(workbook={"path": os.path.relpath(path, project.folder.resolve()), "sheet": chosen, "sheets": names})
    begin(project, copy)


def other_way(path: Path, *, trouble: bool) -> Oddity | None:
    """How a file may be meant that cannot be read as it stands, has but one column, or no header."""
    if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        return None
    return oddity(path, unreadable=trouble) or (None if trouble else missing_header(path))


def read_as_missing(workspace: Workspace, project: Project, path: Path, marks: Mapping[str, str]) -> None:
    """Goes on with a copy of the data in which marks such as `?` are missing values; what was decided stays."""
    roles, before, chosen = project.roles, project.draft, project.settings.get("promise_chosen")
    with workspace.part() as part:
        empty_marks(path, marks, part)
        copy = workspace.keep(part, f"{path.name.partition('.')[0]}-read.csv")
    begin(project, copy)
    for role in {role for role in roles.values() if role is not None}:
        set_roles(project, [name for name in project.roles if roles.get(name) == role], role)
    if chosen:
        project.change(lambda document: _decide_again(document, before))
        project.forget()
        project.set(promise_chosen=True)


def _decide_again(document: dict[str, Any], before: Mapping[str, Any]) -> None:
    """Puts back what was decided about data that are read in another way now. Whose hash was named is gone."""
    source = before.get("input", {})
    document["input"] |= {name: source[name] for name in ("numeric", "spelling", "limit") if name in source}
    document.pop("hierarchies", None)
    document |= {name: part for name, part in before.items() if name not in ("input", "columns")}


def begin(project: Project, data: Path, format: str | None = None, separator: str | None = None) -> None:
    """Gives a project its data: guesses format and roles, and writes the draft. What fails is kept as the project's `trouble`."""
    path = os.path.relpath(data, project.folder)
    project.remember(data)
    try:
        found = draft(str(data), format=format)
    except InputError as error:
        project.set(trouble=as_sentence(error), data=path, guesses={})
        project.change(lambda document: document.clear())
        project.forget()
        return
    guesses = {
        guess.name: {"role": guess.role, "reason": guess.reason, "hierarchy": guess.hierarchy, "whose": guess.whose}
        | _kind_facts(guess)
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
        _choose_usual(project, document)
        document["outputs"] = {"data": _output(data.name, found.format)}

    project.change(put)
    project.forget()  # the guesses and reasons are those of this file


def set_role(project: Project, column: str, role: str | None) -> None:
    """Gives a column a role. The promise follows, unless the user has chosen it."""
    set_roles(project, (column,), role)


def set_roles(project: Project, columns: Iterable[str], role: str | None) -> None:
    """Gives columns a role, in one change."""

    def put(document: dict[str, Any]) -> None:
        if role == "person":  # one column says it
            document["columns"].update(dict.fromkeys(of_role(document, "person"), "drop"))
        document["columns"].update(dict.fromkeys(columns, role))
        _fit_separator(document, project.settings.get("separator"))
        _fit_numeric(document)
        if not project.settings.get("promise_chosen"):
            _choose_usual(project, document)
        else:
            put_trees(document, kind_of(document) or "k", trees_of(document))
        fit_settings(document)
        fit_columns(document)

    project.change(put)


def set_numeric(project: Project, found_out: bool) -> None:
    """Says that columns of numbers are found out, or that there are none."""

    def put(document: dict[str, Any]) -> None:
        document["input"].pop("numeric", None)
        if not found_out:
            document["input"]["numeric"] = NO_COLUMN

    project.change(put)


def _kind_facts(guess: Guess) -> dict[str, Any]:
    """What a column of single values is taken for, and why."""
    kind = guess.kind
    return {} if kind is None else {"numeric": kind.numeric, "kind": kind.reason, "recognised": kind.recognised}


def _fit_numeric(document: dict[str, Any]) -> None:
    """Without columns that are generalized there are no numbers, and a plan that says which is refused."""
    given = document["input"].pop("numeric", None)
    if given is None or "quasi" not in document["columns"].values():
        return
    if not isinstance(given, str):
        given = [name for name in given if document["columns"].get(name) in ("quasi", "sensitive", "keep")]
    document["input"]["numeric"] = given or NO_COLUMN


def _fit_separator(document: dict[str, Any], mark: str | None) -> None:
    """Without sets there are no cells to split, and a plan that says how is refused; with them the mark comes back."""
    if "items" not in document["columns"].values():
        document["input"].pop("separator", None)
    elif mark is not None:
        document["input"].setdefault("separator", mark)


def _choose_usual(project: Project, document: dict[str, Any]) -> None:
    """The promise, hierarchies and algorithm that fit the roles, until the user decides. Trees that were chosen stay."""
    kind, columns = usual_kind(document), document["columns"]
    for key in ("guarantee", "algorithm"):
        document.pop(key, None)
    if isinstance(document.get("hierarchies"), str) and kind != "km":
        del document["hierarchies"]
    guesses = project.settings.get("guesses", {})
    shapes = {name: guess["hierarchy"] for name, guess in guesses.items() if guess.get("hierarchy") and name in columns}
    choose_model(document, kind, {"hierarchies": shapes})


def _output(name: str, form: str) -> str:
    stem = name
    while format_of(stem)[0] or format_of(stem)[1] or stem.endswith((".gz", ".zst")):
        stem = os.path.splitext(stem)[0]
    return f"{stem or 'data'}-public.{ {'long': 'csv'}.get(form, form) }"
