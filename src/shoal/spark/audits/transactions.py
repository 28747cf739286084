"""k-anonymity of transactions, audited on Spark: rows are grouped by what they hold, and small groups are witnesses.

Classes stand in the order of their first rows, which breaks ties between witnesses. Sensitive items are no part of what rows are grouped
by; they are counted beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from shoal.guarantees.audit import Audit, Witness
from shoal.guarantees.k import SHARED, KAnonymity, homogeneity_notes
from shoal.numbers import Bools
from shoal.spark.audits.km import check_rows
from shoal.spark.data.executors import fetch, map_rows
from shoal.spark.data.packing import lists, pieces, row_of, take_marked
from shoal.spark.data.sets import SparkSets, rows_holding

_ROWS = -1
"""Among the sensitive items of a class, what stands for its rows."""


def audit_k(sets: SparkSets, guarantee: KAnonymity, witnesses: int, yes_or_no: bool) -> Audit:
    """As `KAnonymity.audit`. Classes are counted whole, whatever is asked."""
    from pyspark.sql import functions as sf

    hidden = sets.marks(guarantee.sensitive)
    k, l = int(guarantee.k), int(guarantee.l)  # noqa: E741
    seen = map_rows(sets.rows, _what_is_known, "known array<int>, row bigint, item int", hidden=hidden)
    if hidden.any():
        size, is_item = sf.col("n"), sf.col("item") != _ROWS
        classes = (
            seen.groupBy("known", "item")
            .agg(sf.count("*").alias("n"), sf.min("row").alias("row"))
            .groupBy("known")
            .agg(
                sf.min("row").alias("first"),
                sf.sum(sf.when(~is_item, size)).alias("size"),
                sf.count_if(is_item).alias("distinct"),
                sf.max(sf.when(is_item, size)).alias("most"),
            )
        )
    else:
        classes = seen.groupBy("known").agg(
            sf.min("row").alias("first"),
            sf.count("*").alias("size"),
            sf.lit(0).alias("distinct"),
            sf.lit(0).alias("most"),
        )
    alike = sf.col("most") == sf.col("size")
    bad = sf.col("size") < k
    if l > 1:
        bad = bad | (sf.col("distinct") < l) | sf.coalesce(alike, sf.lit(False))
    facts = fetch(
        classes.agg(
            sf.count("*").alias("classes"),
            sf.min("size").alias("smallest"),
            sf.max("size").alias("largest"),
            sf.count_if(bad).alias("bad"),
            sf.count_if(alike).alias("alike"),
            sf.coalesce(sf.sum(sf.when(alike, sf.col("size"))), sf.lit(0)).alias("alike_rows"),
            sf.coalesce(sf.min("distinct"), sf.lit(0)).alias("fewest"),
        )
    ).to_pylist()[0]
    shown: list[Witness] = []
    if facts["bad"] and witnesses:
        worst = fetch(classes.where(bad).orderBy("size", "distinct", "first").limit(witnesses)).to_pylist()
        items = [one["known"] for one in worst]
        rows = rows_holding(sets, items, alone=True, beside=hidden)
        shown = [
            Witness(
                tuple(sets.vocabulary[i] for i in held),
                one["size"],
                tuple((at + 1).tolist()),
                f"{one['size']:,} of {k:,} rows"
                if one["size"] < k
                else f"{one['distinct']:,} of {l:,} sensitive items"
                if one["distinct"] < l
                else SHARED,
            )
            for one, held, at in zip(worst, items, rows, strict=True)
        ]
    return Audit(
        guarantee=guarantee.to_dict(),
        holds=not facts["bad"],
        checked=facts["classes"],
        violations=facts["bad"],
        witnesses=tuple(shown),
        notes=homogeneity_notes(facts["classes"], facts["alike"], facts["alike_rows"], l),
        facts={
            "classes": facts["classes"],
            "smallest_class": facts["smallest"] or 0,
            "largest_class": facts["largest"] or 0,
            "average_class": len(sets) / facts["classes"] if facts["classes"] else 0.0,
        }
        | (
            {
                "homogeneous_classes": facts["alike"],
                "homogeneous_rows": facts["alike_rows"],
                "fewest_sensitive": facts["fewest"],
            }
            if guarantee.sensitive
            else {}
        ),
    )


def _what_is_known(batches: Iterator[pa.RecordBatch], hidden: Bools) -> Iterator[pa.RecordBatch]:
    """On a worker: what may be known of each row, once for the row itself and once for each of its sensitive items."""
    for rows, baskets in pieces(batches):
        check_rows(baskets, len(hidden))
        sensitive = hidden[baskets.items]
        open_to_all = take_marked(baskets, ~sensitive)
        known = lists(open_to_all.offsets, open_to_all.items)
        yield pa.record_batch({"known": known, "row": rows, "item": np.full(len(baskets), _ROWS, np.int32)})
        if sensitive.any():
            row = row_of(baskets.offsets)[sensitive]
            items = baskets.items[sensitive]
            yield pa.record_batch({"known": known.take(pa.array(row)), "row": rows[row], "item": items})
