"""What all benchmarks measure with, and what is noted about a run: when, on which commit and machine, beside how much other work."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = dict[str, Any]
MEASURED_CODE = ("src", "benchmarks/*.py", "pyproject.toml")


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


def cpu_seconds() -> float:
    """What this process has used so far, over all its threads: the same beside other work as without."""
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_mb(of_children: bool = False) -> int:
    """Peak memory of this process so far, or of the largest of its finished children."""
    import resource

    usage = resource.getrusage(resource.RUSAGE_CHILDREN if of_children else resource.RUSAGE_SELF)
    return usage.ru_maxrss // (1 if sys.platform != "darwin" else 1024) // 1024


@dataclass(frozen=True)
class Run:
    """One run of a section."""

    date: str
    commit: str
    """With a `+` where the measured code differed from that commit; none for other tools."""
    cores: int
    memory_gib: int
    python: str
    load: float | None
    """The load average of the last minute when the run began, None where it was not noted."""
    remark: str = ""
    processor: str = ""
    """Its model, as the system names it; none in records from before it was noted."""

    def line(self) -> str:
        facts = [self.date, self.commit and f"commit {self.commit}", f"{self.cores} cores", self.processor]
        facts.append(f"{self.memory_gib} GiB")
        facts += [
            self.python and f"Python {self.python}",
            "" if self.load is None else f"load {self.load:.1f} at the start",
        ]
        return f"{', '.join(fact for fact in facts if fact)}. {self.remark}".rstrip()

    def is_quiet(self) -> bool:
        """Whether the run had the machine to itself, as far as was noted when it began."""
        return self.load is not None and self.load <= self.cores


def run_now() -> Run:
    return Run(
        date=time.strftime("%Y-%m-%d"),
        commit=commit(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_gib=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        python=platform.python_version(),
        load=round(os.getloadavg()[0], 2),
        processor=processor(),
    )


def processor() -> str:
    """The model of the processor, or its kind where the system does not name it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.machine()


def commit() -> str:
    """The commit checked out, with a `+` where the code that is measured has changed since."""

    def answer(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    try:
        changed = answer("status", "--porcelain", "--", *MEASURED_CODE)
        return answer("rev-parse", "--short", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
