"""Project: one data set on its way, as a plan that may still be incomplete.

The draft is the document of a plan (dicts, as in YAML) and lies as `plan.yaml` in the project's folder; a column whose role is not
decided has None. Every change is written at once, so that a page can be reloaded or closed at any moment, and can be undone.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from shoal.app.project.own_files import read_json, write_json, write_own
from shoal.app.project.wording import PageOrigin, as_sentence
from shoal.errors import InputError
from shoal.hierarchy.spec import is_made
from shoal.plan import Plan, plan_of
from shoal.plan.save import yaml_text

MOST_UNDONE = 50


class Project:
    """A folder with a draft, its history, settings of the panels, and jobs. It holds no state of its own: the files do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def name(self) -> str:
        return str(self.settings.get("name", self.id))

    @property
    def created(self) -> str:
        return str(self.settings.get("created", ""))

    # The draft.

    @property
    def draft(self) -> dict[str, Any]:
        """The document of the plan, as far as it is decided; empty before data are chosen. A copy: change it with `change`."""
        try:
            text = (self.folder / "plan.yaml").read_bytes()
        except FileNotFoundError:
            return {}
        return copy.deepcopy(_document(text))

    def change(self, edit: Callable[[dict[str, Any]], None] | Mapping[str, Any]) -> dict[str, Any]:
        """Changes the draft and writes it. `edit` gets the document to alter it, or is a mapping of top-level keys to put there
        (None takes a key away). What was before can be brought back with `undo`."""
        before = self.draft
        after = copy.deepcopy(before)
        if callable(edit):
            edit(after)
        else:
            for key, value in edit.items():
                if value is None:
                    after.pop(key, None)
                else:
                    after[key] = value
        if after != before:
            past = self._history("past")[-MOST_UNDONE + 1 :]
            write_json(self.folder / "history.json", {"past": [*past, before], "future": []})
            self._write(after)
        return after

    def undo(self) -> bool:
        """Brings back what was before the last change. Says whether there was one."""
        return self._step("past", "future")

    def redo(self) -> bool:
        return self._step("future", "past")

    def forget(self) -> None:
        """Begins a new history: what was before cannot be brought back."""
        write_json(self.folder / "history.json", {"past": [], "future": []})

    @property
    def can_undo(self) -> bool:
        return bool(self._history("past"))

    @property
    def can_redo(self) -> bool:
        return bool(self._history("future"))

    def plan(self) -> Plan:
        """The draft as a plan whose paths this process finds. Raises `InputError`, with the reason, while it is incomplete."""
        return plan_of(self.draft, PageOrigin(folder=str(self.folder)))

    def problem(self) -> str | None:
        """What is missing or wrong in the draft, as a sentence; None when it can be run."""
        if not self.draft:
            return "No data have been chosen yet."
        try:
            self.plan()
        except InputError as error:
            return as_sentence(error)
        return None

    @property
    def data(self) -> Path | None:
        """The file of data, if it is chosen and still there."""
        given = self.draft.get("input", {}).get("path")
        path = None if given is None else (self.folder / given).resolve()
        return path if path is not None and path.is_file() else None

    @property
    def roles(self) -> dict[str, str | None]:
        return dict(self.draft.get("columns") or {})

    @property
    def open_columns(self) -> list[str]:
        """Columns that have no role yet."""
        return [name for name, role in self.roles.items() if role is None]

    def of_role(self, role: str) -> list[str]:
        return [name for name, given in self.roles.items() if given == role]

    @property
    def files(self) -> list[str]:
        """The files that it has ever read, as seen from its folder."""
        return list(self.settings.get("files") or ())

    def remember(self, path: Path) -> None:
        """Remembers a file that it reads: what is no longer named must not be forgotten when the project is removed."""
        name = os.path.relpath(path, self.folder.resolve())
        if name not in self.files:
            self.set(files=[*self.files, name])

    # Settings: what panels remember besides the plan.

    @property
    def settings(self) -> dict[str, Any]:
        return read_json(self.folder / "settings.json")

    def set(self, **values: Any) -> None:
        write_json(self.folder / "settings.json", self.settings | values)

    def _history(self, side: str) -> list[dict[str, Any]]:
        return list(read_json(self.folder / "history.json").get(side, ()))

    def _step(self, taken: str, given: str) -> bool:
        stack = self._history(taken)
        if not stack:
            return False
        other = [*self._history(given), self.draft]
        write_json(self.folder / "history.json", {taken: stack[:-1], given: other})
        self._write(stack[-1])
        return True

    def _write(self, document: dict[str, Any]) -> None:
        write_own(self.folder / "plan.yaml", plan_text(document))


@lru_cache(maxsize=16)
def _document(text: bytes) -> dict[str, Any]:
    """A plan's document. A page asks for it dozens of times, and YAML of thousands of columns takes seconds to read."""
    try:
        found = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        return {}
    return found if isinstance(found, dict) else {}


def plan_text(document: Mapping[str, Any]) -> bytes:
    """A document as YAML. It goes through JSON so that no object stands in it twice: plans have no aliases."""
    return yaml_text(json.loads(json.dumps(document))).encode()


def paths_of(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(dotted key, path) of all files that a plan names; forms of hierarchies that need no file are none."""
    for keys, path in _places(document):
        yield ".".join(keys), path


def relocate(document: Mapping[str, Any], old: Path, new: Path) -> dict[str, Any]:
    """The document of a plan in one folder as it must read in another, so that it speaks of the same files."""
    found: dict[str, Any] = copy.deepcopy(dict(document))
    for keys, path in list(_places(document)):
        if path == "-" or "://" in path:
            continue
        whole = os.path.join(old, path)
        inner = found
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = os.path.relpath(whole, new) if str(new) != "." else whole
    return found


def _places(document: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    for keys in (("input", "path"), ("sensitive_file",), ("options", "knowledge")):
        inner: Any = document
        for key in keys:
            inner = inner.get(key) if isinstance(inner, Mapping) else None
        if isinstance(inner, str):
            yield keys, inner
    trees = document.get("hierarchies")
    if isinstance(trees, str) and not is_made(trees):
        yield ("hierarchies",), trees
    elif isinstance(trees, Mapping):
        yield from (
            (("hierarchies", name), spec) for name, spec in trees.items() if isinstance(spec, str) and not is_made(spec)
        )
    outputs = document.get("outputs")
    if isinstance(outputs, Mapping):
        yield from ((("outputs", name), path) for name, path in outputs.items() if isinstance(path, str))
