"""TFIRST (section 3 of the RT paper): parts of rows with near items, after LRA, and relational values generalized as they fall.

Rows are sorted in Gray order of their items (in tree order under a hierarchy, else the most frequent item first) and cut into parts of
equal size, whose items are generalized part by part. How many parts lose least is tried: 1, 2, 4, ... until UL has risen twice.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, RTOptions
from shoal.algorithms.rt.clusters import number_groups
from shoal.algorithms.rt.merges import publishable, recoding_of
from shoal.algorithms.rt.task import Guarantee, Hierarchies, Task, task_of
from shoal.algorithms.rt.transaction import class_rows, generalize_all
from shoal.kernels.classes.gray import gray_order
from shoal.numbers import Codes, Ints
from shoal.records.records import Records


def tfirst(
    records: Records, guarantee: Guarantee, hierarchies: Hierarchies, options: Options, rt: RTOptions | None = None
) -> ClusterRecoding:
    """The least loss of items that parts of the sorted rows give, whatever the relational columns lose."""
    task = task_of(records, guarantee, hierarchies, options, rt)
    order, n = _item_order(task), len(task)
    best: tuple[float, Codes] | None = None
    parts, risen = 1, 0
    while parts == 1 or (n // parts >= 2 * task.k and risen < 2):
        options.tell(f"{parts:,} parts", 0.1)
        of_row = np.empty(n, np.int32)
        of_row[order] = np.repeat(np.arange(parts), [len(part) for part in np.array_split(order, parts)])
        if all(publishable(task, rows) for rows in class_rows(of_row, parts)):
            loss = sum(one.ul for one in generalize_all(task, of_row, parts)) / n
            if best is None or loss < best[0] - 1e-12:
                best, risen = (loss, of_row), 0
            else:
                risen += 1
        else:
            risen += 1
        parts *= 2
    assert best is not None  # all rows together can be published: `task_of` has seen to that
    of_row, count = number_groups(best[1])
    return recoding_of("tfirst", task, of_row, count, facts={"parts": count})


def _item_order(task: Task) -> Ints:
    items = task.items
    key = -items.supports() if task.tree.source == "flat" else task.tree.span[task.leaf, 0]
    rank = np.empty(len(key), np.int32)
    rank[np.argsort(key, kind="stable")] = np.arange(len(key), dtype=np.int32)
    return gray_order(items.offsets, items.items, len(items.vocabulary), rank, task.options.threads)
