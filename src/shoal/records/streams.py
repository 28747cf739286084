"""The bytes of an input: opened, hashed as they pass, unpacked, and cut into blocks of whole lines.

Everything about a text file that can go wrong below the level of its format (it is missing, damaged, not UTF-8, binary) is
found here and named. Blocks of a few megabytes keep memory small whatever the size of the file; a line that is longer than a
block simply makes a longer block.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO

from shoal.errors import InputError, Unavailable
from shoal.records.database_address import address_of, is_address
from shoal.records.folders import data_files, entries_of, folder_sha256
from shoal.records.journal import settle
from shoal.records.layout import format_of

if TYPE_CHECKING:
    from shoal.records.baskets import Baskets

BLOCK = 8 << 20
"""Bytes in a block of lines: large enough for whole-array work, small enough for its temporary arrays to be cheap."""

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


class Input:
    """An opened input file, or standard input for `-`, read once, from start to end; or a folder of Parquet files, read file by file."""

    def __init__(self, source: str | os.PathLike[str]) -> None:
        self.source = source
        self.name = display_name(source)
        settle(source)
        self.is_folder = not is_address(source) and os.path.isdir(source)
        if os.fspath(source) == "-" and sys.stdin is None:
            raise InputError("standard input is closed; pipe the data into it, or name a file")
        if is_address(source):  # it has no bytes; what is asked of it is its hash
            self._raw: BinaryIO = io.BytesIO()
            self._head, self.magic, self.compression = b"", None, None
            return
        if self.is_folder:
            self._raw, self._head = io.BytesIO(), b""
            self.magic, self.compression = "parquet", None
            return
        with reading_errors(source):
            self._raw = sys.stdin.buffer if os.fspath(source) == "-" else open(source, "rb")  # noqa: SIM115
            self._head = self._raw.read(8)
        self._digest = hashlib.sha256()
        head = self._head
        self.magic = next((kind for kind, mark in _MAGIC.items() if head.startswith(mark)), None)
        """`gz`, `zst`, `parquet` or `arrow` if the first bytes say so."""
        self.compression = self.magic if self.magic in _CODECS else None
        told = format_of(self.name)[1]
        if told and head and told != self.compression:
            self.close()
            raise InputError(
                f"{self.name}: it is not {_CODECS[told]} data; copy or download it again, "
                "or rename it if it is not compressed at all"
            )

    def __enter__(self) -> Input:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if os.fspath(self.source) != "-":
            self._raw.close()

    @functools.cached_property
    def files(self) -> tuple[str, ...]:
        """The names of the files in a folder that hold its rows."""
        with reading_errors(self.source):
            return data_files(entries_of(self.source), self.name)

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

    def sha256(self) -> str:
        """The hash of the raw bytes (of a folder, of those of its files), or of the rows of a table in a database. Reads what is left."""
        if is_address(self.source):
            return fingerprint(self.source)
        with reading_errors(self.source):
            if self.is_folder:
                return folder_sha256(self.source, self.files)
            while self.read(BLOCK):
                pass
        return self._digest.hexdigest()

    def text_blocks(self) -> Iterator[TextBlock]:
        """The text, unpacked, in blocks of whole lines, without a byte order mark."""
        line, offset = 1, 0
        for data in self._line_blocks():
            _check_text(data, self.name, line, offset)
            yield TextBlock(data.removeprefix(b"\xef\xbb\xbf") if offset == 0 else data, line)
            line += data.count(b"\n")
            offset += len(data)

    def _line_blocks(self) -> Iterator[bytes]:
        stream = self._unpacked()
        begun: list[bytes] = []  # pieces of a line that has not ended yet
        while True:
            with reading_errors(self.source):
                piece = stream.read(BLOCK)
            if not piece:
                break
            cut = piece.rfind(b"\n") + 1
            if cut:
                yield b"".join((*begun, piece[:cut]))
                begun.clear()
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


def fingerprint(source: str | os.PathLike[str] | Baskets) -> str:
    """The SHA-256 of a file's bytes, or of a canonical form of rows and baskets that did not come from a file."""
    if is_address(source):
        from shoal.records.database_tables import DatabaseInput

        with DatabaseInput(str(source)) as table:
            return table.sha256()
    if isinstance(source, str | os.PathLike):
        with Input(source) as opened:
            return opened.sha256()
    digest = hashlib.sha256(b"shoal baskets 1\n")
    digest.update(json.dumps([len(source), *source.vocabulary]).encode())
    digest.update(source.offsets.astype("<i8", copy=False).data)
    digest.update(source.items.astype("<i4", copy=False).data)
    return digest.hexdigest()
