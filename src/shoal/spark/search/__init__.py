"""What each model proposes to publish on Spark: for Spark what `shoal.models` is here.

A model has three functions. `check(guarantee, asked)` raises with the reason for what is not for Spark, before anything is read;
`read(df, guarantee, roles)` gives the rows on the executors and the guarantee that knows what in them is sensitive;
`propose(rows, guarantee, asked, options)` ends in a `SparkProposal`. Nothing in it is believed before the audit has seen what would be
published.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from shoal.algorithms import entry, kind_of
from shoal.algorithms.recoding import Options
from shoal.errors import InputError
from shoal.guarantees.km import KmAnonymity
from shoal.spark.data.frame_records import FrameRoles
from shoal.spark.search.proposals import Asked, SparkProposal, check_filled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_HOMES = {"km": "km", "k": "transactions", "table": "tables", "rt": "tables", "lm": "tables", "diversity": "buckets"}


def home_of(guarantee: Any) -> ModuleType:
    """The module of a guarantee's model; raises if there is none for Spark."""
    kind = kind_of(guarantee) if hasattr(guarantee, "model") else ""
    if kind not in _HOMES or (kind == "km" and type(guarantee) is not KmAnonymity):
        raise InputError(f"{guarantee} cannot be reached on Spark; use the local engine")
    return import_module(f"{__name__}.{_HOMES[kind]}")


def propose(df: DataFrame, guarantee: Any, roles: FrameRoles, asked: Asked, options: Options) -> SparkProposal:
    """What the model of the guarantee proposes for a data frame."""
    home = home_of(guarantee)
    kind = kind_of(guarantee)
    name = asked["algorithm"]
    if kind != "km" or name is not None:  # which is the default under k^m depends on how many rows there are
        asked = {**asked, "algorithm": entry(kind, name)[0]}
    home.check(guarantee, asked)
    options.tell("reading", 0.0)
    rows, guarantee = home.read(df, guarantee, roles)
    try:
        check_filled(rows)
        proposal: SparkProposal = home.propose(rows, guarantee, asked, options)
    except BaseException:
        rows.forget()
        raise
    return proposal
