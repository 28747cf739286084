"""Tables on Spark: clusters, merges and the generalization of items inside parts of near relational values, each by the local algorithm.

A part knows all values and items of the whole table, so a range or a category costs what it costs there, and losses of parts add up to that
of the table. A bound on the loss (delta) holds in every part, and so on average. Rows of different parts never share a
cluster, which is what is lost against the local engine; the audit then looks at the whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from shoal.algorithms import algorithm, entry, kind_of
from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.blocks import within_limits
from shoal.algorithms.rt.cluster_recoding import RTOptions
from shoal.errors import InputError, Unreachable
from shoal.hierarchy.tree import Hierarchy
from shoal.models import basket_notes, tables
from shoal.models.km import with_defaults
from shoal.records.baskets import Baskets
from shoal.records.records import MISSING, Records
from shoal.spark.data.executors import map_groups, map_rows, store
from shoal.spark.data.frame_records import (
    CODED,
    FrameRoles,
    SparkRecords,
    beside_rows,
    column_texts,
    kept_texts,
    local_records,
)
from shoal.spark.data.frame_roles import check_roles, read_frame
from shoal.spark.data.packing import names_of
from shoal.spark.data.sets import SparkSets
from shoal.spark.data.shuffling import shuffle_rows
from shoal.spark.search.near_parts import Parts, parts_of
from shoal.spark.search.proposals import Asked, SparkProposal, check_specs, reports_of, text_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TEXTS = {"values": "array<string>", "items": "array<string>", "hidden": "array<string>", "kept": "array<string>"}


def check(guarantee: Any, asked: Asked) -> None:
    if asked["algorithm"] == "tfirst":
        raise InputError(
            "algorithm tfirst does not run on Spark: it groups all rows by their items first, wherever their values are; use rfirst, "
            "rmerge or tmerge, or the local engine"
        )
    if asked["missing_quasi"]:
        raise InputError(
            "on Spark a missing value of a quasi column is a value of its own; leave out what it should be, or use the local engine"
        )
    if asked["suppress_rows"]:
        raise InputError("on Spark all rows of a table are published; leave out suppress_rows, or use the local engine")
    check_specs(asked["hierarchy"])


def read(df: DataFrame, guarantee: Any, roles: FrameRoles) -> tuple[SparkSets | SparkRecords, Any]:
    check_roles(df, guarantee, roles)
    return read_frame(df, guarantee, roles)


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


def propose(records: SparkRecords, guarantee: Any, asked: Asked, options: Options) -> SparkProposal:
    from pyspark.sql import functions as sf

    table, name = records.template, asked["algorithm"]
    rt = RTOptions(**{option: asked[option] for option in tables.RT if asked[option] is not None})
    if records.has_sets:
        options = with_defaults(rt.transaction, asked, options, tables.SUPPRESS)
    trees = tables.hierarchies(table, asked["hierarchy"], asked["unknown"], guarantee, options)
    clusters = cluster_rows(records, guarantee, trees, name, options, rt)
    options.tell("recoding", 0.0)
    columns = text_columns(records)
    if records.has_sets:
        columns.append(sf.col("items").alias(table.items_name))
    if table.sensitive_name is not None:
        columns.append(sf.col("hidden").alias(table.sensitive_name))
    # Where numbers are missing, no one sees how far they go; over published occurrences, nobody counts what items lose here.
    unclear = {column.name for column in table.columns if column.numbers is not None and MISSING in column.values}
    unclear |= {"items_ncp"} | tables.unclear_losses(rt, trees.get(table.items_name))
    warnings = tuple(tables.warnings_of(records.kept, trees))
    if records.has_sets:
        warnings += tuple(tables.item_warnings(rt, options))
    return SparkProposal(
        published=shuffle_rows(clusters.rows, TEXTS).select(*columns),
        raw=records,
        guarantee=guarantee,
        algorithm=name,
        loss=clusters.loss,
        parameters=tables.parameters_of(asked, entry(kind_of(guarantee), name)[1].options, options, rt),
        details={
            "columns": records.roles,
            "classes": clusters.classes,
            "ncp_by_column": clusters.ncp_by_column,
            "facts": {"parts": clusters.parts},
            "hierarchy": {column: None if tree is None else tree.source for column, tree in trees.items()},
        },
        certified=lambda published: (
            tables.certified_facts(
                clusters.loss,
                clusters.ncp_by_column,
                trees,
                table.items_name,
                guarantee.k,
                unclear=unclear,
                unknown=asked["unknown"],
            )
            | {"columns": records.roles}
            | ({"changes": {"tokens": len(published.sets.vocabulary)}} if records.has_sets else {})
        ),
        warnings=warnings,
        notes=records.notes
        + (basket_notes(cast(Any, records.sets), empty_stay=True) if records.has_sets else ())
        + warnings,
        stored=clusters.rows,
    )


def cluster_rows(
    records: SparkRecords,
    guarantee: Any,
    trees: Mapping[str, Hierarchy | None],
    name: str,
    options: Options,
    rt: RTOptions,
) -> Clustered:
    """Clusters of at least k rows, each published alike. The executors keep the rows until they are forgotten."""
    if len(records) < guarantee.k:
        raise Unreachable(
            f"{guarantee} cannot be reached: k = {guarantee.k:,}, but there are only {len(records):,} rows; choose a smaller k"
        )
    options.tell("parts of near rows", 0.0)
    parts = parts_of(records, trees, int(guarantee.k))
    options.tell("clusters of rows", 0.3)
    schema = ", ".join(f"{column} {kind}" for column, kind in TEXTS.items())
    rows = store(
        map_groups(
            map_rows(records.rows, _with_parts, f"part int, {CODED}", parts=parts),
            "part",
            _cluster_part,
            f"row bigint, {schema}, report string",
            template=records.template,
            guarantee=guarantee,
            trees=dict(trees),
            name=name,
            options=replace(options, threads=1, progress=None),
            rt=rt,
        )
    )
    reports = reports_of(rows)
    fault = next((report["fault"] for report in reports if "fault" in report), None)
    if fault is not None:
        rows.unpersist()
        raise Unreachable(
            fault
            if len(reports) == 1
            else f"in one of {len(reports):,} parts of the table, {fault}; or use the local engine, which looks at all rows together"
        )
    n, count = (sum(report[name] for report in reports) for name in ("rows", "count"))
    loss = {
        measure: _average(reports, "loss", measure, "occurrences" if measure in ("items_ncp", "deleted") else "rows")
        for measure in reports[0]["loss"]
    }
    by_column = {column: _average(reports, "by_column", column, "rows") for column in reports[0]["by_column"]}
    classes = {
        "count": count,
        "smallest": min(report["smallest"] for report in reports),
        "largest": max(report["largest"] for report in reports),
        "average": n / count,
    }
    return Clustered(rows, loss, by_column, classes, len(reports))


def _average(reports: list[dict[str, Any]], what: str, name: str, weight: str) -> float:
    """The average of a figure of all parts, each by its rows or occurrences."""
    total = max(1, sum(report[weight] for report in reports))
    return float(sum(report[what][name] * report[weight] for report in reports) / total)


def _with_parts(batches: Iterator[pa.RecordBatch], parts: Parts) -> Iterator[pa.RecordBatch]:
    """On a worker: every row with its part."""
    return (beside_rows("part", parts.bins_and_nodes(batch)[1], batch) for batch in batches if len(batch))


def _cluster_part(
    table: pa.Table,
    template: Records,
    guarantee: Any,
    trees: dict[str, Hierarchy | None],
    name: str,
    options: Options,
    rt: RTOptions,
) -> pa.Table:
    """On a worker: the rows of one part as their clusters are published, and what that costs; or why it cannot be."""
    rows, records = local_records(table, template)
    try:
        run = algorithm(kind_of(guarantee), name)
        recoding = within_limits(run, records, guarantee, trees, options, rt)
    except Unreachable as fault:
        empty = {column: pa.array([[]], pa.list_(pa.string())) for column in TEXTS}
        return pa.table({"row": pa.array([-1], pa.int64()), **empty, "report": [json.dumps({"fault": str(fault)})]})
    published = recoding.apply(records)
    sizes = np.bincount(recoding.of_row)
    none = Baskets.from_rows([()] * len(rows))
    shown, hidden, known = none if published.items is None else published.items, none, 0
    if records.items is not None:
        known = records.items.split_off(records.sensitive_items)[0].occurrences
        if template.sensitive_name is not None:
            shown, hidden = shown.split_off(records.sensitive_items)
    report = {
        "rows": len(rows),
        "occurrences": known,
        "loss": recoding.loss,
        "by_column": dict(recoding.ncp_by_column),
        "count": len(sizes),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
    }
    return pa.table(
        {
            "row": rows,
            "values": column_texts(published.columns, len(rows)),
            "items": names_of(shown),
            "hidden": names_of(hidden),
            "kept": kept_texts(table),
            "report": pa.array([json.dumps(report)] + [None] * (len(rows) - 1), pa.string()),
        }
    )
