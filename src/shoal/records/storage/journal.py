"""The journal of a publication: what is under way, kept on disk, so that whoever comes after a killed process can finish its work.

Every target is claimed by a hidden file beside it. The claim of the first target is the journal; the others say where it lies. It goes
through three states, each put in place by one atomic rename:

    staging     files are written under hidden names; undone by removing them
    placing     they are complete and get their names, while what they replace is kept under hidden ones; undone by putting that back
    committed   all have their names; hidden files are left to remove

The rename to `committed` is the one commit point. A process holds a lock on its claims, which the system drops when the process ends,
however that happens: a claim without a lock is settled by whoever next reads or writes a file in its folder. Where a table belongs to
the files, or an object in a store, that gets its name while they are being placed; what it holds tells afterwards whether that had
happened.

Only journals of the same user are believed, and of what they name only that is touched which is what they say: a file is taken back if it
has the bytes that were staged, and put back if it is the one that was there.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, BinaryIO

from shoal.errors import InputError
from shoal.records.database.address import address_of, file_of, is_address, with_path
from shoal.records.stores.remote import has_scheme, is_remote

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

Target = str | os.PathLike[str]

STAGING, PLACING, COMMITTED = "staging", "placing", "committed"

_FORMAT = "publication 1"
_CLAIM = re.compile(r"\..*\.[0-9a-f]{8}\.shoal", re.DOTALL)
_ID = re.compile(r"[0-9a-f]{16}")
_LARGEST = 1 << 20
_ATTEMPTS = 10
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.EBADF)
_ABANDONED = 600.0  # seconds without a write, on file systems that know no locks


class TakenError(InputError):
    """Another run is writing the same file now."""


class InDoubt(InputError):  # noqa: N818 - reads as what it says
    """Whether a table was committed cannot be found out now."""


@dataclass(frozen=True)
class Seen:
    """What was at a path: enough to know it again under another name."""

    owner: int
    size: int
    changed: int
    """When it was written last, in nanoseconds."""

    @classmethod
    def at(cls, path: str) -> Seen | None:
        """None if there is nothing."""
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return None
        return cls(status.st_uid, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class Part:
    """One target of a publication."""

    folder: str
    """Relative to that of the journal, so that both may be with_path together."""
    name: str
    kind: str = "file"
    """`file`, `folder`, or `database`: a file that a table is written to, which is claimed only."""
    size: int = 0
    sha256: str = ""
    after: Seen | None = None
    """What will be there, of a folder."""
    before: Seen | None = None
    """What was there."""


@dataclass(frozen=True)
class TableRows:
    """The table of a publication, or its data in a store, and which rows, or bytes, are there once it is committed."""

    address: str
    """Without a password."""
    sha256: str


@dataclass(frozen=True)
class Entries:
    """What a journal says."""

    id: str
    state: str
    parts: tuple[Part, ...]
    table: TableRows | None = None

    def to_json(self) -> bytes:
        return json.dumps({"shoal": _FORMAT, **asdict(self)}).encode()


@dataclass(frozen=True)
class _Pointer:
    """What the claim of any target but the first says: where the journal is, relative to its own folder."""

    id: str
    journal: str

    def to_json(self) -> bytes:
        return json.dumps({"shoal": _FORMAT, **asdict(self)}).encode()


class Journal:
    """The journal of a publication of this process, which claims its targets until it is settled."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._targets = sorted(kinds)  # in one order for all: of two that want the same targets, one gets them
        first = self._targets[0]
        self.path = _claim_of(first)
        home = os.path.dirname(first)
        parts = []
        for target in self._targets:
            folder, name = os.path.split(target)
            before = Seen.at(target) if kinds[target] == "database" else None
            parts.append(Part(_relative(folder, home), name, kinds[target], before=before))
        self.entries = Entries(secrets.token_hex(8), STAGING, tuple(parts))
        self._claims: dict[str, BinaryIO] = {}
        try:
            for target in self._targets:
                path = _claim_of(target)
                pointer = _Pointer(self.entries.id, _relative(self.path, os.path.dirname(path)))
                content = self.entries if target == first else pointer
                self._claims[path] = _claimed(path, target, content.to_json())
                _remove_strays(target, self.entries.id)
        except BaseException:
            self.settle()
            raise

    def staging_name(self, target: str) -> str:
        """The hidden name under which a target is written."""
        return _hidden(target, self.entries.id, _ending(self._part(target)))

    def backup_name(self, target: str) -> str:
        """The hidden name under which stays what a target replaces."""
        return _hidden(target, self.entries.id, "old")

    def before(self, target: str) -> Seen | None:
        """What was there when placing began."""
        return self._part(target).before

    def place(self, contents: Mapping[str, tuple[int, str]], table: TableRows | None = None) -> None:
        """From here on targets get their names; `contents` has the size and the hash of each file."""
        home, parts = os.path.dirname(self.path), []
        for part in self.entries.parts:
            target = _path(home, part)
            if part.kind != "database":
                size, sha256 = contents.get(target, (0, ""))
                after = Seen.at(self.staging_name(target)) if part.kind == "folder" else None
                part = replace(part, size=size, sha256=sha256, after=after, before=Seen.at(target))
            parts.append(part)
        self._advance(Entries(self.entries.id, PLACING, tuple(parts), table))

    def commit(self) -> None:
        """The commit point."""
        self._advance(replace(self.entries, state=COMMITTED))

    def release(self) -> None:
        """Gives up the claims as a process does that ends."""
        claims, self._claims = self._claims, {}
        for claim in claims.values():
            claim.close()

    def settle(self, address: str | None = None, *, table_is_in: bool | None = None) -> None:
        """Completes or takes back, as the journal on disk says. `table_is_in` is for those who know whether the table was committed."""
        self.release()
        _settled(self.path, () if address is None else (address,), table_is_in, own=True)

    def _part(self, target: str) -> Part:
        return self.entries.parts[self._targets.index(target)]

    def _advance(self, entries: Entries) -> None:
        self._claims[self.path] = _rewritten(self.path, self._targets[0], entries)
        self.entries = entries


