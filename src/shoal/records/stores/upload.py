"""Publication in an object store: each object whole or not at all, and the data never without their certificate.

A store gives one object its name in one step, but not two. So all objects are uploaded under temporary names first, read back, and
compared; then the certificate gets its name, and the data get theirs last. What they replace is taken away before, data first, and
kept under a temporary name until the end, so that nobody ever finds data beside the certificate of others. Whatever fails in this process
is undone. If it is killed in between, the data are either old, gone or new, and what it left under its temporary names is named by the
next publication to that folder.

Arrow has no way to say "only if nothing is there", so that the name is looked at right before it is given: two publications to one name
in the same instant are for their owner to keep apart.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import InputError, Message, option
from shoal.records.storage.publication import StagedFile, passing_folder
from shoal.records.stores.remote import Remote, remote_of
from shoal.records.stores.store import opened_store, store_faults

_PIECE = 1 << 20
_UNDONE = "; nothing was published"
_LEFT = re.compile(r"\.shoal-[0-9a-f]{16}\..*\.(?:part|before)")
_SHOWN = 3


@dataclass
class _Object:
    """A target, and what becomes of it."""

    remote: Remote
    store: Any
    staging: Remote
    backup: Remote
    before: tuple[Any, ...] | None
    """Size and time of what is there already."""
    staged: StagedFile | None = None
    is_moved: bool = False
    is_placed: bool = False


@dataclass
class Upload:
    """The objects of one release: `with Upload(...) as upload:`, then `file`, `send` and `place`. What is not placed leaves nothing."""

    targets: tuple[str, ...]
    """In the order in which they get their names: the data last."""
    force: bool = False
    notes: tuple[str, ...] = ()
    _objects: dict[str, _Object] = field(default_factory=dict)
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __enter__(self) -> Upload:
        if not self.targets:
            return self
        id = secrets.token_hex(8)
        stores: dict[tuple[str | None, ...], Any] = {}
        self.notes = check_stored(self.targets, force=self.force, stores=stores)
        for target in self.targets:
            remote = remote_of(target)
            store = _one_store(stores, remote)
            staging, backup = (remote.beside(f".shoal-{id}.{remote.name}.{end}") for end in ("part", "before"))
            with store_faults(remote, _UNDONE):
                self._objects[target] = _Object(remote, store, staging, backup, _standing(store, remote))
        folder = passing_folder()
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        for number, found in enumerate(self._objects.values()):
            path = os.path.join(folder, str(number))
            found.staged = StagedFile(path, path, private=True)
        return self

    def __exit__(self, failure: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        with self._stack:
            for found in self._objects.values():
                if found.staged is not None:
                    with contextlib.suppress(InputError):
                        found.staged.close()
            if failure is not None:
                self._undo()
            left = self._clean()
        if left and failure is None:
            self.notes += (_left_note(left),)
        elif left:
            words = error.message if isinstance(error, InputError) else "the release was not published"
            raise InputError(f"{words}; {_left_note(left)}") from error

    def file(self, target: str) -> StagedFile:
        """A file on this machine that will become the object. Close it when it is complete."""
        staged = self._objects[target].staged
        assert staged is not None
        staged.create()
        return staged

    def data(self) -> tuple[str, str] | None:
        """Where the data will be, which get their name last, and their hash; call it when all files are complete."""
        if not self.targets:
            return None
        last = self._objects[self.targets[-1]]
        assert last.staged is not None
        return last.remote.shown, last.staged.sha256

    def send(self) -> None:
        """Uploads all objects under temporary names, and reads them back."""
        for found in self._objects.values():
            assert found.staged is not None
            found.staged.close()
            name, digest = found.remote.name, hashlib.sha256()
            with open(found.staged.path, "rb") as file, store_faults(found.remote, _UNDONE):
                with found.store.open_output_stream(found.staging.path, compression=None) as stream:
                    while piece := file.read(_PIECE):
                        stream.write(piece)
                with found.store.open_input_stream(found.staging.path, compression=None) as stream:
                    while piece := stream.read(_PIECE):
                        digest.update(piece)
            if digest.hexdigest() != found.staged.sha256:
                raise InputError(f"{name}: the store gives back other bytes than it was given{_UNDONE}; try again")

    def place(self) -> None:
        """Gives the objects their names, the data last, or takes all of it back."""
        try:
            self._place()
        except BaseException:
            self._undo()
            raise

    def _place(self) -> None:
        for found in reversed(self._objects.values()):
            self._check_unchanged(found)
            if found.before is not None:
                with store_faults(found.remote, _UNDONE):
                    found.store.copy_file(found.remote.path, found.backup.path)
                    found.is_moved = True
                    found.store.delete_file(found.remote.path)
        for found in self._objects.values():
            assert found.staged is not None
            with store_faults(found.remote, _UNDONE):
                if _standing(found.store, found.remote) is not None:
                    raise InputError(
                        f"{found.remote.name}: it appeared while the release was made{_UNDONE}; look at it"
                    )
                found.is_placed = True  # whatever the store answers, it may be
                found.store.copy_file(found.staging.path, found.remote.path)
                standing = _standing(found.store, found.remote)
            if standing is None or standing[0] != found.staged.size:
                raise InputError(f"{found.remote.name}: the store does not have what it was given{_UNDONE}; try again")

    def _check_unchanged(self, found: _Object) -> None:
        with store_faults(found.remote, _UNDONE):
            now = _standing(found.store, found.remote)
        if now == found.before:
            return
        if found.before is None and now is not None:
            raise InputError(
                f"{found.remote.name}: it appeared while the release was made{_UNDONE}; pass {option('force')} to replace it"
            )
        raise InputError(
            f"{found.remote.name}: it was changed while the release was made{_UNDONE}; look at it, and try again"
        )

    def _undo(self) -> None:
        """Takes away what was placed, data first, and brings back what was there."""
        for found in reversed(self._objects.values()):
            if found.is_placed:
                with contextlib.suppress(OSError, ValueError):
                    found.store.delete_file(found.remote.path)
                found.is_placed = False
        for found in self._objects.values():
            if found.is_moved:
                with contextlib.suppress(OSError, ValueError):
                    if _standing(found.store, found.remote) is None:
                        found.store.copy_file(found.backup.path, found.remote.path)
                    found.is_moved = _standing(found.store, found.remote) is None

    def _clean(self) -> list[str]:
        """Removes what has a temporary name; returns what stays: what cannot be removed, and what is the only copy of an old object."""
        left = []
        for found in self._objects.values():
            is_lost = found.is_moved and not found.is_placed
            for remote, stays in ((found.staging, False), (found.backup, is_lost)):
                try:
                    if _standing(found.store, remote) is None:
                        continue
                    if not stays:
                        found.store.delete_file(remote.path)
                        continue
                except (OSError, ValueError):
                    pass
                left.append(remote.shown)
        return left


def holds_object(target: str, sha256: str) -> bool:
    """Whether there is an object with these bytes; raises if that cannot be found out."""
    remote, digest = remote_of(target), hashlib.sha256()
    store = opened_store(remote)
    with store_faults(remote):
        if _standing(store, remote) is None:
            return False
        with store.open_input_stream(remote.path, compression=None) as stream:
            while piece := stream.read(_PIECE):
                digest.update(piece)
    return digest.hexdigest() == sha256


def _one_store(stores: dict[tuple[str | None, ...], Any], remote: Remote) -> Any:
    """The store of an object, opened once for all objects of a bucket."""
    key = (remote.kind, remote.account, remote.place)
    if key not in stores:
        stores[key] = opened_store(remote)
    return stores[key]


def check_stored(
    targets: Iterable[str], *, force: bool = False, stores: dict[tuple[str | None, ...], Any] | None = None
) -> tuple[str, ...]:
    """Raises if an object could not be published: said before the work, not after it. Returns notes about what others left behind."""
    notes = []
    stores = {} if stores is None else stores
    for remotes in _by_folder(targets):
        store, folder = _one_store(stores, remotes[0]), remotes[0].folder
        for remote in remotes:
            with store_faults(remote, _UNDONE):
                if not _has_bucket(store, remote.place):
                    raise InputError(
                        f"{remote.name}: there is no bucket {remote.place!r}; make it first, or check its name"
                    )
                if _standing(store, remote) is not None and not force:
                    raise InputError(
                        f"{remote.name}: it is there already; pass {option('force')} to replace it, or name another object"
                    )
        with contextlib.suppress(OSError):  # who may not list a folder may still write to it
            left = [remotes[0].beside(name).shown for name in _left_behind(store, folder)]
            if left:
                notes.append(_left_note(left, "a publication that was interrupted left"))
    return tuple(notes)


def check_writable(targets: Iterable[str], inputs: Iterable[str]) -> None:
    """Raises, without a look at the network, for addresses to which nothing is published, and for those of inputs, the data first."""
    seen = set()
    read = {remote_of(text) for text in inputs}
    for remote in map(remote_of, reversed(tuple(targets))):
        if remote.kind == "https":
            raise InputError(
                f"{remote.name}: https addresses are for reading; write to s3://, gs:// or az://, or to a file"
            )
        if remote in read:
            raise InputError(f"{remote.shown}: it is an input of this release; write to another object")
        if remote in seen:
            raise InputError(f"{remote.name}: two outputs have this name; give each its own")
        seen.add(remote)


def _by_folder(targets: Iterable[str]) -> Iterable[list[Remote]]:
    folders: dict[tuple[str | None, ...], list[Remote]] = {}
    for remote in map(remote_of, reversed(tuple(targets))):
        folders.setdefault((remote.kind, remote.account, remote.folder), []).append(remote)
    return folders.values()


def _standing(store: Any, remote: Remote) -> tuple[Any, ...] | None:
    """What tells one state of an object from the next, without reading it; none where there is no object."""
    from pyarrow import fs

    found = store.get_file_info(remote.path)
    return None if found.type != fs.FileType.File else (found.size, found.mtime_ns)


def _has_bucket(store: Any, bucket: str) -> bool:
    from pyarrow import fs

    try:
        return bool(store.get_file_info(bucket).type != fs.FileType.NotFound)
    except OSError:  # who may not look at a bucket may still write to it
        return True


def _left_behind(store: Any, folder: str) -> list[str]:
    """The temporary names in a folder: of a publication that was killed, or of one that is still going on."""
    from pyarrow import fs

    found = store.get_file_info(fs.FileSelector(folder, allow_not_found=True))
    return sorted(entry.base_name for entry in found if _LEFT.fullmatch(entry.base_name))


def _left_note(left: list[str], who: str = "there is left") -> Message:
    more = f" and {len(left) - _SHOWN:,} more" if len(left) > _SHOWN else ""
    return Message(
        f"{who} {', '.join(left[:_SHOWN])}{more}; .part is what was to be published, .before what it replaced: "
        "look whether you need them, and delete them"
    )
