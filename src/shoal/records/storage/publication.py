"""Publication: files that appear whole and together, or not at all.

Each file is written under a hidden name in its target's folder and synced to disk. When all are complete they get their names, and one
atomic step makes that final (`shoal.records.storage.journal`): whoever kills the process before it finds, after the next start, what was
there before, whoever kills it later the new files, and never half of them. A table that belongs to the files is committed with them.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import signal
import stat
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, BinaryIO

from shoal.errors import InputError, option
from shoal.passwords import without_passwords
from shoal.records.database.address import address_of, file_of, is_address
from shoal.records.storage.journal import InDoubt, Journal, Seen, TableRows, Target, settle, sync_folder
from shoal.records.stores.remote import display_remote, has_scheme, is_remote

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from shoal.records.database.write import TableTarget

_CHANGED = "{name}: it was changed while the release was made; look at it, and try again"

__all__ = [
    "Publication", "StagedFile", "Target", "check_apart", "check_targets", "display_name", "passing_folder",
    "writing_errors",
]  # fmt: skip


def display_name(target: Target) -> str:
    """What messages call a file: its name without folders; of an address only the table."""
    text = os.fspath(target)
    if is_address(text):
        return address_of(text).name
    if is_remote(text):
        return display_remote(text)
    text = without_passwords(text)
    return "standard output" if text == "-" else os.path.basename(text) or repr(text)


def passing_folder() -> str:
    """A folder for data that are checked before they leave this machine."""
    try:
        return tempfile.mkdtemp(prefix="shoal-")
    except OSError as error:
        raise InputError(
            f"there is no temporary folder to check the data in ({error.strerror}); name one in TMPDIR"
        ) from None


@contextlib.contextmanager
def writing_errors(target: Target) -> Iterator[None]:
    """Turns what the system says about a file that cannot be written into a sentence about it."""
    name = display_name(target)
    try:
        yield
    except BrokenPipeError:  # whoever read standard output has left, which is nobody's fault
        raise
    except FileExistsError:
        raise InputError(
            f"{name}: it appeared while the release was made; pass {option('force')} to replace it"
        ) from None
    except FileNotFoundError:
        raise InputError(f"{name}: its folder is not there; make the folder first") from None
    except PermissionError:
        raise InputError(f"{name}: it may not be written; choose a folder where you may write") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{name}: it cannot be written ({reason}); check the disk, or choose another place") from error


def check_targets(
    targets: Iterable[Target], *, force: bool = False, database: str | None = None, revised: Collection[Target] = ()
) -> None:
    """Raises if a file could not be published: said before the work, not after it. `database` is where its table goes, if it has one;
    `revised` are those that are written anew each time."""
    targets = tuple(targets)
    settle(*targets, database)
    seen = set()
    for target in targets:
        if has_scheme(target):
            raise InputError(
                f"{display_name(target)}: only a release and its certificate go to a store; name a file on this machine"
            )
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
            raise InputError(
                f"{without_passwords(name)[:60]}: it cannot be written ({error.strerror}); choose another name"
            ) from None
        else:
            if not stat.S_ISREG(mode):
                raise InputError(f"{name}: it is not a regular file; write to - for standard output")
            if not force and target not in revised:
                raise InputError(
                    f"{name}: it is there already; pass {option('force')} to replace it, or name another file"
                )
        if not os.access(folder, os.W_OK | os.X_OK):
            raise InputError(f"{name}: it may not be written; choose a folder where you may write")


def check_apart(targets: Iterable[Target], kept: Iterable[tuple[str, Target]]) -> None:
    """Raises if a target is, by whatever name or link, one of the files that must stay; each comes with what it is called."""
    kept = [(what, os.fspath(path)) for what, path in kept]
    for target in targets:
        for what, path in kept:
            same = os.path.exists(target) and os.path.exists(path) and os.path.samefile(target, path)
            if same or os.path.realpath(target) == os.path.realpath(path):
                raise InputError(f"{os.fspath(target)}: it is {what}; write to another file")


class StagedFile(io.RawIOBase):
    """A file on its way to its target, under a hidden name. Hashes what is written; closing it brings it safely to disk."""

    def __init__(self, target: Target, path: str, *, private: bool = False) -> None:
        super().__init__()
        self.target = os.path.realpath(target)
        self.path = path
        self.private = private
        self.size = 0
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
        self.size += written
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


class Publication:
    """The files of one release, put in place together when the `with` block ends well:

    with Publication([data, certificate]) as publication:
        with publication.file(certificate) as file:
            file.write(...)
        with publication.file(data) as file:
            file.write(...)

    `revised` are those of them that replace what is there without being forced to. `folder` is a folder that belongs to them, and
    `database` the address of a table that does, if there is one (see `table`). `at_last` is called when all have their names; if it
    raises, they lose them again. What it puts into a store, `stored` tells (address and hash), so that whoever comes after a killed
    process can see whether it was done.
    """

    def __init__(
        self,
        targets: Iterable[Target],
        *,
        force: bool = False,
        folder: str | None = None,
        database: str | None = None,
        at_last: Callable[[], None] | None = None,
        stored: Callable[[], tuple[str, str] | None] = lambda: None,
        revised: Collection[Target] = (),
    ) -> None:
        self._targets = tuple(os.fspath(target) for target in targets)
        self._folder = None if folder is None else os.path.realpath(folder)
        self._force = force
        self._address = database
        self._at_last = at_last
        self._stored = stored
        self._staged: list[StagedFile] = []
        self._journal: Journal | None = None
        self._table: TableTarget | None = None
        self._table_is_in: bool | None = False
        self._on_terminate: Any = None
        settle(folder)
        check_targets(self._targets, force=force, database=database, revised=revised)
        self._revised = frozenset(os.path.realpath(target) for target in revised)
        self._file: str | None = None
        """That of SQLite, where the table goes there."""
        if database is not None and file_of(database) != database:
            self._file = os.path.realpath(file_of(database))
            if not os.path.isdir(os.path.dirname(self._file)):
                raise InputError(f"{address_of(database).database}: its folder is not there; make the folder first")

    def file(self, target: Target, *, private: bool = False) -> StagedFile:
        """A new file that will become `target`. Close it when it is complete.

        A private one is for its owner alone, whatever the umask and whatever it replaces; others keep the rights of what they replace.
        """
        if os.fspath(target) not in self._targets or self._journal is None:
            raise ValueError(f"{target!r} is not among the targets of this publication")
        staged = StagedFile(target, self._journal.staging_name(os.path.realpath(target)), private=private)
        staged.create()
        self._staged.append(staged)
        return staged

    @property
    def staged_folder(self) -> str:
        """Where the folder is to be written."""
        assert self._journal is not None
        assert self._folder is not None
        return self._journal.staging_name(self._folder)

    def table(self, table: TableTarget) -> TableTarget:
        """Takes over a table: it is committed when all files have their names, and closed in any case."""
        self._table = table
        return table

    @property
    def _named(self) -> str:
        """What messages about all of it name."""
        return (self._targets or (self._folder or "",))[0]

    @property
    def id(self) -> str:
        """What databases know this publication by."""
        return "" if self._journal is None else self._journal.entries.id

    def __enter__(self) -> Publication:
        # SIGTERM ends a process without a chance to clean up, unless it is turned into an exception.
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            self._on_terminate = signal.signal(signal.SIGTERM, _exit_on_signal)
        kinds = {os.path.realpath(target): "file" for target in self._targets}
        if self._file is not None:
            kinds[self._file] = "database"
        if self._folder is not None:
            kinds[self._folder] = "folder"
        try:
            if kinds:
                with writing_errors(next(iter(kinds))):
                    self._journal = Journal(kinds)
        except BaseException:
            self._hear_signals_as_before()
            raise
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        try:
            if failure is None:
                self._put_in_place()
        finally:
            try:
                self._end()
            finally:
                self._hear_signals_as_before()

    def _put_in_place(self) -> None:
        if self._journal is None:
            if self._at_last is not None:
                self._at_last()
            return
        for staged in self._staged:
            staged.close()
            if not staged.private:  # a file that others may not read must not become one that they may
                with contextlib.suppress(OSError):
                    os.chmod(staged.path, stat.S_IMODE(os.stat(staged.target).st_mode))
        there = self._stored() if self._table is None else (self._table.address.shown, self._table.sha256)
        rows = None if there is None else TableRows(*there)
        contents = {staged.target: (staged.size, staged.sha256) for staged in self._staged}
        with writing_errors(self._named):
            self._journal.place(contents, rows)
        for staged in self._staged:
            with writing_errors(staged.target):
                _place(staged.path, staged.target, self._journal, self._force or staged.target in self._revised)
        if self._folder is not None:
            with writing_errors(self._folder):
                _place_folder(self.staged_folder, self._folder, self._journal, self._force)
        targets = [staged.target for staged in self._staged] + ([] if self._folder is None else [self._folder])
        for folder in dict.fromkeys(map(os.path.dirname, targets)):
            with writing_errors(folder):
                sync_folder(folder)
        if self._table is not None:
            self._commit_table(self._table)
        if self._at_last is not None:
            self._table_is_in = False if rows is None else None  # where it fails half way, the store is asked
            self._at_last()
        with writing_errors(self._named):
            self._journal.commit()

    def _commit_table(self, table: TableTarget) -> None:
        self._table_is_in = None
        try:
            table.commit()
        except InDoubt:  # whoever comes next, and reaches the database, finds out
            assert self._journal is not None
            self._journal.release()
            self._journal = None
            raise
        except InputError:
            self._table_is_in = False
            raise
        self._table_is_in = True

    def _end(self) -> None:
        if self._table is not None:
            self._table.close()
        for staged in self._staged:
            with contextlib.suppress(InputError):
                staged.close()
        if self._journal is not None:
            with contextlib.suppress(OSError):  # whoever comes next does it
                self._journal.settle(self._address, table_is_in=self._table_is_in)

    def _hear_signals_as_before(self) -> None:
        if self._on_terminate is not None:
            signal.signal(signal.SIGTERM, self._on_terminate)


def _place(staged: str, target: str, journal: Journal, force: bool) -> None:
    """Gives a file its name. What is there stays within reach under a second one; what appeared meanwhile is never replaced."""
    before = journal.before(target)
    if before is None:
        _link(staged, target)
    elif not force:
        raise FileExistsError
    else:
        kept = journal.backup_name(target)
        try:
            os.link(target, kept, follow_symlinks=False)
        except OSError:  # a file system without links
            os.rename(target, kept)
        if Seen.at(kept) != before:
            raise InputError(_CHANGED.format(name=display_name(target)))
        os.replace(staged, target)


def _place_folder(staged: str, target: str, journal: Journal, force: bool) -> None:
    """As `_place`: a folder has no second name, so it is moved out of the way."""
    before = journal.before(target)
    if os.path.lexists(target):
        if before is None or not force:
            raise FileExistsError
        os.rename(target, journal.backup_name(target))
        if Seen.at(journal.backup_name(target)) != before:
            raise InputError(_CHANGED.format(name=display_name(target)))
    os.rename(staged, target)


def _link(staged: str, target: str) -> None:
    """Puts a file in place only if nothing is there: unlike a rename, a link never replaces."""
    try:
        os.link(staged, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: hold the place, then fill it
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.replace(staged, target)


def _exit_on_signal(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
