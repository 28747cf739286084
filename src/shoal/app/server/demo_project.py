"""The demo's project: a made-up grocery store with its tree of products, so that the way can be walked without data of one's own."""

from __future__ import annotations

import os

from shoal.app.project.drafts import begin
from shoal.app.project.own_files import write_own
from shoal.app.project.project import Project
from shoal.app.project.workspace import Workspace
from shoal.records.layout import Layout
from shoal.records.samples.grocery import grocery
from shoal.records.writing import write

BASKETS, TREE = "demo-baskets.csv", "demo-products.csv"


def demo_project(workspace: Workspace) -> Project:
    """The project of the demo: the one there is, or a new one."""
    for project in workspace.projects():
        if project.settings.get("demo") and project.data is not None:
            return project
    baskets, paths = grocery()
    data, tree = workspace.uploads / BASKETS, workspace.uploads / TREE
    write(baskets, data, layout=Layout("csv", separator="|"), force=True)
    data.chmod(0o600)
    write_own(tree, "".join(f"{';'.join(path)}\n" for path in paths).encode())
    project = workspace.new_project("A made-up grocery store")
    project.set(demo=True)
    begin(project, data)
    project.change({"hierarchies": os.path.relpath(tree, project.folder)})
    project.forget()
    return project
