"""The bytes of an input: opened, hashed as they pass, unpacked, and cut into blocks of whole lines.

Everything about a text file that can go wrong below the level of its format (it is missing, damaged, not UTF-8, binary) is
found here and named. Blocks of a few megabytes keep memory small whatever the size of the file; a line that is longer than a
block makes a longer block, up to a limit. What a file unfolds to is limited where its size does not tell it (`shoal.limits`).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import IO, Any, BinaryIO, cast

from shoal.errors import InputError, Unavailable, option
from shoal.limits import Room, input_limit, part_limit, read_part, room_for, shown_size
from shoal.passwords import without_passwords
from shoal.records.database.address import address_of, is_address
from shoal.records.foreign.workbooks import sheet_copy, workbook_of
from shoal.records.formats.folders import data_files, entries_of, export_files, folder_sha256
from shoal.records.layout import FHIR, TOLD, format_of
from shoal.records.storage.journal import settle
from shoal.records.stores.once import opened_file
from shoal.records.stores.remote import display_remote, is_elsewhere, is_remote

BLOCK = 8 << 20
"""Bytes in a block of lines: large enough for whole-array work, small enough for its temporary arrays to be cheap."""

BLANKS = " \t\n\v\f\r"
"""What does not count around a name in text; blanks of other scripts do."""

_HELD = 8
"""What cannot be read twice may have this part of the limit."""

_MAGIC = {"gz": b"\x1f\x8b", "zst": b"\x28\xb5\x2f\xfd", "parquet": b"PAR1", "arrow": b"ARROW1"}
_CODECS = {"gz": "gzip", "zst": "zstd"}


@dataclass(frozen=True)
class TextBlock:
    """Whole lines of UTF-8 text, each with its line end but perhaps the last of the file."""

    data: bytes
    line: int
    """The number of its first line in the file, from 1."""


def display_name(source: str | os.PathLike[str]) -> str:
    """What messages call a file: its name without folders; of an address only the table."""
    text = os.fspath(source)
    if is_address(text):
        return address_of(text).name
    if is_remote(text):
        return display_remote(text)
    text = without_passwords(text)
    return "standard input" if text == "-" else os.path.basename(text.rstrip("/")) or repr(text)


@contextlib.contextmanager
def reading_errors(source: str | os.PathLike[str]) -> Iterator[None]:
    """Turns what the system says about a file that cannot be read into a sentence about it."""
    name = display_name(source)
    try:
        yield
    except FileNotFoundError:
        raise Unavailable(f"{name}: there is no such file; check the path {os.fspath(source)!r}") from None
    except IsADirectoryError:
        raise InputError(f"{name}: it is a folder; name a file in it") from None
    except PermissionError:
        raise Unavailable(f"{name}: it may not be read; ask for the right to read it") from None
    except OSError as error:
        if error.errno is None:  # raised by the decompressor, not by the system
            raise InputError(
                f"{name}: its compressed data are damaged or cut short ({error}); copy or download it again"
            ) from error
        raise Unavailable(f"{name}: it cannot be read ({error.strerror}); check the disk or the connection") from error


def is_stream(data: Any) -> bool:
    """Whether it is a file that somebody has opened, or a stand-in for one, such as `io.BytesIO`."""
    return hasattr(data, "read") and hasattr(data, "tell") and not hasattr(data, "__arrow_c_stream__")


def stream_name(stream: Any) -> str:
    """What messages call an open file."""
    name = getattr(stream, "name", None)
    return display_name(name) if isinstance(name, str) else f"the {type(stream).__name__}"


class Input:
    """An opened input file, or standard input for `-`, read once, from start to end; or a folder of Parquet files, read file by file.

    What somebody else has opened is read from where it stands, and stands there again afterwards.
    """

    def __init__(self, source: str | os.PathLike[str] | IO[Any]) -> None:
        self._given: tuple[Any, int] | None = None
        self._leave_copy: Callable[[], None] = _do_nothing
        self._of_workbook: str | None = None
        stream: BinaryIO | None = None
        if isinstance(source, str | os.PathLike):
            self.name = display_name(source)
            source = self._here(source)
        else:
            self.name = stream_name(source)
            stream, source = self._bytes_of(source), "-"
        self.source = source
        self._stands: tuple[int, ...] | None = None
        self.is_folder = os.path.isdir(source)
        if stream is None and os.fspath(source) == "-" and sys.stdin is None:
            raise InputError("standard input is closed; pipe the data into it, or name a file")
        if self.is_folder:
            self._raw: BinaryIO = io.BytesIO()
            self._head = b""
            with reading_errors(source):
                self.magic: str | None = FHIR if export_files(entries_of(source), self.name) else "parquet"
            self.compression: str | None = None
            return
        with reading_errors(source):
            self._raw = stream or (sys.stdin.buffer if os.fspath(source) == "-" else open(source, "rb"))  # noqa: SIM115
            self._stands = self._standing()
            self._head = self._raw.read(8)
        self._digest = hashlib.sha256()
        head = self._head
        self.magic = next((kind for kind, mark in _MAGIC.items() if head.startswith(mark)), None)
        """`gz`, `zst`, `parquet` or `arrow` if the first bytes say so; for a folder `parquet` or `fhir`."""
        self.compression = self.magic if self.magic in _CODECS else None
        named = format_of(self.name)[1]
        if named and head and named != self.compression:
            self.close()
            raise InputError(
                f"{self.name}: it is not {_CODECS[named]} data; copy or download it again, "
                "or rename it if it is not compressed at all"
            )

    def __enter__(self) -> Input:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._given is not None:
            stream, place = self._given
            stream.seek(place)
        elif os.fspath(self.source) != "-":
            self._raw.close()
        self._leave_copy()

    def _here(self, source: str | os.PathLike[str]) -> str | os.PathLike[str]:
        """Where to read it on this machine: itself, or the copy of what a store, a server or a workbook has."""
        if (book := workbook_of(source)) is not None:
            with reading_errors(book[0]):
                sheet, self._leave_copy = sheet_copy(*book)
            self._of_workbook = sheet.sha256
            return sheet.path
        if not is_elsewhere(source):
            settle(source)
            return source
        from shoal.records.stores.copies import copy_of  # which knows the ways over a network

        copy, self._leave_copy = copy_of(os.fspath(source))
        return copy.path

    def _bytes_of(self, stream: Any) -> BinaryIO:
        """An open file as bytes."""
        try:
            self._given = (stream, stream.tell())
            stream.seek(self._given[1])
        except (OSError, ValueError):
            raise InputError(
                f"{self.name}: it is closed, or can be read once only; give its bytes in an io.BytesIO, or save it as a file"
            ) from None
        if not isinstance(stream, io.TextIOBase):
            return cast(BinaryIO, stream)
        with reading_errors("-"):
            try:
                return io.BytesIO(stream.read(input_limit()).encode())
            except UnicodeError:
                raise InputError(
                    f"{self.name}: it is not UTF-8; open the file in binary mode, or save it as UTF-8"
                ) from None

    @property
    def form(self) -> str | None:
        """The format that its name or its first bytes tell."""
        told = "csv" if self._of_workbook else format_of(self.name)[0]
        return told or (self.magic if self.magic in TOLD else None)

    @functools.cached_property
    def room(self) -> Room:
        """The memory that what is read from it may take."""
        if self.is_folder:
            return room_for(self.name, sum(entry.size for entry in entries_of(self.source)))
        return room_for(self.name, self._stands[2] if self._stands else None)

    def check_unchanged(self, stands: Sequence[int] | None = None) -> None:
        """Raises if the file was written to since it was opened, or is not the one that stands where it did."""
        if self._stands is not None and tuple(stands or self._standing() or ()) != self._stands:
            raise InputError(f"{self.name}: it was changed while it was read; read it when nothing writes to it")

    def _standing(self) -> tuple[int, ...] | None:
        """What tells a plain file and its state from others; None for what has no size, such as a pipe or a device."""
        try:
            found = os.fstat(self._raw.fileno())
        except (AttributeError, OSError):  # a stand-in for standard input
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    @functools.cached_property
    def files(self) -> tuple[str, ...]:
        """The names of the files in a folder that hold its rows."""
        files = export_files if self.magic == FHIR else data_files
        with reading_errors(self.source):
            return files(entries_of(self.source), self.name)

    def read(self, size: int = -1) -> bytes:
        """The next bytes as they are in the file."""
        if self.is_folder:
            raise InputError(f"{self.name}: it is a folder; name a file in it")
        if size < 0:
            data, self._head = self._head + self._raw.read(), b""
        else:
            data, self._head = self._head[:size], self._head[size:]
            if len(data) < size:
                data += self._raw.read(size - len(data))
        self._digest.update(data)
        return data

    def read_all(self) -> bytes:
        """All bytes of an input that is held in memory as it is, here and in the process that decodes it."""
        most = input_limit() // _HELD
        with reading_errors(self.source):
            data = self.read(most + 1)
        if len(data) > most:
            raise InputError(
                f"{self.name}: it can be read once only, and is too large to be held in memory (more than {shown_size(most)}); "
                f"save it as a file, or raise {option('input_limit')}, of which that is an {_HELD}th part"
            )
        return data

    def sha256(self) -> str:
        """The hash of the raw bytes, of a folder of those of its files, of a sheet those of its workbook. Reads what is left."""
        with reading_errors(self.source):
            if self.is_folder:
                return folder_sha256(self.source, self.files)
            while self.read(BLOCK):
                pass
        self.check_unchanged()
        return self._of_workbook or self._digest.hexdigest()

    def text_blocks(self) -> Iterator[TextBlock]:
        """The text, unpacked, in blocks of whole lines, without a byte order mark."""
        line, offset = 1, 0
        unfolded = Room(self.name, self.room.limit)
        for data in self._line_blocks():
            unfolded.take(len(data))
            _check_text(data, self.name, line, offset)
            yield TextBlock(data.removeprefix(b"\xef\xbb\xbf") if offset == 0 else data, line)
            line += data.count(b"\n")
            offset += len(data)

    def _line_blocks(self) -> Iterator[bytes]:
        stream = self._unpacked()
        begun: list[bytes] = []  # pieces of a line that has not ended yet
        length, longest = 0, part_limit()
        while True:
            with reading_errors(self.source):
                piece = stream.read(BLOCK)
            if not piece:
                break
            first, cut = piece.find(b"\n"), piece.rfind(b"\n") + 1
            length += first if cut else len(piece)
            if max(length, len(piece) - cut) > longest:
                raise InputError(
                    f"{self.name}: a line in it has more than {shown_size(longest)}; check that it is the right file, "
                    f"or raise {option('input_limit')}, of which that is a 32nd part"
                )
            if cut:
                yield b"".join((*begun, piece[:cut]))
                begun.clear()
                length = len(piece) - cut
            begun.append(piece[cut:])
        if rest := b"".join(begun):
            yield rest

    def _unpacked(self) -> Any:
        if self.compression is None:
            return self
        import pyarrow as pa

        # Arrow closes what it is given when it is done; the hash may need the rest of the file after that.
        tap = SimpleNamespace(read=self.read, close=lambda: None, closed=False)
        return pa.CompressedInputStream(pa.PythonFile(tap, mode="r"), _CODECS[self.compression])


def _do_nothing() -> None:
    pass


def _check_text(data: bytes, name: str, line: int, offset: int) -> None:
    """Raises unless `data` is UTF-8 without NUL; `line` and `offset` say where in the file it begins."""
    if offset == 0 and data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{name}: line 1 begins like UTF-16 text; save the file as UTF-8")
    nul = data.find(b"\0")
    if nul >= 0:
        line += data.count(b"\n", 0, nul)
        raise InputError(
            f"{name}: line {line} holds a NUL byte (byte {offset + nul:,} of the file), so it is not plain text; "
            "check the format, or save the file as UTF-8"
        )
    if data.isascii():
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        raise InputError(
            f"{name}: line {line} is not UTF-8 (byte 0x{data[error.start]:02X} at {offset + error.start:,} of the file); "
            "save the file as UTF-8"
        ) from None


def list_text(path: str | os.PathLike[str], what: str) -> str:
    """The text of a file that lists something, which is not too long for `what` it is."""
    name = display_name(path)
    settle(path)
    with reading_errors(path), opened_file(path) as file:
        data = read_part(file, name, what)
    _check_text(data, name, 1, 0)
    return data.decode("utf-8-sig")


def list_lines(path: str | os.PathLike[str], what: str) -> list[str]:
    """The lines of such a file. Nothing but a line feed ends a line: others may stand inside a name."""
    return [line.removesuffix("\r") for line in list_text(path, what).split("\n")]
