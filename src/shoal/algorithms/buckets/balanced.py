"""Balanced: Injector's promise with buckets as small as Anatomy's.

Injector's next row is the one that leaves the most rows compatible, which uses up rare values first: in the end too few different
values are left, and many rows have to be squeezed into finished groups. Here a group starts with a row that fits few others,
as there, but grows by the value with the most rows left, as in Anatomy, of which a row is compatible. Values then run out together,
and next to all buckets have exactly l rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shoal.algorithms.buckets.bucketization import Bucketization
from shoal.algorithms.buckets.cells import Cells, Groups, bucketized
from shoal.algorithms.recoding import Options
from shoal.guarantees.diversity import MatchingDiversity
from shoal.hierarchy.tree import Hierarchy
from shoal.records.records import Records


def balanced(
    records: Records, guarantee: MatchingDiversity, hierarchies: Mapping[str, Hierarchy] | None, options: Options
) -> Bucketization:
    """Buckets that keep matching l-diversity against the rules of the guarantee; rows of a cell are drawn with `options.seed`."""
    return bucketized("balanced", records, guarantee, options, evenly_grouped)


def evenly_grouped(cells: Cells, l: int) -> Groups:  # noqa: E741
    """Groups of l compatible rows: hard rows first, then the values with the most rows left."""
    from shoal.kernels.buckets.grouping import evenly_grouped_cells

    many = cells.n_obedient_cells
    value, kind = cells.value[:many], cells.kind[:many]
    # About how many rows are incompatible with those of a cell: of its value, with its value in their set, with a value of its set.
    rows = np.diff(cells.start[: many + 1])
    of_value = np.bincount(value, rows, minlength=cells.n_values)
    of_kind = np.bincount(kind, rows, minlength=len(cells.excluded))
    hard = (of_value + of_kind @ cells.excluded)[value] + (cells.excluded @ of_value)[kind]
    group, n_groups = evenly_grouped_cells(
        l,
        value,
        kind,
        cells.start[: many + 1],
        cells.value_cells,
        cells.kind_start,
        cells.kind_values,
        cells.excluded,
        np.argsort(-hard, kind="stable"),
    )
    return np.concatenate((group, np.full(len(cells.rows) - cells.n_obedient, -1, np.int32))), n_groups
