"""TFIRST (section 3 of the RT paper): parts of rows with near items, after LRA, and relational values generalized as they fall.

Rows are sorted in Gray order of their items (in tree order under a hierarchy, else the most frequent item first) and cut into parts of
equal size, whose items are generalized part by part. How many parts lose least is tried: 1, 2, 4, ... until UL has risen twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.bounds import publishable, recoded
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, RTOptions, settings
from shoal.algorithms.rt.clusters import numbered
from shoal.algorithms.rt.task import Ground, Hierarchies, ground
from shoal.algorithms.rt.transaction import all_generalized
from shoal.records.records import Records

if TYPE_CHECKING:
    from shoal.guarantees.lm import LmDiversity
    from shoal.guarantees.rt import RTAnonymity


def tfirst(
    records: Records,
    guarantee: RTAnonymity | LmDiversity,
    hierarchies: Hierarchies,
    options: Options,
    rt: RTOptions | None = None,
) -> ClusterRecoding:
    """The least loss of items that parts of the sorted rows give, whatever the relational columns lose."""
    laid = ground(records, guarantee, hierarchies, options, settings(options, rt))
    order, n = _item_order(laid), len(laid)
    best: tuple[float, npt.NDArray[np.int32]] | None = None
    parts, risen = 1, 0
    while parts == 1 or (n // parts >= 2 * laid.k and risen < 2):
        options.tell(f"{parts:,} parts", 0.1)
        pieces = [np.sort(piece) for piece in np.array_split(order, parts)]
        if all(publishable(laid, piece) for piece in pieces):
            loss = sum(one.ul for one in all_generalized(laid, pieces)) / n
            if best is None or loss < best[0] - 1e-12:
                of_row = np.empty(n, np.int32)
                of_row[order] = np.repeat(np.arange(parts, dtype=np.int32), [len(piece) for piece in pieces])
                best, risen = (loss, of_row), 0
            else:
                risen += 1
        else:
            risen += 1
        parts *= 2
    assert best is not None  # all rows together can be published: `ground` has seen to that
    of_row, count = numbered(best[1])
    return recoded("tfirst", laid, of_row, count, facts={"parts": count})


def _item_order(laid: Ground) -> npt.NDArray[np.int64]:
    from shoal.kernels.classes.gray import gray_order

    items = laid.items
    key = laid.tree.span[laid.leaf, 0] if laid.tree is not None else -items.supports()
    rank = np.empty(len(key), np.int32)
    rank[np.argsort(key, kind="stable")] = np.arange(len(key), dtype=np.int32)
    return gray_order(items.offsets, items.items, len(items.vocabulary), rank, laid.options.threads)
