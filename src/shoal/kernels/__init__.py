"""The only Numba code: arrays in, arrays out. Compiled at first use and cached beside the package or in the user's cache.

Where neither may be written (a read-only install, a user without a home), machine code goes to a private folder of this run: a name that
others could know beforehand would let them plant code there.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile

from shoal.errors import InputError

_SETTING = "NUMBA_CACHE_DIR"


def are_kept() -> bool:
    """Whether machine code is there for the next run, too."""
    return _temporary is None


def _cache_for_this_run() -> str | None:
    """A private folder for machine code, which goes with this process; None where there is a place that stays."""
    if any(map(_is_writable, _places())):
        return None
    try:
        folder = tempfile.mkdtemp(prefix="shoal-kernels-")  # for its owner alone
    except OSError:
        raise InputError(
            f"compiled kernels can be kept neither beside the package nor in your home nor in a temporary folder; name one in {_SETTING}"
        ) from None
    os.environ[_SETTING] = folder  # for processes that this one starts, too
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder
    atexit.register(_remove, folder, os.getpid())
    return folder


def _places() -> list[str]:
    """Where Numba keeps machine code, in its own order."""
    home = os.path.expanduser("~")
    caches = {"win32": os.environ.get("LOCALAPPDATA", home), "darwin": os.path.join(home, "Library", "Caches")}
    cache = caches.get(sys.platform) or os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    given = [folder] if (folder := os.environ.get(_SETTING)) else []
    return [*given, os.path.join(os.path.dirname(__file__), "__pycache__"), os.path.join(cache, "numba")]


def _is_writable(folder: str) -> bool:
    try:
        os.makedirs(folder, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # not when a child ends
        shutil.rmtree(folder, ignore_errors=True)


_temporary = _cache_for_this_run()
