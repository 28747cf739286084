"""What every proposal on Spark has, and what all of them need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.algorithms.recoding import Recoding
from shoal.errors import InputError
from shoal.models import buckets, tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from shoal.engines.spark.records import SparkRecords
    from shoal.engines.spark.sets import SparkSets


@dataclass(frozen=True, eq=False)
class SparkProposal:
    """What would be published, and what there is to say about it."""

    published: DataFrame
    """In an order that says nothing about that of the input."""
    guarantee: Any
    algorithm: str
    loss: Mapping[str, float]
    parameters: Mapping[str, Any]
    details: Mapping[str, Any]
    rows: int
    input_sha256: str
    read: Callable[[DataFrame], SparkSets | SparkRecords]
    """What was published, or written, as the audit sees it."""
    recoding: Recoding | None = None
    """The cut, where the model has one."""
    optimal: bool | None = None
    bound: float | None = None
    certified: Callable[[SparkSets | SparkRecords], Mapping[str, Any]] = lambda seen: {}
    """For the certificate, as in `shoal.models.Proposal`. Takes what was published, as the audit sees it."""
    warnings: tuple[str, ...] = ()
    """For readers of the certificate."""
    notes: tuple[str, ...] = ()
    """For the owner."""
    forget: Callable[[], object] = lambda: None
    """Lets the executors drop what the published rows are computed from."""


def options_of(asked: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """What was asked for that some algorithm of the model may have a use for."""
    unused = {"k": ("hierarchy", "unknown")}.get(kind, ())
    return {name: asked[name] for name in ("suppress", "time_limit", "seed", *tables.RT, *buckets.KNOWLEDGE, *unused)}


def forgetting(seen: SparkSets | SparkRecords, rows: DataFrame) -> Callable[[], None]:
    """Lets the executors drop what was read and what was computed from it."""

    def forget() -> None:
        seen.forget()
        rows.unpersist()

    return forget


def refuse_empty(rows: int) -> None:
    """Raises if there is nothing to publish."""
    if not rows:
        raise InputError("the data frame has no rows; there is nothing to publish")


def check_specs(hierarchy: Any) -> None:
    """Raises for trees that would need more of a table than the driver has of it."""
    for spec in hierarchy.values() if isinstance(hierarchy, Mapping) else [hierarchy]:
        if isinstance(spec, str) and spec.startswith(("frequency:", "learned")):
            raise InputError(
                f"hierarchy {spec} cannot be made on Spark for a table: it needs more of the data than names; write it to a file first"
            )
