"""Workspace: the one folder that the app reads and writes.

Data files that lie in it can be named and stay where they are; everything of the app's own (uploads, projects, jobs) is in the folder
`.shoal` inside it, which only the owner may enter. A path that leads out, by `..`, by a symbolic link or otherwise, is refused wherever
it stands: typed by the user, or in a plan.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from shoal.app.project.own_files import free_name, own_folder, read_json, safe_name, write_json, write_own
from shoal.app.project.project import Project, paths_of
from shoal.app.project.promises import elsewhere
from shoal.errors import InputError
from shoal.records.layout import format_of

if sys.platform != "win32":
    import fcntl

OWN, RELEASES = ".shoal", "releases"
CERTIFICATES = ("certificate.json", "certificate.html", "certificate.pdf")
UPLOAD_LIMIT = 4 * 10**9
"""Bytes of a file that a browser may bring, unless the app is started with another limit."""
MOST_LISTED, DEEPEST = 500, 4
_ID = re.compile(r"[a-z0-9]{12}")


@dataclass(frozen=True)
class DataFile:
    """A file that can be taken as data."""

    path: Path
    name: str
    """As the user knows it: relative to the workspace, or the name of the upload."""
    size: int
    uploaded: bool


@dataclass(frozen=True)
class Belongings:
    """What a project has in the workspace, besides what was counted and made for it."""

    uploads: tuple[DataFile, ...]
    """Those that no other project reads."""
    shared: Mapping[str, tuple[str, ...]]
    """Uploads that other projects read as well, and the names of those."""
    published: tuple[Path, ...]
    """Released files, with their certificates."""


class Workspace:
    """A folder of the owner's. Only one app at a time has it open."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        given = Path(folder)
        if not given.exists():
            own_folder(given)  # a folder that was there keeps its rights: it is not ours
        if not given.is_dir():
            raise InputError(f"{given} is a file, not a folder; name a folder for the workspace")
        self.folder = given.resolve()
        self.own = own_folder(self.folder / OWN)
        if self.own.is_symlink() or self.own.resolve() != self.own:
            raise InputError(f"{self.own} is a link to another place; remove it, or name another workspace")
        if not (self.own / ".gitignore").exists():
            write_own(self.own / ".gitignore", b"*\n")  # a workspace may be a checkout: nothing of this belongs into it
        self.uploads = own_folder(self.own / "uploads")
        self.projects_folder = own_folder(self.own / "projects")
        self.passing = own_folder(self.own / "passing")
        """Where parts of uploads lie on their way."""
        self.upload_limit = UPLOAD_LIMIT
        self.host: str | None = None
        """Behind the proxy of an office, the host that browsers know it by: then they run on other machines."""
        self._lock: IO[bytes] | None = None

    def lock(self) -> None:
        """Takes the workspace for this process. Raises if another app has it open."""
        number = os.open(self.own / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._lock = os.fdopen(number, "r+b")
        if sys.platform == "win32":  # two apps would both work, and each would miss the other's jobs
            return
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise InputError(
                f"{self.folder} is open in another shoal app; use that one, end it, or name another workspace"
            ) from None
        _empty(self.passing)

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    # Settings of the whole app, such as the theme.

    @property
    def settings(self) -> dict[str, Any]:
        return read_json(self.own / "settings.json")

    def set(self, **values: Any) -> None:
        write_json(self.own / "settings.json", self.settings | values)

    # Files.

    def file_called(self, given: str) -> Path:
        """The file that a user names, relative to the workspace. Raises unless it is a plain file inside of it."""
        shown = given if len(given) <= 80 else f"{given[:77]}..."
        if not given.strip() or "\x00" in given:
            raise InputError("no file is named; type the name of a file in the workspace")
        path = self.inside(self.folder / given.strip(), shown)
        if self.own in path.parents and self.uploads not in path.parents:
            raise InputError(f"{shown}: it belongs to the app itself; name a file of data")
        return path

    def inside(self, path: Path, shown: str | None = None) -> Path:
        """The path without links. Raises unless it is a plain file in the workspace."""
        shown = shown or str(path)
        try:
            found = path.resolve(strict=True)
            kind = found.stat().st_mode
        except (OSError, RuntimeError, ValueError):
            if not _leads_out(path, self.folder):
                raise InputError(f"{shown}: there is no such file in the workspace; check its name") from None
            found, kind = self.folder.parent, stat.S_IFDIR  # what is outside is not even told to exist
        if not found.is_relative_to(self.folder):
            raise InputError(
                f"{shown}: it lies outside the workspace ({self.folder}), where the app does not read; upload it, "
                "or start the app with its folder as the workspace"
            )
        if not stat.S_ISREG(kind):
            raise InputError(
                f"{shown}: it is not a regular file; name a file of data (the command line reads folders, such as FHIR exports)"
            )
        return found

    def check(self, document: dict[str, Any], folder: Path) -> None:
        """Raises if a plan in a folder reads anything from outside the workspace, or asks for what the app does not do."""
        for key, path in paths_of(document):
            if path == "-" or "://" in path:
                raise InputError(f"{key}: {path!r} is not a file; the app reads files of the workspace alone")
            if not key.startswith("outputs.") or key == "outputs.sign":
                self.inside(folder / path, path)
            elif not (folder / path).resolve().is_relative_to(self.folder):
                raise InputError(f"{key}: {path} lies outside the workspace; name a file inside of it")
        if (why := elsewhere(document)) is not None:
            raise InputError(f"this plan does not run in the app. {why}")

    def files(self) -> list[DataFile]:
        """Files of data that can be taken: uploads first, then what lies in the workspace, by name."""
        return [*self._uploaded(), *sorted(self._lying_here(), key=lambda file: file.name)]

    def _uploaded(self) -> Iterator[DataFile]:
        for path in sorted(self.uploads.iterdir()):
            if path.is_file() and not path.name.startswith("."):
                yield DataFile(path, path.name, path.stat().st_size, True)

    def _lying_here(self) -> Iterator[DataFile]:
        listed = 0
        for folder, folders, names in os.walk(self.folder):
            depth = len(Path(folder).relative_to(self.folder).parts)
            folders[:] = sorted(name for name in folders if not name.startswith(".") and depth < DEEPEST)
            for name in sorted(names):
                path = Path(folder, name)
                if name.startswith(".") or format_of(name)[0] is None or path.is_symlink() or not path.is_file():
                    continue
                yield DataFile(path, str(path.relative_to(self.folder)), path.stat().st_size, False)
                listed += 1
                if listed == MOST_LISTED:
                    return

    async def keep_upload(self, name: str, chunks: AsyncIterator[bytes]) -> Path:
        """Keeps what a browser sends, for the owner alone. A broken upload leaves nothing, and so does one that is too large."""
        size = 0
        with self.part() as part:
            with part.open("wb") as file:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > self.upload_limit:
                        raise InputError(too_large(safe_name(name), self.upload_limit))
                    file.write(chunk)
            return self.keep(part, name)

    @contextmanager
    def part(self) -> Iterator[Path]:
        """A file on its way to the uploads, for the owner alone. It is gone afterwards, unless it was kept."""
        part = self.passing / secrets.token_hex(8)
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            yield part
        finally:
            part.unlink(missing_ok=True)

    def keep(self, part: Path, name: str) -> Path:
        """Makes a file that is here in full an upload of this name, or one like it."""
        target = free_name(self.uploads, name)
        os.replace(part, target)
        return target

    # Projects.

    def projects(self) -> list[Project]:
        """The newest first."""
        found = [self.project(path.name) for path in self.projects_folder.iterdir() if _ID.fullmatch(path.name)]
        return sorted((project for project in found if project), key=lambda project: project.created, reverse=True)

    def project(self, id: str) -> Project | None:
        """The project of this id, if there is one. An id is never taken for a path."""
        if not _ID.fullmatch(id) or not (self.projects_folder / id / "settings.json").is_file():
            return None
        return Project(self.projects_folder / id)

    def new_project(self, name: str) -> Project:
        folder = own_folder(self.projects_folder / secrets.token_hex(6))
        own_folder(folder / "jobs")
        created = datetime.now(UTC).isoformat(timespec="seconds")
        write_json(folder / "settings.json", {"name": safe_name(name), "created": created})
        return Project(folder)

    def belongings(self, project: Project) -> Belongings:
        """What a project has in the workspace."""
        others = {other.name: self._used(other) for other in self.projects() if other.id != project.id}
        used = self._used(project)
        mine = [file for file in self._uploaded() if file.path in used]
        shared = {file.name: [name for name, theirs in others.items() if file.path in theirs] for file in mine}
        released = [path for job in sorted((project.folder / "jobs").glob("*")) for path in _published(job)]
        return Belongings(
            tuple(file for file in mine if not shared[file.name]),
            {name: tuple(users) for name, users in shared.items() if users},
            tuple(released),
        )

    def idle_uploads(self) -> list[DataFile]:
        """Uploads that no project has taken."""
        used = {path for project in self.projects() for path in self._used(project)}
        return [file for file in self._uploaded() if file.path not in used]

    def _used(self, project: Project) -> frozenset[Path]:
        """The files that a project reads, or has read."""
        now = [path for _, path in paths_of(project.draft) if "://" not in path]
        return frozenset((project.folder / path).resolve() for path in (*now, *project.files))

    def remove_project(self, project: Project, *, uploads: bool = True, releases: bool = True) -> Path | None:
        """All that was made for it, and the uploads that no other project has. End its jobs first (`Jobs.end_of`).

        With `releases` false, published files and their certificates are moved to a folder of the workspace, which is returned.
        """
        if project.folder.parent != self.projects_folder or not _ID.fullmatch(project.id):
            return None
        held = self.belongings(project)
        kept = None if releases or not held.published else self._keep_published(project, held.published)
        shutil.rmtree(project.folder)
        for file in held.uploads if uploads else ():
            file.path.unlink(missing_ok=True)
        return kept

    def _keep_published(self, project: Project, published: Iterable[Path]) -> Path:
        """Moves published files to a folder that anyone can see, one inside for each run if there are several."""
        folder = own_folder(free_name(own_folder(self.folder / RELEASES), project.name.partition(".")[0]))
        runs = {path.parent.parent.name for path in published}
        for path in published:
            home = folder if len(runs) == 1 else own_folder(folder / path.parent.parent.name)
            os.replace(path, free_name(home, path.name))
        return folder

    def wipe(self) -> None:
        """Removes all that is the app's own but keys: uploads, projects, jobs, settings. End all jobs first (`Jobs.end_all`)."""
        _empty(self.uploads), _empty(self.passing), _empty(self.projects_folder)
        (self.own / "settings.json").unlink(missing_ok=True)


def too_large(name: str, limit: int) -> str:
    """Why an upload is refused, and the way round."""
    return (
        f"{name} is larger than {limit / 10**9:g} GB, the most that is copied into the workspace; lay it into the workspace's folder "
        "yourself, and name it there: it is read where it lies"
    )


def _published(job: Path) -> list[Path]:
    """The files of a job that may be published: the data, and the certificates that are about them."""
    result = read_json(job / "result.json")
    name = (result.get("release") or {}).get("output") or (result.get("output") if "of" in result else None)
    if not isinstance(name, str) or name != os.path.basename(name):
        return []
    named = (job / "out" / file for file in (name, *CERTIFICATES))
    return [path for path in named if path.is_file()]


def _leads_out(path: Path, folder: Path) -> bool:
    try:
        return not path.resolve().is_relative_to(folder)
    except (OSError, RuntimeError, ValueError):
        return False


def _empty(folder: Path) -> int:
    found = list(folder.iterdir())
    for path in found:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return len(found)
