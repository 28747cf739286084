"""Buckets: rules from counts that the executors add up, and rows dealt out to parts that are bucketized by the local algorithm."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from shoal.algorithms import check_options, entry
from shoal.algorithms.recoding import Options, Progress
from shoal.certificate.disclosure import Figure, disclose
from shoal.errors import InputError
from shoal.guarantees.diversity import BUCKET, MatchingDiversity
from shoal.hierarchy.tree import Hierarchy
from shoal.models import buckets
from shoal.records.knowledge import Rules
from shoal.records.roles import Roles, texts_of
from shoal.spark.proposing import SparkProposal, check_specs, forgetting, options_of, refuse_empty

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from shoal.engines.spark.records import SparkRecords


def check(guarantee: Any, asked: Mapping[str, Any]) -> None:
    """Raises with the reason if buckets cannot be released on Spark as they were asked for."""
    buckets.check_makeable(guarantee)
    name, home = entry(guarantee.model, asked["algorithm"])
    check_options(guarantee.model, name, options_of(asked, guarantee.model))
    if guarantee.rules is not None and "knowledge" not in home.options:
        raise InputError(
            f"algorithm {name} knows no rules; leave them out of the guarantee, or use injector or balanced"
        )
    _check_roles(guarantee, asked)


def proposal(df: DataFrame, guarantee: MatchingDiversity, asked: Mapping[str, Any], options: Options) -> SparkProposal:
    from pyspark.sql import functions as sf

    from shoal.engines.spark.bucketing import TEXTS, bucketized
    from shoal.engines.spark.publishing import shuffled
    from shoal.engines.spark.records import records_digest
    from shoal.engines.spark.roles import published_as, single_valued

    name, home = entry(guarantee.model, cast(str, asked["algorithm"]))
    seen = single_valued(_read(df, asked, bucketed=False), guarantee)
    table = seen.template
    try:
        refuse_empty(len(seen))
        trees = buckets.hierarchies(table, asked["hierarchy"], asked["unknown"])
        knowledge = {option: asked[option] for option in buckets.KNOWLEDGE}
        if "min_exp" in home.options and guarantee.rules is None:
            options.tell("mining rules", 0.0)
            rules = _knowledge(seen, trees, options, missing=guarantee.missing, **knowledge)
            guarantee = replace(guarantee, rules=rules)
        found = bucketized(seen, guarantee, name, options)
        cells = {column.name: sf.col("values")[i] for i, column in enumerate(table.columns)}
        cells |= {column: sf.col("kept")[i] for i, column in enumerate(seen.kept)}
        columns = [sf.nullif(cells[column], sf.lit("")).alias(column) for column in df.columns if column in cells]
        quasi, sensitive = (tuple(column.name for column in table.of_role(role)) for role in ("quasi", "sensitive"))
        by_role = {column.name: column.role for column in table.columns} | dict.fromkeys(seen.kept, "keep")
        details = {
            "columns": by_role,
            "buckets": found.figures,
            "knowledge": None if guarantee.rules is None else guarantee.rules.to_dict(),
        }
        return SparkProposal(
            published=shuffled(found.rows, TEXTS).select(*columns, sf.col("bucket").alias(BUCKET)),
            guarantee=guarantee,
            algorithm=name,
            loss={"ambiguity": found.ambiguity},
            parameters={
                option: value for option, value in buckets.effective(knowledge).items() if option in home.options
            }
            | {"seed": options.seed, "unknown": asked["unknown"]},
            details=details
            | {"facts": found.facts, "hierarchy": {column: tree.source for column, tree in trees.items()}},
            rows=len(seen),
            input_sha256=records_digest(seen),
            read=lambda frame: published_as(frame, guarantee, None, quasi, sensitive, None, seen.kept)[0],
            certified=lambda published: {
                **disclose(guarantee.l, loss={"ambiguity": Figure(found.ambiguity)}),
                "columns": by_role,
                "buckets": found.figures,
            },
            warnings=(buckets.DEALT,),
            notes=seen.notes + found.notes,
            forget=forgetting(seen, found.stored),
        )
    except BaseException:
        seen.forget()
        raise


def rules(
    df: DataFrame,
    *,
    quasi: str | Sequence[str],
    sensitive: str,
    hierarchy: Mapping[str, Any] | None = None,
    unknown: str | None = None,
    numeric: str | Sequence[str] | None = None,
    min_exp: float | None = None,
    min_conf: float | None = None,
    max_length: int | None = None,
    fuzzy: Mapping[str, float] | None = None,
    knowledge: str | os.PathLike[str] | None = None,
    redundant: bool = False,
    progress: Progress | None = None,
) -> Rules:
    """What an attacker could know from the data itself, as `shoal rules` has it. Columns that are not named are not looked at."""
    asked = {
        "items": None,
        "hierarchy": hierarchy,
        "quasi": texts_of(quasi),
        "sensitive": texts_of(sensitive),
        "keep": (),
        "numeric": None if numeric is None else texts_of(numeric),
    }
    _check_roles(MatchingDiversity(2), asked)
    seen = _read(df, asked, bucketed=True)
    try:
        refuse_empty(len(seen))
        trees = buckets.hierarchies(seen.template, hierarchy, unknown)
        how = {"min_exp": min_exp, "min_conf": min_conf, "max_length": max_length, "fuzzy": fuzzy}
        return _knowledge(seen, trees, Options(progress=progress), knowledge=knowledge, redundant=redundant, **how)
    finally:
        seen.forget()


def _knowledge(seen: SparkRecords, trees: Mapping[str, Hierarchy], options: Options, **how: Any) -> Rules:
    """The rules of `shoal.models.buckets.knowledge`, mined and counted by the executors."""
    from shoal.engines.spark.rules import counted, negative_rules

    return buckets.knowledge(
        seen.template,
        trees,
        options=options,
        mine=lambda _, trees, **asked: negative_rules(seen, trees, **asked),
        count=lambda added: counted(seen, added),
        **how,
    )


def _check_roles(guarantee: Any, asked: Mapping[str, Any]) -> None:
    """Raises for roles and hierarchies that buckets on Spark have no use for."""
    if asked["items"] is not None:
        raise InputError(f"{guarantee} is about one sensitive value per row; leave out items")
    if not asked["quasi"]:
        raise InputError("no column is named as quasi-identifier; name what an attacker may know (quasi=COLUMNS)")
    if len(asked["sensitive"]) != 1:
        raise InputError(f"{guarantee} is about one sensitive column; name it (sensitive=COLUMN)")
    check_specs(asked["hierarchy"])


def _read(df: DataFrame, asked: Mapping[str, Any], *, bucketed: bool) -> SparkRecords:
    """The table with its one sensitive column. Unless it may be one, it must not be a release already, and every column has a role."""
    from shoal.engines.spark.records import coded
    from shoal.engines.spark.sets import check_session
    from shoal.records.columns import named_columns

    check_session(df)
    roles = {role: tuple(named_columns(asked[role], df.columns)) for role in ("quasi", "sensitive", "keep")}
    if not bucketed:
        drop = tuple(named_columns(asked["drop"], df.columns))
        Roles(**roles, drop=drop).of(df.columns, "the data frame")
        if BUCKET in df.columns and BUCKET not in drop:
            raise InputError(
                f"the data frame: a release gets a column {BUCKET!r}, and there is one already; rename or drop it"
            )
    if len(roles["sensitive"]) != 1:
        raise InputError(
            f"{len(roles['sensitive'])} columns are sensitive ({', '.join(roles['sensitive'])}), and buckets protect one at a time; "
            "name one of them"
        )
    return coded(df, quasi=roles["quasi"], sensitive=roles["sensitive"], keep=roles["keep"], numeric=asked["numeric"])
