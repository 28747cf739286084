"""Tables, alone or with sets: clustered in parts of like values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from shoal.algorithms import check_options, entry, kind_of
from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import RTOptions
from shoal.errors import InputError
from shoal.models import basket_notes, tables
from shoal.records.records import MISSING
from shoal.spark.proposing import SparkProposal, check_specs, forgetting, options_of, refuse_empty

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check(guarantee: Any, asked: Mapping[str, Any]) -> None:
    """Raises with the reason if the table cannot be released on Spark as it was asked."""
    kind = kind_of(guarantee)
    name, _ = entry(kind, asked["algorithm"])
    if name == "tfirst":
        raise InputError(
            "algorithm tfirst does not run on Spark: it groups all rows by their items first, wherever their values are; use rfirst, "
            "rmerge or tmerge, or the local engine"
        )
    check_options(kind, name, options_of(asked, kind))
    if not asked["quasi"]:
        raise InputError("no column is named as quasi-identifier; name what an attacker may know (quasi=COLUMNS)")
    check_specs(asked["hierarchy"])
    if kind == "lm" and not asked["sensitive"]:
        raise InputError(f"{guarantee} needs sensitive items; name them, or their column (sensitive=...)")
    if kind == "table" and guarantee.l > 1 and not asked["sensitive"]:
        raise InputError(f"l = {guarantee.l}, but no column is named as sensitive; name it (sensitive=COLUMN)")


def proposal(df: DataFrame, guarantee: Any, asked: Mapping[str, Any], options: Options) -> SparkProposal:
    from pyspark.sql import functions as sf

    from shoal.engines.spark.clusters import TEXTS, clustered
    from shoal.engines.spark.publishing import shuffled
    from shoal.engines.spark.records import SparkRecords, records_digest
    from shoal.engines.spark.roles import check_roles, published_as

    roles = (asked["items"], asked["quasi"], asked["sensitive"])
    check_roles(df, guarantee, *roles, asked["keep"], asked["drop"])
    seen, guarantee = published_as(df, guarantee, *roles, asked["numeric"], asked["keep"])
    assert isinstance(seen, SparkRecords)
    table = seen.template
    try:
        refuse_empty(len(seen))
        trees = tables.hierarchies(table, asked["hierarchy"], asked["unknown"], guarantee, options)
        rt = RTOptions(**{name: asked[name] for name in tables.RT if asked[name] is not None})
        name = cast(str, asked["algorithm"])
        found = clustered(seen, guarantee, trees, name, options, rt)
        options.tell("recoding", 0.0)
        cells = {column.name: sf.col("values")[i] for i, column in enumerate(table.columns)}
        cells |= {column: sf.col("kept")[i] for i, column in enumerate(seen.kept)}
        columns = [sf.nullif(cells[column], sf.lit("")).alias(column) for column in df.columns if column in cells]
        if table.items is not None:
            columns.append(sf.col("items").alias(table.items_name))
        if table.sensitive_name is not None:
            columns.append(sf.col("hidden").alias(table.sensitive_name))
        again = (
            None if table.items is None else table.items_name,
            tuple(column.name for column in table.of_role("quasi")),
            (table.sensitive_name,)
            if table.sensitive_name is not None
            else tuple(sorted(table.sensitive_items) or [column.name for column in table.of_role("sensitive")]),
            None,
            seen.kept,
        )
        used = entry(kind_of(guarantee), name)[1].options
        by_role = {column.name: column.role for column in table.columns} | dict.fromkeys(seen.kept, "keep")
        alike = cast(Any, seen.sets)
        # Where numbers are missing, no one sees how far they go; over published occurrences, nobody counts what items lose here.
        unclear = {column.name for column in table.columns if column.numbers is not None and MISSING in column.values}
        unclear |= {"items_ncp"} | ({"ul"} if rt.item_weights else set())
        kept_as_it_is = tuple(
            f"Column {column!r} is published as it is: whoever knows it of a person may use it." for column in seen.kept
        )
        warnings = (*kept_as_it_is, *tables.naming_warnings(trees))
        return SparkProposal(
            published=shuffled(found.rows, TEXTS).select(*columns),
            guarantee=guarantee,
            algorithm=name,
            loss=found.loss,
            parameters={option: asked[option] for option in used if option in tables.RT}
            | ({"delta": rt.bound} if "delta" in used else {})
            | ({"seed": options.seed} if "seed" in used else {})
            | {"unknown": asked["unknown"]},
            details={
                "columns": by_role,
                "classes": found.classes,
                "ncp_by_column": found.ncp_by_column,
                "facts": {"parts": found.parts},
                "hierarchy": {column: None if tree is None else tree.source for column, tree in trees.items()},
            }
            | (
                {}
                if table.items is None
                else {"items": len(seen.sets.vocabulary), "empty": seen.sets.empty, "duplicates": seen.sets.duplicates}
            ),
            rows=len(seen),
            input_sha256=records_digest(seen),
            read=lambda frame: published_as(frame, guarantee, *again)[0],
            certified=lambda published: (
                tables.certified(
                    found.loss,
                    found.ncp_by_column,
                    trees,
                    table.items_name,
                    guarantee.k,
                    unclear=unclear,
                    unknown=asked["unknown"],
                )
                | {"columns": by_role}
                | ({} if table.items is None else {"changes": {"tokens": len(cast(Any, published).sets.vocabulary)}})
            ),
            warnings=warnings,
            notes=seen.notes + (basket_notes(alike, empty_stay=True) if table.items is not None else ()) + warnings,
            forget=forgetting(seen, found.rows),
        )
    except BaseException:
        seen.forget()
        raise
