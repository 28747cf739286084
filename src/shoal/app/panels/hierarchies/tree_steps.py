"""What was done to the trees of a project, step by step, and the way back. The steps of each column are in `trees/steps.json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.app.panels.hierarchies.tree_loaded import Loaded, recounted
from shoal.app.panels.hierarchies.tree_values import Need, trees_folder
from shoal.app.panels.hierarchies.trees import hold, keep_tree, loaded_key, put_spec, shown_spec, spec_of
from shoal.app.project.own_files import read_json, write_json
from shoal.app.project.project import Project
from shoal.hierarchy.edit import hang, unambiguous
from shoal.hierarchy.spec import Values
from shoal.hierarchy.tree import Hierarchy

MOST_STEPS = 50


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


def steps_of(project: Project, need: Need) -> Steps:
    """The steps of a column. Where the plan was changed elsewhere, they go on from what it says now."""
    kept = read_json(_steps_file(project)).get(need.column) or {}
    spec = spec_of(project, need)
    steps, at = list(kept.get("steps") or ()), int(kept.get("at") or 0)
    if not steps or not 0 <= at < len(steps):
        return Steps(({"spec": spec, "did": ""},), 0)
    if steps[at]["spec"] != spec:
        again = next((i for i in range(len(steps) - 1, -1, -1) if steps[i]["spec"] == spec), None)
        if again is None:
            return Steps((*steps[: at + 1], {"spec": spec, "did": f"took {shown_spec(spec)}"}), at + 1)
        at = again
    return Steps(tuple(steps), at)


def take(project: Project, need: Need, spec: str | None, did: str) -> None:
    """Lets the plan name another tree, as a step that can be undone."""
    before = steps_of(project, need)
    put_spec(project, need, spec)
    steps = (*before.steps[: before.at + 1], {"spec": spec, "did": did})[-MOST_STEPS:]
    _write_steps(project, need, Steps(steps, len(steps) - 1))


def step(project: Project, need: Need, by: int) -> bool:
    """One step back (-1) or forth (1). Says whether there was one."""
    now = steps_of(project, need)
    if not 0 <= now.at + by < len(now.steps):
        return False
    put_spec(project, need, now.steps[now.at + by]["spec"])
    _write_steps(project, need, Steps(now.steps, now.at + by))
    return True


def edit(
    project: Project, need: Need, values: Values, loaded: Loaded, verb: Callable[[Hierarchy], Hierarchy], did: str
) -> None:
    """Does something to the tree of a column: what comes out is a file of its own, which the plan names from now on."""
    tree = unambiguous(verb(loaded.tree))
    spec = keep_tree(project, need, tree)
    take(project, need, spec, did)
    # The file would be read back as the same tree, which takes seconds for a large one.
    hold(loaded_key(project, need, spec, (project.folder / spec).resolve()), recounted(loaded, tree, values))


def hang_values(project: Project, need: Need, values: Values, loaded: Loaded, names: Sequence[str], node: int) -> None:
    """Hangs missing values under a node of the tree."""
    what = f"“{names[0]}”" if len(names) == 1 else f"{len(names):,} values"
    target = loaded.tree.names[node]
    edit(project, need, values, loaded, lambda tree: hang(tree, names, node), f"hung {what} under “{target}”")


def _steps_file(project: Project) -> Path:
    return trees_folder(project) / "steps.json"


def _write_steps(project: Project, need: Need, steps: Steps) -> None:
    kept = read_json(_steps_file(project))
    kept[need.column] = {"steps": list(steps.steps), "at": steps.at}
    write_json(_steps_file(project), kept)
