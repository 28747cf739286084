"""The trees of a project: which one a column has, what becomes of it by edits, and the way back.

The plan names the tree of a column. An edit never changes a file: it writes the new tree as another one, called by its content, into
the project's folder and lets the plan name that. So whatever the plan has named, jobs that wait and histories included,
stays what it was, and undo is naming the tree before (`shoal.app.panels.hierarchies.tree_steps`).
"""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from shoal.app.jobs.queue import Job, Jobs
from shoal.app.panels.hierarchies.tree_loaded import Loaded, against
from shoal.app.panels.hierarchies.tree_text import parent_child_text
from shoal.app.panels.hierarchies.tree_values import FOLDER, TREE, Need, latest_job, trees_folder, values_key
from shoal.app.project.own_files import safe_name, write_own
from shoal.app.project.project import Project
from shoal.app.project.workspace import Workspace
from shoal.errors import InputError
from shoal.hierarchy.edit import unambiguous
from shoal.hierarchy.files import hierarchy_text, read_hierarchy
from shoal.hierarchy.spec import Values, is_made, resolve
from shoal.hierarchy.tree import Hierarchy

LARGE = 10_000
"""Nodes beyond which a tree is kept packed."""
KEPT_NODES = 2_000_000
"""Nodes of all trees that are kept in memory: undo takes up the tree before, which it would have to read and count otherwise."""
_LOADED: OrderedDict[tuple[Any, ...], Loaded] = OrderedDict()
_READ: dict[tuple[str, int, int], Hierarchy] = {}
_LOCK = Lock()


# What the plan says.


def spec_of(project: Project, need: Need) -> str | None:
    """The tree that the plan names for a column; none where the promise does without, or uses its own."""
    given = project.draft.get("hierarchies")
    if isinstance(given, Mapping):
        found = given.get(need.column)
        return str(next(iter(given.values()))) if found is None and given and need.model == "km" else found
    if isinstance(given, str) and need.is_items:
        return given
    return "frequency:5" if need.must_have else None


def put_spec(project: Project, need: Need, spec: str | None) -> None:
    """Lets the plan name another tree."""

    def put(document: dict[str, Any]) -> None:
        given = document.get("hierarchies")
        if need.model == "km":
            document["hierarchies"] = spec
            return
        trees = dict(given) if isinstance(given, Mapping) else {}
        trees.pop(need.column, None)
        if spec is not None:
            trees[need.column] = spec
        document.pop("hierarchies", None)
        if trees:
            document["hierarchies"] = trees

    project.change(put)


def is_file(spec: str | None) -> bool:
    return spec is not None and not is_made(spec)


def hangs_unknown(project: Project) -> bool:
    """Whether values that a tree does not know are hung under its root."""
    return (project.draft.get("options") or {}).get("unknown") == "root"


def hang_unknown(project: Project, yes: bool) -> None:
    def put(document: dict[str, Any]) -> None:
        options = dict(document.get("options") or {})
        options.pop("unknown", None)
        if yes:
            options["unknown"] = "root"
        document.pop("options", None)
        if options:
            document["options"] = options

    project.change(put)


# Loading.


def load(workspace: Workspace, project: Project, jobs: Jobs, need: Need, values: Values) -> Loaded | Job | None:
    """The tree of a column. The job that is to learn it, where that is not done; None where there is no tree. The last few are kept."""
    spec = spec_of(project, need)
    if not values.names or (spec is None and (need.is_items or values.numeric)):
        return None
    path = None
    if spec is not None and spec.startswith("learned:"):
        job = learned_job(project, jobs, spec)
        path = None if job is None else job.output(TREE)
        if path is None:
            return job
    elif is_file(spec):
        path = workspace.inside(project.folder / str(spec), os.path.basename(str(spec)))
    key = loaded_key(project, need, spec, path)
    with _LOCK:
        if key in _LOADED:
            _LOADED.move_to_end(key)
            return _LOADED[key]
    return hold(key, against(tree_in(path) if path is not None else _made(spec, need, values), values))


def tree_in(path: Path) -> Hierarchy:
    """The tree in a file; raises, with the reason, if it holds none. The last one is kept: it is checked before it is taken."""
    found = path.stat()
    key = str(path), found.st_size, found.st_mtime_ns
    if key not in _READ:
        tree = read_hierarchy(path)
        _READ.clear()
        _READ[key] = tree
        return tree
    return _READ[key]


def loaded_key(project: Project, need: Need, spec: str | None, path: Path | None) -> tuple[Any, ...]:
    """What a loaded tree depends on."""
    found = None if path is None else path.stat()
    of_file = () if found is None else (str(path), found.st_size, found.st_mtime_ns)
    return (project.id, need.column, spec, values_key(project), *of_file)


def learned_job(project: Project, jobs: Jobs, spec: str) -> Job | None:
    """The job that learns a tree, once it is asked for."""
    number = spec.partition(":")[2]
    return latest_job(project, jobs, int(number) if number.isdigit() else 0)


def hold(key: tuple[Any, ...], loaded: Loaded) -> Loaded:
    """Keeps a loaded tree in memory, in place of the one that was not asked for longest."""
    with _LOCK:
        _LOADED[key] = loaded
        total = sum(kept.tree.n_nodes for kept in _LOADED.values())
        while total > KEPT_NODES and len(_LOADED) > 1:
            total -= _LOADED.popitem(last=False)[1].tree.n_nodes
    return loaded


def refusal(need: Need, values: Values, spec: str | None) -> str | None:
    """Why a tree cannot be built from the values of a column; None if it can, or if it is no such tree."""
    if spec is None or is_file(spec) or spec.startswith("learned:") or not values.names:
        return None
    try:
        _made(spec, need, values)
    except InputError as error:
        return error.message
    return None


def _made(spec: str | None, need: Need, values: Values) -> Hierarchy:
    """A tree that is built from the values, as a release does it."""
    return resolve(spec, values if need.is_items else replace(values, column=need.column))


# Keeping.


def keep_tree(project: Project, need: Need, tree: Hierarchy) -> str:
    """Writes a tree into the project's folder and returns what the plan calls it."""
    ending = ".csv"
    try:
        data = parent_child_text(tree)
    except InputError:  # names with blanks around them
        data, ending = hierarchy_text(tree, "json").encode(), ".json"
    name = f"{safe_name(need.column)[:40]}-{hashlib.sha256(data).hexdigest()[:10]}{ending}"
    if tree.n_nodes > LARGE:
        import pyarrow as pa

        data, name = pa.compress(data, codec="zstd", asbytes=True), f"{name}.zst"
    path = trees_folder(project) / name
    if not path.exists():
        write_own(path, data)
    return os.path.relpath(path, project.folder)


def shown_spec(spec: str | None) -> str:
    """A tree as a page calls it."""
    if spec is None:
        return "no tree"
    if not is_file(spec):
        return "days, months and years" if spec == "dates" else spec
    path = Path(spec)
    return "your edited tree" if path.parent.name == FOLDER else path.name


def with_root(project: Project, need: Need, path: Path) -> str | None:
    """What the plan would call the tree of a file with several roots once one is put above them; None if that is not its trouble."""
    try:
        tree = read_hierarchy(path, root="*")
    except InputError:
        return None
    return keep_tree(project, need, unambiguous(tree))
