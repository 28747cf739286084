"""Hierarchies in Python objects: nested dicts and lists, as in JSON, and data frames, as in CSV.

{"drinks": ["tea", "coffee"], "dairy": ["milk"]}        several roots are put under *
a frame with a column for each level, the leaf's first, or with the columns parent and child
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from shoal.errors import InputError
from shoal.hierarchy.formats import arx, nested, parent_child
from shoal.hierarchy.formats.links import Links, links_by_label
from shoal.hierarchy.tree import Hierarchy

ROOT = "*"


def is_named(spec: Any) -> bool:
    """Whether a hierarchy is given as it is, by its file or by a short text; otherwise it lies in dicts, lists or a data frame."""
    return spec is None or isinstance(spec, str | os.PathLike | Hierarchy)


def tree_of(data: Any) -> Hierarchy:
    """The hierarchy in nested dicts and lists, or in a data frame."""
    place = f"hierarchy in the {type(data).__name__}"
    links = _nested(data, place) if isinstance(data, Mapping | list | tuple) else _framed(data, place)
    return links.hierarchy(place, "given", one_root="", root=ROOT)


def trees_of(given: Any, *, per_column: bool) -> Any:
    """What `hierarchy` says, with trees in the place of dicts, lists and frames. A dict is a tree, or has one for each column."""
    if is_named(given):
        return given
    if isinstance(given, Mapping) and (
        per_column or any(is_named(spec) and spec is not None for spec in given.values())
    ):
        return {name: spec if is_named(spec) else tree_of(spec) for name, spec in given.items()}
    return tree_of(given)


def _nested(data: Any, place: str) -> Links:
    try:
        text = json.dumps(data)
    except (TypeError, ValueError, RecursionError):
        raise InputError(
            f"{place}: it holds what is not a label, dict or list of them; give {{parent: [child, child]}}"
        ) from None
    return nested.parse(text, place)


def _framed(data: Any, place: str) -> Links:
    """A data frame always has names for its columns, so that no row needs to be taken for them."""
    try:
        table = pa.Table.from_pandas(data, preserve_index=False) if hasattr(data, "iloc") else pa.table(data)
        columns = [table[name].cast(pa.string()).to_pylist() for name in table.column_names]
    except (pa.ArrowException, AttributeError, TypeError, ValueError):
        raise InputError(f"{place}: give a file, nested dicts and lists, or a data frame of texts") from None
    rows = [[(cell or "").strip() for cell in row] for row in zip(*columns, strict=True)]
    if ends := parent_child.named_columns(list(table.column_names)):
        parent, child = ends
        return links_by_label([(row[parent], row[child], number) for number, row in enumerate(rows, 1)], place)
    return arx.links_of(rows, place)
