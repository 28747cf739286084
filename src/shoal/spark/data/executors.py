"""Between the driver and the executors: functions go out by name, results come back through one door.

What runs on a worker is imported there from the installed package, so a worker without it, or with another version of it, must be
told apart from a fault: every task compares versions, and `fetch`, through which all that ever comes back to the driver has to pass,
says in one sentence what is missing.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal import __version__
from shoal.errors import InputError, ShoalError
from shoal.numbers import Ints

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COUNTS = "key bigint, count bigint"
_MISSING = re.compile(r"No module named '([\w.]+)'")
_OTHER_VERSION = re.compile(r"shoal \d\S* on a worker, \d\S* on the driver")
_REMEDY = "install it there, or ship it with spark.archives (a packed environment) or spark.submit.pyFiles"


def map_rows(frame: DataFrame, function: Callable[..., Any], schema: str, **state: Any) -> DataFrame:
    """The batches that `function(batches, **state)` makes of those of each partition."""
    return frame.mapInArrow(on_workers(function, **state), schema)


def map_groups(frame: DataFrame, key: str, function: Callable[..., Any], schema: str, **state: Any) -> DataFrame:
    """The table that `function(table, **state)` makes of all rows with the same `key`."""
    return frame.groupBy(key).applyInArrow(on_workers(function, **state), schema)


def on_workers(function: Callable[..., Any], **state: Any) -> Callable[[Any], Any]:
    """`function(data, **state)` as a task; the function travels by its name, the state with it."""
    version = __version__

    def run(data):  # type: ignore[no-untyped-def] # Spark looks at annotations
        check_version(version)
        return function(data, **state)

    return run


def check_version(expected: str) -> None:
    """Raises on a worker whose package is not that of the driver: it could count otherwise."""
    if __version__ != expected:
        raise RuntimeError(f"shoal {__version__} on a worker, {expected} on the driver")


def store(frame: DataFrame) -> DataFrame:
    """The same frame, which the executors keep once it is computed, until it is unpersisted."""
    from pyspark import StorageLevel

    return frame.persist(StorageLevel.MEMORY_AND_DISK)


def fetch(frame: DataFrame) -> pa.Table:
    """What the executors have computed, on the driver. Never rows of data: names, counts, violations, witnesses."""
    with worker_faults():
        return frame.toArrow()


def count_keys(frame: DataFrame, function: Callable[..., Any], n: int, **state: Any) -> Ints:
    """How often each key from 0 to n - 1 occurs, from the counts (`count_batch`) that `function` makes of each partition."""
    return add_up(map_rows(frame, function, _COUNTS, **state), n)


def add_up(counts: DataFrame, n: int) -> Ints:
    """The sum of `count` for every `key` from 0 to n - 1, added up by the executors."""
    from pyspark.sql import functions as sf

    sums = fetch(counts.groupBy("key").agg(sf.sum("count").alias("count")))
    total = np.zeros(n, np.int64)
    total[sums["key"].to_numpy()] = sums["count"].to_numpy()
    return total


def count_batch(keys: npt.NDArray[np.integer]) -> pa.RecordBatch:
    """On a worker: how often each key occurs, for `count_keys`."""
    key, count = np.unique(keys, return_counts=True)
    return pa.record_batch({"key": key.astype(np.int64), "count": count.astype(np.int64)})


def total_batch(total: Ints) -> pa.RecordBatch:
    """On a worker: counts by key from 0 on, without zeros, for `count_keys`."""
    key = np.flatnonzero(total)
    return pa.record_batch({"key": key.astype(np.int64), "count": total[key]})


class TimeUp(Exception):  # noqa: N818 - an event, not an error
    """The time that jobs may take is used up."""


@contextmanager
def jobs_within(session: SparkSession, seconds: float | None) -> Iterator[None]:
    """Jobs that this thread starts are cancelled when the time is up, which then raises; None is no limit."""
    if seconds is None:
        yield
        return
    if seconds <= 0:
        raise TimeUp
    context, tag, is_up = session.sparkContext, f"shoal-{secrets.token_hex(8)}", threading.Event()

    def cancel() -> None:
        is_up.set()
        context.cancelJobsWithTag(tag)

    timer = threading.Timer(seconds, cancel)
    timer.daemon = True
    context.addJobTag(tag)
    timer.start()
    try:
        yield
    except Exception as error:  # a job that was cancelled ends in errors of several classes
        if is_up.is_set():
            raise TimeUp from error
        raise
    finally:
        timer.cancel()
        context.removeJobTag(tag)


@contextmanager
def worker_faults() -> Iterator[None]:
    """Tells a worker that lacks the package, or has another one, from everything else that can go wrong there."""
    try:
        yield
    except Exception as error:  # the same fault comes in several classes, of Spark and of its bridge to Java
        known = _known_fault(str(error))
        if known is None:
            raise
        raise known from error


def _known_fault(message: str) -> ShoalError | None:
    """The sentence for a fault whose cause is known."""
    if (missing := _MISSING.search(message)) is not None:
        name = missing[1].partition(".")[0]
        if name == "shoal" and missing[1] != "shoal":
            return InputError(f"the workers have another shoal than the driver ({__version__}): {_REMEDY}")
        return InputError(f"the workers have no {name}: {_REMEDY}")
    if (other := _OTHER_VERSION.search(message)) is not None:
        return InputError(f"the workers have another shoal than the driver ({other[0]}): {_REMEDY}")
    if "PYTHON_VERSION_MISMATCH" in message:
        return InputError(
            "the workers run another Python than the driver; let PYSPARK_PYTHON name one of the driver's version there"
        )
    return None
