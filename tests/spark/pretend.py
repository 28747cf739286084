"""A data frame that pretends: what the Spark engine asks of one, done here in a loop, task by task and group by group.

The functions that run on workers are the real ones. So random data by the hundred can be compared with the local engine without
starting Spark; that Spark itself does the same is for the tests that start it.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa

from shoal.records.baskets import Baskets
from shoal.spark.data.frame_records import SparkRecords
from shoal.spark.data.one_task import SETTING
from shoal.spark.data.packing import lists, pack
from shoal.spark.data.sets import SparkSets


class Frame:
    """Batches of a few tasks."""

    def __init__(self, tasks):
        self.tasks = tasks

    sparkSession = SimpleNamespace(  # noqa: N815
        sparkContext=SimpleNamespace(defaultParallelism=2),
        # Nothing fits one task unless a test says so.
        conf=SimpleNamespace(get=lambda name, default=None: "0" if name == SETTING else default),
    )

    def coalesce(self, n):
        assert n == 1
        return Frame([[batch for task in reversed(self.tasks) for batch in task]])

    def mapInArrow(self, function, schema):  # noqa: N802
        return Frame([list(function(iter(batches))) for batches in self.tasks])

    def groupBy(self, name):  # noqa: N802
        table = self.toArrow()
        keys = sorted(set(table[name].to_pylist())) if table.num_columns else []
        groups = [table.filter(pa.compute.equal(table[name], key)) for key in keys]
        # A shuffle keeps no order.
        groups = [group.take(np.random.default_rng(0).permutation(group.num_rows)) for group in reversed(groups)]
        return SimpleNamespace(
            applyInArrow=lambda function, schema: Frame([function(group).to_batches() for group in groups])
        )

    def toArrow(self):  # noqa: N802
        batches = [batch for task in self.tasks for batch in task]
        return pa.Table.from_batches(batches) if batches else pa.table({"block": pa.array([], pa.int32())})

    def unpersist(self):
        return self


def pretended(baskets, tasks=3):
    """The baskets as sets on Spark, spread over a few tasks of small batches."""
    rows = []
    for part in np.array_split(np.arange(len(baskets)), tasks):
        taken = baskets.take(part)
        batches = []
        for at in range(0, len(part), 5):
            few = taken.take(np.arange(at, min(at + 5, len(part))))
            batches.append(pa.record_batch(pack(part[at : at + 5], few.offsets, few.items)))
        rows.append(batches)
    lengths, of_length = np.unique(baskets.lengths, return_counts=True)
    return SparkSets(
        Frame(rows), baskets.vocabulary, baskets.supports(), lengths, of_length, baskets.duplicates, "items"
    )


def add_up(frame, n):
    """As `shoal.spark.data.executors.add_up`."""
    table, total = frame.toArrow(), np.zeros(n, np.int64)
    if "key" in table.column_names:
        np.add.at(total, table["key"].to_numpy(), table["count"].to_numpy())
    return total


def pretended_records(records, kept=(), tasks=3):
    """Local records as records on Spark; `kept` has the texts of the one column that travels as it is."""
    n = len(records)
    items = records.items or Baskets.from_rows([()] * n)
    codes = np.stack([column.codes for column in records.columns], axis=1) if records.columns else np.zeros((n, 0))
    rows = []
    for part in np.array_split(np.arange(n), tasks):
        taken, width = items.take(part), codes.shape[1]
        batch = pa.record_batch(
            {
                "row": part.astype(np.int64),
                "values": lists(np.arange(len(part) + 1) * width, codes[part].astype(np.int32).reshape(-1)),
                "items": lists(taken.offsets, taken.items),
                "kept": pa.array([[kept[i]] if kept else [] for i in part.tolist()], pa.list_(pa.string())),
            }
        )
        rows.append([batch.slice(at, 5) for at in range(0, len(part), 5)])
    lengths, of_length = np.unique(items.lengths, return_counts=True)
    frame = Frame(rows)
    sets = SparkSets(frame, items.vocabulary, items.supports(), lengths, of_length, items.duplicates, "items")
    return SparkRecords(frame, records.take(np.zeros(0, np.int64)), ("bucket",) if kept else (), sets)
