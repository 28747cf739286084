"""What each model proposes to publish on Spark: for Spark what `shoal.models` is here.

`shoal.spark` is the same for all of them: propose, shuffle, audit, write. Nothing in a proposal is believed before the audit has seen what
would be published.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shoal.algorithms import kind_of
from shoal.algorithms.recoding import Options
from shoal.engines import km as km_engine
from shoal.errors import InputError
from shoal.guarantees.km import KmAnonymity
from shoal.spark import buckets, km, tables, transactions
from shoal.spark.proposing import SparkProposal, options_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check_reachable(guarantee: Any, asked: Mapping[str, Any]) -> None:
    """Raises with the reason if the guarantee or an option is not for Spark. Nothing has been read by then."""
    kind = kind_of(guarantee) if hasattr(guarantee, "model") else ""
    if type(guarantee) is KmAnonymity:
        km_engine.check_algorithm(asked["algorithm"], options_of(asked, "km"))
        for role in ("quasi", "sensitive", "keep"):
            if asked[role]:
                raise InputError(f"{role} has no use with {guarantee}, which is about sets alone; leave it out")
    elif kind == "k":
        from shoal.engines.spark.transactions import check_algorithm

        check_algorithm(asked["algorithm"], guarantee, options_of(asked, "k"))
    elif kind in ("table", "rt", "lm"):
        tables.check(guarantee, asked)
    elif kind == "diversity":
        buckets.check(guarantee, asked)
    else:
        raise InputError(f"{guarantee} cannot be reached on Spark; use the local engine")


def proposal(df: DataFrame, guarantee: Any, asked: Mapping[str, Any], options: Options) -> SparkProposal:
    """What the model of the guarantee proposes for a data frame."""
    propose = {"km": km.proposal, "k": transactions.proposal, "diversity": buckets.proposal}
    return propose.get(kind_of(guarantee), tables.proposal)(df, guarantee, asked, options)
