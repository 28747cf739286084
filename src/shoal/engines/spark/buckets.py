"""Audits of bucketized releases on Spark: a bucket says all there is to say about its rows, so blocks of buckets are audited locally.

The rules that the attacker knows, with the hierarchies they speak of, travel to the workers.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.engines.spark.blocks import answers, by_bucket
from shoal.engines.spark.records import SparkRecords, of_rows
from shoal.engines.spark.tables import first
from shoal.guarantees.audit import Audit, Witness
from shoal.guarantees.diversity import (
    BUCKET,
    MatchingDiversity,
    PlainDiversity,
    buckets_of,
    contradiction_notes,
    diversities,
)
from shoal.records.records import Column, Records


def diversity_audited(records: SparkRecords, guarantee: MatchingDiversity | PlainDiversity, witnesses: int) -> Audit:
    """As the audit of the guarantee; one of the kept columns of the records is the bucket."""
    place = records.kept.index(BUCKET)
    told = answers(records, partial(by_bucket, place=place), _audited, guarantee=guarantee, keep=witnesses, place=place)
    violations = sum(one["violations"] for one in told)
    matching = isinstance(guarantee, MatchingDiversity)
    facts = [one["facts"] for one in told]
    broken = sum(one.get("contradicted_rows", 0) for one in facts)
    n = sum(one["buckets"] for one in told)
    return Audit(
        guarantee=guarantee.to_dict(),
        holds=not violations,
        checked=sum(one["checked"] for one in told),
        violations=violations,
        witnesses=tuple(
            Witness(tuple(one["items"]), one["support"], tuple(one["rows"]), one["reason"])
            for one in first(told, "worst", witnesses)
        ),
        notes=contradiction_notes(broken) if matching else (),
        facts={
            "buckets": n,
            "smallest_bucket": min((one["smallest_bucket"] for one in facts), default=0),
            "largest_bucket": max((one["largest_bucket"] for one in facts), default=0),
            "average_bucket": len(records) / n if n else 0.0,
            "fewest_values": min((one["fewest_values"] for one in facts), default=0),
            "certain_rows": sum(one["certain_rows"] for one in facts),
            "contradicted_rows": broken,
            "largest_share": max((one["largest_share"] for one in facts), default=0.0),
        }
        if matching
        else {},
    )


def _audited(
    table: pa.Table, template: Records, guarantee: MatchingDiversity | PlainDiversity, keep: int, place: int
) -> dict[str, Any]:
    """On a worker: the audit of the buckets of a block, and what ranks its witnesses among those of others."""
    rows, records = of_rows(table, template)
    kept = table["kept"].to_pylist()
    order = np.argsort(table["row"].to_numpy(), kind="stable")
    names, bucket = np.unique(
        np.array([kept[i][place] for i in order.tolist()], object).astype(str), return_inverse=True
    )
    label = Column(BUCKET, "keep", bucket.reshape(-1).astype(np.int32), tuple(names.tolist()))
    buckets = buckets_of(replace(records, columns=(*records.columns, label)))
    verdict = guarantee.audit(buckets, witnesses=keep, threads=1)
    # Locally, buckets are numbered as they first appear.
    appears = rows[np.unique(buckets.of_row, return_index=True)[1]]
    found = None
    if isinstance(guarantee, PlainDiversity):
        found = diversities(buckets, int(guarantee.l), guarantee.missing)[guarantee.kind]
        found = found * (-1 if guarantee.kind == "recursive" else 1)
    worst = []
    for number, witness in enumerate(verdict.witnesses):
        b = int(buckets.of_row[witness.rows[0] - 1])
        rank = float(witness.support if found is None else found[b])
        worst.append(
            {
                "key": [rank, int(appears[b]), number],
                "items": list(witness.items),
                "support": witness.support,
                "rows": (rows[np.array(witness.rows) - 1] + 1).tolist(),
                "reason": witness.reason,
            }
        )
    return {
        "checked": verdict.checked,
        "violations": verdict.violations,
        "buckets": len(buckets),
        "facts": dict(verdict.facts),
        "worst": worst,
    }
