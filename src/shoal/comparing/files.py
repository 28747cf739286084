"""The files of a comparison: the table as CSV and Parquet, and the page."""

from __future__ import annotations

import io
from collections.abc import Sequence

from shoal.comparing.folder import TABLES, Folder
from shoal.comparing.page import page_of
from shoal.comparing.running import Found
from shoal.comparing.table import Row, csv_text, frame_of


def write_files(found: Found, rows: Sequence[Row]) -> None:
    """Writes them into the folder of the comparison, together, in place of those of an earlier run."""
    parquet = io.BytesIO()
    frame_of(rows).write_parquet(parquet)
    contents = (csv_text(rows).encode(), parquet.getvalue(), page_of(found, rows))
    Folder(found.folder).write_tables(dict(zip(TABLES, contents, strict=True)))
