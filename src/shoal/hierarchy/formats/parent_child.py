"""Parent-child CSV: one row per link, a label being a node's identity.

The columns are found by a header that names `parent` and `child` (in either order, other columns are ignored). Without it there must be
two columns; they are read as parent,child unless only child,parent gives a tree with one root. A first row whose labels stand nowhere
else is taken for a header when the rest is a tree without it. An empty parent marks the root.
"""

from __future__ import annotations

from shoal.errors import InputError, short_list
from shoal.hierarchy.formats.csv_labels import Cells, cells_for, read_cells
from shoal.hierarchy.formats.links import Links, links_by_label
from shoal.hierarchy.tree import Hierarchy, count_of

ONE_ROOT = "add rows that give them one parent"

Edges = list[tuple[str, str, int]]


def parse(text: str, place: str) -> Links:
    cells = read_cells(text, place)
    if not cells.rows:
        return Links([], [])
    columns = named_columns(cells.rows[0])
    return links_by_label(_edges(cells.below_header(), *columns) if columns else _likely_edges(cells, place), place)


def render(hierarchy: Hierarchy, name: str) -> str:
    """A `parent,child` header and one row per node but the root. Labels are identities here: repeated ones become unique names."""
    cells = cells_for(hierarchy.names, f"hierarchy {hierarchy.source} cannot be written as parent-child")
    return "parent,child\n" + "".join(
        [f"{cells[p]},{cells[v]}\n" for v, p in enumerate(hierarchy.parent[:-1].tolist())]
    )


def named_columns(row: list[str]) -> tuple[int, int] | None:
    """Where the parent and the child stand, if this row is a header that says so."""
    names = [cell.casefold() for cell in row]
    return (names.index("parent"), names.index("child")) if "parent" in names and "child" in names else None


def _edges(cells: Cells, parent: int, child: int) -> Edges:
    return [
        (row[parent] if parent < len(row) else "", row[child] if child < len(row) else "", line)
        for row, line in zip(cells.rows, cells.lines, strict=True)
    ]


def _likely_edges(cells: Cells, place: str) -> Edges:
    wide = [str(line) for row, line in zip(cells.rows, cells.lines, strict=True) if len(row) > 2]
    if wide:
        raise InputError(
            f"{place}: {count_of(wide, 'row has', 'rows have')} more than two columns (line {short_list(wide)}); "
            "keep parent and child, or add a header that names these two columns"
        )
    readings = [_edges(cells, 0, 1), _edges(cells, 1, 0)]
    first = set(cells.rows[0])
    if len(cells.rows) > 1 and all(first.isdisjoint(row) for row in cells.rows[1:]):
        below = cells.below_header()
        readings += [edges for edges in (_edges(below, 0, 1), _edges(below, 1, 0)) if not _faults(edges)]
    return min(readings, key=_faults)


def _faults(edges: Edges) -> int:
    """How far the links are from a tree: labels missing, parents too many, roots more or less than one."""
    links = {(parent, child) for parent, child, _ in edges if parent}
    children = {child for _, child in links}
    roots = {label for parent, child, _ in edges for label in (parent, child) if label} - children
    return sum(not child for _, child, _ in edges) + len(links) - len(children) + abs(len(roots) - 1)
