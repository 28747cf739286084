"""Which column of a tree's file holds the values of the data, and which columns stand above it.

A file often has more than the tree: running numbers, names beside codes. Read as it stands its first column is the leaves, which may fit by
accident. Here every column is held against the data, and above the one that knows most of them stand those that follow from it, each
coarser than the one before.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from shoal.errors import InputError, option
from shoal.hierarchy.files import read_text, shown_path
from shoal.hierarchy.formats import arx, parent_child
from shoal.hierarchy.formats.csv_labels import Cells, read_cells
from shoal.hierarchy.formats.links import PLACE
from shoal.hierarchy.tree import Hierarchy

ROOT = "*"
"""What is put above several roots."""


@dataclass(frozen=True)
class ColumnFit:
    """A column of a tree's file as the leaves."""

    names: tuple[str, ...]
    """It, and what stands above it, as the first line calls them, or by number."""
    columns: tuple[int, ...]
    known: int
    """Values of the data that stand in it."""
    values: int
    path: str | os.PathLike[str]

    def tree(self) -> Hierarchy:
        """The tree that these columns hold."""
        named = shown_path(self.path)
        place = f"{PLACE}{named}"
        rows, _ = _rows(read_cells(read_text(self.path), place).rows)
        chosen = {row[self.columns[0]]: [row[column] for column in self.columns] for row in rows}
        links = arx.links_of([levels for leaf, levels in chosen.items() if leaf], place)
        return links.hierarchy(place, named.name, one_root=arx.ONE_ROOT, root=ROOT)


def best_column(path: str | os.PathLike[str], values: Collection[str]) -> ColumnFit | None:
    """The column of a file that knows most of the values, with what stands above it; None for a file without columns to choose from."""
    try:
        cells: Cells = read_cells(read_text(path), f"{PLACE}{shown_path(path)}")
    except InputError:
        return None
    if len(cells.rows) < 2 or max(map(len, cells.rows)) < 2 or parent_child.named_columns(cells.rows[0]):
        return None
    rows, names = _rows(cells.rows)
    known = [len({row[column] for row in rows}.intersection(values)) for column in range(len(names))]
    best = max(range(len(names)), key=lambda column: (known[column], -column))
    above = _above(rows, best)
    if not known[best] or not above:
        return None
    columns = (best, *above)
    return ColumnFit(tuple(names[column] for column in columns), columns, known[best], len(values), path)


def better_column(path: str | os.PathLike[str], tree: Hierarchy, values: Collection[str]) -> str:
    """A sentence on a column of the file that fits better than the leaves it was read with, and how to take it; empty if there is none."""
    fit = best_column(path, values)
    known = sum(value in tree.leaf_called for value in values)
    if fit is None or fit.known <= known or fit.names[0].startswith("column "):
        return ""
    command = f"shoal hierarchy convert {shlex.quote(os.fspath(path))} --levels {shlex.quote(','.join(fit.names))}"
    fits = f"its column {fit.names[0]!r} knows {fit.known:,} of {fit.values:,} values, the leaves {known:,}"
    return f"{fits}: {option('shell', f'{command} --add-root ALL -o NEW.csv')} makes a tree of it"


def _rows(rows: list[list[str]]) -> tuple[list[list[str]], list[str]]:
    """Rows of one length without the header, and what their columns are called."""
    width = max(map(len, rows))
    full = [[*row, *[""] * (width - len(row))] for row in rows]
    first, rest = full[0], full[1:]
    is_header = (
        all(first)
        and len(set(first)) == width
        and not any(cell in {row[c] for row in rest} for c, cell in enumerate(first))
    )
    if not is_header:
        return full, [f"column {column + 1}" for column in range(width)]
    return rest, first


def _above(rows: Sequence[Sequence[str]], leaf: int) -> list[int]:
    """The columns that follow from a column, the finest first, each of which follows from the one before and is coarser."""
    width = len(rows[0])
    different = [len({row[column] for row in rows}) for column in range(width)]
    chain, below = [], leaf
    for column in sorted(range(width), key=lambda column: (-different[column], column)):
        if column == leaf or different[column] >= different[below] or not all(row[column] for row in rows if row[leaf]):
            continue
        pairs = {(row[below], row[column]) for row in rows if row[leaf]}
        if len(pairs) == len({one for one, _ in pairs}):
            chain.append(column)
            below = column
    return chain