def settle(*places: Target | None) -> None:
    """Completes, or takes back, what processes that are gone left half done in the folders of these files.

    Addresses among them may be needed to ask their databases. Raises only if one of these very files stays in doubt.
    """
    given = [os.fspath(place) for place in places if isinstance(place, str | os.PathLike)]
    addresses = tuple(text for text in given if is_address(text))
    folders: dict[str, set[str]] = {}
    for text in given:
        path = file_of(text)
        if path != "-" and not is_address(path) and not has_scheme(path) and not path.startswith("table:"):
            target = os.path.realpath(path)
            folders.setdefault(os.path.dirname(target), set()).add(_claim_of(target))
    for folder, named in folders.items():
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for path in (os.path.join(folder, name) for name in names if _CLAIM.fullmatch(name)):
            with contextlib.suppress(OSError) if path in named else contextlib.suppress(OSError, InputError):
                _settled(path, addresses)


def sync_folder(folder: str) -> None:
    """Makes the new names in a folder survive a power cut."""
    if os.name == "nt":  # Windows syncs folders by itself and opens none
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(path: str) -> None:
    """A file that may be gone already."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _base(target: str) -> str:
    folder, name = os.path.split(target)
    own = hashlib.sha256(os.fsencode(name)).hexdigest()[:8]  # long names may begin alike
    return os.path.join(folder, f".{name[:40]}.{own}")


def _claim_of(target: str) -> str:
    return f"{_base(target)}.shoal"


def _hidden(target: str, id: str, ending: str) -> str:
    if ending == "not-audited":  # Spark takes a folder with a hidden name for none
        return f"{target}-{id}-{ending}"
    return f"{_base(target)}.{id}.{ending}"


def _ending(part: Part) -> str:
    return "not-audited" if part.kind == "folder" else "tmp"


def _path(home: str, part: Part) -> str:
    return os.path.join(os.path.normpath(os.path.join(home, part.folder)), part.name)


def _relative(path: str, folder: str) -> str:
    try:
        return os.path.relpath(path, folder)
    except ValueError:  # another drive of Windows
        return path


def _claimed(path: str, target: str, content: bytes) -> BinaryIO:
    """The claim of a target, made and locked; raises if a process that lives has it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    for _ in range(_ATTEMPTS):
        try:
            file = open(os.open(path, flags, 0o600), "r+b")  # noqa: SIM115
        except FileExistsError:
            if not _settled(path):
                raise TakenError(_taken(path, target)) from None
            continue
        if _is_free(file) and _is_at(file, path):  # else somebody took it for one that was left behind
            file.write(content)
            file.flush()
            return file
        file.close()
    raise TakenError(_taken(path, target))


def _taken(claim: str, target: str) -> str:
    """Why a target cannot be claimed."""
    name, file = os.path.basename(target), _opened(claim)
    if file is None and os.path.lexists(claim):
        return f"{name}: {os.path.basename(claim)!r} beside it is another user's claim to it; name another file, or have it removed"
    if file is not None:
        file.close()
    return f"{name}: another run is writing it now; wait until that has ended, or name another file"


