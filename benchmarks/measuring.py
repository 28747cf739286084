"""What all benchmarks measure with."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def folder() -> Path | None:
    named = os.environ.get("SHOAL_DATA")
    return Path(named) if named and Path(named).is_dir() else None


def timed(run: Callable[[], Any], least: float = 0.5, most: int = 7) -> tuple[float, Any]:
    """The best of several runs, as seconds and the last result."""
    best, spent, times, answer = float("inf"), 0.0, 0, None
    while times < 1 or (spent < least and times < most):
        start = time.perf_counter()
        answer = run()
        took = time.perf_counter() - start
        best, spent, times = min(best, took), spent + took, times + 1
    return best, answer


def peak_mb() -> int:
    """Peak memory of this process so far."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 if sys.platform != "darwin" else 1024) // 1024
