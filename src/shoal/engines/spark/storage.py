"""Where a release on Spark is put: a folder of Parquet files, or a table.

It is written under another name, read again, counted and audited there, and gets its own name only if it holds exactly the rows that
passed. Paths are Spark's (a folder, hdfs://, s3a://): moving a folder is one step on file systems that know folders, and
a copy on stores of objects. A table is created under its own name, because not every catalog can rename one, and dropped
again if it does not pass.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shoal.engines.spark.workers import worker_faults
from shoal.errors import InputError
from shoal.records.formats.folders import Entry, data_files, entries_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Files:
    """The file systems that a session reaches."""

    def __init__(self, session: SparkSession) -> None:
        # Hadoop's own interface, which every Spark has: pyspark offers none of its own.
        self._virtual_machine: Any = session.sparkContext._jvm
        self._settings: Any = session.sparkContext._jsc.hadoopConfiguration()

    def check_free(self, path: str) -> None:
        """Raises if there is something already: a release never overwrites."""
        system, at = self._at(path)
        if system.exists(at):
            raise InputError(f"{path}: it is there already; write to another place, or remove it first")

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
            Entry(told.getPath().getName(), "folder" if told.isDirectory() else "file", told.getLen())
            for told in system.listStatus(at)
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
        found: dict[tuple[str, ...], str] = {}
        for file in files:
            found.setdefault(self._columns(file), _name(file))
        if len(found) > 1:
            (some, first), (others, second) = list(found.items())[:2]
            raise InputError(
                f"{_name(path)}: {second} has other columns ({', '.join(others)}) than {first} ({', '.join(some)}); "
                "give files of one table"
            )
        return next(iter(found))

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
