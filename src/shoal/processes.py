"""Child processes: one way to start them, ask them, hear from them and end them.

A child is a fresh interpreter that calls one function, `work(request, tell)`, for each request. Requests go in and news come out as lines
of JSON: first facts about what is being done, then the answer, which is a result or an error with all that it carries. The parent looks for
news when it likes, and also learns there that the child died. Whatever libraries print goes to the child's log.

A child leads a process group of its own, so that Ctrl-C does not reach it and ending it ends whatever it started. It never outlives its
parent: its standard input is a pipe that closes with the parent, and on Linux the kernel is asked as well, because a long computation may
keep the thread that watches the pipe from running.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from shoal import errors
from shoal.errors import ShoalError, way_to

EVERY = 0.2
"""Seconds between two words about progress."""
_START = "import sys; sys.path[:] = sys.argv[3:]; from shoal.processes import serve; serve(*sys.argv[1:3])"
_KILLED = -int(getattr(signal, "SIGKILL", 9))


@dataclass(eq=False)
class Crash(Exception):  # noqa: N818 - reads as what it says
    """A failure that Shoal did not raise on purpose, or the death of a child."""

    kind: str = ""
    """The type of the exception; empty if the child died without a word."""
    place: str = ""
    """The file and line of our code."""
    says: str = ""
    """The message of the exception. It may quote the data."""
    strerror: str | None = None
    """What the system says, where a file or the disk failed."""
    code: int | None = None
    """The exit code of a child that died; negative for a signal."""

    @property
    def killed(self) -> bool:
        """Whether the system ended the child, most likely for lack of memory."""
        return self.code == _KILLED


@dataclass(frozen=True)
class Answer:
    """What came of a request."""

    result: Any = None
    error: ShoalError | Crash | None = None


class GivenUp(Exception):  # noqa: N818 - it is not an error
    """Nobody waits for this request any more."""


class Teller:
    """Tells the parent what is being done. Algorithms call it as their progress; it ends what nobody waits for."""

    def __init__(self, say: Callable[[Mapping[str, Any]], None], given_up: Callable[[], bool] = bool) -> None:
        self._say, self._given_up = say, given_up
        self._facts: dict[str, Any] = {}
        self._said = 0.0
        self._stages: list[dict[str, Any]] = []
        self._stage, self._since = "", 0.0

    def __call__(self, doing: str, share: float, *, best: float | None = None, bound: float | None = None) -> None:
        self._facts |= {"phase": doing, "share": round(min(1.0, max(0.0, share)), 4)}
        self._facts |= {name: value for name, value in (("best", best), ("bound", bound)) if value is not None}
        if time.monotonic() - self._said >= EVERY:
            self.note()
        elif self._given_up():
            raise GivenUp

    def stage(self, name: str, **facts: Any) -> None:
        """Begins a stage of the work. The stages before it come with the seconds that they took."""
        self._end_stage()
        self._stage, self._since = name, time.monotonic()
        self.note(stage=name, phase=name, share=0.0, **facts)

    def note(self, **facts: Any) -> None:
        """Tells facts at once."""
        if self._given_up():
            raise GivenUp
        self._said = time.monotonic()
        self._say(self._facts | facts)
        self._facts = {}

    def end(self) -> None:
        """Tells what is left to tell."""
        self._end_stage()
        if self._facts:
            self._say(self._facts)

    def _end_stage(self) -> None:
        if self._stage:
            self._stages = [*self._stages, {"name": self._stage, "seconds": round(time.monotonic() - self._since, 3)}]
            self._facts["phases"] = self._stages
            self._stage = ""


class Child:
    """A child process. It takes one request at a time, and can be started ahead of the first."""

    def __init__(
        self,
        work: str,
        *,
        log: Path | None = None,
        environment: Mapping[str, str] | None = None,
        background: bool = False,
    ) -> None:
        """Starts a process for `module:function`. One in the background leaves other processes the first turn, and what it writes is its
        owner's alone."""
        self.begun = time.monotonic()
        self.busy = False
        """Whether it owes an answer."""
        self.code: int | None = None
        """Its exit code, once it has ended and its last news were taken."""
        with contextlib.ExitStack() as stack:
            to: Any = subprocess.DEVNULL
            if log is not None:
                number = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                to = stack.enter_context(os.fdopen(number, "wb"))
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, work, "background" if background else "", *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=to,
                text=True,
                encoding="utf-8",
                env=environment,
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        self._news: queue.SimpleQueue[str | int] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def computed(self) -> float | None:
        """Seconds of computing that it has had so far, of all its threads; None where the system does not tell."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as file:
                facts = file.read().rpartition(")")[2].split()  # its name, in brackets, may hold blanks
            return (int(facts[11]) + int(facts[12])) / os.sysconf("SC_CLK_TCK")
        return None

    def ask(self, request: Any) -> None:
        """Hands over a request."""
        self.busy = True
        self._write(request)

    def give_up(self) -> None:
        """Says that nobody waits for the answer any more. The child still answers, as soon as it notices."""
        self._write(None)

    def news(self) -> Iterator[Mapping[str, Any] | Answer]:
        """What it has said since the last look: facts, and answers. A child that dies answers with how it died."""
        while not self._news.empty():
            line = self._news.get()
            if isinstance(line, int):
                self.code = line
                if self.busy:
                    self.busy = False
                    yield Answer(error=Crash(code=line))
                continue
            try:
                said = json.loads(line)
            except ValueError:  # cut off by its death
                continue
            if "facts" in said:
                yield said["facts"]
                continue
            self.busy = False
            yield Answer(said.get("result"), None if said.get("error") is None else _error_of(said["error"]))

    def answer(self, seconds: float) -> Answer | None:
        """What comes of the request that it has, waited for; None if that takes longer. Facts are not for whoever waits."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for news in self.news():
                if isinstance(news, Answer):
                    return news
            time.sleep(0.02)
        return None

    def end(self) -> None:
        """Ends the process and whatever it started, and waits until it is gone: only then may its files be removed."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _write(self, request: Any) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it has just ended; the news say so
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._news.put(line)
        self._news.put(self._process.wait())


def answer_to(request: Any, work: Callable[[Any, Teller], Any], tell: Teller) -> Answer:
    """What comes of a request in this process."""
    try:
        result = work(request, tell)
    except GivenUp:
        return Answer()
    except ShoalError as error:
        return Answer(error=error)
    except Exception as error:
        print(way_to(error), file=sys.stderr)
        strerror = (error.strerror or "") if isinstance(error, OSError) else None
        return Answer(error=Crash(type(error).__name__, _place_of(error), str(error), strerror))
    finally:
        tell.end()
    return Answer(result)


def serve(work: str, background: str) -> None:
    """The life of a child: answers requests until its parent is gone."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _end_with_parent()
    if background:
        os.umask(0o077)
        if hasattr(os, "nice"):
            os.nice(5)
        without_pandas()
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("800")  # if memory runs out, this process goes before the one that keeps the results
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    given_up = threading.Event()
    threading.Thread(target=_take_requests, args=(requests, given_up), daemon=True).start()
    module, _, name = work.partition(":")
    function = getattr(import_module(module), name)

    def say(document: Mapping[str, Any]) -> None:
        out.write(json.dumps(document) + "\n")
        out.flush()

    while True:
        request = requests.get()
        given_up.clear()
        answer = answer_to(request, function, Teller(lambda facts: say({"facts": facts}), given_up.is_set))
        say({"result": answer.result, "error": None if answer.error is None else _facts_of(answer.error)})


