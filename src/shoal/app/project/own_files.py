"""Files of the app: for their owner alone, and there in full or not at all."""

from __future__ import annotations

import json
import os
import re
import tempfile
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import InputError

LONGEST_NAME = 120
"""Bytes of a file's name: file systems take 255, and endings such as `.certificate.json` come on top."""

_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}


def own_folder(path: Path) -> Path:
    """The folder, made if need be, which only its owner may enter."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
    except OSError as error:
        raise InputError(f"{path} cannot be used as a folder ({error.strerror}); name another") from error
    return path


def write_own(path: Path, data: bytes) -> None:
    """Writes a file that only its owner may read. Whoever reads it finds the old bytes or the new ones."""
    number, staged = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")  # 0600
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
        os.replace(staged, path)
    except BaseException:
        Path(staged).unlink(missing_ok=True)
        raise


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    write_own(path, (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace"))


def read_json(path: Path) -> dict[str, Any]:
    """The document in a file of ours; empty where there is none, or none of ours."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def safe_name(given: str) -> str:
    """A name that is a name on every system: no path, no control characters, not hidden, not too long. Letters of all scripts stay."""
    text = unicodedata.normalize("NFC", given).replace("\\", "/").rsplit("/", 1)[-1]
    text = _UNSAFE.sub("-", "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co")))
    text = text.strip(" .-") or "data"
    if text.split(".", 1)[0].lower() in _RESERVED:
        text = f"{text.split('.', 1)[0]}-{text.partition('.')[1]}{text.partition('.')[2]}".rstrip(".-") or "data"
    stem, dot, ending = text.partition(".")
    if len(text.encode()) > LONGEST_NAME:
        ending = ending[-20:]
        room = LONGEST_NAME - len(ending.encode()) - 1
        stem = stem.encode()[:room].decode(errors="ignore").rstrip() or "data"
    return f"{stem}{dot}{ending}"


def free_name(folder: Path, wanted: str) -> Path:
    """The wanted name in a folder, or one with a number where it is taken: `data.csv`, `data-2.csv`."""
    name = safe_name(wanted)
    stem, dot, ending = name.partition(".")
    number = 1
    while os.path.lexists(path := folder / (name if number == 1 else f"{stem}-{number}{dot}{ending}")):
        number += 1
    return path
