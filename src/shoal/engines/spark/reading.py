"""Data that Spark can reach: Parquet files and folders, and tables. For `--engine spark`; other formats are for the local engine."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError
from shoal.records.storage.journal import settle

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE = "table:"
_FAILED = re.compile(r"\[FAILED_READ_FILE[^\]]*\].*?reading file \S*?([^/\s]+)\.\s")


def frame_of(session: SparkSession, place: str | os.PathLike[str]) -> DataFrame:
    """The data frame at a path of Spark's (a file, a folder, hdfs://, s3a://) in Parquet, or `table:NAME` of the catalog."""
    from pyspark.errors import PySparkException

    where = os.fspath(place)
    settle(where)
    try:
        if where.startswith(TABLE):
            return session.table(where.removeprefix(TABLE))
        frame = session.read.parquet(where)
        _refuse_code(frame, where)
        return frame
    except PySparkException as error:
        reason = error.getCondition() or type(error).__name__  # what it says may quote what it read
        raise InputError(
            f"{where}: Spark cannot read it ({reason}); give Parquet (a file, a folder, hdfs://...) or table:NAME"
        ) from None


@contextmanager
def unreadable_files() -> Iterator[None]:
    """Tells a file that the workers cannot read from everything else that can go wrong there."""
    try:
        yield
    except (
        Exception
    ) as error:  # by what it says: the same fault comes in several classes, of Spark and of its bridge to Java
        file = _FAILED.search(str(error))
        if file is None:
            raise
        raise InputError(f"{file[1]}: it is not readable as Parquet; write it again") from None


def _refuse_code(frame: DataFrame, where: str) -> None:
    """Raises for types that bring their own code: a file may name any, and pyspark imports (in older versions, unpickles) what it names."""
    if _has_code(json.loads(frame._jdf.schema().json())):
        raise InputError(f"{where}: it has a column of a type with code of its own (udt); write it with plain types")


def _has_code(kind: Any) -> bool:
    if isinstance(kind, dict):
        return kind.get("type") == "udt" or any(map(_has_code, kind.values()))
    return isinstance(kind, list) and any(map(_has_code, kind))
