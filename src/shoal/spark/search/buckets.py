"""Buckets on Spark: rows are dealt out to parts of like cells, and each part is bucketized by the local algorithm.

With one part the buckets are those of the local engine. Which value a row of a bucket is dealt, and which number a bucket gets, is drawn
from 32 bytes and tables of the system's randomness that live in the driver's memory and in the code that goes to the workers, in no
plan, log or file. They have to be functions of the part and of the bucket: a task that is run again must not deal other values to rows of
which some have left already.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.algorithms import algorithm, entry
from shoal.algorithms.buckets.bucketization import Bucketization, chances, exception_notes, figures
from shoal.algorithms.buckets.eligibility import check_counts, check_shares
from shoal.algorithms.recoding import Options
from shoal.certificate.disclosure import Figure, disclose
from shoal.errors import InputError, Unreachable
from shoal.guarantees.diversity import BUCKET, MatchingDiversity
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.fates import dealt_fates
from shoal.models import buckets
from shoal.numbers import Codes, Ints
from shoal.price.information import entropy_bits
from shoal.records.buckets import sensitive_column
from shoal.records.knowledge import Rules
from shoal.records.records import Records
from shoal.spark.data.executors import map_groups, map_rows, store
from shoal.spark.data.frame_records import (
    CODED,
    FrameRoles,
    SparkRecords,
    code_records,
    column_texts,
    kept_texts,
    local_records,
)
from shoal.spark.data.frame_roles import check_roles, with_single_values
from shoal.spark.data.shuffling import shuffle_rows
from shoal.spark.search.dealing import (
    CountedCells,
    check_size,
    count_cells,
    deal_rows,
    groups_of_parts,
    join_neighbours,
    kinds_under,
    most_rows,
    number_of_parts,
)
from shoal.spark.search.mining import count_covered, mine_rules
from shoal.spark.search.proposals import Asked, SparkProposal, check_specs, reports_of, text_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TEXTS = {"values": "array<string>", "kept": "array<string>", "bucket": "string"}
ROUNDS = 12
"""Rounds by which the numbers of buckets are mixed."""


def check(guarantee: Any, asked: Asked) -> None:
    buckets.check_makeable(guarantee)
    name, home = entry(guarantee.model, asked["algorithm"])
    if guarantee.rules is not None and "knowledge" not in home.options:
        raise InputError(
            f"algorithm {name} knows no rules; leave them out of the guarantee, or use injector or balanced"
        )
    check_specs(asked["hierarchy"])


def read(df: DataFrame, guarantee: MatchingDiversity, roles: FrameRoles) -> tuple[SparkRecords, MatchingDiversity]:
    """The table, which must not be a release already."""
    check_roles(df, guarantee, roles)
    if BUCKET in df.columns and BUCKET not in roles.drop:
        raise InputError(
            f"the data frame: a release gets a column {BUCKET!r}, and there is one already; rename or drop it"
        )
    return with_single_values(code_records(df, roles), guarantee), guarantee


def propose(records: SparkRecords, guarantee: MatchingDiversity, asked: Asked, options: Options) -> SparkProposal:
    from pyspark.sql import functions as sf

    name, home = entry(guarantee.model, asked["algorithm"])
    trees = buckets.hierarchies(records.template, asked["hierarchy"], asked["unknown"])
    knowledge = {option: asked[option] for option in buckets.KNOWLEDGE}
    if "min_exp" in home.options and guarantee.rules is None:
        options.tell("mining rules", 0.0)
        rules = known_rules(records, trees, knowledge, options, missing=guarantee.missing)
        guarantee = replace(guarantee, rules=rules)
    made = bucketize(records, guarantee, name, options)
    parameters = {option: value for option, value in buckets.effective(knowledge).items() if option in home.options}
    return SparkProposal(
        published=shuffle_rows(made.rows, TEXTS).select(*text_columns(records), sf.col("bucket").alias(BUCKET)),
        raw=records,
        guarantee=guarantee,
        algorithm=name,
        loss={"info": made.info, "ambiguity": made.ambiguity},
        kept=buckets.KEPT,
        parameters=parameters | {"seed": options.seed, "unknown": asked["unknown"]},
        details={
            "columns": records.roles,
            "buckets": made.figures,
            "knowledge": None if guarantee.rules is None else guarantee.rules.to_dict(),
            "facts": made.facts,
            "hierarchy": {column: tree.source for column, tree in trees.items()},
        },
        certified=lambda published: {
            **disclose(guarantee.l, loss={"ambiguity": Figure(made.ambiguity)}),
            "columns": records.roles,
            "buckets": made.figures,
        },
        warnings=(buckets.DEALT,),
        notes=records.notes + made.notes,
        stored=made.stored,
    )


def known_rules(
    records: SparkRecords, trees: Mapping[str, Hierarchy], asked: Mapping[str, Any], options: Options, **how: Any
) -> Rules:
    """The rules of `shoal.models.buckets.knowledge`, mined and counted by the executors."""
    return buckets.knowledge(
        records.template,
        trees,
        asked,
        options=options,
        mine=lambda _, trees, **given: mine_rules(records, trees, **given),
        count=lambda added: count_covered(records, added),
        **how,
    )


@dataclass(frozen=True, eq=False)
class Bucketized:
    """Published rows on the executors, and what the driver knows of their buckets."""

    rows: DataFrame
    """`row` and the texts that are published: `values` per coded column, `kept`, `bucket`."""
    stored: DataFrame
    """What the executors keep until it is forgotten."""
    figures: dict[str, Any]
    """As `shoal.algorithms.buckets.bucketization.figures`."""
    facts: dict[str, Any]
    info: float
    """The share of what the sensitive values say that is lost. Buckets of different parts are different ones, so that bits add up."""
    ambiguity: float
    """The share of rows that are expected to get another value than their own."""
    notes: tuple[str, ...]


def bucketize(records: SparkRecords, guarantee: MatchingDiversity, name: str, options: Options) -> Bucketized:
    """Buckets of all rows that keep the promise, formed by algorithm `name` in parts. The executors keep them until they are forgotten."""
    # Anatomy knows no rules: it looks at values alone.
    once = name == "anatomy"
    rules = None if once else guarantee.rules
    kinds = kinds_under(records, rules, guarantee.missing)
    options.tell("impossible values", 0.0)
    cells = count_cells(records, kinds)
    check_whole(records.template, cells, guarantee, once=once)
    n_parts = number_of_parts(len(records), len(cells.rows))
    most = most_rows(records)
    group = groups_of_parts(cells, guarantee, n_parts, most, once=once)
    promise = MatchingDiversity(guarantee.l, None if rules is None else rules.without_redundant(), guarantee.missing)
    while True:
        options.tell("groups", 0.3)
        dealing = {"kinds": kinds, "cells": cells, "n_parts": n_parts, "group": group}
        stored = store(
            map_groups(
                map_rows(records.rows, deal_rows, f"part int, {CODED}", **dealing),
                "part",
                _bucketize_part,
                "row bigint, values array<string>, kept array<string>, part int, bucket int, report string",
                template=records.template,
                guarantee=promise,
                name=name,
                seed=options.seed,
                secret=os.urandom(32),
            )
        )
        reports = sorted(reports_of(stored), key=lambda report: int(report["part"]))
        able = ["fault" not in report for report in reports]
        if all(able):
            return _release_parts(stored, reports, cells)
        # What the counts promised could not be kept: the part gets more rows to choose from.
        stored.unpersist()
        if len(reports) == 1:
            raise Unreachable(reports[0]["fault"])
        step = join_neighbours(able)
        group = step[group]
        check_size(int(np.bincount(step, [report["rows"] for report in reports]).max()), guarantee, most)


def check_whole(table: Records, cells: CountedCells, guarantee: MatchingDiversity, *, once: bool) -> None:
    """Raises as the local engine does if no buckets of all rows keep the promise; `once` if no value may stand twice in a bucket."""
    name, rows = sensitive_column(table).name, cells.rows_of_value
    if once:
        check_shares(name, np.where(cells.counted, rows, 0), int(rows.sum()), guarantee)
        return

    def first_row(kinds: Ints) -> tuple[int, int]:
        kind = int(kinds[np.argmin(cells.first_row[kinds])])
        return int(cells.first_row[kind]), kind

    check_counts(name, guarantee, cells.rows_of_kind, rows, cells.excluded, cells.counted, first_row)


def _release_parts(stored: DataFrame, reports: list[dict[str, Any]], cells: CountedCells) -> Bucketized:
    """The parts as one release."""
    many = np.array([report["figures"]["buckets"] for report in reports], np.int64)
    total, n = int(many.sum()), sum(report["rows"] for report in reports)
    starts = {report["part"]: int(start) for report, start in zip(reports, np.cumsum(many) - many, strict=True)}
    schema = "row bigint, " + ", ".join(f"{column} {kind}" for column, kind in TEXTS.items())
    rows = map_rows(stored, _number_buckets, schema, starts=starts, lots=draw_lots(total), total=total)
    shown = {
        "buckets": total,
        "smallest_bucket": min(report["figures"]["smallest_bucket"] for report in reports),
        "largest_bucket": max(report["figures"]["largest_bucket"] for report in reports),
        "average_bucket": n / total,
    }
    sums = {fact: sum(report["facts"][fact] for report in reports) for fact in reports[0]["facts"]}
    exceptions = sums.get("exceptions", 0)
    if "cells" in sums:
        sums["cells"] = len(cells.rows)
    return Bucketized(
        rows,
        stored,
        shown,
        shown | sums | {"parts": len(reports)},
        sum(report["lost_bits"] for report in reports) / max(entropy_bits(cells.rows_of_value), 1e-9),
        1 - sum(report["right"] for report in reports) / n,
        exception_notes(exceptions) + _notes(reports),
    )


def _notes(reports: list[dict[str, Any]]) -> tuple[str, ...]:
    """What parts have to say besides counts."""
    noted = [report["notes"] for report in reports if report["notes"]]
    if not noted or len(reports) == 1:
        return tuple(note for notes in noted for note in notes)
    return tuple(
        f"{note} (So in {len(noted):,} of {len(reports):,} parts; the figure is that of one.)" for note in noted[0]
    )


def draw_lots(total: int) -> Codes:
    """Tables by which numbers below `total` are mixed: one for each round, of random numbers of half as many bits."""
    half = max(3, ((max(1, total) - 1).bit_length() + 1) // 2)
    return np.random.default_rng().integers(0, 1 << half, (ROUNDS, 1 << half), dtype=np.int32)


def mix_numbers(numbers: Ints, lots: Codes, total: int) -> Ints:
    """Numbers below `total` as others below it, each once: a Feistel network of random tables, walked until the number is below."""
    half = lots.shape[1].bit_length() - 1
    mixed = numbers.copy()
    away = np.arange(len(mixed))
    while len(away):
        left, right = mixed[away] >> half, mixed[away] & ((1 << half) - 1)
        for lot in lots:
            left, right = right, left ^ lot[right]
        mixed[away] = (left << half) | right
        away = away[mixed[away] >= total]
    return mixed


def _bucketize_part(
    table: pa.Table, template: Records, guarantee: MatchingDiversity, name: str, seed: int, secret: bytes
) -> pa.Table:
    """On a worker: the rows of one part with their buckets and a value of it each, and what that costs; or why it cannot be."""
    part = int(table["part"][0].as_py())
    rows, records = local_records(table, template)
    options = Options(seed=seed, threads=1)
    try:
        made: Bucketization = algorithm(guarantee.model, name)(records, guarantee, None, options)
    except Unreachable as fault:
        return _fault(part, len(rows), str(fault))
    formed = made.apply()
    if not guarantee.audit(formed, witnesses=0, threads=1).holds:
        return _fault(
            part,
            len(rows),
            f"{name} found no buckets that keep {guarantee}, which does not mean that there are none; ask for a smaller l or fewer rules",
        )
    random = np.random.default_rng([part, *np.frombuffer(secret, "<u4").tolist()])
    values = formed.deal(random)
    shown = figures(formed)
    exceptions = exception_notes(made.facts.get("exceptions", 0))
    report = {
        "part": part,
        "rows": len(rows),
        "figures": shown,
        "facts": {fact: count for fact, count in made.facts.items() if fact not in shown},
        "lost_bits": dealt_fates(formed).lost_bits,
        "right": float(chances(formed, sensitive_column(records)).sum()),
        "notes": [note for note in made.notes if note not in exceptions],
    }
    columns = [values if column.name == values.name else column for column in records.columns]
    return pa.table(
        {
            "row": rows,
            "values": column_texts(columns, len(rows)),
            "kept": kept_texts(table),
            "part": pa.array(np.full(len(rows), part, np.int32)),
            "bucket": pa.array(formed.of_row),
            "report": pa.array([json.dumps(report)] + [None] * (len(rows) - 1), pa.string()),
        }
    )


def _fault(part: int, rows: int, fault: str) -> pa.Table:
    nothing = pa.array([[]], pa.list_(pa.string()))
    return pa.table(
        {
            "row": pa.array([-1], pa.int64()),
            "values": nothing,
            "kept": nothing,
            "part": pa.array([part], pa.int32()),
            "bucket": pa.array([-1], pa.int32()),
            "report": [json.dumps({"part": part, "rows": rows, "fault": fault})],
        }
    )


def _number_buckets(
    batches: Iterator[pa.RecordBatch], starts: dict[int, int], lots: Codes, total: int
) -> Iterator[pa.RecordBatch]:
    """On a worker: rows with the number that the lots give their bucket, counted from 1."""
    start = np.zeros(max(starts) + 1, np.int64)
    start[list(starts)] = list(starts.values())
    for batch in batches:
        own = start[batch.column("part").to_numpy()] + batch.column("bucket").to_numpy()
        used, place = np.unique(own, return_inverse=True)
        texts: npt.NDArray[Any] = (mix_numbers(used, lots, total) + 1).astype(str)
        bucket = pa.array(texts.tolist(), pa.string()).take(pa.array(place.reshape(-1)))
        yield pa.record_batch({name: batch.column(name) for name in ("row", "values", "kept")} | {"bucket": bucket})
