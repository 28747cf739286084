"""ARX's hierarchies: CSV with one row per leaf, the leaf first and the root last, one column per level.

Rows may be ragged: a leaf hangs under what follows it in its row. A node is known by its label and everything above it, so a label
that repeats on several levels or branches stays several nodes. Rows that share all but their leaf share one look-up.
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.errors import VALUES, InputError, short_list
from shoal.hierarchy.formats.csv_labels import Cells, cells_for, read_cells
from shoal.hierarchy.formats.links import Links, by_converting, twin_labels
from shoal.hierarchy.tree import Hierarchy, count_of

ONE_ROOT = "add a last column with the same value in every row"


def parse(text: str, place: str, levels: Sequence[str] | None = None) -> Links:
    """The links of the file, from all columns or from the ones that `levels` names, leaf first."""
    cells = read_cells(text, place)
    if not cells.rows:
        return Links([], [])
    header: list[str] = []
    if levels is not None:
        cells = _chosen(cells, levels, place)
    elif has_header(cells.rows):
        header, cells = cells.rows[0], cells.below_header()
    _refuse_gaps(cells, place)
    if levels is None and len({row[-1] for row in cells.rows}) > 1:
        _refuse_columns_after_root(cells.rows, header, place)
    return _links(cells.rows)


def links_of(rows: Sequence[Sequence[str]], place: str) -> Links:
    """The links of rows that are known to hold no header."""
    cells = Cells([list(row[: 1 + max((i for i, cell in enumerate(row) if cell), default=-1)]) for row in rows], [])
    cells = Cells([row for row in cells.rows if row], [i for i, row in enumerate(cells.rows, 1) if row])
    _refuse_gaps(cells, place)
    return _links(cells.rows)


def render(hierarchy: Hierarchy, name: str) -> str:
    """One row per leaf, `;` between cells, no header. Leaves of different depth make ragged rows, which ARX itself may not take."""
    what = f"hierarchy {hierarchy.source} cannot be written as arx"
    upward = list(cells_for(hierarchy.labels, what))
    if twins := twin_labels(hierarchy, hierarchy.n_leaves):  # they would be read back as one node
        raise InputError(f"{what}: categories with the same parent share a label{VALUES}; rename them", values=twins)
    for v in range(hierarchy.n_nodes - 2, -1, -1):
        upward[v] += ";" + upward[hierarchy.parent[v]]
    return "".join(f"{row}\n" for row in upward[: hierarchy.n_leaves])


def has_header(rows: list[list[str]]) -> bool:
    """Whether the first row names columns: it ends in no other row's root and shares no category with another row."""
    first, rest = rows[0], rows[1:]
    if len(first) == 1 or not rest or any(row[-1] == first[-1] for row in rest):
        return False
    return not any(a == b for row in rest for a, b in zip(first[1:], row[1:], strict=False))


def _links(rows: list[list[str]]) -> Links:
    labels: list[str] = []
    parent: list[int] = []

    def add_node(above: int, label: str) -> int:
        labels.append(label)
        parent.append(above)
        return len(labels) - 1

    paths: dict[tuple[str, ...], int] = {}
    inner: dict[tuple[int, str], int] = {}
    leaves: set[tuple[int, str]] = set()
    for row in rows:
        path = tuple(row[1:])
        above = paths.get(path, -1)
        if above < 0:
            for label in reversed(path):
                node = inner.get((above, label))
                if node is None:
                    node = inner[above, label] = add_node(above, label)
                above = node
            paths[path] = above
        if (leaf := (above, row[0])) not in leaves:
            leaves.add(leaf)
            add_node(*leaf)
    return Links(labels, parent)


def _chosen(cells: Cells, levels: Sequence[str], place: str) -> Cells:
    """The columns of the given names, which the first row must hold."""
    header = cells.rows[0]
    if missing := [name for name in levels if name not in header]:
        raise InputError(
            f"{place}: its first line names no column {short_list(missing)}; name those that it has{VALUES}",
            values=header,
        )
    if len(levels) < 2 or len(set(levels)) < len(levels):
        raise InputError(
            f"{place}: levels must name two or more different columns, the leaf's first and the root's last"
        )
    columns = [header.index(name) for name in levels]
    rows, lines = [], []
    for row, line in zip(cells.rows[1:], cells.lines[1:], strict=True):
        chosen = [row[c] if c < len(row) else "" for c in columns]
        while chosen and not chosen[-1]:
            chosen.pop()
        if chosen:
            rows.append(chosen)
            lines.append(line)
    return Cells(rows, lines)


def _refuse_gaps(cells: Cells, place: str) -> None:
    gaps = [str(line) for row, line in zip(cells.rows, cells.lines, strict=True) if "" in row]
    if gaps:
        raise InputError(
            f"{place}: {count_of(gaps, 'row has', 'rows have')} an empty cell before their last value (line {short_list(gaps)}); "
            "fill it in, or leave the cell out to hang the value under the next one"
        )
    alone = [str(line) for row, line in zip(cells.rows, cells.lines, strict=True) if len(row) == 1]
    if alone:
        raise InputError(
            f"{place}: {count_of(alone, 'row holds', 'rows hold')} a single value (line {short_list(alone)}); "
            "write the value, then what it generalizes to, up to the root, with ; or , between them"
        )


def _refuse_columns_after_root(rows: list[list[str]], header: list[str], place: str) -> None:
    """Several last values, but one column with a single value: that is the root, and what follows it is something else."""
    for c in range(1, min(map(len, rows))):
        if len({row[c] for row in rows}) > 1:
            continue
        names = header + [f"column {i + 1}" for i in range(len(header), max(map(len, rows)))]
        use = f"to keep the levels alone, {by_converting(place, '--levels LEAF,...,ROOT')}, with the names of the first {c + 1} columns"
        raise InputError(
            f"{place}: after the root, in column {c + 1}, {len(names) - c - 1} more follow{VALUES}; "
            + (use if len(header) > c and "," not in "".join(header[: c + 1]) else "delete them"),
            values=names[c + 1 :],
        )
