"""Contents: what a result depends on, as a key to find it again.

A key is a hash of the bytes of all files that a document reads and of everything else that matters.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from shoal.app.project.own_files import read_json, write_json
from shoal.app.project.project import Project, paths_of
from shoal.records.source import fingerprint


def key_of(project: Project, document: Mapping[str, Any], **besides: Any) -> str:
    """What a result on a document depends on: the document without its outputs, the bytes it reads, and what is named besides."""
    asked = {name: part for name, part in document.items() if name != "outputs"}
    files = {key: _hash(project, project.folder / path) for key, path in paths_of(asked)}
    return sha256(json.dumps([asked, files, besides], sort_keys=True).encode()).hexdigest()[:32]


def _hash(project: Project, path: Path) -> str | None:
    """The hash of a file's bytes. It is remembered for as long as size, time and place of the file stay the same."""
    try:
        found = path.resolve(strict=True)
        status = found.stat()
    except (OSError, RuntimeError):
        return None
    mark = [os.fspath(found), status.st_size, status.st_mtime_ns, status.st_ino]
    known = read_json(project.folder / "hashes.json")
    name = sha256(os.fsencode(found)).hexdigest()[:16]
    if known.get(name, {}).get("mark") != mark:
        known[name] = {"mark": mark, "sha256": fingerprint(found)}
        write_json(project.folder / "hashes.json", known)
    return str(known[name]["sha256"])