def _rewritten(path: str, target: str, entries: Entries) -> BinaryIO:
    """The journal with other entries, in one atomic step. It is never without a lock."""
    arriving = _hidden(target, entries.id, "next")
    remove(arriving)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    file = open(os.open(arriving, flags, 0o600), "r+b")  # noqa: SIM115
    try:
        _is_free(file)
        file.write(entries.to_json())
        file.flush()
        os.fsync(file.fileno())
        os.replace(arriving, path)
        sync_folder(os.path.dirname(path))
    except BaseException:
        file.close()
        raise
    return file


def _settled(path: str, addresses: Sequence[str] = (), table_is_in: bool | None = None, *, own: bool = False) -> bool:
    """Settles the publication that a claim belongs to; False if it is not for us to settle, since its process lives, for one."""
    file = _opened(path)
    if file is None:
        return not os.path.lexists(path)
    with file:
        if not _is_free(file, None if own else path):
            return False
        if not _is_at(file, path):
            return True
        said = _read(file, path)
        if isinstance(said, _Pointer):
            main = os.path.normpath(os.path.join(os.path.dirname(path), said.journal))
            if main != path and not _settled(main, addresses, table_is_in):
                return False
            remove(path)  # which the journal has seen to, if there was one
        elif said is None:  # its process ended before it had written it, and before it did anything else
            remove(path)
        else:
            _finish(path, said, addresses, table_is_in)
            remove(path)
    return True


def _finish(path: str, entries: Entries, addresses: Sequence[str], table_is_in: bool | None) -> None:
    """Does what is left to do of a publication, all but removing the journal itself."""
    home = os.path.dirname(path)
    first = _path(home, entries.parts[0])
    remove(_hidden(first, entries.id, "next"))
    if entries.state == PLACING and entries.table is not None:
        if table_is_in is None:
            table_is_in = _is_committed(entries, home, addresses)
        if table_is_in:
            entries = replace(entries, state=COMMITTED)
            with contextlib.suppress(OSError):  # a full disk; the table will say the same to the next one
                _rewritten(path, first, entries).close()
    targets = [_path(home, part) for part in entries.parts]
    claims = [_claim_of(target) for target in targets]
    for part, target, claim in zip(entries.parts, targets, claims, strict=True):
        if claim == path or _points_to(claim, entries.id):
            with contextlib.suppress(FileNotFoundError):  # a folder that is gone has nothing left to settle
                _finish_part(part, target, entries)
    for folder in dict.fromkeys(os.path.dirname(target) for target in targets):
        with contextlib.suppress(OSError):  # a disk that fails must not keep the rest from being done
            sync_folder(folder)
    for claim in claims:
        if claim != path and _points_to(claim, entries.id):
            remove(claim)


def _finish_part(part: Part, target: str, entries: Entries) -> None:
    staged, old = _hidden(target, entries.id, _ending(part)), _hidden(target, entries.id, "old")
    if part.kind == "database":
        if entries.state != COMMITTED:
            from shoal.records.database.write import take_back_file

            with contextlib.suppress(InputError):  # somebody uses it, or has made something else of it
                take_back_file(target, is_new=part.before is None)
        return
    if entries.state == PLACING:
        _take_back(part, target, staged, old)
    for path in (staged, old):
        if part.kind == "folder" and os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            remove(path)


def _take_back(part: Part, target: str, staged: str, old: str) -> None:
    """Makes a target what it was before. What has become something else in the meantime is somebody else's, and stays."""
    now, was = Seen.at(target), Seen.at(old)
    if part.before is None:
        waits = now is not None and now.size == 0 and now.owner == os.geteuid() and os.path.lexists(staged)
        if _is_new(part, target) or (part.kind == "file" and waits):  # its content, or the place that was held for it
            _take_away(part, target, staged)
    elif was is not None and was.owner == part.before.owner:
        if now is None:
            os.rename(old, target)
        elif was == part.before and _is_new(part, target):
            if part.kind == "folder":
                os.rename(target, staged)
            os.replace(old, target)


def _take_away(part: Part, target: str, staged: str) -> None:
    if part.kind == "folder":
        os.rename(target, staged)
    else:
        os.unlink(target)


