"""Scratch: files that hold large arrays while memory is limited.

Arrays in a scratch file are mapped. Their pages come into memory as they are touched and leave it before the process grows past the limit
(`shoal.records.storage.memory`). A scratch file holds raw data, so it is readable by its owner alone and has no name (it is unlinked as it
is opened): it goes away with the process, however that ends.

Only a reader is told the limit. An array in a scratch file knows its Scratch (`scratch_of`), and whatever is made from it asks there for
room of its own: rows laid out for a walk, published rows, shuffled rows, rows read again. Nothing in between needs to know.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import tempfile
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError
from shoal.limits import shown_size, size_in_bytes
from shoal.records.storage.memory import keep_below

INTERPRETER = 400 * 10**6
"""What the interpreter, its libraries, the compiled kernels and the solver take by themselves, with what the allocator keeps."""
LEAST = 800 * 10**6
"""The least limit: below, a block of text with all that is made of it on the way would not fit."""

_CANNOT_RESERVE = (errno.EINVAL, errno.EOPNOTSUPP)
"""What file systems say that know of no reserving."""
_BYTES_PER_OCCURRENCE = 64
"""What coding, sorting or gathering one occurrence takes in passing, with all arrays that stand side by side for it."""
_BYTES_PER_NAME = 400
"""What a name of the vocabulary takes as text, as an entry of lists and dictionaries, and as a key while it is sorted."""


@dataclass(frozen=True)
class Scratch:
    """How much memory may be used, and where arrays go that would not fit."""

    working: int
    """Bytes of memory for everything beyond the interpreter itself."""
    threads: int = 1
    folder: str | None = None
    """Where the files lie: TMPDIR, or else a folder for large temporary files."""

    @classmethod
    def of(cls, limit: int | str, threads: int | None = None, folder: str | None = None) -> Scratch:
        """For a limit of so many bytes, or of a text such as `2GB`, on all of the process."""
        size = size_in_bytes(limit, "memory limit")
        if size < LEAST:
            raise InputError(
                f"a memory limit of {shown_size(size)} is less than what Python and its libraries need with a block of data; "
                f"give at least {shown_size(LEAST)}"
            )
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return cls(size - INTERPRETER, max(cores, threads or 1), folder)

    @property
    def limit(self) -> int:
        """The limit on all of the process, in bytes."""
        return self.working + INTERPRETER

    @property
    def share(self) -> int:
        """Bytes that one thread may hold at a time; half of the memory stays for what threads do not do."""
        return max(1, self.working // (2 * self.threads))

    @property
    def block(self) -> int:
        """Occurrences to code, sort or gather at a time."""
        return max(1, self.working // (4 * _BYTES_PER_OCCURRENCE))

    def empty(self, size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Room for an array: in memory if it is small (a thread has up to four at a time), else in a file."""
        if size * np.dtype(dtype).itemsize <= self.share // 4:
            return np.empty(size, dtype)
        return self.map_array(size, dtype)

    def map_array(self, size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Room for an array in a file, of whatever size. What is made from it will ask for room here, too."""
        kind = np.dtype(dtype)
        with self._file() as file:
            _reserve(file.fileno(), size * kind.itemsize, self._place())
            return _array(file.fileno(), size, kind, self)

    def spool(self, dtype: npt.DTypeLike) -> Spool:
        """An array in a file of which the size is not known before its end."""
        return Spool(self, np.dtype(dtype))

    def check_names(self, count: int, text: int, source: str) -> None:
        """Raises if that many names with so many bytes of text are too large a vocabulary: it is held in memory, with what sorts it."""
        needed = count * _BYTES_PER_NAME + 4 * text
        if needed > self.working // 2:
            raise InputError(
                f"{source}: its {count:,} different items do not fit into the memory limit of {shown_size(self.limit)}, for their names "
                f"are held in memory; raise the limit to {shown_size(2 * needed + INTERPRETER)} or more"
            )

    def _place(self) -> str:
        if self.folder is not None:
            return self.folder
        # /tmp is often memory itself; /var/tmp is meant for large files.
        return os.environ.get("TMPDIR") or ("/var/tmp" if os.access("/var/tmp", os.W_OK) else tempfile.gettempdir())

    def _file(self) -> Any:
        try:
            return tempfile.TemporaryFile(dir=self._place(), prefix="shoal-")
        except OSError as error:
            raise InputError(
                f"{self._place()}: no scratch file can be made there ({error.strerror}); name another folder in TMPDIR"
            ) from None


class Spool:
    """An array that grows at its end, block by block, in a file."""

    def __init__(self, scratch: Scratch, kind: np.dtype[Any]) -> None:
        self._scratch, self._kind = scratch, kind
        self._file = scratch._file()
        self.size = 0

    def append(self, values: npt.NDArray[Any]) -> None:
        try:
            self._file.write(np.ascontiguousarray(values, self._kind).data)
        except OSError as error:
            raise _full(self._scratch._place(), error) from None
        self.size += len(values)

    def array(self) -> npt.NDArray[Any]:
        """All that was appended. The spool takes no more."""
        with self._file as file:
            try:
                file.flush()
            except OSError as error:
                raise _full(self._scratch._place(), error) from None
            _reserve(file.fileno(), self.size * self._kind.itemsize, self._scratch._place())
            return _array(file.fileno(), self.size, self._kind, self._scratch)


class _Mapping(mmap.mmap):
    """A mapped file that knows the Scratch that it came from."""

    home: Scratch


def scratch_of(array: npt.NDArray[Any]) -> Scratch | None:
    """The Scratch that an array, or what it is a view of, lies in; None for an array in memory."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return getattr(base, "home", None)


_reading: ContextVar[Scratch | None] = ContextVar("scratch", default=None)


@contextlib.contextmanager
def reading_into(scratch: Scratch) -> Iterator[None]:
    """Inside, readers put what they read into scratch files."""
    # Arrow's own pool asks for a gigabyte at a time and keeps it; what comes from the system goes back at once. Arrow makes its own
    # when it is first imported, unless it is told not to.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    import pyarrow as pa

    pa.set_memory_pool(pa.system_memory_pool())
    token = _reading.set(scratch)
    try:
        yield
    finally:
        _reading.reset(token)


def reading_scratch() -> Scratch | None:
    """Where a reader puts what it reads; None without a limit."""
    return _reading.get()


def _array(file: int, size: int, kind: np.dtype[Any], home: Scratch) -> npt.NDArray[Any]:
    mapping = _Mapping(file, max(1, size * kind.itemsize))
    mapping.home = home
    keep_below(home.limit, mapping)
    return np.ndarray(size, kind, buffer=mapping)


def _reserve(file: int, size: int, folder: str) -> None:
    """Disk for the whole array: a full disk must be met here, not as a bus error at some later store."""
    size = max(1, size)
    try:
        if hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(file, 0, size)
                return
            except OSError as error:
                if error.errno not in _CANNOT_RESERVE:
                    raise
        os.ftruncate(file, size)
    except OSError as error:
        raise _full(folder, error) from None


def _full(folder: str, error: OSError) -> InputError:
    return InputError(
        f"{folder}: a scratch file does not fit there ({error.strerror}); make room, or name another folder in TMPDIR"
    )
