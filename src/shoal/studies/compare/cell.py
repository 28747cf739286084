"""A cell: one plan of a grid, what it is recognised by, and what came of it.

A cell is recognised by content: its plan, in which every path stands for the hash of the file's bytes, the version of Shoal, and
the number of the repetition. How a path is spelled does not matter, and a changed file makes another cell. Nothing here holds a
value of the data: reasons are messages, which hold none.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from shoal import __version__
from shoal.errors import InputError
from shoal.hierarchy.spec import is_made
from shoal.plan import Origin, Plan, plan_of
from shoal.records.layout import format_of
from shoal.records.source import fingerprint

FORMAT = 2
"""Of the files in which outcomes are kept."""

DONE, UNREACHABLE, REFUSED, MEMORY, STOPPED, FAULT = "done", "unreachable", "refused", "memory", "stopped", "fault"
WORDS = {
    DONE: "done",
    UNREACHABLE: "unreachable",
    REFUSED: "refused",
    MEMORY: "out of memory",
    STOPPED: "stopped",
    FAULT: "bug in Shoal",
}
"""What a cell can come to. All but the first are failures."""


@dataclass(frozen=True)
class Cell:
    """One plan of a grid."""

    document: Mapping[str, Any]
    """The plan, as YAML and JSON give it, without outputs."""
    settings: Mapping[str, Any]
    """Its algorithm, the parameters of its promise, hierarchies and options, each as a number or a short text."""
    refused: str | None
    """Why it is not a plan, if it is none."""
    identity: str
    """Equal for equal cells."""

    @classmethod
    def of(cls, document: Mapping[str, Any], origin: Origin) -> Cell:
        refused = None
        try:
            document = plan_of(document, origin).model_dump(exclude_defaults=True, exclude={"outputs"})
        except InputError as error:
            refused = str(error).removeprefix(f"{origin.name}: ")
        identity = json.dumps([document, list(document.get("columns", ()))], sort_keys=True, default=str)
        return cls(document, settings_of(document), refused, identity)

    def plan(self, origin: Origin) -> Plan:
        """It as a plan that could be run alone."""
        return plan_of(self.document, Origin(origin.name, origin.folder))


def settings_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a plan sets, flat: names as on the axes of a grid, values as numbers or short texts."""
    promise = ({"l": 1} if document["guarantee"].get("model") == "k" else {}) | dict(document["guarantee"])
    found = {"algorithm": document["algorithm"]} | {name: promise[name] for name in ("k", "m", "l") if name in promise}
    if document.get("hierarchies") is not None:
        found["hierarchies"] = label(document["hierarchies"])
    for name, value in (document.get("options") or {}).items():
        if value is not None:
            found[name] = _unnamed(value) if name == "item_weights" else label(value)
    return found


def label(value: Any, *, whole: bool = False) -> Any:
    """A value of an axis as a table shows it: files by their names, or by the whole path."""
    if isinstance(value, Mapping):
        return "; ".join(f"{name}={label(part, whole=whole)}" for name, part in value.items())
    if isinstance(value, str):
        return value if whole or is_made(value) else os.path.basename(value) or value
    return value


def distinguish(cells: Sequence[Cell]) -> list[Cell]:
    """The same cells; where files in different folders have one name, their paths stand in the table instead."""
    paths: dict[tuple[str, Any], set[str]] = {}
    for cell in cells:
        for name, path in _paths(cell).items():
            paths.setdefault((name, cell.settings[name]), set()).add(path)

    def ambiguous(cell: Cell) -> dict[str, str]:
        return {name: path for name, path in _paths(cell).items() if len(paths[name, cell.settings[name]]) > 1}

    return [replace(cell, settings={**cell.settings, **ambiguous(cell)}) for cell in cells]


def _paths(cell: Cell) -> dict[str, str]:
    """The settings that name files, as whole paths."""
    given = {"hierarchies": cell.document.get("hierarchies")} | dict(cell.document.get("options") or {})
    return {name: label(given[name], whole=True) for name in ("hierarchies", "knowledge") if name in cell.settings}


