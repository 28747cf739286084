"""A writer that ends at the n-th line of its modules: killed, or by an exception that is raised there.

What a killed process leaves is what is on disk, so it is enough to kill it once in each state of its folders.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

KILLED = 9


def lines_that_change(
    folders: Sequence[Path], modules: Collection[ModuleType], work: Callable[[], Any]
) -> tuple[list[int], int]:
    """Runs `work`; the numbers of the lines in these modules before which something in the folders had changed, and how many lines ran."""
    changes: list[int] = []
    last: Any = None

    def look(line: int) -> None:
        nonlocal last
        now = [(path, path.lstat()) for folder in folders for path in sorted(folder.iterdir())]
        state = [(path.name, told.st_ino, told.st_size, told.st_mode, told.st_nlink) for path, told in now]
        if state != last:
            changes.append(line)
        last = state

    return changes, _traced(modules, look, work)


def killed_at(line: int, modules: Collection[ModuleType], work: Callable[[], Any]) -> None:
    """Runs `work` in a child that is killed at that line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads, which do not matter here
        child = os.fork()
    if child:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED
        return
    try:
        _traced(modules, lambda at: os._exit(KILLED) if at == line else None, work)
    finally:
        os._exit(0)


def raised_at(line: int, error: type[BaseException], modules: Collection[ModuleType], work: Callable[[], Any]) -> bool:
    """Runs `work` with an error that is raised at that line; whether it got there."""

    def end(at: int) -> None:
        if at == line:
            raise error

    try:
        _traced(modules, end, work)
    except error:
        return True
    return False


def _traced(modules: Collection[ModuleType], at_line: Callable[[int], None], work: Callable[[], Any]) -> int:
    files = {module.__file__ for module in modules}
    before, lines = sys.gettrace(), 0

    def line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if event == "line":
            lines += 1
            at_line(lines)
        return line

    sys.settrace(lambda frame, event, _: line if frame.f_code.co_filename in files else None)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines
