"""The process that decodes Parquet and Arrow files for another one, so that a crash in there is the end of this process alone.

Its code imports nothing but Arrow, and is started by its path (`shoal.records.formats.columnar`). On standard input come requests, a line
of JSON each; the answers go to standard output: a line with the columns of the file, then, if some are asked for, its rows as an Arrow
stream of small batches that were validated in full, then a line that says that this was all, or what went wrong. A file's claims about
itself (sizes, lengths, counts) are not believed: memory is limited by the system.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

ROWS = 1 << 16
"""Rows of a batch."""
_LEAST = 64 << 20
"""Bytes that Arrow needs to decode anything at all, with its threads."""


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answers requests until there are no more."""
    base = _data_bytes()
    while line := requests.readline():
        request = json.loads(line)
        _limit_memory(base + max(request["piece"], _LEAST))
        said: dict[str, Any]
        try:
            with _source(request, requests) as (source, stands, mapping):
                said = _answer(request, source, stands, mapping if request["frugal"] else None, answers)
        except _Large as error:
            said = {"fault": "large", "what": error.what, "size": error.size}
        except MemoryError:
            said = {"fault": "memory"}
        except Exception:  # whatever Arrow makes of a damaged file
            said = {"fault": "unreadable"}  # what it says may quote what it read
        _say(said, answers)


class _Large(Exception):  # noqa: N818 - it is caught here
    """Something that would take more memory in one piece than there is for it."""

    def __init__(self, what: str, size: int) -> None:
        self.what, self.size = what, size


def _say(document: dict[str, Any], answers: BinaryIO) -> None:
    answers.write(json.dumps(document).encode() + b"\n")
    answers.flush()


@contextlib.contextmanager
def _source(request: dict[str, Any], requests: BinaryIO) -> Iterator[tuple[Any, Any, mmap.mmap | None]]:
    """What Arrow reads from, and which file that is: a file on disk is mapped, what came by a pipe comes by this one, too."""
    import pyarrow as pa

    if request["path"] is None:
        yield pa.BufferReader(requests.read(request["bytes"])), None, None
        return
    with open(request["path"], "rb") as file:
        found = os.fstat(file.fileno())
        stands = [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns]
        if found.st_size == 0:  # it cannot be mapped
            yield pa.BufferReader(b""), stands, None
            return
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        yield pa.BufferReader(pa.py_buffer(mapping)), stands, mapping


def _answer(
    request: dict[str, Any], source: Any, stands: Any, mapping: mmap.mmap | None, answers: BinaryIO
) -> dict[str, Any]:
    """Says what is asked for. The pages of a mapping go out of memory when they have been read."""
    import pyarrow as pa

    opened = (_parquet if request["form"] == "parquet" else _arrow)(source, request["columns"] or [], request["piece"])
    schema, rows = next(opened)
    _say({"columns": schema.names, "rows": rows, "stands": stands}, answers)
    count, writer = 0, None
    try:
        for batch in opened if request["columns"] is not None else ():
            batch.validate(full=True)  # the whole, for a slice would have all of its lists looked at each time
            for start in range(0, len(batch), ROWS):
                part = batch.slice(start, ROWS)
                if writer is None:
                    _say({"stream": True}, answers)
                    pipe = pa.PythonFile(answers, mode="w")
                    writer = pa.ipc.new_stream(pipe, part.schema)
                writer.write_batch(part)
                count += len(part)
            if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
                mapping.madvise(mmap.MADV_DONTNEED)
    finally:
        if writer is not None:
            writer.close()
    return {"end": count}


def _parquet(source: Any, columns: list[str], piece: int) -> Iterator[Any]:
    """The schema of the file and its number of rows, then its batches."""
    from pyarrow import parquet

    file = parquet.ParquetFile(source, page_checksum_verification=True)
    yield file.schema_arrow, file.metadata.num_rows
    wanted = list(columns)
    for number in range(file.num_row_groups):  # Arrow cannot join the dictionaries of two groups inside lists
        group = file.metadata.row_group(number)
        chunks = (group.column(i) for i in range(group.num_columns))
        size = sum(c.total_uncompressed_size for c in chunks if c.path_in_schema.split(".")[0] in wanted)
        if size > piece:
            raise _Large(f"row group {number + 1:,}", size)
        for batch in file.iter_batches(ROWS, row_groups=[number], columns=wanted):
            yield batch.select(wanted)


def _arrow(source: Any, columns: list[str], piece: int) -> Iterator[Any]:
    """The schema of the file or stream, then its batches."""
    import pyarrow as pa

    is_file = bytes(source.read(6)) == b"ARROW1"
    source.seek(0)
    schema = (pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)).schema
    yield schema, None
    wanted = list(columns)
    options = pa.ipc.IpcReadOptions(included_fields=[schema.names.index(name) for name in wanted])
    source.seek(0)
    if is_file:
        reader = pa.ipc.open_file(source, options=options)
        batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
    else:
        batches = iter(pa.ipc.open_stream(source, options=options))
    for batch in batches:
        yield batch.select(wanted)


def _data_bytes() -> int:
    """What this process has allocated so far."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[5]) * mmap.PAGESIZE
    except (OSError, ValueError):
        return 1 << 30


def _limit_memory(size: int) -> None:
    """No more than this may be allocated, where the system can be asked for that. Mapped files do not count."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (size, resource.getrlimit(resource.RLIMIT_DATA)[1]))


if __name__ == "__main__":
    sys.path[:] = json.loads(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever is interrupted ends this process, too
    import pyarrow.parquet  # noqa: F401 - before memory is limited

    serve(sys.stdin.buffer, sys.stdout.buffer)
