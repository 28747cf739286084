"""Transactions under k-anonymity: grouped block by block along the Gray order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from shoal.algorithms.recoding import Options
from shoal.errors import InputError, option
from shoal.models import basket_notes
from shoal.models.transactions import CENTRES, certified
from shoal.spark.proposing import SparkProposal, forgetting, refuse_empty

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from shoal.engines.spark.records import SparkRecords
    from shoal.engines.spark.sets import SparkSets


def proposal(df: DataFrame, guarantee: Any, asked: Mapping[str, Any], options: Options) -> SparkProposal:
    from shoal.engines.spark.publishing import named
    from shoal.engines.spark.records import SparkRecords, records_digest
    from shoal.engines.spark.roles import published_as
    from shoal.engines.spark.sets import digest
    from shoal.engines.spark.transactions import grouped

    if asked["keep"]:
        raise InputError(
            f"keep has no use with {option('model', 'k')}, whose rows are published as those of their class; leave it out"
        )
    roles = (asked["items"], asked["quasi"], asked["sensitive"], None)
    seen, guarantee = published_as(df, guarantee, *roles)
    sets = seen.sets if isinstance(seen, SparkRecords) else seen
    try:
        refuse_empty(len(sets))
        found = grouped(sets, guarantee, cast(str, asked["algorithm"]), options)
        options.tell("recoding", 0.0)
        apart = seen.template.sensitive_name if isinstance(seen, SparkRecords) else None
        hidden = sum(
            int(count) for name, count in zip(sets.vocabulary, sets.counts, strict=True) if name in guarantee.sensitive
        )
        total = max(1, sets.occurrences - hidden)
        loss = {
            "il": (found.added + found.removed) / total,
            "added": found.added / total,
            "removed": found.removed / total,
        }
        return SparkProposal(
            published=named(
                found.rows, sets.vocabulary, sets.column, None if apart is None else (apart, guarantee.sensitive)
            ),
            guarantee=guarantee,
            algorithm=cast(str, asked["algorithm"]),
            loss=loss,
            parameters={"seed": options.seed} if asked["algorithm"] == "split" else {},
            details={
                "items": len(sets.vocabulary),
                "empty": sets.empty,
                "duplicates": sets.duplicates,
                "classes": found.classes,
                "facts": {"blocks": found.blocks},
            },
            rows=len(sets),
            input_sha256=records_digest(seen) if isinstance(seen, SparkRecords) else digest(sets),
            read=lambda frame: published_as(frame, guarantee, sets.column, (), (apart,) if apart else (), None)[0],
            certified=lambda published: _certified(published, loss, guarantee),
            warnings=(CENTRES,),
            notes=basket_notes(cast(Any, sets), empty_stay=False),
            forget=forgetting(seen, found.rows),
        )
    except BaseException:
        seen.forget()
        raise


def _certified(published: SparkSets | SparkRecords, loss: Mapping[str, float], guarantee: Any) -> dict[str, Any]:
    sets = cast("SparkSets", getattr(published, "sets", published))
    counted = zip(sets.vocabulary, sets.counts.tolist(), strict=True)
    occurrences = sum(count for name, count in counted if name not in guarantee.sensitive)
    return certified(loss, occurrences, len(sets.vocabulary), guarantee.k)
