"""A tree as the text of a parent-child file, made column by column: an edit of a large tree writes one, and a page waits for it.

It is to the byte what `shoal.hierarchy.files` writes row by row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.hierarchy.files import hierarchy_text

if TYPE_CHECKING:
    from shoal.hierarchy.tree import Hierarchy


def parent_child_text(tree: Hierarchy) -> bytes:
    """The file's bytes. Raises `InputError` for names that such a file cannot hold."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = tree.names
    if tree.n_nodes == 1 or not all(names) or list(map(str.strip, names)) != list(names):
        return hierarchy_text(tree, "parent-child").encode()  # which says what is wrong
    kind = pa.large_string()
    cells = pa.array(names, kind)
    nothing, comma, quote, end = (pa.scalar(text, kind) for text in ("", ",", '"', "\n"))
    special = pc.match_substring_regex(cells, '[;\t,"\r\n]')
    if pc.any(special).as_py():
        inside = pc.replace_substring(cells, '"', '""')
        cells = pc.if_else(special, pc.binary_join_element_wise(quote, inside, quote, nothing), cells)
    above = pc.take(cells, pa.array(tree.parent[:-1]))
    rows = pc.binary_join_element_wise(above, comma, cells.slice(0, tree.n_nodes - 1), end, nothing)
    # The texts of an array lie one behind the other: that is the file.
    _, offsets, text = rows.buffers()
    last = int(np.frombuffer(offsets, np.int64)[len(rows)])
    found: bytes = b"parent,child\n" + text[:last].to_pybytes()
    return found
