"""Blocks of whole classes: rows that are alike go to the same worker, many classes at a time.

Most promises are kept or broken inside a class of equal values, so what a block of classes says is true of the whole table, and answers
are added up. The block of a row is a hash of what its class has in common. A class is never divided: the largest one has to
fit a worker. An answer is a small document: counts, and the worst few witnesses with what ranks them among those of other blocks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.engines.spark.ragged import Longs, flat
from shoal.engines.spark.records import SCHEMA, SparkRecords, of_rows
from shoal.engines.spark.workers import collected, on_workers
from shoal.records.records import Records

BLOCK = 2_000_000
"""Values and items of the rows of a block, about."""
NAMED = 100_000
"""Rows that a witness names at most: a class that is too uniform may be large."""

Alike = Callable[[pa.RecordBatch, Records], tuple[Longs, npt.NDArray[np.uint64]]]
"""Per batch, what the class of each row is told by: (offsets, numbers), the order of the numbers of a row being of no matter."""


def answers(
    records: SparkRecords, alike: Alike, counted: Callable[..., dict[str, Any]], **state: Any
) -> list[dict[str, Any]]:
    """What `counted(table, template, **state)` says about each block; the table has the rows of whole classes."""
    volume = len(records) * (1 + len(records.template.columns)) + records.sets.occurrences
    parallel = max(1, int(records.sets.session.sparkContext.defaultParallelism))
    n_blocks = max(2 * parallel, -(-volume // BLOCK))
    sent = records.rows.mapInArrow(
        on_workers(_sent, alike=alike, template=records.template, n_blocks=n_blocks), f"block int, {SCHEMA}"
    )
    found = sent.groupBy("block").applyInArrow(
        on_workers(_answered, counted=counted, template=records.template, state=state), "block int, answer string"
    )
    table = collected(found)
    return [json.loads(text) for text in table["answer"].to_pylist()] if table.num_rows else []


def by_values(batch: pa.RecordBatch, template: Records) -> tuple[Longs, npt.NDArray[np.uint64]]:
    """Rows are alike if they agree in all quasi-identifier columns."""
    quasi = [i for i, column in enumerate(template.columns) if column.role == "quasi"]
    n, width = len(batch), len(template.columns)
    codes = flat(batch.column("values"))[1].reshape(n, width)[:, quasi].astype(np.uint64)
    codes += np.arange(len(quasi), dtype=np.uint64) << np.uint64(32)
    return np.arange(n + 1, dtype=np.int64) * len(quasi), codes.reshape(-1)


def by_items(batch: pa.RecordBatch, template: Records) -> tuple[Longs, npt.NDArray[np.uint64]]:
    """Rows are alike if they hold the same items, sensitive ones left out."""
    offsets, ids = flat(batch.column("items"))
    names = () if template.items is None else template.items.vocabulary
    known = np.array([name not in template.sensitive_items for name in names], np.bool_)[ids]
    return np.concatenate(([0], np.cumsum(known)))[offsets].astype(np.int64), ids[known].astype(np.uint64)


def by_bucket(batch: pa.RecordBatch, template: Records, place: int = 0) -> tuple[Longs, npt.NDArray[np.uint64]]:
    """Rows are alike if the kept column at a place says the same."""
    import hashlib

    texts = batch.column("kept").flatten().to_pylist()
    texts = texts[place :: max(1, len(texts) // len(batch))]
    told = [int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) for text in texts]
    return np.arange(len(batch) + 1, dtype=np.int64), np.array(told, np.uint64)


def _sent(
    batches: Iterator[pa.RecordBatch], alike: Alike, template: Records, n_blocks: int
) -> Iterator[pa.RecordBatch]:
    """On a worker: every row with its block."""
    for batch in batches:
        if not len(batch):
            continue
        offsets, told = alike(batch, template)
        total = np.concatenate((np.zeros(1, np.uint64), np.cumsum(_mixed(told), dtype=np.uint64)))
        block = _mixed(total[offsets[1:]] - total[offsets[:-1]]) % np.uint64(n_blocks)
        names = ("row", "values", "items", "kept")
        yield pa.record_batch({"block": block.astype(np.int32)} | {name: batch.column(name) for name in names})


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Numbers that look like random ones, the same for the same (splitmix64)."""
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _answered(
    table: pa.Table, counted: Callable[..., dict[str, Any]], template: Records, state: dict[str, Any]
) -> pa.Table:
    """On a worker: what is to be said about one block."""
    answer = json.dumps(counted(table, template, **state))
    return pa.table({"block": table["block"][:1], "answer": pa.array([answer], pa.string())})


def numbers(rows: Longs, chosen: Any) -> list[int]:
    """Row numbers counted from 1, at most `NAMED` of them."""
    found: list[int] = (rows[chosen][:NAMED] + 1).tolist()
    return found


__all__ = ["BLOCK", "NAMED", "answers", "by_bucket", "by_items", "by_values", "numbers", "of_rows"]
