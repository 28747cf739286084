"""Reading a policy: YAML or JSON text, as safely as a plan, whose items are texts however YAML would read them.

    protect:
      - [250.00, 401.9]               # this set, and each of its parts
      - {all: 2, of: [042, 070.54]}   # every set of up to two of these
    generalize:
      - [250.00, 250.01, 250.02]      # these may be put together

In place of a list of groups, `generalize: {hierarchy: tree.csv, level: 2}` takes the nodes at a level of a hierarchy, 1 being just below
its root; the file lies beside the policy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from shoal.errors import InputError
from shoal.guarantees.constraints.policy import Policy
from shoal.hierarchy.files import read_hierarchy
from shoal.hierarchy.tree import Hierarchy
from shoal.plan.documents import read_text_document
from shoal.records.storage.streams import display_name
from shoal.records.stores.remote import folder_of

MOST_BYTES = 20_000_000


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """The policy in a file: what is protected, and what may be put together.

    Args:
        path: YAML or, by its name, `.json`.

    Raises:
        InputError: It is not a policy; the message says why, and names no item.

    >>> import shoal
    >>> with open("policy.yaml", "w") as file:
    ...     print("protect: [[gin, rum]]", "generalize: [[gin, ale]]", sep=chr(10), file=file)
    >>> shoal.read_policy("policy.yaml")
    Policy(protects 1 set; 1 group)
    """
    document, _ = read_text_document(path, "a policy names sets and groups", MOST_BYTES)
    name = display_name(path)
    if document is None:
        raise InputError(f"{name}: it is empty; give protect: [[ITEM, ITEM], ...]")
    if isinstance(document, Mapping) and isinstance(groups := document.get("generalize"), Mapping):
        document = {**document, "generalize": _nodes(groups, name, folder_of(path))}
    return Policy.of(document, name, os.fspath(path))


def _nodes(given: Mapping[str, Any], name: str, folder: str) -> list[list[str]]:
    """The items below each node of a level."""
    level = str(given.get("level"))
    if set(given) != {"hierarchy", "level"} or not isinstance(given["hierarchy"], str) or not level.isdecimal():
        raise InputError(f"{name}: generalize is a list of groups, or hierarchy: FILE and level: NUMBER in braces")
    tree = read_hierarchy(os.path.join(folder, given["hierarchy"]))
    depth = int(level) if len(level) < 9 else 0
    if not 1 <= depth <= tree.height:
        raise InputError(
            f"{name}: the level is from 1, just below the root, to {tree.height}, the height of the hierarchy"
        )
    return [_leaves(tree, v) for v in range(tree.n_leaves, tree.n_nodes) if tree.depth[v] == depth]


def _leaves(tree: Hierarchy, node: int) -> list[str]:
    start, stop = tree.span[node].tolist()
    return [tree.labels[v] for v in tree.leaf_order[start:stop].tolist()]
