"""Links: the nodes of a hierarchy as a file lists them, in any order, before they are known to be a tree.

Every format reads into this, so that each way of not being a tree (a cycle, two parents, several roots, an item in two places) is
found and worded once.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from shoal.errors import VALUES, InputError, Message, option
from shoal.hierarchy.tree import Hierarchy, count_of

PLACE = "hierarchy file "
"""What messages put before a file's path."""


class SeveralRoots(InputError):  # noqa: N818 - reads as what it says
    """A file with several roots, which can be read once another is put above them."""

    def __init__(self, text: str, remedy: str, roots: Sequence[str]) -> None:
        super().__init__(f"{text}, or, to put one above them, {remedy}", values=roots)
        self.without_remedy = Message(text, roots)
        """For a page that has a button for it."""


@dataclass(frozen=True)
class Links:
    """`labels[v]` and `parent[v]` of each node; a parent of -1 marks a root."""

    labels: list[str]
    parent: list[int]

    @property
    def roots(self) -> list[int]:
        return [v for v, p in enumerate(self.parent) if p < 0]

    def hierarchy(self, place: str, source: str, *, one_root: str, root: str | None = None) -> Hierarchy:
        """The tree, or an error that names `place`. Several roots are joined under a new one if `root` gives its label; else
        `one_root` says how the file could have a single root."""
        labels, parent = self.labels, self.parent
        if not labels:
            raise InputError(f"{place}: it holds no values")
        if circle := _circle(parent):
            names = [labels[v] for v in circle]
            raise InputError(
                f"{place}: {count_of(names, 'label stands', 'labels stand')} in a circle, each the child of the next"
                f"{VALUES}; remove one of these links",
                values=names,
            )
        if len(roots := self.roots) > 1:
            if root is None:
                raise SeveralRoots(
                    f"{place}: it has {len(roots):,} roots{VALUES}; {one_root}",
                    by_converting(place, "--add-root ALL"),
                    [labels[v] for v in roots],
                )
            labels, parent = [*labels, root], [len(labels) if p < 0 else p for p in parent] + [-1]
        if len(labels) == 1:
            raise InputError(f"{place}: one value stands alone; a hierarchy needs a root above its values")
        _refuse_repeated_leaves(labels, parent, place)
        return Hierarchy.from_parents(parent, labels, source)


def twin_labels(tree: Hierarchy, first: int = 0) -> list[str]:
    """The labels that siblings share, among the nodes from `first` on."""
    places = list(zip(tree.parent[first:].tolist(), tree.labels[first:], strict=True))
    times = Counter(places)
    return [label for parent, label in places if times[parent, label] > 1]


def by_converting(place: str, flags: str) -> str:
    """The remedy that a command offers: what to run, and what to use then."""
    path = place.removeprefix(PLACE)
    made = shlex.quote(f"{PurePath(path).name.partition('.')[0]}-tree.csv")
    command = f"shoal hierarchy convert {shlex.quote(path)} {flags} -o {made}"
    return f"run {option('shell', command)} and use {made}"


def links_by_label(edges: Iterable[tuple[str, str, int]], place: str) -> Links:
    """From (parent, child, line) in a format where a label is a node's identity. An empty parent says that the child is a root."""
    ids: dict[str, int] = {}
    above: dict[str, tuple[str, int]] = {}
    several: dict[str, list[str]] = {}
    for parent, child, line in edges:
        if not child:
            raise InputError(f"{place}, line {line}: a child has no label; fill it in or remove it")
        if parent == child:
            raise InputError(
                f"{place}, line {line}: a label is its own parent{VALUES}; if it is both a category and an item, "
                "give the category another name",
                values=[child],
            )
        for label in (parent, child):
            if label:
                ids.setdefault(label, len(ids))
        if child in above and above[child][0] == parent:
            raise InputError(f"{place}, line {line}: it says the same as line {above[child][1]}; remove one")
        if child in above:
            several.setdefault(child, [above[child][0]]).append(parent)
        else:
            above[child] = parent, line
    if several:
        shown = [f"{child} under {' and '.join(map(repr, parents))}" for child, parents in several.items()]
        raise InputError(
            f"{place}: {count_of(shown, 'label stands', 'labels stand')} under two parents{VALUES}; "
            "keep one parent for each",
            values=shown,
        )
    return Links(list(ids), [ids.get(above.get(label, ("", 0))[0], -1) for label in ids])


def _refuse_repeated_leaves(labels: list[str], parent: list[int], place: str) -> None:
    inner = set(parent)
    parents: dict[str, list[int]] = {}
    for v, label in enumerate(labels):
        if v not in inner:
            parents.setdefault(label, []).append(parent[v])
    shown = [
        f"{label} under {' and '.join(repr(labels[p]) for p in among)}"
        for label, among in parents.items()
        if len(among) > 1
    ]
    if shown:
        raise InputError(
            f"{place}: {count_of(shown, 'value stands', 'values stand')} in two places{VALUES}; keep one place for each",
            values=shown,
        )


def _circle(parent: list[int]) -> list[int]:
    """The nodes of a cycle, if following the parents from some node never ends."""
    walk = [0] * len(parent)  # the walk that first came by, to be told from later ones
    for start in range(len(parent)):
        v = start
        while v >= 0 and not walk[v]:
            walk[v] = start + 1
            v = parent[v]
        if v >= 0 and walk[v] == start + 1:
            circle = [v]
            while parent[circle[-1]] != v:
                circle.append(parent[circle[-1]])
            return circle
    return []
