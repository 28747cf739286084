"""Sets under k^m-anonymity: the cut, the loss and the verdict of the local engine, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from shoal.algorithms.recoding import Options
from shoal.engines import km as km_engine
from shoal.guarantees.km import KmAnonymity
from shoal.models import basket_notes
from shoal.price.ncp import leaf_occurrences, ncp
from shoal.spark.proposing import SparkProposal, refuse_empty

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from shoal.engines.spark.sets import SparkSets


def proposal(df: DataFrame, guarantee: KmAnonymity, asked: Mapping[str, Any], options: Options) -> SparkProposal:
    from shoal.engines.spark import SparkEngine
    from shoal.engines.spark.roles import published_as
    from shoal.engines.spark.sets import digest
    from shoal.models import km

    engine = SparkEngine()
    seen, _ = published_as(df, guarantee, asked["items"], asked["quasi"], asked["sensitive"], None, asked["keep"])
    sets = cast("SparkSets", seen)
    try:
        refuse_empty(len(sets))
        spec = km.HIERARCHY if asked["hierarchy"] is None else asked["hierarchy"]
        alike = cast(Any, sets)  # these ask for names and counts only
        tree = km.resolve_hierarchy(spec, alike, unknown=asked["unknown"])
        found = km_engine.recoding(engine, sets, guarantee, tree, cast(str, asked["algorithm"]), options)
        options.tell("recoding", 0.0)
        loss = ncp(found.cut, leaf_occurrences(tree, alike))
        levels = km.levels_of(found, alike)
        total = max(1, sum(level.occurrences for level in levels))
        suppressed = {
            "share": loss["deleted"],
            "occurrences": round(loss["deleted"] * total),
            "categories": len(found.cut.dropped),
        }
        return SparkProposal(
            published=engine.recoded(sets, found, options),
            guarantee=guarantee,
            algorithm=found.algorithm,
            loss=loss,
            parameters={
                "suppress": options.suppress,
                "time_limit": options.time_limit,
                "unknown": asked["unknown"],
            },
            details={
                "items": len(sets.vocabulary),
                "empty": sets.empty,
                "duplicates": sets.duplicates,
                "suppressed": suppressed,
                "levels": [
                    {"levels_up": level.up, "items": level.items, "occurrences": level.occurrences}
                    | {"share": level.occurrences / total}
                    for level in levels
                ],
            },
            rows=len(sets),
            input_sha256=digest(sets),
            read=engine.sets,
            recoding=found,
            optimal=found.optimal,
            bound=found.bound,
            certified=lambda published: km.certified(
                found.cut.hierarchy,
                cast("SparkSets", published).vocabulary,
                cast("SparkSets", published).counts,
                guarantee.k,
                deleted=loss["deleted"] if options.suppress else None,
                unknown=asked["unknown"],
            ),
            warnings=tuple(km.warnings_of(found, options.suppress)),
            notes=basket_notes(alike, empty_stay=True) + found.notes,
            forget=sets.forget,
        )
    except BaseException:
        sets.forget()
        raise
