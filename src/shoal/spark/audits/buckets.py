"""Audits of bucketized releases on Spark: a bucket says all there is to say about its rows, so blocks of buckets are audited locally.

The rules that the attacker knows, with the hierarchies they speak of, travel to the workers.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

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
from shoal.spark.audits.class_blocks import answers, by_bucket, worst
from shoal.spark.data.frame_records import SparkRecords, kept_texts, local_records


def audit_buckets(
    records: SparkRecords, guarantee: MatchingDiversity | PlainDiversity, witnesses: int, yes_or_no: bool
) -> Audit:
    """As the audit of the guarantee; one of the kept columns is the bucket. Buckets are counted whole, whatever is asked."""
    place = records.kept.index(BUCKET)
    blocks = answers(
        records, partial(by_bucket, place=place), _audit_block, guarantee=guarantee, keep=witnesses, place=place
    )
    violations = sum(block["violations"] for block in blocks)
    matching = isinstance(guarantee, MatchingDiversity)
    facts = [block["facts"] for block in blocks]
    broken = sum(one.get("contradicted_rows", 0) for one in facts)
    n = sum(block["buckets"] for block in blocks)
    return Audit(
        guarantee=guarantee.to_dict(),
        holds=not violations,
        checked=sum(block["checked"] for block in blocks),
        violations=violations,
        witnesses=tuple(
            Witness(tuple(one["items"]), one["support"], tuple(one["rows"]), one["reason"])
            for one in worst(blocks, "worst", witnesses)
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


def _audit_block(
    table: pa.Table, template: Records, guarantee: MatchingDiversity | PlainDiversity, keep: int, place: int
) -> dict[str, Any]:
    """On a worker: the audit of the buckets of a block, and what ranks its witnesses among those of others."""
    rows, records = local_records(table, template)
    texts = np.array([kept[place] for kept in kept_texts(table).to_pylist()], object).astype(str)
    names, bucket = np.unique(texts, return_inverse=True)
    label = Column(BUCKET, "keep", bucket.reshape(-1).astype(np.int32), tuple(names.tolist()))
    buckets = buckets_of(replace(records, columns=(*records.columns, label)))
    verdict = guarantee.audit(buckets, witnesses=keep, threads=1)
    # Locally, buckets are numbered as they first appear.
    appears = rows[np.unique(buckets.of_row, return_index=True)[1]]
    plain = None
    if isinstance(guarantee, PlainDiversity):
        plain = diversities(buckets, int(guarantee.l), guarantee.missing)[guarantee.kind]
        plain = plain * (-1 if guarantee.kind == "recursive" else 1)
    shown = []
    for number, witness in enumerate(verdict.witnesses):
        b = int(buckets.of_row[witness.rows[0] - 1])
        rank = float(witness.support if plain is None else plain[b])
        shown.append(
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
        "worst": shown,
    }
