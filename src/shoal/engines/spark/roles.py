"""What each guarantee reads of a data frame: which columns, in which roles. The same rules as for tables that are read here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.engines.spark.encoding import encoded
from shoal.engines.spark.records import SparkRecords, coded
from shoal.engines.spark.sets import SparkSets, check_session, items_column
from shoal.errors import VALUES, InputError
from shoal.guarantees.diversity import BUCKET
from shoal.guarantees.k import KAnonymity
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.missing import check_named
from shoal.records.columns import comma_parts, named_columns
from shoal.records.roles import Roles
from shoal.records.set_cells import check_single_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def published_as(
    df: DataFrame,
    guarantee: Any,
    items: str | None,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    numeric: Sequence[str] | None,
    keep: Sequence[str] = (),
) -> tuple[SparkSets | SparkRecords, Any]:
    """The data frame as the guarantee sees it, and the guarantee with the sensitive items that a column names."""
    check_session(df)
    quasi, keep = (named_columns(tuple(names), df.columns) for names in (quasi, keep))
    kind = getattr(guarantee, "family", guarantee.model)
    if isinstance(guarantee, KmAnonymity | KAnonymity):
        if quasi:
            raise InputError(f"quasi has no use with {guarantee}, which is about sets; leave it out")
        if isinstance(guarantee, KmAnonymity) and sensitive:
            raise InputError(f"sensitive has no use with {guarantee}; leave it out")
        return _sets(df, guarantee, items, sensitive, keep)
    if not quasi:
        raise InputError("no column is named as quasi-identifier; name what an attacker may know (quasi=COLUMNS)")
    if kind == "table":
        sensitive = named_columns(tuple(sensitive), df.columns)
        if items is not None:
            raise InputError(f"{guarantee} is about tables without items; leave out items, or ask for RTAnonymity")
        found = coded(df, quasi=quasi, sensitive=sensitive, numeric=numeric, keep=keep)
        return found if guarantee.l == 1 else single_valued(found, guarantee), guarantee
    if kind == "diversity":
        found = _buckets(df, guarantee, items, quasi, sensitive, numeric, keep)
        return single_valued(found, guarantee), guarantee
    hidden, marked = _hidden(df, sensitive)
    column = items_column(df, items, hidden)
    return coded(
        df, quasi=quasi, items=column, sensitive_sets=hidden, marked=marked, numeric=numeric, keep=keep
    ), guarantee


def single_valued(records: SparkRecords, guarantee: Any) -> SparkRecords:
    """The same; raises if cells of a sensitive column hold sets, or if a column without sensitive values is said to have missing ones."""
    try:
        check_named(guarantee.missing, [column.name for column in records.template.of_role("sensitive")])
        check_single_values(records.template, "the data frame")
    except InputError:
        records.forget()
        raise
    return records


def check_roles(
    df: DataFrame,
    guarantee: Any,
    items: str | None,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    keep: Sequence[str],
    drop: Sequence[str],
) -> None:
    """Raises unless every column of a table has exactly one role: what nobody decided about is not published."""
    check_session(df)
    with_items = getattr(guarantee, "family", guarantee.model) != "table"
    hidden = _hidden(df, sensitive)[0] if with_items else None
    Roles(
        quasi=tuple(quasi),
        items=(items_column(df, items, hidden),) if with_items else (),
        sensitive=() if with_items else tuple(sensitive),
        sensitive_sets=() if hidden is None else (hidden,),
        keep=tuple(keep),
        drop=tuple(drop),
    ).of(df.columns, "the data frame")


def _sets(
    df: DataFrame, guarantee: Any, items: str | None, sensitive: Sequence[str], keep: Sequence[str]
) -> tuple[SparkSets | SparkRecords, Any]:
    hidden, marked = _hidden(df, sensitive)
    if hidden is None and not keep:
        sets = encoded(df, items)
        if isinstance(guarantee, KAnonymity):
            known = set(sets.vocabulary)
            names = [name for text in marked for name in ([text] if text in known else comma_parts(text))]
            guarantee = replace(guarantee, sensitive=frozenset(guarantee.sensitive) | frozenset(names))
            unknown = sorted(guarantee.sensitive - known)
            if unknown:
                sets.forget()
                raise InputError(
                    f"{len(unknown):,} of the sensitive items that are named do not occur in the data{VALUES}; correct the names, or "
                    "leave out what is not there",
                    values=unknown,
                )
        return sets, guarantee
    records = coded(df, items=items_column(df, items, hidden), sensitive_sets=hidden, keep=keep)
    return records, replace(guarantee, sensitive=records.template.sensitive_items)


def _hidden(df: DataFrame, sensitive: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    """(the column of sensitive items, the sensitive items by name): what is named is either."""
    if len(sensitive) == 1 and sensitive[0] in df.columns:
        return sensitive[0], ()
    return None, tuple(sensitive)


def _buckets(
    df: DataFrame,
    guarantee: Any,
    items: str | None,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    numeric: Sequence[str] | None,
    keep: Sequence[str],
) -> SparkRecords:
    if items is not None:
        raise InputError(f"{guarantee} is about one sensitive value per row; leave out items")
    if len(sensitive) != 1:
        raise InputError(f"{guarantee} is about one sensitive column; name it (sensitive=COLUMN)")
    if BUCKET not in df.columns:
        raise InputError(
            f"there is no column {BUCKET!r} that says which rows share their sensitive values; is this a release?"
        )
    return coded(df, quasi=quasi, sensitive=sensitive, keep=(BUCKET, *keep), numeric=numeric)
