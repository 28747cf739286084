"""Parquet and Arrow files: read by row groups or batches, and only the columns that are needed.

A file that comes from others may be damaged, or made to do harm, and Arrow's decoders have crashed on such files. So they run in a process
of their own (`shoal.records.formats.decoder`), which hands over small batches that it has validated; if it crashes, the file is refused
in a sentence and whoever reads it goes on. The process is kept for the next file: starting it takes longer than reading most files.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import parquet

from shoal.errors import InputError, option
from shoal.limits import input_limit, shown_size
from shoal.records.assemble import Table
from shoal.records.formats.frames import Frame
from shoal.records.formats.text import arrow_sink
from shoal.records.layout import Layout
from shoal.records.records import Records
from shoal.records.roles import name_list
from shoal.records.storage.publication import StagedFile
from shoal.records.storage.scratch import reading_scratch
from shoal.records.storage.streams import Input

_CODE = Path(__file__).with_name("decoder.py")
_NAMES = {"parquet": "Parquet", "arrow": "Arrow"}
_LONGEST_LINE = 1 << 30
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
_PIECE = 4
"""A batch on its way may take this part of the limit: it is held here and there, with what is made of it."""


def columnar_table(source: Input, form: str) -> Table:
    """The table in a Parquet or Arrow file, or in a folder of Parquet files."""
    if source.is_folder and form == "parquet":
        return _folder_table(source, source.files)
    held = None if os.path.isfile(source.source) and os.fspath(source.source) != "-" else _held(source)
    with _decoder() as decoder:
        head = decoder.ask(source, form, held, None)
        decoder.end(source, form)

    def batches(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with _decoder() as decoder:
            decoder.ask(source, form, held, list(wanted))
            yield from decoder.batches(source, form)

    return Table(head["columns"], batches, source.name, rows=head["rows"], room=source.room)


def write_columnar(file: BinaryIO | StagedFile, records: Records, layout: Layout) -> None:
    """Writes records as `parquet` or `arrow`. Names are always text, so that 007 stays 007."""
    frame, sink = Frame(records, layout.types), arrow_sink(file)
    is_parquet = layout.format == "parquet"
    with (
        parquet.ParquetWriter(sink, frame.schema, compression="zstd")
        if is_parquet
        else pa.ipc.new_file(sink, frame.schema)
    ) as writer:
        for batch in frame.batches():
            writer.write_batch(batch)


def _folder_table(source: Input, names: Sequence[str]) -> Table:
    """The files of a folder one after the other. All have the columns of the first: none is left unseen."""

    def table_in(name: str) -> Table:
        with Input(os.path.join(source.source, name)) as file:
            file.name = f"{source.name}/{name}"
            return columnar_table(file, "parquet")

    first = table_in(names[0])
    rows = first.rows or 0
    for name in names[1:]:
        own = table_in(name)
        if list(own.columns) != list(first.columns):
            raise InputError(
                f"{source.name}: {name} has other columns ({name_list(own.columns)}) than {names[0]} ({name_list(first.columns)}); "
                "give files of one table"
            )
        rows += own.rows or 0

    def batches(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for name in names:
            yield from table_in(name).batches(wanted)

    return Table(first.columns, batches, source.name, rows=rows, room=source.room)


def _held(source: Input) -> bytes:
    """The bytes of an input that cannot be read twice."""
    if reading_scratch() is not None:
        raise InputError(
            f"{source.name}: it can be read once only, and so is held in memory; save it as a file, or leave out the memory limit"
        )
    return source.read_all()


class _Decoder:
    """A process that decodes, and what it says."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", os.fspath(_CODE), json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | _ENVIRONMENT,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self.idle = True
        """Whether it has answered all that it was asked."""

    def ask(self, source: Input, form: str, held: bytes | None, columns: list[str] | None) -> dict[str, Any]:
        """What it says first about a file, which is its columns."""
        scratch = reading_scratch()
        piece = input_limit() // _PIECE if scratch is None else min(input_limit() // _PIECE, scratch.working // 4)
        request = {"form": form, "columns": columns, "piece": piece, "bytes": None if held is None else len(held)}
        request |= {"frugal": scratch is not None}
        path = os.path.abspath(source.source) if held is None else None
        self.idle = False
        try:
            self._requests.write(json.dumps(request | {"path": path}).encode() + b"\n" + (held or b""))
            self._requests.flush()
        except OSError:
            raise _crashed(source, form) from None
        head = self._said(source, form)
        if "columns" not in head:
            raise _crashed(source, form)
        source.check_unchanged(head["stands"])
        return head

    def batches(self, source: Input, form: str) -> Iterator[pa.RecordBatch]:
        """The rows that it was asked for."""
        said = self._said(source, form)
        if "stream" in said:
            rows = 0
            try:
                stream = pa.ipc.open_stream(self._answers)
                for batch in stream:
                    batch.validate(full=True)
                    rows += len(batch)
                    try:
                        yield batch
                    except GeneratorExit:
                        # Whoever leaves after a look at a small file leaves a process that has nothing more to say.
                        with contextlib.suppress(InputError, pa.ArrowException, OSError):
                            if next(stream, None) is None:
                                self.end(source, form)
                        raise
            except (pa.ArrowException, OSError):
                raise _crashed(source, form) from None
            said = self._said(source, form)
            if said.get("end") != rows:
                raise _crashed(source, form)
        self.idle = True

    def end(self, source: Input, form: str) -> None:
        """Hears that there is no more."""
        self._said(source, form)
        self.idle = True

    def _said(self, source: Input, form: str) -> dict[str, Any]:
        try:
            said: dict[str, Any] = json.loads(self._answers.readline(_LONGEST_LINE))
        except (ValueError, OSError):
            raise _crashed(source, form) from None
        if "fault" in said:
            self.idle = True
            raise _fault(said, source, form)
        return said

    def lives(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        self._process.kill()
        with contextlib.suppress(OSError):
            self._requests.close()
        self._answers.close()
        self._process.wait()


def _crashed(source: Input, form: str) -> InputError:
    return InputError(
        f"{source.name}: decoding it as {_NAMES[form]} ended in a crash, so its data are damaged, or were made to do harm; "
        "write it again, and do not trust where it came from"
    )


def _fault(said: dict[str, Any], source: Input, form: str) -> InputError:
    scratch = reading_scratch()
    if said["fault"] == "unreadable":
        return InputError(f"{source.name}: it is not readable as {_NAMES[form]}; check the format, or write it again")
    piece = input_limit() // _PIECE
    what, takes = (
        ("a batch of its rows", f"more than {shown_size(piece)}")
        if said["fault"] == "memory"
        else (said["what"], f"{said['size'] / 1e6:,.0f} MB")
    )
    if scratch is not None and scratch.working // 4 < piece:
        return InputError(
            f"{source.name}: {what} takes {takes} in one piece, too much for the memory limit of {scratch.limit / 1e6:,.0f} MB; "
            "write the file again with smaller pieces, or raise the limit"
        )
    return InputError(
        f"{source.name}: {what} takes {takes} in one piece, too much for an input limit of {shown_size(input_limit())}; "
        f"write the file again with smaller pieces, or raise {option('input_limit')} if you trust it"
    )


_waiting: list[_Decoder] = []
"""A process that has nothing to do, for the next file."""
_lock = threading.Lock()


@contextlib.contextmanager
def _decoder() -> Iterator[_Decoder]:
    """A process for one question. One that did not come to the end of its answer is ended."""
    with _lock:
        decoder = _waiting.pop() if _waiting else None
    try:
        if decoder is None or not decoder.lives():
            decoder = _Decoder()
    except OSError as error:
        raise InputError(
            f"no process can be started to decode Parquet and Arrow ({error.strerror}); allow one, or give .csv or .jsonl"
        ) from None
    try:
        yield decoder
    finally:
        with _lock:
            stays = decoder.idle and not _waiting
            if stays:
                _waiting.append(decoder)
        if not stays:
            decoder.close()


@atexit.register
def _close() -> None:
    while _waiting:
        _waiting.pop().close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_waiting.clear)  # it serves the process that started it
