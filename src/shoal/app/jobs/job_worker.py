"""A job's own process: `python -m shoal.app.jobs.job_worker JOBFOLDER`.

It writes into the folder alone: `state.json` a few times a second, what it makes into `work/`, which becomes `out/` in one step when all
is done. It ends when the app does: its standard input is a pipe from there, which ends with it, and on Linux the kernel is asked as well,
for a long computation may keep the thread that watches the pipe from running.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from shoal.app.jobs.processes import CRASHED
from shoal.app.project.own_files import own_folder, read_json, write_json
from shoal.app.project.project import spoken
from shoal.app.project.wording import in_app_words
from shoal.errors import ShoalError, way_to

EVERY = 0.25
"""Seconds between two writings of the state."""

_BOUND = re.compile(r"at least ([0-9.]+)% lost")
_BEST = re.compile(r"([0-9.]+)% lost|best(?: so far)? ([0-9.]+)%")


class Teller:
    """Writes where a job stands. It is called as the algorithms call their progress."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state: dict[str, Any] = read_json(folder / "state.json") | {"phases": [], "pid": os.getpid()}
        self._written = 0.0
        self._since = time.monotonic()
        self._stage = ""

    def __call__(self, doing: str, share: float) -> None:
        if (bound := _BOUND.search(doing)) is not None:
            self.state["bound"] = float(bound[1]) / 100
        if (best := _BEST.search(_BOUND.sub("", doing))) is not None:
            self.state["best"] = float(best[1] or best[2]) / 100
        self.state |= {"phase": doing, "share": round(min(1.0, max(0.0, share)), 4)}
        if time.monotonic() - self._written >= EVERY:
            self.write()

    def stage(self, name: str) -> None:
        """Begins a stage of the job: what the page lists as done and still to do."""
        self._close()
        self._stage, self._since = name, time.monotonic()
        self.state |= {"stage": name, "phase": name, "share": 0.0}
        self.write()

    def note(self, **facts: Any) -> None:
        """Adds to the state, for the page."""
        self.state |= facts
        self.write()

    def end(self, status: str, error: str | None = None) -> None:
        self._close()
        self.state |= {"status": status, "ended": time.time()} | ({} if error is None else {"error": error})
        self.write()

    def write(self) -> None:
        self._written = time.monotonic()
        write_json(self.folder / "state.json", self.state)

    def _close(self) -> None:
        if self._stage:
            seconds = round(time.monotonic() - self._since, 3)
            self.state["phases"] = [*self.state["phases"], {"name": self._stage, "seconds": seconds}]
            self._stage = ""


def work(folder: Path) -> int:
    """Runs the job in a folder and returns the exit code."""
    from shoal.plan import read_plan

    about = read_json(folder / "job.json")
    tell = Teller(folder)
    tell.write()
    target = folder / "work"
    shutil.rmtree(target, ignore_errors=True)
    own_folder(target)
    try:
        task = import_module(f"shoal.app.jobs.tasks.{about['task']}_task")
        result: Mapping[str, Any] = task.work(
            read_plan(folder / "plan.yaml"), target, tell, **dict(about.get("options") or {})
        )
        write_json(folder / "result.json", in_app_words(result))
        os.replace(target, folder / "out")
        tell.end("done")
        return 0
    except ShoalError as error:
        tell.end("failed", spoken(error))
        return error.exit_code
    except MemoryError:
        tell.end("failed", "There is not enough memory for this; take fewer rows, or a larger machine.")
        return 2
    except OSError as error:
        print(way_to(error), file=sys.stderr)
        reason = error.strerror or "the disk or a file failed"
        tell.end("failed", f"A file could not be read or written ({reason}); check the disk, then run it again.")
        return 2
    except Exception as error:
        print(way_to(error), file=sys.stderr)
        tell.end("failed", CRASHED)
        return 1
    finally:
        shutil.rmtree(target, ignore_errors=True)


def end_with_parent() -> None:
    """Asks Linux to end this process when the app ends."""
    parent = os.getppid()
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # it ended in between
            os._exit(1)


def _end_with_the_app() -> None:
    end_with_parent()

    def watch() -> None:
        while os.read(0, 1024):
            pass
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> int:
    os.umask(0o077)
    if hasattr(os, "nice"):
        os.nice(5)  # the pages come first
    _end_with_the_app()
    return work(Path(sys.argv[1]))


if __name__ == "__main__":
    sys.exit(main())
