"""k-anonymity of transactions, audited on Spark: rows are grouped by what they hold, and small groups are witnesses.

Locally, classes stand in the Gray order of their rows, which breaks ties between witnesses. A row's place in it is a list of numbers that
Spark compares as it compares any list: ids of items, falling at even places and rising at odd ones, with a number above all
others where a row ends before an odd place (see `shoal.kernels.gray`). So the classes are grouped and sorted by that list. Sensitive
items are no part of it; they are counted beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.engines.spark.packing import pieces
from shoal.engines.spark.ragged import Ints, Longs, lists, row_of
from shoal.engines.spark.sets import SparkSets, rows_holding
from shoal.engines.spark.workers import collected, on_workers
from shoal.guarantees.audit import Audit, Witness
from shoal.guarantees.k import KAnonymity, homogeneity_notes

END = np.iinfo(np.int32).max
_ROWS = -1
"""Among the sensitive items of a class, what stands for its rows."""


def k_audited(sets: SparkSets, guarantee: KAnonymity, witnesses: int) -> Audit:
    """As `KAnonymity.audit`."""
    from pyspark.sql import functions as sf

    hidden = np.array([name in guarantee.sensitive for name in sets.vocabulary], np.bool_)
    k, l = int(guarantee.k), int(guarantee.l)  # noqa: E741
    placed = sets.rows.mapInArrow(on_workers(_placed, hidden=hidden), "place array<int>, item int")
    if hidden.any():
        size, is_item = sf.col("n"), sf.col("item") != _ROWS
        classes = (
            placed.groupBy("place", "item")
            .agg(sf.count("*").alias("n"))
            .groupBy("place")
            .agg(
                sf.sum(sf.when(~is_item, size)).alias("size"),
                sf.count_if(is_item).alias("distinct"),
                sf.max(sf.when(is_item, size)).alias("most"),
            )
        )
    else:
        classes = placed.groupBy("place").agg(
            sf.count("*").alias("size"), sf.lit(0).alias("distinct"), sf.lit(0).alias("most")
        )
    bad = (sf.col("size") < k) | (sf.col("distinct") < (l if l > 1 else 0))
    alike = sf.col("most") == sf.col("size")
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
        ranked = classes.where(bad).orderBy("size", "distinct", "place").limit(witnesses)
        worst = collected(ranked).to_pylist()
        items = [sorted(abs(i) - 1 for i in one["place"] if i != END) for one in worst]
        rows = rows_holding(sets, items, alone=True, beside=hidden)
        found = [
            Witness(
                tuple(sets.vocabulary[i] for i in held),
                one["size"],
                tuple((at + 1).tolist()),
                f"{one['size']:,} of {k:,} rows"
                if one["size"] < k
                else f"{one['distinct']:,} of {l:,} sensitive items",
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


def _placed(batches: Iterator[pa.RecordBatch], hidden: npt.NDArray[np.bool_]) -> Iterator[pa.RecordBatch]:
    """On a worker: where each row stands in the Gray order, once for itself and once for each of its sensitive items."""
    for _, baskets in pieces(batches):
        known = ~hidden[baskets.items]
        places = gray_places(np.concatenate(([0], np.cumsum(known)))[baskets.offsets], baskets.items[known])
        yield pa.record_batch({"place": places, "item": np.full(len(baskets), _ROWS, np.int32)})
        if not known.all():
            row = row_of(baskets.offsets)[~known]
            yield pa.record_batch({"place": places.take(pa.array(row)), "item": baskets.items[~known]})


def gray_places(offsets: Longs, ids: Ints) -> pa.ListArray:
    """The place of each row in the Gray order. Ids count from 1 there, so that each has a sign."""
    lengths = np.diff(offsets)
    within = np.arange(len(ids)) - np.repeat(offsets[:-1], lengths)
    signed = np.where(within % 2 == 0, -1, 1) * (ids + 1)
    ends = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths + lengths % 2, out=ends[1:])
    place = np.full(ends[-1], END, np.int32)
    place[ends[:-1][row_of(offsets)] + within] = signed
    return lists(ends, place)
