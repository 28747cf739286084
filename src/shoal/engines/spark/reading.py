"""Data that Spark can reach: Parquet files and folders, and tables. For `--engine spark`; other formats are for the local engine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from shoal.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE = "table:"


def frame_of(session: SparkSession, place: str | os.PathLike[str]) -> DataFrame:
    """The data frame at a path of Spark's (a file, a folder, hdfs://, s3a://) in Parquet, or `table:NAME` of the catalog."""
    from pyspark.errors import PySparkException

    where = os.fspath(place)
    try:
        if where.startswith(TABLE):
            return session.table(where.removeprefix(TABLE))
        return session.read.parquet(where)
    except PySparkException as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(
            f"{where}: Spark cannot read it ({reason}); give Parquet (a file, a folder, hdfs://...) or table:NAME"
        ) from error
