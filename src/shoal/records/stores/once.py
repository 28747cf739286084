"""One copy of each address for as long as a command or a call of the library takes, in a file that is nobody else's."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, BinaryIO, Protocol, TypeVar

from shoal.errors import InputError
from shoal.records.stores.remote import is_elsewhere


class Closing(Protocol):
    """What is to be closed."""

    def close(self) -> None: ...


Held = TypeVar("Held", bound=Closing)

copies: ContextVar[dict[str, Any] | None] = ContextVar("copies", default=None)
"""What was fetched already, by its address; None where nothing is kept."""


@contextlib.contextmanager
def one_copy() -> Iterator[None]:
    """Inside, each address is fetched once: what is looked at, hashed and audited is one and the same."""
    if copies.get() is not None:
        yield
        return
    held: dict[str, Any] = {}
    token = copies.set(held)
    try:
        yield
    finally:
        copies.reset(token)
        for copy in held.values():
            copy.close()


def held_copy(key: str, make: Callable[[], Held]) -> tuple[Held, Callable[[], None]]:
    """The copy of something, and what to call when it is read."""
    held = copies.get()
    if held is None:
        copy = make()
        return copy, copy.close
    if key not in held:
        held[key] = make()
    return held[key], lambda: None


@contextlib.contextmanager
def opened_file(source: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to read, of this machine or, by its address, of a store or a server."""
    with contextlib.ExitStack() as stack:
        if is_elsewhere(source):
            from shoal.records.stores.copies import copy_of  # which knows the ways over a network

            copy, leave = copy_of(os.fspath(source))
            stack.callback(leave)
            source = copy.path
        yield stack.enter_context(open(source, "rb"))


def private_file(stack: contextlib.ExitStack, name: str) -> tuple[str, BinaryIO]:
    """(path, file) for a copy of what messages call `name`: without a name, where the system lets an open file be read without one."""
    with disk_errors(name):
        folder = tempfile.mkdtemp(prefix="shoal-")
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, "copy")
        file = stack.enter_context(os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b"))
        if os.path.isdir("/proc/self/fd"):
            shutil.rmtree(folder, ignore_errors=True)
            path = f"/proc/{os.getpid()}/fd/{file.fileno()}"
    return path, file


@contextlib.contextmanager
def disk_errors(name: str) -> Iterator[None]:
    """Says of a disk that has no room for a copy what to do."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{name}: there is no room for a copy of it on this machine ({error.strerror}); name a folder with room in TMPDIR"
        ) from None
