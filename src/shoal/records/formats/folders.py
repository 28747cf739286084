"""Folders of Parquet files, as Spark writes them: one table, whose rows lie in several files. Or of NDJSON, as FHIR servers export them.

What Spark does not read is not read here either: names that begin with _ or a dot, which are its own marks. Where the two could read
different rows (folders within, links, a table format over the files), nothing is read and the reason is named.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shoal.errors import InputError

_TABLES = {"_delta_log": "Delta", ".hoodie": "Hudi"}
_MARK = re.compile(r"_SUCCESS|_(started|committed)_\d+")
_CHECKSUM = re.compile(r"\.(.+)\.crc")
_CHUNK = 512
"""Bytes that Hadoop's checksum files have four bytes for, after a head of eight."""


_NDJSON = re.compile(r".*\.ndjson(\.gz)?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Entry:
    """Something in a folder."""

    name: str
    kind: str
    """`file`, `folder`, `link` or `other`."""
    size: int = 0


@dataclass(frozen=True)
class Beside:
    """What lies in a folder and is not part of its table."""

    strange: tuple[str, ...] = ()
    """Names that neither the table nor Spark's bookkeeping accounts for."""
    marks: tuple[str, ...] = ()
    """Bookkeeping of Spark's and its stores' that holds something, which is not read."""


def entries_of(folder: str | os.PathLike[str]) -> tuple[Entry, ...]:
    """Everything in a folder of this machine."""
    found = []
    with os.scandir(folder) as each:
        for one in each:
            status = one.stat(follow_symlinks=False)
            kinds = ((stat.S_ISLNK, "link"), (stat.S_ISDIR, "folder"), (stat.S_ISREG, "file"))
            found.append(
                Entry(one.name, next((kind for is_it, kind in kinds if is_it(status.st_mode)), "other"), status.st_size)
            )
    return tuple(found)


def export_files(entries: Iterable[Entry], source: str) -> tuple[str, ...]:
    """The names of the NDJSON files in a folder, sorted; none where it holds no export. What else lies there is not read."""
    found = sorted(
        (one for one in entries if _NDJSON.fullmatch(one.name) and not _ignored(one.name)), key=lambda e: e.name
    )
    if strange := [one.name for one in found if one.kind != "file"]:
        raise InputError(f"{source}: {strange[0]!r} in it is not a plain file; put the file itself there")
    return tuple(one.name for one in found)


def data_files(entries: Iterable[Entry], source: str) -> tuple[str, ...]:
    """The names of the files that hold the rows, sorted; raises where it is not plain which those are."""
    entries = tuple(entries)
    for entry in entries:
        if entry.name in _TABLES:
            raise InputError(
                f"{source}: it is a {_TABLES[entry.name]} table, whose files may hold rows that are no longer in it; "
                "write it as plain Parquet first"
            )
    seen = sorted((entry for entry in entries if not _ignored(entry.name)), key=lambda entry: entry.name)
    for entry in seen:
        if entry.kind == "folder":
            raise InputError(
                f"{source}: there is a folder in it, {entry.name!r}; give a folder that holds nothing but Parquet files"
            )
        if entry.kind != "file":
            what = "a link" if entry.kind == "link" else "not a plain file"
            raise InputError(f"{source}: {entry.name!r} in it is {what}; put the file itself there")
    if not seen:
        raise InputError(f"{source}: it is a folder without Parquet files; name a file, or a folder that has some")
    return tuple(entry.name for entry in seen)


def beside(entries: Iterable[Entry]) -> Beside:
    """What else lies in a folder of Parquet files: whoever passes the folder on passes it on, too."""
    entries = tuple(entries)
    sizes = {entry.name: entry.size for entry in entries if entry.kind == "file"}
    strange, marks = [], []
    for entry in sorted(entries, key=lambda entry: entry.name):
        if not _ignored(entry.name) or _is_checksum(entry, sizes):
            continue
        if entry.kind == "file" and _MARK.fullmatch(entry.name):
            marks += [entry.name] if entry.size else []
        else:
            strange.append(entry.name)
    return Beside(tuple(strange), tuple(marks))


def folder_sha256(folder: str | os.PathLike[str], names: Sequence[str]) -> str:
    """The hash of these files of a folder: of their names and bytes."""
    digest = hashlib.sha256(b"shoal folder 1\n")
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            own = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(json.dumps([name, own]).encode())
    return digest.hexdigest()


def _ignored(name: str) -> bool:
    """Spark's rule (HadoopFSUtils.shouldFilterOutPathName, and what it then takes for data)."""
    return (name.startswith("_") and "=" not in name) or name.startswith(".") or name.endswith("._COPYING_")


def _is_checksum(entry: Entry, sizes: dict[str, int]) -> bool:
    """Whether it is the checksum file of another one, and no longer than that takes."""
    of = _CHECKSUM.fullmatch(entry.name)
    if of is None or entry.kind != "file" or of[1] not in sizes:
        return False
    return entry.size <= 8 + 4 * -(-sizes[of[1]] // _CHUNK)
