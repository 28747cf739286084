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
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, RTOptions
from shoal.algorithms.rt.weighing.outliers import without_outliers
from shoal.errors import InputError, Unreachable, only_so_many
from shoal.hierarchy.meanings import cell_meanings
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.common_pairs import CommonPairs, own_tokens, published_rows, share_kept
from shoal.loss.fates import column_fates, row_fates
from shoal.loss.worth import Names, Worth, columns_worth, items_worth, table_worth, worth_notes
from shoal.models import basket_notes, tables
from shoal.models.km import SUPPRESS_IN_TABLES, with_defaults
from shoal.numbers import Ints
from shoal.records.baskets import Baskets
from shoal.records.records import MISSING, Column, Records
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
from shoal.spark.data.worth_counts import common_pairs_of, fates_report, fates_together
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
    if entry(kind_of(guarantee), asked["algorithm"])[1].uniform:
        raise InputError(
            f"algorithm {asked['algorithm']} does not run on Spark: it recodes all rows of a table alike, and tables are released in parts "
            "there; use better-of-two, or the local engine"
        )
    if asked["missing_quasi"]:
        raise InputError(
            "on Spark a missing value of a quasi column is a value of its own; leave out what it should be, or use the local engine"
        )
    if asked["shift"]:
        raise InputError(
            "dates are not moved on Spark, where a task that runs twice would move them twice; use the local engine"
        )
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
    worth: Worth
    left_out: int
    """Rows that are far from all others, and not among the published ones; they count as lost."""


