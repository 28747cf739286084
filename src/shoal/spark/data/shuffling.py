"""The order of published rows, which would give people away if it were that of the input.

Published rows stand where a keyed hash (BLAKE2b) of their number puts them: in a partition by the hash, and within it by the hash. The key
is 32 bytes of the system's randomness that live in the driver's memory and in the code that goes to the workers, in no plan, log or file.
It has to be a function of the row: if a task that failed gave its rows new random places, some would be published twice and others not
at all.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.numbers import Ints
from shoal.spark.data.executors import map_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_HASH = 64
"""Bytes of a hash."""


def shuffle_rows(rows: DataFrame, columns: dict[str, str]) -> DataFrame:
    """These columns (with their types) of rows that are numbered in `row`, in an order that says nothing about the numbers."""
    schema = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    placed = map_rows(rows, _place_rows, f"place binary, {schema}", columns=tuple(columns), secret=os.urandom(32))
    return placed.repartition("place").sortWithinPartitions("place").select(*columns)


def places_of(rows: Ints, secret: bytes, size: int) -> npt.NDArray[np.uint8]:
    """The place of each row, by its number: so many bytes (a row of them) that nobody can tell without the secret.

    A hash has 64 bytes, enough for several rows that follow each other.
    """
    together = _HASH // size
    block, within = np.divmod(rows, together)
    blocks, at = np.unique(block, return_inverse=True)
    hashes = b"".join(hashlib.blake2b(number.to_bytes(8), key=secret).digest() for number in blocks.tolist())
    return np.frombuffer(hashes, np.uint8).reshape(-1, size)[at.reshape(-1) * together + within]


def _place_rows(batches: Iterator[pa.RecordBatch], columns: tuple[str, ...], secret: bytes) -> Iterator[pa.RecordBatch]:
    """On a worker: rows with the place that the secret gives them, without their number."""
    for batch in batches:
        places = places_of(batch.column("row").to_numpy(), secret, 16)
        place = pa.array([*places.view("V16").reshape(-1).tolist()], pa.binary())
        yield pa.record_batch({"place": place} | {name: batch.column(name) for name in columns})
