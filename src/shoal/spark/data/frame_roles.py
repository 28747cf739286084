"""What each guarantee reads of a data frame: which columns, in which roles. The same rules as for tables that are read here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.algorithms import kind_of
from shoal.errors import InputError
from shoal.guarantees.diversity import BUCKET
from shoal.guarantees.k import KAnonymity
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.values.missing import check_named
from shoal.records.roles import Roles, named_columns
from shoal.records.spelling.set_cells import check_single_values
from shoal.spark.data.frame_records import FrameRoles, SparkRecords, code_records
from shoal.spark.data.sets import SparkSets, check_known, check_session, encode_sets, item_names, items_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NO_QUASI = "no column is named as quasi-identifier; name what an attacker may know (quasi=COLUMNS)"


def read_frame(df: DataFrame, guarantee: Any, roles: FrameRoles) -> tuple[SparkSets | SparkRecords, Any]:
    """The data frame as the guarantee sees it, and the guarantee with the sensitive items that a column names."""
    check_session(df)
    quasi, keep = (tuple(named_columns(names, df.columns)) for names in (roles.quasi, roles.keep))
    roles = replace(roles, quasi=quasi, keep=keep)
    if isinstance(guarantee, KmAnonymity | KAnonymity):
        if quasi:
            raise InputError(f"quasi has no use with {guarantee}, which is about sets; leave it out")
        if isinstance(guarantee, KmAnonymity) and roles.sensitive:
            raise InputError(f"sensitive has no use with {guarantee}; leave it out")
        return _read_sets(df, guarantee, roles)
    if not quasi:
        raise InputError(NO_QUASI)
    kind = kind_of(guarantee)
    if kind == "table":
        roles = replace(roles, sensitive=tuple(named_columns(roles.sensitive, df.columns)))
        if roles.items is not None:
            raise InputError(f"{guarantee} is about tables without items; leave out items, or ask for RTAnonymity")
        records = code_records(df, roles)
        return records if guarantee.l == 1 else with_single_values(records, guarantee), guarantee
    if kind == "diversity":
        check_bucket_roles(guarantee, roles)
        if BUCKET not in df.columns:
            raise InputError(
                f"there is no column {BUCKET!r} that says which rows share their sensitive values; is this a release?"
            )
        return with_single_values(code_records(df, replace(roles, keep=(BUCKET, *keep))), guarantee), guarantee
    hidden, named = _sensitive_items(df, roles.sensitive)
    roles = replace(roles, items=items_column(df, roles.items, hidden), sensitive=())
    return code_records(df, roles, hidden, named), guarantee


def roles_as_read(rows: SparkSets | SparkRecords) -> FrameRoles:
    """The roles in which the same data frame, or what is published of it, is read again."""
    if isinstance(rows, SparkSets):
        return FrameRoles(rows.column)
    table = rows.template
    of_role = {role: tuple(column.name for column in table.of_role(role)) for role in ("quasi", "sensitive")}
    return FrameRoles(
        items=table.items_name if rows.has_sets else None,
        quasi=of_role["quasi"],
        sensitive=(table.sensitive_name,)
        if table.sensitive_name is not None
        else tuple(sorted(table.sensitive_items)) or of_role["sensitive"],
        keep=rows.kept,
    )


def with_single_values(records: SparkRecords, guarantee: Any) -> SparkRecords:
    """The same; raises if cells of a sensitive column hold sets, or if a column without sensitive values is said to have missing ones."""
    try:
        check_named(guarantee.missing, [column.name for column in records.template.of_role("sensitive")])
        check_single_values(records.template, "the data frame")
    except InputError:
        records.forget()
        raise
    return records


def check_roles(df: DataFrame, guarantee: Any, roles: FrameRoles) -> None:
    """Raises unless every column of a table has exactly one role: what nobody decided about is not published."""
    check_session(df)
    with_items = kind_of(guarantee) in ("rt", "lm")
    hidden = _sensitive_items(df, roles.sensitive)[0] if with_items else None
    Roles(
        quasi=roles.quasi,
        items=(items_column(df, roles.items, hidden),) if with_items else (),
        sensitive=() if with_items else roles.sensitive,
        sensitive_sets=() if hidden is None else (hidden,),
        keep=roles.keep,
        drop=roles.drop,
    ).of(df.columns, "the data frame")


def check_bucket_roles(guarantee: Any, roles: FrameRoles) -> None:
    """Raises for roles that buckets have no use for, or lack."""
    if roles.items is not None:
        raise InputError(f"{guarantee} is about one sensitive value per row; leave out items")
    if not roles.quasi:
        raise InputError(NO_QUASI)
    if len(roles.sensitive) != 1:
        raise InputError(f"{guarantee} is about one sensitive column; name it (sensitive=COLUMN)")


def _read_sets(df: DataFrame, guarantee: Any, roles: FrameRoles) -> tuple[SparkSets | SparkRecords, Any]:
    hidden, named = _sensitive_items(df, roles.sensitive)
    if hidden is not None or roles.keep:
        items = items_column(df, roles.items, hidden)
        records = code_records(df, FrameRoles(items, keep=roles.keep), hidden)
        return records, replace(guarantee, sensitive=records.template.sensitive_items)
    sets = encode_sets(df, roles.items, for_one_task=isinstance(guarantee, KmAnonymity))
    if isinstance(guarantee, KAnonymity):
        names = frozenset(item_names(named, sets.vocabulary))
        guarantee = replace(guarantee, sensitive=frozenset(guarantee.sensitive) | names)
        try:
            check_known(sorted(guarantee.sensitive), sets.vocabulary)
        except InputError:
            sets.forget()
            raise
    return sets, guarantee


def _sensitive_items(df: DataFrame, sensitive: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    """(the column of sensitive items, the sensitive items by name): what is named is either."""
    if len(sensitive) == 1 and sensitive[0] in df.columns:
        return sensitive[0], ()
    return None, tuple(sensitive)
