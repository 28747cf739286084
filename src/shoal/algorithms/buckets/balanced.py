"""Balanced: Injector's promise with buckets as small as Anatomy's.

Injector's next row is the one that leaves the most rows compatible, which uses up rare values first: in the end too few different
values are left, and many rows have to be squeezed into finished groups. Here a group starts with a row that fits few others,
as there, but grows by the value with the most rows left, as in Anatomy, of which a row is compatible. Values then run out together,
and next to all buckets have exactly l rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shoal.algorithms.buckets.bucketization import Bucketization, Cells, Groups, bucketize
from shoal.algorithms.recoding import Options
from shoal.guarantees.diversity import MatchingDiversity
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.buckets.grouping import evenly_grouped_cells
from shoal.records.records import Records


def balanced(
    records: Records, guarantee: MatchingDiversity, hierarchies: Mapping[str, Hierarchy] | None, options: Options
) -> Bucketization:
    """Buckets that keep matching l-diversity against the rules of the guarantee; rows of a cell are drawn with `options.seed`."""
    return bucketize("balanced", records, guarantee, options, evenly_grouped)


def evenly_grouped(cells: Cells, l: int) -> Groups:  # noqa: E741
    """Groups of l compatible rows: hard rows first, then the values with the most rows left."""
    table = cells.table
    # About how many rows are incompatible with those of a cell: of its value, with its value in their set, with a value of its set.
    rows = np.diff(table.start)
    of_value = np.bincount(table.value, rows, minlength=cells.n_values)
    of_kind = np.bincount(table.kind, rows, minlength=len(cells.excluded))
    hard = (of_value + of_kind @ cells.excluded)[table.value] + (cells.excluded @ of_value)[table.kind]
    group, n_groups = evenly_grouped_cells(l, table, np.argsort(-hard, kind="stable"))
    return cells.with_rest(group), n_groups
