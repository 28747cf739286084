"""The tree of a column in a project: which one it has, what becomes of it by edits, and the way back.

The plan names the tree of a column. An edit never changes a file: it writes the new tree as another one, called by its content, into
the project's folder and lets the plan name that. So whatever the plan has named, jobs that wait and histories included, stays what it
was, and undo is naming the tree before. The steps of each column are in `trees/steps.json`.
"""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa

from shoal.app.jobs.queue import Job, Jobs
from shoal.app.panels.hierarchies.loaded_tree import Loaded
from shoal.app.panels.hierarchies.tree_values import FOLDER, HELD, TREE, Need, latest_job, trees_folder, values_key
from shoal.app.project.own_files import read_json, safe_name, write_json, write_own
from shoal.app.project.project import Project
from shoal.app.project.workspace import Workspace
from shoal.errors import InputError
from shoal.hierarchy import edit as edits
from shoal.hierarchy.files import hierarchy_text, read_hierarchy
from shoal.hierarchy.fitting import ColumnFit, best_column
from shoal.hierarchy.spec import Values, is_made, resolve
from shoal.hierarchy.tree import Hierarchy

LARGE = 10_000
"""Nodes beyond which a tree is kept packed."""
KEPT_NODES = 2_000_000
"""Nodes of all trees that are kept in memory: undo takes up the tree before, which it would have to read and count otherwise."""
MOST_STEPS = 50
_LOADED: OrderedDict[tuple[Any, ...], Loaded] = OrderedDict()
_READ: dict[tuple[Any, ...], Hierarchy] = {}
_LOCK = Lock()


@dataclass(frozen=True)
class Steps:
    """What was done to the tree of a column, and where one is."""

    steps: tuple[Mapping[str, Any], ...]
    at: int

    @property
    def undoes(self) -> str | None:
        """What an undo takes back, in words."""
        return str(self.steps[self.at]["did"]) if self.at > 0 else None

    @property
    def redoes(self) -> str | None:
        return str(self.steps[self.at + 1]["did"]) if self.at + 1 < len(self.steps) else None


@dataclass(frozen=True)
class ColumnTree:
    """The tree of a column, or of the items, over its values."""

    project: Project
    need: Need
    values: Values

    # What the plan says.

    @property
    def spec(self) -> str | None:
        return spec_of(self.project, self.need)

    def take(self, spec: str | None, did: str) -> None:
        """Lets the plan name another tree, as a step that can be undone."""
        before = self.steps
        steps = (*before.steps[: before.at + 1], {"spec": spec, "did": did})[-MOST_STEPS:]
        self._go_to(Steps(steps, len(steps) - 1))

    @property
    def steps(self) -> Steps:
        """What was done. Where the plan was changed elsewhere, the steps go on from what it says now."""
        kept = read_json(self._steps_file).get(self.need.column) or {}
        spec = self.spec
        steps, at = list(kept.get("steps") or ()), int(kept.get("at") or 0)
        if not steps or not 0 <= at < len(steps):
            return Steps(({"spec": spec, "did": ""},), 0)
        if steps[at]["spec"] != spec:
            again = next((i for i in range(len(steps) - 1, -1, -1) if steps[i]["spec"] == spec), None)
            if again is None:
                return Steps((*steps[: at + 1], {"spec": spec, "did": f"took {spec_words(spec)}"}), at + 1)
            at = again
        return Steps(tuple(steps), at)

    def step(self, by: int) -> bool:
        """One step back (-1) or forth (1). Says whether there was one."""
        now = self.steps
        if not 0 <= now.at + by < len(now.steps):
            return False
        self._go_to(Steps(now.steps, now.at + by))
        return True

    @property
    def _steps_file(self) -> Path:
        return trees_folder(self.project) / "steps.json"

    def _go_to(self, steps: Steps) -> None:
        spec = steps.steps[steps.at]["spec"]

        def put(document: dict[str, Any]) -> None:
            given = document.pop("hierarchies", None)
            trees = dict(given) if isinstance(given, Mapping) and self.need.model != "km" else {}
            trees.pop(self.need.column, None)
            if self.need.model == "km":
                document["hierarchies"] = spec
            elif trees := trees | ({} if spec is None else {self.need.column: spec}):
                document["hierarchies"] = trees

        self.project.change(put)
        kept = read_json(self._steps_file)
        write_json(self._steps_file, kept | {self.need.column: {"steps": list(steps.steps), "at": steps.at}})

    # Loading.

    def load(self, workspace: Workspace, jobs: Jobs) -> Loaded | Job | None:
        """The tree. The job that is to learn it, where that is not done; None where there is no tree. The last few are kept."""
        spec = self.spec
        if not self.values.names or (spec is None and (self.need.is_items or self.values.numeric)):
            return None
        path = None
        if (number := learned_number(spec)) is not None:
            job = latest_job(self.project, jobs, number)
            path = None if job is None else job.output(TREE)
            if path is None:
                return job
        elif is_file(spec):
            path = workspace.inside(self.project.folder / str(spec), os.path.basename(str(spec)))
        key = self._key(spec, path)
        with _LOCK:
            if key in _LOADED:
                _LOADED.move_to_end(key)
                return _LOADED[key]
        return hold(key, Loaded.of(self._make(spec) if path is None else tree_in(path), self.values).warm())

    def _key(self, spec: str | None, path: Path | None) -> tuple[Any, ...]:
        """What a loaded tree depends on."""
        return (self.project.id, self.need.column, spec, values_key(self.project), *(_state(path) if path else ()))

    def _make(self, spec: str | None) -> Hierarchy:
        """A tree that is built from the values, as a release does it."""
        return resolve(spec, self.values if self.need.is_items else replace(self.values, column=self.need.column))

    def check(self, spec: str | None) -> None:
        """Raises if no tree can be built from the values in this way. Files and what is learned are not looked at."""
        if spec is not None and not is_file(spec) and learned_number(spec) is None and self.values.names:
            self._make(spec)

    def better(self, workspace: Workspace, known: int) -> ColumnFit | None:
        """Another column of the file that the plan names, if it knows more of the values than are known."""
        if not is_file(self.spec):
            return None
        path = workspace.inside(self.project.folder / str(self.spec), os.path.basename(str(self.spec)))
        fit = best_column(path, self.values.names)
        return fit if fit is not None and fit.known > known else None

    # Edits.

    def edit(self, loaded: Loaded, verb: Callable[[Hierarchy], Hierarchy], did: str) -> None:
        """Does something to the tree: what comes out is a file of its own, which the plan names from now on."""
        tree = edits.unambiguous(verb(loaded.tree))
        spec = self.keep(tree)
        self.take(spec, did)
        # The file would be read back as the same tree, which takes seconds for a large one.
        hold(self._key(spec, (self.project.folder / spec).resolve()), loaded.after(tree, self.values).warm())

    def hang(self, loaded: Loaded, names: Sequence[str], node: int) -> None:
        """Hangs missing values under a node of the tree."""
        what = f"“{names[0]}”" if len(names) == 1 else f"{len(names):,} values"
        did = f"hung {what} under “{loaded.tree.names[node]}”"
        self.edit(loaded, lambda tree: edits.hang(tree, names, node), did)

    def keep(self, tree: Hierarchy) -> str:
        """Writes a tree into the project's folder and returns what the plan calls it."""
        ending = ".csv"
        try:
            data = hierarchy_text(tree, "parent-child").encode()
        except InputError:  # names with blanks around them
            data, ending = hierarchy_text(tree, "json").encode(), ".json"
        name = f"{safe_name(self.need.column)[:40]}-{hashlib.sha256(data).hexdigest()[:10]}{ending}"
        if tree.n_nodes > LARGE:
            data, name = pa.compress(data, codec="zstd", asbytes=True), f"{name}.zst"
        path = trees_folder(self.project) / name
        if not path.exists():
            write_own(path, data)
        return os.path.relpath(path, self.project.folder)


