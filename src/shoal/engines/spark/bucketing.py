"""Buckets on Spark: rows are dealt out to parts of like cells, and each part is bucketized by the local algorithm.

With one part the buckets are those of the local engine. Which value a row of a bucket is dealt, and which number a bucket gets, is drawn
from 32 bytes and tables of the system's randomness that live in the driver's memory and in the code that goes to the workers, in no
plan, log or file. They have to be functions of the part and of the bucket: a task that is run again must not deal other values to rows of
which some have left already.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.algorithms import algorithm
from shoal.algorithms.buckets.bucketization import Bucketization, chances, exception_notes, figures
from shoal.algorithms.buckets.eligibility import check_counts, check_shares
from shoal.algorithms.recoding import Options
from shoal.engines.spark.cells import CountedCells, counted_cells, dealt, kinds_told_by
from shoal.engines.spark.dealing import check_size, groups_of_parts, joined, number_of_parts
from shoal.engines.spark.ragged import Ints, Longs
from shoal.engines.spark.records import SCHEMA, SparkRecords, of_rows, side_by_side
from shoal.engines.spark.workers import collected, on_workers
from shoal.errors import Unreachable
from shoal.guarantees.diversity import MatchingDiversity
from shoal.records.buckets import sensitive_column
from shoal.records.records import Records

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TEXTS = {"values": "array<string>", "kept": "array<string>", "bucket": "string"}
ROUNDS = 12
"""Rounds by which the numbers of buckets are mixed."""


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
    ambiguity: float
    """The share of rows that are expected to get another value than their own."""
    notes: tuple[str, ...]


def bucketized(records: SparkRecords, guarantee: MatchingDiversity, name: str, options: Options) -> Bucketized:
    """Buckets of all rows that keep the promise, formed by algorithm `name` in parts. The executors keep them until they are forgotten."""
    from pyspark import StorageLevel
    from pyspark.sql import functions as sf

    # Anatomy knows no rules: it looks at values alone.
    rules = None if name == "anatomy" else guarantee.rules
    kinds = kinds_told_by(records, rules, guarantee.missing)
    options.tell("impossible values", 0.0)
    cells = counted_cells(records, kinds)
    check_whole(records.template, cells, guarantee, once=name == "anatomy")
    n_parts = number_of_parts(len(records), len(cells.rows))
    group = groups_of_parts(cells, guarantee, n_parts, once=name == "anatomy")
    promise = MatchingDiversity(guarantee.l, None if rules is None else rules.applied(), guarantee.missing)
    while True:
        options.tell("groups", 0.3)
        stored = (
            records.rows.mapInArrow(
                on_workers(dealt, kinds=kinds, cells=cells, n_parts=n_parts, group=group), f"part int, {SCHEMA}"
            )
            .groupBy("part")
            .applyInArrow(
                on_workers(
                    _bucketized,
                    template=records.template,
                    guarantee=promise,
                    name=name,
                    seed=options.seed,
                    secret=os.urandom(32),
                ),
                "row bigint, values array<string>, kept array<string>, part int, bucket int, told string",
            )
            .persist(StorageLevel.MEMORY_AND_DISK)
        )
        said = collected(stored.where(sf.col("told").isNotNull()).select("told"))["told"].to_pylist()
        told = sorted((json.loads(text) for text in said), key=lambda one: int(one["part"]))
        able = ["fault" not in one for one in told]
        if all(able):
            break
        # What the counts promised could not be kept: the part gets more rows to choose from.
        stored.unpersist()
        if len(told) == 1:
            raise Unreachable(told[0]["fault"])
        step = joined(able)
        group = step[group]
        check_size(int(np.bincount(step, [one["rows"] for one in told]).max()), guarantee)
    return _together(stored, told, len(cells.rows))


def check_whole(table: Records, cells: CountedCells, guarantee: MatchingDiversity, *, once: bool) -> None:
    """Raises as the local engine does if no buckets of all rows keep the promise; `once` if no value may stand twice in a bucket."""
    name, rows = sensitive_column(table).name, cells.rows_of_value
    if once:
        check_shares(name, np.where(cells.counted, rows, 0), int(rows.sum()), guarantee)
        return

    def first_row(kinds: Longs) -> tuple[int, int]:
        kind = int(kinds[np.argmin(cells.first_row[kinds])])
        return int(cells.first_row[kind]), kind

    check_counts(name, guarantee, cells.rows_of_kind, rows, cells.excluded, cells.counted, first_row)


def _together(stored: DataFrame, told: list[dict[str, Any]], n_cells: int) -> Bucketized:
    """The parts as one release."""
    many = np.array([one["figures"]["buckets"] for one in told], np.int64)
    total, n = int(many.sum()), sum(one["rows"] for one in told)
    starts = {one["part"]: int(start) for one, start in zip(told, np.cumsum(many) - many, strict=True)}
    lots = drawn_lots(total)
    rows = stored.mapInArrow(
        on_workers(_numbered, starts=starts, lots=lots, total=total),
        "row bigint, " + ", ".join(f"{column} {kind}" for column, kind in TEXTS.items()),
    )
    shown = {
        "buckets": total,
        "smallest_bucket": min(one["figures"]["smallest_bucket"] for one in told),
        "largest_bucket": max(one["figures"]["largest_bucket"] for one in told),
        "average_bucket": n / total,
    }
    summed = {fact: sum(one["facts"][fact] for one in told) for fact in told[0]["facts"]}
    facts = shown | ({"cells": n_cells} if "cells" in summed else {})
    facts |= {fact: count for fact, count in summed.items() if fact != "cells"}
    exceptions = summed.get("exceptions", 0)
    return Bucketized(
        rows,
        stored,
        shown,
        facts | {"parts": len(told)},
        1 - sum(one["right"] for one in told) / n,
        exception_notes(exceptions) + _notes(told),
    )


def _notes(told: list[dict[str, Any]]) -> tuple[str, ...]:
    """What parts have to say besides counts."""
    noted = [one["notes"] for one in told if one["notes"]]
    if not noted or len(told) == 1:
        return tuple(note for notes in noted for note in notes)
    return tuple(
        f"{note} (So in {len(noted):,} of {len(told):,} parts; the figure is that of one.)" for note in noted[0]
    )


def drawn_lots(total: int) -> Ints:
    """Tables by which numbers below `total` are mixed: one for each round, of random numbers of half as many bits."""
    half = max(3, ((max(1, total) - 1).bit_length() + 1) // 2)
    return np.random.default_rng().integers(0, 1 << half, (ROUNDS, 1 << half), dtype=np.int32)


def mixed(numbers: Longs, lots: Ints, total: int) -> Longs:
    """Numbers below `total` as others below it, each once: a Feistel network of random tables, walked until the number is below."""
    half = lots.shape[1].bit_length() - 1
    found = numbers.copy()
    away = np.arange(len(found))
    while len(away):
        left, right = found[away] >> half, found[away] & ((1 << half) - 1)
        for lot in lots:
            left, right = right, left ^ lot[right]
        found[away] = (left << half) | right
        away = away[found[away] >= total]
    return found


def _bucketized(
    table: pa.Table, template: Records, guarantee: MatchingDiversity, name: str, seed: int, secret: bytes
) -> pa.Table:
    """On a worker: the rows of one part with their buckets and a value of it each, and what that costs; or why it cannot be."""
    part = int(table["part"][0].as_py())
    rows, records = of_rows(table, template)
    options = Options(seed=seed, threads=1)
    try:
        found: Bucketization = algorithm(guarantee.model, name)(records, guarantee, None, options)
    except Unreachable as fault:
        return _fault(part, len(rows), str(fault))
    buckets = found.apply()
    if not guarantee.audit(buckets, witnesses=0, threads=1).holds:
        return _fault(
            part,
            len(rows),
            f"{name} found no buckets that keep {guarantee}, which does not mean that there are none; ask for a smaller l or fewer rules",
        )
    random = np.random.default_rng([part, *np.frombuffer(secret, "<u4").tolist()])
    given = buckets.shuffled(random)
    texts = [
        pa.array(column.values, pa.string()).take(pa.array(column.codes))
        for column in (given if column.name == given.name else column for column in records.columns)
    ]
    shown = figures(buckets)
    exceptions = exception_notes(found.facts.get("exceptions", 0))
    told = {
        "part": part,
        "rows": len(rows),
        "figures": shown,
        "facts": {fact: count for fact, count in found.facts.items() if fact not in shown},
        "right": float(chances(buckets, sensitive_column(records)).sum()),
        "notes": [note for note in found.notes if note not in exceptions],
    }
    order = np.argsort(table["row"].to_numpy(), kind="stable")
    return pa.table(
        {
            "row": rows,
            "values": side_by_side(texts, len(rows)),
            "kept": table["kept"].combine_chunks().take(pa.array(order)),
            "part": pa.array(np.full(len(rows), part, np.int32)),
            "bucket": pa.array(buckets.of_row),
            "told": pa.array([json.dumps(told)] + [None] * (len(rows) - 1), pa.string()),
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
            "told": [json.dumps({"part": part, "rows": rows, "fault": fault})],
        }
    )


def _numbered(
    batches: Iterator[pa.RecordBatch], starts: dict[int, int], lots: Ints, total: int
) -> Iterator[pa.RecordBatch]:
    """On a worker: rows with the number that the lots give their bucket, counted from 1."""
    start = np.zeros(max(starts) + 1, np.int64)
    start[list(starts)] = list(starts.values())
    for batch in batches:
        own = start[batch.column("part").to_numpy()] + batch.column("bucket").to_numpy()
        used, place = np.unique(own, return_inverse=True)
        texts: npt.NDArray[Any] = (mixed(used, lots, total) + 1).astype(str)
        yield pa.record_batch(
            {
                "row": batch.column("row"),
                "values": batch.column("values"),
                "kept": batch.column("kept"),
                "bucket": pa.array(texts.tolist(), pa.string()).take(pa.array(place.reshape(-1))),
            }
        )