def propose(records: SparkRecords, guarantee: Any, asked: Asked, options: Options) -> SparkProposal:
    from pyspark.sql import functions as sf

    table, name = records.template, asked["algorithm"]
    rt = RTOptions(**{option: asked[option] for option in tables.RT if asked[option] is not None})
    if records.has_sets:
        options = with_defaults(rt.transaction, asked, options, SUPPRESS_IN_TABLES)
    trees = tables.hierarchies(table, asked["hierarchy"], asked["unknown"], guarantee, options)
    share = asked["suppress_rows"] or 0.0
    clusters = cluster_rows(records, guarantee, trees, name, options, rt, share)
    lost = {**clusters.worth.lost, **clusters.loss}
    options.tell("recoding", 0.0)
    columns = text_columns(records)
    if records.has_sets:
        columns.append(sf.col("items").alias(table.items_name))
    if table.sensitive_name is not None:
        columns.append(sf.col("hidden").alias(table.sensitive_name))
    # Where numbers are missing, no one sees how far they go; over published occurrences, nobody counts what items lose here.
    # Nor does anybody where rows were left out.
    unclear = {
        column.name
        for column in table.columns
        if column.numbers is not None and (MISSING in column.values or (share and trees.get(column.name) is None))
    }
    unclear |= {"items_ncp"} | tables.unclear_losses(rt, trees.get(table.items_name))
    warnings = tuple(tables.warnings_of(records.kept, trees))
    if records.has_sets:
        warnings += tuple(tables.item_warnings(rt, options))
    if share:
        warnings += (tables.row_warning(share),)
    return SparkProposal(
        published=shuffle_rows(clusters.rows, TEXTS).select(*columns),
        raw=records,
        guarantee=guarantee,
        algorithm=name,
        loss=lost,
        kept=clusters.worth.kept,
        remains=clusters.worth.remains,
        parameters=tables.parameters_of(asked, entry(kind_of(guarantee), name)[1].options, options, rt),
        details={
            "columns": records.roles,
            "classes": clusters.classes,
            "ncp_by_column": clusters.ncp_by_column,
            **({"suppressed_rows": clusters.left_out} if share else {}),
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
        + (worth_notes(lost, clusters.worth.kept) if records.has_sets else ())
        + ((tables.row_note(clusters.left_out, len(records)),) if share else ())
        + warnings,
        stored=clusters.rows,
        left_out=clusters.left_out,
    )


def cluster_rows(
    records: SparkRecords,
    guarantee: Any,
    trees: Mapping[str, Hierarchy | None],
    name: str,
    options: Options,
    rt: RTOptions,
    share: float = 0.0,
) -> Clustered:
    """Clusters of at least k rows, each published alike; up to `share` of each part is left out.

    The executors keep the rows until they are forgotten.
    """
    if len(records) < guarantee.k:
        raise Unreachable(
            f"{guarantee} cannot be reached: k = {guarantee.k:,}, but there {only_so_many(len(records), 'row')}; choose a smaller k"
        )
    options.tell("parts of near rows", 0.0)
    parts = parts_of(records, trees, int(guarantee.k))
    pairs = None
    if records.has_sets:
        options.tell("common pairs", 0.2)
        pairs = common_pairs_of(records.sets, records.sets.marks(records.template.sensitive_items))
    options.tell("clusters of rows", 0.3)
    alone = replace(options, threads=1, progress=None)
    schema = ", ".join(f"{column} {kind}" for column, kind in TEXTS.items())
    rows = store(
        map_groups(
            map_rows(records.rows, _with_parts, f"part int, {CODED}", parts=parts),
            "part",
            _cluster_part,
            f"row bigint, {schema}, report string",
            template=records.template,
            task=PartTask(guarantee, dict(trees), name, alone, rt, pairs, share),
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
    worth, left_out = _worth(records, reports, trees, rt, pairs), len(records) - n
    if share:
        stay = n / len(records)
        worth = worth.among_all(stay)
        loss, by_column = ({name: 1 - stay * (1 - lost) for name, lost in one.items()} for one in (loss, by_column))
    return Clustered(rows, loss, by_column, classes, len(reports), worth, left_out)


def _worth(
    records: SparkRecords,
    reports: list[dict[str, Any]],
    trees: Mapping[str, Hierarchy | None],
    rt: RTOptions,
    pairs: CommonPairs | None,
) -> Worth:
    """What the release is worth, as `models.tables.worth_of` has it, from what became of the values and items of each part."""
    fates, cells = {}, {}
    for column in records.template.of_role("quasi"):
        fates[column.name], texts = fates_together([report["fates"][column.name] for report in reports])
        shown = Column(column.name, column.role, np.zeros(0, np.int32), tuple(texts))
        cells[column.name] = cell_meanings(shown, column, trees[column.name])
    columns = columns_worth(fates, rt.weights, cells)
    if pairs is None:
        return columns
    of_items, tokens = fates_together([report["fates_of_items"] for report in reports])
    told = {text: n for report in reports for text, n in zip(*report["breadth"], strict=True)}
    names = Names(records.sets.vocabulary, tokens, np.array([told[token] for token in tokens], np.int64))
    rows = np.array([report["pairs"] for report in reports], np.int64).sum(axis=0)
    return table_worth(columns, items_worth(of_items, share_kept(pairs, rows), names), rt.balance)


def _average(reports: list[dict[str, Any]], what: str, name: str, weight: str) -> float:
    """The average of a figure of all parts, each by its rows or occurrences."""
    total = max(1, sum(report[weight] for report in reports))
    return float(sum(report[what][name] * report[weight] for report in reports) / total)


def _with_parts(batches: Iterator[pa.RecordBatch], parts: Parts) -> Iterator[pa.RecordBatch]:
    """On a worker: every row with its part."""
    return (beside_rows("part", parts.bins_and_nodes(batch)[1], batch) for batch in batches if len(batch))


@dataclass(frozen=True, eq=False)
class PartTask:
    """What a worker does with a part."""

    guarantee: Any
    trees: Mapping[str, Hierarchy | None]
    name: str
    """Of the algorithm."""
    options: Options
    rt: RTOptions
    pairs: CommonPairs | None = None
    """Of items, to be looked for among what is published."""
    share: float = 0.0
    """Of the rows, that may be left out."""

    def recode(self, records: Records) -> tuple[Ints, ClusterRecoding]:
        """(rows that stay, what the algorithm makes of them)."""
        run = algorithm(kind_of(self.guarantee), self.name)
        how = (records, self.guarantee, self.trees, self.options, self.rt)
        if self.share:
            return without_outliers(run, *how, self.share)
        return np.arange(len(records)), within_limits(run, *how)


def _cluster_part(table: pa.Table, template: Records, task: PartTask) -> pa.Table:
    """On a worker: the rows of one part as their clusters are published, and what that costs; or why it cannot be."""
    rows, records = local_records(table, template)
    try:
        stay, recoding = task.recode(records)
    except Unreachable as fault:
        empty = {column: pa.array([[]], pa.list_(pa.string())) for column in TEXTS}
        return pa.table({"row": pa.array([-1], pa.int64()), **empty, "report": [json.dumps({"fault": str(fault)})]})
    rows, records, kept = rows[stay], records.take(stay), kept_texts(table).take(pa.array(stay))
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
        "fates": {
            column.name: fates_report(
                column_fates(column, published[column.name], task.trees[column.name]), published[column.name].values
            )
            for column in records.of_role("quasi")
        },
    }
    if task.pairs is not None:
        report |= _items_report(records, published, recoding, task.pairs)
    return pa.table(
        {
            "row": rows,
            "values": column_texts(published.columns, len(rows)),
            "items": names_of(shown),
            "hidden": names_of(hidden),
            "kept": kept,
            "report": pa.array([json.dumps(report)] + [None] * (len(rows) - 1), pa.string()),
        }
    )


def _items_report(
    records: Records, published: Records, recoding: ClusterRecoding, pairs: CommonPairs
) -> dict[str, Any]:
    """On a worker: what became of the items of a part, numbered as in the whole table, and the rows of the commonest pairs."""
    assert records.items is not None
    assert published.items is not None
    assert recoding.tokens is not None
    before, after = (sets.split_off(records.sensitive_items)[0] for sets in (records.items, published.items))
    coverage = recoding.tokens.coverage(after.vocabulary)
    fates = row_fates(before, after, coverage)
    number = own_tokens(before.vocabulary, records.items.vocabulary)
    token = own_tokens(records.items.vocabulary, after.vocabulary)
    return {
        "fates_of_items": fates_report(replace(fates, item=number[fates.item]), after.vocabulary),
        "breadth": [list(after.vocabulary), coverage.breadth.tolist()],
        "pairs": published_rows(pairs, after, token).tolist(),
    }
