"""A look at the columns of data, before it is read in full."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.records.assemble import Table
from shoal.records.baskets import Baskets
from shoal.records.database.address import is_address
from shoal.records.database.lake import opened_table
from shoal.records.formats.frames import is_lazy, object_table
from shoal.records.formats.one_hot import ITEMS, OneHot
from shoal.records.formats.tabular import Tabular
from shoal.records.layout import format_of
from shoal.records.records import Records
from shoal.records.roles import Roles
from shoal.records.source import file_table
from shoal.records.storage.streams import Input, display_name, is_stream, stream_name


def column_names(source: Any, format: str | None = None) -> list[str]:
    """The names of the columns of a file, of a table in a database or of a data frame.

    There are none for what has no columns, and for standard input, which is read once.
    """
    if isinstance(source, OneHot):
        columns = column_names(source.data, format)
        return [*source.split(columns, source_name(source))[0], ITEMS] if columns else []
    if not isinstance(source, str | os.PathLike):
        if is_lazy(source):
            return list(source.collect_schema().names())
        if is_stream(source):
            return _names_in(source, format or format_of(stream_name(source))[0])
        if isinstance(source, Baskets | Records) or not (
            isinstance(source, Tabular | Mapping) or hasattr(source, "columns") or hasattr(source, "schema")
        ):
            return []
        table = object_table(source, source_name(source))
        return [] if table is None else list(table.columns)
    if is_address(source):
        with opened_table(os.fspath(source)) as database:
            return list(database.table.columns)
    if os.fspath(source) == "-":
        return []
    return _names_in(source, format or format_of(os.fspath(source))[0])


def _names_in(source: Any, form: str | None) -> list[str]:
    with Input(source) as opened:
        form = form or opened.form
        if form in (None, "dat"):
            return []
        columns = table_in(opened, form).columns
        return columns if isinstance(columns, list) else list(columns)  # a first line stays one


def table_in(opened: Input, form: str, columns: Sequence[str] = ()) -> Table:
    """The table in a file that has columns, which may be asked for these."""
    table = file_table(opened, "csv" if form == "long" else form, Roles(keep=tuple(columns)))
    assert isinstance(table, Table)
    return table


def source_name(source: Any) -> str:
    """What messages call a source."""
    if isinstance(source, OneHot):
        return source_name(source.data)
    if is_stream(source):
        return stream_name(source)
    return display_name(source) if isinstance(source, str | os.PathLike) else f"the {type(source).__name__}"
