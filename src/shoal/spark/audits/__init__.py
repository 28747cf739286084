"""Audits on Spark, equal to the local ones: which guarantee is counted where, and what each needs of a data frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

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
from shoal.spark.audits.buckets import audit_buckets
from shoal.spark.audits.km import audit_in_one_task, audit_km, audit_local_km
from shoal.spark.audits.tables import audit_lm, audit_rt, audit_table
from shoal.spark.audits.transactions import audit_k
from shoal.spark.data.frame_records import SparkRecords
from shoal.spark.data.one_task import TO_CHANGE, TO_COUNT, fits
from shoal.spark.data.sets import SparkSets

WITNESSES = 10
LARGEST = 2**31
"""The largest k or l that is counted with as it is."""
_AUDITS: dict[type, Callable[..., Audit]] = {
    KmAnonymity: audit_km,
    LocalKmAnonymity: audit_local_km,
    KAnonymity: audit_k,
    TableAnonymity: audit_table,
    RTAnonymity: audit_rt,
    LmDiversity: audit_lm,
    MatchingDiversity: audit_buckets,
    PlainDiversity: audit_buckets,
}
_OF_SETS = (KmAnonymity, LocalKmAnonymity, KAnonymity)


def check_auditable(guarantee: Any) -> None:
    """Raises unless the guarantee can be audited on Spark. What is derived from one of these is counted otherwise."""
    counts_shares = isinstance(guarantee, TableAnonymity) and (guarantee.by_frequency or guarantee.t is not None)
    counts_shares |= isinstance(guarantee, RTAnonymity | LmDiversity) and guarantee.looks_at_values
    if counts_shares or type(guarantee) not in _AUDITS:
        raise InputError(f"{guarantee} cannot be audited on Spark; use the local engine")


def audit_rows(
    published: SparkSets | SparkRecords, guarantee: Any, *, witnesses: int = WITNESSES, yes_or_no: bool = False
) -> Audit:
    """Whether what was published keeps the guarantee."""
    check_auditable(guarantee)
    whole_number("witnesses", witnesses, 0)
    rows = published.sets if isinstance(guarantee, _OF_SETS) else published
    count = _AUDITS[type(guarantee)]
    verdict = count(rows, _countable(guarantee, len(published)), witnesses, yes_or_no)
    return replace(verdict, guarantee=guarantee.to_dict())


def verdict_and_digest(published: SparkSets | SparkRecords, guarantee: Any) -> tuple[Audit, str]:
    """What `audit_rows` says of rows, and what they are known by."""
    room = {KmAnonymity: TO_COUNT, LocalKmAnonymity: TO_CHANGE}.get(type(guarantee))
    if room is None or not fits(published.sets, room):
        return audit_rows(published, guarantee), published.digest()
    counted = _countable(guarantee, len(published))
    verdict, digest = audit_in_one_task(published.sets, counted, WITNESSES, False, hashed=True)
    return replace(verdict, guarantee=guarantee.to_dict()), digest


def _countable(guarantee: Any, rows: int) -> Any:
    """The guarantee in numbers that executors can count with: a crowd larger than all rows is as large as any other."""
    large = {name: max(2, rows + 1) for name in ("k", "l") if getattr(guarantee, name, 0) > LARGEST}
    return replace(guarantee, **large) if large else guarantee
