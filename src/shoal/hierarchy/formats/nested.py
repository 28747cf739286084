"""Nested JSON, in the two shapes that are in use, also mixed.

    {"name": "*", "children": [{"name": "A", "children": ["a1", "a2"]}, {"name": "b"}]}
    {"*": {"A": ["a1", "a2"], "b": null}}

A node is known by its place, so labels may repeat, though not among siblings. A number is a label with the digits it is written with.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from shoal.errors import VALUES, InputError
from shoal.hierarchy.formats.links import Links, twin_labels
from shoal.hierarchy.tree import Hierarchy, count_of

ONE_ROOT = "put them under one object"


@dataclass(frozen=True)
class _Object:
    """A JSON object with all its pairs, so that a key given twice is seen."""

    pairs: list[tuple[str, Any]]


def parse(text: str, place: str) -> Links:
    try:
        document = json.loads(text, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=_Object)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{place}, line {error.lineno}, column {error.colno}: not JSON ({error.msg}); correct it there"
        ) from error
    except RecursionError as error:
        raise InputError(f"{place}: it is nested too deep to be read; write it as arx or parent-child") from error
    labels: list[str] = []
    parent: list[int] = []
    waiting = [(-1, label, below) for label, below in reversed(_nodes(document, "the top", place))]
    while waiting:
        above, label, below = waiting.pop()
        labels.append(label)
        parent.append(above)
        v = len(labels) - 1
        waiting += [(v, *child) for child in reversed(_nodes(below, repr(label), place))]
    return Links(labels, parent)


def render(hierarchy: Hierarchy, name: str) -> str:
    """Objects with `name` and `children`, one node a line."""
    h = hierarchy
    what = f"hierarchy {h.source} cannot be written as json"
    if "" in h.labels:
        raise InputError(f"{what}: a label is empty; rename it")
    if twins := twin_labels(h):
        raise InputError(f"{what}: nodes with the same parent share a label{VALUES}; rename them", values=twins)
    lines: list[str] = []
    waiting: list[tuple[int, str, str]] = [
        (h.root, "", "")
    ]  # a node, or -1 for the text that ends one; its margin and comma
    while waiting:
        v, margin, comma = waiting.pop()
        if v < 0:
            lines.append(f"{margin}]}}{comma}")
            continue
        label = json.dumps(h.labels[v], ensure_ascii=False)
        if not (children := h.children[v]):
            lines.append(f'{margin}{{"name": {label}}}{comma}')
            continue
        lines.append(f'{margin}{{"name": {label}, "children": [')
        waiting.append((-1, margin, comma))
        waiting += [(c, margin + " ", "" if c == children[-1] else ",") for c in reversed(children)]
    return "\n".join(lines) + "\n"


def is_json(text: str) -> bool:
    try:
        json.loads(text, parse_int=str)
    except (ValueError, RecursionError):
        return False
    return True


def _nodes(value: Any, where: str, place: str) -> list[tuple[str, Any]]:
    """The nodes that a JSON value stands for, each as its label and the value below it."""
    nodes: list[tuple[str, Any]] = []
    for part in value if isinstance(value, list) else [] if value is None else [value]:
        if isinstance(part, str) and part is not value:
            nodes.append((part, None))
        elif isinstance(part, _Object):
            entries = dict(part.pairs)
            named = isinstance(entries.get("name"), str)
            nodes += [(entries["name"], entries.get("children"))] if named else part.pairs
        else:
            shown = (
                "a list inside a list"
                if isinstance(part, list)
                else "a text alone"
                if isinstance(part, str)
                else "a number or a constant"
            )
            raise InputError(
                f"{place}: {shown} is not a node{VALUES}; use a label, an object with name and children, or an object of labels",
                values=[f"under {where}"],
            )
    labels = [label for label, _ in nodes]
    if "" in labels:
        raise InputError(f"{place}: a label is empty{VALUES}; fill it in or remove the node", values=[f"under {where}"])
    if len(set(labels)) < len(labels):
        twins = [label for label, times in Counter(labels).items() if times > 1]
        raise InputError(
            f"{place}: {count_of(twins, 'label is', 'labels are')} given to two children of one node{VALUES}; rename or remove one",
            values=[f"under {where}", *twins],
        )
    return nodes
