"""A plan that was written elsewhere, as a project: all that it says stays as it is, and what the app does not do it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.app.project.drafts import begin
from shoal.app.project.project import Project, relocate
from shoal.app.project.promises import elsewhere
from shoal.app.project.workspace import Workspace
from shoal.errors import InputError
from shoal.plan import plan_of
from shoal.plan.parse import read_document

ENDINGS = (".yaml", ".yml")


def is_plan(path: Path) -> bool:
    return path.suffix.lower() in ENDINGS


def project_of_plan(workspace: Workspace, path: Path) -> Project:
    """A new project for a plan. Raises, and leaves none, where it is not a plan, or one that the app cannot run as it stands."""
    document, origin = read_document(path)
    origin = replace(origin, name=path.name)
    plan_of(document, origin)
    if (why := elsewhere(document)) is not None:
        raise InputError(f"{path.name}: {why} Run it there: shoal run {path.name}")
    home = _home(workspace, path, str(document["input"]["path"]))
    workspace.check(document, home)
    project = workspace.new_project(path.name)
    try:
        _begin(project, relocate(document, home, project.folder), (home / document["input"]["path"]).resolve())
    except InputError:
        workspace.remove_project(project, uploads=False)
        raise
    project.remember(path)
    return project


def _home(workspace: Workspace, path: Path, data: str) -> Path:
    """The folder from which its paths lead: its own, or for one that was brought, the workspace's, if its data lie there."""
    return next((folder for folder in (path.parent, workspace.folder) if (folder / data).exists()), path.parent)


def _begin(project: Project, document: Mapping[str, Any], data: Path) -> None:
    """Looks at the data as for any other project, for guesses and reasons, and goes by the plan."""
    source = document["input"]
    begin(project, data, source.get("format"), source.get("separator"))
    if trouble := project.settings.get("trouble"):
        raise InputError(str(trouble))
    found = dict(document)
    if found.get("columns"):  # what it does not name stops a run, and is to be decided here
        found["columns"] = {
            **found["columns"],
            **{name: None for name in project.roles if name not in found["columns"]},
        }
    found.setdefault("outputs", project.draft["outputs"])
    project.change(dict.fromkeys(project.draft) | found)
    project.set(promise_chosen=True, separator=source.get("separator") or project.settings.get("separator"))
    project.forget()