def _is_new(part: Part, target: str) -> bool:
    """Whether what is at a target is what the publication put there."""
    seen = Seen.at(target)
    if part.kind == "folder":
        return seen is not None and seen == part.after
    if seen is None or seen.size != part.size or not stat.S_ISREG(os.lstat(target).st_mode):
        return False
    with open(target, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == part.sha256


def _is_committed(entries: Entries, home: str, addresses: Sequence[str]) -> bool:
    """Whether the table of a publication has its new rows, or a store its new object; raises if nobody can tell now."""
    from shoal.records.database.write import holds_rows

    assert entries.table is not None
    shown = entries.table.address
    if is_remote(shown):
        return _is_stored(entries, entries.table)
    address = next((given for given in addresses if address_of(given).shown == shown), shown)
    for part in entries.parts:
        if part.kind == "database":  # wherever the folder is now
            address = with_path(shown, lambda _, part=part: _path(home, part))
    try:
        return holds_rows(address, entries.table.sha256, entries.id)
    except InputError as error:
        names = ", ".join(part.name for part in entries.parts if part.kind == "file")
        raise InDoubt(
            f"{names}: writing this with a table was interrupted, and whether the table was committed cannot be found out ({error}); "
            "try again when the database can be reached, with its address or PGPASSWORD"
        ) from None


def _is_stored(entries: Entries, data: TableRows) -> bool:
    """Whether the data of a publication have their name in a store; raises if nobody can tell now."""
    from shoal.records.stores.upload import holds_object

    try:
        return holds_object(data.address, data.sha256)
    except InputError as error:
        names = ", ".join(part.name for part in entries.parts if part.kind == "file")
        raise InDoubt(
            f"{names}: writing this with data in a store was interrupted, and whether these got their name cannot be found out ({error}); "
            "try again when the store can be reached"
        ) from None


def _points_to(claim: str, id: str) -> bool:
    """Whether the claim of another target belongs to a journal; also one that its process did not come to write."""
    file = _opened(claim)
    if file is None:
        return False
    with file:
        said = _read(file, claim)
        return _is_free(file, claim) if said is None else isinstance(said, _Pointer) and said.id == id


def _opened(path: str) -> BinaryIO | None:
    """A claim that is ours: a plain file that this user alone may have written."""
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        file = open(os.open(path, flags), "r+b", buffering=0)  # noqa: SIM115
    except OSError:
        return None
    status = os.fstat(file.fileno())
    own = os.name == "nt" or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)
    if own and stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
        return file
    file.close()
    return None


def _is_free(file: BinaryIO, left: str | None = None) -> bool:
    """Whether nobody else holds a claim, which this process holds from then on. Where there are no locks, age tells."""
    try:
        if fcntl is None:
            raise OSError(errno.ENOSYS, "no locks")
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            return False
        return left is None or time.time() - _last_write(left) > _ABANDONED
    return True


def _last_write(claim: str) -> float:
    """When a claim, or what is hidden beside it, was written last."""
    folder, base = os.path.split(claim.removesuffix(".shoal"))
    times = [0.0]
    for name in os.listdir(folder):
        if name.startswith(base):
            with contextlib.suppress(OSError):
                times.append(os.lstat(os.path.join(folder, name)).st_mtime)
    return max(times)


def _is_at(file: BinaryIO, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.lstat(path))
    except OSError:
        return False


def _read(file: BinaryIO, path: str) -> Entries | _Pointer | None:
    """What a claim says; None if that is nothing, or nothing that this version wrote."""
    try:
        file.seek(0)
        said = json.loads(file.read(_LARGEST))
        if said.pop("shoal") != _FORMAT or not _ID.fullmatch(said["id"]):
            return None
        if "journal" in said:
            return _Pointer(said["id"], str(said["journal"]))
        parts = tuple(_part(part) for part in said["parts"])
        table = None if said["table"] is None else TableRows(**said["table"])
        entries = Entries(said["id"], said["state"], parts, table)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    plain = all(part.name not in ("", ".", "..") and os.path.basename(part.name) == part.name for part in parts)
    own = bool(parts) and parts[0].folder == "." and _claim_of(_path(os.path.dirname(path), parts[0])) == path
    known = entries.state in (STAGING, PLACING, COMMITTED) and all(
        part.kind in ("file", "folder", "database") for part in parts
    )
    return entries if plain and own and known else None


def _part(said: dict[str, Any]) -> Part:
    seen = {name: None if said[name] is None else Seen(**said[name]) for name in ("after", "before")}
    return Part(**{**said, **seen})


def _remove_strays(target: str, id: str) -> None:
    """Removes what is hidden beside a target that nobody else can be writing now, after a power cut, for one."""
    folder, base = os.path.split(_base(target))
    stray = re.compile(rf"{re.escape(base)}\.(?!{id})[0-9a-f]{{16}}\.(tmp|old|next)")
    names: Iterable[str] = os.listdir(folder)
    for name in names:
        if stray.fullmatch(name):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))
