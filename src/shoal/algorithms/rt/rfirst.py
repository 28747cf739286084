"""RFIRST (section 3 of the RT paper): clusters of near relational values, and the items of each generalized as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.bounds import initial_clusters, joining_notes, recoded
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, RTOptions, settings
from shoal.algorithms.rt.clusters import numbered
from shoal.algorithms.rt.task import Hierarchies, ground
from shoal.records.records import Records

if TYPE_CHECKING:
    from shoal.guarantees.lm import LmDiversity
    from shoal.guarantees.rt import RTAnonymity


def rfirst(
    records: Records,
    guarantee: RTAnonymity | LmDiversity,
    hierarchies: Hierarchies,
    options: Options,
    rt: RTOptions | None = None,
) -> ClusterRecoding:
    """The least loss of relational columns that CLUSTER finds, whatever the items lose."""
    laid = ground(records, guarantee, hierarchies, options, settings(options, rt))
    merging, joined = initial_clusters(laid)
    of_row, n = numbered(merging.of_row())
    return recoded("rfirst", laid, of_row, n, notes=joining_notes(joined))
