"""Looking at a hierarchy: as an outline, in figures, and against the data it is meant for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.errors import VALUES, Message, option
from shoal.hierarchy.tree import Hierarchy, count_of


class Line(NamedTuple):
    """A line of an outline: how deep it stands, what it says, and how many leaves it covers."""

    indent: int
    label: str
    leaves: int


@dataclass(frozen=True)
class Finding:
    """Something about a hierarchy that its owner should know. An `error` stops a run, a `warning` costs a lot, a `note` is harmless."""

    kind: Literal["missing", "unused", "rare", "chain", "repeated"]
    grade: Literal["error", "warning", "note"]
    labels: tuple[str, ...]
    text: Message


def outline(hierarchy: Hierarchy, depth: int | None = None, limit: int | None = None) -> Iterator[Line]:
    """The tree from the root down, each node above its children.

    Nodes below `depth` are left out. Of a node's children the first `limit` are shown; one line stands for the rest.
    """
    h = hierarchy
    waiting = [(h.root, Line(0, h.labels[h.root], h.n_leaves))]
    while waiting:
        v, line = waiting.pop()
        yield line
        children = () if v < 0 or line.indent == depth else h.children[v]
        shown = children if limit is None or len(children) <= limit + 1 else children[:limit]
        below = [(c, Line(line.indent + 1, h.labels[c], int(h.leaf_count[c]))) for c in shown]
        if rest := children[len(shown) :]:
            leaves = int(h.leaf_count[list(rest)].sum())
            below.append((-1, Line(line.indent + 1, f"... {len(rest):,} more", leaves)))
        waiting += reversed(below)


def summary(hierarchy: Hierarchy) -> dict[str, Any]:
    """Its size and shape in figures, ready for JSON."""
    h = hierarchy
    fanout = np.bincount(h.parent[:-1], minlength=h.n_nodes)
    widest = int(np.argmax(fanout))
    repeated = _repeated_labels(h)
    return {
        "source": h.source,
        "leaves": h.n_leaves,
        "nodes": h.n_nodes,
        "height": h.height,
        "nodes_per_level": np.bincount(h.depth).tolist(),
        "widest": {"label": h.labels[widest], "children": int(fanout[widest])},
        "single_child_nodes": int(np.count_nonzero(fanout == 1)),
        "repeated_labels": len(repeated),
    }


def problems(
    hierarchy: Hierarchy, vocabulary: Sequence[str], supports: npt.NDArray[np.int64], k: int | None = None
) -> list[Finding]:
    """What stands between this hierarchy and this data, the gravest first; `k` is the crowd that a release must hide in."""
    h = hierarchy
    position = {name: v for v, name in enumerate(h.labels[: h.n_leaves])}
    known = [i for i, name in enumerate(vocabulary) if name in position]
    per_leaf = np.zeros(h.n_leaves, np.int64)
    per_leaf[[position[vocabulary[i]] for i in known]] = np.asarray(supports, np.int64)[known]
    found = [
        _missing(vocabulary, position),
        _rare(h, h.sums(per_leaf), k) if k is not None else None,
        _unused(h, per_leaf),
        _chains(h),
        _repeated(h),
    ]
    return [finding for finding in found if finding]


def _missing(vocabulary: Sequence[str], position: dict[str, int]) -> Finding | None:
    missing = tuple(name for name in vocabulary if name not in position)
    text = (
        f"{count_of(missing, 'item is', 'items are')} in the data but not among the leaves{VALUES}; "
        f"add them, or hang them under the root ({option('unknown', 'root')})"
    )
    return Finding("missing", "error", missing, Message(text, missing)) if missing else None


def _rare(h: Hierarchy, occurrences: npt.NDArray[np.int64], k: int) -> Finding | None:
    """A top-level category that fewer than k occurrences fall into has a support below k: only the root can hide it."""
    rare = sorted((v for v in h.top if 0 < occurrences[v] < k), key=lambda v: int(occurrences[v]))
    labels = tuple(h.labels[v] for v in rare)
    share = sum(int(occurrences[v]) for v in rare) / max(1, int(occurrences[h.root]))
    text = (
        f"{count_of(labels, 'top-level node is', 'top-level nodes are')} rarer than k = {k}{VALUES}, "
        f"so that every item must go to the root; merge them with others, or let {option('suppress')} drop them ({share:.2%} of all "
        "occurrences)"
    )
    return Finding("rare", "warning", labels, Message(text, labels)) if labels else None


def _unused(h: Hierarchy, per_leaf: npt.NDArray[np.int64]) -> Finding | None:
    unused = tuple(h.labels[v] for v in np.flatnonzero(per_leaf == 0).tolist())
    text = (
        f"{count_of(unused, 'leaf is', 'leaves are')} without data{VALUES} but part of the domain, so NCP counts them"
    )
    return Finding("unused", "note", unused, Message(text, unused)) if unused else None


def _chains(h: Hierarchy) -> Finding | None:
    single = tuple(h.labels[v] for v in np.flatnonzero(h.only_child >= 0).tolist())
    text = f"{count_of(single, 'node stands', 'nodes stand')} above a single child{VALUES}, a step that generalizes nothing"
    return Finding("chain", "note", single, Message(text, single)) if single else None


def _repeated(h: Hierarchy) -> Finding | None:
    repeated = _repeated_labels(h)
    text = (
        f"{count_of(repeated, 'label is', 'labels are')} used for several nodes{VALUES}; "
        "a release adds their path to tell them apart"
    )
    return Finding("repeated", "note", repeated, Message(text, repeated)) if repeated else None


def _repeated_labels(h: Hierarchy) -> tuple[str, ...]:
    return tuple(label for label, times in Counter(h.labels).items() if times > 1)
