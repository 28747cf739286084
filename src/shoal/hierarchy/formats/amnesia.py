"""Amnesia's hierarchies: a text file with `distinct` or `range`, a short header, and lines `parent has child1 child2 ...`.

The lines stand in blocks with a blank line after each, the lowest level first; `height` counts the levels, root and leaves included.
A label is a node's identity and holds no blanks.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from shoal.errors import VALUES, InputError
from shoal.hierarchy.formats.links import Links, links_by_label
from shoal.hierarchy.tree import Hierarchy, count_of

ONE_ROOT = "add a line that gives them one parent"
KINDS = ("distinct", "range")
_BLANKS = re.compile(r"[ \t\v\f\r]+")
_HEADER = (*KINDS, "name", "type", "height")


def parse(text: str, place: str) -> Links:
    """The links of the file. Ranges such as `0,5` are labels like any other; the header's figures are not needed."""
    edges = []
    header = list(_HEADER)
    for line, words in enumerate(map(_words, text.split("\n")), start=1):
        if header and words and words[0].casefold() in header and words[1:2] != ["has"]:
            header.remove(words[0].casefold())
        elif words[1:2] == ["has"]:
            header = []
            edges += [(words[0], child, line) for child in words[2:]]
        elif words:
            raise InputError(
                f"{place}, line {line}: it is not of the form 'parent has child1 child2'; correct or remove it"
            )
    return links_by_label(edges, place)


def _words(line: str) -> list[str]:
    """The words of a line. Blanks of other scripts belong to a label, as they do to an item."""
    return [word for word in _BLANKS.split(line) if word]


def render(hierarchy: Hierarchy, name: str) -> str:
    """The file as Amnesia exports it. Labels are identities here: repeated ones become unique names."""
    h = hierarchy
    blank = [label for label in h.names if not label or any(map(str.isspace, label))]
    if blank:
        raise InputError(
            f"hierarchy {h.source} cannot be written as amnesia: {count_of(blank, 'label is', 'labels are')} empty "
            f"or with blanks inside{VALUES}; replace the blanks, or write arx, parent-child or json",
            values=blank,
        )
    lines = ["distinct", f"name {'_'.join(PurePath(name).stem.split()) or 'hierarchy'}", "type string"]
    lines += [f"height {h.height + 1}", ""]
    levels: list[list[int]] = [[] for _ in range(h.height)]
    for v in range(h.n_leaves, h.n_nodes):
        levels[h.depth[v]].append(v)
    for level in reversed(levels):
        lines += [f"{h.names[v]} has {' '.join(h.names[c] for c in h.children[v])}" for v in level]
        lines.append("")
    return "\n".join(lines) + "\n"
