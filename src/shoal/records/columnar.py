"""Parquet and Arrow files as tables: read by row groups or batches, and only the columns that are needed."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from shoal.errors import InputError
from shoal.records.residence import keep_below
from shoal.records.scratch import reading_scratch
from shoal.records.streams import Input
from shoal.records.tables import Table

_ROWS = 1 << 16  # rows of a Parquet batch


def parquet_table(source: Input) -> Table:
    """The table in a Parquet file, or in a folder of them."""
    from pyarrow import parquet

    if source.is_folder:
        return _folder_table(source, source.files)
    with _named_faults(source.name, "Parquet"):
        file = parquet.ParquetFile(_seekable(source))

    def batches(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with _named_faults(source.name, "Parquet"):
            for group in range(file.num_row_groups):  # Arrow cannot join the dictionaries of two groups inside lists
                _check_group(file.metadata.row_group(group), group, columns, source.name)
                for batch in file.iter_batches(_ROWS, row_groups=[group], columns=list(columns)):
                    yield batch.select(list(columns))

    return Table(file.schema_arrow.names, batches, source.name)


def _folder_table(source: Input, names: Sequence[str]) -> Table:
    """The files of a folder one after the other. All have the columns of the first: none is left unseen."""

    def opened(name: str) -> Table:
        with Input(os.path.join(source.source, name)) as file:
            file.name = f"{source.name}/{name}"
            return parquet_table(file)

    columns = opened(names[0]).columns
    for name in names[1:]:
        own = opened(name).columns
        if list(own) != list(columns):
            raise InputError(
                f"{source.name}: {name} has other columns ({', '.join(own)}) than {names[0]} ({', '.join(columns)}); "
                "give files of one table"
            )

    def batches(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for name in names:
            yield from opened(name).batches(wanted)

    return Table(columns, batches, source.name)


def arrow_table(source: Input) -> Table:
    """The table in an Arrow IPC file or stream."""
    whole_file = source.magic == "arrow"
    with _named_faults(source.name, "Arrow"):
        data = _seekable(source)
        columns = (pa.ipc.open_file(data) if whole_file else pa.ipc.open_stream(data)).schema.names

    def batches(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        options = pa.ipc.IpcReadOptions(included_fields=[columns.index(column) for column in wanted])
        with _named_faults(source.name, "Arrow"):
            data.seek(0)
            if whole_file:
                reader = pa.ipc.open_file(data, options=options)
                found = (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                found = iter(pa.ipc.open_stream(data, options=options))
            for number, batch in enumerate(found):
                _check_size(batch.nbytes, f"{source.name}: record batch {number + 1:,}")
                yield batch.select(list(wanted))

    return Table(columns, batches, source.name)


def _seekable(source: Input) -> Any:
    """The file itself, mapped into memory, or the bytes of an input that cannot be read twice."""
    scratch = reading_scratch()
    if os.path.isfile(source.source):
        # Arrow would not give back pages of a file that it mapped itself. One without bytes, which cannot be mapped, has none.
        if scratch is None or os.path.getsize(source.source) == 0:
            return pa.memory_map(os.fspath(source.source))
        with open(source.source, "rb") as file:
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        keep_below(scratch.limit, mapping)
        return pa.BufferReader(pa.py_buffer(mapping))
    if scratch is not None:
        raise InputError(
            f"{source.name}: it can be read once only, and so is held in memory; save it as a file, or leave out the memory limit"
        )
    return pa.BufferReader(source.read())


def _check_group(group: Any, number: int, columns: Sequence[str], source: str) -> None:
    """Raises if the wanted columns of a row group, unpacked, are more than memory allows: Arrow unpacks them as a whole."""
    chunks = (group.column(i) for i in range(group.num_columns))
    size = sum(c.total_uncompressed_size for c in chunks if c.path_in_schema.split(".")[0] in columns)
    _check_size(size, f"{source}: row group {number + 1:,}")


def _check_size(size: int, what: str) -> None:
    scratch = reading_scratch()
    if scratch is not None and size > scratch.working // 4:
        raise InputError(
            f"{what} takes {size / 1e6:,.0f} MB in one piece, too much for the memory limit of {scratch.limit / 1e6:,.0f} MB; "
            "write the file again with smaller pieces, or raise the limit"
        )


@contextlib.contextmanager
def _named_faults(source: str, form: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(
            f"{source}: it is not readable as {form} ({reason}); check the format, or write it again"
        ) from error
