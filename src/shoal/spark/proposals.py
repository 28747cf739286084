"""What each model proposes to publish on Spark, and what there is to say about it: for Spark what `shoal.models` is here.

`shoal.spark` is the same for all of them: propose, shuffle, audit, write. Nothing in a proposal is believed before the audit has seen what
would be published.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from shoal.algorithms import check_options, entry, kind_of
from shoal.algorithms.recoding import Options, Recoding
from shoal.algorithms.rt.recoding import RTOptions
from shoal.engines import km as km_engine
from shoal.errors import InputError
from shoal.guarantees.km import KmAnonymity
from shoal.loss.ncp import leaf_occurrences, ncp
from shoal.models import basket_notes, tables
from shoal.report.certificate import hierarchy_facts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from shoal.engines.spark.records import SparkRecords
    from shoal.engines.spark.sets import SparkSets

_BUCKETS = (
    "{} cannot be reached on Spark: the rows that no bucket takes in the end may need partners from anywhere, so that buckets are "
    "formed in one place; use the local engine (a release of buckets can be audited on Spark)"
)


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
    certified: Mapping[str, Any] = field(default_factory=dict)
    """For the certificate: counts and shares, never a rare name."""
    warnings: tuple[str, ...] = ()
    """For readers of the certificate."""
    notes: tuple[str, ...] = ()
    """For the owner."""
    forget: Callable[[], object] = lambda: None
    """Lets the executors drop what the published rows are computed from."""


def check_reachable(guarantee: Any, asked: Mapping[str, Any]) -> None:
    """Raises with the reason if the guarantee or an option is not for Spark. Nothing has been read by then."""
    kind = kind_of(guarantee) if hasattr(guarantee, "model") else ""
    if type(guarantee) is KmAnonymity:
        km_engine.check_algorithm(asked["algorithm"], _options_of(asked, "km"))
    elif kind == "k":
        from shoal.engines.spark.transactions import check_algorithm

        check_algorithm(asked["algorithm"], guarantee, _options_of(asked, "k"))
    elif kind in ("table", "rt", "lm"):
        _check_tables(guarantee, asked)
    elif kind == "diversity":
        raise InputError(_BUCKETS.format(guarantee))
    else:
        raise InputError(f"{guarantee} cannot be reached on Spark; use the local engine")
    if asked["suppress"] is not None and not 0 <= asked["suppress"] <= 1:
        raise InputError(f"suppress is {asked['suppress']}; give a share from 0 to 1, such as 0.02")
    if asked["time_limit"] is not None and not asked["time_limit"] > 0:
        raise InputError(f"the time limit is {asked['time_limit']}; give seconds, more than 0")


def proposal(df: DataFrame, guarantee: Any, asked: Mapping[str, Any], options: Options) -> SparkProposal:
    """What the model of the guarantee proposes for a data frame."""
    make = {"km": _km, "k": _transactions}.get(kind_of(guarantee), _tables)
    return make(df, guarantee, asked, options)


def informed(guarantee: Any, seen: SparkSets | SparkRecords, knowledge: Any, hierarchy: Any) -> Any:
    """The guarantee against an attacker who knows the rules of a file, or, for k^m, the tree that published tokens are nodes of."""
    from shoal.engines.spark.records import SparkRecords

    if knowledge is None and hierarchy is None:
        return guarantee
    if guarantee.model == "km" and knowledge is None:
        from shoal.models import km

        return km.informed(guarantee, hierarchy)
    if guarantee.model != "diversity" or not isinstance(seen, SparkRecords):
        given = "knowledge" if knowledge is not None else "hierarchy"
        raise InputError(f"{given} has no use for {guarantee}; leave it out")
    if knowledge is None:
        raise InputError("a hierarchy is for the rules of knowledge; give them, or leave it out")
    from shoal.models import buckets

    return buckets.informed(guarantee, seen.template, knowledge, hierarchy)


def _options_of(asked: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """What was asked for that some algorithm of the model may have a use for."""
    unused = {"k": ("hierarchy", "unknown")}.get(kind, ())
    return {name: asked[name] for name in ("suppress", "time_limit", "seed", *tables.RT, *unused)}


def _check_tables(guarantee: Any, asked: Mapping[str, Any]) -> None:
    kind = kind_of(guarantee)
    name, _ = entry(kind, asked["algorithm"])
    if name == "tfirst":
        raise InputError(
            "algorithm tfirst does not run on Spark: it groups all rows by their items first, wherever their values are; use rfirst, "
            "rmerge or tmerge, or the local engine"
        )
    check_options(kind, name, _options_of(asked, kind))
    if not asked["quasi"]:
        raise InputError("no column is named as quasi-identifier; name what an attacker may know (quasi=COLUMNS)")
    given = asked["hierarchy"]
    for spec in given.values() if isinstance(given, Mapping) else [given]:
        if isinstance(spec, str) and spec.startswith(("frequency:", "learned")):
            raise InputError(
                f"hierarchy {spec} cannot be made on Spark for a table: it needs more of the data than names; write it to a file first"
            )
    if kind == "lm" and not asked["sensitive"]:
        raise InputError(f"{guarantee} needs sensitive items; name them, or their column (sensitive=...)")
    if kind == "table" and guarantee.l > 1 and not asked["sensitive"]:
        raise InputError(f"l = {guarantee.l}, but no column is named as sensitive; name it (sensitive=COLUMN)")


def _km(df: DataFrame, guarantee: KmAnonymity, asked: Mapping[str, Any], options: Options) -> SparkProposal:
    from shoal.engines.spark import SparkEngine
    from shoal.engines.spark.roles import published_as
    from shoal.engines.spark.sets import digest
    from shoal.models import km

    engine = SparkEngine()
    seen, _ = published_as(df, guarantee, asked["items"], asked["quasi"], asked["sensitive"], None, asked["keep"])
    sets = cast("SparkSets", seen)
    try:
        _refuse_empty(len(sets))
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
            certified={"suppressed": suppressed, "hierarchy": hierarchy_facts(found.cut.hierarchy)},
            warnings=tuple(km.warnings_of(found, suppressed)),
            notes=basket_notes(alike, empty_stay=True) + found.notes,
            forget=sets.forget,
        )
    except BaseException:
        sets.forget()
        raise


def _transactions(df: DataFrame, guarantee: Any, asked: Mapping[str, Any], options: Options) -> SparkProposal:
    from shoal.engines.spark.publishing import named
    from shoal.engines.spark.records import SparkRecords, records_digest
    from shoal.engines.spark.roles import published_as
    from shoal.engines.spark.sets import digest
    from shoal.engines.spark.transactions import grouped

    if asked["keep"]:
        raise InputError(
            "keep has no use with --model k, whose rows are published as those of their class; leave it out"
        )
    roles = (asked["items"], asked["quasi"], asked["sensitive"], None)
    seen, guarantee = published_as(df, guarantee, *roles)
    sets = seen.sets if isinstance(seen, SparkRecords) else seen
    try:
        _refuse_empty(len(sets))
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
            certified={"classes": found.classes},
            warnings=(
                f"Items were added ({loss['added']:.2%} of the original occurrences) and removed ({loss['removed']:.2%}): a published "
                "row is the centre of a class, not what one person had.",
            ),
            notes=basket_notes(cast(Any, sets), empty_stay=False),
            forget=_forgetting(seen, found.rows),
        )
    except BaseException:
        seen.forget()
        raise


def _tables(df: DataFrame, guarantee: Any, asked: Mapping[str, Any], options: Options) -> SparkProposal:
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
        _refuse_empty(len(seen))
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
        kept_as_it_is = tuple(
            f"Column {column!r} is published as it is: whoever knows it of a person may use it." for column in seen.kept
        )
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
            certified={
                "columns": by_role,
                "classes": found.classes,
                "ncp_by_column": found.ncp_by_column,
                "hierarchy": {
                    column: None if tree is None else hierarchy_facts(tree) for column, tree in trees.items()
                },
            },
            warnings=kept_as_it_is,
            notes=(basket_notes(alike, empty_stay=True) if table.items is not None else ()) + kept_as_it_is,
            forget=_forgetting(seen, found.rows),
        )
    except BaseException:
        seen.forget()
        raise


def _forgetting(seen: SparkSets | SparkRecords, rows: DataFrame) -> Callable[[], None]:
    def forget() -> None:
        seen.forget()
        rows.unpersist()

    return forget


def _refuse_empty(rows: int) -> None:
    if not rows:
        raise InputError("the data frame has no rows; there is nothing to publish")
