"""What jobs do: one module a task, each with `work(plan, folder, tell, **options) -> dict`.

`folder` is for what it makes, `tell` is a progress, `tell.stage(name)` begins a stage, and what is returned goes to `result.json`:
numbers and texts. Raise `InputError` or `Unreachable` for what the user can put right.
"""

from __future__ import annotations

import os
import shutil
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
        write_json(job / "result.json", in_app_words(result))
        os.replace(target, job / "out")
    finally:
        shutil.rmtree(target, ignore_errors=True)
