"""What the machine has no room for, said in a sentence: memory, address space, disks.

Under a limit on address space (`ulimit -v`) libraries that cannot be mapped hang or abort instead of failing, so it is looked at
before they are loaded.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence

from shoal.errors import InputError

_LEAST = 1_800_000_000  # bytes of address space that the libraries map, most of which is never used
_PER_CORE = 100_000_000  # for the threads of one core

_DISKS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG, errno.ESTALE, errno.ENFILE, errno.EMFILE)
_NO_MEMORY = re.compile(r"failed to map segment|cannot allocate memory|can't start new thread", re.IGNORECASE)


def check_room(arguments: Sequence[str]) -> None:
    """Raises if a limit leaves no room for the libraries that a command needs."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # with more, it waits for ever for memory that it cannot get
    needed = _LEAST + _PER_CORE * (os.cpu_count() or 1)
    if limit < needed and arguments and not {"--help", "--version"} & set(arguments):
        raise InputError(
            f"the limit on address space (ulimit -v {limit // 1024}) leaves no room for the libraries; give at least "
            f"{-(-needed // 1024)}, most of which will not be used, or limit memory itself (systemd-run, a container, --memory-limit)"
        )


def is_of_standard_output(error: BaseException) -> bool:
    """Whether what failed was showing the result: files are named when they fail."""
    return isinstance(error, OSError) and error.filename is None and error.errno in (*_DISKS, errno.EBADF, errno.ENXIO)


def sentence_of(error: BaseException) -> str | None:
    """What to say of an error that the machine is the reason for; None for others."""
    if isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)) or getattr(error, "errno", None) == errno.ENOMEM:
        needed = str(error).partition(" for an array")[0] or "it ran out"
        return f"there is not enough memory ({needed}); take fewer rows, or a larger machine"
    if isinstance(error, OSError) and error.errno in _DISKS and isinstance(error.filename, str | bytes):
        place = os.path.basename(os.fsdecode(error.filename))
        return f"{place}: it cannot be read or written ({error.strerror}); check the disk, or name another folder in TMPDIR"
    return None
