"""The process that estimates: `python -m shoal.app.jobs.estimator`. It stays, so that what was loaded and read once serves the next one.

A line of its standard input is a request, or null to give up the one before; a line of its standard output is a piece of news about a
request (its phase, an estimate, why there is none, that it is over). It ends with its input, that is, with the app.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from importlib import import_module
from typing import Any, TextIO

from shoal.app.jobs.job_worker import end_with_parent
from shoal.app.panels.promise.estimates import CRASHED
from shoal.app.panels.promise.trial import Trials
from shoal.app.project.project import spoken
from shoal.errors import ShoalError, way_to

EVERY = 0.2
"""Seconds between two words about what is being done."""
NO_MEMORY = "There is not enough memory for this; take a smaller sample."


class GivenUp(Exception):  # noqa: N818 - it is no error
    """Nobody waits for this estimate any more."""


class Desk:
    """Where requests come in and news goes out."""

    def __init__(self, inward: TextIO, outward: TextIO) -> None:
        self.inward, self.outward = inward, outward
        self.requests: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.given_up = threading.Event()

    def listen(self) -> None:
        """Takes requests in until the app is gone; a null ends the one that is being worked on."""
        for line in self.inward:
            request = json.loads(line)
            if request is None:
                self.given_up.set()
            else:
                self.requests.put(request)
        os._exit(0)

    def say(self, id: int, **news: Any) -> None:
        self.outward.write(json.dumps({"id": id, **news}) + "\n")
        self.outward.flush()


class Telling:
    """Passes on what is being done, and ends what nobody waits for."""

    def __init__(self, desk: Desk, id: int) -> None:
        self.desk, self.id = desk, id
        self._said = 0.0

    def __call__(self, doing: str, share: float) -> None:
        if self.desk.given_up.is_set():
            raise GivenUp
        if time.monotonic() - self._said >= EVERY:
            self._said = time.monotonic()
            self.desk.say(self.id, phase=doing)

    def stage(self, name: str) -> None:
        if self.desk.given_up.is_set():
            raise GivenUp
        self.desk.say(self.id, phase=name)


def answer(desk: Desk, trials: Trials, request: dict[str, Any]) -> None:
    """Works on one request."""
    from shoal.plan import plan_of

    id = int(request["id"])
    tell = Telling(desk, id)
    try:
        plan = plan_of(request["document"])
        if request["rows"] is None:
            for found in trials.growing(plan, tell):
                desk.say(id, found=found)
        else:
            trials.warmed(plan, tell)
            desk.say(id, found=trials.tried(plan, tell, int(request["rows"])))
        desk.say(id, over=True)
    except GivenUp:
        desk.say(id, over=True)
    except ShoalError as error:
        desk.say(id, error=spoken(error))
    except MemoryError:
        desk.say(id, error=NO_MEMORY)
    except Exception as error:
        print(way_to(error), file=sys.stderr)
        desk.say(id, error=CRASHED)


def main() -> None:
    os.umask(0o077)
    if hasattr(os, "nice"):
        os.nice(5)  # the pages come first
    end_with_parent()
    outward = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed goes to the log
    desk, trials = Desk(sys.stdin, outward), Trials()
    threading.Thread(target=desk.listen, daemon=True).start()
    for name in ("shoal.release", "shoal.evaluate.raw_risk"):  # while the first request is still being asked
        import_module(name)
    while True:
        request = desk.requests.get()
        desk.given_up.clear()
        if request is not None:
            answer(desk, trials, request)


if __name__ == "__main__":
    main()
