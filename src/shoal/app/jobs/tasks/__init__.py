"""What jobs do: one module a task, each with `work(plan, folder, tell, **options) -> dict`.

`folder` is for what it makes, `tell` is a progress, `tell.stage(name)` begins a stage, and what is returned goes to `result.json`:
numbers and texts. Raise `InputError` or `Unreachable` for what the user can put right.

A task that is a generator yields its result as soon as that can be used: its files are then in `out`, whose path it is sent, and what it
returns in the end takes the place of the result.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Generator
from importlib import import_module
from pathlib import Path

from shoal.app.project.own_files import own_folder, read_json, write_json
from shoal.app.project.project import Project
from shoal.app.project.wording import in_app_words
from shoal.processes import Teller


def work(folder: str, tell: Teller) -> None:
    """Runs the job in a folder, in a process of its own. What it makes becomes `out/` in one step, when all is done."""
    job = Path(folder)
    about = read_json(job / "job.json")
    target = job / "work"
    shutil.rmtree(target, ignore_errors=True)
    own_folder(target)
    try:
        task = import_module(f"{__name__}.{about['task']}_task")
        result = task.work(Project(job).plan(), target, tell, **dict(about.get("options") or {}))
        rest = result if isinstance(result, Generator) else None
        write_json(job / "result.json", in_app_words(next(rest) if rest is not None else result))
        os.replace(target, job / "out")
        if rest is not None:
            tell.note(ready=time.time())
            try:
                rest.send(job / "out")
            except StopIteration as end:
                write_json(job / "result.json", in_app_words(end.value))
    finally:
        shutil.rmtree(target, ignore_errors=True)
