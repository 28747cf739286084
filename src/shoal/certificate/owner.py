"""What is the owner's alone: the key that turns the hash of a secret into one that only its owner can check, and the report.

A plain hash of raw data lets anyone test a guess of it. An HMAC under a key that never leaves its owner does not, and still
proves to whoever holds the key (the owner, a privacy board) which input a release was made from. The key is 32 random bytes in
a file that only its owner may read: the one that `SHOAL_KEY` names, else `shoal/owner.key` in the user's configuration folder. It is made
when it is first needed.

The report has all figures of a release, exact. Losses to the last digit, what became of rare items and what the original gave away would
undo what a certificate keeps back. Its file is readable for its owner alone, and says whom it is for.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.records.stores.remote import has_scheme

REPORT = "shoal report 1"
OWNER = "the owner; do not publish"
"""Whom exact figures are for."""
LENGTH = 32
_LARGEST = 1 << 16


def key_path() -> Path:
    """Where the key lies, or will lie."""
    if given := os.environ.get("SHOAL_KEY"):
        if has_scheme(given):
            raise InputError("SHOAL_KEY holds an address; your key stays on this machine: name a file there")
        return Path(given)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "shoal" / "owner.key"


def has_key() -> bool:
    """Whether there is a key already."""
    try:
        return key_path().exists()
    except (OSError, RuntimeError):  # RuntimeError: the user has no home
        return False


def owner_files() -> list[tuple[str, Path]]:
    """What no command may write over, with what it is called."""
    try:
        return [("your key for the hashes in certificates", key_path())]
    except RuntimeError:  # the user has no home
        return []


def owner_key() -> bytes | None:
    """The key, made now if there is none yet; None where it can neither be read nor stored."""
    try:
        path = key_path()
        if not path.exists():
            _store(path, os.urandom(LENGTH))
        with path.open("rb") as file:
            key = file.read(_LARGEST + 1)
    except (OSError, RuntimeError):  # RuntimeError: the user has no home
        return None
    return key if LENGTH <= len(key) <= _LARGEST else None


def hmac_of(sha256: str, key: bytes) -> str:
    """HMAC-SHA256 of a SHA-256, both in hex: to check it, hash the data, then key the hash."""
    return hmac.new(key, bytes.fromhex(sha256), hashlib.sha256).hexdigest()


def key_id(key: bytes) -> str:
    """Tells an owner of several keys which one was used, and nobody anything about it."""
    return hashlib.sha256(b"shoal key id" + key).hexdigest()[:8]


def report_bytes(facts: Mapping[str, Any]) -> bytes:
    """The facts of a release as the owner's file has them."""
    content = {"report": REPORT, "for": OWNER} | dict(facts) | {"report": REPORT}
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def _store(path: Path, key: bytes) -> None:
    """Written whole under another name, then linked: of two first runs at the same time one wins, and both use its key."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    arriving = path.with_name(f".{path.name}.{os.getpid()}")
    arriving.unlink(missing_ok=True)
    try:
        with open(os.open(arriving, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(arriving, path)
    finally:
        arriving.unlink(missing_ok=True)
