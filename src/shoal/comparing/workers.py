"""Processes that compute cells: started, watched, stopped when they take too long, and told apart when they fail."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, fields
from typing import IO, Any

from shoal.comparing.cells import FAULT, MEMORY, REFUSED, STOPPED, Cell, Outcome
from shoal.plan import Origin

CHANGED = "the input changed while it was compared; compare again"
_START = "import sys; sys.path[:] = sys.argv[1:]; from shoal.comparing.worker import main; main()"


@dataclass
class Worker:
    """A process that computes one cell."""

    cell: Cell
    key: str
    repeat: int
    threads: int
    jobs: int
    limit: float | None
    input_sha256: str
    _process: subprocess.Popen[bytes]
    _told: IO[bytes]
    _clock: float | None = None
    begun: float = field(default_factory=time.monotonic)

    @classmethod
    def start(cls, cell: Cell, origin: Origin, **about: Any) -> Worker:
        """Starts a fresh interpreter, so that memory is the cell's own, in a group of its own, so that Ctrl-C does not reach it."""
        told = tempfile.TemporaryFile()  # noqa: SIM115
        threads = str(about["threads"])
        libraries = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), threads)
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, *sys.path],
            stdin=subprocess.PIPE,
            stdout=told,
            stderr=subprocess.DEVNULL,
            env={**libraries, **os.environ},
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        worker = cls(cell, _process=process, _told=told, **about)
        request = {
            "document": dict(cell.document),
            "name": origin.name,
            "folder": origin.folder,
            "threads": worker.threads,
        }
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it ended already; the outcome says how
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        return worker

    def outcome(self) -> Outcome | None:
        """What came of the cell; None while it is computed."""
        code = self._process.poll()
        if code is None:
            if self._clock is None and os.fstat(self._told.fileno()).st_size:
                self._clock = time.monotonic()
            if self.limit is None or self._clock is None or time.monotonic() - self._clock <= self.limit:
                return None
            self.stop()
            return self._made({"status": STOPPED, "reason": f"it took longer than {self.limit:g} seconds"})
        told = self._last_line()
        self._close()
        if "status" in told:
            if told.pop("input_sha256", self.input_sha256) != self.input_sha256:
                return self._made({"status": REFUSED, "reason": CHANGED})
            return self._made(told)
        if code == -getattr(signal, "SIGKILL", 9):
            return self._made({"status": MEMORY, "reason": "the system ended it, most likely for lack of memory"})
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return self._made({"status": FAULT, "reason": f"its process ended without a word ({how}); please report it"})

    def stop(self) -> None:
        """Ends the process now."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        self._close()

    def _made(self, told: dict[str, Any]) -> Outcome:
        known = {one.name for one in fields(Outcome)}
        about = {"jobs": self.jobs, "limit": self.limit, "repeat": self.repeat, "threads": self.threads}
        return Outcome(key=self.key, **(about | {name: value for name, value in told.items() if name in known}))

    def _last_line(self) -> dict[str, Any]:
        self._told.seek(0)
        lines = self._told.read().splitlines()
        try:
            found = json.loads(lines[-1])
        except (IndexError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _close(self) -> None:
        self._told.close()
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
