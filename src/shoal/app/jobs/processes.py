"""Processes of the app: how one is ended, and what is said of one that ended by a fault."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import Any

CRASHED = "Shoal itself failed here; this is a fault of ours. The log in the job's folder says where: please report it."


def end_group(process: subprocess.Popen[Any]) -> None:
    """Ends a worker and whatever it has started, and waits until it is gone: only then may its files be removed."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)
    if process.stdin:
        with contextlib.suppress(OSError):
            process.stdin.close()
