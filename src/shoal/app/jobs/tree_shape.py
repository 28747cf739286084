"""A tree on its way to the process that estimates: a file of arrays, read in some hundredths of a second where its text takes half a one.

It holds what the tree's own file holds, in the folder of the project's trees; there is one of each project at a time.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import numpy as np

from shoal.app.project.own_files import write_own
from shoal.hierarchy.tree import Hierarchy

_NAME = "shape-{}.npz"


def write_shape(tree: Hierarchy, folder: Path) -> Path:
    """Writes a tree, in place of the one that was written before."""
    labels = json.dumps(tree.labels).encode()
    name = _NAME.format(hashlib.sha256(tree.parent.tobytes() + labels).hexdigest()[:20])
    path = folder / name
    if not path.exists():
        for old in folder.glob(_NAME.format("*")):
            old.unlink(missing_ok=True)
        file = io.BytesIO()
        np.savez(file, parent=tree.parent, labels=np.frombuffer(labels, np.uint8), leaves=np.array(tree.n_leaves))
        write_own(path, file.getvalue())
    return path


def read_shape(path: Path) -> Hierarchy:
    """The tree in such a file."""
    with np.load(path) as kept:
        labels = json.loads(kept["labels"].tobytes())
        return Hierarchy(kept["parent"], tuple(labels), int(kept["leaves"]))
