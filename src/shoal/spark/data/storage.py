"""Where data on Spark lie: Parquet (a file, a folder, hdfs://, s3a://) or `table:NAME`; other formats are for the local engine.

A release is put into a new folder or table. It is written under another name, read again, counted and audited there, and gets its own
name only if it holds exactly the rows that passed. Moving a folder is one step on file systems that know folders, and a copy on stores of
objects. A table is created under its own name, because not every catalog can rename one, and dropped again if it does not pass.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError
from shoal.records.formats.folders import Entry, data_files, entries_of
from shoal.records.storage.journal import settle
from shoal.spark.data.executors import worker_faults
from shoal.spark.data.spark_session import is_here

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE = "table:"
_FAILED = re.compile(r"\[FAILED_READ_FILE[^\]]*\].*?reading file \S*?([^/\s]+)\.\s")


def place_of(path: str, master: str) -> str:
    """A path as Spark finds it. On this machine that is one of this folder, wherever Spark was started; on a cluster Spark knows best."""
    if not is_here(master) or path.startswith(TABLE) or "://" in path:
        return path
    return os.path.abspath(path)


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
    except Exception as error:  # the same fault comes in several classes, of Spark and of its bridge to Java
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


class Files:
    """The file systems that a session reaches."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        # Hadoop's own interface, which every Spark has: pyspark offers none of its own.
        self._virtual_machine: Any = session.sparkContext._jvm
        self._settings: Any = session.sparkContext._jsc.hadoopConfiguration()

    def check_free(self, path: str) -> None:
        """Raises if there is something already: a release never overwrites."""
        system, at = self._at(path)
        if system.exists(at):
            raise InputError(f"{path}: it is there already; write to another place, or remove it first")

    def is_there(self, place: str) -> bool:
        """Whether there is anything at a path, or a table of this name (`table:NAME`)."""
        if place.startswith(TABLE):
            return bool(self.session.catalog.tableExists(place.removeprefix(TABLE)))
        system, at = self._at(place)
        return bool(system.exists(at))

    def read(self, path: str) -> bytes:
        """All of a small file, such as the certificate."""
        system, at = self._at(path)
        if not system.exists(at):
            raise InputError(f"{at.getName()}: there is no such file; check the path {path!r}")
        stream = system.open(at)
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def entries(self, path: str) -> tuple[Entry, ...] | None:
        """Everything in a folder; None for a file. Raises if there is neither."""
        system, at = self._at(path)
        if not system.exists(at):
            raise InputError(f"{at.getName()}: there is no such file or folder; check the path {path!r}")
        if not system.getFileStatus(at).isDirectory():
            return None
        if (folder := self.local(path)) is not None:  # Hadoop would not tell links and checksum files
            return entries_of(folder)
        return tuple(
            Entry(status.getPath().getName(), "folder" if status.isDirectory() else "file", status.getLen())
            for status in system.listStatus(at)
        )

    def local(self, path: str) -> str | None:
        """A path as this machine has it; None on other file systems."""
        system, at = self._at(path)
        return str(system.makeQualified(at).toUri().getPath()) if system.getUri().getScheme() == "file" else None

    def parquet_columns(self, path: str) -> tuple[str, ...]:
        """The columns that the Parquet file at a path, or every one of those in the folder there, says it holds.

        One that holds several values at once (a structure) stands as often as it has parts. Spark itself believes a note in the file
        instead, which may leave columns and parts out.
        """
        entries = self.entries(path)
        files = (
            [path] if entries is None else [f"{path.rstrip('/')}/{name}" for name in data_files(entries, _name(path))]
        )
        columns: dict[tuple[str, ...], str] = {}
        for file in files:
            columns.setdefault(self._columns(file), _name(file))
        if len(columns) > 1:
            (some, first), (others, second) = list(columns.items())[:2]
            raise InputError(
                f"{_name(path)}: {second} has other columns ({', '.join(others)}) than {first} ({', '.join(some)}); "
                "give files of one table"
            )
        return next(iter(columns))

    def _columns(self, file: str) -> tuple[str, ...]:
        parquet = self._virtual_machine.org.apache.parquet.hadoop
        try:
            reader = parquet.ParquetFileReader.open(
                parquet.util.HadoopInputFile.fromPath(self._at(file)[1], self._settings)
            )
        except Exception:  # of the bridge to Java
            raise InputError(f"{_name(file)}: it is not readable as Parquet; write it again") from None
        try:
            paths = reader.getFooter().getFileMetaData().getSchema().getPaths()
            return tuple(paths.get(i)[0] for i in range(paths.size()))
        finally:
            reader.close()

    def save(self, path: str, content: bytes) -> None:
        """A small new file, such as the certificate."""
        system, at = self._at(path)
        stream = system.create(at, False)
        try:
            stream.write(bytearray(content))
        finally:
            stream.close()

    def move(self, path: str, to: str) -> None:
        system, at = self._at(path)
        if not system.rename(at, self._at(to)[1]):
            raise InputError(f"{to}: it cannot be put there; check that its folder is there and may be written")

    def remove(self, path: str) -> None:
        """Whatever is at the path, if anything."""
        system, at = self._at(path)
        system.delete(at, True)

    def _at(self, path: str) -> tuple[Any, Any]:
        place = self._virtual_machine.org.apache.hadoop.fs.Path(path)
        return place.getFileSystem(self._settings), place


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


class Folder:
    """A new folder of Parquet files."""

    form = "parquet"

    def __init__(self, session: SparkSession, path: str | os.PathLike[str]) -> None:
        self.session, self.files = session, Files(session)
        self.path = os.fspath(path).rstrip("/")
        self.name = _name(self.path)
        if not self.name:
            raise InputError(f"{os.fspath(path)!r} is no folder that a release can be written to; name a new one")
        self._staged = f"{self.path}-{secrets.token_hex(8)}-not-audited"

    def check_free(self) -> None:
        self.files.check_free(self.path)

    @contextmanager
    def staging(self, frame: DataFrame, staged: str | None = None) -> Iterator[DataFrame]:
        """The frame, written under another name and read again. What has not been put in place by the end is removed."""
        self._staged = staged or self._staged
        try:
            with worker_faults():
                frame.write.parquet(self._staged)
            yield self.session.read.parquet(self._staged)
        except BaseException:
            self.files.remove(self._staged)
            raise

    def put_in_place(self) -> None:
        self.files.move(self._staged, self.path)


class Table:
    """A new table of the session's catalog."""

    form = "table"

    def __init__(self, session: SparkSession, name: str) -> None:
        self.session, self.name, self._stays = session, name, False

    def check_free(self) -> None:
        if self.session.catalog.tableExists(self.name):
            raise InputError(f"table {self.name}: it is there already; write to another one, or drop it first")

    @contextmanager
    def staging(self, frame: DataFrame) -> Iterator[DataFrame]:
        """The frame, saved as the table and read again. It is dropped unless it was put in place by the end."""
        try:
            with worker_faults():
                frame.write.saveAsTable(self.name)
            yield self.session.table(self.name)
        finally:
            if not self._stays:
                self.session.sql(f"DROP TABLE IF EXISTS {self.name}")

    def put_in_place(self) -> None:
        self._stays = True