def _unnamed(weights: Mapping[str, Any]) -> str:
    """Weights of items without their names: tables and pages name no item."""
    digest = hashlib.sha256(json.dumps(dict(weights), sort_keys=True).encode()).hexdigest()
    return f"{len(weights)} items, {digest[:6]}"


class Contents:
    """The hashes of the data and of the files beside them, each read once."""

    def __init__(self, data: str) -> None:
        self._data = data
        self._known: dict[str, str] = {}

    @cached_property
    def data(self) -> str:
        """The hash of the data, a file's bytes or a table's rows. Raises if they cannot be read."""
        return fingerprint(self._data)

    def of(self, path: str) -> str:
        """The SHA-256 of a file's bytes; `missing` for what cannot be read."""
        if path not in self._known:
            try:
                with open(path, "rb") as file:
                    self._known[path] = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError:
                self._known[path] = "missing"
        return self._known[path]


def key_of(cell: Cell, origin: Origin, contents: Contents, repeat: int) -> str:
    """What a cell is recognised by."""

    def file(path: str) -> Any:
        # The end of its name tells how a file is read.
        return [contents.of(os.path.join(origin.folder, path)), os.path.splitext(path)[1].lower()]

    def spec(given: Any) -> Any:
        if isinstance(given, Mapping):
            return {name: spec(one) for name, one in given.items()}
        return given if not isinstance(given, str) or is_made(given) else file(given)

    plan = dict(cell.document)
    read = {name: value for name, value in plan["input"].items() if name != "sha256"}
    plan["input"] = {**read, "path": [contents.data, *format_of(read["path"])]}
    plan["columns"] = list(plan.get("columns", {}).items())  # their order may decide ties
    if plan.get("hierarchies") is not None:
        plan["hierarchies"] = spec(plan["hierarchies"])
    if plan.get("sensitive_file") is not None:
        plan["sensitive_file"] = file(plan["sensitive_file"])
    if (plan.get("options") or {}).get("knowledge") is not None:
        plan["options"] = {**plan["options"], "knowledge": file(plan["options"]["knowledge"])}
    text = json.dumps([FORMAT, __version__, repeat, plan], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Outcome:
    """What came of a cell."""

    key: str
    status: str
    reason: str | None = None
    """Why it failed, in a sentence without values of the data."""
    guarantee: str | None = None
    holds: bool | None = None
    """What the audit says of the rows that would be published."""
    checked: int | None = None
    loss: Mapping[str, float] = field(default_factory=dict)
    kept: Mapping[str, float] = field(default_factory=dict)
    price: str | None = None
    """What the search made cheap, and an optimum is proven in; NCP where the algorithm has no choice."""
    optimal: bool | None = None
    bound: float | None = None
    seconds: float | None = None
    """From reading to the audit, after the warm-up."""
    peak_mb: float | None = None
    start_mb: float | None = None
    """Memory before the data were read: the interpreter, libraries, compiled kernels."""
    rows: int | None = None
    classes: int | None = None
    warm: bool | None = None
    """Whether the algorithm ran on a few made-up rows before it was timed."""
    threads: int | None = None
    jobs: int | None = None
    """Cells that shared the machine."""
    limit: float | None = None
    """Seconds after which it would have been stopped."""
    repeat: int = 1

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"format": FORMAT, "version": __version__}

    @classmethod
    def of(cls, document: Any) -> Outcome | None:
        """The outcome in a document, if there is a sound one."""
        if not isinstance(document, Mapping) or document.get("format") != FORMAT or document.get("status") not in WORDS:
            return None
        if not isinstance(document.get("key"), str) or not isinstance(document.get("loss"), Mapping):
            return None
        return cls(**{one.name: document[one.name] for one in fields(cls) if one.name in document})
