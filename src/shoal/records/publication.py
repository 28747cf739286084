"""Publication: files that appear whole and together, or not at all.

Each file is written under a hidden name in its target's folder, synced to disk, and only then put in place by one atomic step
of the file system: whoever looks, or kills the process, at any moment finds the old file or nothing, never half a file. If a
later file cannot be put in place, the earlier ones are taken back. What a killed process left under hidden names is removed by the
next one that writes the same target.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import secrets
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, BinaryIO

from shoal.errors import InputError, ShoalError
from shoal.records.database_address import address_of, is_address

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

Target = str | os.PathLike[str]

_ABANDONED = 600.0  # seconds without a write


def display_name(target: Target) -> str:
    """What messages call a file: its name without folders; of an address only the table."""
    text = os.fspath(target)
    if is_address(text):
        return address_of(text).name
    return "standard output" if text == "-" else os.path.basename(text) or repr(text)


@contextlib.contextmanager
def writing_errors(target: Target) -> Iterator[None]:
    """Turns what the system says about a file that cannot be written into a sentence about it."""
    name = display_name(target)
    try:
        yield
    except BrokenPipeError:  # whoever read standard output has left, which is nobody's fault
        raise
    except FileExistsError:
        raise InputError(f"{name}: it appeared while the release was made; pass --force to replace it") from None
    except FileNotFoundError:
        raise InputError(f"{name}: its folder is not there; make the folder first") from None
    except PermissionError:
        raise InputError(f"{name}: it may not be written; choose a folder where you may write") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{name}: it cannot be written ({reason}); check the disk, or choose another place") from error


def check_targets(targets: Iterable[Target], *, force: bool = False) -> None:
    """Raises if a file could not be published: said before the work, not after it."""
    seen = set()
    for target in targets:
        name, path = display_name(target), os.path.realpath(target)
        folder = os.path.dirname(path)
        if path in seen:
            raise InputError(f"{name}: two outputs have this name; give each its own")
        seen.add(path)
        if os.path.isdir(path):
            raise InputError(f"{name}: it is a folder; name a file in it")
        if not os.path.isdir(folder):
            raise InputError(f"{name}: its folder {folder!r} is not there; make the folder first")
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            pass
        except OSError as error:  # a name that is too long, for one
            raise InputError(f"{name[:60]}: it cannot be written ({error.strerror}); choose another name") from None
        else:
            if not stat.S_ISREG(mode):
                raise InputError(f"{name}: it is not a regular file; write to - for standard output")
            if not force:
                raise InputError(f"{name}: it is there already; pass --force to replace it, or name another file")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise InputError(f"{name}: it may not be written; choose a folder where you may write")


class StagedFile(io.RawIOBase):
    """A file on its way to its target, under a hidden name. Hashes what is written; closing it brings it safely to disk."""

    def __init__(self, target: Target, *, private: bool = False) -> None:
        super().__init__()
        self.target = os.path.realpath(target)
        self.private = private
        folder, name = os.path.split(self.target)
        self.path = os.path.join(folder, f".{name[:40]}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
        self._digest = hashlib.sha256()
        self._file: BinaryIO | None = None

    def create(self) -> None:
        with writing_errors(self.target):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            # On its way it is never open to more people than it will be in its place.
            rights = 0o600 if self.private or os.path.lexists(self.target) else 0o666
            self._file = open(os.open(self.path, flags, rights), "wb", buffering=1 << 20)  # noqa: SIM115

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        assert self._file is not None
        with writing_errors(self.target):
            written = self._file.write(data)
        self._digest.update(data)
        return written

    def close(self) -> None:
        if self._file is not None and not self._file.closed:
            with writing_errors(self.target), self._file as file:
                file.flush()
                os.fsync(file.fileno())
        super().close()

    @property
    def sha256(self) -> str:
        """The hash of all that was written."""
        return self._digest.hexdigest()


@dataclass(frozen=True)
class _Placed:
    """A target that has its new content, and where its old content is kept until all targets have theirs."""

    target: str
    backup: str | None
    replaced: bool


class Publication:
    """The files of one release. They are put in place when the `with` block ends well, in the order in which they were staged:

    with Publication([data, certificate]) as publication:
        with publication.file(certificate) as file:
            file.write(...)
        with publication.file(data) as file:
            file.write(...)
    """

    def __init__(self, targets: Iterable[Target], *, force: bool = False) -> None:
        self._targets = tuple(os.fspath(target) for target in targets)
        self._force = force
        self._staged: list[StagedFile] = []
        self._commit: Callable[[], None] | None = None
        self._on_terminate: Any = None
        check_targets(self._targets, force=force)
        for target in self._targets:
            _remove_leftovers(target)

    def file(self, target: Target, *, private: bool = False) -> StagedFile:
        """A new file that will become `target`. Close it when it is complete.

        A private one is for its owner alone, whatever the umask and whatever it replaces; others keep the rights of what they replace.
        """
        if os.fspath(target) not in self._targets:
            raise ValueError(f"{target!r} is not among the targets of this publication")
        staged = StagedFile(target, private=private)
        self._staged.append(staged)  # before it exists, so that an interrupt cannot leave it behind
        staged.create()
        return staged

    def after(self, commit: Callable[[], None]) -> None:
        """Lets the files appear only after `commit` succeeded, which is called when all of them lie ready on disk."""
        self._commit = commit

    def __enter__(self) -> Publication:
        # SIGTERM ends a process without a chance to clean up, unless it is turned into an exception.
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            self._on_terminate = signal.signal(signal.SIGTERM, _exit_on_signal)
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        try:
            for staged in self._staged:
                with contextlib.suppress(InputError) if failure else contextlib.nullcontext():
                    staged.close()
            if failure is None and self._commit is not None:
                check_targets(self._targets, force=self._force)  # the last chance to say no
                self._commit()
                self._put_each_in_place()
            elif failure is None:
                self._put_all_in_place()
        finally:
            for staged in self._staged:
                _remove(staged.path)
            if self._on_terminate is not None:
                signal.signal(signal.SIGTERM, self._on_terminate)

    def _put_each_in_place(self) -> None:
        """What was committed cannot be taken back: a file that cannot get its name any more keeps its content under another."""
        for staged in tuple(self._staged):
            try:
                with writing_errors(staged.target):
                    placed = _replaced(staged) if self._force else _linked(staged)
            except InputError as error:
                kept = f"{staged.target}.{secrets.token_hex(4)}"
                os.rename(staged.path, kept)
                raise ShoalError(
                    f"the table was written, but {error}; the file is kept as {kept!r}: give it its name"
                ) from error
            if placed.backup:
                _remove(placed.backup)
            _sync_folder(os.path.dirname(staged.target))

    def _put_all_in_place(self) -> None:
        done: list[_Placed] = []
        try:
            for staged in self._staged:
                with writing_errors(staged.target):
                    done.append(_replaced(staged) if self._force else _linked(staged))
            for folder in {os.path.dirname(staged.target) for staged in self._staged}:
                _sync_folder(folder)
        except BaseException:
            for placed in reversed(done):
                if placed.backup:
                    os.replace(placed.backup, placed.target)
                elif not placed.replaced:
                    _remove(placed.target)
            raise
        finally:
            for placed in done:
                if placed.backup:
                    _remove(placed.backup)


def _linked(staged: StagedFile) -> _Placed:
    """Puts a file in place only if nothing is there: unlike a rename, a link never replaces."""
    try:
        os.link(staged.path, staged.target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: look, then rename
        if os.path.lexists(staged.target):
            raise FileExistsError from None
        os.replace(staged.path, staged.target)
    return _Placed(staged.target, None, replaced=False)


def _replaced(staged: StagedFile) -> _Placed:
    """Puts a file in place of whatever is there, which stays within reach under a second name."""
    backup: str | None = f"{staged.path.removesuffix('.tmp')}.old"
    existed = os.path.lexists(staged.target)
    try:
        os.link(staged.target, str(backup))
    except OSError:  # nothing was there, or the file system has no links
        backup = None
    if existed and not staged.private:  # a file that others may not read must not become one that they may
        with contextlib.suppress(OSError):
            os.chmod(staged.path, stat.S_IMODE(os.stat(staged.target).st_mode))
    os.replace(staged.path, staged.target)
    return _Placed(staged.target, backup, replaced=existed)


def _remove_leftovers(target: str) -> None:
    """Removes hidden files of a process that is gone. Young ones stay: their process may live on another machine."""
    if os.name == "nt":  # where asking for a process ends it
        return
    folder, name = os.path.split(os.path.realpath(target))
    hidden = re.compile(rf"\.{re.escape(name[:40])}\.([0-9]{{1,9}})-[0-9a-f]{{8}}\.tmp")
    for entry in os.listdir(folder):
        if found := hidden.fullmatch(entry):
            path = os.path.join(folder, entry)
            with contextlib.suppress(OSError):
                if time.time() - os.lstat(path).st_mtime > _ABANDONED and not _is_alive(int(found[1])):
                    os.unlink(path)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _sync_folder(folder: str) -> None:
    """Makes the new names in a folder survive a power cut."""
    if os.name == "nt":  # Windows syncs folders by itself and opens none
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _exit_on_signal(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
