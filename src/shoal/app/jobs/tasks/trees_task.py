"""Task `trees`: the values of the columns that are generalized, or, with `learn`, the tree `learned:N` over the items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.algorithms.recoding import Options
from shoal.app.panels.hierarchies.tree_values import TREE, VALUES, read_values, values_text
from shoal.app.project.own_files import write_own
from shoal.errors import InputError
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.files import write_hierarchy
from shoal.models.km import resolve_hierarchy
from shoal.plan import Plan
from shoal.processes import Teller


def work(plan: Plan, folder: Path, tell: Teller, *, key: str = "", learn: int | None = None) -> dict[str, Any]:
    tell.stage("Reading the data")
    values, baskets = read_values(plan)
    if learn is None:
        write_own(folder / VALUES, values_text(values))
        return {"columns": len(values)}
    if baskets is None or plan.kind not in ("km", "rt", "lm"):
        raise InputError("a tree is learned from sets of items, for a promise about items; take another tree here")
    tell.stage("Learning the tree")
    promise = KmAnonymity(plan.guarantee.k, plan.guarantee.m)  # type: ignore[union-attr]
    tree = resolve_hierarchy(f"learned:{learn}", baskets, promise=promise, options=Options(progress=tell))
    write_hierarchy(tree, folder / TREE, "parent-child")
    return {"nodes": tree.n_nodes}
