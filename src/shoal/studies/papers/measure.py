"""Seconds and memory of one run, in a process that does nothing else.

Memory is the highest resident size while the run lasts less the size before it: what the algorithm needs beside its data. Linux can
reset the mark of the highest size; elsewhere the mark of the whole process is what there is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError
from shoal.records.storage.memory import peak_bytes, resident_bytes


@dataclass(frozen=True)
class Measurement:
    seconds: float
    megabytes: float
    answer: Any


def measure(run: Callable[[], Any], least: float = 0.3, most: int = 5) -> Measurement:
    """The best of up to `most` runs, or of as many as `least` seconds have room for; memory is that of the first."""
    before = _reset_peak()
    best, spent, times, megabytes, answer = float("inf"), 0.0, 0, 0.0, None
    while times < 1 or (spent < least and times < most):
        start = time.perf_counter()
        answer = run()
        took = time.perf_counter() - start
        if not times:
            megabytes = max(0.0, _peak() - before)
        best, spent, times = min(best, took), spent + took, times + 1
    return Measurement(best, round(megabytes, 1), answer)


def check_promise(promise: Any, published: Any) -> None:
    """Raises unless the promise's own audit passes: no figure is shown for a release that could not be published."""
    audit = promise.audit(published)
    if not audit.holds:
        raise ShoalError(
            f"the audit refuses what was measured: {promise} does not hold ({audit.violations:,} violations)"
        )


def _reset_peak() -> float:
    """Megabytes that the process holds now, from where the peak counts."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return _peak()
    now = resident_bytes()
    return _peak() if now is None else now[0] / (1 << 20)


def _peak() -> float:
    return (peak_bytes() or 0) / (1 << 20)
