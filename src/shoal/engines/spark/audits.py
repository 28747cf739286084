"""Audits on Spark, equal to the local ones: which guarantee is counted where, and what each needs of a data frame."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shoal.engines.spark.buckets import diversity_audited
from shoal.engines.spark.classes import k_audited
from shoal.engines.spark.itemsets import km_audited
from shoal.engines.spark.local_km import local_km_audited
from shoal.engines.spark.records import SparkRecords
from shoal.engines.spark.sets import SparkSets
from shoal.engines.spark.tables import lm_audited, rt_audited, table_audited
from shoal.errors import InputError
from shoal.guarantees.audit import Audit
from shoal.guarantees.diversity import MatchingDiversity, PlainDiversity
from shoal.guarantees.k import KAnonymity
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.km_local import LocalKmAnonymity
from shoal.guarantees.lm import LmDiversity
from shoal.guarantees.rt import RTAnonymity
from shoal.guarantees.table import TableAnonymity
from shoal.numbers import whole_number

OF_SETS = (KmAnonymity, LocalKmAnonymity, KAnonymity)
LARGEST = 2**31
"""The largest k or l that is counted with as it is."""
OF_RECORDS = (RTAnonymity, LmDiversity, TableAnonymity, MatchingDiversity, PlainDiversity)


def check_auditable(guarantee: Any) -> None:
    """Raises unless the guarantee can be audited on Spark. What is derived from one of these is counted otherwise."""
    if type(guarantee) not in (*OF_SETS, *OF_RECORDS):
        raise InputError(f"{guarantee} cannot be audited on Spark; use the local engine")


def audited(
    published: SparkSets | SparkRecords, guarantee: Any, *, witnesses: int = 10, yes_or_no: bool = False
) -> Audit:
    """Whether what was published keeps the guarantee."""
    check_auditable(guarantee)
    whole_number("witnesses", witnesses, 0)
    verdict = _audited(published, _countable(guarantee, len(published)), witnesses, yes_or_no)
    return replace(verdict, guarantee=guarantee.to_dict())


def _countable(guarantee: Any, rows: int) -> Any:
    """The guarantee in numbers that executors can count with: a crowd larger than all rows is as large as any other."""
    large = {name: max(2, rows + 1) for name in ("k", "l") if getattr(guarantee, name, 0) > LARGEST}
    return replace(guarantee, **large) if large else guarantee


def _audited(published: SparkSets | SparkRecords, guarantee: Any, witnesses: int, yes_or_no: bool) -> Audit:
    if isinstance(guarantee, OF_SETS):
        sets = published.sets if isinstance(published, SparkRecords) else published
        if isinstance(guarantee, KAnonymity):
            return k_audited(sets, guarantee, witnesses)
        if isinstance(guarantee, LocalKmAnonymity):
            return local_km_audited(sets, guarantee, witnesses, yes_or_no)
        return km_audited(sets, guarantee, witnesses, yes_or_no)
    assert isinstance(published, SparkRecords)
    if isinstance(guarantee, TableAnonymity):
        return table_audited(published, guarantee, witnesses)
    if isinstance(guarantee, RTAnonymity):
        return rt_audited(published, guarantee, witnesses, yes_or_no)
    if isinstance(guarantee, LmDiversity):
        return lm_audited(published, guarantee, witnesses, yes_or_no)
    return diversity_audited(published, guarantee, witnesses)
