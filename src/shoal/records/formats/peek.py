"""A look at the columns of data, before it is read in full."""

from __future__ import annotations

import os
from typing import Any

from shoal.records.database.address import is_address
from shoal.records.layout import format_of
from shoal.records.storage.streams import Input, display_name


def column_names(source: Any, format: str | None = None) -> list[str]:
    """The names of the columns of a file, of a table in a database or of a data frame.

    There are none for what has no columns, and for standard input, which is read once.
    """
    if not isinstance(source, str | os.PathLike):
        from shoal.records.formats.frames import object_table, pandas_values

        if not (hasattr(source, "columns") or hasattr(source, "schema")):
            return []
        table = object_table(source, source_name(source), pandas_values)
        return [] if table is None else list(table.columns)
    if is_address(source):
        from shoal.records.database.read import DatabaseInput

        with DatabaseInput(os.fspath(source)) as opened_table:
            return list(opened_table.table.columns)
    if os.fspath(source) == "-":
        return []
    form = format or format_of(os.fspath(source))[0]
    with Input(source) as opened:
        form = form or (opened.magic if opened.magic in ("parquet", "arrow") else None)
        if form in (None, "dat"):
            return []
        from shoal.records.record_reading import file_table
        from shoal.records.roles import Roles

        columns = file_table(opened, "csv" if form == "long" else form, Roles())[0].columns
        return columns if isinstance(columns, list) else list(columns)  # a first line stays one


def source_name(source: Any) -> str:
    """What messages call a source."""
    return display_name(source) if isinstance(source, str | os.PathLike) else f"the {type(source).__name__}"
