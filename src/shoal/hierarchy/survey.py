"""Looking at a hierarchy: as an outline, in figures, and against the data it is meant for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from shoal.errors import VALUES, Message, option
from shoal.hierarchy.spec import Values
from shoal.hierarchy.tree import Hierarchy, count_of, them
from shoal.numbers import Ints


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


@dataclass(frozen=True, eq=False)
class Fit:
    """A hierarchy, held against the values that it is meant for."""

    tree: Hierarchy
    counts: Ints
    """Per node, how often the data hold what is below it."""
    missing: Mapping[str, int]
    """Values of the data that are not leaves, and how often each occurs."""
    known: int
    """Values of the data that are leaves."""

    @classmethod
    def of(cls, tree: Hierarchy, values: Values) -> Self:
        per_leaf = np.zeros(tree.n_leaves, np.int64)
        missing: dict[str, int] = {}
        for name, count in zip(values.names, values.counts.tolist(), strict=True):
            if (leaf := tree.leaf_called.get(name)) is None:
                missing[name] = count
            else:
                per_leaf[leaf] = count
        return cls(tree, tree.sums(per_leaf), missing, len(values.names) - len(missing))

    def after(self, tree: Hierarchy, values: Values) -> Self:
        """The same after an edit: while the leaves are the same, only the nodes above them are counted anew."""
        n = tree.n_leaves
        if tree.labels[:n] != self.tree.labels[: self.tree.n_leaves]:
            return self.of(tree, values)
        return replace(self, tree=tree, counts=tree.sums(self.counts[:n]))

    def findings(self, k: int | None = None) -> list[Finding]:
        """What stands between the hierarchy and the data, the gravest first; `k` is the crowd that a release must hide in."""
        about_data = (self._missing(), None if k is None else _rare(self.tree, self.counts, k), self._unused())
        return [finding for finding in about_data if finding] + shape_findings(self.tree)

    def _missing(self) -> Finding | None:
        missing = tuple(self.missing)
        text = (
            f"{count_of(missing, 'item is', 'items are')} in the data but not among the leaves{VALUES}; "
            f"add {them(missing)}, or hang {them(missing)} under the root ({option('unknown', 'root')})"
        )
        return Finding("missing", "error", missing, Message(text, missing)) if missing else None

    def _unused(self) -> Finding | None:
        tree = self.tree
        unused = tuple(tree.labels[v] for v in np.flatnonzero(self.counts[: tree.n_leaves] == 0).tolist())
        text = f"{count_of(unused, 'leaf is', 'leaves are')} without data{VALUES} but part of the domain, so NCP counts them"
        return Finding("unused", "note", unused, Message(text, unused)) if unused else None


def shape_findings(hierarchy: Hierarchy) -> list[Finding]:
    """What there is to know about a hierarchy, whatever the data."""
    return [finding for finding in (_chains(hierarchy), _repeated(hierarchy)) if finding]


def _rare(h: Hierarchy, occurrences: Ints, k: int) -> Finding | None:
    """A top-level category that fewer than k occurrences fall into has a support below k: only the root can hide it."""
    rare = sorted((v for v in h.top if 0 < occurrences[v] < k), key=lambda v: int(occurrences[v]))
    labels = tuple(h.labels[v] for v in rare)
    share = sum(int(occurrences[v]) for v in rare) / max(1, int(occurrences[h.root]))
    text = (
        f"{count_of(labels, 'top-level node is', 'top-level nodes are')} rarer than k = {k}{VALUES}, "
        f"so that every item must go to the root; merge {them(labels)} with others, or let {option('suppress')} drop {them(labels)} "
        f"({share:.2%} of all "
        "occurrences)"
    )
    return Finding("rare", "warning", labels, Message(text, labels)) if labels else None


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
