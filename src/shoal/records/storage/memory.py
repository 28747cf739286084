"""Residence: pages of mapped files are given back before the process grows past its limit.

The system keeps the pages of a mapped file in memory as long as there is room, and counts them as the process's own. Nothing is lost when
they are given back: what was written is in the file's cache, from which the next touch brings it again, at a microsecond for a few pages.
So any thread may walk over an array while its pages go.

A thread of its own looks at the resident size, the more often the less is left, for a kernel may run through gigabytes between two lines
of Python. Where the system does not tell the resident size (it does on Linux) nothing is watched, and the limit is on private memory.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import threading
import time
import weakref

_FILLED = 2
"""Pages go when half of the limit is in memory. The other half is for what comes in until the next look, which a busy machine delays."""
_WORTH = 16
"""And when there is a sixteenth of the limit of them: fewer would be back at once, if it is something else that fills the memory."""
_SPEED = 16 * 10**9
"""Bytes that may come in for one core in a second (sixteen pages at a touch); it only says how long not to look."""
_SHORTEST, _LONGEST = 0.001, 0.005
"""Seconds between two looks. One takes about ten microseconds."""

_mapped: weakref.WeakKeyDictionary[mmap.mmap, int] = weakref.WeakKeyDictionary()
"""The limit that each mapped file was told, as long as somebody uses it."""
_lock = threading.Lock()
_watcher: threading.Thread | None = None


def keep_below(limit: int, mapping: mmap.mmap) -> None:
    """From now on the mapping gives its pages back before the resident size of the process reaches so many bytes.

    It must be shared or read-only: what is written to a private one would be lost.
    """
    global _watcher
    with _lock:
        _mapped[mapping] = limit
        if resident_bytes() is not None and not (_watcher and _watcher.is_alive()):
            _watcher = threading.Thread(target=_watch, name="shoal-residence", daemon=True)
            _watcher.start()


def give_back() -> None:
    """Takes the pages of all these mappings out of memory. What they hold stays."""
    with _lock:
        mappings = list(_mapped)
    if hasattr(mmap, "MADV_DONTNEED"):
        for mapping in mappings:
            with contextlib.suppress(ValueError):  # closed meanwhile
                mapping.madvise(mmap.MADV_DONTNEED)


def resident_bytes() -> tuple[int, int] | None:
    """What of this process is in memory: all of it, and pages of files; None where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            _, resident, of_files, *_ = map(int, file.read().split())
    except OSError:
        return None
    return resident * mmap.PAGESIZE, of_files * mmap.PAGESIZE


def peak_bytes() -> int | None:
    """The most that this process has held in memory so far; None where the system does not tell."""
    try:
        with open("/proc/self/status", "rb") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith(b"VmHWM:"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:  # Windows
        return None
    # On Linux this one begins with the peak of the parent process, so it comes second.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


def _watch() -> None:
    """Runs until nothing is mapped."""
    global _watcher
    speed, left = _SPEED * (os.cpu_count() or 1), 0
    while (found := resident_bytes()) is not None:
        with _lock:
            limit = min(_mapped.values(), default=None)
            if limit is None:
                _watcher = None
                return
        resident, of_files = found
        left = min(left, of_files)  # of files that cannot be given back, such as libraries
        if resident > limit // _FILLED and of_files - left > limit // _WORTH:
            give_back()
            left = (resident_bytes() or found)[1]
        time.sleep(min(max((limit - resident) / speed, _SHORTEST), _LONGEST))


def _alone() -> None:
    """A child process has no thread but the one that forked, which may have done so while another held the lock."""
    global _lock, _watcher
    _lock, _watcher = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_alone)
