"""The six merging algorithms of the RT paper by name. RMERGE bounds the loss of relational columns, TMERGE that of the items;
`_r` merges clusters with near relational values, `_t` with near items, `_rt` by the sum of both ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.bounds import rum_bound, tum_bound
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, RTOptions
from shoal.algorithms.rt.task import Hierarchies
from shoal.records.records import Records

if TYPE_CHECKING:
    from shoal.guarantees.lm import LmDiversity
    from shoal.guarantees.rt import RTAnonymity

    Guarantee = RTAnonymity | LmDiversity


def rmerge_r(
    records: Records, guarantee: Guarantee, hierarchies: Hierarchies, options: Options, rt: RTOptions | None = None
) -> ClusterRecoding:
    """The nearest clusters in relational values become one, while NCP stays at delta or below."""
    return rum_bound("r", records, guarantee, hierarchies, options, rt)


def rmerge_t(
    records: Records, guarantee: Guarantee, hierarchies: Hierarchies, options: Options, rt: RTOptions | None = None
) -> ClusterRecoding:
    """The nearest clusters in items become one, as long as there is a pair that leaves NCP at delta or below."""
    return rum_bound("t", records, guarantee, hierarchies, options, rt)


def rmerge_rt(
    records: Records, guarantee: Guarantee, hierarchies: Hierarchies, options: Options, rt: RTOptions | None = None
) -> ClusterRecoding:
    """The nearest clusters by both ranks become one, as long as there is a pair that leaves NCP at delta or below."""
    return rum_bound("rt", records, guarantee, hierarchies, options, rt)


def tmerge_r(
    records: Records, guarantee: Guarantee, hierarchies: Hierarchies, options: Options, rt: RTOptions | None = None
) -> ClusterRecoding:
    """The nearest clusters in relational values become one, until UL is at delta or below."""
    return tum_bound("r", records, guarantee, hierarchies, options, rt)


def tmerge_t(
    records: Records, guarantee: Guarantee, hierarchies: Hierarchies, options: Options, rt: RTOptions | None = None
) -> ClusterRecoding:
    """The nearest clusters in items become one, until UL is at delta or below."""
    return tum_bound("t", records, guarantee, hierarchies, options, rt)


def tmerge_rt(
    records: Records, guarantee: Guarantee, hierarchies: Hierarchies, options: Options, rt: RTOptions | None = None
) -> ClusterRecoding:
    """The nearest clusters by both ranks become one, until UL is at delta or below."""
    return tum_bound("rt", records, guarantee, hierarchies, options, rt)
