"""Between the driver and the executors: functions go out by name, results come back through one door.

What runs on a worker is imported there from the installed package, so a worker without it, or with another version of it, must be
told apart from a fault: `on_workers` lets every task compare versions, and `collected`, through which all that ever
comes back to the driver has to pass, says in one sentence what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal import __version__
from shoal.errors import InputError, ShoalError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MISSING = re.compile(r"No module named '([\w.]+)'")
_OTHER_VERSION = re.compile(r"shoal \d\S* on a worker, \d\S* on the driver")
_REMEDY = "install it there, or ship it with spark.archives (a packed environment) or spark.submit.pyFiles"


def on_workers(function: Callable[..., Any], **state: Any) -> Callable[[Any], Any]:
    """`function(data, **state)` for mapInArrow or applyInArrow; the function travels by its name, the state with it."""
    version = __version__

    def run(data):  # type: ignore[no-untyped-def] # Spark looks at annotations
        from shoal.engines.spark.workers import check_version

        check_version(version)
        return function(data, **state)

    return run


def check_version(expected: str) -> None:
    """Raises on a worker whose package is not that of the driver: it could count otherwise."""
    if __version__ != expected:
        raise RuntimeError(f"shoal {__version__} on a worker, {expected} on the driver")


def collected(frame: DataFrame) -> pa.Table:
    """What the executors found, on the driver. Never rows of data: names, counts, violations, witnesses."""
    with worker_faults():
        return frame.toArrow()


def summed(frame: DataFrame, n: int) -> npt.NDArray[np.int64]:
    """The sum of `count` for every `key` from 0 to n - 1, added up by the executors."""
    from pyspark.sql import functions as sf

    found = collected(frame.groupBy("key").agg(sf.sum("count").alias("count")))
    total = np.zeros(n, np.int64)
    total[found["key"].to_numpy()] = found["count"].to_numpy()
    return total


@contextmanager
def worker_faults() -> Iterator[None]:
    """Tells a worker that lacks the package, or has another one, from everything else that can go wrong there."""
    try:
        yield
    except (
        Exception
    ) as error:  # by what it says: the same fault comes in several classes, of Spark and of its bridge to Java
        told = _told(str(error))
        if told is None:
            raise
        raise told from error


def _told(message: str) -> ShoalError | None:
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
