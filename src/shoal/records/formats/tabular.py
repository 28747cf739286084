"""Rows that any library of data frames takes over: Baskets, Records and releases speak Arrow.

polars.DataFrame(release)        duckdb.sql("select * from baskets")        release.to_pandas()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

    from shoal.records.formats.frames import Frame


class Tabular:
    """Rows with columns of texts or numbers, and lists of texts for the sets."""

    def arrow_parts(self) -> tuple[Any, tuple[tuple[str, str], ...], str]:
        """What `Frame` is made from: the rows, the types that columns came in, and the name of sets that stand alone."""
        return self, (), "items"

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The rows as an Arrow stream, for whatever library asks for one."""
        return self._frame().reader().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table: texts or numbers, and lists of texts for the sets."""
        return self._frame().reader().read_all()

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars frame."""
        from shoal.records.formats.frames import frame_library

        frame: polars.DataFrame = frame_library("polars").DataFrame(self.to_arrow())
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame, the sets as arrays of texts. Whole numbers stay whole where some are missing."""
        return self._frame().pandas()

    def _frame(self) -> Frame:
        from shoal.records.formats.frames import Frame

        return Frame(*self.arrow_parts())
