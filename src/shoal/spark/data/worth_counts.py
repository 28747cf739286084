"""What a release on Spark is worth, from counts: the commonest pairs of items, and what became of values and items part by part.

Pairs are counted by the local kernel in each partition and added up by the executors; the driver sees those that can be among the
commonest. Fates of parts are numbered by the part: its cells and tokens are texts, and the driver gives equal texts one number, so
that information is measured over the whole table, as the local engine does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.kernels.measures.pair_counts import count_pairs
from shoal.loss.common_pairs import TOP, CommonPairs, pairs_by_counts
from shoal.numbers import Bools, Ints
from shoal.price.information import Fates
from shoal.spark.data.executors import fetch, map_rows, store, total_batch
from shoal.spark.data.packing import pieces
from shoal.spark.data.sets import SparkSets

_COUNTERS = 1 << 20
"""Of a block of items: every task has so many."""
_COUNTS = "key bigint, count bigint"


def common_pairs_of(sets: SparkSets, sensitive: Bools | None = None) -> CommonPairs:
    """The commonest pairs of items that are not sensitive, as the local engine finds them."""
    from pyspark.sql import functions as sf

    support = sets.counts if sensitive is None else np.where(sensitive, 0, sets.counts)

    def count(rank: Ints, low: int, high: int) -> Ints:
        counted = map_rows(sets.rows, _count_pairs, _COUNTS, rank=rank, low=low, high=high)
        sums = store(counted.groupBy("key").agg(sf.sum("count").alias("count")))
        try:
            best = fetch(sums.orderBy(sf.desc("count")).limit(TOP))["count"].to_numpy()
            least = int(best[-1]) if len(best) == TOP else 1
            found = fetch(sums.where(sf.col("count") >= least))
        finally:
            sums.unpersist()
        total = np.zeros((high - low) * high, np.int64)
        total[found["key"].to_numpy()] = found["count"].to_numpy()
        return total.reshape(high - low, high)

    return pairs_by_counts(support, int(support.sum()), count, TOP, most=_COUNTERS)


def _count_pairs(batches: Iterator[pa.RecordBatch], rank: Ints, low: int, high: int) -> Iterator[pa.RecordBatch]:
    """On a worker: how often two items of these ranks stand together in the rows of one partition."""
    total = np.zeros((high - low, high), np.int64)
    for _, baskets in pieces(batches):
        total += count_pairs(baskets.offsets, baskets.items, rank, low, high)
    yield total_batch(total.reshape(-1))


def fates_report(fates: Fates, tokens: Sequence[str]) -> dict[str, Any]:
    """On a worker: fates as a part tells them, by the texts of its tokens."""
    there = fates.times > 0
    return {
        "tokens": list(tokens),
        "item": fates.item[there].tolist(),
        "token": fates.token[there].tolist(),
        "times": fates.times[there].tolist(),
        "as_it_is": fates.as_it_is[there].astype(int).tolist(),
    }


def fates_together(reports: Sequence[Mapping[str, Any]]) -> tuple[Fates, list[str]]:
    """(the fates of all parts, the texts of their tokens)."""
    number = {text: i for i, text in enumerate(dict.fromkeys(text for report in reports for text in report["tokens"]))}
    token = [
        # The last entry serves -1.
        np.array([*(number[text] for text in report["tokens"]), -1], np.int64)[np.array(report["token"], np.int64)]
        for report in reports
    ]
    item, times, as_it_is = (
        np.concatenate([np.array(report[name], np.int64) for report in reports])
        for name in ("item", "times", "as_it_is")
    )
    fates = Fates(item, np.concatenate(token), times, as_it_is.astype(np.bool_))
    return fates, list(number)