def without_pandas() -> None:
    """Lets pyarrow believe that pandas is not installed: to ask whether an array is one of its own, it would load it, which takes longer
    than to write a release. For processes that are ours alone."""
    if "pandas" not in sys.modules:
        import pyarrow

        with absent("pandas"):
            pyarrow.array([0], pyarrow.int64()).to_numpy()  # it looks once


@contextlib.contextmanager
def absent(module: str) -> Iterator[None]:
    """As if a module were not installed."""

    class Absent:
        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> None:
            if name == module:
                raise ModuleNotFoundError(f"{name} is kept out", name=name)

    sys.meta_path.insert(0, Absent)
    try:
        yield
    finally:
        sys.meta_path.remove(Absent)


def _take_requests(requests: queue.SimpleQueue[Any], given_up: threading.Event) -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if request is None:
            given_up.set()
        else:
            requests.put(request)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _end_with_parent() -> None:
    """Asks Linux to end this process when its parent ends."""
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # it ended in between
            os._exit(1)


def _place_of(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}shoal{os.sep}" in frame.filename] or list(frames)
    path = ours[-1].filename
    return f"{path[path.rfind(f'{os.sep}shoal{os.sep}') + 1 :]}, line {ours[-1].lineno}"


def _facts_of(error: ShoalError | Crash) -> dict[str, Any]:
    if isinstance(error, Crash):
        return {"crash": asdict(error)}
    kind = next(one.__name__ for one in type(error).__mro__ if one.__module__ == ShoalError.__module__)
    carried = {name: value for name, value in vars(error).items() if name not in ("message", "witnesses")}
    return {"class": kind, "text": error.message.text, "values": error.values, "carried": carried}


def _error_of(facts: Mapping[str, Any]) -> ShoalError | Crash:
    if "crash" in facts:
        return Crash(**facts["crash"])
    error: ShoalError = getattr(errors, facts["class"])(facts["text"], values=facts["values"])
    for name, value in facts["carried"].items():
        setattr(error, name, tuple(value) if isinstance(value, list) else value)
    return error
