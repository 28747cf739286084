"""Sets that fit one worker: all rows go to one task, where the local code runs on them.

Beyond that, every question is a job in which rows travel once for each block of tokens. A task that holds all rows asks nothing: one job
answers, and what it costs besides the local engine's work is the way of the bytes there and back. What a task may take is a setting of
the session, `spark.shoal.task.memory`. Unless it is given, it is what Spark itself grants the Python of an executor; on this machine, where
Spark grants nothing, half of the memory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.limits import size_in_bytes
from shoal.numbers import Codes, Ints
from shoal.records.baskets import Baskets
from shoal.spark.data.encoding import by_common_names
from shoal.spark.data.executors import fetch, map_rows
from shoal.spark.data.packing import gather, offsets_of, pieces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from shoal.spark.data.sets import SparkSets

SETTING = "spark.shoal.task.memory"
"""The setting of a session that says how much memory one task may take."""
BASE = 300 << 20
"""Bytes that Python takes with compiled kernels and no rows."""
TO_COUNT, TO_CHANGE = 50, 100
"""Bytes for an occurrence that counting (`exact`, audits) takes at its peak, and what changes single occurrences (`local`, `hybrid`)."""
PER_ROW = 40
"""And for a row: its number, its length, its place."""
Work = tuple[Callable[..., Any], dict[str, Any]]
"""A function that runs on a worker, and what travels with it."""


def fits(sets: SparkSets, per_occurrence: int = TO_COUNT, beside: int = 0) -> bool:
    """Whether all rows, and so many bytes beside them, can be searched or audited in one task."""
    return len(sets) > 0 and bytes_needed(sets, per_occurrence) + beside <= task_memory(sets.session)


def bytes_needed(sets: SparkSets, per_occurrence: int = TO_COUNT) -> int:
    """What the local code takes for all rows, about."""
    return BASE + bytes_of(len(sets), sets.occurrences, per_occurrence)


def bytes_of(rows: int, occurrences: int, per_occurrence: int) -> int:
    """What so many rows take of it."""
    return per_occurrence * occurrences + PER_ROW * rows


def task_memory(session: SparkSession) -> int:
    """Bytes that the Python of one task may take."""

    def size(name: str, default: str | None = None) -> int | None:
        text = session.conf.get(name, default)
        # Spark takes a number without a unit for MiB in its own settings.
        return None if text is None else size_in_bytes(f"{text}m" if str(text).isdecimal() else text, name)

    given = session.conf.get(SETTING, None)
    if given is not None:
        return size_in_bytes(given, SETTING)
    if str(session.conf.get("spark.master", "local")).startswith("local"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    granted = size("spark.executor.pyspark.memory")
    if granted is not None:
        return granted // max(1, int(session.conf.get("spark.executor.cores", None) or 1))
    beside = size("spark.executor.memoryOverhead")
    if beside is not None:
        return beside
    share = float(session.conf.get("spark.executor.memoryOverheadFactor", None) or 0.1)
    return max(384 << 20, int(share * (size("spark.executor.memory", "1g") or 0)))


def map_all(sets: SparkSets, function: Callable[..., Any], schema: str, **state: Any) -> DataFrame:
    """The batches that `function(baskets, **state)` makes of all rows, which are in their order, in one task."""
    rows, starts = (sets.rows, None) if sets.own is None else sets.own
    how = {"names": sets.vocabulary, "starts": starts, "n": len(sets), "duplicates": sets.duplicates}
    return map_rows(rows.coalesce(1), _with_all_rows, schema, work=(function, state), **how)


def ask_all(sets: SparkSets, function: Callable[..., Any], **state: Any) -> Any:
    """What `function(baskets, **state)`, which has all rows, answers: a small document."""
    table = fetch(map_all(sets, _answer, "answer string", work=(function, state)))
    return json.loads(table["answer"][0].as_py())


def cores_of_task(session: SparkSession) -> int:
    """Cores that Spark reckons a task to use."""
    return max(1, int(session.conf.get("spark.task.cpus", None) or 1))


def document(content: Any) -> str:
    """On a worker: an answer as text; numbers and arrays of NumPy are numbers and lists."""
    return json.dumps(content, default=lambda numbers: numbers.tolist())


def _answer(baskets: Baskets, work: Work) -> Iterator[pa.RecordBatch]:
    function, state = work
    yield pa.record_batch({"answer": pa.array([document(function(baskets, **state))], pa.string())})


def _with_all_rows(
    batches: Iterator[pa.RecordBatch],
    work: Work,
    names: tuple[str, ...],
    starts: dict[int, int] | None,
    n: int,
    duplicates: int,
) -> Iterator[pa.RecordBatch]:
    function, state = work
    baskets = all_rows(batches if starts is None else by_common_names(batches, names, starts), names, duplicates)
    if len(baskets) != n:
        raise RuntimeError(f"the task was given {len(baskets)} rows of {n}")
    yield from function(baskets, **state)


def all_rows(batches: Iterator[pa.RecordBatch], vocabulary: tuple[str, ...], duplicates: int) -> Baskets:
    """On a worker: encoded rows as baskets, in the order of their numbers, whatever order they come in."""
    rows: list[Ints] = [np.zeros(0, np.int64)]
    lengths: list[Ints] = [np.zeros(0, np.int64)]
    items: list[Codes] = [np.zeros(0, np.int32)]
    for numbers, sets in pieces(batches):
        rows.append(numbers)
        lengths.append(np.diff(sets.offsets))
        items.append(sets.items)
    number, length, ids = np.concatenate(rows), np.concatenate(lengths), np.concatenate(items)
    offsets = offsets_of(length)
    if np.any(number[1:] < number[:-1]):
        order = np.argsort(number, kind="stable")
        offsets, ids = gather(offsets[:-1][order], length[order], ids)
    return Baskets(offsets, ids, vocabulary, duplicates=duplicates)
