"""k-anonymity of transactions, audited on Spark: rows are grouped by what they hold, and small groups are witnesses.

Classes stand in the order of their first rows, which breaks ties between witnesses. Sensitive items are no part of what rows are grouped
by; they are counted beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.engines.spark.itemsets import check_rows
from shoal.engines.spark.packing import pieces
from shoal.engines.spark.ragged import lists, row_of
from shoal.engines.spark.sets import SparkSets, rows_holding
from shoal.engines.spark.workers import collected, on_workers
from shoal.guarantees.audit import Audit, Witness
from shoal.guarantees.k import SHARED, KAnonymity, homogeneity_notes

_ROWS = -1
"""Among the sensitive items of a class, what stands for its rows."""


def k_audited(sets: SparkSets, guarantee: KAnonymity, witnesses: int) -> Audit:
    """As `KAnonymity.audit`."""
    from pyspark.sql import functions as sf

    hidden = np.array([name in guarantee.sensitive for name in sets.vocabulary], np.bool_)
    k, l = int(guarantee.k), int(guarantee.l)  # noqa: E741
    seen = sets.rows.mapInArrow(on_workers(_known, hidden=hidden), "known array<int>, row bigint, item int")
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
    told = collected(
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
    found: list[Witness] = []
    if told["bad"] and witnesses:
        ranked = classes.where(bad).orderBy("size", "distinct", "first").limit(witnesses)
        worst = collected(ranked).to_pylist()
        items = [one["known"] for one in worst]
        rows = rows_holding(sets, items, alone=True, beside=hidden)
        found = [
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
        holds=not told["bad"],
        checked=told["classes"],
        violations=told["bad"],
        witnesses=tuple(found),
        notes=homogeneity_notes(told["classes"], told["alike"], told["alike_rows"], l),
        facts={
            "classes": told["classes"],
            "smallest_class": told["smallest"] or 0,
            "largest_class": told["largest"] or 0,
            "average_class": len(sets) / told["classes"] if told["classes"] else 0.0,
        }
        | (
            {
                "homogeneous_classes": told["alike"],
                "homogeneous_rows": told["alike_rows"],
                "fewest_sensitive": told["fewest"],
            }
            if guarantee.sensitive
            else {}
        ),
    )


def _known(batches: Iterator[pa.RecordBatch], hidden: npt.NDArray[np.bool_]) -> Iterator[pa.RecordBatch]:
    """On a worker: what may be known of each row, once for the row itself and once for each of its sensitive items."""
    for rows, baskets in pieces(batches):
        check_rows(baskets, len(hidden))
        open_to_all = ~hidden[baskets.items]
        offsets = np.concatenate(([0], np.cumsum(open_to_all)))[baskets.offsets]
        known = lists(offsets, baskets.items[open_to_all])
        yield pa.record_batch({"known": known, "row": rows, "item": np.full(len(baskets), _ROWS, np.int32)})
        if not open_to_all.all():
            row = row_of(baskets.offsets)[~open_to_all]
            sensitive = baskets.items[~open_to_all]
            yield pa.record_batch({"known": known.take(pa.array(row)), "row": rows[row], "item": sensitive})
