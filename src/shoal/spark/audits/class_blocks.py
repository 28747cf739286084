"""Blocks of whole classes: rows that are alike go to the same worker, many classes at a time.

Most promises are kept or broken inside a class of equal values, so what a block of classes says is true of the whole table, and answers
are added up. The block of a row is a hash of what its class has in common. A class is never divided: the largest one has to
fit a worker. An answer is a small document: counts, and the worst few witnesses with what ranks them among those of other blocks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.numbers import Ints
from shoal.records.records import Records
from shoal.spark.data.executors import fetch, map_groups, map_rows
from shoal.spark.data.frame_records import CODED, SparkRecords, beside_rows, codes_of

BLOCK = 2_000_000
"""Values and items of the rows of a block, about."""
NAMED = 100_000
"""Rows that a witness names at most: a class that is too uniform may be large."""

Answer = dict[str, Any]
Alike = Callable[[pa.RecordBatch, Records], npt.NDArray[np.uint64]]
"""Per batch, a row of numbers for each row, which tell its class; their order is of no matter."""


def answers(records: SparkRecords, alike: Alike, count: Callable[..., Answer], **state: Any) -> list[Answer]:
    """What `count(table, template, **state)` says about each block; the table has the rows of whole classes."""
    volume = len(records) * (1 + len(records.template.columns)) + records.sets.occurrences
    n_blocks = max(2 * records.sets.parallel, -(-volume // BLOCK))
    how: dict[str, Any] = {"template": records.template}
    sent = map_rows(records.rows, _with_blocks, f"block int, {CODED}", alike=alike, n_blocks=n_blocks, **how)
    schema = "block int, answer string"
    table = fetch(map_groups(sent, "block", _count_block, schema, count=count, state=state, **how))
    return [json.loads(text) for text in table["answer"].to_pylist()] if table.num_rows else []


def worst(blocks: list[Answer], name: str, wanted: int) -> list[Answer]:
    """The first of what all blocks list under a name, by their keys."""
    return sorted((each for block in blocks for each in block[name]), key=lambda each: each["key"])[:wanted]


def by_values(batch: pa.RecordBatch, template: Records) -> npt.NDArray[np.uint64]:
    """Rows are alike if they agree in all quasi-identifier columns."""
    quasi = [i for i, column in enumerate(template.columns) if column.role == "quasi"]
    codes = codes_of(batch)[:, quasi].astype(np.uint64)
    return codes + (np.arange(len(quasi), dtype=np.uint64) << np.uint64(32))


def by_bucket(batch: pa.RecordBatch, template: Records, place: int = 0) -> npt.NDArray[np.uint64]:
    """Rows are alike if the kept column at a place says the same."""
    texts = batch.column("kept").flatten().to_pylist()
    texts = texts[place :: max(1, len(texts) // len(batch))]
    hashes = [int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) for text in texts]
    return np.array(hashes, np.uint64)[:, None]


def row_numbers(rows: Ints, chosen: Any) -> list[int]:
    """Row numbers counted from 1, at most `NAMED` of them."""
    numbers: list[int] = (rows[chosen][:NAMED] + 1).tolist()
    return numbers


def _with_blocks(
    batches: Iterator[pa.RecordBatch], alike: Alike, template: Records, n_blocks: int
) -> Iterator[pa.RecordBatch]:
    """On a worker: every row with its block."""
    for batch in batches:
        if len(batch):
            total = _mix(alike(batch, template)).sum(axis=1, dtype=np.uint64)
            yield beside_rows("block", _mix(total) % np.uint64(n_blocks), batch)


def _mix(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Numbers that look like random ones, the same for the same (splitmix64)."""
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _count_block(table: pa.Table, count: Callable[..., Answer], template: Records, state: dict[str, Any]) -> pa.Table:
    """On a worker: what is to be said about one block."""
    answer = json.dumps(count(table, template, **state))
    return pa.table({"block": table["block"][:1], "answer": pa.array([answer], pa.string())})