def spec_of(project: Project, need: Need) -> str | None:
    """The tree that the plan names for a column; none where the promise does without, or uses its own."""
    given = project.draft.get("hierarchies")
    if isinstance(given, Mapping):
        spec = given.get(need.column)
        return str(next(iter(given.values()))) if spec is None and given and need.model == "km" else spec
    if isinstance(given, str) and need.is_items:
        return given
    return "frequency:5" if need.must_have else None


def spec_words(spec: str | None) -> str:
    """A tree as a page calls it: by its form, or by its file; those that were made here have names that nobody has seen."""
    if spec is None:
        return "no tree"
    if not is_file(spec):
        return "days, months and years" if spec == "dates" else spec
    path = Path(spec)
    return "your edited tree" if path.parent.name == FOLDER else path.name


def is_file(spec: str | None) -> bool:
    return spec is not None and not is_made(spec)


def learned_number(spec: str | None) -> int | None:
    """The N of `learned:N`; None for other trees."""
    form, _, number = (spec or "").partition(":")
    return int(number) if form == "learned" and number.isdigit() else None


def hangs_unknown(project: Project) -> bool:
    """Whether values that a tree does not know are hung under its root."""
    return (project.draft.get("options") or {}).get("unknown") == "root"


def hang_unknown(project: Project, yes: bool) -> None:
    """Says whether they are."""
    options = {name: value for name, value in (project.draft.get("options") or {}).items() if name != "unknown"}
    project.change({"options": (options | ({"unknown": "root"} if yes else {})) or None})


def tree_in(path: Path) -> Hierarchy:
    """The tree in a file; raises, with the reason, if it holds none. The last one is kept: it is checked before it is taken."""
    key = _state(path)
    if key not in _READ:
        tree = read_hierarchy(path)
        _READ.clear()
        _READ[key] = tree
        return tree
    return _READ[key]


def _state(path: Path) -> tuple[str, int, int]:
    """A file as it is now."""
    now = path.stat()
    return str(path), now.st_size, now.st_mtime_ns


def hold(key: tuple[Any, ...], loaded: Loaded) -> Loaded:
    """Keeps a loaded tree in memory, in place of the one that was not asked for longest."""
    with _LOCK:
        _LOADED[key] = loaded
        total = sum(kept.tree.n_nodes for kept in _LOADED.values())
        while total > KEPT_NODES and len(_LOADED) > 1:
            total -= _LOADED.popitem(last=False)[1].tree.n_nodes
    return loaded


def forget_trees() -> None:
    """Lets go of all trees and values that are kept in memory: whose they were, somebody wants gone."""
    with _LOCK:
        _LOADED.clear()
        _READ.clear()
    HELD.clear()
