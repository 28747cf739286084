"""What one cut through the tree of the items loses, asked of the process that estimates, and what it has answered.

Answers stay in memory by what they depend on: the data, the tree, the promise, how much may be left out. So undo shows at once what was
lost before.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.app.jobs.tree_shape import write_shape
from shoal.app.jobs.warm import Warm
from shoal.app.panels.hierarchies.column_tree import ColumnTree
from shoal.app.panels.hierarchies.loaded_tree import Loaded
from shoal.app.panels.hierarchies.tree_values import trees_folder, values_key
from shoal.app.project.project import relocate

KEPT = 200
_ANSWERS: OrderedDict[str, dict[str, Any]] = OrderedDict()
_SEEN: dict[tuple[str, str], list[tuple[str, str]]] = {}
"""Per project and column: the last two trees that a page has shown, with the key of what is known of each."""
_ABOUT = ("guarantee", "algorithm", "options")


@dataclass(frozen=True, eq=False)
class CutQuestion:
    """The question about a tree as it stands."""

    tree: ColumnTree
    loaded: Loaded
    warm: Warm

    def key(self, node: int | None = None) -> str:
        """What the answer depends on; with a node, why that one is closed."""
        project = self.tree.project
        about = [project.id, values_key(project), self.tree.spec, node, *(project.draft.get(part) for part in _ABOUT)]
        return f"tree-{hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:24]}"

    def ask(self, node: int | None = None) -> str:
        """Asks, unless the answer is there or on its way; returns its key. To be called in a thread: it writes the tree."""
        key, project = self.key(node), self.tree.project
        if not answer_to(key).get("final") and self.warm.standing(key) is None:
            document, folder = project.draft, project.folder.resolve()
            self.warm.workspace.check(document, folder)
            shape = write_shape(self.loaded.tree, trees_folder(project))
            asked = {"tree": str(shape.resolve()), "node": node, "document": relocate(document, folder, Path())}
            self.warm.question(project, key, asked, lambda found: keep_answer(key, found))
        return key

    def answer_before(self, key: str) -> Mapping[str, Any]:
        """What is known of the tree that was shown before this one, of which `key` tells; nothing where there was none."""
        place, spec = (self.tree.project.id, self.tree.need.column), str(self.tree.spec)
        seen = _SEEN.setdefault(place, [])
        if seen and seen[-1][0] == spec:
            seen.pop()
        seen.append((spec, key))
        del seen[:-2]
        return answer_to(seen[0][1]) if len(seen) == 2 else {}


def keep_answer(key: str, found: Mapping[str, Any]) -> None:
    """Keeps a part of an answer."""
    _ANSWERS[key] = {**_ANSWERS.get(key, {}), **found}
    _ANSWERS.move_to_end(key)
    while len(_ANSWERS) > KEPT:
        _ANSWERS.popitem(last=False)


def answer_to(key: str) -> Mapping[str, Any]:
    """What is known of an answer."""
    return _ANSWERS.get(key, {})


def forget_answers() -> None:
    """Lets go of all answers: whose they were, somebody wants gone."""
    _ANSWERS.clear()
    _SEEN.clear()
