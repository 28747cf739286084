"""Injector (Li and Li 2008, Figure 2): buckets of rows that could exchange their values, as far as an attacker knows.

A group starts with the row that fits the fewest others and grows by rows that leave the most choice; rows that find no group are
added where they fit best, and groups are merged until they have l valid values. How many rows fit (NIT) is counted over cells, not
over rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from shoal.algorithms.buckets.balanced import evenly_grouped
from shoal.algorithms.buckets.bucketization import Bucketization, Cells, Groups, bucketize
from shoal.algorithms.recoding import Options
from shoal.guarantees.diversity import MatchingDiversity
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.buckets.grouping import grouped_cells
from shoal.records.records import Records

EXACT = 2e9
"""Steps up to which NIT is counted for every choice; beyond, groups are formed as `balanced` does."""


def injector(
    records: Records, guarantee: MatchingDiversity, hierarchies: Mapping[str, Hierarchy] | None, options: Options
) -> Bucketization:
    """Buckets that keep matching l-diversity against the rules of the guarantee; rows of a cell are drawn with `options.seed`."""
    counted = True

    def form_groups(cells: Cells, l: int) -> Groups:  # noqa: E741
        nonlocal counted
        counted = affordable(cells, l)
        return nit_grouped(cells, l) if counted else evenly_grouped(cells, l)

    answer = bucketize("injector", records, guarantee, options, form_groups)
    if counted:
        return answer
    note = (
        f"There are {answer.facts['cells']:,} combinations of a value and a set of impossible values, too many to count incompatible rows "
        "for every choice: groups were formed as by algorithm balanced."
    )
    return replace(answer, notes=(*answer.notes, note))


def nit_grouped(cells: Cells, l: int) -> Groups:  # noqa: E741
    """The grouping phase of Figure 2."""
    ruled = np.full(cells.n_values, -1, np.int32)
    used = np.unique(cells.table.kind_values)
    ruled[used] = np.arange(len(used))
    group, n_groups = grouped_cells(l, cells.table, ruled, len(used))
    return cells.with_rest(group), n_groups


def affordable(cells: Cells, l: int) -> bool:  # noqa: E741
    """Whether NIT can be counted for every choice: each group looks at all cells for its first row and at the sets that it hits, each
    further row at the values and at some cells."""
    sizes = cells.excluded.sum(axis=1)[cells.kind[: cells.n_obedient_cells]]
    closed = min(float(cells.n_values), l * (1 + float(sizes.mean()))) if len(sizes) else 0.0
    rounds = cells.n_obedient / l
    steps = rounds * float((1 + sizes).sum()) + cells.n_obedient * (cells.n_values * closed + len(sizes))
    return bool(steps <= EXACT)
