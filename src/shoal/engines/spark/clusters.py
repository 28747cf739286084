"""Tables on Spark: clusters, merges and the generalization of items inside parts of near relational values, each by the local algorithm.

A part knows all values and items of the whole table, so a range or a category costs what it costs there, and losses of parts add up to that
of the table. A bound on the loss (delta) holds in every part, and so on average. Rows of different parts never share a
cluster, which is what is lost against the local engine; the audit then looks at the whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.algorithms import algorithm, kind_of
from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import RTOptions
from shoal.engines.spark.parts import Parts, parts_of
from shoal.engines.spark.records import SCHEMA, SparkRecords, of_rows, side_by_side
from shoal.engines.spark.workers import collected, on_workers
from shoal.errors import Unreachable
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets
from shoal.records.records import Records

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TEXTS = {"values": "array<string>", "items": "array<string>", "hidden": "array<string>", "kept": "array<string>"}


@dataclass(frozen=True, eq=False)
class Clustered:
    """Published rows on the executors, and what the driver knows of their clusters."""

    rows: DataFrame
    """`row` and the texts that are published: `values` per coded column, `items`, sensitive ones that stand apart (`hidden`), `kept`."""
    loss: dict[str, float]
    ncp_by_column: dict[str, float]
    classes: dict[str, Any]
    """`count`, `smallest`, `largest`, `average`."""
    parts: int


def clustered(
    records: SparkRecords,
    guarantee: Any,
    trees: Mapping[str, Hierarchy | None],
    name: str,
    options: Options,
    rt: RTOptions,
) -> Clustered:
    """Clusters of at least k rows, each published alike. The executors keep the rows until they are forgotten."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as sf

    if len(records) < guarantee.k:
        raise Unreachable(
            f"{guarantee} cannot be reached: k = {guarantee.k:,}, but there are only {len(records):,} rows; choose a smaller k"
        )
    options.tell("parts of near rows", 0.0)
    parts = parts_of(records, trees, int(guarantee.k))
    options.tell("clusters of rows", 0.3)
    schema = ", ".join(f"{column} {kind}" for column, kind in TEXTS.items())
    rows = (
        records.rows.mapInArrow(on_workers(_sent, parts=parts), f"part int, {SCHEMA}")
        .groupBy("part")
        .applyInArrow(
            on_workers(
                _published,
                template=records.template,
                guarantee=guarantee,
                trees=dict(trees),
                name=name,
                seed=options.seed,
                rt=rt,
            ),
            f"row bigint, {schema}, told string",
        )
        .persist(StorageLevel.MEMORY_AND_DISK)
    )
    said = collected(rows.where(sf.col("told").isNotNull()).select("told"))["told"].to_pylist()
    told = [json.loads(text) for text in said]
    fault = next((one["fault"] for one in told if "fault" in one), None)
    if fault is not None:
        rows.unpersist()
        raise Unreachable(
            fault
            if len(told) == 1
            else f"in one of {len(told):,} parts of the table, {fault}; or use the local engine, which looks at all rows together"
        )
    n = max(1, sum(one["rows"] for one in told))
    occurrences = max(1, sum(one["occurrences"] for one in told))
    weight = {"items_ncp": ("occurrences", occurrences)}
    loss = {}
    for measure in told[0]["loss"]:
        by, total = weight.get(measure, ("rows", n))
        loss[measure] = sum(one["loss"][measure] * one[by] for one in told) / total
    count = sum(one["count"] for one in told)
    return Clustered(
        rows,
        loss,
        {name: sum(one["by_column"][name] * one["rows"] for one in told) / n for name in told[0]["by_column"]},
        {
            "count": count,
            "smallest": min(one["smallest"] for one in told),
            "largest": max(one["largest"] for one in told),
            "average": n / count,
        },
        len(told),
    )


def _sent(batches: Iterator[pa.RecordBatch], parts: Parts) -> Iterator[pa.RecordBatch]:
    """On a worker: every row with its part."""
    for batch in batches:
        if len(batch):
            part = parts.binned(batch)[1].astype(np.int32)
            names = ("row", "values", "items", "kept")
            yield pa.record_batch({"part": part} | {name: batch.column(name) for name in names})


def _published(
    table: pa.Table,
    template: Records,
    guarantee: Any,
    trees: dict[str, Hierarchy | None],
    name: str,
    seed: int,
    rt: RTOptions,
) -> pa.Table:
    """On a worker: the rows of one part as their clusters are published, and what that costs; or why it cannot be."""
    rows, records = of_rows(table, template)
    try:
        recoding = algorithm(kind_of(guarantee), name)(records, guarantee, trees, Options(seed=seed, threads=1), rt)
    except Unreachable as fault:
        empty = {column: pa.array([[]], pa.list_(pa.string())) for column in TEXTS}
        return pa.table({"row": pa.array([-1], pa.int64()), **empty, "told": [json.dumps({"fault": str(fault)})]})
    published = recoding.apply(records)
    sizes = np.bincount(recoding.of_row)
    items = published.items if published.items is not None else Baskets.from_rows([()] * len(rows))
    shown, hidden = items, Baskets.from_rows([()] * len(rows))
    known = 0
    if records.items is not None:
        known = records.items.parted(records.sensitive_items)[0].occurrences
        if template.sensitive_name is not None:
            shown, hidden = items.parted(records.sensitive_items)
    told = {
        "rows": len(rows),
        "occurrences": known,
        "loss": recoding.loss,
        "by_column": dict(recoding.ncp_by_column),
        "count": len(sizes),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
    }
    order = np.argsort(table["row"].to_numpy(), kind="stable")
    columns = [pa.array(column.values, pa.string()).take(pa.array(column.codes)) for column in published.columns]
    return pa.table(
        {
            "row": rows,
            "values": side_by_side(columns, len(rows)),
            "items": _names(shown),
            "hidden": _names(hidden),
            "kept": table["kept"].combine_chunks().take(pa.array(order)),
            "told": pa.array([json.dumps(told)] + [None] * (len(rows) - 1), pa.string()),
        }
    )


def _names(sets: Baskets) -> pa.ListArray:
    names = pa.array(sets.vocabulary, pa.string()).take(pa.array(sets.items))
    return pa.ListArray.from_arrays(pa.array(sets.offsets, pa.int32()), names)
