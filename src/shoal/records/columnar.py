"""Parquet and Arrow files as tables: read by row groups or batches, and only the columns that are needed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from shoal.errors import InputError
from shoal.records.streams import Input
from shoal.records.tables import Table

_ROWS = 1 << 16  # rows of a Parquet batch


def parquet_table(source: Input) -> Table:
    """The table in a Parquet file."""
    from pyarrow import parquet

    with _named_faults(source.name, "Parquet"):
        file = parquet.ParquetFile(_seekable(source))

    def batches(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with _named_faults(source.name, "Parquet"):
            for group in range(file.num_row_groups):  # Arrow cannot join the dictionaries of two groups inside lists
                for batch in file.iter_batches(_ROWS, row_groups=[group], columns=list(columns)):
                    yield batch.select(list(columns))

    return Table(file.schema_arrow.names, batches, source.name)


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
            for batch in found:
                yield batch.select(list(wanted))

    return Table(columns, batches, source.name)


def _seekable(source: Input) -> Any:
    """The file itself, mapped into memory, or the bytes of an input that cannot be read twice."""
    if os.path.isfile(source.source):
        return pa.memory_map(os.fspath(source.source))
    return pa.BufferReader(source.read())


@contextlib.contextmanager
def _named_faults(source: str, form: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(
            f"{source}: it is not readable as {form} ({reason}); check the format, or write it again"
        ) from error
